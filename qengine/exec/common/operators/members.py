"""``Members``: the different nodes of a list that the input rows have; and those of all of a batch's lists."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from qengine.exec.common.batch import Batch
from qengine.exec.common.batch_parts import pieces, repeated_pieces
from qengine.exec.common.columns import Column, IntArray, ListColumn, NodeColumn, vertex_ids
from qengine.exec.common.operators.stage import Build, Stage
from qengine.exec.scalar.values import NodeHandle
from qengine.plan import physical


def members_stage(operator: physical.Members, build: Build, first: int) -> Stage:
    """Emit each input row with each different node of its list."""
    upstream = build(operator.input, first)
    runtime = build.runtime

    def run(outer: Batch) -> Iterator[Batch]:
        for batch in upstream(outer):
            rows, ids = _members(batch.columns[operator.items])
            for offset, length in pieces(len(rows), first):
                for begin, count in repeated_pieces(batch, rows[offset : offset + length], runtime.memory):
                    part = slice(offset + begin, offset + begin + count)
                    yield batch.take(rows[part]).with_columns({operator.name: NodeColumn(ids[part])})
                runtime.context.check()

    return run


def listed_nodes(column: Column) -> IntArray:
    """Return the ids of all nodes in the lists of a column, ascending."""
    if isinstance(column, ListColumn) and (shared := column.shared()) is not None:
        column = shared[1]
    return np.unique(_members(column)[1])


def _members(column: Column) -> tuple[IntArray, IntArray]:
    """Return rows, and the ids of the different nodes in their lists, by row and id."""
    if isinstance(column, ListColumn) and isinstance(column.items, NodeColumn):
        rows, ids = np.repeat(np.arange(len(column)), column.lengths()), vertex_ids(column.flat())
        rows, ids = rows[ids >= 0], ids[ids >= 0]
    else:
        pairs = [
            (row, item.id)
            for row, items in enumerate(column.values())
            for item in items or ()
            if isinstance(item, NodeHandle)
        ]
        rows, ids = np.array(pairs, np.int64).reshape(-1, 2).T
    order = np.lexsort((ids, rows))
    rows, ids = rows[order], ids[order]
    new = np.ones(len(rows), np.bool_)
    new[1:] = (np.diff(rows) != 0) | (np.diff(ids) != 0)
    return rows[new], ids[new]
