"""Statements as structures, which print themselves as text of the language."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias, dataclass_transform

from qengine.spatial import Point
from qengine.temporal import Temporal


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Written:
    """A part of a statement, a frozen dataclass; ``form``: its text, with names of fields in braces."""

    _form = ""

    def __init_subclass__(cls, form: str = "") -> None:
        cls._form = form or cls._form
        dataclass(frozen=True)(cls)

    def __str__(self) -> str:
        return self._form.format_map(vars(self)) if self._form else repr(self)


# ------------------------------------------------------------ expressions


class Literal(Written):
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
        if isinstance(self.value, Temporal):
            return f"{type(self.value).__name__.lower()}('{self.value}')"
        if isinstance(self.value, Point):
            return f"point({{x: {self.value.x}, y: {self.value.y}}})"
        return repr(self.value)


class Parameter(Written, form="${name}"):
    """A value that is given beside the text."""

    name: str
    value: Any


class Variable(Written, form="{name}"):
    """The value of a column."""

    name: str


class Property(Written, form="{subject}.{key}"):
    """``subject.key``."""

    subject: str
    key: str


class Keyed(Written, form="{subject}[{key}]"):
    """``subject[key]``."""

    subject: str
    key: Expression


class Item(Written, form="{list}[{place}]"):
    """``list[place]``, of a column that is a list."""

    list: str
    place: int


class Elements(Written, form="{kind}({path})"):
    """``nodes(path)`` or ``relationships(path)``, of a column."""

    kind: str
    path: str


class Coalesce(Written, form="coalesce({value}, {other})"):
    """``coalesce(value, other)``."""

    value: Expression
    other: Expression


class Case(Written, form="CASE WHEN {condition} THEN {value} ELSE {other} END"):
    """``CASE WHEN condition THEN value ELSE other END``."""

    condition: Expression
    value: Expression
    other: Expression


class MapOf(Written):
    """A map of values."""

    entries: Items

    def __str__(self) -> str:
        return _map(self.entries)


class ListOf(Written):
    """A list of values."""

    items: tuple[Expression, ...]

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.items))}]"


class Operation(Written, form="({left} {op} {right})"):
    """``-`` or ``/`` of integers."""

    op: str
    left: Expression
    right: Expression


class Compare(Written, form="{left} {op} {right}"):
    """``=`` or ``<``."""

    op: str
    left: Expression
    right: Expression


class IsNull(Written, form="{value} IS NULL"):
    """``value IS NULL``."""

    value: Expression


class HasLabel(Written, form="{subject}:{label}"):
    """``subject:label``."""

    subject: str
    label: str


class Not(Written, form="NOT ({condition})"):
    """``NOT condition``."""

    condition: Expression


class Exists(Written, form="EXISTS {{ {path} }}"):
    """``EXISTS { path }``."""

    path: Path


class CountPaths(Written, form="COUNT {{ {path} }}"):
    """``COUNT { path }``."""

    path: Path


class Count(Written):
    """``count(value)``, of rows where that is None."""

    value: Expression | None = None

    def __str__(self) -> str:
        return f"count({'*' if self.value is None else self.value})"


class Collect(Written, form="collect({value})"):
    """``collect(value)``."""

    value: Expression


Value: TypeAlias = (
    Literal | Parameter | Variable | Property | Keyed | Item | Elements | Coalesce | Case | MapOf | ListOf | Operation
)
Expression: TypeAlias = Value | Compare | IsNull | HasLabel | Not | Exists | CountPaths | Count | Collect
Items: TypeAlias = tuple[tuple[str, Expression], ...]

# ------------------------------------------------------------ patterns


def _map(entries: Items) -> str:
    return f"{{{', '.join(f'{key}: {value}' for key, value in entries)}}}"


def _labels(names: tuple[str, ...], *, named: bool, given: Expression | None = None) -> str:
    """Return labels as they are written; ``named``: as expressions. ``given``: what names more of them."""
    more = "" if given is None else f":$({given})"
    if named and names:
        rest = ", ".join(map(repr, names[1:]))
        return f":$({names[0]!r}){f':$([{rest}])' if rest else ''}{more}"
    return "".join(f":{each}" for each in names) + more


class NodePattern(Written):
    """``(name:labels {properties})``; ``name`` may be empty. ``named``: expressions name labels, ``given``: more."""

    name: str
    labels: tuple[str, ...] = ()
    properties: Items = ()
    named: bool = False
    given: Expression | None = None

    def __str__(self) -> str:
        labels = _labels(self.labels, named=self.named, given=self.given)
        return f"({self.name}{labels}{' ' + _map(self.properties) if self.properties else ''})"


class RelationshipPattern(Written):
    """``arrow``: ``>``, ``<`` or nothing. ``type`` None: any; ``named``: an expression names it, or ``given`` does."""

    name: str
    type: str | None
    arrow: str
    properties: Items = ()
    named: bool = False
    given: Expression | None = None

    def __str__(self) -> str:
        kind = _labels(() if self.type is None else (self.type,), named=self.named, given=self.given)
        inside = f"[{self.name}{kind}{' ' + _map(self.properties) if self.properties else ''}]"
        return f"{'<' if self.arrow == '<' else ''}-{inside}-{'>' if self.arrow == '>' else ''}"


class Path(Written):
    """Nodes, and the relationships between them; ``name`` may be empty."""

    nodes: tuple[NodePattern, ...]
    relationships: tuple[RelationshipPattern, ...] = ()
    name: str = ""

    def __str__(self) -> str:
        steps = zip(self.relationships, self.nodes[1:], strict=True)
        named = f"{self.name} = " if self.name else ""
        return named + str(self.nodes[0]) + "".join(f"{edge}{node}" for edge, node in steps)


# ------------------------------------------------------------ clauses


def _paths(paths: tuple[Path, ...]) -> str:
    return ", ".join(map(str, paths))


def _named(items: Items) -> str:
    return ", ".join(name if str(value) == name else f"{value} AS {name}" for name, value in items)


def _where(condition: Expression | None) -> str:
    return "" if condition is None else f" WHERE {condition}"


def _limit(count: int | None) -> str:
    return "" if count is None else f" LIMIT {count}"


class Match(Written):
    """``[OPTIONAL] MATCH paths WHERE where``."""

    paths: tuple[Path, ...]
    where: Expression | None = None
    optional: bool = False

    def __str__(self) -> str:
        return f"{'OPTIONAL ' if self.optional else ''}MATCH {_paths(self.paths)}{_where(self.where)}"


class Unwind(Written):
    """``UNWIND items AS name``; ``gql``: written as ``FOR name IN items``."""

    items: Expression
    name: str
    gql: bool = False

    def __str__(self) -> str:
        return f"FOR {self.name} IN {self.items}" if self.gql else f"UNWIND {self.items} AS {self.name}"


class With(Written):
    """``WITH items ORDER BY order LIMIT limit WHERE where``; ``order``: expressions, each with whether it descends."""

    items: Items
    distinct: bool = False
    limit: int | None = None
    where: Expression | None = None
    order: tuple[tuple[Expression, bool], ...] = ()

    def __str__(self) -> str:
        distinct = "DISTINCT " if self.distinct else ""
        by = ", ".join(f"{value}{' DESC' if descends else ''}" for value, descends in self.order)
        order = f" ORDER BY {by}" if by else ""
        return f"WITH {distinct}{_named(self.items)}{order}{_limit(self.limit)}{_where(self.where)}"


class Create(Written):
    """``CREATE paths``; ``gql``: written as ``INSERT``."""

    paths: tuple[Path, ...]
    gql: bool = False

    def __str__(self) -> str:
        return f"{'INSERT' if self.gql else 'CREATE'} {_paths(self.paths)}"


class SetProperty(Written):
    """``subject.key = value``, or ``subject[key] = value`` where an expression gives the key."""

    subject: str
    key: str | Expression
    value: Expression

    def __str__(self) -> str:
        return f"{_property(self.subject, self.key)} = {self.value}"


class SetMap(Written):
    """``value``: the entries of a map, or what gives a map or an element; ``copied``: ``properties(value)``."""

    subject: str
    value: Items | Variable | Parameter
    replace: bool
    copied: bool = False

    def __str__(self) -> str:
        value = _map(self.value) if isinstance(self.value, tuple) else str(self.value)
        value = f"properties({value})" if self.copied else value
        return f"{self.subject} {'=' if self.replace else '+='} {value}"


class SetLabels(Written):
    """Labels that are given; ``named``: expressions name them, ``given``: more of them."""

    subject: str
    labels: tuple[str, ...]
    named: bool = False
    given: Expression | None = None

    def __str__(self) -> str:
        return self.subject + _labels(self.labels, named=self.named, given=self.given)


class RemoveLabels(SetLabels):
    """Labels that are taken away."""


class RemoveProperty(Written):
    """A property that is taken away."""

    subject: str
    key: str | Expression

    def __str__(self) -> str:
        return _property(self.subject, self.key)


def _property(subject: str, key: str | Expression) -> str:
    return f"{subject}.{key}" if isinstance(key, str) else f"{subject}[{key}]"


Change: TypeAlias = SetProperty | SetMap | SetLabels | RemoveLabels | RemoveProperty


class Set(Written):
    """SET, or REMOVE where its changes take away."""

    changes: tuple[Change, ...]

    def __str__(self) -> str:
        word = "REMOVE" if isinstance(self.changes[0], RemoveLabels | RemoveProperty) else "SET"
        return f"{word} {', '.join(map(str, self.changes))}"


class Merge(Written):
    """``MERGE path ON CREATE on_create ON MATCH on_match``."""

    path: Path
    on_create: Set | None = None
    on_match: Set | None = None

    def __str__(self) -> str:
        created = "" if self.on_create is None else f" ON CREATE {self.on_create}"
        return f"MERGE {self.path}{created}{'' if self.on_match is None else f' ON MATCH {self.on_match}'}"


class Delete(Written):
    """``[DETACH] DELETE values``."""

    values: tuple[Expression, ...]
    detach: bool

    def __str__(self) -> str:
        return f"{'DETACH ' if self.detach else ''}DELETE {', '.join(map(str, self.values))}"


class Foreach(Written):
    """``FOREACH (name IN items | clauses)``."""

    name: str
    items: Expression
    clauses: tuple[Clause, ...]

    def __str__(self) -> str:
        return f"FOREACH ({self.name} IN {self.items} | {' '.join(map(str, self.clauses))})"


class Batches(Written):
    """``IN TRANSACTIONS OF rows ROWS ON ERROR on_error REPORT STATUS AS report``."""

    rows: Literal | Parameter
    on_error: str = ""
    report: str = ""

    def __str__(self) -> str:
        on_error = f" ON ERROR {self.on_error}" if self.on_error else ""
        return (
            f" IN TRANSACTIONS OF {self.rows} ROWS{on_error}{f' REPORT STATUS AS {self.report}' if self.report else ''}"
        )


class Call(Written):
    """``[OPTIONAL] CALL (imports) { clauses } batches``; without a RETURN at their end each row stays once.

    ``scope``: "names" are imported in parentheses, "all" by ``(*)``, or "with" a first clause.
    """

    imports: tuple[str, ...]
    clauses: tuple[Clause, ...]
    optional: bool = False
    batches: Batches | None = None
    scope: str = "names"

    def __str__(self) -> str:
        names = ", ".join(self.imports)
        inside = " ".join(map(str, self.clauses))
        if self.scope == "with":
            begin = f"CALL {{ {f'WITH {names} ' if names else ''}"
        else:
            begin = f"CALL ({'*' if self.scope == 'all' else names}) {{ "
        optional = "OPTIONAL " if self.optional else ""
        return f"{optional}{begin}{inside} }}{'' if self.batches is None else self.batches}"


class Return(Written):
    """``RETURN items LIMIT limit``."""

    items: Items
    limit: int | None = None

    def __str__(self) -> str:
        return f"RETURN {_named(self.items)}{_limit(self.limit)}"


class Finish(Written, form="FINISH"):
    """``FINISH``: no rows."""


# ------------------------------------------------------------ rules


class Rule(Written):
    """An index or a constraint of elements with a label, or of a type: ``kind`` is one of ``REQUIRED``, or RANGE."""

    of_nodes: bool
    label: str
    key: str
    kind: str

    @property
    def is_constraint(self) -> bool:
        """Whether statements must satisfy it."""
        return self.kind != "RANGE"


REQUIRED = {
    "UNIQUENESS": "IS UNIQUE", "KEY": "IS KEY", "PROPERTY_EXISTENCE": "IS NOT NULL",
    "PROPERTY_TYPE": "IS :: INTEGER",
}  # fmt: skip


class Declare(Written):
    """``CREATE INDEX`` or ``CREATE CONSTRAINT``; ``lenient``: IF NOT EXISTS."""

    name: str
    rule: Rule
    lenient: bool

    def __str__(self) -> str:
        rule = self.rule
        what = "CONSTRAINT" if rule.is_constraint else "INDEX"
        element = f"(x:{rule.label})" if rule.of_nodes else f"()-[x:{rule.label}]-()"
        said = f"REQUIRE x.{rule.key} {REQUIRED[rule.kind]}" if rule.is_constraint else f"ON (x.{rule.key})"
        return f"CREATE {what} {self.name}{' IF NOT EXISTS' if self.lenient else ''} FOR {element} {said}"


class Drop(Written):
    """``DROP INDEX`` or ``DROP CONSTRAINT``; ``lenient``: IF EXISTS."""

    name: str
    constraint: bool
    lenient: bool

    def __str__(self) -> str:
        what = "CONSTRAINT" if self.constraint else "INDEX"
        return f"DROP {what} {self.name}{' IF EXISTS' if self.lenient else ''}"


Clause: TypeAlias = (
    Match | Unwind | With | Create | Set | Merge | Delete | Foreach | Call | Return | Finish | Declare | Drop
)


class Statement(Written):
    """Clauses, and the values of the parameters in them."""

    clauses: tuple[Clause, ...]
    parameters: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return " ".join(map(str, self.clauses))


class Append(Written):
    """A table of nodes with a label, which the property ``i`` tells apart, and pairs of those to connect by R."""

    label: str
    rows: tuple[dict[str, Any], ...]
    links: tuple[tuple[int, int], ...]
    upsert: bool

    @property
    def parameters(self) -> dict[str, Any]:
        """Nothing: it is no text."""
        return {}

    def __str__(self) -> str:
        return f"append_arrow({self.label}: {list(self.rows)}, R: {list(self.links)}, upsert={self.upsert})"
