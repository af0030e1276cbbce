"""What statements mean: an interpreter over dictionaries, written from the definitions of the clauses alone."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from qengine.testing.updates import statements as st

__all__ = ["ModelError", "ModelGraph", "NodeRef", "RelationshipRef", "Shown", "Undefined", "run"]

Row = dict[str, Any]
_MOST_ROWS = 150
_MOST_WORK = 4_000  # partial embeddings


class ModelError(Exception):
    """A statement fails; the text is the error's code."""


class Undefined(Exception):
    """The model gives a statement no meaning: it makes many rows, or matches by what fails or was deleted."""


@dataclass(frozen=True)
class NodeRef:
    """A node, by its number."""

    id: int


@dataclass(frozen=True)
class RelationshipRef:
    """A relationship, by its number."""

    id: int


@dataclass(frozen=True)
class Shown:
    """An element of a result: its number, labels or type, and properties."""

    id: int
    names: tuple[str, ...]
    properties: dict[str, Any]


@dataclass
class ModelGraph:
    """Nodes are ``(labels, properties)``, relationships ``(type, start, end, properties)``, each by its number."""

    nodes: dict[int, tuple[frozenset[str], dict[str, Any]]] = field(default_factory=dict)
    relationships: dict[int, tuple[str, int, int, dict[str, Any]]] = field(default_factory=dict)
    undirected: frozenset[str] = frozenset()
    next: int = 1 << 40

    def copy(self) -> ModelGraph:
        """Return a graph that changes apart from this one."""
        return ModelGraph(dict(self.nodes), dict(self.relationships), self.undirected, self.next)

    def new(self) -> int:
        """Return the number of a new element."""
        self.next += 1
        return self.next

    def entity(self, ref: NodeRef | RelationshipRef) -> tuple[Any, ...]:
        """Return an element, which was not deleted."""
        found: tuple[Any, ...] | None
        found = self.nodes.get(ref.id) if isinstance(ref, NodeRef) else self.relationships.get(ref.id)
        if found is None:
            raise ModelError("DeletedEntityAccess")
        return found

    def properties(self, ref: NodeRef | RelationshipRef) -> dict[str, Any]:
        """Return the properties of an element."""
        found: dict[str, Any] = self.entity(ref)[-1]
        return found

    def put(self, ref: NodeRef | RelationshipRef, properties: dict[str, Any]) -> None:
        """Give an element other properties."""
        changed = (*self.entity(ref)[:-1], properties)
        (self.nodes if isinstance(ref, NodeRef) else self.relationships)[ref.id] = changed

    def ends(self, node: int) -> list[int]:
        """Return the relationships of a node, which may be deleted."""
        return [number for number, (_, start, end, _) in self.relationships.items() if node in (start, end)]


def run(
    graph: ModelGraph, statement: st.Statement, chance: random.Random | None
) -> tuple[list[tuple[Any, ...]], dict[str, int]]:
    """Carry out a statement; return its rows, with elements as ``Shown``, and the counts of what it changed.

    ``chance``: orders rows where no order is defined, and says whether a clause's parts are done for each row after the
    other or each part for all rows. The graph is as before where the statement fails.

    Raises
    ------
    ModelError, Undefined
        Where it fails.
    """
    work = graph.copy()
    each = _Run(work, chance)
    rows = each.clauses(statement.clauses, [{}])
    for number in each.deleted:
        if work.ends(number):
            raise ModelError("DeleteConnectedNode")
    graph.nodes, graph.relationships, graph.next = work.nodes, work.relationships, work.next
    last = statement.clauses[-1]
    columns = [name for name, _ in last.items] if isinstance(last, st.Return) else []
    shown = [tuple(each.shown(row[name]) for name in columns) for row in rows] if columns else []
    return shown, each.counts


class _Run:
    def __init__(self, graph: ModelGraph, chance: random.Random | None) -> None:
        self.graph = graph
        self.chance = chance
        self.by_row = chance is not None and chance.random() < 0.5
        self.deleted: list[int] = []
        self.work = 0
        self.types: dict[int, str] = {}
        self.counts = dict.fromkeys(
            (
                "nodes_created",
                "nodes_deleted",
                "relationships_created",
                "relationships_deleted",
                "properties_set",
                "labels_added",
                "labels_removed",
            ),
            0,
        )

    def clauses(self, clauses: tuple[st.Clause, ...], rows: list[Row]) -> list[Row]:
        for clause in clauses:
            rows = self.clause(clause, rows)
            if len(rows) > _MOST_ROWS:
                raise Undefined
        return rows

    def any_order(self, rows: list[Row]) -> list[Row]:
        if self.chance is not None:
            self.chance.shuffle(rows)
        return rows

    def clause(self, clause: st.Clause, rows: list[Row]) -> list[Row]:
        match clause:
            case st.Match():
                return self.any_order([found for row in rows for found in self.match(clause, row)])
            case st.Unwind(items, name):
                return [{**row, name: item} for row in rows for item in self.items(items, row)]
            case st.With():
                rows = self.projected(clause.items, rows, clause.distinct)[: clause.limit]
                return rows if clause.where is None else [row for row in rows if self.value(clause.where, row) is True]
            case st.Return(items, limit):
                return self.projected(items, rows, False)[:limit]
            case st.Create(paths):
                made = [dict(row) for row in rows]
                self.each([partial(self.create, path) for path in paths], made)
                return made
            case st.Merge():
                return [found for row in rows for found in self.merge(clause, row)]
            case st.Set(changes):
                self.each([partial(self.change, change) for change in changes], rows)
            case st.Delete(names, detach):
                self.each([partial(self.delete, names, detach)], rows)
            case st.Foreach():
                for row in rows:
                    self.foreach(clause, row)
            case st.Call():
                return [found for row in rows for found in self.call(clause, row)]
        return rows

    def each(self, parts: list[Callable[[Row], Any]], rows: list[Row]) -> None:
        """Do some things with all rows, in one of the two orders."""
        if self.by_row:
            for row in rows:
                for part in parts:
                    part(row)
        else:
            for part in parts:
                for row in rows:
                    part(row)

    def foreach(self, clause: st.Foreach, row: Row) -> None:
        rows = [{**row, clause.name: item} for item in self.items(clause.items, row)]
        if self.by_row:
            for each in rows:
                self.clauses(clause.clauses, [each])
        else:
            self.clauses(clause.clauses, rows)

    def call(self, clause: st.Call, row: Row) -> list[Row]:
        found = self.clauses(clause.clauses, [{name: row[name] for name in clause.imports}])
        if not isinstance(clause.clauses[-1], st.Return):
            return [row]
        return [{**row, **each} for each in found]

    # ------------------------------------------------------------ expressions

    def value(self, expr: st.Expression, row: Row) -> Any:
        match expr:
            case st.Literal(value) | st.Parameter(_, value):
                return value
            case st.Variable(name):
                return row[name]
            case st.Property(subject, key):
                entity = row[subject]
                if entity is None or isinstance(entity, dict):
                    return (entity or {}).get(key)
                return self.graph.properties(entity).get(key)
            case st.ListOf(items):
                return [self.value(each, row) for each in items]
            case st.Operation(op, left, right):
                return _calculated(op, self.value(left, row), self.value(right, row))
            case st.Compare(op, left, right):
                compare = _equal if op == "=" else _less
                return compare(self.value(left, row), self.value(right, row))
            case st.IsNull(value):
                return self.value(value, row) is None
            case st.HasLabel(subject, label):
                entity = row[subject]
                return None if entity is None else label in self.graph.entity(entity)[0]
            case st.Not(condition):
                found = self.value(condition, row)
                return None if found is None else not found
            case st.Exists(path):
                return next(self.embeddings((path,), row), None) is not None
        raise TypeError(expr)

    def items(self, expr: st.Expression, row: Row) -> list[Any]:
        found = self.value(expr, row)
        if not (found is None or isinstance(found, list)):
            raise ModelError("InvalidArgumentType")
        return found or []

    def projected(self, items: st.Items, rows: list[Row], distinct: bool) -> list[Row]:
        keys: list[tuple[str, st.Expression]] = [
            (name, expr) for name, expr in items if not isinstance(expr, st.Count | st.Collect)
        ]
        if len(keys) < len(items):
            rows = self.any_order(self.grouped(items, keys, rows))
        else:
            rows = [{name: self.value(expr, row) for name, expr in items} for row in rows]
        if distinct:
            rows = self.any_order(list({_key(list(row.values())): row for row in rows}.values()))
        return rows

    def grouped(self, items: st.Items, keys: list[tuple[str, st.Expression]], rows: list[Row]) -> list[Row]:
        groups: dict[Any, tuple[Row, list[Row]]] = {}
        for row in rows:
            values = {name: self.value(expr, row) for name, expr in keys}
            groups.setdefault(_key(list(values.values())), (values, []))[1].append(row)
        if not keys and not groups:
            groups[()] = {}, []
        return [
            {name: values[name] if name in values else self.aggregate(expr, inside) for name, expr in items}
            for values, inside in groups.values()
        ]

    def aggregate(self, expr: st.Expression, rows: list[Row]) -> Any:
        assert isinstance(expr, st.Count | st.Collect)
        if expr.value is None:
            return len(rows)
        found = [value for row in rows if (value := self.value(expr.value, row)) is not None]
        return len(found) if isinstance(expr, st.Count) else found

    # ------------------------------------------------------------ patterns

    def match(self, clause: st.Match, row: Row) -> list[Row]:
        found = [
            each
            for each in self.embeddings(clause.paths, row)
            if clause.where is None or self.value(clause.where, each) is True
        ]
        if not found and clause.optional:
            nodes = [node.name for path in clause.paths for node in path.nodes]
            edges = [edge.name for path in clause.paths for edge in path.relationships]
            names = [name for name in (*nodes, *edges) if name]
            return [{**dict.fromkeys(names), **row}]
        return found

    def embeddings(self, paths: tuple[st.Path, ...], row: Row) -> Iterator[Row]:
        """Give each way in which paths can be found, with all relationships of them different."""
        if any(self.graph.ends(number) for number in self.deleted):
            raise Undefined
        steps: list[tuple[st.NodePattern, st.RelationshipPattern | None]] = []
        for path in paths:
            steps += zip(path.nodes, (None, *path.relationships), strict=True)
            for wanted in (
                *(node.properties for node in path.nodes),
                *(edge.properties for edge in path.relationships),
            ):
                self.defined(wanted, row)

        def extend(at: int, row: Row, last: int, used: frozenset[int]) -> Iterator[Row]:
            self.work += 1
            if self.work > _MOST_WORK:
                raise Undefined
            if at == len(steps):
                yield row
                return
            node, edge = steps[at]
            if edge is None:
                for number in list(self.graph.nodes):
                    for found in self.bound(node, number, row):
                        yield from extend(at + 1, found, number, used)
                return
            for number, (kind, start, end, _) in list(self.graph.relationships.items()):
                if number in used or edge.type not in (None, kind):
                    continue
                ways = {(start, end)} if edge.arrow == ">" else {(end, start)}
                if edge.arrow == "" or kind in self.graph.undirected:
                    ways |= {(start, end), (end, start)}
                for here, there in ways:
                    if here == last and self.has(RelationshipRef(number), edge.properties, row):
                        named = {**row, edge.name: RelationshipRef(number)} if edge.name else row
                        for found in self.bound(node, there, named):
                            yield from extend(at + 1, found, there, used | {number})

        return extend(0, row, -1, frozenset())

    def defined(self, wanted: st.Items, row: Row) -> None:
        """Check that conditions of a pattern fail for no element: which of them are evaluated is not defined."""
        for _, value in wanted:
            try:
                self.value(value, row)
            except KeyError:  # it is of another element of the pattern
                continue
            except ModelError:
                raise Undefined from None

    def bound(self, node: st.NodePattern, number: int, row: Row) -> Iterator[Row]:
        if node.name in row and row[node.name] != NodeRef(number):
            return
        labels, _ = self.graph.nodes[number]
        if labels.issuperset(node.labels) and self.has(NodeRef(number), node.properties, row):
            yield {**row, node.name: NodeRef(number)} if node.name else row

    def has(self, ref: NodeRef | RelationshipRef, wanted: st.Items, row: Row) -> bool:
        own = self.graph.properties(ref)
        try:
            return all(_equal(own.get(key), self.value(value, row)) is True for key, value in wanted)
        except ModelError:  # which of a pattern's conditions are evaluated is not defined
            raise Undefined from None

    # ------------------------------------------------------------ changes

    def create(self, path: st.Path, row: Row) -> None:
        """Make a path, and add what it names to a row."""
        ends = [self.made(node, row) for node in path.nodes]
        for edge, one, other in zip(path.relationships, ends, ends[1:], strict=False):
            for end in (one, other):
                if end is None:
                    raise ModelError("EntityNotFound")
                self.graph.entity(end)
            start, end = (other, one) if edge.arrow == "<" else (one, other)
            assert start is not None and end is not None and edge.type is not None
            number = self.graph.new()
            properties = self.stored(edge.properties, row)
            self.graph.relationships[number] = edge.type, start.id, end.id, properties
            self.counts["relationships_created"] += 1
            self.counts["properties_set"] += len(properties)
            if edge.name:
                row[edge.name] = RelationshipRef(number)

    def made(self, node: st.NodePattern, row: Row) -> NodeRef | None:
        if node.name in row:
            found: NodeRef | None = row[node.name]
            return found
        properties = self.stored(node.properties, row)
        number = self.graph.new()
        self.graph.nodes[number] = frozenset(node.labels), properties
        self.counts["nodes_created"] += 1
        self.counts["labels_added"] += len(set(node.labels))
        self.counts["properties_set"] += len(properties)
        if node.name:
            row[node.name] = NodeRef(number)
        return NodeRef(number)

    def stored(self, entries: st.Items, row: Row) -> dict[str, Any]:
        values = {key: _storable(self.value(value, row)) for key, value in entries}
        return {key: value for key, value in values.items() if value is not None}

    def merge(self, clause: st.Merge, row: Row) -> list[Row]:
        for node in clause.path.nodes:
            if node.name in row:
                if row[node.name] is None:
                    raise ModelError("EntityNotFound")
                self.graph.entity(row[node.name])
        given = [each for node in clause.path.nodes for each in node.properties]
        given += [each for edge in clause.path.relationships for each in edge.properties]
        if any(self.value(value, row) is None for _, value in given):
            raise ModelError("MergeReadOwnWrites")
        found = list(self.embeddings((clause.path,), row))
        changes = clause.on_match if found else clause.on_create
        if not found:
            found = [dict(row)]
            self.create(clause.path, found[0])
        self.any_order(found)
        return self.clauses((changes,), found) if changes else found

    def change(self, change: st.Change, row: Row) -> None:
        entity = row[change.subject]
        if entity is None:
            return
        graph = self.graph
        match change:
            case st.SetProperty(_, key, value):
                new = _storable(self.value(value, row))
                self.assign(entity, {key: new}, False)
            case st.RemoveProperty(_, key):
                self.assign(entity, {key: None}, False)
            case st.SetMap(_, str(name), replace):
                self.assign(entity, self.copied(row[name]), replace)
            case st.SetMap(_, value, replace):
                assert not isinstance(value, str)
                self.assign(entity, {key: _storable(self.value(each, row)) for key, each in value}, replace)
            case st.SetLabels(_, labels):
                if not isinstance(entity, NodeRef):
                    raise ModelError("InvalidArgumentType")
                old, properties = graph.entity(entity)
                new_labels = old - set(labels) if isinstance(change, st.RemoveLabels) else old | set(labels)
                graph.nodes[entity.id] = new_labels, properties
                self.counts["labels_added"] += len(new_labels - old)
                self.counts["labels_removed"] += len(old - new_labels)

    def copied(self, value: Any) -> dict[str, Any]:
        """Return the properties that a map or an element gives."""
        if value is None:
            return {}
        given = value if isinstance(value, dict) else self.graph.properties(value)
        return {key: _storable(each) for key, each in given.items()}

    def assign(self, entity: NodeRef | RelationshipRef, given: dict[str, Any], replace: bool) -> None:
        old = self.graph.properties(entity)
        kept = {} if replace else dict(old)
        new = {key: value for key, value in {**kept, **given}.items() if value is not None}
        self.graph.put(entity, new)
        given_away = {key for key in old if key not in new}
        self.counts["properties_set"] += len(given_away) + sum(value is not None for value in given.values())

    def delete(self, names: tuple[str, ...], detach: bool, row: Row) -> None:
        for name in names:
            entity = row[name]
            if isinstance(entity, RelationshipRef):
                self.counts["relationships_deleted"] += self.drop(entity.id)
            elif entity is not None:
                for number in self.graph.ends(entity.id) if detach else ():
                    self.counts["relationships_deleted"] += self.drop(number)
                if self.graph.nodes.pop(entity.id, None) is not None:
                    self.counts["nodes_deleted"] += 1
                    self.deleted.append(entity.id)

    def shown(self, value: Any) -> Any:
        """Return a value of the result; of deleted elements only the number and a relationship's type are left."""
        if isinstance(value, list):
            return [self.shown(each) for each in value]
        if isinstance(value, NodeRef):
            labels, properties = self.graph.nodes.get(value.id, (frozenset(), {}))
            return Shown(value.id, tuple(sorted(labels)), properties)
        if isinstance(value, RelationshipRef):
            gone: tuple[Any, ...] = (self.types.get(value.id), 0, 0, {})
            kind, _, _, properties = self.graph.relationships.get(value.id, gone)
            return Shown(value.id, (str(kind),), properties)
        return value

    def drop(self, number: int) -> bool:
        found = self.graph.relationships.pop(number, None)
        if found is not None:
            self.types[number] = found[0]
        return found is not None


# ------------------------------------------------------------ values


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _calculated(op: str, left: Any, right: Any) -> Any:
    if left is None or right is None:
        return None
    if not (_is_number(left) and _is_number(right)):
        raise ModelError("InvalidArgumentType")
    if op == "-":
        return left - right
    if right == 0:
        raise ModelError("DivisionByZero")
    return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)


def _equal(left: Any, right: Any) -> bool | None:
    if left is None or right is None:
        return None
    if isinstance(left, list) and isinstance(right, list):
        if len(left) != len(right):
            return False
        parts = [_equal(one, other) for one, other in zip(left, right, strict=True)]
        return False if False in parts else None if None in parts else True
    return type(left) is type(right) and bool(left == right)


def _less(left: Any, right: Any) -> bool | None:
    if type(left) is not type(right) or not isinstance(left, int | str):
        return None
    found: bool = left < right
    return found


def _storable(value: Any) -> Any:
    if isinstance(value, NodeRef | RelationshipRef | dict):
        raise ModelError("InvalidPropertyType")
    if isinstance(value, list) and any(each is None or isinstance(each, list) for each in value):
        raise ModelError("InvalidPropertyType")
    return [_storable(each) for each in value] if isinstance(value, list) else value


def _key(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple((key, _key(each)) for key, each in sorted(value.items()))
    return tuple(map(_key, value)) if isinstance(value, list) else (type(value), value)
