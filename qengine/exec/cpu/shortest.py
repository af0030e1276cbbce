"""Runs ``Shortest``: joins each input row with its shortest paths."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from qengine.errors import Unsupported
from qengine.exec.context import ExecutionContext
from qengine.exec.cpu.batch import Batch
from qengine.exec.cpu.walk import MaskProvider, end_filter, joined, walk_rows, walk_space
from qengine.exec.cpu.walk_kernel import WalkMode, walk_chunks
from qengine.plan.physical import Shortest

__all__ = ["run_shortest"]


def run_shortest(
    store: Any, op: Shortest, batch: Batch, context: ExecutionContext, masks: MaskProvider
) -> Iterator[Batch]:
    """Yield the batch's rows joined with one or all of the shortest paths to each end.

    From a vertex to itself it is the empty one where ``minimum`` is 0, else the shortest closed trail (or walk).

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
    Unsupported
        For a minimum above 1: the shortest path that is long enough may be none of the shortest paths.
    QueryInterrupted, QueryTimeout, OutOfMemory
        As the context says.
    """
    if op.minimum > 1:
        raise Unsupported(
            f"Shortest paths of at least {op.minimum} hops aren't built.",
            hint="Start the length at 0 or 1, or bound it and order the paths by length().",
        )
    ends = end_filter(store, op, masks)
    chunks = walk_chunks(
        walk_space(store, op, masks),
        ends,
        walk_rows(op, batch, ends),
        context,
        mode=WalkMode.ALL_SHORTEST if op.all else WalkMode.ANY_SHORTEST,
        minimum=op.minimum,
        maximum=op.maximum,
        lists=op.relationships is not None,
        repeats=op.mode,
    )
    for chunk in chunks:
        yield joined(op, batch, chunk)
