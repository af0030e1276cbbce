"""The benchmarks' engines agree with brute force on tiny graphs, and their failures are cells, not crashes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import permutations
from math import factorial, inf
from pathlib import Path

import pytest

from qengine.testing.generate import Csr, LabelledQuery
from tests.bench import __main__ as command
from tests.bench import datasets, engines, report, runner, small, workloads
from tests.bench.cells import Cell, Outcome, Status
from tests.bench.patterns import CYCLIC, DIAMOND, FOUR_CYCLE, HOUSE, PATHS, TRIANGLE, Pattern, clique
from tests.bench.thresholds import AtMost, BestOf, Rate, Scaled, Times

ONCE = runner.Limits(seconds=inf, repeats=1)  # however busy the machine is


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bench-data")
    for name in ("tiny", "tiny-labelled", "tiny-social"):
        datasets.prepare(workloads.suite(name, folder).dataset)
    return folder


def embeddings(graph: Csr, labels: list[int], pattern: Pattern) -> int:
    """Count injective maps by brute force, one vertex after the other."""
    rank = {int(v): r for r, v in enumerate(graph.degrees().argsort(kind="stable"))}
    neighbors = [set(graph.row(vertex).tolist()) for vertex in range(graph.vertex_count)]

    def fits(image: list[int], vertex: int) -> bool:
        if vertex in image or (pattern.labels and labels[vertex] != pattern.labels[len(image)]):
            return False
        whole = [*image, vertex]
        return all(
            whole[j] in neighbors[whole[i]] and (not pattern.oriented or rank[whole[i]] < rank[whole[j]])
            for i, j in pattern.edges
            if len(image) == max(i, j)
        )

    def count(image: list[int]) -> int:
        if len(image) == pattern.size:
            return 1
        return sum(count([*image, v]) for v in range(graph.vertex_count) if fits(image, v))

    return count([])


@pytest.fixture(scope="module")
def truth(data: Path) -> dict[str, int]:
    true = {}
    for name in ("tiny", "tiny-labelled"):
        suite = workloads.suite(name, data)
        assert isinstance(suite.dataset, datasets.PatternGraph)
        graph, labels = suite.dataset.plain()
        for pattern in suite.workloads:
            assert isinstance(pattern, Pattern)
            found = embeddings(graph, labels.tolist(), pattern)
            true[pattern.name] = found if pattern.counts_embeddings else found // len(pattern.automorphisms)
    return true


SLOW = ("networkx",)


@pytest.mark.parametrize(
    "engine", [pytest.param(name, marks=pytest.mark.nets) if name in SLOW else name for name in engines.NAMES]
)
def test_engine_counts_like_brute_force(engine: str, data: Path, truth: dict[str, int]) -> None:
    if not engines.is_installed(engine):
        pytest.skip(f"{engine} is not installed")
    answered = 0
    for name in ("tiny", "tiny-labelled"):
        for cell in runner.run_suite(workloads.suite(name, data), [engine], data, ONCE, lambda cell: None):
            assert cell.status in (Status.OK, Status.UNSUPPORTED), cell
            if cell.status is Status.OK:
                assert cell.answer == truth[cell.workload], cell
                answered += 1
    assert answered > 1


def test_engines_agree_on_the_social_graph(data: Path) -> None:
    if not (engines.is_installed("kuzu") and engines.is_installed("duckdb")):
        pytest.skip("kuzu or duckdb is not installed")
    suite = workloads.suite("tiny-social", data)
    outcome = Outcome.of(runner.run_suite(suite, ["qengine", "kuzu", "duckdb"], data, ONCE, lambda cell: None))
    assert {cell.status for cell in outcome.cells.values()} == {Status.OK}
    assert outcome.mismatches({"load": 8_000, "q4": 100}) == []


@pytest.mark.parametrize(
    ("limits", "status"),
    [
        (runner.Limits(seconds=0.001), Status.TIMEOUT),
        (runner.Limits(seconds=inf, bytes=1), Status.MEMORY),
    ],
)
def test_a_broken_limit_is_a_cell(limits: runner.Limits, status: Status, data: Path) -> None:
    if not engines.is_installed("networkx"):
        pytest.skip("networkx is not installed")
    suite = workloads.suite("tiny", data)
    cells = runner.run_suite(suite, ["networkx"], data, limits, lambda cell: None)
    assert {cell.status for cell in cells} == {status}
    assert len(cells) == len(suite.workloads)


@pytest.mark.parametrize("pattern", CYCLIC)
def test_order_leaves_one_of_each_orbit(pattern: Pattern) -> None:
    left = sum(
        all(ids[first] < ids[second] for first, second in pattern.order) for ids in permutations(range(pattern.size))
    )
    assert left * len(pattern.automorphisms) == factorial(pattern.size)


def test_automorphisms_are_the_known_ones() -> None:
    known = {TRIANGLE: 6, FOUR_CYCLE: 8, DIAMOND: 4, HOUSE: 2, clique(4): 24, clique(5): 120}
    assert {pattern: len(pattern.automorphisms) for pattern in known} == known
    assert all(pattern.order == frozenset() for pattern in PATHS)


def test_small_queries_are_read_from_their_text() -> None:
    edges = ((0, 1), (0, 2), (1, 2))
    text = LabelledQuery((5, 7, 5), edges).to_text()
    assert (
        small.parse("q", text) == small.parse("q", text.replace("e 0 1", "e 0 1 0")) == Pattern("q", edges, (5, 7, 5))
    )


@pytest.mark.shared_data("hprd", "yeast")
def test_small_queries_have_their_counts() -> None:
    assert len(small.queries("hprd")) == 200
    yeast = {pattern.name: (pattern, count) for pattern, count in small.queries("yeast")}
    assert yeast["query_dense_4_2"][1] == 296
    assert yeast["query_dense_4_2"][0].size == 4


def outcome(*cells: tuple[str, str, int, float]) -> Outcome:
    return Outcome.of(Cell(engine, workload, Status.OK, answer, s) for engine, workload, answer, s in cells)


def test_a_mismatch_names_both_sides() -> None:
    found = outcome(("kuzu", "triangle", 3, 1.0), ("duckdb", "triangle", 4, 1.0), ("kuzu", "house", 1, 1.0))
    assert found.mismatches({}) == ["triangle: kuzu says 3, duckdb says 4"]
    assert found.mismatches({"house": 2})[1] == "house: kuzu says 1, the truth says 2"


def test_thresholds_compare_in_the_right_direction() -> None:
    run = outcome(
        ("qengine", "triangle", 10, 0.1),
        ("duckdb", "triangle", 10, 0.7),
        ("kuzu", "triangle", 10, 0.4),
        ("qengine", "house", 30, 0.1),
        ("duckdb", "house", 30, 0.1),
    )
    assert Times("triangle", "duckdb", 6.9).judge(run).holds is True
    assert Times("triangle", "duckdb", 7.1).judge(run).holds is False
    assert Times("triangle", "graphblas", 1).judge(run).holds is None
    assert BestOf(("triangle",), ("kuzu", "duckdb"), 4.1).judge(run).holds is False
    assert BestOf(("triangle", "house"), ("kuzu", "duckdb"), 1.9).judge(run).holds is True
    assert BestOf(("triangle", "house"), ("kuzu", "duckdb"), 2.1).judge(run).holds is False
    assert AtMost("house", 0.2).judge(run).holds is True
    assert AtMost("house", 0.05).judge(run).holds is False
    assert Rate(199).judge(run).holds is True
    assert Rate(201).judge(run).holds is False


def test_scaled_threshold_follows_the_machine() -> None:
    # DuckDB takes 1.4 s instead of .7 s here: everything may take twice as long.
    run = outcome(("duckdb", "triangle", 10, 1.4), ("qengine", "4-clique", 10, 1.9))
    assert Scaled("4-clique", 1.0, "").judge(run).holds is True
    assert Scaled("4-clique", 0.9, "").judge(run).holds is False
    # A peer that was disturbed (ten times as slow) leaves the limit where the other one puts it.
    disturbed = Outcome({**run.cells, **outcome(("kuzu", "triangle", 10, 11.8)).cells})
    assert Scaled("4-clique", 0.9, "").judge(disturbed).holds is False


def test_report_shows_ratios_gaps_and_reasons() -> None:
    cells = [
        Cell("qengine", "triangle", Status.OK, 5, 0.001),
        Cell("kuzu", "triangle", Status.OK, 5, 0.02),
        Cell("duckdb", "triangle", Status.MEMORY, detail="> 12 GiB"),
        Cell("igraph", "triangle", Status.UNSUPPORTED, detail="not for this"),
    ]
    suite = workloads.Suite("s", datasets.PatternGraph(Path(), 1), (TRIANGLE,), thresholds=(AtMost("triangle", 1),))
    text = report.suite_report(suite, ["qengine", "kuzu", "duckdb", "igraph"], Outcome.of(cells))
    assert "20 ms (20×)" in text
    assert "- duckdb, triangle: > 12 GiB" in text
    assert "- holds  triangle: ≤ 1 s; is 0.001 s" in text
    assert "igraph" not in text


@pytest.mark.parametrize(("answers", "status"), [((5, 5), 0), ((5, 6), 1)])
def test_command_fails_where_engines_disagree(
    answers: tuple[int, int],
    status: int,
    data: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def run(suite: object, names: list[str], data: Path, limits: object, tell: Callable[[Cell], None]) -> list[Cell]:
        pairs = zip(names, answers, strict=True)
        return [Cell(name, "triangle", Status.OK, answer, 1.0) for name, answer in pairs]

    monkeypatch.setattr(command, "run_suite", run)
    monkeypatch.setattr(engines, "is_installed", lambda name: True)
    options = ["--suite", "tiny", "--engines", "kuzu,duckdb", "--data", str(data)]
    monkeypatch.setattr(sys, "argv", ["bench", *options])
    assert command.main() == status
    assert ("WRONG ANSWER: tiny, triangle" in capsys.readouterr().err) == bool(status)
