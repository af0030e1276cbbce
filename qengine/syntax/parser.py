"""Parses text to statements: scan, pair brackets, classify, run Lark's LALR automaton, build the tree as it goes.

The automaton is computed once from ``grammar/cypher.lark`` and kept in a file of the user's cache directory, named
by the checksum of the grammar; a file that is absent, damaged or unwritable only costs the time to compute anew.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import sys
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from lark import Lark, UnexpectedToken
from lark.lexer import Lexer

from qengine._assets import asset
from qengine.errors import QuerySyntaxError, Span
from qengine.syntax import ast
from qengine.syntax.brackets import MAX_NESTING, pair
from qengine.syntax.build_clauses import AstBuilder
from qengine.syntax.checks import check_depth
from qengine.syntax.classify import classify
from qengine.syntax.scanner import Token, scan

__all__ = ["MAX_TOKENS", "build_grammar", "parse"]

MAX_TOKENS = 500_000
"""A text with more is refused: it would take seconds and gigabytes. Data belongs in parameters and files."""

_LOCK = threading.Lock()  # the builder has state; parsing holds the interpreter's lock anyway


class _TokenList(Lexer):
    """The lexer that Lark asks: it passes on tokens that are ready."""

    def __init__(self, lexer_conf: Any) -> None:
        """Lark gives its terminals; they are declared only, so there is nothing to compile."""

    def lex(self, data: Any) -> Iterator[Any]:  # type: ignore[override]  # Lark calls its first interface: one argument
        """Return the tokens; ``data`` is the list that ``Lark.parse`` was given."""
        return iter(data)


def parse(text: str) -> tuple[ast.Statement, ...]:
    """Return the statements of a text, which ``;`` separates; none for a text of white space and comments.

    Raises
    ------
    QuerySyntaxError
        At the first place where the text is not of the language.
    """
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
        raise _refusal(error, text) from None  # an unclosed string may hide the bracket
    lark, builder = _lark()
    builder.reset(text)
    classified = classify(tokens, brackets)
    try:
        statement: ast.Statement = lark.parse(classified)  # type: ignore[assignment]
    except UnexpectedToken as unexpected:
        raise _refusal(unexpected.token, text, classified, unexpected.accepts or set()) from None
    if len(tokens) > MAX_NESTING:
        check_depth(statement, text)
    if not hints:
        return statement
    ends = [
        statement.span.start,
        statement.span.end,
        *(end for hint in hints for end in (hint.start_pos, hint.end_pos)),
    ]
    words = tuple(hint.value[3:-2].strip() for hint in hints)
    return dataclasses.replace(statement, hints=words, span=Span(min(ends), max(ends)))


def _refusal(*found: Any) -> QuerySyntaxError:
    from qengine.syntax.report import report  # nobody waits for it before the first mistake

    return report(*found)


def build_grammar(**options: Any) -> Lark:
    """Return a parser computed from the grammar; a conflict in it raises ``lark.GrammarError``."""
    grammar = asset("grammar", "cypher.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", lexer=_TokenList, start="statement", strict=True, **options)


@cache
def _lark() -> tuple[Lark, AstBuilder]:
    builder = AstBuilder()
    path = _cache_file()
    return build_grammar(transformer=builder, **({"cache": str(path)} if path else {})), builder


def _cache_file() -> Path | None:
    """Return where the automaton is kept, or None where there is no place for it."""
    home = os.environ.get("XDG_CACHE_HOME")
    try:
        folder = (Path(home) if home else Path.home() / ".cache") / "qengine"
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return None
    checksum = hashlib.sha256(asset("grammar", "cypher.lark").read_bytes()).hexdigest()[:16]
    return folder / f"grammar-{sys.version_info[0]}.{sys.version_info[1]}-{checksum}.bin"
