"""Totals of an elimination as sums over vertices of products of vectors, which take as few messages as possible.

The sum over u of p[u] times the sum over v of A[u, v] x[v] is the sum over v of x[v] times the sum over u of
A[u, v] p[u]: where the second message is there anyway, the first need not be sent.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from qengine.plan.elimination import Matrix, MatVec, Product, Step
from qengine.plan.kernels.row import Facts

MOST_FACTORS = 16
"""Of one product."""

Factors = tuple[int, ...]


def vector_sums(facts: Facts, totals: Collection[int]) -> dict[int, Factors]:
    """Return for each total the steps whose vectors' product, summed over all vertices, it is; ascending."""
    steps = facts.steps
    found = {place: _factors(steps, place) for place in sorted(totals)}
    run = facts.needed(found)
    for place in reversed(range(len(steps))):
        step = steps[place]
        if place not in run or not isinstance(step, MatVec) or not isinstance(steps[step.matrix], Matrix):
            continue
        if any(each in run for each in facts.readers(place)):
            continue
        turned = {total: _turned(steps, factors, place, run) for total, factors in found.items() if place in factors}
        if turned and all(turned.values()):
            found |= {total: factors for total, factors in turned.items() if factors is not None}
            run = facts.needed(found)
    return found


def _factors(steps: Sequence[Step], place: int | None) -> Factors:
    """Return the vectors whose product a vector is, itself where they are too many; none of ones."""
    if place is None:
        return ()
    step = steps[place]
    if not isinstance(step, Product):
        return (place,)
    found = tuple(sorted(each for factor in step.factors for each in _factors(steps, factor)))
    return found if len(found) <= MOST_FACTORS else (place,)


def _turned(steps: Sequence[Step], factors: Factors, place: int, run: Collection[int]) -> Factors | None:
    """Return factors with the same sum that hold another message for the one of ``place``; None if there is none."""
    step = steps[place]
    assert isinstance(step, MatVec)
    rest = list(factors)
    rest.remove(place)
    back = _transposed(steps, step.matrix)
    for other in sorted(run):
        message = steps[other]
        if other == place or not isinstance(message, MatVec) or message.matrix not in back:
            continue
        if _factors(steps, message.vector) == tuple(rest):
            turned = tuple(sorted((other, *_factors(steps, step.vector))))
            return turned if len(turned) <= MOST_FACTORS else None
    return None


def _transposed(steps: Sequence[Step], place: int) -> frozenset[int]:
    """Return the places of the matrices that link the same pairs as often, seen from the other end."""
    matrix = steps[place]
    assert isinstance(matrix, Matrix)
    turned = Matrix(tuple(relation.reversed() for relation in matrix.relations))
    return frozenset(other for other, step in enumerate(steps) if step == turned)
