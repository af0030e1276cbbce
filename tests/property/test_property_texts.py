"""Text properties that are read late give what plain columns of the same strings give, with codes and without."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qengine import Graph
from qengine.exec.common import ordering, property_texts
from qengine.exec.common.columns import ArrowColumn, Column, ConstantColumn, NodeColumn, concatenate, null_column
from qengine.exec.common.expressions import strings
from qengine.exec.common.expressions.comparison import COMPARISON
from qengine.exec.common.expressions.entities import property_of
from qengine.exec.common.grouping import group_rows
from qengine.exec.common.ordering import ranks, sort_keys, sorted_rows
from qengine.exec.common.property_texts import Codes, PropertyTexts

TEXTS = ["", "a", "aa", "b", "ä", "€", "\U0001f600", "z\uffff"]
"""UTF-8 and UTF-16 order the last ones differently."""

texts = st.lists(st.sampled_from([*TEXTS, None]), min_size=1, max_size=12)


@pytest.fixture(params=[True, False], ids=["with codes", "without codes"], autouse=True)
def coded(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setattr(property_texts, "_LEAST", 0 if request.param else 1 << 60)
    monkeypatch.setattr(property_texts, "_MOST_DIFFERENT", 1.0)
    return bool(request.param)


def graph_of(values: Sequence[str | None]) -> Graph:
    """Return nodes with the property ``t``, between some without it."""
    table = pa.table({"id": np.arange(len(values)), "t": pa.array(values, pa.string())})
    others = pa.table({"id": np.arange(3) + 100})
    return Graph.from_arrow([("A", others), ("B", table), ("C", pa.table({"id": np.arange(2) + 200}))], [])


def both(graph: Graph, ids: Any) -> tuple[Column, Column]:
    """Return the property of some nodes, read late and as it is."""
    late = property_of(graph._store, NodeColumn(np.array(ids, np.int64)), "t")
    assert late is not None
    column = graph._store.node_property("t")
    return late, ArrowColumn(column.take(np.array(ids, np.int64)))


rows = st.lists(st.integers(-1, 15), max_size=20)


def decoded(ids: Sequence[int], nulls: int) -> tuple[Column, Column]:
    """Return strings of which codes are known, read late and as they are, behind them some nulls."""
    ordered = pa.array(sorted(TEXTS, key=str.encode))
    codes = np.array([each if each < len(TEXTS) else -1 for each in ids], np.int64)
    late = concatenate([Codes(np.zeros(0, np.int32), ordered).decoded(codes), null_column(nulls)])
    assert isinstance(late, PropertyTexts) or not len(codes)
    values = [None if code < 0 else ordered[code].as_py() for code in codes.tolist()]
    return late, ArrowColumn(pa.array(values + [None] * nulls, pa.string()))


@given(st.lists(st.integers(-1, 15), min_size=1, max_size=20), st.integers(0, 3), st.booleans())
def test_strings_of_known_codes_are_grouped_and_ordered_as_others(ids: list[int], nulls: int, ascending: bool) -> None:
    late, plain = decoded(ids, nulls)
    assert late.values() == plain.values()
    assert late.is_null().tolist() == plain.is_null().tolist()
    codes = zip(
        group_rows([late], len(late)).codes.tolist(), group_rows([plain], len(plain)).codes.tolist(), strict=True
    )
    assert len(set(codes)) == group_rows([plain], len(plain)).count
    found, expected = (sorted_rows(sort_keys([(each, ascending)]), len(each)) for each in (late, plain))
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("test", ["STARTS WITH 't1'", "ENDS WITH '3'", "CONTAINS ''", "CONTAINS '€'"])
@pytest.mark.parametrize("whole", [True, False], ids=["all nodes", "some nodes"])
def test_strings_are_tested_once_each(test: str, whole: bool, coded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def noted(find: Any, tested: Any, *args: Any, **options: Any) -> Any:
        seen.append(len(tested))
        return find(tested, *args, **options)

    for name in ("starts_with", "ends_with", "match_substring"):
        monkeypatch.setattr(strings.pc, name, partial(noted, getattr(strings.pc, name)))
    graph = graph_of([f"t{k % 19}€{k % 4}" if k % 5 else None for k in range(800)])
    match = "MATCH (b:B)" if whole else "MATCH (b:B) WITH b WHERE b.id % 3 > 0 WITH b"
    query = f"{match} WHERE b.t {test} RETURN count(*), sum(b.id)"
    found, expected = (graph.query(query, device=device).fetchall() for device in ("cpu", "reference"))
    assert found == expected
    assert (max(seen) <= 76) == coded


def test_keys_and_extremes_of_strings_keep_their_codes(coded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []

    def noted(column: Column) -> object:
        seen.append(isinstance(column, PropertyTexts) and column.codes() is not None)
        return ranks(column)

    monkeypatch.setattr(ordering, "ranks", noted)
    graph = graph_of([f"t{k % 9}" if k % 5 else None for k in range(60)])
    query = "MATCH (b:B) RETURN b.id % 30 AS i, max(b.t) AS t ORDER BY t DESC, i LIMIT 3"
    found, expected = (graph.query(query, device=device).fetchall() for device in ("cpu", "reference"))
    assert found == expected
    assert any(seen) == coded


@given(texts, rows)
def test_rows_are_the_same(values: list[str | None], ids: list[int]) -> None:
    graph = graph_of(values)
    late, plain = both(graph, [min(each, graph.node_count - 1) for each in ids])
    assert late.is_null().tolist() == plain.is_null().tolist()
    assert late.values() == plain.values()
    assert len(late) == len(plain)
    assert late.slice(1, 3).values() == plain.slice(1, 3).values()
    picked = np.arange(len(ids))[::-2]
    assert late.take(picked).values() == plain.take(picked).values()
    assert concatenate([late, late.slice(0, 2)]).values() == concatenate([plain, plain.slice(0, 2)]).values()
    assert concatenate([late, plain]).values() == concatenate([plain, plain]).values()
    widths = late.widths()
    assert widths is not None
    assert widths.tolist() == [0 if each is None else len(each.encode()) for each in plain.values()]


@given(texts, rows, st.booleans())
def test_groups_and_orders_are_the_same(values: list[str | None], ids: list[int], ascending: bool) -> None:
    graph = graph_of(values)
    late, plain = both(graph, [min(each, graph.node_count - 1) for each in ids])
    one, other = group_rows([late], len(late)), group_rows([plain], len(plain))
    assert one.count == other.count
    assert len(set(zip(one.codes.tolist(), other.codes.tolist(), strict=True))) == one.count
    found, expected = (sorted_rows(sort_keys([(each, ascending)]), len(each)) for each in (late, plain))
    assert found.tolist() == expected.tolist()


@given(texts, rows, rows, st.sampled_from([*TEXTS, "ab", "Z", "~"]), st.sampled_from(["=", "<>", "<", "<=", ">", ">="]))
def test_comparisons_are_the_same(
    values: list[str | None], ids: list[int], others: list[int], constant: str, op: str
) -> None:
    graph = graph_of(values)
    length = min(len(ids), len(others))
    mine, plain = both(graph, [min(each, graph.node_count - 1) for each in ids[:length]])
    theirs, plain_theirs = both(graph, [min(each, graph.node_count - 1) for each in others[:length]])
    compare = COMPARISON[op]
    text = ConstantColumn(constant, length)
    for found, expected in (
        (compare(None, mine, text), compare(None, plain, text)),
        (compare(None, text, mine), compare(None, text, plain)),
        (compare(None, mine, theirs), compare(None, plain, plain_theirs)),
        (compare(None, mine, plain_theirs), compare(None, plain, plain_theirs)),
    ):
        assert found is not None
        assert expected is not None
        assert found.values() == expected.values()


QUERIES = [
    "MATCH (a:B)-[r:T]->(b:B) RETURN a.t, min(b.t), max(r.u), count(DISTINCT b.t), count(b.t) ORDER BY a.t",
    "MATCH (a:B)-[r:T]->(b:B) WHERE a.t < b.t OR r.u = 'b' RETURN a.t, b.t, r.u ORDER BY r.u DESC, a.t, b.t LIMIT 7",
    "MATCH (a:B)-[r]->(b) RETURN DISTINCT r.u, a.t ORDER BY r.u, a.t DESC",
    "MATCH (a:B) OPTIONAL MATCH (a)-[r:T]->(b) WITH a.t AS t, collect(b.t) AS ts RETURN t, size(ts) ORDER BY t",
    "MATCH (a:B) RETURN a.t + '!' AS x, toUpper(a.t), a.t IS NULL, a.t IN ['a', 'ä'] ORDER BY x",
]


@pytest.mark.parametrize("query", QUERIES)
def test_queries_agree_with_the_reference_executor(query: str, coded: bool) -> None:
    dice = np.random.default_rng(5)
    names = pa.array([TEXTS[k] if k < len(TEXTS) else None for k in dice.integers(0, len(TEXTS) + 2, 60).tolist()])
    ends = dice.integers(0, 60, (2, 200))
    marks = names.take(pa.array(dice.integers(0, 60, 200)))
    graph = Graph.from_arrow(
        [("B", pa.table({"id": np.arange(60), "t": names}))],
        [
            ("S", pa.table({"start": ends[0][:50], "end": ends[1][:50]})),
            ("T", pa.table({"start": ends[0], "end": ends[1], "u": marks})),
        ],
        key="id",
    )
    for again in range(2):
        assert graph.query(query).fetchall() == graph.query(query, device="reference").fetchall(), again
    kept = [key for key, _ in graph._store.derived.items() if isinstance(key, tuple) and key[0] == "codes"]
    assert bool(kept) == coded


def test_many_different_strings_have_no_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(property_texts, "_LEAST", 0)
    monkeypatch.setattr(property_texts, "_MOST_DIFFERENT", 0.5)
    graph = graph_of([f"name {each}" for each in range(20)])
    late, plain = both(graph, range(-1, 25))
    assert isinstance(late, PropertyTexts)
    assert late.codes() is None
    assert group_rows([late], len(late)).count == group_rows([plain], len(plain)).count


def test_few_strings_among_many_have_codes_however_rare_each_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(property_texts, "_LEAST", 0)
    monkeypatch.setattr(property_texts, "_MOST_DIFFERENT", 0.5)
    different, each = 3_000, 10
    graph = graph_of([f"name {place % different}" for place in range(different * each)])
    late, _ = both(graph, range(different * each))
    assert isinstance(late, PropertyTexts)
    coded = late.codes()
    assert coded is not None
    assert len(coded[1].texts) == different
