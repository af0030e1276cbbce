"""Upper bounds are never below the count, with conditions on nodes and relationships and without."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from qengine import Graph
from qengine.estimate.bound import upper_bound, upper_bounds
from qengine.estimate.tail_bound import bound_of_target, times_at_most
from qengine.estimate.target import known_to_be_empty, target_of
from qengine.estimates import plan_counted
from qengine.exec.common.masks import Masks
from qengine.exec.common.resolve import resolve
from qengine.exec.common.runtime import Runtime
from qengine.exec.context import ExecutionContext
from qengine.plan.levels import without_order

SHAPES = (
    "(a)-[r:R]->(b)",
    "(a)-[r:R]-(b)",
    "(a)-[r:R]->(b)-[s:S]->(c)",
    "(a)-[r:R]->(b)<-[s:R]-(c)",
    "(a)-[r:R]->(b)-[s:S]-(c)-[:R]->(a)",
    "(a)-[r]->(b)-[s]->(c)-[:R]->(d)",
    "(b)<-[r:R]-(a)-[s:R]->(c), (a)-[:R]->(d)",
    "(a:A)-[r:R|S]->(b:B), (a)-[s:S]->(c)",
    "(a)-[r:U]-(b)-[s:U]-(c)-[:U]-(a)",
    "(a)-[r:U]-(b)-[s:R]->(c)",
    "(a)-[r:R]->(b), (a)-[s:R]->(b), (b)-[:S]->(c)",
    "(a), (b)-[r:R]->(c)-[s:S]->(d)",
)
TAILS = (  # what a sampled embedding goes through afterwards
    "(a)-[r:R]->(b) WHERE EXISTS { (b)-[:S]->(c:A) }",
    "(a)-[r:R]->(b) WHERE NOT EXISTS { (b)-[:S]->(:B)-[:R]->() } AND a.x < 3",
    "(a)-[r:R]->(b) WHERE COUNT { (b)-[:S]->() } > 1",
    "(a)-[r:R]->(b) OPTIONAL MATCH (b)-[:S]-(c)",
    "(a)-[r:R]->(b) OPTIONAL MATCH (b)-[:S]->(c)<-[:R]-(d) WHERE d.x < 2",
    "(a:A)-[r:R]->(b) OPTIONAL MATCH (b)-[:U]-(c) OPTIONAL MATCH (c)-[:S]->(d:B)",
    "(a)-[:R*1..2]->(b)",
    "(a)-[:R|U*0..2]-(b:B) WHERE a.x = 1",
    "(a)-[:S]->(c)-[:R*2]->(b)",
    "(a)-[:S*1..2]->(b), (a)-[:R]->(c) WHERE b.x = c.x",
    "(a)-[:S]->(c)-[:R*1..2]->(b) OPTIONAL MATCH (b)-[:U]-(d)",
    "(a)-[:R]->(b) MATCH (c) WHERE c.x = b.x",
)
GRAPHS = 3
CONDITIONS = (
    "",
    "a.x < 2",
    "b.x = 1",
    "a.x = 0 AND c.x > 0",
    "r.w < 2",
    "r.w = 0",
    "s.w > 2",
    "r.w < 2 AND b.x < 2",
    "a.x = b.x",
)


def graphs() -> Iterator[Graph]:
    for seed in range(GRAPHS):
        source = Random(seed)
        size = source.choice((6, 14, 30))
        nodes = [
            {"id": k, "labels": source.choice((["A"], ["B"], ["A", "B"], [])), "properties": {"x": source.randrange(4)}}
            for k in range(size)
        ]
        skew = [int(size * source.random() ** 2) for _ in range(400)]
        edges = [
            {
                "type": kind,
                "start": source.choice(skew),
                "end": source.choice(skew),
                "properties": {"w": source.randrange(5)},
            }
            for kind in ("R", "S", "U")
            for _ in range(source.randrange(2 * size))
        ]
        yield Graph.from_records(nodes, edges, undirected=["U"])


@pytest.fixture(scope="module", params=range(GRAPHS))
def graph(request: pytest.FixtureRequest) -> Graph:
    return list(graphs())[request.param]


@pytest.mark.parametrize("shape", SHAPES)
def test_upper_bounds_hold(graph: Graph, shape: str) -> None:
    store = graph._store
    context = ExecutionContext()
    for condition in CONDITIONS:
        if ("c." in condition and "(c)" not in shape) or ("s." in condition and "[s" not in shape):
            continue
        text = f"MATCH {shape}" + (f" WHERE {condition}" if condition else "")
        count = graph.estimate(text, method="exact").value
        root = plan_counted(store, text).physical.root
        if known_to_be_empty(root):
            assert count == 0
            continue
        target = target_of(root)
        assert times_at_most(target, store) == 1.0  # but for conditions nothing follows
        for search in (target.search, without_order(target.search)):
            masks = Masks(Runtime(store, context))
            plan = resolve(store, search, masks)
            by_statistics = upper_bound(store, search)
            assert count <= by_statistics * (1 + 1e-9), (text, count)
            for most in (1 << 16, 40, 8):
                found = (
                    count if plan is None else bound_of_target(replace(target, search=search), store, plan, most, masks)
                )
                assert count <= found * (1 + 1e-9), (text, count, most)
                assert found <= by_statistics * (1 + 1e-6)
        assert count <= graph.estimate(text, budget_ms=50, seed=1).upper_bound * (1 + 1e-9)


@pytest.mark.parametrize("pattern", TAILS)
def test_upper_bounds_hold_whatever_follows(graph: Graph, pattern: str) -> None:
    store = graph._store
    count = graph.estimate(f"MATCH {pattern}", method="exact").value
    root = plan_counted(store, f"MATCH {pattern}").physical.root
    if known_to_be_empty(root):
        assert count == 0
        return
    target = target_of(root)
    masks = Masks(Runtime(store, ExecutionContext()))
    plan = resolve(store, target.search, masks)
    for bound in (
        upper_bound(store, target.search) * times_at_most(target, store),
        bound_of_target(target, store),
        count if plan is None else bound_of_target(target, store, plan, 1 << 16, masks),
    ):
        assert count <= bound * (1 + 1e-9)
        assert bound <= 1e4 * max(count, 1)
    assert count <= graph.estimate(f"MATCH {pattern}", budget_ms=50, seed=1).upper_bound * (1 + 1e-9)


PATTERNS, MOST = 100, 1e6


def random_pattern(source: Random) -> str:
    """Return chains over nodes that may be the same, with conditions on one or two elements and on what is there."""
    nodes: list[str] = []
    edges: list[str] = []

    def node() -> str:
        if nodes and source.random() < 0.3:
            return f"({source.choice(nodes)})"
        nodes.append(f"n{len(nodes)}")
        return f"({nodes[-1]}{source.choice(('', ':A', ':B', ''))})"

    def chain(length: int) -> str:
        text = node()
        for _ in range(length):
            if source.random() < 0.25:
                least = source.randrange(3)
                edge = f":{source.choice(('R', 'S', 'U', 'R|S'))}*{least}..{least + source.randrange(3)}"
            else:
                edges.append(f"r{len(edges)}")
                edge = edges[-1] + source.choice((":R", ":S", ":U", ":R|S", ""))
            left, right = source.choice((("-", "->"), ("<-", "-"), ("-", "-")))
            text += f"{left}[{edge}]{right}{node()}"
        return text

    def where(most: int) -> str:
        found = []
        for _ in range(source.randrange(most + 1)):
            one, other, op = source.choice(nodes), source.choice(nodes), source.choice("=<>")
            found.append(
                source.choice(
                    (
                        f"{one}.x {op} {source.randrange(4)}",
                        f"{one}.x {op} {other}.x",
                        f"{source.choice(edges)}.w {op} {source.randrange(5)}" if edges else f"{one}.x > 0",
                        f"{source.choice(('', 'NOT '))}EXISTS {{ ({one})-[:{source.choice('RSU')}]->(:A) }}",
                    )
                )
            )
        return f" WHERE {' AND '.join(found)}" if found else ""

    text = f"MATCH {chain(source.randrange(4))}"
    if source.random() < 0.4:
        text += f", {chain(source.randrange(3))}"
    text += where(3)
    for clause, share in (("OPTIONAL MATCH", 0.35), ("MATCH", 0.2)):
        if source.random() < share:
            text += f" {clause} {chain(source.choice((1, 2)))}{where(1)}"
    if source.random() < 0.1:
        text += f" WITH {source.choice(nodes)} AS z MATCH (z)-[:{source.choice('RSU')}]-()"
    return text


def test_upper_bounds_hold_for_random_patterns(graph: Graph) -> None:
    store, source = graph._store, Random(graph._store.vertex_count)
    for _ in range(PATTERNS):
        text = random_pattern(source)
        root = plan_counted(store, text).physical.root
        if known_to_be_empty(root):
            assert graph.estimate(text, method="exact").value == 0, text
            continue
        target, masks = target_of(root), Masks(Runtime(store, ExecutionContext()))
        bounds = [bound_of_target(target, store)]
        if bounds[0] > MOST:  # counting might take long
            continue
        plan = resolve(store, target.search, masks)
        bounds += [0.0] if plan is None else [bound_of_target(target, store, plan, most, masks) for most in (999, 20)]
        count = graph.estimate(text, method="exact").value
        assert count <= min(bounds) * (1 + 1e-9), (text, count, bounds)


PART_GRAPHS, PART_PATTERNS = 4, 10

Edges = list[tuple[int, int, str, bool]]


def small_graph(source: Random) -> tuple[Graph, dict[str, Any], list[str]]:
    """Return a graph of few nodes with loops and parallel relationships, how many join each two, and labels."""
    size = source.choice((3, 4, 5))
    labels = [source.choice(("", "A", "B", "AB")) for _ in range(size)]
    labels[0] = "AB"
    matrices = {}
    records = []
    for kind in "RSU":
        ends = [
            (int(size * source.random() ** 2), source.randrange(size)) for _ in range(source.randrange(1, 3 * size))
        ]
        matrices[kind] = np.zeros((size, size))
        for start, end in [*ends, ends[0], (1, 1), (0, 1)]:
            matrices[kind][start, end] += 1
            records.append({"type": kind, "start": start, "end": end})
    nodes = [{"id": k, "labels": list(each)} for k, each in enumerate(labels)]
    return Graph.from_records(nodes, records, undirected=["U"]), matrices, labels


def connected_pattern(source: Random) -> tuple[str, list[str], Edges]:
    """Return the text of a pattern, its nodes' labels, and its edges: ends, type, and whether it has a direction."""
    labels = [source.choice(("", "", "A", "B")) for _ in range(source.choice((3, 4, 5, 6)))]
    pairs = [(source.randrange(k), k) for k in range(1, len(labels))]
    for _ in range(source.choice((0, 1, 2))):
        one, other = source.sample(range(len(labels)), 2)
        pairs.append((one, other))
    edges = []
    for one, other in pairs:
        kind = source.choice("RSU")
        edges.append((one, other, kind, kind != "U" and source.random() < 0.75))
    nodes = ", ".join(f"(n{k}{':' if label else ''}{label})" for k, label in enumerate(labels))
    texts = (f"(n{one})-[:{kind}]-{'>' * out}(n{other})" for one, other, kind, out in edges)
    return f"MATCH REPEATABLE ELEMENTS {nodes}, {', '.join(texts)}", labels, edges


def embeddings(part: list[int], matrices: dict[str, Any], own: list[str], labels: list[str], edges: Edges) -> float:
    """Return how many embeddings the part of a pattern between some nodes has, by multiplying tensors."""
    size = len(own)
    total = np.ones([size] * len(part))
    for axis, node in enumerate(part):
        admitted = np.array([labels[node] in each for each in own], float)
        total = total * admitted.reshape([size if k == axis else 1 for k in range(len(part))])
    for one, other, kind, out in edges:
        if one in part and other in part:
            joins = matrices[kind]
            joins = joins if out else joins + joins.T - np.diag(np.diag(joins))
            first, second = part.index(one), part.index(other)
            joins = joins if first < second else joins.T
            total = total * joins.reshape([size if k in (first, second) else 1 for k in range(len(part))])
    return float(total.sum())


def test_upper_bounds_of_all_parts_hold() -> None:
    source = Random(11)
    graphs = [small_graph(source) for _ in range(PART_GRAPHS)]
    checked = 0
    for _ in range(PART_PATTERNS):
        text, labels, edges = connected_pattern(source)
        for graph, matrices, own in graphs:
            root = plan_counted(graph._store, text).physical.root
            if known_to_be_empty(root):
                continue
            search = without_order(target_of(root).search)
            parts = graph.estimate_all(text, samples=1, seed=1)
            for names, bound in upper_bounds(graph._store, search, set(parts)).items():
                part = sorted(int(name[1:]) for name in names)
                assert embeddings(part, matrices, own, labels, edges) <= bound * (1 + 1e-9), (text, part)
                checked += 1
    assert checked > 200


@pytest.mark.parametrize(
    ("pattern", "times"),
    [
        ("(a:V)-[:R*1..2]->(b:V)", 10),  # by the greatest degree 14,000
        ("(t:T)<-[:L]-(b:V)-[:R]->(c:V) WHERE t.x = 7", 1),  # by the greatest degree 200
        ("(t:T)<-[:L]-(b:V)-[:R]->(c:V)-[:L]->(u:T) WHERE t.x = 7 AND b.x < c.x", 1),
        ("(t:T)<-[:L]-(b:V) WHERE t.x = 7 OPTIONAL MATCH (b)-[:R]->(c)", 3),
    ],
)
def test_upper_bounds_are_close(pattern: str, times: float) -> None:
    size, tags = 400, 200
    nodes = [{"id": k, "labels": ["V"], "properties": {"x": k}} for k in range(size)]
    nodes += [{"id": size + k, "labels": ["T"], "properties": {"x": k}} for k in range(tags)]
    ends = [(0, k) for k in range(1, size)] + [(k, (k + step) % size) for k in range(1, size) for step in (1, 2)]
    edges = [{"type": "R", "start": start, "end": end} for start, end in ends]
    edges += [{"type": "L", "start": k, "end": size + k % tags} for k in range(size)]
    graph = Graph.from_records(nodes, edges)
    store, masks = graph._store, Masks(Runtime(graph._store, ExecutionContext()))
    count = graph.estimate(f"MATCH {pattern}", method="exact").value
    target = target_of(plan_counted(store, f"MATCH {pattern}").physical.root)
    bound = bound_of_target(target, store, resolve(store, target.search, masks), 999, masks)
    assert count <= bound * (1 + 1e-9) and bound <= times * count * (1 + 1e-6), (count, bound)
