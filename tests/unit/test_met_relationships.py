"""What the planner expects where conditions and degrees go together, of label expressions, loops, and given nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product
from random import Random

import pytest

from qengine import Graph
from qengine.catalog.view import Incidence
from qengine.estimates import plan_counted
from qengine.optimizer.intervals import expected_count
from qengine.plan.pattern import LabelAnd, LabelIs, LabelNot, LabelOr
from qengine.qerror import q_error
from qengine.storage import statistics

N = 3_000
A, B, X = map(LabelIs, "ABX")


@pytest.fixture(scope="module")
def hubs() -> Iterator[Graph]:
    """Ten hubs of kind 0 know 400 each, the others 2; who knows a hub's friends likes much; ``w`` says who is a hub.

    A third of the nodes are A, the others B; every fourth of either is an X, and no one else follows anyone.
    """
    source = Random(3)
    nodes, edges = [], []
    for k in range(N):
        kind = 0 if k % 300 == 0 else 1 + k % 9
        labels = ["A" if k % 3 == 0 else "B"] + ["X"] * (k % 4 == 0)
        nodes.append(
            {
                "id": k,
                "labels": labels,
                "properties": {"n": k, "kind": kind, "half": k % 2, "team": k % 450, "club": k % 90},
            }
        )
    for k in range(N):
        hub = k % 300 == 0
        for _ in range(400 if hub else 2):
            other = source.randrange(0, N, 10) if hub else source.randrange(N)
            edges.append(
                {"type": "K", "start": k, "end": other, "properties": {"w": 0 if hub else source.randint(1, 9)}}
            )
        likes = 30 if k % 10 == 0 else 1
        ends = [source.randrange(N) for _ in range(likes)]
        edges += [{"type": "L", "start": k, "end": end, "properties": {"v": k % 7}} for end in ends]
        if k % 4 == 0:
            edges.append({"type": "F", "start": k, "end": source.randrange(0, N, 4)})
        if k % 50 == 0:
            edges.append({"type": "F", "start": k, "end": k})
    yield Graph.from_records(nodes, edges)


@pytest.mark.parametrize(
    ("pattern", "within"),
    [
        ("(a)-[:K]->(b)-[:L]->(c) WHERE a.kind = 0", 1.1),  # whom hubs know like more
        ("(a)-[r:K]->(b)-[:L]->(c) WHERE r.w = 0", 1.1),
        ("(a)-[r:K]->(b)-[:L]->(c) WHERE r.w > 0 AND c.half = 0", 1.2),
        ("(a)<-[r:K]-(b)-[:K]->(c) WHERE r.w > 4", 1.6),  # not of hubs
        ("(a)-[:K]->(b)-[:L]->(c) WHERE a.team = 12", 1.1),  # few, one of whom likes much
        ("(a)-[:K]->(b)-[:L]->(c) WHERE a.team = 7 AND a.club = 8", 1.1),  # none
        ("(a)-[r:K]->(b)-[s:L]->(c) WHERE r.w = 0 AND s.v = 3 AND a.half = 0", 1.3),
        ("(a)-[:K]->(b)-[:L]->(c)-[:F]->(d) WHERE a.kind = 0", 1.3),
        ("(a)-[r:K]->(b)-[s:K]->(c), (a)-[:K]->(c) WHERE s.w = 0", 2.0),
        ("(a)-[r:K]->(b)-[s:K]->(c), (a)-[:K]->(c)-[:L]->(d) WHERE r.w = 0 AND d.half = 1", 2.0),
        ("(a)-[:F]->(b)-[:F]->(c), (a)-[:F]->(c)", 3.0),  # loops are none
        ("(a)-[:K]->(b) WHERE a.team < 5 WITH a.club AS k, count(*) AS n", 1.1),
        ("(a:A|B)-[:F]->(b:!X)", 1.01),  # loops alone
        ("(a:A&X)-[:K]->(b:B|X)", 1.01),
        ("(a:X)-[:F]->(b:A&X)-[:L]->(c:!X)", 1.1),
        ("(a:!X&B)-[:K|F]->(b:A|X)-[:L]->(c:B&!X)", 1.2),
        ("(a:!X)-[:K*1..2]->(b:A&X)", 2.0),
        ("(a)-[:F]->(a)", 1.05),
        ("(a:A)-[:F]->(a)", 1.05),
        ("(a)-[:K]->(b) WHERE a.kind = 0 AND EXISTS { (b)-[:L]->(c) WHERE c.kind = 3 }", 1.2),
        ("(a)-[:K]->(b) WHERE a.kind = 0 AND NOT EXISTS { (b)-[:L]->(c) WHERE c.kind = 3 }", 1.6),
        ("(a)-[:K]->(b) WHERE a.kind = 2 AND EXISTS { (b)-[s:L]->(c) WHERE s.v = 3 }", 1.3),
        ("(a:!X)-[:K]->(b:!X) WHERE EXISTS { (b)-[:F]-(c) WHERE c.half = 0 }", 1.7),  # of loops
        ("(a)-[:K]->(b) WHERE a.kind = 0 OPTIONAL MATCH (b)-[:L]->(c) WHERE c.half = 1", 1.2),
        ("(a)<-[:K]-(b)<-[:F]-(c) WHERE a.kind = 4 OPTIONAL MATCH (b)-[s:L|K]-(d) WHERE d.kind < 3", 1.4),
        ("(b:X) WHERE b.n < 900 OPTIONAL MATCH (b)-[:F]->(c:A)", 1.2),
        ("(a)-[:F]->(b) MATCH (a)-[:F]->(c)", 1.1),  # perhaps the same relationship
        ("(a)-[:F]->(b) WHERE a.kind = 4 MATCH (a)-[:F]->(c) WHERE c.half = 0", 1.3),
        ("REPEATABLE ELEMENTS (a)-[:F]->(b), (a)-[:F]->(c)", 1.1),
        ("(a)-[:F]->(b), (a)-[:F]-(c)", 1.2),  # not the same one
        ("(a:A&X)-[:F]->(b), (a)-[:F|K]->(c:X|A) WHERE a.kind = 4", 1.3),
        ("(a)-[:K]->(b) WHERE a.kind = 0 WITH b, a AS z MATCH (z)-[:L]->(c)", 1.1),
        ("(a)-[:K]->(b) WHERE a.kind = 0 WITH a, b AS z MATCH (z)-[:L]->(c) WHERE c.half = 1", 1.1),
        ("(a)-[:K|L]->(b) WHERE a.kind = 0 AND NOT EXISTS { (b)-[:L]->(c) WHERE c.kind = 3 }", 1.5),
    ],
)
def test_what_goes_together_is_expected_about_right(hubs: Graph, pattern: str, within: float) -> None:
    (row,) = hubs.query(f"MATCH {pattern} RETURN count(*) AS n")
    found = expected_count(plan_counted(hubs._store, f"MATCH {pattern}").physical.root, hubs._store, 0.95)[0]
    assert q_error(row["n"], found) <= within, found


@pytest.fixture(scope="module")
def places() -> Iterator[Graph]:
    """Persons live in cities, these lie in countries, all by ``IN``; few have a tag, which is of a kind, by ``OF``."""
    source = Random(5)
    nodes: list[dict[str, object]] = []
    edges: list[dict[str, object]] = []

    def add(label: str, count: int) -> list[int]:
        ids = list(range(len(nodes), len(nodes) + count))
        nodes.extend({"id": k, "labels": label, "properties": {"n": k, "half": k % 2, "ten": k % 10}} for k in ids)
        return ids

    kinds, countries, tags, cities, persons = (
        add(*each) for each in (("Kind", 5), ("Country", 10), ("Tag", 50), ("City", 100), ("Person", 2_000))
    )
    edges += [{"type": "IN", "start": city, "end": countries[place % 10]} for place, city in enumerate(cities)]
    edges += [{"type": "IN", "start": each, "end": cities[int(100 * source.random() ** 2)]} for each in persons]
    edges += [{"type": "OF", "start": tag, "end": kinds[place % 5]} for place, tag in enumerate(tags)]
    edges += [{"type": "OF", "start": each, "end": source.choice(tags)} for each in persons[::4]]
    edges += [{"type": "KNOWS", "start": each, "end": source.choice(persons)} for each in persons]
    yield Graph.from_records(nodes, edges)


@pytest.mark.parametrize(
    ("pattern", "within"),
    [
        ("(a:Person)-[:IN*1..2]->(b:Country)", 1.01),
        ("(a:Person)-[:IN*2..3]-(b:Person)", 1.2),
        ("(a:Person)-[:IN*2..4]->(b:Person)", 1.01),  # none
        ("(a:Country)-[:IN|OF*1..3]-(b:Tag)", 1.3),
        ("(a:Person)-[:OF*2..3]-(b:Tag)", 1.2),
        ("(a:Country)<-[*2..3]-(b:Person)", 1.5),
        ("(a)-[:OF*1..2]->(b:Kind)", 1.01),
        ("(a:!Person)-[:IN*1..2]-(b:!Country)", 1.3),
        ("(a:Person)-[:IN*0..2]->(b) WHERE a.half = 0 AND b.half = 0", 1.3),
        ("(a:Person)-[:KNOWS*0..1]->(b:Person) WHERE a.half = 0 AND b.half = 1", 1.2),
        ("(a)-[:IN*0..2]->(b:City|Kind) WHERE a.ten < 3 AND b.ten < 2", 1.5),
        ("(c:City)<-[:IN]-(a:Person), (a)-[:IN*1..2]-(b)", 1.01),  # not back over the same relationship
        ("(a:Person)-[:IN]-(c:City), (c)-[:IN*1..2]->(b)", 1.01),
        ("(a:Tag)<-[:OF]-(p:Person) MATCH (p)-[:IN*2..3]-(b:City) WHERE a.ten = 3", 1.5),
        ("(a:Country)<-[:IN*2..3]-(b) MATCH (b)-[:KNOWS]->(c)", 1.3),
        ("(a:Person)-[:IN*1..2]->(b) MATCH (b)-[:KNOWS]->(c)", 1.01),  # none
        ("(a) WHERE a.ten > 3 AND a.ten <> 5 AND a.ten <> 7", 1.1),
        ("(a) WHERE a.ten IN [1, 2, 3] AND a.ten IN [2, 3, 4]", 1.1),
    ],
)
def test_walks_are_followed_by_the_labels_in_between(places: Graph, pattern: str, within: float) -> None:
    count = places.query(f"MATCH {pattern} RETURN count(*)").value()
    found = expected_count(plan_counted(places._store, f"MATCH {pattern}").physical.root, places._store, 0.95)[0]
    assert q_error(count, found) <= within, (count, found)


@pytest.mark.parametrize(
    ("pattern", "within"),
    [
        ("(a)-[r:P]->(b)-[s:P]->(c), (a)-[t:P]->(c) WHERE r.v < 4", 1.3),
        ("(a)-[r:P]-(b)-[s:P]-(c), (a)-[t:P]-(c) WHERE s.v < 5 AND t.v > 1", 1.7),
    ],
)
def test_triangles_are_closed_as_often_as_relationships_stand_beside_each_other(pattern: str, within: float) -> None:
    source, edges = Random(3), []
    for k in range(N):
        several = 6 if k % 20 == 0 else 1
        ends = [(k + step) % N for step in (1, 2, 3)] if k % 20 < 3 else [source.randrange(N)]
        edges += [
            {"type": "P", "start": k, "end": end, "properties": {"v": k * time % 7}}
            for end in ends
            for time in range(several)
        ]
    graph = Graph.from_records([{"id": k, "labels": "A"} for k in range(N)], edges)
    count = graph.query(f"MATCH {pattern} RETURN count(*)").value()
    found = expected_count(plan_counted(graph._store, f"MATCH {pattern}").physical.root, graph._store, 0.95)[0]
    assert q_error(count, found) <= within, found


@pytest.mark.parametrize("all_counted", [True, False])
def test_relationships_between_label_expressions_are_counted(
    hubs: Graph, all_counted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not all_counted:  # as of a type that is too large to be gone through
        monkeypatch.setattr(statistics, "_COUNTED_AGAIN", 0)
    store = hubs._store
    known = statistics.Statistics(store)
    forms = (None, "A", X, LabelAnd((A, X)), LabelOr((A, X)), LabelNot(X), LabelAnd((LabelNot(A), LabelNot(B))))
    labels = {
        record["id"]: record["labels"] for record in hubs.query("MATCH (a) RETURN a.n AS id, labels(a) AS labels")
    }
    pairs = [(row["a"], row["b"]) for row in hubs.query("MATCH (a)-[:K]->(b) RETURN a.n AS a, b.n AS b")]

    def satisfying(form: object) -> set[int]:
        expr = LabelIs(form) if isinstance(form, str) else form
        return {node for node, own in labels.items() if expr is None or expr.admits(frozenset(own))}

    for one, other in product(forms, forms):
        starts, ends = satisfying(one), satisfying(other)
        degrees = Counter(a for a, b in pairs if a in starts and b in ends)
        found = known.edges(one, "K", other)
        assert found.edges == degrees.total()
        assert found.max_out >= max(degrees.values(), default=0)
        true = sum(each * (each - 1) for each in degrees.values())
        assert found.out_pairs == pytest.approx(true, rel=1e-9 if all_counted else 0.25, abs=0.5)
    kinds = [Incidence(("K",), True, False, form) for form in (X, LabelNot(X))]
    both = [store.degrees_of(store.node_sample(None).ids("node", slice(None)), kind) for kind in kinds]
    assert sum(map(sum, both)) == len(pairs)


def test_conditions_that_no_relationship_satisfies(hubs: Graph) -> None:
    pattern = "(a:A)-[r:K]-(b)-[s:K]-(c:B), (b)-[t:L]->(d)"
    text = f"MATCH {pattern} WHERE b.kind = 2 AND c.kind = 3 AND s.w > 70 AND r.w < 2"
    assert expected_count(plan_counted(hubs._store, text).physical.root, hubs._store, 0.95)[0] < 1.0
