"""While a statement is planned, samples of two elements' pairs are read once for each set of conditions on them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from qengine import Graph
from qengine.optimizer import unjoined


@pytest.mark.parametrize(
    "query",
    [
        "MATCH (a:A), (c:C) WHERE c.name = a.city AND a.v > 3 AND a.v + 10 < a.id % 100 RETURN a.city, count(a.v)",
        "MATCH (a:A), (c:C) WHERE c.name <= a.city AND c.name + 'x' > a.city AND a.v > 3 RETURN DISTINCT a.city",
    ],
)
def test_plans_share_what_samples_say(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    n = 3_000
    city = pa.array([f"c{each % 40}" for each in range(n)])
    of = {"id": np.arange(n), "city": city, "v": np.arange(n) % 9}
    cities = {"id": np.arange(n, n + 40), "name": [f"c{each}" for each in range(40)]}
    graph = Graph.from_arrow([("A", pa.table(of)), ("C", pa.table(cities))], [], key="id")
    asked: Counter[Any] = Counter()
    honest = unjoined._share_of_all

    def counted(predicates: Any, nodes: Any, catalog: Any) -> float:
        asked[str(predicates), str(nodes)] += 1
        return honest(predicates, nodes, catalog)

    monkeypatch.setattr(unjoined, "_share_of_all", counted)
    found = graph.query(query).fetchall()
    assert asked
    assert set(asked.values()) == {1}
    assert sorted(found) == sorted(graph.query(query, device="cpu", threads=1).fetchall())
