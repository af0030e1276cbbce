"""The immutable graph snapshot that planners and executors read."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from qengine._cached import cached_property
from qengine._frozen import frozen
from qengine._lru import LruCache
from qengine.catalog.rules import NO_RULES, Rules
from qengine.catalog.values import ValueSummary
from qengine.catalog.view import EdgeStatistics, Incidence, Labels, RelationshipTypeInfo, TriangleSide
from qengine.plan.pattern import Direction, LabelExpr, LabelIs
from qengine.storage.adjacency import Adjacency, Form
from qengine.storage.arrays import Array
from qengine.storage.columns import PropertyColumn, property_maps
from qengine.storage.kept_indexes import KeptIndexes
from qengine.storage.nature import Nature
from qengine.storage.numbers import Identity, Numbers
from qengine.storage.samples import Sample
from qengine.storage.schema import Schema
from qengine.storage.signatures import Signatures
from qengine.storage.statistics import Statistics
from qengine.types import ANY, Node, Relationship, Type

Place = tuple[str, str] | tuple[str, int, str]
"""Of an index among what is derived of a graph: its kind, the type where it is of relationships, and the property."""

_KNOWN_RANGES = 4096  # label expressions whose ranges are remembered
_INDEXES = frozenset(("hash", "sorted", "codes"))  # with what begins the places of indexes among what is derived
_SPARED = 32  # times fewer elements are sampled where pages cost
_HARDLY = 100  # at most one of so many elements differs from the version before, where estimates are made of that
_LEAST_DERIVED = 1 << 20  # bytes that may be derived of a small graph; of a larger one as many as it has


@frozen
class LabelGroup:
    """The vertices ``[begin, end)``: all that have exactly these labels."""

    labels: frozenset[str]
    begin: int
    end: int


@frozen
class EdgeType:
    """One relationship type. Relationship ids are ``base + local id``, local ids ``0..count-1``.

    ``undirected``: stored once, matched both ways. ``parallel``: two vertices may have several in one direction
    (undirected: between them). ``loops``: there are self-loops.
    """

    name: str
    index: int
    base: int
    count: int
    undirected: bool = False
    parallel: bool = False
    loops: bool = False
    property_keys: tuple[str, ...] = ()


class GraphStore:
    """A property graph: labelled id ranges, one PCSR a relationship type and direction, Arrow property columns.

    Vertex ids are dense uint32 ``0..vertex_count-1``, grouped by label set, in a group by descending degree when
    loaded. Relationship ids are int64, dense over all types; a local id is the position in the type's OUT adjacency.
    Users see numbers instead (``storage.numbers``). A changed graph may have several groups with one label set.
    Implements ``exec.view.ExecView``, and so ``catalog.view.CatalogView``. Nothing changes after construction: threads
    may share it. ``derived`` keeps what executions have computed of the graph alone, each with ``nbytes``;
    ``kept`` the declared indexes that were searched.

    Parameters
    ----------
    groups
        Ascending, covering all ids.
    labels
        All labels in order of first appearance.
    types
        Relationship types with their places in the id space.
    adjacencies
        For each type, OUT and IN (directed) or OUT and BOTH (undirected).
    node_properties
        Column by key.
    relationship_properties
        For each type, column by key; they cover local ids from 0.
    identity
        The numbers of nodes, and of relationships by type; None where they are the internal ids.
    rules
        Declared indexes, and constraints that the graph satisfies.
    """

    sparing = False
    """Whether each page of the arrays that is read costs: then samples are smaller. Who opens the files sets it."""

    def __init__(
        self,
        groups: Sequence[LabelGroup],
        labels: Sequence[str],
        types: Sequence[EdgeType],
        adjacencies: Sequence[Mapping[Direction, Adjacency]],
        node_properties: Mapping[str, PropertyColumn],
        relationship_properties: Sequence[Mapping[str, PropertyColumn]],
        identity: Identity | None = None,
        rules: Rules = NO_RULES,
    ) -> None:
        self.groups = tuple(groups)
        self.labels = tuple(labels)
        self.types = tuple(types)
        self.rules = rules
        self._adjacencies = tuple(adjacencies)
        self._node_properties = dict(node_properties)
        self._relationship_properties = tuple(dict(columns) for columns in relationship_properties)
        self._type_index = {edge_type.name: edge_type.index for edge_type in self.types}
        self._label_ranges: dict[LabelExpr | None, Array] = {}
        self.identity = identity or Identity.of_ids(self.vertex_count, [each.count for each in self.types])
        self._bases = np.array([edge_type.base for edge_type in self.types] + [self.relationship_count], np.int64)
        self.derived: LruCache[Any] = LruCache(
            max(self._own_bytes, _LEAST_DERIVED), lambda derived: int(derived.nbytes)
        )
        self.kept = KeptIndexes()
        self.statistics_before: Callable[[Statistics], None] | None = None  # begins with those of the version before
        self.version_before: Callable[[], GraphStore | None] = lambda: None  # which it doesn't keep
        self.is_better_base = False  # than the version before: changes can be spliced into more of its lists
        self.drift = 0  # elements that differ from those of the first version of this nature

    def __repr__(self) -> str:
        return f"GraphStore({self.vertex_count:,} nodes, {self.relationship_count:,} relationships)"

    # -- catalogue ---------------------------------------------------------------------------------------------

    @property
    def vertex_count(self) -> int:
        """Number of vertices."""
        return self.groups[-1].end if self.groups else 0

    @property
    def relationship_count(self) -> int:
        """Number of relationships, each undirected one once."""
        return self.types[-1].base + self.types[-1].count if self.types else 0

    @cached_property
    def _known_labels(self) -> frozenset[str]:
        return frozenset(self.labels)

    def has_label(self, name: str) -> bool:
        """Tell whether it is one of the labels."""
        return name in self._known_labels

    def has_type(self, name: str) -> bool:
        """Tell whether it is one of the relationship types."""
        return name in self._type_index

    @cached_property
    def relationship_types(self) -> tuple[str, ...]:
        """All relationship types, in the order of first appearance."""
        return tuple(edge_type.name for edge_type in self.types)

    @cached_property
    def undirected_types(self) -> frozenset[str]:
        """The names of the types whose relationships have no direction."""
        return frozenset(edge_type.name for edge_type in self.types if edge_type.undirected)

    @cached_property
    def label_sets(self) -> tuple[tuple[frozenset[str], int], ...]:
        """Each set of labels that vertices have, with how many have exactly it."""
        counts: dict[frozenset[str], int] = {}
        for group in self.groups:
            counts[group.labels] = counts.get(group.labels, 0) + group.end - group.begin
        return tuple(counts.items())

    def relationship_type(self, name: str) -> RelationshipTypeInfo | None:
        """Return what is known of a type, None for an unknown one."""
        return self._type_infos.get(name)

    @cached_property
    def _type_infos(self) -> dict[str, RelationshipTypeInfo]:
        infos = {}
        for each in self.types:
            ways = (Direction.BOTH,) * 2 if each.undirected else (Direction.OUT, Direction.IN)
            out, back = (self.adjacency(each.index, way).form is Form.DENSE for way in ways)
            known = each.count, each.undirected, each.parallel, each.loops, (out, back)
            infos[each.name] = RelationshipTypeInfo(each.name, *known)
        return infos

    def property_keys(self, entity: str) -> tuple[str, ...]:
        """Return all property keys of "node" or "relationship"s, in the order of first appearance."""
        if entity == "node":
            return tuple(self._node_properties)
        return tuple(self._columns_of[False])

    def property_type(self, entity: str, key: str) -> Type | None:
        """Return the type of property ``key`` of "node" or "relationship"s; ANY if mixed, None if unknown."""
        types = {column.type for column in self._columns(entity, key)}
        return None if not types else types.pop() if len(types) == 1 else ANY

    def is_key(self, key: str) -> bool:
        """Tell whether an index that is kept knows that no two nodes have the same value of a property."""
        index = self.derived.find(("hash", key))
        return index is not None and bool(index.unique)

    def take_over_indexes(self, before: GraphStore) -> None:
        """Keep the indexes and the codes of columns that are those of the version before, whose ids are the same.

        Of columns in which few values differ those that have these, too.
        """
        for place, index in before.derived.items():
            if isinstance(place, tuple) and place[0] in _INDEXES:
                self._take_over(place, index, before)

    def _take_over(self, place: Place, index: Any, before: GraphStore) -> Any:
        """Keep one of these; ``place``: that of the version before. Return None where it can't be followed."""
        *types, key = place[1:]
        if types:
            kind = before.types[types[0]]
            now = self.type_index(kind.name)
            if now is None or self.relationship_property(now, key) is not before.relationship_property(types[0], key):
                return None
            place = place[0], now, key
        else:
            was, column = before.node_property(key), self.node_property(key)
            if was is not column:
                change = column.changed_from(was) if was is not None and column is not None else None
                index = None if change is None else index.with_change(change)
        return None if index is None else self.derived.get(place, lambda: index)

    def made_of(self, key: str) -> GraphStore | None:
        """Return the version before, while it is there, if this one can follow its indexes of a property of nodes."""
        before = self.version_before()
        was, column = None if before is None else before.node_property(key), self.node_property(key)
        if was is None or column is None or (was is not column and column.changed_from(was) is None):
            return None
        return before

    def follow_index(self, place: Place, before: GraphStore) -> Any:
        """Return an index of a property of nodes, made of that of the version before; None where that has none."""
        index = before.derived.find(place)
        return None if index is None else self._take_over(place, index, before)

    def edge_statistics(self, source: Labels, type: str | None, target: Labels) -> EdgeStatistics:
        """Return statistics of the matches of ``(:source)-[:type]->(:target)``, any of them None for all.

        A relationship of an undirected type counts both ways. Unknown names give zeros.
        """
        return self.statistics.edges(source, type, target)

    def edges_by_label_sets(self, type: str) -> Array:
        """Return int64[pairs, 3]: places in ``label_sets`` of sources and targets, and how many relationships."""
        return self.statistics.edges_by_label_sets(type)

    def acyclic(self, type: str) -> bool:
        """Tell whether no path of relationships of a directed type leads back to where it began."""
        return self.statistics.acyclic(type)

    def antiparallel(self, type: str) -> bool:
        """Tell whether relationships of a directed type join two different vertices both ways."""
        return self.statistics.antiparallel(type)

    def mutual_pairs(self, type: str) -> float | None:
        """Return about how many ordered pairs relationships of a directed type join both ways; None where unknown."""
        return self.statistics.mutual_pairs(type)

    def closing_odds(self, type: str, labels: Sequence[Labels]) -> float:
        """Return by how much the odds of a relationship of a type grow where it closes a triangle of such."""
        return self.statistics.closing_odds(type, labels)

    def closed_wedges(self, type: str) -> float:
        """Return about how many paths of two relationships of a type are closed by a third."""
        return self.statistics.closed_wedges(type)

    def mixed_closing_odds(
        self, labels: tuple[Labels, Labels, Labels], sides: tuple[TriangleSide, TriangleSide, TriangleSide]
    ) -> tuple[float, float, float]:
        """Return by how much the odds of each side of a triangle of any kinds grow where the other two are."""
        return self.statistics.mixed_closing_odds(labels, sides)

    def together(self, labels: Labels, one: Incidence, other: Incidence) -> float:
        """Return E[dd'] / E[d]E[d'] of the degrees of vertices with some labels in two kinds of relationships."""
        return self.statistics.together(labels, one, other)

    def degrees_of(self, nodes: Array, kind: Incidence) -> Array:
        """Return the degrees of some nodes in a kind of relationships: float64."""
        return self.statistics.degrees_of(nodes, kind)

    def value_summaries(self, entity: str, key: str, owners: LabelExpr | None) -> tuple[ValueSummary, ...]:
        """Return what is known of a property's values: of the nodes of a label expression, or of each type of one."""
        return self.statistics.value_summaries(entity, key, owners)

    def node_sample(self, labels: LabelExpr | None, *, every: bool = False) -> Sample | None:
        """Return some of the nodes that satisfy a label expression, with their properties; or all, if not too many."""
        return self.statistics.samples.nodes(labels, every)

    def relationship_sample(
        self, type: str, source: Labels, target: Labels, *, both: bool, many: bool = False
    ) -> Sample:
        """Return some of a type's relationships between some labels, with the properties of all three elements."""
        return self.statistics.samples.relationships(type, source, target, both, many)

    def relationships_at(self, type: str, nodes: Any, element: str, other: Labels, *, both: bool) -> Sample:
        """Return some of the relationships that some nodes have, with the properties of all three elements."""
        return self.statistics.samples.at_nodes(type, nodes, element, other, both)

    def wedge_sample(
        self, labels: Labels, one: Incidence, other: Incidence, *, apart: str, many: bool = False
    ) -> Sample:
        """Return some of the pairs of relationships that meet at a node, with the properties of all five elements."""
        return self.statistics.samples.wedges(labels, one, other, apart, many)

    def closing(self, sample: Any, kind: Incidence) -> Array:
        """Return how many relationships of a kind lead from the first node of pairs of them that meet to the last."""
        return self.statistics.samples.closing(sample, kind)

    def joined_again(self, sample: Any, one: Incidence, other: Incidence, *, apart: bool) -> float | None:
        """Return how many further pairs of relationships join the first and the last node of pairs that meet."""
        return self.statistics.samples.joined_again(sample, one, other, apart)

    @property
    def node_numbers(self) -> Numbers:
        """The nodes' numbers."""
        return self.identity.nodes

    @property
    def relationship_numbers(self) -> Numbers:
        """The relationships' numbers."""
        return self.identity.relationships

    @property
    def next_node(self) -> int:
        """The least number that no node was ever given."""
        return self.identity.next_node

    @property
    def next_relationship(self) -> int:
        """The least number that no relationship was ever given."""
        return self.identity.next_relationship

    def fewer(self, rows: int) -> int:
        """Return how many elements to look at where ``rows`` would be if their pages cost nothing."""
        return rows // _SPARED if self.sparing else rows

    @cached_property
    def statistics(self) -> Statistics:
        """Counts, degrees and values."""
        found, follow = Statistics(self), self.statistics_before
        if follow is not None:
            follow(found)
            self.statistics_before = None  # which lets the version before go
        return found

    @cached_property
    def nature(self) -> Nature:
        """What plans rely on; a version that is made of another one may have that one's."""
        return Nature(self)

    @property
    def estimated_by(self) -> GraphStore:
        """The version of whose numbers estimates are made: the one before, if its plans hold and hardly any differs."""
        before = self.version_before()
        if before is None or before.nature is not self.nature:
            return self
        size = self.vertex_count + self.relationship_count
        return before if (self.drift - before.drift) * _HARDLY <= size else self

    @cached_property
    def signatures(self) -> Signatures:
        """What kinds of neighbours each vertex has, computed when first asked for."""
        numbers = {label: number for number, label in enumerate(self.labels)}
        labels = [sorted(numbers[label] for label in group.labels) for group in self.groups]
        return Signatures(self._group_ends, labels, self._adjacencies)

    @cached_property
    def schema(self) -> Schema:
        """Labels and types with their properties; its ``repr`` is meant to be read."""
        return Schema.of(self)

    # -- vertices ----------------------------------------------------------------------------------------------

    def label_ranges(self, expr: LabelExpr | None) -> Array:
        """Return the ids that satisfy a label expression as merged ranges ``[begin, end)``: uint32[k, 2], read-only."""
        found = self._label_ranges.get(expr)
        if found is None:
            if len(self._label_ranges) >= _KNOWN_RANGES:
                self._label_ranges.clear()
            found = self._label_ranges[expr] = self._find_label_ranges(expr)
        return found

    def _find_label_ranges(self, expr: LabelExpr | None) -> Array:
        ranges: list[list[int]] = []
        among = self._groups_of_label.get(expr.name, ()) if isinstance(expr, LabelIs) else self.groups
        for group in among:
            if group.begin == group.end or not (expr is None or expr.admits(group.labels)):
                continue
            if ranges and ranges[-1][1] == group.begin:
                ranges[-1][1] = group.end
            else:
                ranges.append([group.begin, group.end])
        found = np.array(ranges, np.uint32).reshape(-1, 2)
        found.flags.writeable = False
        return found

    @cached_property
    def _groups_of_label(self) -> dict[str, list[LabelGroup]]:
        found: dict[str, list[LabelGroup]] = {}
        for group in self.groups:
            for label in group.labels:
                found.setdefault(label, []).append(group)
        return found

    def labels_of(self, vertex: int) -> tuple[str, ...]:
        """Return a vertex's labels in the order of ``labels``."""
        return self._ordered_labels[bisect_right(self._ends_of_groups, vertex)]

    def label_set(self, vertex: int) -> frozenset[str]:
        """Return a vertex's labels as a set."""
        return self.groups[bisect_right(self._ends_of_groups, vertex)].labels

    def group_labels(self, group: int) -> tuple[str, ...]:
        """Return the labels of the ``group``-th of ``groups`` in the order of ``labels``."""
        return self._ordered_labels[group]

    def node_property(self, key: str) -> PropertyColumn | None:
        """Return a node property's column, None where no node has it."""
        return self._node_properties.get(key)

    def nodes(self, ids: Array | Sequence[int | None]) -> list[Node | None]:
        """Return the nodes with these internal ids (-1 or None: None); properties that are null are absent."""
        wanted = _id_array(ids)
        place = None
        if not (wanted[1:] > wanted[:-1]).all():
            wanted, place = np.unique(wanted, return_inverse=True)  # a node that comes often is made once
        nulls = int(np.searchsorted(wanted, 0))
        wanted = wanted[nulls:]
        groups = np.searchsorted(self._group_ends, wanted, side="right").tolist()
        labels = map(self._ordered_labels.__getitem__, groups)
        nodes: list[Node | None] = [None] * nulls
        nodes += map(Node, self.node_numbers.of(wanted).tolist(), labels, property_maps(self._node_properties, wanted))
        return nodes if place is None else [nodes[each] for each in place.tolist()]

    # -- relationships -----------------------------------------------------------------------------------------

    def type_index(self, name: str) -> int | None:
        """Return the index of a relationship type, None for an unknown one."""
        return self._type_index.get(name)

    def matching_types(self, expr: LabelExpr | None) -> tuple[int, ...]:
        """Return the indices of the types that satisfy a label expression over the type, ascending."""
        return tuple(found.index for found in self.types if expr is None or expr.admits(frozenset((found.name,))))

    def adjacency(self, type_index: int, direction: Direction) -> Adjacency:
        """Return a type's stored adjacency.

        Parameters
        ----------
        type_index
            Which type.
        direction
            OUT or IN; for an undirected type OUT (each relationship once, as loaded) or BOTH (symmetric, a
            self-loop once). BOTH of a directed type is the union of OUT and IN and isn't stored.

        Raises
        ------
        KeyError
            For a direction that isn't stored.
        """
        return self._adjacencies[type_index][direction]

    def adjacencies(self, type_index: int) -> Mapping[Direction, Adjacency]:
        """Return all stored adjacencies of a type."""
        return self._adjacencies[type_index]

    def relationship_property(self, type_index: int, key: str) -> PropertyColumn | None:
        """Return the column of a relationship property by local id, None where the type lacks it."""
        return self._relationship_properties[type_index].get(key)

    def type_of(self, relationship_ids: Array) -> Array:
        """Return the type index (int32) of each global relationship id."""
        return (np.searchsorted(self._bases, relationship_ids, side="right") - 1).astype(np.int32)

    def endpoints(self, relationship_ids: Array) -> tuple[Array, Array]:
        """Return the start and end vertices (uint32) of global relationship ids."""
        ids = np.asarray(relationship_ids, np.int64)
        start, end = np.empty(len(ids), np.uint32), np.empty(len(ids), np.uint32)
        types = self.type_of(ids)
        for index in np.unique(types).tolist():
            rows = types == index
            out = self.adjacency(index, Direction.OUT)
            local = ids[rows] - self.types[index].base
            start[rows] = out.owners(local)
            end[rows] = out.neighbours[local]
        return start, end

    def relationships(self, ids: Array | Sequence[int | None]) -> list[Relationship | None]:
        """Return the relationships with these internal ids (-1 or None: None); null properties are absent."""
        wanted = _id_array(ids)
        found: list[Relationship | None] = [None] * len(wanted)
        present = np.flatnonzero(wanted >= 0)
        types = self.type_of(wanted[present])
        for index in np.unique(types).tolist():
            rows = present[types == index]
            chosen = wanted[rows]
            numbers = self.relationship_numbers.of(chosen).tolist()
            start, end = (self.node_numbers.of(vertices).tolist() for vertices in self.endpoints(chosen))
            properties = property_maps(self._relationship_properties[index], chosen - self.types[index].base)
            made = map(Relationship, numbers, repeat(self.types[index].name), start, end, properties)
            for row, relationship in zip(rows.tolist(), made, strict=True):
                found[row] = relationship
        return found

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays: adjacencies and property columns, and what has been derived of them and is kept."""
        return self._own_bytes + self.derived.held + self.kept.nbytes + self.statistics.nbytes

    def check(self, advance: Callable[[float], None] = lambda steps: None) -> None:
        """Check all arrays of a graph that was opened now, instead of each when it is first read.

        ``advance`` is told how many bytes were checked.

        Raises
        ------
        StorageError
            If one is damaged.
        """
        for one in (lists for by_direction in self._adjacencies for lists in by_direction.values()):
            _ = one.neighbours
            advance(one.nbytes)
        for column in self._all_columns():
            _ = column.array
            advance(column.nbytes)
        for numbers in (self.node_numbers, self.relationship_numbers):
            numbers.check()
            advance(numbers.nbytes)

    # -- inside ------------------------------------------------------------------------------------------------

    @cached_property
    def _own_bytes(self) -> int:
        adjacencies = sum(one.nbytes for by_direction in self._adjacencies for one in by_direction.values())
        numbers = self.node_numbers.nbytes + self.relationship_numbers.nbytes
        return adjacencies + numbers + sum(column.nbytes for column in self._all_columns())

    def _all_columns(self) -> list[PropertyColumn]:
        by_key = [self._node_properties, *self._relationship_properties]
        return [column for columns in by_key for column in columns.values()]

    def _columns(self, entity: str, key: str) -> list[PropertyColumn]:
        return self._columns_of[entity == "node"].get(key, [])

    @cached_property
    def _columns_of(self) -> tuple[dict[str, list[PropertyColumn]], dict[str, list[PropertyColumn]]]:
        """By key the columns of relationships' properties, those of all types, and of nodes'."""
        found: dict[str, list[PropertyColumn]] = {}
        for columns in self._relationship_properties:
            for key, column in columns.items():
                found.setdefault(key, []).append(column)
        return found, {key: [column] for key, column in self._node_properties.items()}

    @cached_property
    def _group_ends(self) -> Array:
        return np.array([group.end for group in self.groups], np.int64)

    @cached_property
    def _ends_of_groups(self) -> list[int]:
        return [group.end for group in self.groups]

    @cached_property
    def _ordered_labels(self) -> tuple[tuple[str, ...], ...]:
        place = {label: number for number, label in enumerate(self.labels)}
        return tuple(tuple(sorted(group.labels, key=place.__getitem__)) for group in self.groups)


def _id_array(ids: Array | Sequence[int | None]) -> Array:
    if isinstance(ids, np.ndarray):
        return ids.astype(np.int64)
    return np.array([-1 if one is None else one for one in ids], np.int64)
