"""A graph as an SVG document: circles with captions, arrows, and a legend of the labels."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from qengine._arguments import tells_arguments
from qengine._frozen import frozen
from qengine._printable import in_markup, printable_line
from qengine.pictures.layout import layout

_COLOURS = (
    "#4c8eda",
    "#f2a33a",
    "#57b894",
    "#d9626a",
    "#8f7cc4",
    "#c9a227",
    "#5fb8c9",
    "#d37fb5",
    "#8a9a5b",
    "#9c7a5a",
)
NO_LABEL = "#9aa4b2"  # the colour of what has none
_LINE, _TEXT, _DIM = "#7d8794", "#1f2430", "#5b6472"
_MOST_CAPTIONS = 150  # vertices; more are told by their tooltips
_MOST_EDGE_CAPTIONS = 40
_LENGTHS = ((25, 110.0), (150, 80.0), (math.inf, 44.0))  # of an edge, by the number of vertices
_WIDEST, _SHORTEST = 1100.0, 11.0  # edges are shorter, down to the second, where the whole would be wider
_HALO = 'stroke="#fff" stroke-width="3" paint-order="stroke" stroke-linejoin="round"'
_MARGIN, _LEGEND = 30.0, 24.0
_LONGEST = 16  # characters of a caption
_BEND = 0.22  # of edges between the same two vertices, as a share of their length
_FONT = "font-family='ui-sans-serif,system-ui,sans-serif'"


@frozen
class Vertex:
    """A circle: ``caption`` below it, ``kind`` (its colour and its entry in the legend; ""), ``told`` on hover."""

    caption: str
    kind: str
    told: str


@frozen
class Edge:
    """A line from one vertex to another, by their places in the list; ``directed``: with an arrow."""

    start: int
    end: int
    caption: str
    told: str
    directed: bool = True


@tells_arguments
def draw(vertices: Sequence[Vertex], edges: Sequence[Edge], note: str = "") -> str:
    """Return a picture.

    Parameters
    ----------
    vertices, edges
        What to draw; up to some thousand.
    note
        A line below it.

    Returns
    -------
    str
        An SVG document. All texts in it are escaped, and nothing is fetched.
    """
    points, radius = place(len(vertices), edges)
    colours = colours_of(vertices)
    width = max([320.0, *(x + radius + _MARGIN + 20 for x, _ in points)])
    bottom = max([0.0, *(y + radius + _MARGIN for _, y in points)])
    legend, bottom = _legend(vertices, colours, width, bottom)
    if note:
        legend.append(f'<text x="{_MARGIN:.0f}" y="{bottom + 12:.0f}" fill="{_DIM}">{in_markup(note)}</text>')
        bottom += 20
    lines = _lines(points, edges, radius)
    circles = [_circle(vertex, points[i], radius, colours, len(vertices)) for i, vertex in enumerate(vertices)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{bottom + 8:.0f}" '
        f'viewBox="0 0 {width:.0f} {bottom + 8:.0f}" role="img" style="background:#fff;max-width:100%;height:auto">\n'
        f'<g {_FONT} font-size="11" fill="none" stroke-width="1.2">\n'
        + "\n".join([*lines, *circles, *legend])
        + "\n</g>\n</svg>\n"
    )


def place(vertices: int, edges: Sequence[Edge]) -> tuple[list[tuple[float, float]], float]:
    """Return where so many vertices are drawn, in pixels to the right and downwards, and the radius of each."""
    places = layout(vertices, [(edge.start, edge.end) for edge in edges]).tolist()
    length = next(length for most, length in _LENGTHS if vertices <= most)
    length = max(_SHORTEST, min(length, _WIDEST / max([1.0, *map(max, places)])))
    radius = max(3.5, length * 0.16)
    return [(x * length + _MARGIN + radius, y * length + _MARGIN) for x, y in places], radius


def colours_of(vertices: Sequence[Vertex]) -> dict[str, str]:
    """Return the colour of each kind, the most frequent first."""
    kinds = Counter(vertex.kind for vertex in vertices if vertex.kind)
    ordered = sorted(kinds, key=lambda kind: (-kinds[kind], kind))
    return {kind: _COLOURS[place % len(_COLOURS)] for place, kind in enumerate(ordered)}


def _circle(vertex: Vertex, point: tuple[float, float], radius: float, colours: dict[str, str], count: int) -> str:
    x, y = point
    colour = colours.get(vertex.kind, NO_LABEL)
    caption = ""
    if count <= _MOST_CAPTIONS and vertex.caption:
        caption = (
            f'<text x="{x:.1f}" y="{y + radius + 12:.1f}" text-anchor="middle" fill="{_TEXT}" {_HALO}>'
            f"{in_markup(_short(vertex.caption))}</text>"
        )
    return (
        f"<g><title>{in_markup(vertex.told)}</title>"
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{colour}" stroke="#fff"/>{caption}</g>'
    )


def _lines(points: Sequence[tuple[float, float]], edges: Sequence[Edge], radius: float) -> list[str]:
    """Return the edges; those between the same two vertices are bent apart."""
    together = Counter(_pair(edge) for edge in edges)
    drawn: Counter[tuple[int, int]] = Counter()
    found = []
    for edge in edges:
        pair = _pair(edge)
        rank, drawn[pair] = drawn[pair], drawn[pair] + 1
        if edge.start == edge.end:
            found.append(_loop(edge, points[edge.start], radius, rank))
            continue
        bend = (rank - (together[pair] - 1) / 2) * _BEND * (1 if edge.start < edge.end else -1)
        found.append(_line(edge, points[edge.start], points[edge.end], radius, bend, len(edges) <= _MOST_EDGE_CAPTIONS))
    return found


def _pair(edge: Edge) -> tuple[int, int]:
    return min(edge.start, edge.end), max(edge.start, edge.end)


def _line(
    edge: Edge, start: tuple[float, float], end: tuple[float, float], radius: float, bend: float, captions: bool
) -> str:
    dx, dy = end[0] - start[0], end[1] - start[1]
    middle = (start[0] + end[0]) / 2 - dy * bend, (start[1] + end[1]) / 2 + dx * bend
    control = 2 * middle[0] - (start[0] + end[0]) / 2, 2 * middle[1] - (start[1] + end[1]) / 2
    x1, y1 = _towards(start, control, radius)
    x2, y2 = _towards(end, control, radius + (1 if edge.directed else 0))
    path = f"M{x1:.1f} {y1:.1f}Q{control[0]:.1f} {control[1]:.1f} {x2:.1f} {y2:.1f}" if bend else (
        f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"
    )  # fmt: skip
    head = _head((x2, y2), control, min(7.0, radius * 0.7)) if edge.directed else ""
    caption = ""
    if captions and edge.caption:
        caption = (
            f'<text x="{middle[0]:.1f}" y="{middle[1] - 2:.1f}" text-anchor="middle" font-size="9" '
            f'fill="{_DIM}" {_HALO}>'
            f"{in_markup(_short(edge.caption))}</text>"
        )
    return f'<g><title>{in_markup(edge.told)}</title><path d="{path}" stroke="{_LINE}"/>{head}{caption}</g>'


def _loop(edge: Edge, point: tuple[float, float], radius: float, rank: int) -> str:
    x, y = point
    size = radius * (1.6 + 0.7 * rank)
    path = f"M{x - radius * 0.6:.1f} {y - radius * 0.8:.1f}C{x - size:.1f} {y - radius - size:.1f} "
    path += f"{x + size:.1f} {y - radius - size:.1f} {x + radius * 0.6:.1f} {y - radius * 0.8:.1f}"
    return f'<g><title>{in_markup(edge.told)}</title><path d="{path}" stroke="{_LINE}"/></g>'


def _head(tip: tuple[float, float], origin: tuple[float, float], size: float) -> str:
    """Return an arrow's head."""
    angle = math.atan2(tip[1] - origin[1], tip[0] - origin[0])
    corners = [tip] + [
        (tip[0] - size * math.cos(angle + turn), tip[1] - size * math.sin(angle + turn)) for turn in (0.42, -0.42)
    ]
    return f'<path d="M{"L".join(f"{x:.1f} {y:.1f}" for x, y in corners)}Z" fill="{_LINE}"/>'


def _towards(point: tuple[float, float], other: tuple[float, float], distance: float) -> tuple[float, float]:
    length = math.hypot(other[0] - point[0], other[1] - point[1]) or 1.0
    share = min(distance / length, 0.45)
    return point[0] + (other[0] - point[0]) * share, point[1] + (other[1] - point[1]) * share


def _legend(vertices: Sequence[Vertex], colours: dict[str, str], width: float, top: float) -> tuple[list[str], float]:
    """Return the labels with their colours and numbers, and where they end."""
    counts = Counter(vertex.kind for vertex in vertices)
    found, left = [], _MARGIN
    for kind, colour in colours.items():
        text = f"{_short(kind, 40)} {counts[kind]:,}"
        room = 7.0 * len(text) + 30
        if left > _MARGIN and left + room > width:
            left, top = _MARGIN, top + 18
        found.append(
            f'<circle cx="{left + 5:.1f}" cy="{top + 8:.1f}" r="5" fill="{colour}"/>'
            f'<text x="{left + 15:.1f}" y="{top + 12:.1f}" fill="{_TEXT}">{in_markup(text)}</text>'
        )
        left += room
    return found, top + _LEGEND if found else top


def _short(text: str, most: int = _LONGEST) -> str:
    text = printable_line(text)
    return text if len(text) <= most else text[: most - 1] + "…"
