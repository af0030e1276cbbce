"""``AggregateEntries``: aggregates of vertices or relationships, folded as stored lists are read; no row is made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from qengine._frozen import frozen, replace
from qengine.errors import ExecutionError, OutOfMemory
from qengine.exec.common.batch import BATCH_ROWS, LONG_ROWS, Batch, concatenate_batches
from qengine.exec.common.batch_parts import by_parts, pieces
from qengine.exec.common.carried_values import carried_by_value
from qengine.exec.common.columns import (
    Column,
    ConstantColumn,
    IntArray,
    NodeColumn,
    RelationshipColumn,
    concatenate,
    null_column,
)
from qengine.exec.common.dealing import computed, deal, greatest, part_size
from qengine.exec.common.element_columns import FLOATS, INTEGERS, Borne, Elements, Numbers, elements_of
from qengine.exec.common.expressions.compiler import compile_expression
from qengine.exec.common.fold_plan import Condition, EntryLists
from qengine.exec.common.match_plan import COMPARISONS
from qengine.exec.common.operators.aggregate_by_node import counts_of_all
from qengine.exec.common.operators.aggregation import Aggregation, counted_call
from qengine.exec.common.operators.folded import Bindings, Folded, FoldedGroups, FoldMaker
from qengine.exec.common.operators.folded_rows import DEVICE_ROWS
from qengine.exec.common.operators.single_rows import single_calls, tells_apart
from qengine.exec.common.operators.stage import ROW, Build, Stage
from qengine.exec.common.operators.sums_beyond import SumsBeyond, columns_at
from qengine.exec.common.property_texts import TextProperty
from qengine.exec.common.vertex_scan import scanned_vertices
from qengine.exec.context import ExecutionContext
from qengine.exec.memory import Holding
from qengine.exec.spill.given_back import give_back
from qengine.exec.view import MaskProvider
from qengine.plan import physical
from qengine.plan.columns import columns_of
from qengine.plan.expr import AggregateCall, Expr, Variable
from qengine.plan.folding import ENTRY, GATHERED, beyond, column_beyond, entry_levels, folded_variables, ignores_repeats
from qengine.plan.logical import Aggregate, Operator
from qengine.plan.pattern import Direction
from qengine.plan.physical import ColumnCondition, EdgeLevel, VertexLevel
from qengine.plan.traverse import free_variables
from qengine.types import INTEGER, NODE

if TYPE_CHECKING:
    from qengine.exec.common.runtime import Runtime
    from qengine.storage.store import EdgeType

_WEIGHT = "#weight"
_MOST_BITS = 48  # of what weights may add up to: sums need some beside


def aggregate_entries_stage(operator: physical.AggregateEntries, build: Build, first: int) -> Stage:
    """Emit what the aggregate below does; where its values can't be folded, what it does with rows."""
    runtime = build.runtime
    rows = build.later(operator.input, first)
    named = ((name, counted_call(call)) for name, call in operator.input.aggregates)
    grouping = Aggregation(replace(operator.input, aggregates=tuple(named)), None, runtime, whose=operator)
    levels = entry_levels(operator.search)
    assert levels is not None
    vertices = build.later(operator.search, LONG_ROWS if runtime.context.handed_on is operator else first)
    values = [build.later(each, first) for each in operator.values]

    def singly(weight: str | None, batches: Iterator[Batch], outer: Batch) -> Iterator[Batch]:
        return Aggregation(single_calls(operator.input), weight, runtime, True, operator).run(batches, outer)

    def run(outer: Batch) -> Iterator[Batch]:
        if ROW in outer.columns or (operator.core is not None and runtime.matchers is not None):
            yield from rows(outer)
            return
        on_host = runtime.matchers is None
        scanned = levels[1] is None and not operator.by_value and (on_host or runtime.memory.limit is None)
        if scanned and tells_apart(operator.input, levels[0], runtime):
            yield from singly(None, vertices(outer) if on_host else _scanned(levels[0], build), outer)
            return
        with runtime.memory.holding("AggregateEntries") as holding:
            counted = _by_vertex(operator, levels, runtime)
            entries = _Entries(counted or operator, levels, build)
            if not entries.some:
                yield from grouping.run(iter(()), outer)
                return
            why = "values are not of one kind, or not finite, or an end has several of what it carries"
            groups = None
            try:
                for by_end, stage in zip(operator.values, values, strict=True):
                    entries.give(by_end, list(stage(outer)), holding)
                entries.make(holding)
                groups = entries.groups(holding)
            except OutOfMemory:
                if runtime.memory.limit is None:
                    raise
                why = "the groups don't fit the memory"
            except ExecutionError:  # of an end, or a relationship, if not of all: rows tell
                why = "a value can't be found for each relationship, or end"
            if groups is None:
                runtime.context.note(operator, f"rows are made: {why}")
                holding.set(0)
                give_back(runtime.context)
                yield from rows(outer)
                return
            if not groups.length:
                yield from grouping.run(iter(()), outer)
                return
            if counted is None:
                yield from grouping.of_groups(groups)
            else:
                once = ignores_repeats([call for _, call in operator.input.aggregates])
                yield from singly(None if once else _WEIGHT, _counted(groups, counted.folded), outer)

    return run


def _scanned(level: VertexLevel, build: Build) -> Iterator[Batch]:
    """Yield the vertices of the only level where a device runs the query, which has nothing to do with them."""
    for column in scanned_vertices(level, build.runtime, build.masks, BATCH_ROWS):
        build.runtime.context.check()
        yield Batch(len(column), {level.name: column})


def _by_vertex(
    operator: physical.AggregateEntries,
    levels: tuple[VertexLevel, VertexLevel | None, EdgeLevel | None],
    runtime: Runtime,
) -> physical.AggregateEntries | None:
    """Return what counts the entries by the only vertex that keys and arguments read, where a key tells it from others.

    None where different values are counted of vertices that come more than once.
    """
    if levels[1] is None:
        return None
    if operator.values:
        return None
    calls = [call for _, call in operator.input.aggregates]
    names = folded_variables(operator.folded) or frozenset()
    level = next((each for each in levels[:2] if each is not None and {each.name} == names), None)
    if level is None or (any(call.distinct for call in calls) and not ignores_repeats(calls)):
        return None
    if not tells_apart(operator.input, level, runtime):
        return None
    keys = ((level.name, Variable(level.name, type=NODE)),)
    counts = ((_WEIGHT, AggregateCall("count", (), type=INTEGER)),)
    counting = replace(operator.folded, keys=keys, aggregates=counts)
    if operator.core is not None:
        return replace(operator, core=counting)
    return replace(operator, input=counting)


def _counted(groups: FoldedGroups, counted: Aggregate) -> Iterator[Batch]:
    """Yield vertices that entries were counted by, with how many each has."""
    ((name, _),) = counted.keys
    batch = Batch(groups.length, {name: groups.keys[0], _WEIGHT: groups.states[0][0]})
    for offset, length in pieces(batch.length, BATCH_ROWS):
        yield batch.slice(offset, length)


@frozen
class _Way:
    """The lists of a type in one direction, and whether their owners are the second vertex."""

    type: EdgeType
    lists: Any
    turned: bool
    skip_loops: bool


@frozen
class _Weighing:
    """By the names of ends: how often entries count, int64 a vertex; of ends that count once or not at all, which do;
    and at which other ends entries are among what an end counts.
    """

    weights: dict[str, Any]
    present: dict[str, Any]
    lessened: dict[str, Any]


def _behind(before: Borne, borne: Borne) -> Borne:
    """Return what vertices carry behind what they carry themselves."""
    at = before.ids - borne.begin
    inside = (at >= 0) & (at < len(borne.ids))
    ids = np.where(inside, borne.ids[np.where(inside, at, 0)], -1) if len(borne.ids) else np.full(len(at), -1)
    return Borne(before.bearer, before.begin, ids)


class _Entries:
    """The vertices or relationships that a search would find, one after the other."""

    def __init__(
        self,
        operator: physical.AggregateEntries,
        levels: tuple[VertexLevel, VertexLevel | None, EdgeLevel | None],
        build: Build,
    ) -> None:
        self._operator = operator
        self._build = build
        self._runtime = build.runtime
        self._first, self._second, self._edge = levels
        self._levels = [level for level in levels if level is not None]
        found = {level.name: elements_of(level, self._runtime) for level in self._levels}
        self._counts = {program.emit[0]: program for program in operator.counts}
        self._masks: MaskProvider = build.masks
        self._weighing = _Weighing({}, {}, {})
        self._sums = SumsBeyond(operator.folded, operator.others)
        self._given: dict[Expr, Column | None] = {}
        self.some = all(found.values())
        self._elements: dict[str, Elements] = {name: each for name, each in found.items() if each is not None}
        for each in operator.carried:
            beyond = elements_of(VertexLevel(each.name, each.labels), self._runtime)
            self.some &= beyond is not None
            if beyond is not None:
                self._elements[each.name] = beyond
        self._conditions = [each for level in self._levels for each in level.conditions]
        read = folded_variables(operator.folded) or frozenset()
        compared = {self._levels[at].name for each in self._conditions for at in (each.left, each.right)}
        taken = (free_variables(expr) for each in operator.others for _, expr in each.taken)
        self._names = read.union(compared, *taken)
        self._ways = list(self._found_ways()) if self.some and self._second else []
        self._relationship = ENTRY if self._edge is None else self._edge.name
        if operator.made and self._ways:
            info = self._ways[0].type
            self._elements[self._relationship] = Elements(
                self._relationship, False, ((info.base, info.base + info.count),)
            )

    def give(self, by_end: Operator, batches: list[Batch], holding: Holding) -> None:
        """Take what an aggregate of a part beyond has by one of the ends: a column of the end's elements each."""
        end, *names = columns_of(by_end)
        elements = self._elements[end]
        rows = concatenate_batches(batches) if batches else Batch(0, dict.fromkeys(names, null_column(0)))
        places = np.full(elements.end - elements.begin, rows.length, np.int64)
        if batches:
            found = rows.columns[end]
            assert isinstance(found, NodeColumn)
            inside = np.flatnonzero((found.ids >= elements.begin) & (found.ids < elements.end))
            places[found.ids[inside] - elements.begin] = inside
        columns = columns_at(rows, names, places)
        holding.add(sum(each.nbytes for each in columns.values()))
        self._given.update((beyond(end, name, INTEGER), column) for name, column in columns.items())
        args = (arg for _, call in self._operator.folded.aggregates for arg in call.args)
        self._given.update((arg, columns[name]) for arg in args if (name := column_beyond(arg)) in columns)

    def make(self, holding: Holding) -> None:
        """Evaluate what is of a relationship and its ends for all relationships, in the order of their ids."""
        if not self._operator.made:
            return
        assert self._second is not None
        (way,) = self._ways
        first, count = self._elements[self._relationship].begin, way.type.count
        vertices, begins = way.lists.list_index()
        lengths = np.diff(begins).astype(np.int64)
        if isinstance(vertices, int):
            vertices = np.arange(vertices, vertices + len(lengths))
        with self._runtime.memory.holding("AggregateEntries") as while_made:
            while_made.add(8 * count)
            owners = np.repeat(vertices.astype(np.int64, copy=False), lengths)
            owner, end = self._first.name, self._second.name
            if way.turned:
                owner, end = end, owner
            evaluate = [compile_expression(expr, self._runtime) for _, expr in self._operator.made]
            context, size = self._runtime.context, part_size(count, self._runtime.context)
            parts: dict[int, list[list[Column]]] = {}

            def evaluated(begin: int) -> None:
                context.check()
                stop = min(begin + size, count)
                columns: dict[str, Column] = {
                    owner: NodeColumn(owners[begin:stop]),
                    end: NodeColumn(way.lists.neighbours[begin:stop].astype(np.int64)),
                    self._relationship: RelationshipColumn(None, (first + begin, first + stop)),
                }
                batch = Batch(stop - begin, columns)
                parts[begin] = [
                    [column for _, column in by_parts(batch, each, self._runtime.memory)] for each in evaluate
                ]
                if context.memory.limit is not None:  # they come one after the other then
                    holding.add(_bytes(parts[begin]))

            deal(evaluated, range(0, count, size), context)
            if context.memory.limit is None:
                holding.add(sum(map(_bytes, parts.values())))
        for place, (name, _) in enumerate(self._operator.made):
            column = concatenate([each for begin in sorted(parts) for each in parts[begin][place]])
            self._given[name] = column.expanded() if isinstance(column, ConstantColumn) else column

    def groups(self, holding: Holding) -> FoldedGroups | None:
        """Return the groups; None where values can't be folded. A device folds many entries where it runs the query."""
        rows = self._rows()
        if self._counts:
            return self._groups(holding, rows, None, self._most()) if self._weigh(holding) else None
        matchers, context = self._runtime.matchers, self._runtime.context
        gathers = any(call.name in GATHERED for _, call in self._operator.folded.aggregates)
        if matchers is None or rows < DEVICE_ROWS or gathers:
            return self._groups(holding, rows, None)
        try:
            with matchers.folds(self._runtime.store, context) as folds:
                found = self._groups(holding, rows, folds)
        except OutOfMemory as error:
            if error.code != "OutOfDeviceMemory":
                raise
            holding.set(0)
            return self._groups(holding, rows, None)
        context.note(self._operator, "entries are folded on the GPU")
        return found

    def _groups(
        self, holding: Holding, rows: int, maker: FoldMaker | None, weights: int | None = None
    ) -> FoldedGroups | None:
        """``weights``: what those of the rows add up to at most; None where each counts once."""
        self._masks = self._build.masks if maker is None else maker.masks(self._build.masks)
        elements = {name: self._elements[name] for name in self._names}
        carried = self._carried(holding)
        if carried is None:
            return None
        bits = max(1, (rows if weights is None else weights).bit_length())
        if bits > _MOST_BITS:
            return None
        bindings = Bindings(elements, carried, self._once())
        folded = Folded(self._sums.alone, bindings, self._runtime, rows, bits, maker, self._given)
        try:
            if not folded.open(holding):
                return None
            self._add(folded, self._weighing)
            return self._sums.groups(folded, self._given, self._add_beyond, holding)
        finally:
            folded.close()

    def _once(self) -> frozenset[str]:
        """Return the variables whose elements come in one row at most, which counts once."""
        if self._counts:
            return frozenset()
        if self._second is None:
            return frozenset((self._first.name,))
        if len(self._ways) != 1 or not any(call.distinct for _, call in self._operator.folded.aggregates):
            return frozenset()
        (way,) = self._ways
        index = self._runtime.store.type_index(way.type.name)
        if way.type.undirected or index is None:
            return frozenset()
        found = {self._relationship}
        ends = (self._second, self._first) if way.turned else (self._first, self._second)
        for level, direction in zip(ends, (Direction.OUT, Direction.IN), strict=True):
            lists, context = self._runtime.store.adjacency(index, direction), self._runtime.context
            if greatest(_lengths(lists.list_index()[1], context), context) <= 1:
                found.add(level.name)
        return frozenset(found)

    def _add_beyond(self, folded: Folded, end: str, among: bool) -> None:
        """Give entries to a fold as often as an end doesn't say; ``among``: those alone that it counts, too."""
        weighing = self._weighing
        present = dict(weighing.present)
        if among:
            (other,) = {level.name for level in (self._first, self._second) if level} - {end}
            wanted = weighing.lessened[end]
            present[other] = present[other] & wanted if other in present else wanted
        elif end in weighing.weights:
            present[end] = weighing.weights[end] > 0
        weights = {name: each for name, each in weighing.weights.items() if name != end}
        lessened = {name: each for name, each in weighing.lessened.items() if name != end}
        self._add(folded, _Weighing(weights, present, lessened))

    def _carried(self, holding: Holding) -> dict[str, Borne] | None:
        """Return what ends carry, by the names of that; None where a vertex has several.

        Entries whose end lacks what it carries by value, or what nothing counts, are left out.
        """
        found: dict[str, Borne] = {}
        for each in self._operator.carried:
            ids = self._by_relationship(each) if isinstance(each, physical.Carried) else self._by_value(each)
            if ids is None:
                return None
            borne = Borne(each.bearer, self._elements[each.bearer].begin, ids)
            if (before := found.get(each.bearer)) is not None:
                borne = _behind(before, borne)
            if isinstance(each, physical.CarriedByValue) or borne.bearer not in self._counts:
                self._leave_out(borne)
            holding.add(borne.ids.nbytes)
            found[each.name] = borne
        return found

    def _by_relationship(self, node: physical.Carried) -> IntArray | None:
        """Return the ids of what vertices carry, as of ``Borne``; -1 where that lacks the labels."""
        store, context = self._runtime.store, self._runtime.context
        index = store.type_index(node.type)
        assert index is not None
        lists = store.adjacency(index, node.direction)
        vertices, begins = lists.list_index()
        elements = self._elements[node.bearer]
        if isinstance(vertices, int):
            first, last = (min(max(each - vertices, 0), len(begins) - 1) for each in (elements.begin, elements.end))
            owners, begins = np.arange(vertices + first, vertices + last), begins[first : last + 1]
            lengths, begins = _lengths(begins, context), begins[:-1]
        else:
            at = np.flatnonzero((vertices >= elements.begin) & (vertices < elements.end))
            owners, lengths, begins = vertices[at], _lengths(begins, context)[at], begins[at]
        if greatest(lengths, context) > 1:
            return None
        one = lengths == 1
        ends = lists.neighbours[begins[one]].astype(np.int64)
        inside = np.zeros(len(ends), np.bool_)
        for begin, end in self._elements[node.name].ranges:
            inside |= (ends >= begin) & (ends < end)
        ends[~inside] = -1
        ids = np.full(elements.end - elements.begin, -1, np.int64)
        ids[owners[one] - elements.begin] = ends
        return ids

    def _by_value(self, node: physical.CarriedByValue) -> IntArray | None:
        """Return the same of a node that is carried by value."""
        return carried_by_value(
            node, self._elements[node.bearer], self._elements[node.name], self._runtime, self._masks
        )

    def _leave_out(self, borne: Borne) -> None:
        """Leave out the entries whose end doesn't carry a node."""
        present, name = self._weighing.present, borne.bearer
        some = np.zeros(self._runtime.store.vertex_count, np.bool_)
        np.greater_equal(borne.ids, 0, out=some[borne.begin : borne.begin + len(borne.ids)])
        present[name] = present[name] & some if name in present else some

    def _weigh(self, holding: Holding) -> bool:
        """Count by the ends what hangs there; False if a count is too large.

        Where it doesn't matter how often a row comes, ends without anything are left out, and others count once.
        """
        n_vertices = self._runtime.store.vertex_count
        weighing = self._weighing
        for each in self._operator.others:
            level = each.vertices
            found = elements_of(level, self._runtime)
            if found is None:
                continue
            holding.add(n_vertices)
            weighing.lessened[each.end] = self._masks.mask_within(
                level.name, level.predicates, found.ranges, 0, n_vertices
            )
        once = ignores_repeats([call for _, call in self._operator.folded.aggregates])
        for name, program in self._counts.items():
            holding.add(8 * n_vertices)
            counts = counts_of_all(program, self._build)
            if counts.dtype == object:
                return False
            holding.add(len(counts))
            if (once or greatest(counts, self._runtime.context) <= 1) and name not in weighing.lessened:
                weighing.present[name] = _some(counts, self._runtime.context)
            else:
                weighing.weights[name] = counts
        return True

    def _most(self) -> int:
        """Return what weights of entries add up to at most."""
        most = 1.0
        for way in self._ways:
            owned, ended = self._by_ends(self._weighing.weights, way)
            of_owners = float(len(way.lists))
            if owned is not None:
                vertices, begins = way.lists.list_index()
                entries = np.diff(begins).astype(np.float64)
                if isinstance(vertices, int):
                    vertices = slice(vertices, vertices + len(entries))
                of_owners = float(np.dot(entries, owned[vertices]))
            most += of_owners * (1 if ended is None else greatest(ended, self._runtime.context))
        return int(1.01 * most)

    def _by_ends(self, known: dict[str, Any], way: _Way) -> tuple[Any, Any]:
        """Return what is known of the owners of lists, and of their ends."""
        first, second = (None if level is None else known.get(level.name) for level in (self._first, self._second))
        return (second, first) if way.turned else (first, second)

    def _rows(self) -> int:
        """Return how many vertices or entries there are."""
        if self._second is None:
            return sum(end - begin for begin, end in self._elements[self._first.name].ranges)
        return sum(len(way.lists) for way in self._ways)

    def _add(self, folded: Folded, weighing: _Weighing) -> None:
        """Give all entries to the folds."""
        if self._second is None:
            self._add_vertices(folded)
            return
        owners = self._wanted(self._first, weighing)
        ends = self._wanted(self._second, weighing)
        for way in self._ways:
            conditions = self._compared(way.type)
            if conditions is None:
                continue
            lists = self._lists(way, owners, ends, weighing)
            for fold in folded.folds:
                fold.add_entries(lists, conditions)

    def _add_vertices(self, folded: Folded) -> None:
        """Fold the vertices of the only level."""
        level = self._first
        present = self._weighing.present.get(level.name)
        for begin, end in self._elements[level.name].ranges:
            mask = None if present is None else present[begin:end]
            if level.predicates:
                asked = self._masks.vertex_mask(level.name, level.predicates, begin, end)
                mask = asked if mask is None else asked & mask
            for fold in folded.folds:
                fold.add_vertices(begin, end, mask)

    def _found_ways(self) -> Iterator[_Way]:
        """Yield the lists that hold each relationship once, or both ways where the pattern has no direction.

        A type's OUT lists are read where they can be: there relationships stand in the order of their ids. Those of
        both directions may not tell them.
        """
        assert self._second is not None
        edge = self._edge
        told = edge is not None and (edge.name in self._names or bool(edge.predicates))
        source = self._second.sources[0]
        store = self._runtime.store
        named = (store.type_index(name) for name in dict.fromkeys(source.types))
        skip = bool(self._second.different)
        for index in [each for each in named if each is not None] if source.types else range(len(store.types)):
            info = store.types[index]
            if info.undirected and not told:
                yield _Way(info, store.adjacency(index, Direction.BOTH), False, skip)
                continue
            lists = store.adjacency(index, Direction.OUT)
            either = info.undirected or source.direction is Direction.BOTH
            if either or source.direction is Direction.OUT:
                yield _Way(info, lists, False, skip)
            if either or source.direction is Direction.IN:
                yield _Way(info, lists, True, skip or either)

    def _lists(self, way: _Way, first: Any, second: Any, weighing: _Weighing) -> EntryLists:
        assert self._second is not None
        asked = self._names.union(each.bearer for each in self._operator.carried)
        names = [name if name in asked else "" for name in (self._first.name, self._second.name)]
        vertices, begins = way.lists.list_index()
        admitted = None
        if self._edge is not None and self._edge.predicates:
            index = self._runtime.store.type_index(way.type.name)
            assert index is not None
            admitted = self._masks.edge_mask(self._edge.name, self._edge.predicates, index, 0, way.type.count)
        owners, others = (second, first) if way.turned else (first, second)
        owner, end = reversed(names) if way.turned else names
        edge = self._relationship if self._relationship in self._names else ""
        return EntryLists(
            vertices, begins, way.lists.neighbours, way.type.base, owner, end, edge,
            owners, others, admitted, way.skip_loops, self._by_ends(weighing.weights, way),
            self._by_ends(weighing.lessened, way),
        )  # fmt: skip

    def _wanted(self, level: VertexLevel, weighing: _Weighing) -> Any:
        """Return for each vertex whether a level admits it; None where it admits all that lists have."""
        ranges, present = self._elements[level.name].ranges, weighing.present.get(level.name)
        if not level.predicates and all(self._within(way.lists, ranges) for way in self._ways):
            return present
        mask = self._masks.mask_within(level.name, level.predicates, ranges, 0, self._runtime.store.vertex_count)
        return mask if present is None else mask & present

    @staticmethod
    def _within(lists: Any, ranges: tuple[tuple[int, int], ...]) -> bool:
        low, high = lists.reach
        return any(begin <= min(low, lists.lo) and max(high, lists.hi) <= end for begin, end in ranges)

    def _compared(self, kind: EdgeType) -> list[Condition] | None:
        """Return the conditions on relationships of a type; None where one never holds, for a property is null."""
        found = []
        for each in self._conditions:
            left, right = (self._property(at, key, kind) for at, key in _sides(each))
            if left is None or right is None:
                return None
            found.append(
                Condition(
                    COMPARISONS[each.op], (self._levels[each.left].name, left), (self._levels[each.right].name, right)
                )
            )
        return found

    def _property(self, place: int, key: str, kind: EdgeType) -> Numbers | None:
        """Return a property of a level's elements, strings by their ranks; None where all of them have null."""
        store = self._runtime.store
        base = 0
        name: tuple[int | str, ...] = (key,)
        if isinstance(self._levels[place], VertexLevel):
            column = store.node_property(key)
        else:
            index = store.type_index(kind.name)
            assert index is not None
            column, base, name = store.relationship_property(index, key), kind.base, (index, key)
        if column is None or pa.types.is_null(column.array.type) or not len(column.array):
            return None
        array = column.array
        if not (pa.types.is_int64(array.type) or pa.types.is_float64(array.type)):
            array = TextProperty(store, column, name).ranks()
        floats = pa.types.is_float64(array.type)
        validity, buffer = array.buffers()
        values = np.frombuffer(buffer, np.float64 if floats else np.int64, len(array), 8 * array.offset)
        valid = validity.address if array.null_count else 0
        return Numbers(
            FLOATS if floats else INTEGERS, values, base + column.begin, False, True, valid, array.offset, array,
            stored=array is column.array,
        )  # fmt: skip


def _lengths(begins: Any, context: ExecutionContext) -> Any:
    """Return the lengths of lists, int64, of the places at which they begin and end."""
    return computed(len(begins) - 1, np.int64, lambda part: np.diff(begins[part.start : part.stop + 1]), context)


def _some(counts: Any, context: ExecutionContext) -> Any:
    """Return which counts are above 0."""
    return computed(len(counts), np.bool_, lambda part: counts[part] > 0, context)


def _bytes(columns: list[list[Column]]) -> int:
    return sum(column.nbytes for found in columns for column in found)


def _sides(condition: ColumnCondition) -> tuple[tuple[int, str], tuple[int, str]]:
    return (condition.left, condition.left_key), (condition.right, condition.right_key)
