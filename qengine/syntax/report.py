"""Turns the parser's refusal into a sentence: what was found, what was expected, what to do about it."""

from __future__ import annotations

from collections.abc import Collection

from qengine.errors import QuerySyntaxError, Span
from qengine.syntax.hints import hint_for
from qengine.syntax.scanner import SYMBOLS, Token

_MOST_EXPECTED = 5
_LONGEST_SHOWN = 30

_SYMBOL_OF = {kind: f"'{symbol}'" for symbol, kind in SYMBOLS.items()} | {"DIVIDER": "'|'", "AND_COLON": "':'"}
_WORDS = {
    "$END": "the end of the query",
    "NAME": "a name",
    "INTEGER": "an integer",
    "STRING": "a string",
    "PARAMETER": "a parameter",
    "ORDER": "ORDER BY",
    "LOAD_CSV": "LOAD CSV",
    "PERIODIC_COMMIT": "USING PERIODIC COMMIT",
    "PATHS": "PATHS",
    "GROUP_BY": "GROUP BY",
    "SUBQUERY": "EXISTS",
    "SHORTEST_PATH": "shortestPath",
    "PATH_MODE": "a path mode",
    "MATCH_MODE": "a match mode",
    "ON_SET": "ON CREATE SET",
    "ON_ERROR": "ON ERROR",
    "CAST_TYPE": "AS",
}
# Types that stand for one notion: where all of `signs` are accepted, `members` are said in one phrase.
_OPERATORS = frozenset(
    (
        *("AND", "OR", "XOR", "EQ", "NE", "LT", "GT", "LE", "GE", "MATCHES", "IN", "CONTAINS", "PLUS", "MINUS", "STAR"),
        *("CONCAT", "SLASH", "PERCENT", "CARET", "IS", "STARTS", "ENDS", "DOT", "LSQB", "LPAR", "LBRACE", "COLON"),
    )
)
_OPERANDS = frozenset(
    (
        *("NAME", "PARAMETER", "INTEGER", "FLOAT", "STRING", "TRUE", "FALSE", "NULL", "LPAR", "LSQB", "LBRACE", "CASE"),
        *("LIST_COMPREHENSION", "PATTERN_COMPREHENSION", "PATTERN_BEGIN", "QUANTIFIER", "REDUCE", "SUBQUERY"),
        *("SHORTEST_PATH", "NOT", "PLUS", "MINUS"),
    )
)
_CLAUSES = frozenset(
    (
        *(
            "MATCH",
            "OPTIONAL",
            "WITH",
            "UNWIND",
            "RETURN",
            "FINISH",
            "UNION",
            "NEXT",
            "WHEN",
            "ELSE",
            "EXPLAIN",
            "PROFILE",
            "CREATE",
            "MERGE",
        ),
        *("SET", "REMOVE", "DETACH", "DELETE", "FOREACH", "CALL", "LOAD_CSV", "LET", "FOR", "FILTER", "USE", "COMMAND"),
        *("PERIODIC_COMMIT", "SHOW"),
    )
)
_NOTIONS = (
    ("an expression", frozenset(("INTEGER", "FLOAT", "STRING")), _OPERANDS | {"DISTINCT"}),
    ("an operator", frozenset(("AND", "EQ", "PLUS")), _OPERATORS),
    ("a clause", frozenset(("MATCH", "RETURN")), _CLAUSES),
    ("a clause that changes the graph", frozenset(("CREATE", "MERGE", "SET")), _CLAUSES),
    ("a path selector", frozenset(("ANY", "SHORTEST")), frozenset(("ANY", "SHORTEST", "ALL", "PATH_MODE"))),
    (
        "a relationship",
        frozenset(("MINUS", "LT", "LPAR")),
        frozenset(("MINUS", "LT", "LPAR", "STAR", "PLUS", "LBRACE")),
    ),
    ("a relationship", frozenset(("MINUS", "LT")), frozenset(("MINUS", "LT"))),
    ("a node '('", frozenset(("LPAR", "STAR", "PLUS")), frozenset(("LPAR", "GT", "STAR", "PLUS", "LBRACE"))),
    ("labels", frozenset(("COLON", "IS")), frozenset(("COLON", "IS"))),
    ("a label", frozenset(("NAME", "BANG", "PERCENT")), frozenset(("NAME", "BANG", "PERCENT", "LPAR", "PARAMETER"))),
    ("properties", frozenset(("LBRACE", "PARAMETER")), frozenset(("LBRACE", "PARAMETER"))),
)
_HIDDEN = frozenset((
    "PATTERN_BEGIN", "PATTERN_END", "AND_COLON", "ROWS_CLAUSE", "CYPHER_OPTIONS", "PLANNER_HINT", "TRIM", "TRIM_SIDE",
    "TYPE_TEST", "NOT_TYPE_TEST", "NORMALIZED", "DYNAMIC", "CAST", "ALL_REDUCE", "NULLS_ORDER",
    "FOR_POSITION", "EXCEPT", "INTERSECT", "OTHERWISE", "QUESTION", "SEARCH", "KEEP", "GROUP_BY",
))  # fmt: skip
_ORDER = ("an expression", "a node '('", "a relationship", "a name", "a label", "an operator", "labels", "properties")


def report(
    token: Token, text: str, tokens: list[Token] | None = None, accepts: Collection[str] = ()
) -> QuerySyntaxError:
    """Return the error for a token that the grammar has no place for.

    Parameters
    ----------
    token
        The token found.
    text
        The source.
    tokens
        All tokens of the statement as the parser saw them; None where only the token itself is wrong.
    accepts
        The token types that the parser would have taken.
    """
    mistake = hint_for(token, tokens or [], frozenset(accepts))
    message = mistake.message or f"Expected {_expected(accepts)}, found {_found(token)}."
    span = mistake.span or Span(token.end_pos if token.type == "$END" else token.start_pos, token.end_pos)
    code = mistake.code or _code(token, tokens or [])
    return QuerySyntaxError(message, span=span, text=text, hint=mistake.hint, code=code)


def _found(token: Token) -> str:
    kind, value = token.type, token.value
    if kind == "$END":
        return _WORDS[kind]
    if len(value) > _LONGEST_SHOWN:
        value = value[: _LONGEST_SHOWN - 1] + "…"
    if kind == "NAME":
        return f"the name {value!r}" if "'" not in value else f"the name {value}"
    if kind in ("INTEGER", "FLOAT"):
        return f"the number {value}"
    if kind == "STRING":
        return f"the string {value}"
    if kind == "PARAMETER":
        return f"the parameter {value}"
    if kind == "PATTERN_BEGIN":  # stands for no text, before a node
        return "a pattern"
    return value.upper() if value[:1].isalpha() else f"'{value}'"


def _expected(accepts: Collection[str]) -> str:
    left = set(accepts) - _HIDDEN
    phrases: list[str] = []
    for phrase, signs, members in _NOTIONS:
        if signs <= left:
            phrases.append(phrase)
            left -= members
    if "LPAR" in left and "RPAR" not in left:  # only a pattern still wants an opening parenthesis
        left.discard("LPAR")
        phrases.append("a node '('")
    phrases += [_WORDS.get(kind) or _SYMBOL_OF.get(kind) or kind for kind in left]
    phrases = sorted(set(phrases), key=_importance)[:_MOST_EXPECTED]
    return phrases[0] if len(phrases) == 1 else f"{', '.join(phrases[:-1])} or {phrases[-1]}"


def _importance(phrase: str) -> tuple[int, str]:
    if phrase in _ORDER:
        return _ORDER.index(phrase), phrase
    if phrase.startswith("'"):
        return len(_ORDER), phrase
    return len(_ORDER) + (2 if phrase in ("a clause", "the end of the query") else 1), phrase


def _code(token: Token, tokens: list[Token]) -> str:
    """Return the TCK's name of the mistake: inside the brackets of a relationship it has its own."""
    depth = 0
    for index in range(_index(token, tokens) - 1, 0, -1):
        kind = tokens[index].type
        if kind in ("RPAR", "RSQB", "RBRACE"):
            depth += 1
        elif kind in ("LPAR", "LBRACE", "LSQB", "LIST_COMPREHENSION", "PATTERN_COMPREHENSION"):
            if depth == 0:
                is_relationship = kind == "LSQB" and tokens[index - 1].type == "MINUS"
                return "InvalidRelationshipPattern" if is_relationship else "UnexpectedSyntax"
            depth -= 1
    return "UnexpectedSyntax"


def _index(token: Token, tokens: list[Token]) -> int:
    return next((index for index, other in enumerate(tokens) if other is token), len(tokens))
