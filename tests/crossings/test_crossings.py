"""Where features cross, queries have the rows of the reference."""

from __future__ import annotations

import random
import warnings
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from qengine import Graph
from qengine.testing.composed import composed_query
from qengine.testing.random_graph import RandomGraph, random_graph
from qengine.testing.random_query import RandomQuery, random_query
from tests.crossings.doors import DOORS, explained
from tests.crossings.histories import History
from tests.crossings.outcomes import case_of, outcome
from tests.crossings.thresholds import others
from tests.examples import examples

MAKERS: dict[str, Callable[[int | str, RandomGraph], RandomQuery]] = {
    "random": random_query,
    "composed": composed_query,
}
SIZES = {"random": 60, "composed": 21}  # those of composed queries take three times as long
NETS = (1, 2)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what queries tell of themselves
        yield


def through_doors(maker: str, seeds: range) -> None:
    """Explain, profile and ask each query, on graphs that those before it were asked."""
    asked: Counter[str] = Counter()
    for seed in seeds:
        chance = random.Random(f"doors {seed}")
        made = random_graph(f"doors {seed // 8}")
        if seed % 8 == 0 or seed == seeds[0]:
            graph = Graph(made.store())
            graph.learned.after = chance.choice([0.0, 2.0])
        if (case := case_of(graph._store, MAKERS[maker](f"doors {seed}", made))) is None:
            continue
        for door in (explained, chance.choice(DOORS)):  # what a profile teaches is believed by the queries after it
            try:
                door(graph, case, chance)
            except Exception as error:
                error.add_note(f"{door.__name__} {seed}: {case.query.text}\nparameters {case.query.parameters}")
                raise
            asked[door.__name__] += 1
    assert asked.total() > len(seeds)


def with_other_thresholds(maker: str, seeds: range) -> None:
    """Ask each query with constants that send it other ways than a small graph would."""
    checked = 0
    for seed in seeds:
        made = random_graph(f"thresholds {seed // 4}")
        store = made.store()
        if (case := case_of(store, MAKERS[maker](f"thresholds {seed}", made))) is None:
            continue
        query = case.query
        with others(seed) as chosen:
            try:
                result = Graph(store).query(query.text, query.parameters, device="cpu", threads=1 + seed % 2)
                case.check(outcome(result.fetchall))
            except Exception as error:
                error.add_note(f"{seed}: {query.text}\nparameters {query.parameters}\n{chosen}")
                raise
        checked += 1
    assert checked > len(seeds) / 2


@pytest.mark.parametrize("maker", MAKERS)
def test_doors(maker: str) -> None:
    through_doors(maker, range(examples(SIZES[maker])))


@pytest.mark.parametrize("maker", MAKERS)
def test_thresholds(maker: str) -> None:
    with_other_thresholds(maker, range(examples(3 * SIZES[maker])))


@pytest.mark.parametrize("seed", range(2))
def test_histories(seed: int) -> None:
    assert History(seed).run() > 20


@pytest.mark.nets
@pytest.mark.parametrize("block", NETS)
def test_more(block: int) -> None:
    first = block * 1000
    for maker, size in SIZES.items():
        through_doors(maker, range(first, first + size // 2))
        with_other_thresholds(maker, range(first, first + size))
    History(1000 + block).run()
