"""The levels of a search in another order of vertices, and without the constraints that break symmetries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from qengine.plan.physical import EdgeLevel, Level, Search, Source, VertexLevel

__all__ = ["links", "reordered", "without_order"]


def without_order(search: Search) -> Search:
    """Return the search for all embeddings, where it looks for one of each orbit; it has no seeds.

    Vertices that are ordered by their ids differ, whether or not the pattern says so elsewhere.
    """
    levels = tuple(
        replace(
            level,
            different=tuple(sorted({*level.different, *level.less, *level.greater})),
            less=(),
            greater=(),
        )
        if isinstance(level, VertexLevel)
        else level
        for level in search.levels
    )
    return replace(search, levels=levels, orbits=1, images=())


def links(search: Search) -> dict[str, set[str]]:
    """Return for each vertex of a search the vertices that a relationship joins it with."""
    found: dict[str, set[str]] = {level.name: set() for level in search.levels if isinstance(level, VertexLevel)}
    for level in search.levels:
        if isinstance(level, VertexLevel):
            for source in level.sources:
                other = search.levels[source.level].name
                found[level.name].add(other)
                found[other].add(level.name)
    return found


def reordered(search: Search, order: Sequence[str]) -> Search:
    """Return the search with its vertices bound in another order, each followed by the relationships that it closes.

    The search has no order of ids (``without_order``). Whatever a level says of an earlier one is said by the later of
    the two in the new order.
    """
    old = search.levels
    edges = [k for k, level in enumerate(old) if isinstance(level, EdgeLevel)]
    names = [level.name for level in old]
    sequence: list[int] = []
    for name in order:
        sequence.append(names.index(name))
        sequence += [k for k in edges if k not in sequence and _closed(old[k], sequence)]
    place = {index: position for position, index in enumerate(sequence)}
    return replace(search, levels=tuple(_placed(old, index, place) for index in sequence), emit=())


def _closed(level: Level, bound: list[int]) -> bool:
    assert isinstance(level, EdgeLevel)
    return level.start in bound and level.end in bound


def _placed(old: tuple[Level, ...], index: int, place: dict[int, int]) -> Level:
    """Return a level at its new place, with all that relates it to levels before it there."""
    level, here = old[index], place[index]

    def late(mentioned: set[int]) -> bool:
        return all(k in place for k in mentioned) and max(place[k] for k in mentioned) == here

    pairs_of_differences = {frozenset((k, other)) for k, each in enumerate(old) for other in each.different}
    different = sorted(
        place[other] for pair in pairs_of_differences if index in pair and late(set(pair)) for other in pair - {index}
    )
    conditions = tuple(
        replace(each, left=place[each.left], right=place[each.right])
        for one in old
        for each in one.conditions
        if late({each.left, each.right})
    )
    if isinstance(level, EdgeLevel):
        return replace(
            level,
            start=place[level.start],
            end=place[level.end],
            different=tuple(different),
            conditions=conditions,
        )
    pairs = tuple(
        (place[a], place[b], place[c], place[d])
        for one in old
        if isinstance(one, VertexLevel)
        for a, b, c, d in one.pairs
        if late({a, b, c, d})
    )
    return replace(
        level,
        sources=_sources(old, index, place),
        different=tuple(different),
        pairs=pairs,
        conditions=conditions,
    )


def _sources(old: tuple[Level, ...], index: int, place: dict[int, int]) -> tuple[Source, ...]:
    """Return the neighbour sets of a vertex that earlier vertices give, whichever end named them before."""
    level = old[index]
    assert isinstance(level, VertexLevel)
    found = [
        replace(source, level=place[source.level])
        for source in level.sources
        if source.level in place and place[source.level] < place[index]
    ]
    for k, other in enumerate(old):
        if isinstance(other, VertexLevel) and k in place and place[k] < place[index]:
            found += [
                Source(place[k], source.types, source.direction.reversed())
                for source in other.sources
                if source.level == index
            ]
    return tuple(dict.fromkeys(found))
