"""Statements as people wrote them, on graphs that have their labels, types and properties: no crash, no wrong row."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Sequence
from functools import cache

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


@cache
def _statements() -> Sequence[str]:
    try:
        path = data.corpus()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["query"] for line in lines]


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
