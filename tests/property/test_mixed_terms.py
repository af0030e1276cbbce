"""Counts whose terms are eliminated or searched, and patterns of directed types: all ways count the same."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from qengine import Graph, Result
from qengine._control import Status
from qengine.errors import Unsupported
from qengine.exec.context import ExecutionContext
from qengine.exec.host import eliminate
from qengine.plan.physical import Eliminate
from qengine.plan.traverse import operators
from tests.bench.atlas.patterns import Semantics, weakly_connected

K33 = [(a, b) for a in "abc" for b in "xyz"]
PRISM = ["ab", "bc", "ca", "xy", "yz", "zx", "ax", "by", "cz"]


def graph_of(seed: int, directed: bool) -> Graph:
    """Make a graph of two labels and two types, with parallel relationships, loops and pairs joined both ways."""
    rng = np.random.default_rng(seed)
    nodes = [{"id": n, "labels": ["L0" if n % 3 else "L1"], "properties": {"w": n % 5}} for n in range(10)]
    ends = rng.integers(0, 10, (45, 2)).tolist()
    ends += [[b, a] for a, b in ends[:12]]
    edges = [
        {"type": "RS"[k % 4 == 0], "start": a, "end": b, "properties": {"t": k % 3}} for k, (a, b) in enumerate(ends)
    ]
    return Graph.from_records(nodes, edges, undirected=[] if directed else ["R", "S"])


def elimination(result: Result) -> Eliminate:
    """Return the elimination that a query is planned to."""
    plan = result.stats.plan
    assert plan is not None
    return next(each for each in operators(plan.root) if isinstance(each, Eliminate))


@pytest.mark.parametrize("mode", ["DIFFERENT NODES", "DIFFERENT RELATIONSHIPS"])
@pytest.mark.parametrize("edges", [K33, PRISM], ids=["K33", "prism"])
@pytest.mark.parametrize("arrow", ["-[{}:R]-", "-[{}:R]->", "-[{}:R|S]-"])
@pytest.mark.parametrize("directed", [False, True])
def test_terms_that_are_searched(mode: str, edges: list[tuple[str, str]], arrow: str, directed: bool) -> None:
    graph = graph_of(7, directed)
    mixed = 0
    for where in ("", " WHERE a.w > 1 AND r0.t < 2", " WHERE a:L0 AND b:L0 AND z:L1"):
        pattern = ", ".join(f"({a}){arrow.format(f'r{k}')}({b})" for k, (a, b) in enumerate(edges))
        query = f"MATCH {mode} {pattern}{where} RETURN count(*)"
        expected = graph.query(f"/*+ search */ {query}", device="cpu").value()
        assert graph.query(query, device="cpu").value() == expected
        try:
            found = graph.query(f"/*+ eliminate */ {query}", device="cpu")
        except Unsupported:
            continue
        assert found.value() == expected, query
        mixed += bool(elimination(found).searches)
    assert mixed or mode != "DIFFERENT NODES"


def test_a_term_beyond_64_bits_leaves_the_count_to_a_search() -> None:
    graph = graph_of(3, directed=False)
    query = "MATCH DIFFERENT NODES " + ", ".join(f"({a})-[:R]-({b})" for a, b in PRISM) + " RETURN count(*)"
    expected = graph.query(f"/*+ search */ {query}", device="cpu").value()
    assert elimination(graph.query(f"/*+ eliminate */ {query}", device="cpu")).searches

    def overflowing(*args: Any) -> None:
        context: ExecutionContext = args[4]
        context.raise_for(Status.OVERFLOW)

    with patch.object(eliminate, "run_search", side_effect=overflowing) as searched:
        assert graph.query(f"/*+ eliminate */ {query}", device="cpu").value() == expected
    assert searched.called


def thirds() -> Iterator[object]:
    """Yield thirds of the patterns with each semantics: with one of them outside the nets."""
    for third, (place, semantics) in product(range(3), enumerate(Semantics)):
        marks = () if third == place else (pytest.mark.nets,)
        yield pytest.param(semantics, third, id=f"{semantics}-{third}", marks=marks)


@pytest.mark.parametrize(("semantics", "third"), list(thirds()))
def test_directed_patterns(semantics: Semantics, third: int) -> None:
    rng = np.random.default_rng(5)
    weight = 1 / np.sqrt(np.arange(1, 41))
    linked = rng.random((40, 40)) < np.outer(weight, weight) * 1.6
    linked |= linked.T & (rng.random((40, 40)) < 0.4)
    np.fill_diagonal(linked, False)
    source, target = np.nonzero(linked)
    graph = Graph.from_edge_list((source, target))
    eliminated = 0
    patterns = weakly_connected(4)[third::3]
    for pattern in patterns:
        query = f"{pattern.match(semantics)} RETURN count(*)"
        expected = graph.query(f"/*+ search */ {query}", device="cpu").value()
        assert graph.query(query, device="cpu").value() == expected, query
        try:
            found = graph.query(f"/*+ eliminate */ {query}", device="cpu").value()
        except Unsupported:
            continue
        eliminated += 1
        assert found == expected, query
    assert eliminated == len(patterns)
