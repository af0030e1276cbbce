"""First rows within a bound by the order's first key are those of the whole order, on every way that leads to them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from qengine import Graph
from qengine.optimizer.lower import bounded
from qengine.testing.compare import agree

_NODES, _EDGES = 60, 300
_SHAPES = {
    "pages": "WHERE {key} > 7 RETURN {key} AS x, b.id AS j ORDER BY x{way}, j LIMIT {limit}",
    "rows": "RETURN a.id AS i, {key} AS x, b.id AS j ORDER BY x{way}, i, j LIMIT {limit}",
    "groups": "RETURN {key} AS x, count(*) AS n, min(b.id) AS m, avg(a.f) AS f ORDER BY x{way} LIMIT {limit}",
    "different": "RETURN DISTINCT {key} AS x, b.t AS t ORDER BY x{way}, t LIMIT {limit}",
    "kept groups": "WITH {key} AS x, count(*) AS n WHERE n > 6 RETURN x, n ORDER BY x{way} LIMIT {limit}",
    "elements": "WITH DISTINCT a, k, b.t AS t, b RETURN {key} AS x, a.id AS i, t, b.id AS j "
    "ORDER BY x{way}, i, t, j LIMIT {limit}",
    "missing": "OPTIONAL MATCH (b)-->(c:N) WHERE c.x > a.x RETURN {key} AS x, b.id AS j, c.id AS l "
    "ORDER BY x{way}, j, l LIMIT {limit}",
    "unwound": "UNWIND [1, 2] AS i WITH a, k, b, i MATCH (b)-->(c) RETURN {key} AS x, c.id AS l, i "
    "ORDER BY x{way}, l, i LIMIT {limit}",
    "walks": "MATCH (b)-[w:to*1..2]->(c) RETURN {key} AS x, c.id AS l, size(w) AS n "
    "ORDER BY x{way}, l, n LIMIT {limit}",
    "late": "RETURN {key} AS x, b.id AS j, COUNT {{ (b)-->()-->(c) WHERE c.x > a.x }} AS n "
    "ORDER BY x{way}, j, a.id LIMIT {limit}",
    "skipped": "RETURN a.id AS i, b.id AS j ORDER BY {key}{way}, i, j SKIP 2 LIMIT {limit}",
    "ties": "RETURN {key} AS x, {owner}.n AS y, a.id AS i, b.id AS j ORDER BY x{way}, y, i, j LIMIT {limit}",
    "ties of both": "RETURN a.id AS i, b.id AS j ORDER BY {key}{way}, {owner}.t DESC, i, j LIMIT {limit}",
}
_ENDINGS = ("RETURN a.id ORDER BY a.id", "WITH b.id AS x, count(*) AS n WHERE n > 7 RETURN x ORDER BY x")
_KEYS = ("a.x", "a.f", "a.t", "k.x", "b.n", "b.id")


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Integers, floats with NaN and strings, each of some elements alone."""
    dice = np.random.default_rng(5)
    floats = dice.choice([-0.0, 0.0, 1.5, np.nan, np.inf, *dice.random(20)], _NODES)
    nodes = pa.table(
        {
            "id": np.arange(_NODES),
            "x": pa.array(dice.integers(-9, 9, _NODES), mask=dice.random(_NODES) < 0.1),
            "f": pa.array(floats, mask=dice.random(_NODES) < 0.1),
            "t": pa.array([f"t{k}" for k in dice.integers(0, 30, _NODES)], mask=dice.random(_NODES) < 0.1),
            "n": pa.array(dice.integers(0, 30, _NODES), mask=dice.random(_NODES) < 0.6),
        }
    )
    ends = {"start": dice.integers(0, _NODES, _EDGES), "end": dice.integers(0, _NODES, _EDGES)}
    edges = pa.table(ends | {"x": pa.array(dice.integers(0, 50, _EDGES), mask=dice.random(_EDGES) < 0.1)})
    return Graph.from_arrow({"N": nodes}, [("to", "N", "N", edges)], key="id")


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds wherever there can be one, about as often too narrow as not."""
    monkeypatch.setattr(bounded, "_LEAST_ROWS", 0.0)
    monkeypatch.setattr(bounded, "_LEAST_COST", 0.0)
    monkeypatch.setattr(bounded, "_MARGIN", 1.2)
    monkeypatch.setattr(bounded, "_TIES", 1.0)
    monkeypatch.setattr(bounded, "_LARGEST_SHARE", 1.0)
    monkeypatch.setattr(bounded, "_LARGEST_SHARE_OF_GROUPS", 1.0)


@pytest.mark.parametrize(("shape", "key"), list(product(_SHAPES, _KEYS)))
def test_the_first_rows_are_those_of_the_whole_order(graph: Graph, eager: None, shape: str, key: str) -> None:
    where = "" if shape == "pages" else "WHERE a.x < b.x "
    for way, limit, condition in (("", 25, where), (" DESC", 3, ""), (" DESC", 25, "")):
        ending = _SHAPES[shape].format(key=key, owner=key[0], way=way, limit=limit)
        query = f"MATCH (a:N)-[k:to]->(b:N) {condition}{ending}"
        agree(graph, query, ordered=True)


@pytest.mark.parametrize(("order", "bound"), [
    ("a.g, a.id", "a.g < 0 OR a.g = 0 AND a.id <="),
    ("a.g DESC, a.id DESC", "a.g > 3 OR a.g = 3 AND (a.id IS NULL OR a.id >= "),
])  # fmt: skip
def test_many_of_one_value_are_bounded_by_the_second_key(order: str, bound: str) -> None:
    n = 80_000
    graph = Graph.from_arrow({"N": pa.table({"id": np.arange(n), "g": np.arange(n) % 4})}, [], key="id")
    query = f"MATCH (a:N) RETURN a.g, a.id ORDER BY {order} LIMIT 20"
    profile = _profiled(graph, query)
    assert bound in profile
    assert "too few" not in profile
    agree(graph, query, ordered=True)


@pytest.mark.parametrize("spread", ["even", "exponential", "log-normal", "one far away"])
@pytest.mark.parametrize("whole", [True, False])
def test_enough_rows_are_within_a_bound_where_extremes_are_rare(spread: str, whole: bool) -> None:
    n, dice = 60_000, np.random.default_rng(7)
    values = {
        "even": dice.random(n) * 1e6,
        "exponential": dice.exponential(1e5, n),
        "log-normal": dice.lognormal(10, 1, n),
        "one far away": np.append(dice.random(n - 1) * 1e5, 1e7),
    }[spread]
    x = values.astype(np.int64) if whole else values
    graph = Graph.from_arrow({"N": pa.table({"id": np.arange(n), "x": x, "y": -x})}, [], key="id")
    for order in ("a.x DESC", "a.y"):
        profile = _profiled(graph, f"MATCH (a:N) RETURN a.id ORDER BY {order}, a.id LIMIT 20")
        assert "Bounded, where 20 rows are within" in profile
        assert "too few" not in profile
    agree(graph, "MATCH (a:N) RETURN a.id ORDER BY a.x DESC, a.id LIMIT 20", ordered=True)


def _profiled(graph: Graph, query: str) -> str:
    result = graph.query(f"PROFILE {query}")
    result.fetchall()
    return str(result.plan)


def test_both_ways_are_taken(graph: Graph, eager: None) -> None:
    few, many = (_profiled(graph, f"MATCH (a:N)-->(b:N) {ending} LIMIT 9") for ending in _ENDINGS)
    assert "too few rows" not in few
    assert "Bounded, where 9 rows are within" in few
    assert "too few rows" in many


@pytest.mark.parametrize(
    "query",
    [
        "MATCH (a:N)-[k:to]->(b) RETURN a.id, 1 / b.x AS y ORDER BY a.id LIMIT 3",
        "MATCH (a:N)-[k:to]->(b) RETURN a.id, sum(b.x) ORDER BY a.id LIMIT 3",
        "MATCH (a:N)-[k:to]->(b) RETURN a.id, rand() ORDER BY a.id LIMIT 3",
        "MATCH (a:N)-[k:to]->(b) RETURN a.id ORDER BY a.id + b.id LIMIT 3",
        "MATCH (a:N)-[k:to]->(b) RETURN a.id, count(*) AS n ORDER BY n LIMIT 3",
        "MATCH (a:N)-[k:to]->(b) RETURN a.id ORDER BY a.id LIMIT 0",
        "UNWIND [1, 2] AS i MATCH (a:N)-[k:to]->(b) RETURN a.id ORDER BY a.id LIMIT 3",
        "MATCH (a:N) OPTIONAL MATCH (a)-[k:to]->(b) RETURN a.id, b.id ORDER BY b.id LIMIT 3",
    ],
)
def test_what_would_differ_has_no_bound(graph: Graph, eager: None, query: str) -> None:
    assert "Bounded" not in str(graph.explain(query))


@pytest.mark.parametrize("wanted", [0, 3, 200, 10_000])
def test_a_parameter_says_how_many_rows(graph: Graph, eager: None, wanted: int) -> None:
    query = "MATCH (a:N)-[k:to]->(b) RETURN a.x AS x, b.id AS j ORDER BY x, j SKIP $skipped LIMIT $wanted"
    assert "Bounded" in str(graph.explain(query))
    given = {"skipped": 2, "wanted": wanted}
    everything = graph.query(query.partition(" SKIP")[0]).fetchall()
    assert graph.query(query, given).fetchall() == everything[2 : 2 + wanted]


@pytest.mark.parametrize("key", ["id", "g"])
def test_pairs_of_an_elimination_have_a_bound(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many different rows as there are pairs: few of the first key's values have enough of them."""
    monkeypatch.setattr(bounded, "_LEAST_COST", 0.0)
    dice, nodes = np.random.default_rng(3), 2_000
    start, end = dice.integers(0, nodes, (2, 60_000))
    values = {"id": np.arange(nodes), "g": np.arange(nodes) % 100}
    graph = Graph.from_arrow(
        {"N": pa.table(values)}, [("to", "N", "N", pa.table({"start": start, "end": end}))], key="id"
    )
    query = f"MATCH (a:N)-[:to]-(b:N) RETURN DISTINCT a.{key} AS i, b.id AS j ORDER BY i, j LIMIT 9"
    plan = str(graph.explain(query))
    assert "Bounded" in plan
    assert "Eliminate" in plan
    ends = np.append(start, end), np.append(end, start)
    rows = set(zip(values[key][ends[0]].tolist(), ends[1].tolist(), strict=True))
    assert graph.query(query, device="cpu").fetchall() == sorted(rows)[:9]


@pytest.mark.parametrize("shape", ["elements", "missing", "unwound", "walks", "late"])
def test_orders_above_other_operators_have_a_bound(graph: Graph, eager: None, shape: str) -> None:
    ending = _SHAPES[shape].format(key="a.x", way="", limit=3)
    assert "Bounded" in str(graph.explain(f"MATCH (a:N)-[k:to]->(b:N) {ending}"))


def test_few_rows_have_no_bound(graph: Graph) -> None:
    assert "Bounded" not in str(graph.explain("MATCH (a:N)-[k:to]->(b) RETURN a.id ORDER BY a.id LIMIT 3"))


def test_profiles_teach_the_planner_nothing_false(graph: Graph, eager: None) -> None:
    query = "MATCH (a:N)-[:to]->(b:N)-[:to]->(c:N) RETURN a.id, c.id ORDER BY a.id, c.id LIMIT 5"
    for _ in range(2):
        assert "Bounded" in _profiled(graph, query)
    counted = str(graph.explain("MATCH (a:N)-[:to]->(b:N)-[:to]->(c:N) RETURN a, b, c"))
    expected = int(counted.partition("~")[2].partition(" ")[0].replace(",", ""))
    assert 700 < expected < 5_000
