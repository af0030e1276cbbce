"""Samples of nodes and relationships with their properties: what conditions admit together, and along a relationship.

They are drawn when first asked for, at places that are always the same, and kept; a column of a sample is read when a
condition first asks for it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from qengine._lru import LruCache
from qengine.catalog.view import Incidence, Labels
from qengine.plan.pattern import LabelExpr, expression
from qengine.storage.arrays import Array, in_ranges
from qengine.storage.columns import PropertyColumn
from qengine.storage.joint_degrees import JointDegrees
from qengine.storage.node_lists import NodeLists
from qengine.storage.sampled_column import SampledColumn, sampled_column

if TYPE_CHECKING:
    from qengine.storage.store import GraphStore

__all__ = ["Sample", "SampledColumn", "Samples"]

_ROWS = 4096
_DRAWN = 4 * _ROWS  # relationships of a type, of which those between two labels are kept; pairs of them that meet
_EVERY = 1 << 17  # nodes: of so many all are looked at where conditions leave few
_MANY = 1 << 16  # relationships, likewise
_MOST = 1 << 22  # rows of samples that are kept
_LEAST = 1 << 10  # rows that a small one counts for
_AGAIN, _AGAIN_ENTRIES = 1 << 9, 1 << 14  # pairs that meet of which it is asked how else they are joined; entries read
_SEED = 29

_Elements = dict[str, tuple[Array, Callable[[str], PropertyColumn | None]]]


class Sample:
    """Nodes, or relationships with their ends; ``size``: how many rows there are, perhaps all that exist."""

    def __init__(
        self,
        elements: _Elements,
        size: int,
        total: float | None = None,
    ) -> None:
        """``elements``: for each of "node", or "start", "relationship" and "end", its ids and how columns are found.

        ``total``: how many elements it is a sample of, itself if that isn't told.
        """
        self.size = size
        self.total = float(size) if total is None else total
        self._elements = elements
        self._columns: dict[tuple[str, str], SampledColumn | None] = {}
        self._shuffled: dict[tuple[int, int], Sample] = {}
        self.closed: dict[Incidence, Array] = {}
        self.again: dict[tuple[Incidence, Incidence, bool], float] = {}

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that are kept; values aside."""
        columns = [each for each in list(self._columns.values()) if each is not None]
        found = sum(ids.nbytes for ids, _ in self._elements.values())
        found += sum(each.nbytes for each in columns) + sum(each.nbytes for each in list(self.closed.values()))
        return int(found + sum(each.nbytes for each in list(self._shuffled.values())))

    def column(self, element: str, key: str) -> SampledColumn | None:
        """Return a property of an element, None where its values can't be compared."""
        known = element, key
        if known not in self._columns:
            ids, find = self._elements[element]
            self._columns[known] = sampled_column(find(key), ids)
        return self._columns[known]

    def ids(self, element: str, rows: Array) -> Array:
        """Return the ids (int64) of an element in the rows for which ``rows`` is true."""
        return self._elements[element][0][rows]

    def shuffled(self, rows: int, turn: int) -> Sample:
        """Return so many rows in another order, each turn in another one: beside each other they are independent."""
        found = self._shuffled.get((rows, turn))
        if found is None:
            places = np.resize(np.arange(self.size), rows) if self.size else np.zeros(0, np.int64)
            places = np.random.default_rng(_SEED + turn).permutation(places)
            found = self._shuffled[rows, turn] = _Picked(self, places)
        return found

    def matched(
        self, element: str, key: str, other: Any, other_key: str, rows: int
    ) -> tuple[Sample, Sample, Array] | None:
        """Return pairs of elements whose properties are equal, with their weights; see ``catalog.view.Sample``."""
        one, two = self.column(element, key), other.column(element, other_key)
        if one is None or two is None or one.against("=", two.at(np.zeros(self.size, np.int64))) is None:
            return None
        left, right = (np.flatnonzero(~each.missing) for each in (one, two))
        if one.numbers is not None and two.numbers is not None:
            ours, theirs = one.numbers[left], two.numbers[right]
        else:
            ours, theirs = one.keys[left], two.keys[right]
        right = right[np.argsort(theirs, kind="stable")]
        theirs = np.sort(theirs)
        first = np.searchsorted(theirs, ours)
        ends = np.cumsum(np.searchsorted(theirs, ours, side="right") - first)
        places = _places(int(ends[-1]) if len(ends) else 0, rows)
        at = np.searchsorted(ends, places, side="right")
        back = ends[at] - places  # how far a pair is from the last one of its row
        after = np.searchsorted(theirs, ours[at], side="right")
        left, right = left[at], right[after - back]
        same = self._elements[element][0][left] == other._elements[element][0][right]
        return (
            _Picked(self, left),
            _Picked(other, right),
            np.where(same, min(self.size / self.total, other.size / other.total), 1.0),
        )


class _Picked(Sample):
    """Rows of a sample by their places, some perhaps more than once."""

    def __init__(self, sample: Sample, places: Array) -> None:
        super().__init__({}, len(places))
        self._sample = sample
        self._places = places

    def column(self, element: str, key: str) -> SampledColumn | None:
        known = element, key
        if known not in self._columns:
            found = self._sample.column(element, key)
            self._columns[known] = None if found is None else found.at(self._places)
        return self._columns[known]


class Samples:
    """The samples of one graph, by labels, and by type with the labels of both ends."""

    def __init__(self, store: GraphStore, degrees: JointDegrees) -> None:
        self._store = store
        self._degrees = degrees
        self._known: LruCache[Sample] = LruCache(_MOST, lambda sample: max(sample.size, _LEAST))

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays of all samples that are kept."""
        return sum(sample.nbytes for _, sample in self._known.items())

    def nodes(self, labels: LabelExpr | None, every: bool = False) -> Sample | None:
        """Return a sample of the nodes that satisfy a label expression; all with ``every``, None if that's too many."""
        few = self._known.get(("node", labels, False), lambda: self._nodes(labels, self._store.fewer(_ROWS)))
        if not every or few.size == few.total:
            return few
        if few.total > self._store.fewer(_EVERY):
            return None
        return self._known.get(("node", labels, True), lambda: self._nodes(labels, _EVERY))

    def relationships(self, type: str, source: Labels, target: Labels, both: bool, many: bool) -> Sample:
        """Return a sample of a type's relationships from ``source`` to ``target``.

        ``both``: of either direction; "start" then is the end with the labels ``source``. ``many``: a large one.
        """
        few = self._known.get(
            (type, source, target, both, False),
            lambda: self._relationships(type, source, target, both, (_DRAWN, _ROWS)),
        )
        if not many or few.size == few.total:
            return few
        return self._known.get(
            (type, source, target, both, True), lambda: self._relationships(type, source, target, both, (_MANY, _MANY))
        )

    def at_nodes(self, type: str, nodes: Array, element: str, other: Labels, both: bool) -> Sample:
        """Return a sample of the relationships that nodes (ids, int64) have, as ``element`` ("start" or "end").

        ``other``: the labels of the other ends. Not kept.
        """
        store = self._store
        index = store.type_index(type)
        assert index is not None
        kind = Incidence((type,), both or element == "start", both or element == "end", other)
        lists = NodeLists(store, self._degrees.stored(kind), nodes.astype(np.uint32))
        total = int(lists.degrees.sum())
        near, far, local = lists.spread(_places(total, store.fewer(_DRAWN)))
        ends_of = (nodes[near], far) if element == "start" else (far, nodes[near])
        kept = np.flatnonzero(have_labels(self._store, far, other))
        return self._joined(index, local, ends_of, kept, float(total), store.fewer(_DRAWN))

    def wedges(self, labels: Labels, one: Incidence, other: Incidence, apart: str, many: bool) -> Sample:
        """Return a sample of two relationships that meet at a node; see ``CatalogView.wedge_sample``."""
        rows = _DRAWN if many else _ROWS
        return self._known.get((labels, one, other, apart, many), lambda: self._wedges(labels, one, other, apart, rows))

    def closing(self, sample: Sample, kind: Incidence) -> Array:
        """Return what ``CatalogView.closing`` does; it is kept with the sample."""
        found = sample.closed.get(kind)
        if found is None:
            every = np.ones(sample.size, np.bool_)
            first, last = (sample.ids(each, every).astype(np.uint32) for each in ("first", "last"))
            found = sample.closed[kind] = self._degrees.links(first, last, kind)
        return found

    def joined_again(self, sample: Sample, one: Incidence, other: Incidence, apart: bool) -> float | None:
        """Return what ``CatalogView.joined_again`` does, of some pairs; it is kept with the sample."""
        key = one, other, apart
        if sample.size and key not in sample.again:
            sample.again[key] = self._joined_again(sample, one, other, apart)
        return sample.again.get(key)

    def _joined_again(self, sample: Sample, one: Incidence, other: Incidence, apart: bool) -> float:
        some = np.zeros(sample.size, np.bool_)
        some[:: max(1, sample.size // _AGAIN)] = True
        first, middle, last = (sample.ids(each, some).astype(np.uint32) for each in ("first", "middle", "last"))
        lists = NodeLists(self._store, self._degrees.stored(one), first)
        total = int(lists.degrees.sum())
        drawn = min(total, _AGAIN_ENTRIES)
        at, far, _ = lists.spread((np.arange(drawn) * (total / max(drawn, 1))).astype(np.int64))
        fits = have_labels(self._store, far, one.labels)
        if apart:
            fits &= far != middle[at]
        at, far = at[fits], far[fits].astype(np.uint32)
        back = Incidence(other.types, other.into, other.out, None)
        return float(self._degrees.links(far, last[at], back).sum()) * total / max(drawn, 1) / len(first)

    def _wedges(self, labels: Labels, one: Incidence, other: Incidence, apart: str, most: int) -> Sample:
        store = self._store
        vertices, weights = self._degrees.sample(labels)
        sides = [NodeLists(store, self._degrees.stored(kind), vertices) for kind in (one, other)]
        ways = weights * sides[0].degrees * sides[1].degrees
        sums = np.cumsum(ways)
        total = float(sums[-1]) if len(sums) else 0.0
        rows = store.fewer(most) if total else 0
        random = np.random.default_rng(_SEED)
        at = np.searchsorted(sums, (np.arange(rows) + random.random(rows)) * (total / max(rows, 1)), side="right")
        at = np.minimum(at, len(vertices) - 1)
        (first, place, local), (last, place2, local2) = (side.picked(at, random) for side in sides)
        fits = have_labels(self._store, first, one.labels) & have_labels(self._store, last, other.labels)
        if apart:
            fits &= (first != last) | ((place != place2) & (apart == "relationships"))
        kept = np.flatnonzero(fits)
        elements: _Elements = {
            "first": (first[kept], store.node_property),
            "middle": (vertices[at[kept]].astype(np.int64), store.node_property),
            "last": (last[kept], store.node_property),
        }
        for name, kind, ids in (("to_first", one, local), ("to_last", other, local2)):
            index = store.type_index(kind.types[0]) if len(kind.types) == 1 else None
            if index is not None:
                elements[name] = ids[kept], partial(store.relationship_property, index)
        return Sample(elements, len(kept), total * len(kept) / max(rows, 1))

    def _nodes(self, labels: LabelExpr | None, most: int) -> Sample:
        ranges = self._store.label_ranges(labels).astype(np.int64)
        ends = np.cumsum(ranges[:, 1] - ranges[:, 0])
        total = int(ends[-1]) if len(ends) else 0
        places = _places(total, most)
        at = np.searchsorted(ends, places, side="right")
        ids = places - (ends[at] - ranges[at, 1]) if len(ends) else places
        return Sample({"node": (ids, self._store.node_property)}, len(ids), float(total))

    def _relationships(self, type: str, source: Labels, target: Labels, both: bool, most: tuple[int, int]) -> Sample:
        """``most``: relationships to draw, and rows to keep."""
        store = self._store
        index = store.type_index(type)
        assert index is not None
        total = store.types[index].count * (2 if both else 1)
        drawn, kept_rows = map(store.fewer, most)
        local = _places(store.types[index].count, drawn)
        start, end = store.endpoints(store.types[index].base + local)
        if both:
            local, start, end = np.tile(local, 2), np.concatenate((start, end)), np.concatenate((end, start))
        kept = np.flatnonzero(have_labels(self._store, start, source) & have_labels(self._store, end, target))
        return self._joined(index, local, (start.astype(np.int64), end.astype(np.int64)), kept, float(total), kept_rows)

    def _joined(
        self, index: int, local: Array, ends: tuple[Array, Array], kept: Array, total: float, most: int
    ) -> Sample:
        """Return the sample of those relationships drawn from ``total`` that are ``kept``, at ``most`` so many."""
        total *= len(kept) / max(1, len(local))
        kept = kept[_places(len(kept), most)]
        start, end = ends
        return Sample(
            {
                "start": (start[kept], self._store.node_property),
                "relationship": (local[kept], lambda key: self._store.relationship_property(index, key)),
                "end": (end[kept], self._store.node_property),
            },
            len(kept),
            total,
        )


def have_labels(store: GraphStore, ids: Array, labels: Labels) -> Array:
    """Return which vertices have some labels: bool."""
    if labels is None:
        return np.ones(len(ids), np.bool_)
    return in_ranges(ids, store.label_ranges(expression(labels)))


def _places(size: int, most: int) -> Array:
    """Return places below ``size``, ascending: all, or one in each of ``most`` equally long parts."""
    if size <= most:
        return np.arange(size)
    begins = np.arange(most + 1, dtype=np.int64) * size // most
    return begins[:-1] + (np.random.default_rng(_SEED).random(most) * np.diff(begins)).astype(np.int64)
