"""The procedures that all graphs of scripts have, and the folder that ``LOAD CSV`` reads there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import qengine


def with_procedures(graph: qengine.Graph) -> qengine.Graph:
    """Return a graph that has the procedures of scripts, and may read their files."""
    graph.import_directory = Path(__file__).parent / "files"
    graph.register_procedure("test.words(text :: STRING?) :: (word :: STRING, place :: INTEGER)", _words)
    graph.register_procedure("test.half(number :: FLOAT) :: (half :: FLOAT)", lambda number: [(number / 2,)])
    graph.register_procedure("test.kind(value :: NUMBER?) :: (kind :: STRING)", lambda it: [(type(it).__name__,)])
    graph.register_procedure(
        'test.given(value :: ANY?, times = 2 :: INTEGER, end = "!" :: STRING?) :: (text :: STRING)', _given
    )
    graph.register_procedure("test.nothing(value :: ANY?) :: VOID", lambda value: None)
    graph.register_procedure("test.wrong() :: (number :: INTEGER)", lambda: [{"number": "one"}])
    graph.register_procedure("test.fails() :: (number :: INTEGER)", _fails)
    graph.register_procedure("test.neighbours(of :: NODE) :: (node :: NODE)", _neighbours, reads_graph=True)
    graph.register_procedure("test.count() :: (nodes :: INTEGER)", _count, reads_graph=True)
    return graph


def _given(value: Any, times: int, end: str | None) -> list[tuple[str]]:
    return [(f"{value}" * times + f"{end}",)]


def _words(text: str | None) -> Iterator[tuple[str, int]]:
    for place, word in enumerate((text or "").split()):
        yield word, place


def _fails() -> Iterator[tuple[int]]:
    yield (1,)
    raise ValueError("no more of them")


def _neighbours(graph: qengine.Snapshot, of: qengine.Node) -> Iterator[dict[str, Any]]:
    for (node,) in graph.query("MATCH (n)--(m) WHERE n = $of RETURN DISTINCT m", {"of": of}):
        yield {"node": node}


def _count(graph: qengine.Snapshot) -> list[tuple[int]]:
    return [(graph.query("MATCH () RETURN count(*)").value(),)]
