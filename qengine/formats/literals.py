"""Values of properties as literals of the language, and back, exactly.

``literal_text`` gives a text that any statement may hold; ``parse_literal`` reads it without parser and planner, for
files with many values. Floats that have no literal are quotients: ``0.0/0.0`` is not a number, ``1.0/0.0`` infinite.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from qengine.errors import ExecutionError, StorageError
from qengine.spatial import SYSTEMS, Point
from qengine.temporal import Date, DateTime, Duration, LocalDateTime, LocalTime, Temporal, Time

_FUNCTIONS: Final[Mapping[type, str]] = {
    Date: "date",
    LocalTime: "localtime",
    Time: "time",
    LocalDateTime: "localdatetime",
    DateTime: "datetime",
    Duration: "duration",
}
_MAKERS: Mapping[str, Callable[[str], Any]] = {name: kind for kind, name in _FUNCTIONS.items()}
_ESCAPED = re.compile(r"[\\'\x00-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff]")
_SHORT = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<float>[-+]?(?:\d+\.\d+(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+)(?:/0\.0)?)
  | (?P<integer>[-+]?\d+)
  | (?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
  | (?P<name>[^\W\d]\w*|`(?:[^`]|``)*`)
  | (?P<mark>[][{}(),:])
    )\s*""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_MEANT = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\\": "\\", "'": "'", '"': '"', "`": "`", "/": "/"}
_CONSTANTS = {"null": None, "true": True, "false": False}
_DEEPEST = 200


def literal_text(value: Any) -> str:
    """Return the literal of a property's value, of a list or of a map of such.

    Raises
    ------
    StorageError
        For a value that has none.
    """
    match value:
        case str():
            return string_text(value)
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return _float_text(value)
        case list() | tuple():
            return f"[{', '.join(map(literal_text, value))}]"
        case Mapping():
            entries = (f"{name_text(key)}: {literal_text(each)}" for key, each in value.items())
            return f"{{{', '.join(entries)}}}"
        case Point():
            return str(value)
        case Temporal():
            return f"{_FUNCTIONS[type(value)]}('{value}')"
    raise StorageError(f"A value of Python's {type(value).__name__} has no literal.")


def string_text(text: str) -> str:
    """Return the literal of a string, on one line and without characters that XML lacks."""
    return f"'{_ESCAPED.sub(_escape, text)}'" if _ESCAPED.search(text) else f"'{text}'"


def name_text(name: str) -> str:
    """Return a name as it stands in a statement: in backticks unless it is plain."""
    return name if _PLAIN_NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`"


def parse_literal(text: str) -> Any:
    """Return the value of a literal.

    Raises
    ------
    StorageError
        For a text that is none.
    """
    try:
        value, place = _value(text, 0, 0)
    except ExecutionError as error:
        raise _no_literal(text) from error
    if place != len(text):
        raise _no_literal(text)
    return value


def point_of(fields: Mapping[str, Any]) -> Point:
    """Return the point that has some fields, named as in ``point({…})``; those that are null are left out.

    Raises
    ------
    StorageError
        For fields that make none.
    """
    given = {key.lower(): each for key, each in fields.items() if each is not None}
    x, y = (given.get(one, given.get(other)) for one, other in (("x", "longitude"), ("y", "latitude")))
    z = given.get("z", given.get("height"))
    crs = given.get("crs")
    if crs is None and (srid := given.get("srid")) is not None:
        crs = next((name for name, number in SYSTEMS.items() if number == int(srid)), str(srid))
    if crs is None and ("longitude" in given or "latitude" in given):
        crs = "wgs-84"
    if crs is not None:
        crs = str(crs).lower()
        if z is not None and not crs.endswith("-3d"):
            crs += "-3d"
    try:
        return Point(float(x), float(y), None if z is None else float(z), crs=crs)  # type: ignore[arg-type]
    except (ExecutionError, TypeError, ValueError) as error:
        what = error.message if isinstance(error, ExecutionError) else "x and y, or longitude and latitude, are numbers"
        raise StorageError(f"{dict(fields)!r:.100} is no point: {what}") from None


def call_function(name: str, argument: Any) -> Any:
    """Return what a function of literals gives: ``date('…')`` and the like, ``point({…})``.

    Raises
    ------
    StorageError
        For another function, and an argument that it doesn't take.
    """
    if name == "point" and isinstance(argument, dict):
        return point_of(argument)
    if name not in _MAKERS or not isinstance(argument, str):
        raise StorageError(f"{name}({argument!r:.80}) is no literal")
    return _MAKERS[name](argument)


def _float_text(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    return "0.0/0.0" if math.isnan(value) else "1.0/0.0" if value > 0 else "-1.0/0.0"


def _escape(match: re.Match[str]) -> str:
    found = match[0]
    return _SHORT.get(found) or f"\\u{ord(found):04x}"


def _no_literal(text: str) -> StorageError:
    return StorageError(f"{text!r:.100} is no literal", hint="It is a number, a 'string', a [list] or date('…').")


def _next(text: str, place: int) -> re.Match[str]:
    found = _TOKEN.match(text, place)
    if found is None:
        raise _no_literal(text)
    return found


def _value(text: str, place: int, depth: int) -> tuple[Any, int]:
    """Return the value that begins at a place, and where it ends."""
    token = _next(text, place)
    found, kind = token[token.lastgroup or 0], token.lastgroup
    if depth > _DEEPEST:
        raise _no_literal(text)
    if kind == "string":
        return _string(found), token.end()
    if kind == "integer":
        return int(found), token.end()
    if kind == "float":
        return _float(found), token.end()
    if kind == "name":
        if found.lower() in _CONSTANTS:
            return _CONSTANTS[found.lower()], token.end()
        return _call(text, found.lower(), token.end(), depth)
    if found == "[":
        return _list(text, token.end(), depth)
    if found == "{":
        return _map(text, token.end(), depth)
    raise _no_literal(text)


def _list(text: str, place: int, depth: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    token = _next(text, place)
    if token["mark"] == "]":
        return items, token.end()
    while True:
        item, place = _value(text, place, depth + 1)
        items.append(item)
        token = _next(text, place)
        place = token.end()
        if token["mark"] == "]":
            return items, place
        if token["mark"] != ",":
            raise _no_literal(text)


def _map(text: str, place: int, depth: int) -> tuple[dict[str, Any], int]:
    entries: dict[str, Any] = {}
    token = _next(text, place)
    if token["mark"] == "}":
        return entries, token.end()
    while True:
        token = _next(text, place)
        colon = _next(text, token.end())
        if token["name"] is None or colon["mark"] != ":":
            raise _no_literal(text)
        name = token["name"]
        key = name[1:-1].replace("``", "`") if name.startswith("`") else name
        entries[key], place = _value(text, colon.end(), depth + 1)
        token = _next(text, place)
        place = token.end()
        if token["mark"] == "}":
            return entries, place
        if token["mark"] != ",":
            raise _no_literal(text)


def _call(text: str, name: str, place: int, depth: int) -> tuple[Any, int]:
    opening = _next(text, place)
    if opening["mark"] != "(":
        raise _no_literal(text)
    argument, place = _value(text, opening.end(), depth + 1)
    closing = _next(text, place)
    if closing["mark"] != ")":
        raise _no_literal(text)
    return call_function(name, argument), closing.end()


def _float(text: str) -> float:
    if not text.endswith("/0.0"):
        return float(text)
    above = float(text[:-4])
    return math.nan if above == 0 else math.copysign(math.inf, above)


def _string(quoted: str) -> str:
    body = quoted[1:-1]
    if "\\" not in body:
        return body
    try:  # two escapes may make one character
        return _ESCAPE.sub(_meant, body).encode("utf-16", "surrogatepass").decode("utf-16")
    except (UnicodeDecodeError, ValueError):  # half of such a pair, and codes beyond Unicode's
        raise _no_literal(quoted) from None


def _meant(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    return chr(int(code, 16)) if code is not None else _MEANT.get(match[3], match[0])
