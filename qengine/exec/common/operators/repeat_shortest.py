"""The shortest walks of a ``Repeat`` between two vertices.

Lengths are tried one after the other. A walk of length n is at a vertex of the start's level i after repetition i, and
n - i repetitions away from the end: so few are begun in vain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from itertools import islice

from qengine._frozen import frozen
from qengine.plan.pattern import PathSelector

__all__ = ["Levels", "Selection", "shortest_walks"]

Way = tuple[tuple[int, ...], tuple[int, ...]]
"""One repetition: its relationships, and the vertex behind each."""

Walk = tuple[int, ...]
"""The relationships of a walk."""


@frozen
class Selection:
    """Which walks are wanted: ``trail``: no relationship comes twice. ``relationships``, ``vertices``: of the graph."""

    selector: PathSelector
    minimum: int
    maximum: int | None
    trail: bool
    relationships: int
    vertices: int


class Levels:
    """The vertices that exactly so many repetitions lead to from a start, found level by level when asked for.

    ``ways``: returns the ways from vertices.
    """

    def __init__(self, start: int, ways: Callable[[Sequence[int]], Mapping[int, Sequence[Way]]]) -> None:
        self.start = start
        self.seen = {start}
        self.closed = False  # no level will have another vertex
        self.known: dict[int, Sequence[Way]] = {}
        self._ways = ways
        self._levels: list[Set[int]] = [{start}]

    def __getitem__(self, number: int) -> Set[int]:
        while len(self._levels) <= number:
            new = [vertex for vertex in self._levels[-1] if vertex not in self.known]
            if new:
                found = self._ways(new)
                self.known.update((vertex, found[vertex]) for vertex in new)
            level = {way[1][-1] for vertex in self._levels[-1] for way in self.known[vertex]}
            self.closed = self.closed or level <= self.seen
            self.seen |= level
            self._levels.append(level)
        return self._levels[number]

    def within(self, most: int | None) -> Set[int]:
        """Return all vertices that up to so many repetitions lead to, the start with them; None: any number."""
        number = 0
        while not self.closed and (most is None or number < most):
            number += 1
            _ = self[number]
        return self.seen


def shortest_walks(levels: Levels, end: int, selection: Selection, check: Callable[[], None]) -> list[Walk]:
    """Return the walks from the start of ``levels`` to ``end`` that are selected.

    Parameters
    ----------
    check
        Raises where the execution must stop.
    """
    selector, minimum = selection.selector, selection.minimum
    # The shortest of all meets no vertex between repetitions twice: what lies between could be cut out.
    simple = minimum <= 1 and selector.count == 1
    bound = selection.relationships if selection.trail else minimum + selector.count * (selection.vertices + 1)
    bound = bound if selection.maximum is None else min(bound, selection.maximum)
    found: list[Walk] = []
    left = selector.count
    length = 0
    while length <= bound and left:
        check()
        level = levels[length]
        if not level or (levels.closed and (end not in levels.seen or (simple and length > len(levels.seen)))):
            break
        if length >= minimum and end in level:
            these = _of_length(levels, end, length, check, trail=selection.trail, simple=simple)
            more = list(these if selector.groups else islice(these, left))
            found += more
            left -= min(1, len(more)) if selector.groups else len(more)
        length += 1
    return found


def _of_length(
    levels: Levels, end: int, length: int, check: Callable[[], None], *, trail: bool, simple: bool
) -> Iterator[Walk]:
    known, start = levels.known, levels.start
    exact: list[Set[int]] = [{end}]  # by how many repetitions the end is away
    for away in range(1, length + 1):
        check()
        nearer = exact[-1]
        exact.append({u for u in levels[length - away] if any(way[1][-1] in nearer for way in known[u])})
    waiting: list[tuple[int, int, Walk, frozenset[int]]] = [(start, length, (), frozenset())]
    while waiting:
        check()
        vertex, left, edges, met = waiting.pop()
        if not left:
            yield edges
            continue
        for taken, vertices in known[vertex]:
            other = vertices[-1]
            if other not in exact[left - 1] or (simple and (other in met or (other == start and left > 1))):
                continue
            longer = edges + taken
            if trail and len(set(longer)) < len(longer):
                continue
            waiting.append((other, left - 1, longer, met | {other} if simple else met))
