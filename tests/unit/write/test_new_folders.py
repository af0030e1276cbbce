"""``qengine.open(path, create=True)`` begins with an empty graph that writes through."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest

import qengine
from qengine.errors import LoadingWarning, StorageError
from qengine.storage.disk import Disk
from qengine.testing.disk import RecordingDisk, crashed
from qengine.write.open_folder import open_folder

ROOT = Path(__file__).resolve().parents[3]
PYTHON = [sys.executable, *(["-S"] if sys.flags.no_site else [])]  # as this process runs
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
COUNT = "MATCH (n:Unit) RETURN count(n)"


@pytest.mark.parametrize("name", ["new", "one/two/three", "empty"])
def test_a_new_or_empty_folder_begins_with_an_empty_graph(tmp_path, name):
    (tmp_path / "empty").mkdir()
    path = tmp_path / name
    with qengine.open(path, create=True) as graph:
        assert (graph.node_count, graph.relationship_count) == (0, 0)
        graph.query("CREATE (:Unit {serial: 0})-[:NEXT]->(:Unit {serial: 1})")
        with qengine.open(path) as reader:
            assert reader.query(COUNT).value() == 2
    with qengine.open(path, create=True) as graph:  # what is there stays
        assert graph.query(COUNT).value() == 2
        graph.query("MATCH (n:Unit {serial: 1}) DETACH DELETE n")
        graph.checkpoint()
    with qengine.open(path, verify="full") as graph:
        assert graph.query("MATCH (n:Unit) RETURN n.serial").fetchall() == [(0,)]


def test_without_being_asked_nothing_is_created(tmp_path):
    (tmp_path / "empty").mkdir()
    for name in ("new", "empty"):
        with pytest.raises(StorageError, match=r"there is no saved graph(.|\n)*create=True"):
            qengine.open(tmp_path / name)
        with pytest.raises(StorageError, match="only read can't be created"):
            qengine.open(tmp_path / name, create=True, read_only=True)
    assert [each.name for each in tmp_path.iterdir()] == ["empty"]
    assert list((tmp_path / "empty").iterdir()) == []


def test_nothing_else_is_taken_for_a_new_folder(tmp_path):
    (tmp_path / "file").write_text("text")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "nodes_A.csv").write_text("id\n1\n")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("file", "folder", "link", "file/inside"):
        with pytest.raises(StorageError, match=r"something else|can't be saved"):
            qengine.open(tmp_path / name, create=True)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", "folder", "link"]
    assert [each.name for each in (tmp_path / "folder").iterdir()] == ["nodes_A.csv"]


def test_a_damaged_graph_is_not_replaced(tmp_path):
    with qengine.open(tmp_path / "graph", create=True) as graph:
        graph.query("CREATE (:Unit)")
    (tmp_path / "graph" / "manifest.json").unlink()
    before = sorted(each.name for each in (tmp_path / "graph").iterdir())
    with pytest.raises(StorageError, match="something else"):
        qengine.open(tmp_path / "graph", create=True)
    assert sorted(each.name for each in (tmp_path / "graph").iterdir()) == before


def test_threads_that_create_the_same_folder_share_it(tmp_path):
    opened: list[qengine.Graph] = []
    threads = [
        threading.Thread(target=lambda: opened.append(qengine.open(tmp_path / "graph", create=True))) for _ in range(8)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(opened) == 8
    opened[0].query("CREATE (:Unit)")
    for each in opened[1:]:
        each.refresh()
        assert each.query(COUNT).value() == 1
    for each in opened:
        each.close()


def test_a_crash_of_the_machine_leaves_what_was_acknowledged(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    disk = RecordingDisk(root)
    with qengine.Graph._opened(*open_folder(root / "a" / "graph", create=True, disk=disk)) as graph:
        disk.note(("acknowledged", 0))
        for serial in range(3):
            disk.note(("begun", serial + 1))
            graph.query("CREATE (:Unit {serial: $s})", {"s": serial})
            disk.note(("acknowledged", serial + 1))
    counts = set()
    for cut in range(1, len(disk.operations) + 1):
        for seed in (0, 1, 2 + cut):
            path = tmp_path / "crashed"
            noted = crashed(disk.operations[:cut], path, seed)
            least = max((number for kind, number in noted if kind == "acknowledged"), default=-1)
            most = max((number for kind, number in noted if kind == "begun"), default=0)
            counts.add(found := _found(path / "a" / "graph", must_be_there=least >= 0))
            assert max(0, least) <= found <= most, (cut, seed)
            shutil.rmtree(path)
    assert counts == {0, 1, 2, 3}


class Unsynced(Disk):
    """A disk for what comes after the crash, which doesn't matter any more."""

    def sync(self, file):
        file.flush()

    def sync_folder(self, folder):
        pass


def _found(path, *, must_be_there):
    """Open a folder after a crash, and return how many units are there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LoadingWarning)
        if must_be_there:
            qengine.open(path).close()
        with qengine.Graph._opened(*open_folder(path, create=True, disk=Unsynced())) as graph:
            count = graph.query(COUNT).value()
            graph.query("CREATE (:Unit)")
    with qengine.open(path, verify="full") as graph:
        assert graph.query(COUNT).value() == count + 1
    return count


WRITER = """
import sys, qengine
sys.stdout.write("ready\\n"); sys.stdout.flush()
graph = qengine.open(sys.argv[1], create=True, durability="batched")
for serial in range(1_000_000):
    graph.query("CREATE (:Unit {serial: $s})", {"s": serial})
    sys.stdout.write(f"{serial}\\n"); sys.stdout.flush()
"""


@pytest.mark.parametrize("kills", [4, pytest.param(100, marks=pytest.mark.slow)])
def test_a_process_that_is_killed_while_it_creates_leaves_a_folder_to_go_on_with(tmp_path, kills):
    choice = random.Random(kills)
    for number in range(kills):
        path = tmp_path / str(number)
        process = subprocess.Popen([*PYTHON, "-c", WRITER, str(path)], stdout=subprocess.PIPE, env=ENVIRONMENT)
        assert process.stdout.readline() == b"ready\n"
        time.sleep(choice.random() * 0.1 if number else 1)
        process.send_signal(signal.SIGKILL)
        told = process.stdout.read()
        process.communicate()
        acknowledged = told.count(b"\n")
        assert _found(path, must_be_there=acknowledged > 0) in (acknowledged, acknowledged + 1)
