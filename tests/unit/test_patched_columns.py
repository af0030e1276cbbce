"""Columns of the next version: what is read of them before they are made, and that little reading makes none."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from qengine import Graph
from qengine.exec.common import access
from qengine.exec.common.property_texts import PropertyTexts, TextProperty
from qengine.exec.common.value_index import ChangedIndex, ChangedOrder
from qengine.exec.context import ExecutionContext
from qengine.storage.columns import PropertyColumn
from qengine.storage.edits import Edit
from qengine.storage.patched_columns import PatchedColumn, patched

NOWHERE = np.empty(0, np.int64)


def is_made(column: PropertyColumn) -> bool:
    """Tell whether a column has its array."""
    return "array" in vars(column)


@pytest.mark.parametrize("kind", ["int64", "string", "timestamp"])
def test_few_values_are_taken_without_making_the_column(kind: str) -> None:
    before = PropertyColumn(10, pa.array(range(300)).cast({"timestamp": pa.timestamp("us")}.get(kind, kind)))
    given = before.values(np.array([17, 30]))
    now = patched(before, None, 400, {12: given[0], 350: given[1]}, whole=False)
    assert isinstance(now, PatchedColumn) and not is_made(now)
    assert (now.begin, now.end, now.length, now.type) == (10, 351, 341, before.type)
    ids = np.array([350, 12, 9, 13, -1, 309, 310, 400, 12])
    found = now.take(ids)
    assert not is_made(now)
    whole = now.array
    assert is_made(now) and len(whole) == now.length
    assert now.take(ids).to_pylist() == found.to_pylist()
    assert now.take(ids[:2]).to_pylist() == [whole[340].as_py(), whole[2].as_py()]
    assert now.present == 300 <= len(whole) - whole.null_count


@pytest.mark.parametrize("kind", ["int64", "string", "timestamp", "list"])
def test_single_values_and_what_one_column_has_make_no_column(kind: str) -> None:
    wanted: object = {"timestamp": pa.timestamp("us")}.get(kind, kind)
    plain = pa.array([[n] for n in range(40_000)]) if kind == "list" else pa.array(range(40_000)).cast(wanted)
    before = PropertyColumn(10, plain)
    one, other = before.value(17), before.value(30)
    first = patched(before, None, 40_500, {12: one, 40_400: other}, whole=False)
    assert first is not None
    second = patched(first, None, 40_500, {40_401: one, 13: other}, whole=False)
    assert isinstance(second, PatchedColumn)
    for now in (second, first):  # making the later one makes the other
        if now is first:
            later = patched(first, None, 40_500, {15: one}, whole=False)
            assert later is not None
            now = later
        assert isinstance(now, PatchedColumn)
        values = {id: now.value(id) for id in (12, 13, 40_400)}
        parts = {bounds: now.slice(*bounds) for bounds in ((16, 40_010), (20, 21), (40_400, 40_401), (12, 13))}
        assert not is_made(now)
        assert [now.value(id) for id in (-1, 9, 40_300, 40_450)] == [None] * 4
        crossing = now.slice(40_000, 40_402)
        assert is_made(now)
        assert crossing.equals(now.slice(40_000, 40_402)) and len(crossing) == 402
        assert all(now.slice(*bounds).equals(part) for bounds, part in parts.items())
        assert {id: now.value(id) for id in values} == values
    assert first.value(12) == one != second.value(13) == other
    third = patched(before, None, 40_500, {12: one}, whole=False)
    assert third is not None
    expected = [one if id == 12 else before.value(id) for id in range(10, 100)]
    assert [third.value(id) for id in range(10, 100)] == expected
    assert is_made(third), "many single values are as much as all"


def test_where_relationships_stand_is_asked_when_a_column_is_read() -> None:
    before = PropertyColumn(0, pa.array(range(100)))
    edit = Edit(100, NOWHERE, np.array([3, 50]), np.array([100, 101]))
    asked: list[int] = []

    def find(sources: np.ndarray) -> np.ndarray:
        asked.append(len(sources))
        return edit.find(sources)

    now = patched(before, edit, edit.count, {100: -1, 101: -2, 7: -3}, whole=True, find=find)
    assert now is not None and (now.length, asked) == (102, [])
    assert now.take(np.array([3, 51, 8, 4])).to_pylist() == [-1, -2, -3, 3]
    assert not is_made(now) and asked == [3]
    assert now.array.to_pylist() == [0, 1, 2, -1, 3, 4, 5, 6, -3, *range(8, 50), -2, *range(50, 100)]
    assert asked == [3]


def test_a_value_of_another_type_makes_the_column_at_once() -> None:
    before = PropertyColumn(0, pa.array(range(100)))
    for value in ("a", None, 0.5):
        now = patched(before, None, 100, {3: value}, whole=False)
        assert now is not None and now.value(3) == value
        assert now.value(4) == 4
    assert patched(PropertyColumn(0, pa.array([1])), None, 1, {0: None}, whole=False) is None


def test_versions_find_keys_by_the_index_of_the_base_and_what_differs() -> None:
    graph = Graph.from_records([{"id": n, "labels": ["P"], "properties": {"id": n}} for n in range(2_000)], [])
    graph.query("CREATE INDEX FOR (n:P) ON (n.id)")
    assert graph.query("MATCH (n:P {id: 5}) RETURN count(*)").value() == 1
    graph.query("CREATE (:P {id: 5}), (:P {id: 'a'})")
    graph.query("MATCH (n:P {id: 7}) SET n.id = -7")
    store = graph._store
    assert store.derived.find(("hash", "id")) is None  # a text among integers: another type
    graph = Graph.from_records([{"id": n, "labels": ["P"], "properties": {"id": n}} for n in range(2_000)], [])
    graph.query("CREATE INDEX FOR (n:P) ON (n.id)")
    assert graph.query("MATCH (n:P {id: 5}) RETURN count(*)").value() == 1
    graph.query("CREATE (:P {id: 5})")
    graph.query("MATCH (n:P {id: 7}) SET n.id = -7")
    index = graph._store.derived.find(("hash", "id"))
    assert isinstance(index, ChangedIndex) and not index.unique and not graph._store.is_key("id")
    assert [len(index.few(key, ExecutionContext())) for key in (5, 7, -7, 8, 2_000)] == [2, 0, 1, 1, 0]
    assert not is_made(graph._store.node_property("id"))


@pytest.mark.parametrize("text", ["x = $k", "x > $k"])
def test_scans_of_versions_pay_for_an_index_that_all_follow(text: str) -> None:
    count, kind = 20_000, "hash" if "=" in text else "sorted"
    graph = Graph.from_records([{"id": n, "labels": ["P"], "properties": {"x": n}} for n in range(count)], [])
    base = graph._store
    ask = f"MATCH (n:P) WHERE n.{text} RETURN count(*)"
    before = graph.query(ask, {"k": count - 3}).value()
    for turn in range(access.SCANS[kind]):
        graph.query("CREATE (:P {x: $x})", {"x": count - 2 - turn % 2})
        found = graph.query(ask, {"k": count - 3}).value()
        assert found == graph.query(ask, {"k": count - 3}, device="reference").value(), turn
        assert graph._store is not base
    assert base.derived.find((kind, "x")) is not None
    known = graph._store.derived.find((kind, "x"))
    assert isinstance(known, ChangedIndex | ChangedOrder)
    assert before == (1 if kind == "hash" else 2)


def test_few_texts_sizes_and_nulls_make_no_column() -> None:
    texts = [None if k % 7 == 0 else "x" * (k % 5) for k in range(3_000)]
    graph = Graph.from_records(
        [{"id": k, "labels": ["P"], "properties": {"t": texts[k], "k": k}} for k in range(3_000)], []
    )
    graph.query("CREATE (:P {t: 'new', k: 3000}), (:P {k: 3001})")
    store = graph._view.versions.latest.store
    column = store.node_property("t")
    assert isinstance(column, PatchedColumn) and not is_made(column)
    ids = np.array([0, 1, 6, 7, 2_999, 3_000, 3_001, -1, 9_999])
    rows = PropertyTexts(TextProperty(store, column, ("t",)), ids)
    values = [*(texts[k] for k in ids[:5]), "new", None, None, None]
    assert rows.is_null().tolist() == [each is None for each in values] and rows.has_nulls
    assert rows.widths().tolist() == [len(each or "") for each in values]
    assert rows.nbytes >= sum(len(each or "") for each in values)
    assert not is_made(column)
    assert rows.array.to_pylist() == values


def test_what_runs_of_a_column_hold_is_what_it_would() -> None:
    before = PropertyColumn(5, pa.array([None if k % 3 == 0 else k for k in range(100)]))
    for values in ({7: -1}, {200: -2, 201: -3}, {k: -k for k in range(6, 90, 2)}):
        now, same = (patched(before, None, 300, values, whole=False) for _ in range(2))
        assert isinstance(now, PatchedColumn) and isinstance(same, PatchedColumn)
        found = {begin + k: each for begin, array in now.runs() for k, each in enumerate(array.to_pylist())}
        whole = dict(enumerate(same.array.to_pylist(), same.begin))
        assert {k: each for k, each in found.items() if each is not None} == {
            k: each for k, each in whole.items() if each is not None
        }
        assert is_made(now) == (len(values) > 10)
        assert now.runs()[0][0] == 5


def test_versions_find_ranges_by_the_order_of_the_base_and_what_differs() -> None:
    graph = Graph.from_records(
        [{"id": n, "labels": ["P"], "properties": {"id": n, "s": f"text {n}"}} for n in range(2_000)], []
    )
    graph.query("CREATE INDEX FOR (n:P) ON (n.id)")
    graph.query("CREATE INDEX FOR (n:P) ON (n.s)")
    asked = (
        "MATCH (n:P) WHERE n.id > 1995 RETURN n.id AS id ORDER BY id",
        "MATCH (n:P) WHERE n.s STARTS WITH 'text 199' RETURN n.id AS id ORDER BY id",
    )
    before = [[row[0] for row in graph.query(text).fetchall()] for text in asked]
    assert before == [[1996, 1997, 1998, 1999], [199, *range(1990, 2000)]]
    graph.query("CREATE (:P {id: 2000, s: 'text 199x'})")
    graph.query("MATCH (n:P {id: 1996}) SET n.id = -7, n.s = 'other'")
    store = graph._store
    for key in ("id", "s"):
        assert isinstance(store.derived.find(("sorted", key)), ChangedOrder)
    assert [[row[0] for row in graph.query(text).fetchall()] for text in asked] == [
        [1997, 1998, 1999, 2000],
        [199, *range(1990, 1996), 1997, 1998, 1999, 2000],
    ]
    assert not is_made(store.node_property("s"))
