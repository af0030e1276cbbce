"""Steps of an elimination over pairs of roots and their neighbours, on the device, for some roots after the other.

As ``qengine.exec.host.neighbourhoods``; the kernels are ``kernels/cuda/count/eliminate_neighbours.cu``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine import _native
from qengine._frozen import frozen
from qengine.exec.gpu.device import cupy
from qengine.exec.gpu.eliminate_matrix import MATRIX, DeviceMatrix
from qengine.exec.gpu.elimination_steps import DeviceSteps
from qengine.exec.gpu.symmetric_links import LinkedPairs, linked_pairs
from qengine.exec.root_ranges import most_links, root_matrices, root_ranges
from qengine.plan.elimination import AtPairs, Domain, Neighbourhoods, column_domain_of, domain_of
from qengine.plan.kernels.shapes import RowProducts
from qengine.plan.schedule import Among, KernelCall

NEIGHBOURS = _native.record(
    "MATRIX first second by; u8 offsets ids values from other; u4 begin end bits few", MATRIX=MATRIX
)
"""As the kernels' ``Neighbours``."""

_SHARE = 16
"""Of the free memory's bytes, one for so many of the links that some roots' neighbours can have at the most."""

_LEAST, _MOST = 1 << 16, 1 << 33

_KNOWN = 4
"""As so many a link counts where it is known how many there are, not only how many there can be."""

_APART = 32
"""So many that there can be count as one then, too: roots of many pairs take room without links."""

_WARP_MARKS = 1_024
"""Bytes that a warp marks ends of pairs in."""

_KEPT_BYTES = 2_048
"""Of the shared memory of a block, left to what kernels keep beside marks and counters, and to the system."""

_FEW = 128
"""Pairs of a root that a warp takes."""

_THREADS, _MANY_THREADS = 256, 512

_ON_DEVICE = 3

_WHAT = "what neighbours have in common"


def run_among(
    steps: DeviceSteps,
    among: Among,
    run_call: Callable[[DeviceSteps, KernelCall], None],
    start_total: Callable[[DeviceSteps, KernelCall], Callable[[], Mapping[int, int]]],
) -> dict[int, int]:
    """Run calls over pairs; sums by root become vectors of ``steps``. Return the sums of all numbers asked for.

    Parameters
    ----------
    run_call, start_total
        Start the kernels of a call.

    Raises
    ------
    QueryTimeout, QueryInterrupted, OutOfMemory
        By the context's limits; ``OutOfMemory`` also for the device's memory.
    Unfit
        If a kernel doesn't take what it is given.
    """
    totals = {place: 0 for call in among.totals for place in call.places}
    for call in among.by_root:
        _leave(steps, call)
    kept, steps.blocks = steps.blocks, []
    try:
        for first, last in _ranges(steps, among):
            steps.piece = Piece(steps, among, first, last)
            for call in (*among.calls, *among.by_root):
                run_call(steps, call)
            for call in among.totals:
                for place, total in start_total(steps, call)().items():
                    totals[place] += total
            steps.run.wait()
            steps.forget(among.steps)
            steps.blocks.clear()
    finally:
        steps.piece = None
        steps.blocks += kept
    return totals


def _leave(steps: DeviceSteps, call: KernelCall) -> None:
    """Make room for what leaves the pairs: a number for each vertex, or for each pair of a matrix."""
    place, step = call.places[0], steps.steps[call.places[0]]
    if isinstance(step, AtPairs):
        matrix = steps.matrices[step.pairs]
        numbers = steps.allocate(steps.width * matrix.entries, "a matrix", clear=True)
        steps.matrices[place] = matrix.with_values(numbers)
    else:
        steps.vectors[place] = steps.allocate(steps.width * steps.n, "a vector", clear=True)


def _ranges(steps: DeviceSteps, among: Among) -> Iterator[tuple[int, int]]:
    """Yield ranges of roots whose neighbours have no more links than fit, one root at the least."""
    rows = [steps.host_rows(place) for place in root_matrices(steps.operator.steps, among)]
    most = min(_MOST, max(_LEAST, steps.run.free_bytes() // _SHARE))
    links = most_links(steps.n, rows)
    if links.sum() > most:
        links = np.minimum(links, _known_links(steps, among, links))
    return root_ranges(steps.operator.steps, among, links, most)


def _known_links(steps: DeviceSteps, among: Among, most: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return how many links there are for each root, where triangles tell, as ``_KNOWN`` each and by ``_APART``."""
    by = root_matrices(steps.steps, among)[0]
    found = [call for call in among.calls if isinstance(steps.steps[call.places[0]], Neighbourhoods)]
    if [(call.kernel, call.reads[-1]) for call in found] != [("symmetric_links", by)] or not steps.matrices[by].pairs:
        return most
    matrix = steps.matrices[by]
    triangles = np.empty(matrix.rows, np.uint64)
    steps.read(steps.counted_triangles(by, by_pair=False), triangles)
    links = most / _APART
    links[int(matrix.record["lo"]) : int(matrix.record["hi"])] += 2 * _KNOWN * triangles.astype(np.float64)
    return links


@frozen
class _Pairs:
    """The rows of some roots of a matrix. Their ``ends``, on the host, begin with 0. ``first``: the first entry."""

    matrix: DeviceMatrix
    ends: npt.NDArray[np.uint64]
    first: int

    @property
    def size(self) -> int:
        return int(self.ends[-1])


class Piece:
    """Steps over the pairs of the roots from ``first`` to before ``last``: numbered from the first of these on."""

    def __init__(self, steps: DeviceSteps, among: Among, first: int, last: int) -> None:
        self.steps = steps
        self.run = steps.run
        self.program = steps.operator.steps
        self.of_pairs = frozenset(among.steps)
        self.first, self.last = first, last
        self._pairs: dict[int, _Pairs] = {}
        self._owners: dict[int, np.uint64] = {}
        self._linked: dict[int, LinkedPairs] = {}

    def size(self, domain: Domain) -> int:
        """Return how many vertices there are, or pairs of these roots."""
        return self.steps.n if domain is None else self.pairs(domain).size

    def pairs(self, place: int) -> _Pairs:
        """Return the rows of these roots of a matrix, whose pairs are a domain."""
        if place not in self._pairs:
            self._pairs[place] = self._of_links(place) if place in self.of_pairs else self._of_roots(place)
        return self._pairs[place]

    def _of_links(self, place: int) -> _Pairs:
        matrix = self.steps.matrices[place]
        ends = np.empty(matrix.rows + 1, np.uint64)
        self.steps.read(matrix.record["offsets"], ends)
        record = matrix.record.copy()
        record["values"] = 0
        return _Pairs(DeviceMatrix(record, matrix.pairs, matrix.keep), ends, 0)

    def _of_roots(self, place: int) -> _Pairs:
        lo, offsets = self.steps.host_rows(place)
        begin, end = (min(max(bound - lo, 0), len(offsets) - 1) for bound in (self.first, self.last))
        first, last = int(offsets[begin]), int(offsets[end])
        ends = np.full(self.last - self.first + 1, last - first, np.uint64)
        before = max(0, min(lo, self.last) - self.first)
        ends[:before] = 0
        ends[before : before + end - begin + 1] = offsets[begin : end + 1] - np.uint64(first)
        record = self.steps.matrices[place].record.copy()
        record["offsets"] = self.steps.upload(ends)
        record["ids"] += np.uint64(4 * first)
        record["n_entries"], record["values"], record["lo"], record["hi"] = last - first, 0, 0, self.last - self.first
        return _Pairs(DeviceMatrix(record, False, (self.steps.matrices[place],)), ends, first)

    # ------------------------------------------------------------ what leaves

    def by_root(self, place: int, pairs: int, vector: int) -> None:
        """Write the sums by root of these roots to their vector; those of pairs are a vector of their own."""
        of = self.steps
        sums = self.sums(self.pairs(pairs), vector)
        if place in self.of_pairs:
            of.vectors[place] = sums
            return
        self.copy(sums.ptr, of.vectors[place].ptr + of.width * self.first, of.width * (self.last - self.first))

    def at_pairs(self, place: int, pairs: int, vector: int) -> None:
        """Write a vector over pairs as the numbers of their matrix; that of pairs of pairs is one of its own."""
        of, domain = self.steps, self.pairs(pairs)
        numbers = of.vectors[vector]
        if numbers is None:
            numbers = of.ones(domain.size)
        if place in self.of_pairs:
            of.matrices[place] = domain.matrix.with_values(numbers)
            return
        to = int(of.matrices[place].record["values"])
        self.copy(numbers.ptr, to + of.width * domain.first, of.width * domain.size)

    def total(self, place: int) -> int:
        """Return the sum of a vector's numbers."""
        block = self.steps.vectors[place]
        n = self.size(domain_of(self.program, place))
        return n if block is None else self.steps.sum_of(block, n)

    def sums(self, pairs: _Pairs, vector: int) -> Any:
        """Return the sums of a vector by root."""
        record = pairs.matrix.record.copy()
        record["values"] = self.steps.address(vector)
        return self.steps.message(DeviceMatrix(record, False), None, pairs.matrix.rows)

    # ------------------------------------------------------------ steps

    def end_rows(self, pairs: _Pairs, by: DeviceMatrix) -> DeviceMatrix:
        """Return a matrix whose rows are those of pairs' ends."""
        record = by.record.copy()
        record["n_rows"] = pairs.size
        if record["rows"]:
            rows = self.steps.allocate(4 * pairs.size, _WHAT)
            given = pairs.matrix.record["ids"], np.uint64(pairs.size), record["rows"].copy(), np.uint64(rows.ptr)
            self.launch_pass("pair_rows", pairs.size, *given)
            record["rows"] = rows.ptr
        else:
            record["rows"] = pairs.matrix.record["ids"]
        return DeviceMatrix(record, False, (pairs.matrix, by))

    def at_ends(self, pairs: _Pairs, vector: int) -> Any:
        """Return a vector's numbers at the ends of pairs."""
        of = self.steps
        if of.vectors[vector] is None:
            return None
        out = of.allocate(of.width * pairs.size, "a vector")
        n, ids = np.uint64(pairs.size), pairs.matrix.record["ids"]
        self.launch_pass("pair_ends", pairs.size, ids, n, of.address(vector), np.uint64(out.ptr))
        return out

    def numbers(self, pairs: _Pairs, matrix: DeviceMatrix) -> Any:
        """Return the numbers that a matrix has for pairs."""
        of = self.steps
        if not matrix.record["values"]:
            return None
        out = of.allocate(of.width * pairs.size, "a vector")
        self.copy(int(matrix.record["values"]) + of.width * pairs.first, out.ptr, of.width * pairs.size)
        return out

    def neighbourhoods(self, one: int, other: int, linked: int) -> DeviceMatrix:
        """Find which neighbours in two matrices are linked by a third."""
        of = self.steps
        first, second, by = self.pairs(one), self.pairs(other), of.matrices[linked]
        task = np.zeros((), NEIGHBOURS)
        task["first"], task["second"], task["by"] = first.matrix.record, second.matrix.record, by.record
        task["end"], task["few"] = first.matrix.rows, _FEW
        n = self.size(column_domain_of(self.program, other))
        task["bits"] = min(-(-n // 32) * 32, 8 * (self.run.device.shared_bytes - _KEPT_BYTES) // 32 * 32)
        cp = cupy()
        with self.run.stream, cp.cuda.using_allocator(lambda size: self.run.allocate(size, _WHAT)):
            ends = cp.zeros(first.size + 1, np.uint64)
            of.blocks.append(ends)
            task["offsets"] = offsets = int(ends.data.ptr)
            self.launch("neighbours_count", task)
            cp.cumsum(ends, out=ends)
        links = np.empty(1, np.uint64)
        of.read(offsets + 8 * first.size, links)
        n_links = int(links[0])
        ids = of.allocate(4 * n_links, _WHAT)
        task["ids"] = ids.ptr
        record = np.zeros((), MATRIX)
        record["offsets"], record["ids"], record["n_entries"], record["hi"] = offsets, ids.ptr, n_links, first.size
        if by.record["values"]:
            values = of.allocate(of.width * n_links, _WHAT)
            task["values"] = record["values"] = values.ptr
        if n_links:
            self.launch("neighbours_fill", task)
            self.run.wait()
        return DeviceMatrix(record, one == other and by.pairs)

    def launch(self, name: str, task: npt.NDArray[Any]) -> None:
        """Start the kernels for roots of few and of many pairs."""
        of = self.steps
        for size, threads, shared in (
            ("many", _MANY_THREADS, 16 + int(task["bits"]) // 8),
            ("few", _THREADS, _THREADS // 32 * _WARP_MARKS),
        ):
            kernel = of.kernel("eliminate_neighbours", f"{name}_{size}", shared)
            self.run.launch(kernel, self.blocks(kernel, threads, shared), threads, (task, of.deal()), shared)

    def launch_pass(self, name: str, n: int, *arguments: Any) -> None:
        """Start a kernel with a thread for each of n numbers."""
        if n:
            kernel = self.steps.kernel("eliminate_neighbours", name, 0)
            self.run.launch(kernel, -(-n // _THREADS), _THREADS, arguments)

    def copy(self, start: int, to: int, n_bytes: int) -> None:
        """Copy bytes on the device, after the kernels that were started."""
        if n_bytes:
            cupy().cuda.runtime.memcpyAsync(to, start, n_bytes, _ON_DEVICE, self.run.stream.ptr)

    def blocks(self, kernel: Any, threads: int, shared: int) -> int:
        """Return how many blocks run at a time."""
        return max(1, int(self.run.device.resident_blocks(kernel, threads, shared)))

    # ------------------------------------------------------------ within blocks

    def owners(self, place: int) -> np.uint64:
        """Return where the root of each pair of a matrix is."""
        if place not in self._owners:
            self._owners[place], _ = self.steps.owners(self.pairs(place).matrix)
        return self._owners[place]

    def linked(self, place: int) -> LinkedPairs:
        """Return the links of a symmetric matrix's neighbours, each found once for both its pairs."""
        if place not in self._linked:
            step = self.program[place]
            assert isinstance(step, Neighbourhoods)
            pairs = self.pairs(step.by)
            self._linked[place] = linked_pairs(self.steps, step.by, pairs.first, pairs.size)
        return self._linked[place]

    def is_within_roots(self, place: int) -> bool:
        """Tell whether a matrix links the neighbours of the same root."""
        step = self.program[place]
        return isinstance(step, Neighbourhoods) and step.first == step.second

    def products_within_roots(self, of: RowProducts) -> Any:
        """Add products of the ways between neighbours of the same root up: the columns of a row are its root's pairs.

        All lead along matrices that link the neighbours of the same roots.
        """
        step = self.program[of.ways[0].link]
        assert isinstance(step, Neighbourhoods)
        pairs = self.pairs(step.first)
        most = int(np.diff(pairs.ends).max(initial=0))
        local = pairs.matrix.record["offsets"], self.owners(step.first)
        return self.steps.row_products(of, pairs.size, pairs.size, most, local)
