"""Counting by elimination against the reference executor: random multigraphs and patterns, every match mode."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime
from functools import cache
from math import inf, nan
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from qengine import Graph
from qengine.errors import OutOfMemory, ResourceError, Unsupported
from qengine.plan.elimination import Matrix, Relation
from qengine.plan.pattern import Direction
from qengine.plan.physical import Eliminate
from qengine.testing.compare import agree
from qengine.testing.plans import kernels_of, lowered, planned
from tests.examples import examples

MODES = ("", "REPEATABLE ELEMENTS ", "DIFFERENT NODES ")
RESULTS = (
    "count(*)", "count(a)", "a.k, count(*)", "b.k, count(*)", "DISTINCT a.k", "min(b.k)", "a.k, b.k, count(*)",
    "c.k, a.k, count(b)", "DISTINCT a.k, c.k", "count(DISTINCT c)", "a, c, sum(a.i + c.i)",
    "a, c, count(*)", "c.k, c, count(*), a", "b, a, min(a.k), count(DISTINCT b)",
)  # fmt: skip
TYPES = ("", ":R", ":R", ":U", ":U", ":R|S", ":S|V", ":!R")
ARROWS = (("-", "->"), ("<-", "-"), ("-", "-"))
# Each an edge list over nodes a, b, c, …: trees, cycles, and triangles and cycles that share nodes and edges.
SHAPES = (
    "ab", "ab bc", "ab bc cd", "ab bc cd de", "ab ac ad", "ab ac cd ce", "ab bc ca", "ab bc ca ad", "ab bc cd da",
    "ab bc ca cd da", "ab bc cd da ac", "ab bc cd de ea", "ab bc cd da ae eb", "ab bc ca ad de ea", "ab ba", "aa ab",
    "aa", "ab bb bc", "ab ab bc", "ab cd", "ab bc de", "ab bc cd da ae", "ac bc ad bd ae be", "ab bd de ef fc ca",
)  # fmt: skip
# Cliques and what is close to them, wheels, and cycles with an apex: eliminated among the neighbours of a node.
DENSE_SHAPES = (
    "ab ac ad bc bd cd", "ab ac ad bc bd cd de", "ab ac ad bc bd cd ae be", "ab ac ad ae bc cd de",
    "ab ac ad ae bc cd de eb", "ab ac ad ae bc cd de eb bd", "ab ac ad ae bc bd be cd ce de",
    "ab ac bc bd cd de", "ac bc ad bd ae be cd", "ab ac ad bc bd cd aa", "ab ac ad bc bd cd ab", "ab ac ad bc cd bb",
)  # fmt: skip


VALUES: dict[str, tuple[object, ...]] = {
    "v": (None, 0, 1, 1, 2, 5, -(2**62)), "w": (0, 1, 2, 3, 2**62), "f": (None, nan, 0.0, -0.0, 1.5, inf),
    "s": (None, "", "a", "b", "é"), "d": (None, date(2024, 1, 1), date(2024, 2, 1)),
    "at": (datetime(2024, 1, 1), datetime(2024, 1, 1, 5), datetime(1960, 1, 1)),
}  # fmt: skip
COMPARISONS = (
    "{0}.v < {1}.v", "{0}.v <= {1}.v", "{0}.v > {1}.v", "{0}.v < {1}.w", "{0}.w >= {1}.v", "{0}.v <> {1}.v",
    "{0}.v = {1}.w", "{0}.w <> {1}.v", "{0}.i = {1}.k",
    "{0}.f < {1}.f", "{0}.f >= {1}.f", "{0}.s < {1}.s", "{0}.s >= {1}.s", "{0}.d <= {1}.d", "{0}.at > {1}.at",
    "{0}.f = {1}.f", "{0}.f <> {1}.f", "{0}.s <> {1}.s", "{0}.f + 1 > {1}.f", "abs({0}.f) <= {1}.f * 2",
    "size({0}.s) < {1}.w", "toUpper({0}.s) <= {1}.s", "left({0}.s, 1) = {1}.s", "{0}.d.month <= {1}.i", "{0}.i < {1}.i",
    "{0}.v + 1 < {1}.v", "{0}.v * 2 <= {1}.i", "{0}.w * 2 > {1}.v", "abs({0}.i - 1) = {1}.v", "{0}.v <> {1}.i + 1",
)  # fmt: skip


ELEMENTS = ("a", "b", "c", "r0", "r1", "r2")


@st.composite
def graphs(draw: st.DrawFn, most: int = 14) -> Graph:
    """Make up to 6 nodes and ``most`` relationships, some parallel or self-loops; U and V have no direction."""
    n = draw(st.integers(1, 6))
    labels = st.sampled_from([(), ("A",), ("B",), ("A", "B")])
    nodes = [{"id": k, "labels": draw(labels), "properties": {"k": k, "i": draw(st.integers(0, 2))}} for k in range(n)]
    vertex = st.integers(0, n - 1)
    triples = draw(st.lists(st.tuples(st.sampled_from("RRSUUV"), vertex, vertex), max_size=most))
    if draw(st.booleans()):  # no circles of R or S
        triples = [(kind, *sorted((a, b))) for kind, a, b in triples if a != b]
    if draw(st.booleans()):  # simple
        kept = {(kind, *(sorted((a, b)) if kind in "UV" else (a, b))): None for kind, a, b in triples if a != b}
        triples = list(kept)
    relationships = [
        {"type": kind, "start": a, "end": b, "properties": {"i": draw(st.integers(0, 2))}} for kind, a, b in triples
    ]
    return Graph.from_records(nodes, relationships, undirected=("U", "V"))


@st.composite
def patterns(draw: st.DrawFn, shapes: tuple[str, ...] = SHAPES) -> str:
    parts = []
    seen: set[str] = set()

    def node(name: str) -> str:
        if name in seen:
            return f"({name})"
        seen.add(name)
        return draw(st.sampled_from(["({})"] * 5 + ["({}:A)", "({}:B)", "({}:A|B)", "({0} WHERE {0}.i > 0)"])).format(
            name
        )

    for number, (start, end) in enumerate(draw(st.sampled_from(shapes)).split()):
        left, right = draw(st.sampled_from(ARROWS))
        where = draw(st.sampled_from([""] * 9 + [f" WHERE r{number}.i > 0"]))
        types = draw(st.sampled_from(TYPES))
        parts.append(f"{node(start)}{left}[r{number}{types}{where}]{right}{node(end)}")
    return ", ".join(parts)


def names_known(pattern: str, result: str) -> bool:
    """Tell whether a pattern has the nodes and relationships that a result names."""
    return all(re.search(rf"[(\[]{name}\b", pattern) for name in re.findall(r"\b(?:[bc]|r[0-9])\b", result))


def agrees_if_eliminated(graph: Graph, query: str, device: str = "cpu") -> None:
    """Compare a query with the reference where it can be counted by elimination, on a GPU where that has kernels."""
    hinted = f"/*+ eliminate */ {query}"
    try:
        lowered(graph, hinted)
    except Unsupported:
        assume(False)
    if device == "cpu" or kernels_of(graph, hinted, device):
        agree(graph, query, asked=hinted, device=device)


@settings(max_examples=examples(300))
@given(graphs(), patterns(), st.sampled_from(MODES), st.sampled_from(RESULTS))
def test_equals_reference(graph: Graph, pattern: str, mode: str, result: str) -> None:
    assume(names_known(pattern, result))
    query = f"MATCH {mode}{pattern} RETURN {result}"
    agrees_if_eliminated(graph, query)


@cache
def valued_graph(seed: int) -> Graph:
    """Make 8 nodes with all properties of ``VALUES``, and 20 relationships of all types, some loops or parallel."""
    drawn = Random(seed)
    nodes = [
        {"id": k, "labels": [("A",), ("B",), ("A", "B"), ()][k % 4],
         "properties": {"k": k, "i": k % 3} | {key: drawn.choice(values) for key, values in VALUES.items()}}
        for k in range(8)
    ]  # fmt: skip
    ends = [(drawn.randrange(8), drawn.randrange(5)) for _ in range(20)]
    relationships = [
        {"type": "RSUV"[k % 4], "start": a, "end": b,
         "properties": {"i": k % 3} | {key: drawn.choice(VALUES[key]) for key in VALUES if k % 4 != 1 or key in "wf"}}
        for k, (a, b) in enumerate(ends)
    ]  # fmt: skip
    return Graph.from_records(nodes, relationships, undirected=("U", "V"))


@settings(max_examples=examples(400))
@given(
    st.integers(0, 3), patterns(SHAPES[3:]), st.sampled_from(MODES[:2]),
    st.sampled_from(("count(*)", "count(*)", *RESULTS[2:7], "sum(b.i), a.k")),
    st.lists(st.tuples(st.sampled_from(COMPARISONS), st.permutations(ELEMENTS)), min_size=1, max_size=3),
)  # fmt: skip
def test_compared_values_equal_reference(
    seed: int, pattern: str, mode: str, result: str, compared: list[tuple[str, list[str]]]
) -> None:
    graph, where = valued_graph(seed), " AND ".join(text.format(*names) for text, names in compared)
    assume(names_known(pattern, result) and names_known(pattern, where))
    query = f"MATCH {mode}{pattern} WHERE {where} RETURN {result}"
    hinted = f"/*+ eliminate */ {query}"
    try:
        lowered(graph, hinted)
    except Unsupported:
        hinted = query
    agree(graph, query, asked=hinted)


@pytest.mark.parametrize(
    "condition", ["{0}.v + 1 < {1}.v", "2 * {0}.v = {1}.v", "r.v - 3 >= {1}.v", "abs({0}.v - 5) <> r.v"]
)
def test_values_that_may_fail_are_compared_where_none_does(condition: str) -> None:
    """The greatest integer stands at a node of another label, which nothing is linked with."""
    drawn = Random(4)
    nodes = [{"id": k, "labels": ["A"], "properties": {"v": drawn.randrange(20)}} for k in range(100)]
    nodes.append({"id": 100, "labels": ["B"], "properties": {"v": 2**63 - 1}})
    ends = [(drawn.randrange(100), int(100 * drawn.random() ** 3)) for _ in range(700)]
    links = [{"type": "R", "start": a, "end": b, "properties": {"v": drawn.randrange(20)}} for a, b in ends]
    graph = Graph.from_records(nodes, links)
    text = "MATCH (a{0})-[r]->(b)-->(c)-->(d{0}) WHERE " + condition.format("a", "d") + " RETURN count(*)"
    assert "Eliminate" in str(graph.explain(text.format(":A")))
    expected = graph.query(f"/*+ search */ {text.format('')}", device="cpu").fetchall()
    assert graph.query(text.format(":A"), device="cpu").fetchall() == expected
    assert graph.query(text.format(""), device="cpu").fetchall() == expected


@settings(max_examples=examples(200))
@given(graphs(most=16), patterns(DENSE_SHAPES), st.sampled_from(MODES), st.sampled_from(RESULTS[:6]))
def test_dense_patterns_equal_reference(graph: Graph, pattern: str, mode: str, result: str) -> None:
    query = f"MATCH {mode}{pattern} RETURN {result}"
    agrees_if_eliminated(graph, query)


@settings(max_examples=examples(50))
@given(graphs())
def test_pairs_for_several_rows_are_grouped_row_by_row(graph: Graph) -> None:
    counted = "MATCH (a)-[:R]->(b)-[:R]->(c) RETURN a, c, count(*) AS n"
    query = f"MATCH (x:A) RETURN x, COUNT {{ {counted} }} AS pairs"
    agree(graph, query)


@settings(max_examples=examples(100))
@given(graphs(), st.lists(patterns(), min_size=2, max_size=5), st.sampled_from(MODES))
def test_what_a_graph_keeps_serves_later_queries(graph: Graph, asked: list[str], mode: str) -> None:
    queries = [f"/*+ eliminate */ MATCH {mode}{pattern} RETURN count(*)" for pattern in asked]

    def count(query: str) -> int | None:
        try:
            found: int = graph.query(query, device="cpu").value()
        except Unsupported:
            return None
        return found

    first = [count(query) for query in queries]
    held = graph._store.derived.held
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(count, queries * 4)) == first * 4
    assert graph._store.derived.held == held
    for query, found in zip(queries, first, strict=True):
        assert found is None or found == graph.query(query, device="reference").value()


def test_degrees_stay_with_the_graph() -> None:
    graph = star(1000)
    query = "/*+ eliminate */ MATCH (a)-[:{0}]-(b)-[:{0}]-(c) RETURN count(*)"
    graph.explain(query.format("E"))  # what planning samples stays, too
    before = graph.nbytes
    found = graph.query(query.format("E"), device="cpu").value()
    degrees = graph.nbytes - before
    assert degrees == 2 * graph.node_count  # none needs more than 16 bits
    assert graph.query(query.format("E") + " // again", device="cpu").value() == found
    assert graph.nbytes - before == degrees
    assert graph.query(query.format("E"), memory_limit=3 * degrees + 4096, device="cpu").value() == found
    with pytest.raises(OutOfMemory):
        graph.query(query.format("E"), memory_limit=degrees // 2, device="cpu").value()


def test_merged_matrices_stay_with_the_graph_unless_conditions_decide() -> None:
    nodes = [{"id": k, "labels": "AB"[k % 2]} for k in range(60)]
    edges = [
        {"type": "E", "start": k, "end": (7 * k + j) % 60, "properties": {"w": j}} for k in range(60) for j in range(3)
    ]
    graph = Graph.from_records(nodes, edges)
    matrix = ("matrix", Matrix((Relation(("E",), Direction.BOTH),), once=True))
    for conditions, kept in ((" WHERE {0}.w > 0", False), ("", True)):
        path = "-".join(f"[{name}{conditions.format(name)}]-({end})" for name, end in zip("rst", "bca", strict=True))
        query = f"MATCH (a)-{path} RETURN count(*)"
        counts = [graph.query(f"/*+ eliminate */ {query}{' ' * k}", device="cpu").value() for k in range(2)]
        assert counts == [graph.query(query, device="reference").value()] * 2
        assert (matrix in graph._store.derived._made) is kept
    before = graph.nbytes
    graph.query(f"/*+ eliminate */ {query} // again", device="cpu").value()
    assert graph.nbytes == before


@pytest.mark.parametrize(
    ("labels", "terms"), [("    ", 5), ("A A ", 5), ("ABAB", 4), ("ABCD", 1), ("ABCA", 2), ("ABB ", 3), ("ABCX", 0)]
)
def test_nodes_coincide_only_where_their_labels_can(labels: str, terms: int) -> None:
    nodes = [{"id": k, "labels": ("ABCD"[k % 4],)} for k in range(12)]
    graph = Graph.from_records(nodes, [{"type": "E", "start": k, "end": (5 * k + 1) % 12} for k in range(12)])
    a, b, c, d = (f":{label}" if label != " " else "" for label in labels)
    query = f"MATCH DIFFERENT NODES (a{a})-->(b{b})-->(c{c})-->(d{d}) RETURN count(*)"
    (operator,) = planned(graph, f"/*+ eliminate */ {query}", Eliminate)
    assert sum(abs(term.factor) for term in operator.terms) == terms
    assert graph.query(f"/*+ eliminate */ {query}").value() == graph.query(query, device="reference").value()


@pytest.mark.parametrize(("closing", "terms"), [([], 1), ([("S", 2, 0)], 1), ([("R", 1, 0)], 2), ([("R", 3, 0)], 5)])
def test_relationships_without_circles_close_none(closing: list[tuple[str, int, int]], terms: int) -> None:
    nodes = [{"id": k} for k in range(5)]
    triples = [("R", k, k + 1) for k in range(4)] + [("R", 0, 2), *closing]
    graph = Graph.from_records(nodes, [{"type": kind, "start": a, "end": b} for kind, a, b in triples])
    length = 4 if terms == 5 else 3
    steps = ", ".join(f"(n{k})-[:R]->(n{k + 1})" for k in range(length))
    (operator,) = planned(graph, f"/*+ eliminate */ MATCH {steps} RETURN count(*)", Eliminate)
    assert len(operator.terms) == terms
    query = f"MATCH {steps} RETURN count(*)"
    assert graph.query(f"/*+ eliminate */ {query}").value() == graph.query(query, device="reference").value()


@pytest.mark.parametrize("labels", [1, 2])
def test_the_rank_of_vertices_stays_with_the_graph(labels: int) -> None:
    rng = np.random.default_rng(5)
    ends = {tuple(sorted(pair)) for pair in rng.integers(0, 120, (2000, 2)).tolist() if pair[0] != pair[1]}
    nodes = [{"id": k, "labels": (f"L{k % labels}",)} for k in range(120)]
    triples = [{"type": "U", "start": start, "end": end} for start, end in ends]
    graph = Graph.from_records(nodes, triples, undirected=("U",))
    before = graph.nbytes
    query = "/*+ eliminate */ MATCH (a)-[:U]-(b)-[:U]-(c)-[:U]-(a), (a)-[:U]-(d)-[:U]-(b) RETURN count(*)"
    found = graph.query(query, device="cpu").value()
    kept = graph.nbytes - before
    assert kept > 0
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: graph.query(query, device="cpu").value(), range(16))) == {found}
    assert graph.nbytes - before == kept
    with pytest.raises(OutOfMemory):  # what is kept counts as if it were made anew
        graph.query(query, device="cpu", memory_limit=kept).value()
    assert found == graph.query(query[len("/*+ eliminate */") :], device="cpu").value()


def star(leaves: int) -> Graph:
    """Make a hub ``h`` with many neighbours."""
    nodes = [{"id": k, "labels": ("H",) if k == 0 else ("L",)} for k in range(leaves + 1)]
    return Graph.from_records(nodes, [{"type": "E", "start": 0, "end": k} for k in range(1, leaves + 1)])


def leaves(count: int) -> str:
    return ", ".join(f"(h)-[:E]->(x{k})" for k in range(count))


def test_numbers_beyond_64_bits_are_carried() -> None:
    graph = star(70_000)
    # 70,000⁴ > 2⁶⁴ ways at the hub, of which the other part of the pattern leaves none
    query = f"/*+ eliminate */ MATCH REPEATABLE ELEMENTS {leaves(4)}, (h)<-[:E]-(y) RETURN count(*)"
    assert graph.query(query).value() == 0
    query = f"/*+ eliminate */ MATCH REPEATABLE ELEMENTS {leaves(3)} RETURN count(*)"
    assert graph.query(query).value() == 70_000**3


@pytest.mark.parametrize("count", [4, 10])
@pytest.mark.parametrize("result", ["count(*)", "h, count(*)"])
def test_counts_beyond_64_bits_are_refused(count: int, result: str) -> None:
    graph = star(70_000)
    with pytest.raises(ResourceError, match="exceeds 64 bits"):
        graph.query(f"/*+ eliminate */ MATCH REPEATABLE ELEMENTS {leaves(count)} RETURN {result}").fetchall()


def test_differences_of_large_counts_are_exact() -> None:
    graph = star(2_600)
    query = f"/*+ eliminate */ MATCH {leaves(5)} RETURN count(*)"
    assert graph.query(query).value() == 2_600 * 2_599 * 2_598 * 2_597 * 2_596
