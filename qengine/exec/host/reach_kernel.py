"""Calls the kernel of ``qe/reach.h``: what many sets of vertices reach."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from qengine import _native
from qengine._frozen import frozen
from qengine.exec.context import ExecutionContext
from qengine.exec.host.walk_kernel import EndFilter, WalkSpace
from qengine.plan.pattern import PathMode

IntArray = NDArray[np.int64]

LANES = 64
"""Sets that are followed at once, a bit of a word each (``qe::kLanes``)."""

_UNBOUNDED = 2**63 - 1
_ROWS = 1 << 16


_Plan = _native.struct(
    "qe::ReachPlan",
    "p forward backward closing; i4 n_layers lanes returns minimum only_returns n_closing; "
    "i8 maximum vertex_count; p offsets starts end_bits through_bits; u4 end_lo end_hi",
)
_Output = _native.struct("qe::ReachOutput", "p lane end hops; i8 capacity rows")


_library = _native.declared("qe_reach_open p p p; qe_reach_next p p p; qe_reach_count p p; qe_reach_close p -> none")


@frozen
class Lanes:
    """Sets of starts: int64[n + 1] offsets into ``starts``, int64 vertex ids, within a set each once."""

    offsets: IntArray
    starts: IntArray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def parts(self) -> Iterator[tuple[int, Lanes]]:
        """Give so many sets at a time as are followed at once, and the number of the first of them."""
        for begin in range(0, len(self), LANES):
            yield begin, self._part(begin, min(begin + LANES, len(self)))

    def _part(self, begin: int, end: int) -> Lanes:
        first, last = self.offsets[begin], self.offsets[end]
        return Lanes(self.offsets[begin : end + 1] - first, self.starts[first:last])


@frozen
class ReachRules:
    """Which ends are wanted.

    Parameters
    ----------
    minimum, maximum
        Hops: 0 or 1 at least; None for no maximum.
    repeats
        What a walk must not repeat: it matters only where a start is an end of its own set.
    """

    minimum: int
    maximum: int | None
    repeats: PathMode = PathMode.TRAIL

    def return_rule(self, space: WalkSpace) -> ReturnRule:
        """Return which starts are ends of their own sets.

        Where all hops are one way, a shortest walk back is a trail.
        """
        if self.repeats is PathMode.ACYCLIC:
            return ReturnRule.NEVER
        return ReturnRule.BY_TRAIL if self.repeats is not PathMode.WALK and space.two_way else ReturnRule.BY_WALK


class ReturnRule(IntEnum):
    """When a start is an end of its own set: ``qe::ReturnRule``."""

    BY_WALK = 0
    BY_TRAIL = 1
    NEVER = 2


@frozen
class ReachChunk:
    """Some ends: int64[n] the set, the end, and the least number of hops, None where that isn't wanted."""

    lane: IntArray
    end: IntArray
    hops: IntArray | None


def reach_chunks(
    space: WalkSpace,
    ends: EndFilter,
    lanes: Lanes,
    context: ExecutionContext,
    rules: ReachRules,
    *,
    hops: bool = False,
    only_returns: bool = False,
    rows: int = _ROWS,
) -> Iterator[ReachChunk]:
    """Yield the ends of all sets, in chunks of up to ``rows`` (at least 64); none is empty.

    Parameters
    ----------
    space, ends
        Where to walk, where to end.
    lanes
        The sets; with ``hops`` of one start each.
    only_returns
        Leave out all but the starts that are ends of their own sets by another rule than that any walk comes back.
    """
    library = _library()
    if not len(lanes):
        return
    done = ctypes.c_int32()
    with _opened(space, ends, lanes, context, rules, only_returns) as handle:
        while not done.value:
            arrays = [np.empty(rows, np.int64) for _ in range(2 + hops)]
            output = _Output(*(array.ctypes.data for array in arrays), *([] if hops else [None]), rows, 0)
            context.run(library.qe_reach_next, handle, ctypes.byref(output), ctypes.byref(done))
            if output.rows:
                lane, end, *least = (array[: output.rows] for array in arrays)
                yield ReachChunk(lane, end, least[0] if hops else None)


def reach_counts(
    space: WalkSpace,
    ends: EndFilter,
    lanes: Lanes,
    context: ExecutionContext,
    rules: ReachRules,
    *,
    only_returns: bool = False,
) -> IntArray:
    """Return how many ends each set has, int64[lanes]. Parameters and errors as for ``reach_chunks``."""
    counts = np.zeros(len(lanes), np.int64)
    if len(lanes):
        with _opened(space, ends, lanes, context, rules, only_returns) as handle:
            context.run(_library().qe_reach_count, handle, counts.ctypes.data)
    return counts


@contextmanager
def _opened(
    space: WalkSpace,
    ends: EndFilter,
    lanes: Lanes,
    context: ExecutionContext,
    rules: ReachRules,
    only_returns: bool,
) -> Iterator[ctypes.c_void_p]:
    """Open a run, and close it."""
    library = _library()
    offsets, starts = (np.ascontiguousarray(each, np.int64) for each in (lanes.offsets, lanes.starts))
    plan = _Plan(
        forward=ctypes.addressof(space.forward),
        backward=ctypes.addressof(space.backward),
        closing=ctypes.addressof(space.closing),
        n_layers=space.layers,
        n_closing=len(space.closing),
        lanes=len(lanes),
        returns=rules.return_rule(space),
        minimum=rules.minimum,
        only_returns=only_returns,
        maximum=_UNBOUNDED if rules.maximum is None else rules.maximum,
        vertex_count=space.vertex_count,
        offsets=offsets.ctypes.data,
        starts=starts.ctypes.data,
        end_bits=None if ends.bits is None else ends.bits.ctypes.data,
        through_bits=None if space.through is None else space.through.ctypes.data,
        end_lo=ends.lo,
        end_hi=ends.hi,
    )
    handle = ctypes.c_void_p()
    context.raise_for(library.qe_reach_open(ctypes.byref(plan), ctypes.byref(context.control), ctypes.byref(handle)))
    try:
        yield handle
    finally:
        library.qe_reach_close(handle)


class _Chunks(Protocol):
    def __call__(
        self,
        space: WalkSpace,
        ends: EndFilter,
        lanes: Lanes,
        context: ExecutionContext,
        rules: ReachRules,
        *,
        hops: bool = False,
    ) -> Iterator[ReachChunk]: ...


@frozen
class ReachKernels:
    """What follows sets of vertices: functions as ``reach_chunks`` and ``reach_counts``."""

    chunks: _Chunks
    counts: Callable[[WalkSpace, EndFilter, Lanes, ExecutionContext, ReachRules], IntArray]


HOST = ReachKernels(reach_chunks, reach_counts)
"""On the CPU."""
