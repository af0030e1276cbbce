"""What kernels of an elimination on the host read and write: arrays by step, and the native functions over them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from qengine import _native
from qengine._frozen import frozen, replace
from qengine.errors import ResourceError
from qengine.exec.common.dealing import assign, computed
from qengine.exec.common.relations import MATRIX, NUMBERS, Lists, Relations, SparseMatrix, numbers
from qengine.exec.context import ExecutionContext
from qengine.exec.host.cached_vectors import VectorKey
from qengine.exec.host.ranked_pairs import RankedPairs
from qengine.plan.elimination import (
    Domain,
    ForestNode,
    NodeIndicator,
    Step,
    column_domain_of,
    domain_of,
)

_FOREST_NODE = _native.record("i4 start vector link first count unused")
_FOREST_PLAN = _native.record("i4 n_nodes n_tops; u8 nodes children tops matrices vectors roots; u4 n unused")

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


class NumberOverflow(Exception):
    """A number doesn't fit."""


class Unfit(Exception):
    """A kernel doesn't take what it is given (``Schedule.otherwise``). Its argument says why."""


Found = Array | SparseMatrix | Lists | None


def indicator_vector(relations: Relations, own: NodeIndicator) -> npt.NDArray[np.uint64]:
    """Return the vector of an ``NodeIndicator``, 0 for what is no vertex."""
    store, masks = relations.store, relations.masks
    admitted = []
    for name, labels, predicates in own.nodes:
        ranges = store.label_ranges(labels).tolist()
        found = [masks.vertex_mask(name, predicates, *each) if predicates else None for each in ranges]
        admitted.append(list(zip(ranges, found, strict=True)))

    def held_by_all(part: slice) -> npt.NDArray[np.bool_]:
        held = np.ones(part.stop - part.start, np.bool_)
        for node in admitted:
            inside = np.zeros(len(held), np.bool_)
            for (begin, end), mask in node:
                low, high = max(begin, part.start), min(end, part.stop)
                if low < high:
                    there = True if mask is None else mask[low - begin : high - begin]
                    inside[low - part.start : high - part.start] = there
            held &= inside
        return held

    held = computed(store.vertex_count, np.uint64, held_by_all, relations.context)
    for relation in own.loops:
        held *= relations.loops(relation)
    return filled(held, relations.size)


class Steps:
    """The steps of one execution, over the graph's vertices.

    ``vectors``: by what the graph keeps vectors, by their steps. ``found``: what each step has given, by its place;
    None for a vector of ones. Vectors that the graph keeps may be narrower than others: ``optional`` widens those that
    kernels read as such. ``charge`` is told of bytes before they are allocated, and may refuse them. ``values``: the
    vector of ``NodeValues``, if there are any.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        vectors: Mapping[int, VectorKey],
        found: MutableMapping[int, Found],
        relations: Relations,
        charge: Callable[[int], None],
        wide: bool,
        values: Array | None = None,
    ) -> None:
        self.steps = steps
        self.vectors = vectors
        self.found = found
        self.relations = relations
        self.store = relations.store
        self.context: ExecutionContext = relations.context
        self.charge = charge
        self.wide = wide
        self.values = values
        self.library = _library()

    def size(self, domain: Domain) -> int:
        """Return how many elements a domain has."""
        assert domain is None
        return int(self.relations.size)

    def sizes(self, *places: int | None) -> int:
        """Return the size of the largest domain of some matrices' rows and columns, or of vectors."""
        given = [place for place in places if place is not None]
        rows = {domain_of(self.steps, place) for place in given}
        return max(map(self.size, rows.union(column_domain_of(self.steps, place) for place in given)))

    def multiplied(self, factors: Sequence[Array], n: int) -> Array:
        """Return the product of arrays of n numbers."""
        out = self.empty(n)
        records = records_of(factors)
        where = records.ctypes.data, len(factors), n, int(self.wide), out.ctypes.data
        self.call("qe_eliminate_product", *where, reads=n)
        return out

    def ranked(self, step: Step, matrix: SparseMatrix) -> RankedPairs:
        """Return a matrix by descending length of rows; of the graph's own the graph keeps it."""
        if not matrix.owned:
            return RankedPairs(matrix, self.context)
        found: RankedPairs = self.store.derived.get((step, "ranked"), lambda: RankedPairs(matrix, self.context))
        return found

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
        factors = [filled(self.vector(place), n) for place in vectors]
        tables = (
            np.array(nodes, _FOREST_NODE),
            np.array([*children, 0], np.int32),
            np.array(tops, np.int32),
            np.array([self.matrix(place).record() for place in matrices], MATRIX),
            np.array([*(each.ctypes.data for each in factors), 0], np.uint64),
            *factors,
        )
        roots = None if vector is None else self.optional(vector)
        given = None if roots is None else filled(roots, n)
        record = np.array(
            [(len(nodes), len(tops), *(table.ctypes.data for table in tables[:5]), address(given), n, 0)], _FOREST_PLAN
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
        multiplied = replace(found, factors=(self.multiplied(found.factors, len(found.ids)),))
        self.found[place] = multiplied
        return multiplied

    def optional(self, place: int | None) -> Array | None:
        """Return a vector as kernels read it, None for ones."""
        found = None if place is None else self.found[place]
        assert not isinstance(found, SparseMatrix | Lists)
        if place is not None and found is not None and (found.itemsize < 8 or found.ndim < 1 + self.wide):
            self.charge(len(found) * (16 if self.wide else 8))
            found = self.found[place] = self._as_read(found)
        return found

    def _as_read(self, numbers: Array) -> Array:
        """Return numbers as kernels read them."""
        if not self.wide:
            out = np.empty(numbers.shape, np.uint64)
            assign(out, numbers, self.context)
            return out
        out = np.empty((len(numbers), 2), np.uint64)
        assign(out[:, 0], numbers, self.context)
        assign(out[:, 1], np.uint64(0), self.context)
        return out

    def vector(self, place: int) -> Array:
        """Return a vector as kernels read it."""
        found = self.optional(place)
        if found is None:
            return self.widened(np.ones(self.size(domain_of(self.steps, place)), np.uint64))
        return found

    def widened(self, numbers: Array) -> Array:
        """Return numbers of 64 bits with as many as the run's have."""
        return self._as_read(numbers) if self.wide else numbers

    def empty(self, n: int) -> Array:
        """Return an array for n numbers."""
        self.charge(n * (16 if self.wide else 8))
        return np.empty((n, 2) if self.wide else n, np.uint64)


def filled(vector: npt.NDArray[np.uint64], n: int) -> npt.NDArray[np.uint64]:
    """Return a vector with zeros behind it, of n numbers in all."""
    if len(vector) == n:
        return vector
    found = np.zeros((n, *vector.shape[1:]), np.uint64)
    found[: len(vector)] = vector
    return found


def told_apart(run: Callable[..., _T], *args: Any, **named: Any) -> _T:
    """Run native functions, and tell overflow from their other errors."""
    try:
        return run(*args, **named)
    except ResourceError as error:
        if error.code == "CountOverflow":
            raise NumberOverflow from error
        raise


def records_of(arrays: Sequence[Array]) -> Array:
    """Return the ``NUMBERS`` records of arrays."""
    return np.array([numbers(array) for array in arrays], NUMBERS)


def address(vector: Array | None) -> int:
    """Return where a vector is, 0 of ones."""
    return 0 if vector is None else vector.ctypes.data


_library = _native.declared(
    "qe_eliminate_message p p i4 u4 p i4 p p; qe_eliminate_product p i4 u8 i4 p p; "
    "qe_masked_product p p p u4 p i4 p p; qe_eliminate_triangle_sums p p i4 p p; "
    "qe_eliminate_local_triangles p p u8 p p; qe_eliminate_local_sums p p u8 i4 p p; "
    "qe_eliminate_local_walks p p u8 p p; qe_row_squares p p; qe_rooted_forest p i4 p p; "
    "qe_masked_forest p p p u4 i4 p p; qe_eliminate_turned p p p; qe_eliminate_pairs p i4 u4 i4 p p; "
    "qe_mixed_walks p p; qe_cliques p p; qe_fold_pairs p i4 p; qe_fold_pair_rows p p i4 p"
)
