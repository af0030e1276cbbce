"""Functions have few parameters, and those that read a graph say which part of it: nothing is passed as ``Any``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
READERS = [
    ROOT / "qengine/exec",
    ROOT / "qengine/estimate",
    ROOT / "qengine/sampled.py",
    ROOT / "qengine/cardinalities.py",
]
GRAPHS = {"store", "_store", "graph", "masks", "_masks"}


def annotated(tree: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """Yield the names and annotations of all parameters and fields."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.arg, node.annotation
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name | ast.Attribute):
            yield node.target.id if isinstance(node.target, ast.Name) else node.target.attr, node.annotation


def untyped(source: str) -> list[str]:
    return [
        name
        for name, annotation in annotated(ast.parse(source))
        if name in GRAPHS and annotation is not None and ast.unparse(annotation) in ("Any", "object")
    ]


def test_graphs_and_masks_are_typed_where_they_are_read() -> None:
    paths = [path for each in READERS for path in ([each] if each.is_file() else each.rglob("*.py"))]
    assert {str(path): found for path in paths if (found := untyped(path.read_text()))} == {}


@pytest.mark.parametrize("source", ["def f(store: Any): ...", "class A:\n    store: Any", "self.masks: Any = None"])
def test_an_untyped_graph_is_found(source: str) -> None:
    assert len(untyped(source)) == 1
