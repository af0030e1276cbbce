"""Nothing that is opened is trusted: damaged and crafted graphs give errors, when what is wrong is first read."""

from __future__ import annotations

import json
import os
import random
import shutil
import threading
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

import qengine
from qengine._limits import limited_by
from qengine.errors import QueryInterrupted, QueryTimeout, StorageError
from qengine.exec.context import ExecutionContext
from qengine.plan.pattern import Direction
from qengine.storage import from_arrow, from_records, open_saved, save
from qengine.storage.adjacency import Form
from qengine.storage.blocks import BLOCK
from tests.fuzz.saved_corruptions import QUERIES, SAVED, read_batches, remake, rows_of, write_batches

NODES, EDGES = 20_000, 150_000  # several blocks an array


@pytest.fixture(scope="module", name="large")
def _large(tmp_path_factory):
    rng = np.random.default_rng(5)
    path = tmp_path_factory.mktemp("large")
    people = pa.table(
        {"id": range(NODES), "name": [f"näme {row} " + "x" * 20 for row in range(NODES)], "age": range(NODES)}
    )
    edges = {"start": rng.integers(0, NODES, EDGES), "end": rng.integers(0, NODES, EDGES)}
    weights = pa.table({**edges, "w": rng.random(EDGES)})
    save(from_arrow({"A": people}, [("R", "A", "A", weights), ("S", "A", "A", pa.table(edges))]), path)
    return path


@pytest.fixture(name="copy")
def _copy(large, tmp_path):
    path = tmp_path / "graph"
    shutil.copytree(large, path)
    return path


@pytest.fixture(name="small")
def _small(tmp_path):
    path = tmp_path / "small"
    shutil.copytree(SAVED / "format2", path)
    return path


def unchecked(store):
    lists = [lists for by_way in store._adjacencies for lists in by_way.values()]
    return [one for one in lists if one._unchecked is not None], [
        column for column in store._all_columns() if "array" not in vars(column)
    ]


def flip(path, begin):
    data = bytearray(path.read_bytes())
    data[begin] ^= 1
    path.write_bytes(data)


def place_of(array, file):
    return array.ctypes.data - file.buffer.address


# ---------------------------------------------------------------- when things are checked


def test_opening_checks_no_array_and_a_query_only_what_it_needs(large):
    store = open_saved(large)
    lists, columns = unchecked(store)
    assert (len(lists), len(columns)) == (4, 4)
    assert store.nbytes > 2_000_000
    assert qengine.Graph(store).query("MATCH (a)-[:S]->(b) RETURN count(*)").value() == EDGES
    left, columns = unchecked(store)
    assert {one._source[1].type for one in left} >= {"R"}
    assert len(columns) == 4
    store.check()
    assert unchecked(store) == ([], [])


def test_a_damaged_block_gives_an_error_from_the_query_that_touches_it(copy):
    store = open_saved(copy)
    lists = store.adjacency(0, Direction.IN)
    file = lists._source[0]
    at = place_of(lists._unchecked.neighbours, file) + 4 * EDGES // 2
    flip(file.path, at)
    graph = qengine.open(copy)
    assert graph.query("MATCH (a)-[:S]->(b) RETURN count(*)").value() == EDGES
    begin = at // BLOCK * BLOCK
    message = f"{file.path}: the checksum of bytes {begin:,} to {begin + BLOCK:,} is wrong"
    for _ in range(2):
        with pytest.raises(StorageError, match="checksum") as raised:
            graph.query("MATCH (a)-[r:R]->(b)-[:R]->(c)-[:R]->(a) RETURN count(*)").fetchall()
        assert message in raised.value.message
        assert raised.value.hint
    with pytest.raises(StorageError, match="checksum"):
        qengine.open(copy, verify="full")


def test_every_block_of_every_file_is_covered(copy):
    files = [path for path in copy.glob("data-*/*.arrow") if path.stat().st_size > BLOCK]
    assert len(files) == 2
    for path in files:
        for begin in range(0, path.stat().st_size, BLOCK):
            flip(path, begin + 11)
            with pytest.raises(StorageError, match=path.name):
                open_saved(copy, "full")
            flip(path, begin + 11)
    open_saved(copy, "full")


def test_a_damaged_column_is_found_when_it_is_read(copy):
    column = open_saved(copy)._node_properties["name"]
    file, _ = column._source
    flip(file.path, column._unchecked.buffers()[2].address - file.buffer.address + 400_000)
    graph = qengine.open(copy)
    assert graph.query("MATCH (a) RETURN sum(a.age)").value() == NODES * (NODES - 1) // 2
    with pytest.raises(StorageError, match=r"properties.arrow: the checksum of bytes"):
        graph.query("MATCH (a) RETURN max(a.name)").fetchall()


def test_a_check_obeys_limits_and_goes_on_where_it_was_stopped(large):
    store = open_saved(large)
    lists, column = store.adjacency(0, Direction.OUT), store._node_properties["name"]
    parts = 0
    for _ in range(50):
        context = ExecutionContext(threads=1)
        context.interrupt()
        with limited_by(context):
            try:
                assert lists.neighbours is not None
            except QueryInterrupted:
                done = int(lists._progress._done.sum())
                assert done >= parts
                parts = done
            else:
                break
    assert parts > 1
    assert lists._unchecked is None, "each attempt has done a part"
    with limited_by(ExecutionContext(timeout=0.0)), pytest.raises(QueryTimeout):
        _ = column.array
    assert len(column.array) == NODES
    with pytest.raises(QueryTimeout):
        qengine.Graph(open_saved(large)).query("MATCH (a) RETURN a", timeout=0).fetchall()


def test_many_threads_check_once(large, monkeypatch):
    import qengine.storage.saved_lists as module

    runs = []
    run = module._Progress.run
    monkeypatch.setattr(module._Progress, "run", lambda self: (runs.append(1), run(self))[1])
    store = open_saved(large)
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(store.adjacency(0, Direction.OUT).neighbours)) for _ in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 16
    assert len({id(one) for one in found}) == 1
    assert len(runs) == 1


# ---------------------------------------------------------------- structure


def with_array(folder, type_index, way, name, change):
    """Change one array of the lists of a type, with right checksums."""
    path = next(folder.glob("data-*/adjacency.arrow"))
    batches, schema = read_batches(path)
    (number,) = (
        row for row, one in enumerate(batches)
        if (one.column("type")[0].as_py(), one.column("direction")[0].as_py()) == (type_index, way)
    )  # fmt: skip
    values = change(batches[number].column(name).values.to_numpy().copy())
    made = pa.LargeListArray.from_arrays(pa.array([0, len(values)], pa.int64()), pa.array(values))
    columns = [made if each == name else batches[number].column(each) for each in schema.names]
    batches[number] = pa.RecordBatch.from_arrays(columns, schema=schema)
    write_batches(path, batches, schema)
    remake(folder)


def changed(values, at, value):
    values[at] = value
    return values


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("neighbours", lambda v: changed(v, 7, 0xFFFFFFF0), "out of range|isn't sorted"),
        ("neighbours", lambda v: changed(v, -1, NODES + 5000), "a neighbour is out of range"),
        ("neighbours", lambda v: v[::-1].copy(), "a list isn't sorted"),
        ("neighbours", lambda v: changed(v, slice(0, 2), v[[1, 0]]), "a list isn't sorted|same relationships"),
        ("neighbours", lambda v: np.maximum(v - 1, v[:1]), "isn't sorted|same relationships|out of range"),
        ("offsets", lambda v: v * 2**30, "the row index is malformed"),
        ("offsets", lambda v: v[::-1].copy(), "the row index is malformed"),
        ("offsets", lambda v: changed(v, 3, v[2] - 1), "the row index is malformed"),
        ("offsets", lambda v: changed(v, 0, 1), "the row index is malformed"),
        ("offsets", lambda v: changed(v, 3, v[3] + 1), "isn't sorted|same relationships"),
        ("offsets", lambda v: v[:-1].copy(), "its arrays don't fit each other"),
        ("edge_ids", lambda v: changed(v, 9, EDGES), "a relationship id is out of range"),
        ("edge_ids", lambda v: changed(v, 9, v[8]), "both directions don't hold the same relationships"),
        ("edge_ids", lambda v: v[:-1].copy(), "its arrays don't fit each other"),
    ],
)
def test_lists_that_no_kernel_may_read_are_refused(copy, name, change, message):
    with_array(copy, 0, "in", name, change)
    with pytest.raises(StorageError, match=message) as raised:
        open_saved(copy).adjacency(0, Direction.IN).locate(3)
    assert "adjacency.arrow" in raised.value.message


def whether_same(lists, name, at, value):
    return getattr(lists, name).view(np.uint32 if name != "offsets" else np.uint64)[at] == value


@pytest.mark.parametrize("form", list(Form))
def test_every_word_of_a_row_index_is_looked_at(tmp_path, monkeypatch, form):
    monkeypatch.setattr("qengine.storage.pcsr_build.choose", lambda keys, entries: (form, "a reason"))
    rng = random.Random(3)
    edges = [{"type": "R", "start": rng.randrange(0, 400, 7), "end": rng.randrange(400)} for _ in range(300)]
    edges += [{"type": "R", "start": 1, "end": end} for end in range(0, 400, 3)]
    save(from_records([{"id": row} for row in range(400)], edges), tmp_path / "good")
    lists = open_saved(tmp_path / "good").adjacency(0, Direction.OUT)
    names = {Form.DENSE: ("offsets",), Form.SORTED: ("keys", "offsets"), Form.GROUPS: ("groups",)}[form]
    for name in names:
        size = getattr(lists, name).view(np.uint32).size if name == "groups" else len(getattr(lists, name))
        for at in range(0, size, 1 + size // 24):
            for value in (0, 1 + at, 2**32 - 1):
                same = whether_same(lists, name, at, value)
                folder = tmp_path / "bad"
                shutil.copytree(tmp_path / "good", folder)
                with_array(folder, 0, "out", name, partial(changed, at=at, value=value))
                found = open_saved(folder).adjacency(0, Direction.OUT)
                try:
                    rows = [part.tolist() for part in found.rows()]
                    assert rows == [part.tolist() for part in lists.rows()]
                except StorageError:
                    assert not same
                shutil.rmtree(folder)


def test_flags_of_a_type_are_compared_with_its_lists(small):
    for name, value in (("parallel", False), ("loops", False), ("undirected", True), ("count", 119)):
        folder = small.parent / name
        shutil.copytree(small, folder)
        remake(folder, lambda manifest, flag={name: value}: manifest["types"][0].update(flag))
        with pytest.raises(StorageError):
            open_saved(folder).check()


def test_both_directions_must_hold_the_same_relationships_in_format_1_too(tmp_path):
    folder = tmp_path / "old"
    shutil.copytree(SAVED / "format1", folder)
    out = open_saved(folder).adjacency(3, Direction.OUT).neighbours.tolist()
    at = next(row for row in range(len(out)) if out[row] + 1 not in out)
    with_array(folder, 3, "out", "neighbours", lambda v: changed(v, at, v[at] + 1))
    store = open_saved(folder)
    with pytest.raises(StorageError, match=r"both directions|isn't sorted|own neighbour|out of range"):
        store.check()


# ---------------------------------------------------------------- manifests


def manifest_with(folder, change):
    remake(folder, change)
    with pytest.raises(StorageError) as raised:
        open_saved(folder)
    assert str(folder / "manifest.json") in raised.value.message
    return raised.value.message


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda m: m.update(groups="x"), "manifest.groups is no array"),
        (lambda m: m["types"][0].pop("base"), r"manifest.types[0] lacks base"),
        (lambda m: m["types"][0].update(base=2**80), "manifest.types[0].base is out of range"),
        (lambda m: m["types"][0].update(base=7), "types[0] doesn't follow"),
        (lambda m: m["types"][1].update(index=0), "types[1] doesn't follow"),
        (lambda m: m["types"][0].update(count=True), "manifest.types[0].count is no integer"),
        (lambda m: m["groups"][-1].update(end=10**400), "out of range"),
        (lambda m: m["groups"][-1].update(end=-1), "out of range"),
        (lambda m: m["groups"][1].update(begin=3), "groups[1] doesn't follow"),
        (lambda m: m["groups"][0].update(labels=["Nobody"]), "groups[0] doesn't follow"),
        (lambda m: m["labels"].append(m["labels"][0]), "named twice"),
        (lambda m: m.update(files={}), "its files aren't those of one graph"),
        (lambda m: m.update(format=True), "it names no format"),
        (lambda m: m.update(format=0), "manifest.format is 0"),
        (lambda m: m.update(format=-1), "manifest.format is -1"),
        (lambda m: m["statistics"]["KNOWS"].update(edges=3), "statistics.KNOWS counts 3 relationships of 120"),
        (lambda m: m["statistics"]["KNOWS"].update(out_pairs=1e308), "out of range"),
        (lambda m: m["statistics"].pop("KNOWS"), "its statistics aren't those of its types"),
        (lambda m: m["types"][0].update(digests=["x", "y"]), "manifest.types[0].digests[0] is 'x'"),
        (lambda m: m.update(more=1), "manifest has 'more'"),
    ],
)
def test_ill_typed_manifests_are_refused_with_the_place(small, change, place):
    assert place in manifest_with(small, change)


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../{}", "{}/../adjacency.arrow", "data-1/adjacency.arrow", "", "adjacency.arrow", "{}/x"]
)
def test_paths_out_of_the_folder_are_refused(small, path):
    folder = next(small.glob("data-*")).name

    def change(manifest):
        facts = manifest["files"].pop(f"{folder}/adjacency.arrow")
        manifest["files"][path.format(f"{folder}/adjacency.arrow" if "}/" not in path else folder)] = facts

    assert "manifest.files has" in manifest_with(small, change)


@pytest.mark.parametrize("name", ["manifest.json", "adjacency.arrow", "checksums.bin", "folder"])
def test_links_pipes_and_devices_are_not_opened(small, name):
    path = next(small.glob("data-*")) if name == "folder" else next(small.rglob(name))
    path.rename(small / "moved")
    for make in (
        lambda: path.symlink_to("/dev/zero"),
        lambda: path.symlink_to(small / "moved"),
        lambda: os.mkfifo(path),
        path.mkdir,
    ):
        make()
        with pytest.raises(StorageError):
            open_saved(small)
        os.rmdir(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def test_a_manifest_has_a_bounded_size(small):
    with (small / "manifest.json").open("ab") as file:
        file.truncate(1 << 40)
    with pytest.raises(StorageError, match="it has more than 33,554,432 bytes"):
        open_saved(small)


def test_a_file_of_checksums_that_does_not_fit_is_refused(small):
    path = next(small.rglob("checksums.bin"))
    path.write_bytes(path.read_bytes() + bytes(8))
    with pytest.raises(StorageError, match=r"checksums.bin: it has"):
        open_saved(small)


def test_verify_takes_two_words(small):
    with pytest.raises(StorageError, match="`verify` is"):
        qengine.open(small, verify="yes")


# ---------------------------------------------------------------- Arrow


def with_columns(folder, change, options=None, metadata=None):
    path = next(folder.glob("data-*/properties.arrow"))
    (batch,), schema = read_batches(path)
    columns = {field.name: (column.values, field.metadata) for field, column in zip(schema, batch.columns, strict=True)}
    change(columns)
    lists, fields = [], []
    for name, (values, about) in columns.items():
        lists.append(pa.LargeListArray.from_arrays(pa.array([0, len(values)], pa.int64()), values))
        fields.append(pa.field(name, lists[-1].type, metadata=about))
    with pa.ipc.new_file(str(path), pa.schema(fields), options=options) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays(lists, schema=pa.schema(fields)))
    remake(folder)


def raw_strings(offsets, text, nulls=None):
    buffers = [nulls, pa.py_buffer(np.array(offsets, np.int32).tobytes()), pa.py_buffer(text)]
    return pa.StringArray.from_buffers(len(offsets) - 1, buffers[1], buffers[2], buffers[0], 0)


def refused_column(folder, change):
    with_columns(folder, change)
    with pytest.raises(StorageError) as raised:
        open_saved(folder).node_property("name").array  # noqa: B018
    assert "properties.arrow" in raised.value.message


@pytest.mark.parametrize(
    "values",
    [
        raw_strings([0] * 59 + [2**30, 3], b"abc"),
        raw_strings([0, 5, 1] + [5] * 58, b"abcdefgh"),
        raw_strings([0, -4] + [0] * 59, b"abcdefgh"),
        raw_strings([0] * 60 + [2], b"\xff\xfe"),
        pa.ListArray.from_arrays(pa.array([0] * 59 + [7, 2], pa.int32()), pa.array([1, 2])),
        pa.UnionArray.from_dense(pa.array([0] * 60, pa.int8()), pa.array([9] * 60, pa.int32()), [pa.array([1])]),
        pa.UnionArray.from_dense(pa.array([3] * 60, pa.int8()), pa.array([0] * 60, pa.int32()), [pa.array([1])]),
        pa.array(["x"] * 60).dictionary_encode(),
        pa.array([b"x"] * 60),
        pa.array([1.0] * 60, pa.float32()),
        pa.array([1] * 61),
        pa.array([None] * 60, pa.timestamp("us", "Nowhere/At_All")),
    ],
)
def test_malformed_columns_are_refused(small, values):
    def change(columns):
        columns["node.name"] = (values, columns["node.name"][1])

    refused_column(small, change)


def test_a_small_file_does_not_take_more_memory_than_it_has_bytes(small):
    def change(columns):
        columns["node.name"] = (pa.array(np.zeros(10_000_000, np.int64)), columns["node.name"][1])

    with_columns(small, change, pa.ipc.IpcWriteOptions(compression="zstd"))
    assert next(small.rglob("properties.arrow")).stat().st_size < 1_000_000
    with pytest.raises(StorageError, match=r"properties.arrow: it is compressed"):
        open_saved(small)


@pytest.mark.parametrize(
    "place", [{"entity": "9", "key": "x", "begin": "0"}, {"entity": "node"}, {"key": "\udcff"}, {}]
)
def test_columns_of_nothing_are_refused(small, place):
    def change(columns):
        values, _ = columns["node.name"]
        about = {key: value.encode("utf-8", "surrogateescape") for key, value in place.items()}
        columns["node.name"] = (values, about or None)

    refused_column(small, change)


@pytest.mark.parametrize(("kind", "fact"), [("circles", "acyclic"), ("antiparallel", "antiparallel")])
def test_statistics_that_contradict_the_graph_are_refused(small, tmp_path, kind, fact):
    again = tmp_path / "again"
    save(open_saved(small), again)
    path = next(again.rglob("statistics.arrow"))
    batches, schema = read_batches(path)
    number = next(row for row, field in enumerate(schema) if field.metadata[b"kind"] == kind.encode())
    for facts in ({"type": "NOBODY"}, {fact: 2.0}, {"more": 1}, {"type": None}):
        fields = list(schema)
        known = json.loads(fields[number].metadata[b"facts"]) | facts
        fields[number] = fields[number].with_metadata({"kind": kind, "facts": json.dumps(known)})
        wrong = pa.schema(fields, metadata=schema.metadata)
        with pa.ipc.new_file(str(path), wrong) as writer:
            writer.write_batch(pa.RecordBatch.from_arrays(batches[0].columns, schema=wrong))
        remake(again)
        with pytest.raises(StorageError, match=r"statistics.arrow: column"):
            open_saved(again)


# ---------------------------------------------------------------- formats


def test_graphs_of_both_formats_open_and_answer_the_same():
    graphs = [
        qengine.open(SAVED / name, verify=verify) for name in ("format1", "format2") for verify in ("lazy", "full")
    ]
    for text in QUERIES:
        answers = [rows_of(graph.query(text).fetchall()) for graph in graphs]
        assert all(answer == answers[0] for answer in answers)


def test_a_graph_of_format_1_is_saved_as_format_2(tmp_path):
    graph = qengine.open(SAVED / "format1")
    graph.save(tmp_path / "new")
    manifest = json.loads((tmp_path / "new" / "manifest.json").read_text())
    assert manifest["format"] == 2
    again = qengine.open(tmp_path / "new", verify="full")
    for text in QUERIES:
        assert rows_of(again.query(text).fetchall()) == rows_of(graph.query(text).fetchall())


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, None], pa.int8()),
        pa.array([1.5, None], pa.float32()),
        pa.array(["a", None]).dictionary_encode(),
        pa.array(["a", "ü"], pa.large_string()),
        pa.array([0, 86_400_000], pa.date64()),
        pa.array([1, 2], pa.time32("s")),
        pa.array([1, None], pa.time64("ns")),
        pa.array([1, None], pa.timestamp("ms", "Europe/Berlin")),
        pa.array([1, None], pa.timestamp("s")),
        pa.array([1, None], pa.duration("s")),
        pa.array([(1, 2, 3), None], pa.month_day_nano_interval()),
        pa.array([[1], None], pa.large_list(pa.int8())),
        pa.array([[1, 2], [3, 4]], pa.list_(pa.int64(), 2)),
        pa.array([[[1], None], []]),
        pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])]),
        pa.UnionArray.from_dense(
            pa.array([7, 5], pa.int8()),
            pa.array([0, 0], pa.int32()),
            [pa.array([1]), pa.array(["a"])],
            ["x", "y"],
            [7, 5],
        ),
        pa.nulls(2),
    ],
    ids=lambda values: str(values.type)[:40],
)
def test_a_column_of_any_type_that_is_loaded_comes_back(tmp_path, values):
    store = from_arrow({"A": pa.table({"id": [1, 2], "v": values})})
    save(store, tmp_path)
    opened = open_saved(tmp_path, "full")
    assert [node.properties for node in opened.nodes([0, 1])] == [node.properties for node in store.nodes([0, 1])]
