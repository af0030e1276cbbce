"""Queries composed of all that the grammar lets stand in each other: no crash, and the rows of the reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

import pytest

from qengine import Graph
from qengine.syntax import automaton
from qengine.syntax.automaton import build_grammar
from qengine.syntax.brackets import pair
from qengine.syntax.classify import classify
from qengine.syntax.scanner import scan
from qengine.testing.composed import check, composed_query, derived_query
from qengine.testing.composed.grammar import all_rules
from qengine.testing.random_graph import RandomGraph, random_graph

_QUERIES = 20  # of each graph
_THOROUGH = 5  # one in so many
_MAKERS = {"composed": composed_query, "derived": derived_query}
BLOCK = {"composed": 500, "derived": 1500}  # together 2,000; always half of the first
NETS = range(1, 10)  # with that 19,000
SLOW = (0, *range(10, 100))  # with those 200,000

CONSTRUCTS = [
    "UNION ALL", "UNION DISTINCT", "UNION MATCH", "OPTIONAL MATCH", "WITH DISTINCT", "WITH *", "UNWIND COLLECT {",
    "LIMIT 1 UNION", "DESC UNION", "EXISTS { MATCH", "EXISTS { (", "COUNT { MATCH", "COUNT { UNWIND", "COLLECT { MATCH",
    "exists((", "NOT (n", "shortestPath(", "SHORTEST ", "TRAIL (", "SIMPLE (", "DIFFERENT NODES", "REPEATABLE ELEMENTS",
    "LIMIT $p", "SKIP $p", "LIMIT size(range(", "reduce(", "single(", "CASE WHEN", "size(collect(", "[EXISTS {",
    "EXCEPT ", "EXCEPT ALL", "INTERSECT ", "OTHERWISE ", " NEXT ", "WHEN ", "CALL (", "OPTIONAL CALL",
    "OPTIONAL { MATCH", "KEEP TRAIL", "KEEP ALL SHORTEST", "GROUP BY", "LET ", "FILTER ", "WITH OFFSET",
    "WITH ORDINALITY", "NULLS FIRST",
    "NULLS LAST", "VALUE {", "CAST(", "allReduce(", "IS LABELED", "property_exists(", "IS TYPED", "WHEN < ",
    "{v: EXISTS {", "coalesce(EXISTS {", "IN COLLECT {", "{i: COUNT {", "WHERE EXISTS {", " | COUNT {", "{.k, v: ",
]  # fmt: skip


def _block(kind: str, number: int) -> range:
    return range(number * BLOCK[kind], (number + 1) * BLOCK[kind])


@lru_cache(2)
def _graph(kind: str, number: int) -> tuple[RandomGraph, Graph]:
    made = random_graph(f"{kind} {number}", most_nodes=4, most_relationships=6)
    return made, Graph(made.store())


def _check(kind: str, seeds: range) -> Counter[str]:
    """Check queries; return how many went which way."""
    outcomes: Counter[str] = Counter()
    for seed in seeds:
        made, graph = _graph(kind, seed // _QUERIES)
        outcomes[check(graph, _MAKERS[kind](seed, made), thorough=seed % _THOROUGH == 0)] += 1
    return outcomes


def test_composed_queries() -> None:
    size = BLOCK["composed"] // 2
    outcomes = _check("composed", range(size))
    assert outcomes["rows"] > size * 0.5, outcomes
    assert outcomes["refused"] < size * 0.02, outcomes
    assert outcomes["error"] + outcomes["too expensive"] < size * 0.05, outcomes


def test_derived_queries() -> None:
    size = BLOCK["derived"] // 2
    outcomes = _check("derived", range(size))
    assert outcomes["refused"] < size * 0.95, outcomes


@pytest.mark.nets
@pytest.mark.parametrize("block", NETS)
@pytest.mark.parametrize("kind", BLOCK)
def test_more_queries(kind: str, block: int) -> None:
    _check(kind, _block(kind, block))


@pytest.mark.slow
@pytest.mark.parametrize("block", SLOW)
@pytest.mark.parametrize("kind", BLOCK)
def test_many_queries(kind: str, block: int) -> None:
    _check(kind, _block(kind, block))


def test_composed_queries_use_the_whole_language() -> None:
    texts = " ".join(composed_query(seed, random_graph(seed)).text for seed in range(1500))
    assert [construct for construct in CONSTRUCTS if construct not in texts] == []


class _Recorder:
    """A builder that builds nothing, and notes the numbers of the rules that the automaton reduces by."""

    def __init__(self) -> None:
        self.rules: set[int] = set()

    def __getattr__(self, name: str) -> Callable[[Sequence[Any]], None]:
        return lambda parts: self.rules.add(int(name))


def test_every_rule_of_the_grammar_is_derived() -> None:
    lark: Any = build_grammar()
    table = automaton._computed()
    rules = {number for number, (_, _, name, _) in enumerate(table["rules"]) if name is not None}
    for number in rules:
        table["rules"][number][2] = str(number)
    terminals = {terminal.name for terminal in lark.terminals if not terminal.name.startswith("$")}
    recorder = _Recorder()
    recording = automaton.Automaton(table, recorder)
    expansions = {(origin, rule.symbols): rule for origin, rule in all_rules()}
    for seed in range(20_000):
        if len(rules) <= 2 and not terminals:
            break
        wanted = lark.rules[sorted(rules)[seed % len(rules)]]
        origin = wanted.origin.name
        towards = origin, expansions[origin, tuple((part.name, part.is_term) for part in wanted.expansion)]
        tokens = scan(derived_query(seed, random_graph(seed % 50), towards).text)
        recorder.rules = set()
        with suppress(automaton.Refused):  # what can be read in another way, in which it is none of the language
            classified = classify(tokens, pair(tokens, ""))
            if not classified:
                continue
            recording.run(classified)
            rules -= recorder.rules
            terminals -= {token.type for token in classified}
    # The classifier writes ROWS_CLAUSE, which has no width, before one of its parts alone, and ALL before an argument.
    never = ["<rows_clause : ROWS_CLAUSE>", "<operand : operand LPAR ALL RPAR>"]
    assert [str(lark.rules[number]) for number in sorted(rules)] == never
    assert terminals == set()
