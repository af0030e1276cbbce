"""Pictures as SVG documents: of what results hold, of schemas, of degrees; the same for the same input, no scripts."""

from __future__ import annotations

from qengine.pictures.degrees import degrees_svg
from qengine.pictures.graph import Edge, Vertex, draw
from qengine.pictures.schema import schema_svg
from qengine.pictures.values import Elements, values_svg

__all__ = ["Edge", "Elements", "Vertex", "degrees_svg", "draw", "schema_svg", "values_svg"]
