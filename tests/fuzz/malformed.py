"""Malformed files and tables for the loaders: valid ones, cut, flipped, spliced and filled with what doesn't belong.

Run by itself, ``python -m tests.fuzz.malformed SEED FIRST COUNT``, it loads ``COUNT`` cases under a memory limit and
writes the number of each before it starts: a crash names its case.
"""

from __future__ import annotations

import gzip
import io
import random
import resource
import shutil
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from qengine import Graph, LoadingWarning, SemanticError, StorageError

MEMORY = 6 << 30  # bytes of addresses that a child may map: Arrow's and Python's own, and what a case needs
_FIELDS = [
    "", "1", "-1", "007", "+5", "0x1F", "9223372036854775808", "12345678901234567890", "0.5", "1e400", "nan", "inf",
    "true", "false", "2020-01-01", "2020-13-45", "2020-01-01T00:00:00", "2020-01-01T00:00:00+02:00", "10:00", '""',
    '"a ""b"""', '"', '"a\nb"', "a,b", ",", " ", "ä", "\x00", "\ufeff", "x" * 70_000, "id:ID", "start", "id",
    "1" * 5000,
    "-" * 100, "\r", "\n\n", "#", "%", "t 1 1", "v 0 1", "e 0 1", "%%MatrixMarket", "1 2 3", "9" * 19, "\t", ";",
]  # fmt: skip
_BYTES = [
    b"\x00",
    b"\xff",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\n",
    b'"',
    b",",
    b"\r",
    b"\x80" * 8,
    b"\x7f",
    b"PAR1",
    b"\x01",
]
_WORDS = [b"\xff" * 4, b"\x00" * 4, b"\xff\xff\xff\x7f", b"\x01\x00\x00\x00"]


def corrupted(chance: random.Random, data: bytes, most: int = 4, *, moved: bool = True) -> bytes:
    """Return bytes with a few mistakes: flipped or overwritten; if ``moved``, also cut off, repeated, left out."""
    for _ in range(chance.randrange(1, most + 1)):
        place, other = sorted(chance.randrange(len(data) + 1) for _ in range(2))
        match chance.randrange(0 if moved else 4, 12):
            case 0:
                data = data[:place]
            case 1:
                data = data[:place] + chance.choice(_BYTES) + data[place:]
            case 2:
                data = data[:place] + data[other:]
            case 3:
                data = data[:other] + data[place:other] + data[other:]
            case 4:
                data = data[:place] + chance.randbytes(4)[: len(data) - place] + data[place + 4 :]
            case 5:
                data = data[:place] + chance.choice(_WORDS)[: len(data) - place] + data[place + 4 :]
            case _ if data:  # half of all
                place = min(place, len(data) - 1)
                data = data[:place] + bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1 :]
    return data


def csv_folder(chance: random.Random, folder: Path) -> Graph:
    """Load a folder of CSV files."""
    texts = {"nodes_A": "id,name,x\n1,a,0.5\n2,b,1\n3,,2\n", "nodes_B": "id,at\nx,2020-01-01\ny,1999-12-31\n",
             "rels_A_R_B": "start,end,w\n1,x,5\n3,y,6\n", "rels_A_S_A": "src,dst\n1,2\n2,2\n"}  # fmt: skip
    broken = chance.choice(list(texts))
    for name, text in texts.items():
        data = text.encode()
        if name == broken:
            rows = [line.split(",") for line in text.splitlines()]
            for _ in range(chance.randrange(4)):
                row = chance.choice(rows)
                if chance.random() < 0.6 and row:
                    row[chance.randrange(len(row))] = chance.choice(_FIELDS)
                elif chance.random() < 0.5:
                    row.append(chance.choice(_FIELDS))
                else:
                    rows.insert(chance.randrange(len(rows)), list(chance.choice(rows)))
            encoding = chance.choice(["utf-8", "utf-8", "utf-8", "utf-8-sig", "latin-1", "utf-16"])
            data = chance.choice(["\n", "\r\n", "\r"]).join(map(",".join, rows)).encode(encoding, "replace")
            if chance.random() < 0.4:
                data = corrupted(chance, data)
        (folder / f"{name}.csv").write_bytes(data)
    if chance.random() < 0.1:
        settings = b"[relationships.S]\nundirected = true\n"
        (folder / "graph.toml").write_bytes(corrupted(chance, settings))
    return Graph.from_csv(folder)


@cache
def columns() -> dict[str, Any]:
    """Return columns of four values of every type that a table may have."""
    texts, numbers = ["a", None, "b" * 40, "ä"], [1, 2, None, 4]
    return {
        "int8": pa.array(numbers, pa.int8()), "uint64": pa.array(numbers, pa.uint64()),
        "float": pa.array([0.5, 1, None, 2]), "half": pa.array([0.5, 1, None, 2], pa.float16()),
        "bool": pa.array([True, None, False, True]),
        "string": pa.array(texts), "large": pa.array(texts, pa.large_string()),
        "view": pa.array(texts, pa.string_view()),
        "dictionary": pa.array(texts).dictionary_encode(), "binary": pa.array([b"a", None, b"b", b"\xff"]),
        "decimal": pa.array([Decimal("1.25"), None, Decimal(-3), Decimal(2)], pa.decimal128(20, 2)),
        "date": pa.array(numbers, pa.date32()), "date64": pa.array([86_400_000, None, 0, 0], pa.date64()),
        "time": pa.array(numbers, pa.time64("us")), "moment": pa.array(numbers, pa.timestamp("ms", "Europe/Berlin")),
        "duration": pa.array(numbers, pa.duration("ns")), "null": pa.nulls(4),
        "interval": pa.array([(1, 2, 3), None, (0, 0, 0), (4, 5, 6)], pa.month_day_nano_interval()),
        "list": pa.array([[1, 2], None, [], [3]]), "strings": pa.array([["a"], None, [], ["b", "c"]]),
        "lists": pa.array([[["a"]], None, [], [["b", None]]], pa.list_(pa.large_list(pa.string()))),
        "fixed": pa.array([[1, 2], None, [3, 4], [5, 6]], pa.list_(pa.int32(), 2)),
        "struct": pa.array([{"a": 1}, None, {"a": 2}, {}]),
        "map": pa.array([[("a", 1)], None, [], []], pa.map_(pa.string(), pa.int8())),
        "runs": pa.RunEndEncodedArray.from_arrays(pa.array([2, 4], pa.int32()), pa.array(["a", "b"])),
        "dense": pa.UnionArray.from_dense(pa.array([0, 1, 0, 1], pa.int8()), pa.array([0, 0, 1, 1], pa.int32()),
                                          [pa.array([1, None]), pa.array(["a", "b"])]),
        "sparse": pa.UnionArray.from_sparse(pa.array([0, 1, 0, 1], pa.int8()),
                                            [pa.array(numbers), pa.array(texts)]),
    }  # fmt: skip


def table(chance: random.Random, parquet: bool) -> Any:
    """Return a table with an id and a few columns."""
    refused = ("runs", "dense", "sparse", "interval", "duration", "half") if parquet else ()
    names = chance.sample([name for name in columns() if name not in refused], chance.randrange(1, 4))
    if chance.random() < 0.8:
        names = [name for name in names if name not in ("binary", "struct", "map")]
    ids = chance.choice(
        [pa.array([1, 2, 3, 4]), pa.array(["a", "b", "c", "d"]), pa.array(list("wxyz")).dictionary_encode()]
    )
    return pa.table({"id": ids, **{name: columns()[name] for name in names}})


def parquet_folder(chance: random.Random, folder: Path) -> Graph:
    """Load a folder of Parquet files."""
    data = io.BytesIO()
    given = table(chance, parquet=True)
    pq.write_table(
        given, data, compression=chance.choice(["none", "snappy", "gzip", "zstd"]),
        use_dictionary=chance.random() < 0.5, data_page_version=chance.choice(["1.0", "2.0"]),
        row_group_size=chance.choice([2, 100]),
    )  # fmt: skip
    whole = data.getvalue()
    footer = int.from_bytes(whole[-8:-4], "little") + 8
    if chance.random() < 0.5:  # the footer says where everything is
        whole = whole[:-footer] + corrupted(chance, whole[-footer:-8], 1, moved=False) + whole[-8:]
    else:
        whole = corrupted(chance, whole, 2, moved=chance.random() < 0.3)
    (folder / "nodes_A.parquet").write_bytes(whole)
    pq.write_table(pa.table({"start": given["id"][:2], "end": given["id"][2:]}), folder / "rels_A_R_A.parquet")
    return Graph.from_parquet(folder)


class Stream:
    """A table that hands itself over batch by batch, as data frames do."""

    def __init__(self, batches: list[Any]) -> None:
        self._batches = batches

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return pa.RecordBatchReader.from_batches(self._batches[0].schema, self._batches).__arrow_c_stream__()


def is_whole(batch: Any) -> bool:
    """Tell whether a batch has all buffers that its type says; Arrow can't export others."""
    try:
        batch.validate()
    except pa.ArrowException:
        return False
    return True


def with_bad_values(chance: random.Random, data: bytes) -> bytes:
    """Return a stream with mistakes in offsets, indices, lengths of runs and values, of which Arrow takes no notice."""
    found = []
    for message in pa.ipc.MessageReader.open_stream(data):
        whole, size = message.serialize().to_pybytes(), 0 if message.body is None else message.body.size
        if size and message.type != "schema":
            whole = whole[:-size] + corrupted(chance, whole[-size:], 2, moved=False)
        found.append(whole)
    return b"".join(found)


def stream(chance: random.Random, folder: Path) -> Graph:
    """Load a table from a stream whose offsets, lengths and indices may be anything."""
    data = io.BytesIO()
    given = table(chance, parquet=False)
    with pa.ipc.new_stream(data, given.schema) as writer:
        writer.write_table(given, max_chunksize=chance.choice([2, 4]))
    bad = corrupted(chance, data.getvalue(), 1) if chance.random() < 0.2 else with_bad_values(chance, data.getvalue())
    try:
        batches = list(pa.ipc.open_stream(bad))
    except (pa.ArrowException, OSError):  # Arrow itself sees it, before there is a table
        raise StorageError("no stream") from None
    source = Stream(batches) if batches and all(map(is_whole, batches)) else pa.ipc.open_stream(bad)
    if batches and chance.random() < 0.3:
        source = pa.ipc.open_stream(bad)
    match chance.randrange(4):
        case 0:
            return Graph.from_arrow(source, label_column=chance.choice(given.column_names))
        case 1:
            return Graph.from_edge_list(source)
        case 2:
            return Graph.from_arrow({"A": pa.table({"id": given["id"]})}, {"R": source})
        case _:
            return Graph.from_arrow({"A": source})


def edge_list(chance: random.Random, folder: Path) -> Graph:
    """Load an edge list, plain or gzipped."""
    lines = ["# a comment", "1 2", "2,3", "5\t7 0.5", "-4 -5", "% 1", ""]
    lines += [" ".join(chance.choice(_FIELDS) for _ in range(2)) for _ in range(chance.randrange(3))]
    chance.shuffle(lines)
    data = "\n".join(lines).encode()
    if chance.random() < 0.5:
        data = gzip.compress(data)
    if chance.random() < 0.8:
        data = corrupted(chance, data)
    (folder / "edges.txt").write_bytes(data)
    return Graph.from_edge_list(folder / "edges.txt")


def graph_file(chance: random.Random, folder: Path) -> Graph:
    """Load a ``t/v/e`` file."""
    lines = ["t 3 2", "v 0 1 1", "v 1 2 2", "v 2 1 1", "e 0 1", "e 1 2 3"]
    lines += [chance.choice(["v", "e", "t", "x"]) + " " + chance.choice(_FIELDS) for _ in range(chance.randrange(2))]
    (folder / "g.graph").write_bytes(corrupted(chance, "\n".join(lines).encode()))
    return Graph.from_graph_file(folder / "g.graph")


FORMS: tuple[Callable[[random.Random, Path], Graph], ...] = (
    csv_folder, csv_folder, parquet_folder, stream, stream, edge_list, graph_file
)  # fmt: skip


def look(graph: Graph) -> None:
    """Read all that a graph says: what was loaded must be sound."""
    repr(graph.schema)
    repr(graph.statistics)
    graph.query("MATCH (n) RETURN n").fetchall()
    graph.query("MATCH (a)-[r]->(b) RETURN a, r, b").fetchall()
    graph.query("MATCH (n) RETURN n").to_arrow()


def try_case(seed: int, number: int) -> str:
    """Load one case; return "loaded", "refused", or a report of what went wrong."""
    chance = random.Random(seed * 1_000_003 + number)
    form = FORMS[number % len(FORMS)]
    folder = Path(tempfile.mkdtemp(prefix="qengine-fuzz-"))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", LoadingWarning)
            graph = form(chance, folder)
    except (StorageError, SemanticError):
        return "refused"
    except BaseException:
        return f"case {number} of seed {seed}, {form.__name__}: {traceback.format_exc()}"
    else:
        try:
            look(graph)
        except BaseException:
            return f"case {number} of seed {seed}, {form.__name__}, loaded: {traceback.format_exc()}"
    finally:
        shutil.rmtree(folder)
    return "loaded"


def main(seed: int, first: int, count: int) -> None:
    """Try cases; write the number of each, then of all how many loaded and were refused, and what went wrong."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    found: Counter[str] = Counter()
    for number in range(first, first + count):
        print(number, file=sys.stderr, flush=True)
        outcome = try_case(seed, number)
        found[outcome if outcome in ("loaded", "refused") else "failed"] += 1
        if outcome not in ("loaded", "refused"):
            print(outcome)
    print(f"{found['loaded']} loaded, {found['refused']} refused, {found['failed']} failed")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
