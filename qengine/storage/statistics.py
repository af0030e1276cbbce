"""What is counted of a graph: relationships between labels, degrees, values of properties."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from qengine._frozen import frozen
from qengine.catalog.view import EdgeStatistics
from qengine.plan.pattern import Direction, LabelExpr, LabelIs
from qengine.storage.arrays import Array
from qengine.storage.columns import PropertyColumn
from qengine.storage.kernels import pair_statistics
from qengine.temporal.arrow import to_values

if TYPE_CHECKING:
    from qengine.storage.store import GraphStore

_QUANTILES = (0.5, 0.9, 0.99)

_Counts = tuple[int, int, int, float, float, float, float]
"""Entries, owners, the most of one owner, and the four moments of ``kernels.pair_statistics``."""

_NONE: _Counts = (0, 0, 0, 0.0, 0.0, 0.0, 0.0)


@frozen
class DegreeSummary:
    """Degrees of the vertices with a label in one type and direction.

    ``vertices``: with the label; ``with_edges``: of them with a degree above 0; ``mean``, ``median``, ``p90``,
    ``p99`` and ``maximum`` are over all ``vertices``.
    """

    vertices: int
    with_edges: int
    mean: float
    median: float
    p90: float
    p99: float
    maximum: int


@frozen
class ValueSummary:
    """Values of a property among the entities that its column covers.

    ``distinct``, ``minimum`` and ``maximum`` are None where types are mixed or have no order.
    """

    count: int
    nulls: int
    distinct: int | None
    minimum: Any
    maximum: Any


class Statistics:
    """Statistics of one graph, each computed when first asked for and kept.

    ``print(graph.statistics)`` shows the relationships between label sets.
    """

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._pairs: dict[tuple[int, Direction], dict[tuple[int, int], _Counts]] = {}
        self._groups: dict[str | None, list[int]] = {None: list(range(len(store.groups)))}
        for index, group in enumerate(store.groups):
            for label in group.labels:
                self._groups.setdefault(label, []).append(index)
        self._edges: dict[tuple[str | None, str | None, str | None], EdgeStatistics] = {}
        self._distinct: dict[tuple[str, str], int | None] = {}

    def edges(self, source: str | None, type: str | None, target: str | None) -> EdgeStatistics:
        """Return statistics of the matches of ``(:source)-[:type]->(:target)``; None stands for all.

        A relationship of an undirected type counts both ways, a self-loop once.
        """
        key = (source, type, target)
        if key not in self._edges:
            self._edges[key] = self._between_groups(*key) or self._between_ranges(*key)
        return self._edges[key]

    def degrees(self, label: str | None, type: str, direction: Direction = Direction.OUT) -> DegreeSummary:
        """Return a summary of the degrees of the vertices with a label (None: all).

        Raises
        ------
        KeyError
            For an unknown type.
        """
        store = self._store
        index = store.type_index(type)
        if index is None:
            raise KeyError(type)
        degrees = np.zeros(store.vertex_count, np.int64)
        both = store.types[index].undirected or direction is Direction.BOTH
        for way in self._ways(index, Direction.BOTH if both else direction):
            self._degrees(index, way, label, None, degrees)
        own = degrees[self._inside(np.arange(store.vertex_count), label)]
        if not len(own):
            return DegreeSummary(0, 0, 0.0, 0.0, 0.0, 0.0, 0)
        median, p90, p99 = np.quantile(own, _QUANTILES).tolist()
        return DegreeSummary(len(own), int(np.count_nonzero(own)), float(own.mean()), median, p90, p99, int(own.max()))

    def values(self, entity: str, key: str, type: str | None = None) -> ValueSummary:
        """Return a summary of the values of a property of "node" or "relationship"s (of one type).

        Raises
        ------
        KeyError
            For an unknown property, or one that several types have and no type is named.
        """
        columns = [column for owner, column in self._columns(entity, key) if type in (None, owner)]
        if len(columns) != 1:
            raise KeyError(key)
        array = columns[0].array
        nulls = int(pc.sum(pc.is_null(array)).as_py() or 0)
        low = high = None
        if columns[0].ordered and nulls < len(array):
            both = pc.min_max(array)
            low, high = to_values(pa.array([both["min"], both["max"]], array.type))
        return ValueSummary(len(array), nulls, columns[0].distinct(), low, high)

    def distinct_values(self, entity: str, key: str) -> int | None:
        """Return the number of distinct values of a property of "node" or "relationship"s, None if unknown.

        Over several relationship types: the largest of theirs.
        """
        if (entity, key) not in self._distinct:
            counts = [column.distinct() for _, column in self._columns(entity, key)]
            known = [count for count in counts if count is not None]
            self._distinct[entity, key] = max(known) if known and len(known) == len(counts) else None
        return self._distinct[entity, key]

    def know(self, type: str, found: EdgeStatistics) -> None:
        """Take the statistics of all relationships of a type from a saved graph."""
        self._edges[None, type, None] = found

    def pairs(self, type_index: int) -> dict[tuple[int, int], EdgeStatistics]:
        """Return statistics of a type between label groups, by the indices of both ends' groups."""
        forward, backward = self._directions(type_index)
        back = self._counts(type_index, backward)
        return {
            (source, target): _statistics(counts, back[target, source])
            for (source, target), counts in self._counts(type_index, forward).items()
        }

    def __repr__(self) -> str:
        store = self._store
        names = [
            "".join(f":{label}" for label in labels) for labels in map(store.group_labels, range(len(store.groups)))
        ]
        lines = [f"{store.vertex_count:,} nodes, {store.relationship_count:,} relationships"]
        for edge_type in store.types:
            for (source, target), found in self.pairs(edge_type.index).items():
                arrow = "-" if edge_type.undirected else "->"
                lines.append(
                    f"({names[source]})-[:{edge_type.name}]{arrow}({names[target]})  {found.edges:,}"
                    f"  ends {found.sources:,} and {found.targets:,}"
                    f"  degrees {found.edges / found.sources:.1f} (most {found.max_out:,})"
                    f" and {found.edges / found.targets:.1f} (most {found.max_in:,})"
                )
        return "\n".join(lines)

    def _columns(self, entity: str, key: str) -> Iterator[tuple[str, PropertyColumn]]:
        store = self._store
        columns = (
            [("", store.node_property(key))]
            if entity == "node"
            else [(one.name, store.relationship_property(one.index, key)) for one in store.types]
        )
        return ((owner, column) for owner, column in columns if column is not None)

    def _directions(self, index: int) -> tuple[Direction, Direction]:
        return (Direction.BOTH,) * 2 if self._store.types[index].undirected else (Direction.OUT, Direction.IN)

    def _ways(self, index: int, direction: Direction) -> tuple[Direction, ...]:
        """Return the stored adjacencies that make a direction."""
        directed = not self._store.types[index].undirected
        return (Direction.OUT, Direction.IN) if direction is Direction.BOTH and directed else (direction,)

    def _counts(self, index: int, direction: Direction) -> dict[tuple[int, int], _Counts]:
        """Return what is counted by (owner's group, neighbour's group)."""
        if (index, direction) not in self._pairs:
            lists = self._store.adjacency(index, direction)
            ends = np.array([group.end for group in self._store.groups], np.uint32)
            numbers, moments = pair_statistics(lists.rows(), lists.neighbours, ends)
            self._pairs[index, direction] = {
                (row[0], row[1]): (row[2], row[3], row[4], *more)
                for row, more in zip(numbers.tolist(), moments.tolist(), strict=True)
            }
        return self._pairs[index, direction]

    def _between_groups(self, source: str | None, type: str | None, target: str | None) -> EdgeStatistics | None:
        """Answer from the pairs of groups where each label is one group; None where it isn't."""
        index = None if type is None else self._store.type_index(type)
        first, second = self._only_group(source), self._only_group(target)
        if index is None or first is None or second is None:
            return None
        forward, backward = self._directions(index)
        counts = self._counts(index, forward).get((first, second), _NONE)
        return _statistics(counts, self._counts(index, backward).get((second, first), _NONE))

    def _only_group(self, label: str | None) -> int | None:
        """Return the index of the one group that has a label (None: all), or None."""
        own = self._groups.get(label, ())
        return own[0] if len(own) == 1 else None

    def _between_ranges(self, source: str | None, type: str | None, target: str | None) -> EdgeStatistics:
        """Count vertex by vertex: for labels that several groups share, and for all types together."""
        store = self._store
        indices = range(len(store.types)) if type is None else [store.type_index(type)]
        out = np.zeros(store.vertex_count, np.int64)
        into = np.zeros(store.vertex_count, np.int64)
        for index in indices:
            if index is not None:
                forward, backward = self._directions(index)
                self._degrees(index, forward, source, target, out)
                self._degrees(index, backward, target, source, into)
        return EdgeStatistics(
            edges=int(out.sum()),
            sources=int(np.count_nonzero(out)),
            targets=int(np.count_nonzero(into)),
            max_out=int(out.max(initial=0)),
            max_in=int(into.max(initial=0)),
            out_pairs=_falling(out, 2),
            out_triples=_falling(out, 3),
            in_pairs=_falling(into, 2),
            in_triples=_falling(into, 3),
        )

    def _degrees(self, index: int, direction: Direction, label: str | None, other: str | None, out: Array) -> None:
        """Add to ``out`` how many neighbours with label ``other`` each vertex with ``label`` has."""
        lists = self._store.adjacency(index, direction)
        vertices, begins, ends = lists.rows()
        if other is None:
            degrees = (ends - begins).astype(np.int64)
        else:
            counted = np.zeros(len(lists) + 1, np.int64)
            np.cumsum(self._inside(lists.neighbours, other), out=counted[1:])
            degrees = counted[ends] - counted[begins]
        kept = self._inside(vertices, label)
        out[vertices[kept]] += degrees[kept]

    def _inside(self, vertices: Array, label: str | None) -> Array:
        expr: LabelExpr | None = None if label is None else LabelIs(label)
        inside = np.zeros(len(vertices), bool)
        for begin, end in self._store.label_ranges(expr).tolist():
            inside |= (vertices >= begin) & (vertices < end)
        return inside


def _statistics(forward: _Counts, backward: _Counts) -> EdgeStatistics:
    entries, sources, most_out, out_pairs, out_triples, lesser, greater = forward
    _, targets, most_in, in_pairs, in_triples, _, _ = backward
    return EdgeStatistics(
        entries, sources, targets, most_out, most_in, out_pairs, out_triples, in_pairs, in_triples, lesser, greater
    )


def _falling(degrees: Array, factors: int) -> float:
    """Return the sum of d(d-1)…, so many factors."""
    product = degrees.astype(np.float64)
    for less in range(1, factors):
        product *= degrees - less
    return float(product.sum())
