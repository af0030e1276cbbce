"""Estimators that users write."""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from qengine import ExecutionError, Graph, QueryTimeout, SemanticError, Unsupported
from qengine.estimate import Estimate, Estimator
from qengine.estimate.reference import Alley, Choose, Place, Step
from tests.unit.test_command_line import WORLD

QUERY = "MATCH (a:Country)-[:borders]-(b:Country)-[:borders]-(c:Country)-[:borders]-(a)"


class FavoursTheFirst(Estimator):
    """The example of ``Estimator``, with types: a poor idea, but honest about it."""

    name = "first"

    def refine(self, step: Step) -> Sequence[Place]:
        return step.admitted

    def sample(self, step: Step, refined: Sequence[Place], choose: Choose) -> tuple[Place, float]:
        n = len(refined)
        if n == 1:
            return refined[0], 1.0
        choice = choose(2 * n - 2)
        return (refined[0], 0.5) if choice < n - 1 else (refined[choice - n + 2], 0.5 / (n - 1))

    def validate(self, step: Step, place: Place) -> bool:
        return True


@pytest.fixture(scope="module")
def world() -> Graph:
    return Graph.from_csv(WORLD)


def test_an_estimator_of_ones_own(world: Graph) -> None:
    truth = world.estimate(QUERY, method="exact").value
    found = world.estimate(QUERY, method=FavoursTheFirst(), samples=1_500, seed=1)
    assert found.method == "first" and found.samples == 1_500 and not found.is_exact
    assert found.low < truth < found.high
    assert found.value == pytest.approx(truth, rel=0.2)


def test_the_documented_one_is_this_one(world: Graph) -> None:
    assert Estimator.__doc__ is not None
    lines = dedent(Estimator.__doc__.split("::\n")[1]).splitlines()
    names: dict[str, Any] = {"Estimator": Estimator}
    exec("\n".join(line for line in lines if not line.startswith("graph.")), names)
    documented, ours = (
        world.estimate(QUERY, method=each(), samples=500, seed=1).value
        for each in (names["FavoursTheFirst"], FavoursTheFirst)
    )
    assert documented == ours > 0


def test_the_built_in_ones_are_estimators_too(world: Graph) -> None:
    found = world.estimate(QUERY, method=Alley(), samples=1_000, seed=1)
    assert found.method == "alley" and found.value == pytest.approx(found.value)


def test_a_timeout_reaches_python(world: Graph) -> None:
    with pytest.raises(QueryTimeout):
        world.estimate(QUERY, method=Alley(), samples=10**7, timeout=0.05)


def test_a_tail_is_refused(world: Graph) -> None:
    with pytest.raises(Unsupported, match="in Python"):
        world.estimate("MATCH (a:Country)-[:borders]-(b) WHERE a.name < b.name", method=Alley())


def test_a_first_level_costs_nothing_however_many_nodes_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph.from_edge_list((range(300_000), [(k * 7919) % 300_000 for k in range(300_000)]))
    made = []
    monkeypatch.setattr(Place, "__init__", lambda self, *given: made.append(self) or _place(self, *given))
    found = graph.estimate("MATCH (a)-->(b)", method=FirstOfAll(), samples=50, seed=1)
    assert found.hits == 50 and found.value == 300_000 and len(made) < 500


def _place(place: Place, value: int, repeated: bool = False, allowed: bool = True) -> None:
    place.value, place.repeated, place.allowed = value, repeated, allowed


class FirstOfAll(Estimator):
    name = "uniform"

    def refine(self, step: Step) -> Sequence[Place]:
        return step.admitted

    def validate(self, step: Step, place: Place) -> bool:
        return step.admits(place)


@pytest.mark.parametrize("query", [QUERY, "MATCH (a:Country), (b:Country) WHERE a.population > 10000000 AND a <> b"])
def test_admitted_are_the_places_that_are_admitted(world: Graph, query: str) -> None:
    class Checks(FirstOfAll):
        def refine(self, step: Step) -> Sequence[Place]:
            values = [place.value for place in step.places if step.admits(place)]
            assert [place.value for place in step.admitted] == values
            assert [place.value for place in step.admitted[:3]] == values[:3]
            return step.admitted

    assert world.estimate(query, method=Checks(), samples=20, seed=1).samples == 20


def test_a_budget_holds_for_each_sample(world: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock:
        now = 0.0

        def perf_counter(self) -> float:
            return self.now

        monotonic = thread_time = perf_counter

    clock = Clock()
    for module in (
        "qengine.estimates",
        "qengine.estimate.run",
        "qengine.estimate.anytime",
        "qengine.estimate.reference",
    ):
        monkeypatch.setattr(f"{module}.time", clock)

    class Slow(FirstOfAll):
        def refine(self, step: Step) -> Sequence[Place]:
            clock.now += 0.02
            return step.admitted

    found = world.estimate(QUERY, method=Slow(), budget_ms=200, seed=1)
    assert 1 <= found.samples <= 10 and clock.now < 0.3
    clock.now = 0.0
    assert world.estimate(QUERY, method=Slow(), budget_ms=1, seed=1).samples == 1


@pytest.mark.parametrize(
    ("method", "returned", "message"),
    [
        ("refine", None, "Mine.refine returned None, not a sequence of places."),
        ("refine", "text", "Mine.refine returned 'text', not a sequence of places."),
        ("sample", None, "Mine.sample returned None, not a place and its probability."),
        ("sample", (1, 0.5), "Mine.sample returned (1, 0.5), not a place and its probability."),
        ("probability", 0, "Mine.sample returned 0, not a probability above 0 and at most 1."),
        ("probability", 1.7, "Mine.sample returned 1.7, not a probability above 0 and at most 1."),
        ("probability", float("nan"), "Mine.sample returned nan, not a probability above 0 and at most 1."),
        ("probability", "1", "Mine.sample returned '1', not a probability above 0 and at most 1."),
        ("probability", True, "Mine.sample returned True, not a probability above 0 and at most 1."),
        ("validate", None, "Mine.validate returned None, not True or False."),
        ("choose", 0, "An estimator called choose(0)."),
        ("choose", 2.5, "An estimator called choose(2.5)."),
    ],
)
def test_mistakes_are_told_by_the_method(world: Graph, method: str, returned: Any, message: str) -> None:
    class Mine(FirstOfAll):
        def refine(self, step: Step) -> Any:
            return returned if method == "refine" else step.admitted

        def sample(self, step: Step, refined: Sequence[Place], choose: Choose) -> Any:
            if method == "choose":
                choose(returned)
            if method == "sample":
                return returned
            return (refined[0], returned) if method == "probability" else (refined[0], 1 / len(refined))

        def validate(self, step: Step, place: Place) -> Any:
            return returned if method == "validate" else True

    with pytest.raises(SemanticError) as raised:
        world.estimate(QUERY, method=Mine(), samples=10, seed=1)
    assert raised.value.message == message and raised.value.hint


@pytest.mark.parametrize("method", [FirstOfAll, Alley, 5, None, ["alley"]])
def test_what_is_no_estimator_is_told(world: Graph, method: Any) -> None:
    with pytest.raises(SemanticError, match=r"The method is .*, not an estimator") as raised:
        world.estimate(QUERY, method=method)
    assert ("method=FirstOfAll()" in str(raised.value.hint)) == (method is FirstOfAll)


def test_numpy_probabilities_and_sequences_are_taken(world: Graph) -> None:
    class Mine(FirstOfAll):
        def refine(self, step: Step) -> Any:
            return np.array(list(step.admitted), dtype=object)

        def sample(self, step: Step, refined: Any, choose: Choose) -> Any:
            return refined[choose(np.int64(len(refined)))], np.float64(1) / len(refined)

        def validate(self, step: Step, place: Place) -> Any:
            return np.bool_(True)

    found = world.estimate(QUERY, method=Mine(), samples=50, seed=1)
    assert found.value == world.estimate(QUERY, method=FirstOfAll(), samples=50, seed=1).value


def test_the_repr_of_an_estimate_has_the_digits_that_say_something() -> None:
    given = Estimate(1234.56789, 1000.123456, 2e20, 100, 10, "alley", False, 3463.0, 0.0123456, seed=7)
    assert repr(given) == (
        "Estimate(value=1235, low=1000, high=2e+20, samples=100, hits=10, method='alley', is_exact=False, "
        "upper_bound=3463, seconds=0.01235, device='cpu', seed=7)"
    )
    assert "value=123456789," in repr(Estimate(123456789.0, 1.0, math.inf, 0, 0, "exact", True, 1.0, 0.1))


def test_an_error_in_an_estimator_names_the_class_and_the_method(world: Graph) -> None:
    class Broken(FirstOfAll):
        def refine(self, step: Step) -> Sequence[Place]:
            raise KeyError("degree")

    with pytest.raises(ExecutionError, match=r"Broken\.refine failed: KeyError: 'degree'") as raised:
        world.estimate(QUERY, method=Broken(), samples=5, seed=1)
    assert isinstance(raised.value.__cause__, KeyError) and raised.value.code == "EstimatorFailed"
