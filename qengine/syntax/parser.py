"""Parses text to statements: scan, pair brackets, classify, run the LALR automaton, build the tree as it goes."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator
from functools import cache
from typing import Any

from qengine._text import half_pair
from qengine.errors import QuerySyntaxError, Span
from qengine.syntax import ast
from qengine.syntax.automaton import Automaton, Refused, load
from qengine.syntax.brackets import MAX_NESTING, pair
from qengine.syntax.build_clauses import AstBuilder
from qengine.syntax.checks import check_depth
from qengine.syntax.classify import classify
from qengine.syntax.scanner import Token, scan

MAX_TOKENS = 500_000
"""A text with more is refused: it would take seconds and gigabytes. Data belongs in parameters and files."""

_FLAT = frozenset(("COMMA", "COLON", "RPAR", "RSQB", "RBRACE"))
"""Tokens that make no tree deeper; of the others each makes it one level deeper at most."""

_APART = frozenset(("HINT", "SEMICOLON"))

_LOCK = threading.Lock()  # the builder has state; parsing holds the interpreter's lock anyway


def parse(text: str, tokens: list[Token] | None = None) -> tuple[ast.Statement, ...]:
    """Return the statements of a text, which ``;`` separates; none for a text of white space and comments.

    ``tokens``: what ``scan`` returns of it, where that is known.

    Raises
    ------
    QuerySyntaxError
        At the first place where the text is not of the language; at half a surrogate pair before that.
    """
    if (half := half_pair(text)) >= 0:
        message = f"The text has half of a surrogate pair: {text[half]!a}."
        hint = "It was decoded wrongly, or cut within a character: read it as UTF-8."
        span = Span(half, half + 1)
        raise QuerySyntaxError(message, span=span, text=text, hint=hint, code="InvalidUnicodeCharacter")
    if tokens is None:
        tokens = scan(text, limit=MAX_TOKENS)
    if len(tokens) > MAX_TOKENS:
        span = Span(tokens[-1].start_pos, tokens[-1].end_pos)
        message = f"The text has more than {MAX_TOKENS:,} words and signs."
        hint = "Pass long lists as parameters, or load them as a graph."
        raise QuerySyntaxError(message, span=span, text=text, hint=hint, code="UnexpectedSyntax")
    with _LOCK:
        return tuple(_statement(part, hints, text) for part, hints in _split(tokens))


def _split(tokens: list[Token]) -> Iterator[tuple[list[Token], list[Token]]]:
    """Cut at ``;``, set the hints apart, and leave out what is empty."""
    if _APART.isdisjoint([token.type for token in tokens]):
        if tokens:
            yield tokens, []
        return
    part: list[Token] = []
    hints: list[Token] = []
    for token in tokens:
        if token.type == "HINT":
            hints.append(token)
        elif token.type != "SEMICOLON":
            part.append(token)
        elif part:
            yield part, hints
            part, hints = [], []
    if part:
        yield part, hints


def _statement(tokens: list[Token], hints: list[Token], text: str) -> ast.Statement:
    errors = (token for token in tokens if token.type == "ERROR")
    try:
        brackets = pair(tokens, text)
    except QuerySyntaxError:
        if (error := next(errors, None)) is None:
            raise
        raise _refusal(error, text, tokens) from None  # an unclosed string may hide the bracket
    automaton, builder = _automaton()
    builder.reset(text)
    classified = classify(tokens, brackets)
    try:
        statement: ast.Statement = automaton.run(classified)
    except Refused as refused:
        raise _refusal(refused.token, text, classified, refused.accepts) from None
    if len(tokens) > MAX_NESTING and sum(token.type not in _FLAT for token in tokens) > MAX_NESTING:
        check_depth(statement, text)
    if not hints:
        return statement
    ends = [
        statement.span.start,
        statement.span.end,
        *(end for hint in hints for end in (hint.start_pos, hint.end_pos)),
    ]
    return dataclasses.replace(statement, hints=tuple(map(_hint, hints)), span=Span(min(ends), max(ends)))


def _hint(token: Token) -> ast.Hint:
    inside = token.value[3:-2]
    start = token.start_pos + 3 + len(inside) - len(inside.lstrip())
    text = inside.strip()
    return ast.Hint(text, span=Span(start, start + len(text)))


def _refusal(*found: Any) -> QuerySyntaxError:
    from qengine.syntax.report import report  # nobody waits for it before the first mistake

    return report(*found)


@cache
def _automaton() -> tuple[Automaton, AstBuilder]:
    builder = AstBuilder()
    return load(builder), builder
