"""Loading within a limit of memory, and reading no more of a saved graph than is needed."""

from __future__ import annotations

import errno
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import qengine
from qengine import Graph, ResourceError, SemanticError, StorageError
from qengine.storage import from_parquet
from qengine.storage.external import Budget, Scratch
from tests.bench.larger import _drop, _resident

IN_PIECES = (None, Budget(1 << 20, batch=3, entries=4), Budget(16, batch=3, entries=4))


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    """20,000 nodes, 300,000 relationships with a property."""
    folder = tmp_path / "tables"
    folder.mkdir()
    dice = np.random.default_rng(1)
    ids = np.arange(20_000)
    pq.write_table(pa.table({"id": ids, "name": [f"number {each}" for each in ids]}), folder / "nodes_A.parquet")
    start, end, since = (dice.integers(0, 20_000, 300_000) for _ in range(3))
    pq.write_table(
        pa.table({"start": start, "end": end, "since": since}), folder / "rels_A_R_A.parquet", row_group_size=1 << 14
    )
    return folder


def peak(load: Callable[[], Graph]) -> int:
    """Return the most bytes that Python, NumPy and Arrow hold while a graph is loaded."""
    most = 0
    allocated = pa.total_allocated_bytes()
    tracemalloc.start()
    try:
        before = pa.default_memory_pool().max_memory()
        load()
        most = tracemalloc.get_traced_memory()[1]
        after = pa.default_memory_pool().max_memory()
    finally:
        tracemalloc.stop()
    return most + (after - allocated if after > before else 0)


def test_loading_keeps_to_its_limit(tables: Path) -> None:
    assert peak(lambda: Graph.from_parquet(tables, memory_limit="2M")) < 5 << 20
    assert peak(lambda: Graph.from_parquet(tables)) > 8 << 20


def test_nothing_is_left_of_a_load(tables: Path, tmp_path: Path) -> None:
    (tmp_path / "spill").mkdir()
    graph = Graph.from_parquet(tables, memory_limit="1M", spill_directory=tmp_path / "spill")
    assert graph.query("MATCH (:A)-[r:R]->(:A) RETURN count(r.since)").value() == 300_000
    assert not list((tmp_path / "spill").iterdir())


def test_a_graph_in_files_is_changed_like_any_other(tables: Path) -> None:
    graph = Graph.from_parquet(tables, memory_limit="1M")
    graph.query("MATCH (a:A {id: 7}) SET a.name = 'seven' CREATE (a)-[:R {since: 1}]->(:A {id: -1})")
    assert graph.query("MATCH (a:A)-[:R]->(b {id: -1}) RETURN a.name").value() == "seven"
    assert graph.relationship_count == 300_001


def test_a_directory_that_is_missing_or_full_is_told(
    tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ResourceError, match="there is no such directory") as missing:
        Graph.from_parquet(tables, memory_limit="1M", spill_directory=tmp_path / "nowhere")
    assert missing.value.code == "SpillFailed"

    def full(*args: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(ResourceError, match="No space left"):
        Graph.from_parquet(tables, memory_limit="1M")


def test_limits_that_can_not_be_kept_are_refused(tables: Path) -> None:
    with pytest.raises(SemanticError, match="memory_limit"):
        Graph.from_parquet(tables, memory_limit="much")
    with pytest.raises(StorageError, match="known by their names"):
        Graph.from_parquet(nodes={"A": tables / "nodes_A.parquet"}, memory_limit="1M")
    with pytest.raises(StorageError, match="known by their names"):
        Graph.from_jsonl(nodes={"A": tables / "nodes_A.parquet"}, memory_limit="1M")


WRONG: dict[str, tuple[list[Any], list[Any], list[Any]]] = {
    "a key twice": ([5, 6, 7, 8, 9, 6], [5], [6]),
    "a text twice": (["5", "6", "7", "8", "9", "6"], ["5"], ["6"]),
    "an unknown key": ([5, 6, 7, 8, 9], [5, 6, 7, 8, 9, 5, 6], [6, 7, 8, 9, 5, 2, 5]),
    "an unknown text": (["5", "6", "7", "8", "9"], ["5", "6", "7", "8", "9"], ["6", "7", "8", "9", "ten"]),
    "no key": ([5, 6, 7, 8, None], [5], [6]),
    "no end": ([5, 6, 7, 8, 9], [5, 6, 7, 8, None], [6] * 5),
    "far apart and twice": ([5, 10**9, 10**12, 5], [5], [5]),
    "other keys": ([5, 6, 7, 8, 9], ["5"], ["6"]),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_errors_are_those_of_loading_in_memory(wrong: str, tmp_path: Path) -> None:
    keys, start, end = WRONG[wrong]
    pq.write_table(pa.table({"id": keys}), tmp_path / "nodes_A.parquet")
    pq.write_table(pa.table({"start": start, "end": end}), tmp_path / "rels_A_R_A.parquet")
    told = set()
    for budget in IN_PIECES:
        with pytest.raises(StorageError) as error:
            from_parquet(tmp_path, within=None if budget is None else (budget, Scratch()))
        told.add(str(error.value).partition("\nhint: 1 row")[0].partition("\nhint: 2 rows")[0])
    assert len(told) == 1, told


def test_a_node_by_its_id_reads_a_few_pages(tables: Path, tmp_path: Path) -> None:
    loaded = Graph.from_parquet(tables)
    read = {}
    for verify in ("lazy", "never"):
        saved = tmp_path / verify
        loaded.save(saved)
        _drop(saved)
        if _resident(saved) > 0.0:
            pytest.skip("the pages of files here can't be dropped")
        with qengine.open(saved, read_only=True, verify=verify) as graph:  # type: ignore[arg-type]
            row = graph.query("MATCH (a:A) WHERE id(a) = 777 RETURN a.id, a.name").fetchone()
            assert row is not None and row[1] == f"number {row[0]}"
            read[verify] = _resident(saved)
    assert read["never"] < 0.01 < read["lazy"]


def test_what_is_trusted_is_not_looked_through(tables: Path, tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    Graph.from_parquet(tables).save(saved)
    text = "MATCH (a:A)-[r:R]->(b) RETURN sum(r.since), count(b.name)"
    with qengine.open(saved, verify="never") as graph, qengine.open(saved) as checked:
        assert graph.query(text).fetchall() == checked.query(text).fetchall()
    file = next(saved.glob("data-*/properties.arrow"))
    with open(file, "r+b") as damaged:
        place = file.read_bytes().index(b"number 777number ")
        damaged.seek(place)
        damaged.write(b"Number")
    name = "MATCH (a:A {id: 777}) RETURN a.name"
    with pytest.raises(StorageError, match="checksum"):
        qengine.open(saved, verify="full")
    with qengine.open(saved, verify="never") as graph:
        assert graph.query(name).value() == "Number 777"
