"""The nodes, relationships and paths among the values of rows, as a picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from qengine._arguments import tells_arguments
from qengine.pictures.graph import Edge, Vertex, draw
from qengine.types import Node, Path, Relationship

MOST_ELEMENTS = 2000
_TELLING = ("name", "title", "label", "id")  # properties that may be a caption


class Elements:
    """What is found in values: each node and relationship once, up to ``MOST_ELEMENTS``.

    ``left_out``: whether there are more.
    """

    def __init__(self, values: Iterable[Any], undirected: frozenset[str] = frozenset()) -> None:
        self.nodes: dict[int, Node] = {}
        self.relationships: dict[int, Relationship] = {}
        self.left_out = False
        self._undirected = undirected
        for value in values:
            self._add(value)

    def _add(self, value: Any) -> None:
        if isinstance(value, Node | Relationship):
            held: dict[int, Any] = self.nodes if isinstance(value, Node) else self.relationships
            if value.id not in held and len(self.nodes) + len(self.relationships) >= MOST_ELEMENTS:
                self.left_out = True
            else:
                held.setdefault(value.id, value)
        elif isinstance(value, Path):
            for each in (*value.nodes, *value.relationships):
                self._add(each)
        elif isinstance(value, Mapping):
            for each in value.values():
                self._add(each)
        elif isinstance(value, list | tuple):
            for each in value:
                self._add(each)

    @property
    def note(self) -> str:
        """What is said below the picture."""
        return f"the first {MOST_ELEMENTS:,} nodes and relationships" if self.left_out else ""

    def shapes(self) -> tuple[list[Vertex], list[Edge]]:
        """Return what is drawn."""
        ends = [end for each in self.relationships.values() for end in (each.start, each.end)]
        place = {number: index for index, number in enumerate(dict.fromkeys((*self.nodes, *ends)))}
        vertices = [_vertex(self.nodes[number]) if number in self.nodes else _UNKNOWN for number in place]
        edges = [
            Edge(place[each.start], place[each.end], each.type, repr(each), each.type not in self._undirected)
            for each in self.relationships.values()
        ]
        return vertices, edges

    def svg(self) -> str | None:
        """Return the picture; None where no relationship is among the values, since a table says more then."""
        return draw(*self.shapes(), self.note) if self.relationships else None


_UNKNOWN = Vertex("", "", "a node that the result doesn't hold")


@tells_arguments
def values_svg(values: Iterable[Any], undirected: frozenset[str] = frozenset()) -> str | None:
    """Return a picture of the nodes and relationships in values.

    Parameters
    ----------
    values
        Nodes, relationships, paths, and lists and maps of them; rows, too. All else is passed over.
    undirected
        Types that are drawn without arrows.

    Returns
    -------
    str or None
        An SVG document; None where no relationship is among the values.
    """
    return Elements(values, undirected).svg()


def _vertex(node: Node) -> Vertex:
    caption = next((str(node.properties[key]) for key in _TELLING if node.properties.get(key) is not None), "")
    return Vertex(caption, ":".join(node.labels), repr(node))
