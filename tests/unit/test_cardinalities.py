"""Cardinalities that a query brings along: found in its patterns, believed, shown, and never part of an answer."""

from __future__ import annotations

from typing import Any

import pytest

from qengine import Graph, estimate
from qengine.errors import QueryInterrupted, QueryTimeout, SemanticError
from qengine.plan.physical import Search
from qengine.testing.plans import planned

PATH = "MATCH (a:A)-[r:R]->(b:B)-[:S]->(c:A) RETURN count(*)"


@pytest.fixture(scope="module")
def graph() -> Graph:
    nodes = [{"id": k, "labels": "AB"[k % 2], "properties": {"x": k}} for k in range(40)]
    edges = [
        {"type": "RS"[k % 2], "start": k, "end": (k + step) % 40, "properties": {"w": k}}
        for k in range(40)
        for step in (1, 3, 7)
    ]
    return Graph.from_records(nodes, edges)


def search(graph: Graph, text: str, given: Any) -> Search:
    (found,) = planned(graph, text, Search, cardinalities=given)
    return found


def rows(graph: Graph, text: str, given: Any) -> float:
    found = search(graph, text, given).rows
    assert found is not None
    return found


def test_the_rows_of_the_whole_pattern_are_believed(graph: Graph) -> None:
    assert rows(graph, PATH, {"(x:A)-[:R]->(y:B)-[:S]->(z:A)": 12345.0}) == pytest.approx(12345.0)
    assert rows(graph, PATH, {"(z:A)<-[:S]-(:B)<-[:R]-(:A)": 0}) == pytest.approx(1e-3)


def test_the_rows_of_a_part_scale_the_whole(graph: Graph) -> None:
    plain = rows(graph, PATH, {})
    edge = rows(graph, "MATCH (a:A)-[:R]->(b:B) RETURN count(*)", {})
    assert rows(graph, PATH, {"(p:A)-[:R]->(q:B)": 10 * edge}) == pytest.approx(10 * plain, rel=1e-6)
    both = {"(p:A)-[:R]->(q:B)": 10 * edge, "(p:A)-[:R]->(:B)-[:S]->(:A)": 7.0}
    assert rows(graph, PATH, both) == pytest.approx(7.0)


def test_a_node_is_a_part(graph: Graph) -> None:
    text = "MATCH (a:A {x: 4})-[:R]->(b:B) RETURN count(*)"
    assert rows(graph, text, {"(n:A) WHERE n.x = 4": 10.0}) == pytest.approx(
        10 * rows(graph, text, {"(n:A {x: 4})": 1.0})
    )


def test_parts_have_the_same_labels_types_directions_and_conditions(graph: Graph) -> None:
    plain = rows(graph, PATH, {})
    for part in ("(:B)-[:R]->(:A)", "(:A)<-[:R]-(:B)", "(:A)-[:S]->(:B)", "(:A)-[:R]->()", "(:A)-[r:R {w: 1}]->(:B)"):
        result = graph.query(PATH, cardinalities={part: 1e6})
        assert [each.code for each in result.notices] == ["UnusedCardinality"], part
        assert rows(graph, PATH, {part: 1e6}) == pytest.approx(plain)
    assert not graph.query(PATH, cardinalities={"(:A)-[:R]->(:B)": 1e6}).notices


def test_a_part_has_all_relationships_among_its_nodes(graph: Graph) -> None:
    text = "MATCH (a)-[:R]->(b)-[:S]->(c), (a)-[:S]->(c) RETURN count(*)"
    assert graph.query(text, cardinalities={"()-[:R]->()-[:S]->()": 5.0}).notices
    assert not graph.query(text, cardinalities={"(p)-[:R]->(q)-[:S]->(r)<-[:S]-(p)": 5.0}).notices


def test_orders_follow_what_is_given(graph: Graph) -> None:
    text = "MATCH (a:A)-[:R]->(b:B)-[:S]->(c:A)-[:R]->(d:B) RETURN a, b, c, d"
    few, many = "(:A)-[:R]->(:B)-[:S]->(:A)", "(:B)-[:S]->(:A)-[:R]->(:B)"
    first = search(graph, text, {few: 1.0, many: 1e9})
    last = search(graph, text, {few: 1e9, many: 1.0})
    assert [level.name for level in first.levels][-1] == "d"
    assert [level.name for level in last.levels][-1] == "a"


def test_answers_stay_the_same(graph: Graph) -> None:
    expected = graph.query(PATH).value()
    for given in (0.0, 1e12):
        assert graph.query(PATH, cardinalities={"(:A)-[:R]->(:B)": given}).value() == expected


def test_explain_says_so(graph: Graph) -> None:
    shown = str(graph.explain(PATH, cardinalities={"(:A)-[:R]->(:B)": 9.0}))
    assert "; 1 cardinality given" in shown
    assert "cardinalit" not in str(graph.explain(PATH))
    assert str(graph.prepare(PATH, cardinalities={"(:A)-[:R]->(:B)": 9.0}).plan) == shown


def test_parts_are_sampled(graph: Graph) -> None:
    for text in (PATH, "MATCH (a:A)-[:R]-(b)-[:S]-(c)--(d), (a)--(d) RETURN count(*)"):
        repeatable = text.replace("MATCH", "MATCH REPEATABLE ELEMENTS")
        (found,) = planned(graph, repeatable, Search, cardinalities="sampled")
        assert found.rows == pytest.approx(graph.query(repeatable).value(), rel=0.1)
        assert graph.query(text, cardinalities="sampled").value() == graph.query(text).value()
    assert "cardinalities sampled" in str(graph.explain(PATH, cardinalities="sampled"))


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (a:A)-[:R]->(b) WHERE a.x > $x RETURN count(*)",
        "MATCH (a0)" + "".join(f"--(a{k})" for k in range(1, 12)) + " RETURN a0 LIMIT 1",
        "MATCH (a:A)-[r:R]->(b) WHERE 10 / b.x > 1 AND r.w <> 39 RETURN count(*)",  # it fails for the b of r.w = 39
    ],
)
def test_what_cannot_be_sampled_is_planned_by_statistics(graph: Graph, text: str) -> None:
    shown = str(graph.explain(text, cardinalities="sampled"))
    assert "sampled" not in shown or "0 cardinalities sampled" in shown
    if "count" in text:
        given = {"x": 3} if "$x" in text else {}
        assert graph.query(text, given, cardinalities="sampled").value() == graph.query(text, given).value()


def test_sampling_obeys_the_timeout_and_the_interrupt(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    text = PATH.replace("a:A", "first:A")  # not planned before
    with pytest.raises(QueryTimeout):
        graph.query(text, cardinalities="sampled", timeout=1e-9)
    sample = estimate.estimate_all

    def interrupted(*args: Any, **named: Any) -> Any:
        graph.interrupt()
        return sample(*args, **named)

    monkeypatch.setattr(estimate, "estimate_all", interrupted)
    with pytest.raises(QueryInterrupted):
        graph.query(text, cardinalities="sampled")


def test_another_word_is_refused(graph: Graph) -> None:
    with pytest.raises(SemanticError, match="There are no cardinalities 'guessed'"):
        graph.query(PATH, cardinalities="guessed")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("part", "given", "message"),
    [
        ("(a:A)-[:R]->(b:B)", -1.0, "not a number of rows"),
        ("(a:A)-[:R]->(b:B)", "many", "not a number of rows"),
        ("(a:A)-[:R]->(b:B)", True, "not a number of rows"),
        ("(a:A)-[:R]->", 1.0, "can't be used: "),
        ("(a:A)-[:R*1..2]->(b)", 1.0, "can't be used for planning"),
        ("(a:A), (b:B)", 1.0, "can't be used for planning"),
        ("(a:A)-[:R]->(b) WHERE a.x < b.x", 1.0, "can't be used for planning"),
    ],
)
def test_what_is_no_cardinality_is_refused(graph: Graph, part: str, given: Any, message: str) -> None:
    with pytest.raises(SemanticError, match=message):
        graph.query(PATH, cardinalities={part: given})


def test_two_numbers_for_one_part_are_refused(graph: Graph) -> None:
    with pytest.raises(SemanticError, match="are the same part, with cardinalities 1 and 2"):
        graph.query(PATH, cardinalities={"(a:A)-[:R]->(b:B)": 1.0, "(x:B)<-[:R]-(:A)": 2})
    assert rows(graph, PATH, {"(x:A)-[:R]->(y:B)-[:S]->(z:A)": 5.0, "(:A)<-[:S]-(:B)<-[:R]-(:A)": 5}) == pytest.approx(
        5.0
    )


def test_a_comment_hides_nothing_of_a_part(graph: Graph) -> None:
    part = "(x:A)-[:R]->(y:B)-[:S]->(z:A)"
    assert rows(graph, PATH, {f"{part} // of the last year": 5.0}) == pytest.approx(5.0)
    with pytest.raises(SemanticError, match="can't be used: Nothing may follow RETURN"):
        graph.query(PATH, cardinalities={f"{part} RETURN count(*) //": 5.0})


def test_a_table_of_estimates_is_given_as_it_is(graph: Graph) -> None:
    pattern = "MATCH (a:A)-[r:R]->(b:B)-[:S]->(c:A)"
    table = graph.estimate_all(pattern, samples=20_000, seed=1)
    whole = frozenset("abc")
    assert rows(graph, PATH, table) == pytest.approx(table[whole].value)
    renamed = "MATCH (x:A)-[:R]->(y:B)-[:S]->(z:A) RETURN count(*)"
    assert rows(graph, renamed, table) == pytest.approx(table[whole].value)
    assert "cardinalities given" in str(graph.explain(PATH, cardinalities=table))
    assert graph.query(PATH, cardinalities=table).value() == graph.query(PATH).value()
    assert graph.prepare(PATH, cardinalities=table).run().value() == graph.query(PATH).value()
    assert not graph.query(PATH, cardinalities=table).notices


def test_a_table_of_another_pattern_is_told(graph: Graph) -> None:
    table = graph.estimate_all("MATCH (a:A)-[:R]->(b:B)", samples=1_000, seed=1)
    (notice,) = graph.query("MATCH (a:B)-[:S]->(b) WHERE a.x > 3 RETURN count(*)", cardinalities=table).notices
    assert notice.code == "UnusedCardinality"
    conditional = "MATCH (a:A)-[:R]->(b:B) WHERE a.x < b.x"
    with pytest.raises(SemanticError, match="These estimates can't be used for planning"):
        graph.query(PATH, cardinalities=graph.estimate_all(conditional, samples=1_000, seed=1))
