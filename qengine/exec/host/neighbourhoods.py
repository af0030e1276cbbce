"""Steps over pairs of roots and their neighbours, for some roots after the other (``plan.schedule.Among``)."""

from __future__ import annotations

import ctypes
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import numpy.typing as npt

from qengine import _native
from qengine._control import Status
from qengine._frozen import replace
from qengine.exec.common.relations import MATRIX, SparseMatrix
from qengine.exec.host.elimination_steps import Array, Found, Steps, records_of
from qengine.exec.host.ranked_pairs import RankedPairs
from qengine.exec.root_ranges import most_links, root_matrices, root_ranges
from qengine.plan.elimination import AtPairs, Domain, Neighbourhoods, Step
from qengine.plan.schedule import Among, KernelCall

NEIGHBOURS = _native.record("u8 first second by; u4 begin end n; i4 repeats")
"""As ``qe::eliminate::NeighboursTask``."""

_MOST_LINKS = 1 << 26
"""Links among the neighbours of the roots that are done together, at the most that there can be: 256 MB."""


def run_among(
    steps: Steps,
    among: Among,
    run_call: Callable[[Steps, KernelCall], Found],
    run_total: Callable[[Steps, KernelCall], Mapping[int, int]],
) -> tuple[dict[int, Found], dict[int, int]]:
    """Run calls over pairs: return what leaves them by root or pair, and the sums of all, by their places.

    Parameters
    ----------
    run_call, run_total
        Run the kernel of a call.

    Raises
    ------
    QueryTimeout, QueryInterrupted, OutOfMemory
        By the context's limits, from inside the steps.
    NumberOverflow
        If a number doesn't fit.
    Unfit
        If a kernel doesn't take what it is given.
    """
    outside = {call.places[0]: _zeros(steps, call) for call in among.by_root}
    totals = {place: 0 for call in among.totals for place in call.places}
    for first, last in _ranges(steps, among):
        piece = Piece(steps, among, first, last)
        for call in among.calls:
            piece.found[call.places[0]] = run_call(piece, call)
        for call in among.by_root:
            piece.leave(call, run_call(piece, call), outside[call.places[0]])
        for call in among.totals:
            for place, total in run_total(piece, call).items():
                totals[place] += total
        steps.charge(0)
        steps.context.check()
    kept = {place: _outside(steps, place, numbers_at) for place, numbers_at in outside.items()}
    return kept, totals


def _zeros(steps: Steps, call: KernelCall) -> Array:
    """Return zeros for what leaves the pairs: a number for each vertex, or for each pair of a matrix."""
    step, n = steps.steps[call.places[0]], steps.size(None)
    if isinstance(step, AtPairs):
        matrix = steps.found[step.pairs]
        assert isinstance(matrix, SparseMatrix)
        n = len(matrix.ids)
    zeros = steps.empty(n)
    zeros[...] = 0
    return zeros


def _outside(steps: Steps, place: int, found: Array) -> Found:
    step = steps.steps[place]
    if not isinstance(step, AtPairs):
        return found
    matrix = steps.found[step.pairs]
    assert isinstance(matrix, SparseMatrix)
    return replace(matrix, factors=(found,), pairs=False)


def _ranges(steps: Steps, among: Among) -> Iterator[tuple[int, int]]:
    """Yield ranges of roots whose neighbours have no more links than fit, one root at the least."""
    limit = steps.context.memory_limit
    rows = []
    for place in root_matrices(steps.steps, among):
        matrix = steps.found[place]
        assert isinstance(matrix, SparseMatrix)
        rows.append((matrix.lo, matrix.offsets))
    most = _MOST_LINKS if limit is None else min(_MOST_LINKS, limit // 64)
    return root_ranges(steps.steps, among, most_links(steps.size(None), rows), most)


class Piece(Steps):
    """Steps over the pairs of the roots from ``first`` to before ``last``: numbered from the first of these on."""

    def __init__(self, whole: Steps, among: Among, first: int, last: int) -> None:
        found: ChainMap[int, Found] = ChainMap({}, whole.found)
        super().__init__(whole.steps, whole.vectors, found, whole.relations, whole.charge, whole.wide)
        self.first, self.last = first, last
        self.of_pairs = frozenset(among.steps)
        self.whole = whole
        self._pairs: dict[int, SparseMatrix] = {}
        self._begins: dict[int, int] = {}

    def size(self, domain: Domain) -> int:
        """Return how many vertices there are, or pairs of these roots."""
        return self.relations.size if domain is None else len(self.pairs(domain).ids)

    def matrix(self, place: int) -> SparseMatrix:
        """Return a matrix with at most one number an entry: of one over vertices they are multiplied once for all."""
        return super().matrix(place) if place in self.of_pairs else self.whole.matrix(place)

    def optional(self, place: int | None) -> Array | None:
        """Return a vector as kernels read it, None for ones: one over vertices is widened once for all."""
        return super().optional(place) if place in self.of_pairs else self.whole.optional(place)

    def pairs(self, place: int) -> SparseMatrix:
        """Return the rows of these roots of a matrix, whose pairs are a domain."""
        if (known := self._pairs.get(place)) is not None:
            return known
        matrix = self.found[place]
        assert isinstance(matrix, SparseMatrix)
        if place in self.of_pairs:
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

    def ranked(self, step: Step, matrix: SparseMatrix) -> RankedPairs:
        """Return a matrix by descending length of rows."""
        if isinstance(step, Neighbourhoods):
            return RankedPairs(matrix, self.context)
        return self.whole.ranked(step, matrix)

    # ------------------------------------------------------------ steps

    def leave(self, call: KernelCall, found: Found, to: Array) -> None:
        """Write what a call gives for these roots, or their pairs, to its place among all."""
        if isinstance(found, SparseMatrix):
            begin = self._begins[call.reads[0]]
            to[begin : begin + len(found.ids)] = (
                found.factors[0] if found.factors else self.widened(np.ones(len(found.ids), np.uint64))
            )
        else:
            to[self.first : self.last] = found

    def numbers_of(self, pairs: int, place: int) -> Found:
        """Return the numbers that a matrix has for pairs."""
        self.pairs(pairs)
        matrix = self.matrix(place)
        if not matrix.factors:
            return None
        begin = self._begins[pairs]
        return matrix.factors[0][begin : begin + self.size(pairs)]

    def sums_by_root(self, pairs: int, vector: int) -> Array:
        """Return the sums of a vector by root."""
        matrix, found = self.pairs(pairs), self.optional(vector)
        n = matrix.hi
        out = self.empty(n)
        record = np.array([matrix.record()], MATRIX)
        factors = () if found is None else (found,)
        records = records_of(factors)
        self.call(
            "qe_eliminate_message", record.ctypes.data, records.ctypes.data, len(factors), n, 0, int(self.wide),
            out.ctypes.data, reads=n + len(matrix.ids),
        )  # fmt: skip
        return out

    def neighbourhoods(self, one: int, other: int, linked: int) -> SparseMatrix:
        """Find which neighbours in two matrices are linked by a third."""
        first, second, by = self.pairs(one), self.pairs(other), self.matrix(linked)
        offsets: npt.NDArray[np.uint64] = np.empty(len(first.ids) + 1, np.uint64)
        self.charge(offsets.nbytes)
        library = _library()
        handle = ctypes.c_void_p()
        records = [np.array([each.record()], MATRIX) for each in (first, second, by)]
        control = ctypes.byref(self.context.control)
        n = self.sizes(one, other, linked)
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
        pairs = one == other and by.pairs
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


_library = _native.declared(
    "qe_eliminate_neighbours p p p p; qe_eliminate_neighbours_take p p p p; qe_eliminate_neighbours_close p -> none"
)
