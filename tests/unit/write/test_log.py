"""The log of commits: what is read again, what is cut off, what is refused, and what happens when the disk refuses."""

from __future__ import annotations

import errno
import os
import resource
import threading
import time

import pytest

from qengine.errors import LoadingWarning, StorageError
from qengine.storage import from_records, save
from qengine.storage.disk import Disk
from qengine.storage.states import Commit, NodeState
from qengine.testing.disk import FailingDisk
from qengine.write.folder import open_for_writing
from qengine.write.frames import HEAD_BYTES


def commit(number, size=10):
    return Commit({0: NodeState(("A",), {"v": number, "text": "x" * size})}, {}, 1, 0)


@pytest.fixture
def path(tmp_path):
    save(from_records([{"id": 1, "labels": ["A"], "properties": {"v": 0}}]), tmp_path / "graph")
    return tmp_path / "graph"


def numbers(commits):
    return [one.nodes[0].properties["v"] for one in commits]


def opened(path, **options):
    """The numbers that are read again."""
    _, commits, folder = open_for_writing(path, **options)
    folder.close()
    return numbers(commits)


def written(path, count, **options):
    """Commit so many; return the log file and where each record begins, and the end."""
    with open_for_writing(path, **options)[2] as folder:
        places = [folder.log.nbytes]
        for number in range(1, count + 1):
            folder.log.commit(commit(number))
            places.append(folder.log.nbytes)
        return folder.log.path, places


def without_note(file, end):
    """Leave the log as a killed process does: nothing says that its end is on the disk."""
    os.truncate(file, end)


@pytest.mark.parametrize("durability", ["full", "batched", "none"])
def test_commits_are_read_again(path, durability):
    written(path, 5, durability=durability)
    assert opened(path) == [1, 2, 3, 4, 5]
    with open_for_writing(path, durability)[2] as folder:
        assert folder.log.commit(commit(6)) == 6
    assert opened(path) == [1, 2, 3, 4, 5, 6]


def test_opening_and_closing_adds_nothing(path):
    file, _ = written(path, 2)
    size = file.stat().st_size
    for _ in range(3):
        opened(path)
    assert file.stat().st_size == size


def test_a_record_cut_anywhere_is_cut_off_and_told(path):
    file, places = written(path, 3)
    whole = file.read_bytes()
    for end in range(places[2], places[3]):
        file.write_bytes(whole[:end])
        if end == places[2]:
            assert opened(path) == [1, 2]
            continue
        with pytest.warns(LoadingWarning, match=f"its last {end - places[2]} bytes weren't written to the end"):
            assert opened(path) == [1, 2]
        assert opened(path) == [1, 2], "told once"


@pytest.mark.parametrize("place", ["magic", "length", "number", "synced", "checksum", "payload"])
def test_a_damaged_last_record_is_cut_off_and_told(path, place):
    file, places = written(path, 3)
    without_note(file, places[3])
    offset = {"magic": 0, "length": 4, "number": 8, "synced": 16, "checksum": 24, "payload": HEAD_BYTES + 3}[place]
    damage(file, places[2] + offset)
    with pytest.warns(LoadingWarning, match="are cut off"):
        assert opened(path) == [1, 2]


def damage(file, place):
    data = bytearray(file.read_bytes())
    data[place] ^= 0x10
    file.write_bytes(data)


@pytest.mark.parametrize("record", [0, 1, 2])
@pytest.mark.parametrize("offset", [0, 4, 8, 16, 24, HEAD_BYTES + 3])
@pytest.mark.parametrize("durability", ["full", "none"])
def test_damage_before_whole_records_is_refused_and_nothing_changed(path, record, offset, durability):
    file, places = written(path, 3, durability=durability)
    damage(file, places[record] + offset)
    before = file.read_bytes()
    with pytest.raises(
        StorageError, match=f"commit {record + 1} at byte {places[record]:,} is damaged, and commit 3 was"
    ):
        open_for_writing(path)
    assert file.read_bytes() == before


def test_what_no_sync_reached_is_cut_off_though_whole_records_follow(path):
    file, places = written(path, 4, durability="none")
    without_note(file, places[4])
    damage(file, places[1] + HEAD_BYTES)
    with pytest.warns(LoadingWarning, match="are cut off"):
        assert opened(path) == [1]


@pytest.mark.parametrize("place", [0, 5, HEAD_BYTES + 2])
def test_a_damaged_head_is_refused(path, place):
    file, _ = written(path, 1)
    damage(file, place)
    with pytest.raises(StorageError, match="its head is damaged"):
        open_for_writing(path)


def test_a_log_of_another_version_is_refused(path, tmp_path):
    file, _ = written(path, 1)
    save(from_records([{"id": 1}]), tmp_path / "other")
    (version,) = (tmp_path / "other").glob("data-*")
    (tmp_path / "other" / version.name.replace("data", "log")).write_bytes(file.read_bytes())
    with pytest.raises(StorageError, match="isn't the log of the graph that is saved there"):
        open_for_writing(tmp_path / "other")


# ---------------------------------------------------------------- syncing


class Slow(Disk):
    """A disk whose syncs of logs wait until they are let go, and are counted."""

    def __init__(self):
        self.syncs = 0
        self.begun = threading.Semaphore(0)
        self.go = threading.Semaphore(0)
        self.waits = False

    def sync(self, file):
        if self.waits:
            self.syncs += 1
            self.begun.release()
            self.go.acquire()
        super().sync(file)


def test_threads_that_wait_share_a_sync(path):
    disk = Slow()
    with open_for_writing(path, disk=disk)[2] as folder:
        disk.waits = True
        acknowledged = []

        def work(number):
            folder.log.commit(commit(number))
            acknowledged.append(number)

        first = threading.Thread(target=work, args=(0,))
        first.start()
        disk.begun.acquire()
        others = [threading.Thread(target=work, args=(number,)) for number in range(1, 9)]
        for thread in others:
            thread.start()
        while folder.log.number < 9:  # written, while the first one's sync is at work
            time.sleep(0.001)
        assert acknowledged == []
        disk.go.release()
        disk.begun.acquire()
        first.join()
        assert acknowledged == [0], "the first sync is of the first commit alone"
        disk.go.release()
        for thread in others:
            thread.join()
        assert sorted(acknowledged) == list(range(9))
        assert disk.syncs == 2
        disk.waits = False
    assert sorted(opened(path)) == list(range(9))


def test_batched_commits_are_synced_in_the_background(path):
    disk = Slow()
    with open_for_writing(path, "batched", interval=0.001, disk=disk)[2] as folder:
        disk.waits = True
        folder.log.commit(commit(1))
        disk.begun.acquire()
        folder.log.commit(commit(2))  # doesn't wait
        assert folder.log.synced == 0
        disk.go.release()
        disk.begun.acquire()
        assert folder.log.synced == 1
        disk.waits = False
        disk.go.release()
        folder.log.sync()
        assert folder.log.synced == 2


def test_none_syncs_when_closed(path):
    disk = Slow()
    folder = open_for_writing(path, "none", disk=disk)[2]
    disk.waits = True
    folder.log.commit(commit(1))
    assert disk.syncs == 0
    disk.go.release()
    folder.close()
    assert disk.syncs == 1


# ---------------------------------------------------------------- a disk that refuses


def test_a_full_disk_leaves_nothing_of_the_commit(path):
    disk = FailingDisk(errno.ENOSPC)
    folder = open_for_writing(path, disk=disk)[2]
    folder.log.commit(commit(1))
    end = folder.log.nbytes
    disk.room = 50
    with pytest.raises(StorageError, match=r"takes no commits: it can't be written: No space left") as refused:
        folder.log.commit(commit(2))
    assert "Make room" in str(refused.value)
    assert folder.log.path.stat().st_size == end
    disk.room = None
    for _ in range(2):
        with pytest.raises(StorageError, match="No space left"):
            folder.log.commit(commit(3, 0))
    with pytest.raises(StorageError, match="No space left"):
        folder.checkpoint(from_records([{"id": 1}]))
    folder.close()
    assert opened(path) == [1]


def test_what_the_system_refuses_is_taken_back(path):
    folder = open_for_writing(path)[2]
    folder.log.commit(commit(1))
    end = folder.log.nbytes
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (end + 50, before[1]))  # writes beyond are cut short, then refused
    try:
        with pytest.raises(StorageError, match="it can't be written: File too large"):
            folder.log.commit(commit(2, 5_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert folder.log.path.stat().st_size == end
    folder.close()
    assert opened(path) == [1]


def test_a_commit_that_cannot_be_taken_back_is_torn(path):
    disk = FailingDisk(errno.ENOSPC)
    folder = open_for_writing(path, disk=disk)[2]
    folder.log.commit(commit(1))
    disk.room, disk.refused = 50, {"truncate"}
    with pytest.raises(StorageError, match="can't be taken back"):
        folder.log.commit(commit(2))
    folder.close()
    with pytest.warns(LoadingWarning, match="its last 50 bytes"):
        assert opened(path) == [1]


def test_a_failed_sync_takes_back_what_was_not_acknowledged(path):
    disk = FailingDisk(errno.EIO)
    folder = open_for_writing(path, disk=disk)[2]
    folder.log.commit(commit(1))
    end = folder.log.nbytes
    numbers = [folder.log.append(commit(2)), folder.log.append(commit(3))]
    disk.refused = {"sync"}
    for number in numbers:
        with pytest.raises(StorageError, match="it can't be synced: Input/output error"):
            folder.log.wait(number)
    disk.refused = set()
    assert (folder.log.number, folder.log.synced) == (1, 1)
    assert folder.log.path.stat().st_size == end
    with pytest.raises(StorageError, match="it can't be synced"):
        folder.log.append(commit(4))
    folder.close()
    assert opened(path) == [1]


def test_a_sync_that_fails_in_the_background_refuses_the_next_commit(path):
    disk = FailingDisk(errno.EIO)
    folder = open_for_writing(path, "batched", interval=0.001, disk=disk)[2]
    disk.refused = {"sync"}
    folder.log.commit(commit(1))
    with pytest.raises(StorageError, match="it can't be synced"):
        for number in range(2, 10_000):
            folder.log.commit(commit(number))
            time.sleep(0.001)
    with pytest.raises(StorageError, match="it can't be synced"):  # who closes it learns that commits may be lost
        folder.close()


def test_a_commit_that_cannot_be_encoded_changes_nothing(path):
    with open_for_writing(path)[2] as folder:
        end = folder.log.nbytes
        with pytest.raises(StorageError, match="more than 64 bits"):
            folder.log.commit(commit(2**70))
        assert folder.log.nbytes == end
        folder.log.commit(commit(1))
    assert opened(path) == [1]


class Interrupting(Disk):
    """A disk at which Ctrl-C comes inside a write."""

    interrupts = None

    def write_all(self, file, data):
        if self.interrupts is not None:
            super().write_all(file, memoryview(data)[: self.interrupts])
            raise KeyboardInterrupt
        super().write_all(file, data)


@pytest.mark.parametrize("written", [0, 40, 1_000])
@pytest.mark.parametrize("goes_on", [True, False])
def test_an_interrupted_commit_leaves_nothing_and_the_next_one_works(path, written, goes_on):
    disk = Interrupting()
    with open_for_writing(path, disk=disk)[2] as folder:
        folder.log.commit(commit(1))
        disk.interrupts = written
        with pytest.raises(KeyboardInterrupt):
            folder.log.commit(commit(2))
        disk.interrupts = None
        if goes_on:
            folder.log.commit(commit(3))
    assert opened(path) == ([1, 3] if goes_on else [1])


def test_a_closed_log_refuses(path):
    folder = open_for_writing(path)[2]
    folder.close()
    folder.close()
    with pytest.raises(StorageError, match="it is closed"):
        folder.log.commit(commit(1))


def test_a_forked_child_commits_nothing_and_does_not_hold_the_lock(path):
    folder = open_for_writing(path)[2]
    folder.log.commit(commit(1))
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(writes)
            try:
                folder.log.commit(commit(2))
            except StorageError:
                os.read(reads, 1)  # until the parent has opened the graph again
                os._exit(0)
        finally:
            os._exit(1)
    os.close(reads)
    folder.close()
    assert opened(path) == [1]
    os.close(writes)
    assert os.waitpid(child, 0)[1] == 0
