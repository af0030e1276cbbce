"""Cliques along several matrices, on the emulated device, against the reference and the host."""

from __future__ import annotations

import numpy as np
import pytest

from qengine import Graph
from qengine.errors import Unsupported
from qengine.exec.gpu import bit_rows
from qengine.plan.physical import Eliminate
from qengine.plan.traverse import operators
from tests.emulator.device import Kernel
from tests.examples import examples
from tests.property import test_gpu_elimination
from tests.property.test_mixed_matrices import ARROWS, SEMANTICS, drawn, drawn_clique

device = test_gpu_elimination.device
"""The emulated device, for all tests of this file."""

HINT = "/*+ eliminate, kernel(cliques) */"


def is_taken(graph: Graph, text: str) -> bool:
    """Tell whether a GPU counts cliques for a query."""
    try:
        plan = graph.prepare(text)._planned.physical
    except Unsupported:
        return False
    assert plan is not None
    schedules = [each.schedule("gpu") for each in operators(plan.root) if isinstance(each, Eliminate)]
    return any(schedule and "cliques" in [call.kernel for call in schedule.every] for schedule in schedules)


@pytest.mark.parametrize("least", [1, 48])
@pytest.mark.parametrize("seed", range(examples(12)))
def test_cliques_are_those_of_the_reference(seed: int, least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all directions, both ways, types, labels and conditions, with tails that weigh corners."""
    monkeypatch.setattr(bit_rows, "_LEAST", least)
    rng = np.random.default_rng(seed)
    graph = drawn(rng, 8, 0.6)
    taken = 0
    for size in (3, 3, 4, 4, 4, 5, 6):
        pattern = drawn_clique(rng, size, ARROWS, int(rng.integers(3)) if size < 5 else 0)
        text = f"{HINT} MATCH {SEMANTICS[seed % 3]}{pattern} RETURN count(*)"
        if not is_taken(graph, text):
            continue
        taken += 1
        Kernel.seen.clear()
        found = graph.query(text, device="gpu").fetchall()
        assert "cliques" in Kernel.seen
        assert found == graph.query(text, device="cpu" if size > 5 else "reference").fetchall(), text
    assert taken > 1


@pytest.mark.parametrize("size", [3, 4, 5])
@pytest.mark.parametrize("arrows", [("-[:R]->",), ("-[:R]->", "-[:S]->", "both")])
def test_cliques_of_many_members(size: int, arrows: tuple[str, ...]) -> None:
    """Universes of several words, and roots of each kind; symmetric roles among them where all arrows are one."""
    rng = np.random.default_rng(size)
    graph = drawn(rng, 90, 0.3 if size < 5 else 0.15)
    text = f"{HINT} MATCH {drawn_clique(rng, size, arrows, 0)} RETURN count(*)"
    assert is_taken(graph, text)
    assert graph.query(text, device="gpu").fetchall() == graph.query(text, device="cpu").fetchall()


def test_types_that_may_join_a_pair_twice_have_other_kernels() -> None:
    graph = drawn(np.random.default_rng(2), 7, 0.5, loose=True)
    assert not is_taken(graph, f"{HINT} MATCH (a)-[:R]->(b)-[:S]->(c)-[:R]->(a) RETURN count(*)")


def test_sums_beyond_64_bits_are_exact() -> None:
    """Corners that have many tails weigh more than a number of 64 bits has room for."""
    n = 1_500
    hubs = [(a, b) for a in range(3) for b in range(a)]
    tails = [(a, 3 + k) for a in range(3) for k in range(n)]
    nodes = [{"id": k, "labels": (), "properties": {}} for k in range(n + 3)]
    links = [{"type": "R", "start": a, "end": b, "properties": {}} for a, b in hubs]
    links += [{"type": "S", "start": a, "end": b, "properties": {}} for a, b in tails]
    graph = Graph.from_records(nodes, links)
    leaves = ", ".join(f"({corner})-[:S]->(x{corner}{k})" for corner in "abc" for k in range(2))
    text = (
        f"{HINT} MATCH REPEATABLE ELEMENTS (a)-[:R]->(b), (a)-[:R]->(c), (b)-[:R]->(c), {leaves} RETURN count(*) / 1000"
    )
    assert is_taken(graph, text)
    assert graph.query(text, device="gpu").fetchall()[0][0] == n**6 // 1000
