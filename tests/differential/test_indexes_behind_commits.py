"""Random histories under indexes and constraints: each version finds what the same graph finds that is loaded anew.

Searches use range, text, full-text and vector indexes, of nodes and of relationships, and facts about types: right
after commits, inside transactions, after what was taken back, in versions that were read before, and when opened. The
graph that is loaded anew has no index when it is asked but those that are searched whole, which are made of all its
elements then.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from qengine import Graph, QengineError
from qengine.testing.updates import Chain
from qengine.write import batch_changes, steps
from tests.differential.test_updates import loaded

SEEDS = 8
REFUSED = ("ConstraintValidationFailed", "DeleteConnectedNode")
MORE = 40
WORDS = ("ship", "alien", "crew", "team", "solaris")
DECLARED = (
    "CREATE INDEX k FOR (n:A) ON (n.k)",
    "CREATE INDEX ks FOR (n:A) ON (n.k, n.s)",
    "CREATE TEXT INDEX s FOR (n:B) ON (n.s)",
    "CREATE INDEX w FOR ()-[r:R]-() ON (r.w)",
    "CREATE CONSTRAINT u FOR (n:C) REQUIRE n.k IS UNIQUE",
)
SEARCHED = (
    "CREATE FULLTEXT INDEX t FOR (n:A|B) ON EACH [n.s]",
    "CREATE VECTOR INDEX v FOR (n:A) ON n.v",
    "CREATE VECTOR INDEX e FOR ()-[r:R]-() ON r.v OPTIONS {indexConfig: {`vector.similarity_function`: 'euclidean'}}",
)
WRITES = (
    "CREATE (:A {k: $k, s: $s, v: $v})",
    "CREATE (:C {k: $k, s: $s})",
    "CREATE (:A:B {k: $x, s: $s})-[:R {w: $k, v: $v}]->(:B {k: $k, s: $s})",
    "UNWIND range(0, 20) AS i CREATE (:B {k: $k + i, s: $s, v: [i, 1, $x]})",
    "UNWIND range(0, 20) AS i MERGE (n:A {k: i}) ON CREATE SET n.s = $s ON MATCH SET n.v = $v",
    "UNWIND range(0, 9) AS i MATCH (a:A {k: i}), (b {k: $k + i}) CREATE (a)-[:R {w: i, v: [i, $x]}]->(b)",
    "MATCH (n {k: $k}) SET n.s = $s",
    "MATCH (n:A) WHERE n.k > $k AND n.k < $k + 4 SET n.k = n.k + $x",
    "MATCH (n:A) WHERE n.k % 3 = $x SET n.v = $v",
    "MATCH (n:A) WHERE n.k % 5 = $x REMOVE n.s",
    "MATCH (n) WHERE n.s STARTS WITH $s SET n = {k: n.k, v: $v}",
    "MATCH (n {k: $k}) SET n:A REMOVE n:B",
    "MATCH (n:A) WHERE n.k % 7 = $x SET n:B REMOVE n:A",
    "MATCH (n:C) WHERE n.k < $k SET n.k = n.k + $x",
    "MATCH ()-[r:R]->() WHERE r.w = $k SET r.w = $x",
    "MATCH ()-[r:R]->() WHERE r.w % 4 = $x SET r.v = $v",
    "MATCH ()-[r:R {w: $k}]->() DELETE r",
    "MATCH (a)-[r:R]->(b) WHERE r.w % 5 = $x CREATE (b)-[:R {w: $k}]->(a)",
    "MATCH (n {k: $k}) DETACH DELETE n",
    "MATCH (n:B) WHERE n.k % 6 = $x DETACH DELETE n",
    "MATCH (n:C {k: $k}) DELETE n CREATE (:C {k: $k, s: $s})",
)
READS = (
    "MATCH (n:A {k: $k}) RETURN n.k AS k, n.s AS s",
    "MATCH (n:C) WHERE n.k IN [$k, $x, $k + 1] RETURN n.k AS k, n.s AS s",
    "MATCH (n {k: $k, s: $s}) RETURN labels(n) AS l",
    "MATCH (n:A) WHERE n.k >= $k AND n.k < $k + 9 RETURN n.k AS k, n.s AS s",
    "MATCH (n:B) WHERE n.s STARTS WITH $s RETURN n.k AS k",
    "MATCH (n:B) WHERE n.s CONTAINS $s RETURN count(*) AS c",
    "MATCH (a:A {k: $k})-[r:R]->(b) RETURN r.w AS w, b.k AS k",
    "MATCH ()-[r:R {w: $k}]->(b) RETURN b.k AS k, r.v AS v",
    "MATCH (a)-[r:R]->() WHERE r.w > $x AND r.w < $k RETURN a.k AS k, r.w AS w",
    "MATCH (a)-[:R]-(b)-[:R]-(c) RETURN count(*) AS c",
    "MATCH (a)-[:R]->(b)-[:R]->(c)-[:R]->(a) RETURN count(*) AS c",
    "CALL db.index.fulltext.queryNodes('t', $s) YIELD node, score RETURN node.k AS k, round(score, 6) AS s",
    "CALL db.index.vector.queryNodes('v', 1000, $v) YIELD node, score RETURN node.k AS k, round(score, 6) AS s",
    "CALL db.index.vector.queryRelationships('e', 1000, [$k, $x]) YIELD relationship AS r, score "
    "RETURN r.w AS w, round(score, 6) AS s",
)


def values(chance: random.Random) -> dict[str, Any]:
    """Return parameters of a statement."""
    return {
        "k": chance.randrange(30),
        "x": chance.randrange(4),
        "s": " ".join(chance.choices(WORDS, k=chance.randint(1, 2))),
        "v": [chance.choice([-1.0, 0.5, 2.0]) for _ in range(chance.choice([2, 3, 3]))],
    }


def rows_of(query: Any, text: str, given: dict[str, Any]) -> list[str]:
    """Return a query's rows in an order of their own."""
    return sorted(map(repr, query(text, given).fetchall()))


def check(seed: int, folder: Path) -> None:
    chance = random.Random(f"indexes {seed}")
    graph = Graph()
    for text in (*SEARCHED, *chance.sample(DECLARED, 3)):
        graph.query(text)
    history: list[str] = []
    path = folder / "graph"
    waiting: tuple[Any, list[str]] | None = None

    def compare(query: Any) -> None:
        nonlocal waiting
        anew = loaded(Chain(graph).model())
        for text in SEARCHED:
            anew.query(text)
        for text in chance.sample(READS, 4):
            given = values(chance)
            expected = rows_of(anew.query, text, given)
            found = rows_of(query, text, given)
            assert found == expected, f"seed {seed}: {text} {given}\n{found}\n{expected}\n" + "\n".join(history)
        if waiting is not None:
            result, expected = waiting
            found = sorted(map(repr, result.fetchall()))
            assert found == expected, f"seed {seed}: an older version\n{found}\n{expected}\n" + "\n".join(history)
            waiting = None
        elif chance.random() < 0.5:
            text, given = chance.choice(READS), values(chance)
            waiting = graph.query(text, given), rows_of(anew.query, text, given)

    for _ in range(24):
        many = chance.choice([1, 1, 3])
        writes = [(chance.choice(WRITES), values(chance)) for _ in range(many)]
        draw = chance.random()
        if draw < 0.6:
            for text, given in writes:
                history.append(f"{text} {given}")
                try:
                    graph.query(text, given)
                except QengineError as error:
                    assert error.code in REFUSED, error
                    history[-1] += " fails"
        elif draw < 0.85:
            with graph.transaction() as transaction:
                kept = chance.random() < 0.5
                for text, given in writes:
                    history.append(f"  {text} {given}{'' if kept else ' taken back'}")
                    try:
                        transaction.query(text, given)
                    except QengineError as error:
                        history[-1] += " fails"
                        assert error.code in REFUSED, error
                    if chance.random() < 0.3:
                        rows_of(transaction.query, chance.choice(READS), values(chance))
                if not kept:
                    transaction.rollback()
        elif draw < 0.93:
            text = chance.choice(DECLARED)
            name = text.split()[3 if text.split()[1] == "TEXT" else 2]
            for each in (f"DROP {'CONSTRAINT' if name == 'u' else 'INDEX'} {name} IF EXISTS", text):
                history.append(each)
                try:
                    graph.query(each)
                except QengineError as error:
                    history[-1] += f" fails: {error.code}"
        else:
            history.append("open")
            waiting = None
            if not path.exists():
                graph.save(path)
            elif chance.random() < 0.5:
                graph.checkpoint()
            graph.close()
            graph = Graph.open(path, durability="none")
        if chance.random() < 0.7:
            compare(graph.query)
    graph.close()


@pytest.mark.parametrize("seed", range(SEEDS))
def test_versions_find_what_graphs_loaded_anew_find(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if seed % 2:
        monkeypatch.setattr(steps, "LEAST", 1)
        monkeypatch.setattr(batch_changes, "PATCHED", 1)
    check(seed, tmp_path)


@pytest.mark.nets
def test_more_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(SEEDS, MORE):
        with monkeypatch.context() as patch:
            if seed % 2:
                patch.setattr(steps, "LEAST", 1)
                patch.setattr(batch_changes, "PATCHED", 1)
            check(seed, tmp_path / str(seed))
