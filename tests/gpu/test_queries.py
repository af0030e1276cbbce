"""Whole queries on the GPU: against the reference on generated graphs, and against true counts of open graphs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import pytest

from qengine import Graph
from qengine.errors import ExecutionError, Unsupported
from qengine.testing import open_graphs as og
from qengine.testing.compare import difference
from qengine.testing.generate import rmat, to_csr
from qengine.testing.oracle import TooExpensive, true_rows
from qengine.testing.random_graph import random_graph
from qengine.testing.random_query import random_query
from tests.bench.estimates import SETS, Case

pytestmark = pytest.mark.gpu

SMALL = 100_000  # counts of labelled queries up to here


def compare(seed: int) -> str:
    """Run one pair; return how it went, or fail with what differs."""
    graph = random_graph(seed)
    store = graph.store()
    query = random_query(seed, graph)
    try:
        expected = true_rows(store, query.text, query.parameters)
        found = Graph(store).query(query.text, query.parameters, device="gpu").fetchall()
    except (TooExpensive, Unsupported, ExecutionError) as error:
        return type(error).__name__
    except Exception as error:
        error.add_note(f"seed {seed}: {query.text}\nparameters {query.parameters}")
        raise
    report = difference(expected, found, ordered=query.ordered, lists_ordered=query.lists_ordered)
    assert report is None, f"seed {seed}: {query.text}\nparameters {query.parameters}\n{report}"
    return "compared"


@pytest.mark.parametrize("block", range(3))
def test_generated_queries(block: int) -> None:
    outcomes = Counter(compare(seed) for seed in range(100 * block, 100 * (block + 1)))
    assert outcomes["compared"] > 50, outcomes


@cache
def graph(load: Callable[[str], Graph], name: str) -> Graph:
    return load(name)


def check(found: Graph, truths: Sequence[og.Truth | Case], most: int = 10**9) -> None:
    wrong = []
    for truth in truths:
        if (true := truth.truth if isinstance(truth, Case) else truth.count) > most:
            continue
        count = found.query(truth.query, device="gpu").value()
        if count != true:
            wrong.append(f"{truth.name}: {count}, true is {true}\n{truth.query}")
    assert not wrong, f"{len(wrong)} of {len(truths)}\n" + "\n".join(wrong[:5])
    assert truths


@pytest.mark.shared_data
@pytest.mark.parametrize("mode", [og.DIFFERENT_NODES, og.DIFFERENT_RELATIONSHIPS, og.REPEATABLE_ELEMENTS])
@pytest.mark.parametrize("name", ["hprd", "yeast"])
def test_labelled_counts(name: str, mode: str) -> None:
    check(graph(og.labelled, name), [each for each in og.labelled_truths(name) if each.name.endswith(mode)], SMALL)


@pytest.mark.shared_data
@pytest.mark.parametrize("name", ["fb15k-237", "wn18rr"])
def test_typed_counts(name: str) -> None:
    check(graph(og.typed, name), list(og.workload_truths(name)))


@pytest.mark.shared_data
@pytest.mark.parametrize(("load", "name"), [(og.labelled, "ca-GrQc"), (og.simplified, "wiki-Vote")])
def test_motifs(load: Callable[[str], Graph], name: str) -> None:
    check(graph(load, name), list(og.motif_truths(name)))


@pytest.mark.shared_data("enron16", "email-Enron")
def test_labelled_counts_of_thousands_to_billions() -> None:
    found, cases = SETS["enron16"]()
    check(found, cases, most=10**11)


@pytest.mark.parametrize("scale", [10, 13])
def test_triangles(scale: int) -> None:
    start, end = to_csr(rmat(scale, 16, 42)).edges()
    found = Graph.from_edge_list((start.astype(np.int64), end.astype(np.int64)), undirected=True)
    rows = np.zeros((1 << scale, 1 << scale), np.float32)
    rows[start, end] = rows[end, start] = 1
    expected = round(float((rows @ rows * rows).sum(dtype=np.float64)))
    assert found.query("MATCH (a)--(b)--(c)--(a) RETURN count(*)", device="gpu").value() == expected


@pytest.mark.shared_data
@pytest.mark.parametrize("name", ["air-routes", "ldbc-snb-sf01"])
def test_questions_with_known_rows(name: str) -> None:
    found = graph(og.property_graph, name)
    for title, text, rows in og.cypher_truths(name):
        assert [list(row) for row in found.query(text, device="gpu")] == rows, f"{title}: {text}"


@pytest.mark.shared_data
def test_published_lsqb_counts() -> None:
    truths = list(og.lsqb_truths("lsqb-sfexample", "truth_published.csv", "lsqb-sfexample"))
    check(graph(og.property_graph, "lsqb-sfexample"), truths)
