"""What of a graph is built on the GPU, beside copying what the host has built: ``python -m tests.bench.gpu_build``.

R-MAT of a scale, undirected (``… gpu_build 18``; else 20). Lists in both directions: milliseconds from the host's lists
in one direction until those in both are there, in each form of the row index; the copy of those in one direction alone;
the copy of the host's own in both. Signatures: of R-MAT 16 with 16 labels, on the host's cores and on the GPU, with
its lists there. The best of ``RUNS``; all arrays are compared with the host's, and one that differs ends the command
with 1.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from qengine import Graph
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu.launch import DeviceRun, device_run
from qengine.exec.gpu.memory import Resident
from qengine.exec.gpu.pcsr_build import symmetric_lists
from qengine.exec.gpu.signatures import built_signatures, resident_signatures
from qengine.plan.pattern import Direction
from qengine.storage.adjacency import Adjacency, Form
from qengine.storage.forms import Lists, index
from qengine.storage.pcsr_build import build_type
from qengine.testing import generate
from tests.bench.timing import least, timed

RUNS = 5
ARRAYS = ("offsets", "keys", "groups", "neighbours")


def best(work: Callable[[], Any]) -> float:
    """Return the milliseconds of the quickest of some runs."""
    return 1e3 * least(work, RUNS, time.perf_counter)


def copied(run: DeviceRun, lists: Adjacency) -> None:
    """Copy the arrays of lists to the device."""
    for name in ARRAYS:
        if getattr(lists, name) is not None:
            run.upload(getattr(lists, name), "lists")


def same(run: DeviceRun, made: Any, expected: Adjacency) -> bool:
    """Tell whether the device's arrays are the host's."""
    found = made.to_host(run)
    return all(np.array_equal(getattr(found, name), getattr(expected, name)) for name in ARRAYS)


def lists(run: DeviceRun, scale: int) -> bool:
    """Print a row for each form; tell whether all arrays are right."""
    start, end = generate.to_csr(generate.rmat(scale, 16, 42)).edges()
    start, end = start.astype(np.uint32), end.astype(np.uint32)
    host, made = timed(lambda: build_type(start, end, undirected=True), time.perf_counter)
    built = made.adjacencies
    out, both = built[Direction.OUT], built[Direction.BOTH]
    vertices, begins, ends = both.rows()
    as_lists = Lists(vertices, np.append(begins, ends[-1:]), both.neighbours, None)
    print(f"R-MAT {scale}: {len(out):,} relationships, both lists made by the host in {1e3 * host:,.0f} ms\n")
    print("| row index | copied and built | copied alone, one direction | both directions copied | equal |")
    print("| --- | --- | --- | --- | --- |")
    half, right = best(lambda: copied(run, out)), True
    for form in Form:
        expected, _ = index(as_lists, form)
        equal = same(run, symmetric_lists(run, out, 0, form), expected)
        right = right and equal
        whole = best(lambda form=form: symmetric_lists(run, out, 0, form))  # type: ignore[misc]
        plain = best(lambda expected=expected: copied(run, expected))  # type: ignore[misc]
        print(f"| {form.name.lower()} | {whole:.1f} | {half:.1f} | {plain:.1f} | {equal} |", flush=True)
    return right


def signatures(run: DeviceRun) -> bool:
    """Print what signatures take; tell whether they are right."""
    start, end = generate.to_csr(generate.rmat(16, 16, 42)).edges()
    labels = generate.vertex_labels(1 << 16, 16, 42)
    nodes = [(f"L{k}", pa.table({"id": np.flatnonzero(labels == k)})) for k in range(16)]
    graph = Graph.from_arrow(nodes, [("E", pa.table({"src": start, "dst": end}))], undirected=["E"])
    store: Any = graph._store
    held: list[Resident] = []
    resident_signatures(store, store.signatures, run, held)  # so that the lists are there
    table = built_signatures(store, store.signatures, run)
    device = best(lambda: built_signatures(store, store.signatures, run))
    found = np.empty((16, store.vertex_count), np.uint32)
    run.read(table.ptr, found)

    def on_host() -> None:
        store.signatures.__dict__.pop("table", None)
        store.signatures.table  # noqa: B018

    host = best(on_host)
    equal = bool(np.array_equal(found, store.signatures.table))
    print(f"\nsignatures of R-MAT 16: {device:.2f} ms on the GPU, {host:.2f} ms on the host, equal: {equal}")
    return equal


def main() -> int:
    """Print both."""
    with device_run(ExecutionContext()) as run:
        return 0 if lists(run, int(sys.argv[1]) if len(sys.argv) > 1 else 20) and signatures(run) else 1


if __name__ == "__main__":
    sys.exit(main())
