"""Which texts share a plan, and what they must not share."""

from __future__ import annotations

from datetime import date

import pytest

from qengine import Graph, optimizer
from qengine.errors import ExecutionError, QuerySyntaxError, SemanticError
from qengine.optimizer import matching, selectivity

NODES = [
    {
        "id": k,
        "labels": ["P"],
        "properties": {
            "id": k, "name": f"n{k}", "kind": "rare" if k == 7 else "usual", "x": k, "day": date(2020, 1, 1 + k % 31)
        },
    }
    for k in range(4000)
]  # fmt: skip
EDGES = [{"type": "K", "start": k, "end": (k * 7 + 1) % 4000} for k in range(4000)]


@pytest.fixture(scope="module")
def store_graph() -> Graph:
    return Graph.from_records(NODES, EDGES)


@pytest.fixture
def graph(store_graph: Graph) -> Graph:
    return Graph(store_graph._store)


def shared(graph: Graph, text: str) -> bool:
    return graph.prepare(text)._planned.places is not None


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (n:P {id: %s}) RETURN n.name",
        "MATCH (n:P {id: %s})-[:K]->(m) RETURN m.id",
        "MATCH (n:P) WHERE n.id = %s RETURN n.name",
        "MATCH (n:P) WHERE n.id IN [%s, 3000] RETURN n.name",
        "MATCH (n:P) WHERE EXISTS { (n)-[:K]->(:P {id: %s}) } RETURN n.name",
        "MATCH (n:P) OPTIONAL MATCH (n)-[:K]->(m {id: %s}) RETURN count(m)",
        "MATCH (n:P) WITH n WHERE n.id = %s RETURN n.name",
        "MATCH (n:P {id: 5}) RETURN n.name UNION ALL MATCH (n:P {id: %s}) RETURN n.name",
    ],
)
def test_texts_that_differ_in_values_of_properties_share_a_plan(graph: Graph, text: str) -> None:
    assert [shared(graph, text % value) for value in (10, 2000, 1234, 1234)] == [False, True, True, True]
    for value in (17, 18):
        alone = Graph(graph._store).query(text % value)
        result = graph.query(text % value)
        assert (result.columns, result.fetchall()) == (alone.columns, alone.fetchall())
        plans = [str(each.plan).replace("1 node at most", "~1 node") for each in (result, alone)]  # by when it was made
        assert plans[0] == plans[1] and str(value) in plans[0]


def test_the_second_text_of_a_family_is_not_planned_by_itself(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[object] = []
    plan = optimizer.plan
    monkeypatch.setattr(optimizer, "plan", lambda *given: planned.append(given) or plan(*given))

    def plans(*texts: str) -> int:
        planned.clear()
        for text in texts:
            graph._statements.plan(text, False, graph._statements.accept())
        return len(planned)

    text = "MATCH (n:P {id: %s})-[:K]->(m) RETURN m.id LIMIT %s"
    assert [plans(text % (value, 5)) for value in (10, 20, 30)] == [1, 1, 0]
    assert [plans(text % (value, 6)) for value in (10, 20, 30)] == [1, 1, 0]  # another limit is another plan
    frequent = "MATCH (n:P {kind: '%s'})-[:K]->(m:P) RETURN count(m)"
    assert [plans(frequent % kind) for kind in ("usual", "rare", "usual")] == [1, 2, 0]
    graph.query("MATCH (n:P {id: 3}) SET n.x = 2")  # estimates of a version aren't compared with another one's
    assert [plans(text % (value, 7)) for value in (10, 20, 30)] == [1, 1, 0]
    fresh = "MATCH (n:P {id: %s})-[:K]->(m)-[:K]->(o) RETURN o.id"
    assert plans(fresh % 10) == 1
    graph.query("MATCH (n:P {id: 4}) SET n.x = 2")
    assert [plans(fresh % value) for value in (20, 30)] == [2, 0]


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (n:P) RETURN n.id ORDER BY n.id LIMIT %s",
        "MATCH (n:P) RETURN n.id ORDER BY n.id SKIP %s",
        "MATCH (n:P)-[:K*1..%s]->(m) RETURN count(*)",
        "MATCH (n:P {id: 1}) RETURN %s",
        "MATCH (n:P {id: 1}) RETURN [1, 2, 3][%s]",
        "MATCH (n:P) WHERE n.x / %s > 2 RETURN count(*)",
        "MATCH (n:P {id: 1 + %s}) RETURN n.name",
        "UNWIND [%s] AS x RETURN x",
    ],
)
def test_other_literals_stay_in_the_plan(graph: Graph, text: str) -> None:
    for value in (1, 2, 3, 1, 2):
        result = graph.query(text % value)
        alone = Graph(graph._store).query(text % value)
        assert (result.columns, result.fetchall()) == (alone.columns, alone.fetchall())
        assert result.columns == alone.columns
    assert not shared(graph, text % 3)


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (n:P) WHERE n.day < date('2020-01-%s') RETURN count(*)",
        "MATCH (n:P {day: date('2020-01-%s')}) RETURN n.id",
        "MATCH (n:P) RETURN sum(CASE WHEN n.day >= date('2020-01-%s') THEN n.x ELSE 0 END) AS x",
        "MATCH (n:P) RETURN n.x > %s AS large, count(*) AS times",
        "MATCH (n:P) WHERE COUNT { (n)-[:K]->(:P {x: %s}) } > 0 RETURN n.id",
        "MATCH (n:P) WITH n, CASE n.kind WHEN 'rare' THEN n.x > %s ELSE false END AS y WHERE y RETURN n.id",
    ],
)
def test_dates_and_conditions_in_named_columns_are_values(graph: Graph, text: str) -> None:
    assert [shared(graph, text % value) for value in (10, 11, 12)] == [False, True, True]
    for value in (12, 13, 29):
        alone = Graph(graph._store).query(text % value)
        result = graph.query(text % value)
        assert (result.columns, sorted(result.fetchall())) == (alone.columns, sorted(alone.fetchall()))


def test_a_text_that_is_no_date_fails_as_ever(graph: Graph) -> None:
    text = "MATCH (n:P) WHERE n.day < date('%s') RETURN count(*)"
    for value in ("2020-01-10", "2020-01-11"):
        graph.prepare(text % value)
    for wrong in ("2020-02-30", "once"):
        with pytest.raises(ExecutionError) as raised:
            graph.query(text % wrong).fetchall()
        with pytest.raises(ExecutionError) as alone:
            Graph(graph._store).query(text % wrong).fetchall()
        assert str(raised.value) == str(alone.value) and not shared(graph, text % wrong)


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (n:P) RETURN n.x > %s AS y, count(*) AS z ORDER BY n.x > %s",
        "MATCH (n:P) RETURN n.x > %s AS y, CASE WHEN n.x > %s THEN count(*) END AS z",
        "MATCH (n:P) WITH n.x > %s AS y, count(*) AS z WHERE n.x > %s RETURN y, z",
        "MATCH (n:P) RETURN sum(CASE WHEN n.x > %s THEN 1 END) AS y ORDER BY sum(CASE WHEN n.x > %s THEN 1 END)",
    ],
)
def test_what_is_written_twice_means_a_column_only_where_it_is_the_same(graph: Graph, text: str) -> None:
    for values in ((10, 10), (20, 20), (30, 30), (30, 31), (40, 30)):
        seen = []
        for each in (graph, Graph(graph._store)):
            try:
                seen.append(repr(each.query(text % values).fetchall()))
            except SemanticError as error:
                seen.append(str(error))
        assert seen[0] == seen[1]


def test_types_take_part_and_white_space_too(graph: Graph) -> None:
    for value in (10, 20):
        graph.prepare(f"MATCH (n:P {{id: {value}}}) RETURN n.name")
    assert shared(graph, "MATCH (n:P {id: 30}) RETURN n.name")
    assert not shared(graph, "MATCH (n:P {id: 30.0}) RETURN n.name")
    assert not shared(graph, "MATCH (n:P {id: -30}) RETURN n.name")
    assert graph.query("MATCH (n:P {id: 30}) RETURN n .name").columns == ("n .name",)


def test_a_value_of_another_frequency_gets_a_plan_of_its_own(graph: Graph) -> None:
    text = "MATCH (n:P {kind: '%s'})-[:K]->(m:P) RETURN count(m)"
    assert not shared(graph, text % "usual") and not shared(graph, text % "usual ")
    rare = graph.prepare(text % "rare")
    assert rare._planned.physical == Graph(graph._store).prepare(text % "rare")._planned.physical
    assert rare.run().value() == 1


def test_ranges_share_by_how_wide_they_are(graph: Graph) -> None:
    text = "MATCH (n:P) WHERE n.x >= %s AND n.x < %s RETURN count(*)"
    for low in (100, 200):
        graph.prepare(text % (low, low + 20))
    assert shared(graph, text % (3000, 3021))
    assert not shared(graph, text % (100, 3900))
    assert graph.query(text % (100, 3900)).value() == 3800
    assert graph.query(text % (3000, 3021)).value() == 21


def test_contradictions_and_facts_that_rules_have_read_are_not_shared(graph: Graph) -> None:
    text = "MATCH (n:P) WHERE n.id = %s AND n.id = %s RETURN n.name"
    for one, other in ((1, 2), (3, 4), (5, 6), (7, 7)):
        assert not shared(graph, text % (one, other))
    assert graph.query(text % (9, 9)).fetchall() == [("n9",)]


def test_errors_stand_where_they_are_in_the_text(graph: Graph) -> None:
    text = "MATCH (n:P {id: %s}) RETURN 1 / (n.x - n.x)"
    spans = []
    for value in (1, 22, 333, 1000):
        with pytest.raises(ExecutionError) as raised:
            graph.query(text % value).fetchall()
        with pytest.raises(ExecutionError) as alone:
            Graph(graph._store).query(text % value).fetchall()
        assert str(raised.value) == str(alone.value)
        spans.append(raised.value.span)
    assert len(set(spans)) == 4 and shared(graph, text % 333)
    with pytest.raises(SemanticError, match="missing"):
        for value in (1, 22, 333):
            graph.prepare(f"MATCH (n:P {{id: {value}}}) WHERE n.x = $missing RETURN n.x")
        graph.query("MATCH (n:P {id: 4000}) WHERE n.x = $missing RETURN n.x")


def test_what_is_no_value_is_refused_as_ever(graph: Graph) -> None:
    for value in (1, 2, 3):
        graph.prepare(f"MATCH (n:P {{id: {value}}}) RETURN n.name")
    with pytest.raises(QuerySyntaxError) as raised:
        graph.query("MATCH (n:P {id: 9223372036854775808}) RETURN n.name")
    assert raised.value.code == "IntegerOverflow"


def test_explain_profile_and_parameters(graph: Graph) -> None:
    for value in (1, 2, 3):
        assert str(value) in graph.query(f"EXPLAIN MATCH (n:P {{id: {value}}}) RETURN n.name").fetchall()[0][0]
        assert not shared(graph, f"PROFILE MATCH (n:P {{id: {value}}}) RETURN n.name")
        text = f"MATCH (n:P {{id: {value}}}) WHERE n.name = $name RETURN n.id"
        assert graph.query(text, {"name": f"n{value}", "literal 0": 5}).fetchall() == [(value,)]
    assert shared(graph, text)


def test_a_plan_with_an_enormous_bound_of_hops_is_shown(graph: Graph) -> None:
    assert "K" in str(graph.explain("MATCH (n:P {id: 1})-[:K*1..1000000000000]->(m) RETURN m"))


def test_a_sign_belongs_to_its_number(graph: Graph) -> None:
    text = "MATCH (n:P) WHERE n.x >= -%s AND n.id IN [-%s, 7] RETURN n.id"
    for value in (30, 40):
        graph.prepare(text % (value, value))
    assert shared(graph, text % (50, 50))
    assert graph.query(text % (50, 50)).fetchall() == [(7,)]
    values = graph.prepare(text % (50, 50))._planned.values
    assert list(values.values()) == [-50, [-50, 7]]


@pytest.mark.parametrize(
    "text",
    [
        "CREATE (n:New {id: %s, name: 'a'})-[:R {w: 0.5}]->(:New) RETURN n.id",
        "MATCH (n:P {id: %s}) SET n.x = -1, n += {name: 'b'} RETURN n.x, n.name",
        "MATCH (a:P), (b:P {id: 3}) WHERE a.id = %s CREATE (a)-[r:NEW {by: 'c'}]->(b) RETURN r.by",
        "MERGE (n:P {id: %s}) ON CREATE SET n.x = 1 ON MATCH SET n.x = 2 RETURN n.x",
        "UNWIND [1, 2] AS k MERGE (n:New {id: k, by: %s}) RETURN n.id, n.by",
    ],
)
def test_updates_that_differ_in_values_of_properties_share_a_plan(graph: Graph, text: str) -> None:
    assert [shared(graph, text % value) for value in (10, 20, 30, 30)] == [False, True, True, True]
    for value in (17, 5000, 17, 18):
        alone = Graph(graph._store).query(text % value)
        result = Graph(graph._store) if value == 17 else graph
        assert result.query(text % value).fetchall() == alone.fetchall()
    count = "MATCH (n) RETURN count(*), sum(n.id), sum(n.x)"
    other = Graph(graph._store)
    for each in (graph, other):
        each.query(text % 31)
    assert graph.query(count).fetchall() == other.query(count).fetchall()


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (n:P) WHERE n.x > %s SET n.name = 'a'",  # how many it finds is for the planner to know
        "MATCH (n:P {id: 1}) SET n.x = 1 + %s",
        "UNWIND [%s] AS x CREATE (:New {x: x})",
        "MATCH (n:P {id: 1}) SET n.name = 'a' RETURN %s",
    ],
)
def test_other_updates_share_none(graph: Graph, text: str) -> None:
    for value in (3990, 3991, 3992):
        assert not shared(graph, text % value)
        alone = Graph(graph._store).query(text % value)
        result = graph.query(text % value)
        assert (result.columns, result.fetchall()) == (alone.columns, alone.fetchall())


def test_errors_of_updates_stand_where_they_are_in_the_text(graph: Graph) -> None:
    text = "MATCH (n:P {id: %s}) CREATE (:New {x: 5, y: 1 / (n.x - n.x)})"
    for value in (1, 22, 333, 1000):
        with pytest.raises(ExecutionError) as raised:
            graph.query(text % value)
        with pytest.raises(ExecutionError) as alone:
            Graph(graph._store).query(text % value)
        assert str(raised.value) == str(alone.value) and raised.value.span == alone.value.span
    assert shared(graph, text % 333)
    assert graph.query("MATCH (n:New) RETURN count(*)").value() == 0


def test_procedures_that_come_later_are_found_by_updates_that_share(graph: Graph) -> None:
    text = "CALL test.later() YIELD x MERGE (n:New {id: %s}) SET n.x = x RETURN n.x"
    for number in (1, 2):
        graph.register_procedure("test.later() :: (x :: INTEGER)", lambda number=number: [(number,)])
        for value in (3, 4, 5, 6):
            assert graph.query(text % value).value() == number


def test_a_plan_with_parameters_is_made_with_the_estimates_of_its_text(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "MATCH (n:P)-[:K]->(m:P)-[:K]->(o:P) WHERE n.x > %s AND m.kind = 'usual' RETURN o.id, count(*) // known"
    graph.prepare(text % 100)
    with monkeypatch.context() as patched:
        patched.delattr(selectivity, "_selectivity")
        patched.delattr(matching, "_stated")
        assert shared(graph, text % 101)
    assert not shared(graph, text % 3990), "fewer than half of what was assumed"


def test_each_text_with_ranges_of_parameters_has_plans_by_their_values(graph: Graph) -> None:
    for text in (
        "MATCH (n:P)-[:K]->(m:P) WHERE n.x > $least RETURN count(*)",
        "MATCH (n:P)-[:K]->(m:P) WHERE n.x > $least RETURN count(*) AS pairs",
        "MATCH (n:P)-[:K]->(m:P) WHERE n.x > $least RETURN m.kind, count(*)",
        "MATCH (n:P) WHERE n.x > $least RETURN count(n.kind)",
    ):
        by_values = graph.prepare(text)._planned.by_values
        assert by_values is not None and by_values.names == {"least"}


def test_texts_that_share_a_plan_have_plans_of_their_own_for_long_lists() -> None:
    g = Graph.from_records([{"id": i, "properties": {"i": i % 50, "j": i}} for i in range(1, 61)], [])
    text = "UNWIND $xs AS x MATCH (b {i: x}) WHERE b.j <> %s RETURN sum(b.i), count(*)"
    for number in (3, 4, 5, 6, 4, 5):
        for xs in ([1, 3, 5], list(range(200)), [4]):
            found = [b for x in xs for b in range(1, 61) if b % 50 == x and b != number]
            assert g.query(text % number, {"xs": xs}).fetchall() == [(sum(b % 50 for b in found), len(found))]
    planned = [g.prepare(text % number)._planned for number in (5, 6)]
    assert planned[0].physical is planned[1].physical
    assert planned[0].by_values is not planned[1].by_values


def test_lists_of_conditions_are_planned_for_by_their_lengths() -> None:
    g = Graph.from_records([{"id": i, "labels": "P", "properties": {"id": i, "s": i % 7}} for i in range(3000)], [])
    for text in (
        "MATCH (n:P) WHERE n.id IN $xs RETURN sum(n.s)",
        "MATCH (n:P) WHERE n.id IN $xs AND n.s < 5 RETURN sum(n.s)",
    ):
        for xs in ([1, 2, 2, None], list(range(100)), list(range(2900)), [5]):
            assert ("index" in str(g.query("EXPLAIN " + text, {"xs": xs}).fetchall())) == (len(xs) <= 100)
            expected = sum(i % 7 for i in set(xs) - {None} if "<" not in text or i % 7 < 5)
            assert g.query(text, {"xs": xs}).value() == expected
