"""Steps of an elimination over pairs of roots and their neighbours, on the device, for some roots after the other.

As ``qengine.exec.host.neighbourhoods``; the kernels are ``kernels/cuda/count/eliminate_neighbours.cu``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine.exec.elimination_schedule import Among, root_matrices, root_ranges
from qengine.exec.gpu.device import cupy
from qengine.exec.gpu.eliminate_matrix import MATRIX, DeviceMatrix
from qengine.exec.gpu.elimination_steps import DeviceSteps
from qengine.plan.closed_walks import squared_rows
from qengine.plan.elimination import (
    AtEnds,
    ByRoot,
    Domain,
    EndRows,
    MaskedProduct,
    MatVec,
    Neighbourhoods,
    OfPairs,
    Product,
    RootedForest,
    column_domain_of,
    domain_of,
)

__all__ = ["run_among"]

NEIGHBOURS = np.dtype(
    [("first", MATRIX), ("second", MATRIX), ("by", MATRIX)]
    + [(name, "<u8") for name in ("offsets", "ids", "values", "from", "other")]
    + [(name, "<u4") for name in ("begin", "end", "bits", "few")]
)  # fmt: skip
"""As the kernels' ``Neighbours``."""

LOCAL = np.dtype([("links", MATRIX), *((name, "<u8") for name in ("ends", "owners", "words", "bits"))])
"""As the kernels' ``Local``."""

_SHARE = 16
"""Of the free memory's bytes, one for so many of the links that some roots' neighbours can have at the most."""

_LEAST, _MOST = 1 << 16, 1 << 33

_WARP_MARKS = 1_024
"""Bytes that a warp marks ends of pairs in."""

_KEPT_BYTES = 2_048
"""Of the shared memory of a block, left to what kernels keep beside marks and counters, and to the system."""

_FEW = 128
"""Pairs of a root that a warp takes."""

_THREADS, _MANY_THREADS, _MOST_THREADS = 256, 512, 1024

_MANY_COUNTERS = 8_192
"""Of a block: with more, few blocks run at a time, and have more threads."""
_ON_DEVICE = 3

_WHAT = "what neighbours have in common"


def run_among(steps: DeviceSteps, among: Among) -> dict[int, int]:
    """Run steps over pairs; sums by root become vectors of ``steps``. Return the sums of all numbers asked for.

    Raises
    ------
    QueryTimeout, QueryInterrupted, OutOfMemory
        By the context's limits; ``OutOfMemory`` also for the device's memory.
    """
    totals = dict.fromkeys(among.totals, 0)
    for place in among.by_root:
        steps.vectors[place] = steps.allocate(steps.width * steps.n, "a vector", clear=True)
    kept, steps.blocks = steps.blocks, []
    try:
        for first, last in _ranges(steps, among):
            piece = _Piece(steps, among, first, last)
            for place in among.steps:
                piece.step(place)
            for place in among.by_root:
                piece.by_root(place)
            for place in among.totals:
                totals[place] += piece.total(place)
            steps.run.wait()
            steps.forget(among.steps)
            steps.blocks.clear()
    finally:
        steps.blocks += kept
    return totals


def _ranges(steps: DeviceSteps, among: Among) -> Iterator[tuple[int, int]]:
    """Yield ranges of roots whose neighbours have no more links than fit, one root at the least."""
    rows = [steps.host_rows(place) for place in root_matrices(steps.operator.steps, among)]
    most = min(_MOST, max(_LEAST, steps.run.free_bytes() // _SHARE))
    return root_ranges(steps.operator.steps, among, steps.n, rows, most)


@dataclass(frozen=True, slots=True)
class _Pairs:
    """The rows of some roots of a matrix. Their ``ends``, on the host, begin with 0. ``first``: the first entry."""

    matrix: DeviceMatrix
    ends: npt.NDArray[np.uint64]
    first: int

    @property
    def size(self) -> int:
        return int(self.ends[-1])


class _Piece:
    """Steps over the pairs of the roots from ``first`` to before ``last``: numbered from the first of these on."""

    def __init__(self, steps: DeviceSteps, among: Among, first: int, last: int) -> None:
        self.steps = steps
        self.run = steps.run
        self.program = steps.operator.steps
        self.among = among
        self.first, self.last = first, last
        self._pairs: dict[int, _Pairs] = {}
        self._local: dict[int, npt.NDArray[Any]] = {}

    def step(self, place: int) -> None:
        """Start a step's kernels."""
        step, of = self.program[place], self.steps
        match step:
            case Neighbourhoods():
                of.matrices[place] = self.neighbourhoods(step)
            case AtEnds(pairs=pairs, vector=vector):
                of.vectors[place] = self.at_ends(self.pairs(pairs), vector)
            case OfPairs(pairs=pairs, matrix=matrix):
                of.vectors[place] = self.numbers(self.pairs(pairs), of.matrices[matrix])
            case EndRows(pairs=pairs, by=by):
                of.matrices[place] = self.end_rows(self.pairs(pairs), of.matrices[by])
            case ByRoot(pairs=pairs, vector=vector):
                of.vectors[place] = self.sums(self.pairs(pairs), vector)
            case Product(factors=factors) if factors[0] in of.matrices:
                of.matrices[place] = of.matrix_product([of.matrices[each] for each in factors])
            case Product(factors=factors):
                vectors = [of.vectors[each] for each in factors]
                of.vectors[place] = of.vector_product(vectors, self.size(domain_of(self.program, place)))
            case MatVec(matrix=matrix, vector=vector):
                n = self.size(domain_of(self.program, place))
                of.vectors[place] = of.message(of.matrices[matrix], vector, n)
            case MaskedProduct(across=across, left=left, right=right, vector=None) if (
                across == left == right and self.is_local(across)
            ):
                of.matrices[place] = self.triangles(across)
            case MaskedProduct():
                of.matrices[place] = of.closed(step)
            case RootedForest():
                of.vectors[place] = self.around(step)

    def size(self, domain: Domain) -> int:
        """Return how many vertices there are, or pairs of these roots."""
        return self.steps.n if domain is None else self.pairs(domain).size

    def pairs(self, place: int) -> _Pairs:
        """Return the rows of these roots of a matrix, whose pairs are a domain."""
        if place not in self._pairs:
            self._pairs[place] = self._of_links(place) if place in self.among.steps else self._of_roots(place)
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

    def by_root(self, place: int) -> None:
        """Write the sums by root of these roots to their vector."""
        step = self.program[place]
        assert isinstance(step, ByRoot)
        of = self.steps
        sums = self.sums(self.pairs(step.pairs), step.vector)
        self.copy(sums.ptr, of.vectors[place].ptr + of.width * self.first, of.width * (self.last - self.first))

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

    def neighbourhoods(self, step: Neighbourhoods) -> DeviceMatrix:
        """Find which neighbours are linked."""
        of = self.steps
        first, second, by = self.pairs(step.first), self.pairs(step.second), of.matrices[step.by]
        task = np.zeros((), NEIGHBOURS)
        task["first"], task["second"], task["by"] = first.matrix.record, second.matrix.record, by.record
        task["end"], task["few"] = first.matrix.rows, _FEW
        n = self.size(column_domain_of(self.program, step.second))
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
        return DeviceMatrix(record, step.first == step.second and by.pairs)

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

    def is_local(self, place: int) -> bool:
        """Tell whether a matrix is symmetric, and links each two neighbours of one root at most once."""
        step = self.program[place]
        return isinstance(step, Neighbourhoods) and self.steps.matrices[place].pairs

    def local(self, place: int) -> npt.NDArray[Any]:
        """Return a task on a matrix that is local, without bits."""
        if place not in self._local:
            step = self.program[place]
            assert isinstance(step, Neighbourhoods)
            pairs, links = self.pairs(step.first), self.steps.matrices[place]
            task = np.zeros((), LOCAL)
            task["links"], task["ends"] = links.record, pairs.matrix.record["offsets"]
            owners, _ = self.steps.owners(pairs.matrix)
            task["owners"] = owners
            self._local[place] = task
        return self._local[place]

    def triangles(self, place: int) -> DeviceMatrix:
        """Count the triangles of each link."""
        of = self.steps
        links = of.matrices[place]
        out = of.allocate(of.width * links.entries, "a matrix")
        if not links.entries:
            return links.with_values(out)
        step = self.program[place]
        assert isinstance(step, Neighbourhoods)
        degrees = np.diff(self.pairs(step.first).ends)
        words = degrees * ((degrees + np.uint64(127)) // np.uint64(128))
        before = np.concatenate((np.zeros(1, np.uint64), np.cumsum(words)))
        task = self.local(place).copy()
        task["words"] = of.upload(before)
        bits = of.allocate(16 * int(before[-1]), _WHAT, clear=True)
        task["bits"] = bits.ptr
        kernel = of.kernel("eliminate_neighbours", "local_rows", 0)
        self.run.launch(kernel, self.blocks(kernel, _THREADS, 0), _THREADS, (task,))
        kernel = of.kernel("eliminate_neighbours", "local_triangles", 0)
        given = task, np.uint64(out.ptr), of.deal()
        self.run.launch(kernel, self.blocks(kernel, _THREADS, 0), _THREADS, given)
        return links.with_values(out)

    def around(self, step: RootedForest) -> Any:
        """Sum a forest out around each root."""
        if (squared := squared_rows(step)) is not None:
            start, link = (self.steps.matrices[place] for place in squared)
            if not start.record["values"] and not link.record["values"]:
                return self.squares(*squared)
        matrices = {place for node in step.nodes for place in (node.start, node.link) if place is not None}
        domains = {column_domain_of(self.program, place) for place in matrices}
        roots = next(domain_of(self.program, node.start) for node in step.nodes if node.start is not None)
        return self.steps.around(step, self.size(roots), max(map(self.size, domains)))

    def squares(self, start: int, link: int) -> Any:
        """Count the ways along two matrices to each column, and sum the squares by row."""
        of = self.steps
        one, other = of.matrices[start], of.matrices[link]
        rows = self.size(domain_of(self.program, start))
        out = of.allocate(of.width * max(1, rows), "a vector", clear=True)
        if not one.entries or not other.entries:
            return out
        columns = most = self.size(column_domain_of(self.program, link))
        ends = owners = np.uint64(0)
        step = self.program[link]
        if start == link and isinstance(step, Neighbourhoods) and step.first == step.second:
            task = self.local(link)
            ends, owners = np.uint64(task["ends"]), np.uint64(task["owners"])
            most = int(np.diff(self.pairs(step.first).ends).max())
        counters = min(most, (self.run.device.shared_bytes - _KEPT_BYTES) // 4)
        shared, threads = 32 + 4 * counters, _THREADS if counters <= _MANY_COUNTERS else _MOST_THREADS
        kernel = of.kernel("eliminate_neighbours", "row_squares", shared)
        given = one.record, other.record, ends, owners, np.uint64(columns), np.uint32(counters), np.uint64(out.ptr)
        self.run.launch(kernel, self.blocks(kernel, threads, shared), threads, (*given, of.deal()), shared)
        return out
