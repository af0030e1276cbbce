"""Versions of graphs so large that kernels share the work among threads, and what of a version is made when."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from qengine.errors import InternalError
from qengine.plan.pattern import Direction
from qengine.storage.adjacency import Form
from qengine.storage.assemble import NodeBlock, RelationshipBlock, assemble
from qengine.storage.states import Commit, NodeState, RelationshipState
from qengine.storage.successor import successor

NODES, EDGES = 12_000, 80_000


def graph(*, keyed: bool, undirected: bool):
    """A graph with a hub, relationships that are parallel, and loops; ``keyed``: they have a property."""
    chance = np.random.default_rng(5)
    starts = chance.integers(0, NODES, EDGES).astype(np.uint32)
    ends = (NODES * chance.random(EDGES) ** 2).astype(np.uint32)
    starts[:3_000], ends[:10], starts[3_000:3_005] = 7, 7, ends[3_000:3_005]
    if not keyed:
        pairs = np.stack((starts, ends), axis=1)
        pairs = np.unique(np.sort(pairs, axis=1) if undirected else pairs, axis=0)
        starts, ends = (np.ascontiguousarray(each) for each in pairs.T)
    cut = NODES // 2
    nodes = [NodeBlock(("A",), cut, {"k": pa.array(range(cut))}), NodeBlock(("B",), NODES - cut, {})]
    columns = {"w": pa.array(np.arange(len(starts)))} if keyed else {}
    return assemble(nodes, [RelationshipBlock("R", starts, ends, columns)], ["R"] if undirected else [])


class Model:
    """A graph of one type as arrays by number."""

    def __init__(self, store) -> None:
        count = store.relationship_count
        self.ends = dict(enumerate(np.stack(store.endpoints(np.arange(count)), axis=1).tolist()))
        self.labels = {number: store.labels_of(number) for number in range(store.vertex_count)}
        self.weights = dict(enumerate(self.of(store, "relationship", np.arange(count))))

    @staticmethod
    def of(store, entity, ids):
        column = store.relationship_property(0, "w") if entity == "relationship" else store.node_property("k")
        return [None] * len(ids) if column is None else column.values(ids)

    def commit(self, store, chance, *, joins=0, cuts=0, deletes=0, labels=0):
        """Change so many elements; return the commit."""
        nodes, edges = {}, {}
        numbers = np.array(list(self.labels))
        for number in chance.choice(numbers, labels, replace=False).tolist():
            keys = self.of(store, "node", store.node_numbers.places([number]))[0]
            self.labels[number] = (*self.labels[number], "Z")
            nodes[number] = NodeState(self.labels[number], {} if keys is None else {"k": keys})
        gone = set(chance.choice(numbers, deletes, replace=False).tolist())
        edges |= {number: None for number, ends in self.ends.items() if gone.intersection(ends)}
        edges |= dict.fromkeys(chance.choice(list(self.ends), cuts, replace=False).tolist())
        for number in edges:
            del self.ends[number]
        for number in gone:
            del self.labels[number]
            nodes[number] = None
        next_edge = store.next_relationship
        keyed = bool(store.property_keys("relationship"))
        for start, end in chance.choice(list(self.labels), (joins, 2)).tolist():
            weight = -next_edge if keyed else None
            self.ends[next_edge], self.weights[next_edge] = [start, end], weight
            edges[next_edge] = RelationshipState("R", start, end, {"w": weight} if keyed else {})
            next_edge += 1
        return Commit(nodes, edges, store.next_node, next_edge)

    def check(self, store) -> None:
        """Compare a version's lists, numbers, labels and properties."""
        ids = np.arange(store.relationship_count)
        numbers = store.relationship_numbers.of(ids)
        starts, ends = (store.node_numbers.of(each) for each in store.endpoints(ids))
        assert sorted(numbers.tolist()) == sorted(self.ends)
        assert [self.ends[number] for number in numbers.tolist()] == np.stack((starts, ends), axis=1).tolist()
        assert self.of(store, "relationship", ids) == [self.weights[number] for number in numbers.tolist()]
        nodes = store.node_numbers.of(np.arange(store.vertex_count)).tolist()
        assert [set(store.labels_of(id)) for id in range(len(nodes))] == [set(self.labels[number]) for number in nodes]
        kind = store.types[0]
        out = store.adjacency(0, Direction.OUT)
        back = store.adjacency(0, Direction.BOTH if kind.undirected else Direction.IN)
        assert ordered(out) and ordered(back)
        pairs = np.stack(store.endpoints(ids), axis=1)[:, ::-1]
        if kind.undirected:
            loops = pairs[:, 0] == pairs[:, 1]
            pairs = np.concatenate((pairs, pairs[~loops][:, ::-1]))
            ids = np.concatenate((ids, ids[~loops]))
        places = np.arange(len(back))
        found = np.stack((back.owners(places), back.neighbours), axis=1)
        if back.edge_ids is not None:
            pairs, found = np.column_stack((pairs, ids)), np.column_stack((found, back.edge_ids))
        assert np.array_equal(in_order(pairs), in_order(found))
        owners = out.owners(np.arange(len(out)))
        assert kind.loops == bool((owners == out.neighbours).any())
        ways = np.sort(pairs[:, :2], axis=1) if kind.undirected else pairs[:, :2]
        assert kind.parallel == (different(ways) < different(np.column_stack((ways, ids))))


def in_order(rows):
    return rows[np.lexsort(rows.T[::-1])]


def different(rows):
    rows = in_order(rows)
    return 1 + int((rows[1:] != rows[:-1]).any(axis=1).sum())


def ordered(lists):
    own = lists.owners(np.arange(len(lists)))
    same = own[1:] == own[:-1]
    return bool((lists.neighbours[1:][same] >= lists.neighbours[:-1][same]).all())


COMMITS = [
    {"joins": 100},
    {"cuts": 100},
    {"deletes": 20, "joins": 10},
    {"labels": 100, "cuts": 10},
    {"labels": 3, "joins": 5},
    {"labels": 2_000, "deletes": 100, "joins": 500, "cuts": 500},
    {"joins": 20_000},
]


@pytest.mark.parametrize(
    ("keyed", "undirected"),
    [
        *((True, False), (False, True)),
        *(pytest.param(*each, marks=pytest.mark.nets) for each in ((False, False), (True, True))),
    ],
)
def test_large_versions_are_what_the_model_says(keyed, undirected):
    store = graph(keyed=keyed, undirected=undirected)
    model, chance = Model(store), np.random.default_rng(11)
    for place, change in enumerate(COMMITS):
        store = successor(store, model.commit(store, chance, **change))
        if place % 2 == 0:
            model.check(store)


def made(lists):
    return {name for name in ("neighbours", "offsets", "edge_ids") if vars(lists).get(name) is not None}


def test_a_version_makes_what_is_read():
    store = graph(keyed=True, undirected=False)
    model, chance = Model(store), np.random.default_rng(2)
    new = successor(store, model.commit(store, chance, deletes=5))
    out, into = (new.adjacency(0, way) for way in (Direction.OUT, Direction.IN))
    assert made(out) == made(into) == set()
    assert out.locate(0) is not None
    assert (made(out), made(into)) == ({"offsets"}, set())
    assert (out.form, out.has_ids, into.has_ids) == (Form.DENSE, False, True)
    assert made(out) == {"offsets"}
    assert "array" not in vars(new.relationship_property(0, "w"))
    nbytes = new.relationship_property(0, "w").nbytes
    assert new.relationship_property(0, "w").array.nbytes == pytest.approx(nbytes, rel=0.01)


def test_few_labels_move_no_ids():
    store = graph(keyed=True, undirected=False)
    model, chance = Model(store), np.random.default_rng(2)
    new = successor(store, model.commit(store, chance, labels=4))
    assert new.adjacency(0, Direction.OUT) is store.adjacency(0, Direction.OUT)
    assert new.node_property("k") is store.node_property("k")
    model.check(new)


@pytest.mark.parametrize("labels", [0, 5_000])
def test_a_deleted_node_has_no_relationships(labels):
    store = graph(keyed=True, undirected=False)
    model, chance = Model(store), np.random.default_rng(2)
    commit = model.commit(store, chance, labels=labels)
    start = int(store.node_numbers.of(store.adjacency(0, Direction.OUT).owners([0]))[0])
    with pytest.raises(InternalError):
        successor(store, Commit({**commit.nodes, start: None}, {}, store.next_node, store.next_relationship))
