"""What stays on the device between queries: the graph's arrays, and plans that are the same every time."""

from __future__ import annotations

from typing import Any

import pytest

from qengine import Graph
from qengine.exec.common import resolve as resolving
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu.upload import device_plan
from qengine.plan.physical import Search
from qengine.testing.plans import planned
from tests.emulator.device import EmulatedRun, device_memory


@pytest.fixture
def graph() -> Graph:
    nodes = [{"id": k, "labels": ["A"], "properties": {"x": k * 7 % 20 if k % 5 else None}} for k in range(20)]
    ends = [(k, (k + step) % 20) for k in range(20) for step in (1, 2)]
    return Graph.from_records(nodes, [{"type": "R", "start": a, "end": b} for a, b in ends])


def resolved(graph: Graph, text: str, parameters: dict[str, Any] | None = None) -> Any:
    """Run a query on the CPU; return its search as it was remembered, None if it wasn't."""
    graph.query(text, parameters, device="cpu").fetchall()
    search = planned(graph, text, Search)[0]
    return resolving._resolved[False, False].get(graph._store, search, lambda: (None, False))


def test_plans_share_a_property_on_the_device(graph: Graph) -> None:
    memory = device_memory()
    texts = ("MATCH (a)-[:R]->(b) WHERE a.x < b.x", "MATCH (a)-[:R]->(b)-[:R]->(c) WHERE a.x < c.x")
    run: Any = EmulatedRun(ExecutionContext(), memory)
    shared = []
    for text in texts:
        plan = resolved(graph, f"{text} RETURN id(a), id(b)")
        column = next(each for each in plan.keep if hasattr(each, "buffers"))
        address = column.buffers()[1].address + 8 * column.offset
        with device_plan(graph._store, plan, run) as on_device:
            shared.append({part.key[:3]: part for part in on_device.parts}[id(graph._store), address, 8 * len(column)])
    assert shared[0] is shared[1]


def test_what_a_constant_admits_is_remembered(graph: Graph) -> None:
    assert resolved(graph, "MATCH (a)-[:R]->(b) WHERE a.x > 3 RETURN id(b)").reusable
    assert resolved(graph, "MATCH (a)-[:R]->(b) WHERE abs(a.x) > 3 RETURN id(b)").reusable
    for other in ("timestamp()", "date().year"):
        assert resolved(graph, f"MATCH (a)-[:R]->(b) WHERE a.x < 3 + {other} RETURN id(b)") is None
    assert resolved(graph, "MATCH (a)-[:R]->(b) WHERE a.x > $x RETURN id(b)", {"x": 3}) is None
