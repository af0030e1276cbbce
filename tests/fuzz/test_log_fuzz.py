"""Damaged logs and commits: each is refused, cut off with a warning, or gives what was written; none crashes."""

from __future__ import annotations

import random
import warnings

import pytest

from qengine.errors import LoadingWarning, StorageError
from qengine.storage import from_records, save
from qengine.storage.disk import Disk
from qengine.storage.saved import saved_version
from qengine.storage.states import Commit, NodeState, RelationshipState
from qengine.temporal import Date, DateTime, Duration, Time
from qengine.write.encoding import decode, encode
from qengine.write.folder import open_for_reading, open_for_writing
from qengine.write.logfile import commits_of, read_head, read_log

MANY = [300, pytest.param(10_000, marks=pytest.mark.nets)]


def commit(number):
    values = {
        "v": number,
        "texts": ["ü", "\ud800", ["x" * number]],
        "date": Date(2026, 11, number % 28 + 1),
        "times": [Time("12:00+01:00"), DateTime("2026-11-22T21:40+01:00[Europe/Rome]"), None],
        "long": Duration(months=number),
        "x": [1.5, float("inf"), -0.0, True],
    }
    nodes = {number: NodeState(("A", "B"), values), 0: None}
    return Commit(nodes, {number: RelationshipState("R", 0, number, {"w": 2.5}), 1: None}, number + 1, number + 2)


def damaged(data, choice):
    """Bytes with some flipped, cut off, zeroed, repeated or taken out."""
    data = bytearray(data)
    kind = choice.randrange(6)
    place = choice.randrange(len(data))
    some = choice.randrange(1, 60)
    if kind == 0:
        for _ in range(choice.randrange(1, 4)):
            data[choice.randrange(len(data))] ^= 1 << choice.randrange(8)
    elif kind == 1:
        del data[place:]
    elif kind == 2:
        data[place : place + some] = bytes(len(data[place : place + some]))
    elif kind == 3:
        data[place:place] = data[place : place + some]
    elif kind == 4:
        del data[place : place + some]
    else:
        data[place : place + some] = choice.randbytes(some)
    return bytes(data)


@pytest.mark.parametrize("count", MANY)
def test_damaged_commits_are_refused_or_others(count):
    data = encode(commit(5))
    outcomes = {"refused": 0, "read": 0}
    for seed in range(count):
        try:
            found = decode(damaged(data, random.Random(seed)))
        except StorageError:
            outcomes["refused"] += 1
        else:
            assert encode(found), "what is read can be written"
            outcomes["read"] += 1
    assert min(outcomes.values()) > 0


class Unsynced(Disk):
    """A disk that is quick."""

    def sync(self, file):
        file.flush()

    def sync_folder(self, folder):
        pass


WRITTEN = [commit(number) for number in range(1, 9)]


def log(path, noted):
    """A log file and its bytes, which say at the end that all is synced or don't."""
    save(from_records([{"id": 1}]), path)
    with open_for_writing(path, "full" if noted else "none", disk=Unsynced())[2] as folder:
        for one in WRITTEN:
            folder.log.commit(one)
        file, end = folder.log.path, folder.log.nbytes
    return file, file.read_bytes()[: None if noted else end]


@pytest.mark.parametrize("count", MANY)
@pytest.mark.parametrize("noted", [True, False])
def test_damaged_logs_are_refused_or_give_the_first_commits(tmp_path, count, noted):
    path, whole = log(tmp_path, noted)
    version = saved_version(tmp_path)
    outcomes = {"refused": 0, "cut off": 0, "whole": 0}
    for seed in range(count):
        path.write_bytes(damaged(whole, random.Random(seed)))
        with open(path, "rb", buffering=0) as file:
            try:
                head, end = read_head(tmp_path, version, file)
                frames, torn = read_log(path, file, end, head.first)
                found = commits_of(frames)
            except StorageError:
                outcomes["refused"] += 1
                continue
        assert found == WRITTEN[: len(found)]
        assert torn or len(found) == len(WRITTEN) or path.stat().st_size < len(whole)
        outcomes["cut off" if torn else "whole"] += 1
    assert min(outcomes["refused"], outcomes["cut off"]) > 0


@pytest.mark.parametrize("noted", [True, False])
def test_damaged_folders_are_refused_or_opened_with_the_first_commits(tmp_path, noted):
    path, whole = log(tmp_path, noted)
    outcomes = {"refused": 0, "cut off": 0, "whole": 0}
    for seed in range(100):
        path.write_bytes(damaged(whole, random.Random(seed)))
        try:
            _, seen, follower = open_for_reading(tmp_path)
            follower.close()
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always", LoadingWarning)
                _, found, folder = open_for_writing(tmp_path, disk=Unsynced())
            folder.close()
        except StorageError:
            outcomes["refused"] += 1
            continue
        assert seen == found == WRITTEN[: len(found)]
        outcomes["cut off" if told else "whole"] += 1
    assert min(outcomes["refused"], outcomes["cut off"]) > 0
