"""Workers that are Ray's actors; without Ray skipped by the marker ``ray``."""

import importlib.util
import os
import signal

import pytest

from qengine import Graph, cluster
from qengine.cluster.cluster import Cluster
from qengine.testing.random_graph import random_graph

pytestmark = [
    pytest.mark.ray,
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray: Ray isn't installed"),
    pytest.mark.filterwarnings("ignore"),
]

TRIANGLES = "MATCH (a)-->(b)-->(c)--(a) RETURN a.k, count(*) AS n, avg(c.k) ORDER BY n DESC, a.k LIMIT 5"


@pytest.fixture
def opened(tmp_path):
    Graph(random_graph("cluster of processes").store()).save(tmp_path)
    with cluster.open(tmp_path, engine="ray", workers=2) as found:
        yield Cluster(str(tmp_path), found._engine, least_cost=0.0)


def test_parts_on_ray_give_what_one_process_does(opened):
    found = opened.query(TRIANGLES)
    assert found.fetchall() == opened._graph.query(TRIANGLES, threads=1).fetchall()
    assert found.stats.device_reason == "in parts, by workers"


def _kill_one_with_a_task(engine, monkeypatch):
    """Let the next actor that has a process be killed once it has been given a task; return who was killed."""
    submit, killed = engine.submit, []

    def submit_and_kill(worker, task):
        pid = None if killed else engine.pid(worker)
        if pid is not None:
            os.kill(pid, signal.SIGSTOP)
        submit(worker, task)
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    monkeypatch.setattr(engine, "submit", submit_and_kill)
    return killed


def test_twenty_actors_that_are_killed_with_a_task_in_hand_are_replaced(opened, monkeypatch):
    expected = opened._graph.query(TRIANGLES, threads=1).fetchall()
    opened.query(TRIANGLES).fetchall()
    for _ in range(20):
        with monkeypatch.context() as patch:
            killed = _kill_one_with_a_task(opened._engine, patch)
            assert opened.query(TRIANGLES).fetchall() == expected
            assert len(killed) == 1
