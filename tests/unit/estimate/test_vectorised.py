"""Estimators that users write in vectorised NumPy."""

from __future__ import annotations

import random
from textwrap import dedent
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from qengine import ExecutionError, Graph, QueryTimeout, SemanticError, Unsupported
from qengine.estimate import BatchEstimator, vectorised
from qengine.estimate.vectorised import BatchStep

QUERIES = (
    "MATCH (a:A)-[:R]->(b)-[:S]->(c)",
    "MATCH (a)-[:R]-(b)-[:R]-(c)-[:R]-(a)",
    "MATCH (a)-[r]-(b) WHERE r.w > 3",
    "MATCH (a)-[r]->(b)<-[s]-(c) WHERE r.w < 5 AND s.w > 2",
    "MATCH (a)-[:R|S]-(b:B)-[:U]-(c) WHERE a.x = c.x",
    "MATCH (a)-[:U]-(b)-[:U]-(a)",
    "MATCH (a:A), (b:B) WHERE a.x > 2 AND b.x < a.x",
    "MATCH DIFFERENT NODES (a)-[:R]-(b)-[:S]-(c)-[:U]-(d)",
    "MATCH (a)-[r:R]->(a)",
    "MATCH (a)-[:R]->(b), (b)-[:R]->(a)",
    "MATCH (a)-[:R]->(b)-[:R]->(c)-[:R]->(d)",
)


class AnyPlace(BatchEstimator):
    """Sees afterwards whether what it picked fits."""

    name = "any"

    def weights(self, step: BatchStep) -> npt.NDArray[np.float64]:
        return np.ones(len(step.values))


class Lopsided(BatchEstimator):
    """Prefers great ids, of those that fit."""

    name = "lopsided"

    def weights(self, step: BatchStep) -> npt.NDArray[np.float64]:
        return step.admitted * (1.0 + step.values % 7)


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Return a graph with loops, parallel relationships, and a type without direction."""
    rng = random.Random(3)
    nodes = [{"id": k, "labels": rng.choice("AB"), "properties": {"x": rng.randrange(5)}} for k in range(40)]
    edges = [
        {
            "type": rng.choice("RSU"),
            "start": min(rng.randrange(40), rng.randrange(40)),
            "end": rng.randrange(40),
            "properties": {"w": rng.randrange(8)},
        }
        for _ in range(260)
    ]
    return Graph.from_records(nodes, edges, undirected=["U"])


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("estimator", [BatchEstimator(), AnyPlace(), Lopsided()], ids=lambda each: each.name)
def test_samples_are_unbiased(graph: Graph, query: str, estimator: BatchEstimator) -> None:
    truth = graph.query(f"{query} RETURN count(*)").value()
    found = graph.estimate(query, method=estimator, samples=10_000, seed=5)
    assert found.method == estimator.name and found.samples == 10_000
    error = (found.high - found.low) / 2 / 1.96
    assert truth > 0 and found.value == pytest.approx(truth, abs=max(4.5 * error, 1e-6 * truth))


def test_the_same_seed_gives_the_same(graph: Graph) -> None:
    values = [graph.estimate(QUERIES[0], method=BatchEstimator(), samples=500, seed=k).value for k in (1, 1, 2)]
    assert values[0] == values[1] != values[2]


def test_samples_of_many_candidates_go_in_parts(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectorised, "_MOST_PLACES", 64)
    truth = graph.query(f"{QUERIES[1]} RETURN count(*)").value()
    found = graph.estimate(QUERIES[1], method=BatchEstimator(), samples=2_000, seed=5)
    assert found.samples == 2_000 and found.low < truth < found.high


def test_the_documented_one_works(graph: Graph) -> None:
    assert BatchEstimator.__doc__ is not None
    names: dict[str, Any] = {"BatchEstimator": BatchEstimator}
    exec(dedent(BatchEstimator.__doc__.split("::\n")[1]), names)
    truth = graph.query(f"{QUERIES[1]} RETURN count(*)").value()
    found = graph.estimate(QUERIES[1], method=names["Hubs"](np.arange(40.0)), samples=20_000, seed=5)
    assert found.method == "hubs" and found.value == pytest.approx(truth, rel=0.2)


@pytest.mark.parametrize("given", [[1.0], "no", [-1.0] * 40, [float("nan")] * 40])
def test_weights_must_be_numbers_for_each_candidate(graph: Graph, given: Any) -> None:
    class Wrong(BatchEstimator):
        def weights(self, step: BatchStep) -> Any:
            return given

    with pytest.raises(SemanticError, match=r"Wrong.weights returned .* for each candidate"):
        graph.estimate("MATCH (a)-->(b)", method=Wrong(), samples=10)


def test_what_it_raises_is_told(graph: Graph) -> None:
    class Fails(BatchEstimator):
        def weights(self, step: BatchStep) -> Any:
            raise KeyError("x")

    with pytest.raises(ExecutionError, match=r"Fails.weights failed: KeyError"):
        graph.estimate("MATCH (a)-->(b)", method=Fails(), samples=10)


def test_a_timeout_reaches_it(graph: Graph) -> None:
    with pytest.raises(QueryTimeout):
        graph.estimate(QUERIES[-1], method=BatchEstimator(), samples=10**9, timeout=0.1)


def test_a_tail_is_refused(graph: Graph) -> None:
    with pytest.raises(Unsupported, match="in Python"):
        graph.estimate("MATCH (a)-->(b) WHERE a.x + b.x > 3", method=BatchEstimator(), samples=10)
