"""Threads of Python that stay when their work is done: starting 15 of them took some milliseconds of each query."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread

from qengine._system import in_forked_child

_Work = Callable[[], None]

_waiting: list[SimpleQueue[_Work]] = []
"""Where threads without work look for some."""


def run_aside(work: _Work) -> None:
    """Let a function, which must not raise, run on a thread of its own; one that has ended others, if there is any."""
    try:
        queue = _waiting.pop()
    except IndexError:
        queue = SimpleQueue()
        Thread(target=_serve, args=(queue,), name="qengine", daemon=True).start()
    queue.put(work)


def _serve(queue: SimpleQueue[_Work]) -> None:
    while True:
        queue.get()()
        _waiting.append(queue)


in_forked_child(_waiting.clear)
