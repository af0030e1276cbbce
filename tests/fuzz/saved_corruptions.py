"""Corrupts saved graphs so that every checksum is right, opens them and asks them everything.

`python -m tests.fuzz.saved_corruptions FIRST LAST` tries the corruptions of these numbers and prints each number before
it begins, so that who watches knows which one crashed. A corruption may change an answer only where it may make another
valid graph: of properties and of the manifest, never of lists and statistics.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import qengine
from qengine.errors import QengineError, QueryTimeout
from qengine.exec.context import ExecutionContext
from qengine.storage import open_saved
from qengine.storage.blocks import block_checksums
from qengine.storage.manifest import encode
from qengine.storage.saved import _checksum
from qengine.storage.store import GraphStore
from qengine.testing.expand import expand

SAVED = Path(__file__).resolve().parents[1] / "data" / "saved"
FORMATS = ("format1", "format2")
MEMORY = 6 << 30
TIMEOUT = 60.0  # seconds: what takes longer hangs
INTERESTING = (
    0,
    1,
    2,
    5,
    59,
    60,
    61,
    63,
    64,
    127,
    128,
    255,
    2**15,
    2**16,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**32,
    2**63,
    2**64 - 1,
)
QUERIES = (
    "MATCH (a)-[:KNOWS]->(b) RETURN count(*)",
    "MATCH (a:Person)-[:KNOWS]->(b)-[:KNOWS]->(c) RETURN count(*)",
    "MATCH (a)-[:KNOWS]->(b)-[:BEFORE]->(c)<-[:KNOWS]-(a) RETURN count(*)",
    "MATCH (a)-[:NEAR]-(b)-[:NEAR]-(c)-[:NEAR]-(a) RETURN count(*)",
    "MATCH (a)-[r:NEAR]-(b) RETURN a.number, b.number, id(r)",
    "MATCH (a)-[r:KNOWS]->(b) WHERE r.since > 2000 RETURN a.name, r.since, r.note, b.name",
    "MATCH (a)<-[r:KNOWS]-(b:Author) WHERE r.since > 2000 RETURN id(r), r.note",
    "MATCH p = (a:City)-[:BEFORE*1..3]->(b) RETURN count(*), sum(length(p))",
    "MATCH (a)-[:LIKES]->(a) RETURN count(*)",
    "MATCH (a)-[r]-(b) RETURN type(r), count(*)",
    "MATCH (a)-[r:KNOWS|LIKES]-(b)-[s:BEFORE]-(c) RETURN count(*)",
    "MATCH p = shortestPath((a {number: 1})-[:KNOWS*]->(b {number: 20})) RETURN length(p)",
    "MATCH (n) RETURN n",
    "MATCH ()-[r]->() RETURN r",
    "MATCH (n) WHERE n.mixed = 1 OR n.name STARTS WITH 'n' RETURN n.name, n.mixed, n.day, n.moments, n.term",
    "MATCH (n:Person) RETURN n.even, count(*), avg(n.share), max(n.day), min(n.moment), max(n.moment_there)",
    "MATCH (n) WHERE size(n.numbers) > 1 RETURN n.numbers, n.words, n.scores, n.clock, n.clock_there, n.wait, n.sparse",
    "MATCH (a)-[:KNOWS]->(b) OPTIONAL MATCH (b)-[:NEAR]-(c) RETURN a.number, count(c)",
    "MATCH (a:Author)-[:KNOWS]->(b)<-[:KNOWS]-(c:Person) WHERE a.share < c.share RETURN count(*)",
    "MATCH (a)-[:BEFORE]->(b)-[:BEFORE]->(c)<-[:BEFORE]-(d)<-[:BEFORE]-(a) RETURN count(*)",
    "MATCH (a)-[e:NEAR*1..3]-(b) WHERE a.number < 20 RETURN count(*), count(e)",
    "MATCH p = (a:Person)-[:NEAR|KNOWS*2]-(b) RETURN count(p)",
)


def remake(folder: Path, change: Callable[[dict[str, Any]], None] = lambda manifest: None) -> None:
    """Make all checksums of a saved graph right, after `change` has changed its manifest."""
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["checksum"]
    checksums = {}
    for name in sorted(manifest["files"]):
        path = folder / name
        if not path.is_file() or path.name == "checksums.bin":
            continue
        data = path.read_bytes()
        checksums[name] = block_checksums(data)
        whole = _checksum(data) if manifest["format"] == 1 else _checksum(checksums[name])
        manifest["files"][name] = {"bytes": len(data), "checksum": whole}
    for name in manifest["files"]:
        if name.endswith("checksums.bin"):
            together = np.concatenate(list(checksums.values()))
            (folder / name).write_bytes(together.tobytes())
            manifest["files"][name] = {"bytes": together.nbytes, "checksum": _checksum(together)}
    change(manifest)
    (folder / "manifest.json").write_bytes(encode(manifest))


# ---------------------------------------------------------------- corruptions


def corrupt_bytes(folder: Path, rng: random.Random) -> str:
    """Overwrite bytes anywhere in a file, the metadata of Arrow's formats too."""
    path = chosen_file(folder, rng)
    data = bytearray(path.read_bytes())
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        size = rng.choice((1, 2, 4, 8))
        at = rng.randrange(len(data) - size) // rng.choice((1, size)) * 1
        value = rng.choice((rng.choice(INTERESTING), rng.getrandbits(64), data[at] ^ 1 << rng.randrange(8)))
        data[at : at + size] = (value % 256**size).to_bytes(size, "little")
    if rng.random() < 0.1:
        data = data[: rng.randrange(1, len(data))] + bytes(rng.choice((0, 0, 8, 64)))
    path.write_bytes(data)
    remake(folder)
    return path.name


def corrupt_lists(folder: Path, rng: random.Random) -> str:
    """Change the values of one array of neighbour lists, or one of their numbers."""
    path = next(folder.glob("data-*/adjacency.arrow"))
    batches, schema = read_batches(path)
    number = rng.randrange(len(batches))
    names = [name for name in schema.names if batches[number].column(name).null_count == 0]
    name = rng.choice(names)
    column = batches[number].column(name)
    if pa.types.is_large_list(column.type):
        values = changed_numbers(column.values.to_numpy().copy(), rng)
        made = listed(pa.array(values), rng) if rng.random() < 0.95 else pa.nulls(1, column.type)
    elif pa.types.is_string(column.type):
        made = pa.array([rng.choice(("out", "in", "both", "", "sideways"))])
    else:
        value = rng.choice((rng.choice(INTERESTING), column[0].as_py() + rng.choice((-1, 1, 2)))) % 2**31
        made = pa.array([value if rng.random() < 0.9 else None], column.type)
    columns = [made if each == name else batches[number].column(each) for each in schema.names]
    batches[number] = pa.RecordBatch.from_arrays(columns, names=schema.names)
    if rng.random() < 0.1:
        rng.shuffle(batches)
    write_batches(path, batches, batches[number].schema if made.type != column.type else schema)
    remake(folder)
    return f"{path.name} {number} {name}"


def corrupt_columns(folder: Path, rng: random.Random) -> str:
    """Give a column of a file of properties or statistics other values, another type, length or place."""
    path = next(folder.glob(f"data-*/{rng.choice(('properties', 'statistics'))}.arrow"))
    batches, schema = read_batches(path)
    if not len(schema):
        return corrupt_bytes(folder, rng)
    columns = batches[0].columns
    number = rng.randrange(len(columns))
    values = columns[number].values
    metadata = dict(schema.field(number).metadata)
    way = rng.randrange(6)
    if way == 0:
        other = columns[rng.randrange(len(columns))].values
        values = other
    elif way == 1:
        values = values.slice(0, rng.randrange(len(values) + 1))
    elif way == 2:
        values = pa.concat_arrays([values, values])
    elif way == 3:
        values = rng.choice((pa.array([1, None, 3]), pa.nulls(60), pa.array(["x"] * 60).dictionary_encode(),
                             pa.array([b"\xff"] * 60, pa.binary()), pa.array([1.5] * 60, pa.float32())))  # fmt: skip
    elif way == 4:
        key = rng.choice(list(metadata))
        metadata[key] = rng.choice(
            (b"", b"-1", b"9" * 30, b"\xff", b"node", b"0", b"3", b"{}", b"[]", b"null", b"1e999")
        )
    else:
        metadata = {key: changed_text(value, rng) for key, value in metadata.items()}
    made = listed(values, rng)
    fields = list(schema)
    fields[number] = pa.field(schema.field(number).name, made.type, metadata=metadata)
    columns[number] = made
    wanted = pa.schema(fields, metadata=schema.metadata)
    options = pa.ipc.IpcWriteOptions(compression="zstd") if rng.random() < 0.1 else None
    with pa.ipc.new_file(str(path), wanted, options=options) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=wanted))
    remake(folder)
    return f"{path.name} {schema.field(number).name} way {way}"


def corrupt_manifest(folder: Path, rng: random.Random) -> str:
    """Replace a value somewhere in the manifest."""
    said: list[str] = []

    def change(manifest: dict[str, Any]) -> None:
        for _ in range(rng.choice((1, 1, 2))):
            places = list(walk(manifest))
            owner, key = rng.choice(places)
            said.append(str(key))
            owner[key] = rng.choice((
                rng.choice(INTERESTING), -1, 1.5, 1e308, "", "x", "data-" + "0" * 32, True, None, [], {}, [[]],
                {"a": 1}, 10**400, "../../x", "\0", owner[key] + 1 if isinstance(owner[key], int) else owner[key],
            ))  # fmt: skip
            if rng.random() < 0.2:
                del owner[key]

    remake(folder, change)
    return "manifest " + ", ".join(said)


def corrupt_files(folder: Path, rng: random.Random) -> str:
    """Replace a file by a link, a pipe, a device or a folder, or list another path."""
    way = rng.randrange(7)
    path = rng.choice([*folder.glob("data-*/*"), folder / "manifest.json", *folder.glob("data-*")])
    evil = rng.choice(
        ("/etc/passwd", "../../../etc/passwd", "data-x/../../y", "/dev/zero", "", ".", "data-1/adjacency.arrow")
    )
    if way == 0:

        def rename(manifest: dict[str, Any]) -> None:
            name = rng.choice(list(manifest["files"]))
            manifest["files"][evil + rng.choice(("", "/" + Path(name).name))] = manifest["files"].pop(name)

        remake(folder, rename)
        return f"files lists {evil}"
    moved = folder / "moved"
    path.rename(moved)
    if way == 1:
        path.symlink_to(moved)
    elif way == 2:
        path.symlink_to(rng.choice(("/dev/zero", "/etc/passwd", "nowhere", ".")))
    elif way == 3:
        os.mkfifo(path)
    elif way == 4:
        path.mkdir()
    elif way == 5 and moved.is_file():
        path.write_bytes(b"")
    return f"{path.name} way {way}"


CORRUPTIONS: tuple[tuple[Callable[[Path, random.Random], str], bool], ...] = (
    (corrupt_lists, True),
    (corrupt_lists, True),
    (corrupt_bytes, False),
    (corrupt_columns, False),
    (corrupt_manifest, False),
    (corrupt_files, False),
)
"""Each with whether answers must stay the same."""


def chosen_file(folder: Path, rng: random.Random) -> Path:
    names = ("adjacency.arrow", "adjacency.arrow", "properties.arrow", "statistics.arrow")
    return next(folder.glob(f"data-*/{rng.choice(names)}"))


def changed_numbers(values: Any, rng: random.Random) -> Any:
    """Return numbers with some changed: swapped, out of range, not ascending, cut off, of another type."""
    way = rng.randrange(9)
    if not len(values) or way == 0:
        return np.append(values, values[:1]).astype(values.dtype)
    at, other = rng.randrange(len(values)), rng.randrange(len(values))
    if way == 1:
        values[at] = rng.choice(INTERESTING) % 2 ** (8 * values.itemsize)
    elif way == 2:
        values[at], values[other] = values[other], values[at]
    elif way == 3:
        values = values[: len(values) - 1 - rng.randrange(len(values))]
    elif way == 4:
        values = values[::-1].copy()
    elif way == 5:
        values[at:] = np.random.default_rng(rng.getrandbits(32)).integers(0, 60, len(values) - at)
    elif way == 6:
        values = values.astype(rng.choice((np.int64, np.uint8, np.float64, np.uint32)))
    elif way == 7:
        values[at] += rng.choice((1, 2, 2 ** (8 * values.itemsize) - 1)) if int(values[at]) == 0 else 0
        values[at] = (int(values[at]) + rng.choice((-1, 1))) % 2 ** (8 * values.itemsize)
    else:
        values[min(at, other) : max(at, other)] = values[min(at, other)]
    return values


def changed_text(text: bytes, rng: random.Random) -> bytes:
    """Return JSON or other text with a number or a name changed."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    holder = {"": value}
    owner, key = rng.choice(list(walk(holder)))
    owner[key] = rng.choice((rng.choice(INTERESTING), -1, 0.5, 1e308, "x", "in", True, None, [], {}, [1, 2, 3, 4]))
    return json.dumps(holder[""]).encode()


def walk(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each container of a JSON value with each of its keys."""
    for key, inside in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, key
        if isinstance(inside, dict | list):
            yield from walk(inside)


def listed(values: Any, rng: random.Random) -> Any:
    """Return one list of the values, rarely a list that is short or null."""
    length = len(values) if rng.random() < 0.95 else rng.randrange(len(values) + 1)
    return pa.LargeListArray.from_arrays(pa.array([0, length], pa.int64()), values)


def read_batches(path: Path) -> tuple[list[Any], Any]:
    reader = pa.ipc.open_file(pa.BufferReader(path.read_bytes()))
    return [reader.get_batch(number) for number in range(reader.num_record_batches)], reader.schema


def write_batches(path: Path, batches: list[Any], schema: Any) -> None:
    made = [batch for batch in batches if batch.schema.equals(schema)]
    with pa.ipc.new_file(str(path), schema) as writer:
        for batch in made:
            writer.write_batch(batch)


# ---------------------------------------------------------------- what is asked


class Oracle:
    """The plans that are run on corrupted graphs, made on the sound one, with their answers."""

    def __init__(self) -> None:
        self.graph = qengine.open(SAVED / "format2")
        self.prepared = {text: self.graph.prepare(text) for text in QUERIES}
        self.answers = {text: rows_of(self.graph.query(text).fetchall()) for text in QUERIES}

    def ask(self, store: GraphStore, text: str, rng: random.Random) -> list[str]:
        """Return the rows of a query on a store, sorted."""
        if rng.random() < 0.1:  # planned by what the store says of itself
            return rows_of(qengine.Graph(store).query(text, timeout=TIMEOUT, threads=1).fetchall())
        from qengine.exec.common.pipeline import run

        plan = self.prepared[text]._planned
        assert plan.physical is not None
        rows: list[Any] = []
        for batch in run(plan.physical, store, ExecutionContext({}, timeout=TIMEOUT, threads=1)):
            columns = [batch.values(name) for name in plan.logical.columns]
            rows += zip(*columns, strict=True)
        return rows_of(rows)


def rows_of(rows: Any) -> list[str]:
    return sorted(repr(tuple(row)) for row in rows)


def touches(store: GraphStore, rng: random.Random) -> tuple[Callable[[], Any], ...]:
    """Return other ways in which a graph is read."""
    graph = qengine.Graph(store)
    text = rng.choice([text for text in QUERIES if "OPTIONAL" not in text and text.endswith("count(*)")])
    return (
        store.check,
        lambda: repr(store.schema),
        lambda: repr(store.statistics),
        lambda: store.nodes(range(store.vertex_count)) if store.vertex_count < 1000 else None,
        lambda: store.relationships(range(store.relationship_count)) if store.relationship_count < 1000 else None,
        lambda: [expand(store, vertex, 0, way) for vertex in range(60) for way in list(store._adjacencies[0])],
        lambda: int(store.signatures.table.sum()),
        lambda: graph.estimate(text, samples=500, seed=1, timeout=TIMEOUT),
        lambda: graph.query(text + " // anew", timeout=TIMEOUT).to_arrow(),
    )


def attempt(oracle: Oracle, number: int, folder: Path) -> str:
    """Try one corruption; return how it was answered.

    Raises
    ------
    Exception
        Whatever isn't an error of qengine's: then it has failed.
    """
    rng = random.Random(number)
    corrupt, same = CORRUPTIONS[number % len(CORRUPTIONS)]
    form = FORMATS[rng.random() < 0.75]
    shutil.copytree(SAVED / form, folder)
    try:
        what = corrupt(folder, rng)
    except (ValueError, TypeError, OverflowError, pa.ArrowException):  # can't even be written
        return "not written"
    same = same and form == "format2"
    outcome = "answered"
    try:
        store = open_saved(folder, "full" if rng.random() < 0.1 else "lazy")
    except QengineError:
        return "refused"
    for text in rng.sample(QUERIES, 6):
        try:
            found = oracle.ask(store, text, rng)
        except QueryTimeout:
            raise AssertionError(f"{what}: {text} hangs") from None
        except QengineError:
            outcome = "refused by a query"
            continue
        assert not same or found == oracle.answers[text], (what, text, found[:3])
    for touch in rng.sample(touches(store, rng), 2):
        try:
            touch()
        except QengineError:
            outcome = "refused by a query"
    return outcome


def main(first: int, last: int) -> None:
    """Try corruptions; print each number before it begins, at the end how they were answered."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if "asan" not in os.environ.get("LD_PRELOAD", ""):  # which takes terabytes of addresses
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    oracle = Oracle()
    outcomes: dict[str, int] = {}
    home = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=home) as scratch:
        for number in range(first, last):
            print(number, flush=True)
            folder = Path(scratch) / str(number)
            outcome = attempt(oracle, number, folder)
            outcomes[outcome] = outcomes.get(outcome, 0) + 1
            shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps(outcomes))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
