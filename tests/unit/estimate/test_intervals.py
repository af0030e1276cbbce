"""From sums to intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from qengine.estimate.result import Sums, interval


def sums_of(weights: np.ndarray) -> Sums:
    return Sums(len(weights), int(np.count_nonzero(weights)), float(weights.sum()), float(np.square(weights).sum()))


def test_sums_are_those_of_all_samples() -> None:
    weights = np.array([0, 3.0, 5.0, 0, 1.0])
    both = sums_of(weights[:2]) + sums_of(weights[2:])
    assert both == sums_of(weights)
    assert both.mean == pytest.approx(weights.mean()) and both.variance == pytest.approx(weights.var(ddof=1))
    assert both.scaled(6).mean == pytest.approx(6 * weights.mean())
    assert both.scaled(6).relative_error == pytest.approx(both.relative_error)


def test_equal_weights_leave_no_doubt() -> None:
    assert interval(sums_of(np.full(100, 7.0)), 0.95) == (7.0, 7.0)


def test_nothing_hit_says_nothing() -> None:
    assert interval(sums_of(np.zeros(100)), 0.95) == (0.0, math.inf)


def test_intervals_widen_with_confidence_and_narrow_with_samples() -> None:
    weights = np.random.default_rng(1).exponential(size=1000)
    narrow, wide = interval(sums_of(weights), 0.8), interval(sums_of(weights), 0.99)
    assert wide[0] < narrow[0] < weights.mean() < narrow[1] < wide[1]
    more = interval(sums_of(np.tile(weights, 16)), 0.8)
    assert math.log(more[1] / more[0]) == pytest.approx(math.log(narrow[1] / narrow[0]) / 4, rel=0.06)


def test_the_upper_bound_is_further_where_hits_are_few_or_uneven() -> None:
    def shape(sums: Sums) -> float:
        low, high = interval(sums, 0.95)
        return math.log(high / sums.mean) / math.log(sums.mean / low)

    few, even, uneven = Sums(1000, 10, 10.0, 10.0), Sums(1000, 100, 100.0, 100.0), Sums(1000, 400, 100.0, 100.0)
    assert shape(few) > shape(uneven) > shape(even) > 1
    assert shape(Sums(10**8, 10**6, 1e6, 1e6)) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("sigma", [0.0, 1.0, 1.5])
@pytest.mark.parametrize("share", [0.02, 0.5])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_intervals_hold_the_mean_as_often_as_they_say(share: float, confidence: float, sigma: float) -> None:
    generator = np.random.default_rng(7)
    held = 0
    for _ in range(1000):
        weights = generator.lognormal(0, sigma, 2000) * (generator.random(2000) < share)
        low, high = interval(sums_of(weights), confidence)
        held += low <= share * math.exp(sigma**2 / 2) <= high
    assert confidence - 0.04 <= held / 1000 <= (1 + confidence) / 2 + 0.02
