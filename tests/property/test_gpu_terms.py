"""Counts as signed sums of searches on the emulated device, alone and beside sums, against the reference."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from qengine import Graph
from qengine.optimizer.elimination import Eliminated, eliminated
from qengine.optimizer.elimination.vertices import Elimination
from qengine.plan.physical import Eliminate
from qengine.testing.plans import planned
from tests.emulator.device import device_memory, emulated
from tests.examples import examples
from tests.property import test_gpu_elimination
from tests.property.test_search_terms import count, graphs, lowering, patterns

device = test_gpu_elimination.device
"""The emulated device that sums, for all tests of this file."""


@pytest.fixture(scope="module", autouse=True)
def searching(device: None) -> Iterator[None]:
    with emulated(device_memory(), free=1 << 24):
        yield


def on_gpu_alone(*args: Any) -> Eliminated | None:
    """Look for a sum for a GPU as if a search took ages."""
    *before, _, kernels = args
    return eliminated(*before, {"gpu": 1e18}, kernels)


@pytest.mark.parametrize("summed", [False, True])
@settings(max_examples=examples(45), suppress_health_check=[HealthCheck.filter_too_much])
@given(graphs(), patterns(), st.sampled_from(("", "DIFFERENT NODES ")), st.randoms(use_true_random=False))
def test_signed_counts_equal_reference(
    summed: bool, graph: Graph, pattern: tuple[str, list[str]], mode: str, random: Any
) -> None:
    text = f"MATCH {mode}{pattern[0]} RETURN count(*) AS n"
    run = Elimination.run
    with (
        patch.object(lowering, "eliminated", on_gpu_alone),
        patch.object(Elimination, "run", lambda each: run(each) if summed and random.random() < 0.5 else None),
    ):
        found = planned(graph, text, Eliminate)
        assume(found and found[0].searches)
        assert bool(found[0].steps) <= summed
        assert found[0].schedules[0].device == "gpu"
        assert count(graph, text, "gpu") == count(graph, text, "reference")
