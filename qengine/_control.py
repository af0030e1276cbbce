"""How Python and native functions that may take long speak to each other: status, control block, Ctrl-C."""

from __future__ import annotations

import ctypes
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, ClassVar

from qengine._system import in_forked_child

_SECONDS = 0.05  # between two looks whether Ctrl-C was pressed


class Status:
    """What a native function returns (``qe::Status``)."""

    OK = 0
    INTERRUPTED = 1
    TIMEOUT = 2
    OUT_OF_MEMORY = 3
    OVERFLOW = 4
    INVALID = 5


class Control(ctypes.Structure):
    """Mirror of ``qe::Control``: Python writes ``stop``, kernels poll it; kernels write the counters.

    ``looks``: how often kernels have looked whether to stop. ``stop_at``: the look that sets ``stop``, 0 for none.
    """

    _fields_ = (
        ("stop", ctypes.c_int32),
        ("threads", ctypes.c_int32),
        ("deadline_ns", ctypes.c_int64),
        ("memory_limit", ctypes.c_int64),
        ("memory_used", ctypes.c_int64),
        ("looks", ctypes.c_int64),
        ("stop_at", ctypes.c_int64),
    )


def call(control: Control, function: Callable[..., int], *args: Any) -> int:
    """Call a native function that may take long, and return its status.

    Python handles signals in its main thread, between two steps of Python code. So a call from the main thread
    runs on a worker, which the next call finds waiting: Ctrl-C sets ``control.stop``, which the function polls, and the
    wait for it is short. So does whatever else a handler of signals raises, as of ``signal.alarm``, and is passed on.

    Parameters
    ----------
    control
        Is among ``args``, or known to the function.
    function
        Returns a status. What it writes to must live as long as it does: ``args``, or what it holds itself.
    """
    if threading.current_thread() is not threading.main_thread():
        return function(*args)
    outcome: list[int | BaseException] = []
    begun, done = threading.Lock(), threading.Lock()
    done.acquire()

    def work() -> None:
        try:
            outcome.append(function(*args) if begun.acquire(blocking=False) else Status.INTERRUPTED)
        except BaseException as error:
            outcome.append(error)
        finally:
            done.release()

    try:
        _Worker.waiting().do(work)
        _wait(done)
    except BaseException as error:
        control.stop = 1
        while not outcome:  # it writes to what is freed once this has ended
            with suppress(BaseException):
                if begun.acquire(blocking=False):  # it won't begin any more
                    break
                _wait(done)
        if not isinstance(error, KeyboardInterrupt):
            raise
        return Status.INTERRUPTED
    (status,) = outcome
    if isinstance(status, BaseException):
        raise status
    return status


def _wait(done: threading.Lock) -> None:
    """Wait until another thread lets go of a lock.

    A signal that comes in just before the wait doesn't end it, so that it is looked for from time to time.
    """
    while not done.acquire(timeout=_SECONDS):
        pass


class _Worker:
    """A thread that does one thing after the other, and waits in between: a new one takes four times as long."""

    _idle: ClassVar[deque[_Worker]] = deque()

    def __init__(self) -> None:
        self._given: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        threading.Thread(target=self._serve, name="qengine", daemon=True).start()

    @classmethod
    def waiting(cls) -> _Worker:
        """Return one that has nothing to do, and that nobody else gets."""
        try:
            return cls._idle.pop()
        except IndexError:
            return cls()

    @classmethod
    def forget(cls) -> None:
        """Forget those that wait: a forked process has none of them."""
        cls._idle.clear()

    def do(self, work: Callable[[], None]) -> None:
        """Let it do something, which raises nothing."""
        self._given.put(work)

    def _serve(self) -> None:
        while (work := self._given.get()) is not None:
            work()
            del work
            self._rest()

    def _rest(self) -> None:
        """Wait for more, or end where another one waits already."""
        if self._idle:
            self._given.put(None)
        else:
            self._idle.append(self)


in_forked_child(_Worker.forget)
