"""How Python and native functions that may take long speak to each other: status, control block, Ctrl-C."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import Any

__all__ = ["Control", "Status", "call"]


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

    Python handles Ctrl-C in its main thread, between two steps of Python code. So a call from the main thread
    runs on a worker: Ctrl-C sets ``control.stop``, which the function polls, and the wait for it is short.

    Parameters
    ----------
    control
        Is among ``args``, or known to the function.
    function
        Returns a status. What it writes to must live as long as it does: ``args``, or what it holds itself.
    """
    if threading.current_thread() is not threading.main_thread():
        return function(*args)
    outcome: Future[int] = Future()

    def work() -> None:
        if not outcome.set_running_or_notify_cancel():
            return
        try:
            outcome.set_result(function(*args))
        except BaseException as error:
            outcome.set_exception(error)

    try:
        threading.Thread(target=work, name="qengine", daemon=True).start()
        return outcome.result()
    except KeyboardInterrupt:
        control.stop = 1
        while not outcome.done():  # it writes to what is freed once this has returned
            with suppress(KeyboardInterrupt):
                if not outcome.cancel():  # it has begun
                    wait((outcome,))
        return Status.INTERRUPTED
