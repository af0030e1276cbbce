"""The engine without packages: worker processes of this machine, started anew (``multiprocessing``'s spawn)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from multiprocessing import current_process, get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess

from qengine.cluster.engine import Event
from qengine.cluster.worker import serve
from qengine.errors import ResourceError


class Processes:
    """Worker processes of this machine.

    They are started when they first get a task, and end with this process at the latest. As with all of
    ``multiprocessing``, workers import the script that makes them, so it must do so below
    ``if __name__ == "__main__":``.

    Parameters
    ----------
    serve
        What a process does, with a connection and the path; it must be importable there.

    Raises
    ------
    ResourceError
        ``ScriptNotGuarded`` in a worker that imports a script which makes workers itself.
    """

    name = "processes"

    def __init__(self, path: str, workers: int, serve: Callable[[Connection, str], None] = serve) -> None:
        if getattr(current_process(), "_inheriting", False):  # what multiprocessing itself looks at
            raise ResourceError(
                "A worker imports this script, which opens a cluster again.",
                hint='Put what the script does below if __name__ == "__main__":, functions of your own aside.',
                code="ScriptNotGuarded",
            )
        self.workers = workers
        self._path, self._serve = path, serve
        self._running: dict[int, tuple[SpawnProcess, Connection]] = {}

    def submit(self, worker: int, task: bytes) -> None:
        """Give an idle worker a task; one that has died or was killed is replaced before."""
        _, connection = self._running.get(worker) or self._started(worker)
        with suppress(OSError):  # it has died since its last answer: ``wait`` finds that out
            connection.send_bytes(task)

    def _started(self, worker: int) -> tuple[SpawnProcess, Connection]:
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=self._serve, args=(theirs, self._path), daemon=True, name=f"qengine-{worker}")
        process.start()
        theirs.close()
        self._running[worker] = process, ours
        return process, ours

    def wait(self, seconds: float) -> list[Event]:
        """Return what has become of tasks, each once, after so long at the most."""
        workers = {connection: worker for worker, (_, connection) in self._running.items()}
        events = []
        for ready in wait(list(workers), seconds):
            assert isinstance(ready, Connection)
            worker = workers[ready]
            try:
                events.append(Event(worker, ready.recv_bytes()))
            except (EOFError, OSError):
                self.kill(worker)
                events.append(Event(worker, None))
        return events

    def pid(self, worker: int) -> int | None:
        """Return the id of a worker's process, None where none runs."""
        found = self._running.get(worker)
        return None if found is None else found[0].pid

    def kill(self, worker: int) -> None:
        """End a worker, and what it does."""
        found = self._running.pop(worker, None)
        if found is not None:
            process, connection = found
            connection.close()
            process.kill()
            process.join()

    def close(self) -> None:
        """End all workers."""
        for worker in list(self._running):
            self.kill(worker)
