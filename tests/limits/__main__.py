"""Measures on an idle machine how late each kind of query stops: ``python -m tests.limits [--how HOW] [NAME ...]``.

Each kind runs in a process of its own, with limited memory. Printed, the latest last: how many milliseconds after its
timeout, or after it was told to stop, the call has raised, how much of it was processor time, and what it has raised.
"""

from __future__ import annotations

import argparse
import os
import pickle
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from qengine import Graph, QengineError, Result
from tests.limits.graphs import graph
from tests.limits.kinds import KINDS, Kind
from tests.limits.ways import LIMITED, ask, warm_up

_HOWS = ("timeout", "interrupt", "cancel", "ctrl-c")
_PATIENCE = 15.0  # seconds after which a kind counts as one that can't be stopped
_MEMORY = 6 << 30
_LIMIT = 2_000_000_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a kind ended, and how many seconds, and seconds of the processor, after it had to; 0 where it was earlier."""

    kind: str
    how: str
    late: float
    work: float
    end: str

    def __str__(self) -> str:
        return f"{self.late * 1e3:7.0f} ms {self.work * 1e3:7.0f} ms  {self.how:9s} {self.kind:26s} {self.end}"


def measure(kind: Kind, given: Graph, how: str, seconds: float) -> Outcome:
    """Run a kind, stop it after some seconds, and tell how late it stopped."""
    results: list[Result] = []
    due: list[tuple[float, float]] = []
    ended = threading.Event()
    actions: dict[str, Callable[[], None]] = {
        "timeout": lambda: None if kind.by in LIMITED else given.interrupt(),
        "interrupt": given.interrupt,
        "cancel": lambda: results[0].cancel() if results else given.interrupt(),
        "ctrl-c": lambda: os.kill(os.getpid(), signal.SIGINT),
    }

    def stop() -> None:
        if not ended.wait(seconds):
            due.append((time.perf_counter(), time.process_time()))
            actions[how]()

    limits: dict[str, Any] = {"memory_limit": _LIMIT, "threads": 1} if kind.by in LIMITED else {}
    if how == "timeout" and limits:
        limits["timeout"] = seconds
    watcher = threading.Thread(target=stop)
    watcher.start()
    try:
        ask(given, kind, results.append, **limits)
        end = "finished"
    except (QengineError, MemoryError, KeyboardInterrupt) as error:
        end = f"{type(error).__name__}: {str(error).splitlines()[0][:70] if str(error) else ''}"
    except BaseException as error:
        end = f"RAW {type(error).__name__}: {error}"
    done, work = time.perf_counter(), time.process_time()
    ended.set()
    watcher.join()
    return Outcome(kind.name, how, done - due[0][0] if due else 0.0, work - due[0][1] if due else 0.0, end)


def in_child(kind: Kind, how: str, seconds: float) -> Outcome:
    """Return what ``measure`` tells, from a process of its own."""
    given = graph(kind.graph)
    warm_up(given)
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            os.write(writer, pickle.dumps(measure(kind, given, how, seconds)))
        finally:
            os._exit(0)
    os.close(writer)
    begin = time.monotonic()
    while not os.waitpid(child, os.WNOHANG)[0]:
        time.sleep(0.01)
        if time.monotonic() - begin > seconds + _PATIENCE:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return Outcome(kind.name, how, _PATIENCE, _PATIENCE, "KILLED")
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read()
    return pickle.loads(said) if said else Outcome(kind.name, how, 0.0, 0.0, "DIED")


def main() -> None:
    """Measure the kinds that are named, or all of them."""
    parser = argparse.ArgumentParser(prog="python -m tests.limits", description=__doc__)
    parser.add_argument("--how", action="append", choices=_HOWS, help="what stops them (default: timeout)")
    parser.add_argument("--at", type=float, default=0.5, metavar="SECONDS", help="when (default: 0.5)")
    parser.add_argument("name", nargs="*", help="kinds; all without")
    options = parser.parse_args()
    found = []
    for kind in KINDS:
        if options.name and kind.name not in options.name:
            continue
        for how in options.how or ["timeout"]:
            outcome = in_child(kind, how, options.at)
            found.append(outcome)
            print(outcome, flush=True)
    print("\nlatest:")
    for outcome in sorted(found, key=lambda each: each.work)[-25:]:
        print(outcome)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
