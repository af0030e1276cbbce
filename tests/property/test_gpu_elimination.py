"""Counting by elimination on the GPU, its kernels run on the host: no GPU is needed, only a compiler."""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from qengine import Graph
from qengine.errors import ResourceError
from qengine.exec import choice
from qengine.exec.common.masks import Masks
from qengine.exec.common.operators import folded_rows
from qengine.exec.common.relations import Relations
from qengine.exec.common.runtime import Runtime
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu import (
    arrays,
    cliques,
    closed_walk_counts,
    eliminate,
    elimination_steps,
    exchange,
    fold_search,
    kernels,
    neighbourhoods,
    row_products,
    symmetric_links,
    triangle_counts,
)
from qengine.exec.gpu.device_program import OperatorFacts
from qengine.exec.gpu.eliminate_matrix import uploaded
from qengine.plan.elimination import Matrix, Relation, Term
from qengine.plan.pattern import Direction
from qengine.plan.physical import Eliminate
from qengine.plan.schedule import Call
from qengine.testing.compare import difference
from qengine.testing.generate import rmat, to_csr
from qengine.testing.plans import planned
from tests.emulator.arrays import cupy, current_device
from tests.emulator.building import CHECKOUT, compiled
from tests.emulator.device import ARCHITECTURE, EmulatedRun, device_memory, pretended
from tests.examples import examples
from tests.property.test_elimination import (
    DENSE_SHAPES,
    MODES,
    RESULTS,
    agrees_if_eliminated,
    graphs,
    leaves,
    names_known,
    patterns,
    star,
)

AT_RANDOM = OperatorFacts.at_random
memory = device_memory()
THREADS = 64
SOURCE = CHECKOUT / "tests" / "emulator" / "eliminate.cpp"
FAMILIES = set(re.findall(r'/(\w+)\.cu"', SOURCE.read_text()))


@functools.cache
def library(wide: int, window: int) -> ctypes.CDLL:
    return compiled(SOURCE.read_text(), ARCHITECTURE, (f"-DQE_WIDE={wide}", f"-DQE_WINDOW={window}"))


class Run(EmulatedRun):
    """Launches the kernels of elimination."""

    def library(self, family: str, macros: Mapping[str, int | str], preface: str) -> ctypes.CDLL:
        if family not in FAMILIES:
            return super().library(family, macros, preface)
        return library(int(macros.get("QE_WIDE", 0)), elimination_steps.MESSAGE_WINDOW)

    def free_bytes(self) -> int:
        return 1 << 20


@contextmanager
def emulated(context: ExecutionContext) -> Iterator[Run]:
    yield Run(context, memory)


@pytest.fixture(scope="module", autouse=True)
def device() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        pretended(patch)
        for module in (eliminate, fold_search):
            patch.setattr(module, "device_run", emulated)
        patch.setattr(OperatorFacts, "at_random", "")  # whatever reads lists that lie in the host's memory is tested
        patch.setattr(arrays, "cupy", lambda: cupy)
        for module in (neighbourhoods, symmetric_links):
            patch.setattr(module, "cupy", lambda: cupy)
            patch.setattr(module, "_FEW", 2)
            patch.setattr(module, "_THREADS", THREADS)
        patch.setattr(symmetric_links, "_MOST_THREADS", THREADS)
        patch.setattr(neighbourhoods, "_MANY_THREADS", THREADS)
        patch.setattr(elimination_steps, "_THREADS", THREADS)
        patch.setattr(elimination_steps, "_AROUND_THREADS", THREADS)
        patch.setattr(elimination_steps, "MESSAGE_WINDOW", 5)
        patch.setattr(eliminate, "_LEAST_ADDED", 48)
        patch.setattr(triangle_counts, "_HUBS", 40)
        patch.setattr(triangle_counts, "_FEW", 5)
        patch.setattr(triangle_counts, "_THREADS", THREADS)
        patch.setattr(triangle_counts, "_MANY_THREADS", THREADS)
        patch.setattr(closed_walk_counts, "_THREADS", THREADS)
        for name in ("_LIGHT_THREADS", "_HEAVY_THREADS"):
            patch.setattr(closed_walk_counts, name, THREADS)
        patch.setattr(closed_walk_counts, "_SLOTS", 64)
        patch.setattr(row_products, "_THREADS", THREADS)
        patch.setattr(row_products, "_MOST_THREADS", THREADS)
        patch.setattr(row_products, "_SLOTS", 64)
        for name in ("_THREADS", "_MANY_THREADS", "_MOST_THREADS"):
            patch.setattr(cliques, name, THREADS)
        patch.setattr(closed_walk_counts, "_FIRST_ROOTS", 32)
        patch.setattr(closed_walk_counts, "_WORTH", 0)
        patch.setattr(choice, "choose", lambda asked, *_: (asked, "as asked"))
        yield


def elimination(graph: Graph, text: str) -> Eliminate | None:
    """Return the operator of a query's plan that the device runs, None where there is none."""
    found = planned(graph, text, Eliminate)
    return found[0] if found and all(each.schedule("gpu") for each in found) else None


@settings(max_examples=examples(100))
@given(graphs(most=16), patterns(DENSE_SHAPES), st.sampled_from(MODES), st.sampled_from(RESULTS[:6]))
def test_dense_patterns_equal_reference(graph: Graph, pattern: str, mode: str, result: str) -> None:
    query = f"MATCH {mode}{pattern} RETURN {result}"
    agrees_if_eliminated(graph, query, "gpu")


@settings(max_examples=examples(100))
@given(graphs(), patterns(), st.sampled_from(MODES), st.sampled_from(RESULTS))
def test_equals_reference(graph: Graph, pattern: str, mode: str, result: str) -> None:
    assume(names_known(pattern, result))
    query = f"MATCH {mode}{pattern} RETURN {result}"
    agrees_if_eliminated(graph, query, "gpu")


@pytest.fixture(scope="module")
def skewed() -> Graph:
    start, end = to_csr(rmat(7, 6, 42)).edges()
    return Graph.from_edge_list((start.astype(np.int64), end.astype(np.int64)), undirected=True)


@pytest.mark.parametrize("window", [5, pytest.param(150, marks=pytest.mark.nets)])
@pytest.mark.parametrize(
    "pattern",
    [
        "(a)--(b)--(c)--(d)",
        "(a)--(b)--(c)--(d)--(a)",
        "(a)--(b)--(c)--(d)--(a), (a)--(e)--(b)",
        "(a)--(b)--(c)--(a)",
        "(a)--(b)--(c)--(a), (c)--(d)--(e)",
        "(a)--(b)--(c)--(a), (c)--(d)--(e)--(c)",
        "(a)--(b)--(c)--(d)--(e)",
        "(a)-->(b)-->(c)--(a)--(d)",
    ],
)
@pytest.mark.parametrize("result", ["count(*)", "id(a), count(*)"])
def test_rows_of_all_lengths(
    skewed: Graph, window: int, pattern: str, result: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(elimination_steps, "MESSAGE_WINDOW", window)
    text = f"/*+ eliminate */ MATCH {pattern} RETURN {result}"
    assert elimination(skewed, text)
    expected, found = (skewed.query(text, device=device).fetchall() for device in ("cpu", "gpu"))
    assert difference(expected, found) is None


SHARED = {
    "triangle_counts": "(a)--(b)--(c)--(d)--(a), (a)--(c)",
    "row_products": "(a:A)-->(b:B)-->(c:A)<--(d:B)<--(a)",
    "rooted_forest": "(a:A)-->(b:B)-->(c:A)-->(d:B)<--(e)<--(a)",
    "masked_product": "(a:A)-->(b:B)-->(c:A), (a)-->(c)",
    "cliques": "(a)--(b)--(c)--(d)--(a), (a)--(c), (b)--(d)--(e)",
}


@pytest.mark.parametrize(
    "kernel",
    [
        pytest.param(each, marks=pytest.mark.nets) if each in ("rooted_forest", "row_products") else each
        for each in SHARED
    ],
)
def test_two_devices_share_long_calls(
    skewed: Graph, labelled: Graph, kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each does a share of them, and both then have all: shares that are left out, or done twice, are seen."""
    memories, shared = [device_memory(), device_memory()], []

    @contextmanager
    def lend(context: ExecutionContext) -> Iterator[Run]:
        yield Run(context, memories[current_device()])

    add = exchange.Exchange.add
    costs = {**exchange.costs("gpu", "choice"), "spread": 1e-9}
    pretended(monkeypatch, 2)
    monkeypatch.setattr(eliminate, "device_run", lend)
    monkeypatch.setattr(exchange, "costs", lambda *names: costs)
    monkeypatch.setattr(exchange.Exchange, "add", lambda *given: (shared.append(given[1]), add(*given)))
    graph = skewed if kernel in ("triangle_counts", "cliques") else labelled
    for result in ("count(*)",) if kernel == "cliques" else ("count(*)", "id(a), count(*)"):
        text = f"/*+ eliminate kernel({kernel}) */ MATCH {SHARED[kernel]} RETURN {result}"
        operator = elimination(graph, text)
        assert operator is not None
        schedule = operator.schedule("gpu")
        assert schedule is not None and any(call.kernel == kernel for call in schedule.every)
        assert graph.query(text, device="gpu:0,1").fetchall() == graph.query(text, device="gpu:0").fetchall()
        assert sorted(graph.query(text, device="gpu").fetchall()) == sorted(graph.query(text, device="cpu").fetchall())
    assert kernel == "cliques" or {0, 1} == set(shared)


@pytest.mark.parametrize("spread", [1e-9, 1e18])
def test_of_two_devices_one_folds_counts_by_node(
    labelled: Graph, spread: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether both share the long calls or one runs all."""
    costs, noted = {**exchange.costs("gpu", "choice"), "spread": spread}, []
    pretended(monkeypatch, 2)
    monkeypatch.setattr(exchange, "costs", lambda *names: costs)
    monkeypatch.setattr(folded_rows, "DEVICE_ROWS", 0)
    monkeypatch.setattr(folded_rows.FoldedRows, "is_worth_on_device", lambda self, rows: True)
    monkeypatch.setattr(ExecutionContext, "note", lambda self, operator, text: noted.append(text))
    text = f"/*+ eliminate kernel(masked_product) */ MATCH {SHARED['masked_product']} RETURN a.g, count(*), max(a.g)"
    found = labelled.query(text, device="gpu").fetchall()
    assert "rows are folded on the GPU" in noted and ("shared by 2 GPUs" in noted) is (spread < 1)
    assert len(found) > 2 and sorted(found) == sorted(labelled.query(text, device="cpu").fetchall())


@pytest.fixture(scope="module")
def labelled() -> Graph:
    random = np.random.default_rng(5)
    nodes = [{"id": k, "labels": ["AB"[k % 2]], "properties": {"g": k % 7}} for k in range(40)]
    ends = sorted({(int(a), int(b)) for a, b in random.integers(0, 40, (260, 2)) if a != b})
    return Graph.from_records(nodes, [{"type": "R", "start": a, "end": b} for a, b in ends])


@pytest.mark.parametrize("mode", MODES)
def test_labelled_degrees_are_found_once(labelled: Graph, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Later queries along the same relationships find them on the device, as do later runs."""
    sent = []
    message = elimination_steps.DeviceSteps.message
    monkeypatch.setattr(
        elimination_steps.DeviceSteps, "message", lambda *given: (sent.append(given), message(*given))[1]
    )
    star = f"MATCH {mode}(a:A)-->(b:B), (a)-->(c:A), (a)-->(d:B)"
    for text in (f"{star} RETURN count(*)", f"{star}, (a)-->(e:B) RETURN count(*)", f"{star} RETURN a.g, count(*)"):
        hinted = f"/*+ eliminate */ {text}"
        assert elimination(labelled, hinted)
        expected = sorted(labelled.query(text, device="reference").fetchall())
        for _ in range(2):
            assert sorted(labelled.query(hinted, device="gpu").fetchall()) == expected
    assert len(sent) <= 4  # to A, to B, and what of either fits 128 bits alone


@pytest.mark.parametrize(
    ("hubs", "few", "kept"),
    [(0, 64, 1024), (32, 64, 1024), (40, 3, 4096), (128, 4, 1024), (128, 0, 1024), (0, 0, 2048)],
)
@pytest.mark.parametrize("kind", ["skewed", "dense"])
def test_triangles(skewed: Graph, kind: str, hubs: int, few: int, kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triangle_counts, "_HUBS", hubs)
    monkeypatch.setattr(triangle_counts, "_FEW", few)
    monkeypatch.setattr(triangle_counts, "_HUB_COUNTERS", kept)
    graph = skewed if kind == "skewed" else dense()
    context = ExecutionContext({})
    relations = Relations(graph._store, Masks(Runtime(graph._store, context)), context, lambda count: None)
    matrix_of = Matrix((Relation(("E",), Direction.BOTH),))
    stored = relations.matrix(matrix_of)
    assert stored.owned
    on = Run(context, device_memory())  # of its own: the triangles of vertices stay
    matrix = uploaded(relations, matrix_of, on, [], False)
    links = np.zeros((graph.node_count, graph.node_count), np.int64)
    rows = np.repeat(np.arange(stored.lo, stored.hi), np.diff(stored.offsets).astype(np.int64))
    links[rows, stored.ids] = 1
    by_pair = links @ links * links
    counter = triangle_counts.TriangleCounter(graph._store, on, [], [])
    block = counter.count(matrix, by_pair=False)
    found = on.fetched(block.ptr, matrix.rows, np.uint64)
    np.testing.assert_array_equal(2 * found, by_pair.sum(axis=1)[stored.lo : stored.hi])
    block = counter.count(matrix, by_pair=True)
    lesser = stored.ids < rows
    found = on.fetched(block.ptr, matrix.entries, np.uint32)
    np.testing.assert_array_equal(found[lesser], by_pair[rows, stored.ids][lesser])


CORNERS = (
    "(a)--(b)--(c)--(d)--(e), (b)--(f), (c)--(g), (d)--(h)",
    "(a)--(b)--(c)--(a), (a)--(d), (b)--(e), (c)--(f)",
    "(a)--(b)--(c)--(a), (a)--(d)--(e), (b)--(f)--(g)",
    "(a)--(b)--(c)--(a), (a)--(d), (b)--(e)--(f)",
)


@pytest.mark.parametrize(
    ("hubs", "few", "kept"),
    [
        (40, 5, 1024),
        pytest.param(0, 3, 1024, marks=pytest.mark.nets),
        pytest.param(128, 0, 2048, marks=pytest.mark.nets),
    ],
)
def test_weights_at_triangles_corners(
    skewed: Graph, hubs: int, few: int, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(triangle_counts, "_HUBS", hubs)
    monkeypatch.setattr(triangle_counts, "_FEW", few)
    monkeypatch.setattr(triangle_counts, "_HUB_COUNTERS", kept)
    made = []
    corners = triangle_counts.TriangleCounter.corners
    monkeypatch.setattr(
        triangle_counts.TriangleCounter, "corners", lambda *given: (made.append(given), corners(*given))[1]
    )
    for pattern, mode in product(CORNERS, ("", "REPEATABLE ELEMENTS ")):
        text = f"/*+ eliminate */ MATCH {mode}{pattern} RETURN count(*)"
        assert elimination(skewed, text)
        expected, found = (skewed.query(text, device=device).value() for device in ("cpu", "gpu"))
        assert found == expected
    assert len(made) > len(CORNERS)


@pytest.mark.parametrize("label", ["A", "Z"])
def test_weights_where_a_root_has_many_members(label: str) -> None:
    """More than a warp keeps planes of; the members' relationships lie around the root, whose id is first or last."""
    n = 1_100
    nodes = [{"id": k, "labels": ["M"]} for k in range(n)] + [{"id": n, "labels": [label]}]
    links = [(k, n) for k in range(n)] + [(k, (k + step) % n) for k in range(0, n, 3) for step in (1, 40, 500)]
    graph = Graph.from_records(nodes, [{"type": "E", "start": a, "end": b} for a, b in links])
    text = "/*+ eliminate */ MATCH (a)-[:E]-(b)-[:E]-(c)-[:E]-(a), (a)--(d), (b)--(e), (c)--(f) RETURN count(*)"
    assert elimination(graph, text)
    assert graph.query(text, device="gpu").value() == graph.query(text, device="cpu").value()


def test_links_that_are_too_large(skewed: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"/*+ eliminate */ MATCH {CORNERS[1]} RETURN count(*)"
    expected = skewed.query(text, device="cpu").value()
    for name in ("_LINKS_OF_LISTS", "_LEAST_LINKS"):
        monkeypatch.setattr(triangle_counts, name, 0)
    monkeypatch.setattr(triangle_counts, "_HUBS", 77)  # none are kept for these
    assert [skewed.query(text, device="gpu").value() for _ in range(2)] == [expected] * 2


def test_links_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    launch = triangle_counts.TriangleCounter.launch
    monkeypatch.setattr(
        triangle_counts.TriangleCounter, "launch", lambda *given: (made.append(given[1]), launch(*given))[1]
    )
    graph = dense()
    for pattern in CORNERS[:2]:
        text = f"/*+ eliminate */ MATCH {pattern} RETURN count(*)"
        expected = graph.query(text, device="cpu").value()
        assert [graph.query(text, device="gpu").value() for _ in range(2)] == [expected] * 2
    assert made.count("links") == 1


def test_neighbourhoods_among_neighbours_are_counted_by_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums by root, too, are over vertices or over pairs."""
    summed = []
    by_root = neighbourhoods.Piece.by_root
    monkeypatch.setattr(
        neighbourhoods.Piece,
        "by_root",
        lambda piece, place, *given: (summed.append(place in piece.of_pairs), by_root(piece, place, *given))[1],
    )
    start, end = np.triu_indices(9, 1)
    graph = Graph.from_edge_list((start, end), undirected=True)
    clique = ", ".join(f"(v{a})--(v{b})" for a, b in combinations(range(5), 2))
    for result in ("id(v0) AS v", "v1.p AS v"):
        text = f"/*+ eliminate */ MATCH {clique} RETURN {result}, count(*)"
        assert elimination(graph, text)
        expected, found = (sorted(graph.query(text, device=device).fetchall()) for device in ("cpu", "gpu"))
        assert found == expected
    assert set(summed) == {True, False}


@pytest.mark.parametrize(
    ("pattern", "messages"),
    [
        ("(a)--(b)--(c)--(d)--(e)", 1),
        ("(a)--(b)--(c)--(d)--(e)--(f)", 2),
        ("(a)--(b)--(c), (a)--(d)--(e), (a)--(f)--(g)", 2),
        ("(a)--(b)--(c)--(d)--(e), (b)--(f), (c)--(g), (d)--(h)", 2),
        ("REPEATABLE ELEMENTS (a)--(b)--(c)--(d)--(e)--(f)", 2),
    ],
)
def test_totals_take_few_messages(skewed: Graph, pattern: str, messages: int) -> None:
    text = f"/*+ eliminate */ MATCH {pattern} RETURN count(*)"
    operator = elimination(skewed, text)
    assert operator is not None
    schedule = operator.schedule("gpu")
    assert schedule is not None
    sent = [call for call in schedule.every if call.kernel == "message" and len(call.reads) > 1]
    assert len(sent) == messages
    assert skewed.query(text, device="gpu").value() == skewed.query(text, device="cpu").value()


def test_triangles_of_vertices_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    launch = triangle_counts.TriangleCounter.launch
    monkeypatch.setattr(
        triangle_counts.TriangleCounter, "launch", lambda *given: (made.append(given), launch(*given))[1]
    )
    graph = dense()
    for pattern in ("(a)--(b)--(c)--(d)--(e)", "(a)--(b)--(c)--(a), (c)--(d)--(e)"):
        text = f"/*+ eliminate */ MATCH {pattern} RETURN count(*)"
        expected = graph.query(text, device="cpu").value()
        assert [graph.query(text, device="gpu").value() for _ in range(2)] == [expected] * 2
    assert len(made) == 1


def test_weights_that_are_too_large(skewed: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"/*+ eliminate */ MATCH {CORNERS[0]} RETURN count(*)"
    expected = skewed.query(text, device="cpu").value()
    monkeypatch.setattr(kernels, "MOST_WEIGHT", 10)
    executions = []
    counts = eliminate._Run.counts

    def noted(run: eliminate._Run, calls: Sequence[Call], searched: Sequence[int]) -> Any:
        executions.append(sum(getattr(call, "kernel", "") == "triangle_weight_sums" for call in calls))
        return counts(run, calls, searched)

    monkeypatch.setattr(eliminate._Run, "counts", noted)
    for _ in range(2):
        assert skewed.query(text, device="gpu").value() == expected
    assert executions == [1, 0, 0]


@pytest.mark.parametrize("pattern", ["(a)--(b)--(c)--(d)--(a)", "(a)--(b)--(c)--(d)--(a), (e)--(f)"])
def test_closed_walks_of_four_steps(skewed: Graph, pattern: str) -> None:
    for mode in ("", "REPEATABLE ELEMENTS "):
        text = f"/*+ kernel(closed_walks) */ MATCH {mode}{pattern} RETURN count(*)"
        assert elimination(skewed, text)
        expected, found = (skewed.query(text, device=device).value() for device in ("cpu", "gpu"))
        assert found == expected


@pytest.mark.parametrize(
    ("pattern", "on_device"),
    [
        ("(a)--(b)--(c)--(d)--(a)", True),
        ("(a)--(b)--(c)", True),
        ("(a)--(b)--(c)--(d)--(a), (a)--(e), (c)--(f)", False),
    ],
)
def test_lists_that_are_not_on_the_device_are_not_read_at_random(
    skewed: Graph, pattern: str, on_device: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kernels that read them so have an infinite price there: the host's take their place."""
    monkeypatch.setattr(OperatorFacts, "at_random", AT_RANDOM)
    started: list[object] = []
    counts = eliminate._Run.counts

    def noted(run: eliminate._Run, calls: Sequence[Call], searched: Sequence[int]) -> Any:
        started.append(run)
        return counts(run, calls, searched)

    monkeypatch.setattr(eliminate._Run, "counts", noted)
    text = f"/*+ eliminate */ MATCH REPEATABLE ELEMENTS {pattern} RETURN count(*) // where"
    expected, found = (skewed.query(text, device=device).value() for device in ("cpu", "gpu"))
    assert found == expected and bool(started) is on_device


@pytest.mark.parametrize("keys", ["a.g", "a.g, a.v", "a.v > 0.3", ""])
def test_counts_by_a_node_are_folded_on_the_device(keys: str, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(4)
    nodes = pa.table({"id": range(80), "g": random.integers(0, 4, 80), "v": random.random(80).round(1)})
    links = pa.table({name: random.integers(0, 80, 500) for name in ("start", "end")})
    graph = Graph.from_arrow([("P", nodes)], [("R", "P", "P", links)], key="id")
    monkeypatch.setattr(folded_rows.FoldedRows, "is_worth_on_device", lambda self, rows: True)
    noted: list[str] = []
    monkeypatch.setattr(ExecutionContext, "note", lambda self, operator, text: noted.append(text))
    grouped = f"{keys}, " if keys else ""
    patterns = ("(a)-[:R]->()-[:R]->()-[:R]->(b)", "(a)-[:R]->(b)-[:R]->(c) WHERE c.v > 0.5")
    for pattern, room in product(patterns, (1 << 20, 0)):
        monkeypatch.setattr(Run, "free_bytes", lambda self, room=room: room)
        query = f"/*+ eliminate */ MATCH REPEATABLE ELEMENTS {pattern} RETURN {grouped}count(*), avg(a.v), max(a.g)"
        found = graph.query(query, device="gpu").fetchall()
        assert noted.pop() == "rows are folded on the GPU"
        noted.clear()
        assert sorted(found, key=repr) == sorted(graph.query(query, device="cpu").fetchall(), key=repr)


def test_counts_by_a_node_need_little_room(skewed: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are added up for some vertices after others."""
    monkeypatch.setattr(Run, "free_bytes", lambda self: 0)
    present, bounds = eliminate._Run.present, []
    monkeypatch.setattr(eliminate._Run, "present", lambda *given: (bounds.append(given[2]), present(*given))[1])
    text = "/*+ eliminate */ MATCH (a)--(b)--(c)--(d) RETURN id(a), count(*)"
    found = skewed.query(text, device="gpu").fetchall()
    assert sorted(found) == sorted(skewed.query(text, device="cpu").fetchall())
    assert bounds[:3] == bounds[3:] == [(0, 48), (48, 96), (96, skewed.node_count)]


def test_vectors_that_nothing_reads_are_used_again(labelled: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    place = Run.place

    def noted(run: Run, n_bytes: int, what: str, **more: Any) -> Any:
        made.append(what)
        return place(run, n_bytes, what, **more)

    monkeypatch.setattr(Run, "place", noted)
    path = "(a:A)--(b:B)--(c:A)--(d:B)--(e:A)--(f:B)--(g:A)--(h:B)"
    for result, most in (("count(*)", 6), ("id(c), count(*)", 6)):
        made.clear()
        text = f"/*+ eliminate */ MATCH REPEATABLE ELEMENTS {path} RETURN {result}"
        found = labelled.query(text, device="gpu").fetchall()
        assert sorted(found) == sorted(labelled.query(text, device="cpu").fetchall())
        assert 2 <= made.count("a vector") + made.count("a product") <= most, made


def dense() -> Graph:
    """Return a clique, and around it nodes with two neighbours there, whose lists are long beside theirs."""
    start, end = np.triu_indices(70, 1)
    nodes = np.arange(70)
    start = np.concatenate([start, nodes, (nodes + 1) % 70])
    end = np.concatenate([end, 70 + nodes, 70 + nodes])
    return Graph.from_edge_list((start.astype(np.int64), end.astype(np.int64)), undirected=True)


@pytest.fixture(scope="module")
def hub() -> Graph:
    return star(3_600)


def run(graph: Graph, operator: Eliminate) -> Any:
    runtime = Runtime(graph._store, ExecutionContext({}))
    return eliminate.run_eliminate(operator, runtime, Masks(runtime))


def test_numbers_beyond_64_bits_are_carried(hub: Graph) -> None:
    operator = elimination(hub, f"/*+ eliminate */ MATCH REPEATABLE ELEMENTS {leaves(7)} RETURN count(*)")
    assert operator is not None
    place = operator.terms[0].totals[0]
    assert [*run(hub, replace(operator, terms=(Term(1, (place,)), Term(-1, (place,)))))[1]] == []
    operator = elimination(hub, f"/*+ eliminate */ MATCH REPEATABLE ELEMENTS {leaves(7)} RETURN h, count(*)")
    assert operator is not None
    output = operator.terms[0].output
    for factor in (1, 2**61, 2**70):  # the largest is added on the host
        terms = tuple(Term(sign * factor, (), output) for sign in (1, -1))
        assert [*run(hub, replace(operator, terms=terms))[1]] == []


@pytest.mark.parametrize("count", [6, 11])
@pytest.mark.parametrize("result", ["count(*)", "h, count(*)"])
def test_counts_beyond_64_bits_are_refused(hub: Graph, count: int, result: str) -> None:
    text = f"/*+ eliminate */ MATCH REPEATABLE ELEMENTS {leaves(count)} RETURN {result}"
    assert elimination(hub, text)
    with pytest.raises(ResourceError, match="exceeds 64 bits"):
        hub.query(text, device="gpu").fetchall()


def test_differences_of_large_counts_are_exact(hub: Graph) -> None:
    text = f"/*+ eliminate */ MATCH {leaves(5)} RETURN count(*)"
    assert elimination(hub, text)
    assert hub.query(text, device="gpu").value() == 3_600 * 3_599 * 3_598 * 3_597 * 3_596


def test_wide_numbers_are_remembered(hub: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    operator = elimination(hub, f"/*+ eliminate */ MATCH REPEATABLE ELEMENTS {leaves(7)} RETURN h, count(*)")
    assert operator is not None
    operator = replace(operator, terms=(operator.terms[0], replace(operator.terms[0], factor=-1)))
    widths = []
    counts = eliminate._Run.counts
    monkeypatch.setattr(eliminate._Run, "counts", lambda run, *of: (widths.append(run.width), counts(run, *of))[1])
    for _ in range(2):
        assert [*run(hub, operator)[1]] == []
    assert widths == [8, 16, 16]


def test_an_execution_beside_may_find_out_first_that_numbers_are_wide(
    hub: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator = elimination(hub, f"/*+ eliminate */ MATCH REPEATABLE ELEMENTS {leaves(7)} RETURN h, count(*)")
    assert operator is not None
    operator = replace(operator, terms=(operator.terms[0], replace(operator.terms[0], factor=-1)))
    widths = []
    counts = eliminate._Run.counts

    def with_another(one: eliminate._Run, calls: Sequence[Call], searched: Sequence[int]) -> Any:
        widths.append(one.width)
        eliminate._of(hub._store, operator).wide = True
        return counts(one, calls, searched)

    monkeypatch.setattr(eliminate._Run, "counts", with_another)
    assert [*run(hub, operator)[1]] == []
    assert widths == [8, 16]


def test_sums_of_products_beyond_64_bits_need_no_wide_numbers(hub: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    operator = elimination(hub, f"/*+ eliminate */ MATCH REPEATABLE ELEMENTS {leaves(7)} RETURN count(*)")
    assert operator is not None
    widths, sums = [], []
    totals = eliminate._Run.totals

    def noted(one: eliminate._Run, started: Sequence[kernels.Sums]) -> Any:
        widths.append(one.width)
        sums.append(totals(one, started))
        return sums[-1]

    monkeypatch.setattr(eliminate._Run, "totals", noted)
    assert [*run(hub, operator)[1]] == [3_600**7]
    assert widths == [8]
    assert [*sums[0].values()] == [3_600**7]


@pytest.mark.parametrize(("relationship", "times"), [("", 1), ("r WHERE r.w > 2", 3)])
def test_merged_relations_stay(relationship: str, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    start, end = (each.tolist() for each in to_csr(rmat(5, 4, 42)).edges())
    links = [{"type": "E", "start": a, "end": b, "properties": {"w": a % 5}} for a, b in zip(start, end, strict=True)]
    graph = Graph.from_records([{"id": k} for k in range(32)], links)
    text = f"/*+ eliminate */ MATCH (a)-[{relationship}]-(b)--(c) RETURN id(a), count(*) ORDER BY id(a)"
    expected = graph.query(text, device="cpu").fetchall()
    made = []
    matrix = Relations.matrix
    monkeypatch.setattr(Relations, "matrix", lambda self, each: (made.append(each), matrix(self, each))[1])
    for _ in range(3):
        assert graph.query(text, device="gpu").fetchall() == expected
    assert len([each for each in made if bool(each.relations[0].conditions) == bool(relationship)]) == times


def test_the_host_counts_what_the_device_has_no_memory_for() -> None:
    start, end = to_csr(rmat(4, 3, 42)).edges()
    small = Graph.from_edge_list((start.astype(np.int64), end.astype(np.int64)), undirected=True)
    text = "/*+ eliminate */ MATCH (a)--(b)--(c)--(a), (c)--(d) WHERE id(d) > 3 RETURN id(a), count(*) ORDER BY id(a)"
    expected = small.query(text, device="cpu").fetchall()
    for number in range(100):
        memory.fail_from = first = memory.allocations + number
        try:
            assert small.query(text, device="gpu").fetchall() == expected
        finally:
            memory.fail_from = None
        if memory.allocations <= first:
            break
    assert 3 < number < 99
    memory.fail_from = memory.allocations
    noted: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ExecutionContext, "note", lambda self, operator, text: noted.append(text))
        try:
            assert small.query(text, device="gpu").fetchall() == expected
        finally:
            memory.fail_from = None
    assert "run on the CPU, since the GPU has too little memory for it" in noted


WALKS = (
    "(a)--(b)--(c)--(d)--(e)--(f)--(g)",
    "REPEATABLE ELEMENTS (a)--(b)--(c)--(d)--(e)--(a)",
    "REPEATABLE ELEMENTS (a)--(b)--(c)--(d)--(a), (a)--(e)--(f)",
)


@pytest.mark.parametrize(
    ("kind", "roots", "room", "worth"),
    [
        ("skewed", 20, 1 << 20, 0),
        ("skewed", 40, 1 << 15, 1),
        pytest.param("dense", 64, 1 << 15, 2, marks=pytest.mark.nets),
    ],
)
def test_sums_of_closed_walks(
    skewed: Graph, kind: str, roots: int, room: int, worth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(closed_walk_counts, "_FIRST_ROOTS", roots)
    monkeypatch.setattr(closed_walk_counts, "_ROOM", room)
    for name in ("_WORTH", "_WORTH_OF_FOURS"):
        monkeypatch.setattr(closed_walk_counts, name, worth)
    made = []
    launch = closed_walk_counts.WalkCounter.launch
    monkeypatch.setattr(
        closed_walk_counts.WalkCounter, "launch", lambda *given: (made.append(given), launch(*given))[1]
    )
    graph = skewed if kind == "skewed" else dense()
    for pattern in WALKS:
        text = f"/*+ eliminate */ MATCH {pattern} RETURN count(*)"
        assert elimination(graph, text)
        expected = graph.query(text, device="cpu").value()
        with monkeypatch.context() as patch:
            patch.setattr(eliminate._Run, "around", None)  # none is summed up around each vertex
            assert graph.query(text, device="gpu").value() == expected
    assert made
