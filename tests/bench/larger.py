"""A graph four times as large as memory: loaded, saved, opened and queried under a cap of a quarter of its bytes.

``python -m tests.bench.larger [--millions 40] [--limit 60M] [--folder PATH]``: an R-MAT graph of so many
relationships, one number each, between a 12th as many nodes with three properties, as Parquet files. It is loaded and
saved in memory; then, in a process whose private data may take a quarter of what was saved (``RLIMIT_DATA``), loaded
within ``--limit`` and saved, whose files must be the same, byte for byte; then opened so, with no page of it in
memory, and queried. Of each step the seconds, and of queries which share of the files' pages they have read
(``mincore``). What Python and Arrow take themselves is some 70 MB, so a cap below 150 MB, of fewer than 25 million
relationships, holds no graph.
"""

from __future__ import annotations

import argparse
import ctypes
import filecmp
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.bench.report import markdown

QUERIES = {
    "a node by `id()`": "MATCH (a:Person) WHERE id(a) = 77777 RETURN a.name, a.age",
    "neighbours of another": "MATCH (a:Person)-[r:KNOWS]->(b) WHERE id(a) = 1000000 "
    "RETURN b.name, r.since ORDER BY b.id, r.since",
    "a node by a property": "MATCH (a:Person {id: 123456}) RETURN a.name",
    "neighbours of neighbours": "MATCH (a:Person)-[:KNOWS]->(b)-[:KNOWS]->(c) WHERE id(a) = 123457 RETURN count(*)",
    "triangles of every 1000th node": "MATCH (a:Person)-[:KNOWS]->(b)-[:KNOWS]->(c)<-[:KNOWS]-(a) "
    "WHERE a.id % 1000 = 7 RETURN count(*)",
}
_BATCH = 1 << 18
_ENVIRONMENT = {"ARROW_DEFAULT_MEMORY_POOL": "system", "OPENBLAS_NUM_THREADS": "1"}
"""Arrow's own allocator takes a gigabyte of addresses at once, which a cap on them counts."""


def main() -> int:
    """Print the tables; fail where what was saved or answered differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.larger", description=__doc__)
    parser.add_argument("--millions", type=float, default=40.0)
    parser.add_argument("--limit", default="60M")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--step", choices=sorted(_STEPS), help=argparse.SUPPRESS)
    parser.add_argument("--cap", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step is not None:
        if options.cap:
            resource.setrlimit(resource.RLIMIT_DATA, (options.cap, options.cap))
        print(json.dumps(_STEPS[options.step](options.folder, options.limit)))
        return 0
    if options.folder is not None:
        return _compare(options.folder, options)
    with tempfile.TemporaryDirectory(prefix="qengine-larger-") as name:
        return _compare(Path(name), options)


def _compare(folder: Path, options: argparse.Namespace) -> int:
    if not (folder / "tables").is_dir():
        _generate(folder / "tables", int(options.millions * 1e6))
    whole = _run("whole", folder, options, 0)
    size = sum(path.stat().st_size for path in _files(folder / "whole"))
    cap = size // 4
    pieces = _run("pieces", folder, options, cap)
    other = _different(folder / "whole", folder / "pieces")
    rows = [[name, *(f"{each[key]:.1f}" for key in ("load", "load_cpu", "save", "save_cpu")), f"{each['private']:,}"]
            for name, each in (("in memory", whole), (f"within {options.limit}", pieces))]  # fmt: skip
    print(
        f"{size / 1e6:,.0f} MB saved, cap {cap / 1e6:,.0f} MB; files that differ: {', '.join(other) or 'none'}\n",
        flush=True,
    )
    columns = ["", "loaded, s", "by processors", "saved, s", "by processors", "private memory, MB"]
    print(markdown(columns, rows), flush=True)
    columns = ["query", *(f"{kind}, {what}" for kind in ("checked", "never") for what in ("s", "pages read"))]
    found = {kind: _run(kind, folder, options, cap) for kind in ("checked", "never")}
    rows = [[name, *(cell for kind in found.values() for cell in (f"{kind[name][0]:.3f}", f"{kind[name][1]:.3%}"))]
            for name in ("open", *QUERIES)]  # fmt: skip
    print(f"\n{markdown(columns, rows)}")
    answers = {json.dumps([each[name][2] for name in QUERIES]) for each in (*found.values(), whole["answers"])}
    return int(bool(other) or len(answers) > 1)


def _run(step: str, folder: Path, options: argparse.Namespace, cap: int) -> Any:
    """Run a step in a process of its own, whose private data may take so many bytes."""
    site = ["-S"] if sys.flags.no_site else []
    command = [sys.executable, *site, "-m", "tests.bench.larger", "--step", step, "--folder", str(folder), "--limit",
               options.limit, "--cap", str(cap)]  # fmt: skip
    stack = resource.getrlimit(resource.RLIMIT_STACK)
    resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, stack[1]))  # each thread's counts as data
    try:
        done = subprocess.run(command, env={**os.environ, **_ENVIRONMENT}, stdout=subprocess.PIPE, check=True)
    finally:
        resource.setrlimit(resource.RLIMIT_STACK, stack)
    return json.loads(done.stdout)


# ---------------------------------------------------------------- steps


def _whole(folder: Path, limit: str) -> dict[str, Any]:
    found, graph = _loaded(folder, "whole")
    found["answers"] = {name: [0.0, 0.0, _answer(graph, text)] for name, text in QUERIES.items()}
    return found


def _pieces(folder: Path, limit: str) -> dict[str, Any]:
    return _loaded(folder, "pieces", memory_limit=limit)[0]


def _loaded(folder: Path, name: str, **options: Any) -> tuple[dict[str, Any], Any]:
    from qengine import Graph

    private = _Peak()
    graph, load, load_cpu = _timed(lambda: Graph.from_parquet(folder / "tables", **options))
    _, save, save_cpu = _timed(lambda: graph.save(folder / name))
    return {"load": load, "load_cpu": load_cpu, "save": save, "save_cpu": save_cpu, "private": private.most}, graph


def _queried(folder: Path, verify: Any) -> dict[str, Any]:
    import qengine

    _drop(folder / "pieces")
    graph, seconds, _ = _timed(lambda: qengine.open(folder / "pieces", verify=verify))
    before = _resident(folder / "pieces")
    found: dict[str, Any] = {"open": [seconds, before]}
    for name, text in QUERIES.items():
        answer, seconds, _ = _timed(lambda text=text: _answer(graph, text))
        after = _resident(folder / "pieces")
        found[name] = [seconds, after - before, answer]
        before = after
    return found


_STEPS: dict[str, Callable[[Path, str], dict[str, Any]]] = {
    "whole": _whole,
    "pieces": _pieces,
    "checked": lambda folder, limit: _queried(folder, "lazy"),
    "never": lambda folder, limit: _queried(folder, "never"),
}


def _answer(graph: Any, text: str) -> list[list[Any]]:
    return [list(row) for row in graph.query(text).fetchall()]


# ---------------------------------------------------------------- measuring


def _timed(call: Callable[[], Any]) -> tuple[Any, float, float]:
    clock, processors = time.perf_counter(), time.process_time()
    found = call()
    return found, time.perf_counter() - clock, time.process_time() - processors


class _Peak:
    """The most private memory of this process, in MB, looked up every 20 ms."""

    def __init__(self) -> None:
        self.most = 0
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while True:
            lines = Path("/proc/self/status").read_text().splitlines()
            now = next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))
            self.most = max(self.most, now // 1000)
            time.sleep(0.02)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _different(one: Path, other: Path) -> list[str]:
    """Return the names of the files that differ; manifests, which name their folders, aside."""
    pairs = [each for each in zip(_files(one), _files(other), strict=True) if each[0].name != "manifest.json"]
    return [a.name for a, b in pairs if not filecmp.cmp(a, b, shallow=False)]


def _drop(folder: Path) -> None:
    """Let the system forget the pages of files."""
    for path in _files(folder):
        with open(path, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _resident(folder: Path) -> float:
    """Return the share of files' pages that are in memory."""
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    pages = inside = 0
    for path in _files(folder):
        size = path.stat().st_size
        with open(path, "rb") as file:
            place = ctypes.c_void_p(libc.mmap(None, ctypes.c_size_t(size), 1, 1, file.fileno(), ctypes.c_long(0)))
        seen = (ctypes.c_ubyte * -(-size // 4096))()
        libc.mincore(place, ctypes.c_size_t(size), seen)
        libc.munmap(place, ctypes.c_size_t(size))
        pages += len(seen)
        inside += sum(each & 1 for each in bytes(seen))
    return inside / pages


# ---------------------------------------------------------------- the graph


def _generate(folder: Path, relationships: int) -> None:
    folder.mkdir(parents=True)
    count = relationships // 12
    dice = np.random.default_rng(3)
    bits = int(np.ceil(np.log2(count)))
    people = pa.schema([("id", pa.int64()), ("name", pa.string()), ("age", pa.int64())])
    with pq.ParquetWriter(folder / "nodes_Person.parquet", people) as writer:
        for first in range(0, count, _BATCH):
            ids = np.arange(first, min(first + _BATCH, count))
            names = [f"person number {each}" for each in ids.tolist()]
            writer.write_table(pa.table({"id": ids, "name": names, "age": ids % 90}, schema=people))
    links = pa.schema([("start", pa.int64()), ("end", pa.int64()), ("since", pa.int64())])
    with pq.ParquetWriter(folder / "rels_Person_KNOWS_Person.parquet", links) as writer:
        for first in range(0, relationships, _BATCH):
            rows = min(_BATCH, relationships - first)
            start, end = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
            for _ in range(bits):
                chance = dice.random(rows)
                start = 2 * start + (chance >= 0.76)
                end = 2 * end + (((chance >= 0.57) & (chance < 0.76)) | (chance >= 0.95))
            since = dice.integers(0, 10000, rows)
            writer.write_table(pa.table({"start": start % count, "end": end % count, "since": since}, schema=links))


if __name__ == "__main__":
    sys.exit(main())
