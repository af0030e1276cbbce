"""Rows of a search that go to a sink of the threads that find them, instead of up the pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from weakref import proxy

import numpy as np

from qengine._frozen import replace
from qengine.exec.common.aggregates import weights_of
from qengine.exec.common.batch import BATCH_ROWS, LONG_ROWS, Batch, concatenate_batches
from qengine.exec.common.columns import IntArray, NodeColumn, RelationshipColumn
from qengine.exec.common.element_columns import Elements, compared_numbers, elements_of
from qengine.exec.common.fold_plan import Condition
from qengine.exec.common.match_plan import COMPARISONS
from qengine.exec.common.operators.bound_elements import bound_elements
from qengine.exec.common.operators.join import JoinStage, ids_of
from qengine.exec.common.operators.matching import diverted_search_stage
from qengine.exec.common.operators.rows import filtered_stage
from qengine.exec.common.operators.stage import ROW, Build, Stage
from qengine.exec.common.row_sinks import RowSink, SinkSource
from qengine.exec.common.runtime import Runtime
from qengine.exec.common.vertex_scan import scanned_level
from qengine.exec.memory import Holding
from qengine.plan import logical, physical
from qengine.plan.expr import Comparison, Expr, Variable
from qengine.plan.fallible import condition_can_fail
from qengine.plan.traverse import conjuncts, free_variables, only_variable, operators


def comparisons_between(predicates: Sequence[Expr]) -> list[Comparison] | None:
    """Return conditions that compare values of one variable each; None where there are others."""
    found = [_compared(each) for each in predicates]
    return None if None in found else [each for each in found if each is not None]


def _compared(condition: Expr) -> Comparison | None:
    if not isinstance(condition, Comparison) or len(condition.ops) > 1 or condition_can_fail(condition):
        return None
    if condition.ops[0] not in ("=", "<>") and any(isinstance(arg, Variable) for arg in condition.args):
        return None
    return condition if all(only_variable(arg) is not None for arg in condition.args) else None


def compared_conditions(
    comparisons: Sequence[Comparison], elements: Mapping[str, Elements], runtime: Runtime, holding: Holding
) -> list[Condition] | None:
    """Return comparisons by numbers of all elements; None where their values have none."""
    found = []
    for each in comparisons:
        numbers = compared_numbers(each.args[0], each.args[1], elements, runtime)
        if numbers is None:
            return None
        holding.add(sum(side.nbytes for _, side in numbers))
        found.append(Condition(COMPARISONS[each.ops[0]], *numbers))
    return found


def diversion_of(operator: logical.Operator, build: Build) -> Diversion | None:
    """Return how rows of an operator can be diverted: of a search, perhaps compared, of the whole graph perhaps joined.

    One that begins with given rows is run for some of them at a time, each time with a sink of its own.
    """
    comparisons: list[Comparison] | None = []
    below = operator
    if isinstance(below, logical.Filter):
        comparisons = comparisons_between(conjuncts(below.predicate))
        below = below.input
    joined = below if isinstance(below, physical.HashJoin) else None
    search = below if joined is None else joined.input
    if comparisons is None or build.runtime.matchers is not None or not isinstance(search, physical.Search):
        return None
    if not isinstance(search.input, logical.Unit) and (not search.seeds or joined is not None):
        return None
    if joined is None and scanned_level(search, build.runtime) is not None:  # no thread finds them
        return None
    if joined is not None and (search.images or search.count is not None):
        return None
    return Diversion(operator, search, joined, comparisons, build)


class Diversion:
    """A search, perhaps joined with other rows, and with comparisons above it, whose rows a sink may take.

    Attributes
    ----------
    count
        The column that says how often a row counts, None for once.
    expected, seen
        Rows that are expected, and those that have come, before comparisons.
    gives
        Whether a sink may give rows back.
    """

    def __init__(
        self,
        operator: logical.Operator,
        search: physical.Search,
        joined: physical.HashJoin | None,
        comparisons: Sequence[Comparison],
        build: Build,
    ) -> None:
        self._operator = operator
        self._search = search
        self._joined = joined
        self._comparisons = comparisons
        self._runtime = build.runtime
        self._sink_of: Callable[[SinkSource], RowSink] | None = None
        self._inner: RowSink | None = None
        self._join: JoinStage | None = None
        self._given: Batch | None = None
        self._carried: dict[str, Elements] = {}
        self._weight: str | None = None
        self.seen = 0
        self.count = search.count
        self.expected = (search.rows if joined is None else joined.rows) or 0.0
        self.gives = joined is None and search.count is None and not search.images
        own: Diversion = proxy(self)  # what it holds must not hold it
        stage = build.measured(search, diverted_search_stage(search, build, own))
        if joined is not None:
            self._join = JoinStage(joined, stage, build, BATCH_ROWS, lambda: own._sink_of is not None)
            stage = build.measured(joined, self._join.run)
        stage = _counted(own, stage)
        if isinstance(operator, logical.Filter):
            stage = build.measured(operator, filtered_stage(operator, stage, build.runtime))
        self._stage: Stage = stage

    def stage(self, outer: Batch) -> Iterator[Batch]:
        """Yield the rows that no sink takes, and what it gives."""
        yield from self._stage(outer)

    def takes(self, outer: Batch) -> bool:
        """Tell whether rows for these outer rows can be diverted."""
        return outer.length == 1 and ROW not in outer.columns

    def together(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Yield given rows, as many together as occupy all threads once a sink takes what is found from them."""
        context = self._runtime.context
        most = 1 if context.memory_limit is not None else min(LONG_ROWS, BATCH_ROWS * context.threads)
        waiting: list[Batch] = []
        for batch in batches:
            waiting.append(batch)
            if self._sink_of is None or not batch.columns or sum(each.length for each in waiting) >= most:
                yield self._next(waiting)
                waiting = []
        if waiting:
            yield self._next(waiting)

    def _next(self, waiting: list[Batch]) -> Batch:
        self._given = concatenate_batches(waiting)
        return self._given

    def counts_by(self, weight: str | None) -> bool:
        """Let rows count as often as a column says; False where it is neither the search's nor of the given rows."""
        self._weight = None if weight == self.count else weight
        return self._weight is None or (self.count is None and self._search.seeds > 0)

    def elements(self, names: frozenset[str]) -> dict[str, Elements] | None:
        """Return what variables, and those that are compared, may bind; None where that can't be told of one."""
        wanted = names.union(*(free_variables(each) for each in self._comparisons))
        searches = [each for each in operators(self._joined or self._search) if isinstance(each, physical.Search)]
        levels = {level.name: level for each in searches for level in each.levels}
        emitted = (*self._search.emit, *(self._joined.emit if self._joined is not None else ()))
        bound = {name: elements_of(levels[name], self._runtime) for name in wanted.intersection(levels, emitted)}
        found = {name: each for name, each in bound.items() if each is not None}
        others = wanted - bound.keys()
        carried = bound_elements(self._search, others, self._runtime) if others else {}
        if carried is None or len(found) < len(bound):
            return None
        self._carried = carried
        return carried | found

    def conditions(self, elements: Mapping[str, Elements], holding: Holding) -> list[Condition] | None:
        """Return the comparisons by numbers of all elements; None where their values have none."""
        return compared_conditions(self._comparisons, elements, self._runtime, holding)

    def to(self, sink_of: Callable[[SinkSource], RowSink] | None) -> None:
        """Let rows that a search has not yet handed over go to a sink, unless they are few; None: none any more."""
        self._sink_of = sink_of

    def opened(self, source: SinkSource) -> RowSink | None:
        """Return the sink that is wanted."""
        sink_of = self._sink_of
        if sink_of is None:
            return None
        if self._join is None:
            with_given = self._with_given(source)
            self._inner = None if with_given is None else sink_of(with_given)
            return self._inner
        self._sink_of = None
        joining = self._join.sink(source, sink_of)
        self._inner = None if joining is None else joining.inner
        return joining

    def _with_given(self, source: SinkSource) -> SinkSource | None:
        """Return the source with what its input rows have; None where one lacks an id, or counts too often."""
        if not self._carried and self._weight is None:
            return source
        assert self._given is not None
        given = {}
        for name, elements in self._carried.items():
            column = self._given.columns.get(name)
            if not isinstance(column, NodeColumn | RelationshipColumn):
                return None
            given[name] = ids_of(column)
            if given[name].min() < elements.begin or given[name].max() >= elements.end:
                return None
        if self._weight is None:
            return replace(source, given=given)
        weights = weights_of(self._given.columns[self._weight])
        if weights.dtype == object:
            return None
        return replace(source, given=given, weights=np.ascontiguousarray(weights, np.int64))

    def returned(self, outputs: Sequence[str]) -> Sequence[Sequence[IntArray]]:
        """Return rows of the search that it gave before the sink was wanted, and that are not yet joined."""
        left = [] if self._join is None else self._join.left
        return [[ids_of(batch.columns[name]) for name in outputs] for batch in left]

    def ended(self, rows: tuple[int, int, int]) -> None:
        """Count in a profile what was diverted; ``rows``: of ``RowSink.rows``."""
        profile = self._runtime.context.profile
        if profile is None or self._inner is None:
            return
        taken, passed, given = self._inner.rows()
        again = 0 if self._join is None else sum(batch.length for batch in self._join.left)
        found = taken if self._join is None else rows[0] - again
        counted = {id(self._operator): passed, id(self._joined or self._search): taken, id(self._search): found}
        for operator, count in counted.items():
            if operator in profile:
                profile[operator].rows += count - given
                profile[operator].bytes += 8 * self._width(operator) * (count - given)

    def _width(self, operator: int) -> int:
        """Return how many numbers a row of an operator has."""
        joined = () if self._joined is None or operator == id(self._search) else self._joined.emit
        return len(self._search.emit) + len(joined) + (self.count is not None)


def _counted(diversion: Diversion, stage: Stage) -> Stage:
    """Return a stage whose rows a diversion counts."""

    def run(outer: Batch) -> Iterator[Batch]:
        for batch in stage(outer):
            diversion.seen += batch.length
            yield batch

    return run
