"""The levels of a search in another order of vertices, and without the constraints that break symmetries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from qengine._frozen import replace
from qengine.plan.physical import ColumnCondition, EdgeLevel, Level, Search, Source, VertexLevel


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


def connected(joined: Mapping[str, set[str]]) -> bool:
    """Tell whether all vertices of ``links`` can be reached from each of them."""
    reached = {next(iter(joined))}
    while more := set().union(*(joined[name] for name in reached)) - reached:
        reached |= more
    return len(reached) == len(joined)


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
    late = _Late(old, {index: position for position, index in enumerate(sequence)})
    return replace(search, levels=tuple(_placed(old, index, late) for index in sequence), emit=())


def _closed(level: Level, bound: list[int]) -> bool:
    assert isinstance(level, EdgeLevel)
    return level.start in bound and level.end in bound


class _Late:
    """What relates levels to each other, by the place of the last of them in a new order; ``place``: of old levels."""

    def __init__(self, old: tuple[Level, ...], place: dict[int, int]) -> None:
        self.place = place
        self.different: dict[int, set[int]] = {}
        self.conditions: dict[int, list[ColumnCondition]] = {}
        self.pairs: dict[int, list[tuple[int, int, int, int]]] = {}
        for k, level in enumerate(old):
            for other in level.different:
                if k in place and other in place:
                    early, late = sorted((place[k], place[other]))
                    self.different.setdefault(late, set()).add(early)
            for each in level.conditions:
                if each.left in place and each.right in place:
                    moved = replace(each, left=place[each.left], right=place[each.right])
                    self.conditions.setdefault(max(moved.left, moved.right), []).append(moved)
            for pair in level.pairs if isinstance(level, VertexLevel) else ():
                if all(index in place for index in pair):
                    a, b, c, d = (place[index] for index in pair)
                    self.pairs.setdefault(max(a, b, c, d), []).append((a, b, c, d))


def _placed(old: tuple[Level, ...], index: int, late: _Late) -> Level:
    """Return a level at its new place, with all that relates it to levels before it there."""
    level, place = old[index], late.place
    here = place[index]
    different = tuple(sorted(late.different.get(here, ())))
    conditions = tuple(late.conditions.get(here, ()))
    if isinstance(level, EdgeLevel):
        return replace(
            level, start=place[level.start], end=place[level.end], different=different, conditions=conditions
        )
    return replace(
        level,
        sources=_sources(old, index, place),
        different=different,
        pairs=tuple(late.pairs.get(here, ())),
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
