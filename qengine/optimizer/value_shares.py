"""Shares of a property's values: equal to a value, within a range, beginning with a text; by a summary of them.

Common values are known by themselves; the others are spread over an equi-depth histogram (Piatetsky-Shapiro and Connell
1984), within a part of it evenly.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from qengine._frozen import record
from qengine.catalog.values import ValueSummary
from qengine.errors import QengineError
from qengine.plan.expr import Call, Expr, Literal, Parameter

UNKNOWN = object()
"""A value that is known only when the query runs: it is taken for one of the values, each as likely."""

RANGE = 0.3
"""The share on one side of a bound that isn't known."""

_LAST = chr(0x10FFFF)
_AROUND = 2  # bounds on either side of a value, between which the values are taken to be as frequent: one is chance
_DENSE = 0.5  # of the integers between the least and the greatest uncommon value, those that are values

_PLAIN = frozenset((int, float, str, bool))

_TEMPORAL = {"date": "Date", "localdatetime": "LocalDateTime", "datetime": "DateTime", "localtime": "LocalTime"}
"""Functions that make an ordered value of a text, and the classes of these in ``qengine.temporal.values``."""


@record
class ValueRange:
    """Values between two bounds, each with whether it belongs to the range; ``unknown``: bounds that nobody knows."""

    low: tuple[Any, bool] | None = None
    high: tuple[Any, bool] | None = None
    unknown: int = 0

    def cut(self, op: str, value: Any) -> None:
        """Keep the values for which ``value OP bound`` is true."""
        inside = op.endswith("=")
        if value is UNKNOWN:
            self.unknown += 1
        elif op.startswith(">"):
            if (
                self.low is None
                or not _comparable(value, self.low[0])
                or (value, not inside) > (self.low[0], not self.low[1])
            ):
                self.low = value, inside
        elif self.high is None or not _comparable(value, self.high[0]) or (value, inside) < self.high:
            self.high = value, inside

    def share(self, found: ValueSummary) -> float:
        """Return the share of the elements whose value is in the range."""
        low, high = self.low, self.high
        if not (low is None or _comparable(found.minimum, low[0])):
            return 0.0
        if not (high is None or _comparable(found.minimum, high[0])):
            return 0.0
        share, rest = 0.0, 1.0
        for value, one in found.common:
            rest -= one
            share += one if self.holds(value) else 0.0
        below = 1.0 if high is None else _below(found, *high)
        above = 0.0 if low is None else _below(found, low[0], not low[1])
        share += rest * max(0.0, below - above)
        return share * RANGE**self.unknown * (1.0 - nulls(found))

    def holds(self, value: Any) -> bool:
        """Tell whether a value is in the range."""
        if self.low is not None and not (value > self.low[0] or (self.low[1] and value == self.low[0])):
            return False
        return self.high is None or bool(value < self.high[0] or (self.high[1] and value == self.high[0]))


def known_value(expr: Expr, values: Mapping[str, Any]) -> Any:
    """Return a constant, ``UNKNOWN`` for a parameter whose value isn't known, None for anything else.

    ``values``: of parameters that are known. A date or a time by its text is a constant.
    """
    if isinstance(expr, Parameter):
        return values.get(expr.name, UNKNOWN)
    if isinstance(expr, Call) and expr.name in _TEMPORAL and len(expr.args) == 1:
        text = known_value(expr.args[0], values)
        return _temporal(expr.name, text) if isinstance(text, str) else UNKNOWN if text is UNKNOWN else None
    return expr.value if isinstance(expr, Literal) else None


@lru_cache(256)
def _temporal(name: str, text: str) -> Any:
    """Return a temporal value by its text, None where it has none."""
    from qengine.temporal import values

    try:
        return getattr(values, _TEMPORAL[name])(text)
    except QengineError:
        return None


def _comparable(one: Any, other: Any) -> bool:
    if type(one) is type(other) and type(one) in _PLAIN:
        return True
    numbers = (int, float)
    if isinstance(one, numbers) and isinstance(other, numbers):
        return isinstance(one, bool) == isinstance(other, bool)
    return type(one) is type(other) and (isinstance(one, str) or type(one).__name__ in _TEMPORAL.values())


def nulls(found: ValueSummary) -> float:
    """Return the share of the elements that have no value."""
    return found.nulls / found.count if found.count else 1.0


def equal(found: ValueSummary, value: Any) -> float:
    """Return the share of the elements that have a value."""
    if not found.distinct:
        return 0.0
    present = 1.0 - nulls(found)
    if value is UNKNOWN:
        return present / found.distinct
    if not _comparable(found.minimum, value) or not found.minimum <= value <= found.maximum:
        return 0.0
    for common, share in found.common:
        if common == value:
            return share * present
    rest = 1.0 - sum(share for _, share in found.common)
    return present * rest * _one_of(found, value) if found.bounds else 0.0


def _one_of(found: ValueSummary, value: Any) -> float:
    """Return the share of a value among those that are not common: each the same, but for integers with few gaps.

    Of those the histogram says how frequent such as this one are.
    """
    bounds, others = found.bounds, max(1, (found.distinct or 1) - len(found.common))
    if type(value) is not int or type(bounds[0]) is not int or not bounds[0] <= value <= bounds[-1] or len(bounds) < 2:
        return 1.0 / others
    span = bounds[-1] - bounds[0] + 1
    if others < _DENSE * span or (found.distinct or 0) >= found.count - found.nulls:
        return 1.0 / others
    first, last = bisect_left(bounds, value), bisect_right(bounds, value)
    whole = (last - first - 1) / (len(bounds) - 1)  # of the parts that have no other value
    low, high = max(first - _AROUND, 0), min(last + _AROUND - 1, len(bounds) - 1)
    around = (high - low) / (len(bounds) - 1) / (bounds[high] - bounds[low] + (low == 0) + (high == len(bounds) - 1))
    return float(max(whole, min(1.0, around * span / others)))


def equal_pairs(one: ValueSummary, other: ValueSummary) -> float | None:
    """Return which share of the pairs of two elements have the same value; None where that can't be told.

    Common values are matched with each other; what is not common is spread evenly over the values that both can have.
    """
    if one.distinct is None or other.distinct is None:
        return None
    if not one.distinct or not other.distinct:
        return 0.0
    if not _comparable(one.minimum, other.minimum):
        return 0.0
    ours, theirs = dict(one.common), dict(other.common)
    share: float = sum(part * theirs[value] for value, part in ours.items() if value in theirs)
    for rest, common, known in ((other, ours, theirs), (one, theirs, ours)):
        left = 1.0 - sum(known.values())
        each = left / max(1, (rest.distinct or 0) - len(known)) if rest.bounds else 0.0
        within = (part for value, part in common.items() if value not in known)
        share += each * sum(within)
    if one.bounds and other.bounds:
        uncommon = max(one.distinct - len(ours), other.distinct - len(theirs), 1)
        share += (1.0 - sum(ours.values())) * (1.0 - sum(theirs.values())) * _overlap(one, other) / uncommon
    return float(max(0.0, min(1.0, share)) * (1.0 - nulls(one)) * (1.0 - nulls(other)))


def _overlap(one: ValueSummary, other: ValueSummary) -> float:
    """Return the share of one's uncommon values, times the other's, that lie where both have some, as one of either."""
    low, high = max(one.minimum, other.minimum), min(one.maximum, other.maximum)
    if low > high:
        return 0.0
    parts = (_below(each, high, True) - _below(each, low, False) for each in (one, other))
    shares = [max(0.0, part) for part in parts]
    return shares[0] * shares[1] / max(*shares, 1e-9)


def with_text(found: ValueSummary, test: str, text: str) -> float:
    """Return the share of the elements whose value starts with, ends with or contains a text."""
    if not isinstance(found.minimum, str):
        return 0.0
    if test == "STARTS WITH":
        return ValueRange((text, True), (text + _LAST, False)).share(found)
    holds = (lambda value: text in value) if test == "CONTAINS" else (lambda value: value.endswith(text))
    share = sum(share for value, share in found.common if holds(value))
    rest = 1.0 - sum(share for _, share in found.common)
    if found.bounds:  # these are a sample of the rest, where half a value more may be hidden
        share += rest * (sum(map(holds, found.bounds)) + 0.5) / (len(found.bounds) + 1)
    return share * (1.0 - nulls(found))


def _below(found: ValueSummary, value: Any, inclusive: bool) -> float:
    """Return the share of the histogram's values that are less than a value, or equal to it where ``inclusive``."""
    bounds = found.bounds
    if not bounds or value < bounds[0]:
        return 0.0
    one = 1.0 / max(1, (found.distinct or 1) - len(found.common))  # share of a single value
    if value > bounds[-1]:
        return 1.0
    same = one if inclusive else 0.0
    at = bisect_left(bounds, value)
    last = bisect_right(bounds, value)
    if at < last:  # a bound, or several where the value is a frequent one
        place = at / max(1, len(bounds) - 1)
        if inclusive:
            same = max(one, (last - at - 1) / max(1, len(bounds) - 1))
    else:
        place = (at - 1 + _between(bounds[at - 1], bounds[at], value)) / (len(bounds) - 1)
    return min(1.0, place * (1.0 - one) + same)


def _between(low: Any, high: Any, value: Any) -> float:
    """Return how far a value lies between two others, as a share of their distance."""
    if isinstance(value, str):
        same = next((k for k, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), min(len(low), len(high)))
        low, high, value = (_number(text[same:]) for text in (low, high, value))
    elif not isinstance(value, int | float):
        low, high, value = map(_moment, (low, high, value))
    distance = high - low
    return min(1.0, max(0.0, (value - low) / distance)) if distance > 0 and distance < float("inf") else 0.5


def _moment(value: Any) -> float:
    """Return a temporal value's place in its order."""
    for name in ("days", "utc", "nanoseconds"):
        if hasattr(value, name):
            return float(getattr(value, name))
    return 0.0


def _number(text: str) -> float:
    """Return a text's place among all texts, between 0 and 1, by its first characters."""
    place, unit = 0.0, 1.0
    for character in text[:6]:
        unit /= 256.0
        place += unit * min(ord(character), 255)
    return place
