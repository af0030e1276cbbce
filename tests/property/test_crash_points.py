"""A crash after any operation of a writer: no acknowledged commit is lost, and never one without the later ones."""

from __future__ import annotations

import hashlib
import shutil
import warnings

import pyarrow as pa
import pytest

import qengine
from qengine.errors import LoadingWarning
from qengine.storage import from_records, save
from qengine.storage.disk import Disk
from qengine.storage.states import Commit, NodeState
from qengine.testing.disk import RecordingDisk, crashed
from qengine.write import append
from qengine.write.folder import open_for_reading, open_for_writing
from qengine.write.open_folder import open_folder


class Unsynced(Disk):
    """A disk for what comes after the crash, which doesn't matter any more."""

    def sync(self, file):
        file.flush()

    def sync_folder(self, folder):
        pass


def version(number):
    return from_records([{"id": 1, "labels": ["A"], "properties": {"v": number}}])


def commit(number):
    # of several sizes: within a sector of the disk, and over several
    return Commit({0: NodeState(("A",), {"v": number, "text": "x" * (number % 4 * 400)})}, {}, 1, 0)


def recorded(path, durability):
    """Write, with checkpoints; ``note`` what has been appended and acknowledged."""
    save(version(0), path)
    disk = RecordingDisk(path)
    disk.note(("synced", 0))

    def acknowledged(number):
        disk.note(("acknowledged", number))

    with open_for_writing(path, durability, interval=1e6, disk=disk)[2] as folder:
        log = folder.log
        for number in (1, 2, 3):
            disk.note(("begun", number))
            log.commit(commit(number))
            acknowledged(number)
        disk.note(("begun", 6))  # those below share a sync
        for number in (4, 5, 6):
            log.append(commit(number))
        log.wait(6)
        acknowledged(6)
        folder.checkpoint(version(5), through=5)
        disk.note(("synced", 6))
        for number in (7, 8):
            disk.note(("begun", number))
            log.commit(commit(number))
            acknowledged(number)
        folder.checkpoint(version(8))
        disk.note(("synced", 8))
        disk.note(("begun", 9))
        log.commit(commit(9))
        acknowledged(9)
    disk.note(("synced", 9))
    with open_for_writing(path, durability, interval=1e6, disk=disk)[2] as folder:
        for number in (10, 11):
            disk.note(("begun", number))
            folder.log.commit(commit(number))
            acknowledged(number)
    disk.note(("synced", 11))
    return disk.operations


def content(path):
    """Return a digest of a folder: most crashes leave what another has left, and then they end as that one did."""
    digest = hashlib.sha256()
    for each in sorted(path.rglob("*")):
        held = each.read_bytes() if each.is_file() else b"a folder"
        digest.update(f"{each.relative_to(path)} {len(held)}\n".encode() + held)
    return digest.digest()


def highest(noted, what):
    return max((number for kind, number in noted if kind == what), default=0)


def recovered(path):
    """Open a folder after a crash; return the number that its commits lead to."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LoadingWarning)
        store, commits, folder = open_for_writing(path, disk=Unsynced())
    with folder:
        base = store.nodes([0])[0].properties["v"]
        found = [one.nodes[0].properties["v"] for one in commits]
        assert found == list(range(base + 1, base + 1 + len(found)))
        number = base + len(found)
        assert folder.log.number == number
        folder.log.commit(commit(number + 1))
    store, again, follower = open_for_reading(path, "full")
    follower.close()
    assert again == [*commits, commit(number + 1)]
    assert len(list(path.glob("log-*"))) == 1, "logs that crashes have left are removed"
    return number


@pytest.mark.parametrize("durability", ["full", "batched", "none"])
@pytest.mark.parametrize(
    ("seeds", "every"), [(4, 3), pytest.param(12, 1, marks=pytest.mark.nets)], ids=["some", "many"]
)
def test_a_crash_leaves_what_was_acknowledged(tmp_path, durability, seeds, every):
    operations = recorded(tmp_path / "graph", durability)
    begins = next(place for place, one in enumerate(operations) if one.kind == "note")
    outcomes, numbers = set(), {}
    for cut in range(begins, len(operations) + 1, every):
        for seed in range(seeds):
            path = tmp_path / "crashed"
            noted = crashed(operations[:cut], path, seed if seed < 2 else seed + cut * seeds)
            left = content(path)
            if left not in numbers:
                numbers[left] = recovered(path)
            number = numbers[left]
            least = highest(noted, "acknowledged" if durability == "full" else "synced")
            assert least <= number <= highest(noted, "begun"), (cut, seed)
            outcomes.add((number - least, highest(noted, "begun") - number))
            shutil.rmtree(path)
    assert any(more for more, _ in outcomes), "some commits are there that needn't be"
    assert any(fewer for _, fewer in outcomes), "some commits are lost that hadn't been acknowledged"


def test_what_was_synced_is_needed(tmp_path):
    """A log that didn't sync would be found out: the same crashes lose acknowledged commits of another durability."""
    operations = recorded(tmp_path / "graph", "none")
    lost = 0
    begins = next(place for place, one in enumerate(operations) if one.kind == "note")
    for cut in range(begins, len(operations) + 1, 3):
        noted = [one.arguments[0] for one in operations[:cut] if one.kind == "note"]
        if highest(noted, "acknowledged") > highest(noted, "synced"):
            crashed(operations[:cut], tmp_path / str(cut), 0)
            lost += recovered(tmp_path / str(cut)) < highest(noted, "acknowledged")
    assert lost > 0


# ---------------------------------------------------------------- by statements


def recorded_statements(path):
    """Change an opened graph, with a checkpoint: each transaction adds a node and counts it."""
    qengine.Graph.from_records([{"labels": ["Counter"], "properties": {"v": 0}}]).save(path)
    disk = RecordingDisk(path)
    disk.note(("acknowledged", 0))
    for first in (1, 5):
        with qengine.Graph._opened(*open_folder(path, disk=disk)) as graph:
            for number in range(first, first + 4):
                disk.note(("begun", number))
                with graph.transaction() as transaction:
                    transaction.query("MATCH (c:Counter) SET c.v = c.v + 1")
                    if number in {2, 4, 7}:  # by columns: a checkpoint of what the log has no commit of
                        unit = pa.table({"start": [number], "v": [number], "end": [number]})
                        transaction.append_arrow(
                            {"Unit": unit.select(["v"])}, [("HAS", "Counter", "Unit", unit)], key="v"
                        )
                    else:
                        transaction.query("MATCH (c:Counter) CREATE (c)-[:HAS {v: c.v}]->(:Unit {v: c.v})")
                disk.note(("acknowledged", number))
                if number in {3, 6}:
                    graph.checkpoint()
    return disk.operations


def recovered_statements(path):
    """Open a graph after a crash, and return what it counts; all transactions through that are there, and whole."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LoadingWarning)
        with qengine.Graph._opened(*open_folder(path, disk=Unsynced())) as graph:
            number = graph.query("MATCH (c:Counter) RETURN c.v").value()
            units = graph.query("MATCH (:Counter)-[r:HAS]->(n:Unit) RETURN r.v AS r, n.v AS n ORDER BY n").fetchall()
            assert [tuple(row) for row in units] == [(n, n) for n in range(1, number + 1)]
            assert graph.node_count == number + 1
            graph.query("MATCH (c:Counter) SET c.v = -1")
    with qengine.open(path, verify="full") as graph:
        assert graph.query("MATCH (c:Counter) RETURN c.v").value() == -1
    return number


@pytest.mark.parametrize(("seeds", "every"), [(2, 5), pytest.param(8, 1, marks=pytest.mark.nets)], ids=["some", "many"])
def test_a_crash_leaves_whole_transactions(tmp_path, monkeypatch, seeds, every):
    monkeypatch.setattr(append, "_FEW", 0)
    monkeypatch.setattr(append, "_MOST", 0)
    operations = recorded_statements(tmp_path / "graph")
    begins = next(place for place, one in enumerate(operations) if one.kind == "note")
    numbers = {}
    for cut in range(begins, len(operations) + 1, every):
        for seed in range(seeds):
            path = tmp_path / "crashed"
            noted = crashed(operations[:cut], path, 2 + seed + cut * seeds if seed else 0)
            left = content(path)
            if left not in numbers:
                numbers[left] = recovered_statements(path)
            assert highest(noted, "acknowledged") <= numbers[left] <= highest(noted, "begun"), (cut, seed)
            shutil.rmtree(path)
    assert {*numbers.values()} >= {0, 3, 6}
