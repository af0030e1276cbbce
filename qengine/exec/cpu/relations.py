"""Relationships as matrices for elimination: for each vertex which vertices an edge leads to, and how often.

One undirected type, or one type in its own direction, is taken as it is stored where its row index is dense. Everything
else is put together once, and remembered with the graph unless predicates select from it.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from qengine._frozen import frozen
from qengine.exec.cpu.resolve import MaskProvider
from qengine.plan.elimination import Relation
from qengine.plan.pattern import Direction
from qengine.storage.adjacency import Form

__all__ = ["MATRIX", "SparseMatrix", "loops_of", "matrix_of"]

MATRIX = np.dtype([("offsets", "<u8"), ("ids", "<u8"), ("values", "<u8"), ("lo", "<u4"), ("hi", "<u4")])
"""As ``qe::eliminate::Matrix``."""

Array = npt.NDArray[Any]


@frozen
class SparseMatrix:
    """Row v, for ``lo <= v < hi``, links v to ``ids[offsets[v - lo]:offsets[v - lo + 1]]``, ascending.

    ``values``: a number an entry (uint64, or uint64[2] halves where ``wide``), None for 1 each. ``pairs``: it is
    symmetric and links two different vertices at most once, none with itself.
    """

    offsets: Array
    ids: Array
    lo: int
    hi: int
    values: Array | None = None
    pairs: bool = False

    def record(self) -> tuple[int, int, int, int, int]:
        """Return its ``MATRIX`` record, which points into the arrays."""
        values = 0 if self.values is None else self.values.ctypes.data
        return self.offsets.ctypes.data, self.ids.ctypes.data if len(self.ids) else 0, values, self.lo, self.hi

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays, the graph's own included."""
        return self.offsets.nbytes + self.ids.nbytes + (0 if self.values is None else self.values.nbytes)


_known: WeakKeyDictionary[Any, dict[tuple[Relation, ...], SparseMatrix]] = WeakKeyDictionary()
_MOST_KNOWN = 16


def matrix_of(store: Any, relations: tuple[Relation, ...], masks: MaskProvider) -> SparseMatrix:
    """Return the product, pair by pair, of relations, seen from the row's vertex."""
    known = _known.setdefault(store, {})
    if relations in known:
        return known[relations]
    found = _stored(store, relations[0]) if len(relations) == 1 else None
    if found is None:
        found = _made(store, relations, masks)
    if not any(relation.conditions for relation in relations):
        if len(known) >= _MOST_KNOWN:
            known.clear()
        known[relations] = found
    return found


def loops_of(store: Any, relation: Relation, masks: MaskProvider) -> npt.NDArray[np.uint64]:
    """Return for each vertex how many self-loops a relation has."""
    start, end = _ends(store, relation, masks)
    loops = start[start == end]
    return np.bincount(loops, minlength=store.vertex_count).astype(np.uint64)


def _stored(store: Any, relation: Relation) -> SparseMatrix | None:
    """Return the graph's own arrays where they are the relation."""
    if len(relation.types) != 1 or relation.conditions:
        return None
    index = store.type_index(relation.types[0])
    if index is None:
        return None
    info = store.types[index]
    if relation.direction is Direction.BOTH and not info.undirected:
        return None
    adjacency = store.adjacency(index, Direction.BOTH if info.undirected else relation.direction)
    if adjacency.form is not Form.DENSE:
        return None
    pairs = info.undirected and not info.parallel and not info.loops
    return SparseMatrix(adjacency.offsets, adjacency.neighbours, adjacency.lo, adjacency.hi, pairs=pairs)


def _made(store: Any, relations: tuple[Relation, ...], masks: MaskProvider) -> SparseMatrix:
    n = store.vertex_count
    keys: Array | None = None
    values: Array | None = None
    for relation in relations:
        start, end = _ends(store, relation, masks)
        if relation.direction is Direction.IN:
            start, end = end, start
        elif relation.direction is Direction.BOTH:
            proper = start != end
            start, end = np.concatenate((start, end[proper])), np.concatenate((end, start[proper]))
        found, counts = np.unique(start.astype(np.uint64) * np.uint64(n) + end.astype(np.uint64), return_counts=True)
        counts = counts.astype(np.uint64)
        if keys is None or values is None:
            keys, values = found, counts
        else:
            keys, here, there = np.intersect1d(keys, found, assume_unique=True, return_indices=True)
            values = values[here] * counts[there]
    assert keys is not None and values is not None
    offsets = np.searchsorted(keys, np.arange(n + 1, dtype=np.uint64) * np.uint64(n)).astype(np.uint64)
    ids = (keys % np.uint64(max(n, 1))).astype(np.uint32)
    single = bool((values == 1).all())
    symmetric = all(relation.direction is Direction.BOTH for relation in relations)
    pairs = single and symmetric and not (ids == np.repeat(np.arange(n), np.diff(offsets).astype(np.int64))).any()
    return SparseMatrix(offsets, ids, 0, n, None if single else values, bool(pairs))


def _ends(store: Any, relation: Relation, masks: MaskProvider) -> tuple[Array, Array]:
    """Return starts and ends (int64) of a relation's relationships, each as it is stored."""
    starts, ends = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for name in relation.types:
        index = store.type_index(name)
        if index is None:
            continue
        out = store.adjacency(index, Direction.OUT)
        positions = np.arange(len(out))
        for variable, predicates in relation.conditions:
            mask = masks.edge_mask(variable, predicates, index, 0, store.types[index].count)
            positions = positions[mask[positions]]
        starts.append(out.owners(positions).astype(np.int64))
        ends.append(out.neighbours[positions].astype(np.int64))
    return np.concatenate(starts), np.concatenate(ends)
