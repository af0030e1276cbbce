"""What is missing for the GPU is said by name."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from qengine.errors import DeviceError
from qengine.exec.gpu import device as module


class CudaError(RuntimeError):
    def __init__(self, status: int) -> None:
        super().__init__(f"status {status}")
        self.status = status


def pretend(monkeypatch: pytest.MonkeyPatch, count: int | CudaError) -> None:
    """Stand in for CuPy with so many devices."""

    def count_devices() -> int:
        if isinstance(count, CudaError):
            raise count
        return count

    runtime = SimpleNamespace(
        CUDARuntimeError=CudaError,
        getDeviceCount=count_devices,
        driverGetVersion=lambda: 12020,
        runtimeGetVersion=lambda: 13000,
    )
    monkeypatch.setattr(module, "cupy", lambda: SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)))


def test_without_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.setattr(module, "cupy", module.cupy.__wrapped__)
    with pytest.raises(DeviceError, match="CuPy") as caught:
        module.device.__wrapped__()
    assert caught.value.code == "NoCupy"


@pytest.mark.parametrize(
    ("count", "code", "text"),
    [
        (CudaError(35), "NoDriver", r"The CUDA driver, 12\.2, is too old .* CUDA 13\.0"),
        (CudaError(100), "NoDevice", "can't be used: status 100"),
        (0, "NoDevice", "no CUDA device"),
    ],
)
def test_with_an_old_driver_or_without_a_device(
    monkeypatch: pytest.MonkeyPatch, count: int | CudaError, code: str, text: str
) -> None:
    monkeypatch.setattr(module, "_has_driver", lambda: True)
    pretend(monkeypatch, count)
    with pytest.raises(DeviceError, match=text) as caught:
        module.device.__wrapped__()
    assert caught.value.code == code
    assert caught.value.hint


def test_without_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_has_driver", lambda: False)
    pretend(monkeypatch, CudaError(35))
    with pytest.raises(DeviceError, match="There is no CUDA driver") as caught:
        module.device.__wrapped__()
    assert caught.value.hint == "Install NVIDIA's driver."


def test_a_kernels_shared_memory_never_shrinks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several launches share a kernel; what one of them needs is not taken back by a smaller one."""
    given: list[int] = []
    driver = SimpleNamespace(
        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES=8, funcSetAttribute=lambda *rest: given.append(rest[-1])
    )
    loaded = SimpleNamespace(load=lambda binary: None, get_function=lambda name: SimpleNamespace(ptr=1))
    cuda = SimpleNamespace(driver=driver, function=SimpleNamespace(Module=lambda: loaded))
    monkeypatch.setattr(module, "cupy", lambda: SimpleNamespace(cuda=cuda))
    monkeypatch.setattr(module, "compiled_meanwhile", lambda *_: b"")
    device = module.Device(0, "some", 90, 132, 232448, 233472, 1 << 30)
    for size in (1_000, 60_000, 200_000, 100_000, 49_000):
        device.kernel("count_edges", "count_edges", None, size)
    assert given == [60_000, 200_000]


def test_cupy_is_not_imported_where_there_is_no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_has_driver", lambda: False)
    monkeypatch.setattr(module, "cupy", lambda: pytest.fail("imported"))
    found = module.missing()
    assert found is not None and found.code == "NoDriver"
