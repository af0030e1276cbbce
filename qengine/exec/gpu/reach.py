"""What many sets of vertices reach, on the device (``kernels/cuda/walk/reach.cu``): as ``exec.host.reach_kernel``.

Levels are made on the device; only ends cross the link, as words of 64 sets each. Starts that are ends of their own set
by another rule than that any walk comes back are found on the host. So is all of it where the device has no room.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine.errors import OutOfMemory
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu.launch import DeviceRun, device_run
from qengine.exec.gpu.memory import Resident
from qengine.exec.gpu.reach_job import ENDS, JOB, LAYER, STATE
from qengine.exec.gpu.upload import resident_lists
from qengine.exec.host import reach_kernel as host
from qengine.exec.host.reach_kernel import LANES, Lanes, ReachChunk, ReachRules, ReturnRule
from qengine.exec.host.walk_kernel import EndFilter, WalkLists, WalkSpace

THREADS = 512
SHARED_BYTES = 8 * 32
"""Of the launch that makes levels."""

_PASS_THREADS = 256
_MOST_BLOCKS = 1 << 12
_PIECE = 1 << 22
"""Vertices that are looked over for ends at once."""
_EXPANDED = 1 << 14
"""Ends whose bits become rows at once."""
_ALL_LEVELS = 2**32 - 1
_UNBOUNDED = 2**63 - 1
_WHAT = "the vertices that are reached"

IntArray = npt.NDArray[np.int64]


def reach_chunks(
    space: WalkSpace,
    ends: EndFilter,
    lanes: Lanes,
    context: ExecutionContext,
    rules: ReachRules,
    *,
    hops: bool = False,
) -> Iterator[ReachChunk]:
    """Yield the ends of all sets, as ``host.reach_kernel.reach_chunks`` does, in chunks of other sizes."""
    if ends.lo >= ends.hi:
        return
    for begin, part in lanes.parts():
        for chunk in _chunks(space, ends, part, context, rules, hops):
            yield ReachChunk(chunk.lane + begin, chunk.end, chunk.hops)


def reach_counts(
    space: WalkSpace, ends: EndFilter, lanes: Lanes, context: ExecutionContext, rules: ReachRules
) -> IntArray:
    """Return how many ends each set has, int64[lanes], as ``host.reach_kernel.reach_counts`` does."""
    counts = np.zeros(len(lanes), np.int64)
    if ends.lo >= ends.hi:
        return counts
    for begin, part in lanes.parts():
        counts[begin : begin + len(part)] = _counts(space, ends, part, context, rules)
    return counts


def _counts(space: WalkSpace, ends: EndFilter, lanes: Lanes, context: ExecutionContext, rules: ReachRules) -> IntArray:
    try:
        with device_run(context) as run, _Reach(space, ends, lanes, run, rules) as reach:
            reach.levels(_ALL_LEVELS)
            found = reach.counts()
    except OutOfMemory:
        return host.reach_counts(space, ends, lanes, context, rules)
    if _may_return(space, rules):
        found += host.reach_counts(space, ends, lanes, context, rules, only_returns=True)
    return found


def _chunks(
    space: WalkSpace, ends: EndFilter, lanes: Lanes, context: ExecutionContext, rules: ReachRules, hops: bool
) -> Iterator[ReachChunk]:
    given = False
    try:
        with device_run(context) as run, _Reach(space, ends, lanes, run, rules) as reach:
            for chunk in reach.by_level() if hops else reach.all_ends():
                given = True
                yield chunk
    except OutOfMemory:
        if given:
            raise
        yield from host.reach_chunks(space, ends, lanes, context, rules, hops=hops)
        return
    if _may_return(space, rules):
        yield from host.reach_chunks(space, ends, lanes, context, rules, hops=hops, only_returns=True)


@dataclass
class _Reach:
    """One run of up to 64 sets: a context manager that holds its memory and the graph's lists."""

    space: WalkSpace
    ends: EndFilter
    lanes: Lanes
    run: DeviceRun
    rules: ReachRules
    held: list[Resident] = field(default_factory=list)
    blocks: list[Any] = field(default_factory=list)

    def __enter__(self) -> _Reach:
        try:
            self._prepare()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        for resident in self.held:
            self.run.memory.unpin(resident)
        self.held.clear()
        self.blocks.clear()

    def levels(self, most: int) -> Any:
        """Make so many levels more, or all that there are; return the ``STATE`` record afterwards."""
        self._set_levels(most)
        self.run.clear(self.state, STATE.fields["size"][1])  # type: ignore[index]
        kernel = self.run.kernel("reach", "reach")
        self.run.launch(kernel, self.together, THREADS, (self._job,), SHARED_BYTES, together=True)
        return self._state()

    def counts(self) -> IntArray:
        """Return how many ends each set has seen, without its own starts where these have seen themselves."""
        self._forget()
        counts = self._zeroed(8 * LANES)
        self._pass("reach_count", self.ends.hi - self.ends.lo, self._job, self._ends, np.uint64(counts.ptr))
        self.run.wait()
        found = np.empty(LANES, np.int64)
        self.run.read(counts.ptr, found)
        return found[: len(self.lanes)]

    def all_ends(self) -> Iterator[ReachChunk]:
        """Yield what is reached in all."""
        self.levels(_ALL_LEVELS)
        self._forget()
        seen = int(self.record["seen"][0])
        for first in range(self.ends.lo, self.ends.hi, _PIECE):
            yield from self._given(0, seen, first, min(_PIECE, self.ends.hi - first), None)

    def by_level(self) -> Iterator[ReachChunk]:
        """Yield what is reached, level by level, with the number of hops."""
        depth, size = 0, len(self.starts)
        while size:
            if depth >= self.rules.minimum:
                lists, bits = (int(self.record[name][0, depth % 2]) for name in ("lists", "bits"))
                for first in range(0, size, _PIECE):
                    yield from self._given(lists, bits, first, min(_PIECE, size - first), depth)
            if depth >= self.record["maximum"][0]:
                break
            state = self.levels(1)
            depth, size = int(state["depth"]), int(state["size"])

    # ------------------------------------------------------------ what is on the device

    def _prepare(self) -> None:
        n, layers = self.space.vertex_count, self.space.layers
        if n * layers >= 2**32:
            raise OutOfMemory("There are too many nodes and types for one search on a GPU.")
        vertices, words = self._starts()
        kernel = self.run.kernel("reach", "reach")
        self.together = max(1, self.run.device.resident_blocks(kernel, THREADS, SHARED_BYTES))
        self.state = self._zeroed(STATE.itemsize)
        self.zeros = [self._zeroed(8 * n) for _ in range(3)]
        lists = [self._block(4 * n) for _ in range(2)]
        before, sums = self._block(8 * max(1, n * layers)), self._block(8 * self.together)
        record = self.record = np.zeros(1, JOB)
        record["stop"], record["state"] = self.run.stop_flag, self.state.ptr
        record["forward"] = self._layers(self.space.lists, forward=True)
        record["backward"] = self._layers(self.space.lists, forward=False)
        record["through"] = self._bits(self.space.through)
        record["seen"], record["bits"] = self.zeros[0].ptr, [each.ptr for each in self.zeros[1:]]
        record["lists"] = [each.ptr for each in lists]
        record["before"], record["sums"] = before.ptr, sums.ptr
        record["lanes"] = _all_of(len(self.lanes))
        record["maximum"] = _UNBOUNDED if self.rules.maximum is None else self.rules.maximum
        record["n_layers"], record["n_vertices"] = layers, n
        self.job = self._block(JOB.itemsize)
        self.run.write(self.job, record)
        self._job = np.uint64(self.job.ptr)
        self._ends = np.array([(self.ends.lo, self.ends.hi, self._bits(self.ends.bits))], ENDS)
        self.starts = vertices
        self._given_starts = self._upload(vertices), self._upload(words)
        self._start()

    def _start(self) -> None:
        state = np.zeros(1, STATE)
        state["size"] = len(self.starts)
        state["pull_cost"] = sum(len(each.backward) for each in self.space.lists)
        self.run.write(self.state, state)
        by_walk = self.rules.return_rule(self.space) is ReturnRule.BY_WALK
        self.sees_starts = self.rules.minimum == 0 or not by_walk
        self._pass("reach_start", len(self.starts), *self._start_arguments(), np.uint32(self.sees_starts))

    def _forget(self) -> None:
        if self.sees_starts and self.rules.minimum > 0:
            self._pass("reach_forget", len(self.starts), *self._start_arguments())

    def _start_arguments(self) -> Sequence[Any]:
        vertices, words = self._given_starts
        return self._job, np.uint64(vertices.ptr), np.uint64(words.ptr), np.uint32(len(self.starts))

    def _starts(self) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint64]]:
        """Return the vertices that are starts, each once, and the lanes that begin there."""
        lane = np.repeat(np.arange(len(self.lanes), dtype=np.uint64), np.diff(self.lanes.offsets))
        vertices, place = np.unique(self.lanes.starts, return_inverse=True)
        words = np.zeros(len(vertices), np.uint64)
        np.bitwise_or.at(words, place, np.uint64(1) << lane)
        return vertices.astype(np.uint32), words

    def _layers(self, lists: Sequence[WalkLists], *, forward: bool) -> int:
        records = np.zeros(len(lists), LAYER)
        for record, each in zip(records, lists, strict=True):
            own = each.forward if forward else each.backward
            needs_ids = each.allowed is not None
            record["is_out"] = own is each.out
            record["lists"] = resident_lists(self.space.store, own, self.run, self.held, ids=needs_ids)
            if needs_ids:
                record["out"] = resident_lists(self.space.store, each.out, self.run, self.held)
                record["allowed"] = self._bits(each.allowed)
        return self._upload(records).ptr if len(records) else 0

    def _bits(self, bits: npt.NDArray[np.uint64] | None) -> int:
        return 0 if bits is None else self._upload(bits).ptr

    def _upload(self, array: npt.NDArray[Any]) -> Any:
        block = self._block(max(1, array.nbytes))
        self.run.write(block, array)
        return block

    def _block(self, n_bytes: int) -> Any:
        block = self.run.allocate(n_bytes, _WHAT)
        self.blocks.append(block)
        return block

    def _zeroed(self, n_bytes: int) -> Any:
        block = self._block(n_bytes)
        self.run.clear(block, n_bytes)
        return block

    # ------------------------------------------------------------ kernels

    def _set_levels(self, most: int) -> None:
        if self.record["levels"][0] != most:
            self.record["levels"] = most
            self.run.write(self.job, self.record)

    def _state(self) -> Any:
        self.run.wait()
        state = np.empty(1, STATE)
        self.run.read(self.state.ptr, state)
        return state[0]

    def _pass(self, name: str, n: int, *arguments: Any) -> None:
        """Launch a kernel that looks at n things once."""
        if not n:
            return
        kernel = self.run.kernel("reach", name)
        blocks = min(_MOST_BLOCKS, -(-n // _PASS_THREADS))
        self.run.launch(kernel, blocks, _PASS_THREADS, arguments)

    def _given(self, lists: int, words: int, first: int, n: int, depth: int | None) -> Iterator[ReachChunk]:
        """Yield the rows of n vertices, of a list or those from ``first`` on."""
        number, vertices, lanes = (self.run.allocate(size, _WHAT) for size in (8, 4 * n, 8 * n))
        self.run.clear(number, 8)
        places = (np.uint64(lists), np.uint64(words), np.uint32(first), np.uint32(n))
        found = (np.uint64(each.ptr) for each in (number, vertices, lanes))
        self._pass("reach_found", n, self._ends, *places, *found)
        count = np.empty(1, np.uint64)
        self.run.wait()
        self.run.read(number.ptr, count)
        ends, bits = np.empty(int(count[0]), np.uint32), np.empty(int(count[0]), np.uint64)
        if len(ends):
            self.run.read(vertices.ptr, ends)
            self.run.read(lanes.ptr, bits)
        for at in range(0, len(ends), _EXPANDED):
            part = slice(at, at + _EXPANDED)
            some = bits[part].view(np.uint8).reshape(-1, 8)[:, : -(-len(self.lanes) // 8)]
            vertex, lane = np.nonzero(np.unpackbits(some, 1, bitorder="little"))
            hops = None if depth is None else np.full(len(lane), depth, np.int64)
            yield ReachChunk(lane, ends[part][vertex].astype(np.int64), hops)


def _may_return(space: WalkSpace, rules: ReachRules) -> bool:
    """Tell whether starts are to be looked for that are ends of their own sets, though they were seen at first."""
    return rules.minimum > 0 and rules.return_rule(space) is not ReturnRule.BY_WALK


def _all_of(lanes: int) -> int:
    return (1 << lanes) - 1
