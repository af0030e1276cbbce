"""Tells which statements of a script may change places, so that those of equal texts are carried out together.

Statements of several texts often take turns: a node is merged, another, then a relationship between them. A statement
may go before one that stands in front of it if neither reads or sets what the other sets, and no node that one creates
is looked up by the other. The first is told by their texts (``may_mix``), the second by their literals (``Turns``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field

from qengine._frozen import frozen, record
from qengine.formats.cypher_pieces import Piece
from qengine.syntax import ast
from qengine.syntax.parts import parts_of

_TOLD = (
    ast.Literal, ast.ListLiteral, ast.MapLiteral, ast.Unary, ast.Binary, ast.Comparison, ast.CaseExpression,
    ast.FunctionCall, ast.PropertyAccess,
)  # fmt: skip
"""What values are made of that read nothing but properties."""


@frozen
class Node:
    """A node that statements look up or create: its labels, and which literal each property is.

    ``found``: it is looked up; ``made``: it is created, where it isn't found if both.
    """

    labels: frozenset[str]
    keys: tuple[tuple[str, int], ...]
    found: bool
    made: bool

    def adds_to(self, other: Node) -> bool:
        """Tell whether it may be created where the other is found."""
        keys = [{key for key, _ in each.keys} for each in (self, other)]
        return self.made and not (self.found and self.labels == other.labels and keys[0] == keys[1])

    def meets(self, other: Node) -> bool:
        """Tell whether one of the two may be created and the other looked up, as the same node."""
        if not ((self.made and other.found) or (other.made and self.found)):
            return False
        return not self.labels or not other.labels or bool(self.labels & other.labels)


@frozen
class Access:
    """What statements of one text do: their nodes, the properties that they set of these, and their relationships.

    ``reads``: properties that what they set is computed from. ``links``: the types, with whether these are merged and
    nothing is said of their properties.
    """

    nodes: tuple[Node, ...]
    sets: frozenset[str]
    reads: frozenset[str]
    links: frozenset[tuple[str, bool]]


@record
class Turns:
    """Statements of one text that wait: the literals at some of their places, by which they may hinder others.

    ``checks``: for statements of another text, by the identity of their ``Turns``, pairs of their place and a place
    here whose literals must differ; and whether it doesn't matter where theirs waits already.
    """

    access: Access
    values: dict[int, set[str]] = field(default_factory=dict)
    checks: dict[int, list[tuple[int, int, bool]]] = field(default_factory=dict)

    def watch(self, other: Turns, waiting: Sequence[Piece]) -> None:
        """Note from now on what tells whether a statement of another text may go before these."""
        pairs = self.checks[id(other)] = []
        for node in other.access.nodes:
            for own in self.access.nodes:
                if node.meets(own):
                    places = dict(own.keys)
                    there = node.found and node.made and len(node.keys) == 1 and not own.adds_to(node)
                    pairs += [(place, places[key], there) for key, place in node.keys if key in places]
        for _, place, _ in pairs:
            if place not in self.values:
                self.values[place] = {piece.literals[place] for piece in waiting}

    def watch_own(self, other: Turns, waiting: Sequence[Piece]) -> None:
        """Note from now on the literals that tell what of these' nodes is there, where the other is asked."""
        for place, _, _ in other.checks[id(self)]:
            if place not in self.values:
                self.values[place] = {piece.literals[place] for piece in waiting}

    def note(self, piece: Piece) -> None:
        """Note the literals of one statement more."""
        for place, values in self.values.items():
            values.add(piece.literals[place])

    def hinders(self, mover: Turns, piece: Piece) -> bool:
        """Tell whether a statement of another text may not go before those that wait."""
        for place, own, there in self.checks[id(mover)]:
            literal = piece.literals[place]
            if not _plain(literal):
                return True
            if literal in self.values[own] and not (there and literal in mover.values[place]):
                return True
        return False


def may_mix(one: Access, other: Access) -> bool:
    """Tell whether statements of two texts may change places at all."""
    keys, others = ({key for node in each.nodes for key, _ in node.keys} for each in (one, other))
    if one.sets & (others | other.sets | other.reads) or other.sets & (keys | one.reads):
        return False
    types = {type for type, _ in one.links} & {type for type, _ in other.links}
    if any((type, False) in one.links or (type, False) in other.links for type in types):
        return False
    for node in one.nodes:
        for own in other.nodes:
            if node.meets(own) and not ({key for key, _ in node.keys} & {key for key, _ in own.keys}):
                return False
    return True


def access_of(statement: ast.Statement, piece: Piece) -> Access | None:
    """Return what statements like one do, all of whose clauses look up, merge or create; None where that isn't told."""
    body = statement.body
    if not isinstance(body, ast.Query):
        return None
    places, at = {}, len(piece.skeleton[0])
    for number, (literal, rest) in enumerate(zip(piece.literals, piece.skeleton[1:], strict=True)):
        places[at] = number
        at += len(literal) + len(rest)
    try:
        return _Reading(places).of(body.clauses)
    except _Untold:
        return None


class _Untold(Exception):
    """What a statement does isn't told."""


@record
class _Reading:
    """Reads clauses. ``places``: which literal begins where."""

    places: dict[int, int]
    nodes: list[Node] = field(default_factory=list)
    sets: set[str] = field(default_factory=set)
    reads: set[str] = field(default_factory=set)
    links: set[tuple[str, bool]] = field(default_factory=set)
    names: set[str | None] = field(default_factory=set)

    def of(self, clauses: Sequence[ast.Clause]) -> Access:
        merged = None
        for clause in clauses:
            match clause:
                case ast.MatchClause(where=None, optional=False):
                    for path in clause.patterns:
                        self._path(path, found=True, made=False)
                case ast.CreateClause():
                    for path in clause.patterns:
                        self._path(path, found=False, made=True)
                case ast.MergeClause():
                    ends = clause.pattern.elements[::2]
                    if len(ends) > 1 and not all(getattr(each, "name", None) in self.names - {None} for each in ends):
                        raise _Untold  # makes nodes that there are already
                    self._path(clause.pattern, found=True, made=True)
                    merged = clause.pattern if len(clause.pattern.elements) == 3 else None
                    self._set([*clause.on_create, *clause.on_match], merged)
                case ast.SetClause():
                    self._set(clause.items, merged)
                case ast.WithClause(where=None) if _passes_on(clause.projection):
                    pass
                case _:
                    raise _Untold
        return Access(tuple(self.nodes), frozenset(self.sets), frozenset(self.reads), frozenset(self.links))

    def _path(self, path: ast.PathPattern, *, found: bool, made: bool) -> None:
        for element in path.elements:
            if getattr(element, "where", None) is not None:
                raise _Untold
            if isinstance(element, ast.NodePattern):
                if element.name is not None and element.name in self.names:
                    continue
                self.names.add(element.name)
                keys = tuple(self._keys(element.properties))
                self.nodes.append(Node(frozenset(_names(element.labels)), keys, found, made))
            elif isinstance(element, ast.RelationshipPattern):
                plain = found and made and element.properties is None
                if element.types is None or element.hops is not None:
                    raise _Untold
                self.links |= {(type, plain) for type in _names(element.types)}
            else:
                raise _Untold

    def _keys(self, properties: ast.Expression | None) -> Iterator[tuple[str, int]]:
        if properties is None:
            return
        if not isinstance(properties, ast.MapLiteral):
            raise _Untold
        for key, value in properties.entries:
            place = self.places.get(value.span.start)
            if place is None or not isinstance(value, ast.Literal):
                raise _Untold
            yield key, place

    def _set(self, items: Sequence[ast.SetItem | ast.LabelsItem], merged: ast.PathPattern | None) -> None:
        if items and merged is not None:  # properties of the relationship
            self.links = {(type, False) for type, _ in self.links}
        for item in items:
            if isinstance(item, ast.LabelsItem):
                raise _Untold
            self.reads |= _read(item.value)
            if isinstance(item.target, ast.PropertyAccess):
                self.sets.add(item.target.key)
            elif isinstance(item.value, ast.MapLiteral):
                self.sets |= {key for key, _ in item.value.entries}
            else:
                raise _Untold


def _names(labels: ast.LabelExpression | None) -> Iterator[str]:
    if isinstance(labels, ast.LabelConjunction):
        for each in labels.args:
            yield from _names(each)
    elif isinstance(labels, ast.LabelName):
        yield labels.name
    elif labels is not None:
        raise _Untold


def _read(value: ast.Expression) -> set[str]:
    """Return the properties that a value reads, if it reads nothing else."""
    parts = list(parts_of(value))
    found = [each for each in parts if isinstance(each, ast.PropertyAccess)]
    subjects = {id(each.subject) for each in found}
    if not all(isinstance(each, _TOLD) or id(each) in subjects for each in parts):
        raise _Untold
    return {each.key for each in found}


def _passes_on(projection: ast.Projection) -> bool:
    """Tell whether a WITH goes on with each row, and variables as they are called."""
    plain = not (projection.distinct or projection.order or projection.groups or projection.skip or projection.limit)
    return plain and all(
        isinstance(each.expression, ast.Variable) and each.alias in (None, each.expression.name)
        for each in projection.items
    )


def _plain(literal: str) -> bool:
    """Tell whether a literal differs from other such ones if and only if its value does."""
    if literal[0] == "'":
        return "\\" not in literal
    return literal.isdecimal() and (literal[0] != "0" or literal == "0")
