"""Unwinds walks from the states that they end in, many together, as columns.

A walk is put together from its end. So each is a walk of the chain, and only what its mode forbids, or a condition, may
still be against it. Where only some are wanted between each two ends, these are unwound first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from qengine.exec.common.columns import BoolArray, IntArray
from qengine.exec.common.operators.repeat_ways import Extension
from qengine.exec.common.operators.selected_states import Levels
from qengine.exec.memory import MemoryAccount
from qengine.plan.pattern import PathMode

_CELLS = 1 << 19  # numbers in the columns of walks that are made longer at a time
_OF_NODES = (PathMode.ACYCLIC, PathMode.SIMPLE)


class Found(NamedTuple):
    """Walks: the end of each, as a place among those asked for (int64[n]); its relationships, one after the other
    (``offsets`` int64[n + 1]); behind how many of them each part but the last ends (int64[n, parts - 1]).
    """

    ends: IntArray
    offsets: IntArray
    edges: IntArray
    bounds: IntArray

    @property
    def count(self) -> int:  # type: ignore[override]
        """How many they are."""
        return len(self.ends)

    @property
    def nbytes(self) -> int:
        """Bytes of the columns."""
        return sum(each.nbytes for each in self)

    def where(self, kept: BoolArray) -> Found:
        """Return those for which ``kept`` is true."""
        return self if kept.all() else self.take(np.flatnonzero(kept))

    def take(self, which: IntArray) -> Found:
        """Return some of them."""
        lengths = np.diff(self.offsets)[which]
        _, places = Extension.every(self.offsets[which], lengths)
        return Found(self.ends[which], _offsets(lengths), self.edges[places], self.bounds[which])

    @staticmethod
    def together(parts: list[Found]) -> Found:
        """Return the walks of several parts, at least one."""
        if len(parts) == 1:
            return parts[0]
        ends, edges, bounds = (np.concatenate([getattr(each, name) for each in parts]) for name in _FIELDS)
        return Found(ends, _offsets(np.concatenate([np.diff(each.offsets) for each in parts])), edges, bounds)


Accepts = Callable[[IntArray, IntArray, Found], BoolArray]
"""Tells which walks satisfy a condition, given the vertices that each starts from and ends on (int64[n])."""

_FIELDS = ("ends", "edges", "bounds")


class _Suffixes(NamedTuple):
    """Walks' last parts: ``ends`` in ascending order, and the state that each has come back to.

    ``edges`` (int64[n, m]): relationships, at their places from the start; ``met`` (int64[n, m + 1]): vertices;
    ``keys``: the states' keys. -1 stands where none is yet. Of ``met`` and ``keys``, what nobody
    needs has no columns.
    """

    ends: IntArray
    states: IntArray
    edges: IntArray
    met: IntArray
    keys: IntArray
    bounds: IntArray

    def take(self, which: IntArray | slice) -> _Suffixes:
        return _Suffixes(*(each[which] for each in self))

    def where(self, kept: BoolArray) -> _Suffixes:
        return self if kept.all() else self.take(np.flatnonzero(kept))

    @property
    def nbytes(self) -> int:
        return sum(each.nbytes for each in self)


class Unwinding:
    """Unwinds the walks that end in some states of ``levels``.

    Parameters
    ----------
    mode
        What they must not repeat.
    once
        Whether a walk that is twice in one state is passed over: it could be cut shorter.
    accepts
        Tells which walks are wanted at all; None: each.
    memory
        The account of what is on its way.

    Attributes
    ----------
    counts
        How many walks were found for each state.
    lowest
        The least level that a walk to each state was followed back to.
    """

    def __init__(
        self,
        levels: Levels,
        states: IntArray,
        mode: PathMode,
        *,
        once: bool,
        accepts: Accepts | None,
        memory: MemoryAccount,
    ) -> None:
        self.levels, self.states, self.mode, self.accepts, self.memory = levels, states, mode, accepts, memory
        self.lengths = levels.level[states]
        self.counts = np.zeros(len(states), np.int64)
        self.lowest = self.lengths.copy()
        self.once = once and not levels.single
        self._late = levels.single  # what repeats something is told from whole walks

    def run(self, limits: IntArray | None) -> Iterator[Found]:
        """Yield the walks to each state, with ``limits`` (int64[states]) at most so many; some at a time."""
        begun = self._begun()
        waiting, held = [begun], begun.nbytes
        with self.memory.holding("SelectPaths") as holding:
            while waiting:
                self.memory.check()
                holding.set(held)
                some = waiting.pop()
                held -= some.nbytes
                if limits is not None:
                    some = some.where(self.counts[some.ends] < limits[some.ends])
                over = self.levels.level[some.states] == 0
                if over.any():
                    found = self._whole(some.where(over), limits)
                    if found.count:
                        yield found
                    some = some.where(~over)
                if not len(some.ends):
                    continue
                for each in self._longer(some, limits):
                    if len(each.ends):
                        waiting.append(each)
                        held += each.nbytes

    def _begun(self) -> _Suffixes:
        levels, shape, count = self.levels, self.levels.shape, len(self.states)
        width = int(self.lengths.max(initial=0))
        edges = np.full((count, width), -1)
        met = np.full((count, width + 1 if self.mode in _OF_NODES else 0), -1)
        keys = np.full((count, width + 1 if self.once else 0), -1)
        bounds = np.zeros((count, len(shape.parts) - 1), np.int64)
        rows = np.arange(count)
        if self.mode in _OF_NODES:
            met[rows, self.lengths] = levels.keys[self.states] % shape.vertices
        return _Suffixes(rows, self.states, edges, met, keys, bounds)

    def _longer(self, some: _Suffixes, limits: IntArray | None) -> Iterator[_Suffixes]:
        """Yield suffixes that are a step longer, those to be followed first last, and before them what is left over."""
        levels = self.levels
        counts = levels.count[some.states]
        fitting = max(1, int(np.searchsorted(np.cumsum(counts), _CELLS // (8 + some.edges.shape[1]), side="right")))
        if fitting < len(counts):
            yield some.take(slice(fitting, None))
            some, counts = some.take(slice(0, fitting)), counts[:fitting]
        longer = self._stepped(some, counts)
        np.minimum.at(self.lowest, longer.ends, levels.level[longer.states])
        if limits is not None and len(longer.ends):
            ranks = np.arange(len(longer.ends)) - np.searchsorted(longer.ends, longer.ends)
            first = ranks < (limits - self.counts)[longer.ends]
            if not first.all():
                yield longer.where(~first)
                longer = longer.where(first)
        yield longer

    def _stepped(self, some: _Suffixes, counts: IntArray) -> _Suffixes:
        levels, shape = self.levels, self.levels.shape
        behind = some.states
        steps = levels.begin[behind]
        if not (counts == 1).all():
            parents, steps = Extension.every(steps, counts)
            some, behind = some.take(parents), behind[parents]
        states, ways = levels.origins[steps], levels.ways[steps]
        parts = shape.part_of[levels.places(states)]
        at = levels.level[states]
        kept = np.ones(len(states), np.bool_)
        for number in np.unique(parts).tolist():
            rows = np.flatnonzero(parts == number)
            own = shape.parts[number].ways
            self._place(some, rows, at[rows], own.edges[:, ways[rows]], kept)
            if some.met.shape[1]:
                between = own.nodes[:-1, ways[rows]]
                nodes = np.concatenate(((levels.keys[states[rows]] % shape.vertices)[None, :], between))
                self._meet(some, rows, at[rows], nodes, kept)
        if some.keys.shape[1]:
            keys = levels.keys[states]
            kept &= (some.keys != keys[:, None]).all(axis=1)
            some.keys[np.arange(len(keys)), at] = keys
        following = shape.part_of[levels.places(behind)]
        for number in range(some.bounds.shape[1]):
            passed = np.flatnonzero((parts <= number) & (following > number))
            some.bounds[passed, number] = levels.level[behind[passed]]
        return some._replace(states=states).where(kept)

    def _place(self, some: _Suffixes, rows: IntArray, at: IntArray, edges: IntArray, kept: BoolArray) -> None:
        """Put relationships (int64[n, rows]) at their places; note in ``kept`` what has one of them twice."""
        if self.mode is not PathMode.WALK and not self._late:
            there = some.edges[rows]
            for new in edges:
                kept[rows] &= (there != new[:, None]).all(axis=1)
        for place, new in enumerate(edges):
            some.edges[rows, at + place] = new

    def _meet(self, some: _Suffixes, rows: IntArray, at: IntArray, nodes: IntArray, kept: BoolArray) -> None:
        """Put vertices there in the same way; of a simple walk the first may be the last."""
        if not self._late:
            there = some.met[rows]
            ends = self.lengths[some.ends[rows]]
            for place, new in enumerate(nodes):
                same = there == new[:, None]
                if self.mode is PathMode.SIMPLE and not place:
                    first = np.flatnonzero(at == 0)
                    same[first, ends[first]] = False
                kept[rows] &= ~same.any(axis=1)
        for place, new in enumerate(nodes):
            some.met[rows, at + place] = new

    def _whole(self, some: _Suffixes, limits: IntArray | None) -> Found:
        """Return the walks that are whole, as many as are wanted."""
        if self._late:
            some = some.where(~self._repeats(some))
        lengths = self.lengths[some.ends]
        inside = np.arange(some.edges.shape[1]) < lengths[:, None]
        found = Found(some.ends, _offsets(lengths), some.edges[inside], some.bounds)
        if self.accepts is not None and found.count:
            keys, shape = self.levels.keys[self.states[found.ends]], self.levels.shape
            starts = self.levels.starts[keys // shape.stride]
            found = found.where(self.accepts(starts, keys % shape.vertices, found))
        if limits is not None:
            ranks = np.arange(found.count) - np.searchsorted(found.ends, found.ends)
            found = found.where(ranks < (limits - self.counts)[found.ends])
        self.counts += np.bincount(found.ends, minlength=len(self.counts))
        return found

    def _repeats(self, some: _Suffixes) -> BoolArray:
        if self.mode is PathMode.WALK:
            return np.zeros(len(some.ends), np.bool_)
        twice = _twice(some.edges)
        if some.met.shape[1]:
            met = some.met
            if self.mode is PathMode.SIMPLE:
                ends = self.lengths[some.ends]
                rows = np.arange(len(met))
                closing = np.flatnonzero((met[rows, ends] == met[:, 0]) & (ends > 0))
                met[closing, 0] = -1
            twice |= _twice(met)
        return twice


def _twice(rows: IntArray) -> BoolArray:
    """Tell which rows have a number twice; -1 doesn't count."""
    ordered = np.sort(rows, axis=1)
    return np.asarray(((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any(axis=1))


def _offsets(lengths: IntArray) -> IntArray:
    return np.concatenate(([0], np.cumsum(lengths)))
