"""What the next version of a graph costs, by what a commit changes: making it, then what lists and columns it has.

Run as ``python -m tests.bench.versions --nodes 1000000 --relationships 5000000``. Processor time in milliseconds, the
least and the most of some runs. The limit is what copying the bytes takes that are made anew.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa

from qengine.plan.pattern import Direction
from qengine.storage import GraphStore
from qengine.storage.assemble import NodeBlock, RelationshipBlock, assemble
from qengine.storage.states import Commit, NodeState, RelationshipState
from qengine.storage.successor import successor
from tests.bench.timing import seconds, timed


def main() -> None:
    parser = argparse.ArgumentParser(description="what the next version of a graph costs")
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--relationships", type=int, default=5_000_000)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    store = made(options.nodes, options.relationships)
    print("| commit | version, ms | its lists and columns, ms | MB made | copied in, ms |\n|---|---|---|---|---|")
    for name, commit in commits(store):
        times: list[tuple[float, float]] = []
        size = 0
        for _ in range(options.repeat):
            making, new = timed(partial(successor, store, commit))
            reading, size = timed(partial(read_all, new, store))
            times.append((making, reading))
        ranges = (f"{min(each) * 1e3:,.1f} to {max(each) * 1e3:,.1f}" for each in zip(*times, strict=True))
        copied = min(copying(size) for _ in range(options.repeat))
        print(f"| {name} | {' | '.join(ranges)} | {size / 1e6:,.1f} | {copied * 1e3:,.1f} |", flush=True)


def made(nodes: int, relationships: int) -> GraphStore:
    chance = np.random.default_rng(7)
    cut = nodes * 9 // 10
    blocks = [
        NodeBlock((label,), high - low, {"id": pa.array(range(low, high)), "name": pa.array(names(low, high))})
        for label, low, high in (("Person", 0, cut), ("Company", cut, nodes))
    ]
    ends = chance.integers(0, nodes, (2, relationships)).astype(np.uint32)
    since = pa.array(chance.integers(0, 100, relationships))
    return assemble(blocks, [RelationshipBlock("KNOWS", ends[0], ends[1], {"since": since})])


def names(low: int, high: int) -> list[str]:
    return [f"name {number}" for number in range(low, high)]


def commits(store: GraphStore) -> Iterator[tuple[str, Commit]]:
    chance = np.random.default_rng(3)
    next_node, next_edge = store.next_node, store.next_relationship

    def some(count: int) -> list[int]:
        return chance.choice(store.vertex_count, count, replace=False).tolist()

    def states(count: int, change: Callable[[NodeState], NodeState]) -> Commit:
        found = [node for node in store.nodes(some(count)) if node is not None]
        nodes = {node.id: change(NodeState(node.labels, dict(node.properties))) for node in found}
        return Commit(nodes, {}, next_node, next_edge)

    def active(node: NodeState) -> NodeState:
        return NodeState((*node.labels, "Active"), node.properties)

    yield "an integer", states(1, lambda node: NodeState(node.labels, {**node.properties, "id": -1}))
    yield "a string", states(1, lambda node: NodeState(node.labels, {**node.properties, "name": "new"}))
    fresh = {next_node + place: NodeState(("Person",), {"id": place, "name": "new"}) for place in range(100)}
    yield "100 new nodes", Commit(dict(fresh), {}, next_node + 100, next_edge)
    pairs = zip(some(100), some(100), strict=True)
    edges = {next_edge + i: RelationshipState("KNOWS", *pair, {"since": 3}) for i, pair in enumerate(pairs)}
    yield "100 new relationships", Commit({}, dict(edges), next_node, next_edge + 100)
    gone = chance.choice(store.relationship_count, 100, replace=False).tolist()
    yield "100 deleted relationships", Commit({}, dict.fromkeys(gone), next_node, next_edge)
    nodes = some(100)
    ends = np.stack(store.endpoints(np.arange(store.relationship_count)))
    touching = np.flatnonzero(np.isin(ends, nodes).any(axis=0)).tolist()
    yield "100 deleted nodes", Commit(dict.fromkeys(nodes), dict.fromkeys(touching), next_node, next_edge)
    yield "a label of one node", states(1, active)
    yield "a label of 100 nodes", states(100, active)
    yield "a label of a tenth of the nodes", states(store.vertex_count // 10, active)


def read_all(new: GraphStore, old: GraphStore) -> int:
    """Read all lists and columns of a version; return the bytes of those that the version before doesn't have."""
    size = 0
    for kind in new.types:
        for way in (Direction.OUT, Direction.IN):
            lists = new.adjacency(kind.index, way)
            if lists is not old.adjacency(kind.index, way):
                size += sum(
                    each.nbytes for each in (lists.neighbours, lists.offsets, lists.edge_ids) if each is not None
                )
    columns = [(new.node_property(key), old.node_property(key)) for key in new.property_keys("node")]
    columns += [
        (new.relationship_property(0, key), old.relationship_property(0, key))
        for key in new.property_keys("relationship")
    ]
    return size + sum(one.array.nbytes for one, other in columns if one is not None and one is not other)


def copying(size: int) -> float:
    """Return the seconds that it takes to copy so many bytes to fresh memory."""
    given = np.ones(size, np.uint8)
    return seconds(given.copy)


if __name__ == "__main__":
    main()
