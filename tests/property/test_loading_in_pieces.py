"""A graph that is loaded in pieces is saved as one that is loaded in memory, byte for byte."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qengine import Graph, LoadingWarning
from qengine.storage import from_parquet, save
from qengine.storage.csvfile import read_csv
from qengine.storage.external import Budget, Scratch, csv_source, csv_sources
from qengine.storage.store import GraphStore
from tests.examples import examples

VALUES = {
    "int": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "small": (pa.int16(), st.integers(-9, 9)),
    "float": (pa.float64(), st.floats(allow_nan=False)),
    "bool": (pa.bool_(), st.booleans()),
    "text": (pa.string(), st.text(max_size=4)),
    "category": (pa.dictionary(pa.int32(), pa.string()), st.sampled_from(("red", "green"))),
    "date": (pa.date32(), st.dates()),
    "moment": (pa.timestamp("us", "UTC"), st.integers(-(10**15), 10**15)),
    "list": (pa.list_(pa.float64()), st.lists(st.one_of(st.none(), st.floats(allow_nan=False)), max_size=3)),
    "texts": (pa.list_(pa.string()), st.lists(st.text(max_size=2), max_size=2)),
    "null": (pa.null(), st.none()),
}


@st.composite
def tables(draw: st.DrawFn, rows: int, columns: dict[str, pa.Array]) -> pa.Table:
    """A table with these columns, and some of a few properties, each of any type."""
    for name in draw(st.lists(st.sampled_from("xyz"), max_size=3, unique=True)):
        kind, values = VALUES[draw(st.sampled_from(sorted(VALUES)))]
        some = st.one_of(st.none(), values) if draw(st.booleans()) else values
        columns[name] = pa.array(draw(st.lists(some, min_size=rows, max_size=rows)), kind)
    return pa.table(columns)


@st.composite
def files(draw: st.DrawFn) -> dict[str, pa.Table]:
    found, keys = {}, {}
    texts = draw(st.booleans())
    spread = draw(st.sampled_from((1, 10**6)))
    for label in ("A", "B", "A:B")[: draw(st.integers(1, 3))]:
        rows = draw(st.integers(1, 12))
        first = 100 * len(keys)
        own = [(first + each) * spread for each in draw(st.permutations(range(rows)))]
        keys[label] = [f"k{each}" for each in own] if texts else own
        found[f"nodes_{label}"] = draw(tables(rows, {"id": pa.array(keys[label])}))
    for type in ("R", "S", "R_S")[: draw(st.integers(0, 3))]:
        start, end = (draw(st.sampled_from(sorted(keys.keys() - {"A:B"}))) for _ in range(2))
        rows = draw(st.integers(0, 30))
        ends = [draw(st.lists(st.sampled_from(keys[one]), min_size=rows, max_size=rows)) for one in (start, end)]
        kind = pa.string() if texts else pa.int64()
        columns = {"start": pa.array(ends[0], kind), "end": pa.array(ends[1], kind)}
        found[f"rels_{start}_{type}_{end}"] = draw(tables(rows, columns))
    return found


def saved(store: GraphStore, path: Path) -> dict[str, bytes]:
    save(store, path)
    found = {file.name: file.read_bytes() for file in path.rglob("*") if file.is_file()}
    del found["manifest.json"]  # names its folder, which each save calls anew, and checksums of the others
    return found


@settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    files(),
    st.booleans(),
    st.sampled_from((Budget(1 << 30), Budget(1 << 30, batch=7, entries=5), Budget(400, batch=3, entries=4))),
)
def test_pieces_are_saved_as_the_whole(given_files: dict[str, pa.Table], undirected: bool, budget: Budget) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "tables").mkdir()
        for stem, table in given_files.items():
            pq.write_table(table, folder / "tables" / f"{stem}.parquet", row_group_size=5)
        types = ["R"] if undirected and any("_R_" in stem and "R_S" not in stem for stem in given_files) else []
        whole = from_parquet(folder / "tables", undirected=types)
        pieces = from_parquet(folder / "tables", undirected=types, within=(budget, Scratch(folder)))
        assert saved(pieces, folder / "pieces") == saved(whole, folder / "whole")


FIELDS = st.one_of(
    st.sampled_from(
        ("", '""', "1", "-7", "007", "2.5", "1e300", "0.1234567890123456789", "true", "FALSE", "2020-01-02", "10:11:12",
         "2020-01-02T10:11:12", "2020-01-02T00:00:00", "2020-01-02T10:11:12.5", "2020-01-02T10:11:12Z",
         "2020-01-02T10:11:12+02:00", "two words", '"quoted, with\nlines"')
    ),
    st.integers(-9, 9).map(str),
)  # fmt: skip


@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.lists(FIELDS, min_size=2, max_size=2), max_size=9), st.sampled_from((64, 1 << 20)))
def test_csv_columns_have_the_types_of_the_whole(rows: list[list[str]], block: int) -> None:
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        path = Path(name) / "table.csv"
        path.write_text("x,y\n" + "".join(",".join(row) + "\n" for row in rows), encoding="utf-8")
        told_whole: list[LoadingWarning] = []
        told: list[LoadingWarning] = []
        whole = read_csv(path, told_whole)
        patch.setattr(csv_sources, "block_size", lambda path: block)
        source = csv_source(path, told, Scratch(name))
        batches = [batch for _, batch in source.batches(["x", "y"], 3)]
        found = pa.Table.from_batches(batches, pa.schema(list(source.kinds.items())))
        assert found.to_pylist() == whole.to_pylist() and sorted(map(str, told)) == sorted(map(str, told_whole))
        assert source.schema.types == whole.schema.types


@pytest.mark.parametrize("limit", [None, "1M"])
def test_a_folder_of_csv_files_is_loaded_in_pieces(tmp_path: Path, limit: str | None) -> None:
    (tmp_path / "nodes_A.csv").write_text("id,name\n1,x\n2,\nthree,z\n")
    (tmp_path / "rels_A_R_A.csv").write_text("start,end\n1,2\n2,1\n")
    graph = Graph.from_csv(tmp_path, memory_limit=limit)
    assert graph.query("MATCH (a)-[:R]->(b) RETURN a.id, b.name ORDER BY a.id").fetchall() == [("1", None), ("2", "x")]
