"""Points of many rows at once: coordinates, distances and boxes are those that one point after the other gives."""

from __future__ import annotations

import pyarrow as pa
import pytest

from qengine import Graph
from qengine.exec.common.columns import ArrowColumn, ConstantColumn, ObjectColumn
from qengine.exec.common.expressions.points import POINTS as FUNCTIONS
from qengine.exec.common.map_column import MapColumn
from qengine.exec.common.point_column import PointColumn
from qengine.spatial import Point
from qengine.testing.compare import agree

POINTS = (
    "point({x: a.f, y: a.i})",
    "point({x: a.i, y: -a.f, z: a.n})",
    "point({longitude: a.f * 1.5, latitude: a.f - 60})",
    "point({longitude: a.f, latitude: 45, height: a.i})",
    "point({x: 0.5, y: a.n})",
    "point({x: a.f, y: 2, crs: 'cartesian'})",
    "CASE WHEN a.i > 50 THEN point({x: a.i, y: 1}) ELSE point({longitude: 1, latitude: 2}) END",
)
TEXTS = (
    "MATCH (a)-[r]->(b) RETURN id(r), point.distance({a}, {b})",
    "MATCH (a)-[r]->(b) RETURN id(r), point.distance({a}, {c})",
    "MATCH (a)-[r]->(b) WHERE point.distance({a}, {b}) < 40 RETURN id(r)",
    "MATCH (a)-[r]->(b) RETURN id(r), point.withinBBox({a}, {b}, {c}), point.withinBBox({c}, {a}, {b})",
    "MATCH (a) WITH a.i AS i, {a} AS p WITH i, p ORDER BY i RETURN i, p, p.x, p.y, p.crs",
    "MATCH (a) WITH {a} AS p, count(*) AS n RETURN p, n, toString(p)",
    "MATCH (a) RETURN count(DISTINCT {a}), min({a}), [p IN collect({a}) | p.y][0] IS NULL AS y",
    "MATCH (a)-->(b) WHERE {a} = {b} OR {a} <> {c} RETURN count(*)",
    "UNWIND [null, {c}] AS p MATCH (a) RETURN a.i, point.distance(p, {a})",
)
FAILING = (
    "MATCH (a) RETURN point({x: a.f / 0.0, y: 1})",
    "MATCH (a) RETURN point({longitude: 1, latitude: a.i + 80})",
    "MATCH (a) RETURN point({x: a.t, y: 1})",
    "MATCH (a) WITH point({x: a.i, y: 1}) AS p RETURN p.longitude",
    "MATCH (a) RETURN point.distance(point({x: a.i, y: 1}), a.i)",
)


def graph() -> Graph:
    nodes = [{"id": i, "properties": {"i": i * 7 % 90, "f": i * 13 % 119 - 0.25 * i, "t": str(i),
                                      **({"n": i / 4} if i % 3 else {})}} for i in range(40)]  # fmt: skip
    links = [{"start": i, "end": i * 11 % 40, "type": "R"} for i in range(40)]
    return Graph.from_records(nodes, links)


@pytest.mark.filterwarnings("ignore")
def test_points() -> None:
    own = graph()
    for place, point in enumerate(POINTS):
        for text in TEXTS:
            constant = "point({longitude: 3, latitude: 4})" if "longitude: a" in point else "point({x: 3, y: 4})"
            asked = text.replace("{a}", point).replace("{b}", point.replace("a.", "b.")).replace("{c}", constant)
            for limit in (None, 50_000_000)[: 1 + (place == 1)]:
                agree(own, asked, memory_limit=limit)


@pytest.mark.parametrize("text", FAILING)
def test_what_fails(text: str) -> None:
    own, told = graph(), []
    for device in ("reference", "cpu"):
        with pytest.raises(Exception) as error:
            own.query(text, device=device).fetchall()
        told.append(str(error.value))
    assert told[0] == told[1]


def test_points_are_columns() -> None:
    """None of this is left to one point after the other."""
    places = ArrowColumn(pa.array([1.0, 2.5, None]))
    points = FUNCTIONS["point"](None, MapColumn({"x": places, "y": ArrowColumn(pa.array([3, 4, 5]))}, 3))
    assert isinstance(points, PointColumn) and points.values() == [Point(1, 3), Point(2.5, 4), None]
    for other in (points, ConstantColumn(Point(0, 0), 3), ObjectColumn([Point(1, 2), None, Point(3, 4)])):
        assert FUNCTIONS["point.distance"](None, points, other) is not None
        assert FUNCTIONS["point.withinbbox"](None, other, points, points) is not None
