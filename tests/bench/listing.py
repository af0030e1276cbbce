"""How fast triangles are listed on the GPU, as device arrays and as Arrow batches: ``python -m tests.bench.listing``.

Takes the scale of the R-MAT graph (default 20).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa

from qengine import Graph
from qengine.exec.common.resolve import resolve
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu.device import cupy
from qengine.exec.gpu.extend import Extension, level_table
from qengine.exec.gpu.host_rows import to_host
from qengine.exec.gpu.launch import device_run
from qengine.exec.gpu.search import run_search
from qengine.exec.gpu.upload import device_plan
from qengine.plan.logical import Unit
from qengine.plan.pattern import Direction
from qengine.plan.physical import Search, Source, VertexLevel
from qengine.testing import generate
from tests.bench.timing import least, timed

SMALL_PIECES = 1 << 24


def clique(size: int) -> Search:
    """Return the search for a clique, each once: ids ascend."""
    levels = tuple(
        VertexLevel(
            f"v{j}",
            sources=tuple(Source(k, (), Direction.BOTH) for k in range(j)),
            less=(j - 1,) if j else (),
        )
        for j in range(size)
    )
    return Search(Unit(), levels, 0, tuple(level.name for level in levels))


def show(what: str, run: Callable[[], int], times: int = 3, bytes_a_row: int = 0) -> None:
    """Print how fast rows come, the best of a few runs."""
    found = [timed(run, time.perf_counter) for _ in range(times)]
    best, n = min(found)
    link = f" | {bytes_a_row * n / best / 1e9:.1f}" if bytes_a_row else " | "
    print(f"| {what} | {n:,} | {best * 1e3:.1f} | {n / best / 1e9:.2f}{link} |", flush=True)


def main() -> None:
    scale = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    start, end = generate.to_csr(generate.rmat(scale, 16, 42)).edges()
    store = Graph.from_edge_list((start, end), undirected=True)._store
    context, search = ExecutionContext(), clique(3)
    resolved = resolve(store, search, None)  # type: ignore[arg-type]
    assert resolved is not None
    shape = level_table(resolved)
    print(f"| R-MAT {scale}, triangles | rows | ms | G rows/s | GB/s |")
    print("|---|---|---|---|---|")
    with device_run(context) as run, device_plan(store, resolved, run) as plan:

        def on_device() -> int:
            n = sum(part.n for part in Extension(run, plan.address, shape, run.free_bytes() // 2).rows([], 1))
            run.wait()
            return n

        def to_arrow() -> int:
            extension = Extension(run, plan.address, shape, run.free_bytes() // 2, most_slots=SMALL_PIECES)
            batches = (
                pa.record_batch([pa.array(part.columns[k]) for k in range(3)], names=["a", "b", "c"])
                for part in to_host(extension.rows([], 1), run.stream)
            )
            return sum(batch.num_rows for batch in batches)

        show("device arrays", on_device)
        show("Arrow batches of uint32 on the host", to_arrow, bytes_a_row=12)
    show(
        "int64 chunks of the executor",
        lambda: sum(len(part.row) for part in run_search(store, search, [], 1, context, None)),  # type: ignore[arg-type]
        2,
    )
    host, device = cupy().cuda.alloc_pinned_memory(1 << 30), cupy().empty(1 << 30, np.uint8)
    copy = partial(cupy().cuda.runtime.memcpy, host.ptr, device.data.ptr, 1 << 30, 2)
    print(f"A pinned copy to the host: {(1 << 30) / least(copy, 2, time.perf_counter) / 1e9:.1f} GB/s")


if __name__ == "__main__":
    main()
