"""The language's values in Python.

========================  =============================================================
null, boolean             ``None``, ``bool``
integer, float, string    ``int`` (64 bits, checked), ``float``, ``str``
list, map                 ``list``, ``dict`` with string keys
node, relationship, path  ``NodeHandle``, ``RelationshipHandle``, ``PathHandle``
date, time, duration      the classes of ``qengine.temporal``
point                     ``qengine.spatial.Point``
========================  =============================================================

Values are told apart by their exact class (``type(v) is bool`` before ``int``). Lists and maps are never
changed once they are made, so rows may share them.
"""

from __future__ import annotations

from typing import Any

from qengine.errors import ExecutionError, ResourceError, Span
from qengine.spatial import Point
from qengine.temporal import Date, DateTime, Duration, LocalDateTime, LocalTime, Time
from qengine.types import Node, Relationship

_SMALLEST, _LARGEST = -(2**63), 2**63 - 1
LONGEST_LIST = 1 << 24  # items; of numbers they take 0.6 GB
_LONGEST_STRING = 1 << 27  # characters
NUMBERS = frozenset({int, float})
INSTANTS = frozenset({Date, DateTime, LocalDateTime, LocalTime, Time})
"""The temporal values that have an order between them: all but durations."""


class _Handle:
    __slots__ = ("id",)

    def __init__(self, id: int) -> None:
        self.id = id

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.id == self.id

    def __hash__(self) -> int:
        return hash((type(self), self.id))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id})"


class NodeHandle(_Handle):
    """A node inside a running query: its id and nothing else."""

    __slots__ = ()


class RelationshipHandle(_Handle):
    """A relationship inside a running query: its id and nothing else."""

    __slots__ = ()


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
    most, what, hint = (
        (_LONGEST_STRING, "string of more than {:,} characters", "Return its parts as rows instead.")
        if kind is str
        else (LONGEST_LIST, "list of more than {:,} items", "Use rows instead: UNWIND range(…) AS x makes no list.")
    )
    if length > most:
        raise ExecutionError(f"The result is a {what.format(most)}.", code="NumberOutOfRange", hint=hint)


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


def readable(number: int) -> int:
    """Return an integer that comes out of a query, if it fits 64 bits; only counts can be larger.

    Raises
    ------
    ResourceError
        ``CountOverflow`` where it doesn't fit.
    """
    if _SMALLEST <= number <= _LARGEST:
        return number
    raise ResourceError(
        f"A count exceeds 64 bits ({_LARGEST:,}).",
        code="CountOverflow",
        hint="It may be compared, sorted by or divided; take it as toFloat(count) or toString(count).",
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
    Point: "POINT",
}
_FULL_NAMES = {**_NAMES, Time: "ZONED TIME", DateTime: "ZONED DATETIME"}


Given = tuple[str, Node | Relationship, NodeHandle | RelationshipHandle]
"""A node or relationship that a parameter holds: the parameter's name, what was given, and the handle of it."""


def kind_of(value: Any) -> str:
    """Return the name of the value's type as the user knows it, for example ``"INTEGER"``."""
    return _NAMES.get(type(value), type(value).__name__)


def type_of(value: Any) -> str:
    """Return the name of the value's type in full, as ``IS ::`` and ``valueType()`` have it: a TIME is a ZONED TIME."""
    return _FULL_NAMES.get(type(value), type(value).__name__)


def wrong_argument(name: str, expected: str, value: Any, code: str = "InvalidArgumentType") -> ExecutionError:
    """Return the error that ``name`` wants ``expected`` and got ``value``."""
    return ExecutionError(f"{name} needs {expected}, not a value of type {kind_of(value)}.", code=code)


class failing_at:  # noqa: N801 - it is called like a function
    """Give a place in the query's text to the errors of what is done in a ``with`` block, unless they have one."""

    __slots__ = ("_span",)

    def __init__(self, span: Span | None) -> None:
        self._span = span

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ExecutionError):
            error.span = error.span or self._span


def number_of_rows(clause: str, value: Any, least: int = 0) -> int:
    """Return what SKIP, LIMIT or another clause got, if it is a number of rows.

    Raises
    ------
    ExecutionError
        Where it is no integer, or less than ``least``.
    """
    if type(value) is not int:
        raise wrong_argument(clause, "an integer", value)
    if value < least:
        message = f"{clause} needs a number of rows from {least} on, not {value}."
        raise ExecutionError(message, code="NegativeIntegerArgument")
    return value
