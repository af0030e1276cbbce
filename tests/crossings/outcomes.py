"""What came of a query: its rows, or the class of its error; and whether two outcomes are the same."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from qengine import Graph
from qengine.errors import ExecutionError, QengineError
from qengine.testing.compare import difference
from qengine.testing.oracle import TooExpensive, true_rows
from qengine.testing.random_query import RandomQuery
from qengine.types import Node, Path, Relationship

__all__ = ["Case", "Rows", "case_of", "plain", "rows_of"]

Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Case:
    """A query, and the rows that the reference finds; None where it fails, or where it has no one result."""

    query: RandomQuery
    rows: Rows | None
    fails: bool = field(default=False)

    def check(self, found: Iterable[Sequence[Any]] | QengineError, change: Callable[[Any], Any] | None = None) -> None:
        """Compare rows that a door gave; ``change``: how its values differ from those that a result has."""
        if isinstance(found, QengineError):
            if self.rows is None and isinstance(found, ExecutionError):
                return
            raise AssertionError(f"{type(found).__name__} {found.code}: {found}") from found
        if self.rows is None:
            return
        expected, rows = self.rows, [tuple(row) for row in found]
        if change is not None:
            expected, rows = ([tuple(map(change, row)) for row in each] for each in (expected, rows))
        report = difference(
            expected, rows, ordered=self.query.ordered, lists_ordered=self.query.lists_ordered
        )
        assert report is None, report


def case_of(graph: Graph, query: RandomQuery, *, steps: int = 20_000) -> Case | None:
    """Return a query with the rows that it has; None where it is refused, or too expensive."""
    try:
        graph.prepare(query.text)
    except QengineError:
        return None
    try:
        rows = true_rows(graph._store, query.text, query.parameters, steps=steps)
    except TooExpensive:
        return None
    except ExecutionError:
        return Case(query, None, True)
    return Case(query, rows if query.sure else None)


def rows_of(fetch: Callable[[], Iterable[Sequence[Any]]]) -> Rows | QengineError:
    """Return rows, or the error that comes instead."""
    try:
        return [tuple(row) for row in fetch()]
    except QengineError as error:
        return error


def plain(value: Any) -> Any:
    """Return a value as Arrow data and JSON have it: of nodes, maps and the like without what is null."""
    match value:
        case Node():
            return {"id": value.id, "labels": list(value.labels), **_filled({"properties": dict(value.properties)})}
        case Relationship():
            ends = {"id": value.id, "type": value.type, "start": value.start, "end": value.end}
            return {**ends, **_filled({"properties": dict(value.properties)})}
        case Path():
            return _filled({"nodes": list(value.nodes), "relationships": list(value.relationships)})
        case list() | tuple():
            return [plain(item) for item in value]
        case dict():
            return _filled(value)
        case float() if math.isnan(value):
            return "NaN"
        case _:
            return value


def _filled(entries: Mapping[str, Any]) -> dict[str, Any]:
    changed = {key: plain(value) for key, value in entries.items() if value is not None}
    return {key: value for key, value in changed.items() if value != {}}
