"""Statements as structures, which print themselves as text of the language."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

__all__ = [
    "Call",
    "Clause",
    "Collect",
    "Compare",
    "Count",
    "Create",
    "Delete",
    "Exists",
    "Expression",
    "Foreach",
    "HasLabel",
    "IsNull",
    "Items",
    "ListOf",
    "Literal",
    "Match",
    "Merge",
    "NodePattern",
    "Not",
    "Operation",
    "Parameter",
    "Path",
    "Property",
    "RelationshipPattern",
    "RemoveLabels",
    "RemoveProperty",
    "Return",
    "Set",
    "SetLabels",
    "SetMap",
    "SetProperty",
    "Statement",
    "Unwind",
    "Variable",
    "With",
]

# ------------------------------------------------------------ expressions


@dataclass(frozen=True)
class Literal:
    """A value, written out."""

    value: Any

    def __str__(self) -> str:
        names = {None: "null", True: "true", False: "false"}
        if self.value is None or isinstance(self.value, bool):
            return names[self.value]
        if isinstance(self.value, list):
            return f"[{', '.join(str(Literal(each)) for each in self.value)}]"
        if isinstance(self.value, dict):
            return f"{{{', '.join(f'{key}: {Literal(each)}' for key, each in self.value.items())}}}"
        return repr(self.value)


@dataclass(frozen=True)
class Parameter:
    """A value that is given beside the text."""

    name: str
    value: Any

    def __str__(self) -> str:
        return f"${self.name}"


@dataclass(frozen=True)
class Variable:
    """The value of a column."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Property:
    """``subject.key``."""

    subject: str
    key: str

    def __str__(self) -> str:
        return f"{self.subject}.{self.key}"


@dataclass(frozen=True)
class ListOf:
    """A list of values."""

    items: tuple[Expression, ...]

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.items))}]"


@dataclass(frozen=True)
class Operation:
    """``-`` or ``/`` of integers."""

    op: str
    left: Expression
    right: Expression

    def __str__(self) -> str:
        return f"({self.left} {self.op} {self.right})"


@dataclass(frozen=True)
class Compare:
    """``=`` or ``<``."""

    op: str
    left: Expression
    right: Expression

    def __str__(self) -> str:
        return f"{self.left} {self.op} {self.right}"


@dataclass(frozen=True)
class IsNull:
    """``value IS NULL``."""

    value: Expression

    def __str__(self) -> str:
        return f"{self.value} IS NULL"


@dataclass(frozen=True)
class HasLabel:
    """``subject:label``."""

    subject: str
    label: str

    def __str__(self) -> str:
        return f"{self.subject}:{self.label}"


@dataclass(frozen=True)
class Not:
    """``NOT condition``."""

    condition: Expression

    def __str__(self) -> str:
        return f"NOT ({self.condition})"


@dataclass(frozen=True)
class Exists:
    """``EXISTS { path }``."""

    path: Path

    def __str__(self) -> str:
        return f"EXISTS {{ {self.path} }}"


@dataclass(frozen=True)
class Count:
    """``count(value)``, of rows where that is None."""

    value: Expression | None = None

    def __str__(self) -> str:
        return f"count({'*' if self.value is None else self.value})"


@dataclass(frozen=True)
class Collect:
    """``collect(value)``."""

    value: Expression

    def __str__(self) -> str:
        return f"collect({self.value})"


Value: TypeAlias = Literal | Parameter | Variable | Property | ListOf | Operation
Expression: TypeAlias = Value | Compare | IsNull | HasLabel | Not | Exists | Count | Collect
Items: TypeAlias = tuple[tuple[str, Expression], ...]

# ------------------------------------------------------------ patterns


def _map(entries: Items) -> str:
    return f"{{{', '.join(f'{key}: {value}' for key, value in entries)}}}"


def _labels(names: tuple[str, ...], *, named: bool) -> str:
    """Return labels as they are written; ``named``: as expressions."""
    if named and names:
        rest = ", ".join(map(repr, names[1:]))
        return f":$({names[0]!r}){f':$([{rest}])' if rest else ''}"
    return "".join(f":{each}" for each in names)


@dataclass(frozen=True)
class NodePattern:
    """``(name:labels {properties})``; ``name`` may be empty. ``named``: expressions name the labels."""

    name: str
    labels: tuple[str, ...] = ()
    properties: Items = ()
    named: bool = False

    def __str__(self) -> str:
        labels = _labels(self.labels, named=self.named)
        return f"({self.name}{labels}{' ' + _map(self.properties) if self.properties else ''})"


@dataclass(frozen=True)
class RelationshipPattern:
    """``arrow``: ``>``, ``<`` or nothing. ``type`` None: any; ``named``: an expression names it."""

    name: str
    type: str | None
    arrow: str
    properties: Items = ()
    named: bool = False

    def __str__(self) -> str:
        kind = "" if self.type is None else _labels((self.type,), named=self.named)
        inside = f"[{self.name}{kind}{' ' + _map(self.properties) if self.properties else ''}]"
        return f"{'<' if self.arrow == '<' else ''}-{inside}-{'>' if self.arrow == '>' else ''}"


@dataclass(frozen=True)
class Path:
    """Nodes, and the relationships between them."""

    nodes: tuple[NodePattern, ...]
    relationships: tuple[RelationshipPattern, ...] = ()

    def __str__(self) -> str:
        steps = zip(self.relationships, self.nodes[1:], strict=True)
        return str(self.nodes[0]) + "".join(f"{edge}{node}" for edge, node in steps)


# ------------------------------------------------------------ clauses


def _paths(paths: tuple[Path, ...]) -> str:
    return ", ".join(map(str, paths))


def _named(items: Items) -> str:
    return ", ".join(name if str(value) == name else f"{value} AS {name}" for name, value in items)


def _where(condition: Expression | None) -> str:
    return "" if condition is None else f" WHERE {condition}"


def _limit(count: int | None) -> str:
    return "" if count is None else f" LIMIT {count}"


@dataclass(frozen=True)
class Match:
    """``[OPTIONAL] MATCH paths WHERE where``."""

    paths: tuple[Path, ...]
    where: Expression | None = None
    optional: bool = False

    def __str__(self) -> str:
        return f"{'OPTIONAL ' if self.optional else ''}MATCH {_paths(self.paths)}{_where(self.where)}"


@dataclass(frozen=True)
class Unwind:
    """``UNWIND items AS name``."""

    items: Expression
    name: str

    def __str__(self) -> str:
        return f"UNWIND {self.items} AS {self.name}"


@dataclass(frozen=True)
class With:
    """``WITH items LIMIT limit WHERE where``."""

    items: Items
    distinct: bool = False
    limit: int | None = None
    where: Expression | None = None

    def __str__(self) -> str:
        distinct = "DISTINCT " if self.distinct else ""
        return f"WITH {distinct}{_named(self.items)}{_limit(self.limit)}{_where(self.where)}"


@dataclass(frozen=True)
class Create:
    """``CREATE paths``."""

    paths: tuple[Path, ...]

    def __str__(self) -> str:
        return f"CREATE {_paths(self.paths)}"


@dataclass(frozen=True)
class SetProperty:
    """``subject.key = value``."""

    subject: str
    key: str
    value: Expression

    def __str__(self) -> str:
        return f"{self.subject}.{self.key} = {self.value}"


@dataclass(frozen=True)
class SetMap:
    """``value``: the entries of a map, or the name of an element."""

    subject: str
    value: Items | str
    replace: bool

    def __str__(self) -> str:
        value = self.value if isinstance(self.value, str) else _map(self.value)
        return f"{self.subject} {'=' if self.replace else '+='} {value}"


@dataclass(frozen=True)
class SetLabels:
    """Labels that are given; ``named``: expressions name them."""

    subject: str
    labels: tuple[str, ...]
    named: bool = False

    def __str__(self) -> str:
        return self.subject + _labels(self.labels, named=self.named)


@dataclass(frozen=True)
class RemoveLabels(SetLabels):
    """Labels that are taken away."""


@dataclass(frozen=True)
class RemoveProperty:
    """A property that is taken away."""

    subject: str
    key: str

    def __str__(self) -> str:
        return f"{self.subject}.{self.key}"


Change: TypeAlias = SetProperty | SetMap | SetLabels | RemoveLabels | RemoveProperty


@dataclass(frozen=True)
class Set:
    """SET, or REMOVE where its changes take away."""

    changes: tuple[Change, ...]

    def __str__(self) -> str:
        word = "REMOVE" if isinstance(self.changes[0], RemoveLabels | RemoveProperty) else "SET"
        return f"{word} {', '.join(map(str, self.changes))}"


@dataclass(frozen=True)
class Merge:
    """``MERGE path ON CREATE on_create ON MATCH on_match``."""

    path: Path
    on_create: Set | None = None
    on_match: Set | None = None

    def __str__(self) -> str:
        created = "" if self.on_create is None else f" ON CREATE {self.on_create}"
        return f"MERGE {self.path}{created}{'' if self.on_match is None else f' ON MATCH {self.on_match}'}"


@dataclass(frozen=True)
class Delete:
    """``[DETACH] DELETE names``."""

    names: tuple[str, ...]
    detach: bool

    def __str__(self) -> str:
        return f"{'DETACH ' if self.detach else ''}DELETE {', '.join(self.names)}"


@dataclass(frozen=True)
class Foreach:
    """``FOREACH (name IN items | clauses)``."""

    name: str
    items: Expression
    clauses: tuple[Clause, ...]

    def __str__(self) -> str:
        return f"FOREACH ({self.name} IN {self.items} | {' '.join(map(str, self.clauses))})"


@dataclass(frozen=True)
class Call:
    """``CALL (imports) { clauses }``; without a RETURN at their end each row stays once."""

    imports: tuple[str, ...]
    clauses: tuple[Clause, ...]

    def __str__(self) -> str:
        return f"CALL ({', '.join(self.imports)}) {{ {' '.join(map(str, self.clauses))} }}"


@dataclass(frozen=True)
class Return:
    """``RETURN items LIMIT limit``."""

    items: Items
    limit: int | None = None

    def __str__(self) -> str:
        return f"RETURN {_named(self.items)}{_limit(self.limit)}"


Clause: TypeAlias = Match | Unwind | With | Create | Set | Merge | Delete | Foreach | Call | Return


@dataclass(frozen=True)
class Statement:
    """Clauses, and the values of the parameters in them."""

    clauses: tuple[Clause, ...]
    parameters: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return " ".join(map(str, self.clauses))
