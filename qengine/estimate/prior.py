"""What samples and the planner's statistics say together, where samples hit too seldom to say much."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

from qengine._frozen import frozen
from qengine.estimate.result import Sums

ENOUGH_HITS = 20.0
"""Effective hits from which samples speak for themselves."""

_LEAST_SHAPE, _MOST_SHAPE = 0.1, 4.0


@frozen
class Expectation:
    """What statistics expect of a count, with an interval of the asked confidence."""

    value: float
    low: float
    high: float

    def shape(self, confidence: float) -> float:
        """Return the shape of a gamma distribution that is about as wide as the interval."""
        if self.value <= 0 or self.high <= self.value:
            return _MOST_SHAPE
        deviation = math.log(self.high / self.value) / NormalDist().inv_cdf(0.5 + confidence / 2)
        return min(max(1 / deviation**2, _LEAST_SHAPE), _MOST_SHAPE)


Prior = Callable[[float], Expectation]
"""Returns what statistics expect, given the confidence of the interval."""


def together(sums: Sums, exposure: float, expected: Expectation, confidence: float) -> float:
    """Return the mean of the count, given samples and what was expected before.

    The count is taken for gamma distributed around what is expected, and hits for a Poisson process.

    Parameters
    ----------
    exposure
        How many hits each embedding gives on average; of it counts what the hits say, where there are some.
    """
    hits = sums.effective_hits
    if expected.value <= 0:
        return sums.mean
    exposure = hits / sums.mean if hits else exposure
    shape = expected.shape(confidence)
    return (shape + hits) / (shape / expected.value + exposure)
