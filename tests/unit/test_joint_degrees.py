"""How degrees in two kinds of relationships go together, against counting by hand; and what estimates gain by it."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest

from qengine import Graph
from qengine.catalog.view import Incidence
from qengine.plan.physical import Search
from qengine.plan.traverse import operators
from qengine.storage import from_records, joint_degrees
from qengine.storage.store import GraphStore

KINDS = [
    Incidence(types, out, into, label)
    for types in (("R",), ("U",), ("R", "U"))
    for out, into in ((True, False), (False, True), (True, True))
    for label in (None, "A", "B")
]


def random_graph(seed: int) -> GraphStore:
    rng = random.Random(seed)
    nodes = [{"id": row, "labels": rng.sample(["A", "B", "C"], rng.randrange(3))} for row in range(30)]
    ends = [(rng.randrange(30), rng.randrange(30), rng.choice("RU")) for _ in range(90)]
    return from_records(nodes, [{"type": t, "start": a, "end": b} for a, b, t in ends if a != b], undirected=["U"])


def degrees(store: GraphStore, kind: Incidence) -> Counter[int]:
    found: Counter[int] = Counter()
    for edge in store.relationships(range(store.relationship_count)):
        for vertex, other, goes_out in ((edge.start, edge.end, True), (edge.end, edge.start, False)):
            asked = edge.type == "U" or (kind.out if goes_out else kind.into)
            if edge.type in kind.types and asked and kind.labels in (None, *store.labels_of(other)):
                found[vertex] += 1
    return found


@pytest.mark.parametrize("fewer", [8, 0], ids=["vertex by vertex", "list by list"])
@pytest.mark.parametrize("seed", range(3))
def test_of_few_vertices_all_are_looked_at(seed: int, fewer: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joint_degrees, "_FEWER", fewer)
    store = random_graph(seed)
    for label, (one, other) in product((None, "A", "C", "Z"), list(combinations(KINDS, 2))[::7]):
        vertices = [v for v in range(store.vertex_count) if label in (None, *store.labels_of(v))]
        first, second = degrees(store, one), degrees(store, other)
        both = sum(first[v] * second[v] for v in vertices)
        expected = sum(first[v] for v in vertices) * sum(second[v] for v in vertices) / max(len(vertices), 1)
        assert store.together(label, one, other) == pytest.approx((both + 1) / (expected + 1) if vertices else 1.0)


def test_of_many_vertices_those_of_high_degrees_and_some_others_stand_for_all() -> None:
    n, rng = 20_000, np.random.default_rng(3)
    weight = rng.pareto(1.5, n) + 0.1  # who has many S has many T
    share = weight / weight.sum()
    starts = {"S": rng.choice(n, n, p=share), "T": rng.choice(n, n, p=share), "V": rng.integers(0, n, n)}
    edges = [{"type": name, "start": v, "end": 0} for name, found in starts.items() for v in found.tolist()]
    store = from_records([{"id": v, "labels": "A"} for v in range(n)], edges)
    found = {name: np.bincount(starts[name], minlength=n) for name in starts}
    for one, other in ("ST", "SV"):
        kinds = (Incidence((name,), True, False, None) for name in (one, other))
        factor = (found[one] * found[other]).sum() * n / (found[one].sum() * found[other].sum())
        assert store.together("A", *kinds) == pytest.approx(factor, rel=0.1)


def test_what_never_meets_is_expected_to_be_rare_and_what_always_does_to_be_frequent() -> None:
    nodes = [{"id": v, "labels": "C"} for v in range(400)] + [{"id": v, "labels": "P"} for v in range(400, 440)]
    edges = [{"type": "TO_FEW" if v % 2 else "TO_MANY", "start": v, "end": 400 + v % 40} for v in range(400)]
    edges += [{"type": "ALSO", "start": v, "end": 439 - v % 40} for v in range(1, 400, 2)]
    graph = Graph.from_records(nodes, edges)
    for other, count in (("TO_MANY", 0), ("ALSO", 200)):
        text = f"/*+ search */ MATCH (:P)<-[:TO_FEW]-(:C)-[:{other}]->(:P) RETURN count(*)"
        (found,) = (each for each in operators(graph.prepare(text)._planned.physical.root) if isinstance(each, Search))
        assert found.rows == pytest.approx(max(count, 1), rel=0.05)
        assert graph.query(text).value() == count
