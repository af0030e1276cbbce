"""Points: in a plane or in space, or on the earth by longitude and latitude. No dependency but Python's own."""

from __future__ import annotations

import math
import re
from typing import Any, Final, NoReturn

from qengine.errors import ExecutionError

__all__ = ["SYSTEMS", "Point", "parse_point"]

SYSTEMS: Final = {"cartesian": 7203, "cartesian-3d": 9157, "wgs-84": 4326, "wgs-84-3d": 4979}
"""The coordinate systems by name, with the numbers (SRID) that they are known by."""

_NAMES = {srid: name for name, srid in SYSTEMS.items()}
_GEOGRAPHIC = frozenset((4326, 4979))
_NUMBER = r"(-?[0-9.]+(?:e[+-]?[0-9]+)?)"
_TEXT = re.compile(rf"point\(\{{x: {_NUMBER}, y: {_NUMBER}(?:, z: {_NUMBER})?, crs: '([a-z0-9-]+)'\}}\)")
_BAD_VALUE = "InvalidArgumentValue"


class Point:
    """A place: ``Point(3, 4)``, ``Point(1, 2, 3)`` in space, ``Point(13.4, 52.5, crs="wgs-84")`` on the earth.

    Two are equal that have the same system and coordinates. ``str`` gives its text in the language, and
    ``parse_point`` of it the same point. Longitudes beyond 180 degrees go round.

    Parameters
    ----------
    x, y, z
        The coordinates; on the earth longitude and latitude in degrees, and height in metres.
    crs
        The name of the coordinate system, one of ``SYSTEMS``. By default it is cartesian.

    Raises
    ------
    ExecutionError
        ``InvalidArgumentValue`` for coordinates that aren't finite, latitudes beyond 90 degrees, unknown systems, and
        systems of another number of dimensions.
    """

    __slots__ = ("srid", "x", "y", "z")
    __match_args__ = ("x", "y", "z")

    x: float
    y: float
    z: float | None
    srid: int

    def __init__(self, x: float, y: float, z: float | None = None, *, crs: str | None = None) -> None:
        name = ("cartesian" if z is None else "cartesian-3d") if crs is None else str(crs).lower()
        if name not in SYSTEMS:
            raise ExecutionError(
                f"There is no coordinate system {crs!r}.", code=_BAD_VALUE, hint=f"There are {', '.join(SYSTEMS)}."
            )
        if (z is not None) != name.endswith("3d"):
            count = 2 if z is None else 3
            raise ExecutionError(f"A point of {name} can't have {count} coordinates.", code=_BAD_VALUE)
        try:
            place = [float(each) + 0.0 for each in (x, y, z) if each is not None]  # -0.0 becomes 0.0
        except (TypeError, ValueError, OverflowError):
            raise ExecutionError(f"{x!r}, {y!r} are no coordinates of a point.", code="InvalidArgumentType") from None
        if not all(map(math.isfinite, place)):
            raise ExecutionError("A point's coordinates must be finite.", code=_BAD_VALUE)
        srid = SYSTEMS[name]
        if srid in _GEOGRAPHIC:
            if not -90 <= place[1] <= 90:
                raise ExecutionError(f"The latitude {place[1]} isn't between -90 and 90.", code=_BAD_VALUE)
            if not -180 <= place[0] <= 180:
                place[0] = (place[0] + 180) % 360 - 180
        object.__setattr__(self, "x", place[0])
        object.__setattr__(self, "y", place[1])
        object.__setattr__(self, "z", place[2] if len(place) > 2 else None)
        object.__setattr__(self, "srid", srid)

    @property
    def crs(self) -> str:
        """The name of the coordinate system."""
        return _NAMES[self.srid]

    @property
    def is_geographic(self) -> bool:
        """Whether it is a place on the earth."""
        return self.srid in _GEOGRAPHIC

    @property
    def coordinates(self) -> tuple[float, ...]:
        """The two or three coordinates."""
        return (self.x, self.y) if self.z is None else (self.x, self.y, self.z)

    def fields(self) -> dict[str, Any]:
        """Return what the language calls its parts, with their values."""
        found: dict[str, Any] = dict(zip("xyz", self.coordinates, strict=False))
        if self.is_geographic:
            found |= zip(("longitude", "latitude", "height"), self.coordinates, strict=False)
        return {**found, "crs": self.crs, "srid": self.srid}

    def order(self) -> tuple[Any, ...]:
        """Return the key of ``ORDER BY``: the system, then the coordinates."""
        return (self.srid, *self.coordinates)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"a Point can't be changed: {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a Point can't be changed: {name!r}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Point) and self.order() == other.order()

    def __hash__(self) -> int:
        return hash(self.order())

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (self.x, self.y, self.z, self.crs)

    def __str__(self) -> str:
        height = "" if self.z is None else f", z: {self.z!r}"
        return f"point({{x: {self.x!r}, y: {self.y!r}{height}, crs: '{self.crs}'}})"

    def __repr__(self) -> str:
        return f"Point({', '.join(map(repr, self.coordinates))}, crs={self.crs!r})"


def _made(x: float, y: float, z: float | None, crs: str) -> Point:
    return Point(x, y, z, crs=crs)


def parse_point(text: str) -> Point:
    """Return the point that ``str`` has made a text of.

    Raises
    ------
    ExecutionError
        ``InvalidArgumentValue`` for another text.
    """
    found = _TEXT.fullmatch(text)
    if found is None:
        raise ExecutionError(f"{text!r} is no point.", code=_BAD_VALUE)
    x, y, z, crs = found.groups()
    try:
        return Point(float(x), float(y), None if z is None else float(z), crs=crs)
    except ValueError:
        raise ExecutionError(f"{text!r} is no point.", code=_BAD_VALUE) from None
