"""Estimators that users write."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import dedent
from typing import Any

import pytest

from qengine import Graph, QueryTimeout, Unsupported
from qengine.estimate import Estimator
from qengine.estimate.reference import Alley, Choose, Place, Step
from tests.unit.test_command_line import WORLD

QUERY = "MATCH (a:Country)-[:borders]-(b:Country)-[:borders]-(c:Country)-[:borders]-(a)"


class FavoursTheFirst(Estimator):
    """The example of ``Estimator``, with types: a poor idea, but honest about it."""

    name = "first"

    def refine(self, step: Step) -> Sequence[Place]:
        return [place for place in step.places if step.admits(place)]

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
