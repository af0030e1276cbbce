"""Rows of a search that its threads fold, or keep the first of, against the reference, exact sums and other paths."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import Graph, QueryTimeout
from qengine.exec.common.operators.diversion import Diversion
from qengine.exec.common.operators.folded_rows import FoldedRows
from qengine.exec.host.folds import Fold
from qengine.exec.host.joined_rows import JoinedRowsSink
from qengine.exec.host.native_search import SearchHandle
from qengine.testing import generate
from qengine.testing.compare import agree
from tests.examples import examples
from tests.property.test_aggregate_entries import CALLS, CONDITIONS, MODES
from tests.trials import trial

PATTERNS = (
    "(a)-[k:R]->(b)-[:R]->(c)", "(a)-[k:R]->(b)<-[:R]-(c)", "(a)-[k:U]-(b)-[:R]-(c)", "(a)-[k]-(b), (b)-[:R|U]-(c)",
    "(a)-[k:R]->(b)-[:R]->(a)", "(a)-[k:R]->(b), (a)-[:U]-(c)", "(a)-[k]->(b), (c), (d)",
    "(a)--(b)--(c)--(a), (a)-[k:R]->(b)", "(a)-[k:R]->(b)-[:R]->(c)-[:R]->(d)",
)  # fmt: skip
JOINED = PATTERNS[:4]
KEYS = ("a.v", "b.i", "k.i", "k.v", "a.t", "b", "k", "a.k % 2", "b.none")
ARGUMENTS = ("a.v", "b.i", "k.v", "a.i + 1", "b.t", "c.k", "c.v")
VALUES = (
    (1, 2, None), (0.5, -0.0, 0.0, None), (float("nan"), 1.5, None), ("x", "y", None), (1, "x", 0.5),
    (2**63 - 1, 3, None), (True, False, None), (1, 1.0, 2.5, None), (-(2**63), 2**62),
    (datetime(2020, 1, 1), datetime(1969, 5, 5, 7), None), (date(2020, 1, 1), date(1969, 5, 5)),
)  # fmt: skip
GIVEN = "MATCH (a) WITH DISTINCT a"
ORDERED = (*KEYS[:5], "a.k", "b.k", "c.k", "c.v", "a.k % 2", "coalesce(b.v, 0)", "b.none")


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Make six nodes and eighteen relationships, with values of one kind or of several; U has no direction."""
    random = np.random.default_rng(draw(st.integers(0, 10_000)))
    values, others = draw(st.sampled_from(VALUES)), draw(st.sampled_from(VALUES))
    texts = ("x", "y", "", None)

    def one_of(given: tuple[Any, ...]) -> Any:
        return given[random.integers(len(given))]

    nodes = [
        {"id": k, "labels": ("A", "B")[k % 3 : k % 3 + 2],
         "properties": {"k": k, "i": int(random.integers(3)), "v": one_of(values), "t": one_of(texts)}}
        for k in range(6)
    ]  # fmt: skip
    relationships = [
        {"type": kind, "start": int(start), "end": int(end), "properties": {"i": int(start) % 2, "v": one_of(others)}}
        for kind, (start, end) in zip("RRRRRRRRRSSUUUUUUU", random.integers(0, 6, (18, 2)), strict=True)
    ]
    return Graph.from_records(nodes, relationships, undirected=("U",))


@st.composite
def aggregates(draw: st.DrawFn) -> str:
    keys = draw(st.lists(st.sampled_from(KEYS), max_size=2, unique=True))
    argument = st.sampled_from(ARGUMENTS)
    calls = [draw(st.sampled_from(CALLS)).format(draw(argument)) for _ in range(draw(st.integers(1, 3)))]
    # Of values that are 1 and 1.0 either may be the one at a place of their order.
    calls = [each.replace("Disc", "Cont") if ".v" in each else each for each in calls]
    columns = ", ".join(f"{each} AS c{place}" for place, each in enumerate([*keys, *calls]))
    return f"{matched(draw)} RETURN {columns}"


@st.composite
def firsts(draw: st.DrawFn) -> str:
    """Draw an order by some keys, and then by all nodes that are shown, that ties are settled."""
    match = matched(draw)
    nodes = "bc" if match.startswith(GIVEN) else "abc"
    keys = [each for each in draw(st.lists(st.sampled_from(ORDERED), max_size=3, unique=True)) if each[0] in nodes]
    keys += [f"{node}.k" for node in nodes]
    ways = [draw(st.sampled_from(("", " DESC"))) for _ in keys]
    order = ", ".join(f"{key}{way}" for key, way in zip(keys, ways, strict=True))
    shown = ", ".join(f"{node}.k AS {node}" for node in nodes)
    return f"{match} RETURN {shown} ORDER BY {order} LIMIT {draw(st.integers(1, 20))}"


def matched(draw: st.DrawFn) -> str:
    pattern = draw(st.sampled_from([each for each in PATTERNS if "(c)" in each]))
    between = ("a.i < c.i", "a.v <> b.v", "a.t = c.t", "a.v < c.i")
    above = ("a.t <> c.t", "a.k % 3 < b.i", "a.k % 2 <> c.k % 2", "a.k / 2.0 > c.i")  # not the search's own
    drawn = st.one_of(st.sampled_from(above), st.sampled_from((*CONDITIONS, *between)))
    conditions = draw(st.lists(drawn, max_size=2, unique=True))
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    if draw(st.integers(0, 2)) == 2:
        return f"{GIVEN} /*+ search */ MATCH {draw(st.sampled_from(MODES))}{pattern}{where}"
    hint = draw(st.sampled_from(("join(a, b | b, c)", "search"))) if pattern in JOINED else "search"
    return f"/*+ {hint} */ MATCH {draw(st.sampled_from(MODES))}{pattern}{where}"


@pytest.fixture
def diverted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[int, int, int]]]:
    """Divert whatever can be, from chunks of two rows; return a list that gets the rows of each sink."""
    found: list[tuple[int, int, int]] = []
    ended = Diversion.ended

    def noted(self: Diversion, rows: tuple[int, int, int]) -> None:
        found.append(rows)
        ended(self, rows)

    monkeypatch.setattr(Diversion, "ended", noted)
    monkeypatch.setattr(FoldedRows, "is_worth", lambda self, rows: True)
    monkeypatch.setattr("qengine.exec.common.operators.diverted_first_rows._A_ROW", 1000)
    monkeypatch.setattr("qengine.exec.host.search._CHUNK_ROWS", 2)
    with trial(0):
        yield found


@pytest.fixture
def joined(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets how many rows each sink joins."""
    found: list[int] = []
    end = JoinedRowsSink.end

    def noted(self: JoinedRowsSink) -> None:
        found.append(self.inner.rows()[0])
        end(self)

    monkeypatch.setattr(JoinedRowsSink, "end", noted)
    return found


def test_folded_rows_equal_reference(
    diverted: list[tuple[int, int, int]], joined: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qengine.exec.common.operators.join._FEW_PROBING", 1)
    monkeypatch.setattr("qengine.exec.common.operators.join._MANY_PROBING", 1)

    @settings(max_examples=examples(600))
    @given(graphs(), aggregates())
    def check(graph: Graph, query: str) -> None:
        agree(graph, query, errors=True)  # some are refused, in a mode or of such values

    check()
    assert sum(taken > 2 for taken, _, _ in diverted) > examples(300) // 10
    assert any(joined)
    assert any(0 < passed < taken for taken, passed, _ in diverted)


def test_first_rows_equal_reference(diverted: list[tuple[int, int, int]]) -> None:
    @settings(max_examples=examples(300))
    @given(graphs(), firsts())
    def check(graph: Graph, query: str) -> None:
        agree(graph, query, errors=True)  # some are refused, in a mode or of such values

    check()
    assert sum(taken > 2 for taken, _, _ in diverted) > examples(300) // 10
    assert any(passed < taken for taken, passed, _ in diverted)
    assert any(0 < given < passed for _, passed, given in diverted)


N, EDGES = 3000, 60_000


@pytest.fixture(scope="module")
def paths() -> tuple[Graph, dict[str, Any]]:
    """Return a graph, and its paths of two: their nodes, first relationships and values of these."""
    random = np.random.default_rng(5)
    ends = random.integers(0, N, (2, EDGES))
    nodes = pa.table(
        {
            "id": np.arange(N),
            "g": np.arange(N) % 7,
            "f": np.round(random.random(N), 2),
            "t": [f"t{k % 5}" for k in range(N)],
        }
    )
    relationships = pa.table({"start": ends[0], "end": ends[1], "w": np.arange(EDGES) % 11, "e": np.arange(EDGES)})
    graph = Graph.from_arrow([("P", nodes)], [("R", relationships)], key="id")
    order = np.argsort(ends[0], kind="stable")
    begins = np.searchsorted(ends[0][order], np.arange(N + 1))
    degrees = (begins[1:] - begins[:-1])[ends[1]]
    first = np.repeat(np.arange(EDGES), degrees)
    inside = np.arange(len(first)) - np.repeat(np.cumsum(degrees) - degrees, degrees)
    second = order[begins[ends[1][first]] + inside]
    first, second = first[first != second], second[first != second]  # relationships of a path are different ones
    a, b, c = ends[0][first], ends[1][first], ends[1][second]
    return graph, {"a": a, "b": b, "c": c, "k": first, "l": second, "w": first % 11, "f": nodes["f"].to_numpy()}


THREADS = pytest.mark.parametrize("threads", [1, pytest.param(2, marks=pytest.mark.slow), 5])


@THREADS
@pytest.mark.parametrize("where", ["", " WHERE a.t <> c.t"])
@pytest.mark.parametrize("hint", ["search", "join(a, b | b, c)"])
def test_rows_are_folded_the_same_by_any_threads(paths: Any, threads: int, where: str, hint: str) -> None:
    graph, rows = paths
    kept = rows["a"] % 5 != rows["c"] % 5 if where else np.ones(len(rows["a"]), np.bool_)
    query = f"/*+ {hint} */ MATCH (a:P)-[k:R]->(b:P)-[:R]->(c:P){where} "
    found = graph.query(query + "RETURN k.w, b.t, count(*), sum(c.id), min(a.f), sum(a.f)", threads=threads).fetchall()
    assert len(found) == 55
    for w, t, count, total, least, floats in found:
        part = kept & (rows["w"] == w) & (rows["b"] % 5 == int(t[1]))
        values = rows["f"][rows["a"][part]]
        assert (count, total, least) == (part.sum(), rows["c"][part].sum(), values.min())
        assert floats == pytest.approx(values.sum(), rel=1e-12)


@THREADS
def test_many_groups_are_merged(paths: Any, threads: int) -> None:
    graph, rows = paths
    query = "/*+ search */ MATCH (a:P)-[k:R]->(b:P)-[:R]->(c:P) WHERE k.w < 3 "
    query += "RETURN a.id, c.id, k.w, count(*), sum(b.id), count(DISTINCT b.g)"
    kept = rows["w"] < 3
    code = (rows["a"][kept] * N + rows["c"][kept]) * 3 + rows["w"][kept]
    codes, place, counts = np.unique(code, return_inverse=True, return_counts=True)
    sums = np.bincount(place, rows["b"][kept])
    pairs = np.unique(place * 7 + rows["b"][kept] % 7)
    different = np.bincount(pairs // 7)
    table = graph.query(query, threads=threads).to_arrow()
    a, c, w, count, total, distinct = (column.to_numpy() for column in table.columns)
    order = np.argsort((a * N + c) * 3 + w)
    assert np.array_equal(((a * N + c) * 3 + w)[order], codes)
    assert np.array_equal(count[order], counts)
    assert np.array_equal(total[order], sums)
    assert np.array_equal(distinct[order], different)


@THREADS
@pytest.mark.parametrize("limit", [1, 10, 5000])
def test_first_rows_from_given_rows_come_with_these(
    paths: Any, threads: int, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[tuple[int, int, int]] = []
    monkeypatch.setattr(Diversion, "ended", lambda self, rows: ended.append(rows))
    graph, rows = paths
    query = (
        "MATCH (a:P) WITH DISTINCT a /*+ search */ MATCH (a)-[k:R]->(b:P)-[:R]->(c:P) WHERE b.t <> c.t "
        f"RETURN b.f AS f, c.id AS c, k.w AS w, a.id AS a, b.id AS b ORDER BY f DESC, c, k.e LIMIT {limit}"
    )
    kept = rows["b"] % 5 != rows["c"] % 5
    a, b, c, k = (rows[name][kept] for name in "abck")
    order = np.lexsort((k, c, -rows["f"][b]))[:limit]
    expected = [(rows["f"][b[i]], c[i], k[i] % 11, a[i], b[i]) for i in order]
    assert graph.query(query, threads=threads).fetchall() == expected
    assert ended


@THREADS
@pytest.mark.parametrize("where", ["", " WHERE b.t <> a.t AND c <> a"])
def test_rows_are_folded_with_what_given_rows_have(
    paths: Any, threads: int, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[tuple[int, int, int]] = []
    monkeypatch.setattr(Diversion, "ended", lambda self, rows: ended.append(rows))
    graph, rows = paths
    query = (
        f"MATCH (a:P)-[:R]->(b:P) WHERE a <> b WITH DISTINCT a, b /*+ search */ MATCH (b)-[l:R]->(c:P){where} "
        "RETURN a.t, l.w, count(*), sum(c.id), min(b.f)"
    )
    order = np.lexsort((rows["l"], rows["b"], rows["a"]))
    a, b, last, c = (rows[name][order] for name in "ablc")
    kept = a != b
    kept[1:] &= (a[1:] != a[:-1]) | (b[1:] != b[:-1]) | (last[1:] != last[:-1])  # once for all relationships to b
    kept &= ((b % 5 != a % 5) & (c != a)) if where else True
    found = graph.query(query, threads=threads).fetchall()
    assert len(found) == 55
    for t, w, count, total, least in found:
        part = kept & (a % 5 == int(t[1])) & (last % 11 == w)
        assert (count, total, least) == (part.sum(), c[part].sum(), rows["f"][b[part]].min())
    assert sum(taken for taken, _, _ in ended) > len(a) // 2


@pytest.mark.parametrize("least", [1 << 16, 64])
def test_rows_count_as_often_as_given_rows(monkeypatch: pytest.MonkeyPatch, least: int) -> None:
    monkeypatch.setattr("qengine.exec.common.dealing._LEAST", least)  # of pairs that a thread puts together
    weights: list[Any] = []
    opened = Diversion._with_given

    def noted(self: Diversion, source: Any) -> Any:
        found = opened(self, source)
        weights.append(None if found is None else found.weights)
        return found

    monkeypatch.setattr(Diversion, "_with_given", noted)
    monkeypatch.setattr(FoldedRows, "is_worth", lambda self, rows: True)
    made = generate.social(generate.SocialSize(10_000, 200_000, 100, 100, 10, 100))
    graph = Graph.from_arrow({"P": made["nodes_Person"]}, [("R", "P", "P", made["rels_Person_knows_Person"])], key="id")
    triangles = "MATCH (a:P)-[k:R]->(b:P)-[:R]->(c:P), (a)-[:R]->(c) RETURN k.since, count(*), max(b.id)"
    assert "check only" in str(graph.query(f"EXPLAIN {triangles}"))
    found = sorted(graph.query(triangles, threads=3).fetchall())
    assert found == sorted(graph.query(f"/*+ search */ {triangles}", threads=3).fetchall())
    assert any(each is not None and each.max() > 1 for each in weights)


@THREADS
@pytest.mark.parametrize("limit", [1, 10, 5000])
def test_first_rows_are_the_same_by_any_threads(paths: Any, threads: int, limit: int) -> None:
    graph, rows = paths
    query = (
        "/*+ search */ MATCH (a:P)-[k:R]->(b:P)-[:R]->(c:P) WHERE a.t <> c.t "
        f"RETURN b.f AS f, c.t AS t, a.id AS a, c.id AS c, b.id AS b ORDER BY f DESC, t, a, c DESC, b LIMIT {limit}"
    )
    kept = rows["a"] % 5 != rows["c"] % 5
    a, b, c = (rows[name][kept] for name in "abc")
    order = np.lexsort((b, -c, a, c % 5, -rows["f"][b]))[:limit]
    expected = [(rows["f"][b[k]], f"t{c[k] % 5}", a[k], c[k], b[k]) for k in order]
    assert graph.query(query, threads=threads).fetchall() == expected


def test_profile_counts_rows_that_are_diverted(paths: Any) -> None:
    graph, rows = paths
    match = "/*+ search */ MATCH (a:P)-[k:R]->(b:P)-[:R]->(c:P) WHERE a.t <> c.t "
    kept = rows["a"] % 5 != rows["c"] % 5
    alike = np.unique((rows["k"] * N + rows["c"])[kept])  # but for their last relationship, which is only counted
    for count, end in (
        (len(alike), "RETURN k.w, count(*), min(c.id), min(b.id)"),
        (kept.sum(), "RETURN a.id AS a, b.id AS b, k.w AS w ORDER BY a, b, w LIMIT 5"),
    ):
        text = str(graph.query(f"PROFILE {match} {end}", threads=3))
        line = next(line for line in text.splitlines() if "Filter" in line or "Search" in line)  # what compares them
        assert f"[rows={count:,} " in line
    hinted = match.replace("search", "join(a, b | b, c)")
    lines = str(graph.query(f"PROFILE {hinted} RETURN k.w, count(*), min(c.id), min(b.f)", threads=3)).splitlines()
    counts = [next(line for line in lines if word in line) for word in ("Filter", "HashJoin", "Search")]
    assert f"[rows={kept.sum():,} " in counts[0]
    assert f"[rows={len(kept):,} " in counts[1]
    assert f"[rows={EDGES:,} " in counts[2]


def test_limits_are_kept(paths: Any) -> None:
    graph, _ = paths
    joined = "/*+ join(a, b, x | x, y, c) */ MATCH (a:P)-[k:R]->(b:P)-[:R]->(x:P)-[:R]->(y:P)-[:R]->(c:P) "
    with pytest.raises(QueryTimeout):
        graph.query(joined + "RETURN k.w, c.t, count(*), min(a.f)", timeout=2.0, threads=2).fetchall()
    longer = "/*+ search */ MATCH (a:P)-[k:R]->(b:P)-[:R]->(x:P)-[:R]->(y:P)-[:R]->(c:P) WHERE a.t <> c.t "
    for end in ("RETURN k.w, count(*)", "RETURN a.id AS a, c.id AS c, k.w AS w ORDER BY w, a, c LIMIT 5"):
        with pytest.raises(QueryTimeout):
            graph.query(longer + end, timeout=0.3, threads=2).fetchall()


@pytest.mark.parametrize("hint", ["search", "join(a, b | b, c)"])
def test_a_search_is_closed_before_what_its_threads_fold_into(
    paths: Any, monkeypatch: pytest.MonkeyPatch, hint: str
) -> None:
    graph, _ = paths
    closed: list[str] = []

    def noted(kind: type[Any], name: str) -> None:
        close = kind.close
        monkeypatch.setattr(kind, "close", lambda self: (closed.append(name), close(self))[1])

    noted(SearchHandle, "search")
    noted(Fold, "fold")
    monkeypatch.setattr(FoldedRows, "_rows", lambda *_: 1 // 0)
    query = f"/*+ {hint} */ MATCH (a:P)-[k:R]->(b:P)-[:R]->(c:P) RETURN k.w, count(*), min(b.f), min(c.id)"
    with pytest.raises(ZeroDivisionError):
        graph.query(query, threads=3).fetchall()
    assert closed.index("search") < closed.index("fold")


def test_counts_that_add_up_to_too_much_are_grouped_otherwise(diverted: list[tuple[int, int, int]]) -> None:
    hub = [{"type": "R", "start": 0, "end": k} for k in range(1, 2001)]
    graph = Graph.from_records([{"id": k, "properties": {"k": k % 2}} for k in range(2001)], hub)
    fan = ", ".join(f"(h)-[:R]->(x{k})" for k in range(4))
    query = f"/*+ search */ MATCH REPEATABLE ELEMENTS (h)-[:R]->(b), {fan} RETURN b.k, count(*)"
    assert sorted(graph.query(query).fetchall()) == [(k, 1000 * 2000**4) for k in (0, 1)]
    assert diverted
