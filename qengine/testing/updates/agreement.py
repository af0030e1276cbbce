"""Gives the same transactions to the engine and to the model, and compares all that can be seen of them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from qengine.errors import QengineError
from qengine.graph import Graph
from qengine.testing.compare import canonical
from qengine.testing.updates import statements as st
from qengine.testing.updates.generate import Transaction
from qengine.testing.updates.model import ModelGraph, append, run
from qengine.testing.updates.values import ModelError, Shown, Undefined
from qengine.types import Node, Path, Relationship

if TYPE_CHECKING:
    from qengine.transaction import Transaction as TransactionOfGraph
    from qengine.write.overlay import Changes

_ORDERS = 3  # of rows, in which a session is tried to see that it has one outcome
_MORE_ORDERS = 200  # where it differs from the engine's
_EITHER = frozenset((
    "DivisionByZero", "EntityNotFound", "InvalidArgumentType", "InvalidArgumentValue", "InvalidPropertyType",
    "NoSingleRelationshipType",
))  # fmt: skip
"""Errors of an element that is made, of which any may come first."""
_ROUNDS = 3  # in which new nodes are told apart by their neighbours


class Chain:
    """A graph and the model of it, which go from session to session together."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def check(self, session: Sequence[Transaction], device: str) -> str:
        """Run some transactions; return "sure", "unsure" where their outcome depends on orders, or "undefined".

        Raises
        ------
        AssertionError
            With the statements, where the engine differs from the model.
        """
        before = self.model()
        old = _numbers(before)
        try:
            outcomes = [_modelled(before.copy(), session, old, order) for order in range(_ORDERS)]
        except Undefined:
            return "undefined"
        found = self._run(session, old, device)
        if any(each != outcomes[0] for each in outcomes):
            return "unsure"
        for at, (expected, actual) in enumerate(zip(outcomes[0], found, strict=True)):
            if expected != actual and not ({type(expected), type(actual)} == {str} and {expected, actual} <= _EITHER):
                more = (_modelled(before.copy(), session, old, order) for order in range(_ORDERS, _MORE_ORDERS))
                if any(each != outcomes[0] for each in more):
                    return "unsure"
                raise AssertionError(_report(before, session, at, expected, actual))
        return "sure"

    def model(self) -> ModelGraph:
        """Return the model of the graph as it is."""
        store = self.graph._store
        nodes = store.nodes(range(store.vertex_count))
        relationships = store.relationships(range(store.relationship_count))
        return ModelGraph(
            {each.id: (frozenset(each.labels), dict(each.properties)) for each in nodes if each},
            {each.id: (each.type, each.start, each.end, dict(each.properties)) for each in relationships if each},
            frozenset(kind.name for kind in store.types if kind.undirected),
            rules={
                each.name: st.Rule(each.entity == "NODE", each.label, *each.keys, each.kind)
                for each in store.rules.all
                if each.kind in (*st.REQUIRED, "RANGE") and len(each.keys) == 1  # others aren't modelled
            },
        )

    def content(self) -> Any:
        """Return what the graph holds, with the numbers of all elements, to be compared."""
        graph = self.model()
        return _told(graph, _numbers(graph))

    def _run(self, session: Sequence[Transaction], old: frozenset[int], device: str) -> list[Any]:
        outcomes = []
        for transaction in session:
            if transaction.alone:
                outcomes.append(_outcome(self.graph, transaction.statements[0], old, device))
                continue
            with self.graph.transaction() as t:
                outcomes += [_outcome(t, each, old, device) for each in transaction.statements]
                if transaction.rollback:
                    t.rollback()
        outcomes.append(_told(self.model(), old))
        return outcomes


def _numbers(graph: ModelGraph) -> frozenset[int]:
    """Return the numbers of nodes, and the complements of those of relationships."""
    return frozenset(graph.nodes) | {~number for number in graph.relationships}


def _modelled(graph: ModelGraph, session: Sequence[Transaction], old: frozenset[int], order: int) -> list[Any]:
    chance = random.Random(order) if order else None
    outcomes: list[Any] = []
    for transaction in session:
        work = graph.copy()
        for statement in transaction.statements:
            rows: list[tuple[Any, ...]] = []
            try:
                if isinstance(statement, st.Append):
                    counts = append(work, statement)
                else:
                    rows, counts = run(work, statement, chance, alone=transaction.alone)
            except ModelError as error:
                outcomes.append(str(error))
                continue
            changes = {key: value for key, value in counts.items() if value}
            outcomes.append((Counter(tuple(_seen(value, old) for value in row) for row in rows), changes))
        if not transaction.rollback:
            graph.become(work)
        graph.next = work.next
    outcomes.append(_told(graph, old))
    return outcomes


def _outcome(
    place: Graph | TransactionOfGraph, statement: st.Statement | st.Append, old: frozenset[int], device: str
) -> Any:
    rows: list[tuple[Any, ...]] = []
    changes: Changes | None
    try:
        if isinstance(statement, st.Append):
            changes = _appended(place, statement)
        else:
            result = place.query(str(statement), statement.parameters, device=device)
            rows, changes = [tuple(row) for row in result.fetchall()], result.stats.changes
    except QengineError as error:
        return error.code or type(error).__name__
    counts = {} if changes is None else {key: value for key, value in asdict(changes).items() if value}
    return Counter(tuple(_seen(value, old) for value in row) for row in rows), counts


def _appended(place: Graph | TransactionOfGraph, given: st.Append) -> Changes:
    rows = pa.Table.from_pylist(list(given.rows), schema=pa.schema([("i", pa.int64()), ("s", pa.string())]))
    starts, ends = ([link[end] for link in given.links] for end in (0, 1))
    links = pa.table({"start": pa.array(starts, pa.int64()), "end": pa.array(ends, pa.int64())})
    nodes, relationships = {given.label: rows}, [("R", given.label, given.label, links)]
    return place.append_arrow(nodes, relationships, key="i", upsert=given.upsert)


def _seen(value: Any, old: frozenset[int]) -> Any:
    """Return a value of a row so that those of model and engine are equal."""
    if isinstance(value, Node):
        value = Shown(value.id, tuple(sorted(value.labels)), dict(value.properties))
        return _element(value, value.id in old)
    if isinstance(value, Relationship):
        return _element(Shown(value.id, (value.type,), dict(value.properties)), ~value.id in old)
    if isinstance(value, Shown):
        return _element(value, value.id in old or ~value.id in old)
    if isinstance(value, Path):
        value = [*value.nodes, *value.relationships]
    if isinstance(value, list):
        return tuple(_seen(each, old) for each in value)
    return canonical(value)


def _element(value: Shown, is_old: bool) -> Any:
    return value.id if is_old else "new", value.names, canonical(value.properties)


def _told(graph: ModelGraph, old: frozenset[int]) -> Any:
    """Return a graph without the numbers of what is new in it: equal for graphs that differ in those alone.

    New nodes are told apart by their labels, properties and neighbours, and by those of these.
    """
    colours: dict[int, Any] = {
        number: (number if number in old else "new", tuple(sorted(labels)), canonical(properties))
        for number, (labels, properties) in graph.nodes.items()
    }
    edges = [
        ((number if ~number in old else "new", kind, canonical(properties)), start, end)
        for number, (kind, start, end, properties) in graph.relationships.items()
    ]
    if len(old.intersection(colours)) < len(colours):
        for _ in range(_ROUNDS):
            around: dict[int, list[Any]] = {number: [] for number in colours}
            for key, start, end in edges:
                here, there = (0, 0) if key[1] in graph.undirected else (0, 1)
                around[start].append(hash((here, key, colours[end])))
                around[end].append(hash((there, key, colours[start])))
            colours = {
                number: (*colour[:3], hash((colour, tuple(sorted(around[number])))))
                for number, colour in colours.items()
            }
    links = (
        (
            key,
            frozenset((colours[start], colours[end])) if key[1] in graph.undirected else (colours[start], colours[end]),
        )
        for key, start, end in edges
    )
    return Counter(colours.values()), Counter(links), sorted(graph.rules.items())


def _report(before: ModelGraph, session: Sequence[Transaction], at: int, expected: Any, actual: Any) -> str:
    statements = [each for transaction in session for each in transaction.statements]
    what = (
        f"statement {at + 1}: {statements[at]} {statements[at].parameters}"
        if at < len(statements)
        else "the graph afterwards"
    )
    nodes = [f"  {number}: {':'.join(sorted(labels))} {values}" for number, (labels, values) in before.nodes.items()]
    edges = [f"  {each}" for each in before.relationships.items()]
    lines = ["The engine differs from the model.", "Nodes:", *nodes, "Relationships:", *edges, "Transactions:"]
    return "\n".join([*lines, *map(str, session), what, *_differing(expected, actual)])


def _differing(expected: Any, actual: Any) -> list[str]:
    """Return lines that say how two outcomes differ, part by part."""
    if isinstance(expected, Counter) and isinstance(actual, Counter):
        expected, actual = expected - actual, actual - expected
    elif isinstance(expected, tuple) and isinstance(actual, tuple):
        pairs = zip(expected, actual, strict=True)
        return [line for one, other in pairs if one != other for line in _differing(one, other)]
    return [f"expected {expected}", f"found    {actual}"]
