"""Warnings of what is legal, finds nothing, and is hardly meant: wrong types or null in comparisons, turned arrows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from qengine.binder.binding import Binding
from qengine.errors import Span
from qengine.plan.comparisons import ComparedParameter, apart
from qengine.plan.expr import Expr, Literal, Parameter, Property
from qengine.plan.pattern import Direction, PatternNode, PatternRelationship, certain_label
from qengine.syntax import ast
from qengine.types import Kind, indefinite

_NUMBERS = (Kind.INTEGER, Kind.FLOAT, Kind.NUMBER)
_CONVERSIONS = {Kind.INTEGER: "toInteger(…)", Kind.FLOAT: "toFloat(…)", Kind.NUMBER: "toFloat(…)",
                Kind.BOOLEAN: "toBoolean(…)", Kind.DATE: "date(…)", Kind.TIME: "time(…)",
                Kind.LOCAL_TIME: "localtime(…)", Kind.DATETIME: "datetime(…)",
                Kind.LOCAL_DATETIME: "localdatetime(…)", Kind.DURATION: "duration(…)"}  # fmt: skip

_DAYS = (Kind.DATE, Kind.LOCAL_DATETIME, Kind.DATETIME)


def warn_of_null(binding: Binding, operands: Sequence[ast.Expression], span: Span, hint: str) -> None:
    """Warn of a comparison in which null is written out."""
    if any(isinstance(each, ast.Literal) and each.value is None for each in operands):
        message = "A comparison with null gives null, never true."
        binding.notice("ComparisonWithNull", str(span), message, span, hint)


def warn_of_types(binding: Binding, ops: Sequence[str], operands: Sequence[Expr], span: Span | None) -> None:
    """Warn of a chain of comparisons in which values of two types meet that are never equal and have no order.

    What is compared with a parameter is noted: its value may be of such a type.
    """
    for op, (left, right) in zip(ops, pairwise(operands), strict=True):
        for given, other in ((left, right), (right, left)):
            if isinstance(given, Parameter) and given.type.kind is Kind.ANY and isinstance(other, Property):
                binding.compared.append(ComparedParameter(given.name, op, other.type, span))
        if message := apart(left.type, op, right.type):
            binding.notice("ComparisonOfTypes", str(span), message, span, _conversion(left, right))


def _conversion(left: Expr, right: Expr) -> str | None:
    """Return how a string, or a constant of the time line, is compared with a value of another type."""
    for constant, other in ((left, right), (right, left)):
        kinds = (constant.type.kind, other.type.kind)
        if isinstance(other, Property) and not isinstance(constant, Property) and all(each in _DAYS for each in kinds):
            made = _CONVERSIONS[other.type.kind]
            made = made.replace("…", "{date: …}") if constant.type.kind is Kind.DATE else made
            return f"Make the {constant.type} {indefinite(other.type)}: {made}."
    for text, other in ((left, right), (right, left)):
        if text.type.kind is Kind.STRING and other.type.kind in _CONVERSIONS:
            if isinstance(text, Literal) and other.type.kind in _NUMBERS:
                return "Numbers stand without quotes."
            return f"Make the STRING {indefinite(other.type)}: {_CONVERSIONS[other.type.kind]}."
    return None


def warn_of_ends(
    binding: Binding, edge: PatternRelationship, nodes: Mapping[str, PatternNode], span: Span | None
) -> None:
    """Warn of a relationship of a type that never stands between nodes of such labels, or the other way round."""
    catalog = binding.catalog
    type, ends = certain_label(edge.types), [certain_label(nodes[name].labels) for name in (edge.start, edge.end)]
    known = [label for label in ends if label is not None]
    if binding.updating or edge.hops is not None or type is None or not known:
        return
    if not all(map(catalog.has_label, known)):
        return
    info = catalog.relationship_type(type)
    if info is None or not info.count or catalog.edge_statistics(ends[0], type, ends[1]).edges:
        return
    turned = catalog.edge_statistics(ends[1], type, ends[0]).edges
    if turned and edge.direction is Direction.BOTH:
        return
    first, last = ("()" if label is None else f"(:{label})" for label in ends)
    arrow = "-" if edge.direction is Direction.BOTH else "->"
    hint = f"Turn the arrow: the graph has {last}-[:{type}]->{first}." if turned else None
    message = f"The graph has no {first}-[:{type}]{arrow}{last}."
    binding.notice("NoSuchRelationship", message, message, span, hint)
