"""The GPU's samplers on a device: the host's samples, and means that chance allows, with inheritance too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from qengine import Graph
from qengine.errors import OutOfMemory
from qengine.estimate import DeviceEstimator
from qengine.estimate.candidates import build
from qengine.estimate.kernel import SampleRange, count_slices, level_work
from qengine.exec.common.resolve import resolve
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu import sample as sample_module
from qengine.exec.gpu.launch import device_run
from qengine.exec.gpu.sample import DeviceSamples, plan_space, upload_guide
from qengine.exec.gpu.sample_job import WORK
from qengine.exec.gpu.sample_packed import packed_plan
from qengine.exec.gpu.upload import device_plan
from qengine.learning import NeighbourSampler
from qengine.plan.physical import Search
from qengine.testing.generate import rmat, to_csr
from tests.property.search_cases import Masks, graphs, searches
from tests.property.test_gpu_sampling import FIRST, check_samples, leaves_to_order, two_labels
from tests.property.test_sampling import without_seeds

pytestmark = pytest.mark.gpu

MANY = 1 << 24


@pytest.fixture(scope="module", autouse=True)
def few_are_ordered() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sample_module, "_WORTH_ORDERING", 1)
        patch.setattr(sample_module, "_ORDERED_AT_ONCE", 100)
        yield


@given(graphs(), searches(), st.booleans(), st.booleans())
@settings(max_examples=300)
def test_the_device_draws_the_hosts_samples(store: Any, search: Search, streaming: bool, far: bool) -> None:
    """``far``: as where lists lie in the host's memory, samples in the order of their roots."""
    search = without_seeds(search)
    resolved = resolve(store, search, Masks())
    assume(resolved is not None)
    assert resolved is not None
    context = ExecutionContext(threads=1)
    candidates = build(resolved, context, 1 << 20)
    assert candidates is not None
    both = ((resolved, resolved.plan.ctypes.data, None), (candidates.resolved(), candidates.plan, candidates))
    for space, address, own in both:
        with device_run(context) as run, device_plan(store, space, run) as plan:
            later, sampled = leaves_to_order(search), replace(plan_space(plan), far_bytes=far << 40)
            check_samples(run, sampled, address, len(search.levels), streaming, own, later=later)


@pytest.mark.parametrize("method", ["wanderjoin", "alley", "guided"])
def test_many_samples_mean_the_count(method: str) -> None:
    """Four standard errors, for a seed that never changes; so with and without inheritance, streaming and packing."""
    store, _, _, candidates = two_labels()
    context = ExecutionContext(threads=1)
    truth = count_slices(candidates.plan, context, SampleRange(0, 0, 1), 1 << 40).weight
    packed = packed_plan(candidates.resolved(), context)
    assert truth and packed is not None
    costs, guide = ("alley", candidates.guide) if method == "guided" else (method, None)
    work = level_work(candidates.plan, costs, 5, context, guide).view(WORK).reshape(-1)
    with device_run(context) as run, device_plan(store, candidates.resolved(), run) as plan:
        for space in (plan_space(plan), packed.space(run)):
            check_samples(run, space, candidates.plan, 5, True, candidates)
            on_device = upload_guide(run, candidates.guide_levels()) if guide else ()
            samples = DeviceSamples(run, space, method, work, on_device)
            for inheritance in (False, True):
                for streaming in (False, True):
                    found = samples.draw(1, 0, MANY, inheritance=inheritance, streaming=streaming).totals
                    mean = found.weight / MANY
                    error = ((found.square / MANY - mean**2) / MANY) ** 0.5
                    assert 0 < error < 0.01 * mean
                    assert abs(mean - truth) < 4 * error


QUERIES = (
    "MATCH (a:A)-[:R]->(b)-[:R]->(c:B)-[:R]->(a)",
    "MATCH (a:A)-[r:R]->(b)-[s:R]->(c:B) WHERE a.x < c.x RETURN count(*)",
    "MATCH (a:A)-[:R]->(b) WITH a, b WHERE a.x + b.x > 50 UNWIND [1, 2] AS k RETURN k",
)


@pytest.mark.parametrize("method", ["alley", "guided"])
@pytest.mark.parametrize("query", QUERIES)
def test_estimates_are_the_cpus(query: str, method: str) -> None:
    graph = Graph.from_records(*records())
    options: dict[str, Any] = {"method": method, "samples": 100_000, "seed": 3}
    on_cpu, on_gpu = (graph.estimate(query, device=device, **options) for device in ("cpu", "gpu"))
    assert (on_cpu.device, on_gpu.device) == ("cpu", "gpu")
    assert (on_cpu.hits, on_cpu.samples) == (on_gpu.hits, on_gpu.samples)
    assert on_gpu.value == pytest.approx(on_cpu.value)
    assert on_gpu.low == pytest.approx(on_cpu.low)


@pytest.mark.parametrize("query", QUERIES[:2])
def test_a_users_estimator_finds_the_count(query: str) -> None:
    graph = Graph.from_records(*records())
    truth = graph.estimate(query, method="exact", device="cpu").value
    own = graph.estimate(query, method=DeviceEstimator("first", FIRST), samples=1_000_000, seed=3)
    assert (own.method, own.device) == ("first", "gpu")
    assert own.low < truth < own.high
    assert own.value == pytest.approx(truth, rel=0.05)


def records() -> tuple[list[Any], list[Any]]:
    nodes = [{"id": k, "labels": ["A" if k % 3 else "B"], "properties": {"x": k * 7 % 60}} for k in range(60)]
    relationships = [
        {"type": "R", "start": k % 60, "end": (k * k + 7 * k + k // 60) % 60, "properties": {}} for k in range(900)
    ]
    return nodes, relationships


def test_mini_batches_are_the_hosts_and_stay_on_the_device() -> None:
    start, end = to_csr(rmat(12, 8, seed=5)).edges()
    graph = Graph.from_edge_list((np.asarray(start, np.int64), np.asarray(end, np.int64)))
    for again in (False, True):
        host, device = (
            NeighbourSampler(graph, "MATCH (n)-->(m)", (40, 5), seed=3, replace=again, device=name)
            for name in ("cpu", "gpu")
        )
        for ours, theirs in zip(host.batches(range(2_000), 300), device.batches(range(2_000), 300), strict=True):
            assert ours.seeds == theirs.seeds and hasattr(theirs.edges, "__cuda_array_interface__")
            assert (ours.nodes == theirs.nodes.get()).all() and (ours.edges == theirs.edges.get()).all()
    with pytest.raises(OutOfMemory, match="lists of neighbours"):
        NeighbourSampler(graph, "MATCH (n)-->(m)", (5,), device="gpu", gpu_memory_limit="40K")
