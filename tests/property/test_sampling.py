"""Samplers against the truth: the expectation over all random paths, and the same samples in Python and C++."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings

from qengine.estimate.kernel import draw, philox
from qengine.estimate.reference import Alley, Estimator, ReferenceSampler, WanderJoin, expectation
from qengine.exec.context import ExecutionContext
from qengine.exec.cpu.resolve import resolve
from qengine.plan.logical import Unit
from qengine.plan.physical import Search
from tests.property.test_search import Masks, Oracle, graphs, searches

ESTIMATORS: tuple[Estimator, ...] = (WanderJoin(), Alley())
SAMPLES = 300
KNOWN = (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)


def without_seeds(search: Search) -> Search:
    return Search(Unit(), search.levels, 0, (), orbits=search.orbits)


def embeddings(store: Any, search: Search) -> int:
    """Count by trying everything."""
    return sum(1 for _ in Oracle(store, search).embeddings([]))


@pytest.mark.parametrize(
    ("low", "high", "key", "words"),
    [
        (0, 0, 0, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        (2**64 - 1, 2**64 - 1, 2**64 - 1, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (0x85A308D3_243F6A88, 0x03707344_13198A2E, 0x299F31D0_A4093822, KNOWN),
    ],
)
def test_philox_gives_the_known_answers(low: int, high: int, key: int, words: tuple[int, ...]) -> None:
    assert philox(low, high, key) == words


@given(graphs(), searches())
@settings(max_examples=300, deadline=None)
def test_the_expectation_over_all_paths_is_the_count(store: Any, search: Search) -> None:
    search = without_seeds(search)
    truth = embeddings(store, search) * search.orbits
    for estimator in ESTIMATORS:
        assert math.isclose(expectation(store, search, Masks(), estimator), truth, rel_tol=1e-9)


@given(graphs(), searches())
@settings(max_examples=300, deadline=None)
def test_the_native_sampler_draws_the_same_samples(store: Any, search: Search) -> None:
    search = without_seeds(search)
    plan = resolve(store, search, Masks())
    assume(plan is not None)
    assert plan is not None
    for estimator in ESTIMATORS:
        reference = ReferenceSampler(store, search, Masks(), estimator, seed=7)
        expected = [reference.weigh(number) for number in range(SAMPLES)]
        found = draw(
            plan.plan.ctypes.data,
            estimator.name,
            ExecutionContext(threads=2),
            depth=len(search.levels),
            seed=7,
            first=0,
            samples=SAMPLES,
            rows=True,
        )
        assert found.weights is not None and found.rows is not None
        assert sorted(found.weights) == pytest.approx(sorted(weight for weight in expected if weight))
        assert found.sums.weight == pytest.approx(sum(expected))
        assert found.sums.hits == len(found.rows) == np.count_nonzero(expected)
        truth = set(Oracle(store, search).embeddings([]))
        assert {tuple(row) for row in found.rows.tolist()} <= truth
