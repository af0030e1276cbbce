"""Plans for a GPU: another one than for the host where that would join what an elimination counts."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest

from qengine import Graph
from qengine.exec.gpu import device
from qengine.plan.physical import Eliminate, HashJoin
from qengine.plan.traverse import operators
from qengine.testing.generate import rmat, to_csr

TEXT = """MATCH DIFFERENT NODES (a:A)-[:E]-(b:A)-[:E]-(c:C)-[:E]-(a), (a)-[:E]-(d:B)-[:E]-(e:C)-[:E]-(a)
RETURN count(*) AS n"""


@pytest.fixture(scope="module")
def graph() -> Graph:
    """A graph of hubs with four labels, on which two triangles at a node are joined."""
    start, end = (each.astype(int) for each in to_csr(rmat(13, 16, 1)).edges())
    kept = start < end
    names = np.array(["A", "B", "C", "D"])[np.random.default_rng(2).integers(0, 4, 1 << 13)]
    nodes = [{"id": k, "labels": [str(name)]} for k, name in enumerate(names)]
    pairs = zip(start[kept].tolist(), end[kept].tolist(), strict=True)
    return Graph.from_records(nodes, [{"type": "E", "start": a, "end": b} for a, b in pairs], undirected=["E"])


def test_a_gpu_eliminates_what_the_host_joins(graph: Graph) -> None:
    statements = graph._statements
    planned, _ = statements.plan(TEXT, False, statements.accept())
    assert planned.physical is not None
    assert any(isinstance(each, HashJoin) for each in operators(planned.physical.root))
    other, _ = statements.on_gpu(planned, statements.accept())
    assert other.physical is not None
    kinds = {type(each) for each in operators(other.physical.root)}
    assert Eliminate in kinds
    assert HashJoin not in kinds
    assert statements.plan(TEXT, False, statements.accept())[0] is planned
    assert statements.on_gpu(planned, statements.accept())[0] is other


def test_explain_shows_the_plan_of_the_device(graph: Graph) -> None:
    assert "HashJoin" in str(graph.explain(TEXT, device="cpu"))
    with patch.object(device, "usable", lambda asked: (0,)):
        assert "HashJoin" not in str(graph.explain(TEXT, device="gpu"))


def test_plans_without_joins_are_the_same_on_both(graph: Graph) -> None:
    statements = graph._statements
    planned, _ = statements.plan("MATCH (a:A)-[:E]-(b:B) RETURN count(*)", False, statements.accept())
    assert statements.on_gpu(planned, statements.accept())[0] is planned


def test_the_host_can_do_what_a_gpu_has_no_memory_for(graph: Graph) -> None:
    statements = graph._statements
    text = "/*+ eliminate */ MATCH (a)-[:E]-(b:A)-[:E]-(c)-[:E]-(a) RETURN count(*)"
    planned, _ = statements.plan(text, False, statements.accept(), gpu=True)
    assert planned.physical is not None
    found = [each for each in operators(planned.physical.root) if isinstance(each, Eliminate)]
    assert [[schedule.device for schedule in each.schedules] for each in found] == [["gpu", "cpu"]]
