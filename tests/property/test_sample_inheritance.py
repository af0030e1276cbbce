"""Sample inheritance: the GPU's kernel equals a few lines of Python, whose expectation over all paths is the count."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from qengine.estimate.kernel import level_work
from qengine.estimate.reference import Alley, Estimator, Step, WanderJoin, _Draws, _View
from qengine.exec.gpu.sample import DeviceSamples, plan_space
from qengine.exec.gpu.sample_job import WORK
from qengine.exec.gpu.upload import device_plan
from qengine.plan.logical import Unit
from qengine.plan.pattern import Direction, LabelIs
from qengine.plan.physical import Search, Source, VertexLevel
from qengine.storage import from_records
from tests.property.search_cases import Masks, Oracle
from tests.property.test_gpu_sampling import Run, two_labels

ESTIMATORS: tuple[Estimator, ...] = (WanderJoin(), Alley())
Walk = tuple[tuple[int, ...], float]  # what it is bound to, and its weight
Team = list[Walk | None]


def inherited(team: Team) -> Team:
    """Let those without a walk go on from the others, dealt evenly."""
    parents = [walk for walk in team if walk is not None]
    heirs = len(team) - len(parents)
    if not parents or not heirs:
        return team
    split = [
        (bound, weight / (1 + heirs // len(parents) + (rank < heirs % len(parents))))
        for rank, (bound, weight) in enumerate(parents)
    ]
    own, turns = iter(split), itertools.cycle(split)
    return [next(turns) if walk is None else next(own) for walk in team]


def advanced(view: Any, estimator: Estimator, walk: Walk, choose: Callable[[int], int]) -> Walk | None:
    """Take one walk through its next level."""
    bound, weight = walk
    step = Step(view, len(bound), bound)
    refined = estimator.refine(step)
    if not refined:
        return None
    place, probability = estimator.sample(step, refined, choose)
    return ((*bound, place.value), weight / probability) if estimator.validate(step, place) else None


def weigh_team(view: Any, estimator: Estimator, seed: int, first: int, lanes: int) -> list[float]:
    """Return the weights of samples ``[first, first + lanes)``, drawn by one team."""
    depth = len(view.search.levels)
    team: Team = [((), 1.0)] * lanes
    for index in range(depth):
        team = [
            walk and advanced(view, estimator, walk, _Draws(seed, first + lane, index))
            for lane, walk in enumerate(team)
        ]
        if index + 1 < depth:
            team = inherited(team)
    return [walk[1] if walk else 0.0 for walk in team]


def expectation(view: Any, estimator: Estimator, team: Team, index: int = 0) -> float:
    """Return the mean weight of a team's samples over all that its random numbers can be."""
    depth = len(view.search.levels)
    if index == depth:
        return sum(walk[1] for walk in team if walk) / len(team)
    ways = []
    for walk in team:
        n = 1 if walk is None else max(1, len(estimator.refine(Step(view, index, walk[0]))))
        ways.append([None if walk is None else advanced(view, estimator, walk, lambda _, k=k: k) for k in range(n)])  # type: ignore[misc]
    found = [
        expectation(view, estimator, inherited(list(each)) if index + 1 < depth else list(each), index + 1)
        for each in itertools.product(*ways)
    ]
    return sum(found) / len(found)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: each.name)
@pytest.mark.parametrize("lanes", [1, 2, 3])
def test_the_expectation_over_all_paths_is_the_count(estimator: Estimator, lanes: int) -> None:
    nodes = [{"id": k, "labels": ["A" if k < 2 else "B"]} for k in range(5)]
    pairs = [(0, 2), (0, 3), (1, 3), (2, 3), (3, 2), (3, 4), (1, 4), (4, 3)]
    store = from_records(nodes, [{"type": "R", "start": a, "end": b} for a, b in pairs])
    levels = (
        VertexLevel("a", LabelIs("A")),
        VertexLevel("b", None, (), (Source(0, ("R",), Direction.BOTH),)),
        VertexLevel("c", LabelIs("B"), (), (Source(1, ("R",), Direction.OUT), Source(0, ("R",), Direction.OUT))),
    )
    search = Search(Unit(), levels, 0, ())
    truth = sum(1 for _ in Oracle(store, search).embeddings([]))
    assert truth > 2
    view = _View(store, search, Masks())
    assert expectation(view, estimator, [((), 1.0)] * lanes) == pytest.approx(truth)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: each.name)
def test_the_kernel_does_the_same(estimator: Estimator) -> None:
    store, search, resolved, _ = two_labels()
    run = Run()
    depth = len(search.levels)
    with device_plan(store, resolved, run) as plan:  # type: ignore[arg-type]
        work = level_work(resolved.plan.ctypes.data, estimator.name, depth, run.context).view(WORK).reshape(-1)
        samples = DeviceSamples(run, plan_space(plan), estimator.name, work)  # type: ignore[arg-type]
        found = samples.draw(9, 64, 64, rows=True, inheritance=True)
    view = _View(store, search, Masks())
    teams = [weigh_team(view, estimator, 9, first, 32) for first in (64, 96)]
    assert found.weights == pytest.approx(teams[0] + teams[1])
    one, other = map(sum, teams)
    assert found.totals.weight == pytest.approx(one + other)
    assert found.totals.square == pytest.approx(one**2 + other**2 - 2 * (31 / 32) * one * other)
