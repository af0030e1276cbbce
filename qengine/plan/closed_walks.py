"""Closed walks among the steps of an elimination: how many lead from each vertex back to it, along one matrix."""

from __future__ import annotations

from dataclasses import replace

from qengine._frozen import frozen
from qengine.plan.elimination import ForestNode, RootedForest, Step

__all__ = ["ClosedWalks", "WalkSum", "closed_walks_of", "squared_rows", "walk_sum"]


@frozen
class ClosedWalks:
    """``length`` steps (4, 5 or 6) along the matrix that the step ``matrix`` is."""

    matrix: int
    length: int


@frozen
class WalkSum:
    """Closed walks over all vertices; those of four steps may count as often as the vector ``weights`` says."""

    walks: ClosedWalks
    weights: int | None


def closed_walks_of(step: Step) -> ClosedWalks | None:
    """Return which closed walks a step sums up around each vertex, whatever it multiplies them by, or None."""
    if not isinstance(step, RootedForest) or not step.nodes or (matrix := step.nodes[0].start) is None:
        return None
    neighbours, beyond = ForestNode(matrix, None, (), matrix), ForestNode(None, None, (0,), matrix)
    if step.nodes == (neighbours, ForestNode(None, None, (0, 0), None)) and step.tops == (1,):
        return ClosedWalks(matrix, 4)
    if step.nodes == (neighbours, beyond, ForestNode(None, None, (0, 1), None)) and step.tops == (2,):
        return ClosedWalks(matrix, 5)
    if step.nodes == (neighbours, beyond, ForestNode(None, None, (1, 1), None)) and step.tops == (2,):
        return ClosedWalks(matrix, 6)
    return None


def squared_rows(step: Step) -> tuple[int, int] | None:
    """Return the two matrices along which a step counts the ways from each root to each place, and squares them.

    None where it does something else, or has vectors.
    """
    if not isinstance(step, RootedForest) or len(step.nodes) != 2 or step.tops != (1,) or step.vector is not None:
        return None
    first, last = step.nodes
    plain = first.vector is None and not first.nodes and last == ForestNode(None, None, (0, 0), None)
    return (first.start, first.link) if plain and first.start is not None and first.link is not None else None


def walk_sum(step: Step) -> WalkSum | None:
    """Return which closed walks the numbers of a step add up to, along a symmetric matrix, or None."""
    if not isinstance(step, RootedForest):
        return None
    weights = step.vector
    if (
        weights is None and step.nodes and step.nodes[-1].vector is not None
    ):  # of the third vertex: any turn of a walk is one
        weights = step.nodes[-1].vector
        step = RootedForest((*step.nodes[:-1], replace(step.nodes[-1], vector=None)), step.tops, None)
    walks = closed_walks_of(step)
    return None if walks is None or (walks.length > 4 and weights is not None) else WalkSum(walks, weights)
