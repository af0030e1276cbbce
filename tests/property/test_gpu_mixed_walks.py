"""Closed walks of four along several matrices, on the emulated device, against the reference."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from qengine import Graph
from qengine.exec.gpu import row_products
from qengine.testing.plans import kernels_of
from tests.emulator.device import Kernel
from tests.examples import examples
from tests.property import test_gpu_elimination
from tests.property.test_mixed_matrices import ARROWS, drawn, square

device = test_gpu_elimination.device
"""The emulated device, for all tests of this file."""


def is_taken(graph: Graph, text: str) -> bool:
    """Tell whether a GPU counts a query's walks at their first vertices."""
    return "mixed_walks" in kernels_of(graph, text, "gpu")


@pytest.mark.parametrize("counters", [4, 28_000])
@pytest.mark.parametrize("arrow", ARROWS)
def test_closed_walks_are_those_of_the_reference(arrow: str, counters: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Along all ways to choose matrices, which may be one another from the other end; walks meet vertices twice."""
    monkeypatch.setattr(row_products, "_COUNTERS", counters)
    graphs = [drawn(np.random.default_rng(3), 7, 0.4), drawn(np.random.default_rng(4), 6, 0.4, loose=True)]
    taken = 0
    for three in list(product(ARROWS, repeat=3))[counters % 7 :: 216 // examples(30)]:
        for graph in graphs:
            text = f"/*+ eliminate, kernel(mixed_walks) */ MATCH REPEATABLE ELEMENTS {square(arrow, *three)} "
            if not is_taken(graph, text + "RETURN count(*)"):
                continue
            taken += 1
            found = graph.query(text + "RETURN count(*)", device="gpu").fetchall()
            assert found == graph.query(text + "RETURN count(*)", device="reference").fetchall(), text
    assert taken > 3


@pytest.mark.parametrize("arrows", [("-[:R]->",) * 4, ("-[:R]->", "-[:S]->", "<-[:R]-", "both")])
def test_closed_walks_of_hubs(arrows: tuple[str, ...]) -> None:
    """Rows of many ways, which have counters, beside those of few."""
    rng = np.random.default_rng(1)
    n = 90
    drawn_pairs = np.stack([rng.integers(0, n, 3_000), rng.integers(0, n, 3_000) // 2], axis=1)
    ends = sorted({(int(a), int(b)) for a, b in drawn_pairs if a != b})
    nodes = [{"id": k, "labels": (), "properties": {}} for k in range(n)]
    relationships = [
        {"type": "RS"[k % 3 == 0], "start": a, "end": b, "properties": {}} for k, (a, b) in enumerate(ends)
    ]
    graph = Graph.from_records(nodes, relationships)
    text = f"/*+ eliminate, kernel(mixed_walks) */ MATCH REPEATABLE ELEMENTS {square(*arrows)} RETURN count(*)"
    assert is_taken(graph, text)
    Kernel.seen.clear()
    found = graph.query(text, device="gpu").fetchall()
    assert {"row_products_light", "row_products_heavy"} <= Kernel.seen.keys()
    assert found == graph.query(text, device="cpu").fetchall()
