"""Values of number, string and parameter tokens: escapes, bases, and what is too large."""

from __future__ import annotations

import re

from qengine._text import half_pair
from qengine.errors import QuerySyntaxError, Span
from qengine.syntax import ast
from qengine.syntax.scanner import Token

MAX_INTEGER = 2**63 - 1

_DECIMAL = re.compile(r"[0-9]+(?:_[0-9]+)*")
_HEXADECIMAL = re.compile(r"0[xX][0-9a-fA-F]+(?:_[0-9a-fA-F]+)*")
_OCTAL = re.compile(r"0[oO][0-7]+(?:_[0-7]+)*")
_FLOAT = re.compile(r"(?:[0-9]+(?:_[0-9]+)*)?(?:\.[0-9]+(?:_[0-9]+)*)?(?:[eE][+-]?[0-9]+)?")
_MAX_DIGITS = 1000  # a number with more is refused before it costs quadratic time

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_SIMPLE = {"n": "\n", "t": "\t", "b": "\b", "r": "\r", "f": "\f", "\\": "\\", "'": "'", '"': '"', "`": "`"}


def parse_integer(token: Token, text: str) -> int:
    """Return the value of an integer token, at most 2**63 (which only a minus sign makes legal).

    Raises
    ------
    QuerySyntaxError
        ``InvalidNumberLiteral`` or ``IntegerOverflow``.
    """
    value = token.value
    if len(value) > _MAX_DIGITS:
        raise _overflow(token, text)
    if _DECIMAL.fullmatch(value):
        number = int(value)
    elif _HEXADECIMAL.fullmatch(value):
        number = int(value, 16)
    elif _OCTAL.fullmatch(value):
        number = int(value, 8)
    else:
        raise _invalid_number(token, text)
    if number > MAX_INTEGER + 1:
        raise _overflow(token, text)
    return number


def parse_float(token: Token, text: str) -> float:
    """Return the value of a float token.

    Raises
    ------
    QuerySyntaxError
        ``InvalidNumberLiteral`` or ``FloatingPointOverflow``.
    """
    if not _FLOAT.fullmatch(token.value):
        raise _invalid_number(token, text)
    number = float(token.value)
    if number == float("inf"):
        raise _error(
            token,
            text,
            "FloatingPointOverflow",
            "This number is too large for a float.",
            "The largest is about 1.797e308.",
        )
    return number


def parse_string(token: Token, text: str) -> str:
    """Return the value of a string token, without quotes and with its escapes replaced.

    Raises
    ------
    QuerySyntaxError
        ``InvalidUnicodeLiteral`` for a bad escape of a character code, or half of a surrogate pair, else
        ``UnexpectedSyntax``.
    """
    body = token.value[1:-1]
    if "\\" not in body and half_pair(body) < 0:
        return body

    def replace(match: re.Match[str]) -> str:
        code = match[1] or match[2]
        if code is not None:
            number = int(code, 16)
            if number > 0x10FFFF:
                raise _bad_escape(match, token, text)
            return chr(number)
        if match[3] not in _SIMPLE:
            raise _bad_escape(match, token, text)
        return _SIMPLE[match[3]]

    value = _ESCAPE.sub(replace, body)
    try:  # two escapes may make one character, as in Java's strings
        return value.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        hint = r"Write characters beyond \uFFFF as \UXXXXXXXX, or as a pair of surrogates."
        message = "This string has half of a surrogate pair."
        raise _error(token, text, "InvalidUnicodeLiteral", message, hint) from None


def _bad_escape(match: re.Match[str], token: Token, text: str) -> QuerySyntaxError:
    start = token.start_pos + 1 + match.start()
    span = Span(start, start + 2)
    if match[0][1] in "uU":
        message = r"A character's code is \u with 4 or \U with 8 hexadecimal digits."
        hint = r"If a backslash is meant, double it: \\."
        return QuerySyntaxError(message, span=span, text=text, hint=hint, code="InvalidUnicodeLiteral")
    message = f"There is no escape {match[0]!s} in strings."
    hint = r"If a backslash is meant, double it: \\. The escapes are \n \t \b \r \f \\ \' \" \uXXXX \UXXXXXXXX."
    return QuerySyntaxError(message, span=span, text=text, hint=hint, code="UnexpectedSyntax")


def _invalid_number(token: Token, text: str) -> QuerySyntaxError:
    hint = "Numbers look like 42, 1_000, 0x2A, 0o52, 4.2 or 4.2e-1. A name that starts with a digit needs backticks."
    return _error(token, text, "InvalidNumberLiteral", f"{_shown(token)} is not a number.", hint)


def _overflow(token: Token, text: str) -> QuerySyntaxError:
    hint = "The largest is 9223372036854775807, the smallest -9223372036854775808. With a dot it is a float."
    return _error(token, text, "IntegerOverflow", f"{_shown(token)} does not fit a 64-bit integer.", hint)


def _shown(token: Token) -> str:
    return token.value if len(token.value) <= 40 else token.value[:39] + "…"


def _error(token: Token, text: str, code: str, message: str, hint: str) -> QuerySyntaxError:
    return QuerySyntaxError(message, span=Span(token.start_pos, token.end_pos), text=text, hint=hint, code=code)


def parameter_of(token: Token, span: Span) -> ast.Parameter:
    """Return the parameter that a token writes; ``span``: where that stands in the statement."""
    name = token.value[1:]
    if name[0] == "`":
        name = name[1:-1].replace("``", "`")
    return ast.Parameter(name, span=span)
