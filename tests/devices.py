"""GPUs that tests know the sizes of, and the profiles by which ``pytest --gpu-profile`` uses a GPU as a smaller one.

Source of the sizes: CUDA C++ Programming Guide, technical specifications by compute capability.
"""

from __future__ import annotations

from qengine.exec.gpu import device
from qengine.exec.gpu.properties import DeviceProperties


def _gpu(
    name: str, capability: int, multiprocessors: int, threads: int, shared: tuple[int, int], memory: int
) -> DeviceProperties:
    """``shared``: KB of a block, and of a multiprocessor. ``memory``: GB."""
    block, each = (1024 * size for size in shared)
    return DeviceProperties(
        name, capability, capability, multiprocessors, threads, block, each, each - block, memory << 30
    )


RTX_2070 = _gpu("RTX 2070 SUPER", 75, 40, 1024, (64, 64), 8)
A100 = _gpu("A100", 80, 108, 2048, (163, 164), 40)
RTX_3060 = _gpu("RTX 3060", 86, 28, 1536, (99, 100), 12)
RTX_4060 = _gpu("RTX 4060", 89, 24, 1536, (99, 100), 8)
H200 = _gpu("H200", 90, 132, 2048, (227, 228), 139)
B200 = _gpu("B200", 100, 148, 2048, (227, 228), 178)
RTX_5070 = _gpu("RTX 5070", 120, 48, 1536, (99, 100), 12)
DEVICES = (RTX_2070, A100, RTX_3060, RTX_4060, H200, B200, RTX_5070)
"""One of each capability that kernels are compiled for in tests."""

PROFILES = {"small": RTX_2070}
"""A GPU is used with no more shared memory, threads, multiprocessors or memory, and with no newer instructions."""


def of_capability(capability: int) -> DeviceProperties:
    """Return one of ``DEVICES``."""
    return next(each for each in DEVICES if each.capability == capability)


def use(profile: str) -> None:
    """Use the GPU of this process by a profile. Before anything asks for it."""
    assert not device._devices, "the GPU has been asked for"
    real = device.properties_of
    device.properties_of = lambda number: real(number).within(PROFILES[profile])
