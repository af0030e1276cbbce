"""Floats as whole numbers in parts, and counts without those that are 0: what NumPy and fractions give."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qengine.exec.context import ExecutionContext
from qengine.exec.host.vertex_numbers import counts_found, float_parts

FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize("width", [60, 90])
@given(values=st.lists(st.one_of(FLOATS, st.floats(-1e4, 1e4).map(lambda x: round(x, 2))), max_size=12))
def test_parts_add_up_to_the_values(width: int, values: list[float]) -> None:
    context = ExecutionContext(threads=2)
    total = [Fraction(0)] * len(values)
    for part in float_parts(np.array(values, np.float64), width, context):
        for k, number in enumerate(part.numbers.tolist()):
            whole = number if isinstance(number, int) else number[0] + (number[1] << 64)
            assert whole < 2**width
            total[k] += part.sign * whole * Fraction(2) ** part.exponent
    assert total == [Fraction(value) for value in values]


def test_numbers_of_one_range_are_one_part_of_64_bits() -> None:
    values = np.random.default_rng(1).lognormal(10, 0.7, 1 << 16).round(0)
    parts = list(float_parts(values, 90, ExecutionContext(threads=3)))
    assert [part.numbers.ndim for part in parts] == [1]
    assert (np.ldexp(parts[0].numbers.astype(np.float64), parts[0].exponent) == values).all()


@pytest.mark.parametrize("n", [0, 1, 16_384, 100_000])
def test_counts_are_found_in_the_order_of_their_places(n: int) -> None:
    counts = np.random.default_rng(n).integers(0, 3, n)
    places, found = counts_found(counts, ExecutionContext(threads=3))
    assert (places == np.flatnonzero(counts)).all() and (found == counts[places]).all()
