"""The device's memory: one allocator for everything, and graphs' arrays that stay there until the space is needed."""

from __future__ import annotations

import functools
import threading
import weakref
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from qengine.errors import OutOfMemory
from qengine.exec.gpu.device import cupy, device

__all__ = ["DeviceMemory", "Resident", "device_memory"]


@dataclass(eq=False)
class Resident:
    """A block of device memory that outlives the query that made it, until it is evicted.

    ``address``: on the device, None once it is evicted. ``pins``: queries that use it now. ``keep``: what it was made
    from, kept alive so that nothing else can be taken for it.
    """

    key: Any
    block: Any
    n_bytes: int
    keep: Any
    pins: int = 0

    @property
    def address(self) -> int | None:
        """Where it is on the device."""
        return None if self.block is None else int(self.block.ptr)


@dataclass
class DeviceMemory:
    """The allocator of one device.

    Parameters
    ----------
    pool
        A ``cupy.cuda.MemoryPool``: ``malloc``, ``used_bytes``, ``free_all_blocks``.
    failure
        What the pool raises when the device is full.
    """

    pool: Any
    failure: type[BaseException]
    allocations: int = 0
    fail_from: int | None = None
    """For tests: allocations with this number (from 0) and later ones fail, as if the device were full."""
    _residents: OrderedDict[Any, Resident] = field(default_factory=OrderedDict)
    _followed: set[int] = field(default_factory=set)
    _lock: Any = field(default_factory=threading.RLock)

    def allocate(self, n_bytes: int, limit: int | None, what: str) -> Any:
        """Return a block (``ptr``) of so many bytes, which is free again once nothing refers to it.

        Residents that no query uses make room, the longest unused first.

        Parameters
        ----------
        limit
            Bytes that may be in use on the device in all; None: what it has.
        what
            Names the block in the error.

        Raises
        ------
        OutOfMemory
            If there is no room; the message holds the sizes.
        """
        with self._lock:
            while True:
                if limit is None or self.pool.used_bytes() + n_bytes <= limit:
                    try:
                        return self._malloc(n_bytes)
                    except self.failure:
                        pass
                if not self._evict_one():
                    break
            self.pool.free_all_blocks()
            if limit is None or self.pool.used_bytes() + n_bytes <= limit:
                try:
                    return self._malloc(n_bytes)
                except self.failure:
                    pass
            used = self.pool.used_bytes()
        most = "the device has" if limit is None else f"gpu_memory_limit, {limit:,} bytes, allows"
        raise OutOfMemory(
            f"The query needs more device memory than {most}: {n_bytes:,} bytes for {what}, beside {used:,} in use.",
            hint='Raise gpu_memory_limit, ask for fewer rows (count, LIMIT), or use device="cpu".',
            code="OutOfDeviceMemory",
        )

    def _malloc(self, n_bytes: int) -> Any:
        number, self.allocations = self.allocations, self.allocations + 1
        if self.fail_from is not None and number >= self.fail_from:
            raise self.failure(n_bytes, self.pool.used_bytes())
        return self.pool.malloc(max(1, n_bytes))

    def used_bytes(self) -> int:
        """Return the bytes in use, by queries and by residents."""
        return int(self.pool.used_bytes())

    def pin(self, key: Any) -> Resident | None:
        """Return the resident of this name for use by one query, None if there is none. ``unpin`` it afterwards."""
        with self._lock:
            resident = self._residents.get(key)
            if resident is not None:
                self._residents.move_to_end(key)
                resident.pins += 1
            return resident

    def add(self, key: Any, block: Any, n_bytes: int, keep: Any) -> Resident:
        """Make a block resident, pinned once."""
        resident = Resident(key, block, n_bytes, keep, pins=1)
        with self._lock:
            self._residents[key] = resident
        return resident

    def unpin(self, resident: Resident) -> None:
        """End one query's use of a resident."""
        with self._lock:
            resident.pins -= 1

    def follow(self, owner: Any) -> None:
        """Evict the residents with keys ``(id(owner), …)`` when the owner is freed."""
        name = id(owner)
        with self._lock:
            if name not in self._followed:
                self._followed.add(name)
                weakref.finalize(owner, self._forget, name)

    def _forget(self, name: int) -> None:
        """Evict what belongs to an owner that is gone; another may get its name."""
        with self._lock:
            self._followed.discard(name)
            for key in [key for key in self._residents if key[0] == name]:
                self._residents.pop(key).block = None

    def resident_bytes(self) -> int:
        """Return the bytes of all residents."""
        with self._lock:
            return sum(resident.n_bytes for resident in self._residents.values())

    def _evict_one(self) -> bool:
        for key, resident in self._residents.items():
            if resident.pins == 0:
                del self._residents[key]
                resident.block = None
                return True
        return False


@functools.cache
def device_memory() -> DeviceMemory:
    """Return the allocator of the current device."""
    device()
    return DeviceMemory(cupy().cuda.MemoryPool(), cupy().cuda.memory.OutOfMemoryError)
