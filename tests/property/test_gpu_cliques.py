"""Cliques along several matrices, on the emulated device: by warps and by blocks, as the reference counts them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from qengine import Graph
from qengine.exec.gpu import cliques
from qengine.testing.plans import kernels_of
from tests.emulator.device import SMALL, Kernel
from tests.examples import examples
from tests.property import test_gpu_elimination
from tests.property.test_mixed_matrices import ARROWS, SEMANTICS, drawn, drawn_clique

device = test_gpu_elimination.device
"""The emulated device, for all tests of this file."""

FORCED = "/*+ eliminate, kernel(cliques) */"


def is_taken(graph: Graph, text: str) -> bool:
    """Tell whether a GPU counts a query's cliques at their last vertices."""
    return "cliques" in kernels_of(graph, f"{FORCED} {text}", "gpu")


def counted(graph: Graph, text: str) -> int:
    return int(graph.query(f"{FORCED} {text}", device="gpu").fetchall()[0][0])


@pytest.mark.parametrize("few", [0, 3, 64])
@pytest.mark.parametrize("seed", range(examples(12)))
def test_cliques_are_those_of_the_reference(seed: int, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all directions, both ways, types, labels and conditions, with tails that weigh corners."""
    monkeypatch.setattr(cliques, "_FEW", few)
    rng = np.random.default_rng(seed)
    graph = drawn(rng, 8, 0.6, loose=seed % 3 == 2)
    taken = 0
    for size in (3, 3, 4, 4, 4, 5, 6):
        pattern = drawn_clique(rng, size, ARROWS, int(rng.integers(3)) if size < 5 else 0)
        text = f"MATCH {SEMANTICS[seed % 3]}{pattern} RETURN count(*)"
        if is_taken(graph, text):
            taken += 1
            expected = graph.query(text, device="cpu" if size > 5 else "reference").fetchall()[0][0]
            assert counted(graph, text) == expected, text
    assert taken > 1 or seed % 3 == 2


def many_neighbours() -> Iterator[object]:
    """Yield sizes, arrows, tails, and parts; outside the nets one part, and half of them with tails."""
    sizes = enumerate(((3, 0.6), (4, 0.4), (5, 0.35), (6, 0.3)))
    ways = enumerate({"one": ("-[:U]-",), "directed": ("-[:R]->", "<-[:R]-"), "mixed": ARROWS}.items())
    for (place, (size, density)), (way, (name, arrows)), tails, parts in product(sizes, ways, (0, 3), (1, 3)):
        marks = () if parts == 1 and bool(tails) == bool((place + way) % 2) else (pytest.mark.nets,)
        label = f"{tails}-{name}-{size}-{density}-{parts}"
        yield pytest.param(size, density, arrows, tails, parts, id=label, marks=marks)


@pytest.mark.parametrize(("size", "density", "arrows", "tails", "parts"), list(many_neighbours()))
def test_cliques_of_many_neighbours(
    size: int, density: float, arrows: tuple[str, ...], tails: int, parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Roots with a warp or a block each, of one word of neighbours or of several, some in parts."""
    monkeypatch.setattr(cliques, "_FEW", 12)
    monkeypatch.setattr(cliques, "_MOST_PARTS", parts)
    rng = np.random.default_rng(size)
    graph = drawn(rng, 80, density)
    mode = "REPEATABLE ELEMENTS" if tails else "DIFFERENT NODES"
    text = f"MATCH {mode} {drawn_clique(rng, size, arrows, tails)} RETURN count(*)"
    if not is_taken(graph, text):  # triangles along one matrix have kernels of their own
        assert size == 3 and len(arrows) == 1
        return
    Kernel.seen.clear()
    found = counted(graph, text)
    assert {"cliques_light", "cliques_heavy"} <= Kernel.seen.keys()
    assert found == graph.query(f"/*+ search */ {text}", device="cpu").fetchall()[0][0]


@pytest.mark.parametrize(
    ("size", "lanes"), [(3, 2), (3, 32), (4, 2), (4, 32), (5, 2), pytest.param(5, 32, marks=pytest.mark.nets)]
)
def test_rows_that_shared_memory_has_no_room_for(size: int, lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows in device memory, of more words than lanes share, or of fewer."""
    monkeypatch.setattr(cliques, "_FEW", 8)
    monkeypatch.setattr(cliques, "_LANES", lanes)
    monkeypatch.setattr(type(SMALL), "dynamic_bytes", property(lambda own: 500))
    graph = drawn(np.random.default_rng(size), 110, 0.4 if size < 5 else 0.25)
    pattern = ", ".join(f"(n{a})-[:{'RS'[b == 2]}]->(n{b})" for b in range(size) for a in range(b))
    text = f"MATCH DIFFERENT NODES {pattern} RETURN count(*)"
    assert is_taken(graph, text)
    Kernel.seen.clear()
    found = counted(graph, text)
    assert "cliques_global" in Kernel.seen
    assert found == graph.query(text, device="cpu").fetchall()[0][0] > 0


def test_types_that_may_join_a_pair_twice_have_other_kernels() -> None:
    graph = drawn(np.random.default_rng(2), 7, 0.5, loose=True)
    assert not is_taken(graph, "MATCH (a)-[:R]->(b)-[:S]->(c)-[:R]->(a) RETURN count(*)")


def test_lists_of_neighbours_stay_on_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    first = cliques._made
    monkeypatch.setattr(cliques, "_made", lambda *given: (made.append(given), first(*given))[1])
    graph = drawn(np.random.default_rng(5), 20, 0.5)
    text = "MATCH (a)-[:R]->(b)-[:R]->(c), (a)-[:R]->(c), (d)-[:R]->(a), (d)-[:R]->(b), (d)-[:R]->(c) RETURN count(*)"
    assert len({counted(graph, text) for _ in range(3)}) == 1
    assert len(made) == 1


def test_sums_beyond_64_bits_are_exact() -> None:
    """Corners that have many tails weigh more than a number of 64 bits has room for."""
    n = 1_500
    hubs = [(a, b) for a in range(3) for b in range(a)]
    tails = [(a, 3 + k) for a in range(3) for k in range(n)]
    nodes = [{"id": k, "labels": (), "properties": {}} for k in range(n + 3)]
    links = [{"type": "RT"[a == 1], "start": a, "end": b, "properties": {}} for a, b in hubs]
    links += [{"type": "S", "start": a, "end": b, "properties": {}} for a, b in tails]
    graph = Graph.from_records(nodes, links)
    leaves = ", ".join(f"({corner})-[:S]->(x{corner}{k})" for corner in "abc" for k in range(2))
    text = f"MATCH REPEATABLE ELEMENTS (a)-[:R]->(b), (a)-[:R]->(c), (b)-[:T]->(c), {leaves} RETURN count(*) / 1000"
    assert is_taken(graph, text)
    Kernel.seen.clear()
    assert counted(graph, text) == n**6 // 1000
    assert "cliques_light" in Kernel.seen
