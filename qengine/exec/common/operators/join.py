"""``HashJoin``: the build side's rows by their keys, once; the other side's batches look theirs up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from qengine.exec.common.batch import BATCH_ROWS, Batch, concatenate_batches
from qengine.exec.common.batch_parts import repeated_pieces
from qengine.exec.common.columns import Column, IntArray, NodeColumn, RelationshipColumn, vertex_ids
from qengine.exec.common.operators.stage import Build, Stage
from qengine.exec.host.hash_join import JoinTable, Operand, Test
from qengine.plan import physical

__all__ = ["hash_join_stage"]


def hash_join_stage(operator: physical.HashJoin, build: Build, first: int) -> Stage:
    """Emit the joined rows. Holds the build side for as long as the query runs: a subplan asks for it again."""
    runtime = build.runtime
    upstream = build(operator.input, first)
    other = build(operator.build)
    holding = runtime.memory.holding("HashJoin")
    built: tuple[Batch, JoinTable] | None = None

    def table() -> tuple[Batch, JoinTable] | None:
        """Return the build side's rows and where they are by their keys; None if there are none."""
        held: list[Batch] = []
        for batch in other(Batch(1, {})):
            runtime.context.check()
            held.append(batch)
            holding.add(batch.nbytes)
        if not held:
            return None
        holding.also(holding.bytes)  # the rows in one piece
        rows = concatenate_batches(held)
        held.clear()
        keys = [vertex_ids(rows.columns[name]) for name in operator.keys]
        # Beside the table itself: the number of each row's group, and a row of each group.
        holding.add(32 * rows.length)
        found = JoinTable(keys, runtime.context)
        holding.set(rows.nbytes + sum(key.nbytes for key in keys) + found.nbytes)
        return rows, found

    def run(outer: Batch) -> Iterator[Batch]:
        nonlocal built
        wanted = _growing(first)
        for batch in upstream(outer):
            if built is None:
                built = table()
                if built is None:
                    return
            rows, found = built
            given = rows.select(operator.emit)
            keys = [vertex_ids(batch.columns[name]) for name in operator.keys]
            tests = [_test(each, batch, rows) for each in operator.apart]
            for here, there in found.pairs(keys, tests, operator.semi, wanted):
                for begin, count in repeated_pieces(batch, here, runtime.memory):
                    chosen = slice(begin, begin + count)
                    for at, number in repeated_pieces(given, there[chosen], runtime.memory):
                        few = slice(begin + at, begin + at + number)
                        yield batch.take(here[few]).with_columns(given.take(there[few]).columns)
                runtime.context.check()

    return run


def _growing(size: int) -> Iterator[int]:
    """Yield how many rows to emit next: few first, where the consumer wants few."""
    while True:
        yield size
        size = min(BATCH_ROWS, 4 * size)


def _test(equations: Sequence[tuple[str, str]], batch: Batch, rows: Batch) -> Test:
    return [(_operand(one, batch, rows), _operand(other, batch, rows)) for one, other in equations]


def _operand(name: str, batch: Batch, rows: Batch) -> Operand:
    if name in batch.columns:
        return Operand(_ids(batch.columns[name]), False)
    return Operand(_ids(rows.columns[name]), True)


def _ids(column: Column) -> IntArray:
    ids = column.ids if isinstance(column, NodeColumn | RelationshipColumn) else vertex_ids(column)
    return np.ascontiguousarray(ids, dtype=np.int64)
