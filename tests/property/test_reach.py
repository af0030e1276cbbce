"""What sets of vertices reach, by the native kernel, against naive enumeration and searches of one vertex at a time."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from qengine import Graph
from qengine.exec.context import ExecutionContext
from qengine.exec.host.reach_kernel import HOST, Lanes, ReachChunk, ReachKernels, ReachRules, reach_chunks, reach_counts
from qengine.exec.host.walk_kernel import EndFilter, WalkSpace, pack_bits
from qengine.plan.pattern import Direction, PathMode
from qengine.storage.records import from_records
from qengine.testing.generate.graphs import rmat
from tests.property.test_walks import Case, cases

IntArray = NDArray[np.int64]


def small_chunks(*given: Any, hops: bool) -> Iterator[ReachChunk]:
    for chunk in reach_chunks(*given, hops=hops, rows=64):
        assert len(chunk.lane) <= 64
        yield chunk


SMALL_CHUNKS = ReachKernels(small_chunks, reach_counts)  # type: ignore[arg-type]


def lanes_of(sets: list[list[int]]) -> Lanes:
    return Lanes(np.cumsum([0, *map(len, sets)]), np.array([v for each in sets for v in each], np.int64))


def reached(
    case: Case, store: Any, sets: list[list[int]], repeats: PathMode, hops: bool, kernels: ReachKernels
) -> dict[tuple[int, int], int | None]:
    """Return the least hops by set and end; compare with the counts."""
    context = ExecutionContext(threads=case.threads)
    given = (case.space(store), case.end_filter(), lanes_of(sets), context)
    rules = ReachRules(case.minimum, case.maximum, repeats)
    found: dict[tuple[int, int], int | None] = {}
    for chunk in kernels.chunks(*given, rules, hops=hops):
        assert len(chunk.lane) and (chunk.hops is not None) == hops
        least = [None] * len(chunk.lane) if chunk.hops is None else chunk.hops.tolist()
        for lane, end, each in zip(chunk.lane.tolist(), chunk.end.tolist(), least, strict=True):
            assert (lane, end) not in found
            found[lane, end] = each
    number = Counter(lane for lane, _ in found)
    assert kernels.counts(*given, rules).tolist() == [number[lane] for lane in range(len(sets))]
    return found


@pytest.mark.parametrize("repeats", list(PathMode))
@given(data=st.data())
def test_ends_and_hops_of_each_start(repeats: PathMode, data: Any) -> None:
    check_starts(repeats, data, SMALL_CHUNKS)


def check_starts(repeats: PathMode, data: Any, kernels: ReachKernels) -> None:
    case = data.draw(cases(bounded=repeats is PathMode.WALK))
    starts = tuple(dict.fromkeys(v for v in case.starts if v >= 0)) or (0,)
    case = replace(case, minimum=case.minimum % 2, starts=starts, targets=None, forbidden=None)
    store = case.store()
    least: dict[tuple[int, int], int] = {}
    for row, end, taken in case.walks(store, repeats=repeats):
        least[row, end] = min(least.get((row, end), len(taken)), len(taken))
    assert reached(case, store, [[v] for v in starts], repeats, True, kernels) == least


@pytest.mark.parametrize("repeats", list(PathMode))
@given(data=st.data())
def test_ends_of_sets(repeats: PathMode, data: Any) -> None:
    check_sets(repeats, data, SMALL_CHUNKS)


def check_sets(repeats: PathMode, data: Any, kernels: ReachKernels) -> None:
    case = data.draw(cases(bounded=repeats is PathMode.WALK))
    every = tuple(range(case.vertices))
    case = replace(case, minimum=case.minimum % 2, starts=every, targets=None, forbidden=None)
    sets = data.draw(st.lists(st.lists(st.sampled_from(every), unique=True), min_size=1, max_size=70))
    store = case.store()
    ends: dict[int, set[int]] = {v: set() for v in every}
    for start, end, _ in case.walks(store, repeats=repeats):
        ends[start].add(end)
    expected = {(lane, end) for lane, starts in enumerate(sets) for v in starts for end in ends[v]}
    assert set(reached(case, store, sets, repeats, False, kernels)) == expected


def test_no_ends_are_reached_where_none_are_allowed() -> None:
    case = Case((("D", 0, 1),), frozenset("D"), Direction.BOTH, 1, None, (0,), None, None, frozenset(), None, None, 1)  # type: ignore[arg-type]
    space = case.space(case.store())
    lanes = lanes_of([[0], [0, 1]])
    for ends in (EndFilter(0, 0), EndFilter(4, 4)):
        assert not list(reach_chunks(space, ends, lanes, ExecutionContext(), ReachRules(1, None)))
        assert not reach_counts(space, ends, lanes, ExecutionContext(), ReachRules(1, None)).any()


# ------------------------------------------------------------ graphs on which levels are pulled, by several threads


def levels(lists: list[list[int]], start: int, through: NDArray[np.bool_] | None) -> dict[int, int]:
    """Return the hops from a start to all that it reaches, itself if it is come to again."""
    hops: dict[int, int] = {}
    queue = deque([(start, 0)])
    while queue:
        v, depth = queue.popleft()
        if depth and through is not None and not through[v]:
            continue
        for w in lists[v]:
            if w not in hops:
                hops[w] = depth + 1
                queue.append((w, depth + 1))
    return hops


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("masked", [False, True])
def test_a_large_graph(threads: int, masked: bool) -> None:
    context = ExecutionContext(threads=threads)
    check_large_graph(context, masked, HOST, 12)
    assert context.control.memory_used == 0


def check_large_graph(context: ExecutionContext, masked: bool, kernels: ReachKernels, scale: int) -> None:
    draws = rmat(scale, 24, seed=3)
    store = Graph.from_edge_list((draws.source, draws.target), type="E")._store
    edge_type, n = store.types[0], store.vertex_count
    sources, targets = store.endpoints(np.arange(edge_type.count))
    random = np.random.default_rng(5)
    keep = random.random(edge_type.count) < 0.6 if masked else np.ones(edge_type.count, np.bool_)
    through = random.random(n) < 0.7 if masked else None
    lists: list[list[int]] = [[] for _ in range(n)]
    for a, b in zip(sources[keep].tolist(), targets[keep].tolist(), strict=True):
        lists[a].append(b)
    space = WalkSpace(
        store, (0,), Direction.OUT, {0: pack_bits(keep)} if masked else None,
        None if through is None else pack_bits(through),
    )  # fmt: skip
    starts = random.choice(n, 70, replace=False)
    lanes = Lanes(np.arange(71), starts)
    expected = [levels(lists, v, through) for v in starts.tolist()]
    found: list[dict[int, int]] = [{} for _ in expected]
    for chunk in kernels.chunks(space, EndFilter(0, n), lanes, context, ReachRules(1, None), hops=True):
        assert chunk.hops is not None
        for lane, end, hops in zip(chunk.lane.tolist(), chunk.end.tolist(), chunk.hops.tolist(), strict=True):
            found[lane][end] = hops
    assert found == expected
    counts = kernels.counts(space, EndFilter(0, n), lanes, context, ReachRules(1, 2))
    assert counts.tolist() == [sum(hops <= 2 for hops in each.values()) for each in expected]


@pytest.mark.parametrize("rows", [64, 100, 1 << 16])
@pytest.mark.parametrize(("minimum", "maximum"), [(0, None), (1, None), (0, 2)])
def test_many_sets_in_a_forest(rows: int, minimum: int, maximum: int | None) -> None:
    """Most sets reach little, so that what one has come to is forgotten for the next; some reach much, or a cycle."""
    random = np.random.default_rng(9)
    n = 20_000
    parents = np.array([random.integers(max(0, v - 300) if v % 3 else 0, v) for v in range(1, n)])
    pairs = np.concatenate([parents, [7]]), np.concatenate([np.arange(1, n), [0]])  # the last closes a cycle
    store = Graph.from_edge_list(pairs, type="E")._store
    lists: list[list[int]] = [[] for _ in range(n)]
    for a, b in zip(*(ends.tolist() for ends in store.endpoints(np.arange(n))), strict=True):
        lists[a].append(b)
    starts = np.concatenate([random.choice(n, 1_000, replace=False), random.integers(0, n, 100)])
    context = ExecutionContext(threads=2)
    given = (WalkSpace(store, (0,), Direction.OUT), EndFilter(0, n), Lanes(np.arange(len(starts) + 1), starts), context)
    rules = ReachRules(minimum, maximum)
    expected: list[dict[int, int]] = []
    for start in starts.tolist():
        least = levels(lists, start, None)
        ends = {end: hops for end, hops in least.items() if maximum is None or hops <= maximum}
        expected.append({**ends, start: 0} if minimum == 0 else ends)
    found: list[dict[int, int]] = [{} for _ in expected]
    for chunk in reach_chunks(*given, rules, hops=True, rows=rows):
        assert chunk.hops is not None
        assert len(chunk.lane) <= rows
        for lane, end, hops in zip(chunk.lane.tolist(), chunk.end.tolist(), chunk.hops.tolist(), strict=True):
            assert end not in found[lane]
            found[lane][end] = hops
    assert found == expected
    assert reach_counts(*given, rules).tolist() == [len(each) for each in expected]
    assert context.control.memory_used == 0


def test_starts_come_back_along_a_triangle_or_to_other_starts() -> None:
    """A path 0..299 with a triangle 298, 299, 300 at its end, and a vertex by itself."""
    pairs = [*((i, i + 1) for i in range(299)), (298, 300), (300, 299)]
    edges = [{"type": "E", "start": a, "end": b, "properties": {}} for a, b in pairs]
    store = from_records([{"id": i, "properties": {"i": i}} for i in range(302)], edges)
    place = {node.properties["i"]: node.id for node in store.nodes(np.arange(302)) if node is not None}
    space = WalkSpace(store, (0,), Direction.BOTH)
    sets = [[0], [298], [301], [0, 301], [5, 100, 200]]
    lanes = lanes_of([[place[i] for i in each] for each in sets])
    counts = reach_counts(space, EndFilter(0, 302), lanes, ExecutionContext(), ReachRules(1, None))
    assert counts.tolist() == [300, 301, 0, 300, 301]


@pytest.mark.parametrize("closed", [False, True])
def test_small_levels_of_a_deep_graph_come_together(closed: bool) -> None:
    n = 20_000
    sources = np.arange(n if closed else n - 1)
    store = Graph.from_edge_list((sources, (sources + 1) % n), type="E")._store
    froms, tos = store.endpoints(np.arange(len(sources)))
    lanes = lanes_of([[int(np.setdiff1d(froms, tos)[0]) if not closed else 0]])
    given = (WalkSpace(store, (0,), Direction.OUT), EndFilter(0, n), lanes, ExecutionContext(threads=1))
    chunks = list(reach_chunks(*given, ReachRules(1, None), hops=True))
    hops = np.concatenate([each.hops for each in chunks if each.hops is not None])
    assert hops.tolist() == list(range(1, n + closed))
    assert len(chunks) < 10
