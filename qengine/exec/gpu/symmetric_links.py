"""Links among the neighbours of each root of one symmetric matrix, and the ways from what two linked vertices have in
common (``kernels/cuda/count/symmetric_links.cu``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from qengine import _native
from qengine._frozen import frozen
from qengine.exec.gpu.device import cupy
from qengine.exec.gpu.eliminate_matrix import MATRIX, DeviceMatrix
from qengine.exec.gpu.elimination_steps import DeviceSteps

SYMMETRIC_LINKS = _native.record("MATRIX matrix; u8 owners counts offsets ids from to; u4 few exact", MATRIX=MATRIX)
"""As the kernels' ``SymmetricLinks``."""

LINK_SQUARES = _native.record(
    "SYMMETRIC_LINKS links; u8 ends out; u4 begin end counters lesser", SYMMETRIC_LINKS=SYMMETRIC_LINKS
)
"""As the kernels' ``LinkSquares``."""

_FEW = 128
"""A root of more neighbours is a block's."""

_WARP_MARKS = (1 << 13) // 8
"""Bytes of marks of a warp."""

_EXACT = 1 << 15
"""So many vertices of the least ids have a mark each, of a block. A multiple of 32."""

_BLOCK_MARKS = 16 + (1 << 16) // 8
"""Bytes of shared memory of a block that takes a root, beside those marks."""

_COUNTERS = 28_000
"""Vertices of the least ids, of which two blocks with a counter for each of these run at a time."""

_LEAST_BYTES = 16
"""Of shared memory of a block beside its counters."""

_THREADS, _MOST_THREADS = 256, 1024
_LANES = 32
_WHAT = "what neighbours have in common"


@frozen
class LinkedPairs:
    """The links of some roots' pairs, which are entries of the matrix of the step ``by``.

    ``links``: as a matrix from pairs to pairs. ``task``: as the kernels take them.
    """

    by: int
    task: Any
    links: DeviceMatrix


def linked_pairs(steps: DeviceSteps, by: int, first: int, n: int) -> LinkedPairs:
    """Find the links of the pairs that are the n entries from ``first`` on of a symmetric matrix, which ``by`` is."""
    matrix = steps.matrices[by]
    record = np.zeros((), MATRIX)
    record["hi"] = n
    if not n:
        record["offsets"] = steps.upload(np.zeros(1, np.uint64))
        return LinkedPairs(by, None, DeviceMatrix(record, pairs=True))
    task = np.zeros((), SYMMETRIC_LINKS)
    task["matrix"], task["few"], task["exact"] = matrix.record, _FEW, _EXACT
    task["owners"], _ = steps.owners(matrix)
    task["counts"] = steps.counted_triangles(by, by_pair=True).ptr
    task["from"], task["to"] = first, first + n
    cp = cupy()
    with steps.run.stream, cp.cuda.using_allocator(lambda size: steps.run.allocate(size, _WHAT)):
        ends = cp.zeros(n + 1, np.uint64)
        steps.blocks.append(ends)
        task["offsets"] = int(ends.data.ptr)
        kernel = _kernel(steps, "links_sizes", 0)
        steps.run.launch(kernel, -(-n // _THREADS), _THREADS, (task,))
        cp.cumsum(ends, out=ends)
    size = np.empty(1, np.uint64)
    steps.read(int(task["offsets"]) + 8 * n, size)  # waits: counts that were stopped are not gone by
    n_links = int(size[0])
    task["ids"] = steps.allocate(4 * n_links, _WHAT).ptr
    if n_links:
        _launch_all(steps, "links_heavy", _THREADS, _BLOCK_MARKS + 2 * _EXACT // 8, task)
        _launch_all(steps, "links_light", _THREADS, _THREADS // _LANES * _WARP_MARKS, task)
        steps.run.wait()
    record["offsets"], record["ids"], record["n_entries"] = task["offsets"], task["ids"], n_links
    return LinkedPairs(by, task, DeviceMatrix(record, pairs=True))


def link_squares(steps: DeviceSteps, linked: LinkedPairs) -> Any:
    """Return the sums, for each pair, of the squares of the ways from its links to each vertex along the matrix."""
    matrix, links = steps.matrices[linked.by], linked.links
    pairs = links.rows
    out = steps.allocate(steps.width * max(1, pairs), "a vector", clear=True)
    if not links.entries:
        return out
    task = np.zeros((), LINK_SQUARES)
    task["links"], task["out"], task["lesser"] = linked.task, out.ptr, pairs == matrix.entries
    task["ends"] = _ends(steps, matrix, linked)
    most = (steps.run.device.dynamic_bytes - _LEAST_BYTES) // 4
    few = min(_COUNTERS, most, matrix.rows)
    for begin, end, counters in ((0, few, few), (few, matrix.rows, min(most, matrix.rows))):
        task["begin"], task["end"], task["counters"] = begin, end, counters
        if begin < end:
            _launch_all(steps, "link_squares", _MOST_THREADS, _LEAST_BYTES + 4 * counters, task)
    if task["lesser"]:
        steps.launch_all("eliminate_mirror", matrix.record, np.uint64(linked.task["owners"]), np.uint64(out.ptr))
    return out


def _ends(steps: DeviceSteps, matrix: DeviceMatrix, linked: LinkedPairs) -> int:
    """Return where the vertices are that links lead to."""
    n = linked.links.entries
    ends = steps.allocate(4 * n, _WHAT)
    kernel = steps.kernel("eliminate_neighbours", "pair_rows", 0)
    rows = np.uint64(int(matrix.record["ids"]) + 4 * int(linked.task["from"]))
    given = np.uint64(linked.task["ids"]), np.uint64(n), rows, np.uint64(ends.ptr)
    steps.run.launch(kernel, -(-n // _THREADS), _THREADS, given)
    return int(ends.ptr)


def _kernel(steps: DeviceSteps, name: str, shared_bytes: int) -> Any:
    return steps.kernel("symmetric_links", name, shared_bytes)


def _launch_all(steps: DeviceSteps, name: str, threads: int, shared_bytes: int, task: Any) -> None:
    """Start a kernel on as many blocks as run at a time."""
    kernel = _kernel(steps, name, shared_bytes)
    blocks = max(1, int(steps.run.device.resident_blocks(kernel, threads, shared_bytes)))
    steps.run.launch(kernel, blocks, threads, (task, steps.deal()), shared_bytes)
