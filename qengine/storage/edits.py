"""How a sequence of elements becomes that of the next version: what goes, what comes, and where all else moves.

Two forms: an ``Edit`` of few places, which costs what it changes, and an ``Order`` of all elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from qengine._cached import cached_property
from qengine.storage.arrays import Array
from qengine.storage.kernels import NO_VERTEX
from qengine.storage.later import Later
from qengine.storage.numbers import NumberList, NumberPieces, NumberRange, Run
from qengine.storage.variant import concatenate, is_variant

NOTHING = -1
"""The source of an element that has none."""
_PIECE = 64  # a column is put together from slices where these have at least so many rows on average
_DEEPEST = 16  # lists of numbers that were never read, one made of the other
_NUMBER_PIECE = 16  # numbers are kept in pieces of at least so many on average


class Pieces:
    """A sequence of ``count`` elements as runs: the elements from place ``begins[k]`` on come from ``sources[k]`` on.

    ``begins``, ``sources``: int64. ``sources`` is ``NOTHING`` for runs of elements that have none.
    """

    def __init__(self, begins: Array, sources: Array, count: int) -> None:
        self.begins = begins
        self.sources = sources
        self.count = count

    @classmethod
    def joined(cls, runs: tuple[Array, Array, Array], count: int, apart: int) -> Pieces:
        """Return the pieces with these begins, sources and lengths, in any order.

        Neighbours that continue each other become one, but none reaches from below the source ``apart`` over it.
        """
        begins, sources, lengths = runs
        order = np.argsort(begins, kind="stable")
        begins, sources, ends = begins[order], sources[order], (sources + lengths)[order]
        new = np.ones(len(begins), np.bool_)
        new[1:] = (sources[1:] != ends[:-1]) | (sources[1:] == apart)
        return cls(begins[new], sources[new], count)

    def at(self, places: Array) -> Array:
        """Return the sources of places (int64)."""
        run = np.searchsorted(self.begins, places, side="right") - 1
        found: Array = np.where(self.sources[run] == NOTHING, NOTHING, self.sources[run] + places - self.begins[run])
        return found

    def cut(self, begin: int, end: int, more: Array) -> Pieces:
        """Return the part ``[begin, end)`` as pieces that begin at 0, cut at more places, too."""
        points = np.concatenate((np.array([begin], np.int64), self.begins, more))
        points = ascending(points[(points >= begin) & (points < end)])
        return Pieces(points - begin, self.at(points), end - begin)

    def all(self) -> Array:
        """Return the source of each place (int64)."""
        lengths = np.diff(self.begins, append=self.count)
        firsts = np.where(self.sources == NOTHING, NOTHING, self.sources - self.begins)
        found = np.repeat(firsts, lengths)
        steps = np.arange(self.count, dtype=np.int64)
        if (self.sources == NOTHING).any():
            steps[np.repeat(self.sources == NOTHING, lengths)] = 0
        found += steps
        return found


class Edit:
    """Few places of a sequence change; all else stays in its order.

    Parameters
    ----------
    before
        How many elements there were.
    removed
        int64, ascending: places of elements that go, or come again elsewhere.
    at
        int64, ascending: for each element that comes, the old place that it comes before.
    sources
        int64: what each of these was: a removed place, from ``before`` on a new element.
    """

    def __init__(self, before: int, removed: Array, at: Array, sources: Array) -> None:
        self.before = before
        self.removed = removed
        self.at = at
        self.sources = sources

    @property
    def count(self) -> int:
        """How many elements there are now."""
        return self.before - len(self.removed) + len(self.sources)

    @property
    def size(self) -> int:
        """How many elements go or come."""
        return len(self.removed) + len(self.sources)

    def follow(self, places: Array) -> Array:
        """Return where elements that stay have moved to (int64); of others, where the next that stays has."""
        gone = np.searchsorted(self.removed, places, side="left")
        found: Array = places - gone + np.searchsorted(self.at, places, side="right")
        return found

    @cached_property
    def added(self) -> Array:
        """int64, ascending: the new places of the elements that have come."""
        return self.at - np.searchsorted(self.removed, self.at, side="left") + np.arange(len(self.at))

    def back(self, places: Array) -> tuple[Array, Array]:
        """Return for new places the old ones (of elements that have come: what they come before), and which stayed."""
        come = np.searchsorted(self.added, places, side="left")
        stayed = np.ones(len(places), np.bool_)
        if len(self.added):
            stayed = self.added[np.minimum(come, len(self.added) - 1)] != places
        rank = places - come
        old = rank + np.searchsorted(self.removed - np.arange(len(self.removed)), rank, side="right")
        if not stayed.all():
            old[~stayed] = self.at[come[~stayed]]
        return old, stayed

    @cached_property
    def moves(self) -> tuple[Array, Array]:
        """How elements that stay move: from some old places on (uint32), and by how much (uint32, one longer)."""
        points = np.concatenate((self.removed + 1, self.at))
        order = np.argsort(points, kind="stable")
        steps = np.concatenate((np.full(len(self.removed), -1, np.int64), np.ones(len(self.at), np.int64)))[order]
        shifts = np.concatenate((np.zeros(1, np.int64), np.cumsum(steps)))
        points = points[order]
        last = np.ones(len(points), np.bool_)
        last[:-1] = points[1:] != points[:-1]
        kept = np.concatenate((np.ones(1, np.bool_), last))
        return points[last].astype(np.uint32), (shifts[kept] & 0xFFFFFFFF).astype(np.uint32)

    @cached_property
    def stays(self) -> tuple[Array, Array]:
        """The runs of elements that stay (int64): their old places and lengths. None has one that comes in it."""
        cuts = ascending(np.concatenate((np.zeros(1, np.int64), self.removed, self.removed + 1, self.at)))
        cuts = cuts[cuts < self.before]
        lengths = np.diff(cuts, append=self.before)
        kept = ~among(cuts, self.removed)
        return cuts[kept], lengths[kept]

    @cached_property
    def pieces(self) -> Pieces:
        """All elements: from ``before`` on new ones."""
        cuts, lengths = self.stays
        begins = np.concatenate((self.follow(cuts), self.added))
        lengths = np.concatenate((lengths, np.ones(len(self.added), np.int64)))
        return Pieces.joined((begins, np.concatenate((cuts, self.sources)), lengths), self.count, self.before)

    @cached_property
    def new_places(self) -> Array:
        """uint32, by old place: the new one, ``NO_VERTEX`` of elements that have gone."""
        found = np.full(self.before, NO_VERTEX, np.uint32)
        known = np.flatnonzero(self.old_places >= 0)
        found[self.old_places[known]] = known
        return found

    @cached_property
    def old_places(self) -> Array:
        """int64, by new place: the old one, ``NOTHING`` of new elements."""
        found = self.pieces.all()
        found[found >= self.before] = NOTHING
        return found

    def find(self, sources: Array) -> Array:
        """Return the new places of elements given by their sources, of which none has gone."""
        found = self.follow(np.minimum(sources, self.before))
        if len(self.sources):
            order = np.argsort(self.sources)
            ordered = self.sources[order]
            place = np.minimum(np.searchsorted(ordered, sources), len(ordered) - 1)
            own = ordered[place] == sources
            found[own] = self.added[order[place[own]]]
        return found

    def numbers(self, before: Run, fresh: Array) -> Run:
        """Return the numbers of the elements, given those before, and those of new ones (int64)."""
        starts = _number_starts(before)
        if starts is None:
            return Order.of(self).numbers(before, fresh)
        starts = starts[~among(starts, self.removed)]
        points = ascending(np.concatenate((self.pieces.begins, self.added, self.follow(starts))))
        points = points[points < self.count]
        sources = self.pieces.at(points)
        numbers = np.empty(len(points), np.int64)
        old = sources < self.before
        numbers[old] = before.of(sources[old])
        numbers[~old] = fresh[sources[~old] - self.before]
        lengths = np.diff(points, append=self.count)
        joined = Pieces.joined((points, numbers, lengths), self.count, NOTHING)
        if len(joined.begins) * _NUMBER_PIECE > self.count + 1024:
            return Order.of(self).numbers(before, fresh)
        if len(joined.begins) <= 1:
            return NumberRange(int(joined.sources[0]) if self.count else 0, self.count)
        return NumberPieces(joined.begins, joined.sources, self.count)


class LaterEdit(Edit):
    """An edit that finds where elements come when that is first asked for.

    ``before``, ``removed``, ``sources``: as in ``Edit``. ``find``: returns its ``at``, and is then let go, with what it
    holds.
    """

    def __init__(self, before: int, removed: Array, find: Callable[[], Array], sources: Array) -> None:
        self.before = before
        self.removed = removed
        self.sources = sources
        self._at = Later(find)

    @property
    def at(self) -> Array:  # type: ignore[override]
        """int64, ascending: for each element that comes, the old place that it comes before."""
        return self._at.get()


class Order:
    """All elements of a sequence in another order; some may be gone, others new.

    ``before``: how many there were. ``sources``: of each element its old place, from ``before`` on new ones.
    """

    def __init__(self, before: int, sources: Array) -> None:
        self.before = before
        self.sources = sources

    @classmethod
    def of(cls, edit: Edit) -> Order:
        """Return the same as an edit."""
        return cls(edit.before, edit.pieces.all())

    @property
    def count(self) -> int:
        """How many elements there are now."""
        return len(self.sources)

    def find(self, sources: Array) -> Array:
        """Return the new places of elements given by their sources, of which none has gone."""
        places = np.empty(max(self.before, int(self.sources.max(initial=0)) + 1), np.int64)
        places[self.sources] = np.arange(len(self.sources))
        found: Array = places[sources]
        return found

    @cached_property
    def pieces(self) -> Pieces:
        """All elements: from ``before`` on new ones."""
        sources = self.sources.astype(np.int64, copy=False)
        begins = np.flatnonzero((np.diff(sources, prepend=-2) != 1) | (sources == self.before))
        return Pieces(begins, sources[begins], len(sources))

    def numbers(self, before: Run, fresh: Array) -> Run:
        """Return the numbers of the elements, given those before, and those of new ones (int64)."""
        depth = 0
        if isinstance(before, NumberList):
            if before.depth >= _DEEPEST:
                _ = before.array  # those before it are let go
            depth = before.depth

        def read() -> Array:
            whole = np.concatenate((before.of(np.arange(self.before, dtype=np.int64)), fresh))
            found: Array = whole[self.sources]
            return found

        return NumberList(read, self.count, depth + 1)


def ascending(places: Array) -> Array:
    """Return places in order, each once; quick for some runs that ascend, one after the other."""
    ordered = np.sort(places, kind="stable")
    new = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    found: Array = ordered[new]
    return found


def among(places: Array, ascending: Array) -> Array:
    """Tell which places are among some that ascend."""
    if not len(ascending):
        return np.zeros(len(places), np.bool_)
    found: Array = ascending[np.minimum(np.searchsorted(ascending, places), len(ascending) - 1)] == places
    return found


def _number_starts(run: Run) -> Array | None:
    """Return the places where the consecutive numbers of a run begin; None for a list."""
    if isinstance(run, NumberRange):
        return np.zeros(1, np.int64)[: run.count]
    return run.begins if isinstance(run, NumberPieces) else None


def taken(pieces: Pieces, old: Any, fresh: Any) -> Any:
    """Return an Arrow array of the rows that pieces name: of ``old``, and after them of ``fresh``.

    Rows with ``NOTHING`` are null. The array is a union where the types of both don't agree.
    """
    parts = (old, fresh) if len(fresh) else (old,)
    if any(is_variant(each.type) for each in parts) or len(pieces.begins) * _PIECE > pieces.count + 4096:
        rows = pieces.all()
        missing = rows == NOTHING
        if missing.any():
            rows[missing] = sum(map(len, parts))
            parts = (*parts, pa.nulls(1))
        return concatenate(list(parts)).take(pa.array(rows))
    slices = []
    lengths = np.diff(pieces.begins, append=pieces.count)
    for source, length in zip(pieces.sources.tolist(), lengths.tolist(), strict=True):
        if source == NOTHING:
            slices.append(pa.nulls(length))
        elif source < len(old):
            slices.append(old.slice(source, length))
        else:
            slices.append(fresh.slice(source - len(old), length))
    return concatenate(slices) if slices else old.slice(0, 0)
