"""Runs an ``Eliminate``: its steps one after the other, each a native function over arrays, then its signed terms.

Numbers are of 64 bits; where one overflows, all is computed again with 128. Totals are Python's integers.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine import _native
from qengine._control import Status
from qengine.errors import InternalError, ResourceError
from qengine.exec.context import ExecutionContext
from qengine.exec.cpu.relations import MATRIX, SparseMatrix, loops_of, matrix_of
from qengine.exec.cpu.resolve import MaskProvider
from qengine.exec.cpu.runtime import Runtime
from qengine.plan.elimination import Around, Closed, Matrix, Message, Own, Product, Step
from qengine.plan.physical import Eliminate

__all__ = ["Counts", "NumberOverflow", "checked_count", "counts_in_64_or_128_bits", "own_numbers", "run_eliminate"]

_MAX_COUNT = 2**63 - 1

_ARM = np.dtype([(name, "<i4") for name in ("start", "vector", "link", "first", "count", "unused")])
_AROUND = np.dtype(
    [("n_arms", "<i4"), ("n_tops", "<i4"), ("arms", "<u8"), ("children", "<u8"), ("tops", "<u8"), ("matrices", "<u8"),
     ("vectors", "<u8"), ("roots", "<u8"), ("n", "<u4"), ("unused", "<u4")]
)  # fmt: skip

Array = npt.NDArray[Any]
Ids = npt.NDArray[np.int64]
Counts = tuple[Ids | None, Ids]
"""None and the only count of a pattern, none where it is 0; or vertices and their counts."""


def run_eliminate(operator: Eliminate, runtime: Runtime, masks: MaskProvider) -> Counts:
    """Return the count of a pattern, in all or by vertex.

    Raises
    ------
    QueryTimeout, QueryInterrupted, OutOfMemory
        By the context's limits, from inside the steps.
    ResourceError
        If a count exceeds 64 bits, or a number on the way to it 128.
    """
    return counts_in_64_or_128_bits(lambda wide: _Run(operator, runtime, masks, wide).counts(), runtime.context)


class NumberOverflow(Exception):
    """A number doesn't fit."""


def counts_in_64_or_128_bits(run: Callable[[bool], Counts], context: ExecutionContext) -> Counts:
    """Return what ``run(wide)`` does: with numbers of 64 bits, and if one overflows with 128.

    Raises
    ------
    ResourceError
        If these overflow, too.
    """
    try:
        return run(False)
    except NumberOverflow:
        pass
    try:
        return run(True)
    except NumberOverflow:
        context.raise_for(Status.OVERFLOW)
        raise


def checked_count(count: int, context: ExecutionContext) -> int:
    """Return a count that has at most 63 bits.

    Raises
    ------
    ResourceError
        If it has more.
    """
    if count > _MAX_COUNT:
        context.raise_for(Status.OVERFLOW)
    if count < 0:
        raise InternalError("An elimination's terms add up to a negative count.")
    return count


def own_numbers(store: Any, own: Own, masks: MaskProvider) -> npt.NDArray[np.uint64]:
    """Return the vector of an ``Own``."""
    held = np.ones(store.vertex_count, np.uint64)
    for name, labels, predicates in own.nodes:
        admitted = np.zeros(store.vertex_count, np.uint64)
        for begin, end in store.label_ranges(labels).tolist():
            admitted[begin:end] = masks.vertex_mask(name, predicates, begin, end) if predicates else np.uint64(1)
        held *= admitted
    for relation in own.loops:
        held *= loops_of(store, relation, masks)
    return held


class _Run:
    """One execution of the program; ``found``: what each step has given, None for a vector of ones."""

    def __init__(self, operator: Eliminate, runtime: Runtime, masks: MaskProvider, wide: bool) -> None:
        self.operator = operator
        self.store = runtime.store
        self.runtime = runtime
        self.context: ExecutionContext = runtime.context
        self.masks = masks
        self.wide = wide
        self.n = self.store.vertex_count
        self.found: list[Array | SparseMatrix | None] = []
        self.library = _library()

    def counts(self) -> Counts:
        with self.runtime.memory.holding("Eliminate") as holding:
            for step in self.operator.steps:
                made = self._step(step)
                self.found.append(made)
                if isinstance(made, SparseMatrix) and isinstance(step, Matrix):
                    continue  # the graph's, or kept with it
                holding.add(0 if made is None else made.nbytes)
                self.context.check()
            return self._total() if not self.operator.emit else self._by_vertex()

    # ------------------------------------------------------------ terms

    def _total(self) -> tuple[None, Ids]:
        sums = self._sums()
        total = sum(term.factor * prod(sums[place] for place in term.totals) for term in self.operator.terms)
        return None, np.array([checked_count(total, self.context)] if total else [], np.int64)

    def _by_vertex(self) -> tuple[Ids, Ids]:
        """Add up the terms' vectors: exactly, in Python's integers where 64 bits may not do."""
        sums = self._sums()
        scaled = []
        for term in self.operator.terms:
            factor = term.factor * prod(sums[place] for place in term.totals)
            assert term.output is not None
            if factor:
                scaled.append((factor, self._vector(term.output)))
        counts: Array = np.zeros(self.n, np.int64)
        bound = sum(abs(factor) * self._greatest(vector) for factor, vector in scaled)
        if bound > _MAX_COUNT:
            counts = counts.astype(object)
        for factor, vector in scaled:
            counts += factor * (self._integers(vector) if bound > _MAX_COUNT else vector.astype(np.int64))
        if bound > _MAX_COUNT:
            checked_count(max(counts, default=0), self.context)
            counts = counts.astype(np.int64)
        vertices = np.flatnonzero(counts)
        return vertices, counts[vertices]

    def _sums(self) -> dict[int, int]:
        places = {place for term in self.operator.terms for place in term.totals}
        return {place: self._sum(place) for place in places}

    def _sum(self, place: int) -> int:
        vector = self._optional(place)
        if vector is None:
            return int(self.n)
        halves = np.zeros(2, np.uint64)
        self._call("qe_eliminate_total", vector.ctypes.data, self.n, int(self.wide), halves.ctypes.data, control=False)
        return int(halves[0]) | int(halves[1]) << 64

    def _greatest(self, vector: Array) -> int:
        if not self.n:
            return 0
        return int(vector.max()) if not self.wide else (int(vector[:, 1].max()) + 1) << 64

    def _integers(self, vector: Array) -> Array:
        high: Array = vector[:, 1].astype(object) << 64 if self.wide else np.zeros(1, object)
        low: Array = (vector[:, 0] if self.wide else vector).astype(object)
        return low + high

    # ------------------------------------------------------------ steps

    def _step(self, step: Step) -> Array | SparseMatrix | None:
        match step:
            case Own():
                return self._own(step)
            case Matrix(relations=relations):
                return self._numbers(matrix_of(self.store, relations, self.masks))
            case Product(factors=factors):
                return self._product([self.found[place] for place in factors])
            case Message(matrix=place, vector=vector):
                return self._message(self._matrix(place), self._optional(vector))
            case Closed():
                return self._closed(step)
            case Around():
                return self._around(step)

    def _own(self, own: Own) -> Array | None:
        if not own.nodes and not own.loops:
            return None
        return self._widened(own_numbers(self.store, own, self.masks))

    def _product(self, factors: Sequence[Array | SparseMatrix | None]) -> Array | SparseMatrix | None:
        matrices = [factor for factor in factors if isinstance(factor, SparseMatrix)]
        if matrices:
            values = self._multiplied([each.values for each in matrices], len(matrices[0].ids))
            first = matrices[0]
            return SparseMatrix(first.offsets, first.ids, first.lo, first.hi, values)
        return self._multiplied([factor for factor in factors if not isinstance(factor, SparseMatrix)], self.n)

    def _multiplied(self, factors: Sequence[Array | None], n: int) -> Array | None:
        present = [factor for factor in factors if factor is not None]
        if len(present) < 2:
            return present[0] if present else None
        out = self._empty(n)
        pointers = np.array([factor.ctypes.data for factor in present], np.uint64)
        self._call("qe_eliminate_product", pointers.ctypes.data, len(present), n, int(self.wide), out.ctypes.data)
        return out

    def _message(self, matrix: SparseMatrix, vector: Array | None) -> Array:
        out = self._empty(self.n)
        record = np.array([matrix.record()], MATRIX)
        self._call(
            "qe_eliminate_message", record.ctypes.data, self.n, _address(vector), int(self.wide), out.ctypes.data
        )
        return out

    def _closed(self, step: Closed) -> SparseMatrix:
        across, left, right = self._matrix(step.across), self._matrix(step.left), self._matrix(step.right)
        vector = self._optional(step.vector)
        out = self._empty(len(across.ids))
        records = np.array([across.record(), left.record(), right.record()], MATRIX)
        where = [records.ctypes.data + place * MATRIX.itemsize for place in range(3)]
        if step.across == step.left == step.right and across.pairs:
            self._call("qe_eliminate_triangles", where[0], _address(vector), int(self.wide), out.ctypes.data)
        else:
            self._call("qe_eliminate_close", *where, self.n, _address(vector), int(self.wide), out.ctypes.data)
        return SparseMatrix(across.offsets, across.ids, across.lo, across.hi, out)

    def _around(self, step: Around) -> Array:
        matrices: dict[int, int] = {}
        vectors: dict[int, int] = {}
        children: list[int] = []
        arms = []
        for arm in step.arms:
            vector = -1
            if arm.vector is not None and self.found[arm.vector] is not None:
                vector = vectors.setdefault(arm.vector, len(vectors))
            start, link = (
                -1 if place is None else matrices.setdefault(place, len(matrices)) for place in (arm.start, arm.link)
            )
            arms.append((start, vector, link, len(children), len(arm.arms), 0))
            children += arm.arms
        tables = (
            np.array(arms, _ARM),
            np.array([*children, 0], np.int32),
            np.array(step.tops, np.int32),
            np.array([self._matrix(place).record() for place in matrices], MATRIX),
            np.array([*(_address(self._vector(place)) for place in vectors), 0], np.uint64),
        )
        roots = _address(self._optional(step.vector))
        plan = np.array(
            [(len(arms), len(step.tops), *(table.ctypes.data for table in tables), roots, self.n, 0)], _AROUND
        )
        out = self._empty(self.n)
        self._call("qe_eliminate_around", plan.ctypes.data, int(self.wide), out.ctypes.data)
        return out

    # ------------------------------------------------------------ numbers

    def _call(self, name: str, *args: Any, control: bool = True) -> None:
        function = getattr(self.library, name)
        if control:
            args = (*args, ctypes.byref(self.context.control))
        try:
            self.context.run(function, *args)
        except ResourceError as error:
            if error.code == "CountOverflow":
                raise NumberOverflow from error
            raise

    def _matrix(self, place: int) -> SparseMatrix:
        found = self.found[place]
        assert isinstance(found, SparseMatrix)
        return found

    def _optional(self, place: int | None) -> Array | None:
        found = None if place is None else self.found[place]
        assert not isinstance(found, SparseMatrix)
        return found

    def _vector(self, place: int) -> Array:
        found = self._optional(place)
        return self._widened(np.ones(self.n, np.uint64)) if found is None else found

    def _numbers(self, matrix: SparseMatrix) -> SparseMatrix:
        if matrix.values is None or not self.wide:
            return matrix
        return SparseMatrix(matrix.offsets, matrix.ids, matrix.lo, matrix.hi, self._widened(matrix.values))

    def _widened(self, numbers: Array) -> Array:
        return np.stack((numbers, np.zeros_like(numbers)), axis=1) if self.wide else numbers

    def _empty(self, n: int) -> Array:
        return np.empty((n, 2) if self.wide else n, np.uint64)


def _address(vector: Array | None) -> int:
    return 0 if vector is None else vector.ctypes.data


@cache
def _library() -> ctypes.CDLL:
    library = _native.load()
    pointer, u64, u32, i32 = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_int32
    library.qe_eliminate_message.argtypes = (pointer, u32, pointer, i32, pointer, pointer)
    library.qe_eliminate_product.argtypes = (pointer, i32, u64, i32, pointer, pointer)
    library.qe_eliminate_total.argtypes = (pointer, u64, i32, pointer)
    library.qe_eliminate_close.argtypes = (pointer, pointer, pointer, u32, pointer, i32, pointer, pointer)
    library.qe_eliminate_triangles.argtypes = (pointer, pointer, i32, pointer, pointer)
    library.qe_eliminate_around.argtypes = (pointer, i32, pointer, pointer)
    return library
