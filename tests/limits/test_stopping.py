"""Every kind of heavy query can be stopped, soon, in every way.

Nothing here depends on time: a query is stopped at a numbered look (``looks``), must then raise after a few looks more,
and the looks must lie close in processor time: 0.1 seconds apart, for which ten times as much is allowed.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import suppress

import pytest

from qengine import Graph, QengineError, QueryInterrupted, QueryTimeout, Result
from qengine.exec.context import ExecutionContext
from tests.limits.graphs import graph
from tests.limits.kinds import KINDS, KINDS_BY_NAME, Kind
from tests.limits.looks import watched
from tests.limits.ways import LIMITED, ask, warm_up

MOST_WORK = 1.0  # seconds of the processor between two looks
MOST_LOOKS = 16  # after the one that stops: those of operators that are closed, and of a few workers
MEMORY = 2_000_000_000

EACH = [
    pytest.param(kind, id=kind.name.replace(" ", "_"), marks=() if kind.quick else pytest.mark.nets) for kind in KINDS
]


@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    for name in {kind.graph for kind in KINDS if kind.quick}:
        warm_up(graph(name))


def stopped(
    kind: Kind,
    at: int,
    error: type[QengineError],
    stop: Callable[[Graph, list[Result], ExecutionContext], None],
) -> None:
    """Run a kind, stop it at a look, and check that it has stopped then."""
    given = graph(kind.graph)
    results: list[Result] = []
    limits: dict[str, int] = {"memory_limit": MEMORY, "threads": 1} if kind.by in LIMITED else {}
    watching = watched(at, lambda context: stop(given, results, context))
    with watching as looks, suppress(QengineError) if kind.clean else pytest.raises(error):
        ask(given, kind, results.append, **limits)
    assert looks.count <= at + MOST_LOOKS
    assert looks.longest <= MOST_WORK, looks.where


@pytest.mark.parametrize("kind", EACH)
def test_interrupt_stops_it(kind: Kind) -> None:
    stopped(kind, 20, QueryInterrupted, lambda given, results, context: given.interrupt())


@pytest.mark.parametrize("kind", EACH)
def test_cancel_stops_it(kind: Kind) -> None:
    def cancel(given: Graph, results: list[Result], context: ExecutionContext) -> None:
        if results:
            results[0].cancel()
        else:  # there is none before it is planned
            context.interrupt()

    stopped(kind, 12, QueryInterrupted, cancel)


@pytest.mark.parametrize("kind", [each for each in EACH if not each.values[0].clean])
def test_its_timeout_stops_it(kind: Kind) -> None:
    """However long the machine takes: without a timeout it would run for minutes."""
    if kind.by not in LIMITED:
        pytest.skip("takes no timeout")
    with pytest.raises(QueryTimeout):
        ask(graph(kind.graph), kind, timeout=0.02, memory_limit=MEMORY, threads=1)


@pytest.mark.parametrize("name", ["path rows", "path rows of trails", "unwind", "comprehension", "long or", "to_arrow"])
def test_ctrl_c_stops_it(name: str) -> None:
    """In the main thread, where Python raises ``KeyboardInterrupt`` between two steps of its own."""
    kind = KINDS_BY_NAME[name]
    stopped(kind, 9, QueryInterrupted, lambda given, results, context: signal.raise_signal(signal.SIGINT))
