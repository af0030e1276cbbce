"""Statements that share a plan have the rows, columns and errors that they have without."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from qengine import Graph
from qengine.errors import QengineError
from qengine.shared_plans import cut_at_literals
from qengine.testing.composed import check, composed_query, derived_query
from qengine.testing.random_graph import RandomGraph, random_graph
from qengine.testing.random_query import RandomQuery, random_query
from tests.examples import examples

MAKERS: dict[str, Callable[[int | str, RandomGraph], RandomQuery]] = {
    "random": random_query,
    "composed": composed_query,
    "derived": derived_query,
}
VALUES = {
    "INTEGER": ["0", "1", "2", "3", "7", "40", "0x2"],
    "FLOAT": ["0.0", "0.5", "1.5", "2.", ".25", "1e400"],
    "STRING": ["''", "'a'", "'ab'", '"b"', "'ä'", r"'\u00e4'", r"'\q'", "'it is long'"],
}


def with_other_literals(text: str, chance: random.Random) -> str:
    """Return a text of the same family; some literals stay."""
    cut = cut_at_literals(text)
    if cut is None:
        return text
    pieces, kinds = cut.family
    values = (token.value for token in cut.literals)
    others = [
        old if chance.random() < 0.5 else chance.choice(VALUES[kind]) for old, kind in zip(values, kinds, strict=True)
    ]
    return pieces[0] + "".join(value + piece for value, piece in zip(others, pieces[1:], strict=True))


def outcome(graph: Graph, text: str, parameters: dict[str, Any]) -> str:
    """Return all that a user sees of a statement."""
    try:
        result = graph.query(text, parameters)
        seen = result.columns, result.notices, str(result.plan), result.fetchall()
    except QengineError as error:
        return f"{type(error).__name__} {error.code} {error.span} {error.text!r} {error}"
    return repr(seen)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("seed", range(examples(60)))
def test_with_other_literals_a_statement_is_what_it_is_alone(maker: str, seed: int) -> None:
    chance = random.Random(seed)
    made = random_graph(seed)
    store = made.store()
    query = MAKERS[maker](seed, made)
    graph = Graph(store)
    for _ in range(7):
        text = with_other_literals(query.text, chance)
        if (
            "rand()" not in text.lower()
            and check(Graph(store), replace(query, text=text, sure=False)) != "too expensive"
        ):
            assert outcome(graph, text, query.parameters) == outcome(Graph(store), text, query.parameters), text


def test_random_statements_share_plans() -> None:
    shared = 0
    for seed in range(40):
        made = random_graph(seed)
        query = random_query(seed, made)
        graph, chance = Graph(made.store()), random.Random(seed)
        for _ in range(7):
            try:
                prepared = graph.prepare(with_other_literals(query.text, chance))
            except QengineError:
                continue
            shared += prepared._planned.places is not None
    assert shared > 20
