"""The first rows of an order, kept by the threads of the search that finds them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from qengine.exec.common.batch import Batch
from qengine.exec.common.element_columns import Elements, Numbers, evaluations, ordered_numbers
from qengine.exec.common.fold_plan import MOST_VARIABLES
from qengine.exec.common.operators.diversion import Diversion, diversion_of
from qengine.exec.common.operators.stage import Build
from qengine.exec.common.runtime import Runtime
from qengine.exec.memory import Holding
from qengine.plan.expr import Expr
from qengine.plan.folding import variable_of
from qengine.plan.logical import Operator
from qengine.plan.traverse import free_variables, is_repeatable

_MOST_ROWS = 1 << 16  # that are wanted
_A_ROW = 2  # elements that a key is evaluated for in the time that this saves for a row
_STORED = 256  # elements whose stored values are made a key of in the time of evaluating one


def diverted_first_rows(
    below: Operator, keys: Sequence[tuple[Expr, bool]], limit: int, build: Build
) -> DivertedFirstRows | None:
    """Return how to keep the first rows of a search, by keys of one variable each; None where that can't be done."""
    if limit > _MOST_ROWS or not all(len(free_variables(key)) == 1 and is_repeatable(key) for key, _ in keys):
        return None
    diversion = diversion_of(below, build)
    if diversion is None or not diversion.gives:
        return None
    elements = diversion.elements(frozenset(variable_of(key) for key, _ in keys))
    if elements is None or len(elements) > MOST_VARIABLES:
        return None
    return DivertedFirstRows(diversion, keys, limit, elements, build.runtime)


class DivertedFirstRows:
    """The rows of a search, of which its threads leave out those that can't be among the first once there are many."""

    def __init__(
        self,
        diversion: Diversion,
        keys: Sequence[tuple[Expr, bool]],
        limit: int,
        elements: Mapping[str, Elements],
        runtime: Runtime,
    ) -> None:
        self._diversion = diversion
        self._keys = keys
        self._limit = limit
        self._elements = elements
        self._runtime = runtime
        self._evaluated = sum(evaluations(key, elements[variable_of(key)], _STORED) for key, _ in keys)

    def batches(self, outer: Batch) -> Iterator[Batch]:
        """Yield rows, those that come first among them."""
        asked = not self._diversion.takes(outer)
        with self._runtime.memory.holding("Sort") as holding:
            for batch in self._diversion.stage(outer):
                if not asked and _A_ROW * self._diversion.seen >= self._evaluated:
                    asked = True
                    self._divert(holding)
                yield batch

    def _divert(self, holding: Holding) -> None:
        from qengine.exec.host.row_sinks import FirstRowsSink

        keys = [(variable_of(key), self._numbers(key, holding), not ascending) for key, ascending in self._keys]
        conditions = self._diversion.conditions(self._elements, holding)
        if conditions is None or any(numbers is None for _, numbers, _ in keys):
            return
        known = [(name, numbers, descending) for name, numbers, descending in keys if numbers is not None]
        names, context, limit = sorted(self._elements), self._runtime.context, self._limit
        self._diversion.to(lambda source: FirstRowsSink(source, names, known, limit, conditions, context))

    def _numbers(self, key: Expr, holding: Holding) -> Numbers | None:
        """Return the numbers of all elements by which rows are ordered; None where they have none, null included."""
        numbers = ordered_numbers(key, self._elements[variable_of(key)], self._runtime)
        if numbers is None:
            return None
        holding.add(numbers.nbytes)
        return numbers
