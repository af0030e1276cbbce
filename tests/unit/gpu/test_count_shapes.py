"""Shapes of counts: what is found in a plan counts what the search counts, by an evaluation straight from its words."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from itertools import combinations, permutations
from math import comb, perm, prod
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import qengine
from qengine.exec.common.match_plan import LEVEL, PCSR, RANGE
from qengine.exec.gpu.count import components
from qengine.exec.gpu.count_kernels import ViewSpec
from qengine.exec.host import search
from qengine.plan.count_shapes import (
    CliqueShape,
    Component,
    CountShape,
    EdgeShape,
    HouseShape,
    WedgeShape,
)

PATTERNS = {
    "triangle": ("(a)--(b), (a)--(c), (b)--(c)", EdgeShape),
    "4-clique": ("(a)--(b), (a)--(c), (a)--(d), (b)--(c), (b)--(d), (c)--(d)", CliqueShape),
    "5-clique": (
        "(a)--(b), (a)--(c), (a)--(d), (a)--(e), (b)--(c), (b)--(d), (b)--(e), (c)--(d), (c)--(e), (d)--(e)",
        CliqueShape,
    ),
    "square": ("(a)--(b)--(c)--(d)--(a)", WedgeShape),
    "diamond": ("(a)--(b), (a)--(c), (b)--(c), (b)--(d), (c)--(d)", EdgeShape),
    "fan": ("(a)--(b), (a)--(c), (b)--(c), (a)--(d), (b)--(d), (a)--(e), (b)--(e)", EdgeShape),
    "house": ("(a)--(b)--(c)--(d)--(a), (a)--(e)--(b)", HouseShape),
}


class Lists:
    """The neighbour lists of a plan, as sets of ids."""

    def __init__(self, plan: Any) -> None:
        self.records = table(plan, "lists", PCSR, int(plan["n_lists"]))

    def members(self, view: ViewSpec, vertex: int) -> list[int]:
        record = self.records[view.list]
        assert record["form"] == 0, "the graphs here are dense"
        if not record["lo"] <= vertex < record["hi"]:
            return []
        at = vertex - int(record["lo"])
        begin, end = table(record, "offsets", np.dtype(np.uint64), at + 2)[at:]
        found = table(record, "neighbours", np.dtype(np.uint32), int(end))[int(begin) :]
        low = max(view.lo, vertex + 1 if view.above else 0)
        high = min(view.hi, vertex) if view.below else view.hi
        return [int(id) for id in found if low <= id < high]


def table(record: Any, name: str, dtype: np.dtype[Any], n: int) -> Any:
    return np.frombuffer(ctypes.string_at(int(record[name]), n * dtype.itemsize), dtype) if n else np.empty(0, dtype)


def chosen(n: int, taken: int, ordered: bool) -> int:
    return comb(max(n, 0), taken) if ordered else perm(max(n, 0), taken)


def evaluate(shape: CountShape[ViewSpec], lists: Lists, root: int) -> float:
    """Count what hangs on one root."""
    if isinstance(shape, EdgeShape):
        marked = set(lists.members(shape.marked, root))
        outer = lists.members(shape.outer, root)
        found = sum(
            chosen(len(marked & set(lists.members(shape.streamed, v))), shape.taken, shape.ordered) for v in outer
        )
        return found * (1 + shape.twice)
    if isinstance(shape, CliqueShape):
        return chains(shape, lists, set(lists.members(shape.outer, root)), shape.depth)
    if isinstance(shape, WedgeShape):
        far = [w for v in lists.members(shape.outer, root) for w in lists.members(shape.inner, v)]
        kept = [w for w in far if (w - root) * shape.bound > 0 or not shape.bound]
        sizes = [kept.count(w) for w in set(kept) if not (shape.apart and w == root)]
        return sum((n * (n - 1) // 2, n * (n - 1), n * n)[shape.pairs] for n in sizes)
    return sum(houses(shape, lists, root, b) for b in lists.members(shape.whole, root)) / (2 if shape.once else 1)


def chains(shape: CliqueShape[ViewSpec], lists: Lists, among: set[int], depth: int) -> int:
    if depth == 0:
        return 1
    return sum(chains(shape, lists, among & set(lists.members(shape.streamed, v)), depth - 1) for v in among)


def houses(shape: HouseShape[ViewSpec], lists: Lists, a: int, b: int) -> int:
    near_a, near_b = lists.members(shape.whole, a), lists.members(shape.whole, b)
    roofs = set(near_a) & set(near_b)
    return sum(
        len(roofs - {c, d})
        for d in near_a
        for c in near_b
        if len({a, b, c, d}) == 4 and c in lists.members(shape.whole, d)
    )


def found_in(graph: qengine.Graph, query: str) -> tuple[Any, list[Component[ViewSpec]] | None, Any, int]:
    """Return the plan of a query, its shapes, what it keeps alive, and how many embeddings an orbit has."""
    seen: list[Any] = []
    original = search.resolve

    def resolve(store: Any, physical: Any, masks: Any, **options: Any) -> Any:
        resolved = original(store, physical, masks, **options)
        if resolved is not None:
            parts = components(store, physical.shapes, resolved) or None
            seen.append((resolved.plan, parts, resolved.keep, physical.orbits))
        return resolved

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "resolve", resolve)
        graph.query(query.replace("MATCH", "MATCH /*+ search */", 1)).fetchall()
    assert len(seen) == 1
    return seen[0]


def total(plan: Any, parts: list[Component[ViewSpec]]) -> float:
    lists = Lists(plan[0])
    factors = []
    for part in parts:
        level = table(plan[0], "levels", LEVEL, int(plan[0]["n_levels"]))[part.root]
        (span,) = table(plan[0], "ranges", RANGE, int(level["ranges"]["first"]) + 1)[int(level["ranges"]["first"]) :]
        factors.append(sum(evaluate(part.shape, lists, root) for root in range(int(span["begin"]), int(span["end"]))))
    return prod(factors)


def graph_of(pairs: set[tuple[int, int]], *, directed: bool = False, labels: int = 1) -> qengine.Graph:
    ends = sorted({tuple(sorted(pair)) if not directed else pair for pair in pairs if pair[0] != pair[1]})
    n = 1 + max(max(pair) for pair in ends)
    nodes = [(f"L{k}", pa.table({"id": np.arange(k, n, labels)})) for k in range(min(labels, n))]
    edges = pa.table({"src": [a for a, _ in ends], "dst": [b for _, b in ends]})
    return qengine.Graph.from_arrow(nodes, [("E", edges)], undirected=[] if directed else ["E"])


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_has_its_shape(name: str) -> None:
    pattern, kind = PATTERNS[name]
    random = np.random.default_rng(1)
    graph = graph_of({(int(a), int(b)) for a, b in random.integers(0, 60, (500, 2))})
    query = f"MATCH {pattern} RETURN count(*)"
    plan, parts, _, orbits = found_in(graph, query)
    assert parts is not None and [type(part.shape) for part in parts] == [kind]
    assert total(plan, parts) * orbits == graph.query(query).fetchall()[0][0]


@given(
    st.sets(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=12).filter(lambda s: any(a != b for a, b in s)),
    st.sampled_from(list(PATTERNS)),
    st.booleans(),
    st.sampled_from((1, 2)),
    st.lists(st.integers(0, 2), min_size=5, max_size=5),
    st.sampled_from(("", "DIFFERENT NODES ", "REPEATABLE ELEMENTS ")),
)
def test_shapes_count_what_the_search_counts(
    pairs: set[tuple[int, int]], name: str, directed: bool, labels: int, wanted: list[int], mode: str
) -> None:
    """Whatever the labels, directions and match mode: where there is a shape, it is right."""
    graph = graph_of(pairs, directed=directed, labels=labels)
    pattern = PATTERNS[name][0].replace("--", "-->" if directed else "--")
    for letter, label in zip("abcde", wanted, strict=True):
        if label < labels and f"({letter})" in pattern:
            pattern = pattern.replace(f"({letter})", f"({letter}:L{label})", 1)
    query = f"MATCH {mode}{pattern} RETURN count(*)"
    try:
        plan, parts, _, orbits = found_in(graph, query)
    except AssertionError:  # no plan: some label has no vertex
        return
    if parts is not None:
        assert total(plan, parts) * orbits == graph.query(query).fetchall()[0][0]


def test_what_has_no_shape_is_left_to_the_search() -> None:
    graph = graph_of(set(combinations(range(8), 2)))
    seven = ", ".join(f"(v{i})--(v{j})" for i, j in combinations(range(7), 2))
    for query in (
        f"MATCH {seven} RETURN count(*)",
        "MATCH (a)--(b), (a)--(c), (b)--(c) RETURN a, count(*)",
        "MATCH (a)--(b)--(c)--(d)--(e)--(a) RETURN count(*)",
        "MATCH (a)--(b), (c)--(d), (a)--(c) WHERE a.id < d.id RETURN count(*)",
    ):
        assert found_in(graph, query)[1] is None, query


def test_the_evaluation_knows_houses() -> None:
    """The evaluation above, beside counting all tuples of vertices."""
    pairs = {(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (4, 1), (2, 4), (1, 3), (4, 5), (5, 3)}
    graph = graph_of(pairs)
    plan, parts, _, orbits = found_in(graph, f"MATCH {PATTERNS['house'][0]} RETURN count(*)")
    both = pairs | {(b, a) for a, b in pairs}
    sides = ((0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (4, 1))
    tuples = sum(all((v[x], v[y]) in both for x, y in sides) for v in permutations(range(6), 5))
    assert parts is not None
    assert total(plan, parts) * orbits == tuples
    (part,) = parts
    assert isinstance(part.shape, HouseShape)
    assert total(plan, [replace(part, shape=replace(part.shape, once=False))]) == tuples
