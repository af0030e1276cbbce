"""The steps of an elimination on the host, each a native function over arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from qengine import _native
from qengine._frozen import frozen
from qengine.errors import InternalError, ResourceError
from qengine.exec.common.relations import MATRIX, NUMBERS, Lists, Relations, SparseMatrix, numbers
from qengine.exec.context import ExecutionContext
from qengine.exec.host.cached_vectors import cached_vector
from qengine.exec.host.closed_walk_counts import MOST_WALK_ENTRIES, MOST_WALK_WEIGHT, ClosedWalkCounts
from qengine.exec.host.elimination_facts import Facts
from qengine.exec.host.ranked_pairs import RankedPairs
from qengine.plan.closed_walks import closed_walks_of, squared_rows, walk_sum
from qengine.plan.elimination import (
    Domain,
    ForestNode,
    MaskedProduct,
    Matrix,
    MatVec,
    NodeIndicator,
    Product,
    RootedForest,
    Step,
    column_domain_of,
    domain_of,
)

__all__ = ["Array", "Factors", "Found", "NumberOverflow", "Plan", "Steps", "indicator_vector", "told_apart"]

_FOREST_NODE = np.dtype([(name, "<i4") for name in ("start", "vector", "link", "first", "count", "unused")])
ROW_SQUARES = np.dtype([("start", "<u8"), ("link", "<u8"), ("out", "<u8"), ("n_roots", "<u4"), ("n_columns", "<u4")])
"""As ``qe::eliminate::RowSquares``."""

_FOREST_PLAN = np.dtype(
    [("n_nodes", "<i4"), ("n_tops", "<i4"), ("nodes", "<u8"), ("children", "<u8"), ("tops", "<u8"), ("matrices", "<u8"),
     ("vectors", "<u8"), ("roots", "<u8"), ("n", "<u4"), ("unused", "<u4")]
)  # fmt: skip

_T = TypeVar("_T")

Array = npt.NDArray[Any]


@frozen
class Plan:
    """An ``_FOREST_PLAN`` record, and the tables that it points to."""

    record: Array
    tables: tuple[Array, ...]

    @property
    def address(self) -> int:
        """Where the record is."""
        return self.record.ctypes.data


@frozen
class Factors:
    """Vectors whose product is only summed: it is not made."""

    arrays: tuple[Array, ...]


class NumberOverflow(Exception):
    """A number doesn't fit."""


Found = Array | SparseMatrix | Lists | Factors | ClosedWalkCounts | None


def indicator_vector(relations: Relations, own: NodeIndicator) -> npt.NDArray[np.uint64]:
    """Return the vector of an ``NodeIndicator``."""
    store = relations.store
    held = np.ones(store.vertex_count, np.uint64)
    for name, labels, predicates in own.nodes:
        admitted = np.zeros(store.vertex_count, np.uint64)
        for begin, end in store.label_ranges(labels).tolist():
            mask = relations.masks.vertex_mask(name, predicates, begin, end) if predicates else np.uint64(1)
            admitted[begin:end] = mask
        held *= admitted
    for relation in own.loops:
        held *= relations.loops(relation)
    return held


class Steps:
    """Runs steps over the graph's vertices.

    ``found``: what each step has given, by its place; None for a vector of ones. Vectors that the graph keeps may be
    narrower than others: ``optional`` widens those that kernels read as such. ``charge`` is told of bytes before they
    are allocated, and may refuse them.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        facts: Facts,
        found: MutableMapping[int, Found],
        relations: Relations,
        charge: Callable[[int], None],
        wide: bool,
    ) -> None:
        self.steps = steps
        self.facts = facts
        self.found = found
        self.relations = relations
        self.store = relations.store
        self.context: ExecutionContext = relations.context
        self.charge = charge
        self.wide = wide
        self.library = _library()

    def run(self, place: int) -> Found:
        """Return what a step gives."""
        step = self.steps[place]
        match step:
            case NodeIndicator():
                return self._own(place, step)
            case Matrix():
                return self._relation(place, step)
            case Product(factors=factors):
                return self._product([self.found[each] for each in factors], place in self.facts.summed)
            case MatVec():
                key = None if self.wide else self.facts.vectors.get(place)
                if key is None:
                    return self._message(place, step)
                return cached_vector(self.store, key, lambda: self._message(place, step))
            case MaskedProduct():
                return self._closed(step)
            case RootedForest():
                return self._around(place, step)
        raise InternalError(f"No vertices have {type(step).__name__}.")

    def size(self, domain: Domain) -> int:
        """Return how many elements a domain has."""
        assert domain is None
        return int(self.relations.n)

    def sizes(self, *places: int | None) -> int:
        """Return the size of the largest domain of some matrices' rows and columns, or of vectors."""
        given = [place for place in places if place is not None]
        rows = {domain_of(self.steps, place) for place in given}
        return max(map(self.size, rows.union(column_domain_of(self.steps, place) for place in given)))

    # ------------------------------------------------------------ steps

    def _own(self, place: int, own: NodeIndicator) -> Array | None:
        if not own.nodes and not own.loops:
            return None
        if (key := self.facts.vectors.get(place)) is None:
            return self._widened(indicator_vector(self.relations, own))
        return cached_vector(self.store, key, lambda: indicator_vector(self.relations, own))

    def _relation(self, place: int, step: Matrix) -> SparseMatrix | Lists:
        """Return relationships as a matrix, or as they are stored where only messages go along what nobody keeps."""
        relations = self.relations
        seldom = place in self.facts.counted or not relations.is_cached(step.relations[0])
        if place in self.facts.sent and seldom:
            return relations.lists(step.relations[0])
        return relations.cached_matrix(step)

    def _product(self, factors: Sequence[Found], summed: bool) -> Found:
        """Return the product: of matrices one with the factors of all, which are multiplied where they are read."""
        matrices = [factor for factor in factors if isinstance(factor, SparseMatrix)]
        if matrices:
            return replace(matrices[0], factors=tuple(chain.from_iterable(each.factors for each in matrices)))
        vectors = [factor for factor in factors if isinstance(factor, np.ndarray)]
        if len(vectors) < 2:
            return vectors[0] if vectors else None
        return Factors(tuple(vectors)) if summed else self._multiplied(vectors, len(vectors[0]))

    def _multiplied(self, factors: Sequence[Array], n: int) -> Array:
        out = self.empty(n)
        records = _records(factors)
        where = records.ctypes.data, len(factors), n, int(self.wide), out.ctypes.data
        self.call("qe_eliminate_product", *where, reads=n)
        return out

    def _message(self, place: int, step: MatVec) -> Array:
        matrix, vector = self.found[step.matrix], self.optional(step.vector)
        n = self.size(domain_of(self.steps, place))
        out = self.empty(n)
        if isinstance(matrix, Lists):
            told_apart(self.relations.message, matrix, vector, self.wide, out)
            return out
        assert isinstance(matrix, SparseMatrix)
        record = np.array([replace(matrix, factors=()).record()], MATRIX)
        factors = _records(matrix.factors)
        self.call(
            "qe_eliminate_message", record.ctypes.data, factors.ctypes.data, len(factors), n, address(vector),
            int(self.wide), out.ctypes.data, reads=n + (0 if vector is None else len(matrix.ids)),
        )  # fmt: skip
        return out

    def _closed(self, step: MaskedProduct) -> SparseMatrix:
        across = self.found[step.across]
        assert isinstance(across, SparseMatrix)
        vector = self.optional(step.vector)
        if step.across == step.left == step.right and across.pairs and not across.factors:
            out = self._triangles(self.steps[step.across], across, vector)
        else:
            across = replace(across, factors=())
            left, right = self.matrix(step.left), self.matrix(step.right)
            out = self.empty(len(across.ids))
            records = np.array([across.record(), left.record(), right.record()], MATRIX)
            where = [records.ctypes.data + place * MATRIX.itemsize for place in range(3)]
            n = self.sizes(step.across, step.left, step.right)
            self.call("qe_masked_product", *where, n, address(vector), int(self.wide), out.ctypes.data)
        return replace(across, factors=(out,), pairs=False)

    def _triangles(self, step: Step, matrix: SparseMatrix, vector: Array | None) -> Array:
        """Sum out the third vertices of triangles of one matrix."""
        if vector is None:
            self.charge(4 * len(matrix.ids))
            out: Array = np.empty(len(matrix.ids), np.uint32)
            if matrix.blocks is not None:
                self._in_blocks("qe_eliminate_local_triangles", matrix, out)
                return out
            self.ranked(step, matrix).count_triangles(self.context, out)
            return out
        record = np.array([matrix.record()], MATRIX)
        out = self.empty(len(matrix.ids))
        wide = int(self.wide)
        self.call("qe_eliminate_triangle_sums", record.ctypes.data, vector.ctypes.data, wide, out.ctypes.data)
        return out

    def ranked(self, step: Step, matrix: SparseMatrix) -> RankedPairs:
        """Return a matrix by descending length of rows; of the graph's own the graph keeps it."""
        if not matrix.owned:
            return RankedPairs(matrix, self.context)
        found: RankedPairs = self.store.derived.get((step, "ranked"), lambda: RankedPairs(matrix, self.context))
        return found

    def _around(self, place: int, step: RootedForest) -> Array | ClosedWalkCounts:
        """Return what is summed up around each vertex, or what its sum follows from where nothing else is wanted."""
        if place in self.facts.summed and (walks := self.summed_walks(step)) is not None:
            return walks
        if (numbers := self._walks_in_blocks(step)) is not None:
            return numbers
        if (numbers := self._row_squares(place, step)) is not None:
            return numbers
        plan = self.plan(step.nodes, step.tops, step.vector)
        n = int(plan.record["n"][0])
        out = self.empty(n)
        self.call("qe_rooted_forest", plan.address, int(self.wide), out.ctypes.data)
        return out[: self.size(domain_of(self.steps, place))]

    def _walks_in_blocks(self, step: RootedForest) -> Array | None:
        """Return the closed walks of four steps around each row of a matrix of blocks, where a step is these."""
        walks = closed_walks_of(step)
        if walks is None or walks.length != 4 or step.vector is not None or self.wide:
            return None
        matrix = self.found[walks.matrix]
        if not isinstance(matrix, SparseMatrix) or matrix.blocks is None or matrix.factors:
            return None
        out = self.empty(matrix.hi)
        self._in_blocks("qe_eliminate_local_walks", matrix, out)
        return out

    def _row_squares(self, place: int, step: RootedForest) -> Array | None:
        """Return the squares of the ways along two matrices, of which the second has rows of pairs' ends."""
        found = None if self.wide else squared_rows(step)
        if found is None:
            return None
        start, link = (self.found[each] for each in found)
        assert isinstance(start, SparseMatrix)
        assert isinstance(link, SparseMatrix)
        if link.rows is None or start.rows is not None or start.factors or link.factors or link.repeats:
            return None
        n, columns = self.size(domain_of(self.steps, place)), self.size(column_domain_of(self.steps, found[1]))
        out = self.empty(n)
        records = [np.array([each.record()], MATRIX) for each in (start, link)]
        task = np.array([(*(each.ctypes.data for each in records), out.ctypes.data, n, columns)], ROW_SQUARES)
        self.call("qe_row_squares", task.ctypes.data)
        return out

    def _in_blocks(self, name: str, matrix: SparseMatrix, out: Array) -> None:
        assert matrix.blocks is not None
        record = np.array([matrix.record()], MATRIX)
        self.call(name, record.ctypes.data, matrix.blocks.ctypes.data, len(matrix.blocks) - 1, out.ctypes.data)

    def summed_walks(self, step: RootedForest) -> ClosedWalkCounts | None:
        """Return the closed walks that a step's numbers add up to, where they are counted at their first vertices."""
        if (found := walk_sum(step)) is None:
            return None
        matrix, weights = self.found[found.walks.matrix], self.optional(found.weights)
        if isinstance(matrix, SparseMatrix) and matrix.blocks is not None:
            return None
        if not isinstance(matrix, SparseMatrix) or not matrix.pairs or matrix.factors:
            return None
        if len(matrix.ids) > MOST_WALK_ENTRIES and (found.walks.length > 4 or weights is not None):
            return None
        if weights is not None and (self.wide or int(weights.max(initial=0)) > MOST_WALK_WEIGHT):
            return None
        return ClosedWalkCounts(self.steps[found.walks.matrix], matrix, found.walks.length, weights)

    def plan(self, steps: Sequence[ForestNode], tops: Sequence[int], vector: int | None) -> Plan:
        """Return what native functions want of a forest around roots."""
        matrices: dict[int, int] = {}
        vectors: dict[int, int] = {}
        children: list[int] = []
        nodes = []
        for node in steps:
            factor = -1
            if node.vector is not None and self.found[node.vector] is not None:
                factor = vectors.setdefault(node.vector, len(vectors))
            start, link = (
                -1 if place is None else matrices.setdefault(place, len(matrices)) for place in (node.start, node.link)
            )
            nodes.append((start, factor, link, len(children), len(node.nodes), 0))
            children += node.nodes
        linked = [place for node in steps for place in (node.start, node.link)]
        n = self.sizes(*linked) if linked else self.size(None)
        factors = [each for place in vectors if (each := self._filled(self.vector(place), n)) is not None]
        tables = (
            np.array(nodes, _FOREST_NODE),
            np.array([*children, 0], np.int32),
            np.array(tops, np.int32),
            np.array([self.matrix(place).record() for place in matrices], MATRIX),
            np.array([*(each.ctypes.data for each in factors), 0], np.uint64),
            *factors,
        )
        given = None if vector is None else self._filled(self.optional(vector), n)
        roots = address(given)
        record = np.array(
            [(len(nodes), len(tops), *(table.ctypes.data for table in tables[:5]), roots, n, 0)], _FOREST_PLAN
        )
        return Plan(record, tables if given is None else (*tables, given))

    # ------------------------------------------------------------ numbers

    def call(self, name: str, *args: Any, reads: int | None = None) -> None:
        """Call a native function, whose last argument is the limits."""
        function = getattr(self.library, name)
        told_apart(self.context.run, function, *args, ctypes.byref(self.context.control), reads=reads)

    def matrix(self, place: int) -> SparseMatrix:
        """Return a matrix with at most one number an entry."""
        found = self.found[place]
        assert isinstance(found, SparseMatrix)
        if len(found.factors) < 2:
            return found
        multiplied = replace(found, factors=(self._multiplied(found.factors, len(found.ids)),))
        self.found[place] = multiplied
        return multiplied

    def optional(self, place: int | None) -> Array | None:
        """Return a vector as kernels read it, None for ones."""
        found = None if place is None else self.found[place]
        assert not isinstance(found, SparseMatrix | Lists | Factors | ClosedWalkCounts)
        if place is not None and found is not None and (found.itemsize < 8 or found.ndim < 1 + self.wide):
            self.charge(len(found) * (16 if self.wide else 8))
            found = self.found[place] = self._widened(found.astype(np.uint64))
        return found

    def vector(self, place: int) -> Array:
        """Return a vector as kernels read it."""
        found = self.optional(place)
        if found is None:
            return self._widened(np.ones(self.size(domain_of(self.steps, place)), np.uint64))
        return found

    def _filled(self, vector: Array | None, n: int) -> Array | None:
        """Return a vector with zeros behind it, of n numbers in all."""
        if vector is None or len(vector) == n:
            return vector
        filled = np.zeros((n, *vector.shape[1:]), np.uint64)
        filled[: len(vector)] = vector
        return filled

    def _widened(self, numbers: Array) -> Array:
        return np.stack((numbers, np.zeros_like(numbers)), axis=1) if self.wide else numbers

    def empty(self, n: int) -> Array:
        """Return an array for n numbers."""
        self.charge(n * (16 if self.wide else 8))
        return np.empty((n, 2) if self.wide else n, np.uint64)


def told_apart(run: Callable[..., _T], *args: Any, **named: Any) -> _T:
    """Run native functions, and tell overflow from their other errors."""
    try:
        return run(*args, **named)
    except ResourceError as error:
        if error.code == "CountOverflow":
            raise NumberOverflow from error
        raise


def _records(arrays: Sequence[Array]) -> Array:
    return np.array([numbers(array) for array in arrays], NUMBERS)


def address(vector: Array | None) -> int:
    return 0 if vector is None else vector.ctypes.data


@cache
def _library() -> ctypes.CDLL:
    library = _native.load()
    pointer, u64, u32, i32 = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_int32
    library.qe_eliminate_message.argtypes = (pointer, pointer, i32, u32, pointer, i32, pointer, pointer)
    library.qe_eliminate_product.argtypes = (pointer, i32, u64, i32, pointer, pointer)
    library.qe_masked_product.argtypes = (pointer, pointer, pointer, u32, pointer, i32, pointer, pointer)
    library.qe_eliminate_triangle_sums.argtypes = (pointer, pointer, i32, pointer, pointer)
    library.qe_eliminate_local_triangles.argtypes = (pointer, pointer, u64, pointer, pointer)
    library.qe_eliminate_local_walks.argtypes = (pointer, pointer, u64, pointer, pointer)
    library.qe_row_squares.argtypes = (pointer, pointer)
    library.qe_rooted_forest.argtypes = (pointer, i32, pointer, pointer)
    library.qe_eliminate_pairs.argtypes = (pointer, i32, u32, i32, pointer, pointer)
    return library
