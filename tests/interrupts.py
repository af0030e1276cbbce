"""Interrupts that reach a query however long it takes to begin: for tests on machines that are busy."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from qengine import Graph


@contextmanager
def interrupting(graph: Graph, seconds: float = 0.2) -> Iterator[None]:
    """Interrupt a graph's queries from another thread, time and again until the block ends."""
    ended = threading.Event()

    def interrupt() -> None:
        while not ended.wait(seconds):  # what does not run yet is not interrupted
            graph.interrupt()

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
