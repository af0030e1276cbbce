"""The vertices that walks of a ``Repeat`` lead to, each once: sets of vertices are followed, not walks.

Starts fall into groups. Level by level, each vertex that a group comes to is followed once, by the first walk to it
that repeats nothing. What another walk to it could reach, that one can, as long as it is never turned away from a
vertex that the group hasn't come to: where it is, a search that minds no repetitions tells what could be reached at
most, and walks are tried one by one until all of that is, or none is left. That is rare: a shortest walk repeats no
relationship, unless those of different places of a way may be the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from qengine.exec.common.columns import BoolArray, IntArray
from qengine.exec.common.operators.repeat_ways import Extension, Walks, Ways, longer
from qengine.exec.memory import Holding
from qengine.plan import physical
from qengine.plan.pattern import PathMode

_PLACES = 1 << 23  # groups times vertices that are looked at together
_CELLS = 1 << 20  # numbers in the columns of walks that are made longer at a time
_TOGETHER = 1 << 16  # such walks


class Starts(NamedTuple):
    """Some groups' starts (int64[n]): the group of each, from 0, and the vertex."""

    groups: IntArray
    vertices: IntArray


class Ends:
    """Finds ends. ``admitted`` (bool[vertices]): what walks may end on.

    ``holding``: whose memory it takes.
    """

    def __init__(
        self, operator: physical.Repeat, ways: Ways, vertices: int, admitted: BoolArray, holding: Holding
    ) -> None:
        self.minimum, self.maximum, self.mode = operator.minimum, operator.maximum, operator.mode
        self.ways, self.vertices, self.admitted = ways, vertices, admitted
        self.check: Callable[[], None] = ways.runtime.context.check
        self.holding = holding

    def groups_together(self) -> int:
        """Return how many groups may be looked at together."""
        return max(1, _PLACES // max(1, self.vertices))

    def of(self, count: int, starts: Starts, targets: IntArray | None) -> BoolArray:
        """Return which vertices ``count`` groups reach: bool[count * vertices].

        ``targets``: places there, which are all that is asked for; None: what ``admitted`` says.
        """
        seen, doubtful = self._search(count, starts, targets, checked=self.mode is not PathMode.WALK)
        if doubtful.any():
            every, _ = self._search(count, starts, targets, checked=False)
            missing = every & ~seen
            missing.reshape(count, -1)[:, ~self.admitted] = False
            if targets is not None:
                wanted = np.zeros(len(missing), np.bool_)
                wanted[targets] = True
                missing &= wanted
            missing.reshape(count, -1)[~doubtful] = False
            if missing.any():
                self._try(starts, missing, seen)
        return seen

    def _search(
        self, count: int, starts: Starts, targets: IntArray | None, *, checked: bool
    ) -> tuple[BoolArray, BoolArray]:
        """Return what is reached, and the groups that may reach more; not ``checked``: walks may repeat anything."""
        size = count * self.vertices
        self.holding.set(self.ways.nbytes + 6 * size)
        seen, doubtful = np.zeros(size, np.bool_), np.zeros(count, np.bool_)
        latest = np.zeros(size, np.int32)
        walks = Walks.begun(starts.groups, starts.vertices, self.mode if checked else PathMode.WALK)
        if self.minimum == 0:
            seen[walks.origins * self.vertices + walks.vertices] = True
        while walks.count and (self.maximum is None or walks.repetitions < self.maximum):
            early = walks.repetitions + 1 < self.minimum
            marks = np.zeros(size, np.bool_) if early else seen
            following, turned_away = [], []
            for part, extension in self._pieces(walks):
                found, keys, lost = self._level(part, extension, marks, checked=checked)
                latest[keys] = np.arange(len(keys), dtype=np.int32)
                first = latest[keys] == np.arange(len(keys), dtype=np.int32)
                marks[keys] = True
                following.append(found.where(first))
                turned_away.append(lost)
                self.holding.set(self.ways.nbytes + 6 * size + sum(each.nbytes for each in following))
            lost = np.concatenate(turned_away)
            doubtful[lost[~marks[lost]] // self.vertices] = True
            walks = Walks.together(following)
            if checked:
                walks = walks.open(self.mode)
            if targets is not None and not early:
                waiting = np.zeros(count, np.bool_)
                waiting[targets[~seen[targets]] // self.vertices] = True
                walks = walks.where(waiting[walks.origins])
        return seen, doubtful

    def _level(
        self, walks: Walks, extension: Extension, marks: BoolArray, *, checked: bool
    ) -> tuple[Walks, IntArray, IntArray]:
        """Return walks to vertices without a mark, the places of these, and the places that none may go to."""
        keys = walks.origins[extension.parents] * self.vertices + self.ways.nodes[-1][extension.ways]
        new = ~marks[keys]
        extension, keys = extension.where(new), keys[new]
        kept, found = longer(walks, extension, self.ways, self.mode if checked else PathMode.WALK, whole=checked)
        return found, keys[kept], keys[~kept]

    def _pieces(self, walks: Walks) -> Iterator[tuple[Walks, Extension]]:
        """Yield parts of some walks, of which so many ways lead on as are followed together, and these ways."""
        most = max(1, min(_TOGETHER, _CELLS // (2 + len(walks.edges) + len(walks.met))))
        while walks.count:
            self.check()
            begin, count = self.ways.of(walks.vertices, most)
            yield walks.take(slice(0, len(count))), Extension.every(begin, count)
            walks = walks.take(slice(len(count), None))

    def _try(self, starts: Starts, missing: BoolArray, seen: BoolArray) -> None:
        """Follow walks of the groups that miss something until they don't; note in ``seen`` what is found."""
        left: BoolArray = np.asarray(missing.reshape(-1, self.vertices).any(axis=1))
        walks = Walks.begun(starts.groups, starts.vertices, self.mode)
        waiting = [walks.where(left[walks.origins])]
        while waiting:
            self.check()
            walks = waiting.pop()
            walks = walks.where(left[walks.origins])
            if not walks.count:
                continue
            some, extension = next(self._pieces(walks))
            waiting.append(walks.take(slice(some.count, None)))
            _, found = longer(some, extension, self.ways, self.mode)
            if found.repetitions >= self.minimum:
                keys = found.origins * self.vertices + found.vertices
                keys = keys[missing[keys]]
                seen[keys], missing[keys] = True, False
                for group in np.unique(keys // self.vertices).tolist():
                    left[group] = missing[group * self.vertices : (group + 1) * self.vertices].any()
            if self.maximum is None or found.repetitions < self.maximum:
                waiting.append(found.open(self.mode))
            self.holding.set(self.ways.nbytes + 8 * len(seen) + sum(each.nbytes for each in waiting))
