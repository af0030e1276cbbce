"""What else queries are given: limits and cardinalities of wrong types, nodes of another graph; where searches run."""

from __future__ import annotations

import copy
import pickle
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qengine
from qengine import Graph
from qengine.errors import ExecutionError, SemanticError, StorageError
from qengine.explain import Explanation

COUNT = "MATCH (a:A)-[:R]->(b) RETURN count(*)"


def made(*names: str) -> Graph:
    nodes = [{"id": name, "labels": "A", "properties": {"name": name, "x": float("nan")}} for name in names]
    ends = pairwise(names)
    return Graph.from_records(nodes, [{"type": "R", "start": one, "end": other} for one, other in ends])


@pytest.fixture(scope="module")
def graph() -> Graph:
    return made("Ann", "Bob", "Cid")


@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize("name", ["timeout", "memory_limit", "gpu_memory_limit", "threads"])
@pytest.mark.parametrize("value", ["3 s", float("nan"), True, [1], b"3"])
def test_limits_are_numbers(graph: Graph, device: str, name: str, value: Any) -> None:
    with pytest.raises(SemanticError, match=rf"`{name}` is a number of \w+, not "):
        graph.query(COUNT, device=device, **{name: value})
    with pytest.raises(SemanticError, match=f"`{name}`"):
        graph.estimate(COUNT, **{name: value})


@pytest.mark.parametrize("value", [Decimal(30), np.float32(30), np.int64(30), 10**400, float("inf"), None])
def test_any_number_will_do(graph: Graph, value: Any) -> None:
    assert graph.query(COUNT, timeout=value).value() == 2


@pytest.mark.parametrize("given", [5, [("(a)", 1)], {5: 1.0}, {5: 1.0, "(a)": 2}])
def test_cardinalities_are_a_mapping_from_texts(graph: Graph, given: Any) -> None:
    for ask in (graph.query, graph.explain):
        with pytest.raises(SemanticError, match="Cardinalities are a dict from patterns to numbers of rows, not "):
            ask(COUNT, cardinalities=given)


def test_cardinalities_may_be_numpy_integers_and_are_no_endless_numbers(graph: Graph) -> None:
    assert "3 rows" in str(graph.explain("MATCH (a:A) RETURN a", cardinalities={"(a:A)": np.int64(3)}))
    with pytest.raises(SemanticError, match="not a number of rows"):
        graph.explain(COUNT, cardinalities={"(a:A)": 10**400})


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_nodes_and_relationships_of_another_graph_are_refused(graph: Graph, device: str) -> None:
    more = made("Ann", "Bob", "Cid", "Dan").query("MATCH p = ()-->({name: 'Dan'}) RETURN p").value()
    others = made("Cid", "Ann", "Bob").query("MATCH p = ()-->({name: 'Bob'}) RETURN p").value()
    for path in (more, others):
        for value in (path.nodes[-1], [path.nodes[-1]], {"k": path.nodes[-1]}, path):
            with pytest.raises(ExecutionError, match=r"\$n holds a node of another graph\."):
                graph.query("MATCH (a) WHERE a = $n RETURN a", {"n": value}, device=device).fetchall()
    edge = made("a", "b", "c", "d").query("MATCH ()-[r]->({name: 'd'}) RETURN r").value()
    with pytest.raises(ExecutionError, match=r"\$n holds a relationship of another graph\."):
        graph.query("RETURN $n", {"n": edge}, device=device).fetchall()


def test_those_of_the_graph_are_not(graph: Graph, tmp_path: Path) -> None:
    path = graph.query("MATCH p = ()-->()-->() RETURN p").value()
    graph.save(tmp_path / "graph")
    for each in (graph, qengine.open(tmp_path / "graph")):
        for value in (path, path.nodes[0], path.relationships[1]):
            assert each.query("RETURN $n = $n", {"n": value}).value()


def test_eliminations_are_shown_where_they_run(graph: Graph) -> None:
    plan = graph.explain("/*+ eliminate */ MATCH (a)-[:R]->(b) RETURN count(*)")
    shown = Explanation(plan.plan, graph._store, "gpu").to_json()
    assert [shown["device"], shown["input"]["node"], shown["input"]["device"]] == ["cpu", "Eliminate", "gpu"]


def test_what_is_no_way_to_make_a_graph_names_the_ways(graph: Graph, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"qengine\.open\(path\)"):
        Graph("world")  # type: ignore[arg-type]
    with pytest.raises(StorageError, match="a pair of arrays, not a list"):
        Graph.from_edge_list([(1, 2), (2, 3)])  # type: ignore[arg-type]
    with pytest.raises(StorageError, match="row 0 is a tuple, not a mapping"):
        Graph.from_records([("Ann", 1)])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="save it"):
        pickle.dumps(graph)
    assert copy.copy(graph) is copy.deepcopy(graph) is graph
    (tmp_path / "nodes_A.csv").write_text("id\n1\n")
    with pytest.raises(StorageError, match=r"Graph\.from_csv"):
        qengine.open(tmp_path)


def test_values_of_a_result_behave_like_mappings(graph: Graph) -> None:
    node = graph.query("MATCH (n {name: 'Ann'}) RETURN n.name AS name, n").fetchone()["n"]  # type: ignore[index]
    assert "name" in node and "age" not in node and list(node) == list(node.keys())
    assert dict(node) == node.properties


def test_what_users_see_first_has_a_name(graph: Graph) -> None:
    assert repr(graph.prepare(COUNT)) == f"<Prepared columns=['count(*)'] text={COUNT!r}>"
    assert set(qengine.__all__) <= set(dir(qengine))
