"""Questions about a generated network: answered alike by engine, reference, SQL and Kùzu; a network by its seed."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from qengine import Graph
from tests.bench.analytics.digest import agree, digest
from tests.bench.network import inserts, tables
from tests.bench.network.__main__ import Asked, main, report
from tests.bench.network.loading import into_duckdb
from tests.bench.network.parameters import Parameters, fill
from tests.bench.network.workload import Question, questions

ALL = list(questions())
UNBOUNDED = "ignore:This relationship has no upper bound"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tables.prepare(tmp_path_factory.mktemp("network"), "tiny")


@pytest.fixture(scope="module")
def larger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tables.prepare(tmp_path_factory.mktemp("network"), "xs")


def answer(table: pa.Table, question: Question) -> dict[str, object]:
    return digest(table, question.exact)


def test_a_network_is_the_same_each_time() -> None:
    one, other = tables.tables("tiny"), tables.tables("tiny")
    assert one.keys() == other.keys()
    assert all(one[name].equals(other[name]) for name in one)


def test_links_lead_to_what_there_is_and_time_goes_on() -> None:
    made = tables.tables("xs")
    ids = {name.removeprefix("nodes_"): set(made[name]["id"].to_pylist()) for name in made if name.startswith("nodes_")}
    for name, table in made.items():
        if name.startswith("rels_"):
            start, _, end = name.removeprefix("rels_").split("_")
            assert set(table["start"].to_pylist()) <= ids[start], name
            assert set(table["end"].to_pylist()) <= ids[end], name
    assert not ids["Post"] & ids["Comment"]
    for kind in ("Post", "Comment"):
        answered = made[f"rels_Comment_replyOf_{kind}"]
        assert all(
            end < start for start, end in zip(*(answered[way].to_pylist() for way in ("start", "end")), strict=True)
        )
    answers = sum(made[f"rels_Comment_replyOf_{kind}"].num_rows for kind in ("Post", "Comment"))
    assert answers == len(ids["Comment"])


@pytest.mark.filterwarnings(UNBOUNDED)
@pytest.mark.parametrize("question", ALL, ids=lambda question: question.name)
def test_the_engine_agrees_with_the_reference_executor(folder: Path, question: Question) -> None:
    graph = Graph.from_parquet(folder)
    parameters = Parameters(folder, 4)
    for _ in range(3):
        text = question.text("qengine", parameters.draw())
        found, expected = (
            answer(graph.query(text, device=device).to_arrow(), question) for device in ("cpu", "reference")
        )
        assert agree(found, expected), text


@pytest.mark.filterwarnings(UNBOUNDED)
def test_sql_and_cypher_mean_the_same(larger: Path) -> None:
    pytest.importorskip("duckdb")
    connection, graph = into_duckdb(larger, 1), Graph.from_parquet(larger)
    parameters = Parameters(larger, 5)
    answered = set()
    for _ in range(6):
        values = parameters.draw()
        for question in ALL:
            table = graph.query(question.text("qengine", values)).to_arrow()
            expected = connection.sql(question.text("duckdb", values)).to_arrow_table()
            assert agree(answer(table, question), answer(expected, question)), question.name
            if table.num_rows:
                answered.add(question.name)
    assert len(answered) >= len(ALL) - 3, {question.name for question in ALL} - answered


def test_the_command_compares_the_dialects_of_cypher(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("kuzu")
    small = ["--size", "tiny", "--engines", "qengine,kuzu", "--draws", "2", "--repeat", "1", "--threads", "1"]
    assert main([*small, "--data", str(tmp_path)]) == 0
    assert "in the geometric mean of 47 questions" in capsys.readouterr().out


def test_values_are_written_in_each_dialect(folder: Path) -> None:
    values = Parameters(folder, 1).draw()
    assert values["country"] != values["country2"]
    assert fill("$person2 $country2", values, "sql") == f"{values['person2']} '{values['country2']}'"
    day = values["from"].isoformat()
    assert fill("$from", values, "cypher") == f"localdatetime('{day}')"
    assert fill("$from", values, "kuzu") == f"timestamp('{day.replace('T', ' ')}')"


def test_a_report_names_what_is_slower_wrong_or_missing() -> None:
    right, wrong = ({"rows": 1, "hash": hash, "floats": []} for hash in (1, 2))
    ours = [{"seconds": 0.002, "processor": 0.004, "answer": right}]
    theirs = [{"seconds": 0.001, "processor": 0.02, "answer": wrong}]
    asked = [
        Asked(ALL[0], {"qengine": ours, "duckdb": theirs}),
        Asked(ALL[1], {"qengine": ours, "duckdb": [{"timeout": "> 30 s"}]}),
    ]
    told = report(asked, ["qengine", "duckdb"], "seconds")
    assert "| 2 | 1 (0.5×) |" in told
    assert "| 2 | > 30 s |" in told
    assert f"faster than ours: {ALL[0].name} 0.5×" in told
    assert f"WRONG: {ALL[0].name}, duckdb" in told
    assert "5× ours in the geometric mean of 1" in report(asked, ["qengine", "duckdb"], "processor")


@pytest.mark.filterwarnings("ignore")
def test_reads_between_inserts_are_those_of_the_reference_executor(folder: Path) -> None:
    graph, parameters = Graph.from_parquet(folder), Parameters(folder, 4)
    drawn = inserts.Inserts(tables.SIZES["tiny"], 2)
    chosen = [each for each in ALL if each.name in ("is2", "is3", "is7", "ic2", "ic5", "ic13")]
    kinds = set()
    for step in range(18):
        insert = drawn.draw()
        kinds.add(insert.text)
        graph.query(insert.text, params=insert.params)
        question, values = chosen[step % len(chosen)], parameters.draw()
        found, expected = (
            answer(graph.query(question.texts["cypher"], params=values, device=device).to_arrow(), question)
            for device in ("cpu", "reference")
        )
        assert agree(found, expected), (question.name, values)
    assert len(kinds) > 3


@pytest.mark.filterwarnings("ignore")
def test_the_report_of_reads_between_inserts(folder: Path) -> None:
    lines = list(inserts.report(*inserts.measured(folder, "tiny", 1, 1, ["is4", "ic8"], 1)))
    assert [line.split(" | ")[0] for line in lines[1:3]] == ["| is4", "| ic8"]
    assert lines[-1].startswith("- an insert: ")
