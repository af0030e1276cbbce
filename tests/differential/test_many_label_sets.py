"""Nodes whose labels make hundreds of sets: the ids of a label are as many ranges."""

from __future__ import annotations

import random

import pytest

from qengine import Graph, QengineError
from qengine.plan.pattern import LabelIs
from qengine.storage.arrays import MANY_RANGES

NODES, LABELS = 400, 12
QUERIES = (
    "MATCH (a:L1) RETURN count(*)",
    "MATCH (a:L1 {x: 3}) RETURN a.k AS k",
    "MATCH (a:L1&L2|L3) WHERE a.x < 4 RETURN count(*)",
    "MATCH (a:!L1) WHERE a.x IN [1, 2] RETURN a.k AS k",
    "MATCH (a:L1)-->(b:L2) RETURN count(*)",
    "MATCH (a:L1)-[:T1]->(b:L2) WHERE b.x = 2 RETURN a.k AS a, b.k AS b",
    "MATCH (a:L1)-->(b:L2)-->(c:L3) RETURN count(*)",
    "MATCH (a:L1)-->(b:L2)-->(c)-->(a) RETURN a.k AS a, b.k AS b, c.k AS c",
    "MATCH (a:L1)--(b:L2), (b)--(c:!L3) WHERE a.x < c.x RETURN count(*)",
    "MATCH (a:L1)-[:T0*1..2]->(b:L5) WHERE a.x = 3 RETURN count(*)",
    "MATCH (a:L4) WHERE NOT EXISTS { (a)-->(:L5) } RETURN count(*)",
    "MATCH (a:L1)-->(b:L2) RETURN b.x AS x, count(*) AS n",
    "MATCH (a:L1) OPTIONAL MATCH (a)-[:T2]->(b:L6 {x: 1}) RETURN a.k AS a, b.k AS b",
    "MATCH (a:L1) WHERE 6 / a.safe > 1 RETURN count(*)",  # fails for nodes of other labels alone
    "MATCH (b)-->(a:L1) WHERE 6 / a.safe > 1 RETURN count(*)",
    "MATCH (a:L2) WHERE 6 / a.safe > 1 RETURN count(*)",
    "MATCH (a:L1)-->(b:L2) WHERE id(a) < 50 RETURN a.k AS a, labels(b)[0] IN labels(a) AS l",
)


def graph(seed: int) -> Graph:
    choice = random.Random(seed)
    names = [f"L{k}" for k in range(LABELS)]
    nodes = []
    for k in range(NODES):
        labels = choice.sample(names, choice.randint(1, 7))
        properties = {"k": k, "x": choice.randrange(7), "safe": choice.randint(1, 6) if "L1" in labels else 0}
        nodes.append({"id": k, "labels": labels, "properties": properties})
    ends = ((choice.randrange(NODES), choice.randrange(NODES)) for _ in range(4 * NODES))
    return Graph.from_records(
        nodes, [{"type": f"T{choice.randrange(3)}", "start": start, "end": end} for start, end in ends]
    )


def answer(given: Graph, text: str, device: str) -> object:
    try:
        return sorted(given.query(text, device=device).fetchall(), key=repr)
    except QengineError as error:
        return error.code


@pytest.fixture(scope="module")
def many() -> Graph:
    made = graph(1)
    assert len(made._store.label_ranges(LabelIs("L1"))) > MANY_RANGES
    return made


@pytest.mark.parametrize("text", QUERIES)
def test_labels_of_many_sets(many: Graph, text: str) -> None:
    assert answer(many, text, "cpu") == answer(many, text, "reference")


def test_what_is_known_follows_changes() -> None:
    changed = graph(2)
    for text in (
        "MATCH (a:L1) WHERE a.x = 1 SET a:L9",
        "MATCH (a:L2) WHERE a.x = 2 REMOVE a:L2",
        "MATCH (a:L3)-->(b:L4) WHERE a.x = 3 CREATE (a)-[:T1]->(:L5:L6 {x: 1})",
        "MATCH (a:L7) WHERE a.x = 4 DETACH DELETE a",
    ):
        changed.query(text)
        for query in QUERIES[::3]:
            assert answer(changed, query, "cpu") == answer(changed, query, "reference")


def test_statistics_of_many_label_sets(many: Graph) -> None:
    store = many._store
    labels = [frozenset(store.labels_of(vertex)) for vertex in range(store.vertex_count)]
    edges = store.relationships(range(store.relationship_count))
    ends = [(edge.start, edge.end) for edge in edges if edge is not None and edge.type == "T1"]
    for source, target in (("L1", "L2"), ("L3", None), (None, "L4")):
        found = store.edge_statistics(source, "T1", target)
        pairs = [
            (start, end)
            for start, end in ends
            if (source is None or source in labels[start]) and (target is None or target in labels[end])
        ]
        assert (found.edges, found.sources, found.targets) == (
            len(pairs),
            *(len(set(e)) for e in zip(*pairs, strict=True)),
        )
    groups = {group.labels: place for place, group in enumerate(store.groups)}
    expected: dict[tuple[int, int], int] = {}
    for start, end in ends:
        pair = groups[labels[start]], groups[labels[end]]
        expected[pair] = expected.get(pair, 0) + 1
    index = store.type_index("T1")
    assert index is not None
    assert {pair: found.edges for pair, found in store.statistics.pairs(index).items()} == expected
