"""Runs queries in a process for each kind of the graph, each query under a time limit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.bench.atlas.graphs import Kind
from tests.bench.atlas.suites import Query
from tests.bench.cells import Status
from tests.bench.runner import Limits, Worker, reply_status

REPEATS = 3
_LOADING = 900.0
"""Seconds for drawing and loading a graph, R-MAT 20 on a busy machine among them."""
_GRACE = 10.0
"""Seconds after its limit in which a query must have stopped by itself; later its process is ended."""

Reply = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One query on one graph.

    Attributes
    ----------
    pattern, shape, form, semantics
        What was counted.
    rows, count
        Of the result, and the sum of its counts; None unless the status is OK.
    milliseconds
        Of all runs from text to the last row; the first one plans.
    way
        The operators that match, in lower case; empty where the plan is not known.
    detail
        Why there is no count.
    check
        What the count was compared with; WRONG where something differs.
    """

    graph: str
    kind: Kind
    device: str
    text: str
    pattern: str
    shape: str
    form: str
    semantics: str
    status: Status = Status.FAILED
    rows: int | None = None
    count: int | None = None
    milliseconds: tuple[float, ...] = ()
    way: str = ""
    detail: str = ""
    check: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return self.kind, self.text

    @property
    def best(self) -> float:
        """The least of the runs after the first (of one, where there are no others); infinite without an answer."""
        if self.status is not Status.OK:
            return float("inf")
        return min(self.milliseconds[1:] or self.milliseconds)

    @property
    def is_overflow(self) -> bool:
        """Whether the count was refused because it exceeds 64 bits."""
        return "CountOverflow" in self.detail

    @property
    def is_wrong(self) -> bool:
        return "WRONG" in self.check


@dataclass(frozen=True)
class Place:
    """Where queries run: the graph by its name, the device, and what they may take there."""

    graph: str
    device: str
    limit: float
    memory: int

    def limits(self) -> Limits:
        return Limits(seconds=self.limit + _GRACE, loading=_LOADING, bytes=self.memory)


def run(queries: Sequence[Query], place: Place, *, hint: str = "", repeats: int = REPEATS) -> Iterator[Cell]:
    """Run queries, a kind of the graph at a time.

    Parameters
    ----------
    hint
        Stands before each text; cells bear the texts without it.
    repeats
        Runs after the first, as long as all together stay within the limit.
    """
    for kind in dict.fromkeys(query.kind for query in queries):
        remaining = [query for query in queries if query.kind is kind]
        while remaining:
            with Worker(("tests.bench.atlas.worker", place.graph, kind, place.device), place.limits()) as worker:
                if "answer" not in worker.loading:
                    yield from (_cell(query, place, [worker.loading]) for query in remaining)
                    break
                while remaining and worker.is_alive:
                    query = remaining.pop(0)
                    text = f"/*+ {hint} */ {query.text}" if hint else query.text
                    yield _cell(query, place, _replies(worker, text, place.limit, repeats))


def _replies(worker: Worker, text: str, limit: float, repeats: int) -> list[Reply]:
    request = json.dumps({"text": text, "timeout": limit})
    replies = [worker.run(request)]
    seconds = 0.0
    while "answer" in replies[-1] and len(replies) <= repeats:
        seconds += replies[-1]["seconds"]
        if seconds > limit:
            break
        replies.append(worker.run(request))
    return replies


def _cell(query: Query, place: Place, replies: Sequence[Reply]) -> Cell:
    pattern, first = query.pattern, replies[0]
    cell = Cell(
        graph=place.graph,
        kind=query.kind,
        device=place.device,
        text=query.text,
        pattern=pattern.name,
        shape=pattern.key,
        form=query.form_by,
        semantics=query.semantics,
    )
    if "answer" not in first:
        status, detail = reply_status(first)
        return replace(cell, status=status, detail=detail, way=first.get("way", ""))
    good = [reply for reply in replies if "answer" in reply]
    same = all(reply["answer"] == first["answer"] for reply in good)
    return replace(
        cell,
        status=Status.OK,
        rows=first["answer"][0],
        count=first["answer"][1],
        milliseconds=tuple(1e3 * reply["seconds"] for reply in good),
        way=first["way"],
        check="" if same else "WRONG: another count each time",
    )
