"""Summaries of values against counting all of them."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine.storage.kernels import distinct_sketch, text_ends
from qengine.storage.values import summarize
from tests.examples import examples

KINDS = {
    pa.int64(): st.integers(-5, 5) | st.integers(-(2**63), 2**63 - 1),
    pa.float64(): st.floats(),
    pa.string(): st.text(max_size=3),
    pa.large_string(): st.sampled_from(["", "a", "ab", "é"]),
    pa.bool_(): st.booleans(),
    pa.date32(): st.dates(),
}


@st.composite
def arrays(draw):
    kind = draw(st.sampled_from(list(KINDS)))
    values = draw(st.lists(st.none() | KINDS[kind], max_size=300))
    array = pa.array(values, kind)
    begin = draw(st.integers(0, len(array)))
    return array.slice(begin, draw(st.integers(0, len(array) - begin)))


@settings(max_examples=examples(300))
@given(arrays())
def test_few_values_are_summarized_exactly(array):
    values = [value for value in array.to_pylist() if value is not None]
    placed = [value for value in values if not (isinstance(value, float) and math.isnan(value))]
    found = summarize(array)
    assert (found.count, found.nulls) == (len(array), array.null_count)
    assert found.distinct == len(set(placed))
    if placed and not pa.types.is_date(array.type):
        assert (found.minimum, found.maximum) == (min(placed), max(placed))
        times = Counter(placed)
        for value, share in found.common:
            assert share == pytest.approx(times[value] / len(values))
        rest = sorted(value for value in placed if value not in dict(found.common))
        assert list(found.bounds) == sorted(found.bounds) and set(found.bounds) <= set(rest)
        assert (found.bounds[:1], found.bounds[-1:]) == (tuple(rest[:1]), tuple(rest[-1:]))


@pytest.mark.parametrize("different", [1, 3, 70, 3_000, 40_000, 100_000])
@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.date32(), pa.string(), pa.large_string()])
def test_many_values_are_summarized_well(kind, different):
    numbers = np.random.default_rng(different).integers(0, different, 100_000)
    texts = [f"a text {number:07}" for number in numbers]
    string = kind in (pa.string(), pa.large_string())
    array = pa.array(texts, kind) if string else pa.array(numbers.astype(np.int32)).cast(kind)
    found = summarize(array)
    exact = len(set(numbers.tolist()))
    assert math.isclose(found.distinct, exact, rel_tol=0.04)
    if not string and kind != pa.date32():
        assert (found.minimum, found.maximum) == (numbers.min(), numbers.max())
        shares = np.bincount(numbers, minlength=different) / len(numbers)
        assert all(abs(share - shares[int(value)]) < 0.03 for value, share in found.common)
        parts = np.histogram(numbers, np.array(found.bounds, float))[0] if len(found.bounds) > 2 else np.ones(1)
        assert parts.max() < 2 * parts.mean() + 100


def test_a_summary_is_the_same_each_time():
    array = pa.array(np.random.default_rng(0).normal(size=50_000))
    assert summarize(array) == summarize(array)


@pytest.mark.parametrize("size", [1, 100, 20_000, 300_000])
def test_the_sketch_counts_different_values(size):
    numbers = np.arange(size) * 7919
    for array in (pa.array(numbers), pa.array(numbers.astype(np.float64)), pa.array(list(map(str, numbers.tolist())))):
        assert distinct_sketch(array) == pytest.approx(size, rel=0.03)
        assert distinct_sketch(pa.concat_arrays([array, array])) == pytest.approx(size, rel=0.03)


@given(st.lists(st.text(alphabet="ab\0é", max_size=12), min_size=1, max_size=30), st.booleans(), st.data())
def test_the_least_and_the_greatest_text(texts, large, data):
    begin = data.draw(st.integers(0, len(texts) - 1))
    array = pa.array(texts, pa.large_string() if large else pa.string())[begin:]
    encoded = [text.encode() for text in texts[begin:]]
    least, greatest = text_ends(array)
    assert (encoded[least], encoded[greatest]) == (min(encoded), max(encoded))
