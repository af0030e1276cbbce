"""The neighbours of one relationship type in one direction: a PCSR of NumPy arrays (``kernels/include/qe/pcsr.h``)."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from qengine import _native
from qengine._cached import cached_property
from qengine.storage.arrays import Array, address_of
from qengine.storage.kernels import NO_VERTEX, Rows, locate

GROUP_PAIRS = 15
_SEEN_FIRST = 64  # vertices
_MOST_COLUMNS = 4
_MOST_SEEN = 1 << 24  # vertices: the offsets of more, which may lie in a file, aren't read for it
GROUP = np.dtype([("pair", [("vertex", "<u4"), ("offset", "<u4")], (GROUP_PAIRS,)), ("link", "<u4"), ("end", "<u4")])
"""One hashed group of 128 bytes, as ``qe::PcsrGroup``."""


class Form(IntEnum):
    """The three forms of the row index."""

    DENSE = 0
    GROUPS = 1
    SORTED = 2


PcsrStruct = _native.struct(
    "qe::Pcsr", "i4 form; u4 lo hi n_keys; p offsets keys groups neighbours edge_ids; u8 n_entries"
)


@dataclass(frozen=True, eq=False)
class Adjacency:
    """A PCSR: for each vertex the sorted list of its neighbours, a slice ``[begin, end)`` of ``neighbours``.

    Attributes
    ----------
    form
        Which row index stands behind ``locate``.
    lo, hi
        The vertices with neighbours lie in ``[lo, hi)``.
    neighbours
        uint32[entries], each list ascending; equal entries are parallel relationships.
    edge_ids
        uint32[entries]: local relationship ids; None where the position is the id (OUT) or where it is found by
        searching OUT (simple type without properties).
    offsets
        uint64: dense ``[hi - lo + 1]``, sorted ``[keys + 1]``, groups None.
    keys
        uint32[keys] ascending, sorted form only.
    groups
        ``GROUP`` records, groups form only: ``home_groups`` home groups, then overflow groups.
    reason
        Why this form was chosen, for EXPLAIN.
    """

    form: Form
    lo: int
    hi: int
    neighbours: Array = field(repr=False)
    edge_ids: Array | None = field(default=None, repr=False)
    offsets: Array | None = field(default=None, repr=False)
    keys: Array | None = field(default=None, repr=False)
    groups: Array | None = field(default=None, repr=False)
    home_groups: int = 0
    reason: str = ""

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        arrays = (self.neighbours, self.edge_ids, self.offsets, self.keys, self.groups)
        return sum(array.nbytes for array in arrays if array is not None)

    def __len__(self) -> int:
        return len(self.neighbours)

    @cached_property
    def reach(self) -> tuple[int, int]:
        """The least range ``[begin, end)`` of ids that holds all neighbours."""
        if not len(self.neighbours):
            return 0, 0
        return int(self.neighbours.min()), int(self.neighbours.max()) + 1

    @property
    def has_ids(self) -> bool:
        """Whether relationship ids stand beside the entries."""
        return self.edge_ids is not None

    @cached_property
    def used(self) -> int:
        """How many vertices have neighbours."""
        if self.form is Form.DENSE and self.offsets is not None:
            return int(np.count_nonzero(self.offsets[1:] > self.offsets[:-1]))
        return len(self.rows()[0])

    @cached_property
    def columns(self) -> Array:
        """Where no vertex has two neighbours, the few runs of vertices that have one, else empty.

        uint32[runs, 3]: the first vertex, how many follow each other, where the first one's neighbour is.
        """
        none = np.empty((0, 3), np.uint32)
        count = self.hi - self.lo
        if self.form is not Form.DENSE or self.offsets is None or not 0 < len(self.neighbours) <= count <= _MOST_SEEN:
            return none
        few = np.linspace(0, count - 1, min(count, _SEEN_FIRST), dtype=np.int64)  # most others are told apart by these
        if (self.offsets[few + 1] - self.offsets[few] > 1).any():
            return none
        degrees = np.diff(self.offsets)
        if degrees.max() > 1:
            return none
        bounds = np.flatnonzero(np.diff(degrees.astype(np.int8), prepend=0, append=0))
        if len(bounds) > 2 * _MOST_COLUMNS:
            return none
        begins, ends = bounds[::2], bounds[1::2]
        return np.stack([begins + self.lo, ends - begins, self.offsets[begins]], axis=1).astype(np.uint32)

    def as_struct(self) -> ctypes.Structure:
        """Return the ctypes mirror; it keeps the arrays alive."""
        keys = self.columns if self.keys is None else self.keys
        struct = PcsrStruct(
            int(self.form),
            self.lo,
            self.hi,
            self.home_groups if self.form is Form.GROUPS else len(keys),
            _address(self.offsets),
            _address(keys),
            _address(self.groups),
            _address(self.neighbours),
            _address(self.edge_ids),
            len(self.neighbours),
        )
        struct.columns = keys
        struct.arrays = (self.offsets, self.keys, self.groups, self.neighbours, self.edge_ids)
        return struct

    def locate(self, vertex: int) -> tuple[int, int]:
        """Return the slice ``[begin, end)`` of a vertex's list; an empty one where it has none."""
        if self.form is Form.DENSE and self.offsets is not None:  # a call of the library takes longer than two reads
            place = int(vertex) - self.lo
            if not 0 <= place < len(self.offsets) - 1:
                return 0, 0
            return int(self.offsets[place]), int(self.offsets[place + 1])
        begins, ends = self.locate_all(np.array([vertex], np.uint32))
        return int(begins[0]), int(ends[0])

    def locate_all(self, vertices: Array) -> tuple[Array, Array]:
        """Return the slices of many vertices' (uint32) lists: begins and ends, uint64."""
        return locate(self.struct, vertices)

    def owners(self, positions: Array) -> Array:
        """Return for each position in ``neighbours`` the vertex (uint32) whose list it is in."""
        if self.form is Form.DENSE and self.offsets is not None:
            rows = np.searchsorted(self.offsets, np.asarray(positions).astype(np.uint64), side="right")
            return (rows + (self.lo - 1)).astype(np.uint32)
        vertices, begins = self._by_offset
        return vertices[np.searchsorted(begins, positions, side="right") - 1]

    def owner(self, position: int) -> int:
        """Return the vertex whose list a position in ``neighbours`` is in."""
        if self.form is Form.DENSE and self.offsets is not None:
            return int(self.offsets.searchsorted(np.uint64(position), side="right")) + self.lo - 1
        vertices, begins = self._by_offset
        return int(vertices[begins.searchsorted(np.uint64(position), side="right") - 1])

    def rows(self) -> tuple[Array, Array, Array]:
        """Return the vertices that have neighbours, ascending (uint32), and begins and ends of their lists."""
        return self._by_vertex

    def row_index(self) -> Rows:
        """Return the rows as kernels take them; those of a dense index as they are, empty ones too."""
        if self.form is Form.DENSE and self.offsets is not None:
            return None, self.lo, self.offsets[:-1], self.offsets[1:]
        vertices, begins, ends = self.rows()
        return vertices, 0, begins, ends

    def list_index(self) -> tuple[int | Array, Array]:
        """Return whose lists follow each other in ``neighbours``, and where each begins, and at last where they end.

        The vertices, uint32, or the first of as many as there are lists; begins, uint64.
        """
        if self.form is Form.DENSE and self.offsets is not None:
            return self.lo, self.offsets
        return self._sorted_index

    @cached_property
    def _sorted_index(self) -> tuple[Array, Array]:
        """What ``list_index`` gives where vertices are named."""
        vertices, begins = self._by_offset
        return vertices, np.append(begins, np.uint64(len(self.neighbours)))

    @cached_property
    def struct(self) -> ctypes.Structure:
        """The ctypes mirror, kept."""
        return self.as_struct()

    @cached_property
    def _by_offset(self) -> tuple[Array, Array]:
        """Vertices with neighbours and their lists' begins, in the order of the lists."""
        vertices, begins, _ = self._by_vertex
        order = np.argsort(begins, kind="stable") if self.form is Form.GROUPS else slice(None)
        return vertices[order], begins[order]

    @cached_property
    def _by_vertex(self) -> tuple[Array, Array, Array]:
        if self.form is Form.SORTED:
            assert self.keys is not None and self.offsets is not None
            return self.keys, self.offsets[:-1], self.offsets[1:]
        if self.form is Form.DENSE:
            assert self.offsets is not None
            used = np.flatnonzero(self.offsets[1:] > self.offsets[:-1])
            return (used + self.lo).astype(np.uint32), self.offsets[:-1][used], self.offsets[1:][used]
        assert self.groups is not None
        vertex, begin = self.groups["pair"]["vertex"], self.groups["pair"]["offset"]
        end = np.concatenate((begin[:, 1:], self.groups["end"][:, None]), axis=1)
        used_pairs = vertex != NO_VERTEX
        last = used_pairs & np.concatenate((~used_pairs[:, 1:], np.ones((len(vertex), 1), bool)), axis=1)
        end[last] = np.broadcast_to(self.groups["end"][:, None], end.shape)[last]
        order = np.argsort(vertex[used_pairs])
        vertex, begin, end = (part[used_pairs][order] for part in (vertex, begin, end))
        return vertex, begin.astype(np.uint64), end.astype(np.uint64)


def _address(array: Array | None) -> int | None:
    return None if array is None or not array.size else address_of(array)
