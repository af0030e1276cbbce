"""What statements mean: an interpreter over dictionaries, written from the definitions of the clauses alone."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from qengine.testing.updates import statements as st
from qengine.testing.updates.values import (
    ModelError,
    NodeRef,
    PathRef,
    RelationshipRef,
    Shown,
    Undefined,
    calculated,
    equal,
    key_of,
    less,
    names_of,
    order_of,
    storable,
)

Row = dict[str, Any]
_Trail: TypeAlias = tuple[tuple[NodeRef, RelationshipRef | None], ...]
"""Nodes that were found one after the other, each with the relationship that leads to it where one does."""
_MOST_ROWS = 150
_MOST_WORK = 4_000  # partial embeddings
_COUNTS = (
    "nodes_created", "nodes_deleted", "relationships_created", "relationships_deleted", "properties_set",
    "labels_added", "labels_removed", "indexes_added", "indexes_removed", "constraints_added", "constraints_removed",
)  # fmt: skip


@dataclass
class ModelGraph:
    """Nodes are ``(labels, properties)``, relationships ``(type, start, end, properties)``, each by its number.

    ``rules``: indexes and constraints, by their names.
    """

    nodes: dict[int, tuple[frozenset[str], dict[str, Any]]] = field(default_factory=dict)
    relationships: dict[int, tuple[str, int, int, dict[str, Any]]] = field(default_factory=dict)
    undirected: frozenset[str] = frozenset()
    next: int = 1 << 40
    rules: dict[str, st.Rule] = field(default_factory=dict)

    def copy(self) -> ModelGraph:
        """Return a graph that changes apart from this one."""
        return ModelGraph(dict(self.nodes), dict(self.relationships), self.undirected, self.next, dict(self.rules))

    def become(self, other: ModelGraph) -> None:
        """Take over what another graph holds."""
        self.nodes, self.relationships = dict(other.nodes), dict(other.relationships)
        self.next, self.rules = other.next, dict(other.rules)

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

    def satisfies(self, rule: st.Rule) -> bool:
        """Tell whether all elements are as a rule requires."""
        if rule.of_nodes:
            found = [own.get(rule.key) for labels, own in self.nodes.values() if rule.label in labels]
        else:
            found = [own.get(rule.key) for kind, _, _, own in self.relationships.values() if rule.label == kind]
        given = [each for each in found if each is not None]
        if rule.kind in ("KEY", "PROPERTY_EXISTENCE") and len(given) < len(found):
            return False
        if rule.kind == "PROPERTY_TYPE":
            return all(type(each) is int for each in given)
        unique = rule.kind in ("KEY", "UNIQUENESS")
        return not unique or not any(equal(one, other) for at, one in enumerate(given) for other in given[:at])

    def check_rules(self) -> None:
        """Raise where a constraint isn't satisfied."""
        if not all(map(self.satisfies, self.rules.values())):
            raise ModelError("ConstraintValidationFailed")


def run(
    graph: ModelGraph, statement: st.Statement, chance: random.Random | None, *, alone: bool
) -> tuple[list[tuple[Any, ...]], dict[str, int]]:
    """Carry out a statement; return its rows, with elements as ``Shown``, and the counts of what it changed.

    ``chance``: orders rows where no order is defined, and says whether a clause's parts are done for each row after the
    other or each part for all rows. The graph is as before where the statement fails, but for what it has committed by
    then, which it can where it is ``alone``.

    Raises
    ------
    ModelError, Undefined
        Where it fails.
    """
    work = graph.copy()
    each = _Run(work, chance, partial(graph.become, work) if alone else None)
    rows = each.clauses(statement.clauses, [{}])
    each.settle()
    graph.become(work)
    last = statement.clauses[-1]
    columns = [name for name, _ in last.items] if isinstance(last, st.Return) else []
    shown = [tuple(each.shown(row[name]) for name in columns) for row in rows] if columns else []
    return shown, each.counts


def append(graph: ModelGraph, given: st.Append) -> dict[str, int]:
    """Append a table of nodes, and relationships between them; return the counts of what was changed.

    Raises
    ------
    ModelError
        Where it fails; the graph is as before then.
    """
    work = graph.copy()
    counts = dict.fromkeys(_COUNTS, 0)
    known: dict[int, list[int]] = {}
    for number, (labels, own) in work.nodes.items():
        if given.label in labels and type(own.get("i")) is int:
            known.setdefault(own["i"], []).append(number)
    keys = [row["i"] for row in given.rows]
    used = [*keys, *(key for link in given.links for key in link)]
    if None in keys or len(set(keys)) < len(keys) or any(len(known.get(key, ())) > 1 for key in used):
        raise ModelError("StorageError")
    if not given.upsert and not known.keys().isdisjoint(keys):
        raise ModelError("StorageError")
    for row in given.rows:
        there = known.get(row["i"])
        ref = NodeRef(there[0] if there else work.new())
        if not there:
            work.nodes[ref.id] = frozenset((given.label,)), {}
            known[row["i"]] = [ref.id]
            counts["nodes_created"] += 1
            counts["labels_added"] += 1
        old = work.properties(ref)
        counts["properties_set"] += sum(value is not None or key in old for key, value in row.items())
        work.put(ref, {key: value for key, value in {**old, **row}.items() if value is not None})
    for start, end in given.links:
        if start not in known or end not in known:
            raise ModelError("StorageError")
        work.relationships[work.new()] = "R", known[start][0], known[end][0], {}
        counts["relationships_created"] += 1
    work.check_rules()
    graph.become(work)
    return counts


class _Run:
    """``commit``: what keeps what was done so far, where a statement may do so before its end."""

    def __init__(self, graph: ModelGraph, chance: random.Random | None, commit: Callable[[], None] | None) -> None:
        self.graph = graph
        self.chance = chance
        self.commit = commit
        self.by_row = chance is not None and chance.random() < 0.5
        self.deleted: list[int] = []
        self.work = 0
        self.types: dict[int, str] = {}
        self.counts = dict.fromkeys(_COUNTS, 0)

    def settle(self) -> None:
        """Raise where what was done can't be committed."""
        if any(map(self.graph.ends, self.deleted)):
            raise ModelError("DeleteConnectedNode")
        self.graph.check_rules()

    def clauses(self, clauses: tuple[st.Clause, ...], rows: list[Row]) -> list[Row]:
        for clause in clauses:
            rows = self.clause(clause, rows)
            if len(rows) > _MOST_ROWS:
                raise Undefined
        return rows

    def any_order(self, rows: list[Row]) -> list[Row]:
        """Order rows anyhow, or by their columns: rows that come often stand apart then, as nested loops give them."""
        chance = self.chance
        if chance is None or not rows:
            return rows
        if chance.random() < 0.5:
            chance.shuffle(rows)
            return rows
        names, ranks = chance.sample(list(rows[0]), len(rows[0])), dict[str, float]()
        rows.sort(key=lambda row: [ranks.setdefault(repr(row[name]), chance.random()) for name in names])
        return rows

    def clause(self, clause: st.Clause, rows: list[Row]) -> list[Row]:
        match clause:
            case st.Match():
                return self.any_order([found for row in rows for found in self.match(clause, row)])
            case st.Unwind(items, name):
                return [{**row, name: item} for row in rows for item in self.items(items, row)]
            case st.With():
                rows = self.projected(clause.items, rows, clause.distinct)
                for value, descends in reversed(clause.order):
                    rows.sort(key=lambda row, value=value: order_of(self.value(value, row)), reverse=descends)  # type: ignore[misc]
                rows = rows[: clause.limit]
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
            case st.Delete(values, detach):
                self.each([partial(self.delete, values, detach)], rows)
            case st.Foreach():
                for row in rows:
                    self.foreach(clause, row)
            case st.Call(batches=None):
                return [found for row in rows for found in self.call(clause, row)]
            case st.Call():
                return self.in_batches(clause, rows)
            case st.Finish():
                return []
            case st.Declare() | st.Drop():
                self.rule(clause)
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
        last = clause.clauses[-1]
        if not isinstance(last, st.Return):
            return [row]
        if not found and clause.optional:
            found = [dict.fromkeys(name for name, _ in last.items)]
        return [{**row, **each} for each in found]

    def in_batches(self, clause: st.Call, rows: list[Row]) -> list[Row]:
        """Call for some rows at a time, each time a transaction of its own."""
        batches, last = clause.batches, clause.clauses[-1]
        assert batches is not None
        if self.commit is None:
            raise ModelError("TransactionStartFailed")
        self.settle()
        self.commit()
        columns = [name for name, _ in last.items] if isinstance(last, st.Return) else []
        count, found, stopped = self.value(batches.rows, {}), [], False
        for first in range(0, len(rows), count):
            part = rows[first : first + count]
            before = self.graph.copy(), dict(self.counts), list(self.deleted)
            begun, failed = not stopped, stopped
            if begun:
                try:
                    made = [each for row in part for each in self.call(clause, row)]
                    self.settle()
                    self.commit()
                except ModelError:
                    if batches.on_error in ("", "FAIL"):
                        raise
                    self.graph.become(before[0])
                    self.counts, self.deleted, failed = *before[1:], True
                    stopped = batches.on_error == "BREAK"
            if failed:
                made = [{**row, **dict.fromkeys(columns)} for row in part]
            if batches.report:
                made = [{**row, batches.report: {"started": begun, "committed": not failed}} for row in made]
            found += made
        return found

    # ------------------------------------------------------------ rules

    def rule(self, clause: st.Declare | st.Drop) -> None:
        """Add or take away an index or a constraint."""
        rules = self.graph.rules
        named = rules.get(clause.name)
        if isinstance(clause, st.Drop):
            if named is not None and named.is_constraint == clause.constraint:
                del rules[clause.name]
                self.counts["constraints_removed" if clause.constraint else "indexes_removed"] += 1
            elif (named is not None and named.kind in ("KEY", "UNIQUENESS")) or not clause.lenient:
                raise ModelError("ConstraintDropFailed" if clause.constraint else "IndexDropFailed")
            return
        rule = clause.rule
        if clause.lenient and (named is not None or rule in rules.values()):
            return
        if rule in rules.values():
            raise ModelError("EquivalentSchemaRuleAlreadyExists")
        if named is not None:
            raise ModelError(f"{'Constraint' if named.is_constraint else 'Index'}WithNameAlreadyExists")
        indexed = ("KEY", "UNIQUENESS", "RANGE")
        for other in rules.values():
            same = (other.of_nodes, other.label, other.key) == (rule.of_nodes, rule.label, rule.key)
            if same and other.kind in indexed and rule.kind in indexed:
                raise ModelError(f"{'Constraint' if other.is_constraint else 'Index'}AlreadyExists")
        if not self.graph.satisfies(rule):
            raise ModelError("ConstraintCreationFailed")
        rules[clause.name] = rule
        self.counts["constraints_added" if rule.is_constraint else "indexes_added"] += 1

    # ------------------------------------------------------------ expressions

    def value(self, expr: st.Expression, row: Row) -> Any:
        match expr:
            case st.Literal(value) | st.Parameter(_, value):
                return value
            case st.Variable(name):
                return row[name]
            case st.Property(subject, key):
                return self.property(row[subject], key)
            case st.Keyed(subject, given):
                key = self.value(given, row)
                return None if key is None else self.property(row[subject], key)
            case st.Item(name, place):
                return row[name][place] if row[name] is not None and place < len(row[name]) else None
            case st.Elements(kind, name):
                return None if row[name] is None else list(getattr(row[name], kind))
            case st.Coalesce(value, other):
                found = self.value(value, row)
                return self.value(other, row) if found is None else found
            case st.Case(condition, value, other):
                return self.value(value if self.value(condition, row) is True else other, row)
            case st.MapOf(entries):
                return {key: self.value(each, row) for key, each in entries}
            case st.ListOf(items):
                return [self.value(each, row) for each in items]
            case st.Operation(op, left, right):
                return calculated(op, self.value(left, row), self.value(right, row))
            case st.Compare(op, left, right):
                compare = equal if op == "=" else less
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
            case st.CountPaths(path):
                return sum(1 for _ in self.embeddings((path,), row))
        raise TypeError(expr)

    def property(self, entity: Any, key: str) -> Any:
        if entity is None or isinstance(entity, dict):
            return (entity or {}).get(key)
        return self.graph.properties(entity).get(key)

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
            rows = self.any_order(list({key_of(list(row.values())): row for row in rows}.values()))
        return rows

    def grouped(self, items: st.Items, keys: list[tuple[str, st.Expression]], rows: list[Row]) -> list[Row]:
        groups: dict[Any, tuple[Row, list[Row]]] = {}
        for row in rows:
            values = {name: self.value(expr, row) for name, expr in keys}
            groups.setdefault(key_of(list(values.values())), (values, []))[1].append(row)
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
            names = [name for name in (*nodes, *edges, *(path.name for path in clause.paths)) if name]
            return [{**dict.fromkeys(names), **row}]
        return found

    def embeddings(self, paths: tuple[st.Path, ...], row: Row) -> Iterator[Row]:
        """Give each way in which paths can be found, with all relationships of them different."""
        if any(self.graph.ends(number) for number in self.deleted):
            raise Undefined
        steps: list[tuple[st.NodePattern, st.RelationshipPattern | None]] = []
        named: list[tuple[str, slice]] = []  # of which steps each path is
        for path in paths:
            if path.name:
                named.append((path.name, slice(len(steps), len(steps) + len(path.nodes))))
            steps += zip(path.nodes, (None, *path.relationships), strict=True)
            for wanted in (
                *(node.properties for node in path.nodes),
                *(edge.properties for edge in path.relationships),
            ):
                self.defined(wanted, row)

        def extend(at: int, row: Row, trail: _Trail) -> Iterator[Row]:
            self.work += 1
            if self.work > _MOST_WORK:
                raise Undefined
            if at == len(steps):
                yield {**row, **{name: _walk(trail[steps_of]) for name, steps_of in named}}
                return
            node, edge = steps[at]
            if edge is None:
                for number in list(self.graph.nodes):
                    for found in self.bound(node, number, row):
                        yield from extend(at + 1, found, (*trail, (NodeRef(number), None)))
                return
            last = trail[-1][0].id
            for number, (kind, start, end, _) in list(self.graph.relationships.items()):
                own = RelationshipRef(number)
                wanted = (edge.type or kind) if edge.given is None else self.value(edge.given, row)
                if wanted != kind or any(used == own for _, used in trail):
                    continue
                ways = {(start, end)} if edge.arrow == ">" else {(end, start)}
                if edge.arrow == "" or kind in self.graph.undirected:
                    ways |= {(start, end), (end, start)}
                for here, there in ways:
                    if here == last and self.has(own, edge.properties, row):
                        for found in self.bound(node, there, {**row, edge.name: own} if edge.name else row):
                            yield from extend(at + 1, found, (*trail, (NodeRef(there), own)))

        return extend(0, row, ())

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
        wanted = node.labels if node.given is None else (*node.labels, *names_of(self.value(node.given, row)))
        if labels.issuperset(wanted) and self.has(NodeRef(number), node.properties, row):
            yield {**row, node.name: NodeRef(number)} if node.name else row

    def has(self, ref: NodeRef | RelationshipRef, wanted: st.Items, row: Row) -> bool:
        own = self.graph.properties(ref)
        try:
            return all(equal(own.get(key), self.value(value, row)) is True for key, value in wanted)
        except ModelError:  # which of a pattern's conditions are evaluated is not defined
            raise Undefined from None

    # ------------------------------------------------------------ changes

    def create(self, path: st.Path, row: Row) -> None:
        """Make a path, and add what it names to a row."""
        ends = [self.made(node, row) for node in path.nodes]
        edges = []
        for edge, one, other in zip(path.relationships, ends, ends[1:], strict=False):
            for end in (one, other):
                if end is None:
                    raise ModelError("EntityNotFound")
                self.graph.entity(end)
            start, end = (other, one) if edge.arrow == "<" else (one, other)
            assert start is not None and end is not None
            kind = edge.type if edge.given is None else self.one_type(self.value(edge.given, row))
            assert kind is not None
            number = self.graph.new()
            properties = self.stored(edge.properties, row)
            self.graph.relationships[number] = kind, start.id, end.id, properties
            edges.append(RelationshipRef(number))
            self.counts["relationships_created"] += 1
            self.counts["properties_set"] += len(properties)
            if edge.name:
                row[edge.name] = RelationshipRef(number)
        if path.name:
            row[path.name] = PathRef(tuple(each for each in ends if each is not None), tuple(edges))

    def one_type(self, value: Any) -> str:
        names = names_of(value)
        if len(names) != 1:
            raise ModelError("NoSingleRelationshipType")
        return names[0]

    def made(self, node: st.NodePattern, row: Row) -> NodeRef | None:
        if node.name in row:
            found: NodeRef | None = row[node.name]
            return found
        properties = self.stored(node.properties, row)
        named = () if node.given is None else names_of(self.value(node.given, row))
        labels = frozenset((*node.labels, *named))
        number = self.graph.new()
        self.graph.nodes[number] = labels, properties
        self.counts["nodes_created"] += 1
        self.counts["labels_added"] += len(labels)
        self.counts["properties_set"] += len(properties)
        if node.name:
            row[node.name] = NodeRef(number)
        return NodeRef(number)

    def stored(self, entries: st.Items, row: Row) -> dict[str, Any]:
        values = {key: storable(self.value(value, row)) for key, value in entries}
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
                new = self.value(value, row)
                self.assign(entity, self.copied({self.key(key, row): new}), False)
            case st.RemoveProperty(_, key):
                self.assign(entity, {self.key(key, row): None}, False)
            case st.SetMap(_, tuple(entries), replace):
                self.assign(entity, {key: storable(self.value(each, row)) for key, each in entries}, replace)
            case st.SetMap(_, value, replace):
                assert not isinstance(value, tuple)
                self.assign(entity, self.copied(self.value(value, row)), replace)
            case st.SetLabels(_, labels):
                if not isinstance(entity, NodeRef):
                    raise ModelError("InvalidArgumentType")
                old, properties = graph.entity(entity)
                labels += () if change.given is None else names_of(self.value(change.given, row))
                new_labels = old - set(labels) if isinstance(change, st.RemoveLabels) else old | set(labels)
                graph.nodes[entity.id] = new_labels, properties
                self.counts["labels_added"] += len(new_labels - old)
                self.counts["labels_removed"] += len(old - new_labels)

    def key(self, key: str | st.Expression, row: Row) -> str:
        """Return the name of a property."""
        found = key if isinstance(key, str) else self.value(key, row)
        if not isinstance(found, str):
            raise ModelError("MapElementAccessByNonString")
        return found

    def copied(self, value: Any) -> dict[str, Any]:
        """Return the properties that a map or an element gives."""
        if value is None:
            return {}
        if not isinstance(value, dict | NodeRef | RelationshipRef):
            raise ModelError("InvalidArgumentType")
        given = value if isinstance(value, dict) else self.graph.properties(value)
        if given.get("") is not None:
            raise ModelError("InvalidArgumentValue")
        return {key: storable(each) for key, each in given.items()}

    def assign(self, entity: NodeRef | RelationshipRef, given: dict[str, Any], replace: bool) -> None:
        old = self.graph.properties(entity)
        kept = {} if replace else dict(old)
        new = {key: value for key, value in {**kept, **given}.items() if value is not None}
        self.graph.put(entity, new)
        given_away = {key for key in old if key not in new}
        self.counts["properties_set"] += len(given_away) + sum(value is not None for value in given.values())

    def delete(self, values: tuple[st.Expression, ...], detach: bool, row: Row) -> None:
        found = [self.value(each, row) for each in values]
        for value in found:
            self.delete_elements(
                [*value.relationships, *value.nodes] if isinstance(value, PathRef) else [value], detach
            )

    def delete_elements(self, elements: list[Any], detach: bool) -> None:
        for entity in elements:
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
        if isinstance(value, PathRef):
            return [self.shown(each) for each in (*value.nodes, *value.relationships)]
        return value

    def drop(self, number: int) -> bool:
        found = self.graph.relationships.pop(number, None)
        if found is not None:
            self.types[number] = found[0]
        return found is not None


def _walk(steps: _Trail) -> PathRef:
    return PathRef(tuple(node for node, _ in steps), tuple(edge for _, edge in steps if edge is not None))
