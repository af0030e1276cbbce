"""What of a graph a plan reads: where a commit changed nothing of that, the plan's rows are those before it.

Elements come into a pattern's embedding by its relationships, or, for nodes that no relationship must join to others,
by themselves. So a new node changes no rows unless a new relationship does, or one of the latter may be it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from qengine.plan import expr as x
from qengine.plan import logical as op
from qengine.plan.column_types import column_types
from qengine.plan.pattern import LabelExpr, PatternRelationship, QueryGraph
from qengine.types import Kind, Type

_OPERATORS = frozenset((
    op.Unit, op.Argument, op.Match, op.Filter, op.Project, op.Aggregate, op.Distinct, op.Sort, op.Skip, op.Limit,
    op.Unwind, op.LoadCsv, op.Union,
))  # fmt: skip
_EXPRESSIONS = frozenset((
    x.Literal, x.Parameter, x.Variable, x.Property, x.Call, x.Logical, x.Comparison, x.HasLabels, x.Case, x.ListOf,
    x.ConstantList, x.MapOf, x.MapProjection, x.ListComprehension, x.Quantifier, x.Reduce, x.PathOf, x.Subquery,
    x.AggregateCall,
))  # fmt: skip
_OF_ALL_KEYS = frozenset(("properties", "keys"))
_WHOLE = frozenset((Kind.ANY, Kind.NODE, Kind.RELATIONSHIP, Kind.PATH, Kind.MAP))  # values that may be elements

_Labels: TypeAlias = tuple[LabelExpr, ...]
_Edge: TypeAlias = tuple[LabelExpr | None, _Labels, _Labels]


class ReadSet:
    """What a plan reads.

    ``edges``: of each relationship of a pattern the condition on its type (None: any) and those on the labels of its
    ends. ``nodes``: the conditions on labels of the nodes that no relationship must join to others. ``keys``: of
    properties, None for any.
    """

    __slots__ = ("_edges", "_keys", "_nodes")

    def __init__(
        self, edges: frozenset[_Edge], nodes: frozenset[LabelExpr | None], keys: frozenset[str] | None
    ) -> None:
        self._edges, self._nodes, self._keys = edges, nodes, keys

    def has_node(self, labels: frozenset[str]) -> bool:
        """Tell whether a new node with such labels may be among what is read, without a new relationship."""
        return any(condition is None or condition.admits(labels) for condition in self._nodes)

    def has_relationship(self, type: str, one: frozenset[str], other: frozenset[str]) -> bool:
        """Tell whether a new relationship between nodes with such labels, either way, may be among what is read."""
        name = frozenset((type,))
        return any(
            (types is None or types.admits(name))
            and ((_admit(start, one) and _admit(end, other)) or (_admit(start, other) and _admit(end, one)))
            for types, start, end in self._edges
        )

    def has_key(self, key: str) -> bool:
        """Tell whether a property may be read."""
        return self._keys is None or key in self._keys


def _admit(conditions: _Labels, labels: frozenset[str]) -> bool:
    return all(each.admits(labels) for each in conditions)


def read_set(plan: op.LogicalPlan) -> ReadSet | None:
    """Return what a bound plan reads; None where that may be anything, as procedures and users' functions do."""
    keys: set[str] | None = set()
    graphs: list[QueryGraph] = []
    names: dict[str, list[Any]] = {}
    for each in _parts(plan.root):
        match each:
            case QueryGraph():
                graphs.append(each)
                for node in each.nodes:
                    if not node.bound:
                        names.setdefault(node.name, []).append(node.labels)
            case op.Project(items=items) | op.Aggregate(keys=items):
                for name, expr in items:
                    if not (isinstance(expr, x.Variable) and expr.name == name):
                        names.setdefault(name, []).append(expr)
            case x.Property(key=key) if keys is not None:
                keys.add(key)
        if isinstance(each, op.Operator) and type(each) not in _OPERATORS:
            return None
        if isinstance(each, x.Expr):
            if type(each) not in _EXPRESSIONS:
                return None
            if _reads_all_keys(each):
                keys = None
    types = column_types(plan.root)
    if any(_may_be_element(types.get(name)) for name in plan.columns):
        keys = None
    edges: set[_Edge] = set()
    nodes: set[LabelExpr | None] = set()
    for graph in graphs:
        _add_graph(graph, names, edges, nodes)
    return ReadSet(frozenset(edges), frozenset(nodes), None if keys is None else frozenset(keys))


def _parts(root: Any) -> Iterator[Any]:
    """Yield a plan's nodes and those of patterns, expressions and subqueries."""
    waiting = [root]
    while waiting:
        each = waiting.pop()
        if type(each) is tuple:
            waiting += each
        elif (fields := getattr(each, "child_fields", None)) is not None:
            yield each
            waiting += [getattr(each, name) for name in fields]


def _reads_all_keys(expr: x.Expr) -> bool:
    if isinstance(expr, x.MapProjection):
        return expr.everything
    if isinstance(expr, x.Call):
        return expr.name in _OF_ALL_KEYS or (expr.name == "[]" and expr.args[0].type.kind is not Kind.LIST)
    return False


def _may_be_element(type: Type | None) -> bool:
    while type is not None and type.kind is Kind.LIST:
        type = type.item
    return type is None or type.kind in _WHOLE


def _add_graph(graph: QueryGraph, names: dict[str, list[Any]], edges: set[_Edge], nodes: set[LabelExpr | None]) -> None:
    """Add what a pattern's relationships and the nodes that stand alone may be; repeated patterns are given apart."""
    own = {node.name: node.labels for node in graph.nodes}
    held = set()
    for edge in graph.relationships:
        if _is_plain(edge):
            start, end = (_conditions(name, own.get(name), names) for name in (edge.start, edge.end))
            edges.add((edge.types, start, end))
        elif edge.repetition is None and edge.chain is None:
            edges.add((edge.types, (), ()))
        if _is_plain(edge) or (edge.chain is None and edge.hops is not None and edge.hops[0]):
            held |= {edge.start, edge.end}
    nodes.update(node.labels for node in graph.nodes if not node.bound and node.name not in held)


def _is_plain(edge: PatternRelationship) -> bool:
    return edge.hops is None and edge.repetition is None and edge.chain is None


def _conditions(name: str, labels: LabelExpr | None, names: dict[str, list[Any]]) -> _Labels:
    """Return what is known of the labels of a node, that of where it was bound, too."""
    found = {labels}
    for _ in range(len(names)):
        known = names.get(name, ())
        if len(known) != 1:
            break
        if not isinstance(known[0], x.Variable):
            found |= {known[0]} if isinstance(known[0], LabelExpr) else set()
            break
        name = known[0].name
    return tuple(each for each in found if each is not None)
