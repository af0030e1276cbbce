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

_CLOSING = {"LPAR": "RPAR", "LSQB": "RSQB", "LBRACE": "RBRACE"}
_LOOKED_AT = frozenset((*_CLOSING, *_CLOSING.values(), "BAR", "COMMA"))
_CHARACTER = {"LPAR": ")", "LSQB": "]", "LBRACE": "}"}


@record
class Brackets:
    """What the classifier asks about brackets; all keys and values are indices into the token list.

    ``partner``: from an opening bracket to its closing one. ``bars``: from an opening bracket to the ``|`` that
    stand directly inside it. ``commas``: the opening brackets with a comma directly inside. ``kinds``: the tokens'
    types as they were scanned.
    """

    kinds: list[str]
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
    check_planning()
    table = Brackets([token.type for token in tokens])
    opened: list[int] = []
    for index, kind in enumerate(table.kinds):
        if kind not in _LOOKED_AT:
            continue
        if kind == "COMMA":
            if opened:
                table.commas.add(opened[-1])
        elif kind in _CLOSING:
            opened.append(index)
            if len(opened) > MAX_NESTING:
                message = f"Brackets nest deeper than {MAX_NESTING} levels."
                raise _error(tokens[index], text, message, "Split the query with WITH.")
        elif kind == "BAR":
            if opened:
                table.bars.setdefault(opened[-1], []).append(index)
        else:
            token = tokens[index]
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
