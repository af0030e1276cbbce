"""From sums to intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from qengine.estimate.result import Sums, interval, student_quantile

QUANTILES = [(1, 12.706), (1.5, 6.0), (2, 4.303), (3, 3.182), (5, 2.571), (10, 2.228), (30, 2.042), (1000, 1.962)]


@pytest.mark.parametrize(("freedom", "expected"), QUANTILES)
def test_students_quantiles(freedom: float, expected: float) -> None:
    assert student_quantile(0.975, freedom) == pytest.approx(expected, rel=0.04)


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


@pytest.mark.parametrize("share", [0.02, 0.5])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_intervals_hold_the_mean_as_often_as_they_say(share: float, confidence: float) -> None:
    generator = np.random.default_rng(7)
    held = 0
    for _ in range(1000):
        weights = generator.lognormal(0, 1, 2000) * (generator.random(2000) < share)
        low, high = interval(sums_of(weights), confidence)
        held += low <= share * math.exp(0.5) <= high
    assert confidence - 0.04 <= held / 1000 <= (1 + confidence) / 2 + 0.02
