"""The numbers of nodes and relationships: their identity for users, apart from the internal ids of one version.

Internal ids are dense and follow from label sets, types and neighbours, so that they move when a graph is changed.
Numbers stay: ``elementId``, ``id()`` and the ids of results are numbers. In a graph that was loaded they are equal.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate

import numpy as np

from qengine._cached import cached_property
from qengine._frozen import frozen
from qengine.storage.arrays import Array
from qengine.storage.later import Later

_TABLE = 4  # a table of places may have so many entries for each number; else numbers are sorted


class NumberRange:
    """Consecutive numbers: the element at place ``p`` has the number ``first + p``."""

    def __init__(self, first: int, count: int) -> None:
        self.first = first
        self.count = count

    nbytes = 0
    """Bytes of arrays."""

    def of(self, places: Array) -> Array:
        """Return the numbers at places (int64)."""
        return places + self.first

    def places(self, numbers: Array) -> Array:
        """Return the places of numbers (int64), -1 where there is none."""
        inside = (numbers >= self.first) & (numbers < self.first + self.count)
        return np.where(inside, numbers - self.first, -1)

    def number(self, place: int) -> int:
        """Return the number at one place."""
        return place + self.first

    def place(self, number: int) -> int:
        """Return the place of one number, -1 where there is none."""
        place = number - self.first
        return place if 0 <= place < self.count else -1


class NumberList:
    """Numbers in any order.

    Parameters
    ----------
    read
        Returns them: int64, all different, none negative. It is called when they are first needed, and then let go,
        with what it holds.
    count
        How many there are.
    depth
        So many lists before this one are needed to read it.
    """

    def __init__(self, read: Callable[[], Array], count: int, depth: int = 0) -> None:
        self._array = Later(read)
        self._depth = depth
        self.count = count

    @property
    def depth(self) -> int:
        """How many lists before this one are still to be read, and held, for it."""
        return 0 if self._array.is_known else self._depth

    @property
    def array(self) -> Array:
        """int64: the numbers by place."""
        return self._array.get()

    @property
    def nbytes(self) -> int:
        """Bytes of arrays; what finds places aside."""
        return 8 * self.count

    def of(self, places: Array) -> Array:
        """Return the numbers at places (int64)."""
        found: Array = self.array[places]
        return found

    def places(self, numbers: Array) -> Array:
        """Return the places of numbers (int64), -1 where there is none."""
        if not self.count:
            return np.full(len(numbers), -1, np.int64)
        low, table, order = self._index
        if order is None:
            within = np.clip(numbers - low, 0, len(table) - 1)
            return np.where(within == numbers - low, table[within], -1).astype(np.int64)
        found = np.minimum(np.searchsorted(table, numbers), self.count - 1)
        return np.where(table[found] == numbers, order[found], -1).astype(np.int64)

    def number(self, place: int) -> int:
        """Return the number at one place."""
        return int(self.array[place])

    def place(self, number: int) -> int:
        """Return the place of one number, -1 where there is none."""
        if not self.count:
            return -1
        low, table, order = self._index
        if order is None:
            return int(table[number - low]) if 0 <= number - low < len(table) else -1
        at = bisect_left(table, number)
        return int(order[at]) if at < self.count and table[at] == number else -1

    @cached_property
    def _index(self) -> tuple[int, Array, Array | None]:
        """The least number and a table of places from there on, or sorted numbers and their places."""
        low, high = int(self.array.min()), int(self.array.max())
        if high - low < _TABLE * self.count + 1024:
            table = np.full(high - low + 1, -1, np.int64 if self.count >= 2**31 else np.int32)
            table[self.array - low] = np.arange(self.count, dtype=table.dtype)
            return low, table, None
        order = np.argsort(self.array)
        return low, self.array[order], order


class NumberPieces:
    """Few runs of consecutive numbers: the elements from place ``begins[k]`` on have the numbers from ``firsts[k]`` on.

    ``begins``, ``firsts``: int64; ``begins`` ascends from 0. ``count``: how many numbers there are.
    """

    def __init__(self, begins: Array, firsts: Array, count: int) -> None:
        self.begins = begins
        self.firsts = firsts
        self.count = count

    @property
    def nbytes(self) -> int:
        """Bytes of arrays."""
        return int(self.begins.nbytes + self.firsts.nbytes)

    @property
    def array(self) -> Array:
        """int64: the numbers by place, made anew."""
        return self.of(np.arange(self.count, dtype=np.int64))

    def of(self, places: Array) -> Array:
        """Return the numbers at places (int64)."""
        run = np.searchsorted(self.begins, places, side="right") - 1
        found: Array = self.firsts[run] + (places - self.begins[run])
        return found

    def places(self, numbers: Array) -> Array:
        """Return the places of numbers (int64), -1 where there is none."""
        firsts, begins, lengths = self._by_number
        run = np.maximum(np.searchsorted(firsts, numbers, side="right") - 1, 0)
        within = numbers - firsts[run]
        return np.where((within >= 0) & (within < lengths[run]), begins[run] + within, -1)

    def number(self, place: int) -> int:
        """Return the number at one place."""
        begins, firsts = self._lists[:2]
        run = bisect_right(begins, place) - 1
        return firsts[run] + place - begins[run]

    def place(self, number: int) -> int:
        """Return the place of one number, -1 where there is none."""
        firsts, begins, lengths = self._lists[2:]
        run = bisect_right(firsts, number) - 1
        within = number - firsts[run]
        return begins[run] + within if run >= 0 and within < lengths[run] else -1

    @cached_property
    def _lists(self) -> tuple[list[int], ...]:
        """What is searched for one place or number: begins and firsts by place, then ``_by_number``."""
        return tuple(each.tolist() for each in (self.begins, self.firsts, *self._by_number))

    @cached_property
    def _by_number(self) -> tuple[Array, Array, Array]:
        """By number: the first of each run, its place, and its length."""
        order = np.argsort(self.firsts)
        return self.firsts[order], self.begins[order], np.diff(self.begins, append=self.count)[order]


Run = NumberRange | NumberPieces | NumberList
"""The numbers of consecutive internal ids."""


class LaterNumbers:
    """Numbers that are found when somebody asks for one.

    ``find``: returns them, and is then let go, with what it holds. ``count``: how many there are.
    """

    def __init__(self, find: Callable[[], Run], count: int) -> None:
        self._run = Later(find)
        self.count = count

    @property
    def run(self) -> Run:
        """What was found."""
        return self._run.get()

    @property
    def nbytes(self) -> int:
        """Bytes of arrays; none before they are found."""
        return int(self.run.nbytes) if self._run.is_known else 0

    def of(self, places: Array) -> Array:
        """Return the numbers at places (int64)."""
        return self.run.of(places)

    def places(self, numbers: Array) -> Array:
        """Return the places of numbers (int64), -1 where there is none."""
        return self.run.places(numbers)

    def number(self, place: int) -> int:
        """Return the number at one place."""
        return self.run.number(place)

    def place(self, number: int) -> int:
        """Return the place of one number, -1 where there is none."""
        return self.run.place(number)


class Numbers:
    """The numbers of all nodes, or of all relationships.

    Parameters
    ----------
    runs
        In the order of internal ids: of all nodes, or of each relationship type.
    changed
        Whether the graph may have been changed since it was loaded.
    """

    def __init__(self, runs: Sequence[Run | LaterNumbers], *, changed: bool = True) -> None:
        self.changed = changed
        self._runs = tuple(runs)
        self._bases = np.cumsum([0, *(run.count for run in self._runs)], dtype=np.int64)
        self._starts: list[int] = self._bases.tolist()
        firsts = (run.first if isinstance(run, NumberRange) else -1 for run in self._runs)
        self.equal_ids = all(first == base for first, base in zip(firsts, self._starts, strict=False))
        """Whether each number is the internal id."""

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs, in the order of internal ids."""
        return tuple(map(self.run, range(len(self._runs))))

    def run(self, index: int) -> Run:
        """Return one of the runs."""
        found = self._runs[index]
        return found.run if isinstance(found, LaterNumbers) else found

    @property
    def nbytes(self) -> int:
        """Bytes of arrays."""
        return sum(run.nbytes for run in self._runs)

    def of(self, ids: Array | Sequence[int]) -> Array:
        """Return the numbers (int64) of internal ids; -1 for -1. The array itself where nothing differs."""
        wanted = np.asarray(ids, np.int64)
        if self.equal_ids:
            return wanted
        found = np.full(len(wanted), -1, np.int64)
        run_of = np.searchsorted(self._bases, wanted, side="right") - 1
        for index in np.unique(run_of).tolist():
            if index >= 0:
                rows = run_of == index
                found[rows] = self._runs[index].of(wanted[rows] - self._bases[index])
        return found

    def check(self) -> None:
        """Read all numbers, which checks those of an opened graph.

        Raises
        ------
        StorageError
            If they are damaged.
        """
        for run in self.runs:
            if isinstance(run, NumberList):
                _ = run.array

    def number(self, id: int) -> int:
        """Return the number of one internal id."""
        if self.equal_ids:
            return id
        index = bisect_right(self._starts, id) - 1
        return self._runs[index].number(id - self._starts[index])

    def place(self, number: int) -> int:
        """Return the internal id of one number, -1 where no element has it."""
        if self.equal_ids:
            return number if 0 <= number < self._starts[-1] else -1
        for start, run in zip(self._starts, self._runs, strict=False):
            if (place := run.place(number)) >= 0:
                return start + place
        return -1

    def places(self, numbers: Array | Sequence[int]) -> Array:
        """Return the internal ids (int64) of numbers, -1 where no element has one."""
        wanted = np.asarray(numbers, np.int64)
        found = np.full(len(wanted), -1, np.int64)
        for base, run in zip(self._starts, self._runs, strict=False):
            within = run.places(wanted)
            np.copyto(found, within + base, where=within >= 0)
        return found


@frozen
class Identity:
    """The numbers of a graph's elements. ``next_node``, ``next_relationship``: the least that were never given."""

    nodes: Numbers
    relationships: Numbers
    next_node: int
    next_relationship: int

    @classmethod
    def of_ids(cls, nodes: int, relationships: Sequence[int]) -> Identity:
        """Return that of a graph whose numbers are its internal ids, with so many relationships of each type."""
        ends = list(accumulate(relationships, initial=0))
        by_type = [NumberRange(end - count, count) for count, end in zip(relationships, ends[1:], strict=True)]
        of_nodes = Numbers([NumberRange(0, nodes)], changed=False)
        return cls(of_nodes, Numbers(by_type, changed=False), nodes, ends[-1])
