"""Builds the tree of the clauses that change the graph."""
# ruff: noqa: D102 (the rule of the same name in grammar/cypher.lark says what a method builds)

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from qengine.errors import Span
from qengine.syntax import ast
from qengine.syntax.build_expressions import between
from qengine.syntax.build_patterns import PatternBuilder
from qengine.syntax.checks import check_created, is_plain_labels
from qengine.syntax.scanner import Token


def one_by_one(clauses: Iterable[ast.Clause | list[ast.MergeClause]]) -> list[ast.Clause]:
    """Return the clauses of a query; what was written as one may be several."""
    return [each for found in clauses for each in (found if isinstance(found, list) else [found])]


class UpdateBuilder(PatternBuilder):
    """Rules of CREATE, MERGE, SET, REMOVE, DELETE and FOREACH."""

    def create(self, c: Sequence[Any], span: Span) -> ast.CreateClause | list[ast.MergeClause]:
        start, patterns = c
        if start.value == "CREATE UNIQUE":
            return self._create_unique(start, patterns)
        for path in patterns:
            check_created("CREATE", path, self.text)
        for node in [node for node in self.loose_parameters.values() if span.start <= node.span.start]:
            del self.loose_parameters[id(node)]
        return ast.CreateClause(tuple(patterns), span=span)

    def _create_unique(self, start: Token, patterns: Sequence[ast.PathPattern]) -> list[ast.MergeClause]:
        """Return CREATE UNIQUE, of Neo4j 3, as a MERGE of each relationship."""
        for path in patterns:
            check_created("MERGE", path, self.text)
            if sum(isinstance(each, ast.RelationshipPattern) for each in path.elements) != 1:
                hint = "Write a MERGE for each relationship: MERGE (a)-[:TYPE]->(b)."
                raise self.fail("CREATE UNIQUE is read for one relationship a path.", path.span, hint)
        self.remark("create unique", start)
        return [ast.MergeClause(path, span=between(start, path)) for path in patterns]

    def merge(self, c: Sequence[Any], span: Span) -> ast.MergeClause:
        _, path, actions = c
        check_created("MERGE", path, self.text)
        items: dict[str, list[Any]] = {"ON CREATE SET": [], "ON MATCH SET": []}
        for word, found in actions or ():
            items[word] += found
        on_create, on_match = map(tuple, items.values())
        return ast.MergeClause(path, on_create, on_match, span=span)

    def merge_action(self, c: Sequence[Any], span: Span) -> tuple[str, list[Any]]:
        return c[0].value, c[1]

    def set_clause(self, c: Sequence[Any], span: Span) -> ast.SetClause:
        return ast.SetClause(tuple(c[1]), span=span)

    def set_properties(self, c: Sequence[Any], span: Span) -> ast.SetItem:
        target, operator, value = c
        adds = operator.type == "PLUS_EQ"
        if adds and type(target) in (ast.PropertyAccess, ast.Index):
            raise self.fail("+= adds properties to a node or relationship.", target.span, "Write n += {key: value}.")
        return ast.SetItem(target, value, adds, span=span)

    def labels_item(self, c: Sequence[Any], span: Span) -> ast.LabelsItem:
        target, labels = c
        if not is_plain_labels(labels):
            raise self.fail("Labels are set by their names.", labels.span, "Write n:A:B.")
        return ast.LabelsItem(target, labels, span=span)

    def remove(self, c: Sequence[Any], span: Span) -> ast.RemoveClause:
        return ast.RemoveClause(tuple(c[1]), span=span)

    def remove_property(self, c: Sequence[Any], span: Span) -> ast.RemoveItem:
        if type(c[0]) not in (ast.PropertyAccess, ast.Index):
            raise self.fail("REMOVE takes properties and labels.", c[0].span, "Write n.key or n:Label; DELETE takes n.")
        return ast.RemoveItem(c[0], span=span)

    def delete(self, c: Sequence[Any], span: Span) -> ast.DeleteClause:
        detach, _, expressions = c
        detaches = detach is not None and detach.value.upper() == "DETACH"
        return ast.DeleteClause(tuple(expressions), detaches, span=span)

    def foreach(self, c: Sequence[Any], span: Span) -> ast.ForEachClause:
        _, name, source, clauses = c
        return ast.ForEachClause(name.value, source, tuple(one_by_one(clauses)), span=span)
