"""Counts as signed sums of searches, and searches that look counts up or push them on, against the reference."""

from __future__ import annotations

from importlib import import_module
from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from qengine import Graph
from qengine.optimizer.elimination import Eliminated, eliminated
from qengine.optimizer.elimination.vertices import Elimination
from qengine.plan.physical import Eliminate
from qengine.testing.plans import planned
from tests.examples import examples

lowering = import_module("qengine.optimizer.lower.match_strategy")

# Each an edge list over nodes a, b, c, …: trees, cycles with tails, cycles that share nodes, edges and paths.
SHAPES = (
    "ab bc cd", "ab bc cd de ef", "ab bc bd de df", "ab bc cd da", "ab bc cd de ea", "ab bc cd de ea cf",
    "ab bc cd de ef fa", "ab bc cd de ef fa ag dh", "ab bc ca cd de ec", "ab bc cd da de ef fa", "ab bc cd de ea bf fe",
    "ab bc ca ad de ef fg gd", "ab ac bd cd be ce", "ab bc cd da ac ae ef", "ab bc cd de ef fg ga",
)  # fmt: skip
LABELS = ("", "", "", ":A", ":B", ":C", ":A|B", ":!A", ":A&B")


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Make up to 9 nodes and simple relationships of an undirected and of a directed type."""
    n = draw(st.integers(2, 9))
    labels = st.sampled_from([(), ("A",), ("B",), ("C",), ("A", "B")])
    nodes = [{"id": k, "labels": draw(labels), "properties": {"k": k}} for k in range(n)]
    vertex = st.integers(0, n - 1)
    pairs = draw(st.lists(st.tuples(st.sampled_from("UUUR"), vertex, vertex), max_size=24))
    kept = {(kind, *(sorted((a, b)) if kind == "U" else (a, b))): None for kind, a, b in pairs if a != b}
    relationships = [{"type": kind, "start": a, "end": b} for kind, a, b in kept]
    return Graph.from_records(nodes, relationships, undirected=("U",))


@st.composite
def patterns(draw: st.DrawFn) -> tuple[str, list[str]]:
    edges = draw(st.sampled_from(SHAPES)).split()
    names = sorted(set("".join(edges)))
    nodes = {name: f"({name}{draw(st.sampled_from(LABELS))})" for name in names}
    if draw(st.integers(0, 3)) == 0:
        nodes["a"] = "(a WHERE a.k > 0)"
    parts = []
    for start, end in edges:
        link = draw(st.sampled_from(["-[:U]-"] * 4 + ["-[:R]->", "<-[:R]-"]))
        parts.append(f"{nodes.get(start, f'({start})')}{link}{nodes.get(end, f'({end})')}")
        nodes.pop(start, None), nodes.pop(end, None)
    return ", ".join(parts), names


def count(graph: Graph, text: str, device: str) -> Any:
    return graph.query(text, device=device).fetchall()[0]["n"]


def without_limit(*args: Any) -> Eliminated | None:
    """Look for a sum as if a search took ages."""
    *before, _, kernels = args
    return eliminated(*before, {"cpu": 1e18}, kernels)


@settings(max_examples=examples(200), suppress_health_check=[HealthCheck.filter_too_much])
@given(graphs(), patterns(), st.sampled_from(("", "DIFFERENT NODES ")))
def test_signed_counts_equal_reference(graph: Graph, pattern: tuple[str, list[str]], mode: str) -> None:
    text = f"MATCH {mode}{pattern[0]} RETURN count(*) AS n"
    with (
        patch.object(lowering, "eliminated", without_limit),
        patch.object(Elimination, "run", lambda _: None),
    ):
        found = planned(graph, text, Eliminate)
        assume(found and found[0].searches)
        assert not found[0].steps
        assert count(graph, text, "cpu") == count(graph, text, "reference")


@settings(max_examples=examples(400))
@given(graphs(), patterns(), st.sampled_from(("", "REPEATABLE ELEMENTS ", "DIFFERENT NODES ")), st.data())
def test_any_order_equals_reference(
    graph: Graph, pattern: tuple[str, list[str]], mode: str, data: st.DataObject
) -> None:
    text = f"MATCH {mode}{pattern[0]} RETURN count(*) AS n"
    order = data.draw(st.permutations(pattern[1]))
    assert count(graph, f"/*+ order({', '.join(order)}) */ {text}", "cpu") == count(graph, text, "reference")
