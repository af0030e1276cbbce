"""Groups by a key that nearly every row has for itself, on several threads, whose own tables are of no use then."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import qengine
from qengine.exec.host import folds

_NODES, _DEGREE = 60_000, 3
_FORMS = {
    "a table for each thread": None,
    "one table for all threads": 1 << 22,
    "hashed": 0,
}
"""What tables of all threads, or one that they share, may take."""


@pytest.fixture(scope="module")
def ends() -> np.ndarray:
    """The ends of each node's relationships: the first is that of many, the others are drawn."""
    drawn = np.random.default_rng(3).integers(0, _NODES, (_NODES, _DEGREE))
    drawn[::20, 0] = 7  # a group of many rows, beside those of few
    return drawn


@pytest.fixture(scope="module")
def graph(ends: np.ndarray) -> qengine.Graph:
    ids = np.arange(_NODES)
    nodes = pa.table({"id": ids, "v": ids * 7 % 1_000, "w": pa.array(ids * 0.5, mask=ids % 11 == 0)})
    edges = pa.table({"start": np.repeat(ids, _DEGREE), "end": ends.ravel(), "k": np.arange(ends.size) % 97})
    return qengine.Graph.from_arrow({"N": nodes}, [("R", "N", "N", edges)], key="id")


def _grouped(key: np.ndarray, **values: np.ndarray) -> dict[int, list[Any]]:
    """Return by key: how many rows, the least v, the greatest k, and the sum of w, NaN for null."""
    order = np.argsort(key, kind="stable")
    found, begins = np.unique(key[order], return_index=True)
    counts = np.diff([*begins.tolist(), len(key)])
    sums = np.add.reduceat(np.nan_to_num(values["w"][order]), begins)
    least = np.minimum.reduceat(values["v"][order], begins)
    most = np.maximum.reduceat(values["k"][order], begins)
    rows = zip(*(each.tolist() for each in (found, counts, least, most, sums)), strict=True)
    return {of: list(row) for of, *row in rows}


@pytest.mark.parametrize("form", _FORMS)
@pytest.mark.parametrize("threads", [1, 2, 3, 16])
def test_each_entry_is_in_its_group(
    graph: qengine.Graph, ends: np.ndarray, form: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if (most := _FORMS[form]) is not None:
        monkeypatch.setattr(folds, "_DENSE_BYTES", most)
    start, end = np.repeat(np.arange(_NODES), _DEGREE), ends.ravel()
    w = np.where(start % 11 == 0, np.nan, start * 0.5)
    expected = _grouped(end, v=start * 7 % 1_000, k=np.arange(ends.size) % 97, w=w)
    query = "MATCH (a:N)-[r:R]->(b:N) RETURN b.id, count(*), min(a.v), max(r.k), sum(a.w)"
    rows = graph.query(query, threads=threads, device="cpu").fetchall()
    assert {key: list(row) for key, *row in rows} == expected


@pytest.mark.parametrize("form", _FORMS)
@pytest.mark.parametrize("threads", [2, 16])
def test_each_row_of_a_search_is_in_its_group(
    graph: qengine.Graph, ends: np.ndarray, form: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if (most := _FORMS[form]) is not None:
        monkeypatch.setattr(folds, "_DENSE_BYTES", most)
    start = np.repeat(np.arange(_NODES), _DEGREE * _DEGREE)
    middle, end = np.repeat(ends.ravel(), _DEGREE), ends[ends.ravel()].ravel()
    entry = ends.ravel()[:, None] * _DEGREE + np.arange(_DEGREE)  # of the second relationship
    other = np.repeat(np.arange(ends.size), _DEGREE) != entry.ravel()  # a loop isn't walked twice
    kept = other & (start * 7 % 1_000 < end * 7 % 1_000)
    values = {"v": middle * 7 % 1_000, "k": entry.ravel() % 97, "w": np.zeros(len(start))}
    expected = _grouped(end[kept], **{name: each[kept] for name, each in values.items()})
    query = "MATCH (a:N)-[:R]->(b:N)-[r:R]->(c:N) WHERE a.v < c.v RETURN c.id, count(*), min(b.v), max(r.k)"
    rows = graph.query(query, threads=threads, device="cpu").fetchall()
    assert {key: list(row) for key, *row in rows} == {key: row[:3] for key, row in expected.items()}
