"""Tells which statements may be carried out many at a time, as one with a table of their literals.

``UNWIND rows AS row CLAUSES`` carries out each clause for all rows before the next. That is the same as one statement
after the other where no statement reads what another writes: where all only create; where they look up nodes and create
or merge relationships between them; where they merge a node by its properties, or look one up, and set others. What is
set may be computed from other properties of the same element: one item after the other is as good in a table as in
statements, and several items are where no two statements find the same node.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import fields
from typing import Any

from qengine._frozen import replace
from qengine.catalog.functions import lookup
from qengine.syntax import ast

CREATES = "creates"
"""Creates nodes and relationships and reads nothing: statements of any such texts may change places."""
LINKS = "links"
"""Looks up nodes and creates relationships between them: statements of any such texts may change places."""
TOGETHER = "together"
"""Statements that differ in literals alone may be carried out together, in their order."""
ONCE = "once"
"""Those of them that look up different nodes may."""
IN_ORDER = "in order"
"""Each may be the body of a CALL (``cypher_bodies``)."""
ALONE = "alone"
"""Each statement by itself."""


def shape_of(statement: ast.Statement) -> str:
    """Return how statements that differ from one in literals alone may be carried out: one of the names above."""
    body = statement.body
    if not isinstance(body, ast.Query) or statement.explain is not None or statement.hints:
        return ALONE
    clauses = body.clauses
    if isinstance(clauses[0], ast.UnwindClause) and len(clauses) > 1:
        rest = tuple(_without(each, clauses[0].name) for each in clauses[1:])
        shape = shape_of(replace(statement, body=replace(body, clauses=rest)))
        return shape if shape in (CREATES, LINKS) else ALONE
    if isinstance(clauses[0], ast.CreateClause):
        return _creates(clauses)
    if isinstance(clauses[0], ast.MatchClause):
        return _after_match(clauses)
    if isinstance(clauses[0], ast.MergeClause):
        return _merges(clauses)
    return ALONE


def _without(tree: Any, row: str) -> Any:
    """Return a part of a tree in which what is read of a row is a literal: it depends on nothing else."""
    if isinstance(tree, tuple):
        return tuple(_without(each, row) for each in tree)
    if tree == ast.Variable(row):
        return ast.Literal(None)
    if not isinstance(tree, ast.Ast):
        return tree
    changed = replace(tree, **{each.name: _without(getattr(tree, each.name), row) for each in fields(tree)})
    if isinstance(changed, ast.PropertyAccess | ast.Index) and isinstance(changed.subject, ast.Literal):
        return ast.Literal(None)
    return changed


def _creates(clauses: Sequence[ast.Clause]) -> str:
    """Return the shape of a statement that begins with CREATE, and may set what it has created."""
    names: set[str | None] = set()
    for clause in clauses:
        if isinstance(clause, ast.CreateClause) and all(map(_is_constant_path, clause.patterns)):
            names |= {getattr(each, "name", None) for path in clause.patterns for each in path.elements}
        elif not isinstance(clause, ast.SetClause) or not _sets_own(clause.items, names):
            return ALONE
    return CREATES


def _sets_own(items: Iterable[ast.SetItem | ast.LabelsItem], names: Container[str | None]) -> bool:
    """Tell whether all that is set are constants of elements that were just created."""
    for item in items:
        subject = item.target.subject if isinstance(item.target, ast.PropertyAccess) else item.target
        if not isinstance(subject, ast.Variable) or subject.name not in names:
            return False
        if isinstance(item, ast.LabelsItem):
            if not _labels(ast.NodePattern(labels=item.labels)):
                return False
        elif not _is_constant(item.value):
            return False
    return True


def _after_match(clauses: Sequence[ast.Clause]) -> str:
    """Return the shape of a statement that looks up nodes."""
    found: dict[str, ast.NodePattern] = {}
    rest = list(clauses)
    conditions: list[ast.Expression] = []
    while rest and isinstance(rest[0], ast.MatchClause):
        match = rest.pop(0)
        assert isinstance(match, ast.MatchClause)
        if match.optional or match.mode is not None:
            return ALONE
        for path in match.patterns:
            node = path.elements[0]
            if len(path.elements) != 1 or not _is_constant_node(node) or path.name or path.selector:
                return ALONE
            assert isinstance(node, ast.NodePattern)
            if node.name is None or node.name in found:
                return ALONE
            found[node.name] = node
        if match.where is not None:
            conditions.append(match.where)
    if not all(_is_equality(each) for each in conditions):
        return ALONE
    if rest and isinstance(rest[0], ast.CreateClause):
        paths = rest[0].patterns
        own = {getattr(path.elements[1], "name", None) for path in paths if len(path.elements) == 3}
        sets = [item for each in rest[1:] if isinstance(each, ast.SetClause) for item in each.items]
        plain = all(isinstance(each, ast.SetClause) for each in rest[1:]) and _sets_own(sets, own)
        return LINKS if plain and all(_joins(path, found) for path in paths) else ALONE
    if rest and isinstance(rest[0], ast.MergeClause) and _joins(rest[0].pattern, found):
        link = rest[0].pattern.elements[1]
        assert isinstance(link, ast.RelationshipPattern)
        items = [*rest[0].on_create, *rest[0].on_match]
        for clause in rest[1:]:
            if not isinstance(clause, ast.SetClause):
                return ALONE
            items += clause.items
        if not _sets_others(items, link.name, _keys(link.properties)):
            return ALONE
        return TOGETHER if len(items) < 2 or not _reads(items) else ALONE
    if len(found) == 1 and rest and all(isinstance(each, ast.SetClause) for each in rest):
        name, node = next(iter(found.items()))
        items = [item for each in rest if isinstance(each, ast.SetClause) for item in each.items]
        keys = _keys(node.properties) | {key for each in conditions for key in _compared(each)}
        return _changes(items) if _sets_others(items, name, keys, _labels(node)) else ALONE
    return ALONE


def _changes(items: Sequence[ast.SetItem | ast.LabelsItem]) -> str:
    """Return the shape of statements that look up one node and set such items."""
    return ONCE if len(items) > 1 and _reads(items) else TOGETHER


def _reads(items: Iterable[ast.SetItem | ast.LabelsItem]) -> bool:
    """Tell whether anything that is set is computed from properties."""
    return any(isinstance(item, ast.SetItem) and not _is_constant(item.value) for item in items)


def _merges(clauses: Sequence[ast.Clause]) -> str:
    """Return the shape of a statement that merges nodes, and then relationships between them."""
    found: dict[str, ast.NodePattern] = {}
    every: list[ast.SetItem | ast.LabelsItem] = []
    for clause in clauses:
        if isinstance(clause, ast.MergeClause):
            node = clause.pattern.elements[0]
            items = [*clause.on_create, *clause.on_match]
            every += items
            if len(clause.pattern.elements) == 1:
                if not _is_constant_node(node) or clause.pattern.name:
                    return ALONE
                assert isinstance(node, ast.NodePattern)
                if any(not _apart(node, each) or (items and _labels(node) & _labels(each)) for each in found.values()):
                    return ALONE
                if items and not _sets_others(items, node.name, _keys(node.properties), _labels(node)):
                    return ALONE
                if node.name is not None:
                    found[node.name] = node
            elif items or not _joins(clause.pattern, found):
                return ALONE
        elif isinstance(clause, ast.SetClause) and len(found) == 1 and len(clauses) <= 2:
            name, node = next(iter(found.items()))
            if not _sets_others(clause.items, name, _keys(node.properties), _labels(node)):
                return ALONE
            every += clause.items
        else:
            return ALONE
    shape = _changes(every)
    if shape == ONCE and isinstance(clauses[0], ast.MergeClause):
        if len(clauses) == 1 and max(len(clauses[0].on_create), len(clauses[0].on_match)) < 2:
            return TOGETHER  # one of the two items is set for a row, before the next is merged
        if len(clauses) - isinstance(clauses[-1], ast.SetClause) > 1:
            return ALONE
    return shape


def _apart(one: ast.NodePattern, other: ast.NodePattern) -> bool:
    """Tell whether two patterns find the same nodes, but for literals, or never the same."""
    if _labels(one) == _labels(other) and _keys(one.properties) == _keys(other.properties):
        return True
    return bool(_labels(one) and _labels(other) and not _labels(one) & _labels(other))


def _joins(path: ast.PathPattern, found: Iterable[str]) -> bool:
    """Tell whether a path is one relationship, with constant properties, between nodes that are known."""
    known = set(found)
    ends = path.elements[::2]
    return (
        len(path.elements) == 3
        and path.name is None
        and _is_constant_link(path.elements[1])
        and all(
            isinstance(each, ast.NodePattern) and each.name in known and each.labels is None and each.properties is None
            for each in ends
        )
    )


def _is_constant_path(path: ast.PathPattern) -> bool:
    return path.name is None and all(_is_constant_node(each) or _is_constant_link(each) for each in path.elements)


def _is_constant_node(node: ast.Ast) -> bool:
    return (
        isinstance(node, ast.NodePattern)
        and node.where is None
        and (node.labels is None or bool(_labels(node)))
        and _is_constant(node.properties)
    )


def _is_constant_link(link: ast.Ast) -> bool:
    return (
        isinstance(link, ast.RelationshipPattern)
        and link.hops is None
        and link.where is None
        and isinstance(link.types, ast.LabelName)
        and _is_constant(link.properties)
    )


def _is_constant(expression: ast.Expression | None, own: str | None = None) -> bool:
    """Tell whether an expression reads nothing of the graph, but for properties of ``own``: it is made of literals.

    What the clock says, or chance, it may be: statements that are carried out together have the same clock.
    """
    match expression:
        case None | ast.Literal():
            return True
        case ast.ListLiteral():
            return all(_is_constant(item, own) for item in expression.items)
        case ast.MapLiteral():
            return all(_is_constant(value, own) for _, value in expression.entries)
        case ast.Unary():
            return expression.op in ("-", "+") and _is_constant(expression.operand, own)
        case ast.Binary():
            return _is_constant(expression.left, own) and _is_constant(expression.right, own)
        case ast.FunctionCall():
            function = lookup(expression.name)
            scalar = function is not None and function.kind == "scalar"
            return scalar and all(_is_constant(each, own) for each in expression.args)
        case ast.PropertyAccess(subject=ast.Variable(name=name)):
            return own is not None and name == own
    return False


def _labels(node: ast.NodePattern) -> frozenset[str]:
    """Return the labels of a node's pattern; none where they are no plain names."""
    found, left = set(), [node.labels]
    while left:
        each = left.pop()
        if isinstance(each, ast.LabelConjunction):
            left += each.args
        elif isinstance(each, ast.LabelName):
            found.add(each.name)
        elif each is not None:
            return frozenset()
    return frozenset(found)


def _keys(properties: ast.Expression | None) -> frozenset[str]:
    return frozenset(key for key, _ in properties.entries) if isinstance(properties, ast.MapLiteral) else frozenset()


def _is_equality(condition: ast.Expression) -> bool:
    """Tell whether a condition compares properties with constants."""
    if isinstance(condition, ast.Binary) and condition.op.upper() == "AND":
        return _is_equality(condition.left) and _is_equality(condition.right)
    if not isinstance(condition, ast.Comparison) or condition.ops != ("=",):
        return False
    left, right = condition.operands
    return isinstance(left, ast.PropertyAccess) and isinstance(left.subject, ast.Variable) and _is_constant(right)


def _compared(condition: ast.Expression) -> Iterable[str]:
    """Yield the properties that a condition, one of equalities, compares."""
    if isinstance(condition, ast.Binary):
        yield from _compared(condition.left)
        yield from _compared(condition.right)
    elif isinstance(condition, ast.Comparison) and isinstance(condition.operands[0], ast.PropertyAccess):
        yield condition.operands[0].key


def _sets_others(
    items: Iterable[ast.SetItem | ast.LabelsItem],
    name: str | None,
    keys: frozenset[str],
    labels: frozenset[str] = frozenset(),
) -> bool:
    """Tell whether all that is set is of one variable, computed of that alone, and not what it was found by."""
    for item in items:
        if isinstance(item, ast.LabelsItem):
            if not isinstance(item.target, ast.Variable) or item.target.name != name:
                return False
            given = _labels(ast.NodePattern(labels=item.labels))
            if not given or given & labels:
                return False
        elif isinstance(item.target, ast.PropertyAccess):
            subject = item.target.subject
            if not isinstance(subject, ast.Variable) or subject.name != name or item.target.key in keys:
                return False
            if not _is_constant(item.value, name):
                return False
        elif (
            not (item.adds and isinstance(item.target, ast.Variable) and item.target.name == name)
            or not isinstance(item.value, ast.MapLiteral)
            or not _is_constant(item.value, name)
            or _keys(item.value) & keys
        ):
            return False
    return True
