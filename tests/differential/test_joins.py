"""Patterns that are cut in two and joined, wherever a cut is possible, give what the reference executor gives."""

from __future__ import annotations

from importlib import import_module

import pytest

from qengine import Graph
from qengine._frozen import replace
from qengine.errors import OutOfMemory, QueryTimeout, SemanticError, Unsupported
from qengine.optimizer import joins
from qengine.optimizer.joins import Join
from qengine.optimizer.matching import Matching
from qengine.testing.compare import agree, difference
from qengine.testing.composed import check
from qengine.testing.random_graph import random_graph
from qengine.testing.random_query import random_query

PATHS = [
    "(a:A)-[r:R]-(b)-[s:R]-(c)-[t:R]-(d:A)",
    "(a:A)-[r:R]->(b)-[s:S]->(c)<-[t:R]-(d:A), (d)-[u:R]-(e)",
    "(a)-[r:R]-(b)-[s:S]-(c)-[t:R]-(d)-[u:S]-(a)",
    "(a:A)-[r:R]->(b)-[s:S]->(c), (c)-[t]->(d)-[u:S]-(e:A)",
]
RETURNED = ["count(*)", "a, d", "DISTINCT a", "a, r, t", "count(DISTINCT a)", "d.x, count(*), sum(b.x)", "b.x LIMIT 3"]
MODES = ["", "REPEATABLE ELEMENTS ", "DIFFERENT NODES "]


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> list[Join | None]:
    """Take the first cut of each pattern that can be cut; the list tells which."""
    taken: list[Join | None] = []
    better = joins.better_join

    def noted(*args: object) -> Join | None:
        taken.append(better(*args))  # type: ignore[arg-type]
        return taken[-1]

    monkeypatch.setattr(joins, "_WORTH", -1.0)
    monkeypatch.setattr(joins, "_MARGIN", 1e-30)
    monkeypatch.setattr(joins, "_SURPRISE", 1e-30)
    monkeypatch.setattr(import_module("qengine.optimizer.lower.match_strategy"), "better_join", noted)
    return taken


@pytest.fixture(scope="module")
def graph() -> Graph:
    nodes = [{"id": row, "labels": "AB"[row % 2], "properties": {"x": row % 4}} for row in range(10)]
    ends = [(row, (row * 7 + k) % 10) for row in range(10) for k in (0, 1, 3)] + [(1, 2), (1, 2)]
    edges = [{"type": "RS"[(start + end) % 3 == 0], "start": start, "end": end} for start, end in ends]
    return Graph.from_records(nodes, edges)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("pattern", PATHS)
def test_every_way_of_returning(graph: Graph, pattern: str, mode: str, always: list[Join | None]) -> None:
    for returned in RETURNED:
        for where in ("", " WHERE a.x < d.x", " WHERE a.x + d.x = 3 AND b <> d"):
            text = f"MATCH {mode}{pattern}{where} RETURN {returned}"
            found, expected = graph.query(text).fetchall(), graph.query(text, device="reference").fetchall()
            if "LIMIT" in text:
                assert len(found) == len(expected)
            else:
                assert difference([tuple(row) for row in expected], [tuple(row) for row in found]) is None, text
    assert any(always)


@pytest.mark.parametrize("block", [0, *(pytest.param(block, marks=pytest.mark.slow) for block in range(1, 40))])
def test_generated_queries(block: int, always: list[Join | None]) -> None:
    for seed in range(50_000 + 100 * block, 50_100 + 100 * block):
        made = random_graph(seed)
        check(Graph(made.store()), random_query(seed, made))
    assert sum(join is not None for join in always) > 10


def test_optional_and_existing_patterns(graph: Graph, always: list[Join | None]) -> None:
    for text in (
        "MATCH (x:A) OPTIONAL MATCH (a:B)-[:R]-(b)-[:R]-(c) WHERE a.x = x.x RETURN x, a, c",
        "MATCH (x:A) WHERE EXISTS { (a:B)-[:R]-(b)-[:R]-(c) WHERE a.x = x.x AND c.x = x.x } RETURN x",
        "MATCH (x) RETURN x, COUNT { (a:B)-[:R]-(b)-[:S]-(c) WHERE c.x > x.x }",
        "UNWIND [1, 2] AS i MATCH (a:B)-[:R]-(b)-[:S]-(c) RETURN i, count(*)",
    ):
        agree(graph, text)
    assert any(always)


GIVEN = [
    "MATCH (a:A)-[:R]-(b)",
    "UNWIND [3, 1, null, 3] AS i OPTIONAL MATCH (a {x: i}), (b)",
    "MATCH (q) WITH collect(q) AS all UNWIND all AS a UNWIND all AS b",
]
AFTER = [
    "(a)-[r:R]-(c)-[s:S]-(d:A)",
    "(a)-[r:R]->(c)<-[s:R]-(b), (c)-[t:S]-(d)",
    "(a)-[r:R]-(c)-[s:R]-(d)-[t:S]-(a)",
    "(a)-[r:R]-(c), (b)-[s:R]-(d)",
]


@pytest.mark.parametrize("kind", ["MATCH", "OPTIONAL MATCH"])
@pytest.mark.parametrize("pattern", AFTER)
def test_rows_of_earlier_clauses_are_a_side(graph: Graph, pattern: str, kind: str, always: list[Join | None]) -> None:
    for given in GIVEN:
        for where in ("", " WHERE c.x < d.x AND a <> d AND a.x + d.x = 3"):
            for returned in ("a.x, count(d), sum(b.x)", "DISTINCT a.x, d.x", "a, b, c, d, r"):
                text = f"{given} WITH a, b {kind} {pattern}{where} RETURN {returned}"
                agree(graph, text)
    assert any(always)


@pytest.mark.parametrize("most", [3, 9, 1_000_000])
def test_what_is_done_with_rows_is_told_by_how_many_there_are(
    graph: Graph, most: int, always: list[Join | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    strategy = import_module("qengine.optimizer.lower.match_strategy")
    better = strategy.better_join

    def told(matching: Matching, *rest: object) -> Join | None:
        join = better(matching, *rest)
        return replace(join, most=most) if join is not None and matching.bound else join

    monkeypatch.setattr(strategy, "better_join", told)
    plans = 0
    for number, pattern in enumerate(AFTER):
        for given in GIVEN[number % 2 :: 2]:
            for returned in ("a.x, count(d), sum(b.x)", "count(*)", "DISTINCT a.x, d.x", "a, b, c, d, r"):
                kind = "OPTIONAL MATCH" if number % 3 == 2 else "MATCH"
                where = " WHERE c.x < d.x AND a <> d AND a.x + d.x = 3" if "," in returned else ""
                text = f"{given} WITH a, b {kind} {pattern}{where} RETURN {returned}"
                agree(graph, text)
                plans += "FewOrMany" in str(graph.explain(text))
    assert plans >= 8
    inside = "MATCH (x:A) WHERE COUNT { MATCH (x)-[:R]-(a) WITH a MATCH (a)-[:R]->(b)-[:S]->(c) RETURN c } > 3 RETURN x"
    agree(graph, inside)
    profiled = "PROFILE MATCH (a:A)-[:R]-(b) WITH a, b MATCH (a)-[:R]-(c)-[:S]-(d:A) RETURN a, b, c, d"
    assert graph.query(profiled).fetchall()


def test_given_rows_are_joined_where_they_are_many() -> None:
    edges = [{"type": "R", "start": row % 3000, "end": (7 * row + row // 3000) % 3000} for row in range(60_000)]
    nodes = [{"id": row, "labels": "P", "properties": {"x": row}} for row in range(3000)]
    graph = Graph.from_records(nodes, edges)
    after = "MATCH (a)-[:R]->(b)-[:R]->(c)-[:R]->(:P {x: 3})"
    many = f"MATCH (a:P) WITH a ORDER BY a.x LIMIT 2500 {after} RETURN a.x, count(*)"
    plan = str(graph.explain(many))
    assert "HashJoin on" in plan and "for all rows" in plan
    assert "Join" not in str(graph.explain(many.replace("2500", "2")))
    found, expected = graph.query(many).fetchall(), graph.query(f"/*+ order(b, c) */ {many}").fetchall()
    assert difference([tuple(row) for row in expected], [tuple(row) for row in found]) is None
    reached = "MATCH (q:P {x: 7})-[:R*1..2]-(a:P) WITH DISTINCT a"  # how many there are depends on the node
    after = "MATCH (a)-[:R]->(b)-[:R]->(c)-[:R]->(d:P) WHERE d.x < 20"
    assert "FewOrMany: the first for up to" in str(graph.explain(f"{reached} {after} RETURN a.x, count(*)"))
    assert "Join" not in str(graph.explain(f"/*+ order(b, c) */ {many}"))


PATH = "MATCH (a)-[:R]-(b)-[:R]-(c)-[:R]-(d) "


def test_the_hint_is_followed(graph: Graph) -> None:
    plan = str(graph.explain(f"/*+ join(a, b, c | c, d) */ {PATH} RETURN a, d"))
    assert "HashJoin on c emit d" in plan and "as hinted" in plan
    assert "SemiJoin on b" in str(graph.explain(f"/*+ join(a, b | b, d) */ {PATH} RETURN DISTINCT a"))
    assert "Join" not in str(
        graph.explain("/*+ join(a, b | b, c) */ MATCH (a)-[:R]-(b) MATCH p = (b)-[*1..2]-(c) RETURN p")
    )


@pytest.mark.parametrize(
    ("hint", "kind", "message"),
    [
        ("join(a, b)", SemanticError, "A join has two sides."),
        ("join(a, b | b, c | c, d)", SemanticError, "A join has two sides."),
        ("join(a, b | b, q)", SemanticError, "No pattern has a node `q`."),
        ("join(a, b | b", SemanticError, "The hint 'join' lacks ')'."),
        ("join(a, b | )", SemanticError, "The hint lacks a node's name."),
        ("join(a, b, b | b, c)", SemanticError, "A side of the join names `b` twice."),
        ("join(a, b | b, c) join(a | b)", SemanticError, "The hint 'join' contradicts one before it."),
        ("join(a, b | c, d)", Unsupported, "would be on both sides"),
        ("join(a | a, b, d)", Unsupported, "need nodes of their own"),
        ("join(b, c | c)", Unsupported, "d belongs to neither side"),
    ],
)
def test_hints_that_cannot_be_followed(graph: Graph, hint: str, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        graph.query(f"/*+ {hint} */ {PATH} RETURN a")
    assert message in str(caught.value)


def test_limits_hold() -> None:
    hub = [{"type": "R", "start": 0, "end": row} for row in range(1, 2000)]
    star = Graph.from_records([{"id": row} for row in range(2000)], hub)
    text = "/*+ join(a, h | h, b, c) */ MATCH REPEATABLE ELEMENTS (a)<--(h)-->(b), (h)-->(c) RETURN a, b, c"
    with pytest.raises(OutOfMemory, match="rows of the result"):
        star.query(text, memory_limit=2_000_000).fetchall()
    with pytest.raises(QueryTimeout):
        for _ in star.query(text, timeout=0.5).to_reader():
            pass


def test_what_many_rows_ask_for_is_matched_once() -> None:
    n = 1200
    halves = [(row, row // 600 * 600 + (row * 37 + k * k * 11) % 600) for row in range(n) for k in range(20)]
    edges = [{"type": "R", "start": start, "end": end} for start, end in halves]
    graph = Graph.from_records([{"id": row, "labels": "P", "properties": {"x": row}} for row in range(n)], edges)
    inside = "(a)-[:R]-(b)-[:R]-(c)-[:R]-(d:P {x: 3})"
    for text in (
        f"MATCH (a:P) WHERE EXISTS {{ {inside} }} RETURN a.x",
        f"MATCH (a:P)-[:R]->(e) WHERE NOT EXISTS {{ {inside} }} RETURN a.x, e.x",
        f"MATCH {inside} RETURN DISTINCT a.x",
    ):
        plan = str(graph.explain(text))
        assert ("SemiJoin on a" in plan or "EXISTS of every a, once" in plan) == ("EXISTS" in text)
        assert "SemiJoin" not in str(graph.explain(f"/*+ search */ {text}"))
        found, searched = graph.query(text).fetchall(), graph.query(f"/*+ search */ {text}").fetchall()
        assert sorted(found) == sorted(searched) and found


def test_a_join_is_chosen_where_selective_ends_meet() -> None:
    n = 3000
    edges = [{"type": "R", "start": row, "end": (row * 31 + k * k * 7) % n} for row in range(n) for k in range(30)]
    graph = Graph.from_records([{"id": row, "labels": "P", "properties": {"x": row}} for row in range(n)], edges)
    ends = "(a:P {x: 5})-[:R]-(b)-[:R]-(c)-[:R]-(d)-[:R]-(e:P {x: 8})"
    text = f"MATCH {ends} RETURN b.x, c.x, d.x"
    assert "HashJoin on c" in str(graph.explain(text))
    assert "Join" not in str(graph.explain(f"/*+ search */ {text}"))
    found, searched = graph.query(text).fetchall(), graph.query(f"/*+ search */ {text}").fetchall()
    assert sorted(found) == sorted(searched)
    assert "Join" not in str(graph.explain("MATCH (a)-[:R]-(b)-[:R]-(c)-[:R]-(a) RETURN a.x, b.x, c.x"))
