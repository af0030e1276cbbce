"""From text to an abstract syntax tree: lexer, grammar, tree builder, hints for common mistakes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qengine.syntax import ast
    from qengine.syntax.lexemes import Lexeme
    from qengine.syntax.scanner import Tokens


def parse(text: str, tokens: Tokens | None = None) -> tuple[ast.Statement, ...]:
    """Return the statements of a text, which ``;`` separates; none for a text of white space and comments.

    Parameters
    ----------
    text
        One or more statements.
    tokens
        What ``scanner.scanned`` returns of it, where that is known.

    Raises
    ------
    QuerySyntaxError
        At the first place where the text is not of the language; ``span``, ``text`` and ``code`` are filled in.
    """
    from qengine.syntax import parser  # not before the first query

    return parser.parse(text, tokens)


def tokens(text: str) -> list[Lexeme]:
    """Return the pieces of any text with their kinds, for highlighting; see ``qengine.syntax.lexemes``."""
    from qengine.syntax import lexemes

    return lexemes.tokens(text)


def is_complete(text: str) -> bool:
    """Tell whether the text ends with ``;`` outside of strings, names and comments."""
    from qengine.syntax import lexemes

    return lexemes.is_complete(text)
