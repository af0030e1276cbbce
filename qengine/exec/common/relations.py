"""Relationships as matrices for elimination: for each vertex which vertices an edge leads to, and how often.

One undirected type, or one type in its own direction, is taken as it is stored where its row index is dense. Other
relations are lists of several types and directions that are merged: where no conditions choose among them the graph
keeps the matrix, if that is small enough. Sums along what it doesn't keep are taken as the lists are stored.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from qengine import _native
from qengine._frozen import frozen, replace
from qengine.exec.common.lists_read import Part
from qengine.exec.common.merged_lists import MANY, MERGING, entries_of, merged_entries
from qengine.exec.context import ExecutionContext
from qengine.exec.view import ExecView, MaskProvider
from qengine.plan.elimination import Matrix, Relation, Shared, is_symmetric
from qengine.plan.pattern import Direction
from qengine.storage.adjacency import Adjacency, Form, PcsrStruct

if TYPE_CHECKING:
    from qengine.exec.common.runtime import Runtime

NUMBERS = _native.record("u8 at; i4 bytes unused")
"""As ``qe::eliminate::Numbers``."""

MATRIX = _native.record("u8 offsets ids; NUMBERS values; u8 rows; u4 lo hi n_rows unused", NUMBERS=NUMBERS)
"""As ``qe::eliminate::Matrix``."""

Array = npt.NDArray[Any]

_PLACE, _EDGE_IDS, _BACKWARD, _EITHER_WAY = range(4)  # as qe::eliminate::IdsFrom


_Part = _native.struct(
    "qe::eliminate::Part", "PcsrStruct lists out; p admitted; i4 ids skip_loops repeats unused", PcsrStruct=PcsrStruct
)
_ProductRelation = _native.struct("qe::eliminate::ProductRelation", "p parts factors; i4 n_factors; u4 n")


@frozen
class SparseMatrix:
    """Row v, for ``lo <= v < hi``, links v to ``ids[offsets[v - lo]:offsets[v - lo + 1]]``, ascending.

    ``factors``: numbers of the entries, which multiply: uint32, uint64, or uint64[2] halves; () for 1 each. ``pairs``:
    it is symmetric and links two different vertices at most once, none with itself. ``repeats``: a row may have an id
    twice. ``owned``: offsets and ids are the graph's own. ``rows``: if it isn't None, row v is instead that of vertex
    ``rows[v]`` (uint32). ``blocks``: if it isn't None, only rows of one block are linked, and block b is the rows from
    ``blocks[b]`` to before ``blocks[b + 1]`` (uint64).
    """

    offsets: Array
    ids: Array
    lo: int
    hi: int
    factors: tuple[Array, ...] = ()
    pairs: bool = False
    repeats: bool = False
    owned: bool = True
    rows: Array | None = None
    blocks: Array | None = None

    def record(self) -> tuple[Any, ...]:
        """Return its ``MATRIX`` record, which points into the arrays; it has at most one factor."""
        (values,) = self.factors or (None,)
        rows, n_rows = (0, 0) if self.rows is None else (self.rows.ctypes.data, len(self.rows))
        ids = self.ids.ctypes.data if len(self.ids) else 0
        return self.offsets.ctypes.data, ids, numbers(values), rows, self.lo, self.hi, n_rows, 0

    @property
    def arrays(self) -> tuple[Array, ...]:
        """The arrays that the graph doesn't keep."""
        return self.factors if self.owned else (self.offsets, self.ids, *self.factors)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self.offsets.nbytes + self.ids.nbytes + sum(each.nbytes for each in self.factors)


@frozen
class Lists:
    """A relation as stored lists. ``parts``: an array of ``qe::eliminate::Part``; ``ways``: of each type and way;
    ``keep``: what they point into.
    """

    parts: Any
    ways: tuple[Part, ...]
    symmetric: bool
    keep: tuple[Any, ...]


def numbers(values: Array | None) -> tuple[int, int, int]:
    """Return the ``NUMBERS`` record of an array of numbers."""
    if values is None:
        return 0, 0, 0
    return values.ctypes.data, values.itemsize * (values.shape[1] if values.ndim == 2 else 1), 0


class Relations:
    """The relations of one execution. ``charge`` is told of bytes before they are allocated, and may refuse them.

    ``n``: vertices. ``size``: how many numbers a vector has, as many as there are vertices, or arcs of one of ``arcs``.
    ``runtime``: what evaluates values that are compared, where some are.
    """

    def __init__(
        self,
        store: ExecView,
        masks: MaskProvider,
        context: ExecutionContext,
        charge: Callable[[int], None],
        runtime: Runtime | None = None,
        arcs: Iterable[Relation] = (),
    ) -> None:
        self.store = store
        self.masks = masks
        self.context = context
        self.charge = charge
        self.runtime = runtime
        self.n = store.vertex_count
        self.size = max([self.n, *map(self.arc_count, arcs)])
        self.linked: dict[Shared, tuple[Array, Array, int]] = {}

    def matrix(self, step: Matrix) -> SparseMatrix:
        """Return the product, pair by pair, of relations, seen from the row's vertex.

        Raises
        ------
        QueryTimeout, QueryInterrupted, OutOfMemory
            By the context's limits, from inside.
        """
        relations = step.relations
        if relations[0].value is not None:
            return self._valued(relations[0])
        if (found := stored(self.store, relations)) is not None and not (step.once and found.repeats):
            return found
        if len(relations) == 1:
            found = self._single(relations[0])
            if not (step.once and found.repeats):
                return found
        return self._product(relations)

    def cached_matrix(self, step: Matrix) -> SparseMatrix:
        """Return the same, which the graph keeps where no conditions choose among relationships and it has room."""
        if not all(relation.of_graph() for relation in step.relations):
            return self.matrix(step)
        found: SparseMatrix = self.store.derived.get(("matrix", step), lambda: self.matrix(step))
        return replace(found, owned=found.owned or found.nbytes <= self.store.derived.most)

    def is_cached(self, relation: Relation) -> bool:
        """Tell whether the graph keeps the matrix of a relation once it is made."""
        most: int = self.store.derived.most
        return not relation.conditions and 8 * (self.n + 1) + 4 * self.arc_count(relation) <= most

    def lists(self, relation: Relation) -> Lists:
        """Return a relation as stored lists."""
        parts: list[ctypes.Structure] = []
        taken: list[Part] = []
        keep: list[Any] = []
        symmetric = True
        for index in self.indices(relation):
            info = self.store.types[index]
            both = relation.direction is Direction.BOTH
            symmetric = symmetric and (info.undirected or both)
            mask = self.admitted(relation, index)
            out = self.store.adjacency(index, Direction.OUT).as_struct()
            ways = relation.direction.stored(info.undirected)
            for way in ways:
                lists = self.store.adjacency(index, way)
                struct = lists.as_struct()
                if way is Direction.OUT:
                    ids = _PLACE
                elif lists.edge_ids is not None:
                    ids = _EDGE_IDS
                else:
                    ids = _BACKWARD if way is Direction.IN else _EITHER_WAY
                admitted = None if mask is None else mask.ctypes.data
                skip_loops = way is Direction.IN and len(ways) > 1 and info.loops
                parts.append(_Part(struct, out, admitted, ids, skip_loops, info.parallel))
                taken.append((index, way))
                keep += [struct, out, mask]
        return Lists(_native.array_of(_Part, len(parts))(*parts), tuple(taken), symmetric, tuple(keep))

    def arc_count(self, relation: Relation) -> int:
        """Return how many numbers the arcs of a relation have, those that its conditions leave out among them."""
        ways = 1 + (relation.direction is Direction.BOTH)
        return ways * sum(self.store.types[index].count for index in self.indices(relation))

    def indices(self, relation: Relation) -> list[int]:
        """Return the types of a relation that the graph has."""
        return [index for index in map(self.store.type_index, relation.types) if index is not None]

    def loops(self, relation: Relation) -> npt.NDArray[np.uint64]:
        """Return for each vertex how many self-loops a relation has."""
        lists = self.lists(relation)
        if len(lists.parts) >= MANY and not any(part.admitted for part in lists.parts):
            return self._all_loops(lists)
        out = np.empty(self.n, np.uint64)
        self.context.run(_library().qe_eliminate_loops, *self._parts(lists), out.ctypes.data, self._control())
        return out

    def message(self, lists: Lists, vector: Array | None, wide: bool, out: Array) -> None:
        """Write for each vertex the sum of a vector's numbers (None: 1 each) over its entries in the lists."""
        at = 0 if vector is None else vector.ctypes.data
        out[self.n :] = 0
        only_lengths = vector is None and not any(part.admitted for part in lists.parts)
        if only_lengths and not wide and len(lists.parts) >= MANY:
            self._lengths(lists, out)
            return
        only_lengths = only_lengths and not any(part.skip_loops for part in lists.parts)
        reads = self.n * len(lists.parts) if only_lengths else None
        where = *self._parts(lists), at, int(wide), out.ctypes.data
        self.context.run(_library().qe_eliminate_gather, *where, self._control(), reads=reads)

    def _lengths(self, lists: Lists, out: Array) -> None:
        """Write how many entries each vertex has in many lists, none of which is looked for."""
        out[:] = 0
        for index, way in lists.ways:
            owners, begins = self.store.adjacency(index, way).list_index()
            lengths = np.diff(begins)
            own = slice(owners, owners + len(lengths)) if isinstance(owners, int) else owners
            out[own] += lengths
        for place, part in enumerate(lists.parts):
            if part.skip_loops:
                np.subtract.at(out, self._loops(lists.ways[place]), np.uint64(1))

    def _all_loops(self, lists: Lists) -> npt.NDArray[np.uint64]:
        """Return how many self-loops each vertex has in many lists, none of which is looked for."""
        out = np.zeros(self.n, np.uint64)
        for stored, part in zip(lists.ways, lists.parts, strict=True):
            if self.store.types[stored[0]].loops and not part.skip_loops:
                np.add.at(out, self._loops(stored), np.uint64(1))
        return out

    def _loops(self, stored: Part) -> Array:
        """Return the vertex of each self-loop of a type in a direction."""
        owners, entries = entries_of(self.store, stored)
        found: Array = entries[owners == entries]
        return found

    # ------------------------------------------------------------ making matrices

    def admitted(self, relation: Relation, index: int) -> npt.NDArray[np.bool_] | None:
        """Return for each relationship of a type whether all conditions hold, None where there are none."""
        found = None
        for variable, predicates in relation.conditions:
            mask = self.masks.edge_mask(variable, predicates, index, 0, self.store.types[index].count)
            found = mask if found is None else found & mask
        return found

    def _single(self, relation: Relation) -> SparseMatrix:
        lists = self.lists(relation)
        if len(lists.parts) >= MANY and not any(part.admitted for part in lists.parts):
            return self._merged(relation, lists)
        offsets = self._offsets()
        library = _library()
        parts = self._parts(lists)
        self.context.run(library.qe_eliminate_count_rows, *parts, offsets.ctypes.data, self._control())
        ids = self._array(int(offsets[-1]), np.uint32)
        facts = np.zeros(2, np.int32)
        pointers = (each.ctypes.data for each in (offsets, ids, facts))
        self.context.run(library.qe_eliminate_fill_rows, *parts, *pointers, self._control())
        repeats, loops = facts.tolist()
        pairs = lists.symmetric and not (repeats or loops)
        return SparseMatrix(offsets, ids, 0, self.n, pairs=pairs, repeats=bool(repeats), owned=False)

    def _merged(self, relation: Relation, lists: Lists) -> SparseMatrix:
        """Make the matrix of many lists, which most vertices don't have: entries are sorted, and no list looked for."""
        entries = sum(int(part.lists.n_entries) for part in lists.parts)
        self.charge(8 * (self.n + 1) + MERGING * entries)
        loops = [not part.skip_loops for part in lists.parts]
        offsets, ids = merged_entries(self.store, lists.ways, loops)
        self.context.check()
        lengths: Array = offsets[1:].astype(np.int64) - offsets[:-1].astype(np.int64)
        rows = np.repeat(np.arange(self.n, dtype=np.uint32), lengths)
        repeats = bool(((ids[1:] == ids[:-1]) & (rows[1:] == rows[:-1])).any())
        pairs = lists.symmetric and not repeats and not bool((rows == ids).any())
        return SparseMatrix(offsets, ids, 0, self.n, pairs=pairs, repeats=repeats, owned=False)

    def _valued(self, relation: Relation) -> SparseMatrix:
        """Make the matrix that links elements with what they share, or that back."""
        from qengine.exec.common.value_links import links  # which few queries need

        elements, numbers, n_elements, n_numbers = links(self, relation)
        turned = relation.direction is Direction.IN
        rows, columns, n_rows = (numbers, elements, n_numbers) if turned else (elements, numbers, n_elements)
        offsets = self._array(n_rows + 1, np.uint64)
        offsets[0] = 0
        np.cumsum(np.bincount(rows, minlength=n_rows), out=offsets[1:])
        self.charge(16 * len(rows))
        pairs = rows.astype(np.uint64) << np.uint64(32) | columns.astype(np.uint64)
        pairs.sort()
        return SparseMatrix(offsets, pairs.astype(np.uint32), 0, n_rows, owned=False)

    def _product(self, relations: tuple[Relation, ...]) -> SparseMatrix:
        """Make the matrix of the pairs that all relations link, each once."""
        parts: list[ctypes.Structure] = []
        factors = []
        keep = []
        for relation, exponent in Counter(relations).items():
            lists = self._few_lists(relation)
            factors.append((len(parts), len(lists.parts), exponent))
            parts += lists.parts
            keep.append(lists)
        all_parts = _native.array_of(_Part, len(parts))(*parts)
        table = np.array(factors, np.int32)
        product = _ProductRelation(ctypes.addressof(all_parts), table.ctypes.data, len(factors), self.n)
        library = _library()
        offsets, most = self._offsets(), ctypes.c_uint64()
        counted = offsets.ctypes.data, ctypes.byref(most)
        self.context.run(library.qe_eliminate_count_product, ctypes.byref(product), *counted, self._control())
        ids = self._array(int(offsets[-1]), np.uint32)
        values = None if most.value <= 1 else self._array(len(ids), np.uint32 if most.value < 2**32 else np.uint64)
        filled = offsets.ctypes.data, ids.ctypes.data, *numbers(values)[:2]
        self.context.run(library.qe_eliminate_fill_product, ctypes.byref(product), *filled, self._control())
        pairs = values is None and is_symmetric(relations) and not any(map(self._may_loop, relations))
        return SparseMatrix(offsets, ids, 0, self.n, () if values is None else (values,), pairs=pairs, owned=False)

    def _few_lists(self, relation: Relation) -> Lists:
        """Return a relation as stored lists; as one, merged, where they are many."""
        lists = self.lists(relation)
        if len(lists.parts) < MANY or any(part.admitted for part in lists.parts):
            return lists
        whole = self._merged(relation, lists)
        struct = Adjacency(Form.DENSE, 0, self.n, whole.ids, offsets=whole.offsets).as_struct()
        part = _Part(struct, struct, None, _PLACE, False, whole.repeats)
        return Lists(_native.array_of(_Part, 1)(part), (), lists.symmetric, (struct,))

    def _may_loop(self, relation: Relation) -> bool:
        return any(self.store.types[index].loops for index in self.indices(relation))

    def _offsets(self) -> Array:
        return self._array(self.n + 1, np.uint64)

    def _array(self, n: int, kind: Any) -> Array:
        self.charge(n * np.dtype(kind).itemsize)
        return np.empty(n, kind)

    def _parts(self, lists: Lists) -> tuple[Any, int, int]:
        return ctypes.addressof(lists.parts), len(lists.parts), self.n

    def _control(self) -> Any:
        return ctypes.byref(self.context.control)


def stored(store: ExecView, relations: tuple[Relation, ...]) -> SparseMatrix | None:
    """Return the graph's own arrays where they are the product of relations."""
    if len(relations) != 1:
        return None
    (relation,) = relations
    if len(relation.types) != 1 or relation.conditions:
        return None
    index = store.type_index(relation.types[0])
    if index is None:
        return None
    info = store.types[index]
    if relation.direction is Direction.BOTH and not info.undirected:
        return None
    adjacency = store.adjacency(index, Direction.BOTH if info.undirected else relation.direction)
    if adjacency.form is not Form.DENSE or adjacency.offsets is None:
        return None
    pairs = info.undirected and not info.parallel and not info.loops
    return SparseMatrix(
        adjacency.offsets, adjacency.neighbours, adjacency.lo, adjacency.hi, pairs=pairs, repeats=info.parallel
    )


_library = _native.declared(
    "qe_eliminate_count_rows p i4 u4 p p; qe_eliminate_fill_rows p i4 u4 p p p p; "
    "qe_eliminate_count_product p p p p; qe_eliminate_fill_product p p p p i4 p; qe_eliminate_loops p i4 u4 p p; "
    "qe_eliminate_gather p i4 u4 p i4 p p"
)
