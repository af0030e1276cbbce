"""What a terminal asks of the language: the kinds of words for highlighting, and whether a statement is complete.

Both work on any text, also on half of a statement, and never raise.
"""

from __future__ import annotations

from qengine._frozen import frozen
from qengine.errors import Span
from qengine.syntax.scanner import BACKTICKED, Token, scan
from qengine.syntax.words import KEYWORDS, PATTERN_WORDS, STATEMENT_WORDS

_OPENING = {"LPAR": "RPAR", "LSQB": "RSQB", "LBRACE": "RBRACE"}
_CLOSING = frozenset(_OPENING.values())
_UNCLOSED = {"'": "string", '"': "string", "`": "name", "/*": "comment"}
_PLAIN = {
    "STRING": "string", "INTEGER": "number", "FLOAT": "number", "PARAMETER": "parameter", "COMMENT": "comment",
    "HINT": "hint", "ERROR": "error", "COMMA": "punctuation", "SEMICOLON": "punctuation", "DOT": "punctuation",
    **dict.fromkeys((*_OPENING, *_CLOSING), "punctuation"),
}  # fmt: skip
# Words that are functions before a parenthesis and keywords elsewhere.
_CALLABLE = frozenset(
    ("ALL", "ANY", "NONE", "SINGLE", "COUNT", "COLLECT", "EXISTS", "REDUCE", "SHORTESTPATH", "ALLSHORTESTPATHS", "TRIM")
)


@frozen
class Lexeme:
    """A piece of a text and its kind.

    ``kind`` is one of ``keyword``, ``name`` (a variable), ``property``, ``label`` (or type), ``function``,
    ``parameter``, ``number``, ``string``, ``operator``, ``punctuation``, ``comment``, ``hint``, ``error``.
    """

    kind: str
    span: Span


def tokens(text: str) -> list[Lexeme]:
    """Return the lexemes of any text, in order; what lies between them is white space.

    An unclosed string, name or comment reaches to the end of the text.
    """
    found = scan(text, everything=True)
    result: list[Lexeme] = []
    opened: list[str] = []
    before: Token | None = None  # the last token that is not a comment
    kind = ""
    for index, token in enumerate(found):
        following = found[index + 1].type if index + 1 < len(found) else ""
        if token.type == "ERROR" and token.value in _UNCLOSED:
            result.append(Lexeme(_UNCLOSED[token.value], Span(token.start_pos, len(text))))
            break
        if token.type in ("NAME", BACKTICKED):
            kind = _word_kind(token, before, following, opened, kind)
        else:
            kind = _PLAIN.get(token.type, "operator") if token.type != "BAR" or kind != "label" else "label bar"
        if token.type in _OPENING:
            opened.append(token.type)
        elif token.type in _CLOSING and opened:
            opened.pop()
        result.append(Lexeme("operator" if kind == "label bar" else kind, Span(token.start_pos, token.end_pos)))
        if token.type not in ("COMMENT", "HINT"):
            before = token
    return result


def _word_kind(token: Token, before: Token | None, following: str, opened: list[str], kind_before: str) -> str:
    previous = before.type if before else ""
    if previous == "DOT":
        return "function" if following == "LPAR" else "property"
    in_map = bool(opened) and opened[-1] == "LBRACE"
    if previous in ("AMP", "BANG") or kind_before == "label bar" or (previous == "COLON" and not in_map):
        return "label"
    if in_map and following == "COLON" and previous in ("LBRACE", "COMMA"):
        return "property"
    upper = token.value.upper() if token.type == "NAME" else ""
    if upper in _CALLABLE:
        return "function" if following == "LPAR" else "keyword" if following == "LBRACE" else "name"
    if upper in KEYWORDS or upper in PATTERN_WORDS or upper in STATEMENT_WORDS:
        return "keyword" if following != "DOT" else "name"
    return "function" if following == "LPAR" else "name"


def is_complete(text: str) -> bool:
    """Tell whether the text ends with ``;`` outside of strings, names and comments.

    An open bracket doesn't matter: nothing in brackets holds a ``;``, so the text is complete, and wrong.
    """
    found = scan(text)
    return bool(found) and found[-1].type == "SEMICOLON"
