"""Cuts a script of statements at ``;`` and at its literals, piece by piece as it is read.

One regular expression splits the text, so that little is done for a statement in Python. A statement is its
*skeleton*, the texts between its literals, and its literals as they are written. Statements that differ in literals
alone have equal skeletons. What is no simple literal (a number that belongs to a name or a range, ``null``, a map)
stays in the skeleton.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from qengine._frozen import frozen
from qengine.errors import StorageError
from qengine.formats.literals import parse_literal

_STRING = r"'[^'\\]*(?:\\.[^'\\]*)*'|\"[^\"\\]*(?:\\.[^\"\\]*)*\""
_REST = r"[0-9]*(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?(?![\w.`])"
_NUMBER = "|".join(rf"{digit}(?<![\w.$`][0-9]){_REST}" for digit in range(10))
_NEGATIVE = rf"-(?:(?<=[:,\[(=][ ]-)|(?<=[:,\[(=]-))[0-9]{_REST}"
_ITEM = rf"(?:{_STRING}|-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null)"
_LIST = rf"\[\s*(?:{_ITEM}(?:\s*,\s*{_ITEM})*)?\s*\]"
_OTHER = r"`[^`]*`|//[^\n]*\n|/\*.*?\*/|;|'|\"|`|//|/\*"
_CUT = re.compile(f"({_STRING}|{_NUMBER}|{_NEGATIVE}|{_OTHER}|{_LIST})", re.DOTALL)
"""Each alternative begins with a character, so that the search skips all others quickly."""
_ITEMS = re.compile(f"({_STRING})", re.DOTALL)
_NO_LITERAL = re.compile("[`/]")
_OPEN = frozenset(("'", '"', "`", "//", "/*"))
_COMMAND = re.compile(r"\s*:(?:begin|commit|rollback|auto)\b[^\n]*(?:\n|$)", re.IGNORECASE)
_KEY = re.compile(r"([^\W\d]\w*|`[^`]+`)\s*:")
_CALL = re.compile(r"\b(date|localtime|time|localdatetime|datetime|duration|point)\s*\(", re.IGNORECASE)
_UNWIND = re.compile(r"\s*UNWIND\s*(?=\[)", re.IGNORECASE)
_READ = 1 << 20
_FUNCTION = "\x00function"
_BETWEEN = "\x00"  # which hardly any text between literals has


@frozen
class Piece:
    """A statement: texts between literals, one more than these, and the literals; ``number`` counts from 1."""

    number: int
    skeleton: tuple[str, ...]
    literals: list[str]

    @property
    def text(self) -> str:
        """The statement as it was written, without comments."""
        parts = [self.skeleton[0]]
        for literal, rest in zip(self.literals, self.skeleton[1:], strict=True):
            parts += (literal, rest)
        return "".join(parts)


def pieces(read: Callable[[int], str]) -> Iterator[Piece]:
    """Yield the statements of a script; ``read`` gives the next characters, at most so many, and "" at its end."""
    number, held = 0, ""
    while True:
        more = read(max(_READ, len(held)))
        ended = not more
        parts = _CUT.split(held + more + ("\n" if ended else ""))
        begin, cuts = 0, parts[1::2]
        for place in _ends(cuts):
            number += 1
            yield from _piece(number, parts[begin : 2 * place + 1])
            begin = 2 * place + 2
        if ended:
            yield from _piece(number + 1, parts[begin:])
            return
        held = "".join(parts[begin:])


def _ends(cuts: list[str]) -> Iterator[int]:
    """Yield where a ``;`` is; what is open may go on in what is read next, and a ``;`` after it is none."""
    end = len(cuts) if _OPEN.isdisjoint(cuts) else min(cuts.index(each) for each in _OPEN.intersection(cuts))
    place = -1
    with suppress(ValueError):
        while True:
            place = cuts.index(";", place + 1, end)
            yield place


def _piece(number: int, parts: list[str]) -> Iterator[Piece]:
    """Yield the statement of some parts, unless there is nothing but white space and comments."""
    parts[0] = parts[0].lstrip()
    literals = parts[1::2]
    kinds = "".join([literal[0] for literal in literals])
    other = _NO_LITERAL.search(kinds)
    if other is not None or parts[0][:1] == ":":
        parts = _merged(parts, len(kinds) if other is None else other.start())
        literals = parts[1::2]
    if literals or parts[0]:
        yield Piece(number, tuple(parts[::2]), literals)


def _merged(parts: list[str], first: int) -> list[str]:
    """Return parts of which names in backticks and comments are none: the first belong to the text, the others go.

    ``first``: how many literals stand before the first of them.
    """
    found = parts[: 2 * first + 1]
    for literal, rest in zip(parts[2 * first + 1 :: 2], parts[2 * first + 2 :: 2], strict=True):
        if literal[0] == "`":
            found[-1] += literal + rest
        elif literal[0] == "/":
            found[-1] = f"{found[-1]} {rest}".lstrip() if len(found) == 1 else f"{found[-1]} {rest}"
        else:
            found += (literal, rest)
    while match := _COMMAND.match(found[0]):
        found[0] = found[0][match.end() :].lstrip()
    return found


def literal_column(literals: Sequence[str]) -> list[Any] | None:
    """Return the values of literals, None where one has none that a parameter may have."""
    first = literals[0][0]
    joined = "".join(literals)
    if first in "'\"" and "\\" not in joined and all(each[0] == first for each in literals):
        return [each[1:-1] for each in literals]
    try:
        if joined.isdecimal():
            values: list[Any] = list(map(int, literals))
        else:
            values = [_value(each) for each in literals]
    except (StorageError, ValueError):
        return None
    return values if all(type(each) is not int or -(2**63) <= each < 2**63 for each in values) else None


def _value(literal: str) -> Any:
    if literal[0] in "'\"" and "\\" not in literal:
        return literal[1:-1]
    if (literal[0] == "0" and literal[1:2].isdecimal()) or (literal[:2] == "-0" and literal[2:3].isdecimal()):
        raise ValueError  # octal numbers are the parser's
    return parse_literal(literal)


# ---------------------------------------------------------------- lists of maps


def leading_list(piece: Piece) -> tuple[list[Any], str] | None:
    """Return the list that a statement begins with, as in ``UNWIND [{…}, …] AS row …``, and the text after it.

    None where it begins otherwise, or where the list holds more than literals.
    """
    match = _UNWIND.match(piece.skeleton[0])
    if match is None or len(piece.skeleton) < 2:
        return None
    end = _list_end(piece.skeleton, match.end())
    if end is None:
        return None
    place, character = end
    texts = [piece.skeleton[0][match.end() :], *piece.skeleton[1:place], piece.skeleton[place][:character]]
    if place == 0:
        return None
    rest = [piece.skeleton[place][character:]]
    for literal, text in zip(piece.literals[place:], piece.skeleton[place + 1 :], strict=True):
        rest += (literal, text)
    values = _list_values(texts, piece.literals[:place])
    return None if values is None else (values, "".join(rest))


def _list_end(skeleton: Sequence[str], begin: int) -> tuple[int, int] | None:
    """Return in which text, and where in it, the list ends that begins in the first."""
    open, end, text = 0, begin, _BETWEEN.join(skeleton)
    if text.count(_BETWEEN) >= len(skeleton):
        return None
    while found := text.find("]", end) + 1:
        open += text.count("[", end, found) - 1
        end = found
        if open == 0:
            place = text.count(_BETWEEN, 0, end)
            return place, end - (text.rfind(_BETWEEN, 0, end) + 1)
    return None


def _list_values(texts: Sequence[str], literals: Sequence[str]) -> list[Any] | None:
    """Return the value of a list: written as JSON, which is quick to read; texts that come often are turned once."""
    try:
        return _of_json(texts, literals)
    except (ValueError, StorageError):
        return None


def _of_json(texts: Sequence[str], literals: Sequence[str]) -> list[Any] | None:
    known = {text: _json_text(text) for text in dict.fromkeys(texts)}
    parts = [""] * (2 * len(texts) - 1)
    parts[::2] = map(known.__getitem__, texts)
    joined = "".join(literals)
    plain = not ("\\" in joined or '"' in joined or "[" in joined or any("'" in each for each in known))
    parts[1::2] = literals if plain else map(_json_literal, literals)
    text = "".join(parts)
    hook = _made if any(_FUNCTION in each for each in known.values()) else None
    found = json.loads(text.replace("'", '"') if plain else text, object_hook=hook, strict=False)
    return found if isinstance(found, list) else None


def _json_text(text: str) -> str:
    keyed = _KEY.sub(lambda match: json.dumps(match[1].strip("`")) + ":", text)
    called = _CALL.sub(lambda match: f'{{"{_FUNCTION}":"{match[1].lower()}","of":', keyed)
    return called.replace(")", "}")


def _json_literal(literal: str) -> str:
    if literal[0] == "[":
        return "".join([_json_string(each) if each[:1] in ("'", '"') else each for each in _ITEMS.split(literal)])
    return _json_string(literal) if literal[0] in "'\"" else literal


def _json_string(literal: str) -> str:
    if "\\" not in literal and '"' not in literal[1:-1]:
        return f'"{literal[1:-1]}"'
    return json.dumps(parse_literal(literal))


def _made(found: dict[str, Any]) -> Any:
    """Return what an object stands for: a map, or what a function gives."""
    if _FUNCTION not in found:
        return found
    from qengine.formats.literals import call_function

    return call_function(found[_FUNCTION], found["of"])
