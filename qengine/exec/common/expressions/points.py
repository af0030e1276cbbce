"""Functions of points, on the coordinates of many. Distances are those of Python's own functions, bit by bit."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from qengine.exec.common.columns import ArrowColumn, BoolArray, Column
from qengine.exec.common.expressions.operand import NUMERIC, as_double, null_rows, operand
from qengine.exec.common.map_column import MapColumn
from qengine.exec.common.point_column import PointColumn, points_of
from qengine.exec.common.runtime import Runtime
from qengine.exec.scalar.points import on_earth
from qengine.spatial import SYSTEMS

_PLANE, _EARTH = ("x", "y", "z"), ("longitude", "latitude", "height")


def _point(_: Runtime, column: Column) -> Column | None:
    if not isinstance(column, MapColumn):
        return None
    geographic = "longitude" in column.fields
    names = _EARTH if geographic else _PLANE
    if not (set(names[:2]) <= column.fields.keys() <= set(names)):
        return None
    given = [column.fields[name] for name in names if name in column.fields]
    operands = [operand(each) for each in given]
    if any(each.kind not in NUMERIC for each in operands):
        return None
    null = null_rows(column, *given)
    coordinates = np.empty((len(given), len(column)))
    for place, each in enumerate(operands):
        doubles = as_double(each)
        coordinates[place] = doubles.as_py() if each.constant else doubles.to_numpy(zero_copy_only=False)
    if null is not None:
        coordinates[:, null] = 0.0
    coordinates += 0.0  # -0.0 becomes 0.0
    if not np.isfinite(coordinates).all():
        return None
    if geographic and not ((np.abs(coordinates[0]) <= 180) & (np.abs(coordinates[1]) <= 90)).all():
        return None
    name = ("wgs-84" if geographic else "cartesian") + ("-3d" if len(given) > 2 else "")
    return PointColumn(coordinates, SYSTEMS[name], null)


def _alike(*columns: Column) -> tuple[list[PointColumn], BoolArray | None] | None:
    """Return columns as points of one system, and where one is null; None where they aren't."""
    found = [points for column in columns if (points := points_of(column)) is not None]
    if len(found) < len(columns) or len({points.srid for points in found}) > 1:
        return None
    return found, null_rows(*found)


def _distance(_: Runtime, one: Column, other: Column) -> Column | None:
    if (alike := _alike(one, other)) is None:
        return None
    (here, there), null = alike
    places = [zip(*points.coordinates.tolist(), strict=True) for points in (here, there)]
    distances = list(map(on_earth if here.is_geographic else math.dist, *places))
    return ArrowColumn(pa.array(np.array(distances, np.float64), mask=null))


def _within_box(_: Runtime, *columns: Column) -> Column | None:
    if (alike := _alike(*columns)) is None:
        return None
    (points, low, high), null = alike
    inside = (low.coordinates <= points.coordinates) & (points.coordinates <= high.coordinates)
    if points.is_geographic:
        place, west, east = (each.coordinates[0] for each in (points, low, high))
        inside[0] = np.where(west > east, (place >= west) | (place <= east), inside[0])
    return ArrowColumn(pa.array(inside.all(axis=0), mask=null))


POINTS: dict[str, Callable[..., Column | None]] = {
    "point": _point,
    "point.distance": _distance,
    "point.withinbbox": _within_box,
}
