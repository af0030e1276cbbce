"""``HashJoin``: the build side's rows by their keys, once; the other side's batches look theirs up.

Where the build side doesn't fit, both sides are dealt to files by their keys (the Grace join), and joined file by file;
a file's build side that doesn't fit either, in parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from qengine._frozen import frozen
from qengine.exec.common.batch import BATCH_ROWS, Batch, concatenate_batches
from qengine.exec.common.batch_parts import repeated_pieces
from qengine.exec.common.columns import Column, IntArray, NodeColumn, RelationshipColumn, vertex_ids
from qengine.exec.common.operators.members import listed_nodes
from qengine.exec.common.operators.stage import Build, Stage
from qengine.exec.common.row_sinks import RowSink, SinkSource
from qengine.exec.common.runtime import Runtime
from qengine.exec.host.hash_join import JoinTable, Operand, Test
from qengine.exec.memory import Holding
from qengine.exec.spill.partitions import Partitions
from qengine.exec.spill.rows import SpilledRows
from qengine.plan import physical
from qengine.plan.expr import KeyOf

if TYPE_CHECKING:
    from qengine.exec.host.joined_rows import JoinedRowsSink

_FEW_PROBING, _MANY_PROBING = 256, 4096  # rows that are joined at once, first and later: they may have many partners
_NO_ROWS: IntArray = np.empty(0, np.int64)
_TABLE = 32  # bytes a row while its table is made: the number of its group, a row of each group, and the table itself


def hash_join_stage(operator: physical.HashJoin, build: Build, first: int) -> Stage:
    """Emit the joined rows. Holds the build side for as long as the query runs: a subplan asks for it again."""
    return JoinStage(operator, build(operator.input, first), build, first).run


class JoinStage:
    """A ``HashJoin`` of the rows of a stage.

    Parameters
    ----------
    upstream
        Emits the input's rows.
    ends
        Tells whether rows of the input that are not yet joined are wanted as they are.

    Attributes
    ----------
    left
        Such rows.
    """

    def __init__(
        self,
        operator: physical.HashJoin,
        upstream: Stage,
        build: Build,
        first: int,
        ends: Callable[[], bool] = lambda: False,
    ) -> None:
        self.left: list[Batch] = []
        self._ends = ends
        self._operator = operator
        self._upstream = upstream
        self._other = build(operator.build)
        self._first = first
        self._joining = _Joining(operator, build.runtime)
        self._built: _Built | list[SpilledRows] | None = None
        self._seeds: IntArray = np.empty(0, np.int64)

    def run(self, outer: Batch) -> Iterator[Batch]:
        """Emit the joined rows."""
        batches = self._upstream(outer)
        wanted = _growing(self._first)
        for batch in batches:
            if self._operator.seeds is not None:
                self._build_from(batch)
            elif self._built is None:
                self._built = self._joining.built(self._other(Batch(1, {})))
            if isinstance(self._built, list):
                probing = chain((batch,), batches) if self._operator.seeds is None else iter((batch,))
                yield from self._joining.joined_on_disk(probing, self._built, wanted)
                continue
            assert self._built is not None
            if self._built.table is None:
                if self._operator.seeds is None:
                    return
                continue
            begin, size = 0, _FEW_PROBING
            while begin < batch.length and not self._ends():
                for rows, _ in self._joining.joined(batch.slice(begin, size), self._built, wanted):
                    yield rows
                begin, size = begin + size, min(4 * size, _MANY_PROBING)
            if begin < batch.length:
                self.left.append(batch.slice(begin, batch.length - begin))

    def _build_from(self, batch: Batch) -> None:
        """Build the other side from the nodes in the lists of a batch, unless these are known."""
        assert self._operator.seeds is not None
        items, name = self._operator.seeds
        seeds = listed_nodes(batch.columns[items])
        if self._built is not None and np.isin(seeds, self._seeds, assume_unique=True).all():
            return
        self._seeds = seeds
        parts = (NodeColumn(seeds[begin : begin + BATCH_ROWS]) for begin in range(0, len(seeds), BATCH_ROWS))
        self._built = self._joining.built(
            rows for part in parts for rows in self._other(Batch(len(part), {name: part}))
        )

    def sink(self, source: SinkSource, sink_of: Callable[[SinkSource], RowSink]) -> JoinedRowsSink | None:
        """Return what joins rows of the input, for a sink of joined rows; None where the build side isn't in memory."""
        from qengine.exec.host.joined_rows import JoinedRowsSink

        if self._operator.seeds is not None or not isinstance(self._built, _Built) or self._built.table is None:
            return None
        if self._operator.by_value:  # rows that are joined on the way have no such keys
            return None
        operator, rows = self._operator, self._built.rows
        names = {name for each in operator.apart for equation in each for name in equation}
        wanted = {name: rows.columns[name] for name in names.union(operator.emit) if name not in source.outputs}
        if not all(isinstance(column, NodeColumn | RelationshipColumn) for column in wanted.values()):
            return None
        built = {name: ids_of(column) for name, column in wanted.items()}
        outputs = (*source.outputs, *operator.emit)
        inner = sink_of(SinkSource(outputs, [outputs], weighted=False, orbits=1))
        return JoinedRowsSink(source, inner, operator, self._built.table, outputs, built, self._joining.context)


@frozen
class _Built:
    """Rows of the build side, where they are by their keys, no table of none, and those that join any others."""

    rows: Batch
    table: JoinTable | None
    wild: IntArray


class _Joining:
    """One join as it is run."""

    def __init__(self, operator: physical.HashJoin, runtime: Runtime) -> None:
        self.context = runtime.context
        self._operator = operator
        self._runtime = runtime
        self._holding = runtime.memory.holding("HashJoin")

    def built(self, batches: Iterator[Batch]) -> _Built | list[SpilledRows]:
        """Return the build side's rows: in memory, or in files by their keys where the memory limit leaves no room."""
        held: list[Batch] = []
        holding = self._holding
        spilled: Partitions | None = None
        for batch in batches:
            self._runtime.context.check()
            if spilled is None and held and self._needed([*held, batch]) > holding.share():
                spilled = self._partitions()
                for each in held:
                    spilled.add(each)
                held.clear()
            if spilled is None:
                held.append(batch)
                holding.add(batch.nbytes)
            else:
                spilled.add(batch)
                holding.set(spilled.nbytes)
        if spilled is None:
            return self._table(held, holding)
        files = spilled.files()
        holding.set(0)
        return files

    def _partitions(self) -> Partitions:
        return Partitions(self._operator.keys, 0, self._runtime.context, self._operator)

    def _needed(self, held: Sequence[Batch]) -> int:
        """Return what it takes to hold rows, in one piece, and their table."""
        return sum(2 * each.nbytes + (_TABLE + 8 * len(self._operator.keys)) * each.length for each in held)

    def _table(self, held: list[Batch], holding: Holding) -> _Built:
        """Return rows by their keys; the list is empty afterwards."""
        if not held:
            return _Built(Batch(0, {}), None, _NO_ROWS)
        holding.also(holding.bytes)  # the rows in one piece
        rows = concatenate_batches(held)
        held.clear()
        keys = [vertex_ids(rows.columns[name]) for name in self._operator.keys]
        holding.add(_TABLE * rows.length)
        table = JoinTable(keys, self._runtime.context)
        holding.set(rows.nbytes + sum(key.nbytes for key in keys) + table.nbytes)
        return _Built(rows, table, self._wild(keys))

    def _wild(self, keys: Sequence[IntArray]) -> IntArray:
        """Return the rows that join any others: whose values couldn't be computed, which their condition must tell."""
        return np.flatnonzero(keys[0] == KeyOf.WILD) if self._operator.by_value else _NO_ROWS

    def joined(self, batch: Batch, built: _Built, wanted: Iterator[int]) -> Iterator[tuple[Batch, IntArray]]:
        """Yield the rows of a batch with their partners, and which rows of the batch they are."""
        operator, memory = self._operator, self._runtime.memory
        assert built.table is not None
        given = built.rows.select(operator.emit)
        keys = [vertex_ids(batch.columns[name]) for name in operator.keys]
        tests = [_test(each, batch, built.rows) for each in operator.apart]
        pairs = built.table.pairs(keys, tests, operator.semi, wanted)
        for here, there in chain(pairs, self._any_others(self._wild(keys), batch.length, built)):
            for begin, count in repeated_pieces(batch, here, memory):
                chosen = slice(begin, begin + count)
                for at, number in repeated_pieces(given, there[chosen], memory):
                    few = slice(begin + at, begin + at + number)
                    yield batch.take(here[few]).with_columns(given.take(there[few]).columns), here[few]
            self._runtime.context.check()

    def _any_others(self, wild: IntArray, length: int, built: _Built) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield the pairs of rows of which one joins any others."""
        every = np.arange(built.rows.length)
        for row in wild.tolist():
            yield np.full(len(every), row), every
        if len(built.wild):
            for row in np.setdiff1d(np.arange(length), wild).tolist():
                yield np.full(len(built.wild), row), built.wild

    def joined_on_disk(
        self, batches: Iterator[Batch], built: Sequence[SpilledRows], wanted: Iterator[int]
    ) -> Iterator[Batch]:
        """Yield the joined rows of all batches, file by file."""
        dealt = self._partitions()
        for batch in batches:
            self._runtime.context.check()
            dealt.add(batch)
            self._holding.set(dealt.nbytes)
        probing = dealt.files()
        self._holding.set(0)
        for own, other in zip(probing, built, strict=True):
            if own.length and other.length:
                yield from self._joined_files(own, other, wanted)
            own.remove()

    def _joined_files(self, probing: SpilledRows, built: SpilledRows, wanted: Iterator[int]) -> Iterator[Batch]:
        through = np.zeros(probing.length if self._operator.semi else 0, np.bool_)  # rows that have found a partner
        for part in self._parts(built):
            begin = 0
            for batch in probing.batches(again=True):
                end = begin + batch.length
                left = np.flatnonzero(~through[begin:end]) if self._operator.semi else None
                for rows, places in self.joined(batch if left is None else batch.take(left), part, wanted):
                    if left is not None:
                        through[begin + left[places]] = True
                    yield rows
                begin = end

    def _parts(self, built: SpilledRows) -> Iterator[_Built]:
        """Yield the rows of a file of the build side, as many at a time as fit."""
        held: list[Batch] = []
        with self._runtime.memory.holding("HashJoin") as holding:
            for batch in built.batches(again=True):
                if held and self._needed([*held, batch]) > holding.share():
                    yield self._table(held, holding)
                    holding.set(0)
                held.append(batch)
                holding.add(batch.nbytes)
            yield self._table(held, holding)


def _growing(size: int) -> Iterator[int]:
    """Yield how many rows to emit next: few first, where the consumer wants few."""
    while True:
        yield size
        size = min(BATCH_ROWS, 4 * size)


def _test(equations: Sequence[tuple[str, str]], batch: Batch, rows: Batch) -> Test:
    return [(_operand(one, batch, rows), _operand(other, batch, rows)) for one, other in equations]


def _operand(name: str, batch: Batch, rows: Batch) -> Operand:
    if name in batch.columns:
        return Operand(ids_of(batch.columns[name]), False)
    return Operand(ids_of(rows.columns[name]), True)


def ids_of(column: Column) -> IntArray:
    """Return the ids of a column of nodes or relationships, below 0 for null."""
    ids = column.ids if isinstance(column, NodeColumn | RelationshipColumn) else vertex_ids(column)
    return np.ascontiguousarray(ids, dtype=np.int64)
