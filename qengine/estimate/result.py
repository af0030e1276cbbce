"""What an estimate says, and how a number of samples becomes an interval."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any

__all__ = ["Estimate", "Sums", "interval", "student_quantile"]

_CERTAIN = 1e-12
"""A relative error below this is rounding, not chance."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimated count of rows.

    Attributes
    ----------
    value
        The estimate; the count itself where ``is_exact``. Unbiased, but never above ``upper_bound``.
    low, high
        Interval that holds the count with the asked confidence. It rests on the central limit theorem for the
        logarithm of the estimate: its confidence is approximate, and too high where hits are few or their weights
        very uneven, as around hubs. Without a hit it is [0, upper_bound].
    samples, hits
        Samples drawn, and how many were whole embeddings; both 0 where ``is_exact``.
    method
        "wanderjoin", "alley", "guided", "trawling", "exact", or the name of a user's estimator.
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

    @property
    def relative_error(self) -> float:
        """Half of the interval's width as a share of the value; infinite where the value is 0 and not exact."""
        if self.is_exact:
            return 0.0
        return (self.high - self.low) / 2 / self.value if self.value > 0 else math.inf

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes by name; infinite numbers as None."""
        return {
            name: None if isinstance(value, float) and math.isinf(value) else value
            for name, value in asdict(self).items()
        }

    def to_json(self) -> str:
        """Return ``to_dict`` as JSON."""
        return json.dumps(self.to_dict())

    def __str__(self) -> str:
        if self.is_exact:
            return f"{self.value:,.0f} (counted, {self.seconds * 1e3:.1f} ms)"
        text = f"{_short(self.value)} [{_short(self.low)}, {_short(self.high)}]"
        return f"{text} ({self.method}, {self.hits:,} hits of {self.samples:,} samples, {self.seconds * 1e3:.1f} ms)"


@dataclass(frozen=True, slots=True)
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
    """Return the bounds that hold the mean with the given confidence, [0, ∞] where nothing was hit.

    The logarithm of the mean is taken for normal (delta method), with Student's quantile at as many degrees of freedom
    as there are effective hits: weights are skewed, so that few samples fall short of the mean more often than not.
    They also understate its error then: it is taken for larger by one over the root of the effective hits, a factor
    found by simulation (log-normal weights), which leaves intervals from many hits as they are.
    """
    if sums.weight <= 0:
        return 0.0, math.inf
    error = sums.relative_error
    if error == 0.0:
        return sums.mean, sums.mean
    hits = sums.effective_hits
    exponent = student_quantile(0.5 + confidence / 2, max(1.0, hits - 1)) * error * (1 + 1 / math.sqrt(hits))
    factor = math.exp(min(exponent, 700.0))
    return sums.mean / factor, sums.mean * factor


def student_quantile(probability: float, freedom: float) -> float:
    """Return Student's t quantile for a probability above 0.5 (Hill, CACM 1970, algorithm 396; within 4 %)."""
    tail = 2 * (1 - probability)
    if freedom <= 1:
        return 1 / math.tan(tail * math.pi / 2)
    if freedom == 2:
        return math.sqrt(2 / (tail * (2 - tail)) - 2)
    a = 1 / (freedom - 0.5)
    b = (48 / a) / a
    c = ((20700 * a / b - 98) * a - 16) * a + 96.36
    d = ((94.5 / (b + c) - 3) / b + 1) * math.sqrt(a * math.pi / 2) * freedom
    y = (d * tail) ** (2 / freedom)
    if y > 0.05 + a:
        x = NormalDist().inv_cdf(tail / 2)
        y = x * x
        if freedom < 5:
            c += 0.3 * (freedom - 4.5) * (x + 0.6)
        c = (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b + c
        y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x
        y = math.expm1(min(a * y * y, 700.0))
    else:
        tail_term = 1 / (((freedom + 6) / (freedom * y) - 0.089 * d - 0.822) * (freedom + 2) * 3) + 0.5 / (freedom + 4)
        y = (tail_term * y - 1) * (freedom + 1) / (freedom + 2) + 1 / y
    return math.sqrt(freedom * y)


def _short(value: float) -> str:
    if math.isinf(value):
        return "∞"
    return f"{value:,.0f}" if value < 1e6 else f"{value:.4g}"
