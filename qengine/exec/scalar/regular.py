"""Regular expressions of ``=~``: by RE2, in time linear in the text, where it reads them as Python does.

Python's own engine may take a time exponential in the text, and no timeout stops it. What it alone knows (references
back, looking ahead, named groups, classes of Unicode) stays with it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from qengine._frozen import frozen
from qengine.errors import ExecutionError

__all__ = ["Linear", "linear", "matcher"]

# What RE2 and Python read the same way: literals, ``.``, classes of plain characters and of ASCII, groups,
# alternatives, single quantifiers; anchors where the whole expression begins and ends. Other escapes are left out.
_SHARED = re.compile(
    r"""(?:\(\?i\))? \^?
        (?: [A-Za-z0-9 _@:,;/'"#%&=<>~!`-] | \\[.*+?|()\[\]{}^$/-] | \\[dDsSwW] | \. | \[\^?[A-Za-z0-9 _.,:;@-]+\]
          | \((?!\?) | \(\?: | \) | \| | (?<![*+?(|}])(?:[*+?]|\{[0-9]{1,3}(?:,[0-9]{0,3})?\})\??(?![*+?{]) )*
        \$?""",
    re.VERBOSE,
)
_CLASS = re.compile(r"\\([dDsSwW])")
_CLASSES = {"d": "0-9", "s": r"\t-\r\x1c-\x20", "w": "0-9A-Za-z_"}  # of ASCII
_LONG_TAKING = re.compile(r"\)[*+{]|(?:(?:[*+]|,\}).*){3}", re.DOTALL)  # a group repeated, or three repetitions


@frozen
class Linear:
    """``text``: for RE2, anchored at both ends. ``ascii_only``: of strings with other characters it may be wrong."""

    text: str
    ascii_only: bool


@functools.lru_cache(maxsize=256)
def linear(text: str) -> Linear | None:
    """Return an expression for RE2 that matches where Python's ``re.fullmatch`` does; None where there may be none."""
    if not _SHARED.fullmatch(text):
        return None
    try:
        re.compile(text)
    except re.error:
        return None
    flags, rest = ("(?i)", text[4:]) if text.startswith("(?i)") else ("", text)
    found = _CLASS.sub(_ascii_class, rest)
    return Linear(f"{flags}\\A(?:{found})\\z", bool(flags) or found != rest)


def _ascii_class(match: re.Match[str]) -> str:
    name = match[1]
    return f"[{'^' if name.isupper() else ''}{_CLASSES[name.lower()]}]"


@functools.lru_cache(maxsize=256)
def matcher(text: str) -> Callable[[str], bool]:
    """Return what tells whether the whole of a string matches an expression.

    Raises
    ------
    ExecutionError
        For a malformed expression.
    """
    try:
        compiled = re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise ExecutionError(
            f"The regular expression {text!r} is malformed: {error}.", code="InvalidArgumentValue"
        ) from None
    other = linear(text) if _LONG_TAKING.search(text) else None
    if other is None:
        return lambda string: compiled.fullmatch(string) is not None
    known = other

    def matches(string: str) -> bool:
        if known.ascii_only and not string.isascii():
            return compiled.fullmatch(string) is not None
        try:
            return bool(pc.match_substring_regex(pa.scalar(string), known.text).as_py())
        except (pa.ArrowInvalid, UnicodeEncodeError):  # too many repetitions for RE2, or not a text for Arrow
            return compiled.fullmatch(string) is not None

    return matches
