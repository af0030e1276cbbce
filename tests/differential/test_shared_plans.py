"""Statements that share a plan have the rows, columns and errors that they have without."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from qengine import Graph
from qengine.errors import QengineError
from qengine.shared_plans import Scanned
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
    cut = Scanned(text).cut
    if cut is None:
        return text
    pieces, kinds = cut.family
    values = (token.value for token in cut.literals)
    others = [
        old if chance.random() < 0.5 else chance.choice(VALUES[kind]) for old, kind in zip(values, kinds, strict=True)
    ]
    return pieces[0] + "".join(value + piece for value, piece in zip(others, pieces[1:], strict=True))


def outcome(graph: Graph, text: str, parameters: dict[str, Any]) -> str:
    """Return what a user sees of a statement; its rows sorted, since a near tie of two plans may give another order."""
    try:
        result = graph.query(text, parameters)
        seen = result.columns, result.notices, sorted(map(repr, result.fetchall()))
    except QengineError as error:
        return f"{type(error).__name__} {error.code} {error.span} {error.text!r} {error}"
    return repr(seen)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("seed", range(examples(40)))
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


def atom(chance: random.Random, name: str, depth: int = 1) -> str:
    """Return a condition on a node that has literals which may become parameters, and some which may not."""
    kinds = [
        f"{name}.k = {chance.randint(0, 6)}",
        f"{name}.k <> {chance.randint(0, 6)}",
        f"{chance.randint(0, 3)} <= {name}.k < {chance.randint(3, 7)}",
        f"{name}.i > -{chance.randint(1, 4)}",
        f"{name}.f <= {chance.randint(0, 3)}.5",
        f"{name}.k IN [{chance.randint(0, 6)}, {chance.randint(0, 6)}]",
        f"{name}.s STARTS WITH '{chance.choice(['', 'a', 'b'])}'",
        f"{name}.s CONTAINS '{chance.choice(['a', 'b'])}'",
        f"{name}.m = {chance.choice(['1', chr(39) + 'a' + chr(39)])}",
        f"{name}.k + {chance.randint(0, 2)} > 1",
        f"10 / ({name}.k - {chance.randint(0, 6)}) > 1",
        f"EXISTS {{ ({name})--(:A|B|C {{k: {chance.randint(0, 6)}}}) }}",
    ]
    if depth and chance.random() < 0.4:
        word = chance.choice([" AND ", " OR ", " XOR "])
        return f"({word.join(atom(chance, name, 0) for _ in range(2))})"
    return chance.choice(["", "", "", "NOT "]) + chance.choice(kinds)


TAILS = (" RETURN n.k, m.k", " RETURN count(*)", " WITH n, m WHERE m.k > 1 RETURN n.s, m.k + 1", " RETURN n.k, 7")
NAMED = (
    " RETURN CASE WHEN n.k > 3 THEN m.s ELSE 'no' END AS c, count(*) AS times",
    " RETURN sum(CASE WHEN m.i = 1 OR n.s = 'a' THEN m.k ELSE 0 END) AS total",
    " RETURN n.k < 4 AS y, count(*) AS z ORDER BY n.k < 4",
)


def value_query(chance: random.Random, tails: Sequence[str]) -> str:
    """Return a statement that is mostly conditions with literals."""
    match = f"MATCH (n {{k: {chance.randint(0, 6)}}})" if chance.random() < 0.4 else "MATCH (n)"
    more = chance.choice(["--(m)", "-[{k: 1}]-(m)", "--(m) OPTIONAL MATCH (m)--(o {k: 2})", "-[*1..2]-(m)"])
    where = f" WHERE {atom(chance, 'n')}" if "OPTIONAL" not in more else f" WHERE {atom(chance, 'o')}"
    return match + more + where + chance.choice(tails)


@pytest.mark.parametrize(("block", "tails"), [*((block, TAILS) for block in range(6)), (6, NAMED), (7, NAMED)])
def test_values_of_properties_are_shared_and_right(block: int, tails: Sequence[str]) -> None:
    shared = 0
    for seed in range(examples(40)):
        chance = random.Random(f"{block} {seed}")
        store = random_graph(seed).store()
        first, graph = value_query(chance, tails), Graph(store)
        for _ in range(6):
            text = with_other_literals(first, chance)
            if check(Graph(store), RandomQuery(text, sure=False)) != "too expensive":
                assert outcome(graph, text, {}) == outcome(Graph(store), text, {}), text
                try:
                    shared += graph.prepare(text)._planned.places is not None
                except QengineError:
                    continue
    assert shared > (examples(7) if tails is TAILS else 0)
