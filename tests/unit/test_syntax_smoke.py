"""The parser's core on a few queries of every kind."""

from __future__ import annotations

import pytest

from qengine.errors import QuerySyntaxError
from qengine.syntax import ast, parse


def test_a_pattern_becomes_a_tree() -> None:
    (statement,) = parse("MATCH (a:A)-[r:R]->(b) WHERE a.x > 1 RETURN a, count( * ) AS n")
    match, result = statement.body.clauses  # type: ignore[union-attr]
    assert isinstance(match, ast.MatchClause) and isinstance(result, ast.ReturnClause)
    node, relationship, _ = match.patterns[0].elements
    assert node == ast.NodePattern("a", ast.LabelName("A"))
    assert relationship == ast.RelationshipPattern(False, True, "r", ast.LabelName("R"))
    assert [item.text for item in result.projection.items] == ["a", "count( * )"]


def test_an_error_has_its_place() -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        parse("MATCH (a RETURN a")
    assert caught.value.span is not None
    assert (caught.value.span.start, caught.value.span.end) == (6, 7)
