"""What statistics say of a search: a certain upper bound of its count, and the size of its candidate graph."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from math import inf, prod

from qengine.catalog.view import CatalogView, RelationshipTypeInfo
from qengine.estimate.norms import Norms, Reader, Relation, parallel
from qengine.estimate.semijoins import relations
from qengine.exec.common.resolve import ResolvedSearch
from qengine.exec.view import ExecView
from qengine.plan.pattern import Direction, certain_label
from qengine.plan.physical import EdgeLevel, Search, Source, VertexLevel

MOST_LOOKED_UP = 1 << 16  # vertices or relationships
_MOST_VERTICES = 7  # of a pattern whose sets are all bounded
_MOST_ARMS = 4  # relationships of one vertex of which three are taken together


def upper_bound(
    store: ExecView, search: Search, plan: ResolvedSearch | None = None, most: int = MOST_LOOKED_UP
) -> float:
    """Return a number that the embeddings of ``search``, times its orbits, don't exceed.

    Parameters
    ----------
    store
        A ``GraphStore``.
    plan
        What ``search`` was resolved to: its predicates then count, where they admit up to ``most`` vertices or
        relationships.

    Constraints on the order of ids are left out, so that all orbits' embeddings are bounded.
    """
    return multiplicity(store, search) * bound_of_joins(*relations(Reader(store, search, plan, most)))


def bound_of_joins(sizes: Mapping[int, float], joined: Sequence[Relation]) -> float:
    """Return how many embeddings there are at most of vertices, each of so many candidates, that relations join.

    A bound of a part is the number of its relationships; of relationships that share a vertex by Hölder's inequality
    the product of their degrees' norms; what is bound next multiplies by the greatest degree, or by how many vertices
    there are. The least over all ways to put a pattern together from such parts is found set by set.
    """
    if len(sizes) > _MOST_VERTICES:
        return _in_order(sizes, joined)
    every = (1 << len(sizes)) - 1
    return _of_sets(sizes, joined, range(1, every + 1))[every]


def upper_bounds(store: ExecView, search: Search, parts: Collection[frozenset[str]]) -> dict[frozenset[str], float]:
    """Return what the embeddings of each connected part of ``search`` don't exceed, by the names of its nodes.

    ``parts``: all connected ones. Of patterns of more than seven vertices only they are put together from each other.
    """
    sizes, joined = relations(Reader(store, search, None, 0))
    places = {search.levels[vertex].name: place for place, vertex in enumerate(sorted(sizes))}
    masks = {part: sum(1 << places[name] for name in part) for part in parts}
    whole = len(sizes) <= _MOST_VERTICES
    best = _of_sets(sizes, joined, range(1, 1 << len(sizes)) if whole else sorted(masks.values()))
    names = [level.name for level in search.levels]
    edges = [
        (names[level.start], names[level.end], parallel(store, level.types, level.direction))
        for level in search.levels
        if isinstance(level, EdgeLevel)
    ]
    return {
        part: best[mask] * prod(times for start, end, times in edges if start in part and end in part)
        for part, mask in masks.items()
    }


def _in_order(sizes: Mapping[int, float], joined: Sequence[Relation]) -> float:
    """Return the product of each level's choices, in the order of the levels."""
    bound = 1.0
    for vertex, size in sizes.items():
        bound *= min([size, *(each.there.most for each in joined if each.other == vertex and each.one < vertex)])
    return bound


def _of_sets(sizes: Mapping[int, float], joined: Sequence[Relation], sets: Iterable[int]) -> dict[int, float]:
    """Return the least bound of sets of vertices, subsets first, put together of each other and of single parts.

    A set has a bit for each vertex, by the vertices' order.
    """
    bit = {vertex: 1 << place for place, vertex in enumerate(sorted(sizes))}
    parts: dict[int, float] = {}
    greatest: dict[int, list[tuple[int, float]]] = {}  # by vertex: from where, and how many at most

    def put(part: int, bound: float) -> None:
        parts[part] = min(parts.get(part, bound), bound)

    around: dict[int, list[tuple[int, Norms]]] = {}
    for each in joined:
        one, other = bit[each.one], bit[each.other]
        put(one | other, min(each.there.edges, each.back.edges))
        greatest.setdefault(other, []).append((one, each.there.most))
        greatest.setdefault(one, []).append((other, each.back.most))
        around.setdefault(one, []).append((other, each.there))
        around.setdefault(other, []).append((one, each.back))
    for center, arms in around.items():
        for (a, first), (b, second) in combinations(arms, 2):
            if a != b:
                put(center | a | b, (first.square * second.square) ** 0.5)
        for three in combinations(arms[:_MOST_ARMS], 3):
            if len({arm for arm, _ in three}) == 3:
                put(center | three[0][0] | three[1][0] | three[2][0], prod(arm.cube for _, arm in three) ** (1 / 3))
    for vertex, size in sizes.items():
        put(bit[vertex], size)
    best = {0: 1.0}
    for part in sets:
        bound = parts.get(part, inf)
        for own, size in parts.items():
            if own & part == own and own != part:
                bound = min(bound, best.get(part & ~own, inf) * size)
        for single in bit.values():
            if part & single and (rest := best.get(part ^ single, inf)) < inf:
                steps = [most for origin, most in greatest.get(single, ()) if origin & part]
                bound = min(bound, rest * min(steps, default=inf))
        best[part] = bound
    return best


def candidate_entries(store: CatalogView, search: Search) -> int:
    """Return how many entries the lists of a candidate graph would have before predicates remove any."""
    total = 0
    for level in search.levels:
        if not isinstance(level, VertexLevel):
            continue
        for source in level.sources:
            start, end = _ends(search, level, source)
            for info in _types(store, source.types):
                for way in _ways(info, source.direction):
                    between = (start, info.name, end) if way is Direction.OUT else (end, info.name, start)
                    total += store.edge_statistics(*between).edges
    return total


def multiplicity(store: CatalogView, search: Search) -> float:
    """Return how often at most an embedding of the vertex levels counts for its relationships."""
    product = 1.0
    for level in search.levels:
        if isinstance(level, EdgeLevel):
            product *= parallel(store, level.types, level.direction)
    return product


def _ends(search: Search, level: VertexLevel, source: Source) -> tuple[str | None, str | None]:
    """Return a label of the source's vertices, and one of their neighbours."""
    origin = search.levels[source.level]
    assert isinstance(origin, VertexLevel)
    return certain_label(origin.labels), certain_label(level.labels)


def _ways(info: RelationshipTypeInfo, direction: Direction) -> tuple[Direction, ...]:
    """Return the directions that add up to one; statistics of undirected types count both ways."""
    if info.undirected:
        return (Direction.OUT,)
    return (Direction.OUT, Direction.IN) if direction is Direction.BOTH else (direction,)


def _types(store: CatalogView, names: tuple[str, ...]) -> list[RelationshipTypeInfo]:
    found = [store.relationship_type(name) for name in names or store.relationship_types]
    return [info for info in found if info is not None]
