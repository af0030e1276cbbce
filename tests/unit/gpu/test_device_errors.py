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

    runtime = SimpleNamespace(CUDARuntimeError=CudaError, getDeviceCount=count_devices)
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
        (CudaError(35), "NoDriver", "no CUDA driver, or one too old"),
        (CudaError(100), "NoDevice", "can't be used: status 100"),
        (0, "NoDevice", "no CUDA device"),
    ],
)
def test_without_a_driver_or_a_device(
    monkeypatch: pytest.MonkeyPatch, count: int | CudaError, code: str, text: str
) -> None:
    pretend(monkeypatch, count)
    with pytest.raises(DeviceError, match=text) as caught:
        module.device.__wrapped__()
    assert caught.value.code == code
    assert caught.value.hint


def test_cupy_is_not_imported_where_there_is_no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_has_driver", lambda: False)
    monkeypatch.setattr(module, "cupy", lambda: pytest.fail("imported"))
    found = module.missing()
    assert found is not None and found.code == "NoDriver"
