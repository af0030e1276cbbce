"""Fast path: what an index finds few of is matched, filtered and projected row by row, without batches.

A pipeline of batches takes some hundred microseconds to make, whatever its rows. A plan that searches from the few
nodes that an index finds, and then filters, projects, sorts or limits, is interpreted instead as long as it reads few
neighbours; what reads more begins anew as a pipeline. Rows come in the order in which the native search finds them,
unless no array is ever asked of a pipeline.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any

import numpy as np

from qengine._frozen import frozen
from qengine.exec.arrow_out import RowBatch
from qengine.exec.arrow_values import Tell, silent
from qengine.exec.common.access import indexed_nodes
from qengine.exec.common.batch import Batch
from qengine.exec.common.columns import Column, NodeColumn, RelationshipColumn
from qengine.exec.common.expressions.compiler import compile_expression
from qengine.exec.common.lists_read import parts_read, type_indices
from qengine.exec.common.operator_cache import PerOperatorCache
from qengine.exec.common.operators.limit import count_of
from qengine.exec.common.results import ResultRows
from qengine.exec.common.runtime import Runtime
from qengine.exec.context import ExecutionContext
from qengine.exec.scalar import evaluate as scalar
from qengine.exec.scalar.compare import order_key
from qengine.exec.scalar.materialize import materialize
from qengine.exec.scalar.values import NodeHandle, RelationshipHandle
from qengine.exec.view import ExecView
from qengine.plan.expr import Expr, OfNode
from qengine.plan.fallible import condition_can_fail
from qengine.plan.logical import Filter, Limit, Operator, Project, Sort, Unit
from qengine.plan.pattern import Direction
from qengine.plan.physical import EdgeLevel, PhysicalPlan, Search, Source, VertexLevel
from qengine.plan.traverse import free_variables, is_repeatable, preorder

_ROOTS = 16  # nodes that an index may find
_PLAIN = frozenset((type(None), bool, float, str, int))
_TYPED = _PLAIN - {type(None)}  # values that tell their array's type
_READS = 128  # neighbours that may be read
_LIST = 4  # how many of these looking a list up takes as long as
_ROWS = 8  # embeddings: a pipeline takes what making fifty values one by one does, and ordering them

_MATCHED = "#matched"  # of a projected row, the row of elements that it was made of

Row = dict[str, Any]
Tail = Filter | Project | Sort | Limit


class _TooMany(Exception):
    """There is more to read than is worth doing row by row."""


@frozen
class _Shape:
    """A plan that may be interpreted: the search, and what is done with its rows, first to last.

    ``items``: of its only projection, by name, where these read nothing but elements that the search emits, else none.
    """

    search: Search
    ranges: tuple[list[list[int]], ...]
    tail: tuple[Tail, ...]
    items: dict[str, Expr]


_shapes: PerOperatorCache[_Shape | None] = PerOperatorCache()


class FewRows(RowBatch):
    """Rows of a result as Python values; arrays that these don't tell are made of columns, as a pipeline makes them.

    Parameters
    ----------
    columns, rows
        As of ``RowBatch``.
    column
        Gives all rows of the result, at least the column of this name.
    offset
        Rows of the result before these.
    """

    def __init__(
        self, columns: Sequence[str], rows: Sequence[Any], column: Callable[[str], ResultRows], offset: int = 0
    ) -> None:
        super().__init__(columns, rows)
        self._column = column
        self._offset = offset

    def arrow(self, name: str, tell: Tell = silent) -> Any:
        """Return a column as an Arrow array; ``tell`` hears of values that change their form."""
        values = self.values(name)
        if len(kinds := set(map(type, values))) == 1 and not kinds.isdisjoint(_TYPED):
            return super().arrow(name, tell)
        return self._column(name).slice(self._offset, self.length).arrow(name, tell)

    def slice(self, offset: int, length: int) -> FewRows:
        """Return the rows ``[offset, offset + length)`` as far as there are."""
        columns, rows = tuple(self._index), self._rows[offset : offset + length]
        return FewRows(columns, rows, self._column, self._offset + offset)


def few_rows(
    plan: PhysicalPlan, store: ExecView, context: ExecutionContext, again: Callable[[], ResultRows]
) -> FewRows | None:
    """Return all rows of a plan that begins with few nodes by an index and reads little; None for any other.

    ``again``: runs the plan by a pipeline, for arrays of what can't be told otherwise.

    Raises
    ------
    ExecutionError
        Where a value makes the query fail.
    """
    if context.profile is not None or context.memory_limit is not None or plan.careful is not None:
        return None
    shape = _shapes.get(store, plan.root, lambda: (_shape(plan.root, store), True))
    if shape is None:
        return None
    context.check()
    runtime = Runtime(store, context)
    first = shape.search.levels[0]
    assert isinstance(first, VertexLevel)
    found = indexed_nodes(runtime, first, shape.ranges[0])
    if found is None or len(found[0]) > _ROOTS:
        return None
    left = [each for place, each in enumerate(first.predicates) if place not in found[1].answers]
    try:
        rows = list(_Interpreter(runtime, shape).rows(found[0].tolist(), left))
    except _TooMany:
        return None
    names = plan.columns
    values = [tuple([row[name] for name in names]) for row in rows]
    held = values if all(map(_is_plain, values)) else materialize(values, store, context.check)
    columns = _Columns(rows, shape.items, runtime) if shape.items else cache(lambda _: again())
    return FewRows(names, held, columns)


class _Columns:
    """Columns of a result as a pipeline would make them, of the elements that its rows were made of."""

    def __init__(self, rows: Sequence[Row], items: Mapping[str, Expr], runtime: Runtime) -> None:
        self._rows = rows
        self._items = items
        self._runtime = runtime

    def __call__(self, name: str) -> ResultRows:
        expr, matched = self._items[name], [row[_MATCHED] for row in self._rows]
        columns: dict[str, Column] = {}
        for each in free_variables(expr):
            handles = [row[each] for row in matched]
            kind = NodeColumn if type(handles[0]) is NodeHandle else RelationshipColumn
            columns[each] = kind(np.array([handle.id for handle in handles], np.int64))
        found = compile_expression(expr, self._runtime)(Batch(len(matched), columns))
        return ResultRows(Batch(len(matched), {name: found}), self._runtime.store, self._runtime.context)


def _is_plain(row: tuple[Any, ...]) -> bool:
    """Tell whether no value of a row stands for an element of the graph, or may hold one."""
    return all(type(value) in _PLAIN for value in row)


def _shape(root: Operator, store: ExecView) -> _Shape | None:
    """Return a plan as what is interpreted, None where it isn't."""
    tail: list[Tail] = []
    while isinstance(root, Tail):
        tail.append(root)
        root = root.input
    if not isinstance(root, Search) or not isinstance(root.input, Unit) or root.seeds or root.count or root.exists:
        return None
    first = root.levels[0]
    exprs = [expr for each in tail for expr in _exprs(each)]
    if root.orbits != 1 or root.images or not all(map(is_repeatable, exprs)) or not isinstance(first, VertexLevel):
        return None
    if not first.access:
        return None
    items = _items(tail, frozenset(root.emit))
    ordered = items or not any(isinstance(each, Sort) for each in tail)
    ranges: list[list[list[int]]] = []
    for level in root.levels:
        if not all(map(_has_no_plan, level.predicates)) or level.conditions:
            return None
        if isinstance(level, EdgeLevel) and not items and (level.predicates or level.name in root.emit):
            return None
        if isinstance(level, VertexLevel) and (level.pairs or (ranges and not level.sources)):
            return None
        ranges.append(store.label_ranges(level.labels).tolist() if isinstance(level, VertexLevel) else [])
    return _Shape(root, tuple(ranges), tuple(reversed(tail)), items) if ordered else None


def _items(tail: Sequence[Tail], emitted: frozenset[str]) -> dict[str, Expr]:
    """Return the items of the only projection, if they read elements alone and have no plans; else none."""
    projections = [each for each in tail if isinstance(each, Project)]
    if len(projections) != 1:
        return {}
    items = dict(projections[0].items)
    alone = all(free_variables(expr) <= emitted for expr in items.values())
    return items if alone and not any(map(_has_plan, items.values())) else {}


def _has_plan(expr: Expr) -> bool:
    return any(isinstance(part, OfNode) for part in preorder(expr))


def _has_no_plan(predicate: Expr) -> bool:
    """Tell whether a level's predicate may be evaluated row by row: it has no plan of its own, and can't fail."""
    return not condition_can_fail(predicate) and is_repeatable(predicate) and not _has_plan(predicate)


def _exprs(operator: Tail) -> Sequence[Expr]:
    if isinstance(operator, Filter):
        return (operator.predicate,)
    if isinstance(operator, Project):
        return [expr for _, expr in operator.items]
    if isinstance(operator, Limit):
        return (operator.count,)
    keys = [key.expr for key in operator.keys]
    return keys if operator.limit is None else [*keys, operator.limit]


class _Interpreter:
    """One execution of a shape."""

    def __init__(self, runtime: Runtime, shape: _Shape) -> None:
        self.environment = runtime.environment
        self.store = runtime.store
        self.runtime = runtime
        self.shape = shape
        self.reads = 0
        self.lists: dict[tuple[int, Direction, int], tuple[int, list[int]]] = {}
        self.holds = [self._predicate(level.predicates) for level in shape.search.levels[1:]]

    def rows(self, roots: Sequence[int], left: Sequence[Expr]) -> Iterator[Row]:
        """Yield the rows of the whole plan."""
        found = list(islice(self._searched(roots, self._predicate(left)), _ROWS + 1))
        if len(found) > _ROWS:
            raise _TooMany
        rows = iter(found)
        for operator in self.shape.tail:
            rows = self._applied(operator, rows)
        return rows

    def _applied(self, operator: Tail, rows: Iterator[Row]) -> Iterator[Row]:
        if isinstance(operator, Filter):
            return filter(scalar.compile_predicate(operator.predicate, self.environment), rows)
        if isinstance(operator, Limit):
            count = count_of(operator.count, "LIMIT", self.runtime)
            return (row for _, row in zip(range(count), rows, strict=False))
        if isinstance(operator, Sort):
            return iter(self._sorted(operator, rows))
        items = [(name, scalar.compile(expr, self.environment)) for name, expr in operator.items]
        if self.shape.items:
            return ({**{name: evaluate(row) for name, evaluate in items}, _MATCHED: row} for row in rows)
        return ({name: evaluate(row) for name, evaluate in items} for row in rows)

    def _sorted(self, operator: Sort, rows: Iterator[Row]) -> list[Row]:
        limit = None if operator.limit is None else count_of(operator.limit, "LIMIT", self.runtime)
        found = list(rows)
        for key in reversed(operator.keys):  # each sort is stable: the first key is sorted by last
            value = scalar.compile(key.expr, self.environment)
            found.sort(key=lambda row, value=value: order_key(value(row)), reverse=not key.ascending)  # type: ignore[misc]
        return found[:limit]

    def _predicate(self, predicates: Sequence[Expr]) -> Callable[[Row], bool] | None:
        """Return what tells whether all predicates are true of a row, None where there are none."""
        tests = [scalar.compile_predicate(each, self.environment) for each in predicates]
        if len(tests) < 2:
            return tests[0] if tests else None
        return lambda row: all(test(row) for test in tests)

    def _searched(self, roots: Sequence[int], holds: Callable[[Row], bool] | None) -> Iterator[Row]:
        name = self.shape.search.levels[0].name
        for root in roots:
            row = {name: NodeHandle(root)}
            if holds is None or holds(row):
                yield from self._extended([root], row)

    def _extended(self, bound: list[int], row: Row) -> Iterator[Row]:
        """Yield the embeddings that begin with some vertices and relationships."""
        place = len(bound)
        levels = self.shape.search.levels
        if place == len(levels):
            yield row
            return
        level = levels[place]
        holds = self.holds[place - 1]
        if isinstance(level, EdgeLevel):
            for relationship in self._between(level, bound[level.start], bound[level.end]):
                extended = {**row, level.name: RelationshipHandle(relationship)}
                apart = all(bound[other] != relationship for other in level.different)
                if apart and (holds is None or holds(extended)):
                    yield from self._extended([*bound, relationship], extended)
            return
        for vertex in self._candidates(level, place, bound):
            extended = {**row, level.name: NodeHandle(vertex)}
            if holds is None or holds(extended):
                yield from self._extended([*bound, vertex], extended)

    def _candidates(self, level: VertexLevel, place: int, bound: list[int]) -> list[int]:
        """Return the vertices, ascending, that a level may bind, its predicates aside."""
        first, *others = (self._reached(source, bound[source.level]) for source in level.sources)
        for other in others:
            first = first.intersection(other)
        ranges = self.shape.ranges[place]
        least = max((bound[each] for each in level.less), default=-1)
        most = min((bound[each] for each in level.greater), default=1 << 40)
        apart = {bound[each] for each in level.different}
        return [
            vertex
            for vertex in sorted(first)
            if any(low <= vertex < high for low, high in ranges) and least < vertex < most and vertex not in apart
        ]

    def _reached(self, source: Source, vertex: int) -> set[int]:
        found: set[int] = set()
        for index, way in parts_read(self.store, source.types, source.direction):
            found.update(self._list(index, way, vertex)[1])
        return found

    def _between(self, level: EdgeLevel, start: int, end: int) -> Iterator[int]:
        """Yield the relationships of a level, by global id, that lead from one vertex to another."""
        for index in type_indices(self.store, level.types):
            info = self.store.types[index]
            for way in level.direction.stored(info.undirected)[: 1 if start == end else 2]:
                for place in self._places(index, way, start, end):
                    found = info.base + self._local(index, way, place, start, end)
                    if way is not Direction.BOTH:
                        ends = (start, end) if way is Direction.OUT else (end, start)
                        self.environment.note_relationship(found, (index, *ends))
                    yield found

    def _places(self, index: int, way: Direction, start: int, end: int) -> range:
        """Return where one vertex stands in the list of another."""
        begin, ids = self._list(index, way, start)
        return range(begin + bisect_left(ids, end), begin + bisect_right(ids, end))

    def _local(self, index: int, way: Direction, place: int, start: int, end: int) -> int:
        """Return the relationship of an entry, by the id that it has in its type."""
        edge_ids = self.store.adjacency(index, way).edge_ids
        if edge_ids is not None:
            return int(edge_ids[place])
        if way is Direction.OUT:
            return place
        there = self._places(index, Direction.OUT, end, start)  # a type without parallel relationships
        return (there or self._places(index, Direction.OUT, start, end))[0]

    def _list(self, index: int, way: Direction, vertex: int) -> tuple[int, list[int]]:
        """Return a vertex's neighbours, ascending, and where they begin."""
        known = self.lists.get((index, way, vertex))
        if known is None:
            adjacency = self.store.adjacency(index, way)
            begin, end = adjacency.locate(vertex)
            self.reads += _LIST + end - begin
            if self.reads > _READS:
                raise _TooMany
            known = self.lists[index, way, vertex] = begin, adjacency.neighbours[begin:end].tolist()
        return known
