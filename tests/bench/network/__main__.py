"""The command: ``python -m tests.bench.network --size s --engines qengine,duckdb,kuzu``.

It asks each engine all questions about a generated network, compares the answers and prints a table of times, how many
times ours the others take in the geometric mean, and where they are faster.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from pathlib import Path
from typing import Any

from tests.bench.analytics.digest import agree
from tests.bench.analytics.replies import Request, replies
from tests.bench.network.parameters import Parameters
from tests.bench.network.tables import SIZES, prepare
from tests.bench.network.workload import Question, questions
from tests.bench.runner import Limits

OURS = "qengine"
ENGINES = (OURS, "duckdb", "kuzu")
_MODULE = "tests.bench.network.worker"


@dataclass(frozen=True)
class Asked:
    """One question with several values of its parameters: the replies of each engine, one for each."""

    question: Question
    replies: Mapping[str, Sequence[Mapping[str, Any]]]

    def seconds(self, engine: str, measure: str) -> float | None:
        """Return the mean time of an engine; None where one reply has no answer."""
        found = self.replies[engine]
        if any("answer" not in reply for reply in found):
            return None
        return sum(reply[measure] for reply in found) / len(found)

    def reason(self, engine: str) -> str:
        """Return why an engine has no answer, "" where it has."""
        for reply in self.replies[engine]:
            if "answer" not in reply:
                return " ".join(str(part) for part in next(iter(reply.items())))
        return ""

    @property
    def wrong(self) -> list[str]:
        """The engines, but for the first, whose answers differ from the first one's that there are."""
        engines = list(self.replies)
        found = []
        for engine in engines[1:]:
            for one, other in zip(self.replies[engines[0]], self.replies[engine], strict=True):
                if "answer" in one and "answer" in other and not agree(one["answer"], other["answer"]):
                    found.append(engine)
                    break
        return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 1 where an answer differs."""
    options = _options(arguments)
    folder = prepare(options.data, options.size)
    limits = Limits(seconds=options.limit, loading=900.0, repeats=options.repeat)
    parameters = Parameters(folder, options.seed)
    values = [parameters.draw() for _ in range(options.draws)]
    chosen = [each for each in questions() if not options.only or each.name in options.only]
    found: dict[str, dict[str, list[dict[str, Any]]]] = {question.name: {} for question in chosen}
    for engine in options.engines:
        requests = [
            Request(question.name, text, question.exact)
            for question in chosen
            for text in dict.fromkeys(question.text(engine, draw) for draw in values)  # once, where it has no parameter
        ]
        told = replies(_MODULE, engine, requests, folder, limits, options.threads)
        for request, reply in zip(requests, told, strict=True):
            found[request.name].setdefault(engine, []).append(reply)
    asked = [Asked(question, found[question.name]) for question in chosen]
    print(report(asked, options.engines, options.measure))
    return 1 if any(each.wrong for each in asked) else 0


def report(asked: Sequence[Asked], engines: Sequence[str], measure: str) -> str:
    """Return the table in Markdown, then the summary for each engine beside ours."""
    peers = [engine for engine in engines if engine != OURS]
    head = ["", "question", *(f"{engine}, ms" for engine in engines)]
    lines = [f"| {' | '.join(head)} |", f"| {' | '.join('---' for _ in head)} |"]
    for each in asked:
        ours = each.seconds(OURS, measure) if OURS in engines else None
        cells = [_cell(each, engine, measure, ours) for engine in engines]
        lines.append(f"| {each.question.name} | {each.question.title} | {' | '.join(cells)} |")
    lines += ["", *(_summary(asked, peer, measure) for peer in peers if OURS in engines)]
    for each in asked:
        lines += [f"- {each.question.name}, {engine}: {why}" for engine in engines if (why := each.reason(engine))]
        lines += [f"- WRONG: {each.question.name}, {engine}" for engine in each.wrong]
    return "\n".join(lines)


def _cell(asked: Asked, engine: str, measure: str, ours: float | None) -> str:
    seconds = asked.seconds(engine, measure)
    if seconds is None:
        return next(iter(reply for reply in asked.replies[engine] if "answer" not in reply)).get("timeout", "none")
    beside = f" ({seconds / ours:.2g}×)" if ours and engine != OURS else ""
    return f"{1e3 * seconds:.3g}{beside}"


def _summary(asked: Sequence[Asked], peer: str, measure: str) -> str:
    ratios = {}
    for each in asked:
        ours, theirs = each.seconds(OURS, measure), each.seconds(peer, measure)
        if ours and theirs:
            ratios[each.question.name] = theirs / ours
    mean = exp(sum(map(log, ratios.values())) / max(1, len(ratios)))
    slower = sorted((ratio, name) for name, ratio in ratios.items() if ratio < 1)
    told = ", ".join(f"{name} {ratio:.2g}×" for ratio, name in slower) or "none"
    return f"- {peer}: {mean:.3g}× ours in the geometric mean of {len(ratios)} questions; faster than ours: {told}."


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.network", description=main.__doc__)
    add = parser.add_argument
    add("--size", choices=SIZES, default="s", help="of the network (default: s)")
    add("--engines", type=lambda text: text.split(","), default=list(ENGINES), help=f"a,b of {', '.join(ENGINES)}")
    add("--only", type=lambda text: text.split(","), help="a,b: names of questions (default: all)")
    add("--draws", type=int, default=3, help="values of the parameters (default: 3)")
    add("--seed", type=int, default=1, help="of these (default: 1)")
    add("--threads", type=int, default=2, help="of each engine (default: 2)")
    add("--repeat", type=int, default=3, help="runs of which the best counts (default: 3)")
    add("--limit", type=float, default=30.0, help="seconds for one run (default: 30)")
    add("--measure", choices=("seconds", "processor"), default="seconds", help="wall or processor time (default: wall)")
    add("--data", type=Path, default=Path("bench-data"), help="where the tables are kept (default: bench-data)")
    options = parser.parse_args(arguments)
    if unknown := set(options.engines) - set(ENGINES):
        parser.error(f"unknown engine: {', '.join(sorted(unknown))}")
    return options


if __name__ == "__main__":
    sys.exit(main())
