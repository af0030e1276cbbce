"""What is done once the device is idle, by a clock of the test's own and without threads."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest

from qengine.exec.gpu import idle as module
from qengine.exec.gpu.idle import WhenIdle


class Waiting:
    """A clock, threads that begin when the test says so, and what happens while they sleep."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        self.started: list[Callable[[], None]] = []
        self.meanwhile: list[Callable[[], None]] = []
        self.acted: list[float] = []
        monkeypatch.setattr(module.threading, "Thread", self.thread)
        self.idle = WhenIdle(lambda: self.acted.append(self.now), 1.0, lambda: self.now, self.sleep)

    def thread(self, target: Callable[[], None], **_: object) -> SimpleNamespace:
        return SimpleNamespace(start=lambda: self.started.append(target))

    def sleep(self, seconds: float) -> None:
        if self.meanwhile:
            self.meanwhile.pop(0)()
        self.now += seconds


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> Waiting:
    return Waiting(monkeypatch)


def test_it_acts_once_nothing_was_under_way_for_a_while(waiting: Waiting) -> None:
    with waiting.idle:
        assert not waiting.started
    with waiting.idle:  # the thread waits already
        pass
    assert len(waiting.started) == 1
    waiting.started.pop()()
    assert waiting.acted == [101.0]
    with waiting.idle:
        pass
    waiting.started.pop()()
    assert waiting.acted == [101.0, 102.0]


def test_what_comes_meanwhile_puts_it_off(waiting: Waiting) -> None:
    def another() -> None:
        waiting.now += 0.5
        with waiting.idle:
            pass

    with waiting.idle:
        pass
    waiting.meanwhile = [another]
    waiting.started.pop()()
    assert waiting.acted == [101.5] and not waiting.started


def test_it_waits_as_long_as_something_is_under_way(waiting: Waiting) -> None:
    with waiting.idle:
        pass
    waiting.idle.__enter__()
    waiting.meanwhile = [lambda: None, lambda: None, waiting.idle.__exit__]
    waiting.started.pop()()
    assert waiting.acted == [103.0]  # the end was noted a second before
