"""A graph that is loaded in pieces is saved as one that is loaded in memory, byte for byte."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qengine.storage import from_parquet, save
from qengine.storage.external import Budget, Scratch
from qengine.storage.store import GraphStore

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
    del found["manifest.json"]  # names its folder, which each save calls anew; the rest of it are checksums of the others
    return found


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
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
