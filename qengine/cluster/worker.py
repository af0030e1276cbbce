"""A worker: opens the saved graph once, and answers tasks. Tasks and answers are bytes, whatever carries them."""

from __future__ import annotations

import hashlib
import os
import pickle
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from qengine._frozen import frozen
from qengine.cluster.wire import encoded
from qengine.errors import QengineError, StorageError
from qengine.exec.common.batch import Batch, concatenate_batches
from qengine.exec.common.pipeline import continuing
from qengine.exec.context import ExecutionContext
from qengine.graph import Graph
from qengine.plan.logical import Operator
from qengine.remote.places import place_of
from qengine.storage.directory import MANIFEST

Version = tuple[str, int]
"""Which graph a folder holds: a digest of its manifest, and how many commits follow it."""


@frozen
class Task:
    """A part of a query: operators over ``Unit``, parameters, and limits.

    ``seconds``: what is left of the time, None where that isn't limited. ``version``: of the graph that was planned
    for.
    """

    root: Operator
    parameters: dict[str, Any]
    seconds: float | None
    memory_limit: int | None
    spill_directory: str | None
    threads: int
    version: Version


@frozen
class Answer:
    """What a task gave: rows as ``wire.encoded`` made of them (None: there are none), or its error."""

    rows: bytes | None
    error: QengineError | None = None
    bytes: int = 0


def open_version(path: str | os.PathLike[str]) -> tuple[Graph, Version]:
    """Open a saved graph to read it, and tell which it is; ``path``: a folder, or an address as for ``Graph.open``.

    Raises
    ------
    StorageError
        As ``Graph.open``.
    """
    from qengine.write.open_folder import open_folder

    if (place := place_of(path)) is not None:
        from qengine.remote.graphs import downloaded

        path = downloaded(place)
    while True:
        before = _digest(path)
        store, commits, folder = open_folder(path, read_only=True)
        if before == _digest(path):
            return Graph._opened(store, commits, folder), (before, len(commits))
        folder.close()


def _digest(path: str | os.PathLike[str]) -> str:
    try:
        return hashlib.sha256((Path(path) / MANIFEST).read_bytes()).hexdigest()
    except OSError:
        return ""  # opening tells what is wrong


class Worker:
    """Answers tasks over the graph saved at ``path``, which is opened for the first of them."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._opened: tuple[Graph, Version] | None = None

    def answer(self, data: bytes) -> bytes:
        """Return the pickled ``Answer`` to a pickled ``Task``."""
        task = pickle.loads(data)
        try:
            answer = self._run(task)
        except QengineError as error:
            answer = Answer(None, error)
        return pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)

    def _run(self, task: Task) -> Answer:
        context = ExecutionContext(
            task.parameters, task.seconds, task.memory_limit, task.threads, None, task.spill_directory
        )
        if self._opened is None:
            self._opened = open_version(self._path)
        graph, version = self._opened
        if version != task.version:
            self._opened = None
            raise StorageError(
                f"{self._path}: the graph was changed since the cluster was opened.", hint="Open the cluster again."
            )
        found = list(continuing(task.root, graph._store, context)(Batch(1, {})))
        if not found:
            return Answer(None, bytes=context.memory_peak)
        return Answer(encoded(concatenate_batches(found)), bytes=context.memory_peak)


def serve(connection: Connection, path: str) -> None:
    """Do what the worker process of a graph does."""
    answer_tasks(connection, Worker(path).answer)


def answer_tasks(connection: Connection, answer: Callable[[bytes], bytes]) -> None:
    """Answer the tasks that come by a connection until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal's Ctrl-C who asked tells, by killing
    while True:
        try:
            task = connection.recv_bytes()
        except (EOFError, OSError):
            return
        connection.send_bytes(answer(task))
