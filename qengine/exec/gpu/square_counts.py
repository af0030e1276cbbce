"""Sums over all pairs of vertices of their common neighbours, squared (``kernels/cuda/count/count_wedges.cu``).

These are the closed walks of four steps: eight for each square, and those that go forth and back.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import numpy as np

from qengine.errors import OutOfMemory
from qengine.exec.common.match_plan import PCSR
from qengine.exec.gpu.count_columns import ColumnCounter
from qengine.exec.gpu.count_kernels import Roots, ShapeCounter, ViewSpec
from qengine.exec.gpu.eliminate_matrix import DeviceMatrix
from qengine.exec.gpu.launch import DeviceRun
from qengine.exec.gpu.memory import Resident
from qengine.exec.view import ExecView
from qengine.plan.count_shapes import WedgeShape


@dataclass(eq=False)
class _Squares:
    """``counter``: of the squares of a matrix whose ids lie at ``ids``. ``back``: closed walks that are no squares."""

    counter: ShapeCounter | ColumnCounter
    ids: int
    back: int
    lock: threading.Lock = field(default_factory=threading.Lock)


def closed_walks_of_four(store: ExecView, matrix: DeviceMatrix, run: DeviceRun, held: list[Resident]) -> int:
    """Return the closed walks of four steps of the matrix of a simple graph without conditions.

    What they are counted by stays on the device; ``held`` gets it, pinned.
    """
    if not matrix.entries:
        return 0
    assert matrix.key is not None
    key = (*matrix.key, "squares")
    ids = int(matrix.record["ids"])
    resident = run.memory.pin(key)
    if resident is not None:
        held.append(resident)
    if resident is None or resident.keep.ids != ids:  # else its lists have been evicted, and are elsewhere now
        made = _prepared(matrix, run)
        resident = run.memory.add(key, made.counter, made.counter.n_bytes, made)
        held.append(resident)
        run.memory.follow(store)
    squares: _Squares = resident.keep
    with run.alone(squares.lock):
        squares.counter.start(run)
        found, _ = squares.counter.sums(run)
    return 8 * found + squares.back


def _prepared(matrix: DeviceMatrix, run: DeviceRun) -> _Squares:
    record = matrix.record
    lists = np.zeros(1, PCSR)
    lo, hi = int(record["lo"]), int(record["hi"])
    lists["lo"], lists["hi"], lists["n_entries"] = lo, hi, matrix.entries
    lists["offsets"], lists["neighbours"] = record["offsets"], record["ids"]
    shape = WedgeShape(ViewSpec(0, lo, hi, above=True), ViewSpec(0, lo, hi), bound=1)  # roots: a square's hub
    roots = Roots(lo, hi, hi)
    counter: ShapeCounter | ColumnCounter = ColumnCounter(lists, shape, roots)
    if run.memory.placement.is_whole:
        counter = ShapeCounter(lists, shape, roots)
    if not counter.prepare(run):
        raise OutOfMemory("A vertex has more neighbours than the device has room for.", code="OutOfDeviceMemory")
    offsets = np.empty(hi - lo + 1, np.uint64)
    run.read(int(record["offsets"]), offsets)
    degrees = np.diff(offsets)
    return _Squares(counter, int(record["ids"]), int((2 * degrees * degrees).sum() - degrees.sum()))
