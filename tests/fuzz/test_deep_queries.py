"""Queries as deep as the parser lets through: each is answered or refused, none runs out of Python's stack."""

from __future__ import annotations

from contextlib import suppress

import pytest

import qengine
from qengine.errors import QengineError, Unsupported
from qengine.syntax.brackets import MAX_NESTING
from qengine.syntax.checks import MAX_CLAUSES

# What comes first, what is repeated (# is its number), what comes last, and of how many parts one repetition is.
CHAINS = {
    "WITH": ("WITH 1 AS x", "WITH x", "RETURN x", 1),
    "all of WITH": ("WITH 1 AS x", "WITH DISTINCT x ORDER BY x SKIP 0 LIMIT 5 WHERE x > 0", "RETURN x", 6),
    "aggregation": ("WITH 1 AS x", "WITH x, count(*) AS c", "RETURN x", 1),
    "collect": ("MATCH (a)", "WITH collect(a) AS l UNWIND l AS a", "RETURN count(*)", 2),
    "UNWIND": ("WITH 1 AS x", "UNWIND [x] AS y# WITH y# AS x", "RETURN x", 2),
    "OPTIONAL MATCH": ("MATCH (a)", "OPTIONAL MATCH (a)-->(b#)", "RETURN count(*)", 1),
    "MATCH WHERE": ("MATCH (a)", "MATCH (a)-->(b#) WHERE b#.p > 1 WITH a", "RETURN count(*)", 3),
    "EXISTS": ("MATCH (a)", "WITH a WHERE EXISTS { (a)-->(b) }", "RETURN count(*)", 2),
    "shortest paths": ("MATCH (a)", "OPTIONAL MATCH p# = shortestPath((a)-[*..3]->(b#)) WITH a", "RETURN count(*)", 2),
    "UNION": ("RETURN 0 AS x", "UNION RETURN # AS x", "", 2),
}
NESTS = {
    "EXISTS": ("MATCH (a) RETURN ", "EXISTS { MATCH (a) WHERE ", "true", " }"),
    "COUNT": ("MATCH (a) RETURN ", "COUNT { MATCH (a) RETURN ", "1", " }"),
    "COLLECT": ("MATCH (a) RETURN ", "COLLECT { MATCH (a) RETURN ", "1", " }"),
    "lists": ("RETURN ", "[", "1", "]"),
    "comprehensions": ("RETURN ", "[x IN [1] | ", "1", "]"),
    "CASE": ("RETURN ", "CASE WHEN true THEN ", "1", " END"),
    "functions": ("RETURN ", "abs(", "1", ")"),
    "NOT": ("RETURN ", "NOT ", "true", ""),
    "sums": ("RETURN 1", "", "", "+1"),
    "labels": ("MATCH (a:", "(", "A", ")"),
    "parenthesized paths": ("MATCH p = ", "(", "(a)-->(b)", ")"),
}


@pytest.fixture(scope="module")
def graph() -> qengine.Graph:
    nodes = [{"id": i, "labels": ["A"], "properties": {"p": i}} for i in range(2)]
    return qengine.Graph.from_records(nodes, [{"type": "R", "start": 0, "end": 1}])


@pytest.mark.parametrize("prefix", ["", "EXPLAIN ", "PROFILE "])
@pytest.mark.parametrize("name", CHAINS)
def test_the_longest_chains_run(graph: qengine.Graph, name: str, prefix: str) -> None:
    first, unit, last, parts = CHAINS[name]
    chain = " ".join(unit.replace("#", str(i)) for i in range((MAX_CLAUSES - 2) // parts))
    assert graph.query(f"{prefix}{first} {chain} {last}").fetchall()
    if not prefix:
        assert graph.query(f"{first} {chain} {last}", device="reference").fetchall()


@pytest.mark.parametrize("depth", [MAX_NESTING // 4, MAX_NESTING // 2, MAX_NESTING - 2])
@pytest.mark.parametrize("name", NESTS)
def test_the_deepest_nests_are_answered_or_refused(graph: qengine.Graph, name: str, depth: int) -> None:
    first, opening, inside, closing = NESTS[name]
    text = first + opening * depth + inside + closing * depth + (" RETURN 1" if first.startswith("MATCH (a:") else "")
    for prefix in ("EXPLAIN ", ""):
        with suppress(QengineError):
            graph.query(prefix + text, timeout=5).fetchall()


def test_a_full_stack_is_told_as_such(graph: qengine.Graph) -> None:
    chain = " ".join(["WITH x"] * (MAX_CLAUSES - 2))

    def deeper(calls: int) -> None:
        if calls:
            deeper(calls - 1)
        else:
            graph.query(f"WITH 1 AS x {chain} RETURN x").fetchall()

    with pytest.raises(Unsupported, match="nests deeper than the calls that Python allows"):
        deeper(600)
