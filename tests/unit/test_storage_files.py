"""Graphs from files: folders of Parquet and CSV, edge lists, graph files, and what is wrong with bad ones."""

from __future__ import annotations

import gzip
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from qengine import Graph
from qengine.errors import LoadingWarning, StorageError
from qengine.storage import from_csv, from_edge_list, from_graph_file, from_parquet, kernels
from qengine.testing import data

TABLES = {
    "nodes_Person": pa.table({"id": [1, 2, 3], "name": ["a", "", None]}),
    "nodes_Old_City": pa.table({"code": ["x", "y"], "born": ["2020-01-01", "1999-12-31"]}),
    "rels_Person_lives_in_Old_City": pa.table({"start": [1, 3], "end": ["x", "y"], "w": [0.5, 2.0]}),
    "rels_Person_knows_Person": pa.table({"src": [1, 2], "dst": [2, 2]}),
}
SETTINGS = "[relationships.knows]\nundirected = true\n"


def write(folder, suffix, writer):
    for name, table in TABLES.items():
        writer(table, folder / f"{name}.{suffix}")
    (folder / "graph.toml").write_text(SETTINGS)
    return folder


@pytest.fixture(name="parquet")
def _parquet(tmp_path):
    return write(tmp_path, "parquet", pq.write_table)


@pytest.fixture(name="text")
def _text(tmp_path):
    return write(tmp_path, "csv", csv.write_csv)


def edges_of(store):
    nodes = store.nodes(range(store.vertex_count))
    key = [next(iter(node.properties.values())) for node in nodes]
    edges = store.relationships(range(store.relationship_count))
    return sorted((edge.type, key[edge.start], key[edge.end]) for edge in edges)


@pytest.mark.parametrize("form", ["parquet", "text"])
def test_folders_load(form, request):
    folder = request.getfixturevalue(form)
    store = (from_parquet if form == "parquet" else from_csv)(folder)
    assert store.label_sets == ((frozenset({"Old_City"}), 2), (frozenset({"Person"}), 3))
    assert edges_of(store) == [("knows", 1, 2), ("knows", 2, 2), ("lives_in", 1, "x"), ("lives_in", 3, "y")]
    assert [edge_type.undirected for edge_type in store.types] == [True, False]
    names = {node["id"]: node.get("name", None) for node in store.nodes(range(2, 5))}
    assert names == {1: "a", 2: "", 3: None}
    assert store.property_type("node", "born").kind.value == ("STRING" if form == "parquet" else "DATE")


def test_a_list_of_files_loads(parquet):
    files = sorted(parquet.glob("*.parquet"))
    assert from_parquet(files, undirected=["knows"]).relationship_count == 4
    assert from_parquet([str(files[0]), files[1]]).relationship_count == 0


def damaged(folder, case):
    person, knows = folder / "nodes_Person.parquet", folder / "rels_Person_knows_Person.parquet"
    if case == "truncated":
        person.write_bytes(person.read_bytes()[:-20])
    elif case == "empty":
        person.write_bytes(b"")
    elif case == "unknown label":
        knows.rename(folder / "rels_Person_knows_Robot.parquet")
    elif case == "unknown key":
        pq.write_table(pa.table({"src": [1, 2], "dst": [2, 9]}), knows)
    elif case == "duplicate key":
        pq.write_table(pa.table({"id": [1, 2, 1]}), person)
    elif case == "bad settings":
        (folder / "graph.toml").write_text("[relationships")
    elif case == "unknown type":
        (folder / "graph.toml").write_text("[relationships.likes]\nundirected = true")
    elif case == "no nodes":
        for path in folder.glob("nodes*"):
            path.unlink()
    elif case == "no folder":
        return folder / "nowhere"
    return folder


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("truncated", "{}/nodes_Person.parquet: it is no readable Parquet file: "),
        ("empty", "{}/nodes_Person.parquet: it is no readable Parquet file: "),
        ("unknown label", "{}/rels_Person_knows_Robot.parquet: its name isn't rels_<Start>_<TYPE>_<End> with two of"),
        ("unknown key", "{}/rels_Person_knows_Person.parquet, column dst: row 1 has the key 9, which is no node's"),
        ("duplicate key", "{}/nodes_Person.parquet: row 2 has the key 1 that row 0 has"),
        ("bad settings", "{}/graph.toml: it can't be understood: "),
        ("unknown type", "there is no relationship type likes to be undirected"),
        ("no nodes", "{}: there is no nodes_<Label>.parquet"),
        ("no folder", "{}/nowhere: there is no such folder"),
    ],
)
def test_bad_folders_are_refused(parquet, case, message):
    with pytest.raises(StorageError) as raised:
        from_parquet(damaged(parquet, case))
    assert raised.value.message.startswith(message.format(parquet))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("id,name\n1,Oslo\n2,Malmö\n".encode("latin-1"), "line 3 is no UTF-8 text"),
        ("id,größe\n1,2\n".encode("latin-1"), "line 1 is no UTF-8 text"),
        ("id,name\n1,Malmö\n".encode("utf-16"), "it is UTF-16 text"),
        (b'id,name\n1,a\n2,"b\n3,c\n4,d\n', "the quotes that begin in line 3 are never closed"),
        (b'id,name\n1,"a\n\nb"\n2,"b\n3,c', "the quotes that begin in line 5 are never closed"),
        (b"id;name\n1;a\n", "semicolons separate its columns, not commas"),
        (b"id\tname\n1\ta\n", "tabs separate its columns, not commas"),
    ],
)
def test_text_that_would_be_read_as_something_else_is_refused(text, content, message):
    (text / "nodes_Person.csv").write_bytes(content)
    with pytest.raises(StorageError) as raised:
        from_csv(text)
    assert raised.value.message == f"{text}/nodes_Person.csv: {message}"
    assert raised.value.hint


def test_quotes_and_line_breaks_in_values_are_read(tmp_path):
    (tmp_path / "nodes_A.csv").write_bytes(b'id,name\n1,a"b\n2,"c ""d"" e"\n3,"f\ng"\n')
    store = from_csv(tmp_path)
    assert [node["name"] for node in store.nodes(range(3))] == ['a"b', 'c "d" e', "f\ng"]


@pytest.mark.parametrize(
    "name", ["node_A.csv", "Nodes_A.csv", "nodes_A.CSV", "nodes_A.csv.gz", "edges_R.csv", "Rels-A.csv"]
)
def test_files_whose_names_would_leave_them_out_are_told(text, name):
    (text / name).write_text("id\n1\n")
    with pytest.raises(StorageError, match="would not be read by this name"):
        from_csv(text)


def test_other_files_are_left_alone_and_told(text):
    for name in ("facts.csv", "people.csv.gz", "nodes_A.csv.bak", "README.md"):
        (text / name).write_text("Ragged,\n\n\n1,2,3")
    with pytest.warns(LoadingWarning) as warned:
        assert Graph.from_csv(text).node_count == 5
    (one,) = warned
    assert str(one.message) == (
        f"{text}: by their names these files are not loaded: facts.csv, people.csv.gz\n"
        "hint: Name the files nodes_<Label>.csv and rels_<Start>_<TYPE>_<End>.csv, or give those of other names as "
        'Graph.from_csv(nodes={"Person": file}, relationships={"KNOWS": file}).'
    )
    assert one.filename == __file__
    with pytest.raises(StorageError, match=r"facts.csv: it would not be read by this name"):
        from_csv([text / "nodes_Person.csv", text / "facts.csv"])


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_file_in_place_of_a_folder_is_told_from_none(tmp_path, suffix):
    path = tmp_path / f"nodes_A.{suffix}"
    path.touch()
    load = from_csv if suffix == "csv" else from_parquet
    with pytest.raises(StorageError, match="this is a file, not a folder") as raised:
        load(path)
    assert f"Graph.from_{suffix}(['{path}', …])" in str(raised.value.hint)
    with pytest.raises(StorageError, match="this is a folder"):
        load([tmp_path])
    with pytest.raises(StorageError, match="it is given twice"):
        load([path, path])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("[relationship.knows]\nundirected = true", "'relationship' is no setting"),
        ("relationships = 3", "relationships isn't a table"),
        ("[relationships]\nknows = true", "relationships.knows is True"),
        ("[relationships.knows]\nundirected = 'yes'", "relationships.knows is {'undirected': 'yes'}"),
        ("[relationships.knows]\ndirected = false", "relationships.knows is {'directed': False}"),
        ("\x00", "it can't be understood"),
    ],
)
def test_settings_that_would_be_ignored_are_refused(text, settings, message):
    (text / "graph.toml").write_text(settings)
    with pytest.raises(StorageError, match=re.escape(message)) as raised:
        from_csv(text)
    assert raised.value.hint == "Write [relationships.TYPE] and undirected = true."


def test_ragged_rows_are_refused(text):
    with (text / "nodes_Person.csv").open("a") as file:
        file.write("4,x,y\n")
    with pytest.raises(StorageError, match=r"nodes_Person.csv: row \d+, .*, has 3 fields, not 2: 4,x,y"):
        from_csv(text)


EDGES = "# comment\n% another\n\n10 7\n7\t10 0.5\n  3,7;x\r\n-5 3"


@pytest.mark.parametrize("zipped", [False, True])
def test_edge_lists_load(tmp_path, zipped):
    path = tmp_path / "edges.txt"
    path.write_bytes(gzip.compress(EDGES.encode()) if zipped else EDGES.encode())
    store = from_edge_list(path, type="KNOWS", label="V")
    assert edges_of(store) == [("KNOWS", -5, 3), ("KNOWS", 3, 7), ("KNOWS", 7, 10), ("KNOWS", 10, 7)]
    assert store.labels == ("V",)
    undirected = from_edge_list(path, undirected=True)
    assert (undirected.types[0].undirected, undirected.types[0].parallel, undirected.labels) == (True, True, ())


@pytest.mark.parametrize(
    "line", ["a b", "1", "1 b", "1.5 2", "1 2x", "9223372036854775808 1", "99999999999999999999 1", "- 1", "1 -", "é 1"]
)
def test_letters_in_an_edge_list_are_refused_with_their_line(tmp_path, line):
    path = tmp_path / "edges.txt"
    path.write_text(f"# ids\n1 2\n{line}\n3 4\n")
    with pytest.raises(StorageError) as raised:
        from_edge_list(path)
    assert raised.value.message == f"{path}:3: can't be understood: {line!r}"


def test_a_file_of_another_kind_is_no_edge_list(tmp_path):
    path = tmp_path / "picture.txt"
    path.write_bytes(b"\x89PNG\r\x1a\x00\x01 1 2\n")
    with pytest.raises(StorageError) as raised:
        from_edge_list(path)
    assert raised.value.message == f"{path}: this is no text file"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_texts_of_other_programs(tmp_path, encoding):
    path = tmp_path / "edges.txt"
    text = "# a, b\r\n1,2\r\n2,3\r\n"
    path.write_text(text, encoding)
    (tmp_path / "g.graph").write_text("t 2 1\r\nv 0 7\r\nv 1 7\r\ne 0 1\r\n", encoding)
    if encoding == "utf-16":
        for read in (lambda: from_edge_list(path), lambda: from_graph_file(tmp_path / "g.graph")):
            with pytest.raises(StorageError, match="it is UTF-16 text"):
                read()
        return
    assert edges_of(from_edge_list(path)) == [("E", 1, 2), ("E", 2, 3)]
    path.write_bytes(gzip.compress(text.removeprefix("# a, b\r\n").encode(encoding)))
    assert edges_of(from_edge_list(path)) == [("E", 1, 2), ("E", 2, 3)]
    assert edges_of(from_graph_file(tmp_path / "g.graph")) == [("E", 0, 1)]


def test_a_matrix_market_file_is_no_edge_list(tmp_path):
    path = tmp_path / "g.mtx"
    path.write_text("%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n")
    with pytest.raises(StorageError, match="this is a Matrix Market file"):
        from_edge_list(path)


def test_a_missing_or_cut_off_edge_list_is_refused(tmp_path):
    with pytest.raises(StorageError, match="can't be read"):
        from_edge_list(tmp_path / "nowhere")
    path = tmp_path / "edges.gz"
    path.write_bytes(gzip.compress(EDGES.encode() * 100)[:-9])
    with pytest.raises(StorageError, match="can't be read"):
        from_edge_list(path)


def test_threads_and_chunks_do_not_change_an_edge_list(tmp_path, monkeypatch):
    rng = np.random.default_rng(5)
    edges = rng.integers(-(10**6), 10 ** rng.integers(1, 12, 6_000)[:, None], (6_000, 2))
    lines = [
        f"{start} {end}" + ("\n# note" if row % 97 == 0 else "") for row, (start, end) in enumerate(edges.tolist())
    ]
    text = "\n".join(lines).encode()
    path = tmp_path / "edges.txt"
    path.write_bytes(text)
    for workers in (1, 2, 5):
        monkeypatch.setattr(kernels, "threads", lambda workers=workers: workers)
        read = kernels.edge_list(bytearray(text), len(text))
        assert read.bad is None
        assert read.newlines == text.count(b"\n")
        assert (np.stack((read.first, read.second), axis=1) == edges).all()
    monkeypatch.setattr("qengine.storage.edgelist._CHUNK", 9_000)
    store = from_edge_list(path)
    assert edges_of(store) == sorted(("E", start, end) for start, end in edges.tolist())
    path.write_bytes(text + b"\n1 x\n")
    with pytest.raises(StorageError, match=rf":{text.count(chr(10).encode()) + 2}: "):
        from_edge_list(path)


def test_arrays_of_edges_load():
    numbers = from_edge_list((np.array([5, 6], np.uint16), [6, 10**15]))
    assert edges_of(numbers) == [("E", 5, 6), ("E", 6, 10**15)]
    words = from_edge_list((["a", "b"], pa.chunked_array([["b"], ["c"]])))
    assert edges_of(words) == [("E", "a", "b"), ("E", "b", "c")]
    assert from_edge_list(([], [])).vertex_count == 0
    with pytest.raises(StorageError, match="the two arrays have 1 and 2 entries"):
        from_edge_list(([1], [1, 2]))
    with pytest.raises(StorageError, match="the two arrays hold int64 and string"):
        from_edge_list(([1], ["1"]))


def test_integers_of_any_width_are_read_in_pieces(monkeypatch):
    rng = np.random.default_rng(1)
    start, end = rng.integers(0, 90, (2, 500))
    whole = edges_of(from_edge_list((start, end)))
    monkeypatch.setattr("qengine.storage.edgelist._ROWS", 64)
    for first, second in ((np.int32, np.int32), (np.uint64, np.int8), (np.int64, np.uint16)):
        assert edges_of(from_edge_list((start.astype(first), end.astype(second)))) == whole
    halves = pa.chunked_array([start[:100].astype(np.int16), start[100:].astype(np.int16)])
    assert edges_of(from_edge_list(pa.table({"a": halves, "b": pa.array(end, pa.uint32())}))) == whole
    with pytest.raises(StorageError, match="edge list, second array: row 130 has no key"):
        from_edge_list((list(range(200)), [None if row == 130 else row for row in range(200)]))
    with pytest.raises(StorageError, match="the two arrays have 200 and 3 entries"):
        from_edge_list((np.arange(200), np.arange(3, dtype=np.int8)))
    with pytest.raises(StorageError, match="first array"):
        from_edge_list((np.array([1, 2**64 - 1], np.uint64), np.arange(2)))


def test_graph_files_load(tmp_path):
    path = tmp_path / "g.graph"
    path.write_text("t 4 3\nv 0 7 1\nv 1 2 2\nv 5 7 1\nv 3 2\ne 0 1\ne 1 5 0\ne 1 3 4\n")
    store = from_graph_file(path)
    assert store.label_sets == ((frozenset({"L2"}), 2), (frozenset({"L7"}), 2))
    assert edges_of(store) == [("E", 0, 1), ("E", 1, 5), ("E4", 1, 3)]
    assert all(edge_type.undirected for edge_type in store.types)


def test_an_empty_graph_file_is_an_empty_graph(tmp_path):
    path = tmp_path / "g.graph"
    path.write_text("t 0 0\n")
    store = from_graph_file(path)
    assert (store.vertex_count, store.relationship_count) == (0, 0)


def test_a_graph_file_that_is_cut_off_is_told(tmp_path):
    path = tmp_path / "g.graph"
    path.write_text("t 3 2\nv 0 7\nv 1 2\nv 2 7\ne 0 1\n")
    with pytest.warns(LoadingWarning, match="its head tells 3 vertices and 2 edges, it has 3 vertices and 1 edges"):
        assert edges_of(from_graph_file(path)) == [("E", 0, 1)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t 1 0\nv 0 1\nx 1 2\n", "{}:3: can't be understood: 'x 1 2'"),
        ("t 1 0\nv 0 a\n", "{}:2: can't be understood: 'v 0 a'"),
        ("t 1 0\nv 0 1\ne 0\n", "{}:3: can't be understood: 'e 0'"),
        ("v 0 1\nv 0 1\n", "{}, vertices: row 1 has the key 0 that row 0 has"),
        ("v 0 1\ne 0 1\n", "{}, edges: row 0 has the key 1, which is no node's"),
    ],
)
def test_bad_graph_files_are_refused(tmp_path, text, message):
    path = tmp_path / "g.graph"
    path.write_text(text)
    with pytest.raises(StorageError) as raised:
        from_graph_file(path)
    assert raised.value.message == message.format(path)


@pytest.mark.shared_data("ldbc-snb-sf01")
@pytest.mark.filterwarnings("ignore::qengine.LoadingWarning")  # other forms of the graph lie beside it
def test_an_open_property_graph_loads():
    store = from_parquet(data.data_set("ldbc-snb-sf01"), key="gid", undirected=["knows"])
    assert (store.vertex_count, store.relationship_count) == (327_588, 1_354_697)
    index = store.type_index("hasCreator")
    assert store.types[index].count == 286_744
    assert store.edge_statistics("Post", "hasCreator", "Person").edges == 135_701


def test_integers_with_leading_zeros_are_strings(tmp_path):
    (tmp_path / "nodes_P.csv").write_text('id,zip,n\n007,01234,5\n7,99999,-3\n8,"00012",0\n')
    (tmp_path / "nodes_Q.csv").write_text("id,at\n1,05:30\n2,10:00\n")
    (tmp_path / "rels_P_R_P.csv").write_text("start,end,w\n7,8,10\n8,7,0\n")
    (tmp_path / "rels_P_S_Q.csv").write_text("start,end\n007,2\n")
    graph = Graph(from_csv(tmp_path))
    rows = graph.query("MATCH (a)-[r]->(b) RETURN a.id, a.zip, a.n, r.w, b.id ORDER BY a.id").fetchall()
    assert rows == [("007", "01234", 5, None, 2), ("7", "99999", -3, 10, "8"), ("8", "00012", 0, 0, "7")]
    (tmp_path / "rels_P_S_Q.csv").write_text("start,end\n07,2\n")
    with pytest.raises(StorageError, match="row 0 has the key '07', which is no node's"):
        from_csv(tmp_path)
