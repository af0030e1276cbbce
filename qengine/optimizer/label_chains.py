"""How many ways there are along three relationships and more, followed by the label sets that each hop joins.

Degrees tell how two relationships at a node go together, not what lies two hops away: whom relationships of some label
set lead to has others than whom those of another lead to. Where nodes within may have several label sets that counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise

from qengine.optimizer.cardinality import Cardinality
from qengine.optimizer.difference import Differences
from qengine.optimizer.labels import sets_of
from qengine.optimizer.larger_parts import LargerPart
from qengine.optimizer.pattern_edges import PatternEdge
from qengine.optimizer.possible_labels import ways_of
from qengine.optimizer.same_edges import must_differ

_MOST_CHAINS = 512  # from all ends, of any length

_Chain = tuple[tuple[str, ...], tuple[PatternEdge, ...]]


def chains(edges: Sequence[PatternEdge], difference: Differences, cardinality: Cardinality) -> Iterator[LargerPart]:
    """Yield the chains of a pattern that go through nodes of several label sets."""
    if len(cardinality.catalog.label_sets) > 1:
        for names, along in _chains(edges, cardinality):
            yield LargerPart(names, partial(_times, names, along, difference, cardinality))


def _times(
    names: Sequence[str], along: Sequence[PatternEdge], difference: Differences, cardinality: Cardinality, _: float
) -> float:
    """Return how many times as many walks as by each two hops alone there are along a chain, by label sets."""
    catalog, nodes = cardinality.catalog, cardinality.nodes
    ways = [ways_of(edge, catalog, name) for edge, name in zip(along, names, strict=False)]
    inside = [
        way.between(nodes[one].labels, nodes[other].labels, catalog)
        for way, (one, other) in zip(ways, pairwise(names), strict=True)
    ]
    alone = [way.edges * fits for way, fits in zip(ways, inside, strict=True)]
    flow, times = alone[0], 1.0
    for place in range(1, len(along)):
        differ = must_differ(along[place - 1], along[place], names[place], difference, ())
        step = partial(ways[place].onward, ways[place - 1], catalog=catalog, differ=differ)
        pairs = float((step(alone[place - 1]) * inside[place]).sum())
        flow = step(flow) * inside[place]
        if pairs <= 0.0 or not flow.any():
            return 0.0
        times *= (float(alone[place].sum()) if place + 1 < len(along) else float(flow.sum())) / pairs
    return max(times, 0.0)


def _chains(edges: Sequence[PatternEdge], cardinality: Cardinality) -> Iterator[_Chain]:
    """Yield paths of three edges and more within which two neighbours may each have several label sets.

    No other edge joins two of their nodes.
    """
    catalog, nodes = cardinality.catalog, cardinality.nodes
    ends = {end for edge in edges for end in edge.ends}
    several = {name for name in ends if int(sets_of(catalog, nodes[name].labels).sum()) > 1}
    at: dict[str, list[PatternEdge]] = {}
    for edge in edges:
        if edge.ends[0] != edge.ends[1]:
            at.setdefault(edge.ends[0], []).append(edge)
            at.setdefault(edge.ends[1], []).append(edge)
    if not any(edge.ends[0] != edge.ends[1] and several.issuperset(edge.ends) for edge in edges):
        return
    todo: list[_Chain] = [((name,), ()) for name in at]
    for names, along in todo:  # which grows meanwhile
        for edge in at[names[-1]]:
            (end,) = {*edge.ends} - {names[-1]}
            if end in names or sum(end in each.ends for name in names for each in at[name]) != 1:
                continue
            if len(todo) >= _MOST_CHAINS:
                return
            todo.append(((*names, end), (*along, edge)))
            if len(along) > 1 and names[0] < end and any(several.issuperset(pair) for pair in pairwise(names[1:])):
                yield todo[-1]
