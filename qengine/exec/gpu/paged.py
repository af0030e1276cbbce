"""Blocks in one range of the device's addresses whose first pages are the device's memory and the others the host's.

CUDA's virtual memory management maps both: kernels, copies and ``memset`` don't see where a page is, but what is the
host's crosses the link at each read that no cache holds (Min et al., "EMOGI", 2020). Where a driver maps no pages of
the host so, a block lies in one or the other as a whole.
"""

from __future__ import annotations

import ctypes
import functools
import math
import mmap
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from qengine import _native
from qengine._frozen import frozen
from qengine._system import usable_processors
from qengine.exec.gpu.device import cupy

DEVICE, HOST = 1, 3
"""``CU_MEM_LOCATION_TYPE_DEVICE`` and ``…_HOST_NUMA``."""

OUT_OF_MEMORY = 2
"""``CUDA_ERROR_OUT_OF_MEMORY``."""

_READ_WRITE = 3
_Runs = tuple[tuple[int, "Location"], ...]
_Free = deque[tuple[_Runs, Any]]
_PIECE = 1 << 30
"""Of the host's memory that is pinned at once."""

_PORTABLE = 1
"""``cudaHostRegisterPortable``: pinned for all devices."""

_TOUCHED = 1 << 12
"""Pages that a thread touches at a time."""


class NoPages(Exception):
    """The driver gave no memory; ``code`` is its ``CUresult``."""

    def __init__(self, name: str, code: int) -> None:
        super().__init__(f"{name} returned {code}")
        self.code = code

    @property
    def is_full(self) -> bool:
        """Whether there is no memory left."""
        return self.code == OUT_OF_MEMORY


@frozen
class Location:
    """Where pages are: ``kind`` (``DEVICE``, ``HOST``) and the number of the device or of the host's NUMA node."""

    kind: int
    number: int = 0


_Location = _native.struct("CUmemLocation", "i4 kind number")
_Properties = _native.struct(
    "CUmemAllocationProp", "i4 type handle_types; _Location location; p win32; u1[8] flags", _Location=_Location
)
_Access = _native.struct("CUmemAccessDesc", "_Location location; i4 flags", _Location=_Location)


class _Range:
    """A range of addresses with what is mapped there; unmapped and freed when nothing refers to it.

    No kernel may use it then: they would end the process's use of the device.
    """

    def __init__(self, n_bytes: int) -> None:
        self.address, self.n_bytes, self.mapped = 0, n_bytes, 0
        at = ctypes.c_uint64()
        _call("cuMemAddressReserve", ctypes.byref(at), n_bytes, 0, 0, 0)
        self.address = int(at.value)

    def map(self, n_bytes: int, location: Location, readers: Sequence[Location]) -> None:
        """Map so many bytes more, whole pages; ``readers``: devices, or the host, that may read and write them."""
        handle = ctypes.c_uint64()
        where = _Location(location.kind, location.number)
        _call("cuMemCreate", ctypes.byref(handle), n_bytes, ctypes.byref(_Properties(1, 0, where)), 0)
        try:
            _call("cuMemMap", self.address + self.mapped, n_bytes, 0, handle.value, 0)
        finally:
            _call("cuMemRelease", handle.value)  # it lives as long as it is mapped
        access = (_Access * len(readers))(
            *(_Access(_Location(each.kind, each.number), _READ_WRITE) for each in readers)
        )
        at, self.mapped = self.address + self.mapped, self.mapped + n_bytes
        _call("cuMemSetAccess", at, n_bytes, access, len(readers))

    def __del__(self) -> None:
        if self.address:
            if self.mapped:
                _driver().cuMemUnmap(ctypes.c_uint64(self.address), ctypes.c_size_t(self.mapped))
            _driver().cuMemAddressFree(ctypes.c_uint64(self.address), ctypes.c_size_t(self.n_bytes))


class _Registered:
    """Memory of the host that the device reads: zeros, touched by all threads at once, and then pinned.

    The driver would zero its own by one, in eight times as long. Freed when nothing refers to it.
    """

    def __init__(self, n_bytes: int) -> None:
        self.ptr = 0
        if n_bytes > _available():  # what is touched beyond that ends the process
            raise NoPages("mmap", OUT_OF_MEMORY)
        try:
            self._memory = mmap.mmap(-1, n_bytes, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except OSError as error:
            raise NoPages("mmap", OUT_OF_MEMORY) from error
        with suppress(OSError):  # a kernel without large pages
            self._memory.madvise(mmap.MADV_HUGEPAGE)
        pages = np.frombuffer(self._memory, np.uint8)[:: mmap.PAGESIZE]
        _on_all_threads(lambda begin: pages[begin : begin + _TOUCHED].fill(0), range(0, len(pages), _TOUCHED))
        runtime, address = cupy().cuda.runtime, int(pages.ctypes.data)
        try:
            runtime.hostRegister(address, n_bytes, _PORTABLE)
        except runtime.CUDARuntimeError as error:
            raise NoPages("cudaHostRegister", int(error.status)) from error
        self.ptr = address

    def __del__(self) -> None:
        if self.ptr:
            cupy().cuda.runtime.hostUnregister(self.ptr)


def _available() -> float:
    """Return how many bytes of the host's memory are available, as far as the system tells."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return math.inf


def _on_all_threads(work: Callable[[int], object], places: Sequence[int]) -> None:
    """Call a function, which lets go of Python's lock, for each of some places."""
    with ThreadPoolExecutor(min(usable_processors(), len(places))) as threads:
        for _ in threads.map(work, places):
            pass


@dataclass(eq=False)
class PagedBlock:
    """A block as CuPy's pool gives them.

    ``ptr``: its address. ``runs``: the bytes of each run of pages and where they are, in order. ``memory``: what it
    lies in.
    """

    ptr: int
    runs: tuple[tuple[int, Location], ...]
    memory: Any
    held: Any = None

    def __post_init__(self) -> None:
        _live.add(self)

    @property
    def n_bytes(self) -> int:
        """Bytes of all pages."""
        return sum(n_bytes for n_bytes, _ in self.runs)

    @property
    def device_bytes(self) -> int:
        """Bytes that are a device's."""
        return sum(n_bytes for n_bytes, location in self.runs if location.kind == DEVICE)

    @property
    def host_bytes(self) -> int:
        """Bytes that are the host's."""
        return self.n_bytes - self.device_bytes

    def parts(self, n_bytes: int) -> Iterator[tuple[int, int, bool]]:
        """Yield the parts of its first bytes: where each begins and ends, and whether it is in the host's memory."""
        begin = 0
        for run_bytes, location in self.runs:
            end = min(n_bytes, begin + run_bytes)
            if begin < end:
                yield begin, end, location.kind != DEVICE
            begin += run_bytes

    def memset_async(self, value: int, n_bytes: int, stream: Any) -> None:
        """Fill its first bytes with zeros, in the stream's order."""
        assert value == 0
        cuda = cupy().cuda
        for begin, end, on_host in self.parts(n_bytes):
            if not on_host:
                cuda.runtime.memsetAsync(self.ptr + begin, value, end - begin, stream.ptr)
                continue
            size = -(-(end - begin) // 8) * 8  # within the page
            memory = cuda.UnownedMemory(self.ptr + begin, size, self)
            with stream:  # the driver fills no pages of the host
                _clear()(cupy().ndarray(size // 8, "u8", cuda.MemoryPointer(memory, 0)))

    def holding(self, other: Any) -> PagedBlock:
        """Keep another object alive as long as the block."""
        self.held = (self.held, other)
        return self


class _Return:
    """Gives memory back, to be used again, when nothing refers to a block any more."""

    __slots__ = ("memory", "runs", "to")

    def __init__(self, to: _Free, runs: _Runs, memory: Any) -> None:
        self.to, self.runs, self.memory = to, runs, memory

    def __del__(self) -> None:
        self.to.append((self.runs, self.memory))  # without a lock: the garbage collector may call at any moment


@dataclass
class Pages:
    """Makes paged blocks on a device. ``number``: of the device. ``size``: of a page, the least that is mapped."""

    number: int
    size: int = 2 << 20
    maps_host: bool | None = None
    """Whether the driver maps the host's pages; None: nobody has tried."""
    free: _Free = field(default_factory=deque, repr=False)
    """What blocks of which runs have left: to pin a page takes longer than to read it over the link."""

    def make(self, runs: Sequence[tuple[int, bool]]) -> PagedBlock:
        """Return a block of runs of whole pages: of how many bytes, and whether on the device.

        It lies where one of the same runs did, if one is free.

        Raises
        ------
        NoPages
            Where there is no memory.
        """
        here, there = Location(DEVICE, self.number), Location(HOST)
        places = tuple((n_bytes, here if on_device else there) for n_bytes, on_device in runs)
        if any(not on_device for _, on_device in runs) and not self._maps_host():
            places = ((sum(n_bytes for n_bytes, _ in runs), there),)
        memory = self._again(places) or self._made(places)
        address = int(memory.address if isinstance(memory, _Range) else memory.ptr)
        return PagedBlock(address, places, memory, _Return(self.free, places, memory))

    def trim(self) -> None:
        """Give the device and the host back what no block uses."""
        self.free.clear()

    def _again(self, places: _Runs) -> Any:
        """Return what is free of the same runs, None where nothing is."""
        for _ in range(len(self.free)):
            try:
                found = self.free.popleft()
            except IndexError:
                return None
            if found[0] == places:
                return found[1]
            self.free.append(found)
        return None

    def _maps_host(self) -> bool:
        if self.maps_host is None:
            try:
                cupy().cuda.runtime.free(0)  # the driver's calls want a context
                _Range(self.size).map(self.size, Location(HOST), (Location(DEVICE, self.number), Location(HOST)))
                self.maps_host = True
            except NoPages:
                self.maps_host = False
        return self.maps_host

    def _made(self, places: _Runs) -> Any:
        """Return new memory of such runs."""
        cuda, here = cupy().cuda, Location(DEVICE, self.number)
        size = sum(n_bytes for n_bytes, _ in places)
        cuda.runtime.free(0)  # the driver's calls want a context
        if all(location != here for _, location in places):
            return _Registered(size)
        made = _Range(size)
        for n_bytes, location in places:
            readers = (here,) if location == here else (here, location)
            for at in range(0, n_bytes, _PIECE):
                made.map(min(_PIECE, n_bytes - at), location, readers)
        return made


_live: weakref.WeakSet[PagedBlock] = weakref.WeakSet()


def parts_at(address: int, n_bytes: int) -> Iterator[tuple[int, int, bool]]:
    """Yield the parts of what is at an address: where each begins and ends from there, and whether it is the host's.

    A copy must not reach from one into the other.
    """
    for block in list(_live):
        at = address - block.ptr
        if 0 <= at < block.n_bytes:
            for begin, end, on_host in block.parts(at + n_bytes):
                if end > at:
                    yield max(begin, at) - at, end - at, on_host
            return
    yield 0, n_bytes, False


@functools.cache
def _clear() -> Any:
    return cupy().ElementwiseKernel("", "uint64 x", "x = 0", "clear_pages")


@functools.cache
def _driver() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")


def _call(name: str, *arguments: Any) -> None:
    """Call the driver; addresses and sizes have 64 bits."""
    given = [ctypes.c_uint64(each) if isinstance(each, int) else each for each in arguments]
    code = getattr(_driver(), name)(*given)
    if code:
        raise NoPages(name, code)
