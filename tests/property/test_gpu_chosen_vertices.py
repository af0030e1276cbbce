"""Counts by the GPU's kernels for shapes where a predicate or a label chooses among the nodes of one vertex."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from qengine import Graph
from qengine.exec import choice
from qengine.exec.gpu import count_policy
from tests.emulator.device import device_memory, emulated

SHAPES = {
    "triangle": "ab bc ca",
    "square": "ab bc cd da",
    "diamond": "ab bc ca bd dc",
    "4-clique": "ab ac ad bc bd cd",
    "star": "ab ac ad",
    "house": "ab bc cd de ea ac",
    "tailed triangle": "ab bc ca cd",
}
CASES = [(name, vertex) for name, edges in SHAPES.items() for vertex in sorted(set(edges) - {" "})]


@pytest.fixture(scope="module", autouse=True)
def device() -> Iterator[None]:
    with emulated(device_memory(), free=1 << 30) as patch:
        patch.setattr(choice, "choose", lambda asked, *_: (asked, "as asked"))
        patch.setattr(count_policy, "_FEW_ROOTS", 1)
        yield


@pytest.fixture(scope="module")
def graph() -> Graph:
    """A graph with hubs and two labels, whose ids are two ranges."""
    dice = np.random.default_rng(3)
    chance = np.outer(dice.random(40), dice.random(40))
    chance[:10, :10] = 0.8
    start, end = np.nonzero(np.triu(dice.random((40, 40)) < chance, 1))
    nodes = [(label, pa.table({"id": np.arange(k, 40, 2)})) for k, label in enumerate("LM")]
    return Graph.from_arrow(nodes, [("E", pa.table({"start": start, "end": end}))], key="id", undirected=["E"])


def pattern(name: str) -> str:
    return ", ".join(f"({a})-[:E]-({b})" for a, b in SHAPES[name].split())


def cases() -> Iterator[object]:
    """Yield each vertex of each shape with each way to choose: with one of them outside the nets."""
    ways = ("id({}) % 3 = 1", "{}:L", "{}:L AND id({}) % 2 = 0")
    for (number, (name, vertex)), (way, chosen) in product(enumerate(CASES), enumerate(ways)):
        marks = () if number % len(ways) == way else (pytest.mark.nets,)
        yield pytest.param(name, vertex, chosen, id=f"{chosen}-{name}-{vertex}", marks=marks)


@pytest.mark.parametrize(("name", "vertex", "chosen"), list(cases()))
def test_the_count_is_the_cpus(graph: Graph, name: str, vertex: str, chosen: str) -> None:
    text = f"MATCH DIFFERENT NODES {pattern(name)} WHERE {chosen.format(vertex, vertex)} RETURN count(*)"
    expected = graph.query(text, device="cpu").value()
    assert expected > 0
    for hint in ("", "/*+ search */ "):
        assert graph.query(hint + text, device="gpu").value() == expected, hint


@pytest.mark.parametrize("name", SHAPES)
def test_all_but_one_vertex_have_a_label(graph: Graph, name: str) -> None:
    vertices = sorted(set(SHAPES[name]) - {" "})
    for plain in vertices:
        where = " AND ".join(f"{vertex}:L" for vertex in vertices if vertex != plain)
        text = f"/*+ search */ MATCH DIFFERENT NODES {pattern(name)} WHERE {where} RETURN count(*)"
        assert graph.query(text, device="gpu").value() == graph.query(text, device="cpu").value(), plain


@pytest.mark.parametrize("order", ["adbc", "abdc", "abcd", "dabc", "adbce", "abdce", "abced"])
@pytest.mark.parametrize("chosen", ["id(d) % 3 = 1", "d:L"])
def test_leaves_of_a_star_in_any_order(graph: Graph, order: str, chosen: str) -> None:
    """What one leaf may be is among what the others may be: they are counted one after the other, less those taken."""
    star = ", ".join(f"(a)-[:E]-({leaf})" for leaf in order.replace("a", ""))
    text = f"MATCH DIFFERENT NODES {star} WHERE {chosen} RETURN count(*)"
    expected = graph.query(text, device="cpu").value()
    assert graph.query(f"/*+ search, order({', '.join(order)}) */ {text}", device="gpu").value() == expected > 0
