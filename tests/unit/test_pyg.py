"""PyTorch Geometric itself: results and samples are its data, and a network learns from them."""

from __future__ import annotations

import numpy as np
import pytest

import qengine
from qengine import Graph
from qengine.learning import NeighbourSampler

torch = pytest.importorskip("torch", reason="needs PyTorch")
pytest.importorskip("torch_geometric", reason="needs PyTorch Geometric")
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*jit.*"),
    pytest.mark.parametrize(
        "device",
        ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU"))],
    ),
]


@pytest.fixture(scope="module")
def world() -> Graph:
    return qengine.example()


def test_a_result_is_valid_heterogeneous_data_and_comes_back(world: Graph, device: str) -> None:
    text = "MATCH (a:Country)-[b:borders]->(c:Country), (a)-[p:part_of]->(k) RETURN a, b, c, p, k"
    data = world.query(text).to_pyg().to(device)
    assert data.validate() and set(data.edge_types) == {
        ("Country", "borders", "Country"),
        ("Country", "part_of", "Continent"),
    }
    assert (
        data["Country"].node_id.dtype == torch.int64
        and data["Country", "borders", "Country"].edge_index.is_contiguous()
    )
    back = Graph.from_pyg(data.cpu(), key=None)
    for name, count in (("borders", "b"), ("part_of", "p")):
        wanted = world.query(f"CALL {{ {text} }} RETURN count(DISTINCT {count}) AS n").value()
        assert back.query(f"MATCH ()-[r:{name}]->() RETURN count(r)").value() == wanted


def test_properties_become_tensors_of_their_types(device: str) -> None:
    graph = Graph()
    graph.query(
        "CREATE (:A {i: 1, f: 0.5, t: true, v: [1.0, 2.0]})-[:R {w: 2}]->(:A {i: 2, f: 1.5, t: false, v: [3.0, 4.0]})"
    )
    data = graph.query("MATCH (a)-[r]->(b) RETURN a, r, b").to_pyg().to(device)
    kinds = {key: data["A"][key].dtype for key in ("i", "f", "t", "v")}
    assert kinds == {"i": torch.int64, "f": torch.float32, "t": torch.bool, "v": torch.float32}
    assert data["A"].v.shape == (2, 2) and data["A", "R", "A"].w.tolist() == [2]


def test_a_network_learns_from_sampled_batches(world: Graph, device: str) -> None:
    from torch_geometric.data import Data
    from torch_geometric.nn import SAGEConv

    table = world.query("MATCH (c:Country)-[:part_of]->(k:Continent) RETURN id(c) AS id, k.name AS of").to_pandas()
    labels = np.full(world.node_count, -1)
    labels[table.id] = table["of"].astype("category").cat.codes
    sampler = NeighbourSampler(world, "MATCH (n:Country)-[:borders]-(m:Country)", fanout=(8, 4), seed=3)

    class Network(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.features = torch.nn.Embedding(world.node_count, 16)
            self.first, self.second = SAGEConv(16, 16), SAGEConv(16, int(labels.max()) + 1)

        def forward(self, data: Data) -> torch.Tensor:
            hidden = self.first(self.features(data.node), data.edge_index).relu()
            return self.second(hidden, data.edge_index)

    torch.manual_seed(1)
    network = Network().to(device)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.02)
    losses = []
    for epoch in range(8):
        total = 0.0
        for batch in sampler.batches(table.id.to_numpy(), size=64, epoch=epoch):
            data = Data(edge_index=torch.from_numpy(batch.edges), node=torch.from_numpy(batch.nodes)).to(device)
            data.num_nodes = len(batch.nodes)
            assert data.validate() and int(data.edge_index.max()) < data.num_nodes
            wanted = torch.from_numpy(labels[batch.nodes[: batch.seeds]]).long().to(device)
            loss = torch.nn.functional.cross_entropy(network(data)[: batch.seeds], wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * batch.seeds
        losses.append(total / len(table))
    assert losses[-1] < losses[0] / 2
