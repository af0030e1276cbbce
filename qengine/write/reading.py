"""Reads by the engine's executors what a statement reads before it changes anything, or behind what it has changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from qengine import optimizer
from qengine._beside import Beside
from qengine._frozen import replace
from qengine.exec.common.batch import Batch
from qengine.exec.common.columns import ArrowColumn, Column, NodeColumn, RelationshipColumn, from_arrow, from_many
from qengine.exec.common.pipeline import batches, continuing
from qengine.exec.context import ExecutionContext
from qengine.exec.scalar.parameters import ordered_values
from qengine.exec.scalar.values import NodeHandle, PathHandle, RelationshipHandle
from qengine.optimizer.lower.subquery import lower_part
from qengine.optimizer.open_ranges import ByValues, noting
from qengine.optimizer.rows import known_length
from qengine.plan import logical as op
from qengine.plan import updates as up
from qengine.plan.columns import columns_of
from qengine.plan.expr import HasLabels, Property
from qengine.plan.physical import PhysicalPlan
from qengine.plan.traverse import free_variables, nodes_of, operators, parameters
from qengine.storage.numbers import Numbers
from qengine.storage.store import GraphStore
from qengine.storage.variant import concatenate
from qengine.types import NODE, RELATIONSHIP
from qengine.write.column_values import Unbatched
from qengine.write.execution import Execution
from qengine.write.live import is_known
from qengine.write.overlay import Overlay
from qengine.write.table import Column as TableColumn
from qengine.write.table import Elements, Plain, Rows, Table

_SMALL = 2_000  # elements of a graph that is walked sooner than planned for
_STEPS = 20_000  # elements that are walked, as often as there are rows, sooner than planned for
FEW = 1_000
"""Rows that are looked up one by one."""
_GIVEN = 256  # rows of an update that are walked on from one by one; plans are for about as many
_SHARE = 4096  # of a graph's elements there may be as many: a version of a large one takes longer
_LONG = 1 << 62
_BEHIND = (op.Match, op.Filter, op.Project, op.Aggregate, op.Distinct, op.Sort, op.Skip, op.Limit, op.Unwind)
_PLAIN = frozenset((pa.bool_(), pa.int64(), pa.float64(), pa.string()))


class PartPlans:
    """Physical plans of a statement's reading parts, for each version that it ran on and that is still there."""

    def __init__(self) -> None:
        self._plans: Beside[tuple[op.Operator, PhysicalPlan, ByValues[PhysicalPlan]]] = Beside()

    def of(self, part: op.Operator, store: GraphStore, params: Mapping[str, Any]) -> PhysicalPlan:
        """Return the plan of a part for the values of the statement's parameters."""
        known = self._plans.of(store)
        found = known.get(id(part))
        if found is None or found[0] is not part:
            with noting() as noted:
                plan = _plan(part, store)
            found = known[id(part)] = part, plan, ByValues(noted)
        _, plan, by_values = found
        return by_values.of(params, ordered_values(params, by_values.names), plan, partial(_plan, part, store))


def _plan(part: op.Operator, store: GraphStore) -> PhysicalPlan:
    columns = columns_of(part)
    if begins_alone(part):
        return optimizer.plan(op.LogicalPlan(part, columns), store)
    return PhysicalPlan(lower_part(part, frozenset(columns), store, _GIVEN), columns)


class PartReader:
    """Reads one part of a statement by the engine's executors, where that takes less than walking.

    ``given``: the columns that it begins with, where these are given.
    """

    def __init__(self, part: op.Operator, plans: PartPlans) -> None:
        self._part, self._plans = part, plans
        self._is_anchored = is_anchored(part)
        self.given = next((each.columns for each in operators(part) if isinstance(each, op.Argument)), ())
        self._is_led = self._is_anchored or is_anchored(part, walks=True)
        self._lists = _unwound(part)
        self._named = parameters(part).keys()
        self._others = self._named - set(self._lists)

    def table(self, overlay: Overlay, execution: Execution) -> Table | None:
        """Return the rows of the part as a table; None where walking takes less."""
        found = self._plan(overlay, execution)
        return None if found is None else _table(list(batches(*found, execution.context)), found[1])

    def planned(self, overlay: Overlay, execution: Execution) -> Iterator[dict[str, Any]] | None:
        """Return the rows of the part as the engine finds them; None where walking takes less."""
        found = self._plan(overlay, execution)
        return None if found is None else _rows(*found, execution.context)

    def continued(self, given: Rows | Table, overlay: Overlay, execution: Execution) -> Table | None:
        """Return the rows of a part that goes on from given ones as a table; None where walking takes less.

        Raises
        ------
        Unbatched
            Where rows have elements that there aren't any more.
        """
        count = len(given)
        if not count or (count <= _GIVEN and self._is_led):
            return None
        size = overlay.base.size + overlay.touched
        if count <= max(_GIVEN, size // _SHARE) and (self._is_led or size * count <= _STEPS):
            return None
        store, context = execution.sealed(), execution.context
        plan = self._plans.of(self._part, store, context.parameters)
        batch = self._batch(given if isinstance(given, Table) else Table.of(given), store, context)
        with _given_only(self._named, context):
            found = list(continuing(plan.root, store, context)(batch))
        return _table([each.select(plan.columns) for each in found], store)

    def _batch(self, table: Table, store: GraphStore, context: ExecutionContext) -> Batch:
        """Return given rows as the engine has them, with internal ids instead of numbers; errors as ``continued``."""
        columns = {name: _placed(table.columns[name], store, context) for name in self.given}
        return Batch(table.length, columns)

    def _plan(self, overlay: Overlay, execution: Execution) -> tuple[PhysicalPlan, GraphStore] | None:
        context, shown = execution.context, execution.shown
        if shown is None:
            if self._is_anchored and _product(self._lists, context.parameters) <= FEW:
                return None
            size = overlay.base.size + overlay.touched
            if size <= _SMALL and (self._is_anchored or size * self._looks(context.parameters) <= _STEPS):
                return None
        store = execution.sealed()
        plan = self._plans.of(self._part, store, context.parameters)
        if shown is not None:
            shown[id(self._part)] = plan
        return plan, store

    def _looks(self, given: Mapping[str, Any]) -> int:
        """Return how often elements are looked at by walking: as often as there are rows, and items to compare with."""
        return _product(self._lists, given) * max((_length(given.get(name)) for name in self._others), default=1)


@contextmanager
def _given_only(names: Collection[str], context: ExecutionContext) -> Iterator[None]:
    """Let an execution have these parameters alone meanwhile: each run of a plan converts all that it has."""
    every = context.parameters
    context.parameters = {name: every[name] for name in names}
    try:
        yield
    finally:
        context.parameters = every


def begins_alone(part: op.Operator) -> bool:
    """Tell whether a part begins with nothing, rather than with an outer row."""
    return not any(isinstance(each, op.Argument) for each in operators(part))


def behind_update(operator: op.Operator) -> tuple[op.Operator, up.Update] | None:
    """Return what goes on from the rows of an update, as a part that begins with them, and the update; else None."""
    above: list[Any] = []
    below = operator
    while isinstance(below, _BEHIND):
        above.append(below)
        below = below.input
    if not isinstance(below, up.Update) or not above:
        return None
    match above[-1]:
        case op.Project(items=items):
            read = frozenset[str]().union(*(free_variables(expr) for _, expr in items))
        case op.Aggregate(keys=keys, aggregates=aggregates):
            read = frozenset[str]().union(*(free_variables(expr) for _, expr in (*keys, *aggregates)))
        case _:
            read = frozenset(columns_of(below))
    part: op.Operator = op.Argument(tuple(name for name in columns_of(below) if name in read))
    for each in reversed(above):
        part = replace(each, input=part)
    return part, below


def matches(part: op.Operator) -> bool:
    """Tell whether a part matches any pattern."""
    return any(isinstance(each, op.Match) for each in operators(part))


def reads_graph(part: op.Operator) -> bool:
    """Tell whether a part matches a pattern, or looks at elements of all its rows: behind LIMIT some have no errors."""
    if matches(part):
        return True
    looks = any(isinstance(each, HasLabels) or _is_of_element(each) for each in nodes_of(part))
    return looks and not any(isinstance(each, op.Limit) for each in operators(part))


def _is_of_element(each: Any) -> bool:
    return isinstance(each, Property) and each.subject.type in (NODE, RELATIONSHIP)


def most_rows(part: op.Operator, given: Mapping[str, Any]) -> int:
    """Return how many rows the lists that are unwound have at most, a large number where they aren't known."""
    return _product(_unwound(part), given)


def _unwound(part: op.Operator) -> list[int | str]:
    """Return of each list that a part unwinds how long it is: a number, or the parameter that holds it."""
    found: list[int | str] = []
    for each in operators(part):
        if isinstance(each, op.LoadCsv | op.ProcedureCall):
            return [_LONG]
        if isinstance(each, op.Unwind):
            if (length := known_length(each.expr)) is None:
                return [_LONG]
            found.append(length)
    return found


def _product(lists: list[int | str], given: Mapping[str, Any]) -> int:
    rows = 1
    for each in lists:
        if isinstance(each, str):
            each = _length(given.get(each), _LONG)
        rows *= each
    return rows


def _length(value: Any, otherwise: int = 1) -> int:
    return len(value) if isinstance(value, list | tuple) else otherwise


def is_anchored(part: op.Operator, *, walks: bool = False) -> bool:
    """Tell whether each pattern of a part begins at nodes that rows give, or that a property or identity finds.

    ``walks``: also one with relationships of any number of hops, which may read very much.
    """
    for each in operators(part):
        if isinstance(each, op.Match):
            graph = each.graph
            unknown = frozenset(graph.variables())
            reached = {node.name for node in graph.nodes if node.bound or is_known(node, graph.predicates, unknown)}
            if not walks and any(edge.hops is not None for edge in graph.relationships):
                return False
            growing = True
            while growing:
                growing = False
                for edge in graph.relationships:
                    if (edge.start in reached) != (edge.end in reached):
                        reached |= {edge.start, edge.end}
                        growing = True
            if len(reached) < len(graph.nodes):
                return False
        elif isinstance(each, op.Union):
            return False
    return True


def _rows(plan: PhysicalPlan, store: GraphStore, context: ExecutionContext) -> Iterator[dict[str, Any]]:
    for batch in batches(plan, store, context):
        yield from _batch_rows(batch, store)


def _table(parts: list[Batch], store: GraphStore) -> Table:
    names = parts[0].columns if parts else ()
    columns = {name: _column([part.columns[name] for part in parts], store) for name in names}
    return Table(sum(part.length for part in parts), columns)


def _column(parts: list[Column], store: GraphStore) -> TableColumn:
    if all(isinstance(each, NodeColumn) for each in parts):
        ids = np.concatenate([each.ids for each in parts])  # type: ignore[attr-defined]
        return Elements(store.node_numbers.of(ids), NodeHandle)
    if all(isinstance(each, RelationshipColumn) for each in parts):
        ids = np.concatenate([each.ids for each in parts])  # type: ignore[attr-defined]
        return Elements(store.relationship_numbers.of(ids), RelationshipHandle)
    if all(isinstance(each, ArrowColumn) and _is_plain(each.type) for each in parts):
        arrays = [each.array for each in parts]  # type: ignore[attr-defined]
        if len({array.type for array in arrays}) == 1:
            return Plain(concatenate(arrays))
    return [value for each in parts for value in _numbered(each, store)]


def _is_plain(arrow: Any) -> bool:
    return arrow in _PLAIN


def _batch_rows(batch: Batch, store: GraphStore) -> Iterator[dict[str, Any]]:
    names = tuple(batch.columns)
    columns = [_numbered(column, store) for column in batch.columns.values()]
    if not names:
        return ({} for _ in range(batch.length))
    return (dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True))


def _numbered(column: Column, store: GraphStore) -> list[Any]:
    """Return a column's values with numbers instead of internal ids."""
    if isinstance(column, NodeColumn):
        return [None if each < 0 else NodeHandle(each) for each in store.node_numbers.of(column.ids).tolist()]
    if isinstance(column, RelationshipColumn):
        numbers = store.relationship_numbers.of(column.ids).tolist()
        return [None if each < 0 else RelationshipHandle(each) for each in numbers]
    same = store.node_numbers.equal_ids and store.relationship_numbers.equal_ids
    values = column.values()
    return values if same else [_renumbered(value, store) for value in values]


def _renumbered(value: Any, store: GraphStore) -> Any:
    return _with_ids(value, store.node_numbers.number, store.relationship_numbers.number)


def _with_ids(value: Any, node: Callable[[int], int], relationship: Callable[[int], int]) -> Any:
    """Return a value with other ids in its elements."""
    match value:
        case NodeHandle():
            return NodeHandle(node(value.id))
        case RelationshipHandle():
            return RelationshipHandle(relationship(value.id))
        case PathHandle():
            nodes = tuple(_with_ids(each, node, relationship) for each in value.nodes)
            return PathHandle(nodes, tuple(_with_ids(each, node, relationship) for each in value.relationships))
        case list():
            return [_with_ids(each, node, relationship) for each in value]
        case dict():
            return {key: _with_ids(each, node, relationship) for key, each in value.items()}
        case _:
            return value


def _placed(column: TableColumn, store: GraphStore, context: ExecutionContext) -> Column:
    if isinstance(column, Plain):
        return from_arrow(column.array)
    if isinstance(column, Elements):
        of_nodes = column.handle is NodeHandle
        ids = (store.node_numbers if of_nodes else store.relationship_numbers).places(column.numbers)
        if ((ids < 0) & (column.numbers >= 0)).any():
            raise Unbatched
        return NodeColumn(ids) if of_nodes else RelationshipColumn(ids)

    def place(numbers: Numbers) -> Callable[[int], int]:
        def found(number: int) -> int:
            if (id := numbers.place(number)) < 0:
                raise Unbatched
            return id

        return found

    node, relationship = place(store.node_numbers), place(store.relationship_numbers)
    return from_many([_with_ids(value, node, relationship) for value in column], context.check)
