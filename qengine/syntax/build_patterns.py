"""Builds the tree of path patterns and label expressions."""
# ruff: noqa: D102 (the rule of the same name in grammar/cypher.lark says what a method builds)

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from qengine._frozen import replace
from qengine.errors import Span
from qengine.syntax import ast
from qengine.syntax.build_expressions import ExpressionBuilder, between, span_of
from qengine.syntax.literals import MAX_INTEGER, parse_integer
from qengine.syntax.scanner import Token

_SHORTEST = {"shortestpath": "shortestPath", "allshortestpaths": "allShortestPaths"}


class PatternBuilder(ExpressionBuilder):
    """Rules of patterns. A ``path`` is a list of elements until the rule around it makes a node of it."""

    # --------------------------------------------------------------------------------------------------- paths

    def pattern_part(self, c: Sequence[Any], span: Span) -> ast.PathPattern:
        name, prefix, elements = c
        selector, mode = prefix or (None, None)
        return self._path(elements, name, selector, mode, span)

    def named_shortest_path(self, c: Sequence[Any], span: Span) -> ast.PathPattern:
        name, path = c
        return path if name is None else replace(path, name=name.value, span=span)  # type: ignore[no-any-return]

    def shortest_path(self, c: Sequence[Any], span: Span) -> ast.PathPattern:
        word, elements = c
        return self._path(elements, None, _SHORTEST[word.value.lower()], None, span)

    def pattern_expression(self, c: Sequence[Any], span: Span) -> ast.PathPattern:
        return self._path(c[0], None, None, None, span)

    def _path(
        self, elements: list[Any], name: Token | None, selector: str | None, mode: str | None, span: Span
    ) -> ast.PathPattern:
        self._check_neighbours(elements)
        return ast.PathPattern(tuple(elements), name.value if name else None, selector, mode, span=span)

    def _check_neighbours(self, elements: list[Any]) -> None:
        for left, right in itertools.pairwise(elements):
            if type(left) is ast.NodePattern and type(right) is ast.NodePattern:
                hint = "Join them by a relationship, (a)-->(b), or separate two paths by a comma."
                raise self.fail("Two nodes can't stand side by side.", right.span, hint)

    def parenthesized_path(self, c: Sequence[Any], span: Span) -> ast.QuantifiedPath:
        name, elements, where, hops = c
        self._check_neighbours(elements)
        return ast.QuantifiedPath(tuple(elements), where, hops, name.value if name else None, span=span)

    def path_pattern_prefix(self, c: Sequence[Any], span: Span) -> tuple[str, str | None]:
        selector, mode, _, groups = c
        if groups is not None:
            if not selector.startswith("SHORTEST"):
                raise self.fail("GROUPS belongs to SHORTEST.", span_of(groups), "Write SHORTEST 2 GROUPS.")
            selector += " GROUPS"
        return selector, mode.value.upper() if mode else None

    def path_mode_prefix(self, c: Sequence[Any], span: Span) -> tuple[None, str]:
        return None, c[0].value.upper()

    def path_search(self, c: Sequence[Any], span: Span) -> str:
        words = [
            str(self._count(token)) if token.type == "INTEGER" else token.value.upper()
            for token in c
            if token is not None
        ]
        if words == ["SHORTEST"]:
            words.append("1")
        return " ".join(words)

    # ------------------------------------------------------------------------------------------------ elements

    def node_pattern(self, c: Sequence[Any], span: Span) -> ast.NodePattern:
        name, labels, properties, where = c
        if properties is not None:
            self._note_parameter(properties)
        return ast.NodePattern(name.value if name else None, labels, properties, where, span=span)

    def relationship_pattern(self, c: Sequence[Any], span: Span) -> ast.RelationshipPattern:
        left, detail, right, quantifier = c
        if detail is None:
            return ast.RelationshipPattern(left is not None, right is not None, hops=quantifier, span=span)
        name, types, hops, properties, where = detail
        if quantifier is not None and hops is not None:
            hint = "Keep one of them; * inside the brackets means one or more, behind them zero or more."
            raise self.fail("This relationship has two quantifiers.", quantifier.span, hint)
        if properties is not None:
            self._note_parameter(properties)
        return ast.RelationshipPattern(
            left is not None,
            right is not None,
            name.value if name else None,
            types,
            hops or quantifier,
            properties,
            where,
            span=span,
        )

    def relationship_detail(self, c: Sequence[Any], span: Span) -> Sequence[Any]:
        return c

    def _note_parameter(self, properties: Any) -> None:
        if type(properties) is ast.Parameter:
            self.loose_parameters[id(properties)] = properties

    # ---------------------------------------------------------------------------------------------------- hops

    def _count(self, token: Token) -> int:
        number = parse_integer(token, self.text)
        if number > MAX_INTEGER:  # which only a minus before it could make small enough
            hint = f"The largest is {MAX_INTEGER}."
            raise self.fail(f"{number} does not fit a 64-bit integer.", span_of(token), hint, "IntegerOverflow")
        return number

    def range_exactly(self, c: Sequence[Any], span: Span) -> ast.Hops:
        _, count = c
        if count is None:
            return ast.Hops(1, None, span=span)
        return ast.Hops(self._count(count), self._count(count), span=span)

    def range_between(self, c: Sequence[Any], span: Span) -> ast.Hops:
        _, low, high = c
        minimum = 1 if low is None else self._count(low)
        return ast.Hops(minimum, None if high is None else self._count(high), span=span)

    def quantifier_plus(self, c: Sequence[Any], span: Span) -> ast.Hops:
        return ast.Hops(1, None, span=span)

    def quantifier_star(self, c: Sequence[Any], span: Span) -> ast.Hops:
        return ast.Hops(0, None, span=span)

    def quantifier_question(self, c: Sequence[Any], span: Span) -> ast.Hops:
        return ast.Hops(0, 1, single=True, span=span)

    def quantifier_exactly(self, c: Sequence[Any], span: Span) -> ast.Hops:
        return ast.Hops(self._count(c[0]), self._count(c[0]), span=span)

    def quantifier_between(self, c: Sequence[Any], span: Span) -> ast.Hops:
        low, high = c
        minimum = 0 if low is None else self._count(low)
        maximum = None if high is None else self._count(high)
        if maximum is not None and maximum < minimum:
            raise self.fail(
                f"{{{minimum},{maximum}}} has no number between its bounds.",
                span,
                "The least comes first: {1,3}.",
            )
        return ast.Hops(minimum, maximum, span=span)

    # -------------------------------------------------------------------------------------------------- labels

    def labels(self, c: Sequence[Any], span: Span) -> ast.LabelExpression:
        return _labels(c[0])

    def label_disjunction(self, c: Sequence[Any], span: Span) -> _Alternatives:
        first, colon, other = c
        if colon is not None:
            self.remark("|:", colon)
        found = first if type(first) is _Alternatives else _Alternatives((_labels(first),))
        found.append(_labels(other))
        return found

    def label_conjunction(self, c: Sequence[Any], span: Span) -> list[ast.LabelExpression]:
        first, other = c
        found = first if type(first) is list else [first]
        found.append(other)
        return found

    def label_name(self, name: str, span: Span) -> ast.LabelName:
        return ast.LabelName(name, span=span)

    def label_wildcard(self, c: Sequence[Any], span: Span) -> ast.LabelWildcard:
        return ast.LabelWildcard(span=span)

    def label_dynamic(self, c: Sequence[Any], span: Span) -> ast.LabelExpression:
        start, expression = c
        if type(expression) is ast.Literal and type(expression.value) is str:
            return ast.LabelName(expression.value, span=span)
        return ast.LabelDynamic(expression, start.value.lower() == "$any", span=span)

    def label_parameter(self, c: Sequence[Any], span: Span) -> ast.LabelDynamic:
        return ast.LabelDynamic(self.parameter(c, span), span=span)

    def label_negation(self, c: Sequence[Any], span: Span) -> ast.LabelNegation:
        return ast.LabelNegation(c[0], span=span)

    def label_parenthesized(self, c: Sequence[Any], span: Span) -> ast.LabelExpression:
        return replace(_labels(c[0]), span=span)


class _Alternatives(list[ast.LabelExpression]):
    """Operands of ``|`` while they are read; those of ``&`` are a plain list."""


def _labels(found: Any) -> ast.LabelExpression:
    """Return the node of a label expression: of operands that were read, or what stands alone as it is."""
    if isinstance(found, list):
        join = ast.LabelDisjunction if type(found) is _Alternatives else ast.LabelConjunction
        return join(tuple(found), span=between(found[0], found[-1]))
    return found  # type: ignore[no-any-return]
