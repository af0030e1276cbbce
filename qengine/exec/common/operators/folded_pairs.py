"""Counts by two nodes folded into groups as an elimination makes them; keys and arguments are each of one node."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from qengine.errors import ResourceError
from qengine.exec.common.batch import Batch
from qengine.exec.common.element_columns import Elements, elements_of
from qengine.exec.common.fold_plan import Condition
from qengine.exec.common.operators.diversion import compared_conditions, comparisons_between
from qengine.exec.common.operators.folded_rows import FoldedRows
from qengine.exec.common.operators.stage import Build
from qengine.exec.memory import Holding
from qengine.plan import logical
from qengine.plan.expr import Comparison
from qengine.plan.physical import Eliminate
from qengine.plan.traverse import conjuncts

if TYPE_CHECKING:
    from qengine.exec.common.operators.folded import Folded
    from qengine.exec.host.folds import Fold


def folded_pairs(operator: logical.Aggregate, folding: FoldedRows, build: Build) -> FoldedPairs | None:
    """Return how to fold the pairs of an elimination below an aggregate; None where something else is there.

    Between them may be comparisons of what is of one node with what is of the other.
    """
    runtime = build.runtime
    compared: list[Comparison] | None = []
    below = operator.input
    if isinstance(below, logical.Filter):
        compared = comparisons_between(conjuncts(below.predicate))
        below = below.input
    if not isinstance(below, Eliminate) or len(below.emit) != 2 or not isinstance(below.input, logical.Unit):
        return None
    if runtime.matchers is not None or not runtime.eliminates(below) or operator.weight != below.count:
        return None
    levels = {level.name: level for level in below.search.levels}
    elements = {name: found for name in below.emit if (found := elements_of(levels[name], runtime)) is not None}
    if compared is None or len(elements) < len(below.emit):
        return None
    return FoldedPairs(operator, below, compared, elements, folding, build)


class FoldedPairs:
    """Folds the pairs of an elimination.

    Parameters
    ----------
    compared
        Comparisons that pairs must satisfy.
    elements
        What the two nodes may be.
    """

    def __init__(
        self,
        operator: logical.Aggregate,
        below: Eliminate,
        compared: Sequence[Comparison],
        elements: Mapping[str, Elements],
        folding: FoldedRows,
        build: Build,
    ) -> None:
        self._operator = operator
        self._below = below
        self._compared = compared
        self._elements = elements
        self._folding = folding
        self._build = build

    def run(self, outer: Batch, holding: Holding) -> Iterator[Batch] | None:
        """Return all groups; None, with nothing done, where rows are few, or their values or sums can't be folded."""
        expected = int(min(self._below.search.rows or 0, 2**40))
        conditions = self._conditions(holding) if self._folding.is_worth(expected) else None
        if conditions is None:
            return None
        folded: list[Folded] = []

        def begun() -> Sequence[Fold] | None:
            for each in folded:  # numbers were too large for one
                each.close()
            folded.append(self._folding.folded(expected, self._elements))
            return folded[-1].folds if folded[-1].open(holding) else None

        try:
            return self._groups(folded, outer) if self._fold(conditions, begun) else None
        finally:
            for each in folded:
                each.close()

    def _conditions(self, holding: Holding) -> list[Condition] | None:
        """Return the comparisons by numbers of all elements; None where their values have none."""
        return compared_conditions(self._compared, self._elements, self._build.runtime, holding)

    def _fold(self, conditions: Sequence[Condition], begun: Callable[[], Sequence[Fold] | None]) -> bool:
        from qengine.exec.host.folds import FoldedEnds
        from qengine.exec.host.pair_folds import fold_pair_rows

        ends = FoldedEnds(self._below.emit, self._operator.weight is not None, conditions)
        try:
            return fold_pair_rows(self._below, ends, begun, self._build.runtime, self._build.masks)
        except ResourceError as error:
            if error.code != "CountOverflow":
                raise
            return False

    def _groups(self, folded: list[Folded], outer: Batch) -> Iterator[Batch]:
        groups = folded[-1].groups()
        grouping = self._folding.grouping
        self._build.runtime.context.note(self._operator, "pairs are folded as they are made")
        return grouping.of_groups(groups) if groups.length else grouping.run(iter(()), outer)
