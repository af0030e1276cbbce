"""Masks of single comparisons, and their tests on the way, equal the reference's truths: of numbers, texts, times."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import Graph
from qengine.exec.common import property_texts
from qengine.exec.common.constant_conditions import FewVisits
from qengine.exec.common.masks import Masks
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


REACHED = (
    "MATCH (h:H)-[e:E]->(n{label}) WHERE {on_node} RETURN id(n) AS k, id(e) AS e ORDER BY k, e",
    "MATCH (h:H)-[e:E|F]->(n{label}) WHERE {on_edge} RETURN id(n) AS k, id(e) AS e ORDER BY k, e",
    "MATCH (h:H)-[:E]->(n{label})<-[:E|F]-(g:H) WHERE {on_node} AND g <> n RETURN count(*) AS k",
    "MATCH (h:H)-[e:E]->(n{label})<-[f:F]-(h) WHERE {on_node} AND {on_edge} AND n.whole < 3 RETURN count(*) AS k",
    "MATCH (h:H) WHERE EXISTS {{ (h)-[:F]->(n{label}) WHERE {on_node} }} RETURN id(h) AS k ORDER BY k",
    "MATCH (h:H) OPTIONAL MATCH (h)-[e:F]->(n{label}) WHERE {on_node} AND {on_edge} RETURN id(h) AS k, count(n) AS n",
    "/*+ extend */ MATCH (h:H)-[:E]->(n{label})<-[:F]-(g) WHERE {on_node} RETURN count(*) AS k",
)


@settings(max_examples=examples(150))
@given(st.data(), st.sampled_from(sorted(COLUMNS)), st.sampled_from(sorted(COLUMNS)))
def test_searches_test_what_they_reach(data: st.DataObject, first: str, second: str) -> None:
    rows = data.draw(st.lists(st.tuples(COLUMNS[first], COLUMNS[second], st.integers(0, 4)), min_size=1, max_size=10))
    nodes: list[dict[str, Any]] = [{"id": -1 - k, "labels": ["H"]} for k in range(2)]
    nodes += [
        {"id": k, "labels": ["N" if whole else "O"], "properties": {"v": v, "w": w, "whole": whole}}
        for k, (v, w, whole) in enumerate(rows)
    ]
    edges = [
        {"start": -1 - k % 2, "end": k // 2, "type": "EFF"[(k + whole) % 3], "properties": {"v": w, "w": v}}
        for k, (v, w, whole) in enumerate(row for row in rows for _ in range(2))
    ]
    graph = Graph.from_records(nodes, edges)
    label, op = data.draw(st.sampled_from(["", ":N", ":N|O"])), st.sampled_from(OPERATORS)
    conditions = {}
    for name, kind, variable in (("on_node", first, "n"), ("on_edge", second, "e")):
        left, right = f"{variable}.v", data.draw(st.sampled_from(CONSTANTS[kind])).replace("n.", f"{variable}.")
        turned = data.draw(st.booleans())
        conditions[name] = f"{right} {data.draw(op)} {left}" if turned else f"{left} {data.draw(op)} {right}"
        if data.draw(st.booleans()):
            conditions[name] += f" AND {left} {data.draw(op)} {data.draw(st.sampled_from(CONSTANTS[kind][:3]))}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FewVisits, "spares", lambda *_: True)
        for form in REACHED:
            query = form.format(label=label, **conditions)
            expected = graph.query(query, device="reference").fetchall()
            assert sorted(graph.query(query, device="cpu").fetchall()) == sorted(expected), query


def test_what_begins_at_few_nodes_asks_no_condition_of_all() -> None:
    hubs, many = 40, 10_000
    moments = [datetime(2020, 1, 1 + k % 28) for k in range(many)]
    nodes = [{"id": k, "labels": ["H"], "properties": {"k": k}} for k in range(hubs)]
    nodes += [{"id": hubs + k, "labels": ["N"], "properties": {"at": moments[k]}} for k in range(many)]
    edges = [{"start": k % hubs, "end": hubs + k, "type": "E", "properties": {"n": k}} for k in range(many)]
    graph = Graph.from_records(nodes, edges)
    query = """
        MATCH (h:H {k: 7})-[e:E]->(n:N) WHERE n.at > $at AND n.at <= localdatetime('2020-01-20T00:00:00') AND e.n < 5000
        RETURN count(*) AS k"""
    at = datetime(2020, 1, 10)
    expected = sum(k % hubs == 7 and k < 5000 and at < moments[k] <= datetime(2020, 1, 20) for k in range(many))
    with pytest.MonkeyPatch.context() as patch:
        for name in ("vertex_mask", "edge_mask"):
            patch.setattr(Masks, name, _of_few(getattr(Masks, name)))
        assert graph.query(query, params={"at": at}, device="cpu").fetchall() == [(expected,)]


def _of_few(mask: Callable[..., Any]) -> Callable[..., Any]:
    def of_few(masks: Masks, *given: Any) -> Any:
        assert given[-1] - given[-2] < 1000, "a condition is asked of all elements"
        return mask(masks, *given)

    return of_few
