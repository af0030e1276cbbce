"""How many relationships nodes have, as a picture with logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

from qengine._arguments import tells_arguments
from qengine._printable import in_markup

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _MARGIN = 480, 300, 60, 44, 24
_TEXT, _LINE, _DOT = "#1f2430", "#d5dae1", "#4c8eda"
_ARROWS = {"out": ("-", "->"), "in": ("<-", "-"), "both": ("-", "-")}


@runtime_checkable
class _Queried(Protocol):
    """What may be asked: a graph or a transaction."""

    def query(self, text: str, /) -> Iterable[Sequence[Any]]:
        """Return the rows of a query."""


@tells_arguments
def degrees_svg(graph: _Queried, type: str | None = None, *, label: str | None = None, direction: str = "both") -> str:
    """Return the distribution of degrees: for each degree how many nodes have it.

    Parameters
    ----------
    graph
        The graph.
    type
        Of the relationships that are counted; None: all.
    label
        Of the nodes; None: all.
    direction
        "out", "in" or "both": which relationships of a node count, as
        ``COUNT { (n)-[]-() }`` counts them.

    Returns
    -------
    str
        An SVG document. Nodes without a relationship are told in its title, as zero has no place on the axis.

    Raises
    ------
    ValueError
        For another direction.
    """
    if direction not in _ARROWS:
        raise ValueError(f"direction is 'out', 'in' or 'both', not {direction!r}")
    before, after = _ARROWS[direction]
    node = f"n:{_quoted(label)}" if label else "n"
    inside = f"[:{_quoted(type)}]" if type else "[]"
    text = (
        f"MATCH ({node}) RETURN COUNT {{ (n){before}{inside}{after}() }} AS degree, count(*) AS nodes ORDER BY degree"
    )
    rows = [(int(row[0]), int(row[1])) for row in graph.query(text)]
    none = sum(nodes for degree, nodes in rows if degree == 0)
    shown = [(degree, nodes) for degree, nodes in rows if degree > 0]
    title = f"{f':{type}' if type else 'all relationships'}, {direction}: {sum(n for _, n in rows):,} nodes"
    title += f", {none:,} of them without" if none else ""
    return _scatter(shown, title)


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _scatter(points: list[tuple[int, int]], title: str) -> str:
    right = max([1, *(math.ceil(math.log10(max(2, x))) for x, _ in points)])
    top = max([1, *(math.ceil(math.log10(max(2, y))) for _, y in points)])

    def across(x: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _MARGIN) * math.log10(x) / right

    def up(y: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - 2 * _MARGIN) * math.log10(y) / top

    parts = [f'<text x="{_LEFT}" y="18" font-weight="600">{in_markup(title)}</text>']
    for power in range(right + 1):
        x = across(10**power)
        parts.append(f'<path d="M{x:.1f} {up(10**top):.1f}V{up(1):.1f}" stroke="{_LINE}"/>')
        parts.append(f'<text x="{x:.1f}" y="{up(1) + 16:.1f}" text-anchor="middle">{10**power:,}</text>')
    for power in range(top + 1):
        y = up(10**power)
        parts.append(f'<path d="M{_LEFT} {y:.1f}H{_WIDTH - _MARGIN}" stroke="{_LINE}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{10**power:,}</text>')
    for x_value, y_value in points:
        parts.append(
            f'<circle cx="{across(x_value):.1f}" cy="{up(y_value):.1f}" r="3.5" fill="{_DOT}" fill-opacity=".75">'
            f"<title>degree {x_value:,}: {y_value:,} nodes</title></circle>"
        )
    parts.append(f'<text x="{(_LEFT + _WIDTH) / 2:.0f}" y="{_HEIGHT - 8}" text-anchor="middle">degree</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'role="img" style="background:#fff;max-width:100%"><g font-family="ui-sans-serif,system-ui,sans-serif" '
        f'font-size="11" fill="{_TEXT}">\n' + "\n".join(parts) + "\n</g></svg>\n"
    )
