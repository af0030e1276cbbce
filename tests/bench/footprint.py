"""Start-up times, memory and the cost of small queries: figures that each come from processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from qengine.testing.data import shared_root
from tests.bench import datasets, workloads
from tests.bench.datasets import PatternGraph
from tests.bench.dialects import cypher_for_qengine
from tests.bench.patterns import Pattern
from tests.bench.report import markdown, verdicts
from tests.bench.thresholds import OURS, Verdict

_CHECKOUT = Path(__file__).resolve().parents[2]
_RUNS = 5
_LONGEST_SECONDS = 300

_IMPORT = """
import time; started = time.perf_counter()
import {module}
print(time.perf_counter() - started)"""

_COLD_QUERY = {
    "kuzu": "import kuzu; kuzu.Connection(kuzu.Database(':memory:')).execute('RETURN 1').get_all()",
    "duckdb": "import duckdb; duckdb.sql('SELECT 1').fetchall()",
}
_OUR_COLD_QUERY = "import sys; from qengine.cli.main import command; sys.exit(command())"

# The peak is reset after the load, so that it is the query's. The base is what the process holds after a first query
# on a graph of one node: most modules are imported only then, and they are no part of the query's memory.
_QUERY_MEMORY = """
import re, sys
import qengine
def status(key):
    return int(re.search(key + r":\\s+(\\d+) kB", open("/proc/self/status").read()).group(1)) << 10
warm = qengine.Graph.from_records(nodes=[{"id": 0}], relationships=[])
warm.query("MATCH (a)--(b) RETURN count(*)").fetchall()
base = status("VmRSS")
graph = qengine.Graph.from_graph_file(sys.argv[1])
open("/proc/self/clear_refs", "w").write("5")
graph.query(sys.argv[2]).fetchall()
print((status("VmHWM") - base) / graph.nbytes)"""

_LOAD_MEMORY = """
import re, sys
import qengine
graph = qengine.Graph.from_parquet(sys.argv[1])
print(int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read()).group(1)) << 10)"""


@dataclass(frozen=True)
class Figure:
    """One measured figure; ``limit`` is what it must not exceed, where it is ours."""

    name: str
    value: float | None
    unit: str
    limit: float | None = None
    detail: str = ""


def report(suite: str, data: Path, engines: Sequence[str]) -> tuple[str, list[str]]:
    """Measure one of the suites here; return its table with the verdicts, and the figures that failed."""
    figures = list(SUITES[suite](data, engines))
    rows = [[f.name, f"{f.value:.3g} {f.unit}" if f.value is not None else f.detail] for f in figures]
    judged = [
        Verdict(
            None if figure.value is None else figure.value <= figure.limit,
            f"{figure.name}: ≤ {figure.limit:g} {figure.unit}",
        )
        for figure in figures
        if figure.limit is not None
    ]
    failed = [f"{figure.name}: {figure.detail}" for figure in figures if figure.value is None]
    return "\n\n".join([f"### {suite}", markdown(["figure", "value"], rows), verdicts(judged)]), failed


def _startup(data: Path, engines: Sequence[str]) -> Iterator[Figure]:
    for module in engines:
        limit = 0.25 if module == OURS else None
        yield _least(f"import {module}", "s", limit, lambda module=module: _printed(_IMPORT.format(module=module)))
    for engine, program in _COLD_QUERY.items():
        if engine in engines:
            yield _least(f"cold query, {engine}", "s", None, lambda program=program: _wall(program))
    example = next((path.parent for path in (_CHECKOUT / "examples").rglob("nodes_*")), None)
    if OURS in engines and example is not None:
        command = [_OUR_COLD_QUERY, str(example), "-c", "MATCH (n) RETURN count(*)"]
        yield _least("first query on the example graph from the shell", "s", 0.6, lambda: _wall(*command))


def _small(data: Path, engines: Sequence[str]) -> Iterator[Figure]:
    if OURS not in engines or shared_root() is None:
        return
    data.mkdir(parents=True, exist_ok=True)
    for name in ("hprd", "yeast"):
        limits = {"from text": 10.0, "prepared": 2.0}
        try:
            medians = [float(value) * 1000 for value in _run("-m", "tests.bench.small", name, str(data)).split()]
        except subprocess.SubprocessError as error:
            yield from (Figure(f"{name}, {way}", None, "ms", limits[way], _why(error)) for way in limits)
            continue
        for (way, limit), value in zip(limits.items(), medians, strict=True):
            yield Figure(f"{name}, median of the small queries, {way}", value, "ms", limit)


def _memory(data: Path, engines: Sequence[str]) -> Iterator[Figure]:
    if OURS not in engines:
        return
    suite = workloads.suite("rmat18", data)
    assert isinstance(suite.dataset, PatternGraph)
    datasets.prepare(suite.dataset)
    for pattern in suite.workloads:
        if isinstance(pattern, Pattern) and not pattern.oriented:
            arguments = [str(suite.dataset.folder / "graph.txt"), cypher_for_qengine(pattern)]
            name = f"peak, {pattern.name} on R-MAT 18, by the bytes of the graph's arrays"
            yield _once(name, "×", 2.5, lambda arguments=arguments: _printed(_QUERY_MEMORY, *arguments))
    with tempfile.TemporaryDirectory() as folder:
        _write_many_edges(Path(folder), 50_000_000)
        peak = "peak while loading 50 M edges"
        yield _once(peak, "GB", 4.0, lambda: _printed(_LOAD_MEMORY, folder) / 1e9)


SUITES: dict[str, Callable[[Path, Sequence[str]], Iterator[Figure]]] = {
    "startup": _startup,
    "small": _small,
    "memory": _memory,
}


def _write_many_edges(folder: Path, count: int) -> None:
    """Write a random directed graph of 2²² vertices as a folder of Parquet files."""
    random = np.random.default_rng(42)
    datasets.write_table(folder / "nodes_V.parquet", id=np.arange(1 << 22))
    ends = (random.integers(0, 1 << 22, count, dtype=np.int32) for _ in range(2))
    datasets.write_table(folder / "rels_V_E_V.parquet", start=next(ends), end=next(ends))


def _least(name: str, unit: str, limit: float | None, measure: Callable[[], float]) -> Figure:
    """Return the least of several measurements."""
    return _once(name, unit, limit, lambda: min(measure() for _ in range(_RUNS)))


def _once(name: str, unit: str, limit: float | None, measure: Callable[[], float]) -> Figure:
    try:
        return Figure(name, measure(), unit, limit)
    except subprocess.SubprocessError as error:
        return Figure(name, None, unit, limit, _why(error))


def _why(error: subprocess.SubprocessError) -> str:
    if isinstance(error, subprocess.CalledProcessError) and error.stderr:
        return str(error.stderr).strip().splitlines()[-1]
    return str(error)


def _printed(program: str, *arguments: str) -> float:
    """Return the number that a program prints."""
    return float(_run("-c", program, *arguments))


def _wall(program: str, *arguments: str) -> float:
    started = time.perf_counter()
    _run("-c", program, *arguments)
    return time.perf_counter() - started


def _run(*arguments: str) -> str:
    """Run Python on the arguments and return what it prints.

    Bytecode is kept beside the sources or where the caller's environment says, as an installation has it; the least of
    several runs has read it.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=_CHECKOUT,
        env={**environment, "PYTHONPATH": str(_CHECKOUT)},
        capture_output=True,
        text=True,
        check=True,
        timeout=_LONGEST_SECONDS,
    ).stdout
