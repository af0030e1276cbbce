"""What worker processes of tests do instead of ``cluster.worker.serve``. Files beside the graph tell of it."""

import os
import signal
import time
from multiprocessing.connection import Connection
from pathlib import Path

from qengine.cluster.worker import Worker

TIMES = "worker-deaths"
BUSY = "worker-is-busy"


def dying(connection: Connection, path: str) -> None:
    """Answer tasks; as long as the file says so, be killed with a task's answer in hand instead of sending it."""
    worker = Worker(path)
    while True:
        try:
            answer = worker.answer(connection.recv_bytes())
        except EOFError:
            return
        if _one_less(Path(path).parent):
            os.kill(os.getpid(), signal.SIGKILL)
        connection.send_bytes(answer)


def _one_less(folder: Path) -> bool:
    """Take one of the files that stand for a death each; True where there was one."""
    for each in folder.glob(f"{TIMES}-*"):
        try:
            each.unlink()
        except FileNotFoundError:
            continue
        return True
    return False


def hanging(connection: Connection, path: str) -> None:
    """Take a task, tell of it, and never answer."""
    connection.recv_bytes()
    (Path(path).parent / f"{BUSY}-{os.getpid()}").touch()
    while True:
        time.sleep(60)
