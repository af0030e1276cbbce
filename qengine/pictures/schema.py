"""What a graph holds, as a picture: a circle for each set of labels, an arrow for each type between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from qengine._arguments import tells_arguments
from qengine.pictures.graph import Edge, Vertex, draw
from qengine.storage.schema import Schema


@tells_arguments
def schema_svg(schema: Schema) -> str:
    """Return a picture of a schema, an SVG document; ``graph.schema`` is one."""
    names = [node.labels for node in schema.nodes]
    place = {labels: index for index, labels in enumerate(names)}
    vertices = [
        Vertex(f"{node.count:,}", _name(node.labels), f"({_name(node.labels)}{_told(node.properties)})  {node.count:,}")
        for node in schema.nodes
    ]
    edges = [
        Edge(place[start], place[end], edge.type, f"[:{edge.type}{_told(edge.properties)}]", not edge.undirected)
        for edge in schema.relationships
        for start, end in edge.endpoints
        if start in place and end in place
    ]
    return draw(vertices, edges)


def _name(labels: tuple[str, ...]) -> str:
    return "".join(f":{label}" for label in labels) or "no label"


def _told(properties: Mapping[str, Any]) -> str:
    return " {" + ", ".join(f"{key}: {kind}" for key, kind in properties.items()) + "}" if properties else ""
