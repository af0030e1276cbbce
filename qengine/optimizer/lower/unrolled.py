"""Quantified paths and relationships with few repetitions as plain patterns: one for each number, rows together.

A plain pattern is searched from whichever node is cheapest, on all cores, or is only counted. Where equal rows count
once, sets of vertices are followed instead (``Repeat``, ``Reach``), which repetitions let grow no faster. Walks of
several lengths along one relationship go on from each other, so they are plain patterns only where these are counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from qengine._frozen import replace
from qengine.optimizer.lower.demand import Demand, Duplicates
from qengine.optimizer.lower.walks import single_hop
from qengine.plan.columns import columns_of
from qengine.plan.expr import Expr, ListOf, Subquery, Variable
from qengine.plan.fallible import condition_can_fail
from qengine.plan.logical import Argument, Match, Operator, Project, Union, Unit
from qengine.plan.pattern import NO_HINTS, PatternNode, PatternPath, PatternRelationship, QueryGraph, Repetition
from qengine.plan.predicates import both
from qengine.plan.traverse import free_variables, preorder, substitute
from qengine.types import RELATIONSHIP, list_of

_RELATIONSHIPS = 6  # of the longest pattern
_ALL_RELATIONSHIPS = 12  # of a pattern, with the others in it
_PATTERNS = 3


def unrolled(operator: Match, demand: Demand) -> Operator | None:
    """Return what a match of a quantified path is as plain patterns, None where it stays one."""
    graph = operator.graph
    if operator.optional or demand.duplicates is Duplicates.IGNORE or _is_set(graph):
        return None
    edge = next((edge for edge in graph.relationships if _is_repeated(edge, graph, operator, demand)), None)
    if edge is None:
        return None
    least, most = _numbers(edge)
    repetition = edge.repetition or single_hop(edge, edge.start, graph)
    wanted = [name for name in columns_of(operator) if name in demand.columns]
    parts = []
    for count in range(least, most + 1):
        plain, relationships = _Copies(graph, edge, repetition).graph(count)
        items = tuple((name, relationships if name == edge.name else Variable(name)) for name in wanted)
        parts.append(Project(Match(operator.input, plain), items))
    return parts[0] if len(parts) == 1 else Union(tuple(parts), all=True)


def is_of_several(graph: QueryGraph) -> bool:
    """Tell whether a pattern repeats several elements, not one relationship."""
    return any(edge.repetition is not None for edge in graph.relationships)


def _is_repeated(edge: PatternRelationship, graph: QueryGraph, operator: Match, demand: Demand) -> bool:
    """Tell whether a relationship is to be written out."""
    if edge.hops is None or edge.bound or edge.chain is not None:
        return False
    least, most = _numbers(edge)
    if not least or most < least:
        return False
    length = 1 if edge.repetition is None else len(edge.repetition.relationships)
    plain = sum(each.hops is None for each in graph.relationships)
    if most * length > _RELATIONSHIPS or plain + most * length > _ALL_RELATIONSHIPS:
        return False
    if most > least and not isinstance(operator.input, Unit | Argument):
        return False  # which would be computed for each pattern
    if any(path.selector is not None and edge.name in path.elements for path in graph.paths):
        return False
    if any(edge.name in part.outer for each in graph.predicates for part in preorder(each) if type(part) is Subquery):
        return False
    if edge.repetition is not None:
        return most - least < _PATTERNS and _is_plain(edge.repetition)
    return (most == least or _is_counted(edge, graph, demand)) and not _has_subquery((*edge.predicates, *edge.inner))


def _is_counted(edge: PatternRelationship, graph: QueryGraph, demand: Demand) -> bool:
    """Tell whether the walks along the only relationship of variable length are counted, in all or by one end.

    Where both ends are read, walks make fewer rows than searches.
    """
    read = demand.columns.union(*map(free_variables, graph.predicates))
    alone = sum(each.hops is not None for each in graph.relationships) == 1
    counted = demand.duplicates is Duplicates.COUNT and edge.name not in read
    return alone and counted and not {edge.start, edge.end} <= read


def _numbers(edge: PatternRelationship) -> tuple[int, int]:
    """Return the least and the greatest number of repetitions, -1 where there is none."""
    assert edge.hops is not None
    least, most = edge.hops
    return least, -1 if most is None else most


def _is_set(graph: QueryGraph) -> bool:
    """Tell whether hints say how the pattern is to be matched."""
    hints = graph.hints
    return hints is not NO_HINTS and (hints.as_written or replace(hints, known=None, text="", places=()) != NO_HINTS)


def _is_plain(repetition: Repetition) -> bool:
    graph, nodes = repetition.graph, repetition.nodes
    if len(set(nodes)) < len(nodes):
        return False
    conditions = [*graph.predicates, *(each for element in _elements(graph) for each in element.predicates)]
    return not _has_subquery(conditions)


def _has_subquery(conditions: Iterable[Expr]) -> bool:
    return any(isinstance(part, Subquery) for each in conditions for part in preorder(each))


def _elements(graph: QueryGraph) -> Iterator[PatternNode | PatternRelationship]:
    yield from graph.nodes
    yield from graph.relationships


class _Copies:
    """A query graph with a quantified path written out."""

    def __init__(self, graph: QueryGraph, edge: PatternRelationship, repetition: Repetition) -> None:
        self.whole, self.edge, self.repetition = graph, edge, repetition

    def graph(self, count: int) -> tuple[QueryGraph, Expr]:
        """Return it with so many repetitions, and the list of the relationships of all."""
        whole, edge = self.whole, self.edge
        nodes = {node.name: node for node in whole.nodes}
        edges: list[PatternRelationship] = []
        predicates: list[Expr] = []
        between: list[str] = []
        for number in range(count):
            names = self._names(number, count)
            inner = self.repetition.graph
            for node in inner.nodes:
                nodes[names[node.name]] = _both(nodes.get(names[node.name]), node, names)
            if number and edge.inner:
                passed = names[self.repetition.nodes[0]]
                nodes[passed] = replace(nodes[passed], predicates=_renamed(edge.inner, {edge.name: passed}))
            for each in inner.relationships:
                ends = {"name": names[each.name], "start": names[each.start], "end": names[each.end]}
                edges.append(replace(each, **ends, predicates=_renamed(each.predicates, names)))
            predicates += _renamed(inner.predicates, names)
            for relationship, node_name in zip(self.repetition.relationships, self.repetition.nodes[1:], strict=True):
                between += [names[relationship], names[node_name]]
        between.pop()
        items = tuple(Variable(name, type=RELATIONSHIP) for name in between[::2])
        relationships = ListOf(items, type=list_of(RELATIONSHIP))
        conditions = [*(_with_list(each, edge.name, relationships) for each in whole.predicates), *predicates]
        place = whole.relationships.index(edge)
        written = replace(
            whole,
            nodes=tuple(nodes.values()),
            relationships=(*whole.relationships[:place], *edges, *whole.relationships[place + 1 :]),
            paths=tuple(_longer(path, edge.name, tuple(between)) for path in whole.paths),
            predicates=tuple(sorted(conditions, key=condition_can_fail)),
            parts=tuple(part.union(between) if edge.name in part else part for part in whole.parts),
        )
        return written, relationships

    def _names(self, number: int, count: int) -> dict[str, str]:
        """Return what the names inside are in one of the repetitions: of its ends, those of its neighbours'."""
        edge, nodes = self.edge, self.repetition.nodes
        names = {each: f"{edge.name}.{number}.{each}" for each in (*nodes, *self.repetition.relationships)}
        if number + 1 < count:
            names[nodes[-1]] = f"{edge.name}.{number + 1}.{nodes[0]}"
        else:
            names[nodes[-1]] = edge.end
        if number == 0:
            names[nodes[0]] = edge.start
        return names


def _both(known: PatternNode | None, node: PatternNode, names: dict[str, str]) -> PatternNode:
    """Return a node that must be what each of two patterns says."""
    predicates = _renamed(node.predicates, names)
    if known is None:
        return PatternNode(names[node.name], node.labels, predicates)
    return replace(known, labels=both(known.labels, node.labels), predicates=(*known.predicates, *predicates))


def _renamed(predicates: tuple[Expr, ...], names: dict[str, str]) -> tuple[Expr, ...]:
    def renamed(expr: Expr) -> Expr | None:
        return replace(expr, name=names[expr.name]) if isinstance(expr, Variable) and expr.name in names else None

    return tuple(substitute(each, renamed) for each in predicates)


def _with_list(predicate: Expr, name: str, items: Expr) -> Expr:
    if name not in free_variables(predicate):
        return predicate
    return substitute(predicate, lambda expr: items if isinstance(expr, Variable) and expr.name == name else None)


def _longer(path: PatternPath, name: str, between: tuple[str, ...]) -> PatternPath:
    if name not in path.elements:
        return path
    place = path.elements.index(name)
    return replace(path, elements=(*path.elements[:place], *between, *path.elements[place + 1 :]))
