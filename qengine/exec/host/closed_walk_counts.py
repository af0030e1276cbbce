"""Closed walks of which only sums are asked for, counted once all weights are known: one pass finds several sums."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy.typing as npt

from qengine._frozen import frozen
from qengine.exec.common.relations import SparseMatrix
from qengine.exec.context import ExecutionContext
from qengine.exec.host.ranked_pairs import RankedPairs
from qengine.plan.elimination import Step

__all__ = ["MOST_WALK_ENTRIES", "MOST_WALK_WEIGHT", "ClosedWalkCounts", "closed_walk_counts"]

MOST_WALK_ENTRIES = 2**32 - 1
"""Of a matrix: what its walks of three steps from one vertex to another come to has 32 bits."""

MOST_WALK_WEIGHT = 2**32 - 1
"""Weights have 32 bits."""


@frozen
class ClosedWalkCounts:
    """Closed walks along a matrix with ``pairs``, that the step ``key`` is.

    ``length``: 4, 5 or 6 steps. ``weights``: how often those of four steps count, by the vertex that they begin at
    (uint64); None: once each.
    """

    key: Step
    matrix: SparseMatrix
    length: int
    weights: npt.NDArray[Any] | None

    @property
    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """The arrays that it holds, but for the graph's own."""
        return self.matrix.arrays if self.weights is None else (*self.matrix.arrays, self.weights)


def closed_walk_counts(
    walks: Mapping[int, ClosedWalkCounts],
    ranked: Callable[[Step, SparseMatrix], RankedPairs],
    context: ExecutionContext,
) -> dict[int, int]:
    """Return the sums of walks, by their places.

    Raises
    ------
    QueryTimeout, QueryInterrupted, OutOfMemory
        By the context's limits.
    """
    sums: dict[int, int] = {}
    along: dict[int, dict[int, ClosedWalkCounts]] = {}
    for place, each in walks.items():
        along.setdefault(id(each.matrix), {})[place] = each
    for same in along.values():
        first = next(iter(same.values()))
        index = ranked(first.key, first.matrix)
        weights = {id(each.weights): each.weights for each in same.values() if each.weights is not None}
        plain = [place for place, each in same.items() if each.length == 4 and each.weights is None]
        if plain:
            sums |= dict.fromkeys(plain, index.closed_walks(context))
        if len(plain) == len(same):
            continue
        for vector in weights.values() or (None,):
            fives, sixes, weighted = index.long_walks(context, vector)
            for place, each in same.items():
                if each.length > 4:
                    sums[place] = fives if each.length == 5 else sixes
                elif each.weights is not None and each.weights is vector:
                    sums[place] = weighted
    return sums
