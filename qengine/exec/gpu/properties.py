"""What kernels' launches must fit: a device's sizes, as plain numbers that policies are functions of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from qengine._frozen import replace
from qengine.errors import InternalError

_OWN_SHARED_BYTES = 1024
"""Shared memory that kernels declare themselves, at most."""


@dataclass(frozen=True)
class DeviceProperties:
    """The sizes of one GPU. Names that end in ``_each`` are of one multiprocessor.

    Attributes
    ----------
    capability
        Compute capability, as major * 10 + minor: what binaries are compiled for.
    instructions
        The capability whose instructions kernels use: the same, or less where tests run what an older GPU would.
    multiprocessors
        How many there are.
    threads_each
        Threads at a time.
    shared_bytes
        Shared memory that one block may have at most.
    shared_bytes_each
        Of all blocks at a time.
    reserved_bytes
        Shared memory that the system takes of ``shared_bytes_each`` for each block.
    memory_bytes
        Of the device.
    """

    name: str
    capability: int
    instructions: int
    multiprocessors: int
    threads_each: int
    shared_bytes: int
    shared_bytes_each: int
    reserved_bytes: int
    memory_bytes: int

    @property
    def dynamic_bytes(self) -> int:
        """Shared memory that the launch of a kernel may ask for, beside what the kernel declares."""
        return self.shared_bytes - _OWN_SHARED_BYTES

    @property
    def macros(self) -> Mapping[str, int | str]:
        """What all kernels are compiled with for this device."""
        return {} if self.instructions == self.capability else {"QE_ARCHITECTURE": 10 * self.instructions}

    def blocks_each(self, threads: int, shared_bytes: int) -> int:
        """Return how many blocks of a launch one multiprocessor has room for; a kernel's registers may leave fewer."""
        taken = max(1, shared_bytes + self.reserved_bytes)
        return min(self.threads_each // threads, self.shared_bytes_each // taken)

    def warps_fitting(self, warp_bytes: int, most: int) -> int:
        """Return how many warps with so much shared memory each a block can have, at most ``most``; 0: not one."""
        return min(most, self.dynamic_bytes // warp_bytes)

    def check_shared(self, name: str, shared_bytes: int) -> None:
        """Check what a kernel asks for.

        Raises
        ------
        InternalError
            If it is more than ``dynamic_bytes``: no policy may ask for that.
        """
        if shared_bytes > self.dynamic_bytes:
            raise InternalError(
                f"The kernel {name} asks for {shared_bytes:,} bytes of shared memory; a block of this device has "
                f"{self.dynamic_bytes:,}.",
                code="SharedMemory",
            )

    def within(self, other: DeviceProperties) -> DeviceProperties:
        """Return a device that has no more of anything than either; its binaries are still for this one."""
        names = ("instructions", "multiprocessors", "threads_each", "shared_bytes", "shared_bytes_each", "memory_bytes")
        return replace(self, **{name: min(getattr(self, name), getattr(other, name)) for name in names})
