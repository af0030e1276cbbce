"""Samplers against the truth: the expectation over all random paths, and the same samples in Python and C++."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from qengine import _native, storage
from qengine.estimate.candidates import CandidateGraph, build, sketch
from qengine.estimate.kernel import METHODS, SampleRange, count_slices, draw, level_work, philox, trawl
from qengine.estimate.reference import Alley, Estimator, ReferenceSampler, WanderJoin, expectation
from qengine.exec.candidates import level_signatures
from qengine.exec.common.resolve import resolve
from qengine.exec.context import ExecutionContext
from qengine.plan.logical import Unit
from qengine.plan.pattern import Direction, LabelIs
from qengine.plan.physical import Search, Source, VertexLevel
from tests.examples import examples
from tests.property.search_cases import Masks, Oracle, graphs, searches

ESTIMATORS: tuple[Estimator, ...] = (WanderJoin(), Alley())
SAMPLES = 300
HAUL = 256
KNOWN = (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)


def without_seeds(search: Search) -> Search:
    return Search(Unit(), search.levels, 0, (), orbits=search.orbits)


def embeddings(store: Any, search: Search) -> int:
    """Count by trying everything."""
    return sum(1 for _ in Oracle(store, search).embeddings([]))


@pytest.mark.parametrize(
    ("low", "high", "key", "words"),
    [
        (0, 0, 0, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        (2**64 - 1, 2**64 - 1, 2**64 - 1, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (0x85A308D3_243F6A88, 0x03707344_13198A2E, 0x299F31D0_A4093822, KNOWN),
    ],
)
def test_philox_gives_the_known_answers(low: int, high: int, key: int, words: tuple[int, ...]) -> None:
    assert philox(low, high, key) == words


@given(graphs(), searches())
@settings(max_examples=examples(120))
def test_the_expectation_over_all_paths_is_the_count(store: Any, search: Search) -> None:
    search = without_seeds(search)
    truth = embeddings(store, search) * search.orbits
    for estimator in ESTIMATORS:
        assert math.isclose(expectation(store, search, Masks(), estimator), truth, rel_tol=1e-9)


@given(graphs(), searches())
@settings(max_examples=examples(120))
def test_the_native_sampler_draws_the_same_samples(store: Any, search: Search) -> None:
    search = without_seeds(search)
    plan = resolve(store, search, Masks())
    assume(plan is not None)
    assert plan is not None
    for estimator in ESTIMATORS:
        reference = ReferenceSampler(store, search, Masks(), estimator, seed=7)
        expected = [reference.weigh(number) for number in range(SAMPLES)]
        found = draw(
            plan.plan.ctypes.data,
            estimator.name,
            ExecutionContext(threads=2),
            SampleRange(7, 0, SAMPLES),
            depth=len(search.levels),
            rows=True,
        )
        assert found.weights is not None and found.rows is not None
        assert sorted(found.weights) == pytest.approx(sorted(weight for weight in expected if weight))
        assert found.sums.weight == pytest.approx(sum(expected))
        assert found.sums.hits == len(found.rows) == np.count_nonzero(expected)
        truth = set(Oracle(store, search).embeddings([]))
        assert {tuple(row) for row in found.rows.tolist()} <= truth


@given(graphs(), searches(), st.booleans())
@settings(max_examples=examples(120))
def test_the_candidate_graph_has_the_same_embeddings(store: Any, search: Search, signed: bool) -> None:
    search = without_seeds(search)
    signatures = level_signatures(store, search) if signed else None
    plan = resolve(store, search, Masks())
    assume(plan is not None)
    assert plan is not None
    truth = set(Oracle(store, search).embeddings([]))
    context = ExecutionContext(threads=1)
    candidates = build(plan, context, 1 << 20, signatures)
    assert candidates is not None
    assert build(plan, context, candidates.entries - 1, signatures) is None or candidates.entries == 0
    assert not candidates.empty or not truth
    assert candidates.bound >= len(vertices_of(search, truth))
    assert count_slices(candidates.plan, context, SampleRange(0, 0, 1), 1 << 40).weight == len(truth)
    assert count_slices(plan.plan.ctypes.data, context, SampleRange(0, 0, 1), 1 << 40).weight == len(truth)
    lines = sketch(plan, context, 1 << 20)
    assert lines is not None
    assert sketch(plan, context, lines.entries - 1) is None or lines.entries == 0
    assert not lines.empty or not truth
    assert lines.bound >= len(vertices_of(search, truth))
    assert count_slices(lines.plan, context, SampleRange(0, 0, 1), 1 << 40).weight == len(truth)
    for method in ("wanderjoin", "alley"):
        for address in (candidates.plan, lines.plan):
            found = draw(address, method, context, SampleRange(1, 0, SAMPLES), depth=len(search.levels), rows=True)
            assert found.rows is not None
            assert {tuple(row) for row in found.rows.tolist()} <= truth


@given(graphs(), searches(), st.sampled_from((build, sketch)))
@settings(max_examples=examples(120))
def test_guided_samples_weigh_the_inverse_of_their_probability(
    store: Any, search: Search, make: Callable[..., CandidateGraph | None]
) -> None:
    search = without_seeds(search)
    plan = resolve(store, search, Masks())
    assume(plan is not None)
    assert plan is not None
    context = ExecutionContext(threads=1)
    candidates = make(plan, context, 1 << 20)
    assert candidates is not None
    samples = 4000
    found = draw(
        candidates.plan, "alley", context, SampleRange(11, 0, samples),
        depth=len(search.levels), rows=True, guide=candidates.guide,
    )  # fmt: skip
    assert found.rows is not None and found.weights is not None
    truth = set(Oracle(store, search).embeddings([]))
    hits: dict[tuple[int, ...], list[float]] = {}
    for row, weight in zip(map(tuple, found.rows.tolist()), found.weights.tolist(), strict=True):
        hits.setdefault(row, []).append(weight)
    assert set(hits) <= truth
    probability = 0.0
    for weights in hits.values():
        assert weights == pytest.approx([weights[0]] * len(weights))  # an embedding is found in one way
        expected = samples / weights[0]
        assert abs(len(weights) - expected) <= 6 * math.sqrt(expected) + 6
        probability += 1 / weights[0]
    assert probability < 1 + 1e-9
    if len(hits) == len(truth):
        assert abs(len(found.rows) - samples * probability) <= 6 * math.sqrt(samples * probability) + 6
    sums = found.sums
    if sums.effective_hits > 100:
        assert abs(sums.mean - len(truth)) <= 6 * sums.relative_error * sums.mean + 1e-9 * len(truth)


@given(graphs(), searches())
@settings(max_examples=examples(120))
def test_plain_levels_draw_the_same_samples(store: Any, search: Search) -> None:
    plan = resolve(store, without_seeds(search), Masks())
    assume(plan is not None)
    assert plan is not None
    context = ExecutionContext(threads=1)
    candidates = build(plan, context, 1 << 20)
    assert candidates is not None
    lines = sketch(plan, context, 1 << 20)
    assert lines is not None
    for address, own in ((candidates.plan, candidates), (lines.plan, lines), (plan.plan.ctypes.data, None)):
        guided = () if own is None else (("alley", own.guide),)
        for method, guide in (("wanderjoin", None), ("alley", None), *guided):
            found = [
                drawn_by(ways, address, method, context, depth=len(search.levels), samples=SAMPLES, guide=guide)
                for ways in WAYS
            ]
            assert all(each == found[0] for each in found)


@given(graphs(), searches())
@settings(max_examples=50)
def test_what_levels_cost_is_known_where_the_graph_is_not(store: Any, search: Search) -> None:
    """Plans of candidate graphs on a device point there."""
    plan = resolve(store, without_seeds(search), Masks())
    assume(plan is not None)
    assert plan is not None
    context = ExecutionContext(threads=1)
    elsewhere, levels, lists = plan.plan.copy(), plan.tables[0].copy(), plan.tables[9].copy()
    for table, pointers in ((levels, ("bitset", "candidates")), (lists, ("offsets", "neighbours"))):
        for name in pointers:
            table[name] = np.where(table[name], 8, 0)
    elsewhere["levels"], elsewhere["lists"] = levels.ctypes.data, lists.ctypes.data
    for method in METHODS:
        found, expected = (
            level_work(record.ctypes.data, method, len(levels), context) for record in (elsewhere, plan.plan)
        )
        assert np.array_equal(found, expected) and found[:, 0].all()


def test_plain_levels_draw_the_same_samples_around_a_hub() -> None:
    """Of a graph that caches don't hold, with more to pick from than one word of 32 bits decides."""
    n = 90_000
    rim = np.arange(n)
    starts = np.concatenate([np.full(n, n), rim, rim, rim])
    ends = np.concatenate([rim, (rim + 1) % n, (rim + 2) % n, (rim + 3) % n])
    store = storage.from_edge_list((starts, ends), undirected=True)
    levels = (
        VertexLevel("a"),
        VertexLevel("b", None, (), (Source(0, (), Direction.BOTH),), different=(0,)),
        VertexLevel("c", None, (), (Source(1, (), Direction.BOTH),), different=(0, 1)),
        VertexLevel("d", None, (), (Source(2, (), Direction.BOTH), Source(0, (), Direction.BOTH)), different=(0, 1, 2)),
        VertexLevel("e", None, (), tuple(Source(k, (), Direction.BOTH) for k in (0, 3, 2)), different=(1,)),
    )
    plan = resolve(store, Search(Unit(), levels, 0, ()), Masks())
    assert plan is not None
    context = ExecutionContext(threads=2)
    for method in ("wanderjoin", "alley"):
        samples = 20_000 if method == "wanderjoin" else 300
        found = [drawn_by(ways, plan.plan.ctypes.data, method, context, depth=5, samples=samples) for ways in WAYS]
        assert found[0][-1][-1] > 0
        assert all(each == found[0] for each in found)


WAYS = ((1, 2), (1, 0), (0, 0))
"""Whether plain levels are recognized, and the instruction set."""


def drawn_by(
    ways: tuple[int, int], plan: int, method: str, context: ExecutionContext, samples: int, **others: Any
) -> list[tuple[float, float, int]]:
    native = _native.load()
    native.qe_sample_plain(ways[0])
    native.qe_force_isa(ways[1])
    try:
        drawn = draw(plan, method, context, SampleRange(3, 0, samples), **others)
    finally:
        native.qe_sample_plain(1)
        native.qe_force_isa(-1)
    return [(level.weight, level.square, level.hits) for level in drawn.levels]


def vertices_of(search: Search, rows: set[tuple[int, ...]]) -> set[tuple[int, ...]]:
    places = [k for k, level in enumerate(search.levels) if isinstance(level, VertexLevel)]
    return {tuple(row[k] for k in places) for row in rows}


def depth_of(number: int, seed: int, least: int, deepest: int) -> int:
    """Mirror the choice of a prefix's depth."""
    shares = [2.0**-j for j in range(least, deepest + 1)]
    u = philox(number, 1 << 33, seed)[0] / 2**32 * sum(shares)
    for depth, share in enumerate(shares, least):
        if u < share:
            return depth
        u -= share
    return deepest


@given(graphs(), searches())
@settings(max_examples=examples(60))
def test_trawling_counts_what_completes_the_prefixes(store: Any, search: Search) -> None:
    search = without_seeds(search)
    plan = resolve(store, search, Masks())
    assume(plan is not None)
    assert plan is not None
    deepest = next(
        (k for k, level in enumerate(search.levels) if not isinstance(level, VertexLevel)), len(search.levels)
    )
    least = min(2, deepest)
    truth = list(Oracle(store, search).embeddings([]))
    context = ExecutionContext(threads=2)
    for haul in range(8):
        depth = depth_of(haul, 9, least, deepest)
        prefixes = draw(
            plan.plan.ctypes.data, "alley", context, SampleRange(9, haul * HAUL, HAUL), depth=depth, rows=True
        )
        assert prefixes.rows is not None and prefixes.weights is not None
        completions = Counter(found[:depth] for found in truth)
        expected = sum(
            weight * completions[tuple(row)]
            for row, weight in zip(prefixes.rows.tolist(), prefixes.weights.tolist(), strict=True)
        )
        found = trawl(plan.plan.ctypes.data, context, SampleRange(9, haul, 1), least=2, most_work=1 << 40)
        assert found.weight == pytest.approx(expected / HAUL)


@given(graphs(), searches(), st.sampled_from((0, 500, 5_000)), st.booleans())
@settings(max_examples=examples(80))
def test_hauls_mean_the_count_however_little_is_counted(
    store: Any, search: Search, most_work: int, guided: bool
) -> None:
    search = without_seeds(search)
    plan = resolve(store, search, Masks())
    assume(plan is not None)
    assert plan is not None
    context = ExecutionContext(threads=1)
    candidates = build(plan, context, 1 << 20)
    assert candidates is not None
    truth = sum(1 for _ in Oracle(store, search).embeddings([]))
    guide = candidates.guide if guided else None
    sums = trawl(candidates.plan, context, SampleRange(2, 0, 60), least=1, most_work=most_work, guide=guide)
    assert (sums.weight > 0) <= (truth > 0)
    if sums.effective_hits > 20:
        assert abs(sums.mean - truth) <= 6 * sums.relative_error * sums.mean + 1e-9 * truth


def test_ten_million_samples_mean_the_count() -> None:
    """The mean of many samples lies where chance allows: four standard errors, for a seed that never changes."""
    generator = np.random.default_rng(3)
    nodes = [{"id": k, "labels": ["A" if k % 3 else "B"]} for k in range(60)]
    ends = generator.integers(0, 60, (500, 2))
    store = storage.from_records(nodes, [{"type": "R", "start": int(a), "end": int(b)} for a, b in ends])
    levels = (
        VertexLevel("a", LabelIs("A")),
        VertexLevel("b", None, (), (Source(0, ("R",), Direction.OUT),), different=(0,)),
        VertexLevel("c", None, (), (Source(1, ("R",), Direction.BOTH),), different=(0, 1)),
        VertexLevel("d", LabelIs("B"), (), (Source(2, ("R",), Direction.OUT), Source(0, ("R",), Direction.BOTH))),
    )
    search = Search(Unit(), levels, 0, ())
    plan = resolve(store, search, Masks())
    assert plan is not None
    context = ExecutionContext(threads=2)
    truth = count_slices(plan.plan.ctypes.data, context, SampleRange(0, 0, 1), 1 << 40).weight
    assert truth is not None and truth > 1000
    candidates = build(plan, context, 1 << 20)
    assert candidates is not None
    address = plan.plan.ctypes.data
    for path, method, guide in (
        (address, "wanderjoin", None), (address, "alley", None), (candidates.plan, "alley", candidates.guide),
    ):  # fmt: skip
        sums = draw(path, method, context, SampleRange(1, 0, 4_000_000), depth=4, guide=guide).sums
        assert abs(sums.mean - truth) < 4 * sums.relative_error * sums.mean
        assert sums.relative_error < 0.01
