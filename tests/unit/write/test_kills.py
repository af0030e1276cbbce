"""A writing process killed at any moment: its acknowledged commits are there, and never one without those before."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from qengine.errors import LoadingWarning
from qengine.storage import from_records, save
from qengine.write.folder import open_for_reading, open_for_writing

ROOT = Path(__file__).resolve().parents[3]
PYTHON = [sys.executable, *(["-S"] if sys.flags.no_site else [])]  # as this process runs

WRITER = """
import sys, threading
from qengine.storage import from_records
from qengine.write.folder import open_for_writing
from qengine.storage.states import Commit, NodeState

store, commits, folder = open_for_writing(sys.argv[1], sys.argv[2], interval=0.002)
lock = threading.Lock()
print(folder.log.number, flush=True)

def commits():
    while True:
        with lock:
            number = folder.log.number + 1
            text = "x" * (number % 7 * 300)
            assert folder.log.append(Commit({0: NodeState(("A",), {"v": number, "text": text})}, {}, 1, 0)) == number
        folder.log.wait(number)
        sys.stdout.write(f"{number}\\n")
        sys.stdout.flush()

for _ in range(3):
    threading.Thread(target=commits, daemon=True).start()
while True:
    number = folder.log.number
    folder.checkpoint(from_records([{"id": 1, "labels": ["A"], "properties": {"v": number}}]), through=number)
"""


def run_and_kill(path, durability, seconds):
    """Let a writer work so long and kill it; return the highest number that it has acknowledged."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
    process = subprocess.Popen([*PYTHON, "-c", WRITER, str(path), durability], stdout=subprocess.PIPE, env=environment)
    first = process.stdout.readline()
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    told = process.stdout.read()
    process.stdout.close()
    process.wait()
    whole = told[: told.rfind(b"\n") + 1]
    return max(map(int, [first, *whole.split()]))


def found(store, commits):
    base = store.nodes([0])[0].properties["v"]
    assert [one.nodes[0].properties["v"] for one in commits] == list(range(base + 1, base + 1 + len(commits)))
    return base + len(commits)


@pytest.mark.parametrize("durability", ["full", "batched"])
@pytest.mark.parametrize(
    "kills", [3, pytest.param(30, marks=pytest.mark.nets), pytest.param(200, marks=pytest.mark.slow)]
)
def test_a_killed_writer_loses_no_acknowledged_commit(tmp_path, durability, kills):
    path = tmp_path / "graph"
    save(from_records([{"id": 1, "labels": ["A"], "properties": {"v": 0}}]), path)
    choice, last = random.Random(kills), 0
    for _ in range(kills):
        acknowledged = run_and_kill(path, durability, choice.random() * 0.3)
        store, commits, follower = open_for_reading(path)
        follower.close()
        seen = found(store, commits)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LoadingWarning)
            store, commits, folder = open_for_writing(path)
        folder.close()
        assert found(store, commits) == folder.log.number == seen >= acknowledged >= last
        last = seen
    assert last > kills, "the writers have written"
