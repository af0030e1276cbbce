"""What statistics say of a search: a certain upper bound of its count, and the size of its candidate graph."""

from __future__ import annotations

from qengine.catalog.view import CatalogView, RelationshipTypeInfo
from qengine.exec.view import ExecView
from qengine.plan.pattern import Direction, certain_label
from qengine.plan.physical import EdgeLevel, Search, Source, VertexLevel

__all__ = ["candidate_entries", "multiplicity", "upper_bound"]


def upper_bound(store: ExecView, search: Search) -> float:
    """Return a number that the embeddings of ``search``, times its orbits, don't exceed.

    ``store``: a ``GraphStore``. The bound is |C(u)| of levels without a source, times the least of |C(u)| and the
    sources' largest degrees of the others (after Cai et al., SIGMOD 2019, without sketches).
    """
    bound = float(search.orbits) * multiplicity(store, search)
    for level in search.levels:
        if isinstance(level, VertexLevel):
            candidates = sum(int(end) - int(begin) for begin, end in store.label_ranges(level.labels))
            degrees = [_largest_degree(store, search, level, source) for source in level.sources]
            bound *= min([candidates, *degrees])
    return bound


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
            product *= _parallel(store, level)
    return product


def _largest_degree(store: CatalogView, search: Search, level: VertexLevel, source: Source) -> int:
    start, end = _ends(search, level, source)
    total = 0
    for info in _types(store, source.types):
        for way in _ways(info, source.direction):
            if way is Direction.OUT:
                total += store.edge_statistics(start, info.name, end).max_out
            else:
                total += store.edge_statistics(end, info.name, start).max_in
    return total


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


def _parallel(store: CatalogView, level: EdgeLevel) -> int:
    """Return how many relationships of the level two vertices can have at most."""
    total = 0
    for info in _types(store, level.types):
        ways = 2 if not info.undirected and level.direction is Direction.BOTH else 1
        total += ways * (store.edge_statistics(None, info.name, None).max_out if info.parallel else 1)
    return total


def _types(store: CatalogView, names: tuple[str, ...]) -> list[RelationshipTypeInfo]:
    found = [store.relationship_type(name) for name in names or store.relationship_types]
    return [info for info in found if info is not None]
