"""Columns of samples: comparisons are those of the values, and make no more than they need."""

from __future__ import annotations

import operator
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from qengine.optimizer import sampled
from qengine.storage.sampled_column import _ASKED, _ASKED_OF_FEW, SampledColumn
from qengine.temporal import Date, LocalDateTime, LocalTime, parse_date_time
from qengine.temporal.arrow import to_values

_OPS = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_DAY = 86_400_000_000
_MOMENTS = [Date.from_days(each) for each in (-1, 0, 3, 10**9)]
_MOMENTS += [
    of.from_nanoseconds(each) for of in (LocalTime, LocalDateTime) for each in (0, 2_999, 3_000, 3_001, 90_000)
]
_MOMENTS += [LocalDateTime.from_nanoseconds(10**20), parse_date_time("1970-01-01T00:00:03Z")]
_COLUMNS = (
    pa.array([0, 3, None, 3, -1], pa.int32()).cast(pa.date32()),
    pa.array([0, 3, None, 90], pa.int64()).cast(pa.time64("us")),
    pa.array([0, 3, None, 3, 90, _DAY], pa.int64()).cast(pa.timestamp("us")),
    pa.array([0, 3_000, 3_001, None], pa.int64()).cast(pa.timestamp("ns")),
    pa.array([0, 3_000_000, None], pa.int64()).cast(pa.timestamp("us", "UTC")),
)


@pytest.mark.parametrize("array", _COLUMNS, ids=lambda array: str(array.type))
def test_moments_compare_as_their_values_do(array: Any) -> None:
    values = to_values(array)
    made = 0
    for (op, compare), moment in product(_OPS.items(), _MOMENTS):
        column = SampledColumn(array.type, array)
        found = column.compare(op, moment)
        if type(moment) is not type(values[0]):
            assert found is None
            continue
        assert found.tolist() == [value is not None and compare(value, moment) for value in values]
        made += "_coded" in column.__dict__
    assert made <= 6 * 2  # values beyond the column's numbers, or between two of them


@pytest.mark.parametrize(("different", "most"), [(2, _ASKED_OF_FEW), (100, _ASKED)])
def test_what_a_comparison_does_not_need_is_not_made(different: int, most: int) -> None:
    rows = [None, *(f"{row % different:03}" for row in range(200))]
    texts, numbers = SampledColumn(pa.string(), pa.array(rows)), SampledColumn(pa.int64(), pa.array([3, None, 1]))
    assert sampled._is_column(texts) and sampled._is_column(numbers) and not sampled._is_column(np.zeros(2))
    for asked in range(most + 1):
        assert "_coded" not in texts.__dict__ and "_coded" not in numbers.__dict__
        for _ in range(3):  # the same again asks nothing
            assert texts.compare("<", f"{asked:03}").tolist() == [
                each is not None and each < f"{asked:03}" for each in rows
            ]
            assert numbers.compare(">", 1 + asked).tolist() == [asked < 2, False, False]
    assert "_coded" in texts.__dict__


def test_answers_are_told_apart_by_the_type_of_what_was_compared() -> None:
    column = SampledColumn(pa.int64(), pa.array([1, None, 2]))
    for value, holds in ((1, [True, False, False]), (True, None), (1.0, [True, False, False]), ("1", None)) * 2:
        found = column.compare("=", value)
        assert (None if found is None else found.tolist()) == holds
        assert found is None or not found.flags.writeable
