"""Triangles on their way to totals: by their corners' weights, and by vertex.

A tree that closes to a triangle keeps tails at its corners. Where these are alike, and only the total is asked for,
four sums over all triangles say all: no number by vertex or pair is needed. Where the triangles of pairs are only
summed by one of their vertices, those of each vertex are all that it takes. Where one side of each has a number, and
that is summed by the vertex across, each triangle is found but once for its three vertices.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from qengine.plan.elimination import (
    MaskedProduct,
    Matrix,
    MatVec,
    Product,
    Step,
    among_pairs,
)
from qengine.plan.kernels.row import Facts, Group
from qengine.plan.kernels.shapes import MOST_ENTRIES, is_triangle, pairs_of


def corner_groups(facts: Facts, places: Collection[int]) -> Iterator[Group]:
    """Yield totals that are sums over the triangles of a simple graph, of the product of weights at some corners.

    A group reads the matrix and the vectors whose product the weight is. Its results are how many corners of each
    total have weights; of one of them two or three have, since others are left to what counts triangles by vertex.
    """
    found: dict[tuple[int, tuple[int, ...]], dict[int, int]] = {}
    plain: dict[int, set[int]] = {}
    for place in sorted(places):
        closed, corners = _corners(facts.steps, place)
        if closed is None or not _is_counted(facts, closed.across):
            continue
        weighted = [each for each in corners if each]
        if not weighted:
            plain.setdefault(closed.across, set()).add(place)
        elif len(set(weighted)) == 1:
            found.setdefault((closed.across, weighted[0]), {})[place] = len(weighted)
    for (across, weights), totals in found.items():
        if max(totals.values()) > 1:
            totals |= dict.fromkeys(sorted(plain.pop(across, ())), 0)
            yield Group(tuple(totals), (across, *weights), tuple(totals.values()))


def vertex_groups(facts: Facts, places: Collection[int]) -> Iterator[Group]:
    """Yield triangles of a simple graph of which only sums by vertex are read, with the messages that are these sums.

    A group's results are 1 for these messages, and 0 for the steps between, whose numbers are not made.
    """
    steps = facts.steps
    for place in sorted(places):
        step = steps[place]
        if not isinstance(step, MaskedProduct) or not is_triangle(step) or step.vector is not None:
            continue
        if _is_counted(facts, step.across) and (made := _only_summed_by_row(facts, place, step.across, places)):
            yield Group(tuple(made), (step.across,), tuple(made.values()))


def opposite_groups(facts: Facts, places: Collection[int]) -> Iterator[Group]:
    """Yield messages y[a] = sum over a's triangles (a, b, c) of z[b] W[b, c] x[c], with the two steps between.

    A group reads the matrix of all sides, W, and x and z where there are such. Nothing else reads the steps between.
    """
    steps = facts.steps
    for place in sorted(places):
        step = steps[place]
        if not isinstance(step, MaskedProduct) or step.left != step.across or step.right == step.across:
            continue
        if not _is_counted(facts, step.across) or pairs_of(steps, step.right) != step.across:
            continue
        between = _only_reader(facts, place, places)
        if between is None or not isinstance(product := steps[between], Product):
            continue
        last = _only_reader(facts, between, places)
        if last is None or sorted(product.factors) != sorted((place, step.across)):
            continue
        message = steps[last]
        if not isinstance(message, MatVec) or (message.vector is not None and message.vector > place):
            continue
        vectors = [each for each in (step.vector, message.vector) if each is not None]
        yield Group((last, place, between), (step.across, step.right, *vectors))


def _only_reader(facts: Facts, place: int, places: Collection[int]) -> int | None:
    readers = list(facts.readers(place))
    return readers[0] if len(readers) == 1 and readers[0] in places else None


def _only_summed_by_row(facts: Facts, place: int, across: int, places: Collection[int]) -> dict[int, int]:
    """Return the steps that have a matrix's numbers, with 0, and those that sum its rows, with 1.

    Products with the matrix ``across``, which has no numbers, have the same. None are returned where others read them.
    """
    found = {place: 0}
    waiting = [place]
    while waiting:
        for reader in facts.readers(read := waiting.pop()):
            step = facts.steps[reader]
            if reader not in places:
                continue
            if isinstance(step, MatVec) and step.vector is None:
                found[reader] = 1
            elif isinstance(step, Product) and sorted(step.factors) == sorted((read, across)):
                found[reader] = 0
                waiting.append(reader)
            else:
                return {}
    return dict(sorted(found.items())) if 1 in found.values() else {}


def _is_counted(facts: Facts, matrix: int) -> bool:
    """Tell whether a matrix is over vertices, that of a simple graph, and small enough."""
    if not isinstance(facts.steps[matrix], Matrix) or among_pairs(facts.steps, matrix):
        return False
    return facts.is_simple(matrix) is not False and facts.most_entries(matrix) <= MOST_ENTRIES


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
