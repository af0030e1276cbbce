"""Every row of the kernel table gives what the general rows do, on both devices, with numbers of 64 and of 128 bits.

A row is forced by a hint; the GPU's kernels run on the host. Graphs have labels, loops and parallel relationships.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from qengine import Graph
from qengine.errors import Unsupported
from qengine.exec.common.masks import Masks
from qengine.exec.common.runtime import Runtime
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu import eliminate as on_gpu
from qengine.exec.host import eliminate as on_host
from qengine.plan.elimination import NodeValues
from qengine.plan.kernels import KERNELS, Kernel
from qengine.plan.physical import AggregateByNode, Eliminate
from qengine.plan.traverse import operators
from qengine.testing.generate import rmat, to_csr
from qengine.testing.plans import planned
from tests.examples import examples
from tests.property.test_gpu_elimination import device

__all__ = ["device"]

ROWS = [row for rows in KERNELS.values() for row in rows if row.step is not NodeValues]
"""A property's values are no counts: they are in a test of their own."""

SQUARE = "(a)-[:U]-(b)-[:U]-(c)-[:U]-(d)-[:U]-(a)"
TRIANGLE = "(a)-[:U]-(b)-[:U]-(c)-[:U]-(a)"
CLIQUE = f"{SQUARE}, (a)-[:U]-(c), (b)-[:U]-(d)"
TAILS = ", (a)-[:U]-(x), (b)-[:U]-(y), (c)-[:U]-(z)"
PATTERNS: dict[str, tuple[str, ...]] = {
    "kept_indicator": ("(a:A)-[:U]-(b:B)-[:U]-(c:A)",),
    "indicator": ("(a WHERE a.i > 0)-[:R]->(b)-[:U]-(c)",),
    "stored": (TRIANGLE,),
    "kept_or_lists": ("(a)-[:R]-(b)-[:R]-(c)-[:R]-(d)-[:R]-(e)",),
    "lists": ("(a)-[:R]-(b)-[r:R WHERE r.i > 0]-(c)",),
    "merged": ("(a)-[:R]-(b)-[:R]-(c)-[:R]-(a)", "(a)-[:R]-(b)-[:U]-(c)-[:R]-(a)"),
    "uploaded": ("(a)-[:R]-(b)-[:U]-(c)-[:R]-(a)",),
    "matrix_product": (f"{TRIANGLE}, (b)-[:U]-(d)-[:U]-(c)", f"{SQUARE}, (a)-[:U]-(c)"),
    "vector_product": ("(a)-[:U]-(b)-[:U]-(c), (b)-[:U]-(d), (c)-[:U]-(e), (c)-[:R]-(f)",),
    "degrees": ("(a:A)-[:R]->(b)<-[:U]-(c)",),
    "message": ("(a)-[:U]-(b)-[:R]->(c)-[:U]-(d)",),
    "local_triangles": (f"{CLIQUE}, (a)-[:U]-(e)", f"{CLIQUE}, (a)-[:U]-(e), (b)-[:U]-(e)"),
    "local_sums": (
        "(a)-[:U]-(b)-[:U]-(c)-[:U]-(a), (a)-[:U]-(d)-[:U]-(b), (c)-[:U]-(d), (a)-[:U]-(e)-[:U]-(b), (c)-[:U]-(e)"
        " RETURN id(d), count(*)",
    ),
    "triangle_counts": (f"{TRIANGLE}, (a)-[:U]-(d)-[:U]-(b)", f"{TRIANGLE}, (c)-[:U]-(d)"),
    "triangle_sums": (f"{TRIANGLE}, (a)-[:U]-(d)-[:U]-(b), (d)-[:U]-(e)", f"{TRIANGLE}{TAILS}"),
    "masked_product": ("(a)-[:R]->(b)-[:U]-(c)-[:R]->(a)", TRIANGLE),
    "triangle_corners": (
        f"{TRIANGLE}, (a)-[:U]-(d)-[:U]-(b) RETURN id(d), count(*)",
        f"{TRIANGLE}, (a)-[:U]-(d)-[:U]-(b), (a)-[:R]-(e) RETURN id(d), count(*)",
    ),
    "vertex_triangles": (f"{TRIANGLE}, (c)-[:U]-(d)", "(a)-[:U]-(b)-[:U]-(c)-[:U]-(d)-[:U]-(e)"),
    "triangle_weight_sums": (f"{TRIANGLE}{TAILS}",),
    "closed_walks": (SQUARE, f"{SQUARE}, (e)-[:U]-(f)"),
    "long_closed_walks": ("(a)-[:U]-(b)-[:U]-(c)-[:U]-(d)-[:U]-(e)-[:U]-(a)", f"{SQUARE}, (a)-[:U]-(e)"),
    "local_walks": (f"{SQUARE}, (h)-[:U]-(a), (h)-[:U]-(b), (h)-[:U]-(c), (h)-[:U]-(d)",),
    "row_products": (
        SQUARE,
        "(a)-[:U]-(b)-[:R]->(c), (a)-[:U]-(d)-[:R]->(c), (a)-[:U]-(e)-[:R]->(c)",
        "(a)-[:U]-(b:A)-[:R]->(c), (a)-[:R]->(d)-[:U]-(c)",
    ),
    "link_squares": (f"{SQUARE}, (h)-[:U]-(a), (h)-[:U]-(b), (h)-[:U]-(c)",),
    "symmetric_links": (f"{CLIQUE}, (a)-[:U]-(e)",),
    "row_squares": (f"{SQUARE}, (h)-[:U]-(a), (h)-[:U]-(b), (h)-[:U]-(c)",),
    "mixed_walks": (SQUARE,),
    "cliques": (CLIQUE, f"{CLIQUE}, (a)-[:R]->(b), (c:A)-[:R]->(d)", "(a)-[:R]->(b)-[:U]-(c)-[:R]->(a), (a)-[:R]->(d)"),
    "rooted_forest": (SQUARE, "(a)-[:R]->(b)-[:U]-(c)<-[:R]-(d)-[:U]-(a)"),
    "masked_forest": (
        "(a)-[:U]-(b)-[:U]-(c), (a)-[:U]-(d)-[:U]-(c), (a)-[:U]-(e)-[:U]-(c) RETURN id(b), count(*)",
        "(a)-[:R]->(b)-[:U]-(c), (a)-[:U]-(d)-[:R]->(c), (a)-[:U]-(e)-[:U]-(c) RETURN id(b), count(*)",
    ),
    "turned": ("(a)-[:R]->(b)-[:U]-(c), (a)-[:U]-(d)-[:R]->(c), (a)-[:U]-(e)-[:U]-(c) RETURN id(b), count(*)",),
    "at_pairs": (
        f"{CLIQUE}, (a)-[:U]-(e)-[:U]-(b) RETURN id(e), count(*)",
        f"{SQUARE}, (h)-[:U]-(a), (h)-[:U]-(b), (h)-[:U]-(c), (h)-[:U]-(d) RETURN id(b), count(*)",
    ),
    "pairs": ("(a)-[:U]-(b)-[:R]->(c)",),
    "neighbours": (f"{CLIQUE}, (a)-[:U]-(e)",),
    "at_ends": (f"{CLIQUE}, (b)-[:R]->(e), (c)-[:R]->(f)", f"{CLIQUE}, (b:A)-[:U]-(e)"),
    "of_pairs": (f"{CLIQUE}, (a)-[:U]-(e)-[:U]-(b)",),
    "end_rows": (f"{SQUARE}, (h)-[:U]-(a), (h)-[:U]-(b), (h)-[:U]-(c)",),
    "by_root": (f"{CLIQUE} RETURN id(a), count(*) AS n",),
    "cliques_by_vertex": (
        f"{CLIQUE} RETURN id(a), count(*)",
        f"{CLIQUE}, (c)-[:U]-(e), (e)-[:R]->(f), (d:A) RETURN id(b), count(*)",
        "(a)-[:R]->(b)-[:U]-(c)-[:R]->(a), (a)-[:U]-(d)-[:R]->(b), (c)-[:U]-(d) RETURN id(d), count(*)",
    ),
    "dot": ("(a)-[:U]-(b)-[:U]-(c)",),
}
"""Patterns of which a step is computed by a row where it is forced."""

MODES = ("", "REPEATABLE ELEMENTS ")


def made(kind: str) -> Graph:
    """Make a graph: simple, or with loops and parallel relationships among others."""
    start, end = (each.astype(int).tolist() for each in to_csr(rmat(3, 3, 7)).edges())
    rng = np.random.default_rng(5)
    nodes = [{"id": k, "labels": ("A", "B")[k % 2], "properties": {"i": k % 3}} for k in range(8)]
    triples = [("U", a, b) for a, b in zip(start, end, strict=True) if a < b]
    triples += [("R", a, b) for a, b in rng.integers(0, 8, (20, 2)).tolist() if kind == "loose" or a != b]
    if kind == "loose":
        triples += [("U", k, k) for k in (0, 3)] + triples[:5]
    relationships = [
        {"type": name, "start": a, "end": b, "properties": {"i": k % 2}} for k, (name, a, b) in enumerate(triples)
    ]
    return Graph.from_records(nodes, relationships, undirected=("U",))


GRAPHS = {kind: made(kind) for kind in ("simple", "loose")}


def drawn(seed: int) -> Graph:
    """Draw a graph of five to nine nodes; with even seeds ``U`` is simple, with others both types may be anything."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(5, 10))
    labels = ((), ("A",), ("B",), ("A", "B"))
    nodes = [
        {"id": k, "labels": labels[rng.integers(4)], "properties": {"i": int(rng.integers(3))}} for k in range(count)
    ]
    pairs = rng.integers(0, count, (3 * count, 2)).tolist()
    if seed % 2 == 0:
        pairs = sorted({(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]})
    triples = [("U", *pair) for pair in pairs]
    triples += [("R", *pair) for pair in rng.integers(0, count, (2 * count, 2)).tolist()]
    relationships = [
        {"type": name, "start": a, "end": b, "properties": {"i": int(rng.integers(2))}} for name, a, b in triples
    ]
    return Graph.from_records(nodes, relationships, undirected=("U",))


DRAWN = [drawn(seed) for seed in range(examples(6))]


def elimination(graph: Graph, text: str) -> Eliminate | None:
    """Return the elimination of a query, with steps that nothing may read; None where the hint can't be followed."""
    try:
        plan = graph.prepare(text)._planned.physical
    except Unsupported:
        return None
    assert plan is not None
    return next(each for each in operators(plan.root) if isinstance(each, Eliminate))


def counts(graph: Graph, operator: Eliminate, where: str, wide: bool, general: bool) -> Any:
    """Return what the operator counts on a device, as a mapping."""
    runtime = Runtime(graph._store, ExecutionContext({}))
    masks = Masks(runtime)
    found: dict[tuple[int, ...], int] = {}
    if where == "cpu":
        given = on_host._Run(operator, runtime, masks, (), wide, general).counts(0)
        batches = [each for each, _ in given]
    else:
        facts = on_gpu._of(graph._store, operator)
        facts.wide, facts.general = wide, general
        batches = [on_gpu.run_eliminate(operator, runtime, masks)]
    for vertices, numbers in batches:
        keys = zip(*(each.tolist() for each in vertices), strict=True) if vertices else ((),) * len(numbers)
        found |= dict(zip(keys, numbers.tolist(), strict=True))
    return found


def query(row: str, pattern: str, mode: str) -> str:
    by = "" if "RETURN" in pattern else " RETURN id(a), id(c), count(*)" if row == "pairs" else " RETURN count(*)"
    return f"/*+ kernel({row}) */ MATCH {mode}{pattern}{by}"


@functools.cache
def expected_total(graph: Graph, plain: str) -> int:
    """Count by the reference; several rows take the same pattern."""
    return sum(each[-1] for each in graph.query(plain, device="reference").fetchall())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.device}: {row.name}")
@pytest.mark.parametrize("graphs", [[*GRAPHS.values()], DRAWN], ids=["made", "drawn"])
def test_rows_give_what_the_reference_does(row: Kernel, graphs: list[Graph]) -> None:
    taken = False
    for graph in graphs:
        for pattern in PATTERNS[row.name]:
            for mode in MODES:
                text = query(row.name, pattern, mode)
                operator = elimination(graph, text)
                schedule = None if operator is None else operator.schedule(row.device)
                if operator is None or schedule is None or row.name not in [each.kernel for each in schedule.every]:
                    continue
                taken = True
                ways = [(False, False), (True, False), (False, True)]
                found = [counts(graph, replace(operator), row.device, *way) for way in ways]
                expected = expected_total(graph, text.replace(f"/*+ kernel({row.name}) */ ", ""))
                assert [sum(each.values()) for each in found] == [expected] * len(ways), text
                assert all(each == found[0] for each in found), text
    assert taken, "no pattern takes the row"


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("general", [False, True])
@pytest.mark.parametrize("pattern", ["(a)-[:U]-(b)-[:R]->(c)", f"{TRIANGLE}, (b)-[:U]-(d)-[:R]->(a)"])
def test_values_are_summed_as_the_reference_does(pattern: str, wide: bool, general: bool) -> None:
    """Of each vertex 3 times its number: 0 of the first, which still has embeddings."""
    for graph in GRAPHS.values():
        values = 3 * np.arange(graph._store.vertex_count, dtype=np.uint64)
        for mode in MODES:
            text = f"MATCH {mode}{pattern} RETURN id(a), sum(id(c) * 3), count(*)"
            (operator,) = planned(graph, f"/*+ eliminate */ {text}", AggregateByNode)
            (summed,) = operator.sums
            assert [call.kernel for call in summed.program.schedules[0].every].count("values") == 1
            runtime = Runtime(graph._store, ExecutionContext({}))
            run = on_host._Run(summed.program, runtime, Masks(runtime), (), wide, general, values)
            total = sum(factor * _integers(vector) for factor, vector in run.term_vectors())
            found = {vertex: number for vertex, number in enumerate(total) if number}
            rows = graph.query(text, device="reference").fetchall()
            assert found == {vertex: number for vertex, number, _ in rows if number}, text


def _integers(vector: Any) -> Any:
    """Return numbers of 64 bits, or of 128 with the lower words first, as Python's."""
    if vector.ndim == 1:
        return vector.astype(object)
    return vector[:, 0].astype(object) + (vector[:, 1].astype(object) << 64)
