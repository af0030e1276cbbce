"""An engine without processes: tasks are answered one after the other where they are waited for."""

from qengine.cluster.engine import Event
from qengine.cluster.worker import Worker


class Inline:
    """Workers of this process. ``tasks``: how many were answered."""

    name = "inline"

    def __init__(self, path, workers=3):
        self.workers, self.tasks = workers, 0
        self._workers = [Worker(str(path)) for _ in range(workers)]
        self._given = {}

    def submit(self, worker, task):
        self._given[worker] = task

    def wait(self, seconds):
        given, self._given = self._given, {}
        self.tasks += len(given)
        return [
            Event(worker, self._workers[worker].answer(task)) for worker, task in sorted(given.items(), reverse=True)
        ]

    def kill(self, worker):
        self._given.pop(worker, None)

    def close(self):
        pass
