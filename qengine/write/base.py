"""A version, read element by element, by their numbers."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from qengine._cached import cached_property
from qengine.plan.pattern import Direction, LabelExpr
from qengine.storage.adjacency import Adjacency
from qengine.storage.columns import PropertyColumn
from qengine.storage.states import NodeState, RelationshipState
from qengine.storage.store import GraphStore

_FEW = 8  # elements whose numbers are found one by one
_KEPT = 4096  # elements that were read one by one

Link = tuple[int, int, int, int]
"""A relationship: its number, the index of its type, the numbers of its start and end."""


class Base:
    """The elements of a ``GraphStore``, one at a time. Labels and properties of one take a few microseconds."""

    def __init__(self, store: GraphStore) -> None:
        self.store = store
        #: How many nodes and relationships there are.
        self.size = store.vertex_count + store.relationship_count
        self.next_node, self.next_relationship = store.identity.next_node, store.identity.next_relationship
        self._are_ids = store.node_numbers.equal_ids
        self._node_place, self._node_number = store.node_numbers.place, store.node_numbers.number
        self._edge_place, self._edge_number = store.relationship_numbers.place, store.relationship_numbers.number
        self._undirected = [kind.undirected for kind in store.types]
        columns = [(key, store.node_property(key)) for key in store.property_keys("node")]
        self._columns = [(key, column) for key, column in columns if column is not None]
        self._nodes: dict[int, NodeState] = {}  # read before
        self._relationships: dict[int, RelationshipState] = {}

    def read_nodes(self, numbers: Sequence[int]) -> None:
        """Read nodes that ``node`` will be asked for together, which takes less than one by one."""
        places = self.store.node_numbers.places(numbers)
        self._nodes = {
            node.id: NodeState(node.labels, node.properties) for node in self.store.nodes(places) if node is not None
        }

    def read_relationships(self, numbers: Sequence[int]) -> None:
        """Read relationships that ``relationship`` will be asked for together."""
        places = self.store.relationship_numbers.places(numbers)
        self._relationships = {
            found.id: RelationshipState(found.type, found.start, found.end, found.properties)
            for found in self.store.relationships(places)
            if found is not None
        }

    # ------------------------------------------------------------ nodes

    def node_place(self, number: int) -> int:
        """Return where a node stands, -1 where there is none."""
        return self._node_place(number)

    def node(self, number: int) -> NodeState | None:
        """Return a node, None where there is none."""
        if (known := self._nodes.get(number)) is not None:
            return known
        place = self._node_place(number)
        if place < 0:
            return None
        properties = {}
        for key, column in self._columns:
            value = column.value(place)
            if value is not None:
                properties[key] = value
        found = NodeState(self.store.labels_of(place), properties)
        if len(self._nodes) >= _KEPT:
            self._nodes = {}
        self._nodes[number] = found
        return found

    def labels(self, number: int) -> tuple[str, ...] | None:
        """Return a node's labels, None where there is no node."""
        place = self._node_place(number)
        return None if place < 0 else self.store.labels_of(place)

    def label_set(self, number: int) -> frozenset[str] | None:
        """Return a node's labels as a set, None where there is no node."""
        place = self._node_place(number)
        return None if place < 0 else self.store.label_set(place)

    def node_property(self, number: int, key: str) -> Any:
        """Return a node's property, None where it has none."""
        column = self.store.node_property(key)
        return None if column is None else column.value(self._node_place(number))

    def numbers(self, places: Any) -> list[int]:
        """Return the numbers of the nodes at some places, a list or an array."""
        if self._are_ids and type(places) is list:
            return places
        if len(places) <= _FEW:
            return [self._node_number(int(place)) for place in places]
        found: list[int] = self.store.node_numbers.of(np.asarray(places, np.int64)).tolist()
        return found

    def labelled(self, expr: LabelExpr | None) -> Iterator[int]:
        """Give the nodes that satisfy a label expression."""
        for begin, end in self.store.label_ranges(expr).tolist():
            for first in range(begin, end, 4096):
                yield from self.numbers(np.arange(first, min(first + 4096, end)))

    def label_count(self, expr: LabelExpr | None) -> int:
        """Return how many nodes satisfy a label expression."""
        ranges = self.store.label_ranges(expr)
        return int((ranges[:, 1] - ranges[:, 0]).sum())

    # ------------------------------------------------------------ relationships

    def has(self, number: int) -> bool:
        """Tell whether there is a relationship."""
        return self._edge_place(number) >= 0

    def relationship(self, number: int) -> RelationshipState | None:
        """Return a relationship, None where there is none."""
        if (known := self._relationships.get(number)) is not None:
            return known
        place = self._edge_place(number)
        if place < 0:
            return None
        index, start, end = self._ends(place)
        kind, properties = self.store.types[index], {}
        for key, column in self._relationship_columns[index]:
            value = column.value(place - kind.base)
            if value is not None:
                properties[key] = value
        found = RelationshipState(kind.name, start, end, properties)
        if len(self._relationships) >= _KEPT:
            self._relationships = {}
        self._relationships[number] = found
        return found

    def link(self, number: int) -> Link | None:
        """Return a relationship's type and ends, None where there is none."""
        place = self._edge_place(number)
        if place < 0:
            return None
        if (known := self._relationships.get(number)) is not None:
            index = self.store.type_index(known.type)
            assert index is not None
            return number, index, known.start, known.end
        return number, *self._ends(place)

    def _ends(self, place: int) -> tuple[int, int, int]:
        """Return the index of the type of the relationship at a place, and the numbers of its start and end."""
        index = bisect_right(self._bases, place) - 1
        out, local = self._out[index], place - self._bases[index]
        return index, self._node_number(out.owner(local)), self._node_number(int(out.neighbours[local]))

    def relationship_property(self, number: int, key: str) -> Any:
        """Return a relationship's property, None where it has none."""
        place = self._edge_place(number)
        kind = self.store.types[bisect_right(self._bases, place) - 1]
        column = self.store.relationship_property(kind.index, key)
        return None if column is None else column.value(place - kind.base)

    def incident(self, node: int) -> Iterator[Link]:
        """Give the relationships that a node is an end of, each once."""
        return self.links(node, Direction.BOTH, range(len(self.store.types)))

    def links(self, node: int, direction: Direction, types: Iterable[int]) -> Iterator[Link]:
        """Give the relationships of some types that can be walked from a node, each once."""
        place = self._node_place(node)
        if place < 0:
            return
        for index in types:
            ways = direction.stored(self._undirected[index])
            for way in ways:
                yield from self._list(index, way, place, None, skip_loops=len(ways) > 1 and way is Direction.IN)

    def links_between(self, node: int, other: int, direction: Direction, types: Iterable[int]) -> Iterator[Link]:
        """Give those ``links`` of a node whose other end is another."""
        place, there = self._node_place(node), self._node_place(other)
        if place < 0 or there < 0:
            return
        for index in types:
            ways = direction.stored(self._undirected[index])
            for way in ways:
                yield from self._list(index, way, place, there, skip_loops=len(ways) > 1 and way is Direction.IN)

    def _list(self, index: int, way: Direction, place: int, other: int | None, *, skip_loops: bool) -> Iterator[Link]:
        """Give the entries of a node's list, those that lead to ``other`` where that is known."""
        lists = self.store.adjacency(index, way)
        begin, end = lists.locate(place)
        if other is not None:
            begin, end = _run(lists, begin, end, other)
        base, number_of = self.store.types[index].base, self._node_number
        node = number_of(place)
        for at in range(begin, end):
            there = int(lists.neighbours[at])
            if skip_loops and there == place:
                continue
            local, forward = self._local(index, way, place, there, at)
            far = number_of(there)
            yield self._edge_number(base + local), index, *((node, far) if forward else (far, node))

    def _local(self, index: int, way: Direction, place: int, there: int, at: int) -> tuple[int, bool]:
        """Return the local id of an entry, and whether the relationship leads away from the list's vertex."""
        if way is Direction.OUT:
            return at, True
        out = self._out[index]
        ids = self.store.adjacency(index, way).edge_ids
        if ids is not None:
            local = int(ids[at])
            if way is Direction.IN:
                return local, False
            low, high = out.locate(place)
            return local, low <= local < high
        low, high = _run(out, *out.locate(there), place)
        if low < high:
            return low, way is Direction.BOTH and place == there
        low, _ = _run(out, *out.locate(place), there)
        return low, True

    @cached_property
    def _bases(self) -> list[int]:
        return [kind.base for kind in self.store.types]

    @cached_property
    def _relationship_columns(self) -> list[list[tuple[str, PropertyColumn]]]:
        """By type the columns of its relationships' properties."""
        kinds = self.store.types
        columns = [
            [(key, self.store.relationship_property(each.index, key)) for key in each.property_keys] for each in kinds
        ]
        return [[(key, column) for key, column in own if column is not None] for own in columns]

    @cached_property
    def _out(self) -> list[Adjacency]:
        return [self.store.adjacency(index, Direction.OUT) for index in range(len(self.store.types))]


def _run(lists: Adjacency, begin: int, end: int, vertex: int) -> tuple[int, int]:
    """Return where a vertex stands within an ascending list."""
    low = bisect_left(lists.neighbours, vertex, begin, end)
    return low, bisect_right(lists.neighbours, vertex, low, end)
