"""A graph that changes, as patterns and expressions see it: elements are known by their numbers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from functools import partial
from itertools import chain
from operator import itemgetter
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from qengine.errors import ExecutionError, Span
from qengine.exec.common.access import hash_index
from qengine.exec.common.value_index import Unanswered
from qengine.exec.context import ExecutionContext
from qengine.exec.memory import MemoryAccount
from qengine.exec.reference.graph import Edge, Finder
from qengine.exec.scalar.entities import number_of
from qengine.exec.scalar.environment import Environment, Row
from qengine.exec.scalar.evaluate import compile, compile_predicate
from qengine.exec.scalar.values import NodeHandle, RelationshipHandle
from qengine.plan.expr import Call, Comparison, Expr, Property, Variable
from qengine.plan.pattern import Direction, LabelExpr, LabelIs, PatternNode, PatternRelationship
from qengine.plan.traverse import free_variables, is_repeatable
from qengine.storage.arrays import Array
from qengine.storage.numbers import Numbers
from qengine.storage.states import RelationshipState
from qengine.types import Node, Relationship
from qengine.write.base import Link
from qengine.write.overlay import Overlay
from qengine.write.patch_table import names_in
from qengine.write.readable import Readable

_V = TypeVar("_V", bound=Readable)

_NONE: Any = None  # in place of an execution, between two of them
_PLAIN = frozenset((int, str, bool))  # values that are equal where an index says so
_SCALAR = _PLAIN | {float, type(None)}
_INDEX_SHARE = 1e-6  # of the nodes that one value of a property is taken to find
_TO_COME = 1_000  # nodes that may come above a base while what was compiled for it serves


class ValueFinder(Protocol):
    """Finds the elements of a store by the value of a property (``HashIndex``)."""

    def ids(self, value: Any, context: ExecutionContext) -> Array:
        """Return the ids, ascending (int64), whose value equals ``value``; errors as ``HashIndex.ids``."""

    def few(self, value: Any, context: ExecutionContext) -> list[int]:
        """Return ``ids`` as a list."""


class WalkedVersion(Generic[_V]):
    """A version to match patterns in, and to make values of (``WalkedGraph``, ``ResultReader``).

    ``overlay``: the version. ``context``: the limits of the statement that it is for.
    """

    def __init__(self, overlay: _V) -> None:
        self.overlay = overlay
        self.node_numbers = _SameNumbers(lambda number: overlay.node(number) is not None)
        self.relationship_numbers = _SameNumbers(lambda number: overlay.relationship(number) is not None)
        self._base = overlay.base
        self.type_names = list(overlay.base.store.relationship_types)
        self._type_index = {name: index for index, name in enumerate(self.type_names)}

    def begin(self, context: ExecutionContext) -> None:
        """Begin an execution."""
        self.context = context

    def end(self) -> None:
        """Let go of the execution."""
        self.context = _NONE

    @property
    def vertex_count(self) -> int:
        """Number of vertices, or a little more."""
        return self._base.store.vertex_count + self.overlay.nodes_above

    @property
    def edge_count(self) -> int:
        """Number of edges, or a little more."""
        return self._base.store.relationship_count + self.overlay.relationships_above

    def type_index(self, name: str) -> int:
        """Return the index of a relationship type, which may be new."""
        found = self._type_index.get(name)
        if found is None:
            found = self._type_index[name] = len(self.type_names)
            self.type_names.append(name)
        return found

    # ------------------------------------------------------------ relationships

    def types(self, expr: LabelExpr | None) -> frozenset[int]:
        """Return the indices of the types that satisfy a label expression, of those that come later, too."""
        if isinstance(expr, LabelIs):
            return frozenset((self.type_index(expr.name),))
        names = enumerate(self.type_names)
        return _Types(expr, self, (index for index, name in names if expr is None or expr.admits(frozenset((name,)))))

    def edge(self, id: int) -> Edge:
        """Return an edge by its number.

        Raises
        ------
        ExecutionError
            ``EntityNotFound`` for one that was deleted.
        """
        found = self._touched_edge(id)
        if found is False:
            link = self._base.link(id)
            found = None if link is None else self._edge(link)
        if not isinstance(found, Edge):
            raise gone("relationship")
        return found

    def _edge(self, link: Link) -> Edge:
        number, index, start, end = link
        return Edge(number, index, start, end, self._base.store.types[index].undirected)

    def _touched_edge(self, number: int) -> Edge | bool | None:
        state = self.overlay.touched_relationship(number)
        return self._made(number, state) if isinstance(state, RelationshipState) else state

    def _made(self, number: int, state: RelationshipState) -> Edge:
        index = self.type_index(state.type)
        kinds = self._base.store.types
        return Edge(number, index, state.start, state.end, index < len(kinds) and kinds[index].undirected)

    def steps(self, vertex: int, direction: Direction, types: frozenset[int]) -> Iterator[tuple[Edge, int]]:
        """Give each edge of ``types`` that can be walked from ``vertex``, and where it leads."""
        links = self._base.links(vertex, direction, self._stored(types))
        return self._walked(vertex, direction, types, links, self.overlay.added(vertex))

    def between(
        self, vertex: int, other: int, direction: Direction, types: frozenset[int]
    ) -> Iterator[tuple[Edge, int]]:
        """Give those ``steps`` that lead to ``other``."""
        links = self._base.links_between(vertex, other, direction, self._stored(types))
        return self._walked(vertex, direction, types, links, self.overlay.added_between(vertex, other))

    def _stored(self, types: frozenset[int]) -> Iterator[int]:
        return (index for index in sorted(types) if index < len(self._base.store.types))

    def _walked(
        self,
        vertex: int,
        direction: Direction,
        types: frozenset[int],
        links: Iterator[Link],
        added: Iterator[tuple[int, RelationshipState]],
    ) -> Iterator[tuple[Edge, int]]:
        deleted = self.overlay.touched_relationships(())
        for link in links:
            if deleted.get(link[0], link) is not None:
                edge = self._edge(link)
                other = edge.leads(vertex, direction)
                if other is not None:
                    yield edge, other
        for number, state in added:
            edge = self._made(number, state)
            other = edge.leads(vertex, direction) if edge.type in types else None
            if other is not None:
                yield edge, other

    # ------------------------------------------------------------ nodes

    def labels_of(self, vertex: int) -> tuple[str, ...]:
        """Return a node's labels.

        Raises
        ------
        ExecutionError
            ``EntityNotFound`` for one that was deleted.
        """
        state = self.overlay.touched_node(vertex)
        if state is False:
            labels = self._base.labels(vertex)
            if labels is not None:
                return labels
        elif not isinstance(state, bool) and state is not None:
            return state.labels
        raise gone("node")

    def has_vertex(self, vertex: int) -> bool:
        """Tell whether a node wasn't deleted."""
        return self.overlay.touched_node(vertex) is not None

    def finder(self, node: PatternNode, predicates: Sequence[Expr], unknown: Set[str], env: Environment) -> Finder:
        """Return what finds a node: by its identity or values of a property where these are given, else by labels."""
        for name, value in identities(node, predicates, unknown):
            return Finder(0.0, self._by_identity(name, compile(value, env)))
        for key, value, predicate in equalities(node, predicates, unknown):
            find = self._by_value(key, compile(value, env), node.labels)
            if predicate not in node.predicates:
                return Finder(_INDEX_SHARE, find)
            return Finder(_INDEX_SHARE, self._sure(find, node.name, compile_predicate(predicate, env)), predicate)
        for key, values in memberships(node, predicates, unknown):
            return Finder(_INDEX_SHARE, self._by_members(key, compile(values, env), node.labels))
        labels = node.labels
        return Finder(self._label_share(labels), lambda row: self._by_labels(labels))

    def _label_share(self, labels: LabelExpr | None) -> float:
        """Return about which share of all nodes satisfies a label expression: of those above the base any may."""
        above = self.overlay.nodes_above + _TO_COME
        return (self._base.label_count(labels) + above) / (self._base.store.vertex_count + above)

    def _by_identity(self, name: str, evaluate: Callable[[Row], Any]) -> Callable[[Row], Iterable[int]]:
        def find(row: Row) -> Iterable[int]:
            number = number_of(name, evaluate(row))
            if number is None:
                return ()
            state = self.overlay.touched_node(number)
            there = self._base.node_place(number) >= 0 if state is False else state is not None
            return (number,) if there else ()

        return find

    def _by_value(
        self, key: str, evaluate: Callable[[Row], Any], labels: LabelExpr | None
    ) -> Callable[[Row], Iterable[int]]:
        """Return what finds the nodes with a value, as a list, or perhaps others too, as another iterable."""

        def find(row: Row) -> Iterable[int]:
            value = evaluate(row)
            if value is None:
                return []
            found = self.with_value(key, value) if type(value) in _PLAIN else None
            return iter(self.having({key: value}, labels)) if found is None else found

        return find

    def _by_members(
        self, key: str, evaluate: Callable[[Row], Any], labels: LabelExpr | None
    ) -> Callable[[Row], Iterable[int]]:
        """Return what finds the nodes with one of the values of a list, each once, and perhaps others."""

        def find(row: Row) -> Iterable[int]:
            values = evaluate(row)
            if type(values) is not list or not _SCALAR.issuperset(map(type, values)):
                return self._by_labels(labels)
            return dict.fromkeys(chain.from_iterable(one({"value": value}) for value in values))

        one = self._by_value(key, itemgetter("value"), labels)
        return find

    def _sure(
        self, find: Callable[[Row], Iterable[int]], name: str, holds: Callable[[Row], bool]
    ) -> Callable[[Row], Iterable[int]]:
        """Return what leaves out of what ``_by_value`` finds the nodes that haven't the value."""

        def found(row: Row) -> Iterable[int]:
            candidates = find(row)
            if type(candidates) is list:
                return candidates
            return (number for number in candidates if holds({**row, name: NodeHandle(number)}))

        return found

    def with_value(self, key: str, value: int | str) -> list[int] | None:
        """Return exactly the nodes with a value of a property, None where no index answers."""
        base, overlay = self._base, self.overlay
        touched = overlay.touched_nodes((key,), ())
        found: list[int] = []
        index = self._node_index(key)
        if index is not None:
            places = index.few(value, self.context)
            found = [number for number in base.numbers(places) if number not in touched]
        elif self._has_column(key):
            return None
        return found + overlay.nodes_with(key, value)

    def having(self, wanted: Mapping[str, Any], labels: LabelExpr | None = None) -> Iterable[int]:
        """Return the nodes whose properties equal some values, and perhaps others that satisfy the label expression."""
        touched = self.overlay.touched_nodes(wanted, ())
        places = self._places(wanted, self._has_column, self._node_index)
        if places is None:
            return self._by_labels(labels)
        found = [number for number in self._base.numbers(places) if number not in touched] if len(places) else []
        return found + self.overlay.nodes_having(wanted)

    def _has_column(self, key: str) -> bool:
        return self._base.store.node_property(key) is not None

    def _node_index(self, key: str) -> ValueFinder | None:
        return hash_index(self._base.store, key, self.context, now=True)

    def relationships_having(self, type: str, wanted: Mapping[str, Any]) -> Iterable[int]:
        """Return the relationships of a type whose properties equal some values, and perhaps others of it."""
        store, touched = self._base.store, self.overlay.touched_relationships(wanted)
        found: list[int] = []
        kind = next((each for each in store.types if each.name == type), None)
        if kind is not None:
            index_of = partial(self._relationship_index, kind.index)
            places = self._places(wanted, kind.property_keys.__contains__, index_of)
            if places is None:
                places = np.arange(kind.count, dtype=np.int64)
            numbers = store.relationship_numbers.of(places + kind.base).tolist()
            found = [number for number in numbers if number not in touched]
        return found + self.overlay.relationships_having(wanted)

    def _relationship_index(self, type: int, key: str) -> ValueFinder | None:
        return hash_index(self._base.store, key, self.context, now=True, type=type)

    def _places(
        self, wanted: Mapping[str, Any], has: Callable[[str], bool], index_of: Callable[[str], ValueFinder | None]
    ) -> Array | None:
        """Return where the elements of the base stand that have some values, by the indexes that answer for them.

        ``has``: tells whether the base has a property. None where no index answers.
        """
        for key in wanted:
            if not has(key):
                return np.empty(0, np.int64)
        answers: list[Array] = []
        for key, value in wanted.items():
            index = index_of(key)
            if index is not None:
                with suppress(Unanswered):
                    answers.append(index.ids(value, self.context))
        answers.sort(key=len)
        for other in answers[1:]:
            at = np.minimum(np.searchsorted(other, answers[0]), max(0, len(other) - 1))
            answers[0] = answers[0][other[at] == answers[0]] if len(other) else other
        return answers[0] if answers else None

    def _by_labels(self, expr: LabelExpr | None) -> Iterator[int]:
        touched = self.overlay.touched_nodes((), names_in(expr))
        for number in self._base.labelled(expr):
            if number not in touched:
                yield number
        if isinstance(expr, LabelIs):
            yield from self.overlay.labelled(expr.name)
            return
        for number, state in tuple(touched.items()):
            if state is not None and (expr is None or expr.admits(frozenset(state.labels))):
                yield number
        yield from self.overlay.block_nodes(expr)

    # ------------------------------------------------------------ values

    def nodes(self, ids: Any) -> list[Node | None]:
        """Return the nodes with these numbers; of a deleted one the number alone is left."""
        return [None if id is None or id < 0 else self._node(id) for id in ids]

    def _node(self, number: int) -> Node:
        state = self.overlay.node(number)
        return Node(number, (), {}) if state is None else Node(number, state.labels, dict(state.properties))

    def relationships(self, ids: Any) -> list[Relationship | None]:
        """Return the relationships with these numbers; of a deleted one the properties are gone."""
        return [None if id is None or id < 0 else self._relationship(id) for id in ids]

    def _relationship(self, number: int) -> Relationship:
        state = self.overlay.relationship(number)
        if state is not None:
            return Relationship(number, state.type, state.start, state.end, dict(state.properties))
        known = self.overlay.known_relationship(number)
        if known is None:
            raise gone("relationship")
        return Relationship(number, known.type, known.start, known.end, {})


class _SameNumbers(Numbers):
    """The numbers of elements that are known by their numbers."""

    def __init__(self, exists: Callable[[int], bool]) -> None:  # nothing is counted for each statement
        self._runs = ()
        self.changed, self.equal_ids = True, False
        self._exists = exists

    def of(self, ids: Array | Sequence[int]) -> Array:
        """Return the numbers themselves."""
        return np.asarray(ids, np.int64)

    def number(self, id: int) -> int:
        """Return the number itself."""
        return id

    def places(self, numbers: Array | Sequence[int]) -> Array:
        """Return the numbers (int64) of elements that there are, -1 for others."""
        return np.array([number if self._exists(number) else -1 for number in map(int, numbers)], np.int64)


class _Types(frozenset[int]):
    """Indices of types that satisfy an expression; of those that come later, too."""

    def __new__(cls, expr: LabelExpr | None, graph: WalkedVersion[Any], known: Iterable[int]) -> _Types:
        made = super().__new__(cls, known)
        made._expr, made._graph, made._count = expr, graph, len(graph.type_names)  # type: ignore[attr-defined]
        return made

    def __contains__(self, index: object) -> bool:
        if super().__contains__(index):
            return True
        if not isinstance(index, int) or index < self._count:  # type: ignore[attr-defined]
            return False
        expr = self._expr  # type: ignore[attr-defined]
        name = self._graph.type_names[index]  # type: ignore[attr-defined]
        return expr is None or bool(expr.admits(frozenset((name,))))


def equalities(
    node: PatternNode | PatternRelationship, predicates: Sequence[Expr], unknown: Set[str]
) -> Iterator[tuple[str, Expr, Comparison]]:
    """Give the properties of an element that must equal what can be evaluated before it is known: to what, and by which
    predicate.
    """
    for each in (*node.predicates, *predicates):
        if not isinstance(each, Comparison) or each.ops != ("=",):
            continue
        for one, other in (each.args, each.args[::-1]):
            if (
                isinstance(one, Property)
                and one.subject == Variable(node.name, type=one.subject.type)
                and not free_variables(other) & ({*unknown, node.name})
                and is_repeatable(other)
            ):
                yield one.key, other, each


def memberships(node: PatternNode, predicates: Sequence[Expr], unknown: Set[str]) -> Iterator[tuple[str, Expr]]:
    """Give the properties of a node that must be in lists that are known before it, and the lists."""
    for each in (*node.predicates, *predicates):
        match each:
            case Call(name="IN", args=(Property(subject=Variable(name=own), key=key), values)) if own == node.name:
                if not free_variables(values) & ({*unknown, own}) and is_repeatable(values):
                    yield key, values


def identities(node: PatternNode, predicates: Sequence[Expr], unknown: Set[str]) -> Iterator[tuple[str, Expr]]:
    """Give which of ``id`` and ``elementId`` of a node must equal what is known before it, and what that is."""
    for each in (*node.predicates, *predicates):
        if not isinstance(each, Comparison) or each.ops != ("=",):
            continue
        for one, other in (each.args, each.args[::-1]):
            match one:
                case Call(name="id" | "elementid" as name, args=(Variable(name=own),)) if own == node.name:
                    if not free_variables(other) & ({*unknown, node.name}) and is_repeatable(other):
                        yield name, other


def is_known(node: PatternNode, predicates: Sequence[Expr], unknown: Set[str]) -> bool:
    """Tell whether a node is found by its identity, or the value of a property."""
    found = next(identities(node, predicates, unknown), None) or next(equalities(node, predicates, unknown), None)
    return found is not None


def gone(kind: str, span: Span | None = None) -> ExecutionError:
    """Return the error of an element that was deleted before."""
    message, hint = f"The {kind} was deleted before.", "Read what you need before DELETE."
    return ExecutionError(message, code="DeletedEntityAccess", span=span, hint=hint)


class LiveGraph(WalkedVersion[Overlay]):
    """A graph that a transaction changes."""

    def __init__(self, overlay: Overlay) -> None:
        super().__init__(overlay)
        #: Nodes (numbers) that DELETE has named in this transaction of the statement, each with its place in the text.
        self.deleted: dict[int, Span | None] = {}
        #: And of many that it has deleted at once.
        self.deleted_together: list[tuple[Array, Span | None]] = []

    def begin(self, context: ExecutionContext) -> None:
        """Begin an execution."""
        super().begin(context)
        self.deleted.clear()
        self.deleted_together.clear()

    def _by_labels(self, expr: LabelExpr | None) -> Iterator[int]:
        found = super()._by_labels(expr)
        # What is read between two nodes may take patches apart: nodes that were given would come again.
        return iter(list(found)) if self.overlay.node_patches.by_place else found


class LiveEnvironment(Environment):
    """What expressions read of a graph that changes: nothing is kept from row to row.

    What is compiled with it serves one execution after the other: between ``begin`` and ``end``.
    """

    def __init__(
        self,
        graph: WalkedVersion[Any],
        *,
        subqueries: Callable[[Any], Callable[[Row], Any]] | None,
        memory: MemoryAccount,
    ) -> None:
        super().__init__(graph, subqueries=subqueries, memory=memory)  # type: ignore[arg-type]
        self._live = graph
        self._overlay: Readable = graph.overlay

    def begin(self, parameters: Mapping[str, Any]) -> None:
        """Begin an execution, at its own time; errors as ``take_parameters``."""
        self.take_parameters(parameters)
        self.now = time.time_ns()

    def end(self) -> None:
        """Let go of the execution's parameters, and of its chance."""
        self.parameters = {}
        self.__dict__.pop("random", None)

    def reader_of(self, name: str) -> Callable[[Row], Any]:
        """Return the closure that evaluates a parameter in whichever execution."""
        self.parameter(name)
        return lambda row: self.parameters[name]

    def labels(self, vertex: int) -> frozenset[str]:
        """Return the set of a node's labels."""
        state = self._overlay.touched_node(vertex)
        if state is False:
            labels = self._overlay.base.label_set(vertex)
            if labels is not None:
                return labels
        elif not isinstance(state, bool) and state is not None:
            return frozenset(state.labels)
        raise gone("node")

    def relationship(self, id: int) -> tuple[int, int, int]:
        """Return type index, start and end of a relationship, also of one that was deleted."""
        state = self._overlay.touched_relationship(id)
        if state is False:
            link = self._overlay.base.link(id)
            if link is None:
                raise gone("relationship")
            return link[1:]
        known = self._overlay.known_relationship(id)
        if known is None:
            raise gone("relationship")
        return self._live.type_index(known.type), known.start, known.end

    def type_name(self, id: int) -> str:
        """Return the name of a relationship's type."""
        return self._live.type_names[self.relationship(id)[0]]

    def node_property(self, id: int, key: str) -> Any:
        """Return a node's property, None where it has none."""
        state = self._overlay.touched_node(id)
        if state is False:
            return self._overlay.base.node_property(id, key)
        if state is None or isinstance(state, bool):
            raise gone("node")
        return state.properties.get(key)

    def relationship_property(self, id: int, key: str) -> Any:
        """Return a relationship's property, None where it has none."""
        state = self._overlay.touched_relationship(id)
        if state is False:
            return self._overlay.base.relationship_property(id, key)
        if state is None or isinstance(state, bool):
            raise gone("relationship")
        return state.properties.get(key)

    def properties(self, entity: NodeHandle | RelationshipHandle) -> dict[str, Any]:
        """Return all properties of a node or relationship."""
        is_node = type(entity) is NodeHandle
        state = self._overlay.node(entity.id) if is_node else self._overlay.relationship(entity.id)
        if state is None:
            raise gone("node" if is_node else "relationship")
        return dict(state.properties)
