"""Generated queries, plain, composed of all that may stand in each other, or derived from the grammar: no crash, and
the rows of the reference, with and without the optimizer; and laws that results of any engine obey.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

import pytest

from qengine import Graph
from qengine.errors import Span
from qengine.syntax import automaton
from qengine.syntax.automaton import build_grammar
from qengine.syntax.scanner import scanned
from qengine.testing.compare import canonical, difference
from qengine.testing.composed import check, composed_query, derived_query
from qengine.testing.composed.grammar import all_rules
from qengine.testing.oracle import true_rows
from qengine.testing.random_graph import RandomGraph, random_graph
from qengine.testing.random_query import RandomQuery, random_query

_THOROUGH = 5  # one in so many
_MAKERS: dict[str, Callable[[int | str, RandomGraph], RandomQuery]] = {
    "random": random_query,
    "composed": composed_query,
    "derived": derived_query,
}
_SHARED = {"random": 5, "composed": 20, "derived": 20}  # queries of each graph
_SIZES: dict[str, dict[str, int]] = {"random": {}, "composed": {"most_nodes": 4, "most_relationships": 6}}
BLOCK = {"random": 500, "composed": 500, "derived": 1500}
NETS = range(1, 5)  # 8,000 of the last two kinds
SLOW = (0, *range(5, 100))  # with those 200,000, and 45,500 of the first

CONSTRUCTS = {
    "random": [
        "OPTIONAL MATCH", "WITH DISTINCT", "UNWIND", "UNION ALL", "UNION MATCH", "DIFFERENT NODES",
        "REPEATABLE ELEMENTS", "EXISTS {", "COUNT {", "size([(", "ORDER BY", "SKIP", "LIMIT", "RETURN DISTINCT",
        "ANY SHORTEST", "ALL SHORTEST", "shortestPath(", "allShortestPaths(", "SHORTEST 2 (", "SHORTEST 2 GROUPS (",
        "*2..3", "*1..2", "*0..2", "*]", "collect(", "percentileDisc(", "stDev(", "avg(", "count(DISTINCT",
        "none(q IN", "CASE WHEN", ":!", "&", "|", "%", "<-[", "]-(", "-->", "--(", "$p0", " XOR ", "null", "p3 = ",
        ".none", ".m ", "6 / ", "toInteger(0.0", "EXISTS { (q)-->(", "(q IN nodes(", "ACYCLIC (", "SIMPLE (",
        "TRAIL (", ") ((a", "){1,2} (", " WHERE b", "SHORTEST 3 (", "SHORTEST 1 GROUPS", "ANY 1 (", "elementId(n",
        " = n1 = n", " = r2", " <= n1.i < ", ".i = 1 AND ", "COLLECT {", "reduce(", "head(", "labels(", "keys(",
        "startNode(", ".k DESC LIMIT",
    ],
    "composed": [
        "UNION ALL", "UNION DISTINCT", "UNION MATCH", "OPTIONAL MATCH", "WITH DISTINCT", "WITH *", "UNWIND COLLECT {",
        "LIMIT 1 UNION", "DESC UNION", "EXISTS { MATCH", "EXISTS { (", "COUNT { MATCH", "COUNT { UNWIND",
        "COLLECT { MATCH", "exists((", "NOT (n", "shortestPath(", "SHORTEST ", "TRAIL (", "SIMPLE (",
        "DIFFERENT NODES", "REPEATABLE ELEMENTS", "LIMIT $p", "SKIP $p", "LIMIT size(range(", "reduce(", "single(",
        "CASE WHEN", "size(collect(", "[EXISTS {", "EXCEPT ", "EXCEPT ALL", "INTERSECT ", "OTHERWISE ", " NEXT ",
        "WHEN ", "CALL (", "OPTIONAL CALL", "OPTIONAL { MATCH", "KEEP TRAIL", "KEEP ALL SHORTEST", "GROUP BY", "LET ",
        "FILTER ", "WITH OFFSET", "WITH ORDINALITY", "NULLS FIRST", "NULLS LAST", "VALUE {", "CAST(", "allReduce(",
        "IS LABELED", "property_exists(", "IS TYPED", "WHEN < ", "{v: EXISTS {", "coalesce(EXISTS {", "IN COLLECT {",
        "{i: COUNT {", "WHERE EXISTS {", " | COUNT {", "{.k, v: ",
    ],
}  # fmt: skip


def _block(kind: str, number: int) -> range:
    return range(number * BLOCK[kind], (number + 1) * BLOCK[kind])


@lru_cache(2)
def _graph(kind: str, number: int) -> tuple[RandomGraph, Graph]:
    made = random_graph(f"{kind} {number}", **_SIZES.get(kind, _SIZES["composed"]))
    return made, Graph(made.store())


def _check(kind: str, seeds: range) -> Counter[str]:
    """Check queries; return how many went which way."""
    outcomes: Counter[str] = Counter()
    for seed in seeds:
        made, graph = _graph(kind, seed // _SHARED[kind])
        query = _MAKERS[kind](seed, made)
        simple = kind == "random" and query.text.count("MATCH") + query.text.count("WITH") == 1
        outcomes[check(graph, query, thorough=seed % _THOROUGH == 0, fails=simple, threads=1 + seed % 2)] += 1
    return outcomes


@pytest.mark.parametrize("block", range(2))
def test_random_queries(block: int) -> None:
    size = BLOCK["random"]
    outcomes = _check("random", _block("random", block))
    assert outcomes["rows"] > size * 0.4, outcomes
    assert outcomes["refused"] < size * 0.08, outcomes
    assert max(outcomes["error"], outcomes["too expensive"]) < size * 0.05, outcomes


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
@pytest.mark.parametrize("kind", ["composed", "derived"])
def test_more_queries(kind: str, block: int) -> None:
    _check(kind, _block(kind, block))


@pytest.mark.slow
@pytest.mark.parametrize("block", SLOW)
@pytest.mark.parametrize("kind", BLOCK)
def test_many_queries(kind: str, block: int) -> None:
    _check(kind, _block(kind, block))


def test_the_same_seed_gives_the_same_pair_and_others_give_others() -> None:
    pairs = [(random_graph(seed), random_query(seed, random_graph(seed))) for seed in range(50)]
    assert pairs == [(random_graph(seed), random_query(seed, random_graph(seed))) for seed in range(50)]
    assert len({query.text for _, query in pairs}) == 50


def test_graphs_have_everything_that_the_model_allows() -> None:
    graphs = [random_graph(seed) for seed in range(300)]
    stores = [graph.store() for graph in graphs]
    kinds = [kind for store in stores for kind in store.types]
    assert any(kind.undirected and kind.parallel and kind.loops for kind in kinds)
    assert any(not kind.undirected and not kind.parallel and not kind.loops and kind.count > 3 for kind in kinds)
    assert min(store.vertex_count for store in stores) == 0
    assert any(len(node["labels"]) > 1 for graph in graphs for node in graph.nodes)
    values = Counter(type(node["properties"].get("m")) for graph in graphs for node in graph.nodes)
    assert values.keys() == {type(None), int, float, str, bool, list}


@pytest.mark.parametrize("kind", CONSTRUCTS)
def test_queries_use_the_whole_language(kind: str) -> None:
    texts = " ".join(_MAKERS[kind](seed, random_graph(seed)).text for seed in range(1500))
    assert [construct for construct in CONSTRUCTS[kind] if construct not in texts] == []


PATTERNS = ["(a)-[r]->(b)", "(a)-[r]-(b)-[s]->(c)", "(a)-[r*1..2]-(b)", "(a)-[r]->(b)<-[s]-(a)"]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("pattern", PATTERNS)
def test_laws(seed: int, pattern: str) -> None:
    store = random_graph(f"law {seed}").store()

    def rows(text: str) -> list[tuple[Any, ...]]:
        return true_rows(store, text, steps=500_000)

    every = rows(f"MATCH {pattern} RETURN a, r, b")
    assert rows(f"MATCH {pattern} RETURN count(*)") == [(len(every),)]
    assert difference(every, rows(f"MATCH (b) MATCH {pattern} RETURN a, r, b")) is None

    tests = ("a.i < b.i", "NOT a.i < b.i", "(a.i < b.i) IS NULL")
    parts = [rows(f"MATCH {pattern} WHERE {test} RETURN a, r, b") for test in tests]
    assert difference(every, [row for part in parts for row in part]) is None

    modes = ("REPEATABLE ELEMENTS", "DIFFERENT RELATIONSHIPS", "DIFFERENT NODES")
    loosest, default, strictest = (
        Counter(map(canonical, rows(f"MATCH {mode} {pattern} RETURN a, r, b"))) for mode in modes
    )
    assert loosest >= default >= strictest
    assert default == Counter(map(canonical, every))

    counts = rows(f"MATCH {pattern} RETURN a.k, count(*)")
    subquery = rows(f"MATCH (a) WITH a, COUNT {{ {pattern} }} AS n WHERE n > 0 RETURN a.k, n")
    assert difference(counts, subquery) is None
    optional = rows(f"MATCH (a) OPTIONAL MATCH {pattern} RETURN a.k, count(b)")
    assert len(optional) == store.vertex_count
    assert difference(counts, [row for row in optional if row[1]]) is None

    ordered = rows(f"MATCH {pattern} RETURN a, r, b ORDER BY a.k, b.k DESC")
    assert difference(every, ordered) is None
    keys = [(a["k"], -b["k"]) for a, _, b in ordered]
    assert keys == sorted(keys)


class _Recorder:
    """A builder that builds nothing, and notes the numbers of the rules that the automaton reduces by."""

    def __init__(self) -> None:
        self.rules: set[int] = set()

    def __getattr__(self, name: str) -> Callable[[Sequence[Any], Span], None]:
        return lambda parts, span: self.rules.add(int(name))


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
        tokens = scanned(derived_query(seed, random_graph(seed % 50), towards).text)
        recorder.rules = set()
        with suppress(automaton.Refused):  # what can be read in another way, in which it is none of the language
            if not len(tokens):
                continue
            recording.run(tokens)
            rules -= recorder.rules
            terminals -= {token.type for token in recording.classified(tokens)}
    # The classifier writes ROWS_CLAUSE, which has no width, before one of its parts alone, and ALL before an argument.
    never = ["<rows_clause : ROWS_CLAUSE>", "<operand : operand LPAR ALL RPAR>"]
    assert [str(lark.rules[number]) for number in sorted(rules)] == never
    assert terminals == set()


def test_what_is_written_is_done() -> None:
    graph = Graph.from_records([{"id": 1, "labels": "A"}, {"id": 2}], [{"type": "R", "start": 2, "end": 1}])
    pattern = "MATCH (b)-[:R]->(a:A)<-[:R]-(c) WHERE 1 = 1 RETURN DISTINCT a"
    plan = str(graph.explain(f"/*+ as_written */ {pattern}"))
    assert "order b → a → c as written" in plan and "exists" not in plan and "Filter true" not in plan
    assert "exists" in str(graph.explain(pattern))
