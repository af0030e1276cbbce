"""The suites of the replay by name: one file of ``expected/`` each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from qengine.testing.composed import composed_query
from qengine.testing.random_graph import random_graph
from qengine.testing.random_query import random_query
from tests.differential.test_plans_once_wrong import QUERIES as ONCE_WRONG
from tests.replay import patterns, written
from tests.replay.cases import Case

_RANDOM = {"random": (random_query, 160), "composed": (composed_query, 25)}


def _random(kind: str) -> Iterator[Case]:
    """Yield random queries, each on a random graph of its own."""
    make, count = _RANDOM[kind]
    for seed in range(count):
        query = make(seed, random_graph(f"replay {seed}"))
        yield Case(
            f"random replay {seed}", query.text, query.parameters, query.ordered, query.lists_ordered, query.sure
        )


def _once_wrong() -> Iterator[Case]:
    for text in ONCE_WRONG:
        yield Case("small", text, lists_ordered=False, sure="LIMIT" not in text)


def _patterns() -> dict[str, Callable[[], Iterable[Case]]]:
    found: dict[str, Callable[[], Iterable[Case]]] = {}
    for version in patterns.VERSIONS:
        for mode in patterns.MODES:
            for name, sizes in (("3_4", (3, 4)), ("5", (5,))):
                found[f"patterns_{version}_{name}_{mode}"] = partial(_sizes, version, sizes, mode)
    return found


def _sizes(version: str, sizes: tuple[int, ...], mode: str) -> Iterator[Case]:
    for size in sizes:
        yield from patterns.pattern_cases(version, size, mode)


SUITES: dict[str, Callable[[], Iterable[Case]]] = {
    **_patterns(),
    "listed": patterns.listed,
    "hinted": patterns.hinted,
    "long": patterns.joined,
    "labelled": patterns.labelled_walks,
    "walks": patterns.walked,
    "benchmarks": written.benchmarks,
    "benchmarks_elimination": written.elimination_benchmarks,
    "benchmarks_social": written.social_benchmarks,
    "golden": written.golden,
    "examples": written.examples,
    "limits": written.heavy,
    "random": partial(_random, "random"),
    "composed": partial(_random, "composed"),
    "once_wrong": _once_wrong,
}
FOREIGN: dict[str, Callable[[], Iterable[Case]]] = {name: partial(written.foreign, name) for name in ("corpus", "tck")}
"""Suites of what is not in the checkout."""


def cases(suite: str) -> list[Case]:
    """Return a suite's queries, each once."""
    return list({case.title: case for case in (SUITES | FOREIGN)[suite]()}.values())
