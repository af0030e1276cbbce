"""An execution stops when it must, and each native status becomes its error."""

from __future__ import annotations

import ctypes
import math
import signal
import threading
import time
from typing import NoReturn

import pytest

from qengine import _control
from qengine._control import Control, Status
from qengine.errors import InternalError, OutOfMemory, QueryInterrupted, QueryTimeout, ResourceError
from qengine.exec.context import ExecutionContext


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (Status.INTERRUPTED, QueryInterrupted),
        (Status.TIMEOUT, QueryTimeout),
        (Status.OUT_OF_MEMORY, OutOfMemory),
        (Status.OVERFLOW, ResourceError),
        (Status.INVALID, InternalError),
    ],
)
def test_statuses(status: int, error: type[Exception]) -> None:
    with pytest.raises(error):
        ExecutionContext(timeout=3, memory_limit=5).raise_for(status)


def test_ok_raises_nothing() -> None:
    context = ExecutionContext()
    context.raise_for(Status.OK)
    context.check()


def test_timeout_and_interrupt() -> None:
    with pytest.raises(QueryTimeout, match="0 s"):
        ExecutionContext(timeout=0).check()
    context = ExecutionContext(timeout=1000)
    context.check()
    context.interrupt()
    with pytest.raises(QueryInterrupted):
        context.check()


def test_control_holds_the_limits() -> None:
    context = ExecutionContext(timeout=10, memory_limit=1 << 40, threads=3)
    assert (context.threads, context.control.memory_limit) == (3, 1 << 40)
    assert 0 < context.control.deadline_ns - time.monotonic_ns() <= 10_000_000_000
    assert ExecutionContext().threads >= 1
    endless = ExecutionContext(timeout=math.inf, memory_limit=math.inf)  # type: ignore[arg-type]
    assert (endless.control.deadline_ns, endless.memory_limit, endless.control.memory_limit) == (0, None, 0)
    assert ExecutionContext(memory_limit=4e9).control.memory_limit == 4_000_000_000  # type: ignore[arg-type]
    assert ctypes.sizeof(Control) == 48


def test_run_raises_for_the_status() -> None:
    context = ExecutionContext()
    context.run(lambda: Status.OK)
    with pytest.raises(OutOfMemory):
        context.run(lambda: Status.OUT_OF_MEMORY)


def polling(control: Control) -> int:
    """Stand in for a native function that runs until it is stopped."""
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
    while not control.stop:
        time.sleep(0.001)
    return Status.INTERRUPTED


def test_ctrl_c_stops_a_native_call() -> None:
    context = ExecutionContext()
    with pytest.raises(QueryInterrupted):
        context.run(polling, context.control)
    assert context.control.stop == 1


def test_what_a_handler_of_signals_raises_is_passed_on_once_the_native_call_has_ended() -> None:
    """As of ``signal.alarm``: what the call writes to is freed then."""
    ended = []

    def raising(*_: object) -> NoReturn:
        raise TimeoutError("the caller's own")

    def slow_to_stop(control: Control) -> int:
        status = polling(control)
        time.sleep(0.05)
        ended.append(True)
        return status

    context, before = ExecutionContext(), signal.signal(signal.SIGINT, raising)
    try:
        with pytest.raises(TimeoutError, match="own"):
            context.run(slow_to_stop, context.control)
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended and context.control.stop == 1


def test_ctrl_c_pressed_again_waits_for_the_native_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """It writes to arrays that may be freed once it has returned."""
    presses, waited, ended = [KeyboardInterrupt, KeyboardInterrupt], threading.Event(), []

    wait = _control._wait

    def pressed(done: threading.Lock) -> None:
        if not context.control.stop:
            wait(done)
        if presses:
            raise presses.pop()
        waited.set()
        wait(done)

    def slow_to_stop(control: Control) -> int:
        polling(control)
        waited.wait()
        ended.append(True)
        return Status.INTERRUPTED

    context = ExecutionContext()
    monkeypatch.setattr(_control, "_wait", pressed)
    with pytest.raises(QueryInterrupted):
        context.run(slow_to_stop, context.control)
    assert ended


def test_calls_one_after_the_other_have_one_thread() -> None:
    seen: list[int] = []
    context = ExecutionContext()
    for _ in range(20):
        context.run(lambda: seen.append(threading.get_ident()) or 0)
    assert threading.get_ident() not in seen and len(set(seen)) <= 2
    with pytest.raises(ZeroDivisionError):
        context.run(lambda: 1 // 0)
    assert len(seen) == 20


def test_a_call_that_has_not_begun_when_it_is_interrupted_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def interrupted(self: object, work: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_control._Worker, "do", interrupted)
    with pytest.raises(QueryInterrupted):
        ExecutionContext().run(lambda: seen.append(1) or 0)
    assert not seen


def test_run_outside_the_main_thread_calls_directly() -> None:
    seen: list[int] = []

    def outer() -> None:
        ExecutionContext().run(lambda: seen.append(threading.get_ident()) or 0)

    thread = threading.Thread(target=outer)
    thread.start()
    thread.join()
    assert seen == [thread.ident]


def test_memory_that_the_result_fills_is_told_as_the_results() -> None:
    context = ExecutionContext(memory_limit=1000)
    context.check_result(400)
    with pytest.raises(OutOfMemory, match="limit of 1,000 bytes"):
        context.raise_for(Status.OUT_OF_MEMORY)
    context.check_result(600)
    with pytest.raises(OutOfMemory, match="rows of the result take 600 bytes"):
        context.raise_for(Status.OUT_OF_MEMORY)
