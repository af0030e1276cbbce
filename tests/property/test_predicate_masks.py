"""Masks of single comparisons equal the truths that the reference finds: nulls, NaN, signed zeros, texts by codes."""

from __future__ import annotations

import math
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
}
_NUMBERS = ("0", "1", "-1", "9007199254740993", "0.0", "-0.0", "0.5", "1.0 / 0.0", "0.0 / 0.0")
_TEXTS = ("'a'", "'aa'", "''", "'b'")
_OTHERS = ("true", "null", "n.v", "n.w")
CONSTANTS = {kind: (*(_TEXTS if kind == "texts" else _NUMBERS), *_OTHERS, "'a'", "1") for kind in COLUMNS}
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
