"""Hints: the order and the strategy that they ask for are taken, and never change an answer."""

from __future__ import annotations

from itertools import permutations

import pytest

from qengine import Graph
from qengine.errors import Unsupported

SQUARE = "MATCH (a:A)-[:R]-(b)-[:R]-(c:A)-[:S]->(d)-[:R]-(a)"


@pytest.fixture(scope="module")
def graph() -> Graph:
    nodes = [{"id": row, "labels": "AB"[row % 2]} for row in range(12)]
    ends = [(row, (row * 5 + k) % 12) for row in range(12) for k in (1, 2, 4)]
    edges = [{"type": "RS"[start % 3 == 0], "start": start, "end": end} for start, end in ends if start != end]
    return Graph.from_records(nodes, edges)


@pytest.mark.parametrize("returned", ["count(*)", "a.id, count(*)", "a, c", "DISTINCT d"])
def test_no_hint_changes_an_answer(graph: Graph, returned: str) -> None:
    def rows(hint: str) -> list[str]:
        return sorted(map(repr, graph.query(f"/*+ {hint} */ {SQUARE} RETURN {returned}").fetchall()))

    expected = sorted(map(repr, graph.query(f"{SQUARE} RETURN {returned}", device="reference").fetchall()))
    hints = [f"order({', '.join(order)}) extend" for order in permutations("abcd")]
    for hint in ("search", "extend", "order(gsi)", "order(ri)", "order(quicksi)", "order(c)", "ORDER(`d`)", *hints):
        assert rows(hint) == expected, hint


def plan(graph: Graph, hint: str) -> str:
    return str(graph.explain(f"{hint} {SQUARE} RETURN a, b, c, d"))


def test_the_order_is_followed(graph: Graph) -> None:
    assert "order d → c → b → a as hinted" in plan(graph, "/*+ order(d, c, b, a) */")
    assert "order c → " in plan(graph, "/*+ order(c) */")


@pytest.mark.parametrize("rule", ["gsi", "ri", "quicksi"])
def test_rules_have_names(graph: Graph, rule: str) -> None:
    assert f" by {rule}" in plan(graph, f"/*+ order({rule}) */")


@pytest.mark.parametrize("rule", ["gsi", "ri", "quicksi"])
def test_rules_order_what_follows_bound_nodes(graph: Graph, rule: str) -> None:
    query = "MATCH (a:A) OPTIONAL MATCH (a)-[:R]-(b)-[:S]-(c) WHERE COUNT { (b)-->()-->(d) } > 2 RETURN a.id, count(c)"
    expected = sorted(graph.query(query, device="reference").fetchall())
    assert sorted(graph.query(f"/*+ order({rule}) */ {query}").fetchall()) == expected


def test_a_node_may_be_called_like_a_rule(graph: Graph) -> None:
    shown = str(graph.explain("/*+ order(ri) */ MATCH (a)-->(ri) RETURN a, ri"))
    assert "order ri → a as hinted" in shown


def test_strategies(graph: Graph) -> None:
    assert "Extend emit" in plan(graph, "/*+ extend */")
    assert "Search emit" in plan(graph, "/*+ search */")


def test_several_hints_stand_anywhere(graph: Graph) -> None:
    shown = str(graph.explain(f"{SQUARE} /*+ extend, order(b, a) */ RETURN a, b /*+*/"))
    assert "Extend" in shown and "order b → a → " in shown


def test_hints_reach_subqueries_and_every_match(graph: Graph) -> None:
    text = "/*+ order(b, a) extend */ MATCH (a)-->(b) RETURN EXISTS { MATCH (b)-->(c) }, COUNT { MATCH (c)-->(a) } AS n"
    assert str(graph.explain(text)).count("Extend") == 3


@pytest.mark.parametrize(
    ("text", "unused"),
    [
        ("/*+ search */ RETURN 1", ["search"]),
        ("/*+ order(b) */ MATCH (a)-[*1..2]->(b) RETURN a, b", ["order"]),
        ("/*+ join(a | b), extend */ MATCH (a:A) WITH a LIMIT 2 MATCH (b:B) RETURN a, b", ["join"]),
        ("/*+ extend order(ri) */ UNWIND [1, 2] AS x RETURN x", ["extend", "order"]),
        ("/*+ order(b, a) extend */ MATCH (a)-->(b) RETURN a, b", []),
        ("/*+ eliminate */ MATCH (a)-->(b)-->(c) RETURN count(*)", []),
        ("/*+ order(quicksi) search */ MATCH (a)-->(b)-->(c) RETURN a, b, c", []),
        ("/*+ as_written */ RETURN 1", []),
    ],
)
def test_hints_that_change_nothing_are_told(graph: Graph, text: str, unused: list[str]) -> None:
    notices = [each for each in graph.query(text).notices if each.code == "UnusedHint"]
    places = [each.span for each in notices]
    assert [text[place.start : place.end] for place in places if place is not None] == unused


def test_a_hint_that_cannot_be_followed_is_shown(graph: Graph) -> None:
    for hint, name in (("eliminate", "eliminate"), ("search join(a, b | c, d)", "join")):
        with pytest.raises(Unsupported) as caught:
            graph.query(f"/*+ {hint} */ {SQUARE} RETURN a, b, c, d")
        span, text = caught.value.span, caught.value.text
        assert span is not None and text is not None and text[span.start : span.end] == name
