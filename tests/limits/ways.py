"""The ways to ask for a kind's answer, by name: each runs until it has all of it, or until something stops it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from qengine import Graph, Result
from tests.limits.kinds import Kind

Started = Callable[[Result], None]
"""Is told the result that is about to be fetched."""


def _gather(gather: Callable[[Result], Any]) -> Callable[..., None]:
    def run(graph: Graph, kind: Kind, started: Started, **options: Any) -> None:
        result = graph.query(kind.text, kind.values(), **{**kind.options, **options})
        started(result)
        gather(result)

    return run


def _exhaust(rows: Any) -> None:
    deque(rows, maxlen=0)


def _fetch_many(result: Result) -> None:
    while result.fetchmany(1_000):
        pass


def _prepare(graph: Graph, kind: Kind, started: Started, **options: Any) -> None:
    result = graph.query("EXPLAIN " + kind.text, kind.values(), **options)
    started(result)


def _explain(graph: Graph, kind: Kind, started: Started, **options: Any) -> None:
    str(graph.explain(kind.text))


def _script(graph: Graph, kind: Kind, started: Started, **options: Any) -> None:
    for result in graph.script(kind.text, **options):
        result.fetchall()


def _estimate(graph: Graph, kind: Kind, started: Started, **options: Any) -> None:
    graph.estimate(kind.text, kind.values(), **{**kind.options, **options})


def _estimate_all(graph: Graph, kind: Kind, started: Started, **options: Any) -> None:
    graph.estimate_all(kind.text, kind.values(), **{**kind.options, **options})


WAYS: dict[str, Callable[..., None]] = {
    "fetchall": _gather(Result.fetchall),
    "iterate": _gather(_exhaust),
    "fetchmany": _gather(_fetch_many),
    "to_arrow": _gather(Result.to_arrow),
    "to_pandas": _gather(Result.to_pandas),
    "to_reader": _gather(lambda result: result.to_reader().read_all()),
    "prepare": _prepare,
    "explain": _explain,
    "script": _script,
    "estimate": _estimate,
    "estimate_all": _estimate_all,
}

LIMITED = frozenset(WAYS) - {"explain"}
"""Ways that take a timeout and other limits."""


def ask(graph: Graph, kind: Kind, started: Started = lambda result: None, **limits: Any) -> None:
    """Run a kind on its graph; ``started`` is told the result before it is fetched, where there is one."""
    WAYS[kind.by](graph, kind, started, **limits)


_SMALL = (
    "MATCH (a)--(b)--(c) WITH a.id AS i, count(*) AS n ORDER BY n LIMIT 3 RETURN i, toString(n) =~ '1.*' AS t",
    "MATCH p = (a)-[*1..2]->(b) RETURN p, [n IN nodes(p) | n.id] AS l LIMIT 3",
    "MATCH p = shortestPath((a)-[*]->(b)) RETURN p, date('2000-01-01') LIMIT 1",
)


def warm_up(graph: Graph) -> None:
    """Import what queries need, and let the graph count what it counts once."""
    for text in _SMALL:
        graph.query(text).to_pandas()
        graph.query(text).fetchall()
    graph.estimate("MATCH (a)--(b)--(c)", samples=1_000, method="guided")
