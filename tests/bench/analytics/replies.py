"""An engine's replies to requests, from processes that are replaced when one breaks a limit."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.runner import Limits, Worker


@dataclass(frozen=True)
class Request:
    """A text to run. ``exact``: how many of its answer's first columns are compared as they are."""

    name: str
    text: str
    exact: int


def replies(
    module: str, engine: str, requests: Sequence[Request], folder: Path, limits: Limits, threads: int
) -> list[dict[str, Any]]:
    """Return the fastest of an engine's replies to each request; ``module``: that of the worker.

    A reply has ``seconds``, ``processor`` and ``answer``, or the reason why there is none.
    """
    found: list[dict[str, Any]] = []
    while len(found) < len(requests):
        with Worker((module, engine, str(folder), str(threads)), limits) as worker:
            if "answer" not in worker.loading:
                return [*found, *[worker.loading] * (len(requests) - len(found))]
            while len(found) < len(requests) and worker.is_alive:
                request = requests[len(found)]
                found.append(_best(worker, json.dumps({"text": request.text, "exact": request.exact}), limits.repeats))
                _tell(engine, request, found[-1])
    return found


def _best(worker: Worker, text: str, repeats: int) -> dict[str, Any]:
    best: dict[str, Any] = {}
    for _ in range(repeats):
        reply = worker.run(text)
        if "answer" not in reply:
            return reply
        least = {key: min(reply[key], best.get(key, reply[key])) for key in ("seconds", "processor")}
        best = reply | least
    return best


def _tell(engine: str, request: Request, reply: dict[str, Any]) -> None:
    told = f"{1e3 * reply['seconds']:.3g} ms" if "answer" in reply else str(reply)
    print(f"  {engine} {request.name}: {told}", file=sys.stderr, flush=True)
