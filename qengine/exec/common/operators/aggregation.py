"""Groups of rows and their aggregates, merged from partial ones of each batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np

from qengine._frozen import frozen
from qengine.exec.common.aggregates import Aggregator, State, aggregator, weights_of
from qengine.exec.common.batch import BATCH_ROWS, Batch, concatenate_batches
from qengine.exec.common.batch_parts import by_parts, pieces, working_bytes
from qengine.exec.common.columns import Column, null_column
from qengine.exec.common.expressions.compiler import Evaluate, compile_expression
from qengine.exec.common.grouping import Groups, group_rows, known_apart, rows_alone
from qengine.exec.common.operators.folded import FoldedGroups
from qengine.exec.common.operators.stage import ROW
from qengine.exec.common.runtime import Runtime
from qengine.exec.memory import Holding
from qengine.exec.scalar.values import failing_at
from qengine.plan import logical
from qengine.plan.expr import AggregateCall

__all__ = ["Aggregation", "StateOf", "counted_call"]

_FEW_GROUPS = 1024  # so many groups may wait to be merged
StateOf = Callable[[Aggregator, Groups], State]
"""Gives the states of groups of rows, one a group, that an aggregator would have made of many rows."""


@frozen
class _Partial:
    """Groups so far: their keys, and the state of each aggregate."""

    length: int
    keys: list[Column]
    states: list[State]

    def columns(self) -> list[Column]:
        return [*self.keys, *(column for state in self.states for column in state)]

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for column in self.columns())


def counted_call(call: AggregateCall) -> AggregateCall:
    """Return an aggregate whose state is the number of different values where these are counted, else the same."""
    if call.name != "count" or not call.distinct:
        return call
    return AggregateCall("count", (), type=call.type, span=call.span)


class Aggregation:
    """The expressions of an ``Aggregate``, compiled.

    ``weight``: the column that says how often a row counts. ``apart``: no two rows are of one group, but for those of
    different outer rows.
    """

    def __init__(self, operator: logical.Aggregate, weight: str | None, runtime: Runtime, apart: bool = False) -> None:
        self._apart = apart
        self._runtime = runtime
        self._weight = weight
        self._names = [name for name, _ in operator.keys]
        self._keys = [compile_expression(expr, runtime) for _, expr in operator.keys]
        self._results = [name for name, _ in operator.aggregates]
        self._calls = [call for _, call in operator.aggregates]
        self._aggregators: list[Aggregator] = [aggregator(call) for call in self._calls]
        self._args: list[list[Evaluate]] = [
            [compile_expression(arg, runtime) for arg in call.args] for call in self._calls
        ]

    def run(
        self, batches: Iterator[Batch], outer: Batch, folded: Callable[[], FoldedGroups] | None = None
    ) -> Iterator[Batch]:
        """Yield the groups of all batches; ``folded`` gives those of other rows once the batches have ended."""
        parts: list[_Partial] = []
        rows, merged = 0, 0
        memory = self._runtime.memory
        with memory.holding("Aggregate") as holding:
            for batch in batches:
                self._runtime.context.check()
                for _, part in by_parts(batch, self._partial, memory):
                    parts.append(part)
                    rows += part.length
                    holding.add(part.nbytes)
                    if rows > 2 * merged + _FEW_GROUPS and len(parts) > 1:
                        parts = self._merged_aside(parts, holding, rows)
                        rows = merged = sum(each.length for each in parts)
                        holding.set(sum(each.nbytes for each in parts))
            if folded is not None and (groups := folded()).length:
                parts.append(_Partial(groups.length, groups.keys, groups.states))
                rows += groups.length
            if not self._keys and (ROW in outer.columns or not parts):
                parts.append(self._nothing(outer))
            if not parts:
                return
            parts = self._merged_aside(parts, holding, rows)
            holding.set(sum(each.nbytes for each in parts))
            for part in parts:
                if memory.limit is not None:
                    states = zip(self._aggregators, part.states, strict=True)
                    holding.also(sum(each.final_bytes(state) for each, state in states))
                result = self._runtime.context.aside(partial(self._final, part), part.nbytes // 8)
                for offset, length in pieces(result.length, BATCH_ROWS):
                    yield result.slice(offset, length)

    def of_states(self, batch: Batch, states: Mapping[int, StateOf]) -> Iterator[Batch]:
        """Yield the groups of the rows of a batch, of at least one; of some aggregates, by their places, ``states``
        give those of the groups.
        """
        context = self._runtime.context
        keys = [key(batch) for key in self._keys]
        weights = None if self._weight is None else weights_of(batch.columns[self._weight])

        def grouped() -> Batch:
            groups = group_rows(keys, batch.length)
            found = []
            for place, (call, each, args) in enumerate(zip(self._calls, self._aggregators, self._args, strict=True)):
                with failing_at(call.span):
                    if place in states:
                        found.append(states[place](each, groups))
                    else:
                        found.append(each.partial(groups, [arg(batch) for arg in args], weights))
            return self._final(_Partial(groups.count, [groups.firsts(key) for key in keys], found))

        result = context.aside(grouped, batch.length)
        for offset, length in pieces(result.length, BATCH_ROWS):
            yield result.slice(offset, length)

    def of_groups(self, groups: FoldedGroups) -> Iterator[Batch]:
        """Yield groups that were folded, at least one."""
        part = _Partial(groups.length, groups.keys, groups.states)
        result = self._runtime.context.aside(lambda: self._final(part), groups.length)
        for offset, length in pieces(result.length, BATCH_ROWS):
            yield result.slice(offset, length)

    def _final(self, part: _Partial) -> Batch:
        columns = dict(zip(self._names, part.keys[: len(self._names)], strict=True))
        for name, call, each, state in zip(self._results, self._calls, self._aggregators, part.states, strict=True):
            with failing_at(call.span):
                columns[name] = each.final(state)
        if len(part.keys) > len(self._names):
            columns[ROW] = part.keys[-1]
        return Batch(part.length, columns)

    def _partial(self, batch: Batch) -> _Partial:
        keys = [key(batch) for key in self._keys]
        if ROW in batch.columns:
            keys.append(batch.columns[ROW])
        alone = self._apart and ROW not in batch.columns
        groups = rows_alone(batch.length) if alone else group_rows(keys, batch.length)
        weights = None if self._weight is None else weights_of(batch.columns[self._weight])
        states = []
        for call, each, args in zip(self._calls, self._aggregators, self._args, strict=True):
            with failing_at(call.span):
                states.append(each.partial(groups, [arg(batch) for arg in args], weights))
        return _Partial(groups.count, [groups.firsts(key) for key in keys], states)

    def _merged_aside(self, parts: list[_Partial], holding: Holding, rows: int) -> list[_Partial]:
        return self._runtime.context.aside(lambda: self._merged(parts, holding), rows)

    def _merged(self, parts: list[_Partial], holding: Holding) -> list[_Partial]:
        """Return parts that have no group in common: large ones as they come where that shows at once."""
        if self._apart and len(parts[0].keys) == len(self._names):
            return parts
        large = len(parts[0].keys) == 1 and sum(part.length for part in parts) >= _FEW_GROUPS * len(parts)
        if len(parts) == 1 or (large and known_apart([part.keys[0] for part in parts])):
            return parts
        if self._runtime.memory.limit is not None:
            holding.also(sum(working_bytes(part.columns()) for part in parts))
        joined = _joined(parts)
        groups = group_rows(joined.keys, joined.length)
        states = [each.merge(groups, state) for each, state in zip(self._aggregators, joined.states, strict=True)]
        return [_Partial(groups.count, [groups.firsts(key) for key in joined.keys], states)]

    def _nothing(self, outer: Batch) -> _Partial:
        """Return the state of no rows: one group, or one for each outer row."""
        count = outer.length if ROW in outer.columns else 1
        groups = Groups(np.zeros(0, dtype=np.int64), np.arange(count, dtype=np.int64))
        states = [
            each.partial(groups, [null_column(0) for _ in args], None)
            for each, args in zip(self._aggregators, self._args, strict=True)
        ]
        return _Partial(count, [outer.columns[ROW]] if ROW in outer.columns else [], states)


def _joined(parts: list[_Partial]) -> _Partial:
    """Return the groups of all parts, one after the other."""
    named = [
        Batch(part.length, dict(enumerate(part.columns())))  # type: ignore[arg-type]
        for part in parts
    ]
    columns = list(concatenate_batches(named).columns.values())
    head = parts[0]
    keys, rest = columns[: len(head.keys)], columns[len(head.keys) :]
    states = []
    for state in head.states:
        states.append(rest[: len(state)])
        rest = rest[len(state) :]
    return _Partial(sum(part.length for part in parts), keys, states)
