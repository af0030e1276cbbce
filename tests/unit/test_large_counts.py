"""Counts beyond 64 bits: refused, never wrapped, and no hindrance where nobody reads them."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from qengine import Graph
from qengine.errors import QengineError, ResourceError
from tests.limits.looks import watched

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


@pytest.mark.parametrize(
    ("returned", "value"),
    [
        ("RETURN avg(n0.id)", (NODES - 1) / 2),
        ("RETURN avg(n9.id * 1.0)", (NODES - 1) / 2),
        ("RETURN sum(n0.id * 0)", 0),
        ("RETURN count(n0.none)", 0),
        ("RETURN count(*) > 5", True),
        ("RETURN count(*) = 2^70", True),
        ("RETURN toString(count(*))", str(2**70)),
        ("RETURN toFloat(count(*))", 2.0**70),
        ("RETURN count(*) % 1000", 2**70 % 1000),
        ("RETURN CASE WHEN count(*) > 3 THEN 1 ELSE count(*) END", 1),
        ("WITH count(*) AS c WHERE c < 5 RETURN count(*)", 0),
        ("WITH n0, count(*) AS c RETURN count(DISTINCT c)", 1),
        ("WITH n0, count(*) AS c WITH DISTINCT c RETURN count(*)", 1),
        ("WITH n0, count(*) AS c ORDER BY c, n0.id DESC LIMIT 1 RETURN n0.id", NODES - 1),
        ("WITH n0, count(*) AS c RETURN max(c) = min(c)", True),
        ("WITH n0, count(*) AS c WITH collect(c) AS all RETURN size(all)", NODES),
    ],
)
def test_answers_that_fit_come_of_counts_that_do_not(graph: Graph, returned: str, value: object) -> None:
    assert graph.query(f"MATCH {path(9)} {returned} AS x").value() == value
    assert graph.query(f"MATCH {path(9)} {returned} AS x").to_arrow()["x"].to_pylist() == [value]


@pytest.mark.parametrize(
    "returned", ["count(*)", "[count(*)]", "{c: count(*)}", "n0, count(*)", "n0.id, [1, count(*)]"]
)
def test_a_count_that_does_not_fit_comes_out_in_no_form(graph: Graph, returned: str) -> None:
    for form in ("fetchall", "to_arrow", "to_pandas"):
        with pytest.raises(ResourceError, match="A count exceeds 64 bits") as caught:
            getattr(graph.query(f"MATCH {path(9)} RETURN {returned} AS x"), form)()
        assert caught.value.code == "CountOverflow"


@pytest.fixture(scope="module")
def star() -> Graph:
    return Graph.from_edge_list((np.zeros(65_536, np.int64), np.arange(1, 65_537)))


@pytest.mark.parametrize(
    ("returned", "value"),
    [
        ("RETURN count(DISTINCT c)", 1),
        ("WITH DISTINCT c RETURN count(*)", 1),
        ("RETURN max(c.id)", 0),
        ("RETURN avg(c.id)", 0.0),
        ("RETURN min(x0.id)", 1),
        ("WITH c SKIP 3 LIMIT 1 RETURN c.id", 0),
    ],
)
@pytest.mark.parametrize("different", ["", "REPEATABLE ELEMENTS ", "DIFFERENT NODES "])
def test_leaves_of_a_star_that_differ(star: Graph, returned: str, value: object, different: str) -> None:
    leaves = ", ".join(f"(c)-->(x{place})" for place in range(5))
    assert star.query(f"MATCH {different}{leaves} {returned} AS x", timeout=60).value() == value


def test_leaves_whose_sets_are_too_small_are_not_found() -> None:
    """Existence looks at few members of each set: three of one set of two are not different, of three they are."""
    graph = Graph.from_edge_list((np.array([0, 0, 5, 5, 5]), np.array([1, 2, 6, 7, 8])))
    query = "MATCH (c)-->(x), (c)-->(y), (c)-->(z) RETURN collect(DISTINCT c.id)"
    assert graph.query(query).value() == [5]
    assert graph.query(query, device="reference").value() == [5]


def test_relationships_of_few_pairs_are_not_counted_one_by_one() -> None:
    random = np.random.default_rng(4)
    start, end = random.integers(0, 5, (2, 3_000))
    graph = Graph.from_edge_list((start, end), type="R")
    links = np.zeros((5, 5), np.int64)
    np.add.at(links, (start, end), 1)
    loops = links.diagonal()
    triangles = np.trace(links @ links @ links) - (loops**3 - loops * (loops - 1) * (loops - 2)).sum()
    same_two = (loops * (links.sum(1) + links.sum(0))).sum() + (links * links.T).sum()
    walks = (links @ links @ links).sum() - same_two + 2 * loops.sum()
    for pattern, expected in (("(a)-->(b)-->(c)-->(a)", triangles), ("()-->()-->()-->()", walks)):
        text = f"MATCH {pattern} RETURN count(*) AS n"
        with watched() as looks:
            assert [row.n for row in graph.query(text)] == [expected]
        assert looks.count < 1_000
