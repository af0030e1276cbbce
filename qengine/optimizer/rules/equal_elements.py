"""Makes one node of two that a condition says are equal, and one relationship of two with the same ends.

Why: ``MATCH (a)-->(b), (c)-->(d) WHERE a = c`` is then ``MATCH (a)-->(b), (a)-->(d)``, where a join of two patterns
would find all pairs and drop most; a node of an earlier clause becomes where the search starts.
When: a conjunct ``a = c``, or of ``id`` or ``elementId`` of both, where at least one is new in this match. The column
of the one that goes is read from the other. Nodes of one ``DIFFERENT NODES`` match, and relationships that must differ,
are never equal. Where two relationships with an end in common are equal, so are their other ends.
Wrong for: an ``OPTIONAL MATCH`` that binds nothing else anew, whose node is null where an outer one is not; both ends
of a shortest path; relationships of variable length, which are lists; relationships without an end in common, whose
direction doesn't say which ends are equal if their type is undirected.
"""

from __future__ import annotations

from dataclasses import field
from functools import reduce
from typing import TypeVar

from qengine._frozen import record, replace
from qengine.optimizer.rules.tree import changes
from qengine.plan.columns import columns_of
from qengine.plan.constants import FALSE
from qengine.plan.expr import Call, Case, Comparison, Expr, Literal, PathOf, Variable
from qengine.plan.fallible import condition_can_fail
from qengine.plan.logical import Filter, Match, Operator, Project
from qengine.plan.pattern import Direction, MatchMode, PatternNode, PatternPath, PatternRelationship, QueryGraph
from qengine.plan.predicates import both, placed
from qengine.plan.traverse import conjunction, free_variables, only_variable, substitute
from qengine.types import ANY, BOOLEAN, NODE, RELATIONSHIP

Element = TypeVar("Element", PatternNode, PatternRelationship)


@changes(Match)
def equal_elements(operator: Operator) -> Operator:
    """Apply the rule to one operator."""
    if not isinstance(operator, Match) or not any(map(_equal, operator.graph.predicates)):
        return operator
    if FALSE in operator.graph.predicates:
        return operator
    unifier = _Unifier(operator.graph, operator.optional)
    while unifier.step():
        pass
    if unifier.graph is operator.graph:
        return operator
    return unifier.over(operator)


@record
class _Unifier:
    """``graph``: the pattern so far. ``read_from``: for each element that went the one that it is."""

    graph: QueryGraph
    optional: bool
    read_from: dict[str, str] = field(default_factory=dict)

    def step(self) -> bool:
        """Use up one equality; tell whether there may be more."""
        for predicate in self.graph.predicates:
            equal = _equal(predicate)
            if equal is not None:
                unify = self._nodes if equal[0].type == NODE else self._relationships
                graph = unify(predicate, *(each.name for each in equal))
                if graph is not None:
                    self.graph = graph
                    return FALSE not in graph.predicates
        return False

    def over(self, operator: Match) -> Operator:
        """Return the match of the new pattern, and above it what it doesn't emit, or can't check any more."""
        moved = [each for each in self.graph.predicates if free_variables(each) & self.read_from.keys()]
        if moved:
            moved += [each for each in self.graph.predicates if condition_can_fail(each) and each not in moved]
        single = [each for each in self.graph.predicates if _is_of_one(each) and each not in operator.graph.predicates]
        kept = tuple(each for each in self.graph.predicates if each not in moved and each not in single)
        root: Operator = replace(operator, graph=reduce(placed, single, replace(self.graph, predicates=kept)))
        if self.read_from:
            root = Project(root, tuple((name, self._value(name)) for name in columns_of(operator)))
        for late in (False, True):
            conditions = tuple(each for each in moved if condition_can_fail(each) is late)
            root = Filter(root, conjunction(conditions)) if conditions else root
        return root

    def _value(self, name: str) -> Expr:
        """Return what a column is read from: in an optional match without embedding, null also from an outer node."""
        source = name
        while source in self.read_from:
            source = self.read_from[source]
        types = {each.name: NODE for each in self.graph.nodes}
        types.update((each.name, RELATIONSHIP) for each in self.graph.relationships if each.hops is None)
        value = Variable(source, type=types.get(source, ANY))
        if source == name or not self.optional or source in _new(self.graph):
            return value
        unmatched = Call("IS NULL", (Variable(_new(self.graph)[0]),), type=BOOLEAN)
        return Case(((unmatched, Literal(None)),), value, type=value.type)

    def _nodes(self, predicate: Expr, one: str, other: str, *, kept: bool = False) -> QueryGraph | None:
        graph = self.graph
        nodes = {node.name: node for node in graph.nodes}
        if one == other:
            return _without(graph, predicate) if one in nodes else None
        new = [name for name in (other, one) if name in nodes and not nodes[name].bound]
        if not new:
            return None
        away = new[0]
        stays = one if away == other else other
        if graph.mode is MatchMode.DIFFERENT_NODES and stays in nodes and graph.together(one, other):
            return replace(graph, predicates=(FALSE,))
        if any(path.selector is not None and {one, other} <= {*path.elements} for path in graph.paths):
            return None
        merged = nodes.get(stays, PatternNode(stays, bound=True))
        gone = _renamed_element(nodes[away], away, stays)
        merged = replace(
            merged, labels=both(merged.labels, gone.labels), predicates=_joined(merged.predicates, gone.predicates)
        )
        if stays in nodes:
            changed = tuple(merged if node.name == stays else node for node in graph.nodes if node.name != away)
        else:
            changed = tuple(merged if node.name == away else node for node in graph.nodes)
        edges = tuple(
            replace(
                edge,
                start=stays if edge.start == away else edge.start,
                end=stays if edge.end == away else edge.end,
            )
            for edge in graph.relationships
        )
        return self._gone(replace(graph, nodes=changed, relationships=edges), None if kept else predicate, away, stays)

    def _relationships(self, predicate: Expr, one: str, other: str) -> QueryGraph | None:
        graph = self.graph
        edges = {edge.name: edge for edge in graph.relationships if edge.hops is None}
        if not {one, other} <= edges.keys():
            return None
        if one == other:
            return _without(graph, predicate)
        if graph.mode is not MatchMode.REPEATABLE_ELEMENTS and graph.together(one, other):
            return replace(graph, predicates=(FALSE,))
        first, second = edges[one], edges[other]
        shared = {first.start, first.end} & {second.start, second.end}
        ends = (_other_end(first, min(shared)), _other_end(second, min(shared))) if shared else ("", "")
        if ends[0] != ends[1]:
            return self._nodes(predicate, *ends, kept=True)
        away = next((name for name in (other, one) if not edges[name].bound), None)
        oriented = _oriented(first, second) if shared else None
        if away is None or oriented is None or any(_picky(path, away) for path in graph.paths):
            return None
        stays = one if away == other else other
        gone = _renamed_element(edges[away], away, stays)
        merged = replace(
            edges[stays],
            start=oriented.start,
            end=oriented.end,
            direction=oriented.direction,
            types=both(edges[stays].types, gone.types),
            predicates=_joined(edges[stays].predicates, gone.predicates),
        )
        changed = tuple(merged if edge.name == stays else edge for edge in graph.relationships if edge.name != away)
        return self._gone(replace(graph, relationships=changed), predicate, away, stays)

    def _gone(self, graph: QueryGraph, used: Expr | None, away: str, stays: str) -> QueryGraph | None:
        """Return the graph with the name that went replaced where it is read; None if an optional match can't do."""

        def there(names: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(stays if name == away else name for name in names)

        def named(names: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(dict.fromkeys(there(names)))

        rest = [each for each in graph.predicates if each is not used]
        hints = graph.hints
        graph = replace(
            graph,
            paths=tuple(replace(path, elements=there(path.elements)) for path in graph.paths),
            predicates=tuple(_renamed(each, away, stays) for each in rest),
            parts=tuple(frozenset(there(tuple(part))) for part in graph.parts),
            hints=replace(
                hints,
                order=named(hints.order),
                join=None if hints.join is None else (named(hints.join[0]), named(hints.join[1])),
            ),
        )
        if self.optional and (not _new(graph) or any(away in free_variables(each) for each in graph.predicates)):
            return None
        self.read_from[away] = stays
        return graph


def _equal(predicate: Expr) -> tuple[Variable, Variable] | None:
    """Return the two nodes or two relationships that a condition says are equal."""
    match predicate:
        case Comparison(
            ops=("=",),
            args=((Call(name="id" | "elementid" as one, args=(left,)), Call(name=other, args=(right,)))),
        ) if one == other:
            pass
        case Comparison(ops=("=",), args=(left, right)):
            pass
        case _:
            return None
    if isinstance(left, Variable) and isinstance(right, Variable) and left.type == right.type:
        return (left, right) if left.type in (NODE, RELATIONSHIP) else None
    return None


def _new(graph: QueryGraph) -> tuple[str, ...]:
    """Return the nodes and relationships that a match binds anew: null only where there is no embedding."""
    elements: list[PatternNode | PatternRelationship] = [*graph.nodes, *graph.relationships]
    return tuple(each.name for each in elements if not each.bound)


def _without(graph: QueryGraph, predicate: Expr) -> QueryGraph:
    return replace(graph, predicates=tuple(each for each in graph.predicates if each is not predicate))


def _is_of_one(predicate: Expr) -> bool:
    return only_variable(predicate) is not None and not condition_can_fail(predicate)


def _other_end(edge: PatternRelationship, end: str) -> str:
    return edge.end if edge.start == end else edge.start


def _oriented(one: PatternRelationship, other: PatternRelationship) -> PatternRelationship | None:
    """Return which of two relationships between the same ends has the direction of both, None if neither has."""
    if one.direction is Direction.BOTH:
        return other
    if other.direction is Direction.BOTH or (one.start, one.end) == (other.start, other.end):
        return one
    return None


def _picky(path: PatternPath, name: str) -> bool:
    """Tell whether a path through a relationship is selected, or must not repeat it."""
    return name in path.elements and (path.selector is not None or path.mode is not None)


def _joined(one: tuple[Expr, ...], other: tuple[Expr, ...]) -> tuple[Expr, ...]:
    return tuple(dict.fromkeys((*one, *other)))


def _renamed_element(element: Element, away: str, stays: str) -> Element:
    return replace(element, predicates=tuple(_renamed(each, away, stays) for each in element.predicates))


def _renamed(expr: Expr, away: str, stays: str) -> Expr:
    """Return an expression that reads another element; subqueries still read the old one."""

    def choose(part: Expr) -> Expr | None:
        if isinstance(part, Variable) and part.name == away:
            return replace(part, name=stays)
        if isinstance(part, PathOf) and away in part.elements:
            return replace(part, elements=tuple(stays if name == away else name for name in part.elements))
        return None

    return substitute(expr, choose)
