"""Masks of single comparisons equal the truths that the reference finds: of numbers, texts by codes, times."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import Graph
from qengine.exec.common import property_texts
from tests.examples import examples

COLUMNS: dict[str, st.SearchStrategy[Any]] = {
    "integers": st.sampled_from([0, 1, -1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), None]),
    "floats": st.sampled_from([0.0, -0.0, 1.0, 0.5, -2.5, math.nan, math.inf, -math.inf, 2.0**53, None]),
    "texts": st.sampled_from(["", "a", "ab", "b", "ä", None]),
    "whole": st.integers(0, 3),
    "dates": st.sampled_from([date(1969, 12, 31), date(1970, 1, 1), date(2020, 2, 29), date(1, 1, 1), None]),
    "moments": st.sampled_from([datetime(1970, 1, 1), datetime(2020, 2, 29, 1, 2, 3, 500_000), None]),
    "zoned": st.sampled_from([datetime(1970, 1, 1, tzinfo=UTC), datetime(2020, 2, 29, tzinfo=UTC)]),
}
_NUMBERS = ("0", "1", "-1", "9007199254740993", "0.0", "-0.0", "0.5", "1.0 / 0.0", "0.0 / 0.0")
_TEXTS = ("'a'", "'aa'", "''", "'b'")
_OTHERS = ("true", "null", "n.v", "n.w")
_TIMES = {
    "dates": ("date('1970-01-01')", "date('2020-02-29')", "localdatetime('1970-01-01T00:00:00')"),
    "moments": (
        "localdatetime('1970-01-01T00:00:00')",
        "localdatetime('2020-02-29T01:02:03.500000001')",  # between two numbers of the column's unit
        "localdatetime('1969-12-31T23:59:59.999999999')",
        "datetime('1970-01-01T00:00:00Z')",
    ),
    "zoned": ("datetime('1970-01-01T00:00:00Z')", "datetime('1970-01-01T01:00:00+01:00')"),
}
CONSTANTS = {
    kind: (*_TIMES.get(kind, _TEXTS if kind == "texts" else _NUMBERS), *_OTHERS, "'a'", "1") for kind in COLUMNS
}
OPERATORS = ("=", "<>", "<", "<=", ">", ">=")


@settings(max_examples=examples(200))
@given(st.data(), st.sampled_from(sorted(COLUMNS)), st.sampled_from(sorted(COLUMNS)))
def test_masks_equal_the_references_truths(data: st.DataObject, first: str, second: str) -> None:
    rows = data.draw(st.lists(st.tuples(COLUMNS[first], COLUMNS[second]), min_size=1, max_size=12))
    other = data.draw(st.integers(0, 3))  # nodes with other labels before and behind, whose columns are nulls
    nodes: list[dict[str, Any]] = [{"id": -1 - k, "labels": ["M"]} for k in range(other)]
    nodes += [{"id": k, "labels": ["N"], "properties": {"v": v, "w": w}} for k, (v, w) in enumerate(rows)]
    nodes += [{"id": 100 + k, "labels": ["O"]} for k in range(other)]
    graph = Graph.from_records(nodes, [])
    label, constant = data.draw(st.sampled_from(["", ":N", ":N|O"])), data.draw(st.sampled_from(CONSTANTS[first]))
    conditions = [f"{left} {op} {right}" for op in OPERATORS for left, right in (("n.v", constant), (constant, "n.v"))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(property_texts, "_LEAST", 0)
        patch.setattr(property_texts, "_MOST_DIFFERENT", 1.0)
        for condition in conditions:
            query = f"MATCH (n{label}) WHERE {condition} RETURN id(n) AS k ORDER BY k"
            expected = graph.query(query, device="reference").fetchall()
            assert graph.query(query, device="cpu").fetchall() == expected, condition
            assert graph.query(query, device="cpu", memory_limit="64MB").fetchall() == expected, condition
