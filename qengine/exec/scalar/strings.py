"""Functions of strings. Positions count code points from 0."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Any

from qengine.errors import ExecutionError
from qengine.exec.scalar.strict import strict
from qengine.exec.scalar.values import wrong_argument


def _string(name: str, value: Any) -> str:
    if type(value) is str:
        return value
    raise wrong_argument(f"{name}()", "a string", value)


def _length(name: str, what: str, value: Any) -> int:
    if type(value) is not int:
        raise wrong_argument(f"{name}()", f"an integer as {what}", value)
    if value < 0:
        raise ExecutionError(f"{name}() got the negative {what} {value}.", code="NegativeIntegerArgument")
    return value


def _of_string(name: str, change: Callable[[str], Any]) -> Callable[[Any], Any]:
    def changed(value: Any) -> Any:
        if type(value) is str:
            return change(value)
        if value is None:
            return None
        raise wrong_argument(f"{name}()", "a string", value)

    return changed


def _trimmer(name: str, strip: Callable[..., str]) -> Callable[..., Any]:
    @strict
    def trimmed(text: Any, characters: Any = "") -> str:
        """Strip white space, or any of the given characters."""
        return strip(_string(name, text), _string(name, characters) or None)

    return trimmed


@strict
def _normalize(text: Any, form: Any = "NFC") -> str:
    name = _string("normalize", form).upper()
    if name not in ("NFC", "NFD", "NFKC", "NFKD"):
        raise ExecutionError(f"normalize() knows no form {form!r}: NFC, NFD, NFKC, NFKD.", code="InvalidArgumentValue")
    return unicodedata.normalize(name, _string("normalize", text))  # type: ignore[arg-type]


@strict
def _substring(text: Any, start: Any, length: Any = 2**63) -> str:
    _string("substring", text)
    begin = _length("substring", "start", start)
    return str(text[begin : begin + _length("substring", "length", length)])


@strict
def _left(text: Any, length: Any) -> str:
    return _string("left", text)[: _length("left", "length", length)]


@strict
def _right(text: Any, length: Any) -> str:
    checked, count = _string("right", text), _length("right", "length", length)
    return checked[-count:] if count else ""


@strict
def _replace(text: Any, old: Any, new: Any) -> str:
    for part in (text, old, new):
        _string("replace", part)
    return str(text.replace(old, new))


@strict
def _split(text: Any, separators: Any) -> list[str]:
    """Split at a separator, or at each of a list of them; an empty one divides all characters."""
    _string("split", text)
    pieces = [text]
    for separator in separators if type(separators) is list else [separators]:
        _string("split", separator)
        if separator:
            pieces = [part for piece in pieces for part in piece.split(separator)]
        else:
            pieces = [part for piece in pieces for part in (piece or [""])]
    return pieces


STRINGS: dict[str, Callable[..., Any]] = {
    "tolower": _of_string("toLower", str.lower),
    "toupper": _of_string("toUpper", str.upper),
    "trim": _trimmer("trim", str.strip),
    "ltrim": _trimmer("ltrim", str.lstrip),
    "rtrim": _trimmer("rtrim", str.rstrip),
    "normalize": _normalize,
    "char_length": _of_string("char_length", len),
    "substring": _substring,
    "left": _left,
    "right": _right,
    "replace": _replace,
    "split": _split,
}
