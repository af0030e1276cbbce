"""Which device "auto" takes: the GPU for large searches that it has a kernel for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from qengine import Graph
from qengine.errors import DeviceError, Unsupported
from qengine.estimate.device import choose_device
from qengine.exec import choice
from qengine.exec.gpu import device as device_module
from qengine.plan.count_shapes import EdgeShape
from qengine.plan.device_cost import device_search_cost
from qengine.plan.physical import Search
from qengine.plan.traverse import operators
from qengine.testing.plans import planned

FREE = {"host": 0.0, "threads": 1.0, "vertex": 5.0, "row": 50.0}
"""Prices by which any search is long."""


@pytest.fixture
def graph() -> Graph:
    nodes = [{"id": i, "labels": "A", "properties": {"x": i}} for i in range(20)]
    pairs = [(i, (i + step) % 20) for i in range(20) for step in (1, 2, 3)]
    relationships = [{"type": "R", "start": a, "end": b} for a, b in pairs]
    return Graph.from_records(nodes, relationships, undirected=["R"])


def chosen(graph: Graph, pattern: str, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Return what "auto" takes for a query that counts as large, on a machine that counts as having a GPU."""
    monkeypatch.setattr(choice, "costs", lambda device, section: FREE)
    monkeypatch.setattr(device_module, "missing", lambda: None)
    monkeypatch.setattr(device_module, "usable", lambda asked=(): (0,))
    plan = graph.explain(pattern)
    return plan.device, plan.device_reason


@pytest.mark.parametrize(
    "query",
    [
        "MATCH (a)-[:R]-(b)-[:R]-(c)-[:R]-(a) RETURN count(*)",
        "MATCH (a)-[:R]-(b)-[:R]-(c)-[:R]-(a) RETURN a, b, c",
        "MATCH (a)-[:R]-(b)-[:R]-(c)-[:R]-(a) WHERE a.x > 3 RETURN a, b, c",
        "MATCH (a)-[:R]-(b)-[:R]-(c)-[:R]-(a) WHERE a.x > 3 RETURN count(*)",
        "MATCH (a)-[:R]-(b)-[:R]-(c)-[:R]-(a) WHERE a.x > c.x RETURN count(*)",
        "MATCH (a)-[:R]-(b)-[:R]-(c)-[:R]-(a) RETURN a, count(*)",
    ],
)
def test_large_searches_with_a_kernel_run_on_the_gpu(graph: Graph, query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    device, reason = chosen(graph, query, monkeypatch)
    assert device == "gpu" and "matches expected" in reason


def test_what_the_cpu_eliminates_is_eliminated_on_the_gpu_or_counted_by_its_shape(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    diamond = "MATCH /*+ eliminate */ (a)-[:R]-(b)-[:R]-(c)-[:R]-(a), (b)-[:R]-(d)-[:R]-(c) RETURN count(*)"
    path = "MATCH /*+ eliminate */ (a)-[:R]-(b)-[:R]-(c)-[:R]-(d)-[:R]-(e) RETURN count(*)"
    assert "Eliminate" in str(graph.explain(diamond))
    assert chosen(graph, diamond, monkeypatch)[0] == "gpu"
    assert chosen(graph, path, monkeypatch)[0] == "gpu"


def test_an_elimination_that_the_gpu_lacks_kernels_for_is_compared_with_its_search(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "MATCH /*+ eliminate */ (a)-[:R]-(b)-[:R]-(c)-[:R]-(d) RETURN a, d, count(*)"
    assert "Eliminate" in str(graph.explain(query))
    monkeypatch.setattr(choice, "device_search_cost", lambda *_: 1e12)
    device, reason = chosen(graph, query, monkeypatch)
    assert device == "cpu" and "a search on the GPU 1e+06" in reason
    monkeypatch.setattr(choice, "device_search_cost", lambda *_: 1.0)
    assert chosen(graph, query + " // again", monkeypatch)[0] == "gpu"


def test_a_count_is_searched_where_that_takes_less(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_module, "missing", lambda: None)
    monkeypatch.setattr(device_module, "usable", lambda asked=(): (0,))
    monkeypatch.setattr(choice, "costs", lambda device, section: FREE)
    largest = choice.largest_search(graph.explain("/*+ search */ MATCH (a)-->(b)-->(c) RETURN count(*)").plan)
    assert largest is not None
    search = replace(largest.search, shapes=(), cost=1e9, on_gpu=1e11)
    device, reason = choice.choose("auto", replace(largest, search=search))
    assert device == "cpu" and reason.startswith("a search takes about ") and "on the GPU 2e+05" in reason
    assert choice.choose("auto", replace(largest, search=replace(search, on_gpu=1.0)))[0] == "gpu"
    assert choice.choose("auto", replace(largest, search=replace(search, on_gpu=None)))[0] == "gpu"


def test_a_short_elimination_stays_on_the_cpu(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    path = "MATCH /*+ eliminate */ (a)-[:R]-(b)-[:R]-(c)-[:R]-(d)-[:R]-(e) RETURN count(*)"
    chosen(graph, path, monkeypatch)
    monkeypatch.setattr(choice, "costs", lambda device, section: {"host": 1e9, "threads": 1.0})
    monkeypatch.setattr(choice.LargestSearch, "most", 2e9)
    plan = graph.explain(path)
    assert plan.device == "cpu" and "too few to use the GPU" in plan.device_reason


@pytest.mark.parametrize(
    ("query", "searched"),
    [
        ("MATCH (a:A)-[r:R]->(b:A) RETURN a.x, max(b.x), count(*)", True),
        ("MATCH (a:A) RETURN a.x % 3, count(*)", False),
    ],
)
def test_what_is_folded_of_lists_counts_as_their_search_and_vertices_as_little(
    query: str, searched: bool, graph: Graph
) -> None:
    largest = choice.largest_search(graph.explain(query).plan)
    assert largest is not None and largest.folded is not searched
    assert largest.most == (largest.search.cost if searched else 5.0 * 20)


def test_the_more_threads_the_host_has_the_more_it_keeps(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen(graph, "MATCH (a)-[:R]-(b) RETURN count(*)", monkeypatch)
    monkeypatch.setattr(choice, "costs", lambda device, section: {"host": 3e6, "threads": 6.0})
    largest = choice.largest_search(graph.explain("/*+ search */ MATCH (a)-->(b)-->(c) RETURN a, c").plan)
    assert largest is not None
    took = replace(largest, search=replace(largest.search, cost=1.5e7, on_gpu=None))
    for processors, device in ((1, "gpu"), (4, "gpu"), (6, "cpu"), (16, "cpu")):
        monkeypatch.setattr(choice, "usable_processors", lambda processors=processors: processors)
        assert choice.choose("auto", took)[0] == device


def test_a_search_from_rows_costs_so_much_for_each_of_them(graph: Graph) -> None:
    query = "MATCH (a)-[:R]-(b) WITH DISTINCT b, a MATCH (b)-[:R]-(c)-[:R]-(d) RETURN a, d"
    searches = [each for each in operators(graph.explain(query).plan.root) if isinstance(each, Search)]
    largest = choice.largest_search(graph.explain(query).plan)
    assert largest is not None and largest.search is searches[0] and len(searches) == 2
    given, cost = largest.search.given, largest.search.cost
    assert cost is not None and 20 < given < 200 and largest.most == given * cost


def test_a_diamond_takes_less_of_what_the_model_says_than_a_triangle(graph: Graph) -> None:
    """Its kernel reads the same lists, however often what they share is counted."""
    diamond = "/*+ search */ MATCH (a)-[:R]-(b)-[:R]-(c)-[:R]-(a), (b)-[:R]-(d)-[:R]-(c) RETURN count(*)"
    triangle = "/*+ search */ MATCH (a)-[:R]-(b)-[:R]-(c)-[:R]-(a) RETURN count(*)"
    shapes = [search.shapes for text in (diamond, triangle) for search in planned(graph, text, Search)]
    assert all(len(each) == 1 and isinstance(each[0].shape, EdgeShape) for each in shapes)
    less, more = (device_search_cost(each, 1e9, None) for each in shapes)
    assert less < more / 2


def test_small_searches_stay_on_the_cpu(graph: Graph) -> None:
    plan = graph.explain("MATCH (a)-[:R]-(b) RETURN count(*)")
    assert plan.device == "cpu" and "too few to use the GPU" in plan.device_reason


def test_without_a_device_auto_says_why_and_gpu_is_refused(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "costs", lambda device, section: FREE)
    monkeypatch.setattr(device_module, "_has_driver", lambda: False)
    plan = graph.explain("MATCH (a)-[:R]-(b) RETURN count(*)")
    assert plan.device == "cpu" and plan.device_reason == "There is no CUDA driver."

    def refuse() -> None:
        raise DeviceError("There is no CUDA device.", code="NoDevice")

    monkeypatch.setattr(device_module, "device", refuse)
    with pytest.raises(DeviceError):
        graph.explain("MATCH (a)-[:R]-(b) RETURN count(*)", device="gpu")


def test_patterns_with_more_levels_than_kernels_take_run_on_the_cpu(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    hops = ", ".join(f"(v{k})-[:R]-(v{k + 1})" for k in range(64))
    large = f"MATCH {hops} RETURN count(*)"
    device, reason = chosen(graph, large, monkeypatch)
    assert (device, reason) == ("cpu", "a pattern has 65 nodes and relationships, and a GPU searches 64")
    with pytest.raises(Unsupported, match="65 nodes and relationships exceeds the 64 that a GPU searches"):
        graph.explain(large, device="gpu")
    fewer = hops.rpartition(", ")[0]
    assert chosen(graph, f"MATCH {fewer} RETURN count(*)", monkeypatch)[0] == "gpu"


@pytest.mark.parametrize("asked", ["auto", "gpu"])
def test_samples_of_patterns_with_more_levels_are_drawn_on_the_cpu(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_module, "missing", lambda: None)
    monkeypatch.setattr(device_module, "usable", lambda asked=(): (0,))
    monkeypatch.setattr(device_module, "device", lambda: None)
    assert choose_device(asked, 10**9, 64) == "gpu"
    if asked == "auto":
        assert choose_device(asked, 10**9, 65) == "cpu"
    else:
        with pytest.raises(Unsupported, match="65 nodes and relationships"):
            choose_device(asked, 10**9, 65)


def test_what_matches_nothing_says_so(graph: Graph) -> None:
    plan = graph.explain("UNWIND [1, 2] AS x RETURN x")
    assert (plan.device, plan.device_reason) == ("cpu", "no pattern of fixed length is matched")
