"""Statements as people wrote them, on graphs that have their labels, types and properties: no crash, no wrong row."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any

import pytest

from qengine import Graph
from qengine.errors import QengineError, QuerySyntaxError
from qengine.syntax import parse
from qengine.testing import data
from qengine.testing.composed import check
from qengine.testing.random_query import RandomQuery
from qengine.testing.statement_graph import graph_for

SAMPLE = 80  # one statement in so many
BLOCKS = 10
_UNSURE = (
    "LIMIT",
    "SKIP",
    "OFFSET",
    "SHORTEST",
    "ANY ",
    "COLLECT",
    "HEAD(",
    "DISTINCT",
    "RAND(",
    "UUID(",
    "SHOW TRANSACTIONS",
    "DATE",
    "TIME",
    "[",
)
"""What may give several results: rows in no order, equal values of two types, chance, the clock."""


_REFUSED: Mapping[str, tuple[int, ...]] = {
    "a template of a manual or a program, with words or parameters to be put in": (
        *(13863, 14926, 14932, 15030, 15038, 15062, 15064, 15082, 15110, 15122, 15140, 15150, 16324, 16425, 16654),
        *(17012, 17017, 17070, 17072, 17219, 33270, 33271, 33272, 33319, 33376, 33820),
    ),
    "a part of a statement, whose variables something before it declares": (
        *(13656, 13672, 17047, 17148, 17160, 33465, 33808),
    ),
    "Neo4j refuses it, too": (
        *(13347, 13801, 13802, 14479, 14480, 14948, 15040, 15804, 15806, 15808, 15822, 15834, 15846, 17032, 17044),
        *(17159, 33623),
    ),
    "a procedure or a clause of administration": (*(14588, 15152, 33693, 33694, 33695, 33699, 33700, 33701, 33754),),
    "of a plugin that asks a service": (16893, 16897, 16906, 17278, 17279, 17281, 17565),
    "of several databases": (15194, 15854),
}
"""Statements of Neo4j's dialect that are refused, by why; the first three kinds are none that Neo4j 5 would take."""
_PLUGINS = re.compile(
    r"\b(apoc|gds|algo|spatial|n10s|genai|ga|custom|tda)\.\w|\bcall\s+(?!db|dbms|paths)\w+\.\w+", re.IGNORECASE
)
_JUDGED_OUT = ("needs plugin", "not a query", "invalid", "neo4j 3/4 only", "other")


@cache
def _records() -> Sequence[dict[str, Any]]:
    try:
        path = data.corpus()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@cache
def _statements() -> Sequence[str]:
    return [each["query"] for each in _records()]


def _outcome(text: str, seed: int) -> str:
    """Run a statement by all ways; return how it went."""
    try:
        statements = parse(text)
    except QuerySyntaxError:
        return "syntax"
    if len(statements) != 1:
        return "not one"
    made = graph_for(statements[0], seed)
    graph = Graph(made.store())
    sure = not any(word in text.upper() for word in _UNSURE)
    return check(graph, RandomQuery(text, made.parameters, lists_ordered=False, sure=sure), thorough=True)


def _check(places: range) -> Counter[str]:
    statements = _statements()
    return Counter(_outcome(statements[place], place) for place in places if place < len(statements))


@pytest.mark.shared_data
def test_some_statements() -> None:
    outcomes = _check(range(0, len(_statements()), SAMPLE))
    assert outcomes["rows"] > 0.3 * outcomes.total(), outcomes


def _is_refused(graph: Graph, text: str) -> bool:
    try:
        graph.explain(text)
    except QengineError:
        return True
    return False


def _refused(kinds: Collection[str]) -> set[int]:
    """Return the ids of statements of these kinds that people wrote for Neo4j without plugins and we refuse."""
    graph = Graph()
    judged = (each for each in _records() if each["kind"] in kinds and each["verdict"] not in _JUDGED_OUT)
    asked = (each for each in judged if each["source"] != "memgraph-tests" and not each["source"].startswith("t2c"))
    return {each["id"] for each in asked if not _PLUGINS.search(each["query"]) and _is_refused(graph, each["query"])}


@pytest.mark.shared_data
def test_statements_that_are_refused_are_known_ones() -> None:
    assert _refused(("call_proc", "call_subquery", "load_csv")) <= {id for ids in _REFUSED.values() for id in ids}


@pytest.mark.shared_data
@pytest.mark.nets
def test_reads_and_writes_that_are_refused_are_known_ones() -> None:
    assert _refused(("read", "write")) <= {id for ids in _REFUSED.values() for id in ids}


@pytest.mark.shared_data
@pytest.mark.nets
@pytest.mark.parametrize("block", range(BLOCKS))
def test_all_statements(block: int) -> None:
    outcomes = _check(range(block, len(_statements()), BLOCKS))
    assert outcomes["rows"] > 0.3 * outcomes.total(), outcomes


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (a:A)-[r:R {w: 2}]->(b:B|C)<-[:S*2..3]-() WHERE a.x = 'x' AND b.y IN [1, 2] RETURN count(*)",
        "MATCH p = (a:A)--(b) WHERE exists((b)-[:T]->(:D)) AND a.x STARTS WITH $s RETURN [(a)-->(c:E) | c.z]",
        "MATCH ((a:A)-[:R]->(b:B)){1,2} RETURN 1",
    ],
)
def test_a_graph_made_for_a_statement_has_what_it_matches(text: str) -> None:
    (statement,) = parse(text)
    rows = 0
    for seed in range(5):
        made = graph_for(statement, seed)
        graph = Graph(made.store())
        assert not graph.prepare(text).notices  # every label, type and property is known
        try:
            rows += sum(bool(row[0]) for row in graph.query(text, made.parameters))
        except QengineError:
            continue
    assert rows
