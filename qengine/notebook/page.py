"""What a result looks like in a notebook: a table in pages with types, a picture of its graph, warnings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from qengine import _html
from qengine.errors import Notice

if TYPE_CHECKING:
    from qengine.pictures import Elements

_ROWS = 200  # that are shown, in pages
_MOST_ROWS = 2000  # of which a picture is made


class Shown(Protocol):
    """What a page needs of a ``Result``."""

    stats: Any
    plan: Any
    notices: tuple[Notice, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""

    @property
    def types(self) -> Mapping[str, str]:
        """Their types, as far as they are known."""

    def preview(self, rows: int) -> tuple[Sequence[Sequence[Any]], bool]:
        """Return the next rows without consuming them, and whether there are more."""


def table(result: Shown) -> str:
    """Return the next rows, without consuming them, and the warnings."""
    rows, more = result.preview(_ROWS)
    shown = _html.pages(result.columns, rows, kinds(result, rows), more) if result.columns else ""
    changes = result.stats.changes
    return shown + (f"<p>{changes}</p>" if changes is not None else "") + _html.warnings(result.notices)


def elements(result: Shown) -> Elements | None:
    """Return what the next rows hold of a graph, without consuming them; None where they hold no relationship."""
    from qengine.types import Node, Path, Relationship

    first, _ = result.preview(_ROWS)
    if not any(_holds(value, (Path, Relationship)) for row in first for value in row):
        return None
    from qengine.pictures import Elements

    rows, _ = result.preview(_MOST_ROWS)
    undirected: frozenset[str] = getattr(result.plan, "undirected_types", frozenset())
    found = Elements((value for row in rows for value in row if _holds(value, (Node, Path, Relationship))), undirected)
    return found if found.relationships else None


def picture(result: Shown) -> str | None:
    """Return the graph of what the next rows hold, without consuming them; None where they hold no relationship."""
    found = elements(result)
    return None if found is None else found.svg()


def html(result: Shown) -> str:
    """Return all of it as one piece of HTML."""
    drawn = picture(result)
    return (f'<div style="overflow-x:auto">{drawn}</div>' if drawn else "") + table(result)


def kinds(result: Shown, rows: Sequence[Sequence[Any]]) -> list[str]:
    """Return the columns' types: as known before the query runs, else of the values in the rows."""
    from qengine.exec.scalar.values import kind_of

    known = result.types
    found = []
    for place, name in enumerate(result.columns):
        if (kind := known.get(name, "ANY")) == "ANY":
            seen = {kind_of(row[place]) for row in rows if row[place] is not None}
            kind = " | ".join(sorted(seen)) if 0 < len(seen) <= 3 else "ANY" if seen else "NULL"
        found.append(kind)
    return found


def _holds(value: Any, classes: tuple[type, ...]) -> bool:
    """Tell whether a value is of one of these classes, or a list or map that holds one at its beginning."""
    match value:
        case list() | tuple():
            return any(_holds(each, classes) for each in value[:3])
        case dict():
            return any(_holds(each, classes) for each in value.values())
    return isinstance(value, classes)
