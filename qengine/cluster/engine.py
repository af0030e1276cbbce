"""What runs tasks on worker processes: the interface that ``cluster.dealing`` is written for."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Event(NamedTuple):
    """What became of a worker's task: its answer, or None where the worker has died."""

    worker: int
    answer: bytes | None


class Engine(Protocol):
    """Some workers, each of which does one task at a time by ``cluster.worker.Worker.answer``."""

    name: str
    workers: int

    def submit(self, worker: int, task: bytes) -> None:
        """Give an idle worker a task; one that has died or was killed is replaced before."""

    def wait(self, seconds: float) -> list[Event]:
        """Return what has become of tasks, each once, after so long at the most; none of those that were killed."""

    def kill(self, worker: int) -> None:
        """End a worker, and what it does."""

    def close(self) -> None:
        """End all workers."""
