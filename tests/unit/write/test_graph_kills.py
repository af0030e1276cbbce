"""A process that commits through the public API is killed: each transaction is there whole if it was acknowledged.

Its threads commit, append tables, make checkpoints and compact; it says what it is about, and so what the kill has hit.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import warnings
from collections import Counter
from pathlib import Path

import pytest

import qengine
from qengine.errors import LoadingWarning

ROOT = Path(__file__).resolve().parents[3]
PYTHON = [sys.executable, *(["-S"] if sys.flags.no_site else [])]  # as this process runs

WRITER = """
import functools, logging, os, sys, tempfile, threading
import pyarrow as pa
import qengine
from qengine.write import append, open_folder, versions

logging.disable()
open_folder.LEAST_LOG, open_folder.LOG_SHARE = 60_000, 0
versions._LEAST_TOUCHED, versions._TOUCHED_SHARE, versions._FEW_TOUCHED = 30, 0, 16
append._FEW = append._MOST = 100  # more rows are saved with the graph, not logged


def told(what, name, place):
    function = getattr(place, name)

    @functools.wraps(function)
    def telling(*given, **named):
        os.write(1, f"+ {what}\\n".encode())
        try:
            return function(*given, **named)
        finally:
            os.write(1, f"- {what}\\n".encode())

    setattr(place, name, telling)


told("committing", "_append", versions.Versions)
told("committing", "_acknowledge", versions.Versions)
told("checkpointing", "checkpoint", open_folder.OpenFolder)
told("compacting", "_make", versions)
told("importing", "append_arrow", qengine.Graph)


def commits(thread, times):
    first = graph.query("MATCH (n:Unit {thread: $t}) RETURN count(*)", {"t": thread}).value()
    for serial in range(first, first + times):
        with graph.transaction() as transaction:
            given = {"t": thread, "s": serial, "text": "x" * (serial % 7 * 100)}
            transaction.query("CREATE (:Unit {thread: $t, serial: $s, text: $text})", given)
            transaction.query("MATCH (n:Unit {thread: $t, serial: $s}), (c:Counter) CREATE (c)-[:HAS]->(n)", given)
            transaction.query("MATCH (c:Counter) SET c.units = c.units + 1")
        os.write(1, f"{thread} {serial}\\n".encode())


def tables(times):
    first = graph.query("MATCH (n:Row) RETURN coalesce(max(n.table) + 1, 0)").value()
    for number in range(first, first + times):
        count = (20, 300)[number % 2]
        graph.query("MATCH (n:Row) WHERE n.table < $n - 1 DELETE n", {"n": number})
        rows = range(1_000 * number, 1_000 * number + count)
        graph.append_arrow({"Row": pa.table({"id": rows, "table": [number] * count, "of": [count] * count})})
        os.write(1, f"4 {number}\\n".encode())


def import_all():
    global graph
    with tempfile.TemporaryDirectory() as folder, qengine.open(folder, create=True) as graph:
        graph.query("CREATE (:Counter {units: 0})")
        commits(0, 1)
        tables(2)


def write():
    global graph
    graph = qengine.open(sys.argv[1], durability=sys.argv[2])
    commits(0, 1)
    for thread in range(1, 4):
        threading.Thread(target=commits, args=(thread, 1_000_000), daemon=True).start()
    threading.Thread(target=tables, args=(1_000_000,), daemon=True).start()
    threading.Event().wait()


import_all()
for _ in sys.stdin:
    child = os.fork()
    if child == 0:
        write()
    os.write(1, f"of {child}\\n".encode())
    os.waitpid(child, 0)
    os.write(1, b"\\nended\\n")
"""


class Writers:
    """Processes that write, one after the other: each is a fork of one that has imported what they need.

    Parameters
    ----------
    path, durability
        Of the graph that they open.
    """

    def __init__(self, path, durability):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
        self._parent = subprocess.Popen(
            [*PYTHON, "-c", WRITER, str(path), durability],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True,
        )  # fmt: skip

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self._parent.communicate()

    def run_and_kill(self, seconds):
        """Let one work so long and kill it.

        Returns
        -------
        by thread the last transaction that it has acknowledged, and what it was about when it was killed
        """
        print(file=self._parent.stdin, flush=True)
        acknowledged, about = {}, Counter()
        child = killer = None
        for line in iter(self._parent.stdout.readline, "ended\n"):
            match line.split():
                case ["of", number]:
                    child = int(number)
                case _ if child is None:  # the parent's own
                    pass
                case ["+", what]:
                    about[what] += 1
                case ["-", what]:
                    about[what] -= 1
                case [thread, serial]:
                    acknowledged[int(thread)] = int(serial)
            if killer is None and child is not None and acknowledged:
                killer = threading.Timer(seconds, os.kill, (child, signal.SIGKILL))
                killer.start()
        killer.join()
        return acknowledged, set(+about)


TABLES = "MATCH (n:Row) RETURN n.table AS t, n.of, count(*), count(DISTINCT n.id) ORDER BY t"


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
    for table, rows, count, different in graph.query(TABLES).fetchall():
        assert rows == count == different, "a part of a table"
        found[4] = table + 1
    return found


@pytest.mark.parametrize("durability", ["full", "batched"])
@pytest.mark.parametrize(
    "kills", [3, pytest.param(30, marks=pytest.mark.nets), pytest.param(500, marks=pytest.mark.slow)]
)
def test_a_killed_process_loses_no_acknowledged_transaction(tmp_path, durability, kills):
    path = tmp_path / "graph"
    qengine.Graph.from_records([{"labels": ["Counter"], "properties": {"units": 0}}]).save(path)
    reader, choice, last, hit = qengine.open(path), random.Random(kills), {}, Counter()
    with Writers(path, durability) as writers:
        for _ in range(kills):
            acknowledged, about = writers.run_and_kill(choice.random() * 0.6)
            hit.update(about)
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
    print(f"{kills} kills, {durability}: {dict(hit)}, and {last}")
    if kills >= 500:
        assert hit.keys() == {"committing", "checkpointing", "compacting", "importing"}
