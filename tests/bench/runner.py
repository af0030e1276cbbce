"""Runs a suite on engines, each in its own process with a time limit and a cap on its memory.

The failure of one engine on one workload is a cell of the table: the process is replaced and the next workload runs.
"""

from __future__ import annotations

import json
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.bench.cells import Cell, Status
from tests.bench.workloads import Load, Suite, Workload

_CHECKOUT = Path(__file__).resolve().parents[2]
_POLL_SECONDS = 0.02
_LEAST_SECONDS = 0.5
_MEMORY_WORDS = ("memory", "bad_alloc", "Buffer manager exception", "MemoryError")


@dataclass(frozen=True)
class Limits:
    """What a run may take.

    Attributes
    ----------
    seconds
        For one run.
    loading
        Seconds for loading; None for four times those of a run.
    bytes
        Resident memory of the engine's process.
    repeats
        Runs of which the fastest counts; short ones are repeated until half a second has been spent on them.
    patience
        Seconds after which a workload is not repeated any more.
    """

    seconds: float = 45.0
    loading: float | None = None
    bytes: int = 12 << 30
    repeats: int = 3
    patience: float = 10.0


class Worker:
    """A process that answers each line with a line of JSON, the first by itself; leaving the context ends it."""

    def __init__(
        self,
        command: Sequence[str],
        limits: Limits,
        checkout: Path = _CHECKOUT,
        python: str = sys.executable,
    ) -> None:
        """``command``: a module of the checkout and its arguments."""
        self._limits = limits
        self._process = subprocess.Popen(
            [python, "-m", *command],
            cwd=checkout,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.loading = self._reply(4 * limits.seconds if limits.loading is None else limits.loading)

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def run(self, request: str) -> dict[str, Any]:
        """Send a line and return the reply; a process that broke a limit is gone afterwards."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{request}\n".encode())
        self._process.stdin.flush()
        return self._reply(self._limits.seconds)

    def _reply(self, seconds: float) -> dict[str, Any]:
        assert self._process.stdout is not None
        deadline = time.monotonic() + seconds
        while not select.select([self._process.stdout], [], [], _POLL_SECONDS)[0]:
            if time.monotonic() > deadline:
                return self._end({"timeout": f"> {seconds:g} s"})
            if _resident_bytes(self._process.pid) > self._limits.bytes:
                return self._end({"memory": f"> {self._limits.bytes >> 30} GiB"})
        line = self._process.stdout.readline()
        if not line:
            return self._end({"failed": f"the process ended with status {self._process.wait()}"})
        reply: dict[str, Any] = json.loads(line)
        return reply

    def _end(self, reply: dict[str, Any]) -> dict[str, Any]:
        self._process.kill()
        self._process.wait()
        return reply


def engine_command(engine: str, suite: str, data: Path) -> tuple[str, ...]:
    """Return the command of the process that runs an engine on a suite."""
    return "tests.bench.worker", engine, suite, str(data)


def reply_status(reply: Mapping[str, Any]) -> tuple[Status, str]:
    """Return what a worker's reply without an answer means, and its reason."""
    kind, detail = next(iter(reply.items()))
    status = Status(kind)
    if status is Status.FAILED and any(word in detail for word in _MEMORY_WORDS):
        status = Status.MEMORY
    return status, detail


def run_suite(
    suite: Suite, engines: Sequence[str], data: Path, limits: Limits, tell: Callable[[Cell], None]
) -> list[Cell]:
    """Run every workload of a suite on every engine; ``tell`` hears of each cell as it is known."""
    cells = []
    for engine in engines:
        for cell in _run_engine(suite, engine, data, limits):
            tell(cell)
            cells.append(cell)
    return cells


def _run_engine(suite: Suite, engine: str, data: Path, limits: Limits) -> Iterator[Cell]:
    remaining = list(suite.workloads)
    while remaining:
        with Worker(engine_command(engine, suite.name, data), limits) as worker:
            if "answer" not in worker.loading:
                yield from (_cell(engine, workload, [worker.loading]) for workload in remaining)
                return
            while remaining and worker.is_alive:
                workload = remaining.pop(0)
                if isinstance(workload, Load):
                    yield _load_cell(suite, engine, data, limits, worker)
                else:
                    yield _cell(engine, workload, _repeat(worker, workload, limits))


def _repeat(worker: Worker, workload: Workload, limits: Limits) -> list[dict[str, Any]]:
    replies: list[dict[str, Any]] = []
    started = time.monotonic()
    while True:
        replies.append(worker.run(workload.name))
        spent = time.monotonic() - started
        enough = len(replies) >= limits.repeats and (limits.repeats == 1 or spent > _LEAST_SECONDS)
        if enough or spent > limits.patience or "answer" not in replies[-1]:
            return replies


def _load_cell(suite: Suite, engine: str, data: Path, limits: Limits, worker: Worker) -> Cell:
    """Time the load in fresh processes; the answer comes from a query on what was loaded."""
    replies = [worker.run(Load().name)]
    if "answer" in replies[0]:
        answer, seconds = replies[0]["answer"], [worker.loading["seconds"]]
        while len(seconds) < limits.repeats:
            with Worker(engine_command(engine, suite.name, data), limits) as fresh:
                seconds.append(fresh.loading["seconds"])
        replies = [{"answer": answer, "seconds": value} for value in seconds]
    return _cell(engine, Load(), replies)


def _cell(engine: str, workload: Workload, replies: list[dict[str, Any]]) -> Cell:
    """Make one cell of the replies to the repeats of one workload."""
    last = replies[-1]
    if "answer" in last and len({repr(reply.get("answer")) for reply in replies}) > 1:
        last = {"failed": "the answers of the repeats differ"}
    if "answer" in last:
        seconds = min(reply["seconds"] for reply in replies)
        return Cell(engine, workload.name, Status.OK, last["answer"], seconds)
    status, detail = reply_status(last)
    return Cell(engine, workload.name, status, detail=detail)


def _resident_bytes(pid: int) -> int:
    try:
        pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    except (FileNotFoundError, IndexError):
        return 0
    return int(pages) * 4096
