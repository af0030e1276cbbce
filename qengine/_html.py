"""Values, tables and warnings as HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from qengine._printable import in_markup

_PAGE = 20  # rows
_DIM = "#5b6472"

_MOST_PROPERTIES = 3  # of an entity that are shown; all of them are its tooltip

_TELLING = ("name", "title")  # properties that come first


class Code(str):
    """A text that is shown as code."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return f"<code>{in_markup(self)}</code>"


class _Warning(Protocol):
    @property
    def message(self) -> str: ...
    @property
    def hint(self) -> str | None: ...


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], kinds: Sequence[str] = ()) -> str:
    """Return a table; ``kinds``: the columns' types, below their names."""
    below = [f'<br/><small style="color:{_DIM};font-weight:normal">{in_markup(kind)}</small>' for kind in kinds]
    names = zip(columns, below or [""] * len(columns), strict=True)
    head = "".join(f'<th style="text-align:left">{in_markup(name)}{kind}</th>' for name, kind in names)
    body = "".join("<tr>" + "".join(map(_field, row)) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _field(value: Any) -> str:
    """Return a field of a table: texts begin at the left, which notebooks' own styles don't say."""
    side = "right" if isinstance(value, int | float) and not isinstance(value, bool) else "left"
    return f'<td style="text-align:{side}">{cell(value)}</td>'


def pages(columns: Sequence[str], rows: Sequence[Sequence[Any]], kinds: Sequence[str], more: bool) -> str:
    """Return a table in pages, of which the first is open: they need no script, so they work wherever HTML is shown.

    ``more``: whether there are rows beyond these.
    """
    if len(rows) <= _PAGE:
        shown = table(columns, rows, kinds)
    else:
        parts = []
        for first in range(0, len(rows), _PAGE):
            part = rows[first : first + _PAGE]
            name = f"rows {first + 1:,} to {first + len(part):,}"
            is_open = ' open=""' if first == 0 else ""
            parts.append(f"<details{is_open}><summary>{name}</summary>{table(columns, part, kinds)}</details>")
        shown = "".join(parts)
    found = "1 row" if len(rows) == 1 else f"{len(rows):,} rows"
    return shown + f'<p style="color:{_DIM}"><small>{f"the first {found}" if more else found}</small></p>'


def cell(value: Any, inside: bool = False) -> str:
    """Return a value; ``inside``: of a list or a map, where strings have quotes."""
    if (own := getattr(value, "_repr_html_", None)) is not None:
        return str(own())
    match value:
        case None | bool():
            return {None: "null", True: "true", False: "false"}[value]
        case list() | tuple():
            return "[" + ", ".join(cell(item, True) for item in value) + "]"
        case Mapping():
            return "{" + ", ".join(f"{in_markup(str(key))}: {cell(item, True)}" for key, item in value.items()) + "}"
    return in_markup(repr(value) if inside and isinstance(value, str) else str(value))


def entity(name: str, properties: Mapping[str, Any], brackets: str, full: str, most: int = _MOST_PROPERTIES) -> str:
    """Return a node or relationship: its labels or type, and a few properties; all as text are the tooltip."""
    telling = sorted(properties.items(), key=lambda item: item[0] not in _TELLING)
    shown = [f"{key}: {value!r}" for key, value in telling[:most]]
    shown += ["…"] if len(properties) > most else []
    inside = (" " if name and shown else "") + "{" + ", ".join(shown) + "}" if shown else ""
    text = in_markup(f"{brackets[0]}{name}{inside}{brackets[1]}")
    return f'<code title="{in_markup(full)}">{text}</code>'


def warnings(notices: Iterable[_Warning]) -> str:
    """Return warnings as a list, nothing where there is none."""
    found = "".join(
        f"<li><b>{in_markup(each.message)}</b>{f' {in_markup(each.hint)}' if each.hint else ''}</li>"
        for each in notices
    )
    return f'<ul class="warnings" style="color:#a33a22">{found}</ul>' if found else ""
