"""The language's values in Python.

========================  =============================================================
null, boolean             ``None``, ``bool``
integer, float, string    ``int`` (64 bits, checked), ``float``, ``str``
list, map                 ``list``, ``dict`` with string keys
node, relationship, path  ``NodeHandle``, ``RelationshipHandle``, ``PathHandle``
date, time, duration      the classes of ``qengine.temporal``
========================  =============================================================

Values are told apart by their exact class (``type(v) is bool`` before ``int``). Lists and maps are never
changed once they are made, so rows may share them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from qengine.errors import ExecutionError
from qengine.exec.parts import CHECKED_ITEMS, in_parts, unchecked
from qengine.temporal import Date, DateTime, Duration, LocalDateTime, LocalTime, Temporal, Time
from qengine.temporal.native import from_native, from_numpy, is_missing
from qengine.types import Node, Path, Relationship

__all__ = ["INSTANTS", "NUMBERS", "NodeHandle", "PathHandle", "RelationshipHandle", "checked",
           "from_python", "kind_of", "no_longer", "wrong_argument"]  # fmt: skip

_SMALLEST, _LARGEST = -(2**63), 2**63 - 1
_LONGEST_LIST = 1 << 24  # items; of numbers they take 0.6 GB
_LONGEST_STRING = 1 << 27  # characters
NUMBERS = frozenset({int, float})
INSTANTS = frozenset({Date, DateTime, LocalDateTime, LocalTime, Time})
"""The temporal values that have an order between them: all but durations."""


class NodeHandle:
    """A node inside a running query: its id and nothing else."""

    __slots__ = ("id",)

    def __init__(self, id: int) -> None:
        self.id = id

    def __eq__(self, other: object) -> bool:
        return type(other) is NodeHandle and other.id == self.id

    def __hash__(self) -> int:
        return hash((NodeHandle, self.id))

    def __repr__(self) -> str:
        return f"NodeHandle({self.id})"


class RelationshipHandle:
    """A relationship inside a running query: its id and nothing else."""

    __slots__ = ("id",)

    def __init__(self, id: int) -> None:
        self.id = id

    def __eq__(self, other: object) -> bool:
        return type(other) is RelationshipHandle and other.id == self.id

    def __hash__(self) -> int:
        return hash((RelationshipHandle, self.id))

    def __repr__(self) -> str:
        return f"RelationshipHandle({self.id})"


class PathHandle:
    """A path inside a running query: n + 1 ``nodes`` and the n ``relationships`` between them."""

    __slots__ = ("nodes", "relationships")

    def __init__(self, nodes: tuple[NodeHandle, ...], relationships: tuple[RelationshipHandle, ...]) -> None:
        self.nodes = nodes
        self.relationships = relationships

    def elements(self) -> list[NodeHandle | RelationshipHandle]:
        """Return node, relationship, node, … in order."""
        found: list[NodeHandle | RelationshipHandle] = [self.nodes[0]]
        for relationship, node in zip(self.relationships, self.nodes[1:], strict=True):
            found += (relationship, node)
        return found

    def __eq__(self, other: object) -> bool:
        return type(other) is PathHandle and other.nodes == self.nodes and other.relationships == self.relationships

    def __hash__(self) -> int:
        return hash((self.nodes, self.relationships))

    def __repr__(self) -> str:
        return f"PathHandle({self.nodes}, {self.relationships})"


def no_longer(kind: type, length: int) -> None:
    """Refuse a string or list that is too long to be meant: it would take all memory before any limit is looked at.

    Raises
    ------
    ExecutionError
        ``NumberOutOfRange`` for more than 2²⁷ characters or 2²⁴ items.
    """
    most, what = (
        (_LONGEST_STRING, "string of more than {:,} characters")
        if kind is str
        else (_LONGEST_LIST, "list of more than {:,} items")
    )
    if length > most:
        raise ExecutionError(f"The result is a {what.format(most)}.", code="NumberOutOfRange")


def checked(number: int) -> int:
    """Return ``number`` if it fits 64 bits.

    Raises
    ------
    ExecutionError
        ``IntegerOverflow`` where it doesn't.
    """
    if _SMALLEST <= number <= _LARGEST:
        return number
    raise ExecutionError(
        f"The result {_shortened(number)} doesn't fit a 64-bit integer.",
        code="IntegerOverflow",
        hint="Use floats, which round: 1.0 instead of 1, toFloat(x), sum(toFloat(x)). A count can be taken in parts.",
    )


def _shortened(number: int) -> str:
    if number.bit_length() > 256:
        return f"of {number.bit_length()} bits"
    return str(number)


_NAMES = {
    type(None): "NULL",
    bool: "BOOLEAN",
    int: "INTEGER",
    float: "FLOAT",
    str: "STRING",
    list: "LIST",
    dict: "MAP",
    NodeHandle: "NODE",
    RelationshipHandle: "RELATIONSHIP",
    PathHandle: "PATH",
    Date: "DATE",
    Time: "TIME",
    LocalTime: "LOCAL TIME",
    DateTime: "DATETIME",
    LocalDateTime: "LOCAL DATETIME",
    Duration: "DURATION",
}


Given = tuple[str, Node | Relationship]


def kind_of(value: Any) -> str:
    """Return the name of the value's type as the user knows it, for example ``"INTEGER"``."""
    return _NAMES.get(type(value), type(value).__name__)


def wrong_argument(name: str, expected: str, value: Any, code: str = "InvalidArgumentType") -> ExecutionError:
    """Return the error that ``name`` wants ``expected`` and got ``value``."""
    return ExecutionError(f"{name} needs {expected}, not a value of type {kind_of(value)}.", code=code)


def from_python(value: Any, name: str, given: list[Given] | None = None, check: Callable[[], None] = unchecked) -> Any:
    """Return a parameter's value as one of the language.

    NumPy scalars and arrays, tuples, the values of Python's ``datetime`` and the nodes, relationships and paths of
    results are converted; ``given`` gets those nodes and relationships, with the parameter's name. ``check``, called
    now and then, raises where the execution must stop.

    Raises
    ------
    ExecutionError
        ``InvalidArgumentType`` for a value that the language doesn't have, ``IntegerOverflow`` for an
        integer beyond 64 bits.
    """
    kind = type(value)
    if value is None or kind in (bool, float, str) or isinstance(value, Temporal):
        return value
    if kind is int:
        return checked(value)
    if isinstance(value, list | tuple):
        if len(value) <= CHECKED_ITEMS:
            return [from_python(item, name, given, check) for item in value]
        return [from_python(item, name, given, check) for part in in_parts(value, check) for item in part]
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise ExecutionError(f"${name} has the map key {key!r}: keys are strings.", code="InvalidArgumentType")
        return {str(key): from_python(item, name, given, check) for key, item in value.items()}
    if isinstance(value, np.generic):
        return from_python(from_numpy(value), name, given)
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "mM":  # nanoseconds would become integers
            return from_python(list(value) if value.ndim else value[()], name, given, check)
        return from_python(value.tolist(), name, given, check)
    if isinstance(value, Node | Relationship):
        if given is not None:
            given.append((name, value))
        return NodeHandle(value.id) if isinstance(value, Node) else RelationshipHandle(value.id)
    if isinstance(value, Path):
        nodes = tuple([from_python(node, name, given) for node in value.nodes])
        return PathHandle(nodes, tuple([from_python(edge, name, given) for edge in value.relationships]))
    temporal = from_native(value)
    if temporal is not None or is_missing(value):
        return temporal
    for base in (bool, int, float, str):  # subclasses: enumerations and the like
        if isinstance(value, base):
            return from_python(base(value), name, given)
    raise ExecutionError(
        f"${name} holds a Python {kind.__name__}, which is no value of the language.",
        code="InvalidArgumentType",
        hint="Give None, bool, int, float, str, lists or dicts of them, or nodes of a result.",
    )
