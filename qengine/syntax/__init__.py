"""From text to an abstract syntax tree: lexer, grammar, tree builder, hints for common mistakes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qengine.syntax import ast

__all__ = ["parse"]


def parse(text: str) -> tuple[ast.Statement, ...]:
    """Return the statements of a text, which ``;`` separates; none for a text of white space and comments.

    Parameters
    ----------
    text
        One or more statements.

    Raises
    ------
    QuerySyntaxError
        At the first place where the text is not of the language; ``span``, ``text`` and ``code`` are filled in.
    """
    from qengine.syntax import parser  # lark takes 50 ms to import: not before the first query

    return parser.parse(text)
