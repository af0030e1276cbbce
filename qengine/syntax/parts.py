"""All that is in a syntax tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from qengine.syntax import ast


def parts_of(tree: object) -> Iterator[ast.Ast]:
    """Yield a tree and all that is in it, parents first."""
    if isinstance(tree, tuple):
        for each in tree:
            yield from parts_of(each)
    elif isinstance(tree, ast.Ast):
        yield tree
        for part in fields(tree):
            yield from parts_of(getattr(tree, part.name))
