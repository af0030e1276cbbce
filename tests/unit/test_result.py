"""Results: rows by name, fetching, Arrow data, previews, early stop."""

from __future__ import annotations

import copy
import gc
import pickle
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import qengine
from qengine.exec.arrow_out import RowBatch
from qengine.exec.common.batch import BATCH_ROWS
from qengine.result import Result, ResultStats

COLUMNS = ("name", "age")


def result(*batches: list[tuple[object, object]], pulled: list[int] | None = None) -> Result:
    def stream() -> Iterator[RowBatch]:
        for i, rows in enumerate(batches):
            if pulled is not None:
                pulled.append(i)
            yield RowBatch(COLUMNS, rows)

    return Result(COLUMNS, stream(), ResultStats(), None)


def test_rows_are_found_by_name_and_place() -> None:
    row = result([("Ada", 36)]).fetchone()
    assert row is not None
    assert row["name"] == row[0] == "Ada" and row.asdict() == {"name": "Ada", "age": 36}
    assert row == ("Ada", 36) and row.get("size", 7) == 7 and repr(row) == "Row(name='Ada', age=36)"
    with pytest.raises(KeyError, match="no column 'size'; there are: name, age"):
        row["size"]


def test_fields_of_rows_are_attributes() -> None:
    graph = qengine.Graph.from_records([])
    row = graph.query("RETURN 1 AS p, 2 AS count, 3 AS index, 4 AS `a.b`, 5 AS keys, 6 AS `__class__`").fetchone()
    assert row is not None and (row.p, row.count, row.index, getattr(row, "a.b")) == (1, 2, 3, 4)
    assert row.keys() == row.columns and row["keys"] == 5 and type(row).__name__ == "Row", "the row's own come first"
    assert row[-1] == 6 and row[:3] == (1, 2, 3)
    with pytest.raises(AttributeError, match="the row has no column 'q'; there are: 'p', 'count'"):
        row.q  # noqa: B018
    assert row._replace(p=9).p == 9 and not hasattr(row, "__array__")
    with pytest.raises(ValueError, match="no columns of these names"):
        row._replace(q=9)
    assert pickle.loads(pickle.dumps(row)).count == 2


@pytest.mark.parametrize("columns", ["1 AS p", "1 AS p, 'x' AS `a.b`", "1 AS p, 'x' AS count, 2.5 AS c"])
def test_rows_make_data_frames_with_names(columns: str) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    result = qengine.Graph.from_records([]).query(f"UNWIND [1, 2] AS i RETURN {columns}")
    names, rows = list(result.columns), result.fetchall()
    for frame in (pandas.DataFrame(rows), polars.DataFrame(rows)):
        assert list(frame.columns) == names and frame.shape == (2, len(names))


def test_a_property_is_no_attribute_and_the_error_says_so() -> None:
    graph = qengine.Graph.from_records(
        [{"id": 7, "properties": {"name": "Ada"}}, {"id": 8}],
        [{"type": "R", "start": 7, "end": 8, "properties": {"w": 1}}],
    )
    node, relationship = graph.query("MATCH (a {name: 'Ada'})-[r]->() RETURN a, r").fetchone()
    with pytest.raises(AttributeError, match=r"a node has no attribute 'name'; write node\['name'\]"):
        node.name  # noqa: B018
    with pytest.raises(AttributeError, match=r"write relationship\['w'\]"):
        relationship.w  # noqa: B018
    with pytest.raises(KeyError, match="no property 'nmae'; there are: name"):
        node["nmae"]
    assert list(node.items()) == [("name", "Ada")] and list(node.values()) == ["Ada"]
    assert not hasattr(node, "nothing") and copy.deepcopy(node) == pickle.loads(pickle.dumps(node)) == node


def test_warnings_stand_below_the_rows_and_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    graph = qengine.Graph.from_records([{"labels": "Person", "properties": {"name": "Ada"}}])
    message = "The graph has no label `Persn`. Did you mean `Person`?"
    for _ in range(3):
        result = graph.query("MATCH (p:Persn) RETURN p")
        assert str(result).endswith(f"┘\nWarning: {message}")
        assert "Did you mean `Person`?" in result._repr_html_()
    assert [(each.name, each.levelname, each.getMessage()) for each in caplog.records] == [
        ("qengine", "WARNING", message)
    ], "once for each text"
    graph.estimate("MATCH (p:Persn)")
    graph.prepare("MATCH (p:Person) RETURN p.nmae")
    assert [each.getMessage() for each in caplog.records[1:]] == [
        message,
        "No node has a property `nmae`. Did you mean `name`?",
    ]
    assert str(graph.query("EXPLAIN MATCH (p:Persn) RETURN p")).endswith(f"Warning: {message}")


def test_what_is_not_pickled_says_what_to_do() -> None:
    graph = qengine.Graph.from_records([{"labels": "P"}])
    for value, hint in (
        (graph, "qengine.open"),
        (graph.prepare("RETURN 1"), "qengine.open"),
        (graph.query("RETURN 1"), "fetchall"),
        (graph.query("EXPLAIN RETURN 1"), "fetchall"),
    ):
        for act in (pickle.dumps, copy.deepcopy):
            if value is not graph or act is pickle.dumps:
                with pytest.raises(TypeError, match=hint):
                    act(value)


def test_a_graph_is_made_by_its_constructors() -> None:
    assert qengine.Graph().node_count == 0
    for arguments, named in ((("world",), {}), (([],), {}), ((), {"nodes": []}), ((1, 2), {})):
        with pytest.raises(TypeError, match=r"Graph\.from_csv.*qengine\.open"):
            qengine.Graph(*arguments, **named)


def test_a_closed_graph_says_so(tmp_path: Path) -> None:
    with qengine.Graph.from_records([{"labels": "P"}]) as graph:
        result, prepared = graph.query("MATCH (p:P) RETURN count(*)"), graph.prepare("RETURN 1")
    assert repr(graph) == "<Graph, closed>" and "closed" in graph._repr_html_()
    for use in (
        lambda: graph.query("RETURN 1"),
        lambda: graph.prepare("RETURN 1"),
        lambda: graph.explain("RETURN 1"),
        lambda: graph.estimate("MATCH (n)"),
        lambda: graph.estimate_all("MATCH (n)"),
        lambda: list(graph.script("RETURN 1")),
        lambda: graph.save(tmp_path / "never"),
        lambda: graph.schema,
        lambda: graph.node_count,
        graph.interrupt,
    ):
        with pytest.raises(qengine.StorageError, match="The graph is closed"):
            use()
    graph.close()
    assert not list(tmp_path.iterdir())
    assert result.value() == 1 == prepared.run().value(), "what was there goes on"


def test_planning_is_counted_once() -> None:
    graph = qengine.Graph.from_records([{"labels": "P"}])
    first, second = (graph.query("MATCH (p:P) RETURN count(*)").stats.planning_seconds for _ in range(2))
    assert first > 0 == second
    prepared = graph.prepare("MATCH (p:P) RETURN p")
    assert prepared.run().stats.planning_seconds > 0 == prepared.run().stats.planning_seconds
    assert graph.query("EXPLAIN MATCH (p:P) RETURN p").stats.planning_seconds > 0


def test_rows_become_dicts_and_are_copied_and_pickled() -> None:
    row = result([("Ada", 36)]).fetchone()
    assert row is not None and dict(row) == {"name": "Ada", "age": 36}
    for other in (copy.deepcopy(row), pickle.loads(pickle.dumps(row))):
        assert other == row and other["age"] == 36 and repr(other) == repr(row)


def test_fetching_takes_each_row_once() -> None:
    found = result([("a", 1), ("b", 2)], [], [("c", 3)])
    assert found.fetchmany(1) == [("a", 1)]
    assert found.fetchone() == ("b", 2)
    assert found.fetchall() == [("c", 3)]
    assert found.fetchone() is None and found.fetchall() == []


def test_batches_are_pulled_when_needed() -> None:
    pulled: list[int] = []
    found = result([("a", 1)], [("b", 2)], [("c", 3)], pulled=pulled)
    assert pulled == []
    found.fetchone()
    assert pulled == [0]
    found.close()
    assert found.fetchall() == [] and pulled == [0]


def test_preview_does_not_consume() -> None:
    found = result([("a", 1)], [("b", 2)], [("c", 3)])
    assert found.fetchone() == ("a", 1)
    rows, more = found.preview(1)
    assert rows == [("b", 2)] and more
    assert found.fetchall() == [("b", 2), ("c", 3)]


def test_printed_it_is_a_table_of_the_next_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    found = result([("a", 1)], [("b", None)])
    assert str(found).splitlines() == [
        "┌──────┬──────┐",
        "│ name │ age  │",
        "├──────┼──────┤",
        "│ a    │    1 │",
        "│ b    │ null │",
        "└──────┴──────┘",
    ]
    assert len(found.fetchall()) == 2
    assert str(result([(i, i) for i in range(30)])).endswith("┘\nfirst 20 rows")
    assert repr(found) == "<Result columns=['name', 'age'] device='cpu'; print() shows the next rows>"


def test_printed_after_a_change_it_tells_what_was_done() -> None:
    graph = qengine.Graph()
    assert str(graph.query("CREATE (:A {x: 1})")) == "1 node created, 1 property set, 1 label added"
    assert str(graph.query("MATCH (a) SET a.x = 2 RETURN a.x AS x")).splitlines()[-1] == "1 property set"


def test_it_is_an_iterator_of_its_rows() -> None:
    found = result([(1, 2)], [(3, 4)])
    assert next(found) == (1, 2) and list(found) == [(3, 4)] and next(found, None) is None


def test_a_plan_is_printed_as_it_is() -> None:
    graph = qengine.Graph.from_records([{"labels": "P"}])
    text = "MATCH (n:P) RETURN count(*)"
    assert str(graph.query("EXPLAIN " + text)) == str(graph.explain(text))
    assert "rows=1" in str(graph.query("PROFILE " + text))


def test_html_escapes() -> None:
    assert "&lt;b&gt;" in result([("<b>", 1)])._repr_html_()


def test_arrow_takes_what_is_left() -> None:
    found = result([("a", 1), ("b", 2)], [("c", None)])
    found.fetchone()
    assert found.to_arrow().to_pydict() == {"name": ["b", "c"], "age": [2, None]}


def test_a_column_of_changing_type_keeps_each_value() -> None:
    table = result([("a", 1)], [("b", "x")], [("c", 1.5)]).to_arrow()
    assert table["age"].to_pylist() == [1, "x", 1.5]
    assert [type(value) for value in table["age"].to_pylist()] == [int, str, float]


def test_stream_interface_is_arrow() -> None:
    table = pa.table(result([("a", 1)], [("b", 2)]))
    assert table.to_pydict() == {"name": ["a", "b"], "age": [1, 2]}


@pytest.mark.parametrize("ages", [(1, 2), (1, "x"), ([1], [2, 3])])
def test_a_stream_that_is_not_read_takes_nothing(ages: tuple[object, object]) -> None:
    found = result([("a", ages[0])], [("b", ages[1])])
    assert found.to_reader().schema == found.to_reader().schema
    found.__arrow_c_stream__()
    first = found.fetchone()
    assert first == ("a", ages[0])
    assert [row["age"] for row in found.to_reader().read_all().to_pylist()] == [ages[1]]
    assert found.fetchall() == []


def test_a_reader_gives_what_was_not_fetched_before_it_is_read() -> None:
    for ages in ((1, 2), (1, "x"), ([1], [2, 3])):
        found = result([("a", ages[0])], [("b", ages[1])])
        reader = found.to_reader()
        assert found.fetchone() == ("a", ages[0])
        assert reader.read_all()["name"].to_pylist() == ["b"]


def test_a_stream_holds_values_of_types_that_only_later_rows_have() -> None:
    graph = qengine.Graph.from_records([{"labels": "P"}])
    for other in ("a", 0.5):
        text = "UNWIND range(1, 200000) AS x RETURN CASE WHEN x < 200000 THEN x ELSE $other END AS y"
        reader = graph.query(text, {"other": other}).to_reader()
        assert reader.read_all()["y"].to_pylist()[-2:] == [199999, other]


def test_a_stream_of_known_types_is_computed_while_it_is_read() -> None:
    graph = qengine.Graph.from_records([{"labels": "P"}])
    found = graph.query("UNWIND range(1, 1000000) AS x RETURN x, toString(x) AS text, CASE WHEN x > 9 THEN x END AS y")
    reader = found.to_reader()
    assert [field.type for field in reader.schema] == [pa.int64(), pa.string(), pa.int64()]
    assert reader.read_next_batch().num_rows == found.stats.rows < 1000000


def test_duckdb_reads_a_result() -> None:
    duckdb = pytest.importorskip("duckdb")
    graph = qengine.Graph.from_records([{"labels": "P", "properties": {"n": i}} for i in range(5)])
    for column in ("n.n AS n", "n"):
        found = graph.query(f"MATCH (n:P) RETURN {column}")  # noqa: F841, DuckDB finds it by its name
        assert duckdb.sql("SELECT count(*) FROM found").fetchall() == [(5,)]


def test_no_rows_still_have_columns() -> None:
    assert result().to_arrow().column_names == ["name", "age"]


def test_data_frames() -> None:
    assert result([("a", 1)]).to_pandas().to_dict("list") == {"name": ["a"], "age": [1]}
    assert result([("a", 1)]).to_polars().to_dict(as_series=False) == {"name": ["a"], "age": [1]}


def test_nodes_become_structs() -> None:
    node = qengine.Node(3, ("A",), {"x": 1})
    array = RowBatch(("n",), [(node,), (None,)]).arrow("n")
    assert array.to_pylist() == [{"id": 3, "labels": ["A"], "properties": {"x": 1}}, None]


def test_relationships_become_structs() -> None:
    graph = qengine.Graph.from_records(
        nodes=[{"id": i, "labels": ["P"], "properties": {"n": i}} for i in range(4)],
        relationships=[
            {"type": "a", "start": 0, "end": 1, "properties": {"w": 1, "mixed": 1, "tags": ["x", "y"]}},
            {"type": "a", "start": 2, "end": 1, "properties": {"w": 2}},
            {"type": "b", "start": 1, "end": 3, "properties": {"mixed": "text"}},
            {"type": "c", "start": 3, "end": 3, "properties": {}},
        ],
    )
    found = graph.query("MATCH (n:P) OPTIONAL MATCH (n)-[r]->() RETURN r ORDER BY n.n")
    values = graph.query("MATCH (n:P) OPTIONAL MATCH (n)-[r]->() RETURN r ORDER BY n.n").fetchall()
    structs = found.to_arrow()["r"].to_pylist()
    assert len(structs) == len(values) == 4
    for struct, (value,) in zip(structs, values, strict=True):
        properties = {key: each for key, each in struct["properties"].items() if each is not None}
        assert (struct["type"], struct["start"], struct["end"]) == (value.type, value.start, value.end)
        assert properties == value.properties
        assert struct["id"] == value.id
    chain = "MATCH (n:P) OPTIONAL MATCH (n)-[r:c]->() WITH n, r ORDER BY n.n RETURN r"
    assert [each and each["type"] for each in graph.query(chain).to_arrow()["r"].to_pylist()] == [None, None, None, "c"]


def test_batches_of_different_relationship_types_share_a_schema() -> None:
    graph = qengine.Graph.from_records(
        nodes=[{"id": i} for i in range(2)],
        relationships=[
            {"type": "a", "start": 0, "end": 1},
            {"type": "b", "start": 0, "end": 1, "properties": {"w": 5}},
        ],
    )
    found = graph.query("MATCH ()-[r:a]->() RETURN r UNION ALL MATCH ()-[r:b]->() RETURN r").to_arrow()["r"]
    assert found.type.field("properties").type == pa.struct([("w", pa.int64())])
    assert [each["properties"]["w"] for each in found.to_pylist()] == [None, 5]


def test_fetching_many_crosses_batches_and_leaves_the_collector_as_it_was() -> None:
    found = result([("a", 1)], [("b", 2), ("c", 3)], [("d", 4)])
    assert found.fetchmany(2) == [("a", 1), ("b", 2)]
    assert next(iter(found)) == ("c", 3)
    assert found.fetchall() == [("d", 4)] and gc.isenabled()
    gc.disable()
    try:
        assert result([("a", 1)]).fetchall() == [("a", 1)] and not gc.isenabled()
    finally:
        gc.enable()


def test_the_clock_stands_still_in_a_run_and_is_read_anew_in_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [{"id": row, "labels": "A", "properties": {"at": row * 1000}} for row in range(10)]
    graph = qengine.Graph.from_records(nodes)
    now = [2_500_000_000]
    monkeypatch.setattr("qengine.exec.scalar.environment.time.time_ns", lambda: now[0])
    still = "datetime().epochMillis = timestamp()"
    early = graph.prepare(f"MATCH (a:A) WHERE a.at < timestamp() AND {still} RETURN count(*)")
    assert early.run().value() == 3
    now[0] = 7_500_000_000
    assert early.run().value() == 8


@pytest.mark.parametrize(
    "ending",
    [
        "RETURN a.n AS n, a.s AS s, a.f * 2 AS f, a.n > 1 AS b, a.l AS l, a.s + 'x' AS t, count(*) AS c",
        "WITH a.n AS n, a.s AS s ORDER BY n SKIP 0 LIMIT 5 RETURN DISTINCT n, s, [n] AS l, n / 2.0 AS f",
        "RETURN a.s AS s, collect(a.n) AS l, min(a.n) AS m, avg(a.n) AS f, sum(a.f) AS g",
        "RETURN a.n AS x, a.s AS y UNION ALL MATCH (b:B) WHERE b.n > $n RETURN b.n AS x, b.s AS y",
    ],
)
def test_columns_without_rows_have_the_types_that_they_have_with_rows(ending: str) -> None:
    values = {"n": 1, "s": "x", "f": 0.5, "l": [1, 2]}
    graph = qengine.Graph.from_records(
        [{"id": i, "labels": [label], "properties": values} for i, label in enumerate("AB")]
    )
    text = f"MATCH (a:A) WHERE a.n > $n {ending}"
    schema = graph.query(text, {"n": 0}).to_arrow().schema
    empty = graph.query(text, {"n": 1})
    assert pa.null() not in schema.types
    assert empty.to_arrow().schema == schema and empty.to_arrow().num_rows == 0
    assert graph.query(text, {"n": 1}).to_reader().schema == schema


def test_columns_of_nulls_have_the_types_that_are_known() -> None:
    graph = qengine.Graph.from_records(
        [{"id": 1, "properties": {"n": 1, "mixed": 1}}, {"id": 2, "properties": {"mixed": "x"}}]
    )
    found = graph.query("MATCH (a) WHERE a.n IS NULL RETURN a.n AS n, null AS nothing, a.m AS unknown").to_arrow()
    assert found.schema.types == [pa.int64(), pa.null(), pa.null()] and found["n"].null_count == 1
    found = graph.query(
        "MATCH (a) WHERE a.n > 5 RETURN a.mixed AS mixed, a, a.n AS x UNION RETURN 1 AS mixed, 2 AS a, 'x' AS x"
    )
    assert found.fetchall() == [(1, 2, "x")]
    found = graph.query("MATCH (a) WHERE a.n > 5 RETURN a.mixed AS mixed, a UNION MATCH (a:Z) RETURN a.n AS mixed, a")
    assert found.to_arrow().schema.types == [pa.null(), pa.null()]


def test_batches_of_nulls_join_columns_of_mixed_types() -> None:
    values = [1, "x", None]
    graph = qengine.Graph.from_records([{"id": i, "properties": {"mixed": v}} for i, v in enumerate(values)])
    text = "MATCH (a) RETURN a.mixed AS x UNION ALL MATCH (a) RETURN a.none AS x"
    assert graph.query(text).to_arrow()["x"].to_pylist() == [*values, None, None, None]
    text = "MATCH (a) RETURN a AS x UNION ALL MATCH (a) RETURN a.none AS x"
    assert [x and x["properties"] for x in graph.query(text).to_arrow()["x"].to_pylist()][3:] == [None, None, None]


@pytest.mark.parametrize(("rest", "long"), [("", True), (" LIMIT 250000", False), (" LIMIT 99000000", True)])
def test_all_rows_as_arrays_come_in_long_batches(rest: str, long: bool) -> None:
    graph = qengine.Graph.from_records([{"id": k, "labels": [], "properties": {}} for k in range(600)])
    table = graph.query(f"MATCH (a), (b) RETURN id(a) AS a, id(b) AS b{rest}", device="cpu").to_arrow()
    pairs = np.unique(600 * table["a"].to_numpy() + table["b"].to_numpy())
    assert len(pairs) == len(table) == (250_000 if "25" in rest else 360_000) and pairs[-1] < 360_000
    assert (max(map(len, table["a"].chunks)) > BATCH_ROWS) == long


@pytest.mark.parametrize(
    "groups", ["a.k AS k, count(*) AS n", "a AS k, sum(a.k) AS n", "a.k % 100000 AS k, count(*) AS n"]
)
def test_all_groups_as_arrays_come_in_long_batches(groups: str) -> None:
    nodes = [{"id": k, "labels": [], "properties": {"k": k}} for k in range(100_000)]
    graph = qengine.Graph.from_records(nodes)
    query = f"MATCH (a) WHERE a.k >= 0 RETURN {groups}"
    table = graph.query(query, device="cpu").to_arrow()
    assert [len(each) for each in table["k"].chunks] == [100_000]
    assert len({row[1] for row in graph.query(query, device="cpu")}) == (100_000 if "sum" in groups else 1)
    ordered = graph.query(f"{query} ORDER BY n, k", device="cpu").to_arrow()
    assert max(len(each) for each in ordered["k"].chunks) <= BATCH_ROWS
