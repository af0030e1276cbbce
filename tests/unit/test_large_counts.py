"""Counts beyond 64 bits: refused, never wrapped, and no hindrance where nobody reads them."""

from __future__ import annotations

from itertools import islice

import pytest

from qengine import Graph
from qengine.errors import QengineError

NODES = 128  # each linked to all: a path of k relationships has 2^(7 k + 7) homomorphisms


@pytest.fixture(scope="module")
def graph() -> Graph:
    every = [(start, end) for start in range(NODES) for end in range(NODES)]
    return Graph.from_edge_list(([start for start, _ in every], [end for _, end in every]), type="R")


def path(length: int) -> str:
    return "REPEATABLE ELEMENTS (n0)" + "".join(f"-[:R]->(n{step})" for step in range(1, length + 1))


def test_the_greatest_count_that_fits(graph: Graph) -> None:
    assert graph.query(f"MATCH {path(7)} RETURN count(*)").value() == 2**56
    assert graph.query(f"MATCH (n0) OPTIONAL MATCH {path(7)} RETURN count(*)").value() == 2**56
    assert graph.query(f"MATCH {path(8)} RETURN n0.id, count(*) AS c LIMIT 1").fetchone()["c"] == 2**56


@pytest.mark.parametrize(
    "query",
    [
        f"MATCH {path(8)} RETURN count(*)",  # 2^63
        f"MATCH {path(9)} RETURN count(n4), n0.id",
        f"MATCH {path(19)} RETURN count(*)",  # 2^140
        f"MATCH (n0) OPTIONAL MATCH {path(8)} RETURN count(*)",
        f"MATCH (n0) OPTIONAL MATCH {path(8)} RETURN sum(n0.id)",
        f"MATCH (n0) OPTIONAL MATCH {path(9)} RETURN n0, count(n3)",
        f"MATCH (m) MATCH {path(7)} RETURN count(*)",
        f"MATCH {path(8)} WITH n0, count(*) AS c RETURN sum(c)",
        f"MATCH (n0) RETURN COUNT {{ MATCH {path(9)} }}",
    ],
)
def test_larger_ones_are_refused(graph: Graph, query: str) -> None:
    with pytest.raises(QengineError, match=r"64.bit"):
        graph.query(query).fetchall()


def test_rows_that_are_read_one_by_one_come(graph: Graph) -> None:
    for row in islice(graph.query(f"MATCH (n0) OPTIONAL MATCH {path(8)} RETURN 1 AS one", timeout=60), 1_000):
        assert row["one"] == 1
    with pytest.raises(QengineError, match="longer than its timeout"):
        graph.query(f"MATCH (n0) OPTIONAL MATCH {path(8)} RETURN 1 AS one", timeout=0.1).fetchall()


@pytest.mark.parametrize(
    "columns",
    ["count(DISTINCT n9)", "count(DISTINCT n4)", "min(n0.id) + 128", "max(n9.id) + 1", "size(collect(DISTINCT n5))"],
)
def test_what_counts_once_needs_no_count(graph: Graph, columns: str) -> None:
    assert graph.query(f"MATCH {path(9)} RETURN {columns}").value() == NODES


def test_pairs_that_count_once_need_no_count(graph: Graph) -> None:
    assert graph.query(f"MATCH {path(11)} WITH DISTINCT n0, n11 RETURN count(*)").value() == NODES**2


def test_the_least_and_the_greatest_of_pairs_need_no_count(graph: Graph) -> None:
    pairs = f"MATCH {path(11)} WITH n0, n11, min(n0.id) AS low, max(n11.id) AS high"
    found = graph.query(f"{pairs} RETURN count(*) AS pairs, sum(low) AS low, sum(high) AS high").fetchone()
    every = NODES * sum(range(NODES))
    assert tuple(found) == (NODES**2, every, every)
    with pytest.raises(QengineError, match=r"64.bit"):
        graph.query(f"{pairs}, count(*) AS c RETURN max(c)").fetchall()
