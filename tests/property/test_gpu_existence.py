"""EXISTS and DISTINCT by the GPU's depth-first search, its kernel run on the host: no GPU is needed, only a compiler.

Where one embedding is enough, groups of leaves that must differ must not end too soon.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import Graph
from qengine.exec import choice
from qengine.exec.gpu import dfs
from qengine.testing.compare import agree
from tests.emulator.device import WARPS, device_memory, emulated, searched
from tests.examples import examples
from tests.property.test_elimination import MODES, graphs

PATTERNS = (
    *(", ".join(f"(a)-[:E]{end}(v{k})" for k in range(leaves)) for leaves in (2, 3, 5) for end in ("-", "->")),
    "(a)-[:E]-(v0)-[:E]-(b)-[:E]-(c), (b)-[:E]-(d)",
    "(a)-[:E]->(v0)-[:E]->(b)-[:E]-(a), (v0)-[:E]-(c), (v0)-[:E]-(d), (b)-[:E]-(e)",
    "(a)-[:E]-(v0), (a)-[:E]-(b), (v0)-[:E]-(b), (v0)-[:E]-(c), (b)-[:E]-(c)",
    "(a)-[:E]-(v0)-[:E]-(c), (a)-[:E]-(b)-[:E]-(c), (a)-[:E]-(d)-[:E]-(c)",
)
QUERIES = (
    "MATCH {mode}{pattern} RETURN count(DISTINCT {of})",
    "MATCH ({of}) WHERE EXISTS {{ MATCH {mode}{pattern} }} RETURN count(*), sum(id({of}))",
    "MATCH {mode}{pattern} RETURN DISTINCT id({of})",
)


@pytest.fixture(scope="module", autouse=True)
def depth_first() -> Iterator[None]:
    with emulated(device_memory(), free=1 << 24) as patch:
        searched(patch)
        patch.setattr(choice, "choose", lambda asked, *_: (asked, "as asked"))
        patch.setattr(dfs, "_THREADS", 32 * WARPS)
        yield


@settings(max_examples=examples(150))
@given(
    graphs(most=16),
    st.sampled_from(QUERIES),
    st.sampled_from(PATTERNS),
    st.sampled_from(MODES),
    st.sampled_from(["a", "v0"]),
)
def test_equals_reference(graph: Graph, query: str, pattern: str, mode: str, of: str) -> None:
    text = query.format(mode=mode, pattern=pattern, of=of)
    agree(graph, text, device="gpu")


@pytest.mark.parametrize("leaves", [3, 8, 9, 20])
@pytest.mark.parametrize("spare", [0, 1])
def test_stars_have_as_many_leaves_as_vertices_have_neighbours(leaves: int, spare: int) -> None:
    """More candidates than are asked in turn, and none to spare or one too few."""
    links = [(0, k) for k in range(1, leaves + spare)]
    graph = Graph.from_records(
        [{"id": k, "labels": ["V"]} for k in range(60)], [{"type": "E", "start": a, "end": b} for a, b in links]
    )
    star = ", ".join(f"(a)-[:E]->(v{k})" for k in range(leaves))
    text = f"MATCH DIFFERENT NODES {star} RETURN count(DISTINCT a)"
    assert graph.query(text, device="gpu").value() == (1 if spare else 0)
