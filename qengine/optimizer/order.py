"""The matching order: which vertex is bound next.

GSI's rule (Algorithm 2: start where |C(u)|/deg(u) is least, go on to the linked vertex whose score times the
frequency of the linking labels is least), with the score replaced by the expected size of the intermediate result,
which label-pair statistics give. Every start is tried; the cheapest whole order is kept: patterns are small.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from qengine.optimizer.cardinality import Cardinality
from qengine.optimizer.pattern_edges import PatternEdge

_OUTPUT = 2.0  # cost of one row written, in units of one candidate looked at


@dataclass(frozen=True, slots=True)
class MatchingOrder:
    """Names of vertices in the order of binding, ``rows`` expected after each, ``cost`` of the whole."""

    names: tuple[str, ...]
    rows: tuple[float, ...]
    cost: float

    def total(self) -> float:
        """Return the expected number of embeddings."""
        return self.rows[-1] if self.rows else 1.0


def matching_order(
    names: Sequence[str],
    edges: Sequence[PatternEdge],
    bound: Collection[str],
    cardinality: Cardinality,
    first: Collection[str] = (),
) -> MatchingOrder:
    """Return an order of ``names``, given that the vertices ``bound`` are bound already.

    Parameters
    ----------
    names
        Vertices to order; those in ``first`` must all come before the others (because they are wanted and the
        rest is only counted).
    edges
        Pattern edges between ``names`` and ``bound``.
    """
    starts: Sequence[str | None] = [None] if bound or not names else list(names)
    if first and not bound:
        starts = [name for name in names if name in first]
    orders = [_greedy(start, names, edges, bound, cardinality, first) for start in starts]
    return min(orders, key=lambda order: order.cost)


def _greedy(
    start: str | None,
    names: Sequence[str],
    edges: Sequence[PatternEdge],
    bound: Collection[str],
    cardinality: Cardinality,
    first: Collection[str],
) -> MatchingOrder:
    placed = set(bound)
    left = list(names)
    order: list[str] = []
    rows: list[float] = []
    size, cost = 1.0, 0.0
    while left:
        wanted = [name for name in left if name in first] or left
        if start is not None and not order:
            best = start
        else:
            best = min(wanted, key=lambda name: _rank(name, edges, placed, cardinality, size))
        work, size = _extension(best, edges, placed, cardinality, size)
        cost += work + (_OUTPUT * size if best in first else size)
        left.remove(best)
        placed.add(best)
        order.append(best)
        rows.append(size)
    return MatchingOrder(tuple(order), tuple(rows), cost)


def _links(name: str, edges: Sequence[PatternEdge], placed: Collection[str]) -> list[tuple[PatternEdge, str]]:
    found = []
    for edge in edges:
        start, end = edge.ends
        if start == name and end in placed:
            found.append((edge, end))
        elif end == name and start in placed:
            found.append((edge, start))
    return found


def _extension(
    name: str, edges: Sequence[PatternEdge], placed: Collection[str], cardinality: Cardinality, size: float
) -> tuple[float, float]:
    """Return (candidates looked at, rows after) of binding ``name`` next to ``size`` rows."""
    links = _links(name, edges, placed)
    if not links:
        candidates = cardinality.candidates(name)
        return size * candidates, size * candidates
    result = cardinality.candidates(name)
    for edge, _ in links:
        result *= cardinality.probability(edge)
    return size * min(cardinality.fan_out(edge, origin) for edge, origin in links), size * result


def _rank(
    name: str, edges: Sequence[PatternEdge], placed: Collection[str], cardinality: Cardinality, size: float
) -> tuple[bool, float, int]:
    """Linked vertices before unlinked ones, small extensions first, then those with more links ahead."""
    links = _links(name, edges, placed)
    _, rows = _extension(name, edges, placed, cardinality, size)
    ahead = sum(name in edge.ends for edge in edges)
    return not links and bool(placed), rows, -ahead
