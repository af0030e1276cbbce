"""The states that walks along a chain of quantified parts come to, from many starts together, level by level.

A walk is in a *state*: its start, the part that it is in, how often it has repeated it, and its vertex. Level n has the
states of walks of n relationships, with the steps that lead to each: so walks are unwound from their ends
(``selected_walks``), and none is followed that ends elsewhere.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from qengine._frozen import frozen
from qengine.exec.common.columns import BoolArray, IntArray
from qengine.exec.common.operators.repeat_ways import Extension, Ways
from qengine.exec.memory import Holding

_PAGE = 4096
_STEP_BYTES = 64  # of a step, while its level is put in order


@frozen
class Part:
    """A quantified part: what its repetitions are, how many, and where it may end (bool[n] of vertices int64[n])."""

    ways: Ways
    minimum: int
    maximum: int | None
    admits: Callable[[IntArray], BoolArray]

    @property
    def length(self) -> int:
        """Relationships of a repetition."""
        return self.ways.length

    @property
    def counts(self) -> int:
        """How many numbers of repetitions are told apart, of those with which it may go on."""
        return self.minimum + 1 if self.maximum is None else self.maximum


class Shape:
    """The chain's places: one for each part and number of repetitions, the last of which is behind all parts.

    Attributes
    ----------
    part_of
        The part of each place, int64[places]; the number of parts for the last.
    """

    def __init__(self, parts: Sequence[Part], vertices: int) -> None:
        self.parts, self.vertices = parts, vertices
        self.first: list[int] = np.cumsum([0, *(part.counts for part in parts)]).tolist()
        self.places = 1 + self.first[-1]
        counts = [part.counts for part in parts]
        self.part_of = np.repeat(np.arange(len(parts) + 1), [*counts, 1])
        self.longest = max(part.length for part in parts)
        self.stride = self.places * vertices
        """States of one start."""

    @property
    def over(self) -> int:
        """The place of a walk that may end."""
        return int(self.first[-1])

    def behind(self, part: int, count: int, vertices: IntArray) -> Iterator[tuple[int, IntArray]]:
        """Yield the places of walks behind so many repetitions of a part, and which of the vertices are there."""
        there = np.arange(len(vertices))
        while part < len(self.parts) and len(there):
            own = self.parts[part]
            count = count if own.maximum is not None else min(count, own.minimum)
            if own.maximum is None or count < own.maximum:
                yield self.first[part] + count, there
            if count < own.minimum:
                return
            there = there[own.admits(vertices[there])]
            part, count = part + 1, 0
        if len(there):
            yield self.over, there


class _Grown:
    """An int64 array that grows at its end."""

    def __init__(self) -> None:
        self.size, self._room = 0, np.empty(64, np.int64)

    def add(self, values: IntArray) -> None:
        size = self.size + len(values)
        if size > len(self._room):
            self._room = np.concatenate((self._room[: self.size], np.empty(2 * size - self.size, np.int64)))
        self._room[self.size : size] = values
        self.size = size

    @property
    def values(self) -> IntArray:
        return self._room[: self.size]

    @property
    def nbytes(self) -> int:
        return self._room.nbytes


class _Steps(NamedTuple):
    """Steps into states that are given by their keys: the states that they come from, and the ways."""

    keys: IntArray
    origins: IntArray
    ways: IntArray


class Levels:
    """Finds levels. A state's key is ``(start * places + place) * vertices + vertex``.

    Parameters
    ----------
    starts
        The vertex of each start, int64[n].
    wanted
        Of starts and vertices (int64[m] each), whether a walk from the one to the other is asked for.
    every
        Whether a level has all states that so many relationships lead to, not only those that fewer don't.
    single
        Whether one step into each state will do.

    Attributes
    ----------
    keys, level, begin, count
        Of each state found so far, in order of levels: its key, its level, and its steps.
    origins, ways
        Of each step: the state that it comes from, and the way of that one's part.
    open
        The starts that go on, bool[n].
    last
        The first state of the last level.
    """

    def __init__(
        self,
        shape: Shape,
        starts: IntArray,
        wanted: Callable[[IntArray, IntArray], BoolArray],
        holding: Holding,
        *,
        every: bool,
        single: bool,
    ) -> None:
        self.shape, self.starts, self.wanted, self.holding = shape, starts, wanted, holding
        self.every, self.single = every, single
        self.number = self.last = 0
        self.open = np.ones(len(starts), np.bool_)
        self._seen = np.zeros(len(starts) * shape.stride, np.bool_)
        self._columns = {name: _Grown() for name in ("keys", "level", "begin", "count", "origins", "ways")}
        self._coming: defaultdict[int, list[_Steps]] = defaultdict(list)
        none = np.full(len(starts), -1)
        self._come(0, 0, 0, np.arange(len(starts)), starts, none, none)

    @property
    def keys(self) -> IntArray:
        """int64, of each state: its key."""
        return self._columns["keys"].values

    @property
    def level(self) -> IntArray:
        """int64, of each state: its level."""
        return self._columns["level"].values

    @property
    def begin(self) -> IntArray:
        """int64, of each state: its first step."""
        return self._columns["begin"].values

    @property
    def count(self) -> IntArray:
        """int64, of each state: how many steps."""
        return self._columns["count"].values

    @property
    def origins(self) -> IntArray:
        """int64, of each step: the state that it comes from."""
        return self._columns["origins"].values

    @property
    def ways(self) -> IntArray:
        """int64, of each step: the way."""
        return self._columns["ways"].values

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept."""
        touched = min(len(self._seen), _PAGE * self._columns["keys"].size)
        coming = sum(each.nbytes for steps in self._coming.values() for one in steps for each in one)
        ways = sum(part.ways.nbytes for part in self.shape.parts)
        return touched + coming + ways + sum(column.nbytes for column in self._columns.values())

    @property
    def ended(self) -> bool:
        """Whether no step leads on."""
        return not self._coming

    def places(self, states: IntArray) -> IntArray:
        """Return the place of each state."""
        places: IntArray = self.keys[states] // self.shape.vertices % self.shape.places
        return places

    def next(self, least: int) -> IntArray:
        """Find the next level, and return its states that walks of ``least`` relationships or more may end in."""
        number = self.number
        self.number, self.last = number + 1, self._columns["keys"].size
        steps = self._level(self._coming.pop(number, []), may_end=number >= least)
        if not len(steps.keys):
            return np.empty(0, np.int64)
        self.holding.set(self.nbytes + _STEP_BYTES * len(steps.keys))
        if self.single:
            keys, chosen = np.unique(steps.keys, return_index=True)
            begin, count = np.arange(len(keys)), np.ones(len(keys), np.int64)
        else:
            chosen = np.argsort(steps.keys, kind="stable")
            keys, begin, count = np.unique(steps.keys[chosen], return_index=True, return_counts=True)
        if not number:
            count = np.zeros(len(keys), np.int64)
            chosen = chosen[:0]
        self._seen[keys] = True
        added = (keys, np.full(len(keys), number), begin + self._columns["ways"].size, count)
        for name, values in zip(("keys", "level", "begin", "count"), added, strict=True):
            self._columns[name].add(values)
        self._columns["origins"].add(steps.origins[chosen])
        self._columns["ways"].add(steps.ways[chosen])
        places = keys // self.shape.vertices % self.shape.places
        for place in np.unique(places).tolist():
            if place != self.shape.over:
                here = np.flatnonzero(places == place)
                self._follow(number, place, keys[here], here + self.last)
        return np.flatnonzero(places == self.shape.over) + self.last

    def _level(self, coming: list[_Steps], *, may_end: bool) -> _Steps:
        none = np.empty(0, np.int64)
        steps = _Steps(*(np.concatenate(each) for each in zip(*coming, strict=True))) if coming else _Steps(*[none] * 3)
        kept = self.open[steps.keys // self.shape.stride]
        if not self.every:
            kept &= ~self._seen[steps.keys]
        if not may_end:
            kept &= steps.keys // self.shape.vertices % self.shape.places != self.shape.over
        return steps if kept.all() else _Steps(*(each[kept] for each in steps))

    def _follow(self, number: int, place: int, keys: IntArray, states: IntArray) -> None:
        """Note the steps from some states of a place."""
        shape = self.shape
        part = int(shape.part_of[place])
        own = shape.parts[part]
        begin, count = own.ways.of(keys % shape.vertices, 2**62)
        self.holding.set(self.nbytes + _STEP_BYTES * int(count.sum()))
        parents, ways = Extension.every(begin, count)
        vertices = own.ways.nodes[-1][ways]
        starts = keys[parents] // shape.stride
        repetitions = place - shape.first[part] + 1
        self._come(number + own.length, part, repetitions, starts, vertices, states[parents], ways)

    def _come(
        self,
        number: int,
        part: int,
        count: int,
        starts: IntArray,
        vertices: IntArray,
        origins: IntArray,
        ways: IntArray,
    ) -> None:
        shape = self.shape
        for place, there in shape.behind(part, count, vertices):
            if place == shape.over:
                there = there[self.wanted(starts[there], vertices[there])]
            keys = (starts[there] * shape.places + place) * shape.vertices + vertices[there]
            if not self.every:
                new = ~self._seen[keys]
                there, keys = there[new], keys[new]
            if len(keys):
                self._coming[number].append(_Steps(keys, origins[there], ways[there]))
