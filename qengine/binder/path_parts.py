"""Parts of paths in parentheses without a quantifier, ``(a) (q = (b)-->(c) WHERE …)-->(d)``, laid into the path."""

from __future__ import annotations

from qengine._frozen import frozen, replace
from qengine.binder.binding import Binding
from qengine.errors import Span
from qengine.syntax import ast


@frozen
class PathPart:
    """A part of a path that has a name: its first and last node."""

    name: str
    first: ast.NodePattern
    last: ast.NodePattern
    span: Span


@frozen
class FlatPath:
    """A path whose only parentheses are quantified: ``wheres`` and ``parts`` of those that were not."""

    pattern: ast.PathPattern
    wheres: tuple[ast.Expression, ...] = ()
    parts: tuple[PathPart, ...] = ()


def flattened(binding: Binding, pattern: ast.PathPattern) -> FlatPath:
    """Return a path without parentheses that aren't quantified.

    Raises
    ------
    Unsupported
        Where two nodes side by side are both described: they would be one.
    """
    if not any(isinstance(each, ast.QuantifiedPath) and each.hops is None for each in pattern.elements):
        return FlatPath(pattern)
    elements: list[ast.Ast] = []
    wheres: list[ast.Expression] = []
    parts: list[PathPart] = []
    for element in pattern.elements:
        inner: list[ast.Ast] = [element]
        if isinstance(element, ast.QuantifiedPath) and element.hops is None:
            inner = _inside(binding, element, wheres, parts)
        if elements and isinstance(elements[-1], ast.NodePattern) and isinstance(inner[0], ast.NodePattern):
            _join(binding, elements, inner, parts)
        elements += inner
    return FlatPath(replace(pattern, elements=tuple(elements)), tuple(wheres), tuple(parts))


def _inside(
    binding: Binding, part: ast.QuantifiedPath, wheres: list[ast.Expression], parts: list[PathPart]
) -> list[ast.Ast]:
    """Return the elements of a part, which begin and end with a node; note its condition and its name."""
    flat = flattened(binding, ast.PathPattern(part.elements, span=part.span))
    wheres += flat.wheres
    parts += flat.parts
    if part.where is not None:
        wheres.append(part.where)
    elements = list(flat.pattern.elements)
    for place in (0, len(elements)):
        if not isinstance(elements[place - (place > 0)], ast.NodePattern):
            elements.insert(place, ast.NodePattern(span=part.span))
    first, last = elements[0], elements[-1]
    assert isinstance(first, ast.NodePattern)
    assert isinstance(last, ast.NodePattern)
    if part.name is not None:
        parts.append(PathPart(part.name, first, last, part.span))
    return elements


def _join(binding: Binding, before: list[ast.Ast], inner: list[ast.Ast], parts: list[PathPart]) -> None:
    """Make one of two nodes that stand side by side."""
    left, right = before[-1], inner[0]
    assert isinstance(left, ast.NodePattern)
    assert isinstance(right, ast.NodePattern)
    if not _is_bare(left) and not _is_bare(right):
        raise binding.unsupported(
            "Two nodes side by side, of which both are described, aren't built.",
            right.span,
            "They are one node: leave one of them empty, or out.",
        )
    kept = right if _is_bare(left) else left
    inner[0] = kept
    before.pop()
    for place, part in enumerate(parts):
        first = kept if part.first is left or part.first is right else part.first
        last = kept if part.last is left or part.last is right else part.last
        parts[place] = replace(part, first=first, last=last)


def _is_bare(node: ast.NodePattern) -> bool:
    return all(each is None for each in (node.name, node.labels, node.properties, node.where))
