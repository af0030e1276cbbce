"""Functions of points: ``point``, ``point.distance``, ``point.withinBBox``, and the parts of a point."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from qengine.errors import ExecutionError
from qengine.exec.scalar.environment import Environment
from qengine.exec.scalar.strict import strict
from qengine.exec.scalar.values import NUMBERS, NodeHandle, RelationshipHandle, wrong_argument
from qengine.spatial import SYSTEMS, Point

_BAD_VALUE = "InvalidArgumentValue"
_EARTH = 6_378_140.0  # metres of the earth's radius
_NAMES = {srid: name for name, srid in SYSTEMS.items()}
_KEYS = ("x", "y", "z", "longitude", "latitude", "height", "crs", "srid")


def part_of(value: Point, key: str) -> Any:
    """Return a part of a point.

    Raises
    ------
    ExecutionError
        ``InvalidArgumentValue`` where the point has no such part.
    """
    fields = value.fields()
    if key not in fields:
        message = f"A point of {value.crs} has no `{key}`."
        raise ExecutionError(message, code=_BAD_VALUE, hint=f"It has {', '.join(fields)}.")
    return fields[key]


def _point(env: Environment, given: Any) -> Point | None:
    """Return the point of a map, or of a node's or relationship's properties; null where a coordinate is null."""
    if given is None:
        return None
    if type(given) in (NodeHandle, RelationshipHandle):
        given = env.properties(given)
        given = {key: given[key] for key in _KEYS if key in given}
    if type(given) is not dict:
        raise wrong_argument("point()", "a map of coordinates", given)
    if any(value is None for key, value in given.items() if key in _KEYS):
        return None
    geographic = "longitude" in given or "latitude" in given
    names = ("longitude", "latitude") if geographic else ("x", "y")
    if any(name not in given for name in names):
        hint = "Write point({x: 1, y: 2}) or point({longitude: 13.4, latitude: 52.5})."
        raise ExecutionError(f"A point needs {names[0]} and {names[1]}.", code=_BAD_VALUE, hint=hint)
    height = given.get("height", given.get("z"))
    place = [given[names[0]], given[names[1]], *([] if height is None else [height])]
    for coordinate in place:
        if type(coordinate) not in NUMBERS:
            raise wrong_argument("point()", "numbers as coordinates", coordinate)
    crs = _system(given, geographic, len(place) == 3)
    return Point(place[0], place[1], None if height is None else height, crs=crs)


def _system(given: dict[str, Any], geographic: bool, in_space: bool) -> str:
    if "crs" in given:
        name = given["crs"]
        if type(name) is not str:
            raise wrong_argument("point()", "a string as crs", name)
    elif "srid" in given:
        if given["srid"] not in _NAMES:
            hint = f"There are {', '.join(map(str, _NAMES))}."
            raise ExecutionError(f"There is no coordinate system {given['srid']}.", code=_BAD_VALUE, hint=hint)
        name = _NAMES[given["srid"]]
    else:
        name = ("wgs-84" if geographic else "cartesian") + ("-3d" if in_space else "")
    if geographic and not name.lower().startswith("wgs"):
        raise ExecutionError(f"A point of {name} has no longitude and latitude.", code=_BAD_VALUE)
    return str(name)


@strict
def _distance(one: Any, other: Any) -> float | None:
    """Return how far apart two points are, on the earth in metres along its surface; null between systems."""
    for point in (one, other):
        if type(point) is not Point:
            raise wrong_argument("point.distance()", "points", point)
    if one.srid != other.srid:
        return None
    if not one.is_geographic:
        return math.dist(one.coordinates, other.coordinates)
    return on_earth(one.coordinates, other.coordinates)


def on_earth(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the metres between two places: longitudes and latitudes in degrees, and perhaps heights in metres."""
    east, north = math.radians(other[0] - one[0]), math.radians(other[1] - one[1])
    cosines = math.cos(math.radians(one[1])) * math.cos(math.radians(other[1]))
    share = math.sin(north / 2) ** 2 + cosines * math.sin(east / 2) ** 2
    angle = 2 * math.atan2(math.sqrt(share), math.sqrt(max(0.0, 1 - share)))
    if len(one) < 3:
        return _EARTH * angle
    return math.hypot((_EARTH + (one[2] + other[2]) / 2) * angle, one[2] - other[2])


@strict
def _within_box(point: Any, low: Any, high: Any) -> bool | None:
    """Return whether a point is in a box; on the earth one whose west is east of its east crosses longitude 180."""
    for each in (point, low, high):
        if type(each) is not Point:
            raise wrong_argument("point.withinBBox()", "points", each)
    if not point.srid == low.srid == high.srid:
        return None
    ranges = zip(point.coordinates, low.coordinates, high.coordinates, strict=True)
    inside = [begin <= place <= end for place, begin, end in ranges]
    if point.is_geographic and low.x > high.x:
        inside[0] = point.x >= low.x or point.x <= high.x
    return all(inside)


POINTS: dict[str, Callable[..., Any]] = {"point.distance": _distance, "point.withinbbox": _within_box}
POINT_FUNCTIONS: dict[str, Callable[..., Any]] = {"point": _point}
"""Those that take the ``Environment`` first."""
