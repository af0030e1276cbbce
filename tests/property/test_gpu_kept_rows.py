"""Results that stay on the device, by the kernels of the GPU on the host: no GPU is needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from qengine import Graph, Unsupported
from qengine.errors import OutOfMemory
from qengine.exec import choice
from qengine.exec.gpu import arrays, fold_search
from tests.emulator.device import device_memory, emulated, searched
from tests.examples import examples
from tests.property.test_aggregate_entries import valued_graphs

PATTERNS = {
    "(a:A)-[r:R]->(b:A)": "arb",
    "(a:A)-[r]-(b)": "arb",
    "(a)-[r:R]->(b)-[:R]->(c)": "arbc",
    "(a:A)-[:R]->(b:A)-[:R]->(c)-[:R]->(d)": "ab",  # rows that count more often than once
    "(a)--(b)--(c)--(a)": "abc",
    "(a:A)-[r:R]->(b) WHERE a.k < b.k": "arb",
}
OF_NODES = ("{}", "id({})", "{}.k", "{}.i + 1", "{}.k / 2.0", "{}.i % 2 = 0", "coalesce({}.v, 7)", "{}.v", "size({}.t)")
OF_RELATIONSHIPS = ("{}", "id({})", "{}.i", "{}.v", "coalesce({}.v, 0.5)", "id({}) % 3")


@pytest.fixture(autouse=True)
def copied() -> Iterator[list[str]]:
    """The columns that were computed on the host, and copied to the device."""
    found: list[str] = []

    def on_device(columns: Any) -> dict[str, Any]:
        found.extend(columns)
        return {name: np.from_dlpack(each) for name, each in columns.items()}

    with emulated(device_memory(), free=1 << 30) as patch:
        patch.setattr(choice, "choose", lambda asked, *_: (asked, "as asked"))
        patch.setattr(arrays, "on_device", on_device)
        searched(patch)
        yield found


@st.composite
def texts(draw: st.DrawFn) -> str:
    pattern = draw(st.sampled_from(sorted(PATTERNS)))
    columns = []
    for place in range(draw(st.integers(1, 4))):
        name = draw(st.sampled_from(PATTERNS[pattern]))
        expr = draw(st.sampled_from(OF_RELATIONSHIPS if name == "r" else OF_NODES)).format(name)
        columns.append(f"{expr} AS c{place}")
    return f"MATCH {pattern} RETURN {', '.join(columns)}"


def rows_of(columns: dict[str, Any]) -> list[str]:
    return sorted(map(repr, zip(*(np.asarray(each).tolist() for each in columns.values()), strict=True)))


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(valued_graphs(), texts())
def test_they_are_those_of_the_host(copied: list[str], graph: Graph, text: str) -> None:
    result = graph.query(text, device="gpu")
    try:
        expected = {name: np.from_dlpack(each) for name, each in graph.query(text).to_dlpack().items()}
    except Unsupported as error:
        with pytest.raises(Unsupported, match=str(error).partition(",")[0]):
            result.to_cupy()
        return
    found = result.to_cupy()
    event("copied" if copied else "stays")
    copied.clear()
    if result.stats.rows:  # else the host knows some types by rows alone
        assert [each.dtype for each in found.values()] == [each.dtype for each in expected.values()]
    assert rows_of(found) == rows_of(expected)
    assert result.stats.rows == len(next(iter(found.values())))
    assert result.fetchall() == []


def a_ring(n: int = 50) -> Graph:
    ids = np.arange(n)
    nodes = pa.table(
        {"id": ids, "x": ids / 2, "s": [str(each) for each in ids], "few": pa.array([None, *ids[1:].tolist()])}
    )
    edges = pa.table({"start": np.concatenate([ids, ids]), "end": np.concatenate([(ids + 1) % n, (ids + 7) % n])})
    return Graph.from_arrow([("A", nodes)], [("T", "A", "A", edges)], key="id")


@pytest.mark.parametrize(
    ("text", "stays"),
    [
        ("MATCH (a)-[r]->(b) RETURN a, r, b.x AS x", True),
        ("MATCH (a)-[r]->(b) WITH a, b.x AS y RETURN a.id AS a, y * 2 AS z", True),
        ("MATCH (a)-->(b) WHERE a.few > 10 RETURN a.few AS few", True),
        ("MATCH (a)-->(b) RETURN a.x + b.x AS x", False),
        ("MATCH (a)-->(b) RETURN a.id AS a, rand() AS r", False),
        ("MATCH (a)-->(b) RETURN a.id AS a LIMIT 3", False),
        ("MATCH (a)-->(b) RETURN DISTINCT a.id AS a", False),
        ("MATCH (a) RETURN a.id AS a", False),
    ],
)
def test_what_stays(copied: list[str], text: str, stays: bool) -> None:
    graph = a_ring()
    found = graph.query(text, device="gpu").to_cupy()
    assert bool(copied) is not stays
    if "rand()" not in text and "LIMIT" not in text:
        assert rows_of(found) == rows_of({n: np.from_dlpack(each) for n, each in graph.query(text).to_dlpack().items()})


def test_no_rows_have_the_types_of_some() -> None:
    graph = a_ring()
    found = graph.query("MATCH (a)-[r]->(b) WHERE a.id > 90 RETURN a, b.x AS x, a.id > 2 AS t", device="gpu").to_cupy()
    assert {name: (len(each), str(each.dtype)) for name, each in found.items()} == {
        "a": (0, "int64"), "x": (0, "float64"), "t": (0, "uint8")
    }  # fmt: skip


def test_a_null_in_a_row_is_refused_alone() -> None:
    graph = a_ring()
    with pytest.raises(Unsupported, match="Column 'few' has nulls"):
        graph.query("MATCH (a)-->(b) RETURN a.few AS few", device="gpu").to_cupy()


def test_rows_that_were_fetched_are_not_given_again(copied: list[str]) -> None:
    result = a_ring().query("MATCH (a)-->(b) RETURN a.id AS a", device="gpu")
    first = result.fetchmany(10)
    assert len(first) + len(result.to_cupy()["a"]) == 100
    assert copied == ["a"]


def test_rows_in_several_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fold_search, "MOST_SLOTS", 16)
    graph = a_ring(300)
    text = "MATCH (a)-[r]->(b)-->(c) RETURN a, r, c.x AS x"
    found = graph.query(text, device="gpu").to_cupy()
    assert rows_of(found) == rows_of({n: np.from_dlpack(each) for n, each in graph.query(text).to_dlpack().items()})


def test_the_limit_of_the_device() -> None:
    with pytest.raises(OutOfMemory):
        a_ring(3000).query(
            "MATCH (a)-->(b)-->(c)-->(d) RETURN a, b, c, d", device="gpu", gpu_memory_limit=300_000
        ).to_cupy()
