"""Graphs and files on other filesystems."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

import qengine
from qengine import Graph, RemotePath, StorageError, TransactionError, Unsupported
from qengine.remote.graphs import downloaded

COUNT = "MATCH (a:City)-[:located_in]->(b:Country) RETURN count(*)"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("QENGINE_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def disk(tmp_path: Path) -> fs.FileSystem:
    (tmp_path / "store").mkdir()
    return fs.SubTreeFileSystem(str(tmp_path / "store"), fs.LocalFileSystem())


@pytest.fixture(params=["pyarrow", "fsspec"])
def place(request: pytest.FixtureRequest, disk: fs.FileSystem) -> Iterator[Any]:
    """A place for a graph: on a filesystem of pyarrow, and an address that fsspec knows."""
    if request.param == "pyarrow":
        yield RemotePath("bucket/graph", disk)
        return
    fsspec = pytest.importorskip("fsspec")
    yield "memory://bucket/graph"
    fsspec.filesystem("memory").store.clear()


class Counted(fs.FileSystemHandler):  # type: ignore[misc]
    """A filesystem that notes what is read, and refuses what it is told to."""

    def __init__(self, inner: fs.FileSystem) -> None:
        self.inner = inner
        self.read: list[str] = []
        self.refused = ""

    def get_type_name(self) -> str:
        return "counted"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: list[str]) -> Any:
        return self.inner.get_file_info(paths)

    def get_file_info_selector(self, selector: Any) -> Any:
        return self.inner.get_file_info(selector)

    def create_dir(self, path: str, recursive: bool) -> None:
        self.inner.create_dir(path, recursive=recursive)

    def delete_dir(self, path: str) -> None:
        self.inner.delete_dir(path)

    def open_input_stream(self, path: str) -> Any:
        self.read.append(path)
        return self.inner.open_input_stream(path)

    def open_output_stream(self, path: str, metadata: Any) -> Any:
        if self.refused and path.endswith(self.refused):
            raise OSError("no room")
        return self.inner.open_output_stream(path)

    def _unused(self, *args: Any) -> Any:
        raise NotImplementedError

    delete_dir_contents = delete_root_dir_contents = delete_file = move = copy_file = _unused
    open_input_file = open_append_stream = _unused


@pytest.fixture
def counted(disk: fs.FileSystem) -> Counted:
    return Counted(disk)


def test_a_graph_is_saved_and_opened_elsewhere(place: Any) -> None:
    world = qengine.example()
    expected = world.query(COUNT).value()
    world.save(place)
    with qengine.open(place) as graph:
        assert graph.query(COUNT).value() == expected
        with pytest.raises(TransactionError):
            graph.query("CREATE (:City)")
    with qengine.open(place, verify="full") as graph:
        assert graph.node_count == world.node_count


def test_a_save_replaces_the_graph_and_leaves_nothing_of_the_old_one(place: Any, tmp_path: Path) -> None:
    Graph.from_records([{}]).save(place)
    one = qengine.open(place)
    Graph.from_records([{}, {}]).save(place)
    with qengine.open(place) as two:
        assert (one.node_count, two.node_count) == (1, 2)
        assert one.query("MATCH (n) RETURN count(*)").value() == 1
    one.close()
    if isinstance(place, RemotePath):
        assert len(list((tmp_path / "store" / "bucket" / "graph").iterdir())) == 2


def test_a_graph_is_downloaded_once(counted: Counted) -> None:
    place = RemotePath("graph", fs.PyFileSystem(counted))
    Graph.from_records([{}]).save(place)
    counted.read.clear()
    first = downloaded(place)
    assert len(counted.read) == 5
    counted.read.clear()
    assert downloaded(place) == first and counted.read == ["graph/manifest.json"]


def test_what_was_cut_off_is_downloaded_again(counted: Counted) -> None:
    place = RemotePath("graph", fs.PyFileSystem(counted))
    Graph.from_records([{}]).save(place)
    folder = downloaded(place)
    file = next(folder.glob("data-*/adjacency.arrow"))
    file.write_bytes(file.read_bytes()[:-1])
    with qengine.open(place, verify="full") as graph:
        assert graph.node_count == 1


def test_a_save_that_fails_leaves_the_old_graph(counted: Counted, tmp_path: Path) -> None:
    place = RemotePath("graph", fs.PyFileSystem(counted))
    Graph.from_records([{}]).save(place)
    for name in ("properties.arrow", "manifest.json"):
        counted.refused = name
        with pytest.raises(StorageError, match="can't be written: no room"):
            Graph.from_records([{}, {}]).save(place)
        with qengine.open(place) as graph:
            assert graph.node_count == 1
        assert len(list((tmp_path / "store" / "graph").iterdir())) == 2


def test_a_file_that_is_gone_or_short_is_told(disk: fs.FileSystem, tmp_path: Path) -> None:
    place = RemotePath("graph", disk)
    Graph.from_records([{}]).save(place)
    file = next((tmp_path / "store" / "graph").glob("data-*/adjacency.arrow"))
    data = file.read_bytes()
    file.write_bytes(data[:-8])
    with pytest.raises(StorageError, match=r"it hasn't .* bytes"):
        qengine.open(place)
    file.unlink()
    with pytest.raises(StorageError, match="files are missing"):
        qengine.open(place)


def test_places_without_a_graph_are_told(disk: fs.FileSystem, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="there is no saved graph"):
        qengine.open(RemotePath("nothing", disk))
    (tmp_path / "store" / "other").mkdir()
    (tmp_path / "store" / "other" / "letter.txt").write_text("Dear")
    with pytest.raises(StorageError, match="something else there"):
        Graph().save(RemotePath("other", disk))
    (tmp_path / "store" / "other" / "manifest.json").write_text(json.dumps({"format": 2}))
    for use in (qengine.open, Graph().save):
        with pytest.raises(StorageError, match="manifest"):
            use(RemotePath("other", disk))  # type: ignore[operator]


def test_a_graph_with_a_log_is_refused(disk: fs.FileSystem, tmp_path: Path) -> None:
    Graph.from_records([{}]).save(tmp_path / "store" / "graph")
    with qengine.open(tmp_path / "store" / "graph") as graph:
        graph.query("CREATE (:X)")
    with pytest.raises(StorageError, match="in its log"):
        qengine.open(RemotePath("graph", disk))


def test_addresses_of_unknown_kinds_are_told() -> None:
    with pytest.raises((Unsupported, StorageError), match="nonsense://"):
        qengine.open("nonsense://bucket/graph")
    with pytest.raises(StorageError, match="is no filesystem"):
        qengine.open(RemotePath("graph", 7))


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_folders_are_exported_and_loaded_elsewhere(place: Any, format: str) -> None:
    world = qengine.example()
    world.export(place, format)
    loaded = getattr(Graph, f"from_{format}")(place)
    assert loaded.query(COUNT).value() == world.query(COUNT).value()
    with pytest.raises(StorageError, match="isn't empty"):
        world.export(place, format)


@pytest.mark.parametrize("ending", ["cypher", "graphml", "jsonl"])
def test_files_are_exported_and_loaded_elsewhere(disk: fs.FileSystem, ending: str) -> None:
    place = RemotePath(f"bucket/world.{ending}", disk)
    disk.create_dir("bucket")
    Graph.from_records([{"labels": "A"}]).export(place)
    assert getattr(Graph, f"from_{ending}")(place).labels == ("A",)


def test_errors_of_loaders_name_the_place(disk: fs.FileSystem, tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1, 1]}), tmp_path / "store" / "nodes_A.parquet")
    with pytest.raises(StorageError, match=r"subtree:nodes_A.parquet: row 1 has the key 1 that row 0 has"):
        Graph.from_parquet([RemotePath("nodes_A.parquet", disk)])
    with pytest.raises(StorageError, match="no such file"):
        Graph.from_parquet(nodes={"A": RemotePath("nothing.parquet", disk)})
    assert not list((tmp_path / "store").glob("qengine-*"))
