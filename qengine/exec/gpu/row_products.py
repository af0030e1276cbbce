"""Products of the ways along pairs of matrices, summed by row (``kernels/cuda/count/row_products.cu``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from qengine import _native
from qengine.exec.gpu.eliminate_matrix import ALL, MATRIX, work_queue
from qengine.exec.gpu.launch import DeviceRun
from qengine.plan.kernels.gpu import MOST_KINDS

WAYS = _native.record("MATRIX start link; u8 through; u4 exponent unused", MATRIX=MATRIX)
"""As the kernels' ``Ways``."""

ROW_PRODUCTS = _native.record(
    f"WAYS[{MOST_KINDS}] ways; u8 weights factors ends owners out left n_left n; "
    "u4 n_rows n_kinds slots counters ranked adds factor back",
    WAYS=WAYS,
)
"""As the kernels' ``RowProducts``, of which a caller fills all but ``left``, ``n_left``, ``slots`` and ``counters``."""

SHARED_BYTES = 32 + 32 * 24
"""Of shared memory that a block has beside its table or counters: ``ProductsShared``, at most."""

_SLOTS = 4_096
"""Of a block's table, fewer where there are several kinds of ways: six blocks run at a time."""

_COUNTERS, _FEW_COUNTERS = 28_000, 8_192
"""Of a block: with more, fewer than two blocks run at a time; with few, blocks have few threads."""

_THREADS, _MOST_THREADS = 256, 1024
_WHAT = "the ways to each vertex"


def run_row_products(
    run: DeviceRun,
    task: Any,
    columns: int,
    wide: bool,
    flag: np.uint64,
    blocks: list[Any],
    share: tuple[int, int] = ALL,
) -> None:
    """Start the kernels for a ``ROW_PRODUCTS``, whose matrices have no numbers.

    Parameters
    ----------
    columns
        How many columns a row may have, at the most.
    flag
        The address of what becomes 1 where numbers are too large.
    blocks
        Gets what kernels may use until they are waited for.
    share
        Which of the rows: the device's number, and of how many.
    """
    rows = int(task["n_rows"])
    blocks += [run.allocate(4 * max(1, rows), _WHAT), run.zeroed(8, _WHAT), run.zeroed(16, _WHAT)]
    task["left"], task["n_left"], queues = (int(each.ptr) for each in blocks[-3:])
    kinds = int(task["n_kinds"])
    task["slots"] = slots = _SLOTS if kinds == 1 else _SLOTS // 2
    room = min(4 * _COUNTERS, run.device.dynamic_bytes - SHARED_BYTES)
    task["counters"] = counters = min(columns, room // (4 * kinds))
    many = _MOST_THREADS if counters > _FEW_COUNTERS else _THREADS
    for at, (name, threads, shared) in enumerate(
        (
            ("light", _THREADS, SHARED_BYTES + 4 * (1 + kinds) * slots),
            ("heavy", many, SHARED_BYTES + 4 * kinds * counters),
        )
    ):
        macros = {"QE_WIDE": int(wide), "QE_KINDS": kinds, "QE_RANKED": int(task["ranked"])}
        kernel = run.kernel("row_products", f"row_products_{name}", macros, shared)
        n_blocks = max(1, int(run.device.resident_blocks(kernel, threads, shared)))
        queue = work_queue(queues + 8 * at, run.stop_flag, ALL if at else share)  # what is left is this device's
        run.launch(kernel, n_blocks, threads, (task, queue, flag), shared)
