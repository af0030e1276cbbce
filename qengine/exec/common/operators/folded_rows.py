"""Rows of a pattern folded into groups as they come, where keys and arguments are each of one variable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from qengine._frozen import replace
from qengine.errors import OutOfMemory
from qengine.exec.common.aggregates import weights_of
from qengine.exec.common.batch import Batch
from qengine.exec.common.columns import NodeColumn, RelationshipColumn
from qengine.exec.common.element_columns import Elements, elements_of
from qengine.exec.common.operators.aggregation import Aggregation, counted_call
from qengine.exec.common.operators.folded import Folded, FoldMaker
from qengine.exec.common.runtime import Runtime
from qengine.exec.memory import Holding
from qengine.exec.view import MaskProvider
from qengine.plan import logical, physical
from qengine.plan.expr import Expr, Property, Variable
from qengine.plan.folding import folded_variables, variable_of
from qengine.plan.traverse import operators

__all__ = ["DEVICE_ROWS", "FoldedRows", "folded_rows", "searched_on_device"]

_WEIGHT_BITS = 40
_STORED = 16  # elements whose stored values are read in the time of evaluating an expression for one
_A_ROW = 2  # elements that an expression is evaluated for in the time that folding saves for a row
_MORE_ROWS = 8  # that are expected behind those that waited
DEVICE_ROWS = 1 << 16  # that are worth folding on a device


def folded_rows(operator: logical.Aggregate, runtime: Runtime) -> FoldedRows | None:
    """Return how to fold an aggregate's rows; None where it can't be done, or a variable may be null."""
    names = folded_variables(operator)
    if not names:
        return None
    found: dict[str, Elements] = {}
    for below in operators(operator.input):
        match below:
            case physical.Search(levels=levels):
                for level in levels:
                    elements = elements_of(level, runtime) if level.name in names else None
                    if elements is not None:
                        found[level.name] = elements
            case physical.HashJoin() | physical.Eliminate() | logical.Filter() | logical.Unit():
                pass
            case _:
                return None
    return FoldedRows(operator, found, runtime) if found.keys() == names else None


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
        exprs = {expr for _, expr in operator.keys} | {arg for _, call in operator.aggregates for arg in call.args}
        self._evaluated = sum(map(self._elements_of, exprs))

    def _elements_of(self, expr: Expr) -> int:
        """Return for how many elements an expression is evaluated, fewer where it only reads what is stored."""
        elements = self._elements[variable_of(expr)]
        stored = isinstance(expr, Variable) or (isinstance(expr, Property) and isinstance(expr.subject, Variable))
        return (elements.end - elements.begin) // (_STORED if stored else 1)

    def is_worth(self, rows: int) -> bool:
        """Tell whether so many rows are worth evaluating expressions for all elements."""
        return _A_ROW * rows >= self._evaluated

    def folded(
        self, rows: int, elements: Mapping[str, Elements] | None = None, maker: FoldMaker | None = None
    ) -> Folded:
        """Return the aggregate as it is folded, where so many rows are expected; ``elements``: of more variables."""
        return Folded(self._operator, elements or self._elements, self._runtime, rows, _WEIGHT_BITS, maker)

    def on_device(self, masks: MaskProvider, outer: Batch, holding: Holding) -> Iterator[Batch] | None:
        """Return the groups of a search that a device runs, folded there; None where that isn't so, or rows are few."""
        matchers, below = self._runtime.matchers, searched_on_device(self._operator, self._runtime)
        if matchers is None or below is None:
            return None
        expected = int(min(below.rows or 0, 2**40))
        if expected < DEVICE_ROWS or not self.is_worth(expected):
            return None
        with matchers.folds(self._runtime.store, self._runtime.context) as folds:
            folded = self.folded(expected, maker=folds)
            try:
                if not folded.open(holding) or not matchers.fold_search(
                    folds, below, folded.names, self._operator.weight, folded.folds, masks
                ):
                    return None
                groups = folded.groups()
            except OutOfMemory as error:
                if error.code != "OutOfDeviceMemory":
                    raise
                return None
            finally:
                folded.close()
        self._runtime.context.note(self._operator, "rows are folded on the GPU")
        return self.grouping.of_groups(groups) if groups.length else self.grouping.run(iter(()), outer)

    def gathered(self, batches: Iterator[Batch], holding: Holding) -> tuple[list[Batch], bool]:
        """Return the first rows, and whether they are worth evaluating expressions for all elements."""
        waiting: list[Batch] = []
        rows = 0
        for batch in batches:
            self._runtime.context.check()
            waiting.append(batch)
            rows += batch.length
            holding.add(batch.nbytes)
            if self.is_worth(rows):
                return waiting, True
        return waiting, False

    def run(
        self, waiting: list[Batch], batches: Iterator[Batch], outer: Batch, holding: Holding
    ) -> Iterator[Batch] | None:
        """Return the groups of all rows; None, with nothing done, where their values can't be folded."""
        folded = self.folded(_MORE_ROWS * sum(batch.length for batch in waiting))
        if not folded.open(holding):
            folded.close()
            return None
        return self._groups(folded, chain(waiting, batches), outer)

    def _groups(self, folded: Folded, batches: Iterator[Batch], outer: Batch) -> Iterator[Batch]:
        left = (batch for batch in batches if not self._add(folded, batch))
        try:
            yield from self.grouping.run(left, outer, folded.groups)
        finally:
            folded.close()

    def _add(self, folded: Folded, batch: Batch) -> bool:
        """Fold a batch; tell whether that was possible."""
        self._runtime.context.check()
        weight = self._operator.weight
        weights = None if weight is None else weights_of(batch.columns[weight])
        if weights is not None and weights.dtype == object:
            return False
        columns = [batch.columns[name] for name in folded.names]
        ids = [column.ids for column in columns if isinstance(column, NodeColumn | RelationshipColumn)]
        if len(ids) < len(columns):
            return False
        return all(fold.add(ids, batch.length, weights) for fold in folded.folds)
