"""Quantified paths of one to three relationships, against brute force over plain lists that shares no code with us."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from qengine import Graph

CASES = 420

Edge = tuple[int, str, int, int]  # id, type, start, end
Hop = tuple[str, str]  # direction ">", "<" or "-"; type, "" for any
Way = tuple[list[int], list[int]]  # relationships, and the nodes behind them


def graph_of(chance: random.Random) -> tuple[Graph, list[int], list[Edge]]:
    """Make a graph of up to 5 nodes with a number ``x`` each, parallel relationships and loops among them."""
    count = chance.randint(1, 5)
    numbers = [chance.randrange(3) for _ in range(count)]
    edges = [
        (place, chance.choice("RS"), chance.randrange(count), chance.randrange(count))
        for place in range(chance.randint(1, 6))
    ]
    graph = Graph.from_records(
        [{"id": id, "labels": ["N"], "properties": {"x": x, "i": id}} for id, x in enumerate(numbers)],
        [{"type": type, "start": start, "end": end, "properties": {"n": id}} for id, type, start, end in edges],
    )
    return graph, numbers, edges


def steps(edges: list[Edge], vertex: int, hop: Hop) -> Iterator[tuple[int, int]]:
    """Give the relationships that a hop may take from a vertex, and where they lead."""
    direction, type = hop
    for id, kind, start, end in edges:
        if type and kind != type:
            continue
        if start == vertex and direction in ">-":
            yield id, end
        if end == vertex and direction in "<-" and not (direction == "-" and start == end):
            yield id, start


def ways(edges: list[Edge], vertex: int, hops: list[Hop]) -> Iterator[Way]:
    """Give all walks along hops, whatever they repeat."""
    if not hops:
        yield [], []
        return
    for id, other in steps(edges, vertex, hops[0]):
        for ids, vertices in ways(edges, other, hops[1:]):
            yield [id, *ids], [other, *vertices]


CONDITIONS: dict[str, Any] = {
    "": lambda x, ids: True,
    "n0.x <= n{k}.x": lambda x, ids: x[0] <= x[-1],
    "n1.x <> 1": lambda x, ids: x[1] != 1,
    "n0.x + n{k}.x > 1": lambda x, ids: x[0] + x[-1] > 1,
    "r1.n < 4 AND n1.x < 2": lambda x, ids: ids[0] < 4 and x[1] < 2,
    "EXISTS { (n1)-[:S]->() }": None,
}
MODES: dict[str, Any] = {
    "": lambda vertices, ids: len(set(ids)) == len(ids),
    "ACYCLIC ": lambda vertices, ids: len(set(vertices)) == len(vertices),
    "SIMPLE ": lambda vertices, ids: (
        len(set(ids)) == len(ids)
        and len(set(vertices[1:])) == len(vertices) - 1
        and (len(vertices) == 1 or len(set(vertices[:-1])) == len(vertices) - 1)
    ),
    "REPEATABLE ELEMENTS ": lambda vertices, ids: True,
    "DIFFERENT NODES ": lambda vertices, ids: bool(ids) and len(set(vertices)) == len(vertices),
}


def expected(
    numbers: list[int], edges: list[Edge], hops: list[Hop], bounds: tuple[int, int], condition: str, mode: str
) -> Counter[tuple[Any, ...]]:
    """Return (a, b, all relationships, the group of each inner node) of each match."""
    found: Counter[tuple[Any, ...]] = Counter()
    least, most = bounds
    k = len(hops)
    has_s = {start for _, type, start, _ in edges if type == "S"}

    def holds(vertices: list[int], ids: list[int]) -> bool:
        test = CONDITIONS[condition]
        return vertices[1] in has_s if test is None else test([numbers[each] for each in vertices], ids)

    for start, count in product(range(len(numbers)), range(least, most + 1)):
        for ids, vertices in ways(edges, start, hops * count):
            nodes = [start, *vertices]
            parts = range(0, k * count, k)
            if not MODES[mode](nodes, ids):
                continue
            if all(holds(nodes[each : each + k + 1], ids[each : each + k]) for each in parts):
                groups = tuple(tuple(nodes[each + place] for each in parts) for place in range(k + 1))
                found[start, nodes[-1], tuple(ids), groups] += 1
    return found


def pattern(hops: list[Hop], bounds: tuple[int, int], condition: str) -> str:
    """Return the quantified path as text."""
    text = "(n0)"
    for place, (direction, type) in enumerate(hops, 1):
        left, right = {">": ("-", "->"), "<": ("<-", "-"), "-": ("-", "-")}[direction]
        text += f"{left}[r{place}{':' if type else ''}{type}]{right}(n{place})"
    where = f" WHERE {condition.replace('{k}', str(len(hops)))}" if condition else ""
    return f"({text}{where}){{{bounds[0]},{bounds[1]}}}"


@pytest.mark.parametrize("part", range(6))
def test_matches_are_those_of_brute_force(part: int) -> None:
    rows = several = 0
    for case in range(part, CASES, 6):
        chance = random.Random(case)
        graph, numbers, edges = graph_of(chance)
        hops = [(chance.choice(">>-<"), chance.choice(["", "R", "S"])) for _ in range(chance.choice([1, 2, 2, 2, 3]))]
        least = chance.choice([0, 1, 1, 2])
        bounds = least, max(least, min(least + chance.choice([0, 1, 1, 2]), 4 // len(hops)))
        condition, mode = chance.choice(list(CONDITIONS)), chance.choice(["", "", *MODES])
        before, path_mode = (mode, "") if " " in mode.strip() else ("", mode)
        k = len(hops)
        groups = ", ".join(f"[n IN n{place} | n.i]" for place in range(k + 1))
        lists = ", ".join(f"r{place}" for place in range(1, k + 1))
        text = (
            f"MATCH {before}p = {path_mode}(a) {pattern(hops, bounds, condition)} (b) "
            f"RETURN a.i, b.i, [r IN relationships(p) | r.n], [{groups}], [{lists}]"
        )
        wanted = expected(numbers, edges, hops, bounds, condition, mode)
        rows += len(wanted)
        several += k > 1 and bool(wanted)
        for device in ("cpu", "reference"):
            found: Counter[tuple[Any, ...]] = Counter()
            for a, b, ids, nodes, relationships in graph.query(text, device=device):
                found[a, b, tuple(ids), tuple(map(tuple, nodes))] += 1
                inner = [[each["n"] for each in group] for group in relationships]
                assert inner == [ids[place::k] for place in range(k)], text
            assert found == wanted, (case, device, text)
    assert rows > 100
    assert several > 5


SELECTED = [
    "SHORTEST 1 (a:N) (()-[:R]-(:N))+ (b:N)",
    "ALL SHORTEST (a:N) ((x)-[:R]->(y)-[:R]-(z))+ (b:N)",
    "SHORTEST 2 (a:N) ((x)-[:R]->(y)-[]-(z) WHERE x <> z){0,3} (b:N)",
    "SHORTEST 2 GROUPS (a:N) ((x)-[:R]->(y)-[]-(z)){1,2} (b:N)",
    "ALL SHORTEST (a:N) ((x)-[:R]-(y) WHERE x.i < y.i)* (b:N)",
    "ALL SHORTEST (a:N) ((x)-[:R]->(y)-[:R]-(z)){2,3} (b:N)",
]


@pytest.mark.parametrize("selected", SELECTED)
def test_selected_paths_are_the_shortest_of_all(selected: str) -> None:
    """The same paths without the selector, between each two nodes the first by length."""
    rest = selected[selected.index("(") :].replace(")+", "){1,6}").replace(")*", "){0,6}")
    groups = selected.startswith("ALL") or "GROUPS" in selected
    count = int(selected.split()[1]) if selected.startswith("SHORTEST") else 1
    found_some = 0
    for case in range(25):
        graph, _, _ = graph_of(random.Random(1000 + case))
        every: dict[tuple[int, int], list[int]] = {}
        for a, b, length in graph.query(f"MATCH p = {rest} RETURN a.i, b.i, length(p)", device="reference"):
            every.setdefault((a, b), []).append(length)
        wanted: Counter[tuple[int, int, int]] = Counter()
        for (a, b), lengths in every.items():
            kept = sorted(set(lengths))[:count]
            chosen = [each for each in lengths if each in kept] if groups else sorted(lengths)[:count]
            wanted.update((a, b, length) for length in chosen)
        found_some += bool(wanted)
        for device in ("cpu", "reference"):
            rows = graph.query(f"MATCH p = {selected} RETURN a.i, b.i, length(p)", device=device).fetchall()
            assert Counter(map(tuple, rows)) == wanted, (case, device)
    assert found_some


CHAINS = [
    ("ANY SHORTEST", "(a)-[:R]->(m)-[:S]->{1,3}(b)", ""),
    ("ALL SHORTEST", "(a)-[r]->(m) ((x)-[:R]->(y)-[]-(z))* (n)<-[s]-(b)", ""),
    ("SHORTEST 2", "(a) ((x)-[:R]-(y))* (m) ((z)-[:S]->(w)){0,2} (b)", ""),
    ("SHORTEST 2 GROUPS", "(a) ((x)-[:R]-(y) WHERE x.i <> y.i)* (m {x: 1})-->(b)", ""),
    ("ALL SHORTEST", "(a:N)-[:R]->+(m WHERE m.x > 0)-[:S]-*(b:N)", "WHERE m.i > a.i"),
    ("SHORTEST 2", "(a)-[r]-(m)-[s]-(b)", "WHERE m.x < 2"),
    ("SHORTEST 3", "(a)-[:R]->+(b)", ""),
    ("SHORTEST 2 GROUPS", "(a) ((x)-->(y)-->(z)){1,2} (m)-->(a)", ""),
]
CHAIN_MODES = ["", "DIFFERENT NODES ", "REPEATABLE ELEMENTS ", "ACYCLIC ", "SIMPLE "]


@pytest.mark.parametrize("mode", CHAIN_MODES, ids=lambda mode: mode.strip() or "relationships")
@pytest.mark.parametrize("chain", CHAINS, ids=lambda chain: " ".join(chain[:2]))
def test_selected_chains_are_the_shortest_of_all(chain: tuple[str, str, str], mode: str) -> None:
    """Their lengths are those of the first of all paths between the same ends; a WHERE filters what is left."""
    selector, path, where = chain
    before, within = (mode, "") if mode.startswith(("DIFFERENT", "REPEATABLE")) else ("", mode)
    most = 2 if mode.startswith("REPEATABLE") else 6
    bounded = path.replace(")*", f"){{0,{most}}}").replace("-*", f"-{{0,{most}}}").replace("->+", f"->{{1,{most}}}")
    last = "b.i" if "(b" in path else "a.i"
    choice = f"{selector} {within}" if "GROUPS" not in selector else selector.replace("GROUPS", f"{within}GROUPS ")
    groups, count = "GROUPS" in selector or selector.startswith("ALL"), 1
    if selector.startswith("SHORTEST"):
        count = int(selector.split()[1])
    devices = ("cpu",) if mode.startswith("REPEATABLE") and "(y)-[]" in path else ("cpu", "reference")
    found_some = 0
    for case in range(8):
        graph, _, _ = graph_of(random.Random(3000 + case))
        every: dict[tuple[int, int], list[int]] = {}
        text = f"MATCH {before}p = {within}{bounded} RETURN a.i, {last} AS last, length(p)"
        for a, b, length in graph.query(text, device="reference"):
            every.setdefault((a, b), []).append(length)
        wanted: Counter[tuple[int, int, int]] = Counter()
        for (a, b), lengths in every.items():
            kept = sorted(set(lengths))[:count]
            chosen = [each for each in lengths if each in kept] if groups else sorted(lengths)[:count]
            wanted.update((a, b, length) for length in chosen)
        found_some += bool(wanted)
        for device in devices:
            text = f"MATCH {before}p = {choice}{path} RETURN a.i, {last} AS last, length(p)"
            rows = [tuple(row) for row in graph.query(text, device=device)]
            if mode.startswith("REPEATABLE"):  # of these, longer ones weren't tried
                longest = most
                assert Counter(row for row in rows if row[2] <= longest) == Counter(
                    {row: times for row, times in wanted.items() if row[2] <= longest}
                ), (case, device, text)
            else:
                assert Counter(rows) == wanted, (case, device, text)
        if where and groups:
            names = "a.i, b.i, m.i, [n IN nodes(p) | n.i]"
            texts = [f"MATCH {before}p = {choice}{path} {where} RETURN {names}"]
            texts.append(f"MATCH {before}p = {choice}{path} WITH * {where} RETURN {names}")
            several = [Counter(map(repr, graph.query(each, device=device))) for each in texts for device in devices]
            assert all(each == several[0] for each in several)
    assert found_some or mode


CHOSEN = [
    ("(a)-[r]->+(b)", "size(r) > 1"),
    ("(a)-[r:R]-(m)-[s]-*(b)", "r.n < size(s) AND a.x <= b.x"),
    ("(a) ((x)-[r:R]->(y)-[s]-(z))+ (m)-[t]->{0,2}(b)", "m.x + size(x) > 2"),
    ("(a) ((x)-[r]->(y))* (b)", "reduce(t = 0, e IN r | t + e.n) > 5 AND all(n IN x WHERE n.x < 2)"),
    ("(a)-[r:R]->+(b)", "length(p) % 2 = 0"),
]


@pytest.mark.parametrize("selector", ["ANY SHORTEST", "ALL SHORTEST", "SHORTEST 2", "SHORTEST 2 GROUPS"])
@pytest.mark.parametrize("chosen", CHOSEN, ids=lambda chosen: chosen[1])
def test_selected_paths_are_chosen_among_those_of_a_condition(chosen: tuple[str, str], selector: str) -> None:
    path, condition = chosen
    groups, count = "GROUPS" in selector or "ALL" in selector, 2 if "2" in selector else 1
    found_some = 0
    small = (graph_of(random.Random(seed)) for seed in range(5000, 5100))
    graphs = [graph for graph, _, edges in small if len(edges) in (4, 5) and any(each[1] == "R" for each in edges)]
    for case, graph in enumerate(graphs[:3]):
        every: dict[tuple[int, int], list[int]] = {}
        text = f"MATCH p = {path} WHERE {condition} RETURN a.i, b.i, length(p)"
        for a, b, length in graph.query(text, device="reference"):
            every.setdefault((a, b), []).append(length)
        wanted: Counter[tuple[int, int, int]] = Counter()
        for (a, b), lengths in every.items():
            kept = sorted(set(lengths))[:count]
            selected = [each for each in lengths if each in kept] if groups else sorted(lengths)[:count]
            wanted.update((a, b, length) for length in selected)
        found_some += bool(wanted)
        for device in ("cpu", "reference"):
            text = f"MATCH p = {selector} ({path} WHERE {condition}) RETURN a.i, b.i, length(p), size(nodes(p))"
            rows = graph.query(text, device=device).fetchall()
            assert Counter(tuple(row)[:3] for row in rows) == wanted, (case, device, text)
    assert found_some


def test_names_in_a_selected_path_are_its_parts() -> None:
    """Each name is what it is in the same pattern without a selector, for paths that are selected."""
    for case in range(30):
        graph, _, _ = graph_of(random.Random(4000 + case))
        path = "(a) ((x)-[q:R]-(y)-[t]-(z)){0,2} (m)-[r]->(n)-[s:R|S]->{1,2}(b)"
        names = "a, x, q, y, t, z, m, r, n, s, b, relationships(p)"
        every = Counter(repr(tuple(row)) for row in graph.query(f"MATCH p = {path} RETURN {names}", device="reference"))
        rows = [repr(tuple(row)) for row in graph.query(f"MATCH p = ALL SHORTEST {path} RETURN {names}", device="cpu")]
        assert Counter(rows) <= every, case
        assert bool(rows) == bool(every), case
        expected = graph.query(f"MATCH p = ALL SHORTEST {path} RETURN {names}", device="reference").fetchall()
        assert Counter(rows) == Counter(repr(tuple(row)) for row in expected), case


@pytest.mark.parametrize("seed", range(12))
def test_shortest_paths_of_different_nodes_have_a_least_length(seed: int) -> None:
    chance = random.Random(f"different nodes {seed}")
    n = chance.randint(3, 6)
    links = [(chance.randrange(n), chance.randrange(n)) for _ in range(chance.randint(4, 10))]
    graph = Graph.from_records(
        [{"id": k, "properties": {"k": k}} for k in range(n)],
        [{"type": "R", "start": start, "end": end} for start, end in links],
    )
    for least in (2, 3):
        shortest: dict[tuple[int, int], list[int]] = {}
        walks = [([start], 0) for start in range(n)]
        for length in range(1, n):
            walks = [([*nodes, end], length) for nodes, _ in walks for start, end in links
                     if start == nodes[-1] and end not in nodes]  # fmt: skip
            for nodes, _ in walks if length >= least else ():
                known = shortest.setdefault((nodes[0], nodes[-1]), [length, 0])
                known[1] += known[0] == length
        for function, most in (("allShortestPaths", 10**9), ("shortestPath", 1)):
            pattern = f"MATCH DIFFERENT NODES p = {function}((a)-[:R*{least}..]->(b))"
            rows = graph.query(f"{pattern} RETURN a.k, b.k, length(p), count(*)").fetchall()
            wanted = {(*ends, length, min(most, ways)) for ends, (length, ways) in shortest.items()}
            assert set(map(tuple, rows)) == wanted
