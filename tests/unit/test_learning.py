"""Sampled neighbourhoods: real neighbours, as many as asked for, the same for a seed."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import qengine
from qengine import Graph
from qengine.learning import NeighbourSampler

PATTERN = "MATCH (n:Country)-[:borders]-(m)"


@pytest.fixture(scope="module")
def world() -> Graph:
    return qengine.example()


def test_samples_are_neighbours_and_no_more_than_asked_for(world: Graph) -> None:
    true = set(map(tuple, world.query(f"{PATTERN} RETURN id(m), id(n)")))
    seeds = [row[0] for row in world.query("MATCH (n:Country) RETURN id(n) ORDER BY n.name LIMIT 20")]
    batch = NeighbourSampler(world, PATTERN, (3, 2), seed=5).sample([*seeds, seeds[0]])
    assert batch.seeds == 20 and batch.nodes[:20].tolist() == seeds and len(set(batch.nodes)) == len(batch.nodes)
    pairs = [tuple(pair) for pair in batch.nodes[batch.edges].T.tolist()]
    assert set(pairs) <= true and len(set(pairs)) == len(pairs)
    degrees = Counter(end for _, end in true)
    taken = Counter(end for _, end in pairs)
    assert all(taken[seed] == min(3, degrees[seed]) for seed in seeds)
    assert all(taken[node] <= 2 for node in batch.nodes[20:].tolist())


def test_large_fanouts_take_all(world: Graph) -> None:
    (start,) = [row[0] for row in world.query("MATCH (n:Country {id: 'PT'}) RETURN id(n)")]
    batch = NeighbourSampler(world, PATTERN, (100, 100)).sample([start])
    two = world.query("MATCH (n:Country {id: 'PT'})-[:borders*0..2]-(m) RETURN count(DISTINCT m)").value()
    assert len(batch.nodes) == two


def test_each_neighbour_is_as_likely_and_a_seed_repeats(world: Graph) -> None:
    (start,) = [row[0] for row in world.query("MATCH (n:Country {id: 'CH'}) RETURN id(n)")]
    sampler = NeighbourSampler(world, PATTERN, (2,), seed=1)
    drawn = Counter(int(node) for number in range(600) for node in sampler.sample([start], number).nodes[1:])
    assert len(drawn) == 5 and all(abs(count - 240) < 60 for count in drawn.values())
    again = NeighbourSampler(world, PATTERN, (2,), seed=1)
    assert (again.sample([start], 7).edges == sampler.sample([start], 7).edges).all()


def test_most_of_many_neighbours_are_each_as_likely() -> None:
    """Where comparing picks would take longer than reading the list."""
    star = Graph.from_edge_list((np.zeros(100, np.int64), np.arange(1, 101)))
    (start,) = star.query("MATCH (n)-->() RETURN DISTINCT id(n)").fetchone()
    sampler = NeighbourSampler(star, "MATCH (n)-->(m)", (60,), seed=2)
    batches = [sampler.sample([start], number) for number in range(400)]
    assert all(len(batch.nodes) == 61 and batch.edges.shape == (2, 60) for batch in batches)
    drawn = Counter(int(node) for batch in batches for node in batch.nodes[1:])
    assert len(drawn) == 100 and all(abs(count - 240) < 50 for count in drawn.values())


def test_with_replacement_neighbours_repeat(world: Graph) -> None:
    rows = world.query(f"MATCH (n:Country) RETURN id(n), COUNT {{ {PATTERN} }}".replace("MATCH (n:Country)-", "(n)-"))
    degrees = dict(map(tuple, rows))
    batch = NeighbourSampler(world, PATTERN, (4,), replace=True).sample([*degrees])
    true = set(map(tuple, world.query(f"{PATTERN} RETURN id(m), id(n)")))
    pairs = [tuple(pair) for pair in batch.nodes[batch.edges].T.tolist()]
    taken = Counter(end for _, end in pairs)
    assert set(pairs) <= true and len(set(pairs)) < len(pairs) and 0 in degrees.values()
    assert all(taken[node] == (4 if degree else 0) for node, degree in degrees.items())


def test_batches_hold_each_seed_once(world: Graph) -> None:
    seeds = np.array([row[0] for row in world.query("MATCH (n:Country) RETURN id(n)")])
    sampler = NeighbourSampler(world, PATTERN, (2,))
    found = [int(node) for batch in sampler.batches(seeds, 50) for node in batch.nodes[: batch.seeds]]
    assert sorted(found) == sorted(seeds.tolist())
    first = [int(batch.nodes[0]) for batch in sampler.batches(seeds, 50, epoch=1)]
    assert first != [int(batch.nodes[0]) for batch in sampler.batches(seeds, 50, epoch=2)]


def test_patterns_may_be_any_and_fanouts_are_checked(world: Graph) -> None:
    pattern = "MATCH (n:Country)<-[:flows_through]-(:River)-[:flows_through]->(m) WHERE m <> n AND m.population > $p"
    assert NeighbourSampler(world, pattern, (4,), params={"p": 10**7}).sample([0]).seeds == 1
    with pytest.raises(ValueError, match="at least 1"):
        NeighbourSampler(world, PATTERN, (0,))
