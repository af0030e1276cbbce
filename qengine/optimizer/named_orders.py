"""Orders by rules that were published, to compare with and to be asked for by name.

They know labels, degrees in the pattern and label frequencies alone. Ties are broken by the order of the names given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from qengine.optimizer.cardinality import Cardinality
from qengine.optimizer.pattern_edges import PatternEdge


def gsi(names: Sequence[str], edges: Sequence[PatternEdge], known: Cardinality) -> tuple[str, ...]:
    """Order by least score |C(u)|/deg(u), a neighbour's score times how frequent the linking relationships are.

    GSI (Zeng et al., ICDE 2020), Algorithm 2.
    """
    near = _neighbours(names, edges)
    score = {name: known.candidates(name) / max(len(near[name]), 1) for name in names}
    order: list[str] = []
    while len(order) < len(names):
        linked = _linked(names, order, near)
        name = min(linked, key=score.__getitem__)
        order.append(name)
        for edge in edges:
            if name in edge.ends and edge.ends[0] != edge.ends[1]:
                other = edge.ends[edge.ends[0] == name]
                if other in score:  # else it is bound before the pattern
                    score[other] *= sum(info.count for info in edge.types)
    return tuple(order)


def ri(names: Sequence[str], edges: Sequence[PatternEdge], known: Cardinality) -> tuple[str, ...]:
    """Order by most neighbours that are ordered, then most whose neighbours are, then most that are neither.

    RI (Bonnici et al., BMC Bioinformatics 2013): the structure of the pattern alone.
    """
    near = _neighbours(names, edges)
    order: list[str] = []

    def rank(name: str) -> tuple[int, int, int, int]:
        done = near[name].intersection(order)
        fresh = near[name].difference(order)
        touched = {other for other in fresh if near[other].intersection(order)}
        return len(done), len(touched), len(fresh - touched), len(near[name])

    while len(order) < len(names):
        order.append(max((name for name in names if name not in order), key=rank))
    return tuple(order)


def quicksi(names: Sequence[str], edges: Sequence[PatternEdge], known: Cardinality) -> tuple[str, ...]:
    """Order by the least frequent edges first: a minimum spanning tree grown from its rarest edge.

    QuickSI (Shang et al., PVLDB 2008), §4: an edge weighs as many data edges as match it and its ends' labels; of equal
    ones that whose vertex has more edges to the tree is taken, then that of smaller degree.
    """
    near = _neighbours(names, edges)
    weights = {
        frozenset(edge.ends): known.probability(edge) * known.labelled(edge.ends[0]) * known.labelled(edge.ends[1])
        for edge in sorted(edges, key=known.probability, reverse=True)
        if edge.ends[0] != edge.ends[1]
    }
    order: list[str] = []

    def lightest(name: str) -> float:
        among = near[name].intersection(order) or near[name]
        return min((weights[frozenset((name, other))] for other in among), default=float("inf"))

    def rank(name: str) -> tuple[float, int, float]:
        if not order:
            return lightest(name), 0, known.labelled(name)
        return lightest(name), -len(near[name].intersection(order)), len(near[name])

    while len(order) < len(names):
        order.append(min(_linked(names, order, near), key=rank))
    return tuple(order)


Rule = Callable[[Sequence[str], Sequence[PatternEdge], Cardinality], tuple[str, ...]]
RULES: Mapping[str, Rule] = {"gsi": gsi, "ri": ri, "quicksi": quicksi}
"""By the name that a hint gives."""


def _neighbours(names: Sequence[str], edges: Sequence[PatternEdge]) -> dict[str, set[str]]:
    near: dict[str, set[str]] = {name: set() for name in names}
    for edge in edges:
        start, end = edge.ends
        if start != end and start in near and end in near:
            near[start].add(end)
            near[end].add(start)
    return near


def _linked(names: Sequence[str], order: Sequence[str], near: Mapping[str, set[str]]) -> list[str]:
    """Return the names not ordered yet, only those next to ordered ones where there are any."""
    left = [name for name in names if name not in order]
    return [name for name in left if near[name].intersection(order)] or left
