"""A planned search whose parameters name its nodes by an index runs again without being resolved, with other nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from qengine import Graph
from qengine.exec.common import resolve
from qengine.exec.common.masks import Masks

_NODES = 1_100  # enough for indexes
_TEXTS = (
    "MATCH (n:P {id: $v})-[:K]->()-[:K]->(m) RETURN count(*)",
    "MATCH (n:P {id: $v})-[:K]->()-[:K]->(m) RETURN m.x AS x, count(*) AS c ORDER BY c DESC, x LIMIT 3",
    "MATCH (n:P)-[:K]->()-[:K]->(m) WHERE n.id IN [$v, 7, 3] AND n.x < $most RETURN n.id AS id, count(*) ORDER BY id",
    "MATCH (n:P {id: $v})-[:K]->()-[:K]->(m:P {id: $other}) RETURN count(*)",
)
_VALUES = (3, 5, 10**9, None, 7, "text", 5)


@pytest.fixture(scope="module")
def graph() -> Graph:
    rng = np.random.default_rng(1)
    nodes = pa.table({"id": np.arange(_NODES), "x": np.arange(_NODES) % 97})
    ends = {name: rng.integers(0, _NODES, 4 * _NODES) for name in ("start", "end")}
    return Graph.from_arrow({"P": nodes}, [("K", "P", "P", pa.table(ends))], key="id")


@pytest.mark.parametrize("text", _TEXTS)
def test_other_parameters_find_other_nodes(graph: Graph, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    statement = graph.prepare(text)
    for _ in range(8):  # until indexes are there
        statement.run({"v": 3, "most": 50, "other": 9}).fetchall()
    resolved: list[object] = []
    real = resolve._Resolver.run
    monkeypatch.setattr(resolve._Resolver, "run", lambda self: resolved.append(self) or real(self))
    for other, value in enumerate(_VALUES):
        params = {"v": value, "most": 45 + other, "other": 9 + other}
        expected = graph.query(text, params, device="reference").fetchall()
        assert statement.run(params).fetchall() == expected
    assert not resolved


def test_an_index_that_finds_too_many_is_left(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    statement = graph.prepare(_TEXTS[0])
    params: dict[str, Any] = {"v": 3}
    for _ in range(8):
        expected = statement.run(params).fetchall()
    monkeypatch.setattr(Masks, "vertex_list", lambda self, level, ranges: None)
    assert statement.run(params).fetchall() == expected
    monkeypatch.undo()
    assert statement.run(params).fetchall() == expected
