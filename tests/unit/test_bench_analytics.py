"""Generated analytical queries: drawn alike each time, answered alike by engine, reference and SQL."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from qengine import Graph
from qengine.testing import generate
from tests.bench.analytics import tables
from tests.bench.analytics.digest import agree, digest
from tests.bench.analytics.draw import Analytical, draw
from tests.bench.analytics.forms import draw_forms
from tests.bench.analytics.report import Timed, report
from tests.bench.analytics.shapes import SHAPES

TINY = generate.SocialSize(100, 400, 5, 60, 10, 200)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return Graph.from_parquet(written(tmp_path_factory.mktemp("analytics")))


def written(root: Path) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(tables.SIZES, "tiny", TINY)
        return tables.prepare(root, "tiny")


def test_a_seed_gives_the_same_different_queries() -> None:
    queries = list(draw(200, 3))
    assert queries == list(draw(200, 3))
    assert len({query.cypher for query in queries}) == 200
    assert {query.shape for query in queries} == {shape.name for shape in SHAPES}
    assert queries != list(draw(200, 4))
    assert list(draw_forms(60, 3)) == list(draw_forms(60, 3))


@pytest.mark.parametrize("query", [*draw(40, 5), *draw_forms(30, 5)], ids=lambda query: query.name)
def test_the_engine_agrees_with_the_reference_executor(graph: Graph, query: Analytical) -> None:
    found, expected = (
        digest(graph.query(query.cypher, device=device).to_arrow(), query.exact) for device in ("cpu", "reference")
    )
    assert agree(found, expected), query.cypher


def test_sql_and_cypher_mean_the_same(graph: Graph, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect(":memory:")
    for file in written(tmp_path).glob("*.parquet"):
        words = file.stem.split("_")
        name = "_".join(words[1:] if words[0] == "nodes" else words[2:-1])
        connection.execute(f"CREATE TABLE \"{name}\" AS FROM read_parquet('{file}')")
    for query in (*draw(120, 6), *draw_forms(60, 6)):
        found = digest(graph.query(query.cypher).to_arrow(), query.exact)
        assert agree(found, digest(connection.sql(query.sql).to_arrow_table(), query.exact)), query.cypher


def test_a_sum_of_no_floats_is_a_number_like_others() -> None:
    mixed = pa.UnionArray.from_dense(
        pa.array([0, 1], pa.int8()), pa.array([0, 0], pa.int32()), [pa.array([1.5]), pa.array([0])]
    )
    tables = [pa.table({"key": [1, 2], "value": values}) for values in (mixed, [1.5, 0.0], [1.5, 1.0])]
    found = [digest(table, 1) for table in tables]
    assert agree(found[0], found[1])
    assert not agree(found[0], found[2])


@pytest.mark.parametrize(
    "changed",
    [
        {"key": [1, 2, 4], "value": [0.5, 1.5, 2.5]},
        {"key": [1, 2, 3], "value": [0.5, 2.5, 1.5]},
        {"key": [1, 2, 3], "value": [0.5, 1.5, 2.500001]},
        {"key": [1, 2, 3], "value": [0.5, None, 2.5]},
        {"key": [1, 2, 3, 3], "value": [0.5, 1.5, 2.5, 0.0]},
    ],
)
def test_a_changed_answer_is_noticed(changed: dict[str, list[float | None]]) -> None:
    table = pa.table({"key": [1, 2, 3], "value": [0.5, 1.5, 2.5]})
    backwards = table.take([2, 1, 0])
    assert agree(digest(table, 1), digest(backwards, 1))
    assert not agree(digest(table, 1), digest(pa.table(changed), 1))


def test_the_report_tells_ratios_and_growth() -> None:
    queries = list(draw(3, 5))

    def timed(size: str, of: list[tuple[float | None, float | None]]) -> list[Timed]:
        pairs = zip(queries, of, strict=True)
        return [Timed(query, size, {"qengine": ours, "duckdb": theirs}, False) for query, (ours, theirs) in pairs]

    text = report(
        [*timed("2M", [(1.0, 4.0), (2.0, 2.0), (1.0, 0.5)]), *timed("20M", [(20.0, 20.0), (5.0, 5.0), (None, 1.0)])], 5
    )
    assert (
        "3 queries: 1.26× DuckDB in the geometric mean; slower than it: 1, under 0.67: 1; without an answer: 0" in text
    )
    assert "3 queries: 1× DuckDB in the geometric mean; slower than it: 1, under 0.67: 1; without an answer: 1" in text
    assert "2 queries: 1 grow over 1.3 times as much" in text
    assert f"- 4× as much as DuckDB (1e+03 / 4e+03 ms → 2e+04 / 2e+04 ms) {queries[0].name}" in text
