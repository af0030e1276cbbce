"""Cuts a query's text into tokens: one regular expression, no context.

The scanner never raises. What it can't read becomes an ``ERROR`` token, so that the parser reports whichever
mistake comes first in the text. Words are all of type ``NAME``; ``qengine.syntax.classify`` makes some of them
keywords.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from qengine._deadline import check_planning

BACKTICKED = "BACKTICKED"
"""Type of a name in backticks: never a keyword. The classifier turns it into ``NAME``."""


_POLLED = 4096  # tokens after which scanning looks whether to stop


class Token:
    """A piece of the text: its type, its characters, and where they stand (character offsets)."""

    __slots__ = ("end_pos", "start_pos", "type", "value")

    def __init__(self, type: str, value: str, start_pos: int, end_pos: int) -> None:
        self.type = type
        self.value = value
        self.start_pos = start_pos
        self.end_pos = end_pos

    def __repr__(self) -> str:
        return f"Token({self.type}, {self.value!r}, {self.start_pos}, {self.end_pos})"


SYMBOLS = {
    "(": "LPAR", ")": "RPAR", "[": "LSQB", "]": "RSQB", "{": "LBRACE", "}": "RBRACE", ",": "COMMA", ".": "DOT",
    "..": "DOTDOT", ":": "COLON", ";": "SEMICOLON", "|": "BAR", "&": "AMP", "!": "BANG", "%": "PERCENT",
    "+": "PLUS", "-": "MINUS", "*": "STAR", "/": "SLASH", "^": "CARET", "=": "EQ", "<>": "NE", "<": "LT", ">": "GT",
    "<=": "LE", ">=": "GE", "=~": "MATCHES", "||": "CONCAT",
    # No rule takes these. They are read whole so that a message can name them.
    "$": "DOLLAR", "!=": "BANG_EQ", "==": "EQ_EQ", "=>": "EQ_GT", "&&": "AMP_AMP", "+=": "PLUS_EQ", "::": "COLON_COLON",
}  # fmt: skip

# Possessive quantifiers keep the memory of a 10 MB string or comment constant. White space is part of what follows it,
# and what is most frequent is tried first: a name (if Unicode has a say in it, WORD is its first character), a sign.
_TOKEN = re.compile(
    r"""
    [\s\ufeff]*+
    (?:
        (?P<NAME>[A-Za-z_][A-Za-z0-9_]*+(?![^\x00-\x7f]))
      | (?P<SYMBOL><=|>=|<>|=~|=>|!=|==|\|\||&&|\+=|::|\.\.|[()\[\]{},:;|&!%+\-*^=<>]|\.(?![0-9])|/(?![*/])|\$(?=\s*\())
      | (?P<FLOAT>(?:[0-9][0-9_]*+)?+\.[0-9][0-9_]*+(?:[eE][+-]?[0-9]++)?+\w*+|[0-9][0-9_]*+[eE][+-]?[0-9]++\w*+)
      | (?P<INTEGER>[0-9]\w*+)
      | (?P<STRING>'[^'\\]*+(?:\\.[^'\\]*+)*+'|"[^"\\]*+(?:\\.[^"\\]*+)*+")
      | (?P<PARAMETER>\$(?:\w++|`(?:[^`]|``)++`))
      | (?P<BACKTICKED>`(?:[^`]|``)*+`)
      | (?P<WORD>[^\W\d])
      | (?P<HINT>/\*\+.*?\*/)
      | (?P<COMMENT>/\*.*?\*/|//[^\n\r]*+)
      | (?P<UNCLOSED>['"`]|/\*)
      | (?P<ERROR>.)
    )
    """,
    re.VERBOSE | re.DOTALL,
)
_KINDS = ("", *_TOKEN.groupindex)  # by the number of the group
_NAME, _SYMBOL = _TOKEN.groupindex["NAME"], _TOKEN.groupindex["SYMBOL"]


def scan(text: str, *, everything: bool = False, limit: int | None = None) -> list[Token]:
    """Return the tokens of a text.

    Parameters
    ----------
    text
        Any string.
    everything
        Keep comments too (white space never is). Without it only hints are kept, for ``/*+ … */`` has a meaning.
    limit
        Stop soon after this many tokens; the caller sees by the count that there were more.

    Returns
    -------
    list of Token
        In the order of the text, without overlap. An unclosed string, name or comment is one ``ERROR`` token that
        covers the opening characters, and ends the list.
    """
    tokens: list[Token] = []
    append, new = tokens.append, object.__new__
    part = _POLLED if limit is None else min(_POLLED, limit + 1)
    matches = _matches(text, 0)
    while True:
        found = None
        for found in islice(matches, part):
            group: int = found.lastindex  # type: ignore[assignment]
            value = found[group]
            if group == _NAME:
                kind = "NAME"
            elif group == _SYMBOL:
                kind = SYMBOLS[value]
            else:
                kind = _KINDS[group]
                if kind == "WORD":
                    matches = _matches(text, _unicode_name(text, found.start(group), tokens))
                    break
                if kind == "UNCLOSED":
                    append(Token("ERROR", value, *found.span(group)))
                    return tokens
                if kind == "COMMENT" and not everything:
                    continue
            token = new(Token)  # which takes half of what a call of the class takes
            token.type, token.value = kind, value
            token.end_pos = end = found.end()
            token.start_pos = end - len(value)
            append(token)
        if found is None or (limit is not None and len(tokens) > limit):
            return tokens
        check_planning()


def _matches(text: str, place: int) -> Iterator[re.Match[str]]:
    return iter(_TOKEN.scanner(text, place).match, None)  # type: ignore[attr-defined]


def _unicode_name(text: str, start: int, tokens: list[Token]) -> int:
    r"""Append the name that starts here, by Unicode's rules for identifiers (``\w`` lacks combining marks)."""
    end = start + 1
    while end < len(text) and ("a" + text[end]).isidentifier():
        end += 1
    value = text[start:end]
    if value.isidentifier():
        tokens.append(Token("NAME", value, start, end))
        return end
    tokens.append(Token("ERROR", text[start], start, start + 1))
    return start + 1
