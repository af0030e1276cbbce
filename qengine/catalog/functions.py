"""The built-in operators and functions, loaded from ``catalog/functions.toml`` into frozen records.

The binder checks calls against the signatures; executors look up null rules. They are loaded at the first look-up.
"""

from __future__ import annotations

import functools
from typing import Any, Literal

from qengine import _nearest
from qengine._asset_cache import toml
from qengine._assets import asset
from qengine._frozen import frozen
from qengine.types import ANY, LIST, Kind, Type, list_of

_KINDS = {kind.value: Type(kind) for kind in Kind}


@frozen
class Slot:
    """One place of a signature: the types that it admits.

    ``generic``: "T" if the place has the signature's type variable itself, "LIST<T>" for a list of it.
    """

    types: tuple[Type, ...]
    generic: Literal["", "T", "LIST<T>"] = ""

    def __str__(self) -> str:
        return self.generic or "|".join(map(str, self.types))


@frozen
class Signature:
    """``(parameters) -> result``: the last ``optional`` parameters may be absent; the last repeats if ``variadic``."""

    parameters: tuple[Slot, ...]
    result: Slot
    optional: int = 0
    variadic: bool = False

    def admits(self, count: int) -> bool:
        """Return whether a call may have ``count`` arguments."""
        most = count if self.variadic else len(self.parameters)
        return len(self.parameters) - self.optional <= count <= most

    def __str__(self) -> str:
        required = len(self.parameters) - self.optional
        shown = [f"{slot}{'?' if place >= required else ''}" for place, slot in enumerate(self.parameters)]
        return f"({', '.join(shown)}{'...' if self.variadic else ''}) -> {self.result}"


@frozen
class Function:
    """One operator or function of the catalogue.

    ``key`` is the name that bound expressions and executors use: an operator's symbol, or a function's name in
    lower case. ``former``: names that it had in Neo4j 3 and 4. ``strict``: null as soon as one argument is null.
    ``available``: an executor can evaluate it. ``total``: it gives a value for all arguments that a signature admits.
    """

    name: str
    key: str
    aliases: tuple[str, ...]
    former: tuple[str, ...]
    kind: Literal["operator", "scalar", "aggregate", "form"]
    signatures: tuple[Signature, ...]
    strict: bool
    deterministic: bool
    available: bool
    total: bool
    doc: str


@functools.cache
def functions() -> tuple[Function, ...]:
    """Return all operators and functions in the file's order."""
    return tuple(
        Function(
            name=entry["name"],
            key=entry["name"] if entry.get("kind") == "operator" else entry["name"].lower(),
            aliases=tuple(entry.get("aliases", ())),
            former=tuple(entry.get("former", ())),
            kind=entry.get("kind", "scalar"),
            signatures=tuple(map(_signature, entry["signatures"])),
            strict=entry.get("null", "strict") == "strict",
            deterministic=entry.get("deterministic", True),
            available=entry.get("runs", "row") != "none",
            total=entry.get("fails", "perhaps") == "never",
            doc=entry["doc"],
        )
        for entry in _catalogue()["function"]
    )


def special_functions() -> tuple[tuple[str, str, str], ...]:
    """Return name, signature and description of what looks like a function and is a form of the grammar's, as any()."""
    return tuple((each["name"], each["signature"], each["doc"]) for each in _catalogue()["special"])


def elsewhere(name: str) -> str | None:
    """Return what to write for a function that only other languages have, None if nothing is known."""
    found: str | None = _catalogue()["elsewhere"].get(name.lower())
    return found


def _catalogue() -> dict[str, Any]:
    return toml(asset("catalog", "functions.toml"))


def lookup(name: str) -> Function | None:
    """Return the function with this name or alias (in any case), or the operator with this symbol."""
    table = _table()
    return table.get(name) or table.get(name.lower())


def nearest(name: str) -> str | None:
    """Return the function name that ``name`` is probably a misspelling of, None if it is of none."""
    known = (function for function in functions() if function.kind != "operator")
    return _nearest.nearest(name, (alias for function in known for alias in (function.name, *function.aliases)))


@functools.cache
def _table() -> dict[str, Function]:
    table = {function.key: function for function in functions()}
    for function in functions():
        table.update({name.lower(): function for name in (*function.aliases, *function.former)})
    return table


def _signature(text: str) -> Signature:
    inside, result = text.rsplit(" -> ", 1)
    parts = [part for part in inside[1:-1].split(", ") if part]
    return Signature(
        parameters=tuple(_slot(part.rstrip("?.")) for part in parts),
        result=_slot(result),
        optional=sum(part.endswith("?") for part in parts),
        variadic=bool(parts) and parts[-1].endswith("..."),
    )


def _slot(text: str) -> Slot:
    if text == "T":
        return Slot((ANY,), "T")
    if text == "LIST<T>":
        return Slot((LIST,), "LIST<T>")
    return Slot(tuple(map(_type, text.split("|"))))


def _type(text: str) -> Type:
    if text.startswith("LIST<"):
        return list_of(_type(text[5:-1]))
    return _KINDS[text]
