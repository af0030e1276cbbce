"""Candidate graphs built on the GPU, its kernels run on the host: the host's, entry by entry, and so its samples."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from qengine import Graph, OutOfMemory
from qengine.estimate import device as device_module
from qengine.estimate.candidates import CandidateGraph, build
from qengine.exec.candidates import level_signatures
from qengine.exec.common.match_plan import records
from qengine.exec.common.resolve import ResolvedSearch, resolve
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu import sample as sample_module
from qengine.exec.gpu.candidate_graph import DeviceCandidates, build_on_device
from qengine.exec.gpu.sample_job import GUIDE
from qengine.exec.gpu.upload import device_plan
from qengine.plan.logical import Unit
from qengine.plan.pattern import Direction, LabelIs
from qengine.plan.physical import Search, Source, VertexLevel
from qengine.storage import from_records
from tests.emulator.building import compiled
from tests.emulator.device import ARCHITECTURE, pretended
from tests.examples import examples
from tests.property import test_gpu_sampling
from tests.property.search_cases import Masks, graphs, searches
from tests.property.test_gpu_sampling import QUERY, two_labels
from tests.property.test_sampling import without_seeds

KERNELS = ("candidate_rows", "candidate_filter", "guide_temper", "guide_running")
THREADS = 64
LEVELS, SOURCES, RANGES, LIST_IDS, LISTS = 0, 1, 2, 8, 9


@functools.cache
def library() -> ctypes.CDLL:
    lines = [
        '#include "on_host.h"',
        '#include "sample/candidate_graph.cu"',
        *(f"QE_ON_HOST({name})" for name in KERNELS),
    ]
    return compiled("\n".join(lines), ARCHITECTURE)


class Run(test_gpu_sampling.Run):
    """Launches the samplers and what builds candidate graphs."""

    def library(self, family: str, macros: Mapping[str, int | str], preface: str) -> ctypes.CDLL:
        return library() if family == "candidate_graph" else super().library(family, macros, preface)

    def launch(
        self,
        kernel: Any,
        blocks: int,
        threads: int,
        arguments: Sequence[Any],
        shared_bytes: int = 0,
        *,
        together: bool = False,
    ) -> None:
        super().launch(kernel, blocks, min(threads, THREADS) if together else threads, arguments, shared_bytes)


def check_graph(made: DeviceCandidates, expected: CandidateGraph) -> None:
    """Compare a graph that was built on a device with the host's: what it says of itself, its plan, and its guide."""
    assert (made.entries, made.empty) == (expected.entries, expected.empty)
    assert made.bound == expected.bound
    one, two = made.resolved(), expected.resolved()
    for k in (SOURCES, LIST_IDS):
        assert one.tables[k].tolist() == two.tables[k].tolist()
    for mine, theirs in zip(one.tables[LEVELS], two.tables[LEVELS], strict=True):
        if mine["kind"] == 0:
            assert ids(mine, "candidates", "n_candidates") == ids(theirs, "candidates", "n_candidates")
            assert ranges(one, mine) == ranges(two, theirs)
    for mine, theirs in zip(one.tables[LISTS], two.tables[LISTS], strict=True):
        assert (mine["lo"], mine["hi"]) == (theirs["lo"], theirs["hi"])
        assert ids(mine, "neighbours", "n_entries") == ids(theirs, "neighbours", "n_entries")
        if mine["form"] == 0:
            n = int(mine["hi"] - mine["lo"]) + 1
            assert all_of(mine["offsets"], np.uint64, n) == all_of(theirs["offsets"], np.uint64, n)
    if expected.empty:
        return
    guides = [records(each, GUIDE, len(one.tables[LEVELS])) for each in (made.guide, expected.guide)]
    sizes = expected.guide_levels()
    for mine, theirs, (_, ways, running) in zip(*guides, sizes, strict=True):
        for name, n in (("ways", len(ways)), ("running", len(running))):
            assert bool(mine[name]) == bool(theirs[name])
            assert all_of(mine[name], np.float64, n) == all_of(theirs[name], np.float64, n)
        assert mine["lo"] == theirs["lo"] or not mine["ways"]


def ids(record: Any, name: str, count: str) -> Any:
    return all_of(record[name], np.uint32, int(record[count]))


def all_of(address: Any, dtype: Any, n: int) -> Any:
    return records(int(address), dtype, n).tolist()


def ranges(resolved: Any, level: Any) -> Any:
    first, count = level["ranges"].tolist()
    return resolved.tables[RANGES][first : first + count].tolist()


@given(graphs(), searches(), st.booleans())
@settings(max_examples=examples(100))
def test_the_device_builds_the_hosts_graph(store: Any, search: Search, signed: bool) -> None:
    search = without_seeds(search)
    signatures = level_signatures(store, search) if signed else None
    resolved = resolve(store, search, Masks())
    assume(resolved is not None)
    assert resolved is not None
    run = Run()
    expected = build(resolved, run.context, 1 << 20, signatures)
    assert expected is not None
    with device_plan(store, resolved, run) as plan:  # type: ignore[arg-type]
        made = build_on_device(store, plan, run, 1 << 20, signatures)  # type: ignore[arg-type]
        assert made is not None
        check_graph(made, expected)
        if expected.entries:
            fewer = expected.entries - 1
            assert build_on_device(store, plan, run, fewer, signatures) is None  # type: ignore[arg-type]
            assert build(resolved, run.context, fewer, signatures) is None


def test_long_lists() -> None:
    store, _, resolved, expected = two_labels()
    check(store, resolved, expected)


@pytest.mark.parametrize("seed", range(3))
def test_several_rounds(seed: int) -> None:
    """A sparse graph of eight labels with hubs, and a cycle with a chord: vertices leave in every round."""
    generator = np.random.default_rng(seed)
    n = 600
    nodes = [{"id": k, "labels": [f"L{k * 7 % 8}"]} for k in range(n)]
    ends = (n * generator.random((2 * n, 2)) ** 2).astype(np.int64)
    store = from_records(nodes, [{"type": "R", "start": int(a), "end": int(b)} for a, b in ends], undirected=["R"])

    def level(label: int, *sources: int) -> VertexLevel:
        between = tuple(Source(k, ("R",), Direction.BOTH) for k in sources)
        return VertexLevel(f"v{label}", LabelIs(f"L{label}"), (), between)

    search = Search(Unit(), (level(0), level(1, 0), level(2, 1), level(3, 2, 0), level(4, 3, 1), level(5, 4)), 0, ())
    resolved = resolve(store, search, Masks())
    assert resolved is not None
    expected = build(resolved, ExecutionContext(threads=1), 1 << 20)
    assert expected is not None
    check(store, resolved, expected)


def check(store: Any, resolved: ResolvedSearch, expected: CandidateGraph) -> None:
    run = Run()
    with device_plan(store, resolved, run) as plan:  # type: ignore[arg-type]
        made = build_on_device(store, plan, run, 1 << 20)  # type: ignore[arg-type]
        assert made is not None
        check_graph(made, expected)


@pytest.fixture(scope="module", autouse=True)
def two_warps() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sample_module, "_THREADS", THREADS)
        yield


@pytest.fixture(scope="module")
def graph() -> Graph:
    nodes = [{"id": k, "labels": ["A" if k % 3 else "B"], "properties": {"x": k * 7 % 60}} for k in range(60)]
    ends = np.random.default_rng(1).integers(0, 60, (900, 2)).tolist()
    return Graph.from_records(nodes, [{"type": "R", "start": a, "end": b} for a, b in ends])


@pytest.fixture
def with_device(monkeypatch: pytest.MonkeyPatch) -> list[DeviceCandidates]:
    """Let estimates find the emulated device, and build all candidate graphs there; return what they have built."""
    built: list[DeviceCandidates] = []

    @contextmanager
    def lend(context: ExecutionContext) -> Iterator[Run]:
        yield Run()

    def made(*given: Any) -> DeviceCandidates | None:
        found = build_on_device(*given)
        if found is not None:
            built.append(found)
        return found

    pretended(monkeypatch)
    monkeypatch.setattr("qengine.exec.gpu.launch.device_run", lend)
    monkeypatch.setattr("qengine.exec.gpu.candidate_graph.build_on_device", made)
    monkeypatch.setattr(device_module, "_FEW_ENTRIES", -1)
    return built


@pytest.mark.parametrize("method", ["wanderjoin", "alley", "guided", "trawling", "auto"])
@pytest.mark.parametrize("query", [QUERY, QUERY + " WHERE a.x < c.x", QUERY + " WITH a, b WHERE a.x + b.x > 50"])
def test_estimates_are_the_cpus(
    graph: Graph, with_device: list[DeviceCandidates], query: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if method == "trawling" and "WITH" in query:
        return
    for name in ("_CHEAP", "_MOST_EXACT_WORK"):
        monkeypatch.setattr(f"qengine.estimate.run.{name}", 0)
    options: dict[str, Any] = {"method": method, "samples": 512, "seed": 3}
    on_cpu, on_gpu = (graph.estimate(query, device=device, **options) for device in ("cpu", "gpu"))
    assert len(with_device) == 1
    assert (on_cpu.method, on_cpu.hits, on_cpu.samples) == (on_gpu.method, on_gpu.hits, on_gpu.samples)
    assert on_gpu.value == pytest.approx(on_cpu.value)
    assert on_gpu.upper_bound == on_cpu.upper_bound


def test_a_device_without_room_leaves_it_to_the_host(
    graph: Graph, with_device: list[DeviceCandidates], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OutOfMemory("There is no room.")

    monkeypatch.setattr("qengine.exec.gpu.candidate_graph.build_on_device", full)
    found = graph.estimate(QUERY, method="alley", samples=512, seed=3, device="gpu")
    assert not with_device and found.device == "gpu"
