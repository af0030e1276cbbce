"""Selected paths over several elements: a query graph of their own; outside, their names are parts of lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from qengine._frozen import frozen, replace
from qengine.binder.binding import Binding
from qengine.binder.quantified import Group, Repeated, names_read
from qengine.binder.scope import Symbol
from qengine.binder.shortest import repeats_no_node
from qengine.errors import Span
from qengine.plan.expr import Call, Expr, Literal, PathOf, Subquery, Variable
from qengine.plan.fallible import condition_can_fail
from qengine.plan.pattern import (
    Chain,
    MatchMode,
    PathCondition,
    PathSelector,
    PatternNode,
    PatternPath,
    PatternRelationship,
    QueryGraph,
)
from qengine.plan.traverse import conjunction, free_variables, preorder, substitute
from qengine.syntax import ast
from qengine.types import BOOLEAN, INTEGER, NODE, PATH, RELATIONSHIP, list_of

_END = 2**63 - 1


def is_chain(pattern: ast.PathPattern, elements: Sequence[object], mode: MatchMode, selector: PathSelector) -> bool:
    """Tell whether a selected path is more than the shortest walks along one relationship."""
    if pattern.selector in ("shortestPath", "allShortestPaths"):
        return mode is MatchMode.DIFFERENT_NODES and not repeats_no_node(pattern, selector)
    between = elements[1::2]
    if len(between) != 1 or isinstance(between[0], Repeated):
        return bool(between)
    only = between[0]
    if isinstance(only, ast.RelationshipPattern) and only.hops is None and only.name is not None:
        return True
    assert isinstance(only, (ast.RelationshipPattern, Group))
    simple = repeats_no_node(pattern, selector)
    if mode is MatchMode.DIFFERENT_NODES:
        return not simple
    repeatable = mode is MatchMode.REPEATABLE_ELEMENTS
    if pattern.path_mode == "TRAIL":
        return repeatable
    plain = simple and pattern.path_mode == "SIMPLE" and not repeatable
    return pattern.path_mode in ("ACYCLIC", "SIMPLE") and not plain


def check_column(binding: Binding, name: str, symbol: Symbol, span: Span) -> None:
    """Refuse a name in a pattern that is computed of a selected path, where it stands for no column yet.

    Raises
    ------
    Unsupported
        For such a name.
    """
    if symbol.value is not None:
        raise binding.unsupported(
            f"Variable `{name}` is part of a selected path, and can't stand in another pattern before a WITH.",
            span,
            "Name it in a WITH first.",
        )


@frozen
class SelectedNames:
    """What names inside a selected path are outside.

    ``relationships``, ``bounds``: columns, as of ``plan.pattern.Chain``. ``path``: the whole path. ``elements``:
    inside, in order; ``paths``: parts of it that names inside are computed from.
    """

    relationships: str
    bounds: str
    path: str
    elements: tuple[str, ...]
    paths: tuple[PatternPath, ...]

    def symbol(self, inside: Symbol, single: Callable[[str], bool]) -> Symbol:
        """Return what a name is outside. ``single``: tells a relationship from a list of them."""
        value = inside.value if inside.value is not None else Variable(inside.name, type=inside.type)
        return Symbol(self.relationships, inside.type, self.outside(value, single))

    def outside(self, value: Expr, single: Callable[[str], bool]) -> Expr:
        """Return what an expression over names inside is outside."""
        parts = {path.name: path.elements[0] for path in self.paths}

        def outside(expr: Expr) -> Expr | None:
            match expr:
                case Call(name="nodes", args=(Variable(name=name),)) if name in parts:
                    return self._nodes_from(parts[name])
                case Variable(name=name) if name in parts:
                    return self._part(parts[name])
                case Variable(name=name) if name in self.elements:
                    return self._element(self.elements.index(name), single(name))
            return None

        return substitute(value, outside)

    def _element(self, place: int, single: bool) -> Expr:
        if place % 2 == 0:
            return Call("[]", (self._nodes(), self._bound(place // 2)), type=NODE)
        begin, end = self._bound(place // 2), self._bound(place // 2 + 1)
        every = Variable(self.relationships, type=list_of(RELATIONSHIP))
        if single:
            return Call("[]", (every, begin), type=RELATIONSHIP)
        return Call("[..]", (every, begin, end), type=list_of(RELATIONSHIP))

    def _nodes_from(self, first: str) -> Expr:
        """Return the nodes of the part that begins with a node."""
        place = self.elements.index(first) // 2
        end = self._bound(place + 1)
        if not isinstance(end, Literal):
            end = Call("+", (end, Literal(1, type=INTEGER)), type=INTEGER)
        return Call("[..]", (self._nodes(), self._bound(place), end), type=list_of(NODE))

    def _part(self, first: str) -> Expr:
        """Return the path of the part that begins with a node."""
        place = self.elements.index(first) // 2
        bounds = self._bound(place), self._bound(place + 1)
        return Call("path[..]", (Variable(self.path, type=PATH), *bounds), type=PATH)

    def _nodes(self) -> Expr:
        return Call("nodes", (Variable(self.path, type=PATH),), type=list_of(NODE))

    def _bound(self, number: int) -> Expr:
        """Return how many relationships come before a node of the chain."""
        if number == 0:
            return Literal(0, type=INTEGER)
        if number == len(self.elements) // 2:
            return Literal(_END, type=INTEGER)
        index = Literal(number - 1, type=INTEGER)
        return Call("[]", (Variable(self.bounds, type=list_of(INTEGER)), index), type=INTEGER)


@frozen
class PathChoice:
    """Makes conditions that decide which paths are selected, of what is bound outside.

    ``path``: the selected path's start, list of relationships and end outside. ``names``: other names of that path.
    ``bounds``: as of ``plan.pattern.Chain``.
    """

    path: tuple[str, str, str]
    names: frozenset[str]
    bounds: str

    def reads(self, predicate: Expr) -> bool:
        """Tell whether a condition reads anything of the path but its ends."""
        return not free_variables(predicate).isdisjoint({self.path[1], self.bounds, *self.names})

    def condition(self, binding: Binding, predicates: Sequence[Expr]) -> PathCondition:
        """Return what is true where all of some conditions are.

        Raises
        ------
        Unsupported
            For a condition that reads anything else, or has a subquery.
        """
        first, last = binding.names.anonymous(), binding.names.anonymous()
        chosen = PathCondition(first, self.path[1], last, self.bounds, Literal(True, type=BOOLEAN))
        ends = {self.path[0]: first, self.path[2]: last}
        whole = PathOf((first, self.path[1], last), type=PATH)

        def inside(expr: Expr) -> Expr | None:
            if not isinstance(expr, Variable):
                return None
            if expr.name in self.names:
                return whole
            return Variable(ends[expr.name], type=NODE) if expr.name in ends else None

        known = {first, last, self.path[1], self.bounds}
        parts = []
        for predicate in predicates:
            part = substitute(predicate, inside)
            if not free_variables(part) <= known or any(isinstance(each, Subquery) for each in preorder(part)):
                raise binding.unsupported(
                    "A condition that decides which path is selected can't read other variables, or have a subquery.",
                    predicate.span,
                    "Compare with a parameter, or filter in the WHERE of the MATCH afterwards.",
                )
            parts.append(part)
        return replace(chosen, expr=conjunction(tuple(sorted(parts, key=condition_can_fail))))


def as_chain(
    binding: Binding, edge: PatternRelationship, mode: MatchMode, condition: PathCondition
) -> PatternRelationship:
    """Return a variable-length relationship of a selected path as a chain of its own."""
    first, inside, last = (binding.names.anonymous() for _ in range(3))

    def renamed(expr: Expr) -> Expr | None:
        return replace(expr, name=inside) if isinstance(expr, Variable) and expr.name == edge.name else None

    predicates = tuple(substitute(each, renamed) for each in edge.predicates)
    only = replace(edge, name=inside, start=first, end=last, predicates=predicates)
    graph = QueryGraph((PatternNode(first), PatternNode(last)), (only,), mode=mode)
    chain = Chain(graph, (first, inside, last), condition.bounds, condition)
    return PatternRelationship(edge.name, edge.start, edge.end, hops=(0, None), chain=chain)


def condition_names(wheres: Sequence[ast.Expression], elements: Sequence[object]) -> set[str]:
    """Return what conditions read besides the first and the last node of a path."""
    read = {name for where in wheres for name in names_read(where)}
    return read - {end.name for end in (elements[0], elements[-1]) if isinstance(end, ast.NodePattern)}


def parts_of_and(where: ast.Expression) -> list[ast.Expression]:
    """Split nested ANDs as written."""
    if isinstance(where, ast.Binary) and where.op == "AND":
        return [*parts_of_and(where.left), *parts_of_and(where.right)]
    return [where]
