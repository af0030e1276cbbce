"""Counts by two vertices come in chunks of many rows, also where there are more vertices than pairs in a chunk."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from qengine import Graph
from qengine.exec.host import eliminate
from qengine.exec.host.elimination_steps import Steps


def test_a_chunk_has_many_rows_of_a_large_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    n, pairs = 400, 64
    table = pa.table({"id": np.arange(n)})
    ring = pa.table({"start": np.arange(n), "end": (np.arange(n) + 1) % n})
    graph = Graph.from_arrow([("P", table)], [("R", ring)], key="id")
    called: list[str] = []
    call = Steps.call

    def noted(self: Steps, name: str, *args: Any, **named: Any) -> None:
        called.append(name)
        call(self, name, *args, **named)

    monkeypatch.setattr(Steps, "call", noted)
    monkeypatch.setattr(eliminate, "_PAIRS", pairs)
    query = "/*+ eliminate */ MATCH (a)-[:R]->(b) RETURN a, b, count(*) AS n"
    assert len(graph.query(query, device="cpu", threads=1).fetchall()) == n
    assert called.count("qe_eliminate_pairs") <= n // pairs + 1
