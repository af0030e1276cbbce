"""What an estimate says, and how a number of samples becomes an interval."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields
from statistics import NormalDist
from typing import Any

from qengine._frozen import frozen
from qengine.errors import Notice

_CERTAIN = 1e-12
"""A relative error below this is rounding, not chance."""

_ROOT, _UNEVEN, _FEW_HITS = 0.5, 2.0, 20.0
"""How much further the upper bound is from the mean than the lower, see ``interval``."""


@dataclass(frozen=True, slots=True, repr=False)
class Estimate:
    """An estimated count of rows.

    Attributes
    ----------
    value
        The estimate; the count itself where ``is_exact``. Unbiased, but never above ``upper_bound``, and under a budget
        where few samples hit with what the planner expects; different rows are estimated with a bias.
    low, high
        Interval that holds the count with the asked confidence. It rests on the central limit theorem for the
        logarithm of the estimate, widened upward where hits are few or their weights uneven, as around hubs: its
        confidence is approximate, and less than asked where no sample has met the heaviest embeddings, as can happen
        to "wanderjoin" with fewer than a hundred effective hits.
        Without a hit it is [0, upper_bound], which is certain.
    samples, hits
        Samples drawn, and how many were whole embeddings; both 0 where ``is_exact``.
    method
        "wanderjoin", "alley", "guided", "trawling", "exact", or the name of a user's estimator; "slices" where a budget
        ended while all was counted: ``samples`` then are parts of the graph, whose matches are counted, and ``hits``
        those that have any; "statistics" where a budget left no time for samples: ``value`` then is what the planner
        expects, and the interval how far that usually is off.
    is_exact
        Whether ``value`` was counted.
    upper_bound
        The count is certainly not greater.
    seconds
        Wall time.
    device
        Where it ran.
    seed
        Gives the same samples again; None where ``is_exact``.
    notices
        Warnings, as those of a query's result: what the text names and the graph doesn't have.
    """

    value: float
    low: float
    high: float
    samples: int
    hits: int
    method: str
    is_exact: bool
    upper_bound: float
    seconds: float
    device: str = "cpu"
    seed: int | None = None
    notices: tuple[Notice, ...] = ()

    @property
    def relative_error(self) -> float:
        """Half of the interval's width as a share of the value; infinite where the value is 0 and not exact."""
        if self.is_exact:
            return 0.0
        return (self.high - self.low) / 2 / self.value if self.value > 0 else math.inf

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes by name; infinite numbers as None, each notice as its code, message and hint."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        found = {name: None if value == math.inf else value for name, value in values.items()}
        notices = [{"code": each.code, "message": each.message, "hint": each.hint} for each in self.notices]
        return {**found, "notices": notices}

    def to_json(self) -> str:
        """Return ``to_dict`` as JSON."""
        return json.dumps(self.to_dict())

    def __repr__(self) -> str:
        """Return all attributes, numbers with as many digits as say something; the attributes themselves have all."""
        shown = ((each.name, getattr(self, each.name)) for each in fields(self))
        inside = ", ".join(f"{name}={_digits(value)}" for name, value in shown if name != "notices" or value)
        return f"Estimate({inside})"

    def __str__(self) -> str:
        if self.is_exact:
            return f"{self.value:,.0f} (counted, {self.seconds * 1e3:.1f} ms)"
        text = f"{_short(self.value)} [{_short(self.low)}, {_short(self.high)}]"
        return f"{text} ({self.method}, {self.hits:,} hits of {self.samples:,} samples, {self.seconds * 1e3:.1f} ms)"


@frozen
class Sums:
    """Weights of samples added up: their sum, the sum of their squares, how many were hits, and the work done."""

    samples: int = 0
    hits: int = 0
    weight: float = 0.0
    square: float = 0.0
    work: int = 0

    def __add__(self, more: Sums) -> Sums:
        return Sums(
            self.samples + more.samples,
            self.hits + more.hits,
            self.weight + more.weight,
            self.square + more.square,
            self.work + more.work,
        )

    def __sub__(self, fewer: Sums) -> Sums:
        """Return the sums of the samples that are not among ``fewer``, which all are among these."""
        return Sums(
            self.samples - fewer.samples,
            self.hits - fewer.hits,
            self.weight - fewer.weight,
            max(self.square - fewer.square, 0.0),
            self.work - fewer.work,
        )

    @property
    def mean(self) -> float:
        """The Horvitz–Thompson estimate."""
        return self.weight / self.samples if self.samples else 0.0

    @property
    def variance(self) -> float:
        """Variance of one sample's weight (unbiased)."""
        if self.samples < 2:
            return math.inf
        spread = self.square / self.samples - self.mean**2
        return max(spread, 0.0) * self.samples / (self.samples - 1)

    @property
    def relative_error(self) -> float:
        """Standard error of the mean as a share of it."""
        if self.weight <= 0:
            return math.inf
        found = math.sqrt(self.variance / self.samples) / self.mean
        return found if found > _CERTAIN else 0.0

    @property
    def effective_hits(self) -> float:
        """Hits of equal weight that would say as much (Kish)."""
        return self.weight**2 / self.square if self.square > 0 else 0.0

    def scaled(self, factor: float) -> Sums:
        """Return the sums of weights that are ``factor`` times as large."""
        return Sums(self.samples, self.hits, self.weight * factor, self.square * factor**2, self.work)


def interval(sums: Sums, confidence: float) -> tuple[float, float]:
    """Return the bounds that hold the mean with about the given confidence, [0, ∞] where nothing was hit.

    The logarithm of the mean is taken for normal (central limit theorem, delta method). Weights are skewed, so that
    few samples fall short of the mean more often than not, and understate its error then: the upper bound is further
    away, by ``_FEW_HITS`` over the effective hits, and by ``_UNEVEN`` times the logarithm of hits an effective hit over
    the root of the effective hits. The factors were fitted to samples of open graphs' patterns; they vanish as hits
    become many.
    """
    if sums.weight <= 0:
        return 0.0, math.inf
    error = sums.relative_error
    if error == 0.0:
        return sums.mean, sums.mean
    effective = sums.effective_hits
    uneven = math.log(max(sums.hits / effective, 1.0))
    further = 1 + (_ROOT + _UNEVEN * uneven) / math.sqrt(effective) + _FEW_HITS / effective
    exponent = NormalDist().inv_cdf(0.5 + confidence / 2) * error
    return sums.mean / math.exp(min(exponent, 700.0)), sums.mean * math.exp(min(exponent * further, 700.0))


def _short(value: float) -> str:
    if math.isinf(value):
        return "∞"
    return f"{value:,.0f}" if value < 1e6 else f"{value:.4g}"


def _digits(value: Any) -> str:
    """Return a whole number with all its digits, another with four of them, and anything else as it is."""
    if not isinstance(value, float) or math.isinf(value) or math.isnan(value):
        return repr(value)
    return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.4g}"
