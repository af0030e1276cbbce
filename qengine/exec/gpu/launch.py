"""One query's work on the device: its stream, its memory, and the flag that stops its kernels."""

from __future__ import annotations

import ctypes
import functools
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine.exec.context import ExecutionContext, Status
from qengine.exec.gpu.device import Device, cupy, device
from qengine.exec.gpu.host_copies import copy
from qengine.exec.gpu.memory import QueryMemory, device_memory, trimmer
from qengine.exec.gpu.paged import parts_at

_THREADS = 256

_SPIN_SECONDS = 0.002
_SLEEP_SECONDS = 0.0005
_SLEEP_SHARE = 0.02
"""At most this part of the time that a run has waited is slept at once."""
_COPY_BYTES = 1 << 27
"""Of a copy between two looks at the limits: some 10 ms."""

_LOCK_SECONDS = 0.005


@dataclass
class _Lane:
    """What a run borrows: a stream, an event, and a flag in host memory that kernels read.

    ``side``: another stream, and the events at which it forks and joins. ``ahead``: one whose kernels come before all
    others' on the device.
    """

    stream: Any
    event: Any
    pinned: Any
    flag: npt.NDArray[np.int32]
    side: tuple[Any, Any, Any]
    ahead: Any


_idle: dict[int, list[_Lane]] = {}
"""By the device's number."""
_lock = threading.Lock()


@dataclass
class DeviceRun:
    """Launches kernels for one query, and waits for them under its limits.

    ``context``: limits. ``device``: where it runs. ``memory``: the query's account of the device's memory.
    """

    context: ExecutionContext
    device: Device
    memory: QueryMemory
    _lane: _Lane

    @property
    def stop_flag(self) -> int:
        """The device's address of an int32 that becomes 1 when kernels must stop."""
        return int(self._lane.pinned.ptr)

    @property
    def stream(self) -> Any:
        """The ``cupy.cuda.Stream`` of this run."""
        return self._lane.stream

    def allocate(self, n_bytes: int, what: str) -> Any:
        """Return a block of device memory; ``what`` names it in the error.

        Raises
        ------
        OutOfMemory
            If it exceeds the limit or the device.
        """
        return self.memory.allocate(n_bytes, what)

    def kernel(
        self,
        family: str,
        name: str,
        macros: Mapping[str, int | str] | None = None,
        shared_bytes: int = 0,
        preface: str = "",
    ) -> Any:
        """Return a kernel as ``Device.kernel`` does; the run's limits hold while it is compiled.

        Raises
        ------
        QueryTimeout, QueryInterrupted
            By the context's limits; compiling goes on, for those who ask next.
        """
        return self.device.kernel(family, name, macros, shared_bytes, preface, self.context.check)

    def free_bytes(self) -> int:
        """Return how many bytes can be allocated, those of residents that no query uses left aside."""
        free = max(0, self.device.memory_bytes - self.memory.memory.used_bytes())
        left = self.memory.left_bytes()
        return free if left is None else min(left, free)

    @contextmanager
    def alone(self, lock: Any) -> Iterator[None]:
        """Hold a ``threading.Lock`` that another query may have for long.

        Raises
        ------
        QueryTimeout, QueryInterrupted
            By the context's limits, while it waits.
        """
        while not lock.acquire(timeout=_LOCK_SECONDS):
            self.context.check()
        try:
            yield
        finally:
            lock.release()

    def place(
        self, n_bytes: int, what: str, *, by_vertex: bool = True, front: int | None = None, starts: Sequence[int] = (0,)
    ) -> Any:
        """Return a block that may lie in the host's memory in part, where the device's is short.

        What kernels write there with atomics is right, and slow. Parameters and errors as of ``QueryMemory.place``.
        """
        return self.memory.place(n_bytes, what, by_vertex=by_vertex, front=front, starts=starts)

    def zeroed(self, n_bytes: int, what: str, *, placed: bool = False) -> Any:
        """Return a block of zeros; ``placed``: as of ``place``."""
        block = self.place(n_bytes, what) if placed else self.allocate(n_bytes, what)
        self.clear(block, n_bytes)
        return block

    def clear(self, block: Any, n_bytes: int) -> None:
        """Fill the first bytes of a block with zeros."""
        block.memset_async(0, n_bytes, self.stream)

    def upload(self, host: npt.NDArray[Any], what: str) -> Any:
        """Return a block with an array's bytes, there for other runs too; the array may change once this returns."""
        return self.copied(self.allocate(host.nbytes, what), host)

    def copied(self, block: Any, host: npt.NDArray[Any]) -> Any:
        """Copy an array to a new block, which is returned, there for other runs too; the array may change then."""
        self.write(block, host)
        self.publish()
        return block

    def filled(self, block: Any, n_bytes: int, fill: Callable[[int], None]) -> Any:
        """Let ``fill`` write so many bytes at the address that it is given, which a new block then has; return that.

        Where all of the block lies in the host's memory, that is its own address.
        """
        if all(on_host for _, _, on_host in parts_at(block.ptr, n_bytes)):
            fill(int(block.ptr))
            return block
        array = np.empty(n_bytes, np.uint8)
        fill(array.ctypes.data)
        return self.copied(block, array)

    def write(self, block: Any, host: npt.NDArray[Any]) -> None:
        """Copy an array's bytes into a block, before what this run launches next; the array may change.

        A paged block must be new: what is the host's of it is not copied in the stream's order.
        """
        # in the stream's order: a copy of its own may still be under way when the next kernel starts
        for at, n_bytes, on_host in self._parts(block.ptr, host.nbytes):
            start = host.ctypes.data + at
            if on_host:
                copy(block.ptr + at, start, n_bytes, self.context)
            else:
                cupy().cuda.runtime.memcpyAsync(block.ptr + at, start, n_bytes, _TO_DEVICE, self.stream.ptr)

    def _parts(self, address: int, n_bytes: int) -> Iterator[tuple[int, int, bool]]:
        """Yield the parts of a long copy and whether each is in the host's memory; look at the limits between them."""
        for begin, end, on_host in parts_at(address, n_bytes):
            for at in range(begin, end, _COPY_BYTES):
                if at:
                    self.context.check()
                yield at, min(_COPY_BYTES, end - at), on_host

    def publish(self) -> None:
        """Wait until what was copied and launched is there for other runs, too. Errors as of ``wait``."""
        self.wait()

    def read(self, address: int, host: npt.NDArray[Any]) -> None:
        """Fill an array with what is at a device's address. The kernels must be done."""
        for at, n_bytes, on_host in self._parts(address, host.nbytes):
            if on_host:
                copy(host.ctypes.data + at, address + at, n_bytes, self.context)
            else:
                cupy().cuda.runtime.memcpy(host.ctypes.data + at, address + at, n_bytes, _TO_HOST)

    def fetched(self, address: int, n: int, kind: type[np.generic]) -> npt.NDArray[Any]:
        """Return n numbers from a device's address, in pinned memory of the host. Waits for what was launched before.

        CuPy's pool takes the memory back once nothing refers to the array. Errors as of ``wait``.
        """
        n_bytes = n * np.dtype(kind).itemsize
        buffer = cupy().cuda.alloc_pinned_memory(max(1, n_bytes))
        for at, size, on_host in self._parts(address, n_bytes):
            if on_host:
                self.wait()
                ctypes.memmove(buffer.ptr + at, address + at, size)
            else:
                cupy().cuda.runtime.memcpyAsync(buffer.ptr + at, address + at, size, _TO_HOST, self.stream.ptr)
                self.wait()
        return np.frombuffer(buffer, kind, n)

    def move(self, address: int, to: int, n_bytes: int, stream: Any = None) -> None:
        """Copy bytes between two places that the device reads, pages of the host too, in the order of a stream.

        Neither may reach from the device's memory into the host's. ``stream``: as of ``launch``.
        """
        cupy().cuda.runtime.memcpyAsync(to, address, n_bytes, _ANYWHERE, (stream or self.stream).ptr)

    def copy_from(self, number: int, address: int, to: Any, n_bytes: int) -> None:
        """Copy bytes from another device into a block, before what this run launches next."""
        _reach(self.device.number, number)
        places = to.ptr, self.device.number, address, number
        cupy().cuda.runtime.memcpyPeerAsync(*places, n_bytes, self.stream.ptr)

    def launch(
        self,
        kernel: Any,
        blocks: int,
        threads: int,
        arguments: Sequence[Any],
        shared_bytes: int = 0,
        *,
        together: bool = False,
        stream: Any = None,
    ) -> None:
        """Start a kernel, after the copies and kernels of this run that came before.

        ``together``: its blocks wait for each other, so that all must run at a time (a cooperative launch).
        ``stream``: of a branch of ``record``, or a side of ``side_by_side``.
        """
        with stream or self.stream:
            kernel((blocks,), (threads,), tuple(arguments), shared_mem=shared_bytes, enable_cooperative_groups=together)

    def side_by_side(self, first: Callable[[Any], None], second: Callable[[Any], None]) -> None:
        """Launch what two functions launch, each on the stream that it is given, before all that comes after."""
        side, forked, joined = self._lane.side
        forked.record(self.stream)
        side.wait_event(forked)
        first(self.stream)
        try:
            second(side)
        finally:
            joined.record(side)
            self.stream.wait_event(joined)

    def ahead(self, steps: Iterable[tuple[Callable[[Any], None], Callable[[Any], None]]], rooms: int) -> None:
        """Launch what pairs of functions launch, each on the stream that it is given, after all that came before.

        The first of a pair fills a room that the second uses; there are ``rooms``, used in turn. It runs as soon as the
        room is free, beside the second ones of pairs before, which run one after the other. No more pairs are launched
        than there are rooms: kernels that are short don't look at the stop flag, and all that are launched run.

        Raises
        ------
        QueryTimeout, QueryInterrupted
            By the context's limits, as ``wait``.
        """
        event = functools.partial(cupy().cuda.Event, disable_timing=True)
        side, (_, forked, joined) = self._lane.ahead, self._lane.side
        filled, used = ([event() for _ in range(rooms)] for _ in range(2))
        forked.record(self.stream)
        side.wait_event(forked)
        try:
            for k, (fill, use) in enumerate(steps):
                room = k % rooms
                if k >= rooms:
                    self._until(used[room])
                fill(side)
                filled[room].record(side)
                self.stream.wait_event(filled[room])
                use(self.stream)
                used[room].record(self.stream)
        finally:
            joined.record(side)
            self.stream.wait_event(joined)

    def record(self, first: Callable[[], None], branches: Sequence[Callable[[Any], None]]) -> Any:
        """Return what is launched in ``first`` and then side by side in each branch, to be launched by ``replay``.

        Nothing of it runs yet. A branch is given the stream that it must launch on. What is recorded holds this run's
        ``stop_flag``: it may be replayed by runs that have the same.
        """
        cuda = cupy().cuda
        forked, sides = cuda.Event(disable_timing=True), []
        self.stream.begin_capture()
        try:
            first()
            forked.record(self.stream)
            for k, branch in enumerate(branches):
                if k == 0:
                    branch(self.stream)
                    continue
                side, joined = cuda.Stream(non_blocking=True), cuda.Event(disable_timing=True)
                side.wait_event(forked)
                branch(side)
                joined.record(side)
                sides.append((side, joined))
            for _, joined in sides:
                self.stream.wait_event(joined)
        finally:
            recorded = self.stream.end_capture()
        return recorded

    def replay(self, recorded: Any) -> None:
        """Launch what was recorded, as one launch."""
        recorded.launch(self.stream)

    def wait(self) -> None:
        """Wait for what was launched.

        Raises
        ------
        QueryTimeout, QueryInterrupted
            By the context's limits; the kernels have ended by then.
        """
        event = self._lane.event
        event.record(self.stream)
        self._until(event)
        event.synchronize()
        self._lane.flag[0] = 0

    def _until(self, event: Any) -> None:
        """Wait until the stream has come to an event. Errors as of ``wait``."""
        begin = time.perf_counter()
        try:
            while not event.done:
                self.context.check()
                # at first asleep for no time: threads of other devices must run, too
                waited = time.perf_counter() - begin
                time.sleep(min(_SLEEP_SECONDS, _SLEEP_SHARE * waited) if waited > _SPIN_SECONDS else 0)
        except KeyboardInterrupt:
            self.context.interrupt()
            self._stop()
            self.context.raise_for(Status.INTERRUPTED)
        except BaseException:
            self._stop()
            raise

    def _stop(self) -> None:
        """Make the kernels stop, and wait until they have."""
        self._lane.flag[0] = 1
        for stream in (self.stream, self._lane.ahead):
            stream.synchronize()
        self._lane.flag[0] = 0


_TO_DEVICE, _TO_HOST, _ANYWHERE = 1, 2, 4
_FIRST = -1
"""A priority of streams: the plain one is 0."""

_REACHED = 704
"""cudaErrorPeerAccessAlreadyEnabled."""


@functools.cache
def _reach(number: int, other: int) -> None:
    """Let a device, the current one, read another's memory by the link between them, where there is one."""
    runtime = cupy().cuda.runtime
    if runtime.deviceCanAccessPeer(number, other):
        try:
            runtime.deviceEnablePeerAccess(other)
        except runtime.CUDARuntimeError as error:
            if error.status != _REACHED:
                raise


def launch_pass(
    run: DeviceRun,
    family: str,
    name: str,
    threads: int,
    *arguments: Any,
    macros: Mapping[str, int | str] | None = None,
    stream: Any = None,
) -> None:
    """Launch a kernel of independent threads or warps, so many threads where the device runs them at a time.

    ``stream``: another than the run's.
    """
    if threads:
        kernel = run.kernel(family, name, macros)
        most = run.device.resident_blocks(kernel, _THREADS, 0)
        run.launch(kernel, max(1, min(-(-threads // _THREADS), most)), _THREADS, arguments, stream=stream)


@contextmanager
def device_run(context: ExecutionContext) -> Iterator[DeviceRun]:
    """Lend a run on the current device for one query; when the block ends, its kernels have ended.

    Raises
    ------
    DeviceError
        If there is no usable device.
    """
    host = context.memory.holding("The GPU's part of the query")
    on, memory = device(), device_memory().account(context.gpu_memory_limit, host)
    with trimmer():
        with _lock:
            idle = _idle.setdefault(on.number, [])
            lane = idle.pop() if idle else None
        if lane is None:
            lane = _new_lane()
        run = DeviceRun(context, on, memory, lane)
        try:
            yield run
        finally:
            if not lane.stream.done:
                run._stop()
            memory.end()
            with _lock:
                idle.append(lane)


def _new_lane() -> _Lane:
    cuda = cupy().cuda
    pinned = cuda.alloc_pinned_memory(4)
    flag = np.frombuffer(pinned, np.int32, 1)
    flag[0] = 0
    event, forked, joined = (cuda.Event(disable_timing=True) for _ in range(3))
    stream, side = (cuda.Stream(non_blocking=True) for _ in range(2))
    ahead = cuda.Stream(non_blocking=True, priority=_FIRST)
    return _Lane(stream, event, pinned, flag, (side, forked, joined), ahead)
