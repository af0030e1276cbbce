"""A process that commits through the public API is killed: each transaction is there whole if it was acknowledged."""

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

import qengine
from qengine.errors import LoadingWarning

ROOT = Path(__file__).resolve().parents[3]
PYTHON = [sys.executable, *(["-S"] if sys.flags.no_site else [])]  # as this process runs

WRITER = """
import logging, sys, threading
import qengine
from qengine.write import open_folder

logging.disable()
open_folder.LEAST_LOG, open_folder.LOG_SHARE = 20_000, 0
graph = qengine.open(sys.argv[1], durability=sys.argv[2])

def commits(thread, times):
    first = graph.query("MATCH (n:Unit {thread: $t}) RETURN count(*)", {"t": thread}).value()
    for serial in range(first, first + times):
        with graph.transaction() as transaction:
            given = {"t": thread, "s": serial, "text": "x" * (serial % 7 * 100)}
            transaction.query("CREATE (:Unit {thread: $t, serial: $s, text: $text})", given)
            transaction.query("MATCH (n:Unit {thread: $t, serial: $s}), (c:Counter) CREATE (c)-[:HAS]->(n)", given)
            transaction.query("MATCH (c:Counter) SET c.units = c.units + 1")
        sys.stdout.write(f"{thread} {serial}\\n")
        sys.stdout.flush()

commits(0, 1)
for thread in range(1, 4):
    threading.Thread(target=commits, args=(thread, 1_000_000), daemon=True).start()
threading.Event().wait()
"""


def run_and_kill(path, durability, seconds):
    """Let a writer work so long and kill it; return by thread the last transaction that it has acknowledged."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
    process = subprocess.Popen([*PYTHON, "-c", WRITER, str(path), durability], stdout=subprocess.PIPE, env=environment)
    first = process.stdout.readline()
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    told = first + process.stdout.read()
    process.stdout.close()
    process.wait()
    whole = told[: told.rfind(b"\n") + 1].splitlines()
    return dict(tuple(map(int, line.split())) for line in whole)


def units(graph):
    """By thread the number of transactions that are there, each of which must be whole."""
    rows = graph.query("MATCH (n:Unit) RETURN n.thread, n.serial, size(n.text) ORDER BY n.thread, n.serial").fetchall()
    found = {}
    for thread, serial, length in rows:
        assert serial == found.get(thread, 0), "one is missing, or there twice"
        assert length == serial % 7 * 100
        found[thread] = serial + 1
    assert graph.query("MATCH (c:Counter) RETURN c.units").value() == len(rows)
    assert graph.query("MATCH (:Counter)-[:HAS]->(n:Unit) RETURN count(DISTINCT n)").value() == len(rows)
    return found


@pytest.mark.parametrize("durability", ["full", "batched"])
@pytest.mark.parametrize(
    "kills", [3, pytest.param(30, marks=pytest.mark.nets), pytest.param(500, marks=pytest.mark.slow)]
)
def test_a_killed_process_loses_no_acknowledged_transaction(tmp_path, durability, kills):
    path = tmp_path / "graph"
    qengine.Graph.from_records([{"labels": ["Counter"], "properties": {"units": 0}}]).save(path)
    reader, choice, last = qengine.open(path), random.Random(kills), {}
    for _ in range(kills):
        acknowledged = run_and_kill(path, durability, choice.random() * 0.6)
        reader.refresh()
        seen = units(reader)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LoadingWarning)
            with qengine.open(path) as graph:
                graph.query("MERGE (:Counter)")  # takes the log over
                assert units(graph) == seen
        for thread, serial in acknowledged.items():
            assert seen[thread] > serial
        assert all(seen[thread] >= count for thread, count in last.items())
        last = seen
    assert sum(last.values()) > 2 * kills, "threads have written, too"
