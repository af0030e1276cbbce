"""Procedures that users register: signatures, values that go in and out, what they see, and the limits they obey."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import qengine
from qengine.builtin_procedures import BUILT_IN
from qengine.catalog.fields import Field
from qengine.catalog.procedures import Procedures, parse_signature
from qengine.types import ANY, FLOAT, INTEGER, LIST, NODE, STRING, Kind, Type, list_of

DEVICES = ["cpu", "reference"]


def small() -> qengine.Graph:
    graph = qengine.Graph()
    graph.query("CREATE (:Person {name: 'Ann'})-[:KNOWS]->(:Person {name: 'Bob'})")
    return graph


# ---------------------------------------------------------------- signatures


def test_a_signature_is_read_as_opencypher_writes_it() -> None:
    found = parse_signature("test.my.proc(name :: STRING?, in :: INTEGER) :: (out :: FLOAT?, node :: NODE)")
    assert found.name == "test.my.proc"
    assert found.inputs == (Field("name", STRING), Field("in", INTEGER, False))
    assert found.outputs == (Field("out", FLOAT), Field("node", NODE, False))
    assert not found.is_void


@pytest.mark.parametrize("text", ["p() :: ()", "p( )::()", "p() :: VOID", " p () :: void "])
def test_procedures_without_outputs_are_void(text: str) -> None:
    assert parse_signature(text).is_void


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("LIST", LIST),
        ("LIST?", LIST),
        ("LIST<STRING>", list_of(STRING)),
        ("LIST OF INTEGER", list_of(INTEGER)),
        ("LIST? OF INTEGER?", list_of(INTEGER)),
        ("LIST<ANY>", LIST),
        ("LIST<LIST<FLOAT>>", list_of(list_of(FLOAT))),
        ("any?", ANY),
        ("LOCALDATETIME", Type(Kind.LOCAL_DATETIME)),
        ("LOCAL TIME", Type(Kind.LOCAL_TIME)),
    ],
)
def test_types(text: str, type: Type) -> None:
    assert parse_signature(f"p(x :: {text}) :: VOID").inputs[0].type == type


@pytest.mark.parametrize(
    "text",
    ["p", "p()", "p() -> (x :: INTEGER)", "p(x) :: ()", "p(x :: NOTHING) :: ()", "p(x :: INTEGER, x :: FLOAT) :: ()",
     "p.() :: ()", "1p() :: ()", "p() :: (x INTEGER)", "p(x = 1 :: INTEGER, y :: INTEGER) :: ()",
     "p(x = y :: INTEGER) :: ()", "p() :: (x = 1 :: INTEGER)", "p() :: () more", "", 5, None],
)  # fmt: skip
def test_other_texts_are_no_signatures(text: Any) -> None:
    with pytest.raises(qengine.SemanticError) as caught:
        parse_signature(text)
    assert caught.value.code == "InvalidSignature"
    assert caught.value.hint


@given(st.lists(st.sampled_from([each for each in Kind if each is not Kind.NULL]), max_size=4), st.booleans())
def test_a_signature_is_printed_as_it_is_read(kinds: list[Kind], nullable: bool) -> None:
    mark = "?" if nullable else ""
    fields = ", ".join(f"x{place} :: {kind.value}{mark}" for place, kind in enumerate(kinds))
    found = parse_signature(f"a.b({fields}) :: ({fields})")
    assert parse_signature(str(found)) == found


# ---------------------------------------------------------------- registries


def test_a_graphs_own_procedure_comes_before_that_of_all_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qengine.procedures.EVERYWHERE", everywhere := Procedures(BUILT_IN))
    monkeypatch.setattr("qengine.views.EVERYWHERE", everywhere)
    qengine.procedure("test.where() :: (where :: STRING)", lambda: [("everywhere",)])
    graph, other = qengine.Graph(), qengine.Graph()
    graph.register_procedure("test.where() :: (where :: STRING)", lambda: [("here",)])
    assert graph.query("CALL test.where()").value() == "here"
    assert other.query("CALL test.where()").value() == "everywhere"


def test_a_decorator_gives_the_function_back() -> None:
    graph = qengine.Graph()

    @graph.register_procedure("test.twice(x :: INTEGER) :: (y :: INTEGER)")
    def twice(x: int) -> list[tuple[int]]:
        """Double a number.

        More is not shown.
        """
        return [(2 * x,)]

    assert twice(2) == [(4,)]
    shown = graph.query("CALL dbms.procedures() YIELD name, description WHERE name = 'test.twice'").fetchall()
    assert shown == [("test.twice", "Double a number.")]


def test_what_was_planned_before_is_planned_again() -> None:
    graph = qengine.Graph()
    graph.register_procedure("test.p() :: (x :: INTEGER)", lambda: [(1,)])
    text = "CALL test.p() YIELD x RETURN x"
    change = "CALL test.p() YIELD x CREATE (n {x: x}) RETURN n.x"
    prepared = graph.prepare(text)
    assert graph.query(text).value() == prepared.run().value() == graph.query(change).value() == 1
    graph.register_procedure("test.p() :: (x :: STRING)", lambda: [("new",)])
    assert graph.query(text).value() == prepared.run().value() == graph.query(change).value() == "new"


def test_only_functions_are_registered() -> None:
    with pytest.raises(qengine.SemanticError) as caught:
        qengine.Graph().register_procedure("p() :: ()", 5)  # type: ignore[call-overload]
    assert caught.value.code == "InvalidArgumentType"


# ---------------------------------------------------------------- values


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "rows",
    [
        [(1, "a"), (2, None)],
        [[1, "a"], [2, None]],
        [{"y": "a", "x": 1}, {"x": 2}],
        [(np.int64(1), np.str_("a")), (np.int8(2), None)],
        pa.table({"y": ["a", None], "x": [1, 2]}),
    ],
    ids=["tuples", "lists", "dicts", "numpy", "arrow"],
)
def test_rows(rows: Any, device: str) -> None:
    graph = qengine.Graph()
    graph.register_procedure("test.p() :: (x :: INTEGER, y :: STRING?)", lambda: rows)
    assert graph.query("CALL test.p()", device=device).fetchall() == [(1, "a"), (2, None)]


def test_frames_are_tables() -> None:
    pandas = pytest.importorskip("pandas")
    graph = qengine.Graph()
    graph.register_procedure("test.p() :: (x :: INTEGER)", lambda: pandas.DataFrame({"x": range(10_000)}))
    assert graph.query("CALL test.p() YIELD x RETURN count(*), sum(x)").fetchall() == [(10_000, 49_995_000)]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("a",)], "gave a value of type STRING as `x`, which is an INTEGER"),
        ([(None,)], "gave null as `x`, which is an INTEGER"),
        ([(1, 2)], "gave a row of 2 values for 1 outputs"),
        ([{"z": 1}], "gave `z`, which is none of its outputs"),
        ([1], "gave a int as a row: rows are tuples or dicts"),
        ({"x": 1}, "gave a str as a row: rows are tuples or dicts"),
        ([(2**63,)], "gave no value of the language as `x`"),
        ([(1 + 2j,)], "gave no value of the language as `x`"),
        (5, "failed: TypeError: 'int' object is not iterable"),
        (pa.table({"y": [1]}), "gave a table whose columns aren't its outputs: x, y"),
    ],
)
def test_rows_that_the_signature_does_not_say(rows: Any, message: str, device: str) -> None:
    graph = qengine.Graph()
    graph.register_procedure("test.p() :: (x :: INTEGER)", lambda: rows)
    with pytest.raises(qengine.ExecutionError) as caught:
        graph.query("CALL test.p()", device=device).fetchall()
    assert caught.value.message == f"The procedure `test.p` {message}."
    assert caught.value.code == "ProcedureCallFailed"


def test_arguments_are_values_of_results() -> None:
    graph, seen = small(), []
    graph.register_procedure("test.see(x :: ANY?) :: VOID", seen.append)
    graph.query("MATCH p = (a:Person {name: 'Ann'})-[k]->(b) UNWIND [a, k, p, {n: [b]}, date('2020-01-01')] AS x "
                "CALL test.see(x)").fetchall()  # fmt: skip
    node, relationship, path, inside, day = seen
    assert isinstance(node, qengine.Node)
    assert node["name"] == "Ann"
    assert isinstance(relationship, qengine.Relationship)
    assert isinstance(path, qengine.Path)
    assert inside["n"][0]["name"] == "Bob"
    assert isinstance(day, qengine.Date)


def test_nodes_of_another_graph_are_refused() -> None:
    graph, other = small(), qengine.Graph.from_records([{"labels": ["Other"]}])
    foreign = other.query("MATCH (n) RETURN n").value()
    fresh = qengine.Graph.from_records([{"labels": ["Person"]}])
    for each in (graph, fresh):
        each.register_procedure("test.p() :: (n :: NODE)", lambda: [(qengine.Node(99, ("A",), {}),)])
        with pytest.raises(qengine.ExecutionError, match=r"no value of the language as `n`"):
            each.query("CALL test.p()").fetchall()
    fresh.register_procedure("test.p() :: (n :: NODE)", lambda: [(foreign,)])
    with pytest.raises(qengine.ExecutionError, match=r"no value of the language as `n`"):
        fresh.query("CALL test.p()").fetchall()


# ---------------------------------------------------------------- what they see


@pytest.mark.parametrize("device", DEVICES)
def test_a_snapshot_is_the_version_that_the_query_sees(device: str) -> None:
    graph = small()

    @graph.register_procedure("test.count() :: (nodes :: INTEGER)", reads_graph=True)
    def count(snapshot: qengine.Snapshot) -> list[tuple[int]]:
        return [(snapshot.query("MATCH () RETURN count(*)").value(),)]

    reading = graph.query("UNWIND [1, 2] AS x CALL test.count() YIELD nodes RETURN nodes", device=device)
    graph.query("CREATE (:Person)")
    assert reading.fetchall() == [(2,), (2,)]
    with graph.transaction() as transaction:
        transaction.query("CREATE (:Person)")
        assert transaction.query("CALL test.count()", device=device).value() == 4
        changing = "CREATE (:Person) WITH 1 AS one CALL test.count() YIELD nodes RETURN nodes"
        assert transaction.query(changing, device=device).value() == 5
        transaction.rollback()
    assert graph.query("CALL test.count()", device=device).value() == 3


def test_a_snapshot_is_only_read() -> None:
    graph = small()
    graph.register_procedure("test.p() :: VOID", lambda snapshot: snapshot.query("CREATE ()"), reads_graph=True)
    with pytest.raises(qengine.ExecutionError, match=r"TransactionError: .*A procedure can only read the graph"):
        graph.query("CALL test.p()").fetchall()
    assert graph.node_count == 2


def test_procedures_call_procedures() -> None:
    graph = small()
    graph.register_procedure("test.one() :: (x :: INTEGER)", lambda: [(1,)])
    text = "CALL test.one() YIELD x RETURN x + 1"
    graph.register_procedure(
        "test.two() :: (x :: INTEGER)", lambda snapshot: [(snapshot.query(text).value(),)], reads_graph=True
    )
    assert graph.query("CALL test.two()").value() == 2


# ---------------------------------------------------------------- limits


@pytest.mark.parametrize("device", DEVICES)
def test_a_timeout_ends_endless_rows(device: str) -> None:
    graph = qengine.Graph()

    def endless() -> Iterator[tuple[int]]:
        while True:
            yield (1,)

    graph.register_procedure("test.endless() :: (x :: INTEGER)", endless)
    with pytest.raises(qengine.QueryTimeout):
        graph.query("CALL test.endless() YIELD x RETURN count(x)", timeout=0.2, device=device).fetchall()
    assert graph.query("CALL test.endless() YIELD x RETURN x LIMIT 3", device=device).fetchall() == [(1,)] * 3


def test_an_interrupt_ends_endless_rows() -> None:
    graph = qengine.Graph()
    begun = threading.Event()

    def endless() -> Iterator[tuple[int]]:
        while True:
            begun.set()
            yield (1,)

    graph.register_procedure("test.endless() :: (x :: INTEGER)", endless)
    result = graph.query("CALL test.endless() YIELD x RETURN count(x)")
    threading.Thread(target=lambda: (begun.wait(), graph.interrupt())).start()
    with pytest.raises(qengine.QueryInterrupted):
        result.fetchall()


def test_what_a_procedure_runs_ends_with_the_query() -> None:
    graph = qengine.Graph()
    text = "UNWIND range(1, 1000000000) AS x RETURN sum(x % 7)"
    graph.register_procedure(
        "test.long() :: (x :: INTEGER)", lambda snapshot: snapshot.query(text).fetchall(), reads_graph=True
    )
    begin = time.monotonic()
    with pytest.raises(qengine.QueryTimeout):
        graph.query("CALL test.long()", timeout=0.3).fetchall()
    assert time.monotonic() - begin < 20


def test_rows_are_charged_to_the_memory_limit() -> None:
    graph = qengine.Graph()
    graph.register_procedure("test.large() :: (x :: STRING)", lambda: (("x" * 100_000,) for _ in range(2_000)))
    assert graph.query("CALL test.large() YIELD x RETURN sum(size(x))", memory_limit="64MB").value() == 2 * 10**8
    with pytest.raises(qengine.OutOfMemory):
        graph.query("CALL test.large() YIELD x RETURN collect(x)", memory_limit="64MB").fetchall()


def test_estimates_refuse_calls() -> None:
    with pytest.raises(qengine.Unsupported, match="it calls a procedure"):
        qengine.example().estimate("MATCH (n:Country) CALL db.labels() YIELD label")


# ---------------------------------------------------------------- built in


def test_the_schema_of_the_example(tmp_path: Path) -> None:
    graph = qengine.example()
    graph.save(tmp_path / "saved")
    for each in (graph, qengine.open(tmp_path / "saved")):
        names = [row[0] for row in each.query("CALL db.labels()")]
        assert names == list(each.labels)
        properties = each.query("CALL db.schema.nodeTypeProperties()").fetchall()
        assert {row["nodeType"] for row in properties} == {f":`{name}`" for name in names}
        for row in properties:
            (label,) = row["nodeLabels"]
            missing = each.query(f"MATCH (n:`{label}`) WHERE n.`{row['propertyName']}` IS NULL RETURN count(*)").value()
            assert row["mandatory"] == (missing == 0), row


def test_labels_that_no_node_has_any_more_are_not_listed() -> None:
    graph = small()
    graph.query("MATCH (n {name: 'Bob'}) DETACH DELETE n")
    graph.query("MATCH (n) REMOVE n:Person, n.name SET n:Solo")
    assert graph.query("CALL db.labels()").fetchall() == [("Solo",)]
    assert graph.query("CALL db.relationshipTypes()").fetchall() == []
    assert graph.query("CALL db.schema.nodeTypeProperties()").fetchall() == [(":`Solo`", ["Solo"], None, None, False)]
