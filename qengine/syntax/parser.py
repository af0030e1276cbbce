"""Parses text to statements: scan, cut at semicolons, run the automaton, build the tree."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import cache
from typing import Any

from qengine._frozen import replace
from qengine._text import half_pair
from qengine.errors import QuerySyntaxError, Span
from qengine.syntax import ast
from qengine.syntax.automaton import Automaton, Refused, Unpaired, load
from qengine.syntax.brackets import MAX_NESTING, bracket_error
from qengine.syntax.build_clauses import AstBuilder
from qengine.syntax.checks import check_depth
from qengine.syntax.scanner import Token, Tokens, kinds, scanned

MAX_TOKENS = 500_000
"""A text with more is refused: it would take seconds and gigabytes. Data belongs in parameters and files."""

_LOCK = threading.Lock()  # the builder has state; parsing holds the interpreter's lock anyway


def parse(text: str, tokens: Tokens | None = None) -> tuple[ast.Statement, ...]:
    """Return the statements of a text, which ``;`` separates; none for a text of white space and comments.

    ``tokens``: what ``scanned`` returns of it, where that is known.

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
        tokens = scanned(text, limit=MAX_TOKENS)
    if len(tokens) > MAX_TOKENS:
        span = Span(tokens.column(1)[-1], tokens.column(2)[-1])
        message = f"The text has more than {MAX_TOKENS:,} words and signs."
        hint = "Pass long lists as parameters, or load them as a graph."
        raise QuerySyntaxError(message, span=span, text=text, hint=hint, code="UnexpectedSyntax")
    with _LOCK:
        return tuple(_statement(*part) for part in _split(tokens))


def _split(tokens: Tokens) -> Iterator[tuple[Tokens, list[Token]]]:
    """Cut at ``;``, set the hints apart, and leave out what is empty."""
    found = tokens.column(0)
    hint, semicolon = kinds().index("HINT"), kinds().index("SEMICOLON")
    if hint not in found and semicolon not in found:
        if found:
            yield tokens, []
        return
    part, hints = list[int](), list[int]()
    for place, kind in enumerate([*found, semicolon]):
        if kind == hint:
            hints.append(place)
        elif kind != semicolon:
            part.append(place)
        elif part:
            yield tokens.some(part), tokens.some(hints).objects()
            part, hints = [], []


def _statement(tokens: Tokens, hints: list[Token]) -> ast.Statement:
    text = tokens.text
    automaton, builder = _automaton()
    builder.reset(text)
    try:
        statement: ast.Statement = automaton.run(tokens)
    except Unpaired as unpaired:
        objects = tokens.objects()
        if (error := next((token for token in objects if token.type == "ERROR"), None)) is None:
            raise bracket_error(unpaired.what, objects[unpaired.place], objects[unpaired.other], text) from None
        raise _refusal(error, text, objects) from None  # an unclosed string may hide the bracket
    except Refused as refused:
        raise _refusal(refused.token, text, refused.tokens, refused.accepts) from None
    if automaton.deepest > MAX_NESTING:
        check_depth(statement, text)
    if not hints:
        return statement
    ends = [
        statement.span.start,
        statement.span.end,
        *(end for hint in hints for end in (hint.start_pos, hint.end_pos)),
    ]
    return replace(statement, hints=tuple(map(_hint, hints)), span=Span(min(ends), max(ends)))


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
