"""The shortest walks of a ``Repeat`` between two vertices.

Lengths are tried one after the other. ``exact[k]`` has the vertices from which the end is k repetitions away, if
relationships may repeat: a walk of length n stays in ``exact[n - i]`` after repetition i, so few are begun in vain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

from qengine._frozen import frozen
from qengine.plan.pattern import PathSelector

__all__ = ["Reachable", "Selection", "reachable", "shortest_walks"]

Way = tuple[tuple[int, ...], tuple[int, ...]]
"""One repetition: its relationships, and the vertex behind each."""

Walk = tuple[int, ...]
"""The relationships of a walk."""

Reachable = Mapping[int, Sequence[Way]]
"""The ways from each vertex that is reached from some start."""


@frozen
class Selection:
    """Which walks are wanted: ``trail``: no relationship comes twice; ``most``: as many repetitions, None for any."""

    selector: PathSelector
    minimum: int
    maximum: int | None
    trail: bool
    relationships: int  # of the graph


def reachable(start: int, ways: Callable[[Sequence[int]], Mapping[int, Sequence[Way]]], most: int | None) -> Reachable:
    """Return the ways from all vertices that ``most`` repetitions lead to from a start; None for any number."""
    found: dict[int, Sequence[Way]] = {}
    level = [start]
    while level and (most is None or most > 0):
        known = ways(level)
        found.update((vertex, known[vertex]) for vertex in level)
        level = list(dict.fromkeys(way[1][-1] for vertex in level for way in found[vertex]))
        level = [vertex for vertex in level if vertex not in found]
        most = None if most is None else most - 1
    return found


def shortest_walks(
    start: int, end: int, graph: Reachable, selection: Selection, check: Callable[[], None]
) -> list[Walk]:
    """Return the walks from ``start`` to ``end`` that are selected.

    Parameters
    ----------
    graph
        What ``reachable`` gives for ``start``.
    check
        Raises where the execution must stop.
    """
    before: dict[int, set[int]] = {}
    for vertex, ways in graph.items():
        for way in ways:
            before.setdefault(way[1][-1], set()).add(vertex)
    selector, minimum = selection.selector, selection.minimum
    # The shortest of all meets no vertex between repetitions twice: what lies between could be cut out.
    simple = minimum <= 1 and selector.count == 1
    bound = selection.relationships if selection.trail else minimum + selector.count * (len(before) + 1)
    if simple:
        bound = min(bound, len(before) + 1)
    if selection.maximum is not None:
        bound = min(bound, selection.maximum)
    exact: list[set[int]] = [{end}]
    found: list[Walk] = []
    left = selector.count
    for length in range(bound + 1):
        check()
        if length:
            exact.append({one for vertex in exact[-1] for one in before.get(vertex, ())})
        if not exact[-1]:
            break
        if length < minimum or start not in exact[-1]:
            continue
        these = _of_length(start, length, graph, exact, check, trail=selection.trail, simple=simple)
        more = list(these if selector.groups else islice(these, left))
        found += more
        left -= min(1, len(more)) if selector.groups else len(more)
        if not left:
            break
    return found


def _of_length(
    start: int,
    length: int,
    graph: Reachable,
    exact: Sequence[set[int]],
    check: Callable[[], None],
    *,
    trail: bool,
    simple: bool,
) -> Iterator[Walk]:
    waiting: list[tuple[int, int, Walk, frozenset[int]]] = [(start, length, (), frozenset())]
    while waiting:
        check()
        vertex, left, edges, met = waiting.pop()
        if not left:
            yield edges
            continue
        for taken, vertices in graph.get(vertex, ()):
            end = vertices[-1]
            if end not in exact[left - 1] or (simple and (end in met or (end == start and left > 1))):
                continue
            longer = edges + taken
            if trail and len(set(longer)) < len(longer):
                continue
            waiting.append((end, left - 1, longer, met | {end} if simple else met))
