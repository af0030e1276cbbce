"""Builds the tree of commands about the schema: CREATE and DROP of indexes and constraints, SHOW."""
# ruff: noqa: D102 (the rule of the same name in grammar/cypher.lark says what a method builds)

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from qengine.errors import Span
from qengine.syntax import ast
from qengine.syntax.build_expressions import between, span_of
from qengine.syntax.build_updates import UpdateBuilder
from qengine.syntax.literals import parameter_of, parse_string
from qengine.syntax.scanner import Token, scan
from qengine.syntax.schema_commands import read_schema_command
from qengine.syntax.shown_columns import shown_columns
from qengine.syntax.words import SHOWN, word_set

_SELECTING = word_set(
    "ALL BTREE FULLTEXT LOOKUP POINT RANGE TEXT VECTOR UNIQUE UNIQUENESS NODE RELATIONSHIP REL KEY PROPERTY EXISTENCE "
    "EXIST EXISTS TYPE BUILT IN USER DEFINED EXECUTABLE BY CURRENT"
)
"""Words that may stand beside what SHOW lists."""

_LISTED = tuple(dict.fromkeys(SHOWN.values()))


class CommandBuilder(UpdateBuilder):
    """Rules of commands."""

    def command(self, c: Sequence[Any], span: Span) -> ast.Clause:
        (token,) = c
        return read_schema_command(self.text, span, self.remark) or ast.UnsupportedClause(
            token.value.upper(), span=span
        )

    def show(self, c: Sequence[Any], span: Span) -> ast.ShowClause:
        token, where = c
        if where is None:
            return self._shown(token, None, whole=False)
        everything = ast.Projection((), True, span=where.span)
        return self._shown(token, ast.WithClause(everything, where, span=where.span), whole=False)

    def show_yielding(self, c: Sequence[Any], span: Span) -> ast.ShowClause:
        token, word, projection, where = c
        for item in projection.items:
            if type(item.expression) is not ast.Variable:
                raise self.fail("YIELD takes names of columns.", item.span, "Compute with them in RETURN.")
        selection = ast.WithClause(projection, where, span=between(word, where or projection))
        return self._shown(token, selection, whole=True)

    def _shown(self, token: Token, selection: ast.WithClause | None, *, whole: bool) -> ast.ShowClause:
        span = span_of(token)
        tokens = scan(self.text[span.start : span.end])[1:]
        words = [each.value.upper() for each in tokens if each.type == "NAME"]
        place, what = min((_LISTED.index(SHOWN[word]), SHOWN[word]) for word in words if word in SHOWN)
        words.remove(next(word for word in words if SHOWN.get(word) == what))
        if words[-1:] == ["OUTPUT"]:
            words.pop()
        if words[-1:] in (["VERBOSE"], ["BRIEF"]) and what in ("INDEXES", "CONSTRAINTS"):
            self.remark(words.pop().lower(), token)
        names: tuple[ast.Expression, ...] = ()
        if place < _LISTED.index("SETTINGS"):
            unknown = next((word for word in words if word not in _SELECTING), None)
            unknown = unknown or next((each.value for each in tokens if each.type not in ("NAME", "HINT")), None)
            if unknown is not None:
                raise self.fail(f"SHOW {what} doesn't know {unknown}.", span, "Select with WHERE what to show.")
        else:
            names = self._names(tokens, what, span.start)
        what = "TERMINATED" if token.value == "TERMINATE" else what
        if what == "TERMINATED" and not names:
            raise self.fail("TERMINATE TRANSACTIONS takes ids.", span, "SHOW TRANSACTIONS lists them.")
        columns = shown_columns(what, whole=whole)
        span = between(token, selection or token)
        return ast.ShowClause(what, tuple(words), names, columns, selection, whole, span=span)

    def _names(self, tokens: Sequence[Token], what: str, start: int) -> tuple[ast.Expression, ...]:
        """Return what is asked for by name, behind the word for what is listed: texts, parameters and other names."""
        behind = next(at for at, each in enumerate(tokens) if SHOWN.get(each.value.upper()) == what) + 1
        found: list[ast.Expression] = []
        for each in tokens[behind:]:
            span = Span(start + each.start_pos, start + each.end_pos)
            match each.type:
                case "STRING":
                    found.append(ast.Literal(parse_string(each, self.text), span=span))
                case "PARAMETER":
                    found.append(parameter_of(each, span))
                case "NAME" | "BACKTICKED":
                    found.append(ast.Variable(each.value.strip("`"), span=span))
        return tuple(found)


def shown(clause: ast.ShowClause) -> ast.ReturnClause:
    """Return the RETURN of a SHOW that has none: its columns, in their order."""
    projection = None if clause.selection is None else clause.selection.projection
    items = () if projection is None else projection.items
    names = [] if projection is not None and not projection.star else list(clause.columns)
    names += [item.alias or item.text for item in items]
    returned = tuple(
        ast.ReturnItem(ast.Variable(name, span=clause.span), None, name, span=clause.span) for name in names
    )
    return ast.ReturnClause(ast.Projection(returned, span=clause.span), span=clause.span)
