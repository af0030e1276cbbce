"""The executors against true counts of open graphs: published ones, and ones counted by independent programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import product

import pytest

from qengine import Graph, QueryTimeout
from qengine.testing import open_graphs as og

pytestmark = pytest.mark.shared_data

SMALL = 100_000  # counts up to here are checked always, larger ones with the slow tests


@pytest.fixture(params=["cpu", pytest.param("gpu", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@cache
def graph(load: Callable[[str], Graph], name: str) -> Graph:
    return load(name)


def check(found: Graph, truths: list[og.Truth], device: str) -> None:
    wrong = []
    for truth in truths:
        result = found.query(truth.query, device=device)
        count = result.value()
        if count != truth.count:
            wrong.append(f"{truth.name}: {count}, true is {truth.count}\n{truth.query}")
        assert result.stats.device == device
    assert not wrong, f"{len(wrong)} of {len(truths)}\n" + "\n".join(wrong[:5])
    assert truths


def thirds() -> Iterator[object]:
    """Yield thirds of the queries in each mode: in one of them outside the nets."""
    modes = (og.DIFFERENT_NODES, og.DIFFERENT_RELATIONSHIPS, og.REPEATABLE_ELEMENTS)
    for third, (place, mode) in product(range(3), enumerate(modes)):
        marks = () if third == place else (pytest.mark.nets,)
        yield pytest.param(mode, third, id=f"{mode}-{third}", marks=marks)


@pytest.mark.parametrize(("mode", "third"), list(thirds()))
@pytest.mark.parametrize("name", ["hprd", "yeast"])
def test_labelled_queries(name: str, mode: str, third: int, device: str) -> None:
    truths = [each for each in og.labelled_truths(name) if each.name.endswith(mode)][third::3]
    check(graph(og.labelled, name), [each for each in truths if each.count <= SMALL], device)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hprd", "yeast"])
def test_all_published_counts_within_a_minute_each(name: str, device: str) -> None:
    truths = [each for each in og.labelled_truths(name) if each.name.endswith(og.DIFFERENT_NODES)]
    found = graph(og.labelled, name)
    finished = 0
    for truth in truths:
        try:
            count = found.query(truth.query, timeout=60, device=device).value()
        except QueryTimeout:
            continue
        assert count == truth.count, truth
        finished += 1
    assert finished >= len(truths) * (1.0 if name == "hprd" else 0.95)


@pytest.mark.parametrize("name", ["fb15k-237", "wn18rr"])
def test_typed_workloads(name: str, device: str) -> None:
    check(graph(og.typed, name), list(og.workload_truths(name)), device)


def test_motifs_of_a_collaboration_network(device: str) -> None:
    check(graph(og.labelled, "ca-GrQc"), list(og.motif_truths("ca-GrQc")), device)


def test_motifs_of_a_vote_network(device: str) -> None:
    check(graph(og.simplified, "wiki-Vote"), list(og.motif_truths("wiki-Vote")), device)


@pytest.mark.parametrize(
    ("name", "triangles"),
    [("ca-GrQc", 48_260), ("email-Enron", 727_044), ("wiki-Vote", 608_389), ("cnr-2000", 20_977_629)],
)
def test_triangles(name: str, triangles: int, device: str) -> None:
    found = graph(og.simplified, name)
    query = "MATCH (a)-[:E]-(b)-[:E]-(c)-[:E]-(a) RETURN count(*)"
    assert found.query(query, device=device).value() == 6 * triangles


@pytest.mark.parametrize("name", ["air-routes", "ldbc-snb-sf01"])
def test_questions_with_known_rows(name: str, device: str) -> None:
    found = graph(og.property_graph, name)
    for title, text, rows in og.cypher_truths(name):
        assert [list(row) for row in found.query(text, device=device)] == rows, f"{title}: {text}"


@pytest.mark.parametrize("device", ["cpu", "reference", pytest.param("gpu", marks=pytest.mark.gpu)])
def test_published_lsqb_counts(device: str) -> None:
    truths = list(og.lsqb_truths("lsqb-sfexample", "truth_published.csv", "lsqb-sfexample"))
    check(graph(og.property_graph, "lsqb-sfexample"), truths, device)


def test_published_lsqb_counts_on_the_part_that_is_there(device: str) -> None:
    found = graph(og.property_graph, "lsqb-sf0.1-part")
    truths = [
        each
        for each in og.lsqb_truths("lsqb-sf0.1-part", "truth_published.csv", "lsqb-sf0.1-part")
        if each.name in ("q3", "q6", "q9")
    ]
    check(found, truths, device)


def test_lsqb_style_counts(device: str) -> None:
    found = graph(og.property_graph, "ldbc-snb-sf01")
    check(found, list(og.lsqb_truths("ldbc-snb-sf01", "truth_lsqb_style_duckdb.csv", "lsqb-sfexample")), device)
