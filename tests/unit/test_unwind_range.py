"""``UNWIND range(…)`` makes its numbers as they are read, with the rows of a list of them."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import ExecutionError, Graph
from tests.examples import examples

GRAPH = Graph.from_records([{"id": i, "properties": {"k": i}} for i in range(3)])
LEAST, MOST = -(2**63), 2**63 - 1
BOUNDS = st.one_of(st.integers(-4, 4), st.sampled_from([None, LEAST, LEAST + 1, MOST - 1, MOST]))
STEPS = st.one_of(st.integers(-3, 3).filter(bool), st.sampled_from([None, LEAST, MOST]))


def numbers(start: int | None, end: int | None, step: int | None) -> range:
    if start is None or end is None or step is None:
        return range(0)
    return range(start, end + (1 if step > 0 else -1), step)


@pytest.mark.parametrize("device", ["cpu", "reference"])
@given(bounds=st.lists(st.tuples(BOUNDS, BOUNDS, STEPS), max_size=4), few=st.integers(0, 7))
@settings(max_examples=examples(100))
def test_the_numbers_are_those_of_python(
    device: str, bounds: list[tuple[int | None, int | None, int | None]], few: int
) -> None:
    text = "UNWIND $bounds AS b UNWIND range(b[0], b[1], b[2]) AS x RETURN b, x LIMIT $few"
    found = GRAPH.query(text, {"bounds": [list(each) for each in bounds], "few": few}, device=device)
    expected = ((list(each), number) for each in bounds for number in numbers(*each))
    assert [tuple(row) for row in found] == list(islice(expected, few))


def test_many_numbers_take_no_list() -> None:
    text = "UNWIND range(1, 20000000) AS x WITH x WHERE x % 2 = 0 RETURN count(*), max(x)"
    result = GRAPH.query(text, memory_limit=50_000_000)
    assert result.fetchall() == [(10_000_000, 20_000_000)]


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_each_row_and_each_outer_row_has_a_range_of_its_own(device: str) -> None:
    rows = GRAPH.query("MATCH (p) UNWIND range(p.k, 2) AS x RETURN p.k AS k, x ORDER BY k, x", device=device)
    assert rows.fetchall() == [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]
    text = "MATCH (p) RETURN p.k AS k, COLLECT { UNWIND range(p.k, 2) AS x RETURN x } AS l ORDER BY k"
    assert GRAPH.query(text, device=device).fetchall() == [(0, [0, 1, 2]), (1, [1, 2]), (2, [2])]


@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize(
    ("source", "message"),
    [("range(1, 2, $zero)", "range() got the step 0."), ("range(1, $text)", "range() needs integers")],
)
def test_wrong_bounds_are_shown(device: str, source: str, message: str) -> None:
    with pytest.raises(ExecutionError) as caught:
        GRAPH.query(f"UNWIND {source} AS x RETURN x", {"zero": 0, "text": "a"}, device=device).fetchall()
    assert str(caught.value).startswith(f"Execution error: {message}")
    assert f"  1 | UNWIND {source}" in str(caught.value)


def test_a_list_that_is_too_long_is_refused_with_what_to_do() -> None:
    with pytest.raises(ExecutionError, match="more than 16,777,216 items") as caught:
        GRAPH.query("RETURN size(range(1, 50000000))").fetchall()
    assert caught.value.hint == "Use rows instead: UNWIND range(…) AS x makes no list."
