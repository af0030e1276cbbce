"""Quantified path patterns of one relationship: ``((a)-[r:T]->(b) WHERE …){1,3}`` is ``-[r:T*1..3 WHERE …]->``.

Inside, ``a`` and ``b`` are the ends of each hop, so conditions on them are conditions on the hop's relationship.
Outside, they are the lists of the nodes that begin and end a hop: all nodes of the walk but the last, but the first.
"""

from __future__ import annotations

from qengine._frozen import frozen, replace
from qengine.binder.binding import Binding
from qengine.plan.expr import Call, Expr, Literal, Variable
from qengine.plan.traverse import free_variables, substitute
from qengine.syntax import ast
from qengine.types import INTEGER, NODE, PATH, RELATIONSHIP, list_of

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
class HopEnd:
    """A node inside a group: its pattern, the column that stands for it while conditions are bound, and the function
    of a relationship that gives it; None where that depends on the way the relationship is walked.
    """

    node: ast.NodePattern
    column: str
    function: str | None


def elements_of(binding: Binding, pattern: ast.PathPattern) -> list[ast.NodePattern | ast.RelationshipPattern | Group]:
    """Return the elements of a path, nodes and relationships in turn, with a node wherever a group leaves it out."""
    found: list[ast.NodePattern | ast.RelationshipPattern | Group] = []
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


def _group(binding: Binding, path: ast.QuantifiedPath) -> Group:
    if path.name is not None:
        raise binding.unsupported(
            "A name for a part of a path isn't built.", path.span, "Name the whole path: MATCH p = …."
        )
    if path.hops is None:
        raise binding.unsupported(
            "Parentheses round a part of a path aren't built.", path.span, "Leave them away, or quantify the part."
        )
    match path.elements:
        case (
            ast.NodePattern() as start,
            ast.RelationshipPattern(hops=None) as relationship,
            ast.NodePattern() as end,
        ):
            plain = replace(relationship, hops=path.hops, properties=None, where=None)
            return Group(plain, relationship, start, end, path.where)
    raise binding.unsupported(
        "A quantified path pattern of more than one relationship isn't built.",
        path.span,
        "Quantify one relationship, ((a)-[:T]->(b)){1,3}, or write its repetitions one by one.",
    )


def hop_ends(binding: Binding, group: Group, fixed: bool) -> tuple[HopEnd, HopEnd]:
    """Return the nodes inside a group. ``fixed``: its relationships are walked from start to end, or end to start."""
    written = group.written
    functions: tuple[str | None, str | None] = (None, None)
    if fixed and written.left != written.right:
        functions = ("endnode", "startnode") if written.left else ("startnode", "endnode")
    start, end = (binding.names.anonymous() for _ in functions)
    return HopEnd(group.start, start, functions[0]), HopEnd(group.end, end, functions[1])


def at_ends(binding: Binding, predicate: Expr, relationship: str, ends: tuple[HopEnd, ...]) -> Expr:
    """Return a condition inside a group as one on its relationship."""
    read = free_variables(predicate)
    hop = Variable(relationship, type=RELATIONSHIP)
    functions: dict[str, Expr] = {}
    for end in ends:
        if end.column not in read:
            continue
        if end.function is None:
            raise binding.unsupported(
                "Conditions on the nodes of an undirected quantified relationship aren't built.",
                predicate.span,
                "Give the relationship a direction, or use all(n IN nodes(p) WHERE …).",
            )
        functions[end.column] = Call(end.function, (hop,), type=NODE, span=predicate.span)
    found = substitute(predicate, lambda e: functions.get(e.name) if isinstance(e, Variable) else None)
    if free_variables(found) & functions.keys():
        raise binding.unsupported(
            "A subquery over a node of a quantified path pattern isn't built.", predicate.span, "Use its properties."
        )
    return found


def group_nodes(path: str, first: bool) -> Expr:
    """Return the nodes that begin (``first``) or end a hop of a walk, given the path of it."""
    nodes = Call("nodes", (Variable(path, type=PATH),), type=list_of(NODE))
    begin, end = (0, -1) if first else (1, _END)
    bounds = (Literal(begin, type=INTEGER), Literal(end, type=INTEGER))
    return Call("[..]", (nodes, *bounds), type=list_of(NODE))
