"""The kernel table: rows and their functions, what the optimizer chooses, what hints force, what stands in plans."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qengine import Graph
from qengine.errors import SemanticError, Unsupported
from qengine.exec.common.relations import Relations
from qengine.exec.gpu import kernels as gpu
from qengine.exec.host import kernels as host
from qengine.optimizer import elimination
from qengine.optimizer.elimination import calls
from qengine.optimizer.elimination.calls import scheduled
from qengine.optimizer.elimination.facts import ProgramFacts
from qengine.plan.elimination import Matrix, MatVec, Relation, Step, Term
from qengine.plan.kernels import DEVICES, KERNELS, Group, Kernel, kernel
from qengine.plan.pattern import Direction
from qengine.plan.physical import Eliminate
from qengine.plan.schedule import Schedule
from qengine.plan.traverse import operators
from qengine.testing.generate import rmat, to_csr
from qengine.testing.verify_elimination import verify_schedule

CHECKOUT = Path(__file__).resolve().parents[2]
ROWS = [row for rows in KERNELS.values() for row in rows]
FUNCTIONS = {"cpu": host, "gpu": gpu}


@pytest.fixture(scope="module")
def graph() -> Graph:
    start, end = to_csr(rmat(9, 8, seed=3)).edges()
    return Graph.from_edge_list((np.asarray(start), np.asarray(end)), undirected=True)


def eliminate(graph: Graph, text: str) -> Eliminate:
    plan = graph.prepare(text)._planned.physical  # not verified, which makes all schedules
    assert plan is not None
    (found,) = (each for each in operators(plan.root) if isinstance(each, Eliminate))
    return found


# ---------------------------------------------------------------- rows


@pytest.mark.parametrize("device", DEVICES)
def test_every_row_has_one_function_and_every_function_a_row(device: str) -> None:
    module = FUNCTIONS[device]
    numbers, totals = dict(module.NUMBERS_OF_STEPS), dict(module.TOTALS_OF_STEPS)
    assert not numbers.keys() & totals.keys()
    assert sorted(numbers) == sorted(row.name for row in KERNELS[device] if not row.total)
    assert sorted(totals) == sorted(row.name for row in KERNELS[device] if row.total)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.device}: {row.name}")
def test_rows_are_complete(row: Kernel) -> None:
    assert [each.name for each in KERNELS[row.device]].count(row.name) == 1
    assert "whole" in row.forms
    assert row.formula
    assert row.far in ("", "in order", "segments", "hubs") and (row.device == "gpu" or not row.far)
    if row.otherwise:
        general = kernel(row.device, row.otherwise)
        assert general.step is row.step
        assert not general.otherwise
        assert general.bits == (64, 128)
    else:
        assert row.bits == (64, 128), "numbers of 128 bits have no kernel"


def test_rows_of_one_name_give_the_same_steps() -> None:
    for one in ROWS:
        assert all(one.step is other.step for other in ROWS if other.name == one.name)


def table() -> Iterator[str]:
    """Yield the lines of the table in the pages about elimination."""
    yield "| step | kernel | what it computes | where |"
    yield "|---|---|---|---|"
    for form in dict.fromkeys(row.step for row in ROWS):
        for name in dict.fromkeys(row.name for row in ROWS if row.step is form):
            rows = [row for row in ROWS if row.name == name]
            where = ", ".join("host" if row.device == "cpu" else "GPU" for row in rows)
            yield f"| `{form.__name__}` | `{name}` | {rows[0].formula} | {where} |"


def test_the_page_of_eliminations_shows_the_table() -> None:
    text = (CHECKOUT / "docs/pages/internals/elimination.md").read_text(encoding="utf-8")
    assert "\n".join(table()) in text, "put there:\n" + "\n".join(table())


# ---------------------------------------------------------------- choices


PATTERNS = ("(a)--(b)--(c)--(d)--(e)", "(a)--(b)--(c)--(d)--(a), (a)--(c), (b)--(d), (a)--(e)")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_each_step_takes_the_cheapest_row(graph: Graph, pattern: str, device: str) -> None:
    operator = eliminate(graph, f"/*+ eliminate */ MATCH {pattern} RETURN count(*)")
    schedule = operator.schedule(device)
    assert schedule is not None
    facts = ProgramFacts(graph._store, operator.steps, device, operator.terms)
    for call in schedule.every:
        row = kernel(device, call.kernel)
        if row.groups is not None or row.total:
            continue
        place, group = call.places[0], Group(call.places, call.reads)
        others = [each for each in KERNELS[device] if each.step is row.step and each.groups is None and not each.total]
        for other in others:
            if other.matches(facts, place):
                assert row.cost(facts, group) <= other.cost(facts, group), (row.name, other.name)


def test_a_hint_forces_a_row(graph: Graph) -> None:
    text = "MATCH {} REPEATABLE ELEMENTS (a)--(b)--(c)--(d)--(a) RETURN count(*)"
    free = eliminate(graph, text.format("/*+ eliminate */"))
    forced = eliminate(graph, text.format("/*+ kernel(rooted_forest) */"))
    assert [_kernels(each) for each in free.schedules] == [
        ("stored", "closed_walks"), ("uploaded", "closed_walks"),
    ]  # fmt: skip
    assert [_kernels(each)[:2] for each in forced.schedules] == [
        ("stored", "rooted_forest"), ("uploaded", "rooted_forest"),
    ]  # fmt: skip
    queries = (text.format(f"/*+ {hint} */") for hint in ("eliminate", "kernel(rooted_forest)", "search"))
    assert len({graph.query(each).value() for each in queries}) == 1


def test_schedules_are_made_when_they_are_asked_for(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    first = calls._scheduled

    def noted(facts: ProgramFacts, *rest: Any) -> Schedule | None:
        made.append(facts.device)
        return first(facts, *rest)

    monkeypatch.setattr(calls, "_scheduled", noted)
    elimination._eliminations.of(graph._store).clear()
    text = f"/*+ eliminate */ MATCH {PATTERNS[1]} RETURN count(*) // planned anew"
    operator = eliminate(graph, text)
    graph.query(text, device="cpu").value()
    assert set(made) == {"cpu"}
    assert operator.schedules == tuple(operator.schedules) == pickle.loads(pickle.dumps(operator.schedules))
    assert [each.device for each in operator.schedules] == ["cpu", "gpu"]
    assert made.count("gpu") == 1
    assert operator.schedules[-1] is operator.schedules[1] is operator.schedule("gpu")


def test_unknown_kernels_are_named_with_the_nearest(graph: Graph) -> None:
    with pytest.raises(SemanticError, match="There is no kernel `masked_produkt`") as caught:
        graph.explain("MATCH /*+ kernel(masked_produkt) */ (a)--(b)--(c)--(a) RETURN count(*)")
    assert caught.value.hint is not None
    assert "masked_product" in caught.value.hint


def test_kernels_that_take_nothing_are_refused(graph: Graph) -> None:
    with pytest.raises(Unsupported, match="The kernel row_squares takes no step of this pattern") as caught:
        graph.explain("MATCH /*+ kernel(row_squares) */ (a)--(b)--(c) RETURN count(*)")
    assert caught.value.hint is not None
    assert "dot" in caught.value.hint


def test_explain_shows_kernels_with_costs(graph: Graph) -> None:
    text = str(graph.explain("/*+ eliminate */ MATCH (a)--(b)--(c)--(a), (c)--(d) RETURN count(*)"))
    assert "on the CPU, ~" in text
    assert "on the GPU, ~" in text
    assert "triangle_counts M2 ~" in text


def test_a_profile_tells_what_was_run_otherwise(graph: Graph) -> None:
    leaves = "".join(f", (a)--(l{k})" for k in range(5))
    text = f"/*+ eliminate */ MATCH REPEATABLE ELEMENTS (a)--(b)--(c)--(d)--(a){leaves} RETURN count(*)"
    assert "long_closed_walks" in str(graph.explain(text))
    assert "since weights have more than 32 bits" in str(graph.query(f"PROFILE {text}"))


# ---------------------------------------------------------------- how lists are stored


class InSegments(ProgramFacts):
    """Facts of a graph whose lists are stored in segments."""

    def form(self, place: int) -> str:
        return "segments"


def test_rows_that_take_segments_run_on_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """``E`` is stored as the segments ``E1`` and ``E2``, of which it has the relationships of both."""
    rng = np.random.default_rng(3)
    pairs = rng.integers(0, 40, (300, 2)).tolist()
    parts = [{"type": name, "start": a, "end": b} for k, (a, b) in enumerate(pairs) for name in ("E", f"E{1 + k % 2}")]
    whole = Graph.from_records([{"id": k} for k in range(40)], parts)
    lists = Relations.lists
    for arrows in ("-[:E]->(b)-[:E]->", "<-[:E]-(b)-[:E]-", "-[:E]-(b)-[:E]-"):
        text = f"/*+ eliminate */ MATCH REPEATABLE ELEMENTS (a){arrows}(c)-[:E]->(d) RETURN count(*)"
        expected = whole.query(text, device="reference").value()
        with monkeypatch.context() as patch:
            patch.setattr("qengine.optimizer.elimination.calls.ProgramFacts", InSegments)
            patch.setattr(Relations, "lists", lambda self, each: lists(self, replace(each, types=("E1", "E2"))))
            text = text.replace("(a)", "(z)")  # which is known by no other name
            operator = eliminate(whole, text)
            kernels = {call.kernel for schedule in operator.schedules for call in schedule.every}
            assert kernels <= {"lists", "degrees", "message", "dot", "vector_product", "indicator"}
            assert whole.query(text, device="cpu").value() == expected


def test_rows_that_take_no_segments_are_not_chosen(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qengine.optimizer.elimination.calls.ProgramFacts", InSegments)
    matrix = Matrix((Relation(("E",), Direction.BOTH),))
    steps: Sequence[Step] = (matrix, MatVec(0, None), MatVec(0, 1))
    (schedule,) = scheduled(graph._store, steps, (Term(1, (2,)),), DEVICES)
    assert schedule.device == "cpu"
    assert _kernels(schedule) == ("lists", "degrees", "message", "dot")


# ---------------------------------------------------------------- the verifier


def test_a_schedule_that_leaves_a_step_out_is_found(graph: Graph) -> None:
    operator = eliminate(graph, f"/*+ eliminate */ MATCH {PATTERNS[0]} RETURN count(*)")
    for schedule in operator.schedules:
        verify_schedule(operator.steps, operator.terms, schedule)
        for k in range(len(schedule.calls)):
            with pytest.raises(AssertionError):
                less = replace(schedule, calls=(*schedule.calls[:k], *schedule.calls[k + 1 :]))
                verify_schedule(operator.steps, operator.terms, less)
            with pytest.raises(AssertionError):
                twice = replace(schedule, calls=(*schedule.calls[:k], schedule.calls[k], *schedule.calls[k:]))
                verify_schedule(operator.steps, operator.terms, twice)
        with pytest.raises(AssertionError):
            turned = replace(schedule, calls=schedule.calls[::-1])
            verify_schedule(operator.steps, operator.terms, turned)


def _kernels(schedule: Schedule) -> tuple[str, ...]:
    return tuple(call.kernel for call in schedule.every)
