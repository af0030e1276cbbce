"""Turns the parser's refusal into a sentence: what was found, what was expected, what to do about it."""

from __future__ import annotations

from collections.abc import Collection

from qengine.errors import QuerySyntaxError, Span
from qengine.syntax.scanner import Token

__all__ = ["report"]


def report(
    token: Token, text: str, tokens: list[Token] | None = None, accepts: Collection[str] = ()
) -> QuerySyntaxError:
    """Return the error for a token that the grammar has no place for."""
    if token.type == "$END":
        span = Span(token.end_pos, token.end_pos)
    else:
        span = Span(token.start_pos, token.end_pos)
    return QuerySyntaxError(
        f"unexpected {token.type} {token.value!r}, expected {sorted(accepts)}",
        span=span,
        text=text,
        code="UnexpectedSyntax",
    )
