"""Q-errors: the numbers, workloads as files, the report as table, CSV and picture."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from qengine import Graph, QengineError
from qengine.cli.main import main
from qengine.estimate import Estimate
from qengine.qerror import Case, Measured, _marks, measure, plot, q_error, read_workload, summary
from tests.unit.test_command_line import WORLD

QUERIES = {
    "triangles": "MATCH (a:Country)-[:borders]-(b:Country)-[:borders]-(c)-[:borders]-(a)",
    "paths": "MATCH (a:Country)-[:borders]-(b)-[:borders]-(c)-[:speaks]->(l)",
}


@pytest.mark.parametrize(
    ("truth", "estimate", "expected"), [(10, 20, 2), (20, 10, 2), (0, 0, 1), (0, 5, 5), (100, 0.2, 100), (7, 7, 1)]
)
def test_q_errors(truth: float, estimate: float, expected: float) -> None:
    assert q_error(truth, estimate) == expected


def measured(name: str, truth: float, value: float) -> Measured:
    return Measured(name, truth, Estimate(value, value / 2, value * 2, 100, 10, "alley", False, 1e9, 0.25))


CASES = [measured("a", 100, 100), measured("b", 100, 150), measured("c", 100, 10), measured("d", 0, 3)]


def test_summaries_split_over_and_under() -> None:
    found = summary(CASES)
    assert (found.cases, found.median, found.p95, found.worst) == (4, 2.25, 10, 10)
    assert (found.worst_over, found.worst_under, found.held, found.seconds) == (3, 10, 2, 1)


@pytest.fixture(scope="module")
def counts() -> dict[str, int]:
    graph = Graph.from_csv(WORLD)
    return {name: int(graph.estimate(query, method="exact").value) for name, query in QUERIES.items()}


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_workloads_are_files(tmp_path: Path, counts: dict[str, int], ending: str) -> None:
    path = tmp_path / f"workload.{ending}"
    if ending == "csv":
        lines = ["name,query,count", *(f'{name},"{QUERIES[name]}",{counts[name]}' for name in counts)]
    else:
        lines = [json.dumps({"name": name, "query": QUERIES[name], "count": counts[name]}) for name in counts]
    path.write_text("\n".join(lines) + "\n")
    assert read_workload(path) == [Case(name, QUERIES[name], counts[name]) for name in counts]


def test_counts_and_names_may_be_left_out(tmp_path: Path, counts: dict[str, int]) -> None:
    path = tmp_path / "workload.csv"
    path.write_text(f'query\n"{QUERIES["triangles"]}"\n')
    cases = read_workload(path)
    assert cases == [Case("1", QUERIES["triangles"])]
    (found,) = measure(Graph.from_csv(WORLD), cases, method="alley", samples=10_000, seed=1)
    assert found.truth == counts["triangles"] and found.q_error < 1.2


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("w.csv", "name,query\n"),
        ("w.jsonl", "\n"),
        ("w.csv", "name\nx\n"),
        ("w.csv", "query,count\nMATCH (a),many\n"),
        ("w.jsonl", "[1]\n"),
    ],
)
def test_what_is_no_workload_is_refused(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(QengineError, match="as a workload"):
        read_workload(tmp_path / name)
    with pytest.raises(QengineError, match="as a workload"):
        read_workload(tmp_path / "missing.csv")


def test_the_command(tmp_path: Path, counts: dict[str, int], capsys: pytest.CaptureFixture[str]) -> None:
    workload, table = tmp_path / "workload.csv", tmp_path / "table.csv"
    workload.write_text("name,query\n" + "".join(f'{name},"{query}"\n' for name, query in QUERIES.items()))
    arguments = ["qerror", str(WORLD), str(workload), "--samples", "5000", "--method", "alley", "--seed", "1"]
    assert main([*arguments, "--csv", str(table)]) == 0
    out = capsys.readouterr().out
    assert "triangles" in out and "2 queries: q-error median" in out
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows] == list(QUERIES)
    assert all(float(row["q_error"]) < 1.5 and row["side"] in ("over", "under") for row in rows)
    assert [float(row["truth"]) for row in rows] == list(counts.values())


def test_parameters_are_counted_with_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = "MATCH (a:Country {name: $name})-[:borders]-(b)-[:borders]-(c)"
    path = tmp_path / "workload.csv"
    path.write_text(f'query\n"{query}"\n"MATCH (a:Contry)"\n')
    truth = Graph.from_csv(WORLD).estimate(query, {"name": "Peru"}, method="exact").value
    first, _ = measure(Graph.from_csv(WORLD), read_workload(path), params={"name": "Peru"}, samples=1000, seed=1)
    assert first.truth == truth > 0
    assert main(["qerror", str(WORLD), str(path), "-P", "name=Peru"]) == 0
    shown = capsys.readouterr()
    assert "2 queries" in shown.out and "Contry" in shown.err
    assert main(["qerror", str(WORLD), str(path)]) == 1
    assert "hint: Give it with -P" in capsys.readouterr().err


def test_a_workload_goes_on_after_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "workload.csv"
    lines = [f'first,"{QUERIES["triangles"]}"', "second,MATCH (a", f'third,"{QUERIES["paths"]}"', ",RETURN $x", ""]
    path.write_text("name,query\n" + "\n".join(lines))
    table = tmp_path / "table.csv"
    assert main(["qerror", str(WORLD), str(path), "--csv", str(table)]) == 1
    shown = capsys.readouterr()
    assert "first" in shown.out and "third" in shown.out and "2 queries:" in shown.out and "second" not in shown.out
    assert "Syntax error: query second: " in shown.err and "query 4: " in shown.err and "Give it with -P" in shown.err
    assert table.read_text().count("\n") == 3
    with pytest.raises(QengineError, match="Syntax error: query second: "):
        list(measure(Graph.from_csv(WORLD), read_workload(path)))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("w.csv", "query,count\nMATCH (a),1\nMATCH (a),many\n", "entry 2 has the count 'many'"),
        ("w.jsonl", '{"query": "MATCH (a)"}\n{"query": \n', "line 2 is no JSON"),
        ("w.jsonl", '{"query": "MATCH (a)", "count": [1]}\n', r"entry 1 has the count \[1\]"),
        ("w.jsonl", '{"query": 5}\n', "entry 1 has no query"),
    ],
)
def test_a_bad_entry_of_a_workload_is_told_by_its_number(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(QengineError, match=message):
        read_workload(tmp_path / name)


def test_a_picture_of_exact_estimates_says_so(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    exact = Estimate(7.0, 7.0, 7.0, 0, 0, "exact", True, 7.0, 0.25)
    plot([Measured("a", 7, exact), measured("b", 5, 5)], tmp_path / "q.svg")
    picture = (tmp_path / "q.svg").read_text()
    assert "every estimate is the true count: 1 of 2 were counted, not sampled" in picture
    plot(CASES, tmp_path / "q.svg")
    assert "every estimate" not in (tmp_path / "q.svg").read_text()


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_pictures(tmp_path: Path, ending: str) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / f"q.{ending}"
    plot(CASES, path, "a title")
    head = path.read_bytes()[:200]
    assert head.startswith(b"\x89PNG") if ending == "png" else b"<?xml" in head


@pytest.mark.parametrize(
    ("worst", "marks"),
    [(1.0, [1.1]), (1.3, [1.1, 1.2, 1.5]), (10, [2, 5, 10]), (11, [10, 100]), (5e3, [10, 100, 1e3, 1e4])],
)
def test_the_scale_of_a_picture_fits(worst: float, marks: list[float]) -> None:
    assert _marks(worst) == marks


def test_other_pictures_are_refused(tmp_path: Path) -> None:
    with pytest.raises(QengineError, match="SVG or PNG"):
        plot(CASES, tmp_path / "q.jpeg")
