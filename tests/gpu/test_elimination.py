"""Counting by elimination on the GPU: against the reference in all match modes, against the CPU on a larger graph."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from qengine import Graph, QueryTimeout
from qengine.errors import ResourceError, Unsupported
from qengine.exec.common.masks import Masks
from qengine.exec.common.runtime import Runtime
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu import eliminate
from qengine.plan.elimination import Term
from qengine.testing.compare import difference
from qengine.testing.generate import rmat, to_csr
from tests.property.test_elimination import (
    MODES,
    RESULTS,
    agrees_if_eliminated,
    graphs,
    leaves,
    names_known,
    patterns,
    star,
)
from tests.property.test_gpu_elimination import elimination

pytestmark = pytest.mark.gpu

SHAPES = (
    "(a)--(b)--(c)--(d)",
    "(a)--(b)--(c)--(d)--(e)--(f)",
    "(a)-->(b)-->(c)--(d)<--(e)",
    "(a)--(b), (a)--(c), (a)--(d), (d)--(e)",
    "(a)--(b)--(c)--(a)",
    "(a)--(b)--(c)--(a), (c)--(d)--(e)",
    "(a)--(b)--(c)--(a), (c)--(d)--(e)--(c)",
    "(a)-->(b)-->(c)-->(a), (b)--(d)",
    "(a)--(b)--(c)--(d)--(a)",
    "(a)--(b)--(c)--(d)--(a), (a)--(e)",
    "(a)--(b)--(c) WHERE id(a) % 3 = 1",
)


@settings(max_examples=300)
@given(graphs(), patterns(), st.sampled_from(MODES), st.sampled_from(RESULTS))
def test_equals_reference(graph: Graph, pattern: str, mode: str, result: str) -> None:
    assume(names_known(pattern, result))
    query = f"MATCH {mode}{pattern} RETURN {result}"
    agrees_if_eliminated(graph, query, "gpu")


@pytest.fixture(scope="module")
def skewed() -> Iterator[Graph]:
    """An R-MAT graph with a hub that neighbours all."""
    start, end = to_csr(rmat(9, 6, 42)).edges()
    hub = np.arange(1, 1 << 9)
    yield Graph.from_edge_list((np.concatenate([start, 0 * hub]), np.concatenate([end, hub])), undirected=True)


@pytest.mark.parametrize("result", ["count(*)", "id(a), count(*)"])
@pytest.mark.parametrize("shape", SHAPES)
def test_counts_equal_the_cpus(skewed: Graph, shape: str, result: str) -> None:
    for mode in MODES:
        text = f"/*+ eliminate */ MATCH {mode}{shape} RETURN {result}"
        expected, found = (_rows(skewed, text, device) for device in ("cpu", "gpu"))
        assert expected == found if isinstance(expected, str) else difference(expected, found) is None


@pytest.mark.parametrize(
    "shape",
    [
        "(a)--(b)--(c)--(d)--(e)",
        "(a)--(b)--(c)--(d)--(e)--(f)",
        "(a)--(b)--(c)--(d)--(e)--(f)--(g)",
        "(a)--(b)--(c)--(d)--(e)--(a)",
        "(a)--(b)--(c)--(d)--(a), (a)--(e)--(f)",
        "(a)--(b)--(c)--(d)--(a), (e)--(f)",
        "(a)--(b)--(c)--(d)--(e), (b)--(f), (c)--(g), (d)--(h)",
        "(a)--(b)--(c)--(a), (a)--(d), (b)--(e)",
        "(a)--(b)--(c)--(a), (a)--(d)--(e), (b)--(f)--(g)",
        "(a)--(b)--(c)--(a), (c)--(d)--(e)--(c)",
    ],
)
def test_triangles_and_squares_equal_the_cpus(shape: str) -> None:
    """Where no relationships are parallel they have kernels of their own; the second time from what is kept."""
    start, end = to_csr(rmat(12, 16, 42)).edges()
    graph = Graph.from_edge_list((start.astype(np.int64), end.astype(np.int64)), undirected=True)
    for mode in MODES:
        text = f"/*+ eliminate */ MATCH {mode}{shape} RETURN count(*)"
        expected, *found = (_rows(graph, text, device) for device in ("cpu", "gpu", "gpu"))
        assert found == [expected, expected]


def _rows(graph: Graph, text: str, device: Any) -> Any:
    try:
        return graph.query(text, device=device).fetchall()
    except (ResourceError, Unsupported) as error:
        return error.code


def test_numbers_beyond_64_bits_are_carried() -> None:
    hub = star(3_600)
    runtime = Runtime(hub._store, ExecutionContext({}))
    for result in ("count(*)", "h, count(*)"):
        text = f"/*+ eliminate */ MATCH REPEATABLE ELEMENTS {leaves(7)} RETURN {result}"
        operator = elimination(hub, text)
        assert operator is not None
        for factor in (1, 2**61, 2**70):
            terms = tuple(replace(operator.terms[0], factor=sign * factor) for sign in (1, -1))
            both = replace(operator, terms=tuple(Term(each.factor, each.totals, each.output) for each in terms))
            assert [*eliminate.run_eliminate(both, runtime, Masks(runtime))[1]] == []
        with pytest.raises(ResourceError, match="exceeds 64 bits"):
            hub.query(text, device="gpu").fetchall()


@pytest.mark.parametrize(
    ("shape", "result"),
    [
        ("(a)-->(b)-->(c)<--(a)", "id(a), count(*)"),
        ("(a)--(b)--(c)--(d)--(a), (a)--(e)", "id(a), count(*)"),
        ("(a)--(b)--(c)--(d)--(e)--(a)", "count(*)"),
    ],
)
def test_a_timeout_fires_inside_the_kernel(shape: str, result: str) -> None:
    start, end = to_csr(rmat(16, 16, 42)).edges()
    graph = Graph.from_edge_list((start.astype(np.int64), end.astype(np.int64)), undirected="<--" not in shape)
    text = f"/*+ eliminate */ MATCH {shape} RETURN {result}"
    assert elimination(graph, text)
    graph.query(text, device="gpu").fetchall()  # compiles, and copies the graph
    begin = time.monotonic()
    with pytest.raises(QueryTimeout, match="longer than its timeout"):
        graph.query(text, device="gpu", timeout=0.001).fetchall()
    assert time.monotonic() - begin < 5
