"""Runs ``Reach``: which vertices are reached from the starts of rows that are equal in some columns."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from qengine.exec.common.batch import BATCH_ROWS, Batch, concatenate_batches
from qengine.exec.common.batch_parts import pieces, repeated_pieces
from qengine.exec.common.columns import NodeColumn, integer_column, vertex_ids
from qengine.exec.common.grouping import group_rows
from qengine.exec.common.operators.stage import ROW
from qengine.exec.context import ExecutionContext
from qengine.exec.host.reach_kernel import Lanes, ReachRules, reach_chunks, reach_counts
from qengine.exec.host.walk import end_filter, walk_space
from qengine.exec.view import ExecView, MaskProvider
from qengine.plan.physical import Reach

__all__ = ["run_reach"]


def run_reach(
    store: ExecView, op: Reach, batches: Iterator[Batch], context: ExecutionContext, masks: MaskProvider
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

    Raises
    ------
    QueryInterrupted, QueryTimeout, OutOfMemory
        As the context says.
    """
    if op.start in op.by and op.count is None:
        for batch in batches:
            yield from _reached(store, op, batch, context, masks)
        return
    with context.memory.holding("Reach") as holding:
        gathered: list[Batch] = []
        for batch in batches:
            gathered.append(batch)
            holding.add(batch.nbytes)
        if gathered:
            yield from _reached(store, op, concatenate_batches(gathered), context, masks)


def _reached(
    store: ExecView, op: Reach, batch: Batch, context: ExecutionContext, masks: MaskProvider
) -> Iterator[Batch]:
    lanes, groups = _lanes(op, batch)
    space, ends = walk_space(store, op, masks), end_filter(store, op, masks)
    rules = ReachRules(op.minimum, op.maximum, op.mode)
    if op.count is not None:
        counts = reach_counts(space, ends, lanes, context, rules)
        kept = np.flatnonzero(counts)
        for offset, length in pieces(len(kept), BATCH_ROWS):
            part = kept[offset : offset + length]
            yield groups.take(part).with_columns({op.count: integer_column(counts[part])})
        return
    for chunk in reach_chunks(space, ends, lanes, context, rules):
        found = NodeColumn(chunk.end)
        for offset, length in repeated_pieces(groups, chunk.lane, context.memory):
            kept_groups = groups.take(chunk.lane[offset : offset + length])
            yield kept_groups.with_columns({op.end.name: found.slice(offset, length)})


def _lanes(op: Reach, batch: Batch) -> tuple[Lanes, Batch]:
    """Return the sets of starts, one for each different row of the columns ``by``, and these rows."""
    names = [*op.by, *(name for name in (ROW,) if name in batch.columns)]
    groups = group_rows([batch.columns[name] for name in names], batch.length)
    starts = vertex_ids(batch.columns[op.start])
    rows = np.flatnonzero(starts >= 0)
    pairs = np.unique(np.stack([groups.codes[rows], starts[rows]], axis=1), axis=0)
    offsets = np.searchsorted(pairs[:, 0], np.arange(groups.count + 1))
    kept = batch.select(names).take(groups.first)
    return Lanes(offsets.astype(np.int64), np.ascontiguousarray(pairs[:, 1])), kept
