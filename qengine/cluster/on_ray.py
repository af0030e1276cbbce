"""The engine on Ray: each worker is an actor, wherever Ray puts it; the folder must be shared by all these places."""

from __future__ import annotations

from typing import Any

import ray

from qengine.cluster.engine import Event
from qengine.cluster.worker import Worker


class RayActors:
    """Actors of the Ray cluster that this process is connected to; else of one that is begun on this machine.

    Parameters
    ----------
    workers
        How many; None: as many as Ray's CPUs are enough for.
    threads
        CPUs of each.
    """

    name = "ray"

    def __init__(self, path: str, workers: int | None, threads: int) -> None:
        if not ray.is_initialized():
            ray.init(include_dashboard=False, log_to_driver=False)
        cpus = int(ray.cluster_resources().get("CPU", 1))
        self.workers = workers or max(1, cpus // threads)
        self._path = path
        self._actor = ray.remote(num_cpus=threads, max_restarts=0)(Worker)
        self._running: dict[int, Any] = {}
        self._given: dict[Any, int] = {}

    def submit(self, worker: int, task: bytes) -> None:
        """Give an idle worker a task; one that has died or was killed is replaced before."""
        if worker not in self._running:
            self._running[worker] = self._actor.remote(self._path)
        self._given[self._running[worker].answer.remote(task)] = worker

    def wait(self, seconds: float) -> list[Event]:
        """Return what has become of tasks, each once, after so long at the most."""
        if not self._given:
            return []
        ready, _ = ray.wait(list(self._given), num_returns=1, timeout=seconds)
        events = []
        for answer in ready:
            worker = self._given.pop(answer)
            try:
                events.append(Event(worker, ray.get(answer)))
            except ray.exceptions.RayActorError:
                self.kill(worker)
                events.append(Event(worker, None))
        return events

    def pid(self, worker: int) -> int | None:
        """Return the id of a worker's process on its machine, None where none runs."""
        if worker not in self._running:
            return None
        return int(ray.get(self._running[worker].__ray_call__.remote(_pid)))

    def kill(self, worker: int) -> None:
        """End a worker, and what it does."""
        actor = self._running.pop(worker, None)
        self._given = {answer: each for answer, each in self._given.items() if each != worker}
        if actor is not None:
            ray.kill(actor, no_restart=True)

    def close(self) -> None:
        """End all workers."""
        for worker in list(self._running):
            self.kill(worker)


def _pid(actor: Worker) -> int:
    import os

    return os.getpid()
