"""Builds the tree of path patterns and label expressions."""
# ruff: noqa: D102 (the rule of the same name in grammar/cypher.lark says what a method builds)

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

from qengine.errors import Span
from qengine.syntax import ast
from qengine.syntax.build_expressions import ExpressionBuilder, between, span_of
from qengine.syntax.literals import MAX_INTEGER, parse_integer
from qengine.syntax.scanner import Token

_SHORTEST = {"shortestpath": "shortestPath", "allshortestpaths": "allShortestPaths"}


class PatternBuilder(ExpressionBuilder):
    """Rules of patterns. A ``path`` is a list of elements until the rule around it makes a node of it."""

    # --------------------------------------------------------------------------------------------------- paths

    def pattern_part(self, c: Sequence[Any]) -> ast.PathPattern:
        name, _, prefix, elements = c
        selector, mode, start = prefix or (None, None, elements[0])
        return self._path(elements, name or start, name, selector, mode)

    def named_shortest_path(self, c: Sequence[Any]) -> ast.PathPattern:
        name, _, path = c
        if name is None:
            return path  # type: ignore[no-any-return]
        return dataclasses.replace(path, name=name.value, span=between(name, path))  # type: ignore[no-any-return]

    def shortest_path(self, c: Sequence[Any]) -> ast.PathPattern:
        word, _, elements, end = c
        path = self._path(elements, word, None, _SHORTEST[word.value.lower()], None)
        return dataclasses.replace(path, span=between(word, end))

    def pattern_expression(self, c: Sequence[Any]) -> ast.PathPattern:
        return self._path(c[1], c[1][0], None, None, None)

    def _path(
        self, elements: list[Any], start: Any, name: Token | None, selector: str | None, mode: str | None
    ) -> ast.PathPattern:
        self._check_neighbours(elements)
        span = between(start, elements[-1])
        return ast.PathPattern(tuple(elements), name.value if name else None, selector, mode, span=span)

    def _check_neighbours(self, elements: list[Any]) -> None:
        for left, right in itertools.pairwise(elements):
            if type(left) is ast.NodePattern and type(right) is ast.NodePattern:
                hint = "Join them by a relationship, (a)-->(b), or separate two paths by a comma."
                raise self.fail("Two nodes can't stand side by side.", right.span, hint)

    def path_step(self, c: Sequence[Any]) -> list[Any]:
        before, one, other = c
        before += (one, other)
        return before  # type: ignore[no-any-return]

    def parenthesized_path(self, c: Sequence[Any]) -> ast.QuantifiedPath:
        start, name, _, elements, where, end, hops = c
        self._check_neighbours(elements)
        return ast.QuantifiedPath(
            tuple(elements), where, hops, name.value if name else None, span=between(start, hops or end)
        )

    def path_pattern_prefix(self, c: Sequence[Any]) -> tuple[str, str | None, Token]:
        (selector, start), mode, _, groups = c
        if groups is not None:
            if not selector.startswith("SHORTEST"):
                raise self.fail("GROUPS belongs to SHORTEST.", span_of(groups), "Write SHORTEST 2 GROUPS.")
            selector += " GROUPS"
        return selector, mode.value.upper() if mode else None, start

    def path_mode_prefix(self, c: Sequence[Any]) -> tuple[None, str, Token]:
        return None, c[0].value.upper(), c[0]

    def path_search(self, c: Sequence[Any]) -> tuple[str, Token]:
        words = [
            str(self._count(token)) if token.type == "INTEGER" else token.value.upper()
            for token in c
            if token is not None
        ]
        if words == ["SHORTEST"]:
            words.append("1")
        return " ".join(words), c[0]

    # ------------------------------------------------------------------------------------------------ elements

    def node_pattern(self, c: Sequence[Any]) -> ast.NodePattern:
        start, name, labels, properties, where, end = c
        if properties is not None:
            self._note_parameter(properties)
        span = Span(start.start_pos, end.end_pos)
        return ast.NodePattern(name.value if name else None, labels, properties, where, span=span)

    def relationship_pattern(self, c: Sequence[Any]) -> ast.RelationshipPattern:
        left, first, detail, last, right, quantifier = c
        end = (right or last).end_pos if quantifier is None else quantifier.span.end
        span = Span((left or first).start_pos, end)
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

    def relationship_detail(self, c: Sequence[Any]) -> Sequence[Any]:
        return c[1:-1]

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

    def _hops(self, minimum: int, maximum: int | None, span: Span) -> ast.Hops:
        return ast.Hops(minimum, maximum, span=span)

    def range_exactly(self, c: Sequence[Any]) -> ast.Hops:
        star, count = c
        if count is None:
            return self._hops(1, None, span_of(star))
        return self._hops(self._count(count), self._count(count), between(star, count))

    def range_between(self, c: Sequence[Any]) -> ast.Hops:
        star, low, dots, high = c
        minimum = 1 if low is None else self._count(low)
        return self._hops(minimum, None if high is None else self._count(high), between(star, high or dots))

    def quantifier_plus(self, c: Sequence[Any]) -> ast.Hops:
        return self._hops(1, None, span_of(c[0]))

    def quantifier_star(self, c: Sequence[Any]) -> ast.Hops:
        return self._hops(0, None, span_of(c[0]))

    def quantifier_question(self, c: Sequence[Any]) -> ast.Hops:
        return ast.Hops(0, 1, single=True, span=span_of(c[0]))

    def quantifier_exactly(self, c: Sequence[Any]) -> ast.Hops:
        return self._hops(self._count(c[1]), self._count(c[1]), between(c[0], c[2]))

    def quantifier_between(self, c: Sequence[Any]) -> ast.Hops:
        start, low, _, high, end = c
        minimum = 0 if low is None else self._count(low)
        maximum = None if high is None else self._count(high)
        if maximum is not None and maximum < minimum:
            raise self.fail(
                f"{{{minimum},{maximum}}} has no number between its bounds.",
                between(start, end),
                "The least comes first: {1,3}.",
            )
        return self._hops(minimum, maximum, between(start, end))

    # -------------------------------------------------------------------------------------------------- labels

    def labels(self, c: Sequence[Any]) -> ast.LabelExpression:
        return _labels(c[1])

    def label_disjunction(self, c: Sequence[Any]) -> _Alternatives:
        first, _, colon, other = c
        if colon is not None:
            self.remark("|:", colon)
        found = first if type(first) is _Alternatives else _Alternatives((_labels(first),))
        found.append(_labels(other))
        return found

    def label_conjunction(self, c: Sequence[Any]) -> list[ast.LabelExpression]:
        first, _, other = c
        found = first if type(first) is list else [first]
        found.append(other)
        return found

    def label_name(self, c: Sequence[Any]) -> ast.LabelName:
        name = c[0]
        return ast.LabelName(name.value, span=Span(name.start_pos, name.end_pos))

    def label_wildcard(self, c: Sequence[Any]) -> ast.LabelWildcard:
        return ast.LabelWildcard(span=span_of(c[0]))

    def label_dynamic(self, c: Sequence[Any]) -> ast.LabelExpression:
        start, _, expression, end = c
        if type(expression) is ast.Literal and type(expression.value) is str:
            return ast.LabelName(expression.value, span=between(start, end))
        return ast.LabelDynamic(expression, start.value.lower() == "$any", span=between(start, end))

    def label_parameter(self, c: Sequence[Any]) -> ast.LabelDynamic:
        return ast.LabelDynamic(self.parameter(c), span=span_of(c[0]))

    def label_negation(self, c: Sequence[Any]) -> ast.LabelNegation:
        return ast.LabelNegation(c[1], span=between(c[0], c[1]))

    def label_parenthesized(self, c: Sequence[Any]) -> ast.LabelExpression:
        return dataclasses.replace(_labels(c[1]), span=between(c[0], c[2]))


class _Alternatives(list[ast.LabelExpression]):
    """Operands of ``|`` while they are read; those of ``&`` are a plain list."""


def _labels(found: Any) -> ast.LabelExpression:
    """Return the node of a label expression: of operands that were read, or what stands alone as it is."""
    if isinstance(found, list):
        join = ast.LabelDisjunction if type(found) is _Alternatives else ast.LabelConjunction
        return join(tuple(found), span=between(found[0], found[-1]))
    return found  # type: ignore[no-any-return]
