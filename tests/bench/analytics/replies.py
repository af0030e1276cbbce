"""An engine's replies to requests, from processes that are replaced when one breaks a limit."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.bench.runner import Limits, Worker

_GRACE = 5.0
"""Seconds after which a process is ended that a query's limit didn't stop."""


@dataclass(frozen=True)
class Request:
    """A text to run. ``exact``: how many of its answer's first columns are compared as they are."""

    name: str
    text: str
    exact: int


def replies(
    module: str, engine: str, requests: Sequence[Request], folder: Path, limits: Limits, threads: int
) -> Iterator[dict[str, Any]]:
    """Yield the fastest of an engine's replies to each request, which is sent when its reply is asked for.

    ``module``: that of the worker. A reply has ``seconds``, ``processor`` and ``answer``, or the reason why there is
    none.
    """
    place = 0
    while place < len(requests):
        command = (module, engine, str(folder), str(threads))
        with Worker(command, replace(limits, seconds=limits.seconds + _GRACE)) as worker:
            if "answer" not in worker.loading:
                yield from [worker.loading] * (len(requests) - place)
                return
            while place < len(requests) and worker.is_alive:
                reply = _best(worker, requests[place], limits)
                _tell(engine, requests[place], reply)
                place += 1
                yield reply


def _best(worker: Worker, request: Request, limits: Limits) -> dict[str, Any]:
    """Repeat a request until it has taken as long as one run may."""
    text = json.dumps({"text": request.text, "exact": request.exact, "limit": limits.seconds})
    best: dict[str, Any] = {}
    spent = 0.0
    for _ in range(limits.repeats):
        reply = worker.run(text)
        if "answer" not in reply:
            return reply
        spent += reply["seconds"]
        least = {key: min(reply[key], best.get(key, reply[key])) for key in ("seconds", "processor")}
        best = reply | least
        if spent > limits.seconds:
            break
    return best


def _tell(engine: str, request: Request, reply: dict[str, Any]) -> None:
    told = f"{1e3 * reply['seconds']:.3g} ms" if "answer" in reply else str(reply)
    print(f"  {engine} {request.name}: {told}", file=sys.stderr, flush=True)
