"""Quantified path patterns.

Of one relationship, ``((a)-[r:T]->(b) WHERE …){1,3}`` is ``-[r:T*1..3 WHERE …]->``. Inside, ``a`` and ``b`` are the
ends of each hop, so conditions on them are conditions on the hop's relationship. Outside, they are the lists of the
nodes that begin and end a hop: all nodes of the walk but the last, but the first. Where the relationship doesn't tell
which of its ends is which, and for several relationships, the pattern inside is a query graph of its own that is
repeated (``plan.pattern.Repetition``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import fields

from qengine._frozen import frozen, replace
from qengine.binder.binding import Binding
from qengine.plan.expr import Call, Expr, ListComprehension, Literal, Quantifier, Subquery, Variable
from qengine.plan.pattern import QueryGraph
from qengine.plan.traverse import free_variables, preorder, substitute
from qengine.syntax import ast
from qengine.types import ANY, INTEGER, NODE, PATH, RELATIONSHIP, list_of

_END = 2**63 - 1


@frozen
class Group:
    """A quantified relationship: with its length, without its conditions, which ``written`` has; and its two nodes."""

    relationship: ast.RelationshipPattern
    written: ast.RelationshipPattern
    start: ast.NodePattern
    end: ast.NodePattern
    where: ast.Expression | None


@frozen
class Repeated:
    """A quantified path that is repeated as a query graph."""

    path: ast.QuantifiedPath


@frozen
class HopEnd:
    """A node inside a group: its pattern, the column that stands for it while conditions are bound, and the function
    of a relationship that gives it; None where that depends on the way the relationship is walked.
    """

    node: ast.NodePattern
    column: str
    function: str | None


Element = ast.NodePattern | ast.RelationshipPattern | Group | Repeated


def elements_of(binding: Binding, pattern: ast.PathPattern) -> list[Element]:
    """Return the elements of a path, nodes and relationships in turn, with a node wherever a group leaves it out."""
    found: list[Element] = []
    for element in pattern.elements:
        if isinstance(element, ast.NodePattern):
            found.append(element)
            continue
        if not found or not isinstance(found[-1], ast.NodePattern):
            found.append(ast.NodePattern(span=element.span))
        if isinstance(element, ast.QuantifiedPath):
            found.append(_group(binding, element))
        elif isinstance(element, ast.RelationshipPattern):
            found.append(element)
    if not isinstance(found[-1], ast.NodePattern):
        found.append(ast.NodePattern(span=pattern.span))
    return found


def _group(binding: Binding, path: ast.QuantifiedPath) -> Group | Repeated:
    match path.elements:
        case (
            ast.NodePattern() as start,
            ast.RelationshipPattern(hops=None) as relationship,
            ast.NodePattern() as end,
        ) if path.name is None and not _needs_both_ends(binding, path, relationship, (start, end)):
            plain = replace(relationship, hops=path.hops, properties=None, where=None)
            return Group(plain, relationship, start, end, path.where)
    for element in path.elements:
        if not isinstance(element, (ast.NodePattern, ast.RelationshipPattern)) or (
            isinstance(element, ast.RelationshipPattern) and element.hops is not None
        ):
            raise binding.error(
                "InvalidRelationshipPattern",
                "A quantified path pattern can't hold another, or a relationship of variable length.",
                element.span,
                "Quantify the whole pattern alone.",
            )
    if not any(isinstance(element, ast.RelationshipPattern) for element in path.elements):
        raise binding.error(
            "InvalidRelationshipPattern",
            "A quantified path pattern needs a relationship.",
            path.span,
            "Write ((a)-->(b)){1,3}.",
        )
    return Repeated(path)


def _needs_both_ends(
    binding: Binding,
    path: ast.QuantifiedPath,
    relationship: ast.RelationshipPattern,
    ends: tuple[ast.NodePattern, ast.NodePattern],
) -> bool:
    """Tell whether conditions read a hop's ends and its relationship doesn't tell which is which, or are subqueries."""
    conditions: list[object] = [each for end in ends for each in (end.labels, end.properties, end.where)]
    names = {end.name for end in ends if end.name is not None}
    own = [relationship.where, relationship.properties, relationship.types]
    conditions += [path.where, *(each for each in own if _holds(each, lambda part: _is_of(part, names)))]
    if relationship.left != relationship.right and not _undirected(binding, relationship.types):
        return any(_holds(each, _is_subquery) for each in (*conditions, *own))
    same = ends[0].name is not None and ends[0].name == ends[1].name
    return same or any(each is not None for each in conditions) or any(_holds(each, _is_subquery) for each in own)


def _undirected(binding: Binding, types: ast.LabelExpression | None) -> bool:
    """Tell whether a relationship may be of a type without a direction."""
    infos = map(binding.catalog.relationship_type, binding.catalog.relationship_types)
    return any(info is not None and info.undirected and _may_be(types, info.name) for info in infos)


def _may_be(types: ast.LabelExpression | None, name: str) -> bool:
    """Tell whether a type may satisfy a label expression: anything but names and disjunctions of them may hold."""
    if isinstance(types, ast.LabelDisjunction):
        return any(_may_be(each, name) for each in types.args)
    return not isinstance(types, ast.LabelName) or types.name == name


def _holds(node: object, test: Callable[[ast.Ast], bool]) -> bool:
    """Tell whether a part of a syntax tree, or of several, is what is looked for."""
    if isinstance(node, tuple):
        return any(_holds(each, test) for each in node)
    if not isinstance(node, ast.Ast):
        return False
    return test(node) or any(_holds(getattr(node, part.name), test) for part in fields(node))


def names_read(node: object) -> set[str]:
    """Return the names of the variables in a part of a syntax tree."""
    found: set[str] = set()
    _holds(node, lambda part: bool(found.add(part.name)) if isinstance(part, ast.Variable) else False)  # type: ignore[func-returns-value]
    return found


def _is_of(node: ast.Ast, names: Set[str]) -> bool:
    return isinstance(node, ast.Variable) and node.name in names


def _is_subquery(node: ast.Ast) -> bool:
    return isinstance(node, (ast.SubqueryExpression, ast.PatternPredicate, ast.PatternComprehension))


@frozen
class RepeatedWalk:
    """A walk along a repetition, as it is outside: its ``relationships``, its ``path``, and the names inside in order.

    The items of a name are every n-th of the walk's nodes or relationships, where n is how many there are inside.
    """

    name: str
    path: str
    nodes: tuple[str, ...]
    relationships: tuple[str, ...]

    def items(self, name: str) -> Expr:
        """Return what a name inside is outside: the list of what it was in each repetition."""
        size = len(self.relationships)
        if name in self.relationships:
            items: Expr = Variable(self.name, type=list_of(RELATIONSHIP))
            place, end = self.relationships.index(name), _END
        else:
            items = Call("nodes", (Variable(self.path, type=PATH),), type=list_of(NODE))
            place = self.nodes.index(name)
            end = place - size or _END  # none behind the last repetition
        if size == 1:
            whole = place == 0 and end == _END
            return items if whole else Call("[..]", (items, _integer(place), _integer(end)), type=items.type)
        return Call("[::]", (items, _integer(place), _integer(end), _integer(size)), type=items.type)

    def parts(self, binding: Binding) -> Expr:
        """Return the paths of the repetitions, one after the other."""
        place, size = Variable(binding.names.anonymous(), type=INTEGER), len(self.relationships)
        part = Call("path[..]", (Variable(self.path, type=PATH), place, _plus(place, size)), type=PATH)
        return ListComprehension(place.name, self._begins(), None, part, type=list_of(PATH))

    def each(self, binding: Binding, predicate: Expr) -> Expr:
        """Return a condition inside, which reads what is outside, as one on the whole walk."""
        if any(isinstance(part, Subquery) for part in preorder(predicate)):
            raise binding.unsupported(
                "A subquery in a quantified path pattern can't read variables from before it.",
                predicate.span,
                "Compare with a parameter, or put the condition behind the MATCH.",
            )
        first = Variable(binding.names.anonymous(), type=INTEGER)

        def item(expr: Expr) -> Expr | None:
            if not isinstance(expr, Variable) or expr.name not in (*self.nodes, *self.relationships):
                return None
            names = self.nodes if expr.name in self.nodes else self.relationships
            return self._item(expr.name, _plus(first, names.index(expr.name)))

        return Quantifier("all", first.name, self._begins(), substitute(predicate, item), span=predicate.span)

    def _begins(self) -> Expr:
        """Return the list of where each repetition begins."""
        bounds = (_integer(0), _plus(self._count(), -1), _integer(len(self.relationships)))
        return Call("range", bounds, type=list_of(INTEGER))

    def _count(self) -> Expr:
        return Call("size", (Variable(self.name, type=list_of(RELATIONSHIP)),), type=INTEGER)

    def _item(self, name: str, place: Expr) -> Expr:
        if name in self.nodes:
            nodes = Call("nodes", (Variable(self.path, type=PATH),), type=list_of(NODE))
            return Call("[]", (nodes, place), type=NODE)
        return Call("[]", (Variable(self.name, type=list_of(RELATIONSHIP)), place), type=RELATIONSHIP)


def without(graph: QueryGraph, predicates: Sequence[Expr]) -> QueryGraph:
    """Return a query graph without some of its conditions."""
    return replace(graph, predicates=tuple(each for each in graph.predicates if each not in predicates))


def _plus(expr: Expr, number: int) -> Expr:
    return Call("+", (expr, _integer(number)), type=INTEGER)


def _integer(value: int) -> Expr:
    return Literal(value, type=INTEGER)


def hop_ends(binding: Binding, group: Group, fixed: bool) -> tuple[HopEnd, HopEnd]:
    """Return the nodes inside a group. ``fixed``: its relationships are walked from start to end, or end to start."""
    written = group.written
    functions: tuple[str | None, str | None] = (None, None)
    if fixed and written.left != written.right:
        functions = ("endnode", "startnode") if written.left else ("startnode", "endnode")
    start, end = (binding.names.anonymous() for _ in functions)
    return HopEnd(group.start, start, functions[0]), HopEnd(group.end, end, functions[1])


def at_ends(predicate: Expr, relationship: str, ends: tuple[HopEnd, ...]) -> Expr:
    """Return a condition inside a group as one on its relationship."""
    read = free_variables(predicate)
    hop = Variable(relationship, type=RELATIONSHIP)
    functions: dict[str, Expr] = {}
    for end in ends:
        if end.column in read:
            assert end.function is not None, "such a group is repeated as a pattern"
            functions[end.column] = Call(end.function, (hop,), type=NODE, span=predicate.span)
    return substitute(predicate, lambda e: functions.get(e.name) if isinstance(e, Variable) else None)


def only_item(items: Expr) -> Expr:
    """Return the item of a list of one at most, null of none: what a name behind ``?`` stands for."""
    return Call("head", (items,), type=items.type.item or ANY)


def group_nodes(path: str, first: bool) -> Expr:
    """Return the nodes that begin (``first``) or end a hop of a walk, given the path of it."""
    nodes = Call("nodes", (Variable(path, type=PATH),), type=list_of(NODE))
    begin, end = (0, -1) if first else (1, _END)
    bounds = (Literal(begin, type=INTEGER), Literal(end, type=INTEGER))
    return Call("[..]", (nodes, *bounds), type=list_of(NODE))
