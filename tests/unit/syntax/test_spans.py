"""Every node knows where it stands: inside its parent, and at the text that it was made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from qengine.syntax import ast, parse

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "syntax_trees"
BLOCKS = [block for path in sorted(GOLDEN.glob("*.txt")) for block in ("\n" + path.read_text()).split("\n### ")[1:]]
QUERIES = [block.partition("\n")[2].partition("\n----\n")[0] for block in BLOCKS]


def children(value: Any) -> Iterator[ast.Ast]:
    if isinstance(value, ast.Ast):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from children(item)


def walk(node: ast.Ast) -> Iterator[tuple[ast.Ast, ast.Ast]]:
    for field in fields(node):
        for child in children(getattr(node, field.name)):
            yield node, child
            yield from walk(child)


@pytest.mark.parametrize("text", QUERIES)
def test_a_node_lies_inside_its_parent(text: str) -> None:
    statements = parse(text)
    for statement in statements:
        assert 0 <= statement.span.start < statement.span.end <= len(text)
        for parent, child in walk(statement):
            assert parent.span.start <= child.span.start < child.span.end <= parent.span.end, (parent, child)
    for left, right in pairwise(statements):
        assert left.span.end <= right.span.start


@pytest.mark.parametrize("text", QUERIES)
def test_what_a_span_covers(text: str) -> None:
    for statement in parse(text):
        for _, node in walk(statement):
            written = text[node.span.start : node.span.end]
            assert written == written.strip()
            match node:
                case ast.Variable(name=name) if name.startswith("@"):
                    pass  # of a path that the text has no name for
                case ast.Variable() | ast.LabelName():
                    name = written.strip("() ")
                    assert (name[1:-1].replace("``", "`") if name[0] == "`" else name) == node.name
                case ast.PropertyAccess():
                    key = text[node.key_span.start : node.key_span.end]
                    assert key.strip("`") == node.key
                case ast.FunctionCall():
                    assert text[node.name_span.start : node.name_span.end] == node.name
                case ast.NodePattern():
                    assert written[0] == "(" and written[-1] == ")"
                case ast.RelationshipPattern():
                    assert written[0] in "<-" and written[-1] in "->}+*"
                case ast.ReturnItem():
                    assert written.startswith(node.text)
                case ast.MapLiteral():
                    assert written[0] == "{" and written[-1] == "}"


def test_the_same_text_parsed_alone_gives_the_same_tree() -> None:
    text = "MATCH (a) RETURN a; /*+ x */ MATCH (b) RETURN b"
    for statement in parse(text):
        assert parse(text[statement.span.start : statement.span.end]) == (statement,)
