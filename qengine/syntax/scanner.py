"""Tokens: the native library cuts a query's text into them (``kernels/host/syntax/scan.cpp``), without context.

Scanning never fails. What it can't read becomes an ``ERROR`` token, so that the parser reports whichever mistake comes
first in the text. Words are all of type ``NAME``; ``kernels/host/syntax/classify.cpp`` makes some of them keywords.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from functools import cache
from typing import NamedTuple

import numpy as np

from qengine._deadline import check_planning
from qengine._native import array_of, declared

BACKTICKED = "BACKTICKED"
"""Type of a name in backticks: never a keyword. The classifier turns it into ``NAME``."""

SYMBOLS = {
    "(": "LPAR", ")": "RPAR", "[": "LSQB", "]": "RSQB", "{": "LBRACE", "}": "RBRACE", ",": "COMMA", ".": "DOT",
    "..": "DOTDOT", ":": "COLON", ";": "SEMICOLON", "|": "BAR", "&": "AMP", "!": "BANG", "%": "PERCENT",
    "+": "PLUS", "-": "MINUS", "*": "STAR", "/": "SLASH", "^": "CARET", "=": "EQ", "<>": "NE", "<": "LT", ">": "GT",
    "<=": "LE", ">=": "GE", "=~": "MATCHES", "||": "CONCAT",
    # No rule takes these. They are read whole so that a message can name them.
    "$": "DOLLAR", "!=": "BANG_EQ", "==": "EQ_EQ", "=>": "EQ_GT", "&&": "AMP_AMP", "+=": "PLUS_EQ", "::": "COLON_COLON",
}  # fmt: skip

# Characters that openCypher reads as those of an arrow, which editors and web pages put in their place.
_LOOKALIKES = (
    "\u00ad\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d",
    "\u27e8\u3008\ufe64\uff1c",
    "\u27e9\u3009\ufe65\uff1e",
)
_LIKE = {character: number << 5 for number, characters in enumerate(_LOOKALIKES, 1) for character in characters}

_NO_OTHERS = bytes(4)

library = declared(
    "qe_scan p i8 i4 p i4 i8 p p; qe_syntax_names p p -> none; "
    "qe_syntax_open i4* i2* i2* i2* i4* i4* p; qe_syntax_parse p p i8 i4 i4 p p"
)


class Token(NamedTuple):
    """A piece of the text: its type, its characters, and where they stand (character offsets)."""

    type: str
    value: str
    start_pos: int
    end_pos: int


class Tokens:
    """The tokens of a text as plain numbers.

    ``columns``: int64, the tokens' kinds (places in ``kinds()``), starts, ends and words, ``len(self)`` of each.
    """

    __slots__ = ("columns", "text")

    def __init__(self, text: str, columns: bytes) -> None:
        self.text = text
        self.columns = columns

    def __len__(self) -> int:
        return len(self.columns) // 32

    def column(self, number: int) -> list[int]:
        """Return the kinds (0), starts (1) or ends (2)."""
        size = len(self.columns) // 4
        return memoryview(self.columns)[number * size : (number + 1) * size].cast("q").tolist()

    def some(self, places: list[int]) -> Tokens:
        """Return those at some places."""
        columns = np.frombuffer(self.columns, np.int64).reshape(4, -1)
        return Tokens(self.text, columns[:, places].tobytes())

    def objects(self) -> list[Token]:
        """Return each as an object."""
        text, names = self.text, kinds()
        places = zip(*map(self.column, range(3)), strict=True)
        return [Token(names[kind], text[start:end], start, end) for kind, start, end in places]


def scan(text: str, *, everything: bool = False, limit: int | None = None) -> list[Token]:
    """Return the tokens of a text, as ``scanned`` does, as objects."""
    return scanned(text, everything=everything, limit=limit).objects()


def scanned(text: str, *, everything: bool = False, limit: int | None = None) -> Tokens:
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
    Tokens
        In the order of the text, without overlap. An unclosed string, name or comment is one ``ERROR`` token that
        covers the opening characters, and ends the list.
    """
    others = _NO_OTHERS
    if text.isascii():
        content, width = text.encode(), 1
    else:
        content, width = text.encode("utf-32-le", "surrogatepass"), 4
        found = sorted({character for character in text if not character.isascii()})
        others = len(found).to_bytes(4, sys.byteorder) + "".join(found).encode("utf-32-le", "surrogatepass")
        others += bytes(map(_class, found))
    result = array_of(ctypes.c_int64, 2)()
    most = -1 if limit is None else limit
    status = library().qe_scan(
        content, len(text), width, others, everything, most, poll_address(), result
    )  # fmt: skip
    check_status(status)
    count, address = result
    return Tokens(text, ctypes.string_at(address, 32 * count))


def _class(character: str) -> int:
    """Return what a character beyond ASCII is; the bits are those of ``kernels/host/syntax/scan.cpp``."""
    is_space = character.isspace() or character == "\ufeff"
    starts, continues = character.isidentifier(), f"a{character}".isidentifier()
    bits = is_space | character.isalnum() << 1 | character.isdecimal() << 2 | starts << 3 | continues << 4
    return bits | _LIKE.get(character, 0)


@cache
def kinds() -> tuple[str, ...]:
    """Return the names of the library's kinds of tokens; the first, empty, is of what stands behind the end."""
    return tuple("" if name == "NONE" else "$END" if name == "END_OF_STATEMENT" else name for name in _names()[0])


@cache
def words() -> dict[str, int]:
    """Return the words that can be keywords, with what they are: bits, listed in ``kernels/host/syntax/kinds.h``."""
    names = _names()[1]
    return dict(zip(names[::2], map(int, names[1::2]), strict=True))


def _names() -> list[list[str]]:
    found = ctypes.c_char_p(), ctypes.c_char_p()
    library().qe_syntax_names(*map(ctypes.byref, found))
    return [(each.value or b"").decode().split() for each in found]


# ------------------------------------------------------------------------------------------------------------- stopping

_stopped = threading.local()


def _poll() -> int:
    """Tell the library whether to stop, and keep the reason."""
    try:
        check_planning()
    except BaseException as error:
        _stopped.reason = error
        return 1
    return 0


_called = ctypes.CFUNCTYPE(ctypes.c_int32)(_poll)  # which lives as long as the library may call it


@cache
def poll_address() -> int | None:
    """Return what the library's long loops call."""
    return ctypes.cast(_called, ctypes.c_void_p).value


def check_status(status: int) -> None:
    """Raise what stopped the library, or that there was no memory."""
    if not status:
        return
    if (reason := _stopped.__dict__.pop("reason", None)) is not None:
        raise reason
    raise MemoryError
