"""Builds the tree of expressions: one method a rule (or alias) of the grammar, called as the automaton reduces."""
# ruff: noqa: D102 (the rule of the same name in grammar/cypher.lark says what a method builds)

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from qengine._frozen import replace
from qengine.errors import QuerySyntaxError, Span
from qengine.syntax import ast
from qengine.syntax.literals import MAX_INTEGER, parameter_of, parse_float, parse_integer, parse_string
from qengine.syntax.precedence import climb
from qengine.syntax.scanner import Token
from qengine.syntax.schema_types import value_types
from qengine.syntax.words import NORMAL_FORMS, VECTOR_WORDS


def span_of(thing: Token | ast.Ast) -> Span:
    """Return where a token or a node stands."""
    return Span(thing.start_pos, thing.end_pos) if isinstance(thing, Token) else thing.span


def between(first: Token | ast.Ast, last: Token | ast.Ast) -> Span:
    """Return the span from one token or node to another one."""
    start = first.start_pos if isinstance(first, Token) else first.span.start
    end = last.end_pos if isinstance(last, Token) else last.span.end
    return Span(start, end)


def _is_value(tests: Sequence[Sequence[Any]]) -> bool:
    """Tell whether the tests behind a WHEN are a value alone, without an operator."""
    return len(tests) == 1 and len(tests[0]) == 1 and not isinstance(tests[0][0], Token)


class ExpressionBuilder:
    """Rules of expressions. ``text`` is the source; the tables hold nodes that may still prove to be misplaced."""

    text: str

    def __init__(self) -> None:
        self.reset("")

    def reset(self, text: str) -> None:
        """Forget the statement before."""
        self.text = text
        # A path is a predicate only where a boolean is expected, 2**63 an integer only behind a minus sign, and a
        # parameter stands for a whole map of properties only in CREATE: whoever builds such a place takes the node
        # out, and what is left at the end of the statement is misplaced.
        self.loose_patterns: dict[int, ast.PatternPredicate] = {}
        self.loose_integers: dict[int, ast.Literal] = {}
        self.loose_parameters: dict[int, ast.Parameter] = {}
        self.remarks: list[ast.Remark] = []
        self._use_starts: list[int] = []  # where USE stands, which is part of no query

    def fail(self, message: str, span: Span, hint: str | None = None, code: str = "UnexpectedSyntax") -> Exception:
        """Return the error to raise."""
        return QuerySyntaxError(message, span=span, text=self.text, hint=hint, code=code)

    def remark(self, kind: str, place: Token | ast.Ast) -> None:
        """Note what changes nothing, or is written as in Neo4j 3 and 4."""
        self.remarks.append(ast.Remark(kind, span=span_of(place)))

    def condition(self, expression: Any) -> Any:
        """Take an expression that stands where a boolean is expected."""
        if type(expression) is ast.PatternPredicate:
            self.loose_patterns.pop(id(expression), None)
        return expression

    # ---------------------------------------------------------------------------------------------- sequences

    def expression(self, c: Sequence[Any], span: Span) -> ast.Expression:
        items = c[0]
        if self.loose_patterns:
            self._place_patterns(items)
        return climb(items)

    def _place_patterns(self, items: list[Any]) -> None:
        connectives = ("AND", "OR", "XOR", "NOT")
        for position, item in enumerate(items):
            if type(item) is ast.PatternPredicate:
                before = items[position - 1].type if position else None
                after = items[position + 1].type if position + 1 < len(items) else None
                if (before is None or before in connectives) and (after is None or after in connectives):
                    self.condition(item)

    def prefixed_first(self, c: Sequence[Any], span: Span) -> list[Any]:
        return self._prefixed([], c[0], c[1])

    def prefixed_next(self, c: Sequence[Any], span: Span) -> list[Any]:
        items, operator, prefixes, operand = c
        if prefixes[0].type == "NOT" and operator.type not in ("AND", "OR", "XOR"):
            hint = "Put NOT and what it negates in parentheses."
            raise self.fail(f"NOT can't follow {operator.value!r}.", span_of(prefixes[0]), hint)
        items.append(operator)
        return self._prefixed(items, prefixes, operand)

    string_predicate_prefixed = prefixed_next

    def null_predicate(self, c: Sequence[Any], span: Span) -> list[Any]:
        kind = "IS_NULL" if len(c) == 2 else "IS_NOT_NULL"
        c[0].append(Token(kind, "", c[1].start_pos, span.end))
        return c[0]  # type: ignore[no-any-return]

    def postfix_predicate(self, c: Sequence[Any], span: Span) -> list[Any]:
        items, token = c
        if token.type != "NORMALIZED":
            token = token._replace(value=value_types(self.text, span_of(token)))
        items.append(token)
        return items  # type: ignore[no-any-return]

    def label_predicate(self, c: Sequence[Any], span: Span) -> list[Any]:
        items, labels = c
        if isinstance(items[-1], Token):
            raise self.fail("A label can only be asked of a node or relationship.", labels.span)
        items[-1] = ast.LabelTest(items[-1], labels, span=between(items[-1], labels))
        return items  # type: ignore[no-any-return]

    def _prefixed(self, items: list[Any], prefixes: list[Token], operand: ast.Expression) -> list[Any]:
        while prefixes and prefixes[-1].type != "NOT":
            operand = self._signed(prefixes.pop(), operand)
        for token in prefixes:
            if token.type != "NOT":
                raise self.fail("A sign can't stand before NOT.", span_of(token), "Put NOT … in parentheses.")
        items += prefixes
        items.append(operand)
        return items

    def _signed(self, sign: Token, operand: ast.Expression) -> ast.Expression:
        span = between(sign, operand)
        value = operand.value if type(operand) is ast.Literal else None
        if type(value) is not int and type(value) is not float:
            return ast.Unary(sign.value, operand, span=span)
        if sign.type == "PLUS":
            return replace(operand, span=span) if value != MAX_INTEGER + 1 else operand
        self.loose_integers.pop(id(operand), None)
        return self._literal(-value, span)

    # ------------------------------------------------------------------------------------------------ operands

    def variable(self, name: str, span: Span) -> ast.Variable:
        return ast.Variable(name, span=span)

    def parameter(self, c: Sequence[Any], span: Span) -> ast.Parameter:
        if self.text[span.start] == "{":
            self.remark("parameter", c[0])
        return parameter_of(c[0], span)

    def _literal(self, value: Any, span: Span) -> ast.Literal:
        node = ast.Literal(value, span=span)
        if value == MAX_INTEGER + 1 and type(value) is int:
            self.loose_integers[id(node)] = node
        return node

    def integer(self, c: Sequence[Any], span: Span) -> ast.Literal:
        written = c[0].value
        if written[0] == "0" and len(written) > 1 and written.isdecimal():
            self.remark("octal", c[0])
        return self._literal(parse_integer(c[0], self.text), span)

    def float(self, c: Sequence[Any], span: Span) -> ast.Literal:
        return ast.Literal(parse_float(c[0], self.text), span=span)

    def string(self, c: Sequence[Any], span: Span) -> ast.Literal:
        return ast.Literal(parse_string(c[0], self.text), span=span)

    def true(self, c: Sequence[Any], span: Span) -> ast.Literal:
        return ast.Literal(True, span=span)

    def false(self, c: Sequence[Any], span: Span) -> ast.Literal:
        return ast.Literal(False, span=span)

    def null(self, c: Sequence[Any], span: Span) -> ast.Literal:
        return ast.Literal(None, span=span)

    def parenthesized(self, c: Sequence[Any], span: Span) -> ast.Expression:
        (inner,) = c
        # The span takes the parentheses in: a column is called what was written.
        outer: ast.Expression = replace(inner, span=span)
        for loose in (self.loose_patterns, self.loose_integers):
            if loose.pop(id(inner), None) is not None:
                loose[id(outer)] = outer  # type: ignore[assignment]
        return outer

    def property_lookup(self, c: Sequence[Any], span: Span) -> ast.PropertyAccess:
        subject, key = c
        return ast.PropertyAccess(subject, key.value, span=span, key_span=Span(key.start_pos, key.end_pos))

    def list_index(self, c: Sequence[Any], span: Span) -> ast.Index:
        return ast.Index(*c, span=span)

    def list_slice(self, c: Sequence[Any], span: Span) -> ast.Slice:
        return ast.Slice(*c, span=span)

    def list_literal(self, c: Sequence[Any], span: Span) -> ast.ListLiteral:
        return ast.ListLiteral(tuple(c[0] or ()), span=span)

    # ----------------------------------------------------------------------------------------------- functions

    def function_invocation(self, c: Sequence[Any], span: Span) -> ast.Expression:
        callee, distinct, arguments = c
        name = self._function_name(callee)
        arguments = tuple(arguments or ())
        if name.lower() == "exists" and len(arguments) == 1 and type(arguments[0]) is ast.PatternPredicate:
            # exists((a)-->(b)) is the older way to write the predicate, and a boolean wherever it stands.
            self.condition(arguments[0])
            return ast.PatternPredicate(arguments[0].pattern, span=span)
        if name.lower() in ("size", "length") and len(arguments) == 1 and type(arguments[0]) is ast.PatternPredicate:
            inside = self.text[arguments[0].span.start : arguments[0].span.end]
            message = "A path pattern can only stand where a condition is expected."
            raise self.fail(message, arguments[0].span, f"Count its matches: COUNT {{ {inside} }}.")
        match arguments:
            case (subject, ast.Variable(name=key) as written) if name.lower() == "property_exists":
                looked_up = ast.PropertyAccess(subject, key, span=span, key_span=written.span)
                return ast.Unary("IS NOT NULL", looked_up, span=span)
            case (*others, ast.Variable(name=word) as form) if word.upper() in VECTOR_WORDS.get(name.lower(), ()):
                arguments = (*others, ast.Literal(word.upper(), span=form.span))
            case (_, ast.Variable(name=word) as form) if name.lower() == "normalize" and word.upper() in NORMAL_FORMS:
                arguments = (arguments[0], ast.Literal(word.upper(), span=form.span))
        return ast.FunctionCall(
            name, arguments, distinct is not None and distinct.type == "DISTINCT", span=span, name_span=callee.span
        )

    def function_star(self, c: Sequence[Any], span: Span) -> ast.FunctionCall:
        name = self._function_name(c[0])
        return ast.FunctionCall(name, (), star=True, span=span, name_span=c[0].span)

    def cast(self, c: Sequence[Any], span: Span) -> ast.Cast:
        operand, type = c
        target = value_types(self.text, span_of(type))
        if " | " in target:
            raise self.fail("CAST takes one type.", span_of(type), "Write CAST(x AS INTEGER), for example.")
        return ast.Cast(operand, target, span=span)

    def trim(self, c: Sequence[Any], span: Span) -> ast.FunctionCall:
        word, side, characters, text = c
        name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(side.value.upper() if side else "", "trim")
        arguments = (text,) if characters is None else (text, characters)
        return ast.FunctionCall(name, arguments, span=span, name_span=span_of(word))

    def _function_name(self, callee: ast.Expression) -> str:
        parts: list[str] = []
        node = callee
        while type(node) is ast.PropertyAccess:
            parts.append(node.key)
            node = node.subject
        if type(node) is not ast.Variable or self.text[node.span.start] == "(":
            hint = "An operator or a comma is missing before the '('."
            raise self.fail("Only a name can be called as a function.", callee.span, hint)
        return ".".join((node.name, *reversed(parts)))

    # ---------------------------------------------------------------------------------------------------- maps

    def map_literal(self, c: Sequence[Any], span: Span) -> ast.MapLiteral:
        return ast.MapLiteral(tuple(c[0] or ()), span=span)

    def map_entry(self, c: Sequence[Any], span: Span) -> tuple[str, ast.Expression]:
        return c[0].value, c[1]

    def map_projection(self, c: Sequence[Any], span: Span) -> ast.MapProjection:
        name, entries = c
        return ast.MapProjection(self.variable(name.value, span_of(name)), tuple(entries or ()), span=span)

    def projection_all(self, c: Sequence[Any], span: Span) -> tuple[str, None]:
        return "*", None

    def projection_property(self, c: Sequence[Any], span: Span) -> tuple[str, None]:
        return c[0].value, None

    def projection_variable(self, name: str, span: Span) -> tuple[str, ast.Expression]:
        return name, self.variable(name, span)

    # ------------------------------------------------------------------------------------- words with brackets

    def case(self, c: Sequence[Any], span: Span) -> ast.CaseExpression:
        subject, alternatives, otherwise = c
        plain = all(_is_value(tests) for tests, _ in alternatives)
        if subject is None:
            for tests, _ in alternatives:
                if not _is_value(tests):
                    place = span_of(tests[1][0] if len(tests) > 1 else tests[0][0])
                    hint = "Write CASE value WHEN … THEN …, or join conditions with OR."
                    raise self.fail("CASE without a value takes one condition behind each WHEN.", place, hint)
                self.condition(tests[0][0])
        if plain:
            whens = tuple((tests[0][0], then) for tests, then in alternatives)
            return ast.CaseExpression(subject, whens, otherwise, span=span)
        whens = tuple((self._any_of(subject, tests), then) for tests, then in alternatives)
        return ast.CaseExpression(None, whens, otherwise, span=span)

    def _any_of(self, subject: ast.Expression, tests: list[list[Any]]) -> ast.Expression:
        """Return the condition that a value passes one of the tests, each its operator and operand."""
        items: list[Any] = []
        for test in tests:
            span = between(test[0], test[-1])
            equal = len(test) == 1 and not isinstance(test[0], Token)
            operators = [Token("EQ", "=", span.start, span.start)] if equal else []
            condition = climb([subject, *operators, *test])
            items += [Token("OR", "OR", span.start, span.start), replace(condition, span=span)]
        return climb(items[1:])

    def case_alternative(self, c: Sequence[Any], span: Span) -> tuple[list[list[Any]], ast.Expression]:
        return c[0], c[1]

    def case_compared(self, c: Sequence[Any], span: Span) -> list[Any]:
        return list(c)

    case_equal = case_string_predicate = case_compared

    def case_null(self, c: Sequence[Any], span: Span) -> list[Any]:
        return [Token("IS_NULL" if len(c) == 1 else "IS_NOT_NULL", "", span.start, span.end)]

    def case_postfix(self, c: Sequence[Any], span: Span) -> list[Any]:
        return self.postfix_predicate([[], c[0]], span)

    def list_comprehension(self, c: Sequence[Any], span: Span) -> ast.ListComprehension:
        start, name, source, where, result = c
        if start.value in ("extract", "filter"):
            self.remark(start.value, start)
        return ast.ListComprehension(name.value, source, where, result, span=span)

    def pattern_comprehension(self, c: Sequence[Any], span: Span) -> ast.PatternComprehension:
        name, pattern, where, result = c
        if name is not None:
            pattern = replace(pattern, name=name.value, span=between(name, pattern))
        return ast.PatternComprehension(pattern, where, result, span=span)

    def quantified_predicate(self, c: Sequence[Any], span: Span) -> ast.QuantifierExpression:
        word, name, source, where = c
        return ast.QuantifierExpression(word.value.lower(), name.value, source, where, span=span)

    def reduce(self, c: Sequence[Any], span: Span) -> ast.ReduceExpression:
        accumulator, initial, name, source, step = c
        return ast.ReduceExpression(accumulator.value, initial, name.value, source, step, span=span)

    def all_reduce(self, c: Sequence[Any], span: Span) -> ast.ReduceExpression:
        *parts, condition = c
        return replace(self.reduce(parts, span), condition=self.condition(condition))

    def shortest_path_value(self, c: Sequence[Any], span: Span) -> ast.Expression:
        """Return what a shortest path between two nodes is as a value: the path, null for none; or a list of all."""
        name = f"@path {span.start}"
        path = replace(c[0], name=name)
        item = ast.ReturnItem(ast.Variable(name, span=span), name, self.text[span.start : span.end], span=span)
        found = ast.ReturnClause(ast.Projection((item,), span=span), span=span)
        query = ast.Query((ast.MatchClause((path,), span=span), found), span=span)
        paths = ast.SubqueryExpression("collect", ast.Statement(query, span=span), span=span)
        return paths if path.selector.startswith("all") else ast.Index(paths, ast.Literal(0, span=span), span=span)

    def pattern_predicate(self, c: Sequence[Any], span: Span) -> ast.PatternPredicate:
        node = ast.PatternPredicate(c[0], span=c[0].span)
        self.loose_patterns[id(node)] = node
        return node
