"""Counts by two nodes folded into groups as an elimination makes them; keys and arguments are each of one node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from qengine.errors import ResourceError
from qengine.exec.common.batch import Batch
from qengine.exec.common.operators.folded_rows import FoldedRows
from qengine.exec.common.operators.stage import Build
from qengine.exec.memory import Holding
from qengine.plan import logical
from qengine.plan.physical import Eliminate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qengine.exec.common.operators.folded import Folded
    from qengine.exec.host.folds import Fold

__all__ = ["FoldedPairs", "folded_pairs"]


def folded_pairs(operator: logical.Aggregate, folding: FoldedRows, build: Build) -> FoldedPairs | None:
    """Return how to fold the pairs of an aggregate's input, None where that isn't an elimination by two nodes."""
    below, runtime = operator.input, build.runtime
    if not isinstance(below, Eliminate) or len(below.emit) != 2 or not isinstance(below.input, logical.Unit):
        return None
    if runtime.matchers is not None or not runtime.eliminates(below) or operator.weight != below.count:
        return None
    return FoldedPairs(operator, below, folding, build)


class FoldedPairs:
    """Folds the pairs of an elimination."""

    def __init__(self, operator: logical.Aggregate, below: Eliminate, folding: FoldedRows, build: Build) -> None:
        self._operator = operator
        self._below = below
        self._folding = folding
        self._build = build

    def run(self, outer: Batch, holding: Holding) -> Iterator[Batch] | None:
        """Return all groups; None, with nothing done, where rows are few, or their values or sums can't be folded."""
        expected = int(min(self._below.search.rows or 0, 2**40))
        if not self._folding.is_worth(expected):
            return None
        folded: list[Folded] = []

        def begun() -> Sequence[Fold] | None:
            for each in folded:  # numbers were too large for one
                each.close()
            holding.set(0)
            folded.append(self._folding.folded(expected))
            return folded[-1].folds if folded[-1].open(holding) else None

        try:
            return self._groups(folded, outer) if self._fold(begun) else None
        finally:
            for each in folded:
                each.close()

    def _fold(self, begun: Callable[[], Sequence[Fold] | None]) -> bool:
        from qengine.exec.host.pair_folds import fold_pair_rows

        runtime = self._build.runtime
        try:
            return fold_pair_rows(self._below, self._operator.weight is not None, begun, runtime, self._build.masks)
        except ResourceError as error:
            if error.code != "CountOverflow":
                raise
            return False

    def _groups(self, folded: list[Folded], outer: Batch) -> Iterator[Batch]:
        groups = folded[-1].groups()
        grouping = self._folding.grouping
        self._build.runtime.context.note(self._operator, "pairs are folded as they are made")
        return grouping.of_groups(groups) if groups.length else grouping.run(iter(()), outer)
