"""The shortest walks along a chain of quantified parts, between two vertices.

A walk is in a *state*: the part that it is in, how often it has repeated it, and its vertex. Lengths are tried one
after the other. A walk of length n is in a state of the start's level i after i relationships, and n - i of them away
from the end: so few are begun in vain.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from itertools import islice
from typing import NamedTuple

from qengine._frozen import frozen
from qengine.plan.pattern import PathMode, PathSelector

__all__ = ["Levels", "Part", "Selection", "Taken", "shortest_walks"]

Way = tuple[tuple[int, ...], tuple[int, ...]]
"""One repetition: its relationships, and the vertex behind each."""

State = tuple[int, int, int]
"""Part, repetitions of it (up to those that matter), vertex."""


@frozen
class Part:
    """A quantified part: what its repetitions are, how many, and where it may end."""

    ways: Callable[[Sequence[int]], Mapping[int, Sequence[Way]]]
    minimum: int
    maximum: int | None
    admits: Callable[[int], bool]
    length: int


@frozen
class Selection:
    """Which walks are wanted: of at least ``least`` relationships and, where ``most`` isn't None, at most so many."""

    selector: PathSelector
    mode: PathMode
    least: int
    most: int | None


class Taken(NamedTuple):
    """A walk: its relationships, and behind how many of them each part but the last ends."""

    edges: tuple[int, ...]
    bounds: tuple[int, ...]


class _Step(NamedTuple):
    edges: tuple[int, ...]
    vertices: tuple[int, ...]
    states: tuple[State, ...]


class Levels:
    """The states that so many relationships lead to from a start, found level by level when asked for."""

    def __init__(self, start: int, parts: Sequence[Part]) -> None:
        self.start, self.parts = start, parts
        self.first = self._closed(0, 0, start)
        self.seen: set[State] = set()
        self.longest = max(part.length for part in parts)
        self._steps: dict[State, list[_Step]] = {}
        self._levels: list[Set[State]] = []
        self._coming: defaultdict[int, set[State]] = defaultdict(set, {0: set(self.first)})
        self._longest_walks: dict[PathMode, int] = {}
        self._new = 0  # the last level with a state that no earlier one has

    @property
    def closed(self) -> bool:
        """Whether no level will have another state."""
        return len(self._levels) > self._new + self.longest

    def final(self, vertex: int) -> State:
        """Return the state of a walk that ends on a vertex."""
        return len(self.parts), 0, vertex

    def __getitem__(self, number: int) -> Set[State]:
        while len(self._levels) <= number:
            at = len(self._levels)
            level = self._coming.pop(at, set())
            if not level <= self.seen:
                self._new = at
                self.seen |= level
            self._find(level)
            for state in level:
                for edges, _, states in self._steps[state]:
                    self._coming[at + len(edges)].update(states)
            self._levels.append(level)
        return self._levels[number]

    def steps(self, state: State) -> list[_Step]:
        """Return the steps from a state of a level that is known."""
        return self._steps[state]

    def longest_walk(self, mode: PathMode) -> int | None:
        """Return how many relationships walks may have once all states are known; None: any number."""
        if mode is PathMode.WALK:
            return None
        if mode not in self._longest_walks:
            ways = [step for steps in self._steps.values() for step in steps]
            place = 0 if mode is PathMode.TRAIL else 1
            self._longest_walks[mode] = len({element for way in ways for element in way[place]})
        return self._longest_walks[mode]

    def ends(self, most: int | None) -> Set[int]:
        """Return the vertices that walks of up to so many relationships end on; None: of any number."""
        number = 0
        while not self.closed and (most is None or number <= most):
            _ = self[number]
            number += 1
        return {vertex for part, _, vertex in self.seen if part == len(self.parts)}

    def _find(self, level: Set[State]) -> None:
        new = [state for state in level if state not in self._steps]
        for number, part in enumerate(self.parts):
            own = [state for state in new if state[0] == number]
            going = [state for state in own if part.maximum is None or state[1] < part.maximum]
            ways = part.ways([vertex for _, _, vertex in going]) if going else {}
            self._steps.update((state, []) for state in own)
            for state in going:
                for edges, vertices in ways[state[2]]:
                    states = self._closed(number, state[1] + 1, vertices[-1])
                    if states:
                        self._steps[state].append(_Step(edges, vertices, states))
        self._steps.update((state, []) for state in new if state[0] == len(self.parts))

    def _closed(self, number: int, count: int, vertex: int) -> tuple[State, ...]:
        """Return the states of a walk behind so many repetitions of a part: in it, or in those behind it already."""
        found: list[State] = []
        while number < len(self.parts):
            part = self.parts[number]
            count = count if part.maximum is not None else min(count, part.minimum)
            if part.maximum is None or count < part.maximum:
                found.append((number, count, vertex))
            if count < part.minimum or not part.admits(vertex):
                return tuple(found)
            number, count = number + 1, 0
        found.append((number, 0, vertex))
        return tuple(found)


def shortest_walks(levels: Levels, end: int, selection: Selection, check: Callable[[], None]) -> list[Taken]:
    """Return the walks from the start of ``levels`` to ``end`` that are selected.

    Parameters
    ----------
    check
        Raises where the execution must stop.
    """
    selector, final = selection.selector, levels.final(end)
    found: list[Taken] = []
    left, length, missed = selector.count, 0, 0
    while left and (selection.most is None or length <= selection.most):
        check()
        level = levels[length]
        if levels.closed and (final not in levels.seen or missed > len(levels.seen) * levels.longest):
            break  # a longer walk has a cycle, without which it is one of those lengths
        if levels.closed and (most := levels.longest_walk(selection.mode)) is not None and length > most:
            break
        missed = 0 if final in level else missed + 1
        if length >= selection.least and final in level:
            these = _of_length(levels, final, length, selection, check)
            more = list(these if selector.groups else islice(these, left))
            found += more
            left -= min(1, len(more)) if selector.groups else len(more)
        length += 1
    return found


_Waiting = tuple[State, int, Taken, tuple[int, ...], tuple[State, ...]]
"""A walk on its way: its state, relationships left, those taken, its vertices, and the states that it was in."""


def _of_length(
    levels: Levels, final: State, length: int, selection: Selection, check: Callable[[], None]
) -> Iterator[Taken]:
    exact: list[Set[State]] = [{final}]  # by how many relationships the end is away
    for away in range(1, length + 1):
        check()
        exact.append(
            {
                state
                for state in levels[length - away]
                for edges, _, states in levels.steps(state)
                if len(edges) <= away and not exact[away - len(edges)].isdisjoint(states)
            }
        )
    once = selection.selector.count == 1  # the shortest of all is in no state twice: what lies between could be cut out
    begun: Iterator[_Waiting] = (
        (state, length, Taken((), (0,) * state[0]), (levels.start,), (state,)) for state in levels.first
    )
    waiting = [each for each in begun if each[0] in exact[length]]
    while waiting:
        check()
        state, left, taken, met, states = waiting.pop()
        if not left:
            yield Taken(taken.edges, taken.bounds[:-1])
            continue
        for edges, vertices, following in levels.steps(state):
            if len(edges) > left:
                continue
            longer = taken.edges + edges
            passed = met + vertices
            if _repeats(longer, passed, selection.mode, last=len(edges) == left):
                continue
            for new in following:
                if new in exact[left - len(edges)] and not (once and new in states):
                    bounds = taken.bounds + (len(longer),) * (new[0] - state[0])
                    waiting.append((new, left - len(edges), Taken(longer, bounds), passed, (*states, new)))


def _repeats(edges: tuple[int, ...], met: tuple[int, ...], mode: PathMode, *, last: bool) -> bool:
    """Tell whether a walk repeats what its mode forbids; ``last``: it goes no further."""
    if mode is PathMode.WALK:
        return False
    if mode is PathMode.SIMPLE and last:
        met = met[1:] if met[0] == met[-1] else met
    twice = mode is not PathMode.TRAIL and len(set(met)) < len(met)
    return twice or len(set(edges)) < len(edges)
