"""Reads by the engine's executors what a statement reads before it changes anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from qengine import optimizer
from qengine._frozen import frozen
from qengine.exec.common.batch import Batch
from qengine.exec.common.columns import Column, NodeColumn, RelationshipColumn
from qengine.exec.common.pipeline import batches
from qengine.exec.context import ExecutionContext
from qengine.exec.scalar.values import NodeHandle, PathHandle, RelationshipHandle
from qengine.plan import logical as op
from qengine.plan.columns import columns_of
from qengine.plan.expr import Call, ListOf, Literal, Parameter
from qengine.plan.physical import PhysicalPlan
from qengine.plan.traverse import operators
from qengine.storage.store import GraphStore
from qengine.write.live import is_known
from qengine.write.overlay import Overlay

__all__ = ["FEW", "PartPlans", "PartReader", "is_anchored", "most_rows"]

_SMALL = 2_000  # elements of a graph that is walked sooner than planned for
FEW = 1_000
"""Rows that are looked up one by one."""
_LONG = 1 << 62


class PartPlans:
    """Physical plans of a statement's reading parts, for each version that it ran on and that is still there."""

    def __init__(self) -> None:
        self._plans: WeakKeyDictionary[GraphStore, dict[int, tuple[op.Operator, PhysicalPlan]]] = WeakKeyDictionary()

    def of(self, part: op.Operator, store: GraphStore) -> PhysicalPlan:
        """Return the plan of a part."""
        known = self._plans.setdefault(store, {})
        found = known.get(id(part))
        if found is None or found[0] is not part:
            found = known[id(part)] = part, optimizer.plan(op.LogicalPlan(part, columns_of(part)), store)
        return found[1]


@frozen
class PartReader:
    """What one execution reads by.

    ``sealed``: returns the overlay's present state as a version, which may take long where much was touched.
    """

    plans: PartPlans
    context: ExecutionContext
    sealed: Callable[[], GraphStore]

    def begins_alone(self, operator: op.Operator) -> bool:
        """Tell whether a part begins with nothing, rather than with an outer row."""
        return any(isinstance(each, op.Match) for each in operators(operator)) and not any(
            isinstance(each, op.Argument) for each in operators(operator)
        )

    def planned(self, operator: op.Operator, overlay: Overlay) -> Iterator[dict[str, Any]] | None:
        """Return the rows of a part as the engine finds them; None where walking takes less."""
        elements = overlay.base.store.vertex_count + overlay.base.store.relationship_count + overlay.touched
        if elements <= _SMALL or (most_rows(operator, self.context.parameters) <= FEW and is_anchored(operator)):
            return None
        store = self.sealed()
        return _rows(self.plans.of(operator, store), store, self.context)


def most_rows(operator: op.Operator, parameters: Mapping[str, Any]) -> int:
    """Return how many rows the lists that are unwound have at most, a large number where they aren't known."""
    rows = 1
    for each in operators(operator):
        if isinstance(each, op.LoadCsv | op.ProcedureCall):
            return _LONG
        if isinstance(each, op.Unwind):
            match each.expr:
                case Parameter(name=name):
                    given = parameters.get(name)
                    rows *= len(given) if isinstance(given, list | tuple) else _LONG
                case ListOf(items=items):
                    rows *= len(items)
                case Call(name="range", args=(Literal(value=int(low)), Literal(value=int(high)))):
                    rows *= max(0, high - low + 1)
                case _:
                    return _LONG
    return rows


def is_anchored(part: op.Operator) -> bool:
    """Tell whether each pattern of a part begins at nodes that rows give, or that a property or identity finds."""
    for each in operators(part):
        if isinstance(each, op.Match):
            graph = each.graph
            unknown = frozenset(graph.variables())
            reached = {node.name for node in graph.nodes if node.bound or is_known(node, graph.predicates, unknown)}
            if any(edge.hops is not None for edge in graph.relationships):
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
    match value:
        case NodeHandle():
            return NodeHandle(store.node_numbers.number(value.id))
        case RelationshipHandle():
            return RelationshipHandle(store.relationship_numbers.number(value.id))
        case PathHandle():
            nodes = tuple(_renumbered(each, store) for each in value.nodes)
            return PathHandle(nodes, tuple(_renumbered(each, store) for each in value.relationships))
        case list():
            return [_renumbered(each, store) for each in value]
        case dict():
            return {key: _renumbered(each, store) for key, each in value.items()}
        case _:
            return value
