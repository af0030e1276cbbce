"""How fast the arrays of a saved graph are checked when they are first read, by one core, and what opening takes.

Run as ``python -m tests.bench.saved_checks``. Processor time, the best of several: what else runs matters little.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

import qengine
from qengine._limits import limited_by
from qengine.exec.context import ExecutionContext
from qengine.storage import GraphStore, open_saved
from tests.bench.timing import least, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description="how fast a saved graph's arrays are checked")
    parser.add_argument("--nodes", type=int, default=2_000_000)
    parser.add_argument("--relationships", type=int, default=20_000_000)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "graph"
        _graph(options.nodes, options.relationships).save(path)
        opened = least(lambda: open_saved(path), options.repeat, time.perf_counter)
        print(f"opening {sum(one.stat().st_size for one in path.rglob('*.*')) / 1e6:,.0f} MB: {1000 * opened:.1f} ms\n")
        print("| array | MB | GB/s a core |")
        print("| --- | --- | --- |")
        best: dict[str, tuple[int, float]] = {}
        for _ in range(options.repeat):
            for name, size, seconds in _checked(open_saved(path)):
                best[name] = size, min(seconds, best.get(name, (0, seconds))[1])
        for name, (size, seconds) in best.items():
            print(f"| {name} | {size / 1e6:,.0f} | {size / seconds / 1e9:.1f} |")


def _graph(nodes: int, relationships: int) -> qengine.Graph:
    rng = np.random.default_rng(1)
    ids = np.arange(nodes)
    people = pa.table({"id": ids, "name": pa.array(np.char.add("name ", ids.astype(str)))})
    ends = {name: rng.integers(0, nodes, relationships) for name in ("start", "end")}
    rated = pa.table({**ends, "w": rng.random(relationships)})
    pairs = np.unique(ends["start"] * nodes + ends["end"])  # without parallel ones, which have ids
    plain = pa.table({"start": pairs // nodes, "end": pairs % nodes})
    return qengine.Graph.from_arrow({"A": people}, [("PLAIN", "A", "A", plain), ("RATED", "A", "A", rated)], key="id")


def _checked(store: GraphStore) -> list[tuple[str, int, float]]:
    """Check all arrays with one thread; return what each is, its bytes and seconds."""
    found = []
    with limited_by(ExecutionContext(threads=1)):
        for edge_type, by_way in zip(store.types, store._adjacencies, strict=True):
            for way, lists in by_way.items():
                took = seconds(lambda lists=lists: lists.neighbours)
                ids = "without" if lists.edge_ids is None else "with"
                found.append((f"{edge_type.name}, {way.value}, {ids} relationship ids", lists.nbytes, took))
        for column in store._all_columns():
            took = seconds(lambda column=column: column.array)
            found.append((f"property, {column.arrow_type}", column.nbytes, took))
    return found


if __name__ == "__main__":
    os.environ.setdefault("QENGINE_CONFIG_DIR", os.devnull)
    main()
