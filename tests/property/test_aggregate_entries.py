"""Aggregates folded from entries of stored lists, or from rows of ids, against the reference and exact sums."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import Graph, OutOfMemory
from qengine.exec.common.operators import aggregate_entries
from qengine.exec.common.operators.folded import Bindings
from qengine.exec.host.folds import Fold
from qengine.optimizer import elimination
from qengine.optimizer.lower import by_node, over_entries, weighed_entries
from qengine.plan.physical import AggregateEntries, ThetaJoin
from qengine.plan.traverse import operators
from qengine.testing.compare import agree, difference
from qengine.testing.plans import lowered
from tests.examples import examples
from tests.property.test_aggregate_by_node import VALUES as LIMITS

ENTRIES = (
    "(a)", "(a:A)", "(a:A|B)", "(a:(A&!B)|(B&!A))", "(a:!(A&B))",
    "(a)-[k:R]->(b)", "(a:A)-[k:R]->(b)", "(a)<-[k:R]-(b:B)", "(a)-[k:R]-(b)",
    "(a)-[k:U]-(b)",
    "(a:A)-[k]->(b)", "(a)-[k]-(b)", "(a)-[k:R|S]->(b:A)", "(a:A|B)-[k:U|R]-(b:B)", "(a)-[k:S]->(b)",
)  # fmt: skip
ROWS = (
    "(a)-[k:R]->(a)", "(a)-[k:R]->(b)-[m:R]->(c)", "(a:A)-[k:U]-(b)-[:S|R]-(c:B)", "(a)-[k:R]->(b), (a)-[:U]-(b)",
    "(a)-[k:R]->(b)-[:R]->(c)-[:R]->(a)", "(a)-[k:R]->(b) MATCH (b)-[m:U]-(c)",
)  # fmt: skip
ANOTHER = ("(a)-[k:R]->(b)<-[:R]-(c)", "(c:A)<-[:R]-(a:A)-[k:R]->(b)<-[l:R]-(d {i: 1})")
HANGING = (
    "(a)-[k:R]->(b)-[:S]->(c)", "(c)-[:S]->(a)-[k:R]->(b)-[:U]-(d:A)", "(a:A)-[k:R]->(b:B)-[:R]->(c)",
    *ANOTHER, "(b:B)<-[k:U]-(a)-[:S]->(c)<-[:S]-(d), (c)-[:U]-(e)", "(a)-[k:R|S]-(b)-[:U]-(c {i: 1})",
)  # fmt: skip
VALUES = (*LIMITS[:-1], st.sampled_from([1e200, -1e200, 5e-324]))  # whose sums are finite in any order
MODES = ("", "DIFFERENT NODES ", "REPEATABLE ELEMENTS ")
OF_NODE = ("a.v", "a.i", "a.k", "b.v", "b.i", "b.k % 2", "a.v + 1", "a:A", "a", "b", "a.none", "coalesce(b.v, 0)")
OF_EDGE = ("k.i", "k.v", "k.i + 1", "k", "k.none", "type(k)")
OF_BOTH = (
    "a.i + b.i",
    "k.i * b.k",
    "a.k - k.i + b.i",
    "CASE WHEN a.i < b.i THEN a.t ELSE b.t END",
    "a.v = b.v",
    "6 / b.i - a.i",
)
CONDITIONS = (
    "a.i > 0",
    "b.i <> 1",
    "k.i >= 1",
    "a.i < b.i",
    "k.i <> b.i",
    "a.v = b.v",
    "a.t = b.t",
    "k.v IS NOT NULL",
    "a.i = k.i",
    "k.v > 0",
)
CALLS = ("count(*)", "count({})", "sum({})", "avg({})", "min({})", "max({})", "count(DISTINCT {})", "max(DISTINCT {})",
         "percentileCont({}, 0.3)", "percentileDisc({}, 0.7)")  # fmt: skip


@st.composite
def valued_graphs(draw: st.DrawFn) -> Graph:
    """Make up to 6 nodes and 14 relationships, both with values, some parallel or loops; U has no direction."""
    n = draw(st.integers(1, 6))
    labels = st.sampled_from([(), ("A",), ("B",), ("A", "B")])
    values, others = draw(st.sampled_from(VALUES)), draw(st.sampled_from(VALUES))
    place = st.integers(0, 2)
    texts = st.sampled_from(["x", "y", "", None])
    nodes = [
        {"id": k, "labels": draw(labels), "properties": {"k": k, "i": draw(place), "v": draw(values), "t": draw(texts)}}
        for k in range(n)
    ]
    vertex = st.integers(0, n - 1)
    triples = draw(st.lists(st.tuples(st.sampled_from("RRRSUU"), vertex, vertex), max_size=14))
    relationships = [
        {"type": kind, "start": a, "end": b, "properties": {"i": draw(place), "v": draw(others)}}
        for kind, a, b in triples
    ]
    return Graph.from_records(nodes, relationships, undirected=("U",))


@pytest.mark.parametrize("key", ["id(k)", "type(k)", "k, id(a)"])
@pytest.mark.parametrize("pattern", ["(a)-[k]-(b)", "(a)-[k:U]-(b)", "(a:A)-[k:U|R]->(b)"])
def test_relationships_of_lists_without_ids_are_told(pattern: str, key: str) -> None:
    nodes = [{"id": k, "labels": ("A",) if k % 2 else (), "properties": {}} for k in range(12)]
    ends = [("RUS"[(a + b) % 3], a, b) for a in range(12) for b in range(a, 12) if (a * b) % 4 < 2]
    relationships = [{"type": kind, "start": a, "end": b} for kind, a, b in ends]
    graph = Graph.from_records(nodes, relationships, undirected=("U",))
    query = f"MATCH {pattern} RETURN {key}, count(*) AS n"
    found = sorted(graph.query(query, device="cpu").fetchall(), key=repr)
    assert found == sorted(graph.query(query, device="reference").fetchall(), key=repr)


@st.composite
def queries(draw: st.DrawFn, patterns: tuple[str, ...]) -> str:
    pattern = draw(st.sampled_from(patterns))

    def known(text: str) -> bool:
        return all(name in pattern for name, mark in (("(b", "b."), ("[k", "k.")) if mark in text)

    exprs = [each for each in (*OF_NODE, *OF_EDGE, *OF_BOTH) if known(each.replace("type(k)", "k."))]
    exprs = [each for each in exprs if not (each in "bk" and not known(each + "."))]
    keys = draw(st.lists(st.sampled_from(exprs), max_size=2, unique=True))
    summed = [each for each in exprs if each not in ("a", "b", "k", "a:A", "type(k)")]
    calls = draw(st.lists(st.sampled_from(CALLS), min_size=1, max_size=3))
    filled = [
        call.format(draw(st.sampled_from(summed if call.startswith(("sum", "avg", "m", "p")) else exprs)))
        for call in calls
    ]
    conditions = draw(st.lists(st.sampled_from([each for each in CONDITIONS if known(each)]), max_size=2, unique=True))
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    columns = [f"{each} AS c{place}" for place, each in enumerate([*keys, *filled])]
    having = draw(st.sampled_from(["", "", f" WITH * WHERE c{len(columns) - 1} IS NOT NULL"]))
    mode = draw(st.sampled_from(MODES)) if "MATCH" not in pattern else ""
    result = f"RETURN {', '.join(columns)}"
    if having:
        names = ", ".join(f"c{place}" for place in range(len(columns)))
        result = f"WITH {', '.join(columns)} WHERE c{len(columns) - 1} IS NOT NULL RETURN {names}"
    return f"MATCH {mode}{pattern}{where} {result}"


def agrees(graph: Graph, query: str, device: str = "cpu") -> None:
    for _ in range(2):  # the second finds what the first has left with the graph
        agree(graph, query, device=device, errors=True)


def plan_of(graph: Graph, query: str) -> Any:
    physical = lowered(graph, query)
    return physical


IN_ORDER = (
    "count(*) AS n, sum(a.w) AS s, min(a.w) AS l, max(a.w) AS g",
    "sum(a.i) AS s, avg(a.i) AS m, max(a.i) AS g, count(a.i) AS n",
    "sum(a.x) AS s, min(a.x) AS l, max(a.x) AS g",
    "sum(a.large) AS s, min(a.t) AS l, max(a.t) AS g, count(DISTINCT a.i) AS n",
    "a.i AS k, count(*) AS n, sum(a.w) AS s, min(a.x) AS l",
    "a.t AS k, a.i AS l, count(DISTINCT a.w % 7) AS n, max(a.large) AS g",
)


@pytest.mark.parametrize(
    "where",
    ["", "a.w <> 700", "a.w >= 300", "a.w % 2 = 0", "a.w < 1030 OR a.w > 1100", "a.w % 300 < 257"],
)
def test_vertices_that_stand_together_are_folded_as_others(where: str) -> None:
    """Runs of those that are admitted, of every length beside a block's, with and without nulls; ids from 500 on."""
    nodes = []
    for k in range(2000):
        given: dict[str, Any] = {"w": k, "large": (-1) ** k * 2**61 + k}
        given |= {"i": k * k % 5} if k % 3 else {}
        given |= {"x": math.sin(k) * 10 ** (k % 9)} if k % 64 else {}
        given |= {"t": f"text {k % 4}"} if 600 < k < 1700 else {}
        nodes.append({"id": k, "labels": ("A",) if k >= 500 else ("B",), "properties": given})
    graph = Graph.from_records(nodes, [])
    for label in ("A", "A|B"):
        for returned in IN_ORDER:
            condition = f" WHERE {where}" if where else ""
            query = f"MATCH (a:{label}){condition} RETURN {returned}"
            assert any(isinstance(each, AggregateEntries) for each in operators(plan_of(graph, query).root)), query
            agrees(graph, query)


@settings(max_examples=examples(150))
@given(valued_graphs(), queries(ENTRIES))
def test_entries_equal_reference(graph: Graph, query: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("SETUP", "_AN_ENTRY", "_AN_ELEMENT", "_COMPARED", "_AN_ENTRY_MADE"):
            patch.setattr(over_entries, name, 0.0)
        agrees(graph, query)


ONE_ROW = "MATCH (z) WITH count(*) AS total, max(z.i) AS top"


@settings(max_examples=examples(100))
@given(valued_graphs(), queries(ENTRIES), st.sampled_from(["", " WHERE total > 3"]))
def test_groups_with_keys_of_one_row_equal_reference(graph: Graph, query: str, where: str) -> None:
    agrees(graph, f"{ONE_ROW}{where} {query}, total, top AS t")


def test_rows_are_folded_beside_the_one_row_before() -> None:
    nodes = [{"id": k, "labels": ("A", "B")[k % 2 :], "properties": {"i": k % 3}} for k in range(40)]
    graph = Graph.from_records(nodes, [])
    for query in (
        f"{ONE_ROW} MATCH (a:A|B) WITH total, a.i AS i, a:A AS yes RETURN total, i, yes, count(*), sum(i + 0.5)",
        f"{ONE_ROW} MATCH (a:A|B) WHERE a.i > 7 RETURN total, a.i, count(*)",
    ):
        assert any(isinstance(each, AggregateEntries) for each in operators(plan_of(graph, query).root)), query
        agrees(graph, query)
    read = f"{ONE_ROW} MATCH (a:A) WHERE a.i < total RETURN top, a.i, count(*)"
    assert not any(isinstance(each, ThetaJoin) for each in operators(plan_of(graph, read).root))
    agrees(graph, read)


@settings(max_examples=examples(120))
@given(valued_graphs(), queries(ROWS))
def test_rows_equal_reference(graph: Graph, query: str) -> None:
    agrees(graph, query)


@settings(max_examples=examples(60))
@given(valued_graphs(), queries(HANGING))
def test_weighed_entries_equal_reference(graph: Graph, query: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(by_node, "cost_of_rows", lambda *_: 1e12)
        patch.setattr(elimination, "_LEAST", 0.0)
        agrees(graph, query)


@st.composite
def queries_beyond(draw: st.DrawFn) -> str:
    """Ask for extremes and sums of what hangs at the ends of a relationship, beside other aggregates of that."""
    pattern = draw(st.sampled_from(HANGING))
    names = [name for name in "cde" if f"({name}" in pattern]
    told = st.sampled_from(["min", "max", "sum", "avg", "count"])
    beyond = st.builds("{}({}.{})".format, told, st.sampled_from(names), st.sampled_from("vit"))
    calls = draw(st.lists(beyond, min_size=1, max_size=3))
    exprs = [each for each in (*OF_NODE, *OF_EDGE) if each not in ("a", "b", "k", "a:A", "type(k)")]
    others = st.builds(str.format, st.sampled_from(CALLS), st.sampled_from(exprs))
    calls += draw(st.lists(others, max_size=2))
    keys = draw(st.lists(st.sampled_from((*OF_NODE, *OF_EDGE)), max_size=2, unique=True))
    conditions = draw(st.lists(st.sampled_from((*CONDITIONS, "c.i <> 1", "c.i = b.i")), max_size=2, unique=True))
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"MATCH {draw(st.sampled_from(MODES))}{pattern}{where} RETURN {', '.join([*keys, *calls])}"


@settings(max_examples=examples(100))
@given(valued_graphs(), queries_beyond())
def test_what_is_beyond_entries_equals_reference(graph: Graph, query: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(by_node, "cost_of_rows", lambda *_: 1e12)
        patch.setattr(elimination, "_LEAST", 0.0)
        agrees(graph, query)


BEYOND = {
    "positive": lambda k: math.exp(k % 11) if k % 5 else None,
    "mixed": lambda k: math.sin(k) * 10 ** (k % 6),
    "steep": lambda k: 1e14 if k % 4 == 0 else k / 7,  # own values are taken off what has lost others
    "large": lambda k: (-1) ** k * (2**57 - k),
    "both": lambda k: k if k % 3 else k / 8,
    "no number": lambda k: math.nan if k == 7 else k / 8,
    "infinite": lambda k: {7: math.inf, 8: -math.inf}.get(k, k / 8),
}


@pytest.mark.parametrize("kind", BEYOND)
def test_sums_beyond_entries(kind: str) -> None:
    """By each entry, where taking off its own value would lose most, and by few groups; more labels than are wanted."""
    nodes = [
        {"id": k, "labels": (("A",), ("B",), ("A", "B"))[k % 3], "properties": {"i": k % 5, "v": BEYOND[kind](k)}}
        for k in range(18)
    ]
    ends = {(a, a * b % 18) for a in range(18) for b in range(1, 5)}
    relationships = [{"type": "R", "start": a, "end": b, "properties": {"i": a % 3}} for a, b in sorted(ends)]
    relationships += [{"type": "S", "start": b, "end": a} for a, b in sorted(ends)]
    graph = Graph.from_records(nodes, relationships)
    asked = "sum(c.v) AS s, avg(c.v) AS m, count(c.v) AS n, count(c) AS t, max(k.i) AS g"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(by_node, "cost_of_rows", lambda *_: 1e12)
        patch.setattr(elimination, "_LEAST", 0.0)
        for pattern in ("(a)-[k:R]->(b)<-[:R]-(c)", "(a:A)-[k:R]->(b)<-[:R]-(c:B)", "(c)-[:S]->(a)-[k:R]->(b)"):
            for keys in ("k.i AS x, ", "id(a) AS x, id(b) AS y, "):
                query = f"MATCH {pattern} RETURN {keys}{asked}"
                found = [each for each in operators(plan_of(graph, query).root) if isinstance(each, AggregateEntries)]
                assert [len(each.values) for each in found] == [1, 0], query
                agrees(graph, query)


def test_own_values_are_taken_off_sums_that_cancel() -> None:
    """Each end's sum is rounded at 1e14, and what these add up to is small, as is what is left."""
    values = [1e14, -1e14, 0.3, 0.9]
    nodes = [{"id": k, "labels": ("A",), "properties": {"v": v, "g": k < 2}} for k, v in enumerate(values)]
    nodes += [{"id": k, "labels": ("B",)} for k in (4, 5)]
    ends = [(0, 4), (2, 4), (1, 5), (3, 5)]
    graph = Graph.from_records(nodes, [{"type": "R", "start": a, "end": b} for a, b in ends])
    query = "MATCH (a:A)-[k:R]->(b)<-[:R]-(c) WHERE a.g RETURN sum(c.v) AS s, max(type(k)) AS t"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(by_node, "cost_of_rows", lambda *_: 1e12)
        patch.setattr(elimination, "_LEAST", 0.0)
        assert any(isinstance(each, AggregateEntries) and each.others for each in operators(plan_of(graph, query).root))
        ((found, _),) = graph.query(query).fetchall()
    assert math.isclose(found, 1.2, rel_tol=1e-12)


@pytest.mark.parametrize("threads", [1, 3])
def test_extremes_beyond_entries(threads: int) -> None:
    n, random = 1_000, np.random.default_rng(4)
    nodes = pa.table({"id": np.arange(n), "g": np.arange(n) % 7, "t": [f"t{k % 97:02}" for k in range(n)]})
    start, end, far, to = random.integers(0, n, (4, 80_000))
    tables = [
        ("R", pa.table({"start": start, "end": end, "i": np.arange(80_000) % 5})),
        ("S", pa.table({"start": far[:3_000], "end": to[:3_000], "w": np.arange(3_000)})),
        ("T", pa.table({"start": to[:900], "end": far[:900]})),
    ]
    graph = Graph.from_arrow([("P", nodes)], tables, key="id")
    query = (
        "MATCH (a:P)-[k:R]->(b:P)-[l:S]->(c:P)-[:T]->(d:P) WHERE c.g > 1 "
        "RETURN k.i AS i, count(*) AS n, max(d.t) AS t, min(l.w) AS w, max(a.id) AS m ORDER BY i"
    )
    folded = [each for each in operators(plan_of(graph, query).root) if isinstance(each, AggregateEntries)]
    assert [len(each.values) for each in folded] == [1, 1, 0]  # d by c is asked for by what asks for it by b
    assert "values by b" in str(graph.explain(query))
    near, last = {}, {}
    for to_end, place in zip(far[:900].tolist(), to[:900].tolist(), strict=True):
        last.setdefault(place, []).append(f"t{to_end % 97:02}")
    for w, (b, c) in enumerate(zip(far[:3_000].tolist(), to[:3_000].tolist(), strict=True)):
        near.setdefault(b, []).extend((w, t) for t in last.get(c, []) if c % 7 > 1)
    expected = []
    for i in range(5):
        ends = zip(start[i::5].tolist(), end[i::5].tolist(), strict=True)
        rows = [(a, w, t) for a, b in ends for w, t in near.get(b, [])]
        a, w, t = zip(*rows, strict=True)
        expected.append((i, len(rows), max(t), min(w), max(a)))
    assert graph.query(query, device="cpu", threads=threads).fetchall() == expected


@pytest.mark.parametrize("pattern", HANGING)
def test_entries_are_weighed_where_nothing_else_joins_what_hangs(pattern: str) -> None:
    random = np.random.default_rng(2)
    labels = [(), ("A",), ("B",), ("A", "B")]
    nodes = [{"id": k, "labels": labels[k % 4], "properties": {"i": k % 3, "v": 0.5 * k}} for k in range(6)]
    ends = random.integers(0, 6, (20, 2)).tolist()
    relationships = [
        {"type": "RSUR"[place % 4], "start": start, "end": end, "properties": {"i": place % 3, "v": place}}
        for place, (start, end) in enumerate(ends)
    ]
    graph = Graph.from_records(nodes, relationships, undirected=("U",))
    results = ("k.i, count(*)", "a.v, sum(k.i), avg(b.v)", "k, max(b.i)", "count(DISTINCT k.i)", "b, a.i, count(b.v)")
    conditions = ("", " WHERE a.i < b.i", " WHERE k.i > 0 AND a.v >= 0.5", " WHERE c.i <> a.i", " WHERE c.i = 1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(by_node, "cost_of_rows", lambda *_: 1e12)
        patch.setattr(elimination, "_LEAST", 0.0)
        for mode in ("", "REPEATABLE ELEMENTS "):
            for condition in conditions:
                for result in results:
                    query = f"MATCH {mode}{pattern}{condition} RETURN {result}"
                    agrees(graph, query)
                    plan = plan_of(graph, query)
                    folded = any(isinstance(each, AggregateEntries) for each in operators(plan.root))
                    assert folded or not (mode or pattern in ANOTHER) or "c.i <>" in query, query


@pytest.mark.parametrize("threads", [1, 3])
def test_entries_are_weighed_by_what_hangs_at_their_ends(threads: int) -> None:
    n, random = 2_000, np.random.default_rng(8)
    nodes = pa.table({"id": np.arange(n), "g": np.arange(n) % 7})
    start, end = random.integers(0, n, 60_000), random.integers(0, n, 60_000)
    hanging, before = random.integers(0, n // 2, (2, 9_000))
    kinds = np.arange(60_000) % 5
    links = pa.table({"start": start, "end": end, "i": kinds})
    tables = [
        ("R", links),
        ("S", pa.table({"start": hanging, "end": hanging})),
        ("T", pa.table({"start": before, "end": before})),
    ]
    graph = Graph.from_arrow([("P", nodes)], tables, key="id")
    query = (
        "MATCH (a:P)-[k:R]->(b:P)-[:S]->(c), (x)-[:T]->(a) WHERE a.g < 5 AND k.i > 0 "
        "RETURN k.i AS i, count(*) AS n, sum(b.id) AS s, max(a.id) AS m ORDER BY i"
    )
    plan = plan_of(graph, query)
    assert any(isinstance(each, AggregateEntries) and len(each.counts) == 2 for each in operators(plan.root))
    weights = np.bincount(before, minlength=n)[start] * np.bincount(hanging, minlength=n)[end] * (start % 7 < 5)
    expected = [
        (i, int(weights[some].sum()), int((weights * end)[some].sum()), int(start[some & (weights > 0)].max()))
        for i, some in ((i, kinds == i) for i in range(1, 5))
    ]
    assert graph.query(query, device="cpu", threads=threads).fetchall() == expected
    another = (
        "MATCH (a:P)-[k:R]->(b:P)<-[:R]-(c:P) WHERE c.g < 3 AND k.i > 0 "
        "RETURN k.i AS i, count(*) AS n, sum(a.id) AS s, max(b.id) AS m ORDER BY i"
    )
    plan = plan_of(graph, another)
    assert any(isinstance(each, AggregateEntries) and len(each.others) == 1 for each in operators(plan.root))
    weights = np.bincount(end[start % 7 < 3], minlength=n)[end] - (start % 7 < 3)
    expected = [
        (i, int(weights[some].sum()), int((weights * start)[some].sum()), int(end[some & (weights > 0)].max()))
        for i, some in ((i, kinds == i) for i in range(1, 5))
    ]
    assert graph.query(another, device="cpu", threads=threads).fetchall() == expected
    once = "MATCH (a:P)-[k:R]->(b:P)-[:S]->(c) RETURN k.i AS i, count(DISTINCT b) AS n, max(a.id) AS m ORDER BY i"
    ends = np.isin(end, hanging)
    expected = [
        (i, len(set(end[some].tolist())), int(start[some].max()))
        for i, some in ((i, ends & (kinds == i)) for i in range(5))
    ]
    assert graph.query(once, device="cpu", threads=threads).fetchall() == expected


def random_graph(n: int, edges: int, weights: Any) -> tuple[Graph, np.ndarray, np.ndarray]:
    random = np.random.default_rng(5)
    start, end = random.integers(0, n, edges), random.integers(0, n, edges)
    nodes = pa.table({"id": np.arange(n), "g": np.arange(n) % 7, "t": [f"t{k % 11}" for k in range(n)]})
    table = pa.table({"start": start, "end": end, "w": weights, "i": np.arange(edges) % 5})
    return Graph.from_arrow([("P", nodes)], [("R", table)], key="id"), start, end


def test_different_values_of_what_a_key_tells_apart() -> None:
    """One for each group at most, none where it is null, if the key differs for each element."""
    nodes = [{"id": k, "labels": "P", "properties": {"k": k, "g": k % 3, "t": "xy"[k % 2] if k % 5 else None}}
             for k in range(20)]  # fmt: skip
    edges = [{"type": "R", "start": k % 20, "end": 7 * k * k % 20, "properties": {"i": k % 4}} for k in range(150)]
    graph = Graph.from_records(nodes, edges)
    asked = "count(DISTINCT a.t), count(DISTINCT a), count(DISTINCT b.t), count(DISTINCT k.i)"
    with pytest.MonkeyPatch.context() as patch:
        for name in ("SETUP", "_AN_ENTRY", "_AN_ELEMENT", "_COMPARED"):
            patch.setattr(over_entries, name, 0.0)
        for keys in ("a.k, b.g", "a, b.g", "a.g, b.k", "a.g, b.g", "k, a.g"):
            agrees(graph, f"MATCH (a:P)-[k:R]->(b:P) RETURN {keys}, {asked}")


@pytest.mark.parametrize(
    ("pattern", "once"),
    [
        ("(a:P)-[k:R]->(b)", {"a", "k"}),
        ("(b)<-[k:R]-(a)", {"a", "k"}),
        ("(a)-[k:R]-(b)", set()),
        ("(a)-[k:R|S]->(b)", set()),
        ("(a)-[k:S]->(b:P)", {"b", "k"}),
        ("(a)-[k:U]-(b)", set()),
        ("(a)-[k:T]->(b)", {"k"}),
        ("(a)-[k:R]->(b)-[:S]->(c)", set()),
    ],
)
def test_what_comes_in_one_entry_is_counted_without_a_look_at_others(pattern: str, once: set[str]) -> None:
    nodes = [{"id": k, "labels": "P" if k % 7 else "Q", "properties": {"g": k % 3}} for k in range(40)]
    edges = [{"type": "R", "start": k, "end": k // 3} for k in range(1, 40)]
    edges += [{"type": "S", "start": k // 4, "end": k} for k in range(40)]
    edges += [{"type": "T", "start": k, "end": k // 2} for k in range(40)] + [{"type": "T", "start": 9, "end": 9}]
    edges += [{"type": "U", "start": k, "end": (k + 1) % 40} for k in range(0, 40, 2)]
    graph = Graph.from_records(nodes, edges, undirected=["U"])
    seen: list[set[str]] = []

    def bindings(elements: Any, carried: Any, known: Any) -> Any:
        seen.append(set(known))
        return Bindings(elements, carried, known)

    with pytest.MonkeyPatch.context() as patch:
        for name in ("SETUP", "_AN_ENTRY", "_AN_ELEMENT"):
            patch.setattr(over_entries, name, 0.0)
        patch.setattr(by_node, "cost_of_rows", lambda *_: 1e12)
        patch.setattr(aggregate_entries, "Bindings", bindings)
        for key in ("a.g", "b.g"):
            agrees(graph, f"MATCH {pattern} RETURN {key}, count(DISTINCT a), count(DISTINCT b), count(DISTINCT k)")
    assert all(known == once for known in seen) and (seen or not once)


@pytest.mark.parametrize("spread", [0, 3, 30])
def test_sums_of_floats_do_not_depend_on_threads(spread: int) -> None:
    random = np.random.default_rng(spread)
    edges = 100_000
    values = random.normal(size=edges) * 10.0 ** random.integers(-spread, spread + 1, edges)
    graph, start, end = random_graph(1000, edges, values)
    query = "MATCH (a:P)-[k:R]->(b:P) RETURN a.g AS g, b.t AS t, sum(k.w) AS s, avg(k.w) AS m ORDER BY g, t"
    assert any(isinstance(each, AggregateEntries) for each in operators(plan_of(graph, query).root))
    rows = graph.query(query, device="cpu", threads=1).fetchall()
    assert len(rows) == 77
    for group, text, total, mean in rows:
        mine = values[(start % 7 == group) & (end % 11 == int(text[1:]))]
        slack = 1e-12 * math.fsum(np.abs(mine))
        assert abs(total - math.fsum(mine)) <= slack
        assert abs(mean - math.fsum(mine) / len(mine)) <= slack / len(mine)
    assert rows == graph.query(query, device="cpu", threads=3).fetchall()


@pytest.mark.parametrize("threads", [1, 3])
def test_percentiles_are_of_what_entries_have(threads: int) -> None:
    """By few and by many groups, each entry once, and as often as what hangs at its end says."""
    random, edges = np.random.default_rng(6), 20_000
    values = random.normal(size=edges).round(2)
    graph, start, end = random_graph(4_000, edges, values)
    groups_by = {"a.g": start % 7, "a.id % 1999": start % 1999, "k.i": np.arange(edges) % 5, "a.g * 0": start * 0}
    returned = "percentileDisc(k.w, 0.9) AS d, percentileDisc(b.t, 0.5) AS t, percentileCont(k.w, 0.25) AS c ORDER BY g"
    for beyond, often in (("", np.ones(edges, np.int64)), ("-[:R]->(c)", np.bincount(start, minlength=4_000)[end])):
        for key, groups in groups_by.items():
            query = f"MATCH REPEATABLE ELEMENTS (a:P)-[k:R]->(b:P){beyond} RETURN {key} AS g, {returned}"
            assert any(isinstance(each, AggregateEntries) for each in operators(plan_of(graph, query).root)), query
            expected = []
            for g in np.unique(groups[often > 0]).tolist():
                some = (groups == g) & (often > 0)
                numbers = np.repeat(values[some], often[some])
                texts = sorted(np.repeat([f"t{each % 11}" for each in end[some].tolist()], often[some]).tolist())
                disc = np.sort(numbers)[max(0, math.ceil(0.9 * len(numbers)) - 1)]
                text = texts[max(0, math.ceil(len(texts) / 2) - 1)]
                expected.append((g, disc, text, pytest.approx(np.quantile(numbers, 0.25), abs=1e-12)))
            assert graph.query(query, device="cpu", threads=threads).fetchall() == expected, query


def test_integers_beyond_64_bits_on_the_way_are_exact() -> None:
    values = np.resize(np.array([2**62, -(2**62), 2**62 - 1], np.int64), 4200)
    graph, start, _ = random_graph(50, 4200, values)
    query = "MATCH (a:P)-[k:R]->(b:P) RETURN a.g AS g, avg(k.w) AS m ORDER BY g"
    exact = [sum(values[start % 7 == g].tolist()) / int((start % 7 == g).sum()) for g in range(7)]
    assert [mean for _, mean in graph.query(query, device="cpu").fetchall()] == exact


@pytest.mark.parametrize("keys", ["", "n.g AS g, "])
def test_sums_of_one_group_have_all_digits(keys: str) -> None:
    whole = [2**62, 2**62 - 1, -(2**62), 3, None, -(2**62) + 5]
    floats = [1e15, 0.123456789, -1e15, None, 3e-9, 1.0]
    nodes = pa.table({"id": np.arange(6), "g": np.ones(6, np.int64), "w": whole, "f": floats})
    graph = Graph.from_arrow([("P", nodes)], [], key="id")
    query = f"MATCH (n:P) RETURN {keys}sum(n.w), count(n.w), sum(n.f), count(n.f)"
    assert any(isinstance(each, AggregateEntries) for each in operators(plan_of(graph, query).root))
    (row,) = graph.query(query, device="cpu").fetchall()
    total = math.fsum(each for each in floats if each is not None)
    assert row[-4:-2] == (sum(each for each in whole if each is not None), 5)
    assert row[-2] == pytest.approx(total, rel=1e-9) and row[-1] == 5


def test_bounds_of_numbers_are_those_of_the_nodes_that_are_read() -> None:
    nodes = [{"id": k, "labels": ["AB"[k % 2]], "properties": {"v": k % 2 * 10**9 + k, "f": 10.0**k}} for k in range(8)]
    graph = Graph.from_records(nodes, [])
    queries = [f"MATCH (n{label}) RETURN n.v, count(*), sum(n.v), sum(n.f)" for label in (":A", ":B", "", ":A|B")]
    for query in [*queries, *reversed(queries)]:
        agrees(graph, query)


def test_memory_limit_is_kept() -> None:
    graph, _, _ = random_graph(3000, 90_000, np.ones(90_000))
    with pytest.raises(OutOfMemory):
        query = "MATCH (a:P)-[k:R]->(b:P) RETURN a.id, b.id, sum(k.w), max(k.i)"
        graph.query(query, device="cpu", memory_limit=1_000_000).fetchall()
    percentiles = "MATCH (a:P)-[k:R]->(b:P) RETURN a.g AS g, percentileDisc(k.i, 0.5) ORDER BY g"
    expected = graph.query(percentiles, device="cpu").fetchall()
    assert graph.query(percentiles, device="cpu", memory_limit=12_000_000).fetchall() == expected
    with pytest.raises(OutOfMemory):
        graph.query(percentiles, device="cpu", memory_limit=200_000).fetchall()


def test_codes_of_a_property_are_kept_for_each_range_of_nodes() -> None:
    nodes = [
        {"id": k, "labels": [label], "properties": {"f": value, "t": f"{k}"}}
        for k, (label, value) in enumerate(zip("AABBAB", [0.5, None, float("nan"), 0.5, 1.5, 2.5], strict=True))
    ]
    graph = Graph.from_records(nodes, [{"type": "R", "start": k, "end": (k * 5 + 2) % 6} for k in range(6)])
    queries = [f"MATCH (n:{label}) RETURN n.f, count(*), count(DISTINCT n.f), min(n.t), max(n.t)" for label in "AB"]
    queries += ["MATCH (n)-[:R]->(m) RETURN m.f, min(n.t), count(DISTINCT m.t)", "MATCH (n) RETURN max(n.t), min(n.f)"]
    for query in [*queries, *queries]:
        agrees(graph, query)
    kept = {key[1:3] for key, _ in graph._store.derived.items() if isinstance(key, tuple) and key[0] == "element codes"}
    assert {("groups", "f"), ("ranks", "t")} <= kept


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("where", ["", "WHERE n.id % 3 <> 1 AND n.f > -1.0", "WHERE n.id / 8192 % 16 = 3"])
def test_many_nodes_are_folded_by_several_threads(threads: int, where: str) -> None:
    n = 400_000
    values = np.random.default_rng(3).normal(size=n).round(3)
    nodes = pa.table({"id": np.arange(n), "g": np.arange(n) % 5, "f": values})
    graph = Graph.from_arrow([("P", nodes)], [], key="id")
    query = (
        f"MATCH (n:P) {where} RETURN n.g AS g, count(*), sum(n.id), min(n.f), max(n.f), count(DISTINCT n.f) ORDER BY g"
    )
    assert any(isinstance(each, AggregateEntries) for each in operators(plan_of(graph, query).root))
    kept = np.ones(n, np.bool_)
    if "> -1.0" in where:
        kept = (np.arange(n) % 3 != 1) & (values > -1.0)
    elif where:  # most runs of vertices are empty
        kept = np.arange(n) // 8192 % 16 == 3
    expected = []
    for g in range(5):
        of = np.flatnonzero(kept & (np.arange(n) % 5 == g))
        some = values[of]
        expected.append((g, len(of), int(of.sum()), some.min(), some.max(), len(np.unique(some))))
    assert graph.query(query, threads=threads).fetchall() == expected


@pytest.mark.parametrize("order", ["a, b", "b, a"])
@pytest.mark.parametrize("keys", ["a.id % 3", "b.id % 3", "k.w", "a.id - b.id"])
def test_relationships_are_folded_from_either_end(order: str, keys: str) -> None:
    ends = pa.table({"start": [0, 0, 1, 2, 3, 3], "end": [1, 2, 2, 0, 3, 1], "w": [1, 2, 1, 2, 1, 1]})
    graph = Graph.from_arrow([("P", pa.table({"id": range(4)}))], [("R", "P", "P", ends)], key="id")
    match = f"/*+ order({order}) */ MATCH (a:P)-[k:R]->(b:P) WHERE k.w > 0"
    for value in ("a.id", "a.id + 1.5 * b.id", "b.id - k.w"):
        query = f"{match} RETURN {keys} AS g, sum({value}), min(b.id), count(*)"
        entries = [each for each in operators(plan_of(graph, query).root) if isinstance(each, AggregateEntries)]
        assert [len(each.made) for each in entries] == [("b.id" in value) + ("- b" in keys)]
        assert "rows are made" not in _profiled(graph, query)
        assert sorted(graph.query(query, device="cpu")) == sorted(graph.query(query, device="reference"))


def _profiled(graph: Graph, query: str) -> str:
    result = graph.query(f"PROFILE {query}", device="cpu")
    result.fetchall()
    return str(result.plan)


@pytest.mark.parametrize("limit", [None, "64 MB"])
def test_vertices_that_a_key_tells_apart_are_groups_as_they_are(limit: str | None, monkeypatch: Any) -> None:
    graph = unique_keys()
    for key in ("n.s", "n.g, n.k", "n"):
        query = (
            f"MATCH (n:P) WHERE n.g <> 3 RETURN {key}, count(*), sum(n.k), avg(n.f), min(n.g), max(n.t), count(n.f), "
            "count(DISTINCT n.t), max(DISTINCT n.g)"
        )
        agrees(graph, query)
        with monkeypatch.context() as patch:
            patch.setattr(aggregate_entries, "_Entries", None)  # nothing is folded
            found = graph.query(query, device="cpu").fetchall()
        assert len(found) == 360
        assert difference(found, graph.query(query, device="cpu", memory_limit=limit).fetchall()) is None


@pytest.mark.parametrize(
    "calls", ["count(*), avg(a.f), max(a.t)", "count(DISTINCT a.f), min(a.t)", "count(DISTINCT a.t), count(*)"]
)
def test_entries_of_vertices_that_a_key_tells_apart_are_counted(calls: str, monkeypatch: Any) -> None:
    graph = unique_keys()
    agrees(graph, f"MATCH (a:P)-[:R]->(b:P) WHERE a.k > 5 RETURN a.s, a.g, {calls}")
    agrees(graph, "MATCH (a:P)-[:R]->(b:P) RETURN b.g AS g, b.k, count(*), sum(b.k) ORDER BY g LIMIT 400")


@pytest.mark.parametrize(
    "keys", ["a.k, a.t, b.g", "a.t, b.g, a.s, a.f", "b.s, a.g, b.g, b.t", "a, a.t, b.f", "b.k, a.s, a.t"]
)
def test_keys_of_an_element_that_one_of_them_tells_apart_are_one(keys: str, monkeypatch: Any) -> None:
    graph, made = unique_keys(), folds_made(monkeypatch)
    calls = "count(*), max(b.k), count(DISTINCT a.t), count(DISTINCT b), count(a.f)"
    agrees(graph, f"MATCH (a:P)-[k:R]->(b:P) WHERE a.g <> 3 RETURN {keys}, {calls}")
    agrees(graph, f"MATCH (a:P)-[k:R]->(b:P)-[:R]->(c:P) RETURN {keys}, {calls}")
    assert made[0][0] == len({key.strip()[0] for key in keys.split(",")})


def test_different_values_are_counted_as_rows_that_each_have_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, made = unique_keys(), folds_made(monkeypatch)
    agrees(graph, "MATCH (a:P) WHERE a.g <> 3 RETURN a.t, count(DISTINCT a), count(DISTINCT a.k), count(DISTINCT a.s)")
    agrees(graph, "MATCH (a:P) WHERE a.g <> 3 RETURN a.g, count(DISTINCT a.g)")
    assert set(made) == {(1, 1)}  # of one key, and rows are counted


def folds_made(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Return a list to which each fold adds how many keys and tasks it has."""
    made: list[tuple[int, int]] = []
    begin = Fold.__init__

    def noted(self: Fold, names: Any, by: Any, tasks: Any, *others: Any) -> None:
        made.append((len(by), len(tasks)))
        begin(self, names, by, tasks, *others)

    monkeypatch.setattr(Fold, "__init__", noted)
    return made


def unique_keys() -> Graph:
    """Return 420 nodes, the values of whose ``k`` and ``s`` all differ, those of ``k`` without order."""
    numbers = np.random.default_rng(3).permutation(420)
    nodes = pa.table(
        {
            "k": numbers,
            "s": [f"s{each}" for each in numbers],
            "g": numbers % 7,
            "t": [None if each % 5 == 0 else f"t{each % 11}" for each in numbers],
            "f": [None if each % 3 == 0 else each / 8 for each in numbers.tolist()],
        }
    )
    random = np.random.default_rng(4)
    table = pa.table({"start": random.integers(0, 420, 1_200), "end": random.integers(0, 420, 1_200)})
    return Graph.from_arrow([("P", nodes)], [("R", table)], key="k")


def test_what_a_search_only_counts_is_no_rows() -> None:
    """Many matches that a search counts at once are not told one by one: nothing has to be weighed instead."""
    nodes = [{"id": k, "labels": "P", "properties": {"k": k * k % 97}} for k in range(300)]
    ends = [(k % 300, (7 * k + k // 300) % 300) for k in range(9_000)]
    graph = Graph.from_records(nodes, [{"type": "R", "start": one, "end": other} for one, other in ends])
    query = "MATCH (a:P)-[:R]->(b:P)-[k:R]->(c:P) WHERE b.k < c.k RETURN count(*)"
    assert not any(isinstance(each, AggregateEntries) for each in operators(plan_of(graph, query).root))
    count = graph.query(query).value()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(by_node, "cost_of_rows", lambda *_: 1e12)
        assert any(isinstance(each, AggregateEntries) for each in operators(plan_of(graph, f"{query} ").root))
        assert graph.query(f"{query} ").value() == count


def test_a_long_pattern_is_planned_around_few_of_its_relationships(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []
    monkeypatch.setattr(weighed_entries, "over_entries", lambda *given: tried.append(given))
    monkeypatch.setattr(by_node, "cost_of_rows", lambda source, catalog: 1e12)
    nodes = [{"id": k, "properties": {"v": k}} for k in range(4)]
    graph = Graph.from_records(nodes, [{"type": "R", "start": k, "end": (k + 1) % 4} for k in range(4)])
    path = "-->".join(f"(x{k})" for k in range(13))
    where = " AND ".join(f"x{k}.v < x{k + 1}.v" for k in range(12))
    graph.explain(f"MATCH REPEATABLE ELEMENTS {path} WHERE {where} RETURN count(*)")
    assert 0 < len(tried) <= 6


def test_rows_that_are_folded_are_found_rather_than_summed_where_few_are_left() -> None:
    """Ranges of an order take as long for all nodes as for the few that the conditions leave."""
    n, random = 20_000, np.random.default_rng(8)
    nodes = pa.table({"id": np.arange(n), "i": np.arange(n) % 75, "g": np.arange(n) % 2})
    start, end = random.integers(0, n, (2, 400_000))
    graph = Graph.from_arrow([("P", nodes)], [("R", pa.table({"start": start, "end": end}))], key="id")
    pattern = "(a:P)-[:R]->(b:P)<-[:R]-(c:P)"
    query = f"MATCH {pattern} WHERE b.id < {{}} AND c.i < a.i RETURN a.g AS g, sum(c.i) AS s, count(*) AS n"
    few, many = query.format(1_200), query.format(4_000)
    assert "AggregateByNode" not in str(graph.explain(few))
    assert "AggregateByNode" in str(graph.explain(many))
    assert sorted(graph.query(few).fetchall()) == sorted(graph.query(f"/*+ eliminate */ {few}").fetchall())
