"""A picture of a graph that one can walk through, in notebooks that run widgets: an anywidget on Cytoscape.

The library is in ``vendor/cytoscape`` and goes to the page by the kernel, once a page; nothing is fetched.
"""

from __future__ import annotations

import functools
import sys
from importlib import resources
from typing import TYPE_CHECKING, Any

from qengine.errors import SemanticError

if TYPE_CHECKING:
    from qengine.pictures import Elements

_HEIGHT = 480  # pixels


def walkable(elements: Elements, height: int = _HEIGHT) -> Any:
    """Return a widget that shows what values hold of a graph.

    Parameters
    ----------
    elements
        The nodes and relationships.
    height
        Of the picture, in pixels.

    Returns
    -------
    anywidget.AnyWidget
        To zoom, drag, search, hide labels, and see an element's properties by a click. Where no library arrives, since
        there is no kernel, the picture stands still.

    Raises
    ------
    SemanticError
        Without the package ``anywidget``.
    """
    return _widget_class()(picture=data(elements), height=height)


def data(elements: Elements) -> dict[str, Any]:
    """Return what the page draws: lists of nodes and edges with their places, colours of labels, a note."""
    from collections import Counter

    from qengine._printable import printable
    from qengine.pictures.graph import colours_of, place

    vertices, edges = elements.shapes()
    points, radius = place(len(vertices), edges)
    counts = Counter(vertex.kind for vertex in vertices)
    return {
        "nodes": [
            [printable(each.caption), each.kind, printable(each.told), round(x, 1), round(y, 1)]
            for each, (x, y) in zip(vertices, points, strict=True)
        ],
        "edges": [
            [each.start, each.end, printable(each.caption), printable(each.told), each.directed] for each in edges
        ],
        "kinds": [[kind, colour, counts[kind]] for kind, colour in colours_of(vertices).items()],
        "radius": round(radius, 1),
        "note": elements.note,
    }


def library() -> bytes:
    """Return the ES module of Cytoscape."""
    return (resources.files("qengine.notebook") / "vendor" / "cytoscape" / "cytoscape.esm.min.mjs").read_bytes()


@functools.cache
def _widget_class() -> Any:
    try:
        import anywidget
        import traitlets
    except ImportError:
        raise SemanticError(
            "Pictures to walk through need anywidget, which isn't installed.",
            hint=f"Run {sys.executable} -m pip install anywidget; to_svg() is the picture without it.",
            code="MissingPackage",
        ) from None

    class GraphPicture(anywidget.AnyWidget):  # type: ignore[misc]
        """The widget: its state is the picture; the library is sent when the page asks."""

        _esm = (resources.files("qengine.notebook") / "front" / "graph.mjs").read_text(encoding="utf-8")
        picture = traitlets.Dict().tag(sync=True)
        height = traitlets.Int(_HEIGHT).tag(sync=True)

        def __init__(self, **state: Any) -> None:
            super().__init__(**state)
            self.on_msg(_answer)

    return GraphPicture


def _answer(widget: Any, content: Any, buffers: Any) -> None:
    if isinstance(content, dict) and content.get("kind") == "library":
        widget.send({"kind": "library"}, buffers=[library()])
