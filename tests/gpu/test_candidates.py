"""Candidate graphs built on a device: the host's, entry by entry."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings

from qengine import Graph
from qengine.estimate import device as device_module
from qengine.estimate.candidates import build
from qengine.estimate.target import target_of
from qengine.estimates import plan_counted
from qengine.exec.candidates import level_signatures
from qengine.exec.common.resolve import resolve
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu.candidate_graph import build_on_device
from qengine.exec.gpu.launch import device_run
from qengine.exec.gpu.upload import device_plan
from qengine.plan.physical import Search
from qengine.testing import generate
from tests.property.search_cases import Masks, graphs, searches
from tests.property.test_gpu_candidates import check_graph
from tests.property.test_sampling import without_seeds

pytestmark = pytest.mark.gpu

QUERIES = (
    "MATCH (a:L0)--(b:L1)--(c:L2)--(a), (c)--(d:L3)--(b), (d)--(e:L0)",
    "MATCH (a)--(b:L1)--(c)--(d:L3)--(a)",
    "MATCH (a:L0)--(b:L0)--(c:L0)--(d:L0)--(e:L0)",
)


@pytest.fixture(scope="module")
def skewed() -> Graph:
    """An R-MAT graph with hubs, and four labels."""
    start, end = generate.to_csr(generate.rmat(13, 8, 42)).edges()
    labels = generate.vertex_labels(1 << 13, 4, 42)
    nodes = [(f"L{k}", pa.table({"id": np.flatnonzero(labels == k)})) for k in range(4)]
    return Graph.from_arrow(nodes, [("E", pa.table({"src": start, "dst": end}))], undirected=["E"])


@given(graphs(), searches())
@settings(max_examples=300)
def test_the_device_builds_the_hosts_graph(store: Any, search: Search) -> None:
    search = without_seeds(search)
    resolved = resolve(store, search, Masks())
    assume(resolved is not None)
    assert resolved is not None
    compare(store, search, resolved)


@pytest.mark.parametrize("query", QUERIES)
def test_lists_of_hubs(skewed: Graph, query: str) -> None:
    search = target_of(plan_counted(skewed._store, query).physical.root).search
    resolved = resolve(skewed._store, search, Masks())
    assert resolved is not None
    compare(skewed._store, search, resolved)


def compare(store: Any, search: Search, resolved: Any) -> None:
    context = ExecutionContext(threads=1)
    for signatures in (None, level_signatures(store, search)):
        expected = build(resolved, context, 1 << 40, signatures)
        assert expected is not None
        with device_run(context) as run, device_plan(store, resolved, run) as plan:
            made = build_on_device(store, plan, run, 1 << 40, signatures)
            assert made is not None
            check_graph(made, expected)
            if expected.entries:
                assert build_on_device(store, plan, run, expected.entries - 1, signatures) is None


@pytest.mark.parametrize("method", ["wanderjoin", "alley", "guided", "trawling", "auto"])
@pytest.mark.parametrize("query", QUERIES)
def test_estimates_are_the_cpus(skewed: Graph, query: str, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_module, "_FEW_ENTRIES", -1)
    options: dict[str, Any] = {"method": method, "samples": 10_000, "seed": 3}
    on_cpu, on_gpu = (skewed.estimate(query, device=device, **options) for device in ("cpu", "gpu"))
    assert (on_cpu.method, on_cpu.hits, on_cpu.samples) == (on_gpu.method, on_gpu.hits, on_gpu.samples)
    assert on_gpu.value == pytest.approx(on_cpu.value)
    assert on_gpu.upper_bound == on_cpu.upper_bound
