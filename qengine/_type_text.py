"""Types as text, as ``valueType()`` gives and ``IS ::`` names them: ``LIST<STRING NOT NULL | INTEGER NOT NULL>``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_ORDER = (
    "NOTHING", "NULL", "BOOLEAN", "STRING", "INTEGER", "FLOAT", "DATE", "LOCAL TIME", "ZONED TIME", "LOCAL DATETIME",
    "ZONED DATETIME", "DURATION", "POINT", "NODE", "RELATIONSHIP", "MAP", "LIST", "PATH", "PROPERTY VALUE", "ANY",
)  # fmt: skip
_PLACES = {name: place for place, name in enumerate(_ORDER)}
_LIST, _NOT_NULL = "LIST<", " NOT NULL"


def alternatives(types: str) -> list[str]:
    """Return what ``|`` divides outside of ``<>``."""
    found, depth = [""], 0
    for part in types.split(" | "):
        found[-1] += part
        depth += part.count("<") - part.count(">")
        found[-1] += " | " if depth else ""
        if not depth:
            found.append("")
    return found[:-1]


def union_text(types: Iterable[str]) -> str:
    """Return the union of some types, in the order that Neo4j gives types, without lists that others encompass."""
    distinct = set(types)
    lists = [each for each in distinct if each.startswith(_LIST)]
    kept = (each for each in distinct if not any(other != each and _admits(other, each) for other in lists))
    return " | ".join(sorted(kept, key=_place))


def _admits(wide: str, narrow: str) -> bool:
    """Tell whether a type has all values that another has."""
    if narrow in ("NOTHING", wide):
        return True
    if wide.endswith(_NOT_NULL) and not narrow.endswith(_NOT_NULL):
        return False
    wide, narrow = wide.removesuffix(_NOT_NULL), narrow.removesuffix(_NOT_NULL)
    if not (wide.startswith(_LIST) and narrow.startswith(_LIST)):
        return narrow == wide or (narrow == "NULL" and wide != "NOTHING")
    wider, narrower = (alternatives(each[len(_LIST) : -1]) for each in (wide, narrow))
    return all(any(_admits(other, each) for other in wider) for each in narrower)


def _place(type: str) -> tuple[Any, ...]:
    """Return the place of a type in the order: lists by what they have inside, NOT NULL before what admits null."""
    bare = type.removesuffix(_NOT_NULL)
    if not bare.startswith(_LIST):
        return _PLACES[bare], 0, (), bare == type
    inside = alternatives(bare[len(_LIST) : -1])
    return _PLACES["LIST"], len(inside), tuple(map(_place, inside)), bare == type
