"""Totals of an elimination that are sums over triangles: of the product of weights at one, two or three corners.

A tree that closes to a triangle keeps tails at its corners. Where these are alike, and only the total is asked for,
four sums over all triangles say all (``kernels/cuda/count/triangle_weight_sums.cu``): no number by vertex or pair is
needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from qengine.plan.elimination import MaskedProduct, MatVec, Product, Step, Term

__all__ = ["WeightedTriangleTotals", "weighted_triangle_totals"]

_TIMES = (6, 2, 2, 6)
"""How often the orders of a triangle's corners count each product, by how many corners have weights."""


@dataclass(frozen=True, slots=True)
class WeightedTriangleTotals:
    """Totals over the triangles of one matrix.

    ``across``: its step. ``weights``: the steps of vectors whose product is the weight. ``totals``: the steps whose
    sums these are, and how many corners of each have weights.
    """

    across: int
    weights: tuple[int, ...]
    totals: Mapping[int, int]

    def sums(self, words: npt.NDArray[np.uint64]) -> dict[int, int]:
        """Return the totals, given the kernels' four sums of two words each."""
        found = [int(low) + (int(high) << 64) for low, high in words.reshape(4, 2)]
        return {place: _TIMES[corners] * found[corners] for place, corners in self.totals.items()}


def weighted_triangle_totals(steps: Sequence[Step], terms: Sequence[Term]) -> tuple[WeightedTriangleTotals, ...]:
    """Return the totals that are such sums, if in any of them two or three corners have weights.

    Others are left to what counts triangles by vertex.
    """
    found: dict[tuple[int, tuple[int, ...]], dict[int, int]] = {}
    plain: dict[int, set[int]] = {}
    for place in {place for term in terms for place in term.totals if term.output is None}:
        closed, corners = _corners(steps, place)
        if closed is None:
            continue
        weighted = [each for each in corners if each]
        if not weighted:
            plain.setdefault(closed.across, set()).add(place)
        elif len(set(weighted)) == 1:
            found.setdefault((closed.across, weighted[0]), {})[place] = len(weighted)
    made = []
    for (across, weights), totals in found.items():
        if max(totals.values()) > 1:
            made.append(WeightedTriangleTotals(across, weights, totals | dict.fromkeys(plain.pop(across, ()), 0)))
    return tuple(made)


def _corners(steps: Sequence[Step], place: int) -> tuple[MaskedProduct | None, tuple[tuple[int, ...], ...]]:
    """Return the triangles that a vector's sum is over, if they are of one matrix, and the weights of each corner."""
    step = steps[place]
    factors = step.factors if isinstance(step, Product) else (place,)
    closing = [(k, closed) for k in factors if (closed := _closed(steps, steps[k])) is not None]
    if len(closing) != 1:
        return None, ()
    (message, closed), *_ = closing
    told = steps[message]
    assert isinstance(told, MatVec)
    first = tuple(sorted(each for each in factors if each != message))
    return closed, (first, *(() if each is None else (each,) for each in (told.vector, closed.vector)))


def _closed(steps: Sequence[Step], step: Step) -> MaskedProduct | None:
    """Return the triangles across whose pairs a message goes, each as often as its third vertex says; else None."""
    if not isinstance(step, MatVec):
        return None
    matrix = steps[step.matrix]
    factors = matrix.factors if isinstance(matrix, Product) else (step.matrix,)
    closed = [found for k in factors if isinstance(found := steps[k], MaskedProduct)]
    if len(closed) != 1 or not closed[0].across == closed[0].left == closed[0].right:
        return None
    return closed[0] if all(steps[k] is closed[0] or k == closed[0].across for k in factors) else None
