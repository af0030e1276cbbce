"""Graphs of odd shapes, of about a number of nodes each: chains, hubs, cliques, grids, loops, many labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from qengine import Graph

Integers = npt.NDArray[np.int64]
Ends = tuple[int, Integers, Integers]
"""How many nodes, and the starts and ends of relationships."""


def _chain(n: int) -> Ends:
    return n, np.arange(n - 1), np.arange(1, n)


def _cycle(n: int) -> Ends:
    return n, np.arange(n), (np.arange(n) + 1) % n


def _star_out(n: int) -> Ends:
    return n, np.zeros(n - 1, np.int64), np.arange(1, n)


def _star_in(n: int) -> Ends:
    return n, np.arange(1, n), np.zeros(n - 1, np.int64)


def _clique(n: int) -> Ends:
    """A graph of as many relationships as other shapes have nodes."""
    side = max(3, int(n**0.5))
    one, other = np.divmod(np.arange(side * side), side)
    return side, one[one != other], other[one != other]


def _bipartite(n: int) -> Ends:
    side = max(2, int(n**0.5))
    return 2 * side, np.repeat(np.arange(side), side), side + np.tile(np.arange(side), side)


def _grid(n: int) -> Ends:
    side = max(2, int(n**0.5))
    ids = np.arange(side * side)
    down, right = ids[: side * (side - 1)], ids[ids % side < side - 1]
    return side * side, np.concatenate([down, right]), np.concatenate([down + side, right + 1])


def _tree(n: int) -> Ends:
    return n, (np.arange(1, n) - 1) // 3, np.arange(1, n)


def _loops(n: int) -> Ends:
    return n, np.arange(n), np.arange(n)


def _parallel(n: int) -> Ends:
    drawn, few = np.random.default_rng(5), max(4, n // 1000)
    return few, drawn.integers(0, few, n), drawn.integers(0, few, n)


def _random(n: int) -> Ends:
    drawn = np.random.default_rng(6)
    return n, drawn.integers(0, n, 2 * n), drawn.integers(0, n, 2 * n)


def _isolated(n: int) -> Ends:
    return n, np.array([0]), np.array([1])


def _power_law(n: int) -> Ends:
    """In-degrees fall with the node's rank; the first node has about a tenth of all relationships."""
    drawn = np.random.default_rng(7)
    ends = (n ** drawn.random(2 * n)).astype(np.int64) - 1
    return n, drawn.integers(0, n, 2 * n), np.clip(ends, 0, n - 1)


def _hub_and_components(n: int) -> Ends:
    """One node with half of the others, which come in triangles, and triangles by themselves."""
    corners = 1 + 3 * np.arange((n - 1) // 3)
    linked = np.arange(1, n // 2, 2)
    starts = [np.zeros(len(linked), np.int64), corners, corners + 1, corners + 2]
    ends = [linked, corners + 1, corners + 2, corners]
    return n, np.concatenate(starts), np.concatenate(ends)


def _bow_tie(n: int) -> Ends:
    """Half of the nodes lead to the first, which leads to the other half."""
    half = n // 2
    hub = np.zeros(n, np.int64)
    ids = np.arange(n)
    return n, np.concatenate([ids[1:half], hub[half:]]), np.concatenate([hub[1:half], ids[half:]])


def _two_hubs(n: int) -> Ends:
    """The first node leads to hubs, each of which leads to as many leaves as there are hubs."""
    hubs = max(1, int(n**0.5))
    leaves = 1 + hubs + np.arange(hubs * hubs)
    starts = [np.zeros(hubs, np.int64), np.repeat(1 + np.arange(hubs), hubs)]
    return 1 + hubs + hubs * hubs, np.concatenate(starts), np.concatenate([1 + np.arange(hubs), leaves])


def _ladder(n: int) -> Ends:
    """Two chains with a rung at each step."""
    side = max(2, n // 2)
    step = np.arange(side - 1)
    starts, ends = [step, side + step, np.arange(side)], [step + 1, side + step + 1, side + np.arange(side)]
    return 2 * side, np.concatenate(starts), np.concatenate(ends)


def _multipartite(n: int) -> Ends:
    """Four parts, each node leading to all of the later parts."""
    side = max(1, int((n / 6) ** 0.5))
    one, other = np.divmod(np.arange(16 * side * side), 4 * side)
    return 4 * side, one[one // side < other // side], other[one // side < other // side]


def _components(n: int) -> Ends:
    """Chains of three nodes."""
    ids = np.arange(n)
    return n, ids[:-1][ids[1:] % 3 > 0], ids[1:][ids[1:] % 3 > 0]


def _many_loops(n: int) -> Ends:
    """Some hundred loops at each of few nodes."""
    few = max(2, n // 200)
    return few, np.arange(n) % few, np.arange(n) % few


def _edge_list(n: int) -> Ends:
    """Relationships as logs have them: most from few nodes to few, many drawn again, turned round, or loops."""
    drawn = np.random.default_rng(8)
    starts, ends = ((n ** drawn.random(2 * n)).astype(np.int64) - 1 for _ in range(2))
    turned = slice(0, n // 3)
    return n, np.concatenate([starts, ends[turned]]), np.concatenate([ends, starts[turned]])


ENDS: dict[str, Callable[[int], Ends]] = {
    "chain": _chain,
    "cycle": _cycle,
    "star out": _star_out,
    "star in": _star_in,
    "bow tie": _bow_tie,
    "two hubs": _two_hubs,
    "ladder": _ladder,
    "multipartite": _multipartite,
    "components": _components,
    "many loops": _many_loops,
    "clique": _clique,
    "bipartite": _bipartite,
    "grid": _grid,
    "tree": _tree,
    "loops": _loops,
    "parallel": _parallel,
    "random": _random,
    "isolated": _isolated,
    "power law": _power_law,
    "edge list": _edge_list,
    "hub and triangles": _hub_and_components,
}
SHAPES = (*ENDS, "many names", "long texts", "huge texts", "nulls", "all null", "same values")
_HUGE = 100_000


def make(shape: str, n: int) -> Graph:
    """Return a graph of a shape with about n nodes or relationships.

    Nodes have ``id``, ``v`` (0 to 99), ``f`` (a float), ``s`` (one of 50 strings), ``t`` (another string each), ``d``
    (a date, one of 400), ``at`` (a time, one of 10,000) and ``l`` (up to three numbers), relationships ``w``, a float,
    and ``k``, 0 to 9. Labels are A and B by turns, with C for ten of the first 20; types are R and S by turns. "many
    names" has 300 labels more, and 200 types, "long texts" 2,000 characters in ``t``, "huge texts" 100,000 in that of
    some thousand nodes, "nulls" values in one of 50 nodes alone, and 40 properties more, "all null" none but ``id``,
    "same values" the same in all nodes.
    """
    drawn = np.random.default_rng(4)
    count, starts, ends = ENDS.get(shape, _random)(n)
    ids = np.arange(count)
    nodes: dict[str, Any] = {
        "id": ids,
        "v": drawn.integers(0, 100, count),
        "f": drawn.random(count),
        "s": [f"s{i % 50}" for i in range(count)],
        "t": [("long text " * 200 if shape == "long texts" else "t") + str(i) for i in range(count)],
        "labels": [["A", "C"] if i < 20 and not i % 2 else ["AB"[i % 2]] for i in range(count)],
    }
    links: dict[str, Any] = {
        "start": starts,
        "end": ends,
        "w": drawn.random(len(starts)),
        "k": drawn.integers(0, 10, len(starts)),
        "type": np.where(np.arange(len(starts)) % 2, "S", "R"),
    }
    nodes["d"] = np.datetime64("2024-01-01") + drawn.integers(0, 400, count)
    nodes["at"] = np.datetime64("2024-01-01T00:00:00", "us") + 3_600_000_000 * drawn.integers(0, 10_000, count)
    nodes["l"] = pa.array([list(range(i % 7, i % 7 + i % 4)) for i in range(count)], pa.list_(pa.int64()))
    if shape == "many names":
        nodes["labels"] = [[*each, f"L{i % 300}"] for i, each in enumerate(nodes["labels"])]
        links["type"] = [f"T{i % 200}" if i % 10 else "RS"[i % 20 // 10] for i in range(len(starts))]
    if shape == "huge texts":
        apart = max(1, n // 1000)
        nodes["t"] = [("h" * _HUGE if i % apart == 0 else "t") + str(i) for i in range(count)]
    if shape == "same values":
        nodes |= {key: pa.array(nodes[key]).take(pa.array(0 * ids)) for key in ("v", "f", "s", "t", "d", "at", "l")}
    if shape == "nulls":
        absent = ids % 50 != 0
        nodes |= {key: pa.array(nodes[key], mask=absent) for key in "vf"} | {"s": pa.array(nodes["s"], mask=absent)}
        nodes |= {f"p{k}": pa.array(ids, mask=ids % 997 != k) for k in range(40)}
        links["w"] = pa.array(links["w"], mask=np.arange(len(starts)) % 50 != 0)
    if shape == "all null":
        nodes |= {key: pa.nulls(count, pa.array(nodes[key]).type) for key in ("v", "f", "s", "t", "d", "at", "l")}
        links |= {key: pa.nulls(len(starts), pa.array(links[key]).type) for key in "wk"}
    return Graph.from_arrow(pa.table(nodes), pa.table(links), label_column="labels", type_column="type")
