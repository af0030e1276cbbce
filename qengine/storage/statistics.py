"""What is counted of a graph: relationships between labels, degrees, distinct property values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qengine.catalog.view import EdgeStatistics
from qengine.plan.pattern import Direction, LabelExpr, LabelIs
from qengine.storage.arrays import Array
from qengine.storage.columns import PropertyColumn

if TYPE_CHECKING:
    from qengine.storage.store import GraphStore


class Statistics:
    """Statistics of one graph, each computed when first asked for and kept."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._edges: dict[tuple[str | None, str | None, str | None], EdgeStatistics] = {}
        self._distinct: dict[tuple[str, str], int | None] = {}

    def edges(self, source: str | None, type: str | None, target: str | None) -> EdgeStatistics:
        """Return statistics of the matches of ``(:source)-[:type]->(:target)``; None stands for all."""
        key = (source, type, target)
        if key not in self._edges:
            self._edges[key] = self._count(*key)
        return self._edges[key]

    def distinct_values(self, entity: str, key: str) -> int | None:
        """Return the number of distinct values of a property of "node" or "relationship"s, None if unknown.

        Over several relationship types: the largest of theirs.
        """
        if (entity, key) not in self._distinct:
            counts = [column.distinct() for column in self._columns(entity, key)]
            known = [count for count in counts if count is not None]
            self._distinct[entity, key] = max(known) if known and len(known) == len(counts) else None
        return self._distinct[entity, key]

    def _columns(self, entity: str, key: str) -> Iterator[PropertyColumn]:
        store = self._store
        if entity == "node":
            columns = [store.node_property(key)]
        else:
            columns = [store.relationship_property(edge_type.index, key) for edge_type in store.types]
        return (column for column in columns if column is not None)

    def _count(self, source: str | None, type: str | None, target: str | None) -> EdgeStatistics:
        store = self._store
        indices = [store.type_index(type)] if type is not None else list(range(len(store.types)))
        out = np.zeros(store.vertex_count, np.int64)
        into = np.zeros(store.vertex_count, np.int64)
        for index in indices:
            if index is None:
                continue
            undirected = store.types[index].undirected
            forward, backward = (Direction.BOTH,) * 2 if undirected else (Direction.OUT, Direction.IN)
            self._degrees(index, forward, source, target, out)
            self._degrees(index, backward, target, source, into)
        return EdgeStatistics(
            edges=int(out.sum()),
            sources=int(np.count_nonzero(out)),
            targets=int(np.count_nonzero(into)),
            max_out=int(out.max(initial=0)),
            max_in=int(into.max(initial=0)),
        )

    def _degrees(self, index: int, direction: Direction, label: str | None, other: str | None, out: Array) -> None:
        """Add to ``out`` how many neighbours with label ``other`` each vertex with ``label`` has."""
        lists = self._store.adjacency(index, direction)
        vertices, begins, ends = lists.rows()
        counted = np.zeros(len(lists) + 1, np.int64)
        np.cumsum(self._inside(lists.neighbours, other), out=counted[1:])
        kept = self._inside(vertices, label)
        out[vertices[kept]] += (counted[ends] - counted[begins])[kept]

    def _inside(self, vertices: Array, label: str | None) -> Array:
        expr: LabelExpr | None = None if label is None else LabelIs(label)
        inside = np.zeros(len(vertices), bool)
        for begin, end in self._store.label_ranges(expr).tolist():
            inside |= (vertices >= begin) & (vertices < end)
        return inside
