"""Arguments and outputs of users' functions and procedures, as their signatures write them."""

from __future__ import annotations

import json
import re

from qengine._frozen import frozen
from qengine.errors import SemanticError
from qengine.types import ANY, LIST, Kind, Type, list_of

NAME = r"(?:[^\W\d]\w*|`[^`]+`)"
"""A name in a signature, as a regular expression."""
_FIELD = re.compile(rf"\s*({NAME})\s*(?:=\s*([^:]+?)\s*)?::\s*(.+?)\s*", re.DOTALL)
_LIST = re.compile(r"LIST\s*(?:<(.+)>|\?\s*OF\s+(.+)|OF\s+(.+))", re.DOTALL)
_SPELLINGS = {
    "BOOL": "BOOLEAN",
    "INT": "INTEGER",
    "ANY VALUE": "ANY",
    "LOCALTIME": "LOCAL TIME",
    "LOCALDATETIME": "LOCAL DATETIME",
    "ZONED TIME": "TIME",
    "ZONED DATETIME": "DATETIME",
    "VERTEX": "NODE",
    "EDGE": "RELATIONSHIP",
}
_EXAMPLE = 'Write it like "my.procedure(name :: STRING, count :: INTEGER?) :: (row :: MAP, score :: FLOAT?)".'


@frozen
class Field:
    """An argument or an output of a procedure: its name, its type, and whether it may be null.

    ``default``: what an argument is where it is left out, as JSON; None where it can't be.
    """

    name: str
    type: Type
    nullable: bool = True
    default: str | None = None

    def __str__(self) -> str:
        default = "" if self.default is None else f" = {self.default}"
        return f"{self.name}{default} :: {self.type}{'?' if self.nullable else ''}"


def fields_of(text: str, whole: str, *, defaults: bool = False) -> tuple[Field, ...]:
    """Read arguments or outputs, ``name :: TYPE, …``, of the signature ``whole``; errors as ``parse_signature``.

    ``defaults``: they may be ``name = value :: TYPE``.
    """
    if not text.strip():
        return ()
    fields = []
    for part in text.split(","):
        found = _FIELD.fullmatch(part)
        if found is None or (found[2] and not defaults):
            raise invalid_signature(f"{part.strip()!r} in the signature {whole!r} is no `name :: TYPE`.")
        written = found[3].upper()
        nullable = written.endswith("?")
        type = _type(written.removesuffix("?").strip(), whole)
        fields.append(Field(found[1].strip("`"), type, nullable, found[2] and _checked_default(found[2], whole)))
        if found[2] is None and len(fields) > 1 and fields[-2].default is not None:
            raise invalid_signature(f"The signature {whole!r} has an argument without default behind one that has one.")
    names = [each.name for each in fields]
    if len(set(names)) < len(names):
        raise invalid_signature(f"The signature {whole!r} has a name twice.")
    return tuple(fields)


def _checked_default(text: str, whole: str) -> str:
    try:
        json.loads(text)
    except ValueError:
        message = f"{text!r} in the signature {whole!r} is no number, string, true, false or null."
        raise invalid_signature(message) from None
    return text


def _type(text: str, whole: str) -> Type:
    if text == "LIST":
        return LIST
    if (found := _LIST.fullmatch(text)) is not None:
        item = _type(next(filter(None, found.groups())).strip().removesuffix("?").strip(), whole)
        return LIST if item == ANY else list_of(item)
    try:
        return Type(Kind(_SPELLINGS.get(text, text)))
    except ValueError:
        kinds = ", ".join(kind.value for kind in Kind if kind is not Kind.NULL)
        raise invalid_signature(
            f"The signature {whole!r} has the unknown type {text}.", f"Types are {kinds}."
        ) from None


def invalid_signature(message: str, hint: str = _EXAMPLE) -> SemanticError:
    """Return the error of a signature that can't be read."""
    return SemanticError(message, code="InvalidSignature", hint=hint)
