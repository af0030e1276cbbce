"""Graph folders that are written to: one writer, any readers, checkpoints, and who follows."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import qengine
from qengine.errors import StorageError
from qengine.storage import from_records, save
from qengine.storage.states import Commit, NodeState
from qengine.testing.disk import FailingDisk
from qengine.write.folder import open_for_reading, open_for_writing

ROOT = Path(__file__).resolve().parents[3]
PYTHON = [sys.executable, *(["-S"] if sys.flags.no_site else [])]  # as this process runs


def version(number):
    return from_records([{"id": 1, "labels": ["A"], "properties": {"v": number}}])


def commit(number):
    return Commit({0: NodeState(("A",), {"v": number})}, {}, 1, 0)


def numbers(commits):
    return [one.nodes[0].properties["v"] for one in commits]


def base(store):
    return store.nodes([0])[0].properties["v"]


@pytest.fixture
def path(tmp_path):
    save(version(0), tmp_path / "graph")
    return tmp_path / "graph"


def read(path):
    """The version and the commits that a reader sees."""
    store, commits, follower = open_for_reading(path)
    follower.close()
    return base(store), numbers(commits)


def names(path):
    return sorted(one.name.partition("-")[0] for one in path.iterdir())


# ---------------------------------------------------------------- one writer

HOLDER = """
import sys
from qengine.write.folder import open_for_writing
folder = open_for_writing(sys.argv[1])[2]
print("open", flush=True)
sys.stdin.read()
"""


def holder(path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
    process = subprocess.Popen(
        [*PYTHON, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    )
    return process


def test_another_process_is_refused_until_the_writer_ends(path):
    process = holder(path)
    try:
        assert process.stdout.readline() == b"open\n"
        with pytest.raises(StorageError, match=f"process {process.pid} has the graph open for writing") as refused:
            open_for_writing(path)
        assert refused.value.hint == "Close it there first; meanwhile others may read it."
        with pytest.raises(StorageError, match=f"process {process.pid} has the graph open for writing"):
            save(version(5), path)
        assert qengine.open(path).query("MATCH (a) RETURN a.v").value() == 0
        open_for_reading(path)[2].close()
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    open_for_writing(path)[2].close()


def test_a_second_writer_in_one_process_is_refused(path):
    with open_for_writing(path)[2], pytest.raises(StorageError, match=rf"this process \({os.getpid()}\) has"):
        open_for_writing(path)
    open_for_writing(path)[2].close()


def test_what_is_no_graph_is_not_written_to(tmp_path):
    for place in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(StorageError, match="there is no saved graph"):
            open_for_writing(place)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(StorageError, match='"full", "batched" or "none", not \'half\''):
        open_for_writing(tmp_path, "half")


def test_a_folder_that_may_not_be_written_says_so(path):
    (path / ".qengine-writer").symlink_to("elsewhere")
    with pytest.raises(StorageError, match="can't be opened for writing: it is a link"):
        open_for_writing(path)
    assert not (path / "elsewhere").exists()


# ---------------------------------------------------------------- checkpoints


def test_a_checkpoint_replaces_the_version_and_the_log(path):
    with open_for_writing(path)[2] as folder:
        for number in (1, 2, 3):
            folder.log.commit(commit(number))
        folder.checkpoint(version(3))
        assert names(path) == [".qengine", "data", "log", "manifest.json"]
        assert folder.log.commit(commit(4)) == 4
    store, commits, folder = open_for_writing(path)
    assert (base(store), numbers(commits), folder.log.number) == (3, [4], 4)
    folder.close()


def test_commits_behind_a_checkpoint_stay_in_the_log(path):
    with open_for_writing(path)[2] as folder:
        for number in (1, 2, 3, 4):
            folder.log.commit(commit(number))
        folder.checkpoint(version(2), through=2)
        folder.log.commit(commit(5))
    store, commits, folder = open_for_writing(path)
    with folder:
        assert (base(store), numbers(commits)) == (2, [3, 4, 5])
        folder.checkpoint(version(5))
        folder.checkpoint(version(5))
    assert read(path) == (5, [])


def test_threads_commit_while_checkpoints_are_made(path):
    stop = threading.Event()
    with open_for_writing(path)[2] as folder:

        def work():
            while not stop.is_set():
                folder.log.commit(commit(folder.log.number + 1))

        thread = threading.Thread(target=work)
        thread.start()
        for _ in range(5):
            number = folder.log.number
            folder.checkpoint(version(number), through=number)
        stop.set()
        thread.join()
        last = folder.log.number
    saved, commits = read(path)
    assert [saved, *commits] == list(range(saved, last + 1))
    assert last >= saved > 0


@pytest.mark.parametrize("refused", ["create", "rename", "write_all", "sync"])
def test_a_checkpoint_that_fails_leaves_the_folder_as_it_was(path, refused):
    disk = FailingDisk(errno.ENOSPC)
    with open_for_writing(path, disk=disk)[2] as folder:
        folder.log.commit(commit(1))
        before = sorted(one.name for one in path.iterdir())
        disk.refused = {refused}
        if refused == "write_all":
            disk.refused, disk.room = set(), 0
            with pytest.raises(StorageError, match="No space left"):
                folder.log.commit(commit(2))
        else:
            with pytest.raises(StorageError, match="can't be saved: No space left"):
                folder.checkpoint(version(1))
            disk.refused = set()
            folder.log.commit(commit(2))
        assert sorted(one.name for one in path.iterdir()) == before
    assert read(path) == (0, [1] if refused == "write_all" else [1, 2])


class Unsure(FailingDisk):
    """A disk that doesn't say that a manifest's renaming has reached it."""

    def rename(self, name, folder, new_name, new_folder):
        super().rename(name, folder, new_name, new_folder)
        if name == "manifest.json":
            self.refused = {"sync_folder"}


def test_a_checkpoint_of_which_the_disk_says_nothing_stops_the_log(path):
    disk = Unsure(errno.EIO)
    folder = open_for_writing(path, disk=disk)[2]
    folder.log.commit(commit(1))
    with pytest.raises(StorageError, match="Input/output error"):
        folder.checkpoint(version(1))
    assert len(list(path.glob("log-*"))) == len(list(path.glob("data-*"))) == 2, "a crash may bring the old one back"
    with pytest.raises(StorageError, match="a checkpoint wasn't finished"):
        folder.log.commit(commit(2))
    disk.refused = set()
    folder.close()
    store, commits, folder = open_for_writing(path)
    assert (base(store), commits) == (1, [])
    folder.checkpoint(version(1))
    folder.close()
    assert names(path) == [".qengine", "data", "log", "manifest.json"]


def test_what_others_have_left_in_the_folder_stays(path):
    foreign = {"log-2024": "mine", "log.txt": "mine", "log-" + "0" * 31: "mine"}
    for name, text in foreign.items():
        (path / name).write_text(text)
    (path / f"log-{'1' * 32}").mkdir()
    (path / f"log-{'2' * 32}").write_text("of a version that isn't there any more")
    (path / f"log-{'3' * 32}.new").write_text("cut off")
    with open_for_writing(path)[2] as folder:
        folder.checkpoint(version(1))
    assert {name: (path / name).read_text() for name in foreign} == foreign
    assert len(list(path.glob("log-*"))) == 4


# ---------------------------------------------------------------- readers


def test_a_reader_follows_the_writer(path):
    with open_for_writing(path)[2] as folder:
        folder.log.commit(commit(1))
        store, commits, follower = open_for_reading(path)
        assert (base(store), numbers(commits), follower.follow()) == (0, [1], [])
        for number in (2, 3):
            folder.log.commit(commit(number))
        assert numbers(follower.follow()) == [2, 3]
        folder.log.commit(commit(4))
        folder.checkpoint(version(4))
        folder.log.commit(commit(5))
        assert numbers(follower.follow()) == [4, 5]
        assert follower.follow() == []
        folder.checkpoint(version(3), through=5)
        assert (follower.follow(), follower.number) == ([], 5)
        folder.log.commit(commit(6))
    assert numbers(follower.follow()) == [6]
    with open_for_writing(path)[2] as folder:
        folder.log.commit(commit(7))
        assert numbers(follower.follow()) == [7]
    follower.close()


def test_a_reader_from_before_the_first_writer_follows(path):
    store, commits, follower = open_for_reading(path)
    assert (base(store), commits, follower.follow()) == (0, [], [])
    with open_for_writing(path)[2] as folder:
        assert follower.follow() == []
        folder.log.commit(commit(1))
        assert numbers(follower.follow()) == [1]
    follower.close()


def test_a_reader_that_has_missed_a_log_opens_anew(path):
    with open_for_writing(path)[2] as folder:
        follower = open_for_reading(path)[2]
        folder.log.commit(commit(1))
        folder.checkpoint(version(1))
        folder.log.commit(commit(2))
        folder.checkpoint(version(2))
        assert follower.follow() is None
    follower.close()


def test_a_reader_of_a_graph_that_is_saved_over_opens_anew(path):
    with open_for_writing(path)[2] as folder:
        folder.log.commit(commit(1))
    follower = open_for_reading(path)[2]
    save(version(9), path)
    assert follower.follow() is None
    follower.close()
    assert read(path) == (9, [])


def test_a_reader_of_commits_that_were_taken_back_opens_anew(path):
    disk = FailingDisk(errno.EIO)
    folder = open_for_writing(path, disk=disk)[2]
    folder.log.commit(commit(1))
    number = folder.log.append(commit(2))
    follower = open_for_reading(path)[2]
    assert follower.number == 2
    disk.refused = {"sync"}
    with pytest.raises(StorageError):
        folder.log.wait(number)
    disk.refused = set()
    folder.close()
    with open_for_writing(path)[2] as folder:
        folder.log.commit(commit(3))  # as long as the one that was taken back
    assert follower.follow() is None
    follower.close()


def test_a_reader_does_not_see_half_a_record(path):
    with open_for_writing(path)[2] as folder:
        folder.log.commit(commit(1))
        follower = open_for_reading(path)[2]
        end = folder.log.nbytes
        folder.log.commit(commit(2))
        whole = folder.log.path.read_bytes()
        for cut in range(end, len(whole)):
            folder.log.path.write_bytes(whole[:cut])
            assert follower.follow() == []
        folder.log.path.write_bytes(whole)
        assert numbers(follower.follow()) == [2]
    follower.close()
