"""Who asks for what another library calls it is told what it is called here."""

from __future__ import annotations

import re
from collections.abc import Callable
from inspect import signature

import pandas as pd
import pytest

import qengine
from qengine import Graph, QengineError
from qengine._elsewhere import KEYWORDS, OURS

OWNERS = {
    "graph": Graph(),
    "schema": Graph().schema,
    "Graph": Graph,
    "result": Graph().query("RETURN 1 AS x"),
    "qengine": qengine,
}


@pytest.mark.parametrize(("owner", "name"), [(owner, name) for owner in OURS for name in OURS[owner]])
def test_a_name_that_others_have_leads_to_ours(owner: str, name: str) -> None:
    with pytest.raises(AttributeError) as raised:
        getattr(OWNERS[owner], name)
    told = str(raised.value)
    assert f"has no attribute {name!r}; write " in told
    ours = re.findall(r"\b(graph|schema|Graph|result|qengine)\.(\w+)", told.partition("; write ")[2])
    assert ours or "row.asdict()" in told or told.endswith("print(result)")
    for whose, what in ours:
        assert hasattr(OWNERS[whose], what), what
    for text in re.findall(r'graph.query\("(.*?)"\)', told):
        assert Graph().query(text).fetchall() == []


def test_slips_are_told_and_nothing_is_made_up() -> None:
    for owner, slip, meant in (
        ("graph", "shcema", "graph.schema"),
        ("schema", "nods", "schema.nodes"),
        ("result", "fetchal", "result.fetchall"),
        ("Graph", "from_cvs", "Graph.from_csv"),
        ("qengine", "exmaple", "qengine.example"),
        ("qengine", "from_csv", "qengine.Graph.from_csv"),
    ):
        with pytest.raises(AttributeError, match=f"has no attribute '{slip}'; write {re.escape(meant)}$"):
            getattr(OWNERS[owner], slip)
    for owner in OWNERS.values():
        assert not hasattr(owner, "_repr_mimebundle_") and not hasattr(owner, "__arrow_c_schema__")
        with pytest.raises(AttributeError, match=r"has no attribute 'zzzzzz'$"):
            _ = owner.zzzzzz  # type: ignore[attr-defined,union-attr]


@pytest.mark.parametrize("name", sorted(KEYWORDS.keys() - {"source"}))  # which from_csv has
def test_a_keyword_that_others_have_leads_to_ours(name: str) -> None:
    functions = (Graph.from_csv, Graph.from_arrow, Graph.from_records, Graph().query, Graph().export)
    told = []
    for function in (each for each in functions if name not in signature(each).parameters):
        with pytest.raises(TypeError, match="unexpected keyword argument") as raised:
            function(**{name: None})  # type: ignore[operator]
        told += re.findall(r"Did you mean '(\w+)'\?$", str(raised.value))
    assert set(KEYWORDS[name]) & set(told)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: Graph.from_csv(nodes="a.csv", dtype={}), "Did you mean 'types'?"),
        (lambda: Graph.from_csv(nodes="a.csv", encoding="latin-1"), "Files are UTF-8"),
        (lambda: Graph.from_csv(nodes="a.csv", decimal=","), "pandas.read_csv has it"),
        (lambda: Graph.from_arrow({}, edges=[]), "Did you mean 'relationships'?"),
        (lambda: Graph().query("RETURN $ids", ids=[1]), "params={'ids': …}"),
        (lambda: Graph().query("RETURN 1", encoding="a"), "params={'encoding': …}"),
        (lambda: Graph().save("a", zzz=1), "argument 'zzz'"),
    ],
)
def test_a_keyword_that_is_none_is_told_with_what_to_do(call: Callable[[], object], told: str) -> None:
    with pytest.raises(TypeError, match=re.escape(told)):
        call()


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        (lambda: Graph.from_csv(__file__), 'nodes={"Person": '),
        (lambda: Graph.from_records([{"id": 1, "label": "A"}]), "Write 'labels'."),
        (lambda: Graph.from_records([{"id": 1}], [{"source": 1}]), "Write 'start'."),
        (lambda: Graph.from_records([{"id": 1, "name": "a"}]), "in a mapping of their own"),
        (lambda: Graph.from_records(pd.DataFrame({"id": [1]})), "Graph.from_arrow's"),
        (lambda: Graph.from_networkx([(1, 2)]), "Graph.from_edge_list's"),
        (
            lambda: Graph.from_arrow({}, {"R": pd.DataFrame({"source": ["a"], "target": ["b"]})}),
            "Give their tables, too",
        ),
        (lambda: Graph().export("graph.parquet"), "parquet and csv are folders"),
        (lambda: Graph().query("RETURN foo(1)"), "SHOW FUNCTIONS"),
        (lambda: Graph().query("CALL gds.wcc.stream('g')"), "to_networkx()"),
        (lambda: Graph().query("CALL paths.cheapest(1, 2, 'w')"), "paths.cheapest(start, end, options)"),
    ],
)
def test_what_strangers_write_first_is_told_what_to_write(call: Callable[[], object], hint: str) -> None:
    with pytest.raises(QengineError) as raised:
        call()
    assert hint in str(raised.value.hint)


def test_what_was_done_is_shown_without_what_was_not() -> None:
    done = Graph().query("CREATE (:A)-[:R]->()").stats.changes
    assert repr(done) == "Changes(nodes_created=2, relationships_created=1, labels_added=1)"


@pytest.mark.parametrize("name", ["cluster", "dbapi", "duckdb", "estimate", "learning", "pictures"])
def test_modules_of_their_own_are_there_without_an_import_of_each(name: str) -> None:
    assert qengine.__getattr__(name).__name__ == f"qengine.{name}" and name in dir(qengine)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("CALL show_tables() YIELD name RETURN name", "db.labels()"),
        ("CALL apoc.periodic.iterate('MATCH (n) RETURN n', 'SET n.x = 1', {})", "IN TRANSACTIONS"),
        ("CALL apoc.load.json('x.json') YIELD value RETURN value", "Graph.from_jsonl"),
    ],
)
def test_procedures_of_others_lead_to_what_there_is(text: str, told: str) -> None:
    with pytest.raises(qengine.QengineError, match=re.escape(told)):
        Graph().query(text)


def test_a_schema_is_no_method() -> None:
    with pytest.raises(TypeError, match="without parentheses"):
        Graph().schema()  # type: ignore[operator]
