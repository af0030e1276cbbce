"""Worker processes: right answers while they are killed, and queries that are stopped. Nothing depends on time."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from qengine import Graph, QueryInterrupted, QueryTimeout
from qengine.cluster.cluster import Cluster
from qengine.cluster.processes import Processes
from qengine.testing.random_graph import random_graph
from tests.unit.cluster import workers

TRIANGLES = "MATCH (a)-->(b)-->(c)--(a) RETURN a.k, count(*) AS n, avg(c.k) ORDER BY n DESC, a.k LIMIT 5"


@pytest.fixture
def saved(tmp_path):
    Graph(random_graph("cluster of processes").store()).save(tmp_path / "graph")
    return tmp_path / "graph"


def cluster_of(path, serve=None, count=2):
    engine = Processes(str(path), count) if serve is None else Processes(str(path), count, serve)
    return Cluster(str(path), engine, least_cost=0.0)


def killed(saved, times):
    """Return whether a query is answered right while workers die so often, each time with an answer in hand."""
    for place in range(times):
        (saved.parent / f"{workers.TIMES}-{place}").touch()
    with cluster_of(saved, workers.dying) as cluster:
        found = cluster.query(TRIANGLES)
        rows = found.fetchall()
        assert found.stats.device_reason == "in parts, by workers"
        assert not list(saved.parent.glob(f"{workers.TIMES}-*")), "no worker was killed"
        return rows == Graph.open(saved, read_only=True).query(TRIANGLES, threads=1).fetchall()


def test_a_worker_that_is_killed_mid_query_is_replaced_and_its_part_runs_again(saved):
    assert killed(saved, 1)


@pytest.mark.slow
def test_twenty_kills_twenty_right_answers(saved):
    assert [killed(saved, 1) for _ in range(20)] == [True] * 20


def test_a_timeout_ends_workers_that_never_answer(saved):
    with cluster_of(saved, workers.hanging) as cluster:
        with pytest.raises(QueryTimeout):
            cluster.query(TRIANGLES, timeout=0.2).fetchall()
        assert [cluster._engine.pid(worker) for worker in range(2)] == [None, None]


def test_an_interrupt_ends_workers_that_never_answer(saved):
    raised = []
    with cluster_of(saved, workers.hanging, 1) as cluster:

        def ask():
            try:
                cluster.query(TRIANGLES).fetchall()
            except QueryInterrupted as error:
                raised.append(error)

        thread = threading.Thread(target=ask)
        thread.start()
        while not (busy := list(saved.parent.glob(f"{workers.BUSY}-*"))):
            assert thread.is_alive()
            time.sleep(0.01)
        cluster.interrupt()
        thread.join()
    (error,) = raised
    assert error.code == "Interrupted"
    assert not Path(f"/proc/{busy[0].name.rpartition('-')[2]}").exists()


def test_a_script_that_workers_can_not_import_is_told(saved):
    script = saved.parent / "unguarded.py"
    script.write_text(
        "from qengine.cluster.cluster import Cluster\n"
        "from qengine.cluster.processes import Processes\n"
        f"with Cluster({str(saved)!r}, Processes({str(saved)!r}, 1), least_cost=0.0) as cluster:\n"
        f"    cluster.query({TRIANGLES!r}).fetchall()\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True, env=environment, check=False)
    assert ended.returncode == 1
    assert ended.stderr.count("A worker imports this script, which opens a cluster again.") == 3
    assert "hint: If they have printed nothing," in ended.stderr
