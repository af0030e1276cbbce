"""Fast path: what an index finds few of is matched, filtered and projected row by row, without batches.

A pipeline of batches takes some hundred microseconds to make, whatever its rows. A plan that searches from the few
nodes that an index finds, and then filters, projects or limits, is interpreted instead as long as it reads few
neighbours; what reads more begins anew as a pipeline. Rows come in the order in which the native search finds them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from qengine._frozen import frozen
from qengine.exec.arrow_out import RowBatch
from qengine.exec.arrow_values import Tell, silent
from qengine.exec.common.access import indexed_nodes
from qengine.exec.common.operator_cache import PerOperatorCache
from qengine.exec.common.operators.limit import count_of
from qengine.exec.common.results import ResultRows
from qengine.exec.common.runtime import Runtime
from qengine.exec.context import ExecutionContext
from qengine.exec.scalar import evaluate as scalar
from qengine.exec.scalar.materialize import materialize
from qengine.exec.scalar.values import NodeHandle
from qengine.exec.view import ExecView
from qengine.plan.expr import Expr, OfNode
from qengine.plan.fallible import condition_can_fail
from qengine.plan.logical import Filter, Limit, Operator, Project, Unit
from qengine.plan.pattern import Direction
from qengine.plan.physical import EdgeLevel, PhysicalPlan, Search, Source, VertexLevel
from qengine.plan.traverse import is_repeatable, preorder

_ROOTS = 16  # nodes that an index may find
_PLAIN = frozenset((type(None), bool, float, str, int))
_TYPED = _PLAIN - {type(None)}  # values that tell their array's type
_READS = 512  # neighbours that may be read

Row = dict[str, Any]


class _TooMany(Exception):
    """There is more to read than is worth doing row by row."""


@frozen
class _Shape:
    """A plan that may be interpreted: the search, and what is done with its rows, first to last."""

    search: Search
    ranges: tuple[list[list[int]], ...]
    tail: tuple[Filter | Project | Limit, ...]


_shapes: PerOperatorCache[_Shape | None] = PerOperatorCache()


class FewRows(RowBatch):
    """Rows of a result as Python values; arrays that these don't tell come from a pipeline, which has the same rows.

    Parameters
    ----------
    columns, rows
        As of ``RowBatch``.
    again
        Runs the pipeline.
    offset
        Rows of the pipeline before these.
    """

    def __init__(
        self, columns: Sequence[str], rows: Sequence[Any], again: Callable[[], ResultRows], offset: int = 0
    ) -> None:
        super().__init__(columns, rows)
        self._again = again
        self._offset = offset
        self._arrays: ResultRows | None = None

    def arrow(self, name: str, tell: Tell = silent) -> Any:
        """Return a column as an Arrow array; ``tell`` hears of values that change their form."""
        values = self.values(name)
        if len(kinds := set(map(type, values))) == 1 and not kinds.isdisjoint(_TYPED):
            return super().arrow(name, tell)
        if self._arrays is None:
            self._arrays = self._again()
        return self._arrays.slice(self._offset, self.length).arrow(name, tell)

    def slice(self, offset: int, length: int) -> FewRows:
        """Return the rows ``[offset, offset + length)`` as far as there are."""
        columns, rows = tuple(self._index), self._rows[offset : offset + length]
        return FewRows(columns, rows, self._again, self._offset + offset)


def few_rows(plan: PhysicalPlan, store: ExecView, context: ExecutionContext) -> list[tuple[Any, ...]] | None:
    """Return all rows of a plan that begins with few nodes by an index and reads little; None for any other.

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
    return values if all(map(_is_plain, values)) else materialize(values, store, context.check)


def _is_plain(row: tuple[Any, ...]) -> bool:
    """Tell whether no value of a row stands for an element of the graph, or may hold one."""
    return all(type(value) in _PLAIN for value in row)


def _shape(root: Operator, store: ExecView) -> _Shape | None:
    """Return a plan as what is interpreted, None where it isn't."""
    tail: list[Filter | Project | Limit] = []
    while isinstance(root, Filter | Project | Limit):
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
    ranges: list[list[list[int]]] = []
    for level in root.levels:
        if not all(map(_has_no_plan, level.predicates)) or level.conditions:
            return None
        if isinstance(level, EdgeLevel) and (level.predicates or level.different or level.name in root.emit):
            return None
        if isinstance(level, VertexLevel) and (level.pairs or (ranges and not level.sources)):
            return None
        ranges.append(store.label_ranges(level.labels).tolist() if isinstance(level, VertexLevel) else [])
    return _Shape(root, tuple(ranges), tuple(reversed(tail)))


def _has_no_plan(predicate: Expr) -> bool:
    """Tell whether a level's predicate may be evaluated row by row: it has no plan of its own, and can't fail."""
    if condition_can_fail(predicate) or not is_repeatable(predicate):
        return False
    return not any(isinstance(part, OfNode) for part in preorder(predicate))


def _exprs(operator: Filter | Project | Limit) -> Sequence[Expr]:
    if isinstance(operator, Filter):
        return (operator.predicate,)
    return [expr for _, expr in operator.items] if isinstance(operator, Project) else (operator.count,)


class _Interpreter:
    """One execution of a shape."""

    def __init__(self, runtime: Runtime, shape: _Shape) -> None:
        self.environment = runtime.environment
        self.store = runtime.store
        self.runtime = runtime
        self.shape = shape
        self.reads = 0
        self.holds = [self._predicate(level.predicates) for level in shape.search.levels[1:]]

    def rows(self, roots: Sequence[int], left: Sequence[Expr]) -> Iterator[Row]:
        """Yield the rows of the whole plan."""
        rows = self._searched(roots, self._predicate(left))
        for operator in self.shape.tail:
            rows = self._applied(operator, rows)
        return rows

    def _applied(self, operator: Filter | Project | Limit, rows: Iterator[Row]) -> Iterator[Row]:
        if isinstance(operator, Filter):
            return filter(scalar.compile_predicate(operator.predicate, self.environment), rows)
        if isinstance(operator, Limit):
            count = count_of(operator.count, "LIMIT", self.runtime)
            return (row for _, row in zip(range(count), rows, strict=False))
        items = [(name, scalar.compile(expr, self.environment)) for name, expr in operator.items]
        return ({name: evaluate(row) for name, evaluate in items} for row in rows)

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
        """Yield the embeddings that begin with some vertices; -1 stands for a relationship."""
        place = len(bound)
        levels = self.shape.search.levels
        if place == len(levels):
            yield row
            return
        level = levels[place]
        if isinstance(level, EdgeLevel):
            for _ in range(self._between(level, bound[level.start], bound[level.end])):
                yield from self._extended([*bound, -1], row)
            return
        holds = self.holds[place - 1]
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
        for index in self._types(source.types):
            for way in self._ways(index, source.direction):
                found.update(self._list(index, way, vertex))
        return found

    def _between(self, level: EdgeLevel, start: int, end: int) -> int:
        """Return how many relationships of a level lead from one vertex to another."""
        found = 0
        for index in self._types(level.types):
            for way in self._ways(index, level.direction)[: 1 if start == end else 2]:
                ids = self._list(index, way, start)
                found += bisect_right(ids, end) - bisect_left(ids, end)
        return found

    def _types(self, names: tuple[str, ...]) -> Sequence[int]:
        if not names:
            return range(len(self.store.types))
        found = (self.store.type_index(name) for name in dict.fromkeys(names))
        return [index for index in found if index is not None]

    def _ways(self, index: int, direction: Direction) -> tuple[Direction, ...]:
        """Return the stored directions that a pattern's direction stands for."""
        if self.store.types[index].undirected:
            return (Direction.BOTH,)
        return (Direction.OUT, Direction.IN) if direction is Direction.BOTH else (direction,)

    def _list(self, index: int, way: Direction, vertex: int) -> list[int]:
        adjacency = self.store.adjacency(index, way)
        begin, end = adjacency.locate(vertex)
        self.reads += 1 + end - begin
        if self.reads > _READS:
            raise _TooMany
        ids: list[int] = adjacency.neighbours[begin:end].tolist()
        return ids
