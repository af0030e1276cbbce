"""Groups of rows and their aggregates, merged from partial ones of each batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from qengine._cached import cached_property
from qengine.exec.common.aggregates import Aggregator, State, aggregator, weights_of
from qengine.exec.common.batch import BATCH_ROWS, LONG_ROWS, Batch
from qengine.exec.common.batch_parts import by_parts, fitting, pieces
from qengine.exec.common.expressions.compiler import Evaluate, compile_expression
from qengine.exec.common.grouping import Groups, group_rows, rows_alone
from qengine.exec.common.operators.folded import FoldedGroups
from qengine.exec.common.operators.partial_groups import GroupMerge, Partial
from qengine.exec.common.operators.stage import ROW
from qengine.exec.common.runtime import Runtime
from qengine.exec.scalar.values import failing_at
from qengine.plan import logical
from qengine.plan.expr import AggregateCall

StateOf = Callable[[Aggregator, Groups], State]
"""Gives the states of groups of rows, one a group, that an aggregator would have made of many rows."""


def counted_call(call: AggregateCall) -> AggregateCall:
    """Return an aggregate whose state is the number of different values where these are counted, else the same."""
    if call.name != "count" or not call.distinct:
        return call
    return AggregateCall("count", (), type=call.type, span=call.span)


class Aggregation:
    """The expressions of an ``Aggregate``, compiled where rows are grouped by them.

    ``weight``: the column that says how often a row counts. ``apart``: no two rows are of one group, but for those of
    different outer rows. ``whose``: the operator of the plan that it runs, where ``operator`` is made of that.
    """

    def __init__(
        self,
        operator: logical.Aggregate,
        weight: str | None,
        runtime: Runtime,
        apart: bool = False,
        whose: logical.Operator | None = None,
    ) -> None:
        self._apart = apart
        self._whose = whose or operator
        self._runtime = runtime
        self._weight = weight
        self._names = [name for name, _ in operator.keys]
        self._key_exprs = [expr for _, expr in operator.keys]
        self._results = [name for name, _ in operator.aggregates]
        self._calls = [call for _, call in operator.aggregates]
        self._aggregators: list[Aggregator] = [aggregator(call, runtime.context) for call in self._calls]

    @cached_property
    def _keys(self) -> list[Evaluate]:
        return [compile_expression(expr, self._runtime) for expr in self._key_exprs]

    @cached_property
    def _args(self) -> list[list[Evaluate]]:
        return [[compile_expression(arg, self._runtime) for arg in call.args] for call in self._calls]

    def run(
        self, batches: Iterator[Batch], outer: Batch, folded: Callable[[], FoldedGroups] | None = None
    ) -> Iterator[Batch]:
        """Yield the groups of all batches; ``folded`` gives those of other rows once the batches have ended."""
        memory = self._runtime.memory
        _ = self._keys, self._args  # a parameter that can't be a value is told of, rows or none
        with memory.holding("Aggregate") as holding:
            apart = self._apart and ROW not in outer.columns
            merge = GroupMerge(self._aggregators, apart, self._runtime, self._whose)
            for aggregators, part in merge.merged(self._parts(fitting(batches, holding), outer, folded), holding):
                if memory.limit is not None:
                    states = zip(aggregators, part.states, strict=True)
                    holding.also(sum(each.final_bytes(state) for each, state in states))
                result = self._runtime.context.aside(
                    partial(self._final, part, aggregators), part.length * len(part.columns()) + part.listed
                )
                yield from self._emitted(result)

    def _parts(
        self, batches: Iterator[Batch], outer: Batch, folded: Callable[[], FoldedGroups] | None
    ) -> Iterator[Partial]:
        """Yield the groups of each batch, then those that come from elsewhere."""
        some = False
        for batch in batches:
            self._runtime.context.check()
            for _, part in by_parts(batch, self._partial, self._runtime.memory):
                some = True
                yield part
        if folded is not None and (groups := folded()).length:
            some = True
            yield Partial(groups.length, groups.keys, groups.states)
        if not self._keys and (ROW in outer.columns or not some):
            yield self._nothing(outer)

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
            return self._final(Partial(groups.count, [groups.firsts(key) for key in keys], found), self._aggregators)

        result = context.aside(grouped, batch.length)
        yield from self._emitted(result)

    def of_groups(self, groups: FoldedGroups) -> Iterator[Batch]:
        """Yield groups that were folded, at least one."""
        part = Partial(groups.length, groups.keys, groups.states)
        result = self._runtime.context.aside(lambda: self._final(part, self._aggregators), groups.length)
        yield from self._emitted(result)

    def _emitted(self, result: Batch) -> Iterator[Batch]:
        most = LONG_ROWS if self._runtime.context.handed_on is self._whose else BATCH_ROWS
        for offset, length in pieces(result.length, most, most):
            yield result.slice(offset, length)

    def _final(self, part: Partial, aggregators: Sequence[Aggregator]) -> Batch:
        columns = dict(zip(self._names, part.keys[: len(self._names)], strict=True))
        for name, call, each, state in zip(self._results, self._calls, aggregators, part.states, strict=True):
            with failing_at(call.span):
                columns[name] = each.final(state)
        if len(part.keys) > len(self._names):
            columns[ROW] = part.keys[-1]
        return Batch(part.length, columns)

    def _partial(self, batch: Batch) -> Partial:
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
        return Partial(groups.count, [groups.firsts(key) for key in keys], states)

    def _nothing(self, outer: Batch) -> Partial:
        """Return the state of no rows: one group, or one for each outer row."""
        count = outer.length if ROW in outer.columns else 1
        states = [each.empty(count) for each in self._aggregators]
        return Partial(count, [outer.columns[ROW]] if ROW in outer.columns else [], states)
