"""``Graph.estimate``: what it takes, what it gives, what it refuses."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest

from qengine import Graph, QueryInterrupted, QuerySyntaxError, QueryTimeout, SemanticError, Unsupported, estimates
from qengine.cli.main import main
from qengine.errors import QengineError
from qengine.estimate.result import Sums
from qengine.estimate.target import target_of
from qengine.exec.context import ExecutionContext
from qengine.optimizer import counting
from qengine.plan.physical import VertexLevel
from tests.unit.test_command_line import WORLD

QUERIES = [
    "MATCH (a:Country)-[:borders]-(b)-[:borders]-(c), (a)-[:borders]-(c)",
    "MATCH (a:Country)-[:borders]-(b:Country)-[:borders]-(c) WHERE a.population > b.population RETURN count(*)",
    "MATCH (a:Country)-[:borders]-(b:Country) MATCH (b)-[:speaks]->(l) WHERE a.name < b.name RETURN a.name",
    "MATCH (a)-[:borders]-(b) MATCH (b)-[:borders]-(c) MATCH DIFFERENT NODES (a)-[:speaks]->(l)<-[:speaks]-(c)",
    "MATCH (a:Country)-[:borders*1..2]-(b:Country) RETURN a, b",
    "MATCH (a:Country)-[:borders]-(b) WHERE EXISTS { (b)-[:speaks]->(:Language) } RETURN count(*)",
    "MATCH (a:Country)-[:borders]-(b:Country) OPTIONAL MATCH (b)<-[:flows_through]-(r) RETURN r.name ORDER BY r.name",
    "MATCH (a:Country)-[:borders]-(b:Country) WITH a, b WHERE a.name < b.name UNWIND [1, 2, 3] AS x RETURN x",
    "MATCH REPEATABLE ELEMENTS (a)-[:borders]-(b)-[:borders]-(c)-[:borders]-(d)",
    "MATCH (a:Continent), (b:River)-[:flows_through]->(c)",
    "MATCH (a:Country {name: $name})-[:borders]-(b)-[:borders]-(c)",
]
PARAMETERS = {"name": "Peru"}


@pytest.fixture(scope="module")
def world() -> Graph:
    return Graph.from_csv(WORLD)


PURE = [QUERIES[k] for k in (0, 1, 3, 8, 9)]
CASES = [(query, method) for method in ("wanderjoin", "alley", "guided", "auto") for query in QUERIES]


@pytest.mark.parametrize(("query", "method"), [*CASES, *((query, "trawling") for query in PURE)])
def test_estimates_come_near_the_count(world: Graph, query: str, method: str) -> None:
    truth = world.estimate(query, PARAMETERS, method="exact").value
    samples = 200 if method == "trawling" else 20_000
    found = world.estimate(query, PARAMETERS, method=method, samples=samples, seed=3)
    assert found.low <= found.value <= found.high <= max(found.upper_bound, found.value)
    assert truth <= found.upper_bound
    assert math.isclose(found.value, truth, rel_tol=0.1)


def test_trawling_is_of_patterns_alone(world: Graph) -> None:
    with pytest.raises(Unsupported, match="trawling counts completions"):
        world.estimate(QUERIES[6], method="trawling")


def test_a_count_is_the_querys_answer(world: Graph) -> None:
    query = "MATCH (a)-[:borders]-(b)-[:borders]-(c) WHERE a.name < c.name"
    found = world.estimate(query, method="exact")
    assert found.is_exact and found.value == world.query(query + " RETURN count(*)").value()
    assert (found.low, found.high, found.upper_bound, found.samples) == (found.value,) * 3 + (0,)


def test_what_cannot_be_many_is_counted(world: Graph) -> None:
    found = world.estimate("MATCH (c:Country)-[:part_of]->(:Continent)")
    assert found.is_exact and found.value == 198


@pytest.mark.parametrize("query", QUERIES[:2])
@pytest.mark.parametrize("method", ["trawling", "alley", "guided"])
def test_a_seed_says_all(world: Graph, query: str, method: str) -> None:
    options: dict[str, Any] = {"method": method, "seed": 11, "rel_error": 0.05}
    one, other = (world.estimate(query, threads=threads, **options) for threads in (1, 3))
    assert (one.value, one.low, one.high, one.samples) == (other.value, other.low, other.high, other.samples)
    assert world.estimate(query, **{**options, "seed": 12}).value != one.value


def test_sampling_stops_at_what_is_asked(world: Graph) -> None:
    query = QUERIES[0]
    assert world.estimate(query, method="alley", samples=5_000).samples == 5_000
    close = world.estimate(query, method="alley", rel_error=0.01, seed=1)
    assert close.relative_error <= 0.01
    rough = world.estimate(query, method="alley", rel_error=0.1, seed=1)
    assert rough.samples < close.samples


def test_where_no_time_is_left_for_samples_statistics_answer(world: Graph) -> None:
    found = world.estimate(QUERIES[0], method="alley", budget_ms=1e-6)
    assert (found.method, found.samples, found.is_exact) == ("statistics", 0, False)
    assert 0 <= found.low < found.value < found.high <= found.upper_bound


def test_no_hit_is_no_certain_zero() -> None:
    n = 60  # squares without triangles, but for one
    edges = [{"type": "R", "start": a, "end": n + b} for a in range(n) for b in range(n) if (a * 7 + b) % 3]
    graph = Graph.from_records([{"id": k} for k in range(2 * n)], [*edges, {"type": "R", "start": n, "end": n + 1}])
    query = "MATCH (a)-[:R]-(b)-[:R]-(c)-[:R]-(a)"
    truth = graph.estimate(query, method="exact").value
    found = graph.estimate(query, method="wanderjoin", samples=3, seed=5)
    assert found.hits == found.low == 0 < found.value <= found.upper_bound  # as expected, not none
    assert not found.is_exact and found.high == found.upper_bound >= truth > 0


def test_what_samples_seldom_hit_is_counted_with_more_work(monkeypatch: pytest.MonkeyPatch) -> None:
    edges = [{"type": "R", "start": a, "end": b} for a in range(80) for b in range(a % 3, 80, 2)]
    graph = Graph.from_records([{"id": k} for k in range(80)], edges)
    query = "MATCH (a)-[:R]->(b)-[:R]->(c)-[:R]->(d), (a)-[:R]->(d)"
    monkeypatch.setattr("qengine.estimate.run._WORK_PER_SAMPLE", 1)
    monkeypatch.setattr("qengine.estimate.run._RARE", 10**6)
    assert not graph.estimate(query, samples=1000, seed=1).is_exact
    monkeypatch.setattr("qengine.estimate.run.hit_rarely", lambda _: True)
    assert graph.estimate(query, samples=1000, seed=1).value == graph.estimate(query, method="exact").value


def test_auto_chooses_alike_for_a_seed() -> None:
    generator = random.Random(1)
    edges = [{"type": "R", "start": generator.randrange(400), "end": generator.randrange(400)} for _ in range(8000)]
    graph = Graph.from_records([{"id": k} for k in range(400)], edges)
    query = "MATCH (a)-[:R]->(b)-[:R]->(c)-[:R]->(d)-[:R]->(a), (a)-[:R]->(e)-[:R]->(c)"
    found = [graph.estimate(query, seed=4, samples=20_000, threads=threads) for threads in (1, 3)]
    assert not found[0].is_exact
    assert (found[0].method, found[0].value) == (found[1].method, found[1].value)
    assert graph.estimate(query, seed=5, samples=20_000).value != found[0].value
    assert found[0].low < graph.estimate(query, method="exact").value < found[0].high


def test_auto_draws_no_more_than_is_asked(world: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qengine.estimate.run._CHEAP", 0)
    monkeypatch.setattr("qengine.estimate.slices.count_slices", lambda *_: Sums())
    monkeypatch.setattr("qengine.estimate.choice._DEAR", 0.5)  # any sampler is too dear
    assert world.estimate(QUERIES[0], samples=300, seed=1).samples == 300


def test_what_matches_nothing_is_known_to(world: Graph) -> None:
    found = world.estimate("MATCH (a:Nobody)-[:borders]-(b)")
    assert found.is_exact and found.value == found.upper_bound == 0


@pytest.mark.parametrize(
    "query",
    [
        "MATCH (a:Country) WHERE false",
        "MATCH (a:Country)-[:borders]-(b)-[:borders]-(a)",  # by the same border, which must be another
        "MATCH (a:Country)-[:borders]-(b)-[:borders]-(a) MATCH (b)-[:speaks]->(l) WHERE l.name < a.name RETURN a",
        "MATCH (a:Country&!Country)-[:borders]-(b)",
    ],
)
@pytest.mark.parametrize("method", ["auto", "alley", "exact"])
def test_what_contradicts_itself_is_nothing(world: Graph, query: str, method: str) -> None:
    found = world.estimate(query, method=method)
    assert (found.value, found.low, found.high, found.is_exact) == (0, 0, 0, True)


def test_what_the_graph_does_not_have_is_warned_of(world: Graph, capsys: pytest.CaptureFixture[str]) -> None:
    text = "MATCH (a:Contry)-[:borders]-(b)"
    found = world.estimate(text)
    (notice,) = found.notices
    assert found.value == 0 and "Contry" in notice.message and notice.hint is not None and "Country" in notice.hint
    assert found.to_dict()["notices"] == [{"code": notice.code, "message": notice.message, "hint": notice.hint}]
    assert main(["estimate", str(WORLD), f"  {text}"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("0 (counted") and "Warning: " in shown.err
    lines = shown.err.splitlines()
    assert lines[1].index(":Contry") == lines[2].index("^") - lines[1][lines[1].index(":Contry") :].index("Contry")
    assert world.estimate("MATCH (a:Country)-[:borders]-(b)").notices == ()


@pytest.mark.parametrize("hint", ["quicksi", "ri", "gsi", "c, b, a"])
def test_orders_are_followed(world: Graph, hint: str) -> None:
    text = f"/*+ order({hint}) */ MATCH (a:Country)-[:borders]-(b)-[:speaks]->(c:Language), (a)-[:speaks]->(c)"
    search = target_of(estimates.plan_counted(world._store, text).physical.root).search
    order = [level.name for level in search.levels if isinstance(level, VertexLevel)]
    assert sorted(order) == ["a", "b", "c"]
    assert hint != "c, b, a" or order == ["c", "b", "a"]
    truth = world.estimate(text, method="exact").value
    assert math.isclose(world.estimate(text, method="alley", samples=20_000, seed=3).value, truth, rel_tol=0.1)


def test_a_comment_may_end_a_pattern(world: Graph) -> None:
    assert world.estimate("MATCH (c:Country) // all of them").value == 198


def test_the_command_says_how_to_give_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", str(WORLD), QUERIES[-1]]) == 1
    assert "hint: Give it with -P NAME=VALUE" in capsys.readouterr().err
    assert main(["estimate", str(WORLD), QUERIES[-1], "-P", "name=Peru"]) == 0


@pytest.mark.parametrize(
    ("query", "part"),
    [
        ("MATCH (a)-[:borders]-(b) WITH DISTINCT a.name AS name WHERE name > 'P' RETURN name", "more than one row"),
        ("MATCH (a) WITH a LIMIT 3 MATCH (a)-[:borders]-(b) RETURN b", "more than one row"),
        ("MATCH (a)-[:borders]-(b) RETURN sum(a.population)", "another aggregate"),
        ("UNWIND [1, 2] AS x RETURN x", "it has no pattern"),
        ("RETURN 1", "it has no pattern"),
    ],
)
def test_what_is_no_pattern_is_refused(world: Graph, query: str, part: str) -> None:
    with pytest.raises(Unsupported, match=part):
        world.estimate(query)


@pytest.mark.parametrize(
    "wrong", [{"method": "magic"}, {"confidence": 1}, {"rel_error": 0}, {"samples": -1}, {"budget_ms": 0}]
)
def test_wrong_requests_are_refused(world: Graph, wrong: dict[str, Any]) -> None:
    with pytest.raises(SemanticError):
        world.estimate(QUERIES[0], **wrong)


STRANGE = ["many", b"x", math.nan, math.inf, 2.5, -1, True, [], {1: 2}, (1, 2), object(), len, int]
FITTING = {"rel_error": [2.5], "budget_ms": [2.5], "seed": [-1]}  # of these


@pytest.mark.parametrize("name", ["confidence", "rel_error", "budget_ms", "samples", "seed", "method", "device"])
def test_arguments_of_wrong_types_are_told(world: Graph, name: str) -> None:
    for value in STRANGE:
        if any(value is each or value == each for each in FITTING.get(name, [])) and value is not True:
            continue
        for function, text in ((world.estimate, QUERIES[0]), (world.estimate_many, [QUERIES[0]])):
            with pytest.raises(QengineError, match=r"device|estimator" if name in ("method", "device") else name):
                function(text, **{name: value})
        if name in ("confidence", "budget_ms", "samples", "seed"):
            with pytest.raises(SemanticError, match=name):
                world.estimate_all(QUERIES[0], **{name: value})


def test_what_is_no_text_is_told(world: Graph) -> None:
    for value in STRANGE[1:]:
        for function in (world.estimate, world.estimate_all):
            with pytest.raises(SemanticError, match="A statement is a str"):
                function(value)
        with pytest.raises(SemanticError, match="A statement is a str"):
            world.estimate_many([QUERIES[0], value])
    for value in ("many", 2.5, object()):
        with pytest.raises(SemanticError, match="Statements are a list of texts"):
            world.estimate_many(value)
    assert world.estimate_many([]) == ()


def test_a_text_is_planned_once(world: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "MATCH (a:Country)-[:borders]-(b:Country) WHERE b.population > $least"
    many = world.estimate(text, {"least": 0}, method="exact").value
    monkeypatch.setattr("qengine.estimates.plan_counted", None)
    assert world.estimate(text, {"least": 10**8}, method="exact").value < many


def test_errors_of_the_text_are_as_for_queries(world: Graph) -> None:
    with pytest.raises(QuerySyntaxError, match="=="):
        world.estimate("MATCH (a) WHERE a.name == 'x'")
    with pytest.raises(SemanticError, match="Parameter"):
        world.estimate("MATCH (a {name: $name})")
    with pytest.raises(SemanticError, match="EXPLAIN"):
        world.estimate("EXPLAIN MATCH (a) RETURN a")


def test_a_timeout_holds(world: Graph) -> None:
    with pytest.raises(QueryTimeout):
        world.estimate(QUERIES[0], method="alley", samples=10**9, timeout=1e-4)


def test_json(world: Graph) -> None:
    found = world.estimate(QUERIES[0], method="alley", samples=1000, seed=1)
    assert json.loads(found.to_json()) == found.to_dict()
    assert "alley" in str(found) and "1,000 samples" in str(found)


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    query = "MATCH (a)-[:borders]-(b)-[:borders]-(c)-[:borders]-(d)"
    assert main(["estimate", str(WORLD), query, "--samples", "2000", "--method", "alley", "--seed", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["samples"] == 2000 and found["method"] == "alley" and found["low"] <= found["value"] <= found["high"]
    assert main(["estimate", str(WORLD), "MATCH (a)-[:borders-(b)"]) == 1
    assert "Syntax error" in capsys.readouterr().err


def test_the_command_has_limits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    workload = tmp_path / "workload.csv"
    workload.write_text(f'name,query\nsteps,"{QUERIES[0]}"\n')
    for words in (["estimate", str(WORLD), QUERIES[0]], ["qerror", str(WORLD), str(workload)]):
        assert main([*words, "--samples", "1000000000", "--method", "alley", "--timeout", "0.0001"]) == 1
        assert "timeout" in capsys.readouterr().err
        assert main([*words, "--method", "guided", "--memory-limit", "1"]) == 1
        assert "memory" in capsys.readouterr().err
        with pytest.raises(SystemExit, match="2"):
            main([*words, "--timeout", "soon"])
        assert "argument --timeout: not a number: 'soon'" in capsys.readouterr().err


def test_ctrl_c_ends_the_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    workload = tmp_path / "workload.csv"
    workload.write_text(f'name,query\nsteps,"{QUERIES[0]}"\n')
    monkeypatch.setattr("qengine.estimate.estimate", interrupted)
    for words in (["estimate", str(WORLD), QUERIES[0]], ["qerror", str(WORLD), str(workload)]):
        assert main(words) == 130
        assert "The estimate was interrupted." in capsys.readouterr().err


@pytest.mark.parametrize(("raised", "expected"), [(RecursionError, Unsupported), (KeyboardInterrupt, QueryInterrupted)])
def test_what_stops_planning_is_an_error_of_ours(
    world: Graph, monkeypatch: pytest.MonkeyPatch, raised: type[BaseException], expected: type[Exception]
) -> None:
    def stopped(*_: Any) -> None:
        raise raised

    monkeypatch.setattr(counting, "plan_count", stopped)
    with pytest.raises(expected):
        world.estimate("MATCH (never:Planned)--(before)")


def test_the_limit_of_the_gpus_memory_is_known_from_the_start(world: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = []
    start = ExecutionContext.__init__

    def noted(self: ExecutionContext, *args: Any, **named: Any) -> None:
        start(self, *args, **named)
        begun.append(self.gpu_memory_limit)

    monkeypatch.setattr(ExecutionContext, "__init__", noted)
    world.estimate(QUERIES[0], samples=1000, seed=1, gpu_memory_limit=12345)
    assert begun[0] == 12345
