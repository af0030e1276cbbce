"""Full-text search: errors that point into the query, limits, saved graphs, relationships, odd columns."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import qengine
from qengine import ExecutionError, Graph, QueryTimeout, SemanticError
from qengine.errors import OutOfMemory
from qengine.fulltext.stems import stem
from qengine.fulltext.syntax import read_query

FIND = "CALL db.index.fulltext.queryNodes('t', $q) YIELD node RETURN node.k AS k ORDER BY k"
STEMS = """
caresses caress ponies poni ties ti caress caress cats cat feed feed agreed agre plastered plaster bled bled
motoring motor sing sing conflated conflat troubled troubl sized size hopping hop tanned tan falling fall
hissing hiss fizzed fizz failing fail filing file happy happi sky sky relational relat conditional condit
rational ration valenci valenc hesitanci hesit digitizer digit conformabli conform radicalli radic differentli differ
vileli vile analogousli analog vietnamization vietnam predication predic operator oper feudalism feudal
decisiveness decis hopefulness hope callousness callous formaliti formal sensitiviti sensit sensibiliti sensibl
triplicate triplic formative form formalize formal electriciti electr electrical electr hopeful hope goodness good
revival reviv allowance allow inference infer airliner airlin gyroscopic gyroscop adjustable adjust defensible defens
irritant irrit replacement replac adjustment adjust dependent depend adoption adopt homologou homolog
communism commun activate activ angulariti angular homologous homolog effective effect bowdlerize bowdler
probate probat rate rate cease ceas controll control roll roll at at café café
"""
"""Words, each with its stem."""


def test_stems_are_those_of_the_paper_that_defines_them() -> None:
    for word, expected in re.findall(r"(\S+) (\S+)", STEMS):
        assert stem(word) == expected, word


@pytest.mark.parametrize(
    ("query", "place", "message"),
    [
        ("", 0, "There is nothing to search for"),
        ("  ", 2, "There is nothing to search for"),
        ("a ()", 3, "There is nothing to search for"),
        ("(a", 0, r"This '\(' is never closed"),
        ("a) b", 1, r"This '\)' closes nothing"),
        ('a "b', 2, "This '\"' is never closed"),
        ("AND a", 0, "AND joins two parts"),
        ("a OR", 2, "Something must follow OR"),
        ("a AND || b", 2, "Something must follow AND"),
        ("a -", 2, "Something must follow -"),
        ("a NOT", 2, "Something must follow NOT"),
        ("a ^2", 2, "A word, a phrase or a group was expected"),
        ("a^", 1, "A number must follow"),
        ("a^1.2.3", 2, "This is no number"),
        ("a~1.5", 1, "Edits are a whole number"),
        ("a*~", 2, "A pattern can't be fuzzy"),
        ('"a b"~', 5, "How far apart words may be"),
        ("[a b]", 3, "TO was expected"),
        ("[a TO b", 0, "This range is never closed"),
        ("[a TO ", 6, "A bound was expected"),
        ("/a", 0, "regular expression that never ends"),
        ("a\\", 1, "Nothing follows the backslash"),
        ("n*:a", 0, "A property has no wildcards"),
        ("(" * 200 + "a" + ")" * 200, 100, "nested more than 100 deep"),
    ],
)
def test_a_wrong_query_is_pointed_at(query: str, place: int, message: str) -> None:
    with pytest.raises(ExecutionError, match=message) as raised:
        read_query(query)
    told = str(raised.value)
    assert ("the end of" if place >= len(query) else f"character {place + 1} of") in told or not query
    assert raised.value.code == "InvalidFullTextQuery"


def made(**columns: Any) -> Graph:
    count = len(next(iter(columns.values())))
    graph = Graph.from_arrow({"A": pa.table({"k": range(count), **columns})}, {})
    graph.query("CREATE FULLTEXT INDEX t FOR (n:A) ON EACH [n.x]")
    return graph


def found(graph: Graph, query: str, text: str = FIND, **given: Any) -> list[Any]:
    return [row[0] for row in graph.query(text, {"q": query}, **given)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [(r"\(b\)", [1]), (r"a\:c", [1, 2]), (r"\AND", [0]), (r"c\*", [2]), (r'"a \"b\""', [1]), ("and", [0]), ("b|", [1])],
)
def test_a_backslash_takes_the_meaning_from_a_sign(query: str, expected: list[int]) -> None:
    assert found(made(x=["this and that", 'a "b"', "c*"]), query) == expected


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a b", None, "c"], pa.large_string()),
        pa.array(["a b", None, "c"]).dictionary_encode(),
        pa.array([["a", "b"], None, ["c", None]]),
        pa.array([["a", "b"], [], ["c"]], pa.large_list(pa.large_string())),
    ],
)
def test_texts_in_columns_of_all_types_are_found(column: Any) -> None:
    assert found(made(x=column), "b") == [0]
    assert found(made(x=column), "a c") == [0, 2]


@pytest.mark.parametrize("column", [pa.array([1, 2]), pa.array([None, None], pa.string()), pa.array([[1.0], [2.0]])])
def test_columns_without_texts_are_searched_in_vain(column: Any) -> None:
    assert found(made(x=column), 'a b* c~ /d.*/ "e f" [a TO z] *') == []


def test_scores_have_single_precision() -> None:
    graph = Graph()
    graph.query("UNWIND ['a b', 'c', 'a c d a'] AS t CREATE (:T {t: t})")
    graph.query("CREATE FULLTEXT INDEX t FOR (n:T) ON EACH [n.t]")
    query = "CALL db.index.fulltext.queryNodes('t', $q) YIELD node, score RETURN node.t, score"
    inverse = np.float32(1) / (
        np.float32(1.2) * (np.float32(0.25) + np.float32(0.75) * np.float32(1) / np.float32(7 / 3))
    )
    weight = np.float32(math.log(1 + 1.5 / 2.5))
    found = dict(graph.query(query, {"q": "c"}).fetchall())
    assert found["c"] == weight - weight / (np.float32(1) + inverse)
    for text in ("a", "a c", "+a c^2", '"a b"', "(a b)^1.3 d", "a~", "b*^0.1"):
        for _, score in graph.query(query, {"q": text}).fetchall():
            assert score == np.float32(score), text


def test_relationships_of_several_types_are_found() -> None:
    graph = Graph()
    graph.query(
        "CREATE (a:A)-[:R {k: 1, x: 'one two'}]->(a)-[:S {k: 2, x: ['two', 'three']}]->(a)-[:T {k: 3, x: 'two'}]->(a)"
    )
    graph.query("CREATE FULLTEXT INDEX t FOR ()-[r:S|R|Z]-() ON EACH [r.x, r.none]")
    text = "CALL db.index.fulltext.queryRelationships('t', $q) YIELD relationship AS r RETURN r.k AS k ORDER BY k"
    assert found(graph, "two", text) == [1, 2]
    graph.query("MATCH ()-[r:S]->() SET r.x = 'four' CREATE (:A)-[:Z {k: 4, x: 'two'}]->(:A)")
    assert found(graph, "two", text) == [1, 4]
    graph.query("MATCH ()-[r:R]->() DELETE r")
    assert found(graph, "two one four", text) == [2, 4]
    with pytest.raises(ExecutionError, match="There is no FULLTEXT index 't' of nodes"):
        found(graph, "two")


def test_a_saved_index_comes_back_with_its_analyzer(tmp_path: Path) -> None:
    graph = made(x=["The runs", "of runners"])
    graph.query(
        "CREATE FULLTEXT INDEX e FOR (n:A|B) ON EACH [n.x] OPTIONS {indexConfig: {`fulltext.analyzer`: 'english'}}"
    )
    statement = graph.query(
        "SHOW INDEXES YIELD name, createStatement WHERE name = 'e' RETURN createStatement"
    ).fetchall()
    graph.save(tmp_path / "g")
    with qengine.open(tmp_path / "g") as again:
        shown = again.query(
            "SHOW INDEXES YIELD name, createStatement WHERE name = 'e' RETURN createStatement"
        ).fetchall()
        assert shown == statement
        assert found(again, "running", FIND.replace("'t'", "'e'")) == [0]
        assert found(again, "runs") == [0]


def test_an_index_that_is_dropped_and_made_anew_is_that_of_the_graph_now() -> None:
    graph = made(x=["a", "b"])
    assert found(graph, "a") == [0]
    graph.query("DROP INDEX t")
    with pytest.raises(ExecutionError, match="There is no FULLTEXT index 't'"):
        found(graph, "a")
    graph.query("MATCH (n) SET n.x = 'a'")
    graph.query("CREATE FULLTEXT INDEX t FOR (n:A) ON EACH [n.x]")
    assert found(graph, "a") == [0, 1]


def test_limits_hold_while_an_index_is_made_and_searched() -> None:
    graph = made(x=["one two three four five"] * 20_000)
    with pytest.raises(OutOfMemory, match="The FULLTEXT index t needs"):
        found(graph, "one", memory_limit=1_000_000)
    with pytest.raises(QueryTimeout):
        found(graph, "one", timeout=0.000001)
    count = "CALL db.index.fulltext.queryNodes('t', $q) YIELD node RETURN count(*)"
    assert found(graph, "one", count) == [20_000]
    assert graph._store.kept.nbytes > 1_000_000
    assert found(graph, "one", count.replace("$q", "$q, {limit: 3}"), memory_limit=8_000_000) == [3]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"most": 1}, "has no option 'most'"),
        ({"limit": -1}, "The option limit is an integer"),
        ({"skip": "1"}, "The option skip is an integer"),
        ({"analyzer": "klingon"}, "There is no analyzer 'klingon'"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ExecutionError, match=message):
        made(x=["a"]).query("CALL db.index.fulltext.queryNodes('t', 'a', $o)", {"o": options}).fetchall()


def test_an_unknown_analyzer_is_refused_where_it_is_named() -> None:
    with pytest.raises(SemanticError, match="There is no analyzer 'klingon'") as raised:
        Graph().query(
            "CREATE FULLTEXT INDEX t FOR (n:A) ON EACH [n.x] OPTIONS {indexConfig: {`fulltext.analyzer`: 'klingon'}}"
        )
    assert raised.value.span is not None
    assert raised.value.span.end - raised.value.span.start == len("'klingon'")
