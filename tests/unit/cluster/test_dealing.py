"""How tasks are dealt: to workers that die, lag, or answer twice. No process, and a clock that is told the time."""

import pytest

from qengine.cluster.dealing import deal
from qengine.cluster.engine import Event
from qengine.errors import QueryTimeout, ResourceError


class Scripted:
    """An engine whose workers do what a script says: ``turns`` maps the number of a submission to what becomes of it.

    "die": the worker dies; "hang": nothing comes until it is killed; otherwise the task comes back as its answer.
    """

    name = "scripted"

    def __init__(self, workers, turns=None):
        self.workers, self.turns = workers, turns or {}
        self.given, self.log, self.now = {}, [], 0.0

    def submit(self, worker, task):
        assert worker not in self.given, "the worker is busy"
        self.given[worker] = task, self.turns.get(len(self.log), "answer")
        self.log.append((worker, task))

    def wait(self, seconds):
        self.now += seconds
        ended = [worker for worker, (_, turn) in self.given.items() if turn != "hang"]
        return [Event(worker, task if turn == "answer" else None) for worker, (task, turn) in map(self.take, ended)]

    def take(self, worker):
        return worker, self.given.pop(worker)

    def kill(self, worker):
        self.log.append((worker, "killed"))
        self.given.pop(worker, None)

    def close(self):
        pass


TASKS = [bytes([place]) for place in range(7)]


def dealt(engine, check=lambda: None):
    return deal(engine, TASKS, check, lambda: engine.now)


@pytest.mark.parametrize("workers", [1, 2, 10])
def test_each_task_is_answered_once_and_in_order(workers):
    engine = Scripted(workers)
    assert dealt(engine) == TASKS
    assert sorted(task for _, task in engine.log) == TASKS


@pytest.mark.parametrize("dies", range(7))
def test_what_a_dead_worker_had_is_run_again(dies):
    engine = Scripted(2, {dies: "die"})
    assert dealt(engine) == TASKS
    assert [task for _, task in engine.log].count(TASKS[dies]) == 2
    assert len(engine.log) == 8


def test_all_workers_may_die_now_and_then():
    engine = Scripted(3, dict.fromkeys(range(0, 14, 4), "die"))
    assert dealt(engine) == TASKS


def test_a_task_that_workers_die_of_is_given_up():
    engine = Scripted(1, dict.fromkeys(range(3), "die"))
    with pytest.raises(ResourceError) as raised:
        dealt(engine)
    assert raised.value.code == "WorkerLost"
    assert [task for _, task in engine.log] == [TASKS[0]] * 3


def test_what_lags_is_run_twice_and_the_slower_one_is_killed():
    engine = Scripted(2, {0: "hang"})
    assert dealt(engine) == TASKS
    assert engine.log[-2:] == [(1, TASKS[0]), (0, "killed")]
    assert [task for _, task in engine.log].count(TASKS[0]) == 2


def test_no_third_worker_gets_what_lags():
    engine = Scripted(4, {0: "hang", 7: "hang"})
    looks = []

    def check():
        looks.append(engine.now)
        if engine.now > 60:
            raise QueryTimeout("over", code="Timeout")

    with pytest.raises(QueryTimeout):
        dealt(engine, check)
    assert [task for _, task in engine.log].count(TASKS[0]) == 2
    assert sorted(engine.log[-2:]) == sorted((worker, "killed") for worker, task in engine.log if task == TASKS[0])


def test_who_is_busy_when_the_query_stops_is_killed():
    engine = Scripted(2, {0: "hang"})

    def check():
        raise QueryTimeout("over", code="Timeout")

    with pytest.raises(QueryTimeout):
        dealt(engine, check)
    assert engine.given == {}


def test_a_laggard_that_dies_beside_its_copy_is_not_run_a_third_time():
    engine = Scripted(2, {0: "hang", 7: "answer"})
    original = engine.wait

    def wait(seconds):  # both have the task: the first dies, the second answers
        if len(engine.log) == 8:
            (hanging,) = [worker for worker, (_, turn) in engine.given.items() if turn == "hang"]
            task = engine.given.pop(hanging)[0]
            assert task == TASKS[0]
            return [Event(hanging, None), *original(seconds)]
        return original(seconds)

    engine.wait = wait
    assert dealt(engine) == TASKS
    assert [task for _, task in engine.log].count(TASKS[0]) == 2
