"""The language's types, and the values that a result holds for nodes, relationships and paths."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, ValuesView
from enum import Enum
from typing import Any

from qengine import _html
from qengine._frozen import frozen
from qengine._printable import printable_line

__all__ = ["ANY", "BOOLEAN", "FLOAT", "INTEGER", "LIST", "MAP", "NODE", "NULL", "NUMBER", "PATH", "RELATIONSHIP",
           "STRING", "Kind", "Node", "Path", "Relationship", "Type", "indefinite", "list_of"]  # fmt: skip


class Kind(Enum):
    """The kinds of values that the language knows; ``ANY`` is not known before the query runs."""

    ANY = "ANY"
    NULL = "NULL"
    BOOLEAN = "BOOLEAN"
    INTEGER = "INTEGER"
    FLOAT = "FLOAT"
    NUMBER = "NUMBER"
    STRING = "STRING"
    LIST = "LIST"
    MAP = "MAP"
    NODE = "NODE"
    RELATIONSHIP = "RELATIONSHIP"
    PATH = "PATH"
    DATE = "DATE"
    TIME = "TIME"
    LOCAL_TIME = "LOCAL TIME"
    DATETIME = "DATETIME"
    LOCAL_DATETIME = "LOCAL DATETIME"
    DURATION = "DURATION"
    POINT = "POINT"

    __hash__ = object.__hash__  # Enum's own is written in Python


@frozen(held=True)
class Type:
    """A static type: a kind, and for lists the type of the items (None: any). Every type admits null."""

    kind: Kind
    item: Type | None = None

    def __str__(self) -> str:
        return f"LIST<{self.item}>" if self.kind is Kind.LIST and self.item else self.kind.value


ANY = Type(Kind.ANY)
NULL = Type(Kind.NULL)
BOOLEAN = Type(Kind.BOOLEAN)
INTEGER = Type(Kind.INTEGER)
FLOAT = Type(Kind.FLOAT)
NUMBER = Type(Kind.NUMBER)
STRING = Type(Kind.STRING)
LIST = Type(Kind.LIST)
MAP = Type(Kind.MAP)
NODE = Type(Kind.NODE)
RELATIONSHIP = Type(Kind.RELATIONSHIP)
PATH = Type(Kind.PATH)


def indefinite(type: Type) -> str:
    """Return a type with its article, for messages."""
    return f"{'an' if str(type)[0] in 'AEIOU' else 'a'} {type}"


def list_of(item: Type) -> Type:
    """Return the type of lists of ``item``."""
    return Type(Kind.LIST, item)


class _Entity:
    """What nodes and relationships share: identity by ``id``; properties by ``[]``, ``in`` and ``dict()``."""

    __slots__ = ("id", "properties")

    id: int
    properties: Mapping[str, Any]

    def __getitem__(self, key: str) -> Any:
        try:
            return self.properties[key]
        except KeyError:
            raise KeyError(f"no property {key!r}; there are: {', '.join(self.properties)}") from None

    def __contains__(self, key: object) -> bool:
        return key in self.properties

    def __iter__(self) -> Iterator[str]:
        return iter(self.properties)

    def __getattr__(self, name: str) -> Any:
        kind = type(self).__name__.lower()
        if not name.startswith("_") and name in self.__getattribute__("properties"):
            raise AttributeError(f"a {kind} has no attribute {name!r}; write {kind}[{name!r}] for the property")
        raise AttributeError(f"a {kind} has no attribute {name!r}")

    def keys(self) -> KeysView[str]:
        """Return the names of the properties."""
        return self.properties.keys()

    def values(self) -> ValuesView[Any]:
        """Return the properties' values."""
        return self.properties.values()

    def items(self) -> ItemsView[str, Any]:
        """Return the properties, pairs of name and value."""
        return self.properties.items()

    def get(self, key: str, default: Any = None) -> Any:
        """Return a property's value, or ``default`` where there is none."""
        return self.properties.get(key, default)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.id == self.id

    def __hash__(self) -> int:
        return hash((type(self), self.id))


class Node(_Entity):
    """A node of a result: ``id`` (engine's own; it stays when the graph changes), ``labels``, ``properties``."""

    __slots__ = ("labels",)

    def __init__(self, id: int, labels: tuple[str, ...], properties: Mapping[str, Any]) -> None:
        self.id = id
        self.labels = labels
        self.properties = properties

    def __repr__(self) -> str:
        labels = printable_line("".join(f":{label}" for label in self.labels))
        return f"({labels}{_shown(self.properties, labels)})"

    def _repr_html_(self, *most: int) -> str:
        labels = "".join(f":{label}" for label in self.labels)
        return _html.entity(labels, self.properties, "()", repr(self), *most)


class Relationship(_Entity):
    """A relationship of a result: ``id``, ``type``, ids of its ``start`` and ``end`` node, ``properties``."""

    __slots__ = ("end", "start", "type")

    def __init__(self, id: int, type: str, start: int, end: int, properties: Mapping[str, Any]) -> None:
        self.id = id
        self.type = type
        self.start = start
        self.end = end
        self.properties = properties

    def __repr__(self) -> str:
        return f"[:{printable_line(self.type)}{_shown(self.properties, self.type)}]"

    def _repr_html_(self, *most: int) -> str:
        return _html.entity(f":{self.type}", self.properties, "[]", repr(self), *most)


class Path:
    """A path of a result: ``nodes`` (n + 1) and the ``relationships`` (n) between them."""

    __slots__ = ("nodes", "relationships")

    def __init__(self, nodes: tuple[Node, ...], relationships: tuple[Relationship, ...]) -> None:
        self.nodes = nodes
        self.relationships = relationships

    def __len__(self) -> int:
        return len(self.relationships)

    def __iter__(self) -> Iterator[Node | Relationship]:
        yield self.nodes[0]
        for relationship, node in zip(self.relationships, self.nodes[1:], strict=True):
            yield relationship
            yield node

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Path) and (other.nodes, other.relationships) == (
            self.nodes,
            self.relationships,
        )

    def __hash__(self) -> int:
        return hash((self.nodes, self.relationships))

    def __repr__(self) -> str:
        return self._joined(repr, "-", "->", "<-")

    def _repr_html_(self) -> str:
        """Return the path with one property of each node."""
        return self._joined(lambda each: each._repr_html_(1 if isinstance(each, Node) else 0), "−", "→", "←")

    def _joined(self, shown: Callable[[Any], str], line: str, right: str, left: str) -> str:
        parts = [shown(self.nodes[0])]
        for node, relationship, following in zip(self.nodes, self.relationships, self.nodes[1:], strict=False):
            forward = relationship.start == node.id
            before, after = (line, right) if forward else (left, line)
            parts += [before, shown(relationship), after, shown(following)]
        return "".join(parts)


def _shown(properties: Mapping[str, Any], before: str) -> str:
    inside = ", ".join(f"{printable_line(key)}: {value!r}" for key, value in properties.items())
    return (" " if before else "") + "{" + inside + "}" if inside else ""
