"""Selected walks length by length: what is wanted besides a first shortest walk, or in its place.

Levels have all states of their lengths. As they are made of those before alone, they come again after a while: then the
walks of a length end like those a *period* before. So a pair of ends has no more walks once those of a period's
lengths were all found to repeat something before they came back to the levels of the first period.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from qengine._frozen import frozen
from qengine.exec.common.columns import BoolArray, IntArray
from qengine.exec.common.operators.selected_states import Levels, Shape
from qengine.exec.common.operators.selected_walks import Accepts, Found, Unwinding
from qengine.exec.memory import Holding, MemoryAccount
from qengine.plan.pattern import PathMode, PathSelector


@frozen
class Selection:
    """Which walks are wanted: of at least ``least`` relationships and, where ``most`` isn't None, at most so many.

    ``accepts``: tells those to select from; None: each is.
    """

    selector: PathSelector
    mode: PathMode
    least: int
    most: int | None
    accepts: Accepts | None

    @property
    def shortest(self) -> bool:
        """Whether one walk or length is wanted, and none is too short to count that could be made longer."""
        return self.selector.count == 1 and self.least <= 1


class Lengths:
    """Tries lengths one after the other, for some starts together."""

    def __init__(self, shape: Shape, selection: Selection, memory: MemoryAccount, holding: Holding) -> None:
        self.shape, self.selection, self.memory, self.holding = shape, selection, memory, holding

    def of(
        self,
        starts: IntArray,
        wanted: Callable[[IntArray, IntArray], BoolArray],
        pairs: IntArray | None,
    ) -> Iterator[tuple[Found, Levels, IntArray]]:
        """Yield the selected walks: their ends are places in some states of the levels.

        Parameters
        ----------
        starts, wanted
            As for ``Levels``.
        pairs
            What is wanted, as ``start * vertices + vertex`` in ascending order; None: that isn't known beforehand.
        """
        selection, size = self.selection, self.shape.vertices
        groups, count = selection.selector.groups, selection.selector.count
        levels = Levels(self.shape, starts, wanted, self.holding, every=True, single=False)
        periods = _Periods(levels, len(starts))
        left = np.full(len(starts) * size, count)
        alive = np.full(len(starts) * size, -1)  # the last length that more may be hoped from
        while not levels.ended and (selection.most is None or levels.number <= selection.most):
            self.memory.check()
            number = levels.number
            ends = levels.next(selection.least)
            periods.look(number)
            keys = levels.keys[ends]
            places = keys // self.shape.stride * size + keys % size
            ends, places = ends[left[places] > 0], places[left[places] > 0]
            unwinding = Unwinding(
                levels,
                ends,
                selection.mode,
                once=count == 1 and selection.accepts is None,
                accepts=selection.accepts,
                memory=self.memory,
            )
            for found in unwinding.run(None if groups else left[places]):
                yield found, levels, ends
            left[places] -= np.minimum(unwinding.counts, 1) if groups else unwinding.counts
            beyond = unwinding.lowest - self.shape.longest < periods.since[places // size]
            hopeful = (unwinding.counts > 0) | beyond | (periods.of[places // size] == 0)
            alive[places[hopeful]] = number
            if pairs is not None:
                open = np.bincount(pairs[left[pairs] > 0] // size, minlength=len(starts)) > 0
                levels.open &= open
            for start in np.flatnonzero(levels.open & (periods.of > 0)).tolist():
                own = slice(start * size, (start + 1) * size)
                last = np.maximum(alive[own], periods.known[start])
                levels.open[start] = bool(
                    ((left[own] > 0) & (alive[own] >= 0) & (number - last < periods.of[start])).any()
                )
            if not levels.open.any():
                break


class _Periods:
    """After how many levels those of each start come again.

    Attributes
    ----------
    of, since, known
        For each start (int64[n]) that number, 0 where it isn't known, the first level of which it is true, and the
        level at which that was seen.
    """

    def __init__(self, levels: Levels, starts: int) -> None:
        self.levels = levels
        self.of, self.since, self.known = (np.zeros(starts, np.int64) for _ in range(3))
        self._last = np.zeros((levels.shape.longest, starts), np.uint64)  # of the last levels, a hash each
        self._met: list[dict[bytes, int]] = [{} for _ in range(starts)]

    def look(self, number: int) -> None:
        """Take note of a level that was just found."""
        levels, longest = self.levels, self.levels.shape.longest
        keys = levels.keys[levels.last :]
        starts, begin = np.unique(keys // levels.shape.stride, return_index=True)
        hashes = np.zeros(self._last.shape[1], np.uint64)
        if len(keys):
            hashes[starts] = np.add.reduceat(_mixed(keys), begin)
        self._last = np.concatenate((self._last[1:], hashes[None, :]))
        if number < longest:
            return
        for start in np.flatnonzero(levels.open & (self.of == 0)).tolist():
            before = self._met[start].setdefault(self._last[:, start].tobytes(), number)
            if before < number:
                self.of[start], self.since[start], self.known[start] = number - before, before - longest + 1, number


def _mixed(keys: IntArray) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Return a hash of each key (splitmix64)."""
    z = keys.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))
