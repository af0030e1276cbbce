"""What the planner expects of conditions that depend on each other: on one element, and along a relationship."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from qengine import Graph
from qengine.binder import bind
from qengine.estimate import Request, run
from qengine.estimate.result import Sums
from qengine.estimates import plan_counted
from qengine.optimizer.intervals import expected_count
from qengine.optimizer.rows import estimated_rows
from qengine.optimizer.sampled import holding, joint_share
from qengine.plan.logical import Match
from qengine.plan.physical import HashJoin
from qengine.plan.traverse import operators
from qengine.qerror import q_error
from qengine.syntax import parse
from qengine.testing.plans import lowered

N = 2_000


@pytest.fixture(scope="module")
def towns() -> Iterator[Graph]:
    """Persons who mostly know others of their town; a town gives the country, and ``rank`` says how many they know."""
    source = Random(5)
    people = [
        {
            "town": f"t{k % 40}",
            "country": k % 40 % 8,
            "age": None if source.random() < 0.2 else source.randint(10, 90),
            "height": source.random() * 2,
            "born": f"19{source.randint(50, 99)}-0{source.randint(1, 9)}-11",
            "rank": 10 if k % 50 < 2 else 1,
        }
        for k in range(N)
    ]
    edges = []
    for k in range(N):
        for _ in range(int(people[k]["rank"])):  # type: ignore[call-overload]
            other = (k + 40 * source.randint(1, 49)) % N if source.random() < 0.9 else source.randrange(N)
            own = {"w": source.random() ** 3, "old": people[k]["country"]}
            edges.append({"type": "K", "start": k, "end": other, "properties": own})
    graph = Graph.from_records([{"id": k, "labels": "P", "properties": own} for k, own in enumerate(people)], edges)
    list(graph.query("MATCH (n:P) SET n.born = date(n.born)"))
    yield graph


def expected(graph: Graph, pattern: str) -> float:
    store = graph._store
    return expected_count(plan_counted(store, pattern).physical.root, store, 0.95)[0]


def count(graph: Graph, pattern: str) -> int:
    return int(graph.query(f"{pattern} RETURN count(*) AS n").fetchone()["n"])  # type: ignore[index]


CONDITIONS = [
    "n.age / 10 % 2 = 1",
    "n.age > 40",
    "n.age <> 40",
    "NOT n.age <> 40",
    "20 <= n.age < 60",
    "n.age IS NULL",
    "n.age IS NOT NULL",
    "n.age IN [20, 21, 22, 23]",
    "NOT n.age IN [20, 21, 22, 23]",
    "n.town = 't7'",
    "n.town <> 't7'",
    "n.town > 't7'",
    "n.town <= 't7'",
    "n.town STARTS WITH 't3'",
    "NOT n.town ENDS WITH '3'",
    "n.town CONTAINS '1'",
    "n.town =~ 't[0-4]'",
    "n.age + 10 < 2 * n.country + 60.5",
    "n.age % 7 = 3",
    "NOT n.age % 7 = 3",
    "floor(n.height * 3) = ceil(n.height)",
    "sign(n.age - 40) < sqrt(n.height) - 1",
    "toUpper(n.town) = 'T7'",
    "toLower(n.town) IN ['t7', 't8']",
    "toUpper(n.town) STARTS WITH 'T3'",
    "size(n.town) = 2",
    "size(n.town) * 10 < n.age",
    "left(n.town, 2) = 't3'",
    "reverse(n.town) > '3'",
    "substring(n.town, 1) = '7'",
    "substring(n.town, 0, 2) = 't1'",
    "abs(n.age - 50) < 20",
    "-n.height < -1.5",
    "n.age / 10.0 > 5.5",
    "n.age > 30 OR n.town = 't3' AND n.country <> 5",
    "NOT (n.age > 30 OR n.country = 3)",
    "n.born < date('1970-05-01')",
    "date('1960-01-01') <= n.born < date('1980-05-01')",
    "n.born = date('1970-05-11')",
    "n.town = 'nowhere'",
    "n.age = 40.0",
    "n.height > 1",
    "n.country = n.rank",
    "n.missing = 3",
]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_holds_for_the_rows_that_a_query_finds(towns: Graph, condition: str) -> None:
    store = towns._store
    text = f"MATCH (n:P) WHERE {condition} RETURN n"
    bound = bind(parse(text)[0], text, store)
    (match,) = (each for each in operators(bound.plan.root) if isinstance(each, Match))
    predicates = [*match.graph.nodes[0].predicates, *match.graph.predicates]
    sample = store.node_sample(match.graph.nodes[0].labels)
    assert sample.size == N  # all of them
    masks = [holding(each, {"n": (sample, "node")}, {}) for each in predicates]
    assert all(mask is not None for mask in masks)
    found = masks[0]
    for mask in masks[1:]:
        found = found & mask
    assert int(found.sum()) == count(towns, f"MATCH (n:P) WHERE {condition}")


def test_what_cannot_be_evaluated_leaves_shares_as_they_are(towns: Graph) -> None:
    text = "MATCH (n:P) WHERE trim(n.town) = 't3' AND n.age = $x RETURN n"
    bound = bind(parse(text)[0], text, towns._store)
    (match,) = (each for each in operators(bound.plan.root) if isinstance(each, Match))
    predicates = [*match.graph.nodes[0].predicates, *match.graph.predicates]
    sample = towns._store.node_sample(None)
    assert [holding(each, {"n": (sample, "node")}, {}) for each in predicates] == [None, None]
    assert joint_share(predicates, sample, "node", 0.25, {}) == 0.25


@pytest.mark.parametrize(
    ("pattern", "within"),
    [
        ("MATCH (n:P) WHERE n.town = 't7' AND n.country = 7", 1.3),
        ("MATCH (n:P) WHERE n.town = 't7' AND n.country = 6", 8.0),  # none
        ("MATCH (n:P) WHERE n.age < 30 AND n.age > 25 AND n.height < 0.5", 1.4),
        ("MATCH (a:P)-[:K]->(b:P) WHERE a.town = b.town", 1.1),
        ("MATCH (a:P)-[:K]->(b:P) WHERE a.town <> b.town", 1.1),
        ("MATCH (a:P)-[:K]->(b:P) WHERE a.country = b.country AND a.town = 't9'", 1.5),
        ("MATCH (a:P)-[:K]->(b:P) WHERE a.age < b.age", 1.1),
        ("MATCH (a:P)-[:K]->(b:P) WHERE abs(a.age - b.age) < 5", 1.3),
        ("MATCH (a:P)-[:K]->(b:P) WHERE a.rank = 10", 1.1),
        ("MATCH (a:P)-[k:K]->(b:P) WHERE k.w < 0.001", 1.3),
        ("MATCH (a:P)-[k:K]->(b:P) WHERE k.old = 3 AND b.country = 3", 1.3),
        ("MATCH (a:P)-[k:K]->(b:P) WHERE k.old = b.country", 1.2),
        ("MATCH (a:P)-[:K]->(b:P), (c:P)-[:K]->(d:P) WHERE a.town = 't1' AND c.town = 't2' AND a.age = c.age", 2.0),
        ("MATCH (a:P)-[:K]->(b:P)-[:K]->(c:P) WHERE a.town = b.town AND b.town = c.town", 1.3),
        ("MATCH (a:P)-[:K]->(b:P)-[:K]->(c:P) WHERE a.town = c.town", 1.4),
        ("MATCH (a:P)-[:K]->(b:P)-[:K]->(c:P) WHERE a.country = c.country AND c.country = a.country", 1.4),
        ("MATCH (a:P)-[:K]->(b:P)-[:K]->(c:P) WHERE a.age = c.age AND c.age < a.age", 1.0),  # none
        ("MATCH (a:P)-[:K]->(b:P) WHERE a.country <= b.country AND b.country <= a.country", 1.1),
        ("MATCH (a:P), (b:P) WHERE a.country = b.rank", 1.1),
        ("MATCH (a:P), (b:P) WHERE a.age = b.age", 1.25),
        ("MATCH (a:P), (b:P) WHERE a.height * 2 < b.height", 1.1),
        ("MATCH (a:P)-[:K]->(b:P) WHERE a.born < b.born AND a.born > date('1990-01-01')", 1.6),
        ("MATCH (a:P)-[:K]->(b:P) WHERE abs(a.country - b.country) < 1 AND a.country = b.country", 1.05),
        ("MATCH (a:P), (b:P) WHERE a.town = b.town AND a.country = b.country", 1.05),
        ("MATCH (a:P), (b:P) WHERE a.town = b.town AND b.country = a.country AND a.rank > 5", 1.1),
        ("MATCH (a:P), (b:P) WHERE a.age < b.age AND b.age < 30", 1.2),
        ("MATCH (a:P)-[k:K]->(c:P)-[l:K]->(b:P) WHERE abs(k.w - l.w) < 0.1", 1.3),
        ("MATCH (a:P)-[:K*1..2]->(b:P)", 1.1),
        ("MATCH (a:P)-[:K*2]->(b:P) WHERE a.rank = 10", 1.6),
        ("MATCH (a:P)-[:K*1..3]->(b:P) WHERE b.town = 't3' AND b.age < 40", 1.5),
        ("MATCH (a:P)<-[:K*1..2]-(b:P) WHERE a.age IS NULL AND b.rank = 10", 1.4),
        ("MATCH (a:P)-[:K*2..3]-(b:P) WHERE a.country = 2", 1.7),
        ("MATCH (a:P)-[:K*1]->(b:P) WHERE a.town = 't3' AND b.country = 3", 1.3),
        ("MATCH (a:P)-[:K*1..2]->(b:P) WHERE a.town = b.town", 1.4),
        ("MATCH (a:P)<-[:K*2]-(b:P) WHERE a.country = b.country AND a.age > b.age", 1.5),
        ("MATCH (a:P)-[k:K*1..2 {old: 3}]->(b:P)", 3.0),
        ("MATCH (a:P), (b:P) WHERE toUpper(a.town) = toUpper(b.town)", 1.3),
        ("MATCH (a:P)-[:K]->(c:P), (b:P)-[:K]->(d:P) WHERE a.country + c.country = d.country", 20.0),
        ("MATCH (a:P)-[:K]->(c:P)<-[:K]-(b:P) WHERE a.town = b.town AND a.country = b.country", 1.2),
        ("MATCH (a:P)-[:K]->(c:P), (b:P)-[:K]->(d:P) WHERE a.age = b.age", 1.3),
        ("MATCH (a:P)-[:K]->(c:P), (b:P)-[:K]->(d:P) WHERE a.age = b.age AND a.town = b.town", 2.0),
    ],
)
def test_conditions_together_are_expected_about_right(towns: Graph, pattern: str, within: float) -> None:
    assert q_error(count(towns, pattern), expected(towns, pattern)) <= within


def test_a_walks_end_is_not_looked_up_for_each_row_to_walk_from_there_anew(towns: Graph) -> None:
    text = "MATCH (a:P)-[:K*1..2]->(b:P) WHERE a.town = b.town AND a.country = 3 RETURN count(*)"
    assert "LookUp" not in str(towns.explain(text))
    assert "LookUp" in str(towns.explain(text.replace("(a:P)-[:K*1..2]->(b:P)", "(a:P), (b:P)")))


@pytest.mark.parametrize(
    "condition", ["toUpper(a.town) = toUpper(d.town)", "a.country * 2 = d.age - 1", "left(a.town, 2) = left(d.town, 2)"]
)
def test_what_joins_by_values_is_expected_to_find_as_many_rows_as_it_does(towns: Graph, condition: str) -> None:
    text = f"MATCH (a:P)-[:K]->(c:P), (b:P)-[:K]->(d:P) WHERE {condition}"
    plan = lowered(towns, f"{text} RETURN a.age AS a, d.age AS d")
    (join,) = (each for each in operators(plan.root) if isinstance(each, HashJoin))
    assert join.by_value and q_error(count(towns, text), estimated_rows(plan.root, towns._store)[id(join)]) < 1.5


def test_samples_of_large_labels_and_types_are_a_part() -> None:
    nodes = [{"id": k, "labels": "A" if k % 3 else "B", "properties": {"x": k % 7}} for k in range(9_000)]
    edges = [
        {"type": "R", "start": k, "end": (k * 7 + 1) % 9_000, "properties": {"y": k % 5}} for k in range(9_000)
    ] * 3
    graph = Graph.from_records(nodes, edges)
    store = graph._store
    sample = store.node_sample(None)
    before = store.statistics.nbytes
    assert sample.size == 4096 and abs(sample.column("node", "x").compare("=", 3).mean() - 1 / 7) < 0.02
    assert store.statistics.nbytes >= before + 4096 * 12  # codes and numbers
    between = store.relationship_sample("R", "A", "B", both=False)
    rows = {"a": (between, "start"), "r": (between, "relationship"), "b": (between, "end")}
    assert 0 < between.size <= 4096 and set(rows) == {"a", "r", "b"}
    assert abs(between.column("relationship", "y").compare("<", 2).mean() - 0.4) < 0.05
    both = store.relationship_sample("R", "A", None, both=True)
    assert both.size and both is store.relationship_sample("R", "A", None, both=True)
    shuffled = sample.shuffled(4096, 0).column("node", "x"), sample.shuffled(4096, 1).column("node", "x")
    assert abs(shuffled[0].against("=", shuffled[1]).mean() - 1 / 7) < 0.03


def test_a_condition_across_a_join_makes_it_no_cheaper() -> None:
    size, degree = 1_500, 40
    start = np.repeat(np.arange(size), degree)
    end = (7 * start + 13 * np.tile(np.arange(degree), size)) % size
    nodes, edges = pa.table({"id": np.arange(size), "x": np.arange(size)}), pa.table({"start": start, "end": end})
    graph = Graph.from_arrow([("N", nodes)], [("R", edges)])
    assert "HashJoin" not in str(graph.explain("MATCH (a)-[:R]->(c)-[:R]->(b) WHERE a.x = b.x RETURN count(*)"))


@pytest.mark.parametrize(
    "pattern",
    [
        "MATCH (a:P), (b:P) WHERE a.age = b.age",
        "MATCH (a:P)-[:K]->(b:P) WHERE a.born < date('1970-01-01') AND 10 / b.age > 0.1",
        "MATCH (a:P)-[:K]->(b:P)-[:K]->(c:P) WHERE a.town = c.town AND a.height < c.height",
    ],
)
def test_estimates_of_what_was_refused_or_only_filtered(towns: Graph, pattern: str) -> None:
    found = towns.estimate(pattern, method="alley", samples=4_000, seed=1)
    assert found.hits > 0 and q_error(count(towns, pattern), found.value) < 1.6


def test_a_condition_that_fails_somewhere_leaves_the_estimate_careful(towns: Graph) -> None:
    pattern = "MATCH (a:P)-[:K]->(b:P) WHERE a.rank > 5 AND 10 / (a.rank - 1) > 0"  # fails where the rank is 1
    assert towns.estimate(pattern, samples=1_000, seed=1).value == pytest.approx(count(towns, pattern), rel=0.2)


def test_no_hit_within_a_budget_is_what_the_planner_expects(towns: Graph) -> None:
    pattern = "MATCH (a:P)-[:K]->(b:P)-[:K]->(c:P) WHERE a.town = c.town"
    counted = plan_counted(towns._store, pattern)
    known = run._Known(0.0, partial(counted.expectation, towns._store), Request(budget_ms=5), bound=1e6)
    found = known.told(Sums(samples=100), "alley", exposure=0.01)
    assert 0 == found.low < found.value < expected(towns, pattern) and found.high == found.upper_bound == 1e6
    alone = known.told(Sums(), "alley")
    assert alone.method == "statistics" and alone.value == pytest.approx(expected(towns, pattern))
    assert found.value < alone.value
    assert alone.low < alone.value < alone.high <= 1e6
