"""``PointColumn``: points of one coordinate system, coordinate by coordinate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from qengine.exec.common.columns import ArrowColumn, BoolArray, Column, ConstantColumn, MaskedColumn, ObjectColumn
from qengine.spatial import SYSTEMS, Point

_NAMES = {srid: name for name, srid in SYSTEMS.items()}


class PointColumn(MaskedColumn):
    """Points.

    Parameters
    ----------
    coordinates
        float64[2 or 3, rows]: what ``Point`` has made of them. What they are where rows are null doesn't matter.
    srid
        The number of their system.
    null
        Which rows are null; None where none is.
    """

    __slots__ = ("coordinates", "srid")

    def __init__(self, coordinates: npt.NDArray[np.float64], srid: int, null: BoolArray | None = None) -> None:
        self.coordinates = coordinates
        self.srid = srid
        self.null = null

    @property
    def is_geographic(self) -> bool:
        """Whether they are places on the earth."""
        return _NAMES[self.srid].startswith("wgs")

    def __len__(self) -> int:
        return int(self.coordinates.shape[1])

    def _at(self, which: Any) -> Column:
        return PointColumn(self.coordinates[:, which], self.srid, None if self.null is None else self.null[which])

    def values(self) -> list[Any]:
        """Return a ``Point`` for each row, None for null."""
        crs, null = _NAMES[self.srid], self.is_null().tolist()
        places = zip(*self.coordinates.tolist(), strict=True)
        return [None if none else Point(*place, crs=crs) for place, none in zip(places, null, strict=True)]

    @property
    def nbytes(self) -> int:
        """Bytes of the coordinates."""
        return self.coordinates.nbytes

    def joined(self, columns: Sequence[Column]) -> Column | None:
        """Return the rows of all columns, where all are points of this system."""
        points = [each for each in columns if isinstance(each, PointColumn) and each.srid == self.srid]
        if len(points) < len(columns):
            return None
        null = np.concatenate([each.is_null() for each in points])
        coordinates = np.concatenate([each.coordinates for each in points], axis=1)
        return PointColumn(coordinates, self.srid, null if null.any() else None)

    def field(self, name: str) -> Column | None:
        """Return a coordinate by its name; None where the system has none of this name."""
        names = ("longitude", "latitude", "height") if self.is_geographic else ()
        for place, coordinate in enumerate(self.coordinates):
            if name in ("xyz"[place], *names[place : place + 1]):
                return ArrowColumn(pa.array(coordinate, mask=self.null))
        return None


def points_of(column: Column) -> PointColumn | None:
    """Return a column of points as one of their coordinates; None where it isn't, or has points of several systems."""
    if isinstance(column, PointColumn):
        return column
    if isinstance(column, ConstantColumn):
        point = column.value
        if type(point) is not Point:
            return None
        coordinates = np.repeat(np.array(point.coordinates)[:, None], len(column), axis=1)
        return PointColumn(coordinates, point.srid)
    if not isinstance(column, ObjectColumn):
        return None
    known = [each for each in column.objects if each is not None]
    if not known or any(type(each) is not Point or each.srid != known[0].srid for each in known):
        return None
    null = column.is_null()
    coordinates = np.zeros((len(known[0].coordinates), len(column)))
    coordinates[:, ~null] = np.array([each.coordinates for each in known]).T
    return PointColumn(coordinates, known[0].srid, null if null.any() else None)
