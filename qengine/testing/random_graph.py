"""Small random property graphs for differential tests: everything that the graph model allows, in a few elements."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from qengine.storage import GraphStore, from_records

_LABELS = ("A", "B", "C")
_TYPES = ("R", "S", "U")
_STRINGS = ("", "a", "ab", "b", "Ab", "ä")


@dataclass(frozen=True)
class RandomGraph:
    """A graph as ``from_records`` takes it.

    Every node has a ``k`` of its own and so has every relationship. Other properties, each often absent: ``i``
    (integer), ``f`` (float with a fraction, so that sums are exact and none equals an integer), ``s`` (string), ``b``
    (boolean), ``m`` (of mixed types), ``l`` (list of integers); of relationships ``k``, ``i``, ``s``.
    """

    nodes: tuple[Mapping[str, Any], ...]
    relationships: tuple[Mapping[str, Any], ...]
    undirected: tuple[str, ...]

    def store(self) -> GraphStore:
        """Return the graph as a store."""
        return from_records(self.nodes, self.relationships, undirected=self.undirected)

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels that nodes have."""
        return tuple(sorted({label for node in self.nodes for label in node["labels"]}))

    @property
    def types(self) -> tuple[str, ...]:
        """Types that relationships have."""
        return tuple(sorted({edge["type"] for edge in self.relationships}))


def random_graph(seed: int | str, *, most_nodes: int = 7, most_relationships: int = 12) -> RandomGraph:
    """Return a random graph, the same for the same seed.

    Some graphs have parallel relationships and self-loops, others neither (executors may then take other ways); some
    types are undirected; some graphs are empty.
    """
    chance = random.Random(f"graph {seed}")
    labels = chance.choice([(), _LABELS[:1], _LABELS[:2], _LABELS, _LABELS])
    types = chance.choice([_TYPES[:1], _TYPES[:1], _TYPES[:2], _TYPES[2:], _TYPES])
    undirected = [name for name in types if chance.random() < (0.7 if name == "U" else 0.1)]
    count = 0 if chance.random() < 0.02 else chance.randint(min(3, most_nodes), most_nodes)
    nodes = tuple(
        {
            "id": index,
            "labels": tuple(label for label in labels if chance.random() < 0.5),
            "properties": {"k": index, **_node_properties(chance)},
        }
        for index in range(count)
    )
    return RandomGraph(nodes, _relationships(chance, count, types, undirected, most_relationships), tuple(undirected))


def _relationships(
    chance: random.Random, nodes: int, types: tuple[str, ...], undirected: list[str], most: int
) -> tuple[Mapping[str, Any], ...]:
    parallel, loops = chance.random() < 0.5, chance.random() < 0.5
    found: list[Mapping[str, Any]] = []
    taken = set()
    for key in range(chance.choice([chance.randint(0, most), chance.randint(nodes, most + 4)]) if nodes else 0):
        kind, start, end = chance.choice(types), chance.randrange(nodes), chance.randrange(nodes)
        if parallel and found and chance.random() < 0.25:
            start, end = found[-1]["start"], found[-1]["end"]
        place = (kind, *(sorted((start, end)) if kind in undirected else (start, end)))
        if (start == end and not loops) or (place in taken and not parallel):
            continue
        taken.add(place)
        properties = {"k": key, **_some(chance, i=chance.randint(-1, 3), s=chance.choice(_STRINGS))}
        found.append({"type": kind, "start": start, "end": end, "properties": properties})
    return tuple(found)


def _node_properties(chance: random.Random) -> dict[str, Any]:
    mixed = chance.choice([chance.randint(0, 2), 0.5, "a", "b", True, False, [1, 2], []])
    return _some(
        chance,
        i=chance.choice([-2, 0, 1, 1, 2, 3, 2**53 + 1]),
        f=math.nan if chance.random() < 0.05 else chance.randint(-3, 3) + 0.5,
        s=chance.choice(_STRINGS),
        b=chance.random() < 0.5,
        m=mixed,
        l=[chance.randint(0, 2) for _ in range(chance.randint(0, 3))],
    )


def _some(chance: random.Random, **properties: Any) -> dict[str, Any]:
    return {key: value for key, value in properties.items() if chance.random() < 0.75}
