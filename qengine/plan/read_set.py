"""What of a graph a plan reads: where a commit changed nothing of that, the plan's rows are those before it.

Elements come into a pattern's embedding by its relationships, or, for nodes that no relationship must join to others,
by themselves. So a new node changes no rows unless a new relationship does, or one of the latter may be it.

Where a pattern has nodes that constants find by properties' values (its roots), a new relationship is of its embeddings
only if what leads from there to it was there before, or is new, too. Of those new ones that are nearest to the roots,
by the pattern, all that leads there was there before: if none of these is reached from the roots, no row changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from typing import Any, TypeAlias

from qengine._frozen import frozen
from qengine.plan import expr as x
from qengine.plan import logical as op
from qengine.plan.access import HASH, Probe, access_paths, equality
from qengine.plan.column_types import column_types
from qengine.plan.pattern import Direction, LabelExpr, PatternNode, PatternRelationship, QueryGraph
from qengine.plan.traverse import nodes_of
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

_LINK = 2  # relationships that a node of another pattern counts for: ways from a pattern's own roots are rather taken

_Labels: TypeAlias = tuple[LabelExpr, ...]
_Place: TypeAlias = tuple[int, str]  # the pattern, and a node's name in it


@frozen
class Root:
    """Nodes that have these labels and satisfy one of the probes, whose values are constants."""

    labels: _Labels
    probes: tuple[Probe, ...]


@frozen
class Step:
    """From nodes to their neighbours by relationships of some types (None: any): ``hops`` are (1, 1), or (0, any)."""

    types: LabelExpr | None
    direction: Direction
    hops: tuple[int, int | None] = (1, 1)


@frozen
class Route:
    """How a pattern leads from a root to one of its nodes."""

    root: Root
    steps: tuple[Step, ...] = ()

    def then(self, *steps: Step) -> Route:
        """Return the route and what follows."""
        return Route(self.root, (*self.steps, *steps))


@frozen
class Copied:
    """Nodes with these labels whose property ``key`` equals ``source`` of others, which ``of`` admits and rows have."""

    labels: LabelExpr | None
    key: str
    of: LabelExpr | None
    source: str


@frozen
class ReadEdge:
    """A relationship of a pattern: the conditions on its type (None: any) and on the labels of its ends.

    ``near``, ``far``: the routes to its start and its end, and along it, on which an embedding depends.
    """

    types: LabelExpr | None
    start: _Labels = ()
    end: _Labels = ()
    direction: Direction = Direction.BOTH
    near: Route | None = None
    far: Route | None = None

    def ways(self, type: str, start: frozenset[str], end: frozenset[str], *, directed: bool) -> Iterator[bool]:
        """Give how a relationship between nodes with such labels may be this one: True from start to end."""
        if self.types is None or self.types.admits(frozenset((type,))):
            direction = self.direction if directed else Direction.BOTH
            if direction is not Direction.IN and _admit(self.start, start) and _admit(self.end, end):
                yield True
            if direction is not Direction.OUT and _admit(self.start, end) and _admit(self.end, start):
                yield False


class ReadSet:
    """What a plan reads.

    ``edges``: the relationships of its patterns. ``nodes``: the conditions on labels of the nodes that no relationship
    must join to others, but for those that routes lead to, and for those of which ``copied`` tells more. ``roots``:
    where routes begin. ``keys``: of properties, None for any.
    """

    __slots__ = ("_keys", "_nodes", "copied", "edges", "roots")

    def __init__(
        self,
        edges: Iterable[ReadEdge],
        nodes: Iterable[LabelExpr | Copied | None],
        roots: Iterable[Root],
        keys: frozenset[str] | None,
    ) -> None:
        self.edges, self.roots, self._keys = tuple(edges), tuple(roots), keys
        self.copied = tuple(each for each in nodes if isinstance(each, Copied))
        self._nodes = tuple(each for each in nodes if not isinstance(each, Copied))

    def has_node(self, labels: frozenset[str]) -> bool:
        """Tell whether a new node with such labels may be among what is read, without a new relationship or a root."""
        return any(condition is None or condition.admits(labels) for condition in self._nodes)

    def has_key(self, key: str) -> bool:
        """Tell whether a property may be read."""
        return self._keys is None or key in self._keys


def _admit(conditions: _Labels, labels: frozenset[str]) -> bool:
    return not conditions or all(each.admits(labels) for each in conditions)


def keys_read(tree: Any) -> frozenset[str] | None:
    """Return the keys of the properties that expressions and plans read; None for any, and where that can't be told."""
    found = set()
    for each in nodes_of(tree):
        if isinstance(each, op.Operator) and type(each) not in _OPERATORS:
            return None
        if isinstance(each, x.Expr) and (type(each) not in _EXPRESSIONS or _reads_all_keys(each)):
            return None
        if isinstance(each, x.Property):
            found.add(each.key)
    return frozenset(found)


def read_set(plan: op.LogicalPlan) -> ReadSet | None:
    """Return what a bound plan reads; None where that may be anything, as procedures and users' functions do."""
    keys: set[str] | None = set()
    graphs: list[QueryGraph] = []
    names: dict[str, list[Any]] = {}
    for each in nodes_of(plan.root):
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
                for name, expr in each.aggregates if isinstance(each, op.Aggregate) else ():
                    names.setdefault(name, []).append(expr)
            case op.Unwind(name=name) | op.LoadCsv(name=name):
                names.setdefault(name, []).append(each)
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
    routes = _routes(graphs, names)
    edges: dict[ReadEdge, None] = {}
    nodes: dict[LabelExpr | Copied | None, None] = {}
    for place, graph in enumerate(graphs):
        _add_graph(place, graph, names, routes, edges, nodes)
    roots = dict.fromkeys(route.root for route, _ in routes.values())
    return ReadSet(edges, nodes, roots, None if keys is None else frozenset(keys))


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


_Routes: TypeAlias = dict[_Place, tuple[Route, str]]
"""The routes to nodes of patterns, and the relationship that each ends with, "" for none."""


def _routes(graphs: Sequence[QueryGraph], names: Mapping[str, Sequence[Any]]) -> _Routes:
    """Find the ways of the fewest relationships from roots to the nodes of patterns."""
    found: _Routes = {}
    ways: dict[_Place, list[tuple[int, _Place, tuple[Step, ...], str]]] = {}
    waiting: list[tuple[int, int, _Place, Route, str]] = []
    owners: dict[str, list[int]] = {}
    for index, graph in enumerate(graphs):
        for node in graph.nodes:
            if not node.bound:
                owners.setdefault(node.name, []).append(index)
    for index, graph in enumerate(graphs):
        for node in graph.nodes:
            place, labels = (index, node.name), () if node.labels is None else (node.labels,)
            access = next((each for each in access_paths(node.name, node.predicates) if each.kind == HASH), None)
            if access is not None:
                heappush(waiting, (0, len(waiting), place, Route(Root(labels, access.probes)), ""))
            if node.bound and (name := _origin(node.name, names)) is not None and len(owners.get(name, ())) == 1:
                ways.setdefault((owners[name][0], name), []).append((_LINK, place, (), ""))
        for edge in graph.relationships:
            if edge.repetition is None and edge.chain is None:
                start, end = (index, edge.start), (index, edge.end)
                ways.setdefault(start, []).append((1, end, _steps(edge, edge.direction), edge.name))
                ways.setdefault(end, []).append((1, start, _steps(edge, edge.direction.reversed()), edge.name))
    count = len(waiting)
    while waiting:
        far, _, place, route, by = heappop(waiting)
        if place in found:
            continue
        found[place] = route, by
        for more, there, steps, name in ways.get(place, ()):
            if there not in found:
                count += 1
                heappush(waiting, (far + more, count, there, route.then(*steps), name))
    return found


def _steps(edge: PatternRelationship, direction: Direction) -> tuple[Step, ...]:
    if edge.hops is None:
        return (Step(edge.types, direction),)
    least, most = edge.hops
    if not least:
        return (Step(edge.types, direction, (0, most)),)
    further = None if most is None else most - 1
    return (Step(edge.types, direction), Step(edge.types, direction, (0, further)))


def _origin(name: str, names: Mapping[str, Sequence[Any]]) -> str | None:
    """Return the name under which a pattern has found a node that rows give, None where that can't be told."""
    for _ in range(len(names)):
        known = names.get(name, ())
        if len(known) != 1:
            return None
        if not isinstance(known[0], x.Variable):
            return name
        name = known[0].name
    return None


def _add_graph(
    index: int,
    graph: QueryGraph,
    names: Mapping[str, Sequence[Any]],
    routes: _Routes,
    edges: dict[ReadEdge, None],
    nodes: dict[LabelExpr | Copied | None, None],
) -> None:
    """Add what a pattern's relationships and the nodes that stand alone may be; repeated patterns are given apart."""
    own = {node.name: node.labels for node in graph.nodes}
    held = set()
    for edge in graph.relationships:
        if edge.repetition is None and edge.chain is None:
            edges[_read_edge(edge, index, own, names, routes)] = None
        if _is_plain(edge) or (edge.chain is None and edge.hops is not None and edge.hops[0]):
            held |= {edge.start, edge.end}
    for node in graph.nodes:
        if not (node.bound or node.name in held or (index, node.name) in routes):
            nodes[_copied(node, graph, names) or node.labels] = None


def _copied(node: PatternNode, graph: QueryGraph, names: Mapping[str, Sequence[Any]]) -> Copied | None:
    """Return what a node must equal, where that is a property of nodes that were found before this pattern."""
    together = {each.name for each in graph.nodes if not each.bound}
    for predicate in (*node.predicates, *graph.predicates):
        known = equality(predicate, node.name)
        if known is None or known.identity or (found := _copied_from(known.value, names)) is None:
            continue
        name, key = found
        if name not in together and ((of := names[name][0]) is None or isinstance(of, LabelExpr)):
            return Copied(node.labels, known.key, of, key)
    return None


def _copied_from(expr: x.Expr, names: Mapping[str, Sequence[Any]]) -> tuple[str, str] | None:
    """Return of which variable a value is a property, and which: it may be the least, or the largest, or collected."""
    listed = False
    for _ in range(2 * len(names) + 2):
        known = names.get(expr.name, ()) if isinstance(expr, x.Variable) else ()
        match expr:
            case x.Property(subject=x.Variable(name=name), key=key) if not listed:
                origin = _origin(name, names)
                return None if origin is None else (origin, key)
            case x.AggregateCall(name="min" | "max", args=(argument,)) if not listed:
                expr = argument
            case x.AggregateCall(name="collect", args=(argument,)) if listed:
                expr, listed = argument, False
            case x.Variable() if len(known) == 1 and isinstance(known[0], x.Expr):
                expr = known[0]
            case x.Variable() if len(known) == 1 and isinstance(known[0], op.Unwind) and not listed:
                expr, listed = known[0].expr, True
            case _:
                return None
    return None


def _read_edge(
    edge: PatternRelationship,
    index: int,
    own: Mapping[str, LabelExpr | None],
    names: Mapping[str, Sequence[Any]],
    routes: _Routes,
) -> ReadEdge:
    """Return what is known of a relationship: of one that a route goes along, where that comes from."""
    near, far = (
        None if known is None or known[1] == edge.name else known[0]
        for known in (routes.get((index, name)) for name in (edge.start, edge.end))
    )
    if edge.hops is None:
        start, end = (_conditions(name, own.get(name), names) for name in (edge.start, edge.end))
        return ReadEdge(edge.types, start, end, edge.direction, near, far)
    most = None if edge.hops[1] is None else max(0, edge.hops[1] - 1)
    if near is not None:
        near = near.then(Step(edge.types, edge.direction, (0, most)))
    if far is not None:
        far = far.then(Step(edge.types, edge.direction.reversed(), (0, most)))
    return ReadEdge(edge.types, (), (), edge.direction, near, far)


def _is_plain(edge: PatternRelationship) -> bool:
    return edge.hops is None and edge.repetition is None and edge.chain is None


def _conditions(name: str, labels: LabelExpr | None, names: Mapping[str, Sequence[Any]]) -> _Labels:
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
