"""Cypher inside DuckDB: rows of statements are tables there, as the graph is when they are read."""

from __future__ import annotations

from typing import Any

import pytest

from qengine import Graph
from qengine.errors import QuerySyntaxError, Unsupported

duckdb = pytest.importorskip("duckdb")


@pytest.fixture
def attached() -> Any:
    from qengine.duckdb import attach

    graph = Graph()
    graph.query(
        "UNWIND range(1, 5) AS i CREATE (:P {i: i, n: 'it''s ' + i, d: date('2020-01-0' + i)})".replace("''", "\\'")
    )
    return attach(duckdb.connect(), graph)


def test_rows_of_statements_are_tables(attached: Any) -> None:
    rows = "cypher('MATCH (p:P) RETURN p.i AS i, p.n AS n')"
    assert attached.sql(f"SELECT sum(a.i), max(b.n) FROM {rows} a JOIN {rows} b USING (i)").fetchall() == [
        (15, "it's 5")
    ]
    attached.connection.sql("CREATE TABLE t AS SELECT 3 AS i, 'x' AS x")
    assert attached.sql(f"SELECT n, x FROM t JOIN {rows} USING (i)").fetchall() == [("it's 3", "x")]
    text = 'SELECT count(*) FROM Cypher ( $$MATCH (p) WHERE p.n = "it\'s 2" AND p.i < $most RETURN p.i AS i$$ )'
    assert attached.sql(text, {"most": 4}).fetchall() == [(1,)]
    assert attached.sql(text, {"most": 1}).fetchall() == [(0,)]


def test_a_doubled_quotation_mark_is_one(attached: Any) -> None:
    assert attached.sql("FROM cypher('MATCH (p {n: \"it''s 4\"}) RETURN p.i AS i')").fetchall() == [(4,)]


def test_what_only_looks_like_a_statement_is_left_alone(attached: Any) -> None:
    text = "SELECT 'cypher(''RETURN 1'')' AS a, \"cypher('x')\" AS b -- cypher('RETURN')\n"
    text += "FROM (SELECT 2 AS \"cypher('x')\")"
    assert attached.sql(text).fetchall() == [("cypher('RETURN 1')", 2)]


def test_a_view_has_the_rows_of_the_graph_as_it_is(attached: Any) -> None:
    attached.view("people", "MATCH (p:P) RETURN p.i AS i, p.d AS d, [p.i] AS l, {a: p.i} AS m")
    assert attached.connection.sql("SELECT max(i), max(d)::VARCHAR FROM people").fetchall() == [(5, "2020-01-05")]
    attached.graph.query("CREATE (:P {i: 100})")
    assert attached.connection.sql("SELECT max(i), max(l[1]), max(m.a) FROM people").fetchall() == [(100, 100, 100)]
    attached.detach()
    with pytest.raises(duckdb.Error):
        attached.connection.sql("SELECT * FROM people").fetchall()


@pytest.mark.parametrize(
    ("statement", "rows"),
    [
        ("UNWIND [1, 'a', null, 2.5, [1], true] AS x RETURN x", [1, "a", None, 2.5, [1], True]),
        ("UNWIND [[1, 'a'], [null, 2.5], [], null] AS x RETURN x", [[1, "a"], [None, 2.5], [], None]),
        ("UNWIND [{a: 1}, {a: 'b'}] AS x RETURN x", [{"a": 1}, {"a": "b"}]),
        ("UNWIND range(0, 70000) AS i RETURN CASE WHEN i % 2 = 0 THEN i ELSE 'a' END AS x LIMIT 3", [0, "a", 2]),
        ("UNWIND [] AS x RETURN x", []),
    ],
)
def test_values_of_several_types_are_unions(attached: Any, statement: str, rows: list[Any]) -> None:
    assert attached.sql(f"SELECT x FROM cypher($${statement}$$)").fetchall() == [(each,) for each in rows]


def test_what_cant_be_a_table_is_refused(attached: Any) -> None:
    with pytest.raises(Unsupported, match="changes the graph"):
        attached.sql("SELECT * FROM cypher('CREATE (n) RETURN n')")
    with pytest.raises(QuerySyntaxError):
        attached.view("v", "MATCH (p RETURN p")
    with pytest.raises(duckdb.Error, match="zero"):
        attached.sql("SELECT * FROM cypher('UNWIND range(1, 100000) AS i RETURN 1 / (99999 - i) AS x')").fetchall()
