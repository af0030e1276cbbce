"""Runs ``Reach``: which vertices are reached from the starts of rows that are equal in some columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from qengine._frozen import replace
from qengine.exec.common.batch import BATCH_ROWS, Batch, concatenate_batches
from qengine.exec.common.batch_parts import pieces, repeated_pieces
from qengine.exec.common.columns import IntArray, NodeColumn, integer_column, vertex_ids
from qengine.exec.common.grouping import group_rows
from qengine.exec.common.operators.stage import ROW
from qengine.exec.context import ExecutionContext
from qengine.exec.host.reach_kernel import HOST, Lanes, ReachChunk, ReachKernels, ReachRules
from qengine.exec.host.walk import end_filter, merging, walk_space
from qengine.exec.host.walk_kernel import EndFilter, WalkMode, WalkRows, WalkRules, walk_chunks
from qengine.exec.view import ExecView, MaskProvider
from qengine.plan.physical import Reach

_FEW_STARTS = 8
"""Up to so many, searches from both ends read less than one of everything that leads to an end."""


def run_reach(
    store: ExecView,
    op: Reach,
    batches: Iterator[Batch],
    context: ExecutionContext,
    masks: MaskProvider,
    kernels: ReachKernels = HOST,
) -> Iterator[Batch]:
    """Yield the ends that the input's rows lead to, or their numbers.

    Parameters
    ----------
    store
        The ``GraphStore``.
    op
        What to walk.
    batches
        Input rows; from a null start nothing is reached. They are gathered first, unless each start is apart.
    context
        Limits.
    masks
        Evaluates ``op``'s predicates.
    kernels
        What follows sets of vertices.
    """
    if op.start in op.by and op.count is None:
        for batch in batches:
            yield from _reached(store, op, batch, context, masks, kernels)
        return
    with context.memory.holding("Reach") as holding:
        gathered: list[Batch] = []
        for batch in batches:
            gathered.append(batch)
            holding.add(batch.nbytes)
        if gathered:
            yield from _reached(store, op, concatenate_batches(gathered), context, masks, kernels)


def _reached(
    store: ExecView,
    op: Reach,
    batch: Batch,
    context: ExecutionContext,
    masks: MaskProvider,
    kernels: ReachKernels,
) -> Iterator[Batch]:
    with merging(store, op, context, kernels is HOST, both_ways=True) as merged:
        yield from _ends(store, op, batch, context, masks, kernels, merged=merged)


def _ends(
    store: ExecView,
    op: Reach,
    batch: Batch,
    context: ExecutionContext,
    masks: MaskProvider,
    kernels: ReachKernels,
    *,
    merged: bool,
) -> Iterator[Batch]:
    lanes, groups = _lanes(op, batch)
    ends = end_filter(store, op.end, masks)
    rules = ReachRules(op.minimum, op.maximum, op.mode)
    chunks: Iterable[ReachChunk]
    if ends.hi - ends.lo == 1:
        found_lanes = _leading_to(ends.lo, store, op, lanes, context, masks, kernels, merged=merged)
        counts = np.bincount(found_lanes, minlength=len(lanes))
        chunks = [ReachChunk(found_lanes, np.full(len(found_lanes), ends.lo), None)]
    elif op.count is not None:
        counts = kernels.counts(walk_space(store, op, masks, merged=merged), ends, lanes, context, rules)
    else:
        chunks = kernels.chunks(walk_space(store, op, masks, merged=merged), ends, lanes, context, rules)
    if op.count is not None:
        kept = np.flatnonzero(counts)
        for offset, length in pieces(len(kept), BATCH_ROWS):
            part = kept[offset : offset + length]
            yield groups.take(part).with_columns({op.count: integer_column(counts[part])})
        return
    for chunk in chunks:
        found = NodeColumn(chunk.end)
        for offset, length in repeated_pieces(groups, chunk.lane, context.memory):
            kept_groups = groups.take(chunk.lane[offset : offset + length])
            yield kept_groups.with_columns({op.end.name: found.slice(offset, length)})


def _leading_to(
    end: int,
    store: ExecView,
    op: Reach,
    lanes: Lanes,
    context: ExecutionContext,
    masks: MaskProvider,
    kernels: ReachKernels,
    *,
    merged: bool,
) -> IntArray:
    """Return the sets from which the only possible end is reached: few starts are searched from both sides, else one
    search goes backward from the end.
    """
    lane_of = np.repeat(np.arange(len(lanes)), np.diff(lanes.offsets))
    if len(lanes.starts) <= _FEW_STARTS:
        space = walk_space(store, op, masks)
        rules = WalkRules(WalkMode.EVERY_END, op.minimum, op.maximum, lists=False, repeats=op.mode)
        pairs = WalkRows(lanes.starts, np.full(len(lanes.starts), end))
        found = [lane_of[each.row] for each in walk_chunks(space, EndFilter(end, end + 1), pairs, context, rules)]
        return np.unique(np.concatenate([lane_of[:0], *found]))
    back = walk_space(store, replace(op, direction=op.direction.reversed()), masks, merged=merged)
    reached = np.zeros(store.vertex_count, np.bool_)
    alone = Lanes(np.array([0, 1]), np.array([end]))
    every = EndFilter(0, store.vertex_count)
    for chunk in kernels.chunks(back, every, alone, context, ReachRules(op.minimum, op.maximum, op.mode)):
        reached[chunk.end] = True
    return np.unique(lane_of[reached[lanes.starts]])


def _lanes(op: Reach, batch: Batch) -> tuple[Lanes, Batch]:
    """Return the sets of starts, one for each different row of the columns ``by``, and these rows."""
    names = [*op.by, *(name for name in (ROW,) if name in batch.columns)]
    groups = group_rows([batch.columns[name] for name in names], batch.length)
    starts = vertex_ids(batch.columns[op.start])
    kept = batch.select(names).take(groups.first)
    if op.start in op.by:  # a set is one start
        alone = starts[groups.first]
        offsets = np.concatenate(([0], np.cumsum(alone >= 0)))
        return Lanes(offsets, alone[alone >= 0]), kept
    rows = np.flatnonzero(starts >= 0)
    size = int(starts.max(initial=0)) + 1  # ids are of 32 bits, and so are numbers of rows
    sets, members = np.divmod(np.unique(groups.codes[rows] * size + starts[rows]), size)
    return Lanes(np.searchsorted(sets, np.arange(groups.count + 1)), members), kept
