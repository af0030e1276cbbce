"""What is said of brackets that aren't paired or nest too deep; the native library pairs them.

Whoever forgets a bracket learns where the open one stands, not where the parser gave up.
"""

from __future__ import annotations

from qengine.errors import QuerySyntaxError, Span
from qengine.syntax.scanner import Token

MAX_NESTING = 200
"""How deep brackets, and the tree that is built of them, may nest. The later stages recurse over the tree."""

_CHARACTER = {"LPAR": ")", "LSQB": "]", "LBRACE": "}"}
_TOO_DEEP, _CLOSES_NOTHING, _NOT_CLOSED_BEFORE = 1, 2, 3  # as the library numbers them


def bracket_error(what: int, token: Token, other: Token, text: str) -> QuerySyntaxError:
    """Return the error of a bracket; ``other``: the closing one that comes too early."""
    if what == _TOO_DEEP:
        return _error(token, text, f"Brackets nest deeper than {MAX_NESTING} levels.", "Split the query with WITH.")
    if what == _CLOSES_NOTHING:
        return _error(token, text, f"This {token.value!r} closes nothing.", "Remove it, or open it before.")
    character = _CHARACTER[token.type]
    if what == _NOT_CLOSED_BEFORE:
        message = f"This {token.value!r} is not closed: {other.value!r} comes before its {character!r}."
    else:
        message = f"This {token.value!r} is never closed."
    return _error(token, text, message, f"Add {character!r} where it ends.")


def _error(token: Token, text: str, message: str, hint: str) -> QuerySyntaxError:
    span = Span(token.start_pos, token.end_pos)
    return QuerySyntaxError(message, span=span, text=text, hint=hint, code="UnexpectedSyntax")
