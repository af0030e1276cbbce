"""Graphs of other libraries come in, and results become such; libraries that are absent are named."""

from __future__ import annotations

import sys
from datetime import date
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from qengine import Graph, StorageError, Unsupported

GRAPH = Graph.from_records(
    [
        {"id": 0, "labels": ["A", "B"], "properties": {"k": 0, "s": "x"}},
        {"id": 1, "labels": ["A"], "properties": {"k": 1, "l": [1, 2]}},
        {"id": 2, "properties": {"k": 2}},
    ],
    [
        {"type": "R", "start": 0, "end": 1, "properties": {"w": 2}},
        {"type": "R", "start": 0, "end": 1, "properties": {"w": 3}},
        {"type": "S", "start": 1, "end": 1},
    ],
)
ALL = "MATCH (n) OPTIONAL MATCH (n)-[r]->() WITH n, collect(r) AS rs RETURN {n: n, r: rs} AS x"


def rows(graph: Graph, text: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in graph.query(text)]


def content(graph: Graph) -> Any:
    nodes = rows(graph, "MATCH (n) RETURN labels(n), properties(n) ORDER BY n.k")
    return nodes, rows(graph, "MATCH (a)-[r]->(b) RETURN a.k, type(r), properties(r), b.k ORDER BY a.k, r.w")


@pytest.mark.parametrize("library", ["networkx", "igraph", "rustworkx"])
def test_results_go_out_and_come_in_again(library: str) -> None:
    pytest.importorskip(library)
    made = getattr(GRAPH.query(ALL), f"to_{library}")()
    back = getattr(Graph, f"from_{library}")(made, key=None if library == "networkx" else "number")
    back.query("MATCH (n) REMOVE n.number, n.id").close()
    assert content(back) == content(GRAPH)


def test_ends_that_no_row_holds_come_without_properties() -> None:
    pytest.importorskip("networkx")
    made = GRAPH.query("MATCH p = (a {k: 0})-[r {w: 2}]->() RETURN r, a").to_networkx()
    assert sorted(data.get("k", -1) for _, data in made.nodes(data=True)) == [-1, 0]
    assert [data for *_, data in made.edges(data=True)] == [{"w": 2, "type": "R"}]
    assert len(GRAPH.query("MATCH p = (:B)-->() RETURN p").to_networkx().edges) == 2


def test_rows_without_nodes_and_relationships_are_told(caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("networkx")
    for text, told in (("RETURN 1 AS x", 1), ("MATCH (n) RETURN n", 0), ("UNWIND [] AS x RETURN x", 0)):
        caplog.clear()
        assert len(Graph().query(text).to_networkx()) == 0
        assert caplog.text.count("The rows hold no nodes or relationships. Return them") == told


def test_networkx_graphs_have_keys_labels_and_directions() -> None:
    networkx = pytest.importorskip("networkx")
    given = networkx.Graph()
    given.add_node("a", kind="x", labels=["P", "Q"])
    given.add_edge("a", 5, type="KNOWS", w=1.5)
    graph = Graph.from_networkx(given, label="N")
    assert rows(graph, "MATCH (n) RETURN labels(n), n.id, n.kind ORDER BY n.kind") == [
        (["P", "Q"], "a", "x"), (["N"], 5, None),
    ]  # fmt: skip
    assert rows(graph, "MATCH (a)<-[r:KNOWS]-(b {id: 'a'}) RETURN a.id, r.w") == [(5, 1.5)]
    assert graph._store.undirected_types == {"KNOWS"}
    assert rows(Graph.from_networkx(given, types=None, key="name"), "MATCH (n)-[r:E]-() RETURN n.name, r.type") != []


def test_networkx_keys_of_all_kinds_are_kept_or_told(caplog: pytest.LogCaptureFixture) -> None:
    networkx = pytest.importorskip("networkx")
    kept = {(0, 1): [0, 1], ("a", (1, 2)): ["a", [1, 2]], 1.5: 1.5, "b": "b", date(2020, 1, 2): date(2020, 1, 2)}
    given = networkx.Graph()
    given.add_nodes_from(kept)
    found = rows(Graph.from_networkx(given), "MATCH (n) RETURN n.id ORDER BY id(n)")
    assert found == [(each,) for each in kept.values()] and not caplog.text
    given.add_edge(frozenset((1,)), (0, object()))
    for options, told in (({}, 1), ({"key": None}, 0)):
        caplog.clear()
        assert len(rows(Graph.from_networkx(given, **options), "MATCH (n) RETURN n.id")) == len(kept) + 2
        assert caplog.text.count("Some nodes' keys (2, such as frozenset({1})) can't be properties") == told


def test_rustworkx_payloads_of_any_kind_are_properties() -> None:
    rustworkx = pytest.importorskip("rustworkx")
    given = rustworkx.PyGraph()
    given.add_nodes_from(["a", None, {"x": 1}])
    given.add_edges_from([(0, 1, 2.5), (1, 2, None)])
    graph = Graph.from_rustworkx(given)
    assert rows(graph, "MATCH (n) RETURN n.id, n.value, n.x ORDER BY n.id") == [
        (0, "a", None),
        (1, None, None),
        (2, None, 1),
    ]
    assert rows(graph, "MATCH (a {id: 0})-[r]-(b) RETURN r.weight, b.id") == [(2.5, 1)]


def test_sparse_matrices() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    matrix, ids = GRAPH.query("MATCH ()-[r]->() RETURN r").to_scipy()
    assert matrix.shape == (2, 2) and matrix.sum() == 3 and ids.dtype == np.int64
    weighted, _ = GRAPH.query("MATCH ()-[r:R]->() RETURN r").to_scipy("w")
    assert weighted.sum() == 5.0
    with pytest.raises(Unsupported, match="no number"):
        GRAPH.query("MATCH ()-[r]->() RETURN r").to_scipy("w")
    graph = Graph.from_scipy(sparse.csr_array([[0, 2.5, 0], [0, 0, 1], [0, 0, 0]]), label="N", type="T")
    assert rows(graph, "MATCH (a:N)-[r:T]->(b) RETURN a.id, r.weight, b.id ORDER BY a.id") == [(0, 2.5, 1), (1, 1.0, 2)]
    both = Graph.from_scipy(sparse.coo_array([[1, 1], [1, 0]]), undirected=True, weight=None)
    assert both.relationship_count == 2 and rows(both, "MATCH (a {id: 1})-[r]->(b) RETURN b.id, keys(r)") == [(0, [])]
    with pytest.raises(StorageError, match="is no graph's"):
        Graph.from_scipy(sparse.coo_array([[1, 1]]))


def test_edge_indices() -> None:
    index = np.array([[0, 1], [1, 2]])
    graph = Graph.from_edge_index(index, {"x": np.eye(3)}, properties={"w": [1.5, 2.5]}, type="T", label="N")
    assert rows(graph, "MATCH (a:N)-[r:T]->(b) RETURN a.x, r.w, b.id ORDER BY r.w") == [
        ([1.0, 0.0, 0.0], 1.5, 1), ([0.0, 1.0, 0.0], 2.5, 2),
    ]  # fmt: skip
    assert Graph.from_edge_index(index, 9).node_count == 9
    assert Graph.from_edge_index(np.empty((2, 0), np.int64)).node_count == 0
    for wrong, nodes, message in (
        (index.T[:1], None, "has no two rows of integers"),
        (index * 0.5, None, "has no two rows of integers"),
        (index, 2, "which is no node's"),
        (index, {"x": [1, 2]}, "which is no node's"),
        (index, {"x": [1, 2], "y": [1, 2, 3]}, "there are 2 values for 3 nodes"),
    ):
        with pytest.raises(StorageError, match=message):
            Graph.from_edge_index(wrong, nodes)


class Tensor:
    """As much of a tensor of PyTorch as is asked for."""

    def __init__(self, values: Any, dtype: Any = None) -> None:
        self.values = np.asarray(values)

    def __len__(self) -> int:
        return len(self.values)

    def detach(self) -> Tensor:
        return self

    def cpu(self) -> Tensor:
        return self

    def numpy(self) -> Any:
        return self.values


class Store(dict[str, Any]):
    """A store of ``HeteroData``: attributes that are entries."""

    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__


class HeteroData(dict[Any, Store]):
    """As much of PyTorch Geometric's data as is asked for."""

    def __missing__(self, key: Any) -> Store:
        return self.setdefault(key, Store())

    @property
    def node_types(self) -> list[str]:
        return [key for key in self if isinstance(key, str)]

    @property
    def edge_types(self) -> list[tuple[str, str, str]]:
        return [key for key in self if isinstance(key, tuple)]


def test_pyg_data_go_out_and_come_in(monkeypatch: pytest.MonkeyPatch) -> None:
    data, torch = ModuleType("torch_geometric.data"), ModuleType("torch")
    data.HeteroData, torch.tensor, torch.long = HeteroData, Tensor, int  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch_geometric", ModuleType("torch_geometric"))
    monkeypatch.setitem(sys.modules, "torch_geometric.data", data)
    monkeypatch.setitem(sys.modules, "torch", torch)
    made = GRAPH.query(ALL).to_pyg()
    assert made.node_types == ["A:B", "A", "node"] and len(made.edge_types) == 2
    assert made["A:B", "R", "A"]["w"].values.tolist() in ([2, 3], [3, 2])
    back = Graph.from_pyg(made, key=None)
    assert rows(back, "MATCH (a:`A:B`)-[r:R]->(b:A) RETURN a.k, r.w, b.k, b.l ORDER BY r.w") == [
        (0, 2, 1, [1, 2]), (0, 3, 1, [1, 2]),
    ]  # fmt: skip


def test_pyg_data_of_one_type_come_in() -> None:
    given = {
        "x": Tensor(np.eye(2)),
        "y": Tensor([3, 4]),
        "edge_index": Tensor([[0], [1]]),
        "edge_attr": Tensor([[0.5]]),
    }
    graph = Graph.from_pyg(SimpleNamespace(**given, num_nodes=2, items=given.items), label="N", type="T")
    assert rows(graph, "MATCH (a:N)-[r:T]->(b) RETURN a.x, a.y, r.edge_attr, b.id") == [([1.0, 0.0], 3, [0.5], 1)]


@pytest.mark.parametrize("library", ["networkx", "igraph", "rustworkx", "scipy.sparse", "torch_geometric.data"])
def test_libraries_that_are_absent_are_named(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    method = {"scipy.sparse": "to_scipy", "torch_geometric.data": "to_pyg"}.get(library, f"to_{library}")
    with pytest.raises(Unsupported, match="is not installed") as raised:
        getattr(GRAPH.query("MATCH (n) RETURN n"), method)()
    assert "The extra graphs" in str(raised.value.hint)


@pytest.mark.parametrize("library", ["networkx", "igraph", "rustworkx", "scipy", "pyg"])
def test_other_objects_are_refused(library: str) -> None:
    with pytest.raises(StorageError, match="A dict is no "):
        getattr(Graph, f"from_{library}")({})
