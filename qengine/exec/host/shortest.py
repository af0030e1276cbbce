"""Runs ``Shortest``: joins each input row with its shortest paths."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from qengine._frozen import record, replace
from qengine.exec.common.batch import Batch
from qengine.exec.common.columns import numbers_from
from qengine.exec.context import ExecutionContext
from qengine.exec.host.reach_kernel import HOST, Lanes, ReachChunk, ReachKernels, ReachRules
from qengine.exec.host.walk import end_filter, joined_walks, merging, walk_rows, walk_space
from qengine.exec.host.walk_kernel import (
    EndFilter,
    WalkChunk,
    WalkMode,
    WalkRows,
    WalkRules,
    WalkSpace,
    pack_bits,
    walk_chunks,
)
from qengine.exec.view import ExecView, MaskProvider
from qengine.plan.pattern import ANY_SHORTEST, PathMode
from qengine.plan.physical import Shortest

_SHARED = 8
"""Rows that begin at one node, in the mean, from which starts are followed together to given ends."""


_LABELS = 96
"""Bytes at most of each path, and each vertex, while several paths to every end are told together."""

_MOST_LABELS = 1 << 31


def run_shortest(
    store: ExecView,
    op: Shortest,
    batch: Batch,
    context: ExecutionContext,
    masks: MaskProvider,
    kernels: ReachKernels = HOST,
) -> Iterator[Batch]:
    """Yield the batch's rows joined with the selected paths to each end.

    From a vertex to itself the first is the empty one where ``minimum`` is 0, else the shortest closed trail (or walk).

    Parameters
    ----------
    store
        The ``GraphStore``.
    op
        Which paths.
    batch
        Input rows; a null start, or end if that is bound, has no path.
    context
        Limits.
    masks
        Evaluates ``op``'s predicates.
    kernels
        What follows sets of vertices, where only lengths are wanted, or which ends there are.
    """
    ends = end_filter(store, op.end, masks)
    rows = walk_rows(op, batch, ends)
    here = kernels is HOST or (rows.targets is not None and not _shares_starts(rows))
    lengths_alone = op.relationships is None and op.selector == ANY_SHORTEST and op.minimum <= 1 and here
    free = not op.end_bound and ends.hi - ends.lo > 1
    with merging(store, op, context, lengths_alone, both_ways=free) as merged:
        space = walk_space(store, op, masks, merged=merged)
        for chunk in _Paths(op, space, ends, rows, context, kernels).selected():
            yield from joined_walks(op, batch, chunk, context)


def _shares_starts(rows: WalkRows) -> bool:
    """Tell whether rows of given ends begin at so few nodes that starts are followed together."""
    assert rows.targets is not None
    known = rows.starts[(rows.starts >= 0) & (rows.targets >= 0)]
    return len(np.unique(known)) * _SHARED <= len(known)


@record
class _Paths:
    """The paths from the starts of rows; ``kernels``: what follows sets of vertices."""

    op: Shortest
    space: WalkSpace
    ends: EndFilter
    rows: WalkRows
    context: ExecutionContext
    kernels: ReachKernels

    def selected(self) -> Iterator[WalkChunk]:
        """Return what the operator selects, in the way that takes least."""
        op, rows = self.op, self.rows
        if rows.targets is not None and op.relationships is None and op.selector == ANY_SHORTEST and op.minimum <= 1:
            return self._between()
        labels = _LABELS * op.selector.count * self.space.vertex_count
        several = op.selector.count > 1 and not op.selector.groups and op.minimum <= 1
        several = several and labels <= min(_MOST_LABELS, self.context.memory.unclaimed(0))
        if rows.targets is not None or several:
            return self._paths(rows)
        if op.minimum > 1 or op.selector.count > 1:
            return self._to_each_end()
        if op.relationships is None and not op.selector.groups:
            return self._reached(op.maximum)
        return self._paths(rows)

    def _between(self) -> Iterator[WalkChunk]:
        """Yield the rows whose targets are reached, with the hops: starts that rows share are followed together."""
        space, ends, rows, targets = self.space, self.ends, self.rows, self.rows.targets
        assert targets is not None
        if not _shares_starts(rows):
            yield from self._paths(rows)
            return
        known = np.flatnonzero((rows.starts >= 0) & (targets >= 0))
        starts = np.unique(rows.starts[known])
        wanted = np.zeros(space.vertex_count, np.bool_)
        wanted[targets[known]] = True
        if ends.bits is not None or ends.lo > 0 or ends.hi < space.vertex_count:
            wanted &= ends.of(np.arange(space.vertex_count))
        keys = np.searchsorted(starts, rows.starts[known]) * space.vertex_count + targets[known]
        order = np.argsort(keys, kind="stable")
        known, keys = known[order], keys[order]
        lanes = Lanes(np.arange(len(starts) + 1), starts)
        both = EndFilter(0, space.vertex_count, pack_bits(wanted))
        for chunk in self._chunks(both, lanes, self.op.maximum):
            found = chunk.lane * space.vertex_count + chunk.end
            first, behind = (np.searchsorted(keys, found, side=side) for side in ("left", "right"))
            each = np.repeat(np.arange(len(found)), behind - first)
            assert chunk.hops is not None
            if len(each):
                yield WalkChunk(known[numbers_from(first, behind - first)], chunk.end[each], hops=chunk.hops[each])

    def _paths(self, rows: WalkRows) -> Iterator[WalkChunk]:
        """Yield the paths of rows."""
        op = self.op
        mode = WalkMode.ALL_SHORTEST if op.selector.groups else WalkMode.ANY_SHORTEST
        lists = op.relationships is not None
        rules = WalkRules(mode, op.minimum, op.maximum, lists, op.mode, op.selector.count, op.hops is not None)
        return walk_chunks(self.space, self.ends, rows, self.context, rules)

    def _to_each_end(self) -> Iterator[WalkChunk]:
        """Yield the paths of rows without targets: first the ends that there are, then the paths to each."""
        op, rows, maximum = self.op, self.rows, self.op.maximum
        if maximum is None and op.mode is PathMode.WALK:
            maximum = op.minimum + self.space.vertex_count  # of a longer walk a cycle could be cut out
        if op.minimum <= 1:
            found_ends = self._reached(maximum)
        else:
            rules = WalkRules(WalkMode.EVERY_END, op.minimum, maximum, lists=False, repeats=op.mode)
            found_ends = walk_chunks(self.space, self.ends, rows, self.context, rules)
        for chunk in found_ends:
            for found in self._paths(WalkRows(rows.starts[chunk.row], chunk.end)):
                yield replace(found, row=chunk.row[found.row])

    def _reached(self, maximum: int | None) -> Iterator[WalkChunk]:
        """Yield each end of each row once, with the hops of a shortest path: equal starts are followed once."""
        known = np.flatnonzero(self.rows.starts >= 0)
        starts, lane = np.unique(self.rows.starts[known], return_inverse=True)
        by_lane = known[np.argsort(lane, kind="stable")]
        first = np.searchsorted(np.sort(lane), np.arange(len(starts) + 1))
        lanes = Lanes(np.arange(len(starts) + 1), starts)
        for chunk in self._chunks(self.ends, lanes, maximum):
            number = (first[1:] - first[:-1])[chunk.lane]
            each = np.repeat(np.arange(len(number)), number)
            assert chunk.hops is not None
            yield WalkChunk(by_lane[numbers_from(first[chunk.lane], number)], chunk.end[each], hops=chunk.hops[each])

    def _chunks(self, ends: EndFilter, lanes: Lanes, maximum: int | None) -> Iterator[ReachChunk]:
        rules = ReachRules(self.op.minimum, maximum, self.op.mode)
        return self.kernels.chunks(self.space, ends, lanes, self.context, rules, hops=True)
