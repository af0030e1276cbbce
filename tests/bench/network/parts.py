"""Where the time of the questions goes: ``python -m tests.bench.network.parts --size s``.

Each is asked of ours and of DuckDB by turns in one process: as an unseen text, of which planning is told apart, and
once more with the plan that is kept then. Processor time of all threads in milliseconds, the best of some runs, the
mean of the draws of parameters; what DuckDB is fastest on beside ours comes first.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import exp, log
from pathlib import Path
from typing import Any

from qengine import Graph
from qengine.statements import Statements
from tests.bench.analytics.digest import agree, digest
from tests.bench.network.loading import into_duckdb
from tests.bench.network.parameters import Parameters
from tests.bench.network.tables import SIZES, prepare
from tests.bench.network.workload import Question, questions

_THREADS = 2


@dataclass(frozen=True)
class Parts:
    """The times of a question: an unseen text, its planning, a run with a kept plan, the peer's; whether all agreed."""

    question: Question
    unseen: float
    planning: float
    kept: float
    peer: float
    agreed: bool

    @property
    def ratio(self) -> float:
        """How many times ours the peer takes."""
        return self.peer / self.unseen


class Clock:
    """Counts the time of planning."""

    def __init__(self) -> None:
        self.spent = 0.0
        real = Statements.plan

        def plan(statements: Statements, *arguments: Any, **named: Any) -> Any:
            begin = time.process_time()
            try:
                return real(statements, *arguments, **named)
            finally:
                self.spent += time.process_time() - begin

        Statements.plan = plan  # type: ignore[method-assign]


def measured(folder: Path, draws: int, repeats: int, only: Sequence[str], seed: int) -> Iterator[Parts]:
    """Ask all questions, or some."""
    graph, connection, clock = Graph.from_parquet(folder), into_duckdb(folder, _THREADS), Clock()
    parameters = Parameters(folder, seed)
    values, runs = [parameters.draw() for _ in range(draws)], 0
    for question in questions():
        if only and question.name not in only:
            continue
        sums, agreed = [0.0] * 4, True
        for draw in values:
            text, sql = question.text("qengine", draw), question.text("duckdb", draw)
            best = [float("inf")] * 4
            for _ in range(repeats):
                runs, clock.spent = runs + 1, 0.0
                ask = partial(_ours, graph, f"{text} // run {runs}")
                first, ours = _spent(ask)
                if first < best[0]:
                    best[:2] = first, clock.spent
                best[2] = min(best[2], _spent(ask)[0])
                took, theirs = _spent(partial(_theirs, connection, sql))
                best[3] = min(best[3], took)
            sums = [one + other / draws for one, other in zip(sums, best, strict=True)]
            agreed = agreed and agree(digest(ours, question.exact), digest(theirs, question.exact))
        yield Parts(question, *(1e3 * each for each in sums), agreed)


def _ours(graph: Graph, text: str) -> Any:
    return graph.query(text, threads=_THREADS).to_arrow()


def _theirs(connection: Any, sql: str) -> Any:
    return connection.sql(sql).to_arrow_table()


def _spent(ask: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.process_time()
    found = ask()
    return time.process_time() - begin, found


def report(found: Sequence[Parts]) -> Iterator[str]:
    """Give the lines of a table in Markdown, and a summary."""
    yield "| | question | all | plan | first | kept | DuckDB | |\n|---|---|---|---|---|---|---|---|"
    for each in sorted(found, key=lambda each: each.ratio):
        first = max(each.unseen - each.planning - each.kept, 0.0)
        times = f"{each.unseen:.3g} | {each.planning:.3g} | {first:.2g} | {each.kept:.3g} | {each.peer:.3g}"
        wrong = "" if each.agreed else " WRONG"
        yield f"| {each.question.name} | {each.question.title} | {times} | {each.ratio:.2g}×{wrong} |"
    mean = exp(sum(log(each.ratio) for each in found) / len(found))
    slower = sum(each.ratio < 1 for each in found)
    planning, whole = (sum(getattr(each, name) for each in found) for name in ("planning", "unseen"))
    yield f"\nDuckDB takes {mean:.3g}× our time in the geometric mean of {len(found)}, and is faster on {slower};"
    yield f"{planning:.0f} of {whole:.0f} ms are planning."


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.network.parts", description=__doc__)
    add = parser.add_argument
    add("--size", choices=SIZES, default="s", help="of the network (default: s)")
    add("--draws", type=int, default=2, help="values of the parameters (default: 2)")
    add("--repeat", type=int, default=5, help="runs of which the best counts (default: 5)")
    add("--only", type=lambda text: text.split(","), default=(), help="a,b: names of questions (default: all)")
    add("--seed", type=int, default=1, help="of the parameters (default: 1)")
    add("--data", type=Path, default=Path("bench-data"), help="where the tables are kept (default: bench-data)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    folder = prepare(options.data, options.size)
    found = list(measured(folder, options.draws, options.repeat, options.only, options.seed))
    print("\n".join(report(found)))


if __name__ == "__main__":
    main()
