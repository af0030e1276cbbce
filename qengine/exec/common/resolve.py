"""Resolves a physical ``Search`` against a graph: names become id ranges, lists, bitsets and columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from qengine._frozen import frozen, replace
from qengine.errors import InternalError
from qengine.exec.common.constant_conditions import Bounds, FewVisits, column_kind
from qengine.exec.common.lists_read import lists_read, type_indices
from qengine.exec.common.match_plan import (
    COMPARISONS,
    NO_SPAN,
    ColumnKind,
    CompareOp,
    EdgeWay,
    LevelKind,
    PlanTables,
    SearchMode,
    SourceFlag,
    Span,
    span,
)
from qengine.exec.common.merged_lists import MANY, SEVERAL, merged_edges, merged_neighbours
from qengine.exec.common.on_device import OnDevice
from qengine.exec.common.operator_cache import PerOperatorCache
from qengine.exec.common.property_texts import TextProperty
from qengine.exec.view import ExecView, MaskProvider
from qengine.plan.access import FEW
from qengine.plan.differing import level_differs
from qengine.plan.expr import Expr
from qengine.plan.pattern import Direction
from qengine.plan.physical import ColumnCondition, EdgeLevel, Level, Search, SearchPart, VertexLevel, check_levels
from qengine.plan.shares import Share
from qengine.storage.adjacency import Adjacency
from qengine.storage.arrays import MANY_RANGES, address_of

_WITHIN = int(SourceFlag.WITHIN)

_HELD = 1 << 20
"""Bytes of marked vertices up to which a resolved search is remembered."""

_resolved: dict[tuple[bool, bool], PerOperatorCache[ResolvedSearch | None]] = {
    (merged, few): PerOperatorCache() for merged in (False, True) for few in (False, True)
}
"""A cached plan runs again without resolving names; by whether it reads merged lists, and tests conditions itself."""


_WAYS = {Direction.OUT: EdgeWay.FORWARD, Direction.IN: EdgeWay.BACKWARD, Direction.BOTH: EdgeWay.EITHER}


@frozen
class ResolvedSearch:
    """A plan that the native search takes.

    ``plan``: one ``match_plan.PLAN`` record. ``tables``: what it points to, in the order of its fields. ``keep``: the
    arrays that the tables point into. ``outputs``: names of its output columns. ``summed``: no level is enumerated, so
    that the result is a count for each input row. ``lists``: the places of its lists, by type and direction.
    ``reusable``: it is remembered, since it holds for every execution. ``listed``: the places of levels that have other
    vertices in each, found by indexes; without them it is remembered, too.
    """

    plan: npt.NDArray[Any]
    tables: tuple[npt.NDArray[Any], ...]
    keep: tuple[Any, ...]
    outputs: tuple[str, ...]
    mode: SearchMode
    summed: bool
    lists: Mapping[tuple[int, Direction], int]
    reusable: bool = False
    listed: tuple[int, ...] = ()

    @property
    def lent(self) -> tuple[OnDevice, ...]:
        """The arrays that are on a device, for one execution."""
        return tuple(each for each in self.keep if isinstance(each, OnDevice))

    @property
    def held(self) -> int:
        """Bytes of the arrays of vertices and relationships that predicates admit."""
        return sum(each.nbytes for each in self.keep if isinstance(each, np.ndarray))


def resolve(
    store: ExecView, search: Search, masks: MaskProvider, *, merged: bool = False, few: FewVisits | None = None
) -> ResolvedSearch | None:
    """Return the plan for ``search`` over a ``GraphStore``; None where a level can have no vertex at all.

    ``merged``: many lists that a vertex may have are read as one (``exec.common.merged_lists``), which only the native
    search depth first does. ``few``: that it looks at few elements, and tests conditions on them itself.

    Raises
    ------
    Unsupported
        If the pattern has more than ``MAX_LEVELS`` nodes and relationships.
    """
    check_levels(len(search.levels))
    new = False

    def find() -> tuple[ResolvedSearch | None, bool]:
        nonlocal new
        new = True
        resolver = _Resolver(store, search, masks, merged, few)
        resolved = resolver.run()
        differ = tuple(place for place, level in enumerate(search.levels) if level_differs(level))
        if resolved is None:
            return None, not differ
        again = not differ or (resolver.listed.issuperset(differ) and not isinstance(search, SearchPart))
        keep = again and resolved.held <= _HELD and not resolved.lent
        return replace(resolved, reusable=not differ, listed=differ) if keep else resolved, keep

    resolved = _resolved[merged, few is not None].get(store, search, find)
    if new or resolved is None or not resolved.listed:
        return resolved
    again = _listed_again(resolved, store, search, masks)
    return find()[0] if again is None else again[0]


def _listed_again(
    resolved: ResolvedSearch, store: ExecView, search: Search, masks: MaskProvider
) -> tuple[ResolvedSearch | None] | None:
    """Return a plan with the vertices that indexes find in this execution, or None in its place where these are none.

    None where an index finds too many now.
    """
    levels, keep = resolved.tables[0].copy(), list(resolved.keep)
    for place in resolved.listed:
        level = search.levels[place]
        assert isinstance(level, VertexLevel)
        found = masks.vertex_list(level, store.label_ranges(level.labels).tolist())
        if found is None:
            return None
        if not len(found):
            return (None,)
        keep.append(found.astype(np.uint32))
        levels["candidates"][place], levels["n_candidates"][place] = address_of(keep[-1]), len(found)
    plan = resolved.plan.copy()
    plan["levels"] = address_of(levels)
    return (replace(resolved, plan=plan, tables=(levels, *resolved.tables[1:]), keep=tuple(keep)),)


class _Resolver:
    def __init__(
        self, store: ExecView, search: Search, masks: MaskProvider, merged: bool, few: FewVisits | None
    ) -> None:
        self.store = store
        self.search = search
        self.masks = masks
        self.merged = merged
        self.few = few
        self.tables = PlanTables()
        self.listed: set[int] = set()  # places of levels whose vertices indexes find
        self.list_index: dict[tuple[int, Direction], int] = {}
        self.sources: dict[tuple[tuple[str, ...], Direction], tuple[int, Span, int, int] | None] = {}

    def run(self) -> ResolvedSearch | None:
        search = self.search
        names = [level.name for level in search.levels]
        outputs = tuple(name for name in search.emit if name not in names[: search.seeds])
        column = {name: k for k, name in enumerate(outputs)}
        for index, level in enumerate(search.levels):
            output = column.get(level.name, -1) if index >= search.seeds else -1
            if isinstance(level, EdgeLevel):
                self.tables.levels.append(self.edge_level(level, index, output))
            else:
                resolved = self.vertex_level(level, index, output)
                if resolved is None:
                    return None
                self.tables.levels.append(resolved)
        enumerated = 1 + max((names.index(name) for name in outputs), default=-1)
        enumerated = max(enumerated, search.seeds)
        mode = SearchMode.EXISTS if search.exists else SearchMode.COUNT if search.count else SearchMode.ROWS
        summed = enumerated == search.seeds
        plan, tables = self.tables.plan(search.seeds, enumerated, mode, len(outputs), search.strategy == "extend")
        return ResolvedSearch(plan, tables, tuple(self.tables.keep), outputs, mode, summed, self.list_index)

    def vertex_level(self, level: VertexLevel, index: int, output: int) -> tuple[Any, ...] | None:
        ranges = self.store.label_ranges(level.labels).tolist()
        part = self.search if isinstance(self.search, SearchPart) and level is self.search.levels[0] else None
        bitset = candidates = n_candidates = begin = 0
        tested: list[Bounds] = []
        if level.predicates and ranges:
            begin = ranges[0][0]
            found = self.masks.vertex_list(level, ranges) if level.access else None
            listed: Any = None if found is None else found.astype(np.uint32)
            end, predicates = ranges[-1][1], level.predicates
            if listed is None and level.sources:
                tested, predicates = self.tested(level, sum(high - low for low, high in ranges), (None,))
            mask = None
            if listed is None and (predicates or not tested):
                mask = self.masks.mask_within(level.name, predicates, ranges, begin, end)
            if mask is not None:
                few = self.masks.count(mask) * FEW <= len(mask)
                listed = self.masks.places(mask, begin) if few or not level.sources else None
                if few and level.access:
                    self.masks.scanned(level)
            if found is not None and part is None:
                self.listed.add(index)
            if listed is not None and not len(listed):
                return None
            if listed is not None:
                candidates, n_candidates = self.hold(listed), len(listed)
            elif mask is not None:
                bitset = self.hold(self.masks.bits(mask))
        if part is not None and part.share.round > 1 and ranges:
            roots = _share_of(self.tables.keep[-1] if candidates else None, ranges, part.share)
            if not len(roots):
                return None
            candidates, n_candidates = self.hold(roots), len(roots)
        if len(ranges) > MANY_RANGES:
            begin, end = ranges[0][0], ranges[-1][1]
            if not bitset and not candidates:
                bitset = self.hold(self.masks.bits(self.masks.mask_within(level.name, (), ranges, begin, end)))
            ranges = [[begin, end]]  # the bits, or the list, tell the vertices
        sources = []
        for source in level.sources:
            known = self.source_lists(source.types, source.direction)
            if known is None:
                return None
            flags, lists, first, behind = known
            if any(low <= first and behind <= high for low, high in ranges):  # every neighbour is in one range
                flags |= _WITHIN
            sources.append((source.level, flags, lists))
        if not ranges:
            return None
        tables = self.tables
        return (
            LevelKind.VERTEX,
            output,
            span(tables.sources, sources),
            span(tables.ranges, [(low, high) for low, high in ranges]),
            tables.level_span(level.different),
            tables.level_span(level.less),
            tables.level_span(level.greater),
            span(tables.pairs, level.pairs),
            self.conditions(level.conditions, index, tested),
            NO_SPAN,
            -1,
            -1,
            bitset,
            candidates,
            n_candidates,
            begin,
            0,
        )

    def edge_level(self, level: EdgeLevel, place: int, output: int) -> tuple[Any, ...]:
        types = []
        indices = type_indices(self.store, level.types)
        if self.merged and len(indices) >= MANY and not level.predicates:
            types, indices = self.merged_types(level, indices), ()
        counts = [self.store.types[index].count for index in indices]
        tested, predicates = self.tested(level, sum(counts), indices)
        for index in indices:
            way = self.way(level, index)
            info = self.store.types[index]
            bitset = 0
            if predicates:
                mask = self.masks.edge_mask(level.name, predicates, index, 0, info.count)
                bitset = self.hold(self.masks.bits(mask))
            into = self.list_index.get((index, Direction.IN), -1)
            types.append((self.list_of(index, Direction.OUT), int(way), info.base, bitset, into, 0))
        tables = self.tables
        return (
            LevelKind.EDGE,
            output,
            NO_SPAN,
            NO_SPAN,
            tables.level_span(level.different),
            NO_SPAN,
            NO_SPAN,
            NO_SPAN,
            self.conditions(level.conditions, place, tested),
            span(tables.types, types),
            level.start,
            level.end,
            0,
            0,
            0,
            0,
            0,
        )

    def way(self, level: EdgeLevel, index: int) -> EdgeWay:
        return EdgeWay.EITHER if self.store.types[index].undirected else _WAYS[level.direction]

    def merged_types(self, level: EdgeLevel, indices: Sequence[int]) -> list[tuple[int, ...]]:
        """Return a record for all types that are read the same way: their lists have ids of relationships."""
        ways: dict[EdgeWay, list[int]] = {}
        for index in indices:
            ways.setdefault(self.way(level, index), []).append(index)
        lists = {way: self.place_of(merged_edges(self.store, types)) for way, types in ways.items()}
        return [(place, int(way), 0, 0, -1, 0) for way, place in lists.items()]

    def source_lists(self, types: tuple[str, ...], direction: Direction) -> tuple[int, Span, int, int] | None:
        """Return what the source's lists may hold, the lists, and the range of ids in them; None if it has none."""
        key = (types, direction)
        if key not in self.sources:
            self.sources[key] = self.find_source_lists(types, direction)
        return self.sources[key]

    def find_source_lists(self, types: tuple[str, ...], direction: Direction) -> tuple[int, Span, int, int] | None:
        read = lists_read(self.store, types, direction)
        parts, flags = read.parts, read.flags
        if not parts:
            return None
        if self.merged and len(parts) >= SEVERAL:
            whole = merged_neighbours(self.store, parts)
            flags &= ~int(SourceFlag.REPEATS)
            return flags, span(self.tables.list_ids, [self.place_of(whole)]), *whole.reach
        lists = [self.list_of(index, way) for index, way in parts]
        reaches = [self.store.adjacency(index, way).reach for index, way in parts]
        first, behind = min(low for low, _ in reaches), max(high for _, high in reaches)
        return flags, span(self.tables.list_ids, lists), first, behind

    def list_of(self, type_index: int, direction: Direction) -> int:
        key = (type_index, direction)
        if key not in self.list_index:
            self.list_index[key] = self.place_of(self.store.adjacency(type_index, direction))
        return self.list_index[key]

    def place_of(self, lists: Adjacency) -> int:
        """Add lists to the plan; return their place."""
        struct = lists.struct
        self.tables.keep.append(struct)
        self.tables.lists.append(bytes(struct))
        return len(self.tables.lists) - 1

    def tested(self, level: Level, elements: int, types: Sequence[int | None]) -> tuple[list[Bounds], tuple[Expr, ...]]:
        """Return what the search tests of so many elements, nodes or those of some types; and the other predicates."""
        if self.few is None or not self.few.spares(elements):
            return [], level.predicates

        def types_of(key: str) -> list[Any]:
            found = (self.property(index, key) for index in types)
            return [column.arrow_type for column in found if column is not None]

        return self.few.bounds(level.name, level.predicates, types_of)

    def property(self, index: int | None, key: str) -> Any:
        """Return the column of a property, of nodes or of a type's relationships."""
        return self.store.node_property(key) if index is None else self.store.relationship_property(index, key)

    def conditions(self, conditions: tuple[ColumnCondition, ...], own: int, tested: Sequence[Bounds]) -> Span:
        """Add the conditions of a level; ``own``: its place."""
        if not (conditions or tested):
            return NO_SPAN
        found = [
            (
                int(COMPARISONS[each.op]),
                each.left,
                each.right,
                0,
                self.columns(each.left, each.left_key),
                self.columns(each.right, each.right_key),
            )
            for each in conditions
        ]
        within = int(CompareOp.BETWEEN)
        found += [(within, own, own, 0, self.columns(own, each.key), self.bounds(each)) for each in tested]
        return span(self.tables.conditions, found)

    def bounds(self, bounds: Bounds) -> Span:
        """Add a column that holds the numbers between which those of elements must lie."""
        low, high = bounds.low, bounds.high
        numbers = np.array([low, high] if low <= high else [1, 0], np.int64)
        return span(self.tables.columns, [(0, 0, self.hold(numbers), 0, 0, int(ColumnKind.INT64), 0)])

    def columns(self, level: int, key: str) -> Span:
        """Add the columns that hold a level's property: one of the nodes, one for each type of relationships."""
        element = self.search.levels[level]
        if isinstance(element, VertexLevel):
            found = self.column(0, self.store.node_property(key), (key,))
        else:
            found = []
            for index in type_indices(self.store, element.types):
                column = self.store.relationship_property(index, key)
                found += self.column(self.store.types[index].base, column, (index, key))
        return span(self.tables.columns, found)

    def column(
        self, base: int, column: Any, key: tuple[int | str, ...]
    ) -> list[tuple[int, int, int, int, int, int, int]]:
        """Return the records of a property column whose ids start at ``base``; none where all is null.

        Strings are compared by their ranks. ``key`` names the column in the graph's cache.
        """
        if column is None or pa.types.is_null(column.arrow_type):
            return []
        is_text = pa.types.is_string(column.arrow_type) or pa.types.is_large_string(column.arrow_type)
        runs = [(column.begin, TextProperty(self.store, column, key).ranks())] if is_text else column.runs()
        if not runs:
            return []
        read = column_kind(runs[0][1].type)
        if read is None:
            raise InternalError(f"A search compares numbers or strings, not {column.arrow_type}.")
        kind, width = read
        found = []
        for begin, array in runs:
            validity, values = array.buffers()
            self.tables.keep.append(array)
            where = values.address + width * array.offset if len(array) else 0
            valid = validity.address if validity is not None else 0
            ids = base + begin, base + begin + len(array)
            found.append((*ids, where, valid, array.offset, int(kind), 0))
        return found

    def hold(self, array: npt.NDArray[Any] | OnDevice) -> int:
        """Keep an array alive and return its address."""
        self.tables.keep.append(array)
        return array.address if isinstance(array, OnDevice) else address_of(array)


def _share_of(
    ids: npt.NDArray[np.uint32] | None, ranges: Sequence[Sequence[int]], share: Share
) -> npt.NDArray[np.uint32]:
    """Return a share of some ids, of all in the ranges ``[low, high)`` where none are given: uint32, ascending.

    Takes time by what is returned.
    """
    sizes = np.array([high - low for low, high in ranges] if ids is None else [len(ids)], np.int64)
    behind = np.cumsum(sizes)
    begins = np.arange(share.begin, behind[-1] if len(sizes) else 0, share.round)
    places = (begins[:, None] + np.arange(share.taken)).ravel()
    places = places[: np.searchsorted(places, behind[-1])] if len(places) else places
    if ids is not None:
        return ids[places]
    of = np.searchsorted(behind, places, side="right")
    lows = np.array([low for low, _ in ranges], np.int64)
    return (places - (behind - sizes)[of] + lows[of]).astype(np.uint32)
