"""Rows of a pattern folded into groups as they come, where keys and arguments are each of one variable."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from itertools import chain

import numpy as np

from qengine._frozen import replace
from qengine.errors import ResourceError
from qengine.exec.common.aggregates import weights_of
from qengine.exec.common.batch import BATCH_ROWS, Batch
from qengine.exec.common.columns import IntArray, NodeColumn, RelationshipColumn
from qengine.exec.common.element_columns import Elements, evaluations
from qengine.exec.common.fold_plan import Condition
from qengine.exec.common.operators.aggregation import Aggregation, counted_call
from qengine.exec.common.operators.bound_elements import bound_elements
from qengine.exec.common.operators.diversion import Diversion
from qengine.exec.common.operators.folded import Bindings, Folded, FoldMaker
from qengine.exec.common.runtime import Runtime
from qengine.exec.memory import Holding
from qengine.exec.view import MaskProvider
from qengine.plan import logical, physical
from qengine.plan.folding import folded_variables, variable_of

_WEIGHT_BITS = 40
_A_ROW = 2  # elements that an expression is evaluated for in the time that folding saves for a row
_MORE_ROWS = 8  # that are expected behind those that waited
_MOST_MORE = 32  # rows that a search is believed to have for each that it has given
DEVICE_ROWS = 1 << 14  # that are worth folding on a device
_STORED_THERE = 1 << 10  # elements whose stored values a device is sent in the time of evaluating one
_MOST_ROWS = 2**40  # that are expected at all
_TOGETHER = 1 << 20  # rows that threads share, at most a batch for each

_Rows = tuple[Sequence[IntArray], IntArray | None]
"""The ids of each variable, and how often each row counts; None: once."""


def folded_rows(operator: logical.Aggregate, runtime: Runtime) -> FoldedRows | None:
    """Return how to fold an aggregate's rows; None where it can't be done, or a variable may be null."""
    names = folded_variables(operator)
    if not names:
        return None
    found = bound_elements(operator.input, names, runtime)
    return None if found is None else FoldedRows(operator, found, runtime)


def searched_on_device(operator: logical.Aggregate, runtime: Runtime) -> physical.Search | None:
    """Return the search of which an aggregate has all rows, where a device runs it; else None."""
    below = operator.input
    if runtime.matchers is None or not isinstance(below, physical.Search | physical.Eliminate):
        return None
    if not isinstance(below.input, logical.Unit):
        return None
    if isinstance(below, physical.Search):
        return below
    return None if runtime.eliminates(below) else below.search


class FoldedRows:
    """Folds the rows of an ``Aggregate`` at the top of a plan.

    Parameters
    ----------
    elements
        What each of its variables may bind.

    Attributes
    ----------
    grouping
        Makes results of groups that were folded, and of rows that can't be.
    """

    def __init__(self, operator: logical.Aggregate, elements: Mapping[str, Elements], runtime: Runtime) -> None:
        self._operator = operator
        self._elements = elements
        self._runtime = runtime
        named = tuple((name, counted_call(call)) for name, call in operator.aggregates)
        self.grouping = Aggregation(replace(operator, aggregates=named), operator.weight, runtime, whose=operator)
        exprs = {expr for _, expr in operator.keys} | {arg for _, call in operator.aggregates for arg in call.args[:1]}
        self._evaluated = sum(evaluations(expr, self._elements[variable_of(expr)]) for expr in exprs)
        self._evaluated_there = sum(
            evaluations(expr, self._elements[variable_of(expr)], _STORED_THERE) for expr in exprs
        )

    def is_worth(self, rows: float) -> bool:
        """Tell whether so many rows are worth evaluating expressions for all elements."""
        return _A_ROW * rows >= self._evaluated

    def is_worth_on_device(self, rows: int) -> bool:
        """Tell the same of rows that a device has: the values that the graph stores, it keeps."""
        return rows >= DEVICE_ROWS and _A_ROW * rows >= self._evaluated_there

    def folded(
        self, rows: int, elements: Mapping[str, Elements] | None = None, maker: FoldMaker | None = None
    ) -> Folded:
        """Return the aggregate as it is folded, where so many rows are expected; ``elements``: of more variables."""
        bindings = Bindings(elements or self._elements)
        return Folded(self._operator, bindings, self._runtime, rows, _WEIGHT_BITS, maker)

    def on_device(self, masks: MaskProvider, outer: Batch, holding: Holding) -> Iterator[Batch] | None:
        """Return the groups of a search or elimination that a device runs, folded there; None where rows are few.

        None, too, where it runs neither, or has no room.
        """
        matchers, weight = self._runtime.matchers, self._operator.weight
        below = searched_on_device(self._operator, self._runtime)
        eliminated = self._counted_on_device() if below is None else None
        if matchers is None or (below is None and eliminated is None):
            return None
        search = below if eliminated is None else eliminated.search
        assert search is not None
        expected = int(min(search.rows or 0, _MOST_ROWS))
        if not self.is_worth_on_device(expected):
            return None
        with matchers.folds(self._runtime.store, self._runtime.context) as folds:
            folded = self.folded(expected, maker=folds)
            try:
                if not folded.open(holding):
                    return None
                if eliminated is not None:
                    done = matchers.fold_eliminated(eliminated, weight is not None, self._runtime, masks, folded.folds)
                else:
                    done = matchers.fold_search(folds, search, folded.names, weight, folded.folds, masks)
                if not done:
                    return None
                groups = folded.groups()
            except ResourceError as error:
                if error.code not in ("OutOfDeviceMemory", "CountOverflow"):
                    raise
                return None
            finally:
                folded.close()
        self._runtime.context.note(self._operator, "rows are folded on the GPU")
        return self.grouping.of_groups(groups) if groups.length else self.grouping.run(iter(()), outer)

    def _counted_on_device(self) -> physical.Eliminate | None:
        """Return the elimination whose counts by a node are all of the aggregate's rows, where a device runs it."""
        below = self._operator.input
        if not isinstance(below, physical.Eliminate) or not isinstance(below.input, logical.Unit):
            return None
        if len(below.emit) != 1 or self._operator.weight not in (None, below.count):
            return None
        if not self._runtime.eliminates(below):
            return None
        return below if below.emit[0] in self._elements else None

    def gathered(
        self, batches: Iterator[Batch], holding: Holding, diversion: Diversion | None
    ) -> tuple[list[Batch], bool]:
        """Return the first rows, and whether they are worth evaluating expressions for all elements."""
        waiting: list[Batch] = []
        rows = 0
        for batch in batches:
            self._runtime.context.check()
            waiting.append(batch)
            rows += batch.length
            holding.add(batch.nbytes)
            there = rows if diversion is None else max(rows, diversion.seen, min(diversion.expected, _MOST_MORE * rows))
            if self.is_worth(there):
                return waiting, True
        return waiting, False

    def run(
        self,
        waiting: list[Batch],
        batches: Iterator[Batch],
        outer: Batch,
        holding: Holding,
        diversion: Diversion | None = None,
    ) -> Iterator[Batch] | None:
        """Return the groups of all rows; None, with nothing done, where their values can't be folded.

        Where rows can be diverted, the threads that find them fold them. ``CountOverflow`` is then raised, before any
        group is returned, where their weights add up to too much.
        """
        rows = _MORE_ROWS * sum(batch.length for batch in waiting)
        elements, conditions = None if diversion is None else self._elements_with(diversion), None
        if diversion is not None and elements is not None:
            conditions = diversion.conditions(elements, holding)
            rows = max(rows, int(min(diversion.expected, _MOST_ROWS)))
        folded = self.folded(rows, elements if conditions is not None else None)
        if not folded.open(holding):
            folded.close()
            return None
        if diversion is not None and conditions is not None and self._is_bounded(folded):
            self._divert(folded, conditions, diversion)
        return self._groups(folded, waiting, batches, outer)

    def _elements_with(self, diversion: Diversion) -> dict[str, Elements] | None:
        """Return what may be bound to the variables that are folded or compared; None where rows count otherwise."""
        if not diversion.counts_by(self._operator.weight):
            return None
        return diversion.elements(frozenset(self._elements))

    def _is_bounded(self, folded: Folded) -> bool:
        """Tell whether groups of each thread fit into what memory there is."""
        return self._runtime.memory.limit is None or all(fold.is_bounded for fold in folded.folds)

    def _divert(self, folded: Folded, conditions: Sequence[Condition], diversion: Diversion) -> None:
        from qengine.exec.host.row_sinks import FoldSink

        context = self._runtime.context
        diversion.to(lambda source: FoldSink(source, folded.names, folded.folds, conditions, context))

    def _groups(self, folded: Folded, waiting: list[Batch], batches: Iterator[Batch], outer: Batch) -> Iterator[Batch]:
        left = self._left(folded, chain(waiting, batches))
        try:
            yield from self.grouping.run(left, outer, folded.groups)
        finally:
            if isinstance(batches, Generator):  # threads of a search may still fold
                batches.close()
            folded.close()

    def _left(self, folded: Folded, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Fold batches, many together where several threads fold them; yield those for which that isn't possible."""
        runtime = self._runtime
        most = min(_TOGETHER, BATCH_ROWS * runtime.context.threads) if runtime.memory.limit is None else 1
        together: list[tuple[Batch, _Rows]] = []
        length = 0
        for batch in batches:
            runtime.context.check()
            rows = self._rows(folded, batch)
            if rows is None:
                yield batch
                continue
            together.append((batch, rows))
            length += batch.length
            if length >= most:
                yield from self._unfolded(folded, together, length)
                together, length = [], 0
        if together:
            yield from self._unfolded(folded, together, length)

    def _rows(self, folded: Folded, batch: Batch) -> _Rows | None:
        """Return what is folded of a batch; None where that isn't possible."""
        weight = self._operator.weight
        weights = None if weight is None else weights_of(batch.columns[weight])
        if weights is not None and weights.dtype == object:
            return None
        columns = [batch.columns[name] for name in folded.names]
        ids = [column.ids for column in columns if isinstance(column, NodeColumn | RelationshipColumn)]
        return None if len(ids) < len(columns) else (ids, weights)

    def _unfolded(self, folded: Folded, together: list[tuple[Batch, _Rows]], length: int) -> list[Batch]:
        """Fold batches together; return them where their weights are too much, else none."""
        ids = [_joined(parts) for parts in zip(*(rows[0] for _, rows in together), strict=True)]
        given = [rows[1] for _, rows in together if rows[1] is not None]
        weights = _joined(given) if given else None
        if all(fold.add(ids, length, weights) for fold in folded.folds):
            return []
        return [batch for batch, _ in together]


def _joined(parts: Sequence[IntArray]) -> IntArray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
