"""Patterns over tables: each embedding is found in exactly one cell, whatever graph, pattern and number of cells."""

import random

import pytest

from qengine.cluster.hypercube import cells, heavy
from qengine.testing.compare import difference
from qengine.testing.random_graph import random_graph
from tests.examples import examples
from tests.unit.cluster.tables import both_ways

PATTERNS = 6
MODES = ("", "", "", "DIFFERENT NODES ", "REPEATABLE ELEMENTS ")
CONDITIONS = ("n.i > 0", "n.k < 5", "n.s <> 'a'", "n.b", "n.i IS NULL OR n.f > 0", "n.k <> 2 AND n.i < 3")
TAILS = (
    "count(*)",
    "count(n0.i), sum(n0.i), min(n0.s), avg(n0.f)",
    "n0.s, count(*) AS n ORDER BY n DESC, n0.s",
    "n0.k, n0.i, r0.k ORDER BY n0.k, r0.k LIMIT 7",
    "count(DISTINCT n0), collect(DISTINCT n0.b)",
    "DISTINCT n0.s, r0.i",
    "type(r0), n0.s, max(r0.k)",
)


def pattern(chance, graph):
    """Return a connected pattern of up to four nodes, with relationships that close it and run beside each other."""
    count = chance.choice([1, 2, 2, 3, 3, 4])
    pairs = [(chance.randrange(place), place) for place in range(1, count)]
    pairs += [(chance.randrange(count), chance.randrange(count)) for _ in range(chance.choice([0, 0, 1, 1, 2]))]
    parts, seen = [], set()
    for place, (one, other) in enumerate(pairs):
        types = chance.choice(["", "", *(f":{name}" for name in graph.types), ":R|S"])
        left, right = chance.choice([("-", "->"), ("<-", "-"), ("-", "-")])
        condition = chance.choice(["", "", "", " WHERE r.i > 0", " {i: 1}"]).replace("r.", f"r{place}.")
        ends = [_node(chance, graph, each, seen) for each in (one, other)]
        parts.append(f"{ends[0]}{left}[r{place}{types}{condition}]{right}{ends[1]}")
    return ", ".join(parts) or _node(chance, graph, 0, seen), len(pairs)


def beside(chance, graph, text):
    """Return what may follow a pattern: conditions that are patterns, and further matches."""
    ends = [name for name in ("n0", "n1") if name in text]
    types = ["", "", *(f":{name}" for name in graph.types)]

    def hop(other):
        left, right = chance.choice([("-", "->"), ("<-", "-"), ("-", "-")])
        hops = chance.choice(["", "", "", "*1..2", "*0..2"])
        return f"({chance.choice(ends)}){left}[{chance.choice(types)}{hops}]{right}({other})"

    where = chance.choice(
        ["", "", f" WHERE NOT EXISTS {{ {hop('')} }}", f" WHERE COUNT {{ {hop('x WHERE x.i > 0')} }} < 2"]
    )
    found, names = where, []
    for place in range(chance.choice([0, 1, 1, 2])):
        name = f"m{place}"
        labels = chance.choice(["", "", *(f":{label}" for label in graph.labels)])
        tail = chance.choice(["", f"-[{chance.choice(types)}]->()", f", (n0)-[{chance.choice(types)}]-({name})"])
        pattern = f"{hop(name + labels)}{tail}"
        condition = chance.choice(
            ["", f" WHERE {name}.i > 0", f" WHERE {name}.k > n0.k", f" WHERE NOT ({name})-->(n0)"]
        )
        found += f"{chance.choice([' OPTIONAL', ' OPTIONAL', ''])} MATCH {pattern}{condition}"
        names.append(name)
    return found, names


def _node(chance, graph, place, seen):
    name = f"n{place}"
    if place in seen:
        return f"({name})"
    seen.add(place)
    labels = chance.choice(["", "", "", *(f":{label}" for label in graph.labels), ":!A", ":A|B"])
    condition = f" WHERE {chance.choice(CONDITIONS).replace('n.', f'{name}.')}" if chance.random() < 0.3 else ""
    return f"({name}{labels}{condition})"


def _join_all_apart(monkeypatch):
    """Let keys with odd hashes be heavy, and join them apart whatever that costs."""

    def common(sampled, cells):
        for place, (hashes, _) in enumerate(sampled.counts):
            yield from ((place, one, 1.0) for one in hashes.tolist() if one % 2)

    monkeypatch.setattr(heavy.Sampled, "common", common)
    monkeypatch.setattr(heavy, "_GAIN", float("inf"))


@pytest.mark.parametrize("seed", range(examples(45)))
def test_random_patterns(seed, monkeypatch):
    chance = random.Random(f"table patterns {seed}")
    if seed % 2:
        _join_all_apart(monkeypatch)
    limit = {}
    if seed % 4 < 2:
        monkeypatch.setattr(cells, "ROOM", 1 << 40)  # so that all cells are done in slices
        monkeypatch.setattr(cells, "_MOST_SLICES", 4)
        limit["memory_limit"] = "1GB"
    graph = random_graph(f"table patterns {seed}", most_nodes=9, most_relationships=22)
    if not graph.nodes:
        return
    whole, tables = both_ways(graph, cells=chance.choice([1, 2, 5, 8, 70] if not limit else [1, 2, 5]))
    with tables:
        for _ in range(PATTERNS):
            text, relationships = pattern(chance, graph)
            tail = chance.choice([each for each in TAILS if relationships or "r0" not in each])
            where = chance.choice(["", "", " WHERE n0.k <> n1.k", " WHERE n0 <> n1"]) if "n1" in text else ""
            query = f"MATCH {chance.choice(MODES)}{text}{where} RETURN {tail}"
            expected, found = whole.query(query, threads=1).fetchall(), tables.query(query, **limit).fetchall()
            told = difference(expected, found, ordered="ORDER BY" in tail, lists_ordered=False)
            assert told is None, f"{query}\n{told}"


@pytest.mark.parametrize("seed", range(examples(8)))
def test_what_follows_a_pattern(seed, monkeypatch):
    """Optional matches, patterns in conditions, and hops of several lengths hang on a row that one cell has."""
    chance = random.Random(f"beside patterns {seed}")
    if seed % 2:
        _join_all_apart(monkeypatch)
    graph = random_graph(f"beside patterns {seed}", most_nodes=8, most_relationships=14)
    if not graph.nodes or not graph.relationships:
        return
    whole, tables = both_ways(graph, cells=chance.choice([1, 2, 4, 6]))
    with tables:
        for _ in range(PATTERNS):
            label, kind = chance.choice(["", f":{graph.labels[0]}"]), chance.choice(["", f":{graph.types[0]}"])
            text = f"(n0{label}){chance.choice(['', f'-[{kind}]->(n1)', f'-[{kind}]-(n1)', f'-[{kind}]-(n1)--(n0)'])}"
            following, names = beside(chance, graph, text)
            tail = "n0.k, count(*)" + "".join(f", count({name}), sum({name}.i), min({name}.k)" for name in names)
            query = f"MATCH {text}{following} RETURN {tail}"
            expected, found = whole.query(query, threads=1).fetchall(), tables.query(query).fetchall()
            told = difference(expected, found, ordered=False)
            assert told is None, f"{query}\n{told}"
