"""The relationships of one vertex, looked up one by one."""

from __future__ import annotations

import numpy as np

from qengine.errors import StorageError
from qengine.plan.pattern import Direction
from qengine.storage import GraphStore
from qengine.storage.arrays import Array


def expand(store: GraphStore, vertex: int, type_index: int, direction: Direction) -> tuple[Array, Array]:
    """Return the neighbours (uint32) and global relationship ids (int64) of one vertex in any direction.

    A self-loop comes once in BOTH; an undirected type gives BOTH for each direction. In no given order.
    """
    edge_type = store.types[type_index]
    if edge_type.undirected:
        return _list(store, vertex, type_index, Direction.BOTH)
    if direction is not Direction.BOTH:
        return _list(store, vertex, type_index, direction)
    out, out_ids = _list(store, vertex, type_index, Direction.OUT)
    into, into_ids = _list(store, vertex, type_index, Direction.IN)
    no_loop = into != vertex
    return np.concatenate((out, into[no_loop])), np.concatenate((out_ids, into_ids[no_loop]))


def _list(store: GraphStore, vertex: int, type_index: int, direction: Direction) -> tuple[Array, Array]:
    lists = store.adjacency(type_index, direction)
    begin, end = lists.locate(vertex)
    neighbours = lists.neighbours[begin:end]
    base = store.types[type_index].base
    if direction is Direction.OUT:
        return neighbours, np.arange(base + begin, base + end)
    if lists.edge_ids is not None:
        return neighbours, lists.edge_ids[begin:end].astype(np.int64) + base
    return neighbours, np.array([base + _find(store, type_index, vertex, other) for other in neighbours], np.int64)


def _find(store: GraphStore, type_index: int, vertex: int, neighbour: int) -> int:
    """Return the local id of the one relationship neighbour -> vertex (undirected: in either direction)."""
    out = store.adjacency(type_index, Direction.OUT)
    for start, end in ((neighbour, vertex), (vertex, neighbour)):
        begin, stop = out.locate(start)
        position = begin + int(np.searchsorted(out.neighbours[begin:stop], end))
        if position < stop and out.neighbours[position] == end:
            return position
    raise StorageError(
        f"{store.types[type_index].name}: a relationship is missing from the lists of its start.",
        hint="The saved graph is damaged: save it again from its source.",
    )
