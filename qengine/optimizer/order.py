"""The matching order: which vertex is bound next.

GSI's rule (Algorithm 2: start where |C(u)|/deg(u) is least, go on to the linked vertex whose score times the
frequency of the linking labels is least), with the score replaced by the expected size of the intermediate result,
which label-pair statistics give. The most promising starts are tried; the cheapest whole order is kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from qengine._frozen import frozen
from qengine.optimizer.cardinality import Cardinality
from qengine.optimizer.pattern_edges import PatternEdge

_OUTPUT = 2.0  # cost of one row written, in units of one candidate looked at
_STARTS = 5  # starts tried: those with the least |C(u)|/deg(u)


@frozen
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
    links: dict[str, list[_Link]] = {name: [] for name in (*names, *bound)}
    for edge in edges:
        start, end = edge.ends
        if start != end:
            probability = cardinality.probability(edge)
            links[start].append(_Link(end, probability, cardinality.fan_out(edge, start)))
            links[end].append(_Link(start, probability, cardinality.fan_out(edge, end)))
    greedy = _Greedy(names, links, cardinality, frozenset(first))
    if bound or not names:
        return greedy.run(bound, None)
    starts = sorted(
        [name for name in names if not first or name in first],
        key=lambda name: cardinality.candidates(name) / max(len(links[name]), 1),
    )
    return min((greedy.run((), start) for start in starts[:_STARTS]), key=lambda order: order.cost)


@frozen
class _Link:
    """A pattern edge seen from one end: the other end, how likely two vertices are joined, the mean fan-out."""

    other: str
    probability: float
    fan_out: float


@frozen
class _Greedy:
    names: Sequence[str]
    links: dict[str, list[_Link]]
    cardinality: Cardinality
    first: frozenset[str]

    def run(self, bound: Iterable[str], start: str | None) -> MatchingOrder:
        """Bind the vertex that keeps the result smallest, linked ones first, then those with more links."""
        growth = {name: self.cardinality.candidates(name) for name in self.names}
        looked = dict.fromkeys(self.names, float("inf"))  # candidates looked at a row: the least linking fan-out
        left = list(self.names)

        def place(name: str) -> None:
            for link in self.links[name]:
                if link.other in growth:
                    growth[link.other] *= link.probability
                    looked[link.other] = min(looked[link.other], link.fan_out)

        for name in bound:
            place(name)
        order: list[str] = []
        rows: list[float] = []
        size, cost = 1.0, 0.0
        while left:
            wanted = [name for name in left if name in self.first] or left
            best = min(
                wanted,
                key=lambda name: (looked[name] == float("inf"), growth[name], -len(self.links[name])),
            )
            if start is not None and not order:
                best = start
            candidates = looked[best] if looked[best] < float("inf") else growth[best]
            cost += size * candidates
            size *= growth[best]
            cost += _OUTPUT * size if best in self.first else size
            left.remove(best)
            place(best)
            order.append(best)
            rows.append(size)
        return MatchingOrder(tuple(order), tuple(rows), cost)
