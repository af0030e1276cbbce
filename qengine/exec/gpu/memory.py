"""A device's memory: one allocator for everything, an account for each query, and graphs' arrays that stay there.

A query's ``gpu_memory_limit`` bounds its account: what it allocates, and the residents that it uses. What others hold
counts for nobody but them. Residents that no query uses leave, the least recently used first, when the device is full,
and when a graph's residents exceed ``bound_of`` its size. Arrays for which there is no room lie in the host's memory in
part (``placement``): what a query makes or uses there is charged to its ``memory_limit``.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from qengine.errors import OutOfMemory
from qengine.exec.gpu.device import Device, cupy, device, using
from qengine.exec.gpu.idle import WhenIdle
from qengine.exec.gpu.paged import OUT_OF_MEMORY, NoPages, PagedBlock, Pages
from qengine.exec.gpu.placement import WHOLE, Use, page_runs, placement, scratch_bytes
from qengine.exec.memory import Holding
from qengine.exec.view import ExecView

IN_HOST_MEMORY = "{:,.1f} MB of its lists are in the host's memory"
"""What a profile tells."""

_LEAST_BOUND = 256 << 20
_BOUND_OF_GRAPH = 4
_IDLE_SECONDS = 1.0
"""Free blocks are kept for the next query until the device has been idle for so long."""


def bound_of(graph_bytes: int) -> int:
    """Return how many bytes of a graph stay on the device between queries at most: 256 MB, and four times its size."""
    return _LEAST_BOUND + _BOUND_OF_GRAPH * graph_bytes


@dataclass(eq=False)
class Resident:
    """A block of device memory that outlives the query that made it, until it is evicted.

    ``address``: on the device, None once it is evicted. ``pins``: queries that use it now. ``keep``: what it was made
    from, kept alive so that nothing else can be taken for it. ``maker``: the account that its blocks were charged to.
    """

    key: Any
    block: Any
    n_bytes: int
    keep: Any
    pins: int = 0
    maker: QueryMemory | None = None
    evicted: bool = False

    @property
    def host_bytes(self) -> int:
        """Bytes of it that lie in the host's memory."""
        return host_bytes_of(self.block)

    @property
    def address(self) -> int | None:
        """Where it is on the device."""
        return None if self.block is None else int(self.block.ptr)

    def let_go(self) -> None:
        """Free the block of an evicted resident that no query uses."""
        if self.evicted and self.pins == 0:
            self.block = self.keep = None


class _Charge:
    """Lives as long as a block, and then takes its bytes off the account."""

    __slots__ = ("freed", "n_bytes")

    def __init__(self, freed: deque[int], n_bytes: int) -> None:
        self.freed = freed
        self.n_bytes = n_bytes

    def __del__(self) -> None:
        self.freed.append(self.n_bytes)  # without a lock: the garbage collector may call at any moment


@dataclass
class DeviceMemory:
    """The allocator of one device.

    Parameters
    ----------
    pool
        A ``cupy.cuda.MemoryPool``: ``malloc``, ``used_bytes``, ``free_all_blocks``.
    failure
        What the pool raises when the device is full.
    hold
        Returns a block that keeps another object alive as long as anything refers to its memory.
    """

    pool: Any
    failure: type[BaseException]
    hold: Callable[[Any, Any], Any]
    allocations: int = 0
    fail_from: int | None = None
    """For tests: allocations with this number (from 0) and later ones fail, as if the device were full."""
    pages: Pages | None = None
    """Makes blocks of pages of the device and of the host; None where there are none."""
    capacity: int | None = None
    """Bytes of the device's memory that may be used."""
    _paged: deque[int] = field(default_factory=deque)
    _paged_bytes: int = 0
    _residents: OrderedDict[Any, Resident] = field(default_factory=OrderedDict)
    _bounds: dict[int, int] = field(default_factory=dict)  # of the owners that are followed
    _held: dict[int, int] = field(default_factory=dict)  # bytes of residents by owner
    _gone: deque[int] = field(default_factory=deque)
    _lock: Any = field(default_factory=threading.Lock)

    def account(self, limit: int | None, host: Holding | None = None) -> QueryMemory:
        """Return the account of one query that may use so many bytes; None: as many as the device has.

        ``host``: of its account of the host's memory; None: nobody counts pages there.
        """
        return QueryMemory(self, limit, host)

    def used_bytes(self) -> int:
        """Return the bytes in use, by queries and by residents."""
        while self._paged:
            self._paged_bytes += self._paged.popleft()
        return int(self.pool.used_bytes()) + self._paged_bytes

    def resident_bytes(self) -> int:
        """Return the bytes of all residents."""
        with self._lock:
            self._forget_gone()
            return sum(resident.n_bytes for resident in self._residents.values())

    def trim(self) -> None:
        """Give the device back what no block uses."""
        with self._lock:
            self._forget_gone()
            self._free_all()

    def release(self, owner: Any) -> None:
        """Evict all residents of an owner, those in use as soon as their queries end, and give their memory back."""
        with self._lock:
            self._evict_all_of(id(owner))
            self._free_all()

    # ------------------------------------------------------------ for accounts

    def malloc(self, n_bytes: int) -> Any | None:
        """Return a block, None where the device is full and no resident can make room."""
        with self._lock:
            self._forget_gone()
            while True:
                block = self._malloc(n_bytes)
                if block is not None or not self._evict_one():
                    break
            if block is None:
                self._free_all()
                block = self._malloc(n_bytes)
            return block

    def malloc_paged(self, runs: Sequence[tuple[int, bool]]) -> PagedBlock | None:
        """Return a block of runs of pages: of how many bytes, and whether on the device; None where there is no room.

        Residents that no query uses make room, the least recently used first.
        """
        assert self.pages is not None
        with self._lock:
            self._forget_gone()
            while True:
                try:
                    block = self._made_of_pages(runs)
                    break
                except NoPages as error:
                    if not error.is_full or not self._evict_one():
                        return None
            self._paged.append(block.device_bytes)
            return block.holding(_Charge(self._paged, -block.device_bytes))

    def pin(self, key: Any) -> Resident | None:
        """Return the resident of this name for use by one query, None if there is none."""
        with self._lock:
            self._forget_gone()
            resident = self._residents.get(key)
            if resident is not None:
                self._residents.move_to_end(key)
                resident.pins += 1
            return resident

    def add(self, resident: Resident) -> None:
        """Make a block resident; it takes the place of one with the same name."""
        with self._lock:
            if resident.key in self._residents:  # another query has made the same meanwhile
                self._evict_key(resident.key)
            self._residents[resident.key] = resident
            owner = resident.key[0]
            self._held[owner] = self._held.get(owner, 0) + resident.n_bytes

    def unpin(self, resident: Resident) -> None:
        """End one query's use of a resident."""
        with self._lock:
            resident.pins -= 1
            resident.let_go()
            if resident.pins == 0:
                self._keep_bound(resident.key[0])

    def follow(self, owner: Any, n_bytes: int) -> None:
        """Bound the residents with keys ``(id(owner), …)`` by the owner's size, and evict them when it is freed."""
        name = id(owner)
        with self._lock:
            self._forget_gone()
            if name not in self._bounds:
                self._bounds[name] = bound_of(n_bytes)
                weakref.finalize(owner, self._owner_is_gone, name)

    # ------------------------------------------------------------ inside; the lock is held

    def _made_of_pages(self, runs: Sequence[tuple[int, bool]]) -> PagedBlock:
        """Return a paged block; what is free in the pool makes room."""
        assert self.pages is not None
        number, self.allocations = self.allocations, self.allocations + 1
        if self.fail_from is not None and number >= self.fail_from:
            raise NoPages("The test", OUT_OF_MEMORY)
        try:
            return self.pages.make(runs)
        except NoPages as error:
            if not error.is_full:
                raise
            self._free_all()
            return self.pages.make(runs)

    def _free_all(self) -> None:
        """Give back what no block uses."""
        self.pool.free_all_blocks()
        if self.pages is not None:
            self.pages.trim()

    def _malloc(self, n_bytes: int) -> Any | None:
        number, self.allocations = self.allocations, self.allocations + 1
        if self.fail_from is not None and number >= self.fail_from:
            return None
        try:
            return self.pool.malloc(max(1, n_bytes))
        except self.failure:
            return None

    def _evict_one(self) -> bool:
        for key in list(self._residents):
            if self._residents[key].pins == 0:
                self._evict_key(key)
                return True
        return False

    def _evict_all_of(self, owner: int) -> None:
        for key in [key for key in self._residents if key[0] == owner]:
            self._evict_key(key)

    def _evict_key(self, key: Any) -> None:
        resident = self._residents.pop(key)
        self._held[key[0]] -= resident.n_bytes
        resident.evicted = True
        resident.let_go()

    def _keep_bound(self, owner: int) -> None:
        """Evict what exceeds an owner's bound, the least recently used first, but for what queries use."""
        bound = self._bounds.get(owner)
        if bound is None or self._held.get(owner, 0) <= bound:
            return
        for key in [key for key, resident in self._residents.items() if key[0] == owner and resident.pins == 0]:
            if self._held[owner] <= bound:
                return
            self._evict_key(key)

    def _owner_is_gone(self, name: int) -> None:
        """Evict what belongs to an owner that is gone, at once where that is possible.

        The garbage collector may call while this thread, or one that waits for it, holds the lock: then the next call
        evicts it.
        """
        self._gone.append(name)
        if self._lock.acquire(blocking=False):
            try:
                self._forget_gone()
            finally:
                self._lock.release()

    def _forget_gone(self) -> None:
        """Evict what owners that are gone have left; another may get its name."""
        while self._gone:
            name = self._gone.popleft()
            self._bounds.pop(name, None)
            self._evict_all_of(name)
            self._held.pop(name, None)


class QueryMemory:
    """What one query uses of the device: its blocks, and the residents that it has pinned.

    Parameters
    ----------
    memory
        The device's allocator.
    limit
        Bytes that the query may use; None: as many as the device has.
    host
        Holds the pages of the host that it uses, until it ends.
    """

    def __init__(self, memory: DeviceMemory, limit: int | None, host: Holding | None = None) -> None:
        self.memory = memory
        self.limit = limit
        self.host = host
        self._on_host: set[Resident] = set()  # those whose pages the host's account is charged for
        self.placement = WHOLE
        """Which shares of arrays lie on the device: decided by ``expect``."""
        self._expected, self._use = -1, Use.SEARCH
        self._freed: deque[int] = deque()
        self._used = 0
        self._kept: list[Any] = []  # blocks of pages, until the run ends: kernels may use them as long
        self._pinned: dict[int, tuple[int, int]] = {}  # of residents that others made, by id: pins, bytes
        self._lock = threading.Lock()

    @property
    def used_bytes(self) -> int:
        """What is charged to the query now."""
        with self._lock:
            return self._charged(0)

    def _charged(self, more: int) -> int:
        while self._freed:
            self._used -= self._freed.popleft()
        self._used += more
        return self._used

    def left_bytes(self) -> int | None:
        """Return how much more the query may use by its limit; None without a limit."""
        return None if self.limit is None else max(0, self.limit - self.used_bytes)

    def allocate(self, n_bytes: int, what: str) -> Any:
        """Return a block (``ptr``) of so many bytes, which is free again once nothing refers to it.

        Residents that no query uses make room, the least recently used first.

        Parameters
        ----------
        what
            Names the block in the error.

        Raises
        ------
        OutOfMemory
            If the limit or the device allows no more; the message holds the sizes.
        """
        charge = self._charge(n_bytes)
        if charge is None:
            raise _out_of_memory(
                f"gpu_memory_limit, {self.limit:,} bytes, allows", n_bytes, what, f"{self.used_bytes:,} that it uses"
            )
        block = self.memory.malloc(n_bytes)
        if block is None:
            raise self.full(n_bytes, what)
        return self.memory.hold(block, charge)

    def full(self, n_bytes: int, what: str) -> OutOfMemory:
        """Return the error of a device that has no room for so many bytes more."""
        return _out_of_memory("the device has", n_bytes, what, f"{self.memory.used_bytes():,} in use")

    def end(self) -> None:
        """Let go of what kernels may have used, which have ended."""
        self._kept.clear()
        self._on_host.clear()
        if self.host is not None:
            with _counting:
                self.host.release()

    def expect(self, n_bytes: int, vertices: int, use: Use = Use.SEARCH) -> None:
        """Decide where arrays will lie: so many bytes of the graph's, which has so many vertices.

        The first who tells decides, unless others need more.
        """
        if self.memory.pages is None or n_bytes <= self._expected:
            return
        self._expected, self._use = n_bytes, use
        limits = [each for each in (self.limit, self.memory.capacity) if each is not None]
        if limits:
            self.placement = placement(min(limits), n_bytes, vertices, use)

    def place(
        self, n_bytes: int, what: str, *, by_vertex: bool, front: int | None = None, starts: Sequence[int] = (0,)
    ) -> Any:
        """Return a block as ``allocate``, part of which may lie in the host's memory: by the query's placement.

        ``by_vertex``: it has numbers by vertex; else it is of lists. ``front``: how many bytes at its front shall be on
        the device, at the cost of what else there is room for. ``starts``: as of ``page_runs``.

        Raises
        ------
        OutOfMemory
            If even the host has no more memory, or the query's ``memory_limit`` leaves none.
        """
        pages = self.memory.pages
        if pages is None:
            return self.allocate(n_bytes, what)
        if self.placement.is_whole or (n_bytes < pages.size and front != 0):
            try:
                return self.allocate(n_bytes, what)
            except OutOfMemory:
                pass
        left = self._left()
        if front is None:
            left = max(0, left - self._scratch())
            front = self.placement.bytes_of(n_bytes, by_vertex=by_vertex)
        for device_bytes in (min(front, left), 0):
            runs = page_runs(n_bytes, device_bytes, pages.size, starts)
            charge = self._charge(sum(size for size, on_device in runs if on_device))
            if charge is None:
                continue
            elsewhere = sum(size for size, on_device in runs if not on_device)
            if not self._hold(elsewhere):
                raise _no_host_memory(elsewhere, what)
            block = self.memory.malloc_paged(runs)
            if block is not None:
                self._kept.append(block.holding(charge))
                return block
            self._hold(-elsewhere)
        raise _out_of_memory("the host has", n_bytes, what, f"{self.memory.used_bytes():,} on the device")

    def _hold(self, n_bytes: int) -> bool:
        """Charge bytes of the host's memory until the query ends; return whether its limit allows it."""
        if self.host is not None and n_bytes:
            try:
                with _counting:
                    self.host.add(n_bytes)
            except OutOfMemory:
                return False
        return True

    def _holds(self, resident: Resident) -> bool:
        """Charge the pages of a resident that others made, once; return whether the query's limit allows it."""
        if self.host is None or resident in self._on_host:
            return True
        found = self._hold(resident.host_bytes)
        if found:
            self._on_host.add(resident)
        return found

    def _left(self) -> int:
        """Return how much of the device's memory pages may take now at most."""
        limit = self.memory.capacity if self.limit is None else self.limit
        if limit is None:
            return 0
        return max(0, limit - (self.memory.used_bytes() if self.limit is None else self.used_bytes))

    def _scratch(self) -> int:
        """Return how much of that others need."""
        limit = self.memory.capacity if self.limit is None else self.limit
        return 0 if limit is None else scratch_bytes(limit, self._use)

    def _charge(self, n_bytes: int) -> _Charge | None:
        """Charge bytes to the account until what is returned is freed; None where that exceeds the limit."""
        with self._lock:
            if self.limit is not None and self._charged(0) + n_bytes > self.limit:
                return None
            self._charged(n_bytes)
            return _Charge(self._freed, n_bytes)

    def pin(self, key: Any) -> Resident | None:
        """Return the resident of this name for use by the query; ``unpin`` it afterwards.

        None if there is none, or if the query's limit doesn't allow it: whoever makes it anew is told so.
        """
        resident = self.memory.pin(key)
        if resident is None or resident.maker is self:
            return resident
        with self._lock:
            pins, n_bytes = self._pinned.get(id(resident), (0, resident.n_bytes))
            allowed = pins or self.limit is None or self._charged(0) + n_bytes <= self.limit
            if allowed and self._holds(resident):
                self._pinned[id(resident)] = pins + 1, n_bytes
                if not pins:
                    self._charged(n_bytes)
                return resident
        self.memory.unpin(resident)
        return None

    def add(self, key: Any, block: Any, n_bytes: int, keep: Any) -> Resident:
        """Make a block of the query resident, pinned once; ``n_bytes``: of the device's memory."""
        resident = Resident(key, block, n_bytes, keep, pins=1, maker=self)
        self.memory.add(resident)
        return resident

    def unpin(self, resident: Resident) -> None:
        """End one use of a resident by the query."""
        if isinstance(resident.block, PagedBlock):
            self._kept.append(resident.block)
        with self._lock:
            pins, n_bytes = self._pinned.pop(id(resident), (0, 0))
            if pins > 1:
                self._pinned[id(resident)] = pins - 1, n_bytes
            elif pins:
                self._charged(-n_bytes)
        self.memory.unpin(resident)

    def follow(self, store: ExecView) -> None:
        """Bound the residents with keys ``(id(store), …)`` by the graph's size, and evict them when it is freed."""
        self.memory.follow(store, int(store.nbytes))


def device_bytes(block: Any, n_bytes: int) -> int:
    """Return how much of the device's memory a block of so many bytes takes."""
    return block.device_bytes if isinstance(block, PagedBlock) else n_bytes


def host_bytes(residents: Iterable[Resident]) -> int:
    """Return how much of residents lies in the host's memory."""
    return sum(each.host_bytes for each in residents)


def host_bytes_of(block: Any) -> int:
    """Return the host's bytes of a block, of several, or of what says so itself."""
    if isinstance(block, dict):
        block = list(block.values())
    if isinstance(block, list):
        return sum(map(host_bytes_of, block))
    return int(getattr(block, "host_bytes", 0))


def _out_of_memory(most: str, n_bytes: int, what: str, beside: str) -> OutOfMemory:
    return OutOfMemory(
        f"The query needs more device memory than {most}: {n_bytes:,} bytes for {what}, beside {beside}.",
        hint='Raise gpu_memory_limit, ask for fewer rows (count, LIMIT), or use device="cpu".',
        code="OutOfDeviceMemory",
    )


def _no_host_memory(n_bytes: int, what: str) -> OutOfMemory:
    return OutOfMemory(
        f"The device has no room for {what}, and memory_limit leaves less than {n_bytes:,} bytes of the host's memory.",
        hint="Raise gpu_memory_limit or memory_limit.",
        code="OutOfMemory",
    )


_counting = threading.Lock()
"""Of the host's accounts: devices that work for one query share its account."""

_memories: dict[int, tuple[DeviceMemory, WhenIdle]] = {}
_making = threading.Lock()


def device_memory() -> DeviceMemory:
    """Return the allocator of the current device."""
    return _of_device()[0]


def trimmer() -> WhenIdle:
    """Return what gives the current device its free memory back when it is idle. Runs are under way in ``with`` blocks
    of it.
    """
    return _of_device()[1]


def _of_device() -> tuple[DeviceMemory, WhenIdle]:
    on = device()
    with _making:
        if on.number not in _memories:
            memory = _new_memory(on)
            _memories[on.number] = memory, WhenIdle(partial(_trim, on.number, memory), _IDLE_SECONDS)
        return _memories[on.number]


def _trim(number: int, memory: DeviceMemory) -> None:
    with using(number):
        memory.trim()


def _new_memory(on: Device) -> DeviceMemory:
    cuda = cupy().cuda
    pool = cuda.MemoryPool()
    capacity = min(pool.get_limit() or on.memory_bytes, on.memory_bytes)
    pool.set_limit(size=capacity)

    def hold(block: Any, other: Any) -> Any:
        return cuda.MemoryPointer(cuda.UnownedMemory(block.ptr, block.mem.size, (block, other), on.number), 0)

    return DeviceMemory(pool, cuda.memory.OutOfMemoryError, hold, pages=Pages(on.number), capacity=capacity)


def release(store: ExecView) -> None:
    """Give all devices back what stays there of a graph; nothing happens where no query has used one."""
    for number, (memory, _) in list(_memories.items()):
        with using(number):
            memory.release(store)
