"""Graphs of many labels, types and columns: what is done for each of them doesn't grow with how many there are."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from qengine import Graph


def calls_of(run: Callable[[], Any]) -> int:
    """Return how many functions of Python and C are called, and generators gone on with."""
    count = 0

    def called(_: FrameType, event: str, __: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        run()
    finally:
        sys.setprofile(before)
    return count


def with_labels(n: int) -> Graph:
    nodes = pa.table({"id": np.arange(n), "label": [f"L{k}" for k in range(n)]})
    links = pa.table({"start": np.arange(n), "end": (np.arange(n) + 1) % n, "type": ["E"] * n})
    return Graph.from_arrow(nodes, links, label_column="label", type_column="type")


def with_types(n: int) -> Graph:
    links = pa.table({"start": np.arange(n), "end": (np.arange(n) + 1) % n, "type": [f"E{k}" for k in range(n)]})
    return Graph.from_arrow({"A": pa.table({"id": np.arange(n)})}, links, type_column="type")


def with_columns(n: int) -> Graph:
    columns = {f"c{k}": [k] for k in range(n)}
    nodes = pa.table({"id": [0], **columns})
    return Graph.from_arrow({"A": nodes}, [("E", pa.table({"start": [0], "end": [0], **columns}))])


@pytest.mark.parametrize("make", [with_labels, with_types, with_columns])
def test_work_for_each_name(make: Callable[[int], Graph], tmp_path: Path) -> None:
    def work(n: int) -> int:
        def run() -> None:
            graph = make(n)
            assert graph.query("MATCH (a)-->(b) RETURN labels(a), count(*)").fetchall()
            graph.save(tmp_path / f"{n}")
            opened = Graph.open(tmp_path / f"{n}")
            assert opened.query("MATCH (a)-->(b) RETURN labels(a), count(*)").fetchall()

        return calls_of(run)

    work(10)  # modules are imported, and what all graphs share is made
    few, many = work(200), work(800)
    assert many < 4.5 * few


def test_each_node_has_its_label() -> None:
    graph = with_labels(300)
    assert graph.query("MATCH (a:L7)-->(b) RETURN labels(a), labels(b)").fetchall() == [(["L7"], ["L8"])]
    assert graph.query("MATCH (a:L7|L9) RETURN count(*)").value() == 2
    assert graph.query("MATCH (a:!L7) RETURN count(*)").value() == 299
