"""What planners may know of the values of a property: how many, how often the commonest, how they are spread."""

from __future__ import annotations

from typing import Any

from qengine._frozen import frozen


@frozen
class ValueSummary:
    """Values of one property among the nodes of a label, or the relationships of a type.

    ``count``: entities; ``nulls``: of them without a value. ``distinct``: different values (None where they can't be
    compared: mixed types, lists). ``minimum`` and ``maximum`` are None where there is no order. ``common``: the most
    common values, each with its share of the values that aren't null, the greatest share first. ``bounds``: the other
    values, cut into parts of equal size, ascending: two neighbours are the least and the greatest value of a part (an
    equi-depth histogram). Of many values ``distinct`` is estimated to about 1 %, and shares and bounds are a sample's.
    """

    count: int
    nulls: int
    distinct: int | None = None
    minimum: Any = None
    maximum: Any = None
    common: tuple[tuple[Any, float], ...] = ()
    bounds: tuple[Any, ...] = ()

    def __repr__(self) -> str:
        if self.nulls == self.count:
            return "no values"
        text = f"{self.count - self.nulls:,} values"
        if self.distinct is not None:
            text += f", {self.distinct:,} different, {self.minimum!r} to {self.maximum!r}"
        if self.common:
            value, share = self.common[0]
            text += f", most often {value!r} ({share:.3g})"
        return text + (f", {self.nulls:,} missing" if self.nulls else "")
