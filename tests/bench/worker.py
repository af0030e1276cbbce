"""The process in which one engine runs: ``python -m tests.bench.worker ENGINE SUITE DATA``.

It loads the suite's data set, then reads names of workloads from standard input and runs each once. For the load and
for every run it writes one line of JSON: ``{"seconds": …, "answer": …}``, or ``unsupported`` or ``failed`` with a
reason.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from tests.bench import engines, workloads
from tests.bench.engines.base import UnsupportedWorkloadError


def main(engine_name: str, suite_name: str, data: str) -> None:
    # Engines print to standard output as they like; what belongs to the protocol keeps the real one.
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    suite = workloads.suite(suite_name, Path(data))
    engine = engines.create(engine_name)
    _report(out, lambda: engine.load(suite.dataset))
    for line in sys.stdin:
        workload = suite.workload(line.strip())
        _report(out, lambda workload=workload: engine.run(workload))


def _report(out: TextIO, action: Callable[[], object]) -> None:
    started = time.perf_counter()
    try:
        answer = action()
        reply: dict[str, object] = {"seconds": time.perf_counter() - started, "answer": answer}
    except UnsupportedWorkloadError as error:
        reply = {"unsupported": str(error)}
    except Exception as error:
        reply = {"failed": f"{type(error).__name__}: {error}".splitlines()[0]}
    out.write(json.dumps(reply) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
