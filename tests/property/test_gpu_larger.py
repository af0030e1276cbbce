"""Graphs for which the emulated device has no room: what lies where, what is copied, what EXPLAIN says of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from qengine import Graph
from qengine.errors import OutOfMemory
from qengine.exec import choice
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu import count, count_columns, count_kernels, count_policy, count_segments, list_pieces, search
from qengine.exec.gpu.count_kernels import total_of
from qengine.exec.gpu.launch import DeviceRun
from qengine.exec.gpu.list_pieces import RootPieces, RootSlices
from qengine.exec.gpu.upload import DevicePlan
from qengine.exec.view import ExecView
from qengine.plan.count_shapes import Component, View
from qengine.plan.shares import Share
from qengine.testing.generate import rmat, to_csr
from tests.emulator.device import EmulatedPages, EmulatedRun, device_memory, emulated

QUERIES = {
    "triangle": "MATCH (a)--(b)--(c)--(a) RETURN count(*)",
    "square": "MATCH (a)--(b)--(c)--(d)--(a) RETURN count(*)",
    "clique": "MATCH (a)--(b)--(c)--(a), (a)--(d)--(b), (c)--(d) RETURN count(*)",
}
PARTS = (Share(0, 2, 4), Share(2, 1, 4), Share(3, 1, 4))


@pytest.fixture(scope="module", autouse=True)
def device() -> Iterator[None]:
    with emulated(device_memory(), free=1 << 30) as patch:
        patch.setattr(choice, "choose", lambda asked, *_: (asked, "as asked"))
        patch.setattr(count_policy, "_FEW_ROOTS", 1)
        yield


def loaded(scale: int) -> Graph:
    start, end = to_csr(rmat(scale, 8, seed=5)).edges()
    return Graph.from_edge_list((np.asarray(start), np.asarray(end)), undirected=True)


@pytest.fixture(scope="module")
def graph() -> Graph:
    return loaded(6)


@pytest.fixture(scope="module")
def larger() -> Graph:
    """A graph with more vertices than the least row of bits."""
    return loaded(8)


def value(graph: Graph, text: str, device: str, **limits: Any) -> Any:
    return graph.query(text, device=device, **limits).value()


@pytest.mark.parametrize("name", QUERIES)
def test_shares_of_the_roots_add_up_whatever_is_copied(
    graph: Graph, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of several devices counts some roots, in the same segments; copies are as far ahead of counts as may be."""

    def shared(store: ExecView, shapes: Sequence[Component[View]], plan: DevicePlan, run: DeviceRun) -> int | None:
        (shape,) = shapes
        found = [count.share_sums(store, shape, plan, run, PARTS, place) for place in range(len(PARTS))]
        parts.extend(found)
        sums = [each for each in found if each is not None]
        return total_of(shape.shape, sum(first for first, _ in sums), sum(second for _, second in sums))

    parts: list[Any] = []
    cut = list_pieces.segments
    for module in (count_segments, count_columns):
        monkeypatch.setattr(module, "segments", lambda sizes, _: cut(sizes, int(sizes.sum()) // 3))
    monkeypatch.setattr(count_segments, "_MOST_ROOM", 1 << 9)  # so that rooms are used in turn
    monkeypatch.setattr(search, "try_count", shared)
    text = f"{QUERIES[name]} // shares"
    assert value(graph, text, "gpu") == value(graph, text, "cpu")
    assert sum(each[0] > 0 for each in parts) == len(PARTS)


SQUARES = (
    QUERIES["square"],
    "MATCH REPEATABLE ELEMENTS (a)--(b)--(c)--(d)--(a) RETURN count(*)",
    "MATCH DIFFERENT NODES (a)--(b)--(c)--(d)--(a) RETURN count(*)",
    "MATCH (a)--(b)--(c)--(d)--(a) WHERE id(a) IN [0, 3, 9, 21, 60, 99, 201] RETURN count(*)",
)


@pytest.mark.parametrize("tile", [8, 24, 96])
def test_lists_of_columns_go_on_from_tile_to_tile(larger: Graph, tile: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Roots with more members than threads and with fewer, tiles before and behind a root, several pieces of a root."""

    def launches(device: Any, span: int) -> dict[str, Any]:
        found = count_policy.wedge_launches(device, span)
        for name in ("light", "middle"):
            found[name] = replace(found[name], values={**found[name].values, "most": 0})
        for name in ("packed", "wide"):
            found[name] = replace(found[name], threads=32, values={"tile": tile, "tiles": -(-span // tile)})
        return found

    cut, tiled = list_pieces.segments, []
    monkeypatch.setattr(count_kernels, "TILES_AT_ONCE", 3)
    original = count_kernels.ShapeCounter._add

    def add(counter: Any, family: str, name: str, launch: Any, task: Any, **kwargs: Any) -> None:
        tiled.append((name, int(task["tiles"])))
        original(counter, family, name, launch, task, **kwargs)

    monkeypatch.setattr(count_columns, "segments", lambda sizes, _: cut(sizes, int(sizes.sum()) // 2))
    monkeypatch.setattr(count_columns, "wedge_launches", launches)
    monkeypatch.setattr(count_kernels, "wedge_launches", launches)
    monkeypatch.setattr(count_kernels.ShapeCounter, "_add", add)
    for query in SQUARES:
        text = f"{query} // {tile}"
        assert value(larger, text, "gpu") == value(larger, text, "cpu"), query
    assert {name for name, _ in tiled} == {"count_wedges_tiled"} and max(n for _, n in tiled) > 1


@pytest.mark.parametrize("is_one", [True, False])
def test_pieces_of_roots_hold_their_slices(is_one: bool) -> None:
    """Whatever lies apart, short lists and long ones, in rooms that hold one root or many, in shares and segments."""
    rng = np.random.default_rng(7)
    lists = rng.integers(0, 1 << 32, (2, 60_000), dtype=np.uint32)
    if is_one:
        lists[1] = lists[0]
    run: Any = EmulatedRun(ExecutionContext(), device_memory())
    run.context.control.threads = 3
    for n, longest, most in ((200, 9, 3_000), (40, 3_000, 100_000), (3, 50_000, 0), (70_000, 2, 100_000), (0, 9, 9)):
        begins = rng.integers(0, 60_000 - longest, (2, n))
        ends = begins + rng.integers(1, longest + 1, (2, n))
        within = rng.random(n) < 0.5
        begins[1, within] = rng.integers(begins[0], ends[0])[within]
        ends[1, within] = rng.integers(begins[1] + 1, np.maximum(ends[0], begins[1] + 1) + 1)[within]
        numbers = np.sort(rng.choice(2 * n, n, replace=False)).astype(np.uint32)
        bounds = (each.astype(np.uint32) for each in (begins[0], ends[0], begins[1], ends[1]))
        roots = RootSlices(is_one, numbers, *bounds)
        middle = rng.integers(begins[1], ends[1] + 1).astype(np.uint32)
        cuts = [roots.outer_begin, middle, roots.outer_end]
        ways = ((1, 2, 4), None), ((0, 1, 1), None), ((0, 2, 3), 1 if is_one else None)
        for share, least in ways[: 1 if n > 1_000 else 3]:
            check_pieces(run, lists, roots, cuts, share, most, least)


def check_pieces(
    run: Any, lists: Any, roots: RootSlices, cuts: Any, share: tuple[int, int, int], most: int, least: int | None
) -> None:
    """Copy all pieces as a device does, and compare what they have with the lists."""
    limits = (3, 600, 2**32 - 1)
    cut = RootPieces.cut(roots, cuts, share, limits, most, least, run.context)
    images = np.empty(cut.n_bytes, np.uint8)
    cut.fill(images.ctypes.data, run.context)
    assert len(cut.of) == len(cuts) - 1 and [k for each in cut.of for k in each] == list(range(len(cut.pieces)))
    for pieces, begin, end in zip(cut.of, cuts, cuts[1:], strict=False):
        found, sizes = [], []
        for piece in (cut.pieces[k] for k in pieces):
            views = np.zeros((2, piece.n_heads, 4), np.uint32)
            members = np.zeros(piece.n_members, np.uint32)
            sizes.append(piece.n_bytes + views.nbytes + members.nbytes)
            assert sizes[-1] <= most or (piece.n_heads == 1 and sizes[-1] <= roots.most_bytes)
            image = images.ctypes.data + piece.at
            record = piece.record(image, members.ctypes.data, (lists[0].ctypes.data, lists[1].ctypes.data))
            record["slots"], record["n_roots"] = image, piece.n_heads
            record["markeds"], record["outers"] = views[0].ctypes.data, views[1].ctypes.data
            run.launch(run.kernel("count_views", "copy_lists"), 2, 64, (record,))
            shown = [[members[a:c].tobytes() for a, b, c, _ in view if a == b] for view in views]
            found += zip(*shown, strict=True)
            kinds = np.searchsorted(limits, views[0, :, 2] - views[0, :, 0])
            assert kinds.tolist() == np.repeat([2, 1, 0], piece.classes).tolist()
        marked_end = roots.marked_end if least is None else np.minimum(roots.marked_end, end)
        turn = roots.numbers % np.uint32(share[2])
        kept = (turn >= share[0]) & (turn < share[0] + share[1]) & (begin < end)
        kept &= marked_end.astype(np.int64) - roots.marked_begin >= (least or 0)
        bounds = zip(*(each[kept] for each in (roots.marked_begin, marked_end, begin, end)), strict=True)
        assert sorted(found) == sorted((lists[0, a:b].tobytes(), lists[1, c:d].tobytes()) for a, b, c, d in bounds)
        fewest = sum(sizes) / max(1, most)
        assert most < 5_000 or len(sizes) <= 2 * fewest + 1, "pieces are as large as may be"


EDGES = (
    "(a:L0)-[:E]-(b:L1)-[:E]-(c:L2)-[:E]-(a) WHERE id(a) IN [0, 3, 9, 21, 60, 99, 201]",
    "(a)-[:D]->(b), (a)-[:E]-(c)-[:E]-(b)",
    "(a:L0)-[:E]-(b:L1), (a)-[:E]-(c), (b)-[:E]-(c), (b)-[:E]-(d), (a)-[:E]-(d)",
    "(a)-[:E]-(b), (a)-[:E]-(c), (b)-[:E]-(c), (b)-[:E]-(d), (a)-[:E]-(d), (a)-[:E]-(e), (b)-[:E]-(e)",
)


def test_what_ends_of_edges_share_is_counted_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slices of one list and of two, in one another and apart, roots that are listed, sizes of slices as factors."""
    rng, ids = np.random.default_rng(3), np.arange(256)
    start, end = to_csr(rmat(8, 8, seed=5)).edges()
    from_, to = rng.integers(0, 256, (2, 1500))
    pairs = np.unique(np.stack((from_, to))[:, from_ != to], axis=1)
    nodes = [(f"L{k}", pa.table({"id": ids[k::3]})) for k in range(3)]
    types = [("E", pa.table({"src": start, "dst": end})), ("D", pa.table({"src": pairs[0], "dst": pairs[1]}))]
    graph = Graph.from_arrow(nodes, types, undirected=["E"])
    cut, start_ = count_segments.segments, count_segments.SegmentCounter.start
    pieces: list[int] = []

    def noted(counter: count_segments.SegmentCounter, run: DeviceRun) -> None:
        pieces.append(len(counter.pieces))
        start_(counter, run)

    monkeypatch.setattr(count_segments, "segments", lambda sizes, _: cut(sizes, int(sizes.sum()) // 4))
    monkeypatch.setattr(count_segments, "_MOST_ROOM", 1 << 8)
    monkeypatch.setattr(count_segments.SegmentCounter, "start", noted)
    for pattern in EDGES:
        text = f"MATCH {pattern} RETURN count(*) // pieces"
        assert value(graph, text, "gpu") == value(graph, text, "cpu"), pattern
    assert len(pieces) == len(EDGES) and min(pieces) > 3


@pytest.mark.parametrize("room", [0, 3_400, 1 << 20])
def test_lists_of_hubs_are_copied_as_far_as_there_is_room(
    larger: Graph, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slices and members of the same vertices, the first ones, lie on the device."""
    made: list[tuple[int, int]] = []
    original = EmulatedPages.make

    def make(pages: EmulatedPages, runs: Sequence[tuple[int, bool]]) -> Any:
        made.append((sum(n for n, here in runs if here), sum(n for n, here in runs if not here)))
        return original(pages, runs)

    monkeypatch.setattr(EmulatedPages, "make", make)
    monkeypatch.setattr(count_kernels, "room_for_copies", lambda free: room)
    monkeypatch.setattr(count_policy, "_HUBS", 1)
    text = f"{QUERIES['clique']} // {room}"
    assert value(larger, text, "gpu") == value(larger, text, "cpu")
    slices, members = made[-2:]
    assert slices[0] + members[0] <= max(room, 0)
    if room == 3_400:
        assert all(slices) and all(members), made


def test_the_lists_of_each_label_have_hubs_on_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids go by descending degree within each set of labels."""
    start, end = to_csr(rmat(7, 8, seed=5)).edges()
    nodes = [(f"L{k}", pa.table({"id": np.arange(k, 128, 3)})) for k in range(3)]
    graph = Graph.from_arrow(nodes, [("E", pa.table({"src": start, "dst": end}))], undirected=["E"])
    made: list[Sequence[tuple[int, bool]]] = []
    original = EmulatedPages.make

    def make(pages: EmulatedPages, runs: Sequence[tuple[int, bool]]) -> Any:
        made.append(runs)
        return original(pages, runs)

    monkeypatch.setattr(EmulatedPages, "make", make)
    text = "MATCH (a:L0)--(b:L1)--(c:L2) RETURN sum(id(a) * id(b) * id(c))"
    assert value(graph, text, "gpu") == value(graph, text, "cpu")
    assert max(sum(here for _, here in runs) for runs in made) == 3


def test_pages_of_the_host_are_charged_to_the_query(graph: Graph) -> None:
    text = f"{QUERIES['triangle']} // charged"
    assert value(graph, text, "gpu", memory_limit=1 << 20) == value(graph, text, "cpu")
    graph.release_device()
    with pytest.raises(OutOfMemory, match="memory_limit"):
        value(graph, text, "gpu", memory_limit=2_000)


def test_rows_of_a_search_on_the_device_go_to_disk(graph: Graph) -> None:
    """What is found there comes in pieces; what sorts it has no more than the host's limit."""
    text = "MATCH (a)--(b)--(c)--(d) RETURN id(a) AS a, id(b) AS b, id(c) AS c, id(d) AS d ORDER BY d, c, b, a"
    rows = graph.query(text, device="cpu").to_arrow()
    result = graph.query(f"PROFILE {text}", device="gpu", memory_limit=rows.nbytes // 2)
    plan = result.fetchone()[0]
    assert "spilled" in plan and f"rows={rows.num_rows:,}" in plan
    assert graph.query(text, device="gpu", memory_limit=2 * rows.nbytes).to_arrow() == rows


@pytest.mark.parametrize(
    ("hint", "pattern", "said"),
    [
        ("", "(a)--(b)--(c)--(a)", "in the host's memory, copied to the GPU in about"),
        ("", "(a)--(b)--(c)--(d)--(a)", "in the host's memory, copied to the GPU in about"),
        ("", "(a)--(b)--(c)--(a), (a)--(d)--(b), (c)--(d)", "as far as there is room"),
        ("/*+ eliminate */", "(a)--(b)--(c)--(d)", "read over the link in order"),
        ("/*+ eliminate */", "(a)--(b)--(c)--(d)--(a), (a)--(e)--(f)", "run on the CPU, since"),
    ],
)
def test_explain_says_where_lists_will_be(larger: Graph, hint: str, pattern: str, said: str) -> None:
    text = f"EXPLAIN {hint} MATCH {pattern} RETURN count(*)"
    lists = 8 * larger.relationship_count
    assert said in larger.query(text, device="gpu", gpu_memory_limit=lists // 2).fetchone()[0]
    for limits in ({}, {"gpu_memory_limit": 1 << 30}):
        shown = larger.query(text, device="gpu", **limits).fetchone()[0]
        assert "memory" not in shown and "link" not in shown and "run on the CPU" not in shown
