"""The GPU's samplers, their kernels run on the host: the host's samples, and unbiased with inheritance."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from qengine import DeviceError, Graph, QueryInterrupted, Unsupported
from qengine.estimate import DeviceEstimator
from qengine.estimate.candidates import CandidateGraph, build, sketch
from qengine.estimate.device import DeviceTrawlingSampler
from qengine.estimate.kernel import SampleRange, draw, level_work
from qengine.estimate.reference import ReferenceSampler
from qengine.estimate.sampler import TrawlingSampler
from qengine.estimate.space import Space
from qengine.estimate.target import Target
from qengine.exec.common.match_plan import records
from qengine.exec.common.resolve import ResolvedSearch, resolve
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu import arrays
from qengine.exec.gpu import sample as sample_module
from qengine.exec.gpu.sample import DeviceSamples, SampledSpace, plan_space, upload_guide, with_estimator
from qengine.exec.gpu.sample_job import WORK
from qengine.exec.gpu.sample_packed import packed_plan
from qengine.exec.gpu.upload import device_plan
from qengine.plan.logical import Unit
from qengine.plan.pattern import Direction, LabelIs
from qengine.plan.physical import Search, Source, VertexLevel
from qengine.storage import from_records
from tests.emulator.arrays import cupy, current_device
from tests.emulator.device import SMALL, EmulatedDevice, EmulatedRun, device_memory, pretended
from tests.property.search_cases import Masks, graphs, searches
from tests.property.test_sampling import without_seeds
from tests.unit.estimate.test_estimators import FavoursTheFirst

SAMPLES = 192
NUMBER = (1 << 28) - 1
"""The bits of a sample in an order."""
METHODS = ("wanderjoin", "alley", "guided")


class Run(EmulatedRun):
    """Has so much shared memory."""

    def __init__(self, shared_bytes: int = SMALL.shared_bytes) -> None:
        properties = replace(SMALL, shared_bytes=shared_bytes)
        super().__init__(ExecutionContext(threads=1), device_memory(), 1 << 20, properties)


@pytest.fixture(scope="module", autouse=True)
def two_warps() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sample_module, "_THREADS", 64)
        patch.setattr(sample_module, "_WORTH_ORDERING", 1)
        patch.setattr(sample_module, "_ORDERED_AT_ONCE", 150)  # more than warps take at a time
        patch.setattr(arrays, "cupy", lambda: cupy)
        yield


def check_samples(
    run: Run,
    space: SampledSpace,
    plan: int,
    depth: int,
    streaming: bool,
    candidates: CandidateGraph | None,
    *,
    later: bool = False,
) -> None:
    """Compare what the device draws with what the host draws, sample by sample.

    ``candidates``: whose plan it is. ``later``: the device may let a sample end some levels after the host does.
    """
    guided = candidates is not None and not candidates.empty
    for method in METHODS if guided else METHODS[:2]:
        on_host, on_device, way = None, (), method
        if method == "guided" and candidates is not None:
            on_host, way = candidates.guide, "alley"
            on_device = upload_guide(run, candidates.guide_levels())  # type: ignore[arg-type]
        work = level_work(plan, way, depth, run.context, on_host).view(WORK).reshape(-1)
        samples = DeviceSamples(run, space, method, work, on_device)  # type: ignore[arg-type]
        expected = draw(plan, way, run.context, SampleRange(5, 7, SAMPLES), depth=depth, rows=True, guide=on_host)
        found = samples.draw(5, 7, SAMPLES, rows=True, streaming=streaming)
        assert found.rows is not None and found.weights is not None
        assert expected.rows is not None and expected.weights is not None
        hit = np.flatnonzero(found.weights)
        assert found.rows[hit].tolist() == expected.rows.tolist()
        assert found.weights[hit].tolist() == expected.weights.tolist()
        assert found.totals.reached == expected.sums.hits
        assert found.totals.work >= expected.sums.work if later else found.totals.work == expected.sums.work
        assert found.totals.weight == pytest.approx(expected.sums.weight)
        assert found.totals.square == pytest.approx(expected.sums.square)


@given(graphs(), searches(), st.booleans(), st.sampled_from((0, 1, 1 << 40)))
@settings(max_examples=25)
def test_the_device_draws_the_hosts_samples(store: Any, search: Search, streaming: bool, far: int) -> None:
    """``far``: as where so many bytes of lists lie in the host's memory, samples in the order of their roots."""
    search = without_seeds(search)
    resolved = resolve(store, search, Masks())
    assume(resolved is not None)
    assert resolved is not None
    run = Run()
    candidates = build(resolved, run.context, 1 << 20)
    assert candidates is not None
    lines = sketch(resolved, run.context, 1 << 20)
    assert lines is not None
    spaces = [(resolved, resolved.plan.ctypes.data, None)]
    spaces += [(each.resolved(), each.plan, each) for each in (candidates, lines)]
    for space, address, own in spaces:
        with device_plan(store, space, run) as plan:  # type: ignore[arg-type]
            later, sampled = leaves_to_order(search), replace(plan_space(plan), far_bytes=far)
            check_samples(run, sampled, address, len(search.levels), streaming, own, later=later)


def leaves_to_order(search: Search) -> bool:
    """Tell whether a device may leave it to the order of a third vertex that two are different."""
    levels = [level for level in search.levels if isinstance(level, VertexLevel)]
    return any(level.different for level in levels) and any(level.less or level.greater for level in levels)


def two_labels() -> tuple[Any, Search, ResolvedSearch, CandidateGraph]:
    """Return a graph whose lists are longer than a warp, a pattern on it, and its candidate graph."""
    generator = np.random.default_rng(3)
    nodes = [{"id": k, "labels": ["A" if k % 3 else "B"]} for k in range(90)]
    ends = generator.integers(0, 90, (5000, 2))
    store = from_records(nodes, [{"type": "R", "start": int(a), "end": int(b)} for a, b in ends])
    levels = (
        VertexLevel("a", LabelIs("A")),
        VertexLevel("b", None, (), (Source(0, ("R",), Direction.BOTH),), different=(0,)),
        VertexLevel("c", LabelIs("B"), (), (Source(1, ("R",), Direction.BOTH), Source(0, ("R",), Direction.OUT))),
        VertexLevel(
            "d", LabelIs("A"), (), (Source(2, ("R",), Direction.OUT), Source(0, ("R",), Direction.BOTH)), greater=(0,)
        ),
        VertexLevel("e", None, (), (Source(3, ("R",), Direction.BOTH),), less=(1,), different=(0, 2)),
    )
    search = Search(Unit(), levels, 0, ())
    resolved = resolve(store, search, Masks())
    assert resolved is not None
    candidates = build(resolved, ExecutionContext(threads=1), 1 << 20)
    assert candidates is not None
    return store, search, resolved, candidates


def test_samples_are_drawn_in_the_order_of_their_roots_where_lists_are_far() -> None:
    store, search, resolved, _ = two_labels()
    run, depth = Run(), len(search.levels)
    work = level_work(resolved.plan.ctypes.data, "alley", depth, run.context, None).view(WORK).reshape(-1)
    with device_plan(store, resolved, run) as plan:  # type: ignore[arg-type]
        assert plan_space(plan).far_bytes  # half of each array, here
        samples = DeviceSamples(run, plan_space(plan), "alley", work)  # type: ignore[arg-type]
        orders: list[Any] = []
        made = samples._order
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(samples, "_order", lambda n: orders.append(made(n)) or orders[-1])
            found = samples.draw(5, 7, SAMPLES, rows=True)
    assert found.rows is not None and found.weights is not None and [len(each) for each in orders] == [150, 42]
    for begin, order in ((0, orders[0]), (150, orders[1])):
        numbers = (order & NUMBER).astype(np.int64)
        assert sorted(numbers) == list(range(len(order)))
        hit = begin + numbers[found.weights[begin + numbers] > 0]
        assert len(hit) > 1 and (np.diff(found.rows[hit, 0]) >= 0).all()


@pytest.mark.parametrize(("method", "far", "blocks"), [("alley", 1, 1), ("alley", 0, 3), ("wanderjoin", 1, 3)])
def test_few_warps_refine_far_lists_at_a_time(
    method: str, far: int, blocks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A block a multiprocessor, of which there is one here; samples are the same."""
    monkeypatch.setattr(EmulatedDevice, "resident_blocks", lambda *_: 3)
    store, search, resolved, _ = two_labels()
    run, depth, launched = Run(), len(search.levels), []
    work = level_work(resolved.plan.ctypes.data, method, depth, run.context, None).view(WORK).reshape(-1)
    launch = run.launch
    monkeypatch.setattr(run, "launch", lambda kernel, n, *rest: (launched.append(n), launch(kernel, n, *rest)))
    with device_plan(store, resolved, run) as plan:  # type: ignore[arg-type]
        space = replace(plan_space(plan), far_bytes=far)
        samples = DeviceSamples(run, space, method, work)  # type: ignore[arg-type]
        launched.clear()
        monkeypatch.setattr(samples, "_is_ordered", False)
        found = samples.draw(5, 0, 600)
    expected = draw(resolved.plan.ctypes.data, method, run.context, SampleRange(5, 0, 600), depth=depth)
    assert launched == [blocks] and found.totals.reached == expected.sums.hits


def test_samples_whose_second_lists_are_near_each_other_are_drawn_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where lists are more than the link reads at random at its rate; within a window in the order of their roots."""
    monkeypatch.setattr(sample_module, "_WORTH_WINDOWS", 0)
    monkeypatch.setattr(sample_module, "_WINDOW_BITS", window := 8)
    store, search, resolved, _ = two_labels()
    run, depth = Run(), len(search.levels)
    work = level_work(resolved.plan.ctypes.data, "wanderjoin", depth, run.context, None).view(WORK).reshape(-1)
    with device_plan(store, resolved, run) as plan:  # type: ignore[arg-type]
        samples = DeviceSamples(run, plan_space(plan), "wanderjoin", work)  # type: ignore[arg-type]
        found = samples.draw(5, 0, 150, rows=True)
        order = samples._order(150)
        lists = plan.resolved.tables[9][plan_space(plan).second]
    assert found.rows is not None and found.weights is not None
    numbers = (order & NUMBER).astype(np.int64)
    assert sorted(numbers) == list(range(150))
    numbers = numbers[150 // 64 :]
    rows = found.rows[numbers[found.weights[numbers] > 0]]
    offsets = records(int(lists["offsets"]), np.uint64, int(lists["hi"] - lists["lo"]) + 1)
    windows = (offsets[rows[:, 1] - int(lists["lo"])] >> np.uint64(window)).astype(np.int64)
    assert len(set(windows)) > 3 and (np.diff(windows) >= 0).all()
    for each in set(windows):
        assert (np.diff(rows[windows == each, 0]) >= 0).all()


@pytest.mark.parametrize("guided", [False, True])
def test_prefixes_of_the_device_are_trawled_alike(guided: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    store, search, resolved, candidates = two_labels()
    run = Run()
    target, space = Target(search, None, (), (), None), Space(resolved, candidates, float("inf"))
    host = TrawlingSampler(target, space, run.context, 3, guided)
    expected = host.draw(1, 4)
    depth, guide = len(search.levels), candidates.guide if guided else None
    work = level_work(candidates.plan, "alley", depth, run.context, guide).view(WORK).reshape(-1)
    monkeypatch.setattr("qengine.estimate.device._HAULS_AT_ONCE", 1)
    with device_plan(store, candidates.resolved(), run) as plan:  # type: ignore[arg-type]
        on_device = upload_guide(run, candidates.guide_levels()) if guided else ()  # type: ignore[arg-type]
        method = "guided" if guided else "alley"
        prefixes = DeviceSamples(run, plan_space(plan), method, work, on_device)  # type: ignore[arg-type]
        ahead = DeviceTrawlingSampler(target, space, run.context, 3, guided, _prefixes=prefixes, _deepest=depth)
        assert ahead.draw(1, 4) == expected and expected.hits > 0


@pytest.fixture(scope="module")
def dense() -> CandidateGraph:
    return two_labels()[3]


@pytest.mark.parametrize("shared_bytes", [1 << 18, 1 << 12])
def test_packed_candidate_graphs_give_the_same_samples(dense: CandidateGraph, shared_bytes: int) -> None:
    packed = packed_plan(dense.resolved(), ExecutionContext(threads=1))
    assert packed is not None
    run = Run(shared_bytes)
    assert packed.variant(run.device)[0]["QE_COPIED"] == int(shared_bytes > 1 << 12)  # type: ignore[arg-type]
    for streaming in (False, True):
        check_samples(run, packed.space(run), dense.plan, 5, streaming, dense)  # type: ignore[arg-type]


def test_packing_can_be_interrupted(dense: CandidateGraph) -> None:
    context = ExecutionContext(threads=1)
    context.interrupt()
    with pytest.raises(QueryInterrupted):
        packed_plan(dense.resolved(), context)


FIRST = """
struct Estimator : qe::SampleEstimator {
  template <typename Step>
  __device__ static uint64_t sample(Step& step, uint64_t n, double* factor) {
    if (n == 1) return *factor = 1, 0;
    const uint64_t choice = step.choose(2 * n - 2);
    const bool first = choice < n - 1;
    *factor = first ? 2 : 2.0 * static_cast<double>(n - 1);
    return first ? 0 : choice - n + 2;
  }
};
"""


def test_a_users_estimator_draws_what_its_python_does() -> None:
    store, search, resolved, _ = two_labels()
    run = Run()
    with device_plan(store, resolved, run) as plan:  # type: ignore[arg-type]
        space = with_estimator(plan_space(plan), "first", FIRST)
        work = level_work(resolved.plan.ctypes.data, "alley", 5, run.context).view(WORK).reshape(-1)
        found = DeviceSamples(run, space, "own", work).draw(5, 0, 64, rows=True)  # type: ignore[arg-type]
    reference = ReferenceSampler(store, search, Masks(), FavoursTheFirst(), seed=5)
    assert found.weights == pytest.approx([reference.weigh(number) for number in range(64)])


@pytest.fixture
def with_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let estimates find the emulated device."""

    @contextmanager
    def lend(context: ExecutionContext) -> Iterator[Run]:
        yield Run()

    pretended(monkeypatch)
    monkeypatch.setattr("qengine.exec.gpu.launch.device_run", lend)


QUERY = "MATCH (a:A)-[:R]->(b)-[:R]->(c)-[:R]->(a)"


@pytest.fixture(scope="module")
def graph() -> Graph:
    nodes = [{"id": k, "labels": ["A" if k % 3 else "B"], "properties": {"x": k * 7 % 60}} for k in range(60)]
    ends = np.random.default_rng(1).integers(0, 60, (900, 2)).tolist()
    return Graph.from_records(nodes, [{"type": "R", "start": a, "end": b} for a, b in ends])


@pytest.mark.usefixtures("with_device")
@pytest.mark.parametrize("method", ["alley", "guided", "auto"])
@pytest.mark.parametrize("query", [QUERY, QUERY + " WHERE a.x < c.x", QUERY + " WITH a, b WHERE a.x + b.x > 50"])
def test_estimates_are_the_cpus(graph: Graph, query: str, method: str) -> None:
    options: dict[str, Any] = {"method": method, "samples": 512, "seed": 3}
    on_cpu, on_gpu = (graph.estimate(query, device=device, **options) for device in ("cpu", "gpu"))
    assert (on_cpu.device, on_gpu.device) == ("cpu", "gpu" if not on_gpu.is_exact else "cpu")
    assert (on_cpu.method, on_cpu.is_exact) == (on_gpu.method, on_gpu.is_exact)
    assert (on_cpu.hits, on_cpu.samples) == (on_gpu.hits, on_gpu.samples)
    assert on_gpu.value == pytest.approx(on_cpu.value)


@pytest.mark.parametrize("method", ["alley", "guided"])
def test_several_devices_draw_the_samples_of_one(
    graph: Graph, method: str, monkeypatch: pytest.MonkeyPatch, with_device: None
) -> None:
    pretended(monkeypatch, 2)
    drew: list[int] = []
    monkeypatch.setattr("qengine.estimate.device.WORTH_SPREADING", 1)
    monkeypatch.setattr("qengine.estimate.run.WORTH_SPREADING", 1)
    original = DeviceSamples.draw

    def draw(self: DeviceSamples, *given: Any, **options: Any) -> Any:
        drew.append(current_device())
        return original(self, *given, **options)

    monkeypatch.setattr(DeviceSamples, "draw", draw)
    options: dict[str, Any] = {"method": method, "samples": 1_000, "seed": 3}
    there, here = (graph.estimate(QUERY, device=device, **options) for device in ("gpu:0,1", "cpu"))
    assert (there.hits, there.samples) == (here.hits, here.samples)
    assert there.value == pytest.approx(here.value)
    assert len(drew) == 2


@pytest.mark.usefixtures("with_device")
@pytest.mark.parametrize("query", [QUERY, QUERY + " WHERE a.x < c.x", QUERY + ", (c)-[r:R]->(b)"])
def test_prefixes_from_the_device_are_trawled_alike(graph: Graph, query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qengine.estimate.device._HAULS_AT_ONCE", 2)
    options: dict[str, Any] = {"method": "trawling", "samples": 5, "seed": 3}
    on_cpu, on_gpu = (graph.estimate(query, device=device, **options) for device in ("cpu", "gpu"))
    assert (on_cpu.device, on_gpu.device) == ("cpu", "gpu")
    assert (on_cpu.hits, on_cpu.samples) == (on_gpu.hits, on_gpu.samples) == (5, 5)
    assert on_gpu.value == pytest.approx(on_cpu.value)


@pytest.mark.usefixtures("with_device")
def test_inheritance_and_a_users_estimator(graph: Graph) -> None:
    truth = graph.estimate(QUERY, method="exact", device="cpu").value
    found = graph.estimate(QUERY, method="wanderjoin", samples=1_000, seed=3, device="gpu", inheritance=True)
    assert found.samples == 1_024 and found.low < truth < found.high
    own = graph.estimate(QUERY, method=DeviceEstimator("first", FIRST), samples=1_000, seed=3)
    assert (own.method, own.device) == ("first", "gpu") and own.low < truth < own.high
    with pytest.raises(Unsupported, match="inherit"):
        graph.estimate(QUERY, method="trawling", samples=1_000, device="gpu", inheritance=True)


def test_without_a_device_both_are_refused(graph: Graph) -> None:
    with pytest.raises(Unsupported, match="GPU only"):
        graph.estimate(QUERY, method="alley", samples=1_000, device="cpu", inheritance=True)
    with pytest.raises(Unsupported, match="for the GPU"):
        graph.estimate(QUERY, method=DeviceEstimator("first", FIRST), device="cpu")
    with pytest.raises(DeviceError, match="no device 'tpu'"):
        graph.estimate(QUERY, device="tpu")
