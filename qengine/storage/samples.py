"""Samples of nodes and relationships with their properties: what conditions admit together, and along a relationship.

They are drawn when first asked for, at places that are always the same, and kept; a column of a sample is read when a
condition first asks for it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from qengine._lru import LruCache
from qengine.catalog.view import Incidence
from qengine.plan.pattern import Direction, LabelExpr, LabelIs
from qengine.storage.arrays import Array
from qengine.storage.columns import PropertyColumn, is_ordered
from qengine.storage.joint_degrees import JointDegrees
from qengine.temporal.arrow import to_values

if TYPE_CHECKING:
    from qengine.storage.store import GraphStore

__all__ = ["Sample", "SampledColumn", "Samples"]

_ROWS = 4096
_DRAWN = 4 * _ROWS  # relationships of a type, of which those between two labels are kept; pairs of them that meet
_EVERY = 1 << 17  # nodes: of so many all are looked at where conditions leave few
_MANY = 1 << 16  # relationships, likewise
_MOST = 256  # samples that are kept
_EXACT = 1 << 53  # integers up to which floats have all
_ARROW = {"=": pc.equal, "<>": pc.not_equal, "<": pc.less, "<=": pc.less_equal, ">": pc.greater, ">=": pc.greater_equal}
_SEED = 29


class SampledColumn:
    """One property of a sample's rows, by an Arrow array or by ``values``, ``codes`` and ``numbers``; ``kind``: its type.

    What conditions don't ask for isn't made.
    """

    def __init__(
        self, kind: Any, array: Any = None, coded: tuple[list[Any], Array] | None = None, numbers: Array | None = None
    ) -> None:
        self.kind = kind
        self._array = array
        if coded is not None:
            self._coded = coded
            self.numbers = numbers

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays; values aside."""
        made = [self.__dict__.get("numbers"), self.__dict__.get("_coded", (None, None))[1], self._array]
        return sum(each.nbytes for each in made if each is not None)

    @property
    def values(self) -> list[Any]:
        """The different values, ascending."""
        return self._coded[0]

    @property
    def codes(self) -> Array:
        """Each row's place among the values, -1 for null: int32[rows]."""
        return self._coded[1]

    @cached_property
    def _coded(self) -> tuple[list[Any], Array]:
        encoded = self._array.dictionary_encode()
        order = pc.array_sort_indices(encoded.dictionary)
        rank = np.empty(len(order) + 1, np.int32)
        rank[order.to_numpy()] = np.arange(len(order))
        rank[-1] = -1
        codes = rank[encoded.indices.fill_null(len(order)).to_numpy()]
        return to_values(encoded.dictionary.take(order)), codes

    @cached_property
    def numbers(self) -> Array | None:
        """float64[rows] where the values are numbers, NaN for null; else None."""
        if not (pa.types.is_integer(self.kind) or pa.types.is_floating(self.kind)):
            return None
        numbers: Array = self._array.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy()
        return numbers

    @cached_property
    def missing(self) -> Array:
        """Which rows have no value: bool[rows]."""
        if self._array is None:
            return self.codes < 0
        nulls: Array = self._array.is_null().to_numpy(zero_copy_only=False)
        return nulls

    @cached_property
    def complete(self) -> bool:
        """Whether each row has a value."""
        return not self.missing.any()

    @cached_property
    def _exact(self) -> bool:
        """Whether ``numbers`` hold all values as they are."""
        if self.numbers is None:
            return False
        return pa.types.is_floating(self.kind) or not (np.abs(self.numbers) > _EXACT).any()

    def compare(self, op: str, value: Any) -> Array | None:
        """Return of which rows ``row OP value`` is true: bool[rows]; None where values can't be compared."""
        if isinstance(value, int | float) and not isinstance(value, bool):
            if self._exact or (self.numbers is not None and isinstance(value, float)):
                return self.present(_compared(op, self.numbers, value))
        elif isinstance(value, str) and "_coded" not in self.__dict__ and pa.types.is_string(self.kind):
            found = _ARROW[op](self._array, value).fill_null(False)
            return np.asarray(found.to_numpy(zero_copy_only=False))
        if not self.values:
            return np.zeros(len(self.codes), np.bool_)
        if type(value) is not type(self.values[0]):
            return None
        low, high = bisect_left(self.values, value), bisect_right(self.values, value)
        match op:
            case "<" | ">=":
                found = self.codes < low
            case "<=" | ">":
                found = self.codes < high
            case _ if low == high:
                found = np.zeros(len(self.codes), np.bool_)
            case _:
                found = self.codes == low
        return self.present(~found if op in (">", ">=", "<>") else found)

    def against(self, op: str, other: SampledColumn) -> Array | None:
        """Return of which rows ``row OP row of other`` is true; None where that can't be told."""
        if self.numbers is not None and other.numbers is not None:
            found: Array = _compared(op, self.numbers, other.numbers)
        elif self.values is other.values:
            found = _compared(op, self.codes, other.codes)
        elif self.kind != other.kind:
            return None
        elif op in ("=", "<>"):
            found = _compared(op, self.keys, other.keys)
        else:
            places = np.array([bisect_left(self.values, each) for each in other.values] or [0], np.int64)
            same = np.array([at < len(self.values) and self.values[at] == each
                             for at, each in zip(places.tolist(), other.values, strict=False)] or [False])  # fmt: skip
            theirs = 2 * places[other.codes] - ~same[other.codes]  # between two of ours where it is none of them
            found = _compared(op, 2 * self.codes, theirs)
        return self.present(other.present(found))

    @cached_property
    def keys(self) -> Array:
        """A number for each row that is equal where values are."""
        return np.array([hash(each) for each in self.values] or [0], np.int64)[self.codes]

    def present(self, found: Array) -> Array:
        """Return which of the rows found have a value."""
        return found if self.complete else found & ~self.missing

    def where(self, holds: Callable[[Any], bool]) -> Array:
        """Return for which rows a test of the value is true."""
        known = np.array([holds(each) for each in self.values] or [False], np.bool_)
        return self.present(known[self.codes])

    def mapped(self, function: Callable[[Any], Any]) -> SampledColumn:
        """Return the column of what a function gives for each value; see ``catalog.view.SampledColumn``."""
        given = [function(each) for each in self.values]
        values = sorted(set(given))
        places = {each: place for place, each in enumerate(values)}
        codes = np.array([places[each] for each in given] + [-1], np.int32)[self.codes]
        numbers = None
        if values and isinstance(values[0], int):
            numbers = np.array([*values, np.nan])[codes]
        return SampledColumn(self.kind if numbers is None else pa.int64(), None, (values, codes), numbers)

    def at(self, rows: Array) -> SampledColumn:
        """Return the column of some rows."""
        numbers = None if self.numbers is None else self.numbers[rows]
        return SampledColumn(self.kind, None, (self.values, self.codes[rows]), numbers)


class Sample:
    """Nodes, or relationships with their ends; ``size``: how many rows there are, perhaps all that exist."""

    def __init__(
        self,
        elements: dict[str, tuple[Array, Callable[[str], PropertyColumn | None]]],
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

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that are kept; values aside."""
        columns = [each for each in list(self._columns.values()) if each is not None]
        found = sum(ids.nbytes for ids, _ in self._elements.values())
        found += sum(each.nbytes for each in columns)
        return int(found + sum(each.nbytes for each in list(self._shuffled.values())))

    def column(self, element: str, key: str) -> SampledColumn | None:
        """Return a property of an element, None where its values can't be compared."""
        known = element, key
        if known not in self._columns:
            ids, find = self._elements[element]
            self._columns[known] = _sampled(find(key), ids)
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
        return _Picked(self, left), _Picked(other, right), np.where(same, min(self.size / self.total, other.size / other.total), 1.0)


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
    """The samples of one graph, by label, and by type with the labels of both ends."""

    def __init__(self, store: GraphStore, degrees: JointDegrees) -> None:
        self._store = store
        self._degrees = degrees
        self._known: LruCache[Sample] = LruCache(_MOST)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays of all samples that are kept."""
        return sum(sample.nbytes for _, sample in self._known.items())

    def nodes(self, labels: LabelExpr | None, every: bool = False) -> Sample | None:
        """Return a sample of the nodes that satisfy a label expression; ``every``: of all, None where that's too many."""
        few = self._known.get(("node", labels, False), lambda: self._nodes(labels, self._store.fewer(_ROWS)))
        if not every or few.size == few.total:
            return few
        if few.total > self._store.fewer(_EVERY):
            return None
        return self._known.get(("node", labels, True), lambda: self._nodes(labels, _EVERY))

    def relationships(self, type: str, source: str | None, target: str | None, both: bool, many: bool) -> Sample:
        """Return a sample of a type's relationships from ``source`` to ``target`` (None: all).

        ``both``: of either direction; "start" then is the end with label ``source``. ``many``: a large one.
        """
        few = self._known.get(
            (type, source, target, both, False), lambda: self._relationships(type, source, target, both, (_DRAWN, _ROWS))
        )
        if not many or few.size == few.total:
            return few
        return self._known.get(
            (type, source, target, both, True), lambda: self._relationships(type, source, target, both, (_MANY, _MANY))
        )

    def at_nodes(self, type: str, nodes: Array, element: str, other: str | None, both: bool) -> Sample:
        """Return a sample of the relationships that nodes (ids, int64) have, as ``element`` ("start" or "end").

        ``other``: the label of the other ends, None for all. Not kept.
        """
        store = self._store
        index = store.type_index(type)
        assert index is not None
        kind = Incidence((type,), both or element == "start", both or element == "end", other)
        lists = _Lists(store, list(self._degrees.stored(kind)), nodes.astype(np.uint32))
        total = int(lists.degrees.sum())
        near, far, local = lists.spread(_places(total, store.fewer(_DRAWN)))
        ends_of = (nodes[near], far) if element == "start" else (far, nodes[near])
        kept = np.flatnonzero(self._labelled(far, other))
        return self._joined(index, local, ends_of, kept, float(total), store.fewer(_ROWS))

    def wedges(self, label: str | None, one: Incidence, other: Incidence, apart: str) -> Sample:
        """Return a sample of two relationships that meet at a node; see ``CatalogView.wedge_sample``."""
        return self._known.get((label, one, other, apart), lambda: self._wedges(label, one, other, apart))

    def _wedges(self, label: str | None, one: Incidence, other: Incidence, apart: str) -> Sample:
        store = self._store
        vertices, weights = self._degrees.sample(label)
        sides = [_Lists(store, list(self._degrees.stored(kind)), vertices) for kind in (one, other)]
        ways = weights * sides[0].degrees * sides[1].degrees
        sums = np.cumsum(ways)
        total = float(sums[-1]) if len(sums) else 0.0
        rows = store.fewer(_DRAWN) if total else 0
        random = np.random.default_rng(_SEED)
        at = np.searchsorted(sums, (np.arange(rows) + random.random(rows)) * (total / max(rows, 1)), side="right")
        at = np.minimum(at, len(vertices) - 1)
        (first, place, local), (last, place2, local2) = (side.picked(at, random) for side in sides)
        kept = self._labelled(first, one.label) & self._labelled(last, other.label)
        if apart:
            kept &= (first != last) | ((place != place2) & (apart == "relationships"))
        kept = np.flatnonzero(kept)
        elements = {
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

    def _relationships(
        self, type: str, source: str | None, target: str | None, both: bool, most: tuple[int, int]
    ) -> Sample:
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
        kept = np.flatnonzero(self._labelled(start, source) & self._labelled(end, target))
        return self._joined(index, local, (start.astype(np.int64), end.astype(np.int64)), kept, float(total), kept_rows)

    def _joined(
        self, index: int, local: Array, ends: tuple[Array, Array], kept: Array, total: float, most: int
    ) -> Sample:
        """Return the sample of some of the relationships drawn from ``total``, at ``most`` so many that are ``kept``."""
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

    def _labelled(self, ids: Array, label: str | None) -> Array:
        if label is None:
            return np.ones(len(ids), np.bool_)
        inside = np.zeros(len(ids), np.bool_)
        for low, high in self._store.label_ranges(LabelIs(label)).tolist():
            inside |= (ids >= low) & (ids < high)
        return inside


class _Lists:
    """The lists that nodes (uint32) have in some stored adjacencies, one after the other; ``degrees``: float64."""

    def __init__(self, store: GraphStore, stored: list[tuple[int, Direction]], nodes: Array) -> None:
        self._lists = [(way, store.adjacency(index, way)) for index, way in stored]
        located = [each.locate_all(nodes) for _, each in self._lists]
        shape = len(stored), len(nodes)
        self._begins = np.array([each[0] for each in located], np.int64).reshape(shape)
        self._lengths = np.array([each[1] for each in located], np.int64).reshape(shape) - self._begins
        self.degrees = self._lengths.sum(axis=0).astype(np.float64)

    def spread(self, drawn: Array) -> tuple[Array, Array, Array]:
        """Return of some entries, counted through all lists of each node, whose they are, the other end, and their id."""
        sums = np.cumsum(self.degrees).astype(np.int64)
        at = np.searchsorted(sums, drawn, side="right")
        far, _, local = self._entries(at, drawn - (sums[at] - self.degrees[at].astype(np.int64)))
        return at, far, local

    def picked(self, at: Array, random: np.random.Generator) -> tuple[Array, Array, Array]:
        """Return an entry of each of some nodes, by their places: the other end, where it stands, its id."""
        return self._entries(at, (random.random(len(at)) * self.degrees[at]).astype(np.int64))

    def _entries(self, at: Array, rank: Array) -> tuple[Array, Array, Array]:
        far, place, local = (np.zeros(len(at), np.int64) for _ in range(3))
        for number, (way, each) in enumerate(self._lists):
            length = self._lengths[number, at]
            rows = np.flatnonzero((rank >= 0) & (rank < length))
            here = self._begins[number, at[rows]] + rank[rows]
            far[rows], place[rows] = each.neighbours[here], here * len(self._lists) + number
            if each.edge_ids is not None or way is Direction.OUT:  # else it has no properties
                local[rows] = here if each.edge_ids is None else each.edge_ids[here]
            rank = rank - length
        return far, place, local


def _places(size: int, most: int) -> Array:
    """Return places below ``size``, ascending: all, or one in each of ``most`` equally long parts."""
    if size <= most:
        return np.arange(size)
    begins = np.arange(most + 1, dtype=np.int64) * size // most
    return begins[:-1] + (np.random.default_rng(_SEED).random(most) * np.diff(begins)).astype(np.int64)


def _sampled(column: PropertyColumn | None, ids: Array) -> SampledColumn | None:
    if column is None:
        return SampledColumn(pa.null(), pa.nulls(len(ids)), ([], np.full(len(ids), -1, np.int32)))
    array = column.take(ids)
    return SampledColumn(array.type, array) if is_ordered(array.type) else None


def _compared(op: str, left: Any, right: Any) -> Array:
    match op:
        case "=":
            found = left == right
        case "<>":
            found = left != right
        case "<":
            found = left < right
        case "<=":
            found = left <= right
        case ">":
            found = left > right
        case _:
            found = left >= right
    return np.asarray(found)
