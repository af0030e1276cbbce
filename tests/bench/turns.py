"""Whether a change makes anything slower: two checkouts run the same workloads by turns, one run each.

``python -m tests.bench.turns BEFORE --suite NAME …``: BEFORE is a checkout of the code before the change, with its
native library built. A machine whose speed changes from minute to minute changes for both: what is compared are two
runs that follow each other, and the median of their ratios counts. Answers are compared, too.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from pathlib import Path
from typing import Any

from tests.bench import datasets, workloads
from tests.bench.report import duration, markdown
from tests.bench.runner import Limits, Worker, engine_command
from tests.bench.workloads import Load, Workload

_CHECKOUT = Path(__file__).resolve().parents[2]
_SHORT = 0.02  # seconds: what takes less runs several times in a turn, and the fastest counts
_MOST_RUNS = 5


def main() -> int:
    """Print the ratio of each workload's time now to before; fail where one is over the limit or answers differ."""
    options = _options()
    limits = Limits()
    problems: list[str] = []
    for name in options.suite:
        suite = workloads.suite(name, options.data)
        if options.only:
            suite = suite.only(options.only.split(","))
        datasets.prepare(suite.dataset)
        pythons = [options.python or sys.executable, sys.executable]
        places = [options.before.resolve(), _CHECKOUT]
        rows, ratios = [], []
        workers = [
            Worker(engine_command(options.engine, name, options.data), limits, place, python)
            for place, python in zip(places, pythons, strict=True)
        ]
        with workers[0] as before, workers[1] as now:
            for workload in suite.workloads:
                if isinstance(workload, Load):
                    continue
                pairs = [(_run(before, workload), _run(now, workload)) for _ in range(options.turns)]
                answers = {answer for pair in pairs for _, answer in pair}
                if len(answers) > 1:
                    problems.append(f"WRONG ANSWER: {name}, {workload.name}: {', '.join(answers)}")
                ratio = statistics.median(after / first for (first, _), (after, _) in pairs)
                ratios.append(ratio)
                least = [duration(min(seconds for seconds, _ in runs)) for runs in zip(*pairs, strict=True)]
                rows.append([workload.name, *least, f"{ratio:.3f}"])
                if ratio > options.most:
                    problems.append(f"SLOWER: {name}, {workload.name}: {ratio:.3f}")
        if not ratios:
            continue
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        print(
            f"### {name}\n\n{markdown(['workload', 'before', 'now', 'ratio'], rows)}\n\ngeometric mean {mean:.3f}\n",
            flush=True,
        )
    for line in problems:
        print(line, file=sys.stderr)
    return 1 if problems else 0


def _run(worker: Worker, workload: Workload) -> tuple[float, str]:
    """Return the seconds of a run, of a short one the least of five, and the answer.

    Raises
    ------
    RuntimeError
        If there is no answer.
    """
    replies: list[dict[str, Any]] = [worker.loading] if "answer" not in worker.loading else []
    while len(replies) < _MOST_RUNS and all("answer" in reply for reply in replies):
        replies.append(worker.run(workload.name))
        if replies[-1].get("seconds", math.inf) > _SHORT:
            break
    if "answer" not in replies[-1]:
        raise RuntimeError(f"{workload.name}: {replies[-1]}")
    return min(float(reply["seconds"]) for reply in replies), repr(replies[-1]["answer"])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.turns", description=main.__doc__)
    parser.add_argument("before", type=Path, help="the other checkout")
    parser.add_argument("--python", help="the other checkout's interpreter (default: this one)")
    parser.add_argument("--suite", action="append", choices=workloads.SUITES, required=True, help="may be repeated")
    parser.add_argument("--only", help="workloads of the suites, a,b; default: all of them")
    parser.add_argument("--engine", default="qengine", choices=("qengine", "qengine-prepared"))
    parser.add_argument("--turns", type=int, default=7, help="runs of each (default: 7)")
    parser.add_argument("--most", type=float, default=1.10, help="the ratio that is still no failure (default: 1.1)")
    parser.add_argument("--data", type=Path, default=_CHECKOUT / "bench-data", help="folder of the generated graphs")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
