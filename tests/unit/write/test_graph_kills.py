"""A process that commits through the public API is killed: each transaction is there whole if it was acknowledged.

Its threads commit, append tables, make checkpoints and compact. Each kill is aimed at one of these: an alarm that
nothing handles ends the process as SIGKILL does, so long after the work has begun as a share of the least that it took
before. It says what it is about, and so what the kill has hit.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path

import pytest

import qengine
from qengine.errors import LoadingWarning

ROOT = Path(__file__).resolve().parents[3]
PYTHON = [sys.executable, *(["-S"] if sys.flags.no_site else [])]  # as this process runs

WRITER = """
import functools, logging, os, signal, sys, threading, time
import pyarrow as pa
import qengine
from qengine.write import append, open_folder, versions

logging.disable()
open_folder.LEAST_LOG, open_folder.LOG_SHARE = 60_000, 0
versions._LEAST_TOUCHED, versions._TOUCHED_SHARE, versions._FEW_TOUCHED = 30, 0, 16
append._FEW = append._MOST = 100  # more rows are saved with the graph, not logged


took = {}  # the least seconds, by function
aim = ["", 0, 0.0]  # what is to be hit, how often it begins till then, after which share of these


def told(what, name, place):
    function = getattr(place, name)

    @functools.wraps(function)
    def telling(*given, **named):
        os.write(1, f"+ {what}\\n".encode())
        begin = time.perf_counter()
        if what == aim[0]:
            aim[1] -= 1
            if not aim[1]:
                signal.setitimer(signal.ITIMER_REAL, aim[2] * took.get(name, 0.001) + 1e-6)
        try:
            return function(*given, **named)
        finally:
            took[name] = min(took.get(name, 1.0), time.perf_counter() - begin)
            os.write(1, f"- {what}\\n".encode())

    setattr(place, name, telling)


def commit(thread, serial):
    with graph.transaction() as transaction:
        given = {"t": thread, "s": serial, "text": "x" * (serial % 7 * 100)}
        transaction.query("CREATE (:Unit {thread: $t, serial: $s, text: $text})", given)
        transaction.query("MATCH (n:Unit {thread: $t, serial: $s}), (c:Counter) CREATE (c)-[:HAS]->(n)", given)
        transaction.query("MATCH (c:Counter) SET c.units = c.units + 1")


def commits(thread, times):
    first = graph.query("MATCH (n:Unit {thread: $t}) RETURN count(*)", {"t": thread}).value()
    for serial in range(first, first + times):
        commit(thread, serial)
        os.write(1, f"{thread} {serial}\\n".encode())


def append_table(number):
    count = (20, 300)[number % 2]
    graph.query("MATCH (n:Row) WHERE n.table < $n - 1 DELETE n", {"n": number})
    rows = range(1_000 * number, 1_000 * number + count)
    graph.append_arrow({"Row": pa.table({"id": rows, "table": [number] * count, "of": [count] * count})})


def tables():
    first = graph.query("MATCH (n:Row) RETURN coalesce(max(n.table) + 1, 0)").value()
    for number in range(first, first + 1_000_000):
        append_table(number)
        os.write(1, f"4 {number}\\n".encode())


def opened(path):
    return qengine.open(path, durability=sys.argv[2])


def write():
    global graph
    graph = opened(sys.argv[1])
    commits(0, 1)
    for thread in range(1, 4):
        threading.Thread(target=commits, args=(thread, 1_000_000), daemon=True).start()
    threading.Thread(target=tables, daemon=True).start()
    threading.Event().wait()


graph = opened(sys.argv[1] + "-first")  # so that a fork needs to import nothing more
commit(0, 0)
append_table(1)
graph.close()
told("committing", "_append", versions.Versions)
told("committing", "_acknowledge", versions.Versions)
told("checkpointing", "checkpoint", open_folder.OpenFolder)
told("compacting", "_make", versions)
told("importing", "append_arrow", qengine.Graph)
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        what, count, share = line.split()
        aim[:] = what, int(count), float(share)
        write()
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

    def run_and_kill(self, what, count, share):
        """Let one work till it begins something so often, and kill it during that, after a share of its time.

        Returns
        -------
        by thread the last transaction that it has acknowledged, and what it was about when it was killed
        """
        print(what, count, share, file=self._parent.stdin, flush=True)
        acknowledged, about = {}, Counter()
        for line in iter(self._parent.stdout.readline, "ended\n"):
            match line.split():
                case ["+", what]:
                    about[what] += 1
                case ["-", what]:
                    about[what] -= 1
                case [thread, serial]:
                    acknowledged[int(thread)] = int(serial)
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


# What is hit, and how often it may begin before.
KINDS = {"committing": 60, "checkpointing": 3, "compacting": 3, "importing": 4}
ANEW = 32  # kills after which another graph is begun, so that none gets large
BLOCKS = [pytest.param(64, block, marks=pytest.mark.slow) for block in range(8)]  # together more than 500


@pytest.mark.parametrize("durability", ["full", "batched"])
@pytest.mark.parametrize(("kills", "seed"), [(4, 0), pytest.param(28, 1, marks=pytest.mark.nets), *BLOCKS])
def test_a_killed_process_loses_no_acknowledged_transaction(tmp_path, durability, kills, seed):
    choice, hit = random.Random(f"{kills} {seed}"), Counter()
    for first in range(0, kills, ANEW):
        path = tmp_path / str(first)
        for each in (path, tmp_path / f"{first}-first"):
            qengine.Graph.from_records([{"labels": ["Counter"], "properties": {"units": 0}}]).save(each)
        with Writers(path, durability) as writers:
            hit += killed(
                path, writers, [list(KINDS)[each % 4] for each in range(first, min(first + ANEW, kills))], choice
            )
    print(f"{kills} kills, {durability}: {dict(hit)}")
    assert all(hit[what] >= kills // 16 for what in KINDS), hit


def killed(path, writers, aims, choice):
    """Kill a writer as often as there are aims, and check what is there each time; return what was hit."""
    reader, last, hit = qengine.open(path), {}, Counter()
    for what in aims:
        acknowledged, about = writers.run_and_kill(what, choice.randint(2, KINDS[what]), choice.random())
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
    assert sum(last.values()) > 2 * len(aims), "threads have written, too"
    return hit
