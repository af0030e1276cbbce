"""What is known of patterns serves all statements on a version of a graph: it is what each would find for itself."""

from __future__ import annotations

import gc
import random
import weakref
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np
import pytest

import qengine
from qengine import ExecutionError, Graph

matching = import_module("qengine.optimizer.matching")
elimination = import_module("qengine.optimizer.elimination")


def made() -> Graph:
    dice = np.random.default_rng(5)
    nodes = [{"labels": [("A", "B")[k % 2]], "properties": {"x": k, "s": f"s{k % 7}"}} for k in range(1200)]
    ends = dice.integers(0, 1200, (9000, 2)).tolist()
    edges = [
        {"type": ("E", "F")[k % 3 == 0], "start": a, "end": b, "properties": {"w": k % 50}}
        for k, (a, b) in enumerate(ends)
    ]
    return Graph.from_records(nodes, edges)


@pytest.fixture
def graph() -> Graph:
    return made()


class Found:
    """Counts the orders and eliminations that are found anew."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.times = 0
        for module, name in ((matching, "_ordered"), (elimination, "_eliminated")):
            monkeypatch.setattr(module, name, self._counting(getattr(module, name)))

    def _counting(self, find: Any) -> Any:
        def counted(*given: Any) -> Any:
            self.times += 1
            return find(*given)

        return counted

    def by(self, graph: Graph, text: str) -> int:
        """Return how many a text takes."""
        self.times = 0
        graph.prepare(text)
        return self.times


def test_another_text_on_the_same_pattern_finds_it_known(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Found(monkeypatch)
    pattern = "MATCH (a:A)-[e:E]->(b)-[:E]->(c) WHERE a.x < 9 AND e.w > 3 "
    first = found.by(graph, pattern + "RETURN a, b.x AS x, c")
    assert first > 0
    assert found.by(graph, "  " + pattern + "RETURN c, a, b.x * 2 AS x ORDER BY x LIMIT 3") == 0
    assert found.by(graph, pattern.replace("a.x < 9", "a.x < 8") + "RETURN a, b.x AS x, c") == 0  # shares its plan
    for other in ("a.x <= 9", "a.x < 9.0", "a.s < '9'", "a.x < 9 AND b.x = 1"):
        assert found.by(graph, pattern.replace("a.x < 9", other) + "RETURN a, b.x AS x, c") > 0
    graph.query("CREATE (:A {x: 1})")
    assert found.by(graph, pattern + "RETURN a, b, c") == 0  # planned by the numbers of the version before
    graph.query("UNWIND range(1, 100) AS x CREATE (:A {x: x})")
    assert found.by(graph, pattern + "RETURN a, c") > 0


def drawn(dice: random.Random) -> str:
    """Return a query of few patterns, so that many have one in common."""
    shape = dice.choice(
        ("(a{0})-[e:E]->(b)-[f:E]->(c{1})", "(a{0})-[e]-(b{1})", "(a)-[e:E]->(b{0})-[f:F]->(c)<-[:F]-(a)")
    )
    match = shape.format(*(dice.choice(("", ":A", ":B")) for _ in range(2)))
    mode = dice.choice(("", "", "DIFFERENT NODES "))
    where = dice.sample(
        ("a.x < 40", "b.s = 's1'", "e.w > 45", "a.x < b.x", "a.s = b.s", "10 / b.x > 1"), dice.choice((0, 1, 1, 2))
    )
    counted = ("count(*) AS n", "b.s AS s, count(*) AS n", "a, count(*) AS n", "a, b", "avg(b.x) AS m", "DISTINCT b")
    hint = dice.choice(("", "", "", "/*+ order(b, a) */ ", "/*+ eliminate */ "))
    return f"{hint}MATCH {mode}{match}{' WHERE ' * bool(where)}{' AND '.join(where)} RETURN {dice.choice(counted)}"


def told(graph: Graph, query: str) -> str:
    try:
        return str(graph.explain(query))
    except qengine.QengineError as error:
        return str(error)


def test_plans_are_those_of_a_graph_that_knows_nothing(graph: Graph) -> None:
    dice, knowing = random.Random(8), made()
    for query in [drawn(dice) for _ in range(60)]:
        matching._matchings.of(graph._store).clear()
        elimination._eliminations.of(graph._store).clear()
        alone, known = told(graph, query), told(knowing, query)
        assert known == alone, query


def test_what_is_eliminated_is_known_with_its_conditions(graph: Graph) -> None:
    wheres = ("a.x < 40", "a.x < 41", "b.s = 's1'", "c.s = 's1'", "a.x < 40 AND c.s = 's2'", "a <> c", "a:A")
    for mode, where in product(("", "REPEATABLE ELEMENTS "), (*wheres, *wheres)):
        query = f"MATCH {mode}(a)-[:E]->(b)-[:E]->(c) WHERE {where} RETURN count(*)"
        found = graph.query(f"/*+ eliminate */ {query}", device="cpu")
        assert found.value() == graph.query(f"/*+ search */ {query}", device="cpu").value()


def test_errors_stand_in_their_own_text(graph: Graph) -> None:
    for space in ("", "    ", "\n\n"):
        for query in (
            f"{space}MATCH (a)-[:E]->(b) WHERE 1 / (a.x - 5) > 0 RETURN count(*) AS n",
            f"{space}MATCH (a)-[:E]->(b) WHERE 1 / (a.x - 5) > 0 RETURN b",
        ):
            with pytest.raises(ExecutionError) as caught:
                graph.query(query, device="cpu").fetchall()
            assert caught.value.span is not None
            assert query[caught.value.span.start :].startswith(("1 / (a.x", "/ (a.x"))


def test_a_graph_whose_patterns_are_known_is_let_go() -> None:
    """Though what a pattern is known by refers to it."""

    def asked() -> weakref.ref[object]:
        given = made()
        given.register_function("my.own(x :: INTEGER) :: INTEGER", lambda x: x + (given is None))
        given.query("MATCH (a:A)-[:E]->(b)-[:E]->(c) WHERE my.own(a.x) < 5 RETURN count(*)").fetchall()
        assert len(matching._matchings.of(given._store).items()) > 0
        return weakref.ref(given._store)

    gone = asked()
    gc.collect()
    assert gone() is None
