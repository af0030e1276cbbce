"""Conditions of one node or relationship, evaluated by the kernels of the GPU on the host: no GPU is needed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import Graph
from qengine.exec import choice
from qengine.exec.common import property_texts
from qengine.exec.common.masks import Masks
from qengine.exec.common.operators import aggregate_entries, first_on_device, folded_rows
from qengine.exec.gpu import predicates
from qengine.optimizer import access
from qengine.optimizer.lower import bound_edges, over_entries
from tests.emulator.device import Pool, device_memory, emulated, searched
from tests.examples import examples
from tests.property.test_aggregate_entries import agrees

N = 60


def table(n: int, seed: int) -> dict[str, Any]:
    """Return a column of each type that conditions are evaluated of, with nulls in some."""
    random = np.random.default_rng(seed)

    def some(values: list[Any], null: float = 0.2) -> list[Any]:
        return [None if random.random() < null else values[random.integers(len(values))] for _ in range(n)]

    return {
        "i": pa.array(some([-3, 0, 4, 5, 17])),
        "w": pa.array(some([-(2**62), 0, 5, 2**53 + 1, 2**62])),
        "v": pa.array(some([-1.5, -0.0, 0.0, 5.0, math.nan, math.inf, 2.0**53])),
        "f": pa.array([float(k) for k in random.integers(0, 5, n)]),
        "t": pa.array(some(["", "a", "ab", "b", "zürich"])),
        "b": pa.array(some([True, False])),
        "d": pa.array(some([date(2020, 1, 1) + timedelta(days=k) for k in (0, 31, 400)])),
        "u": pa.array([f"only {k}" for k in random.permutation(n)]),
    }


@pytest.fixture(scope="module")
def graph() -> Graph:
    random = np.random.default_rng(3)
    one, other = ({"id": np.arange(begin, begin + N)} | table(N, begin) for begin in (0, N))
    del other["b"]  # a property that only some nodes can have
    links = {name: pa.array(random.integers(0, N, 400)) for name in ("start", "end")}
    links["end"] = pa.array(random.integers(N, 2 * N, 400))
    nodes = [("A", pa.table(one)), ("B", pa.table(other))]
    made = [("R", "A", "B", pa.table(links | table(400, 5))), ("S", "B", "A", pa.table({
        "start": random.integers(N, 2 * N, 200), "end": random.integers(0, N, 200), **table(200, 6)}))]  # fmt: skip
    return Graph.from_arrow(nodes, made, key="id")


@pytest.fixture(autouse=True)
def on_the_host(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with emulated(device_memory(), free=1 << 30) as patch:
        patch.setattr(choice, "choose", lambda asked, *_: (asked, "as asked"))
        searched(patch)
        for module in (aggregate_entries, folded_rows, first_on_device):
            patch.setattr(module, "DEVICE_ROWS", 0)
        for name in ("is_worth", "is_worth_on_device"):
            patch.setattr(folded_rows.FoldedRows, name, lambda self, rows: True)
        for name in ("SETUP", "_AN_ENTRY", "_AN_ELEMENT", "_COMPARED"):
            patch.setattr(over_entries, name, 0.0)
        patch.setattr(predicates, "DEVICE_ELEMENTS", 1)
        patch.setattr(property_texts, "_LEAST", 1)
        yield


COMPARED = ["<", "<=", "=", "<>", ">=", ">"]
LEAVES = [
    *(f"x.{key} {op} {value}" for key in "iwvf" for op in COMPARED for value in ("0", "5", "-1.5", "1e300", "$p")),
    *(f"5 {op} x.{key}" for key in "iwv" for op in COMPARED),
    "x.i % 2 = 0", "x.i IN [0, 4]", "x.i IS NULL", "x.w IS NULL", "x.v IS NOT NULL", "x.b", "NOT x.b", "x.b = false",
    "x.b IS NULL", "x.t = 'a'", "x.t <> 'a'",
    "x.t > 'aa'", "x.t STARTS WITH 'a'", "x.t CONTAINS 'b'", "x.t IN ['', 'b']",
    "x.t IS NULL", "size(x.t) > 1", "toUpper(x.t) = 'AB'", "x.d = date('2020-02-01')", "x.d > date('2020-01-02')",
    "x.d.year = 2021", "x.d IS NULL", "0 < x.v <= 5", "x.i > null", "x.w = null", "coalesce(x.i, 0) = 0",
]  # fmt: skip
"""Conditions on one property; all but those with null have a program."""
BY_HOST = ["x.u > 'only 5'", "x.missing = 1", "x.i + x.w > 4", "x.f * 2 > 4", "10 / x.i > 1", "x.i < x.v"]
"""Conditions that the host evaluates."""

conditions = st.recursive(
    st.sampled_from(LEAVES),
    lambda some: st.one_of(
        st.tuples(some, st.sampled_from(["AND", "OR", "XOR"]), some).map(lambda each: f"({' '.join(each)})"),
        some.map(lambda each: f"NOT ({each})"),
    ),
    max_leaves=5,
)

PATTERNS = [
    "MATCH (x:A)-[k:R]->(y) WHERE {} RETURN k.i, count(*), sum(y.i)",
    "MATCH (y:A)-[x:R]->(z) WHERE {} RETURN z.t, count(*)",
    "MATCH (x) WHERE {} RETURN x.t, count(*)",
    "MATCH (x)-[:R]-(y) WHERE {} RETURN count(*)",
    "MATCH (y)-[x]->(z)-[:S]->(w) WHERE {} RETURN w.i, count(*)",
    "MATCH (y)<-[x:S]-(z)<-[k:R]-(w) WHERE {} RETURN id(k), x.i ORDER BY x.i, id(k) LIMIT 7",
    "MATCH (x:B)-[:S]->(y), (y)-[:R]->(x) WHERE {} RETURN count(*)",
]


def rows(graph: Graph, query: str, device: str) -> list[Any]:
    found = graph.query(query, {"p": 4}, device=device).fetchall()
    return sorted(found, key=repr)


@settings(max_examples=examples(100))
@given(conditions, st.sampled_from(PATTERNS), st.booleans())
def test_conditions_equal_the_hosts(graph: Graph, condition: str, pattern: str, fetched: bool) -> None:
    query = pattern.format(condition)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(predicates, "_MOST_FETCHED", 1 << 18 if fetched else -1)
        assert rows(graph, query, "gpu") == rows(graph, query, "cpu")


@pytest.mark.parametrize(
    "condition", [*BY_HOST, "x.i > null", "x.v < 5", "x.t > 'a' OR x.w = 5", "NOT x.v < 5 XOR x.b"]
)
def test_conditions_admit_what_the_reference_does(graph: Graph, condition: str) -> None:
    agrees(graph, f"MATCH (y)-[x:R]->(z:B) WHERE {condition} RETURN id(x)", "gpu")


@pytest.mark.parametrize("condition", [each for each in LEAVES if "null" not in each])
def test_the_host_asks_for_different_values_alone(
    graph: Graph, condition: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (access, bound_edges):
        monkeypatch.setattr(module, "LEAST_ROWS", 1)
    query = f"MATCH (y:A)-[x:R]->(z:B) WHERE {condition} RETURN z.t, count(*), sum(x.i)"
    expected = rows(graph, query, "cpu")
    monkeypatch.setattr(Masks, "edge_mask", None)
    assert rows(graph, query, "gpu") == expected


def test_the_host_evaluates_where_the_device_has_no_room(graph: Graph) -> None:
    query = "MATCH (y:A)-[x:R]->(z:B) WHERE x.v > 0 AND x.i = 4 RETURN z.t, count(*)"
    expected = rows(graph, query, "cpu")
    with emulated(device_memory(Pool(200)), free=200):
        assert rows(graph, query, "gpu") == expected
