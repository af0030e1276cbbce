"""Runs ``Shortest``: joins each input row with its shortest paths."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from qengine._frozen import replace
from qengine.exec.common.batch import Batch
from qengine.exec.common.columns import numbers_from
from qengine.exec.context import ExecutionContext
from qengine.exec.host.reach_kernel import HOST, Lanes, ReachKernels, ReachRules
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
        for chunk in _selected(op, space, ends, rows, context, kernels):
            yield from joined_walks(op, batch, chunk, context)


def _shares_starts(rows: WalkRows) -> bool:
    """Tell whether rows of given ends begin at so few nodes that starts are followed together."""
    assert rows.targets is not None
    known = rows.starts[(rows.starts >= 0) & (rows.targets >= 0)]
    return len(np.unique(known)) * _SHARED <= len(known)


def _selected(
    op: Shortest,
    space: WalkSpace,
    ends: EndFilter,
    rows: WalkRows,
    context: ExecutionContext,
    kernels: ReachKernels,
) -> Iterator[WalkChunk]:
    if rows.targets is not None and op.relationships is None and op.selector == ANY_SHORTEST and op.minimum <= 1:
        return _between(op, space, ends, rows, context, kernels)
    labels = _LABELS * op.selector.count * space.vertex_count
    several = op.selector.count > 1 and not op.selector.groups and op.minimum <= 1
    several = several and labels <= min(_MOST_LABELS, context.memory.unclaimed(0))
    if rows.targets is not None or several:
        return _paths(op, space, ends, rows, context)
    if op.minimum > 1 or op.selector.count > 1:
        return _to_each_end(op, space, ends, rows, context, kernels)
    if op.relationships is None and not op.selector.groups:
        return _reached(space, ends, rows, context, ReachRules(op.minimum, op.maximum, op.mode), kernels)
    return _paths(op, space, ends, rows, context)


def _between(
    op: Shortest,
    space: WalkSpace,
    ends: EndFilter,
    rows: WalkRows,
    context: ExecutionContext,
    kernels: ReachKernels,
) -> Iterator[WalkChunk]:
    """Yield the rows whose targets are reached, with the hops: starts that many rows share are followed together."""
    targets = rows.targets
    assert targets is not None
    if not _shares_starts(rows):
        yield from _paths(op, space, ends, rows, context)
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
    rules = ReachRules(op.minimum, op.maximum, op.mode)
    for chunk in kernels.chunks(space, both, lanes, context, rules, hops=True):
        found = chunk.lane * space.vertex_count + chunk.end
        first, behind = (np.searchsorted(keys, found, side=side) for side in ("left", "right"))
        each = np.repeat(np.arange(len(found)), behind - first)
        assert chunk.hops is not None
        if len(each):
            yield WalkChunk(known[numbers_from(first, behind - first)], chunk.end[each], hops=chunk.hops[each])


def _paths(
    op: Shortest, space: WalkSpace, ends: EndFilter, rows: WalkRows, context: ExecutionContext
) -> Iterator[WalkChunk]:
    mode = WalkMode.ALL_SHORTEST if op.selector.groups else WalkMode.ANY_SHORTEST
    lists = op.relationships is not None
    rules = WalkRules(mode, op.minimum, op.maximum, lists, op.mode, op.selector.count, op.hops is not None)
    return walk_chunks(space, ends, rows, context, rules)


def _to_each_end(
    op: Shortest,
    space: WalkSpace,
    ends: EndFilter,
    rows: WalkRows,
    context: ExecutionContext,
    kernels: ReachKernels,
) -> Iterator[WalkChunk]:
    """Yield the paths of rows without targets: first the ends that there are, then the paths to each."""
    maximum = op.maximum
    if maximum is None and op.mode is PathMode.WALK:
        maximum = op.minimum + space.vertex_count  # of a longer walk a cycle could be cut out
    if op.minimum <= 1:
        found_ends = _reached(space, ends, rows, context, ReachRules(op.minimum, maximum, op.mode), kernels)
    else:
        rules = WalkRules(WalkMode.EVERY_END, op.minimum, maximum, lists=False, repeats=op.mode)
        found_ends = walk_chunks(space, ends, rows, context, rules)
    for chunk in found_ends:
        for found in _paths(op, space, ends, WalkRows(rows.starts[chunk.row], chunk.end), context):
            yield replace(found, row=chunk.row[found.row])


def _reached(
    space: WalkSpace,
    ends: EndFilter,
    rows: WalkRows,
    context: ExecutionContext,
    rules: ReachRules,
    kernels: ReachKernels,
) -> Iterator[WalkChunk]:
    """Yield each end of each row once, with the hops of a shortest path: equal starts are followed once."""
    known = np.flatnonzero(rows.starts >= 0)
    starts, lane = np.unique(rows.starts[known], return_inverse=True)
    by_lane = known[np.argsort(lane, kind="stable")]
    first = np.searchsorted(np.sort(lane), np.arange(len(starts) + 1))
    lanes = Lanes(np.arange(len(starts) + 1), starts)
    for chunk in kernels.chunks(space, ends, lanes, context, rules, hops=True):
        number = (first[1:] - first[:-1])[chunk.lane]
        each = np.repeat(np.arange(len(number)), number)
        assert chunk.hops is not None
        yield WalkChunk(by_lane[numbers_from(first[chunk.lane], number)], chunk.end[each], hops=chunk.hops[each])
