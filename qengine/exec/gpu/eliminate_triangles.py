"""Triangles on the device: how many each vertex or linked pair is in (``kernels/cuda/eliminate_triangles.cu``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from qengine.exec.gpu.eliminate_matrix import DeviceMatrix
from qengine.exec.gpu.launch import DeviceRun
from qengine.plan.elimination import Closed, Message, Product, Step, operands

__all__ = ["counted_by_pair", "counts_triangles", "is_triangle", "triangles"]

TRIANGLES = np.dtype(
    [(name, "<u8") for name in ("offsets", "ids", "middles", "rows", "ranks", "roots", "n_roots", "taken", "stop",
                                "vertices", "pairs")]
    + [(name, "<u4") for name in ("lo", "n", "hubs", "words", "few", "kept")]
)  # fmt: skip
"""As the kernels' ``Triangles``."""

_HUBS = 16_384
"""So many vertices have their lesser neighbours as rows of bits: 32 MB, which stay in the L2 cache."""

_FEW = 64
"""A root of more members is a block's."""

_MOST_ENTRIES = 2**32 - 1
"""Of a matrix: no vertex is found more often, as a corner that is not the root, and that is counted in 32 bits."""

_KEPT = 2_048
"""What a block finds of so many vertices, those of the least ids, it counts in shared memory. No fewer than 1,024."""

_TOGETHER = 8
"""Roots of few members that a warp takes."""

_MARKS = (1 << 16) // 8
"""Bytes of marks of members that are no hubs."""

_BLOCK = 128
"""Words of a row that a warp reads at once."""

_THREADS, _MANY_THREADS = 256, 128
_LANES = 32


def is_triangle(step: Step) -> bool:
    """Tell whether a step sums out the third vertex of a triangle whose sides are one matrix, each vertex as 1."""
    return isinstance(step, Closed) and step.across == step.left == step.right and step.vector is None


def counts_triangles(matrix: DeviceMatrix) -> bool:
    """Tell whether ``triangles`` takes a matrix."""
    return matrix.pairs and matrix.entries <= _MOST_ENTRIES


def counted_by_pair(steps: Sequence[Step]) -> frozenset[int]:
    """Return the places of triangles that are read pair by pair, not only summed by one of their vertices."""
    triangular = {place for place, step in enumerate(steps) if is_triangle(step)}
    alone = {place: place for place in triangular}  # matrices whose numbers are those of one of them
    found = set()
    for place, step in enumerate(steps):
        if isinstance(step, Message) and step.vector is None:
            continue
        read = [each for each in operands(step) if each in alone]
        if isinstance(step, Product) and len(read) == 1:
            closed = steps[alone[read[0]]]
            assert isinstance(closed, Closed)
            if all(each in (read[0], closed.across) for each in step.factors):
                alone[place] = alone[read[0]]
                continue
        found |= {alone[each] for each in read}
    return frozenset(found)


def triangles(matrix: DeviceMatrix, run: DeviceRun, by_pair: bool) -> Any:
    """Return a block with the triangles of each row's vertex (uint64), or of each entry (uint32) of lesser ids.

    ``matrix``: one that ``counts_triangles``. The kernels have been waited for.

    Raises
    ------
    OutOfMemory
        If it doesn't fit.
    QueryTimeout, QueryInterrupted
        By the run's limits.
    """
    record = matrix.record
    n, hubs = matrix.rows, min(_HUBS, matrix.rows)
    words = -(-hubs // (32 * _BLOCK)) * _BLOCK
    what = "counting triangles"
    out = run.zeroed(4 * matrix.entries if by_pair else 8 * n, what)
    counters = run.zeroed(2 * 12, what)
    rows = run.zeroed(4 * hubs * words, what)
    ranks = run.allocate(2 * hubs * words, what) if by_pair else None
    places = run.allocate(12 * n, what)
    task = np.zeros((), TRIANGLES)
    task["offsets"], task["ids"] = record["offsets"], record["ids"]
    task["middles"], task["roots"] = places.ptr, places.ptr + 8 * n
    task["rows"], task["ranks"] = rows.ptr, ranks.ptr if ranks is not None else 0
    task["taken"], task["n_roots"], task["stop"] = counters.ptr, counters.ptr + 2 * 8, run.stop_flag
    task["pairs" if by_pair else "vertices"] = out.ptr
    task["lo"], task["n"], task["hubs"], task["words"] = record["lo"], n, hubs, words
    task["few"], task["kept"] = _FEW, _KEPT
    if not matrix.entries:
        return out
    _launch(run, "triangle_roots", -(-n // _THREADS), _THREADS, task)
    if hubs:
        _launch(run, "triangle_rows", -(-hubs * _LANES // _THREADS), _THREADS, task)
    of = "pairs" if by_pair else "vertices"
    _launch(run, f"triangles_of_{of}_many", None, _MANY_THREADS, task, 4 * (words + _KEPT) + _MARKS + 8)
    few_bytes = 4 * _TOGETHER * _THREADS // _LANES + (0 if by_pair else 4 * _KEPT)
    _launch(run, f"triangles_of_{of}_few", None, _THREADS, task, few_bytes)
    run.wait()
    return out


def _launch(run: DeviceRun, name: str, blocks: int | None, threads: int, task: Any, shared_bytes: int = 0) -> None:
    """Start a kernel, on as many blocks as run at a time where their number isn't said."""
    kernel = run.device.kernel("eliminate_triangles", name, None, shared_bytes)
    if blocks is None:
        blocks = max(1, run.device.resident_blocks(kernel, threads, shared_bytes))
    run.launch(kernel, blocks, threads, (task,), shared_bytes)
