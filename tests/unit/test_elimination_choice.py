"""When a count is eliminated, and when it is searched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from qengine import Graph
from qengine.catalog.view import CatalogView
from qengine.optimizer.elimination import eliminated
from qengine.optimizer.elimination.cost import StepCosts
from qengine.optimizer.elimination.facts import ProgramFacts
from qengine.optimizer.lower import match_strategy
from qengine.plan.elimination import (
    ForestNode,
    MaskedProduct,
    Matrix,
    MatVec,
    NodeIndicator,
    Relation,
    RootedForest,
    Step,
)
from qengine.plan.expr import Comparison, Literal, Property, Variable
from qengine.plan.pattern import Direction, LabelIs
from qengine.testing.generate import rmat, to_csr

CLIQUES = ["(a)--(b)--(c)--(a)", "(a)--(b)--(c)--(d)--(a), (a)--(c), (b)--(d)"]


@pytest.fixture(scope="module")
def graph() -> Graph:
    start, end = to_csr(rmat(10, 8, seed=3)).edges()
    return Graph.from_edge_list((np.asarray(start), np.asarray(end)), undirected=True)


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have elimination cost less than any search, wherever it is looked into."""
    free = dict.fromkeys(("cpu", "gpu"), 1e300)
    monkeypatch.setattr(match_strategy, "eliminated", lambda *given: eliminated(*given[:-2], free, given[-1]))


def costs_of(store: CatalogView, steps: Sequence[Step], *, outputs: bool = False) -> StepCosts:
    return StepCosts(ProgramFacts(store, steps, "cpu", outputs=outputs))


def test_a_triangle_is_searched(graph: Graph) -> None:
    assert "Eliminate" not in str(graph.explain(f"MATCH {CLIQUES[0]} RETURN count(*)"))


def test_a_clique_of_four_is_counted_as_one(graph: Graph) -> None:
    assert "by cliques of 4" in str(graph.explain(f"MATCH {CLIQUES[1]} RETURN count(*)"))


@pytest.mark.parametrize("pattern", [f"{CLIQUES[0]}, (c)--(d)", f"{CLIQUES[0]}, (b)--(d)--(c)"])
def test_what_hangs_on_a_clique_is_eliminated(graph: Graph, pattern: str) -> None:
    assert "Eliminate" in str(graph.explain(f"MATCH {pattern} RETURN count(*)"))


def test_triangles_by_node_are_eliminated(graph: Graph) -> None:
    assert "Eliminate" in str(graph.explain(f"MATCH {CLIQUES[0]} RETURN a, count(*)"))


def test_a_hint_eliminates_a_clique(graph: Graph) -> None:
    query = f"MATCH {CLIQUES[0]} RETURN count(*)"
    hinted = query.replace("MATCH", "MATCH /*+ eliminate */")
    assert "Eliminate" in str(graph.explain(hinted))
    assert graph.query(hinted).value() == graph.query(query).value() > 0


@pytest.mark.parametrize("nodes", [13, 40])
def test_homomorphisms_of_large_trees_are_eliminated(nodes: int) -> None:
    """On a ring each relationship of a tree can go two ways."""
    start = np.arange(50)
    ring = Graph.from_edge_list((start, (start + 1) % 50), undirected=True)
    for parents in (range(nodes - 1), [k // 2 for k in range(nodes - 1)], [k // 4 for k in range(nodes - 1)]):
        tree = ", ".join(f"(n{parent})--(n{k + 1})" for k, parent in enumerate(parents))
        query = f"MATCH REPEATABLE ELEMENTS {tree} RETURN count(*)"
        assert "Eliminate" in str(ring.explain(query))
        assert ring.query(query).value() == 50 * 2 ** (nodes - 1)


def test_long_paths_that_never_lead_back_are_eliminated() -> None:
    start = np.arange(60)
    chain = Graph.from_edge_list((start, start + 1))
    path = "".join(f"(n{k})-->" for k in range(20)) + "(n20)"
    query = f"MATCH {path} RETURN count(*)"
    assert "Eliminate" in str(chain.explain(query))
    assert chain.query(query).value() == 41


@pytest.mark.parametrize(
    "pattern",
    [
        "DIFFERENT NODES " + "--".join(f"(n{k})" for k in range(13)),
        "REPEATABLE ELEMENTS " + "--".join(f"(n{k % 13})" for k in range(14)),
    ],
)
def test_other_large_patterns_are_searched(graph: Graph, pattern: str) -> None:
    assert "Eliminate" not in str(graph.explain(f"MATCH {pattern} RETURN count(*)"))


def test_lists_that_are_looked_up_cost_more_to_make_a_matrix_of() -> None:
    nodes = [{"id": i, "labels": "A" if i < 2000 else "B"} for i in range(4000)]
    edges = [{"type": "Dense", "start": i, "end": (7 * i) % 4000} for i in range(4000)]
    edges += [{"type": "Sparse", "start": i, "end": i + 1} for i in (0, 2000)]  # the first of each label: far apart
    graph = Graph.from_records(nodes, edges)
    store = graph._store
    known = [store.relationship_type(name) for name in ("Dense", "Sparse")]
    assert [info is not None and info.dense[0] for info in known] == [True, False]
    costs = []
    for name in ("Dense", "Sparse"):
        program = [Matrix((Relation((name,), Direction.OUT),)), MaskedProduct(0, 0, 0, None)]
        costs.append(costs_of(store, program).of(0))
    assert costs[0] < costs[1]


def test_closed_walks_cost_less_where_only_their_sum_is_wanted(graph: Graph) -> None:
    matrix = Matrix((Relation(("E",), Direction.BOTH),))
    walks = RootedForest((ForestNode(0, None, (), 0), ForestNode(None, None, (0, 0), None)), (1,), None)
    summed = costs_of(graph._store, [matrix, walks]).of(1)
    assert summed < costs_of(graph._store, [matrix, walks], outputs=True).of(1)
    assert summed < costs_of(graph._store, [matrix, walks, MatVec(0, 1)]).of(1)


def test_sums_of_longer_closed_walks_are_found_together(graph: Graph) -> None:
    start, beyond = ForestNode(0, None, (), 0), ForestNode(None, None, (0,), 0)
    steps = [
        Matrix((Relation(("E",), Direction.BOTH),)),
        MatVec(0, None),
        RootedForest((start, beyond, ForestNode(None, None, (1, 1), None)), (2,), None),
        RootedForest((start, ForestNode(None, None, (0, 0), None)), (1,), 1),
    ]
    costs, apart = costs_of(graph._store, steps), costs_of(graph._store, steps, outputs=True)
    assert costs.of(2) < apart.of(2)
    assert costs.of(3) < costs.of(2)
    assert costs.of(3) < apart.of(3)


def test_what_stays_with_the_graph_costs_a_run_little() -> None:
    nodes = [{"id": k, "labels": "AB"[k % 2], "properties": {"p": k}} for k in range(4000)]
    graph = Graph.from_records(nodes, [{"type": "E", "start": k, "end": 7 * k % 4000} for k in range(4000)])
    predicate = Comparison(("<",), (Property(Variable("a"), "p"), Literal(9)))
    relation, conditions = Relation(("E",), Direction.BOTH), (("r", (predicate,)),)
    kept = [NodeIndicator((("", LabelIs("A"), ()),)), Matrix((relation,)), MatVec(1, 0), MaskedProduct(1, 1, 1, 2)]
    made = [
        NodeIndicator((("a", LabelIs("A"), (predicate,)),)),
        Matrix((replace(relation, conditions=conditions),)),
        *kept[2:],
    ]
    costs, others = (costs_of(graph._store, steps) for steps in (kept, made))
    for place in range(3):
        assert costs.of(place) < others.of(place)


def test_pairs_are_found_from_the_node_whose_conditions_leave_less() -> None:
    start, end = np.random.default_rng(5).integers(0, 3_000, (2, 40_000))
    nodes = pa.table({"id": np.arange(3_000), "i": np.arange(3_000)})
    graph = Graph.from_arrow([("A", nodes)], [("R", pa.table({"start": start, "end": end}))], key="id")
    pattern = "(a:A)-[:R]->(b:A)-[:R]->(c:A)"
    for condition, pairs in (("c.i < 100", "c, a"), ("a.i < 100", "a, c"), ("b.i < 100", "a, c")):
        query = f"MATCH {pattern} WHERE {condition} RETURN id(a) % 10 AS x, id(c) % 10 AS y, count(*) AS n"
        assert f"Eliminate emit {pairs} " in str(graph.explain(query))
        found, searched = (graph.query(each).fetchall() for each in (query, f"/*+ search */ {query}"))
        assert sorted(found) == sorted(searched)


def test_roots_that_conditions_leave_out_cost_little() -> None:
    nodes = [{"id": k, "labels": "A", "properties": {"p": k}} for k in range(4000)]
    edges = [{"type": "E", "start": k, "end": (k * step + 1) % 4000} for k in range(4000) for step in (3, 7, 11, 13)]
    graph = Graph.from_records(nodes, edges)
    few = Comparison(("<",), (Property(Variable("a"), "p"), Literal(9)))
    ways = (ForestNode(0, None, (), 0), ForestNode(None, None, (0,), 0), ForestNode(None, None, (1, 1), None))
    costs = []
    for predicates in ((), (few,)):
        roots = NodeIndicator((("a", LabelIs("A"), predicates),))
        steps = [Matrix((Relation(("E",), Direction.OUT),)), roots, RootedForest(ways, (2,), 1)]
        costs.append(costs_of(graph._store, steps).of(2))
    assert costs[1] < 0.8 * costs[0]  # what remains is going through all vertices


def test_forests_cost_by_the_few_nodes_that_a_type_joins() -> None:
    """Two writers, who know each other, have a thousand notes each: the notes of whom each knows are two thousand."""
    nodes = [{"id": k, "labels": "Writer" if k < 2 else "Note"} for k in range(2002)]
    edges = [{"type": "WROTE", "start": k % 2, "end": k} for k in range(2, 2002)]
    edges += [{"type": "KNOWS", "start": 0, "end": 1}, {"type": "ANSWERS", "start": 3, "end": 2}]
    store = Graph.from_records(nodes, edges)._store
    relations = (("KNOWS", Direction.BOTH), ("WROTE", Direction.OUT), ("ANSWERS", Direction.OUT))
    steps: list[Step] = [Matrix((Relation((name,), direction),)) for name, direction in relations]
    writers = NodeIndicator((("a", LabelIs("Writer"), ()),))
    known, written = ForestNode(0, 3, (), 1), ForestNode(None, None, (0,), 2)
    forest = RootedForest((known, written, ForestNode(1, None, (1,), None)), (2,), 3)
    scattered, _, _ = ProgramFacts(store, [*steps, writers, forest], "cpu", outputs=False).forest(forest)
    assert 2_000 <= scattered <= 6_000


def test_looking_ids_up_in_longer_lists_takes_longer() -> None:
    nodes = [{"id": k, "labels": "A"} for k in range(2000)]
    edges = [{"type": "Few", "start": k, "end": 7 * k % 2000} for k in range(2000)]
    edges += [{"type": "Even", "start": k, "end": (k + step) % 2000} for k in range(2000) for step in range(10)]
    edges += [{"type": "Hubs", "start": k, "end": k % 10} for k in range(2000)]
    edges += [{"type": "Hubs", "start": k % 10, "end": k} for k in range(2000)]
    store = Graph.from_records(nodes, edges)._store
    few, even, hubs = (Matrix((Relation((name,), Direction.OUT),)) for name in ("Few", "Even", "Hubs"))
    alike, unlike = (costs_of(store, [few, even, other, MaskedProduct(0, 1, 2, None)]) for other in (even, hubs))
    assert alike.of(3) < unlike.of(3)
