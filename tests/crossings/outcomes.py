"""What a query must give, whichever way it is asked, and how its values look in other forms."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from qengine.errors import ExecutionError, QengineError
from qengine.storage import GraphStore
from qengine.testing.compare import difference
from qengine.testing.oracle import TooExpensive, true_rows
from qengine.testing.random_query import RandomQuery
from qengine.types import Node, Path, Relationship

Rows = list[tuple[Any, ...]]
Outcome = Rows | QengineError

_STEPS = 20_000  # of the reference


@dataclass(frozen=True)
class Case:
    """A query and the rows that the reference finds; None where it fails."""

    query: RandomQuery
    rows: Rows | None

    def check(self, found: Outcome, form: Callable[[Any], Any] | None = None) -> None:
        """Compare what a way gave; ``form``: how values look in both, where it changes them."""
        if isinstance(found, QengineError):
            assert self.rows is None and isinstance(found, ExecutionError), f"{type(found).__name__} {found}"
            return
        if self.rows is None:  # what fails may stand in a row that need not be looked at
            return
        expected = self.rows
        if form is not None:
            expected, found = ([tuple(map(form, row)) for row in rows] for rows in (expected, found))
        query = self.query
        report = difference(expected, found, ordered=query.ordered, lists_ordered=query.lists_ordered)
        assert report is None, report

    def of(self, text: str, rows: Rows | None) -> Case:
        """Return a case of another text with the same parameters, whose rows have no order."""
        return Case(replace(self.query, text=text, ordered=False), rows)


def case_of(store: GraphStore, query: RandomQuery) -> Case | None:
    """Return a query with its rows; None where it has no one result, is refused, or takes the reference too long."""
    if not query.sure:
        return None
    try:
        return Case(query, true_rows(store, query.text, query.parameters, steps=_STEPS))
    except ExecutionError:
        return Case(query, None)
    except (TooExpensive, QengineError):
        return None


def outcome(fetch: Callable[[], Iterable[Sequence[Any]]]) -> Outcome:
    """Return rows, or the error that comes instead."""
    try:
        return [tuple(row) for row in fetch()]
    except QengineError as error:
        return error


def plain(value: Any) -> Any:
    """Return a value as Arrow data and frames hold it: numbers as floats, no NaN, maps without what is null."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    match value:
        case bool() | str() | None:
            return value
        case int() | float():
            return None if math.isnan(value) else float(value)
        case Node():
            return plain({"id": value.id, "labels": list(value.labels), "properties": dict(value.properties)})
        case Relationship():
            ends = {"id": value.id, "type": value.type, "start": value.start, "end": value.end}
            return plain({**ends, "properties": dict(value.properties)})
        case Path():
            return plain({"nodes": list(value.nodes), "relationships": list(value.relationships)})
        case list() | tuple():
            return [plain(item) for item in value]
        case dict():
            entries = {key: plain(item) for key, item in value.items()}
            return {key: item for key, item in entries.items() if item not in (None, {})}
        case _ if type(value).__name__ in ("NAType", "NaTType"):
            return None
        case _:
            return value
