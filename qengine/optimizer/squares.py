"""How many squares there are: a sample of pairs of relationships that meet shows how else their outer nodes are joined.

Where nodes keep to their own, of a city or a community, circles of four are many times as many as degrees let expect.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations
from math import prod

from qengine.optimizer.cardinality import Cardinality
from qengine.optimizer.difference import Differences
from qengine.optimizer.larger_parts import LargerPart
from qengine.optimizer.pattern_edges import PatternEdge
from qengine.optimizer.same_edges import must_differ
from qengine.plan.pattern import named

_FEWEST = 1 / 1024  # further pairs that join two nodes, where none is seen
_LEAST = 1e-9


def squares(edges: Sequence[PatternEdge], difference: Differences, cardinality: Cardinality) -> Iterator[LargerPart]:
    """Yield the circles of four nodes of which each two are joined by one relationship at most, and no others."""
    between: dict[frozenset[str], list[PatternEdge]] = {}
    near: dict[str, set[str]] = {}
    for edge in edges:
        if edge.ends[0] != edge.ends[1]:
            between.setdefault(frozenset(edge.ends), []).append(edge)
            for end, other in (edge.ends, edge.ends[::-1]):
                near.setdefault(end, set()).add(other)
    for first, last in combinations(sorted(near), 2):
        for middle, again in combinations(sorted(near[first] & near[last]), 2):
            if first > middle or last in near[first] or again in near[middle]:
                continue  # it is found from its least node, or a triangle says more
            sides = [
                between[frozenset(pair)] for pair in ((middle, first), (middle, last), (first, again), (last, again))
            ]
            if all(len(side) == 1 for side in sides):
                names = first, middle, last, again
                yield LargerPart(names, partial(_times, names, [side[0] for side in sides], difference, cardinality))


def _times(
    names: tuple[str, str, str, str],
    sides: Sequence[PatternEdge],
    difference: Differences,
    cardinality: Cardinality,
    rows: float,
) -> float | None:
    first, middle, last, again = names
    kinds = [cardinality.incidence(side, name) for side, name in zip(sides, (middle, middle, first, last), strict=True)]
    apart = "relationships" if difference.edges else ""
    apart = "nodes" if frozenset((first, last)) in difference.vertices else apart
    sample = cardinality.catalog.wedge_sample(named(cardinality.nodes[middle].labels), *kinds[:2], apart=apart)
    if sample is None or not sample.size:
        return None
    differ = frozenset((middle, again)) in difference.vertices or any(
        must_differ(*pair, at, difference, ())
        for pair, at in (((sides[0], sides[2]), first), ((sides[1], sides[3]), last))
    )
    found = cardinality.catalog.joined_again(sample, kinds[2], kinds[3], apart=differ)
    if found is None:
        return None
    shares = prod(cardinality.candidates(name) / max(cardinality.labelled(name), 1.0) for name in names)
    expected = rows * prod(map(cardinality.multiplicity, sides))
    return sample.total * max(found, _FEWEST) * shares / max(expected, _LEAST)
