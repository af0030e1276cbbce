"""Runs ``Shortest``: joins each input row with its shortest paths."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from qengine.exec.common.batch import Batch
from qengine.exec.context import ExecutionContext
from qengine.exec.host.walk import end_filter, joined, walk_rows, walk_space
from qengine.exec.host.walk_kernel import EndFilter, WalkChunk, WalkMode, WalkRows, WalkRules, WalkSpace, walk_chunks
from qengine.exec.view import ExecView, MaskProvider
from qengine.plan.pattern import PathMode
from qengine.plan.physical import Shortest

__all__ = ["run_shortest"]


def run_shortest(
    store: ExecView, op: Shortest, batch: Batch, context: ExecutionContext, masks: MaskProvider
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

    Raises
    ------
    QueryInterrupted, QueryTimeout, OutOfMemory
        As the context says.
    """
    space = walk_space(store, op, masks)
    ends = end_filter(store, op, masks)
    rows = walk_rows(op, batch, ends)
    to_each = rows.targets is None and (op.minimum > 1 or op.selector.count > 1)
    for chunk in _to_each_end(op, space, ends, rows, context) if to_each else _paths(op, space, ends, rows, context):
        yield from joined(op, batch, chunk, context)


def _paths(
    op: Shortest, space: WalkSpace, ends: EndFilter, rows: WalkRows, context: ExecutionContext
) -> Iterator[WalkChunk]:
    mode = WalkMode.ALL_SHORTEST if op.selector.groups else WalkMode.ANY_SHORTEST
    lists = op.relationships is not None
    rules = WalkRules(mode, op.minimum, op.maximum, lists, op.mode, op.selector.count)
    return walk_chunks(space, ends, rows, context, rules)


def _to_each_end(
    op: Shortest, space: WalkSpace, ends: EndFilter, rows: WalkRows, context: ExecutionContext
) -> Iterator[WalkChunk]:
    """Yield the paths of rows without targets: first the ends that there are, then the paths to each."""
    maximum = op.maximum
    if maximum is None and op.mode is PathMode.WALK:
        maximum = op.minimum + space.vertex_count  # of a longer walk a cycle could be cut out
    rules = WalkRules(WalkMode.EVERY_END, op.minimum, maximum, lists=False, repeats=op.mode)
    for chunk in walk_chunks(space, ends, rows, context, rules):
        for found in _paths(op, space, ends, WalkRows(rows.starts[chunk.row], chunk.end), context):
            yield replace(found, row=chunk.row[found.row])
