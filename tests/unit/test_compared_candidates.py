"""What compares a level's candidates with vertices before them keeps those for which the reference says so."""

from __future__ import annotations

import numpy as np
import pytest

from qengine import Graph
from qengine.testing.compare import agree


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Integers, floats with NaN and nulls, numbers of both kinds by label, on vertices and relationships."""
    dice = np.random.default_rng(5)
    nodes = []
    for k in range(40):
        whole, part = int(dice.integers(-2, 3)), float(dice.integers(-4, 5)) / 2
        properties = {"k": k, "i": whole, "f": float("nan") if k % 9 == 0 else part, "m": whole if k % 2 else part}
        nodes.append({"labels": ["A", "B"][k % 2 : k % 2 + 1], "properties": properties if k % 7 else {"k": k}})
    links = [
        {"type": "R", "start": int(a), "end": int(b), "properties": {"w": int(a + b) % 5}}
        for a, b in dice.integers(0, 40, (250, 2))
    ]
    return Graph.from_records(nodes, links)


@pytest.mark.parametrize("op", ["=", "<>", "<", "<=", ">", ">="])
@pytest.mark.parametrize(("left", "right"), [("i", "i"), ("f", "f"), ("i", "f"), ("m", "i"), ("m", "m")])
@pytest.mark.parametrize("order", ["a, b, c", "c, b, a"])
def test_candidates_that_compare_are_kept(graph: Graph, op: str, left: str, right: str, order: str) -> None:
    match = f"MATCH (a)-[r:R]->(b)-[s:R]->(c) WHERE a.{left} {op} c.{right}"
    for result in (
        "AND a <> c RETURN a.k AS a, c.k AS c, r.w AS r",
        "RETURN a.k AS a, count(*) AS n",
        "AND c.k > 5 AND b.i < c.i RETURN c.k AS c, min(r.w) AS r",
    ):
        query = f"{match} {result}"
        agree(graph, query, asked=f"/*+ search, order({order}) */ {query}")
