"""What is missing for the GPU is said by name."""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from types import SimpleNamespace

import pytest

from qengine.errors import DeviceError, InternalError
from qengine.exec.gpu import device as module
from tests.devices import H200, RTX_2070, RTX_3060


@pytest.fixture(autouse=True)
def _none_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_devices", {})
    monkeypatch.setattr(module, "_lost", {})


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
        getDevice=lambda: 0,
        driverGetVersion=lambda: 12020,
        runtimeGetVersion=lambda: 13000,
    )
    monkeypatch.setattr(module, "cupy", lambda: SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)))


def test_without_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.setattr(module, "cupy", module.cupy.__wrapped__)
    with pytest.raises(DeviceError, match="CuPy") as caught:
        module.device()
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
        module.device()
    assert caught.value.code == code
    assert caught.value.hint


def test_without_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_has_driver", lambda: False)
    pretend(monkeypatch, CudaError(35))
    with pytest.raises(DeviceError, match="There is no CUDA driver") as caught:
        module.device()
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
    device = module.Device(**asdict(H200), number=0)
    for size in (1_000, 60_000, 200_000, 100_000, 49_000):
        device.kernel("count_edges", "count_edges", None, size)
    assert given == [60_000, 200_000]
    with pytest.raises(InternalError, match="count_edges asks for 240,000 bytes of shared memory"):
        device.kernel("count_edges", "count_edges", None, 240_000)


def test_with_a_device_that_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, 1)
    old = replace(RTX_2070, name="V100", capability=70, instructions=70)
    monkeypatch.setattr(module, "properties_of", lambda number: old)
    with pytest.raises(DeviceError, match=r"V100 has compute capability 7\.0; 7\.5 or more") as caught:
        module.device()
    assert caught.value.code == "OldDevice" and caught.value.hint


def test_a_device_is_used_within_anothers_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The older one's instructions on this one's binaries, and no more blocks than the smaller one has room for."""
    monkeypatch.setattr(module, "_has_driver", lambda: True)
    found = {
        "name": b"H200", "major": 9, "minor": 0, "multiProcessorCount": 132, "maxThreadsPerMultiProcessor": 2048,
        "sharedMemPerBlockOptin": 232448, "sharedMemPerMultiprocessor": 233472, "reservedSharedMemPerBlock": 1024,
        "totalGlobalMem": H200.memory_bytes,
    }  # fmt: skip
    runtime = SimpleNamespace(
        CUDARuntimeError=CudaError,
        getDeviceCount=lambda: 1,
        getDevice=lambda: 0,
        getDeviceProperties=lambda number: found,
    )
    driver = SimpleNamespace(occupancyMaxActiveBlocksPerMultiprocessor=lambda *_: 8)
    monkeypatch.setattr(module, "cupy", lambda: SimpleNamespace(cuda=SimpleNamespace(runtime=runtime, driver=driver)))
    assert module.properties_of(0) == H200
    whole, kernel = module.device(), SimpleNamespace(ptr=1)
    assert whole.resident_blocks(kernel, 256, 16_384) == 8 * 132 and whole.macros == {}
    real = module.properties_of
    monkeypatch.setattr(module, "_devices", {})
    monkeypatch.setattr(module, "properties_of", lambda number: real(number).within(RTX_2070))
    small = module.device()
    assert (small.capability, small.instructions, small.macros) == (90, 75, {"QE_ARCHITECTURE": 750})
    assert (small.shared_bytes, small.memory_bytes, small.multiprocessors) == (65_536, 8 << 30, 40)
    assert small.resident_blocks(kernel, 256, 16_384) == 3 * 40  # 17 KB of 64 each
    assert small.resident_blocks(kernel, 512, 1_024) == 2 * 40  # of 1,024 threads


def test_a_smaller_device_has_no_more_of_anything() -> None:
    for one, other in ((H200, RTX_2070), (RTX_2070, H200), (RTX_3060, RTX_2070)):
        both = one.within(other)
        for name in ("instructions", "multiprocessors", "threads_each", "shared_bytes", "memory_bytes"):
            assert getattr(both, name) == min(getattr(one, name), getattr(other, name))
        assert both.capability == one.capability, "binaries are made for the device at hand"


def test_warps_share_a_blocks_memory() -> None:
    assert RTX_2070.warps_fitting(16_000, 8) == 4
    assert RTX_2070.warps_fitting(64_000, 8) == 1
    assert RTX_2070.warps_fitting(64_600, 8) == 0
    assert H200.warps_fitting(64_600, 8) == 3


def test_cupy_is_not_imported_where_there_is_no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_has_driver", lambda: False)
    monkeypatch.setattr(module, "cupy", lambda: pytest.fail("imported"))
    found = module.missing()
    assert found is not None and found.code == "NoDriver"
