"""Graphs that were opened keep what is committed, by the public API: one that writes, others that follow."""

from __future__ import annotations

import errno
import gc
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import qengine
from qengine.errors import QengineError, StorageError, StorageWarning, TransactionError
from qengine.storage.disk import Disk
from qengine.testing.disk import FailingDisk
from qengine.write import open_folder
from qengine.write.folder import open_for_writing
from qengine.write.logfile import read_head, read_log
from qengine.write.open_folder import open_folder as opened_folder

ROOT = Path(__file__).resolve().parents[3]
PYTHON = [sys.executable, *(["-S"] if sys.flags.no_site else [])]  # as this process runs
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}


@pytest.fixture
def path(tmp_path):
    people = [{"id": n, "labels": ["Person"], "properties": {"id": n}} for n in range(3)]
    qengine.Graph.from_records(people, [{"type": "KNOWS", "start": 0, "end": 1}]).save(tmp_path / "graph")
    return tmp_path / "graph"


def on(path, disk, durability="full"):
    return qengine.Graph._opened(*opened_folder(path, durability, disk=disk))


def ids(graph):
    return graph.query("MATCH (n:Person) RETURN n.id AS id ORDER BY id").to_arrow()["id"].to_pylist()


def kept(path):
    """The ids that one finds who opens the graph now."""
    with qengine.open(path) as graph:
        return ids(graph)


def add(graph, id):
    graph.query("CREATE (:Person {id: $id})", {"id": id})


def add_together(graph, wanted):
    """Add persons by a thread each, and return the errors by id."""
    errors = {}

    def one(id):
        try:
            add(graph, id)
        except QengineError as error:
            errors[id] = error

    threads = [threading.Thread(target=one, args=(id,)) for id in wanted]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def names(path):
    return sorted(one.name.partition("-")[0] for one in path.iterdir())


class WaitingDisk(Disk):
    """A disk that waits in one of its methods until it may go on."""

    def __init__(self):
        self.waits = None
        self.reached, self.go_on = threading.Event(), threading.Event()

    def _wait(self, name):
        if self.waits == name:
            self.reached.set()
            assert self.go_on.wait(60)

    def sync(self, file):
        self._wait("sync")
        super().sync(file)

    def make_folder(self, name, folder):
        self._wait("make_folder")
        super().make_folder(name, folder)


# ---------------------------------------------------------------- what is kept


@pytest.mark.parametrize("durability", ["full", "batched", "none"])
def test_changes_are_there_when_the_graph_is_opened_again(path, durability):
    with qengine.open(path, durability=durability) as graph:
        add(graph, 3)
        with graph.transaction() as transaction:
            transaction.query("MATCH (n:Person {id: 0}) DETACH DELETE n")
            transaction.query("MATCH (n:Person {id: 1}) SET n.name = 'Ada', n:Woman")
            transaction.query(
                "MATCH (a:Person {id: 1}), (b:Person {id: 3}) CREATE (a)-[:KNOWS {since: date('2020-01-31')}]->(b)"
            )
        expected = graph.query("MATCH (a)-[r]->(b) RETURN a, r, b").fetchall()
    with qengine.open(path) as graph:
        assert ids(graph) == [1, 2, 3]
        assert graph.query("MATCH (a)-[r]->(b) RETURN a, r, b").fetchall() == expected
        assert graph.query("MATCH (n:Woman) RETURN n.name").value() == "Ada"
        assert graph.query("CREATE (n) RETURN elementId(n)").value() not in {"0", "1", "2", "3"}


def test_what_is_taken_back_is_not_kept(path):
    with qengine.open(path) as graph:
        with pytest.raises(ZeroDivisionError), graph.transaction() as transaction:
            transaction.query("CREATE (:Person {id: 7})")
            raise ZeroDivisionError
        with pytest.raises(QengineError):
            graph.query("UNWIND [1, 0] AS n CREATE (:Person {id: 8 / n})")
        add(graph, 9)
    assert kept(path) == [0, 1, 2, 9]


def test_batches_are_kept_one_by_one(path):
    with qengine.open(path) as graph:
        with pytest.raises(QengineError):
            graph.query("UNWIND [4, 2, 1, 0] AS n CALL (n) { CREATE (:Person {id: 40 / n}) } IN TRANSACTIONS OF 2 ROWS")
        assert ids(graph) == [0, 1, 2, 10, 20]
    assert kept(path) == [0, 1, 2, 10, 20]


def test_rules_are_kept(path):
    with qengine.open(path) as graph, qengine.open(path) as reader:
        graph.query("CREATE CONSTRAINT one_id FOR (n:Person) REQUIRE n.id IS UNIQUE")
        graph.query("CREATE INDEX names FOR (n:Person) ON (n.name)")
        add(graph, 3)
        assert reader.refresh() is True
        assert reader.query("SHOW INDEXES YIELD name RETURN name ORDER BY name").fetchall() == [("names",), ("one_id",)]
    for _ in range(2):
        with qengine.open(path) as graph:
            with pytest.raises(QengineError):
                add(graph, 3)
            graph.query("CREATE (:Other)")
            graph.checkpoint()
    with qengine.open(path) as graph:
        graph.query("DROP CONSTRAINT one_id")
    with qengine.open(path) as graph:
        add(graph, 3)
    assert kept(path) == [0, 1, 2, 3, 3]


def test_threads_commit_together(path):
    with qengine.open(path) as graph:
        assert add_together(graph, range(10, 50)) == {}
        assert ids(graph) == [0, 1, 2, *range(10, 50)]
    assert kept(path) == [0, 1, 2, *range(10, 50)]


def test_a_commit_is_acknowledged_and_seen_once_it_is_on_the_disk(path):
    disk = WaitingDisk()
    with on(path, disk) as graph:
        add(graph, 3)
        disk.waits = "sync"
        threads = [threading.Thread(target=add, args=(graph, id)) for id in (4, 5)]
        threads[0].start()
        assert disk.reached.wait(60)
        threads[1].start()  # goes on above what isn't on the disk yet
        while graph._view.versions._tip.number < 3:
            pass
        assert ids(graph) == [0, 1, 2, 3]
        assert all(thread.is_alive() for thread in threads)
        disk.go_on.set()
        for thread in threads:
            thread.join()
        assert ids(graph) == [0, 1, 2, 3, 4, 5]


def test_no_such_durability(path):
    with pytest.raises(StorageError, match='`durability` is "full", "batched" or "none"'):
        qengine.open(path, durability="some")


# ---------------------------------------------------------------- what isn't locked


def test_a_graph_that_is_only_read_leaves_no_trace(path):
    before = names(path)
    with qengine.open(path) as graph:
        assert ids(graph) == [0, 1, 2]
        assert graph.refresh() is False
    assert names(path) == before


def test_read_only(path):
    with qengine.open(path, read_only=True) as graph:
        for change in (lambda: add(graph, 3), graph.transaction, graph.checkpoint):
            with pytest.raises(TransactionError, match="opened to be read only") as raised:
                change()
            assert raised.value.code == "ReadOnly"
        assert ids(graph) == [0, 1, 2]
        with qengine.open(path) as writer:
            add(writer, 3)
        assert graph.refresh() is True
        assert ids(graph) == [0, 1, 2, 3]


def test_a_medium_that_cant_be_written(path, monkeypatch):
    system = os.open

    def refuse(name, flags, *others, **named):
        if flags & (os.O_WRONLY | os.O_RDWR):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return system(name, flags, *others, **named)

    monkeypatch.setattr(os, "open", refuse)
    with qengine.open(path) as graph:
        with pytest.raises(StorageError, match="can't be opened for writing: Read-only file system"):
            add(graph, 3)
        assert ids(graph) == [0, 1, 2]


def test_a_graph_in_memory_is_saved_as_a_copy(tmp_path):
    graph = qengine.Graph()
    add(graph, 1)
    assert graph.refresh() is False
    with pytest.raises(StorageError, match="no folder"):
        graph.checkpoint()
    graph.save(tmp_path / "graph")
    add(graph, 2)
    assert kept(tmp_path / "graph") == [1]


# ---------------------------------------------------------------- two processes

WRITER = """
import sys, qengine
with qengine.open(sys.argv[1]) as graph:
    for line in sys.stdin:
        if line == "checkpoint\\n":
            graph.checkpoint()
        else:
            graph.query("CREATE (:Person {id: $id})", {"id": int(line)})
        print("done", flush=True)
"""


class Writer:
    """Another process that adds the persons that it is told to."""

    def __init__(self, path):
        command = [*PYTHON, "-c", WRITER, str(path)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=ENVIRONMENT)

    def tell(self, what):
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()


def test_a_reader_follows_another_process_across_checkpoints(path):
    with Writer(path) as writer, qengine.open(path) as graph:
        writer.tell(3)
        assert ids(graph) == [0, 1, 2]
        old = graph.query("MATCH (n:Person) RETURN n.id AS id ORDER BY id")
        assert graph.refresh() is True
        assert graph.refresh() is False
        assert ids(graph) == [0, 1, 2, 3]
        writer.tell(4)
        writer.tell("checkpoint")
        writer.tell(5)
        assert graph.refresh() is True
        assert ids(graph) == [0, 1, 2, 3, 4, 5]
        for what in (6, "checkpoint", 7, "checkpoint", 8):
            writer.tell(what)
        assert graph.refresh() is True
        assert ids(graph) == [0, 1, 2, 3, 4, 5, 6, 7, 8]
        assert [row.id for row in old] == [0, 1, 2]


def test_a_second_writer_is_refused_and_takes_over(path):
    with qengine.open(path) as graph:
        with Writer(path) as writer:
            writer.tell(3)
            with pytest.raises(
                StorageError, match=f"process {writer.process.pid} has the graph open for writing"
            ) as told:
                add(graph, 9)
            assert "Close it there" in told.value.hint
            assert ids(graph) == [0, 1, 2]
            writer.tell(4)
            writer.tell("checkpoint")
            writer.tell(5)
        add(graph, 6)
        assert ids(graph) == [0, 1, 2, 3, 4, 5, 6]
    assert kept(path) == [0, 1, 2, 3, 4, 5, 6]


def test_numbers_go_on_from_what_another_process_gave(path):
    with qengine.open(path) as graph:
        with qengine.open(path) as other:
            given = other.query("CREATE (n:Person {id: 3}) RETURN elementId(n)").value()
        assert graph.query("CREATE (n:Person {id: 4}) RETURN elementId(n)").value() != given
    assert kept(path) == [0, 1, 2, 3, 4]


def test_a_child_may_read_and_not_write(path):
    with qengine.open(path) as graph:
        add(graph, 3)
        child = os.fork()
        if not child:
            try:
                add(graph, 4)
            except StorageError as error:
                os._exit(7 if "forked from" in error.message and ids(graph) == [0, 1, 2, 3] else 8)
            finally:
                os._exit(9)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        add(graph, 5)
    assert kept(path) == [0, 1, 2, 3, 5]


def test_a_child_of_a_reader_follows_and_writes_by_itself(path):
    with qengine.open(path) as graph, qengine.open(path) as writer:
        add(writer, 3)
        assert graph.refresh() is True
        add(writer, 4)
        child = os.fork()
        if not child:
            os._exit(7 if graph.refresh() and ids(graph) == [0, 1, 2, 3, 4] else 8)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert graph.refresh() is True
        assert ids(graph) == [0, 1, 2, 3, 4]


# ---------------------------------------------------------------- closing


def test_others_write_once_the_graph_is_closed_or_dropped(path):
    first, second, third = (qengine.open(path) for _ in range(3))
    add(first, 3)
    first.close()
    add(second, 4)
    del second
    gc.collect()
    add(third, 5)
    third.close()
    assert kept(path) == [0, 1, 2, 3, 4, 5]


def test_what_is_left_of_a_closed_graph_changes_nothing(path):
    graph = qengine.open(path)
    prepared, transaction = graph.prepare("CREATE (:Person {id: 3})"), graph.transaction()
    transaction.query("CREATE (:Person {id: 4})")
    graph.close()
    graph.close()
    with pytest.raises(StorageError, match="closed"):
        transaction.commit()
    with pytest.raises(StorageError, match="The graph is closed"):
        prepared.run()
    assert kept(path) == [0, 1, 2]


def test_a_graph_that_is_closed_while_it_begins_to_write_lets_others_write(path, monkeypatch):
    graph = qengine.open(path)

    def closed_meanwhile(*given, **how):
        taken = take_over(*given, **how)
        graph.close()  # as another thread
        return taken

    with monkeypatch.context() as patch:
        take_over = open_folder.take_over
        patch.setattr(open_folder, "take_over", closed_meanwhile)
        with pytest.raises(StorageError, match="The graph is closed"):
            add(graph, 3)
    with qengine.open(path) as other:
        add(other, 4)
    assert kept(path) == [0, 1, 2, 4]


@pytest.mark.parametrize("name", [open_folder.FLUSHER, "qengine-checkpoint"])
def test_a_graph_that_a_thread_of_a_folder_finds_as_garbage_is_closed_by_another(path, name):
    graph = qengine.open(path)
    add(graph, 3)
    folder = graph._view.folder
    thread = threading.Thread(target=folder.close, name=name)
    with folder._folder.log._changed:  # as that thread may hold it
        thread.start()
        thread.join()
    for closing in [each for each in threading.enumerate() if each.name == "qengine-close"]:
        closing.join()
    with qengine.open(path) as other:
        add(other, 4)
    assert kept(path) == [0, 1, 2, 3, 4]


def test_a_process_that_ends_closes_its_graphs(path):
    code = """
import sys, qengine
graph = qengine.open(sys.argv[1], durability="none")
graph.query("CREATE (:Person {id: 3})")
graph.itself = graph
"""
    subprocess.run([*PYTHON, "-c", code, str(path)], env=ENVIRONMENT, check=True)
    (log,) = path.glob("log-*")
    with log.open("rb") as file:
        _, end = read_head(path, f"data-{log.name.removeprefix('log-')}", file)
        frames, torn = read_log(log, file, end, 0)
    assert [(one.number, one.synced, bool(one.payload)) for one in frames] == [(1, 0, True), (1, 1, False)]
    assert not torn
    assert kept(path) == [0, 1, 2, 3]


def test_an_interrupt_after_a_commit_was_logged(path, monkeypatch):
    with qengine.open(path) as graph:
        add(graph, 3)
        log = graph._view.folder._folder.log
        append = log.append

        def interrupted(commit):
            append(commit)
            raise KeyboardInterrupt

        monkeypatch.setattr(log, "append", interrupted)
        with pytest.raises(KeyboardInterrupt):
            add(graph, 4)
        monkeypatch.undo()
        add(graph, 5)
        assert ids(graph) == [0, 1, 2, 3, 4, 5]
    assert kept(path) == [0, 1, 2, 3, 4, 5]


def test_an_interrupt_while_the_disk_works(path, monkeypatch):
    with qengine.open(path) as graph:
        add(graph, 3)
        log = graph._view.folder._folder.log
        wait = log.wait
        waits = iter((KeyboardInterrupt,))

        def interrupted(number):
            for error in waits:
                raise error
            wait(number)

        monkeypatch.setattr(log, "wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            add(graph, 4)
        assert ids(graph) == kept(path) == [0, 1, 2, 3, 4]


# ---------------------------------------------------------------- checkpoints


def test_a_checkpoint_holds_all_and_commits_go_on(path):
    with qengine.open(path) as graph:
        add(graph, 3)
        before = set(os.listdir(path))
        graph.checkpoint()
        after = set(os.listdir(path))
        assert {one.partition("-")[0] for one in before ^ after} == {"data", "log"}
        graph.checkpoint()  # there is nothing since
        assert set(os.listdir(path)) == after
        add(graph, 4)
    assert kept(path) == [0, 1, 2, 3, 4]


def test_checkpoints_while_threads_commit(path):
    with qengine.open(path) as graph:
        done = threading.Event()

        def checkpoints():
            while not done.is_set():
                graph.checkpoint()

        thread = threading.Thread(target=checkpoints)
        thread.start()
        try:
            for begin in range(10, 90, 8):
                assert add_together(graph, range(begin, begin + 8)) == {}
                with qengine.open(path) as reader:
                    assert ids(reader) == [0, 1, 2, *range(10, begin + 8)]
        finally:
            done.set()
            thread.join()
    assert kept(path) == [0, 1, 2, *range(10, 90)]


def test_a_long_log_is_replaced_in_the_background(path, monkeypatch):
    monkeypatch.setattr(open_folder, "LEAST_LOG", 4_000)
    monkeypatch.setattr(open_folder, "LOG_SHARE", 0)
    with qengine.open(path, durability="none") as graph:
        version = json.loads((path / "manifest.json").read_text())["files"].keys()
        for id in range(10, 100):
            add(graph, id)
        graph._view.folder._worker.join()
        assert json.loads((path / "manifest.json").read_text())["files"].keys() != version
        add(graph, 100)
    assert kept(path) == [0, 1, 2, *range(10, 101)]


def test_readers_and_writers_go_on_while_a_checkpoint_is_made(path, monkeypatch):
    monkeypatch.setattr(open_folder, "LEAST_LOG", 0)
    monkeypatch.setattr(open_folder, "LOG_SHARE", 0)
    disk = WaitingDisk()
    with on(path, disk) as graph:
        disk.waits = "make_folder"
        add(graph, 3)
        assert disk.reached.wait(60)
        add(graph, 4)
        with graph.transaction() as transaction:
            transaction.query("CREATE (:Person {id: 5})")
        assert ids(graph) == kept(path) == [0, 1, 2, 3, 4, 5]
        disk.go_on.set()
    assert kept(path) == [0, 1, 2, 3, 4, 5]


def test_a_checkpoint_that_fails_in_the_background_is_told_of(path, monkeypatch):
    monkeypatch.setattr(open_folder, "LEAST_LOG", 0)
    monkeypatch.setattr(open_folder, "LOG_SHARE", 0)
    disk = FailingDisk(errno.ENOSPC)
    graph = on(path, disk)
    graph.query("MATCH (n) SET n.x = 1")
    graph._view.folder._worker.join()
    disk.refused = {"create"}
    add(graph, 3)
    graph._view.folder._worker.join()
    with pytest.warns(StorageWarning, match="A checkpoint in the background has failed.*No space left"):
        add(graph, 4)
    disk.refused = set()
    graph.checkpoint()
    graph.close()
    assert kept(path) == [0, 1, 2, 3, 4]


def test_saving_over_its_own_folder_is_a_checkpoint(path, tmp_path):
    with qengine.open(path) as graph, qengine.open(path) as reader:
        add(graph, 3)
        graph.save(path)
        add(graph, 4)
        graph.save(tmp_path / "copy")
        add(graph, 5)
        assert reader.refresh() is True
        assert ids(reader) == [0, 1, 2, 3, 4, 5]
        with pytest.raises(StorageError, match="open for writing"):
            reader.save(path)
    assert kept(path) == [0, 1, 2, 3, 4, 5]
    assert kept(tmp_path / "copy") == [0, 1, 2, 3, 4]


# ---------------------------------------------------------------- disks that refuse


def test_a_full_disk_leaves_the_graph_to_be_read(path):
    disk = FailingDisk(errno.ENOSPC)
    with on(path, disk) as graph:
        add(graph, 3)
        disk.room = 20
        with pytest.raises(StorageError, match="No space left") as raised:
            add(graph, 4)
        assert "open the graph again" in raised.value.hint
        disk.room = None
        with pytest.raises(StorageError, match="the log takes no commits: it can't be written: No space left"):
            add(graph, 5)
        with pytest.raises(StorageError, match="the log takes no commits"):
            graph.transaction()
        assert ids(graph) == [0, 1, 2, 3]
    with qengine.open(path) as graph:
        assert ids(graph) == [0, 1, 2, 3]
        add(graph, 6)
    assert kept(path) == [0, 1, 2, 3, 6]


def test_after_a_failed_sync_nothing_of_what_waited_is_there(path):
    disk = FailingDisk(errno.EIO)
    with on(path, disk) as graph:
        add(graph, 3)
        disk.refused = {"sync"}
        errors = add_together(graph, range(10, 18))
        assert errors.keys() == set(range(10, 18))
        assert all("can't be synced" in error.message for error in errors.values())
        disk.refused = set()
        with pytest.raises(StorageError, match="the log takes no commits"):
            add(graph, 20)
        assert ids(graph) == [0, 1, 2, 3]
        assert kept(path) == [0, 1, 2, 3]
    with qengine.open(path) as graph:
        add(graph, 21)
    assert kept(path) == [0, 1, 2, 3, 21]


def test_a_transaction_above_a_commit_that_was_lost_fails(path):
    disk = FailingDisk(errno.EIO)
    with on(path, disk) as graph:
        add(graph, 3)
        transaction = graph.transaction()
        disk.refused = {"sync"}
        transaction.query("CREATE (:Person {id: 4})")
        with pytest.raises(StorageError, match="can't be synced"):
            transaction.commit()
        assert transaction._view.ended
        assert ids(graph) == [0, 1, 2, 3]


def test_what_cant_be_logged_is_taken_back_alone(path):
    nested = 1
    for _ in range(101):
        nested = [nested]
    with qengine.open(path) as graph:
        with pytest.raises(QengineError):
            graph.query("CREATE (:Person {id: 4, nested: $nested})", {"nested": nested})
        add(graph, 5)
        assert ids(graph) == [0, 1, 2, 5]
    assert kept(path) == [0, 1, 2, 5]


# ---------------------------------------------------------------- formats


def test_versions_that_know_no_log_refuse_a_graph_that_has_one(path):
    def form():
        return json.loads((path / "manifest.json").read_text())["format"]

    assert form() == 2
    with qengine.open(path) as graph:
        add(graph, 3)
        assert form() == 4
        graph.checkpoint()
        assert form() == 4
    graph = qengine.open(path)
    qengine.Graph.from_records([{"id": 1}]).save(path)
    assert form() == 2
    assert graph.refresh() is True
    assert graph.node_count == 1


def test_a_log_that_is_gone_is_missed(path):
    with qengine.open(path) as graph:
        add(graph, 3)
    (log,) = path.glob("log-*")
    log.unlink()
    with pytest.raises(StorageError, match=f"{log.name}: the file is missing"):
        qengine.open(path)
    with pytest.raises(StorageError, match=f"{log.name}: the file is missing"):
        open_for_writing(path)


def test_a_graph_of_the_first_format_is_saved_anew_before_it_is_written_to(tmp_path):
    import shutil

    shutil.copytree(ROOT / "tests" / "data" / "saved" / "format1", tmp_path / "graph")
    with qengine.open(tmp_path / "graph") as graph:
        count = graph.node_count
        graph.query("CREATE ()")
        assert graph.node_count == count + 1
    with qengine.open(tmp_path / "graph", verify="full") as graph:
        assert graph.node_count == count + 1
    assert json.loads((tmp_path / "graph" / "manifest.json").read_text())["format"] == 4
