"""A relationship type of the next version of a graph: lists without some relationships, renumbered, with new ones.

Few changes are spliced into the sorted lists of the dense form, which takes about as long as copying them. Many
changes, and other forms, are sorted anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from qengine._frozen import frozen
from qengine.plan.pattern import Direction
from qengine.storage.adjacency import Adjacency, Form
from qengine.storage.arrays import Array
from qengine.storage.forms import choose
from qengine.storage.kernels import renumber
from qengine.storage.pcsr_build import build_type

__all__ = ["Change", "SplicedType", "changed_type", "new_type", "sorted_type"]

_FEW = 32  # a type is spliced where at most one of so many relationships changes


@frozen
class Change:
    """What changes of a type.

    ``removed``: local ids, ascending. ``starts``, ``ends`` (uint32, new vertex ids), ``sources`` (int64) of those that
    are added: ``sources`` say what each was: a local id that is also removed, or from the type's count on a new one.
    ``new_ids``: uint32, by old vertex id, ``NO_VERTEX`` for vertices that lose all relationships here, otherwise
    ascending; None where ids stay. ``keeps_ids``: properties make relationship ids necessary.
    """

    removed: Array
    starts: Array
    ends: Array
    sources: Array
    new_ids: Array | None
    keeps_ids: bool

    @property
    def edits(self) -> int:
        """How many relationships go or come."""
        return len(self.removed) + len(self.starts)


@frozen
class SplicedType:
    """A type's adjacencies and facts. ``sources``: int64, of each local id, as in ``Change``; None where they stay."""

    adjacencies: Mapping[Direction, Adjacency]
    sources: Array | None
    parallel: bool
    loops: bool


def changed_type(adjacencies: Mapping[Direction, Adjacency], change: Change, loops: bool) -> SplicedType:
    """Return a type with a change; ``loops``: whether there were self-loops before."""
    out = adjacencies[Direction.OUT]
    if change.edits * _FEW <= len(out) and all(one.form is Form.DENSE for one in adjacencies.values()):
        found = _spliced(adjacencies, change, loops)
        if found is not None:
            return found
    return sorted_type(adjacencies, change)


def sorted_type(adjacencies: Mapping[Direction, Adjacency], change: Change) -> SplicedType:
    """Return a type with a change, all its relationships sorted anew; ``new_ids`` may be in any order then."""
    out = adjacencies[Direction.OUT]
    kept = np.arange(len(out), dtype=np.int64)
    if len(change.removed):
        kept = np.delete(kept, change.removed)
    ends = [out.owners(kept), out.neighbours[kept]] if len(kept) else [np.empty(0, np.uint32)] * 2
    if change.new_ids is not None:
        ends = [renumber(np.ascontiguousarray(each), change.new_ids) for each in ends]
    starts, own_ends = np.concatenate((ends[0], change.starts)), np.concatenate((ends[1], change.ends))
    sources = np.concatenate((kept, change.sources))
    return new_type(starts, own_ends, sources, undirected=Direction.BOTH in adjacencies, keeps_ids=change.keeps_ids)


def new_type(starts: Array, ends: Array, sources: Array, *, undirected: bool, keeps_ids: bool) -> SplicedType:
    """Return the type of relationships in any order; arguments as in ``Change``."""
    built = build_type(starts, ends, undirected=undirected, properties=True)
    found = dict(built.adjacencies)
    if not (keeps_ids or built.parallel):
        other = _other(found)
        found[other] = replace(found[other], edge_ids=None)
    return SplicedType(found, sources[built.order], built.parallel, built.loops)


def _spliced(adjacencies: Mapping[Direction, Adjacency], change: Change, loops: bool) -> SplicedType | None:
    """Splice; None where another form or relationship ids would be needed."""
    other = _other(adjacencies)
    out, turned = adjacencies[Direction.OUT], adjacencies[other]
    if change.keeps_ids and turned.edge_ids is None:
        return None
    found = _Spliced(_Dense.of(out), _Dense.of(turned), np.arange(len(out), dtype=np.int64))
    if len(change.removed):
        found = found.without(change.removed, _turned_places(out, turned, change.removed, other))
    if change.new_ids is not None:
        out_lists, back = found.out.renumbered(change.new_ids), found.turned.renumbered(change.new_ids)
        found = _Spliced(out_lists, back, found.sources)
    if len(change.starts):
        found = found.with_new(change, both=other is Direction.BOTH)
    repeats = found.turned.repeats()
    made = found.out.adjacency(), found.turned.adjacency()
    if (repeats and found.turned.ids is None) or made[0] is None or made[1] is None:
        return None
    if (change.starts == change.ends).any():
        loops = True
    elif loops and len(change.removed):
        loops = found.out.has_loops()
    return SplicedType(
        {Direction.OUT: made[0], other: made[1]}, found.sources if change.edits else None, repeats, loops
    )


@frozen
class _Spliced:
    """A type's lists in both directions, and ``sources`` as in ``SplicedType``."""

    out: _Dense
    turned: _Dense
    sources: Array

    def without(self, removed: Array, turned_places: Array) -> _Spliced:
        """Return the type without relationships, given where they stand in both directions, ascending."""
        back = self.turned.without(turned_places)
        if back.ids is not None:
            back = replace(back, ids=back.ids - _up_to(removed, len(self.sources))[back.ids])
        return _Spliced(self.out.without(removed), back, np.delete(self.sources, removed))

    def with_new(self, change: Change, both: bool) -> _Spliced:
        """Return the type with the relationships that a change adds; ``both``: it is undirected."""
        order = np.lexsort((change.ends, change.starts))
        starts, ends = change.starts[order], change.ends[order]
        at = self.out.places(starts, ends)
        ids = (at + np.arange(len(at))).astype(np.uint32)
        sources = np.insert(self.sources, at, change.sources[order])
        out, back = self.out.with_entries(starts, ends, at, None), self.turned
        if back.ids is not None:
            back = replace(back, ids=back.ids + _up_to(at, len(self.sources) + 1)[back.ids])
        if both:
            twice = starts != ends
            owners, others = np.concatenate((starts, ends[twice])), np.concatenate((ends, starts[twice]))
            ids = np.concatenate((ids, ids[twice]))
        else:
            owners, others = ends, starts
        order = np.lexsort((ids, others, owners))
        owners, others = owners[order], others[order]
        return _Spliced(out, back.with_entries(owners, others, back.places(owners, others), ids[order]), sources)


def _up_to(places: Array, length: int) -> Array:
    """Return how many of some places are at most each of ``0..length - 1``: uint32."""
    counts = np.zeros(length, np.uint32)
    np.add.at(counts, places, np.uint32(1))
    return np.cumsum(counts, dtype=np.uint32)


def _other(adjacencies: Mapping[Direction, Adjacency]) -> Direction:
    return Direction.BOTH if Direction.BOTH in adjacencies else Direction.IN


def _turned_places(out: Adjacency, turned: Adjacency, removed: Array, other: Direction) -> Array:
    """Return where relationships stand in the lists of the other direction, ascending."""
    if turned.edge_ids is not None:
        gone = np.zeros(len(out), np.bool_)
        gone[removed] = True
        return np.flatnonzero(gone[turned.edge_ids])
    starts, ends = out.owners(removed), out.neighbours[removed]
    dense = _Dense.of(turned)
    places = dense.places(ends, starts) - 1
    if other is Direction.BOTH:
        places = np.concatenate((places, dense.places(starts, ends) - 1))
    return np.unique(places)


@frozen
class _Dense:
    """Lists of the dense form: those of the vertices from ``lo`` on, with ``offsets`` int64."""

    lo: int
    offsets: Array
    neighbours: Array
    ids: Array | None

    @classmethod
    def of(cls, lists: Adjacency) -> _Dense:
        assert lists.offsets is not None
        return cls(lists.lo, lists.offsets.astype(np.int64), lists.neighbours, lists.edge_ids)

    def places(self, owners: Array, neighbours: Array) -> Array:
        """Return for each owner and neighbour the place after the last such entry, where one more belongs."""
        own = np.clip(owners.astype(np.int64) - self.lo, 0, len(self.offsets) - 1)
        begins = self.offsets[own]
        ends = np.where(owners >= self.lo, self.offsets[np.minimum(own + 1, len(self.offsets) - 1)], begins)
        found = [
            begin + np.searchsorted(self.neighbours[begin:end], neighbour, side="right")
            for begin, end, neighbour in zip(begins.tolist(), ends.tolist(), neighbours, strict=True)
        ]
        return np.array(found, np.int64)

    def without(self, places: Array) -> _Dense:
        """Return the lists without the entries at some places, ascending."""
        after = np.searchsorted(self.offsets, places, side="right")  # the first offset that comes after each entry
        offsets = self.offsets - _up_to(after, len(self.offsets))
        ids = None if self.ids is None else np.delete(self.ids, places)
        return _Dense(self.lo, offsets, np.delete(self.neighbours, places), ids)

    def renumbered(self, new_ids: Array) -> _Dense:
        """Return the lists of other vertex ids, in the same order; what has none has no list either."""
        own = new_ids[self.lo : self.lo + len(self.offsets) - 1]
        lengths = np.diff(self.offsets)
        kept = lengths > 0
        if not kept.any():
            return _Dense(0, np.zeros(1, np.int64), self.neighbours, self.ids)
        own = own[kept].astype(np.int64)
        offsets = np.zeros(int(own[-1] - own[0]) + 2, np.int64)
        offsets[own - own[0] + 1] = lengths[kept]
        return _Dense(int(own[0]), np.cumsum(offsets), renumber(self.neighbours, new_ids), self.ids)

    def with_entries(self, owners: Array, neighbours: Array, at: Array, ids: Array | None) -> _Dense:
        """Return the lists with more entries, sorted by owner and neighbour, which come before the places ``at``."""
        lo, hi = self.lo, self.lo + len(self.offsets) - 1
        if lo == hi:
            lo = hi = int(owners[0])
        low, high = min(lo, int(owners[0])), max(hi, int(owners[-1]) + 1)
        offsets = np.pad(self.offsets, (lo - low, high - hi), constant_values=(0, len(self.neighbours)))
        offsets[1:] += np.cumsum(np.bincount(owners.astype(np.int64) - low, minlength=high - low))
        own = None if self.ids is None or ids is None else np.insert(self.ids, at, ids)
        return _Dense(low, offsets, np.insert(self.neighbours, at, neighbours), own)

    def repeats(self) -> bool:
        """Tell whether a list holds a neighbour twice."""
        same = self.neighbours[1:] == self.neighbours[:-1]
        borders = self.offsets[(self.offsets > 0) & (self.offsets < len(self.neighbours))]
        same[borders - 1] = False
        return bool(same.any())

    def has_loops(self) -> bool:
        """Tell whether a vertex is in its own list."""
        owners = np.repeat(np.arange(self.lo, self.lo + len(self.offsets) - 1), np.diff(self.offsets))
        return bool((owners == self.neighbours).any())

    def adjacency(self) -> Adjacency | None:
        """Return the lists as an adjacency; None where the dense form is no longer the one to take."""
        used = np.flatnonzero(self.offsets[1:] > self.offsets[:-1])
        if not len(used):
            return None
        form, reason = choose((used + self.lo).astype(np.uint32), len(self.neighbours))
        if form is not Form.DENSE:
            return None
        first, last = int(used[0]), int(used[-1]) + 1
        offsets = self.offsets[first : last + 1].astype(np.uint64)
        return Adjacency(form, self.lo + first, self.lo + last, self.neighbours, self.ids, offsets, reason=reason)
