"""Walks of few lengths along one relationship, as plain patterns: the CPU executor agrees with the reference."""

from __future__ import annotations

import importlib
import random
from itertools import permutations

import numpy as np
import pytest

from qengine import Graph
from qengine.testing.compare import agree

_QUERIES = 40  # of a graph
_ENDS = (("(a)", "(b)"), ("(a)", "(b)"), ("(a:A)", "(b)"), ("(a {x: 0})", "(b:B)"), ("(a)", "(a)"))
_TAILS = ("", "", "", "-->(d)", "--(d)", "<-[:R]-(d)", "-[*2..2]-(d)", ", (a)-->(d)")
_ON_PATHS = (
    "all(n IN nodes(p) WHERE n.x < 2)",
    "none(n IN nodes(p)[1..-1] WHERE n.x = 1)",
    "length(p) > 1",
    "none(q IN relationships(p) WHERE q.w = 2)",
)
_ON_LISTS = (
    "size(r) = 2",
    "all(q IN r WHERE q.w < 2)",
    "r[0].w = 1",
    "COUNT { UNWIND r AS q RETURN q } > 1",
    "EXISTS { (a)-->(z) WHERE z.x <> size(r) }",
)
_ON_NODES = ("a.x <> 1", "EXISTS { (a)-->() }", "6 / (a.x + 1) > 2")
_RETURNED = ("count(*)", "a.x, count(*)", "count(DISTINCT a)", "DISTINCT a", "a", "sum(a.x), max(a.x)")


@pytest.fixture(autouse=True)
def patterns_however_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.import_module("qengine.optimizer.lower.tail"), "_FEW_WALKS", 0.0)


def pairs_of(shape: str, chance: random.Random) -> list[tuple[int, int]]:
    if shape == "clique":
        return list(permutations(range(4), 2))
    if shape == "cycle":
        return [(k, (k + 1) % 5) for k in range(5)]
    nodes = 2 if shape == "parallel" else 4
    loops = [(0, 0), (0, 0), (1, 1)] if shape == "loops" else []
    return loops + [(chance.randrange(nodes), chance.randrange(nodes)) for _ in range(6)]


def graph_of(shape: str) -> Graph:
    chance = random.Random(shape)
    return Graph.from_records(
        [{"id": k, "labels": ["A"] if k % 2 else ["B"], "properties": {"x": k % 3}} for k in range(5)],
        [
            {"type": chance.choice("RRS"), "start": start, "end": end, "properties": {"w": k % 3}}
            for k, (start, end) in enumerate(pairs_of(shape, chance))
        ],
        undirected=["S"] if shape in ("parallel", "loops") else [],
    )


def random_walks(chance: random.Random) -> str:
    """Return a query that follows one relationship, or two, a few times."""
    least = chance.choice((1, 2, 2, 2, 3))
    most = chance.choice((least, least, least + 1, min(4, least + 2)))
    name = chance.choice(("", "r"))
    types = chance.choice(("", "", ":R", ":S", ":R|S"))
    start, behind = chance.choice((("-", "->"), ("-", "->"), ("<-", "-"), ("-", "-")))
    if chance.random() < 0.3:
        name, condition = "", chance.choice(("", " WHERE q.w > 0"))
        hop = f"{start}[q{types}{condition}]{behind}{{{least},{most}}}"
    else:
        hop = f"{start}[{name}{types}*{least}..{most}{chance.choice(('', '', ' {w: 1}'))}]{behind}"
    one, other = chance.choice(_ENDS)
    path = chance.choice(("", "", "p = "))
    match_mode = chance.choice(("", "", "", "DIFFERENT NODES ", "REPEATABLE ELEMENTS "))
    path_mode = chance.choice(("", "", "ACYCLIC ") if match_mode else ("", "", "TRAIL ", "ACYCLIC ", "SIMPLE "))
    returned = [*_RETURNED, *(("a, b", "a.x, b.x, count(*)", "b, count(*)") if other != "(a)" else ())]
    conditions = [chance.choice(_ON_NODES)] if chance.random() < 0.3 else []
    if path:
        returned += ["p", "length(p), count(*)", "sum(length(p))"]
        conditions += [chance.choice(_ON_PATHS)] if chance.random() < 0.5 else []
    if name:
        returned += ["r", "size(r)", "count(r)"]
        conditions += [chance.choice(_ON_LISTS)] if chance.random() < 0.4 else []
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    before = chance.choice(("", "", "", "OPTIONAL ", "MATCH (a) ", "MATCH (a)-[o]->() "))
    pattern = f"{match_mode}{path}{path_mode}{one}{hop}{other}{chance.choice(_TAILS)}"
    return f"{before}MATCH {pattern}{where} RETURN {chance.choice(returned)}"


@pytest.mark.parametrize("shape", ["random", "parallel", "loops", "clique", "cycle"])
def test_random_walks(shape: str) -> None:
    graph = graph_of(shape)
    for number in range(_QUERIES):
        text = random_walks(random.Random(f"{shape} {number}"))
        agree(graph, text)


@pytest.mark.parametrize(
    ("walk", "fixed"),
    [
        ("-->{2}", ["-->()-->"]),
        ("-[*3..3]->", ["-->()-->()-->"]),
        ("--{3}", ["--()--()--"]),
        ("-[*1..3]->", ["-->", "-->()-->", "-->()-->()-->"]),
        ("((x)<--(y)){2}", ["<--()<--"]),
    ],
)
def test_many_walks_are_counted_without_walking(walk: str, fixed: list[str]) -> None:
    one, other = np.divmod(np.arange(40 * 40), 40)
    graph = Graph.from_edge_list((one[one != other], other[one != other]), type="E")
    text = "MATCH (a){}(b) RETURN count(*) AS n"
    assert "Walk" not in str(graph.explain(text.format(walk)))
    expected = sum(row.n for each in fixed for row in graph.query(text.format(each)))
    assert [row.n for row in graph.query(text.format(walk))] == [expected]
