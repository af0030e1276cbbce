"""Powers of the ways along two matrices, summed by row (``kernels/cuda/count/row_powers.cu``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from qengine.exec.gpu.eliminate_matrix import MATRIX, WORK_QUEUE
from qengine.exec.gpu.launch import DeviceRun

__all__ = ["ROW_POWERS", "SHARED_BYTES", "run_row_powers"]

ROW_POWERS = np.dtype(
    [("start", MATRIX), ("link", MATRIX)]
    + [(name, "<u8") for name in ("weights", "factors", "ends", "owners", "out", "left", "n_left", "n")]
    + [(name, "<u4") for name in ("n_rows", "exponent", "slots", "counters")]
)
"""As the kernels' ``RowPowers``, of which a caller fills all but ``left``, ``n_left``, ``slots`` and ``counters``."""

SHARED_BYTES = 16 + 32 * 24
"""Of shared memory that a block has beside its table or counters: ``PowersShared``, at most."""

_SLOTS = 4_096
"""Of a block's table: six blocks run at a time."""

_COUNTERS, _FEW_COUNTERS = 28_000, 8_192
"""Of a block: with more, fewer than two blocks run at a time; with few, blocks have few threads."""

_THREADS, _MOST_THREADS = 256, 1024
_WHAT = "the ways to each vertex"


def run_row_powers(run: DeviceRun, task: Any, columns: int, wide: bool, flag: np.uint64, blocks: list[Any]) -> None:
    """Start the kernels for a ``ROW_POWERS``, whose matrices have no numbers.

    Parameters
    ----------
    columns
        How many columns a row may have, at the most.
    flag
        The address of what becomes 1 where numbers are too large.
    blocks
        Gets what kernels may use until they are waited for.

    Raises
    ------
    OutOfMemory
        If it doesn't fit.
    """
    rows = int(task["n_rows"])
    blocks += [run.allocate(4 * max(1, rows), _WHAT), run.zeroed(8, _WHAT), run.zeroed(16, _WHAT)]
    task["left"], task["n_left"], queues = (int(each.ptr) for each in blocks[-3:])
    task["slots"] = _SLOTS
    task["counters"] = counters = min(columns, _COUNTERS, (run.device.dynamic_bytes - SHARED_BYTES) // 4)
    many = _MOST_THREADS if counters > _FEW_COUNTERS else _THREADS
    for at, (name, threads, shared) in enumerate(
        (("light", _THREADS, SHARED_BYTES + 8 * _SLOTS), ("heavy", many, SHARED_BYTES + 4 * counters))
    ):
        kernel = run.kernel("row_powers", f"row_powers_{name}", {"QE_WIDE": int(wide)}, shared)
        n_blocks = max(1, int(run.device.resident_blocks(kernel, threads, shared)))
        queue = np.array((queues + 8 * at, run.stop_flag), WORK_QUEUE)
        run.launch(kernel, n_blocks, threads, (task, queue, flag), shared)
