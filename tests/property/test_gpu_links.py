"""Links among the neighbours of each root, and the ways from them, on the emulated device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from qengine import Graph
from qengine.exec.gpu import neighbourhoods, symmetric_links
from qengine.testing.generate import rmat, to_csr
from tests.emulator.device import Kernel
from tests.property import test_gpu_elimination

device = test_gpu_elimination.device
"""The emulated device, for all tests of this file."""

PATTERNS = {
    "K2,3 with an edge": "(a)--(x)--(b)--(y)--(a), (a)--(z)--(b), (x)--(y)",
    "K4 with a tail": "(a)--(b)--(c)--(a), (a)--(d), (b)--(d), (c)--(d), (d)--(e)",
    "wheel": "(a)--(b)--(c)--(d)--(a), (e)--(a), (e)--(b), (e)--(c), (e)--(d)",
    "K5 less an edge": "(a)--(b)--(c)--(a), (a)--(d), (b)--(d), (c)--(d), (e)--(a), (e)--(b), (e)--(c)",
}
MODES = ("", "DIFFERENT NODES", "REPEATABLE ELEMENTS")


@pytest.fixture(scope="module")
def skewed() -> Graph:
    start, end = to_csr(rmat(5, 6, 7)).edges()
    return Graph.from_edge_list((start.astype(np.int64), end.astype(np.int64)), undirected=True)


@pytest.fixture(scope="module")
def labelled() -> Graph:
    """Return a graph whose ids are not by descending degree as a whole, and some of whose vertices have no links."""
    start, end = (each.tolist() for each in to_csr(rmat(6, 6, 3)).edges())
    nodes = [{"id": k, "labels": ["A" if k % 3 else "B"]} for k in range(80)]
    ends = [*zip(start, end, strict=True), *((k, k + 1) for k in range(64, 79))]
    relationships = [{"type": "R", "start": a, "end": b} for a, b in ends if a != b]
    return Graph.from_records(nodes, relationships, undirected=["R"])


def small(patch: pytest.MonkeyPatch) -> None:
    """Let rows be heavy, marks rough and counters few; what is over pairs comes in pieces."""
    patch.setattr(symmetric_links, "_FEW", 6)
    patch.setattr(symmetric_links, "_EXACT", 32)
    patch.setattr(symmetric_links, "_COUNTERS", 24)
    patch.setattr(neighbourhoods, "_LEAST", 900)
    patch.setattr(neighbourhoods, "_SHARE", 1 << 20)


def one_piece(patch: pytest.MonkeyPatch) -> None:
    """Take all roots together, with few counters."""
    patch.setattr(symmetric_links, "_COUNTERS", 24)


SETTINGS = [small, pytest.param(one_piece, marks=pytest.mark.nets)]


def counted(graph: Graph, query: str, hint: str = "eliminate") -> Any:
    return graph.query(f"/*+ {hint} */ {query}", device="gpu").fetchall()


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PATTERNS)
def test_the_symmetric_kernels_count_as_the_general_ones(
    skewed: Graph, name: str, mode: str, setting: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    setting(monkeypatch)
    query = f"MATCH {mode} {PATTERNS[name]} RETURN count(*)"
    Kernel.seen.clear()
    found = counted(skewed, query, "eliminate, kernel(symmetric_links)")
    assert "links_heavy" in Kernel.seen and "neighbours_fill_many" not in Kernel.seen
    assert ("link_squares" in Kernel.seen) == (name == "K2,3 with an edge")
    general = "kernel(neighbours, rooted_forest)" if "(x)--(y)" in query or name == "wheel" else "kernel(neighbours)"
    assert counted(skewed, query, general) == found
    assert skewed.query(query, device="cpu").fetchall() == found


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", ["K2,3 with an edge", "K4 with a tail"])
def test_equal_the_host_by_node_where_ids_are_not_by_degree(
    labelled: Graph, name: str, setting: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    setting(monkeypatch)
    by = "x" if name == "K2,3 with an edge" else "d"
    query = f"MATCH {PATTERNS[name]} RETURN id({by}) AS one, count(*) ORDER BY one"
    assert counted(labelled, query) == labelled.query(query, device="cpu").fetchall()
