"""Rows that are left out before they are sorted are never among the first, and those that are kept keep their order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import Graph
from qengine.exec.common.batch import Batch, concatenate_batches
from qengine.exec.common.columns import ArrowColumn, Column, ObjectColumn, from_values
from qengine.exec.common.operators import first_rows, sort
from qengine.exec.common.operators.first_rows import FirstRows
from qengine.exec.common.ordering import kth_least, lasting_ranks, sort_keys, sorted_rows
from qengine.exec.context import ExecutionContext
from qengine.exec.scalar.compare import order_key
from tests.examples import examples

KINDS: dict[str, st.SearchStrategy[Any]] = {
    "integer": st.one_of(st.integers(0, 2), st.sampled_from([-(2**63), 2**63 - 1]), st.none()),
    "float": st.one_of(st.sampled_from([0.0, -0.0, 1.5, float("nan"), float("inf")]), st.none()),
    "string": st.one_of(st.sampled_from(["", "a", "b", "ä"]), st.none()),
    "moment": st.one_of(st.integers(0, 2), st.sampled_from([-5, 2**62]), st.none()),
    "mixed": st.one_of(st.integers(0, 2), st.sampled_from(["a", 0.5, None])),
    "list": st.none() | st.lists(st.none() | st.sampled_from([-1.0, -0.0, 0.0, float("nan")]), max_size=3),
}
ARROW = {"integer": pa.int64(), "float": pa.float64(), "string": pa.string(), "moment": pa.timestamp("ms")}


def _column(kind: str, values: list[Any]) -> Column:
    if kind == "list":
        return from_values(values)
    return ObjectColumn(values) if kind == "mixed" else ArrowColumn(pa.array(values, ARROW[kind]))


@st.composite
def _cases(draw: st.DrawFn) -> tuple[list[tuple[str, bool]], list[list[tuple[Any, ...]]], int]:
    keys = draw(st.lists(st.tuples(st.sampled_from(sorted(KINDS)), st.booleans()), min_size=1, max_size=3))
    row = st.tuples(*(KINDS[kind] for kind, _ in keys))
    batches = draw(st.lists(st.lists(row, min_size=1, max_size=30), min_size=1, max_size=5))
    return keys, batches, draw(st.integers(1, 6))


def _first(rows: Sequence[tuple[Any, ...]], keys: Sequence[tuple[str, bool]], limit: int) -> list[int]:
    """Return the places of the first rows, compared value by value."""

    def compare(one: int, other: int) -> int:
        for place, (_, ascending) in enumerate(keys):
            left, right = order_key(rows[one][place]), order_key(rows[other][place])
            if left != right:
                return -1 if (left < right) == ascending else 1
        return one - other

    return sorted(range(len(rows)), key=cmp_to_key(compare))[:limit]


def _batch(rows: Sequence[tuple[Any, ...]], keys: Sequence[tuple[str, bool]], begin: int) -> Batch:
    columns = {f"k{k}": _column(kind, [row[k] for row in rows]) for k, (kind, _) in enumerate(keys)}
    places = ArrowColumn(pa.array(np.arange(begin, begin + len(rows))))
    return Batch(len(rows), {**columns, "place": places})


@given(_cases(), st.booleans())
def test_no_row_among_the_first_is_left_out(case: Any, ties: bool) -> None:
    keys, batches, limit = case
    compiled = [
        (lambda batch, name=f"k{k}": batch.columns[name], ascending, frozenset({f"k{k}"}))
        for k, (_, ascending) in enumerate(keys)
    ]
    firsts = FirstRows(compiled, limit, ExecutionContext())
    before, first_rows._FEW_TIES = first_rows._FEW_TIES, 0 if ties else 1024
    held: list[Batch] = []
    rows: list[tuple[Any, ...]] = []
    try:
        for each in batches:
            found = list(firsts.of(iter([_batch(each, keys, len(rows))])))
            places = [place for batch in found for place in batch.columns["place"].values()]
            assert places == sorted(places)
            assert len(places) <= 2 * limit
            rows += each
            held += found
            assert set(_first(rows, keys, limit)) <= {
                place for part in held for place in part.columns["place"].values()
            }
            whole = concatenate_batches(held)
            order = sort_keys([(evaluate(whole), ascending) for evaluate, ascending, _ in compiled])
            best = whole.take(sorted_rows(order, whole.length, limit))
            held = [best]
            if best.length == limit:
                firsts.tighten([evaluate(best.slice(limit - 1, 1)) for evaluate, _, _ in compiled])
    finally:
        first_rows._FEW_TIES = before
    assert held[0].columns["place"].values() == _first(rows, keys, limit)


@pytest.mark.parametrize("threads", [1, 3, 16])
@pytest.mark.parametrize("limit", [1, 10, 3000])
def test_threads_look_at_batches_together(threads: int, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    dealt: list[int] = []
    deal = first_rows.deal

    def noted(work: Any, places: Any, context: ExecutionContext) -> None:
        dealt.append(len(places))
        deal(work, places, context)

    monkeypatch.setattr(first_rows, "deal", noted)
    n = 600_000
    k, v = np.random.default_rng(3).integers(0, (5, 1000), (n, 2)).T
    nodes = pa.table({"id": np.arange(n), "k": k, "v": pa.array(v, mask=v < 10)})
    graph = Graph.from_arrow([("P", nodes)], [], key="id")
    query = f"MATCH (p:P) WHERE p.k < 4 RETURN p.k + 0 AS k, p.v AS v, p.id AS id ORDER BY k DESC, v, id LIMIT {limit}"
    table = graph.query(query, device="cpu", threads=threads).to_arrow()
    kept = np.flatnonzero(k < 4)
    order = kept[np.lexsort((kept, np.where(v < 10, 1000, v)[kept], -k[kept]))][:limit]
    assert table["id"].to_pylist() == order.tolist()
    assert (max(dealt) > 1) == (threads > 1) and max(dealt) <= threads


def test_ranks_of_numbers_and_moments_last_beyond_a_batch() -> None:
    for kind in (pa.int64(), pa.timestamp("ms"), pa.date32(), pa.time64("us")):
        found = lasting_ranks(ArrowColumn(pa.array([3, None, 1], kind)), ascending=False)
        assert found is not None and found[0] == kind
        assert found[1].argsort().tolist() == [1, 0, 2]
    greatest = ArrowColumn(pa.array([2**63 - 1, 1]))  # null would tie with it
    assert lasting_ranks(greatest, ascending=True) is None


VALUES = list(zip([0.5, None, float("nan"), -1.0, 2.0, 0.5] * 5, ["x", "y", None] * 10, strict=True))
GRAPH = Graph.from_records(
    [{"id": k, "labels": ["A"], "properties": {"i": k % 5, "v": v, "t": t, "k": k}} for k, (v, t) in enumerate(VALUES)],
    [{"start": k % 30, "end": (7 * k) % 30, "type": "R", "properties": {"w": k % 3}} for k in range(90)],
)
ORDERS = (
    ("a.i AS c0, b.t AS c1, b.k AS c2", "c0, c1 DESC, c2"),
    ("a.v AS c0, b.v AS c1, a.k AS c2, b.k AS c3", "c0 DESC, c1, c3, c2"),
    ("b.t AS c0, r.w AS c1, a.k AS c2, b.k AS c3", "c0, c1 DESC, c2, c3 DESC"),
    ("a.i + 1 AS c0, a.k AS c1, b.k AS c2", "c0, c1, c2"),
    ("a.k AS c1, b.k AS c2", "a.i % 3, c1, c2 DESC"),
    ("a.k AS c1, b.k AS c2, coalesce(b.v, 'none') AS c0", "c0, c1, c2 DESC"),
)


@settings(max_examples=examples(200))
@given(st.sampled_from(ORDERS), st.integers(1, 100), st.sampled_from([1, 4, 65_536]))
def test_the_first_rows_are_those_of_the_reference(order: tuple[str, str], limit: int, batch: int) -> None:
    query = f"MATCH (a:A)-[r:R]->(b:A) RETURN {order[0]} ORDER BY {order[1]} LIMIT {limit}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sort, "_FEW_ROWS", 0)
        patch.setattr("qengine.exec.host.search._CHUNK_ROWS", batch)
        found = GRAPH.query(query, device="cpu").fetchall()
    assert repr(found) == repr(GRAPH.query(query, device="reference").fetchall())


def test_a_row_that_makes_the_projection_fail_is_not_left_out() -> None:
    query = "MATCH (a:A) RETURN a.k AS k, 10 / (a.k - 29) AS q ORDER BY k LIMIT 2"
    for device in ("cpu", "reference"):
        with pytest.raises(Exception, match="zero"):
            GRAPH.query(query, device=device).fetchall()


@given(
    st.one_of(
        st.lists(st.integers(-3, 3), min_size=1, max_size=60),
        st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=60),
        st.lists(st.sampled_from([-(2**63), 2**63 - 1, 2**63 - 2, 5000, 0]), min_size=1, max_size=60),
    ),
    st.data(),
)
def test_selection_equals_sorting(values: list[int], data: st.DataObject) -> None:
    k = data.draw(st.integers(0, len(values) - 1))
    assert kth_least(np.array(values, np.int64), k) == sorted(values)[k]
