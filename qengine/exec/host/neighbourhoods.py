"""Steps over pairs of roots and their neighbours, for some roots after the other (``elimination_schedule.Among``)."""

from __future__ import annotations

import ctypes
from collections import ChainMap
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import numpy.typing as npt

from qengine import _native
from qengine._control import Status
from qengine.exec.common.relations import MATRIX, SparseMatrix, numbers
from qengine.exec.elimination_schedule import Among, root_matrices, root_ranges
from qengine.exec.host.cached_vectors import product_sums
from qengine.exec.host.closed_walk_counts import ClosedWalkCounts, closed_walk_counts
from qengine.exec.host.elimination_steps import Array, Factors, Found, Steps, told_apart
from qengine.exec.host.ranked_pairs import RankedPairs
from qengine.plan.elimination import (
    AtEnds,
    ByRoot,
    Domain,
    EndRows,
    Neighbourhoods,
    OfPairs,
    Product,
    Step,
    domain_of,
)

__all__ = ["NEIGHBOURS", "run_among"]

NEIGHBOURS = np.dtype(
    [("first", "<u8"), ("second", "<u8"), ("by", "<u8"), ("begin", "<u4"), ("end", "<u4"), ("n", "<u4"),
     ("repeats", "<i4")]
)  # fmt: skip
"""As ``qe::eliminate::NeighboursTask``."""

_MOST_LINKS = 1 << 26
"""Links among the neighbours of the roots that are done together, at the most that there can be: 256 MB."""


def run_among(steps: Steps, among: Among) -> tuple[dict[int, Found], dict[int, int]]:
    """Run steps over pairs: return the sums by root that leave them, and the sums of all, by their places.

    Raises
    ------
    QueryTimeout, QueryInterrupted, OutOfMemory
        By the context's limits, from inside the steps.
    NumberOverflow
        If a number doesn't fit.
    """
    n = steps.size(None)
    by_root: dict[int, Found] = {}
    for place in among.by_root:
        by_root[place] = steps.empty(n)
        by_root[place][...] = 0  # type: ignore[index]
    totals = dict.fromkeys(among.totals, 0)
    for first, last in _ranges(steps, among):
        piece = _Piece(steps, among, first, last)
        for place in among.steps:
            piece.found[place] = piece.run(place)
        for place in among.by_root:
            out = by_root[place]
            assert isinstance(out, np.ndarray)
            out[first:last] = piece.run(place)
        for place, total in piece.sums().items():
            totals[place] += total
        steps.charge(0)
        steps.context.check()
    return by_root, totals


def _ranges(steps: Steps, among: Among) -> Iterator[tuple[int, int]]:
    """Yield ranges of roots whose neighbours have no more links than fit, one root at the least."""
    limit = steps.context.memory_limit
    rows = []
    for place in root_matrices(steps.steps, among):
        matrix = steps.found[place]
        assert isinstance(matrix, SparseMatrix)
        rows.append((matrix.lo, matrix.offsets))
    most = _MOST_LINKS if limit is None else min(_MOST_LINKS, limit // 64)
    return root_ranges(steps.steps, among, steps.size(None), rows, most)


class _Piece(Steps):
    """Steps over the pairs of the roots from ``first`` to before ``last``: numbered from the first of these on."""

    def __init__(self, whole: Steps, among: Among, first: int, last: int) -> None:
        found: ChainMap[int, Found] = ChainMap({}, whole.found)
        super().__init__(whole.steps, whole.facts, found, whole.relations, whole.charge, whole.wide)
        self.first, self.last = first, last
        self.among = among
        self.whole = whole
        self._pairs: dict[int, SparseMatrix] = {}
        self._begins: dict[int, int] = {}

    def run(self, place: int) -> Found:
        """Return what a step gives for these roots."""
        step = self.steps[place]
        match step:
            case Neighbourhoods():
                return self._neighbourhoods(step)
            case AtEnds(pairs=pairs, vector=vector):
                numbers = self.optional(vector)
                return None if numbers is None else numbers[self.pairs(pairs).ids]
            case OfPairs(pairs=pairs, matrix=matrix):
                return self._numbers(pairs, matrix)
            case EndRows(pairs=pairs, by=by):
                found = self.found[by]
                assert isinstance(found, SparseMatrix)
                ends = self.pairs(pairs).ids
                return replace(found, rows=ends if found.rows is None else found.rows[ends], pairs=False)
            case ByRoot(pairs=pairs, vector=vector):
                return self._by_root(pairs, vector)
            case Product(factors=factors):
                return self._product([self.found[each] for each in factors], False)
        return super().run(place)

    def size(self, domain: Domain) -> int:
        """Return how many vertices there are, or pairs of these roots."""
        return self.relations.n if domain is None else len(self.pairs(domain).ids)

    def matrix(self, place: int) -> SparseMatrix:
        """Return a matrix with at most one number an entry: of one over vertices they are multiplied once for all."""
        return super().matrix(place) if place in self.among.steps else self.whole.matrix(place)

    def optional(self, place: int | None) -> Array | None:
        """Return a vector as kernels read it, None for ones: one over vertices is widened once for all."""
        return super().optional(place) if place in self.among.steps else self.whole.optional(place)

    def pairs(self, place: int) -> SparseMatrix:
        """Return the rows of these roots of a matrix, whose pairs are a domain."""
        if (known := self._pairs.get(place)) is not None:
            return known
        matrix = self.found[place]
        assert isinstance(matrix, SparseMatrix)
        if place in self.among.steps:
            self._begins[place] = 0
            self._pairs[place] = replace(matrix, factors=())
            return self._pairs[place]
        lo, hi = (min(max(end, matrix.lo), matrix.hi) - matrix.lo for end in (self.first, self.last))
        offsets = np.zeros(self.last - self.first + 1, np.uint64)
        begin, end = int(matrix.offsets[lo]), int(matrix.offsets[hi])
        before = max(0, min(matrix.lo, self.last) - self.first)
        offsets[before : before + hi - lo + 1] = matrix.offsets[lo : hi + 1] - np.uint64(begin)
        offsets[before + hi - lo + 1 :] = end - begin
        self._begins[place] = begin
        self._pairs[place] = SparseMatrix(offsets, matrix.ids[begin:end], 0, self.last - self.first)
        return self._pairs[place]

    def sums(self) -> dict[int, int]:
        """Return the sums of all numbers of the steps whose totals are asked for."""
        walks = {}
        for place in self.among.totals:
            if isinstance(found := self.found[place], ClosedWalkCounts):
                walks[place] = found
        sums = closed_walk_counts(walks, self.ranked, self.context)
        for place in self.among.totals:
            if place not in walks:
                found = self.found[place]
                arrays = found.arrays if isinstance(found, Factors) else () if found is None else (found,)
                records = [number for each in arrays for number in numbers(each)[:2]]  # type: ignore[arg-type]
                starts = (ctypes.c_int32 * 2)(0, len(arrays))
                n = self.size(domain_of(self.steps, place))
                sums[place] = told_apart(product_sums, records, starts, n, self.context)[0]
        return sums

    def ranked(self, step: Step, matrix: SparseMatrix) -> RankedPairs:
        """Return a matrix by descending length of rows."""
        if isinstance(step, Neighbourhoods):
            return RankedPairs(matrix, self.context)
        return self.whole.ranked(step, matrix)

    # ------------------------------------------------------------ steps

    def _numbers(self, pairs: int, place: int) -> Found:
        self.pairs(pairs)
        matrix = self.matrix(place)
        if not matrix.factors:
            return None
        begin = self._begins[pairs]
        return matrix.factors[0][begin : begin + self.size(pairs)]

    def _by_root(self, pairs: int, vector: int) -> Array:
        matrix, found = self.pairs(pairs), self.optional(vector)
        n = matrix.hi
        out = self.empty(n)
        record = np.array([matrix.record()], MATRIX)
        factors = () if found is None else (found,)
        records = np.array([numbers(each) for each in factors], [("at", "<u8"), ("bytes", "<i4"), ("unused", "<i4")])
        self.call(
            "qe_eliminate_message", record.ctypes.data, records.ctypes.data, len(factors), n, 0, int(self.wide),
            out.ctypes.data, reads=n + len(matrix.ids),
        )  # fmt: skip
        return out

    def _neighbourhoods(self, step: Neighbourhoods) -> SparseMatrix:
        first, second, by = self.pairs(step.first), self.pairs(step.second), self.matrix(step.by)
        offsets: npt.NDArray[np.uint64] = np.empty(len(first.ids) + 1, np.uint64)
        self.charge(offsets.nbytes)
        library = _library()
        handle = ctypes.c_void_p()
        records = [np.array([each.record()], MATRIX) for each in (first, second, by)]
        control = ctypes.byref(self.context.control)
        n = self.sizes(step.first, step.second, step.by)
        try:
            addresses = (each.ctypes.data for each in records)
            task = np.array([(*addresses, 0, first.hi, n, by.repeats)], NEIGHBOURS)
            self.call("qe_eliminate_neighbours", task.ctypes.data, offsets.ctypes.data, ctypes.byref(handle))
            links = int(offsets[-1])
            self.charge(4 * links)
            ids = np.empty(links, np.uint32)
            values = tuple(np.empty((links, *each.shape[1:]), each.dtype) for each in by.factors)
            self.charge(sum(each.nbytes for each in values))
            at = values[0].ctypes.data if values else None
            status = library.qe_eliminate_neighbours_take(handle, ids.ctypes.data, at, control)
            if status != Status.OK:
                self.context.raise_for(status)
        finally:
            library.qe_eliminate_neighbours_close(handle)
        pairs = step.first == step.second and by.pairs
        return SparseMatrix(
            offsets,
            ids,
            0,
            len(first.ids),
            values,
            pairs,
            by.repeats,
            owned=False,
            blocks=first.offsets if pairs else None,
        )


@cache
def _library() -> ctypes.CDLL:
    library = _native.load()
    pointer = ctypes.c_void_p
    library.qe_eliminate_neighbours.argtypes = (pointer,) * 4
    library.qe_eliminate_neighbours_take.argtypes = (pointer, pointer, pointer, pointer)
    library.qe_eliminate_neighbours_close.argtypes = (pointer,)
    library.qe_eliminate_neighbours_close.restype = None
    return library
