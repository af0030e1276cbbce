"""Pairs the brackets of a token list, and refuses what isn't paired or nests too deep.

Whoever forgets a bracket learns where the open one stands, not where the parser gave up.
"""

from __future__ import annotations

from dataclasses import field

from qengine._deadline import check_planning
from qengine._frozen import record
from qengine.errors import QuerySyntaxError, Span
from qengine.syntax.scanner import Token

MAX_NESTING = 200
"""How deep brackets, and the tree that is built of them, may nest. The later stages recurse over the tree."""

_POLLED = 4096  # brackets between two looks whether to stop
_CLOSING = {"LPAR": "RPAR", "LSQB": "RSQB", "LBRACE": "RBRACE"}
_LOOKED_AT = frozenset((*_CLOSING, *_CLOSING.values(), "BAR", "COMMA"))
_CHARACTER = {"LPAR": ")", "LSQB": "]", "LBRACE": "}"}


@record
class Brackets:
    """What the classifier asks about brackets; all keys and values are indices into the token list.

    ``partner``: from an opening bracket to its closing one. ``bars``: from an opening bracket to the ``|`` that
    stand directly inside it. ``commas``: the opening brackets with a comma directly inside.
    """

    partner: dict[int, int] = field(default_factory=dict)
    bars: dict[int, list[int]] = field(default_factory=dict)
    commas: set[int] = field(default_factory=set)


def pair(tokens: list[Token], text: str) -> Brackets:
    """Return the bracket table of one statement's tokens.

    Raises
    ------
    QuerySyntaxError
        At an opening bracket that is never closed, at a closing one that closes nothing, or at the bracket that
        goes deeper than ``MAX_NESTING``.
    """
    table = Brackets()
    opened: list[int] = []
    for place, index in enumerate([index for index, token in enumerate(tokens) if token.type in _LOOKED_AT]):
        if not place % _POLLED:
            check_planning()
        token = tokens[index]
        kind = token.type
        if kind in _CLOSING:
            opened.append(index)
            if len(opened) > MAX_NESTING:
                raise _error(
                    token, text, f"Brackets nest deeper than {MAX_NESTING} levels.", "Split the query with WITH."
                )
        elif kind == "BAR":
            if opened:
                table.bars.setdefault(opened[-1], []).append(index)
        elif kind == "COMMA":
            if opened:
                table.commas.add(opened[-1])
        else:
            if not opened:
                raise _error(token, text, f"This {token.value!r} closes nothing.", "Remove it, or open it before.")
            start = opened.pop()
            if _CLOSING[tokens[start].type] != kind:
                opener = tokens[start]
                character = _CHARACTER[opener.type]
                message = f"This {opener.value!r} is not closed: {token.value!r} comes before its {character!r}."
                raise _error(opener, text, message, f"Add {character!r} where it ends.")
            table.partner[start] = index
    if opened:
        opener = tokens[opened[-1]]
        character = _CHARACTER[opener.type]
        raise _error(opener, text, f"This {opener.value!r} is never closed.", f"Add {character!r} where it ends.")
    return table


def _error(token: Token, text: str, message: str, hint: str) -> QuerySyntaxError:
    span = Span(token.start_pos, token.end_pos)
    return QuerySyntaxError(message, span=span, text=text, hint=hint, code="UnexpectedSyntax")
