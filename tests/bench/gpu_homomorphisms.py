"""Homomorphisms of trees on the GPU: ``python -m tests.bench.gpu_homomorphisms [--scale 20] [--patterns path,…]``.

Paths of 2 to 10 steps, stars of 3 to 8 leaves, trees and caterpillars of up to 16 nodes, along one type undirected, and
along two types in all directions, on R-MAT: from text to count with a cached plan, graph on the device, the median of
twenty runs, and of their kernels by events. Each count is compared with another formula: a message a relationship, from
the leaves to the root, modulo primes whose product exceeds the count (Chinese remainders). A count that exceeds 64 bits
must be refused; what was refused is compared, too, unless a number on the way had more than 128. A wrong one ends the
command with 1.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa

from qengine import Graph
from qengine.exec.gpu import eliminate
from qengine.exec.gpu.device import cupy
from qengine.plan.physical import Eliminate
from qengine.testing.plans import planned
from tests.bench import gpu_graphs
from tests.bench.gpu_elimination import answer, times

PRIMES = (
    2147483647, 2147483629, 2147483587, 2147483579, 2147483563,
    2147483549, 2147483543, 2147483497, 2147483489,
)  # fmt: skip
"""The greatest below 2**31: a sum over 2**31 entries of numbers less than one has 62 bits. Their product has 279 bits,
more than 2**20 nodes with as many neighbours to the power of 15 would need with 2**17 neighbours each."""

ASKED_MS = 5.0
ONE_TYPE, TWO_TYPES = "undirected", "typed"


@dataclass(frozen=True)
class Tree:
    """A pattern: node k + 1 hangs on ``parents[k]`` by ``types[k]``, in ``directions[k]`` as seen from there."""

    name: str
    parents: tuple[int, ...]
    types: str
    directions: str

    @property
    def text(self) -> str:
        """The query."""
        arrows = {"-": ("-", "-"), ">": ("-", "->"), "<": ("<-", "-")}
        links = []
        for k, parent in enumerate(self.parents):
            before, after = arrows[self.directions[k]]
            links.append(f"(n{parent}){before}[:{self.types[k]}]{after}(n{k + 1})")
        return f"MATCH REPEATABLE ELEMENTS {', '.join(links)} RETURN count(*)"


def undirected(name: str, parents: Sequence[int]) -> Tree:
    """Return a tree along relationships of one type in both directions."""
    return Tree(name, tuple(parents), "E" * len(parents), "-" * len(parents))


def mixed(name: str, parents: Sequence[int], seed: int) -> Tree:
    """Return a tree along relationships of two types, in directions drawn by a seed."""
    drawn = random.Random(seed)
    types, directions = ("".join(drawn.choices(letters, k=len(parents))) for letters in ("EF", "-><"))
    return Tree(name, tuple(parents), types, directions)


def shapes() -> list[tuple[str, list[int]]]:
    """Return names and parents of nodes."""
    found = [(f"path of {n}", list(range(n))) for n in range(2, 11)]
    found += [(f"star of {n}", [0] * n) for n in range(3, 9)]
    found += [(f"binary tree of {n} nodes", [k // 2 for k in range(n - 1)]) for n in (7, 15)]
    found += [(f"spider of {3 * n + 1} nodes", [k - 3 if k > 2 else 0 for k in range(3 * n)]) for n in (2, 3, 5)]
    for n in (8, 12, 16):
        drawn = random.Random(n)
        found.append((f"random tree of {n} nodes", [drawn.randrange(k + 1) for k in range(n - 1)]))
    for spine, legs in ((3, 1), (4, 1), (6, 1), (8, 1), (4, 3)):
        parents = [*range(spine - 1), *(k for k in range(spine) for _ in range(legs))]
        found.append((f"caterpillar of {len(parents) + 1} nodes, {legs} a joint", parents))
    return found


class Links:
    """Relationships as pairs of vertices on the device, and messages along them modulo primes."""

    def __init__(self, n: int, ends: dict[str, tuple[Any, Any]]) -> None:
        self.array = cupy()
        self.n = n
        self.ends = ends
        self._made: dict[tuple[str, str], tuple[Any, Any]] = {}

    def rows(self, kind: str, direction: str) -> tuple[Any, Any]:
        """Return offsets and neighbours of the vertices that a node's child may be, seen from the node."""
        if (kind, direction) not in self._made:
            xp = self.array
            start, end = (xp.asarray(each) for each in self.ends[kind])
            here, there = {">": (start, end), "<": (end, start)}.get(direction, (start, end))
            if direction == "-":
                here, there = xp.concatenate([start, end]), xp.concatenate([end, start])
            order = xp.argsort(here)
            offsets = xp.zeros(self.n + 1, np.int64)
            offsets[1:] = xp.cumsum(xp.bincount(here, minlength=self.n))
            self._made[kind, direction] = offsets, there[order]
        return self._made[kind, direction]

    def message(self, kind: str, direction: str, numbers: Any, prime: int) -> Any:
        """Return for each vertex the sum of its neighbours' numbers."""
        offsets, neighbours = self.rows(kind, direction)
        sums = self.array.zeros(len(neighbours) + 1, np.uint64)
        self.array.cumsum(numbers[neighbours], out=sums[1:])
        return (sums[offsets[1:]] - sums[offsets[:-1]]) % np.uint64(prime)

    def count(self, tree: Tree) -> int:
        """Return the homomorphisms of a tree."""
        remainders = []
        for prime in PRIMES:
            numbers = [self.array.ones(self.n, np.uint64) for _ in range(len(tree.parents) + 1)]
            for k in reversed(range(len(tree.parents))):
                sent = self.message(tree.types[k], tree.directions[k], numbers[k + 1], prime)
                numbers[tree.parents[k]] = numbers[tree.parents[k]] * sent % np.uint64(prime)
            remainders.append(int(numbers[0].sum()) % prime)
        return combined(remainders)


def combined(remainders: Sequence[int]) -> int:
    """Return the least number with some remainders (Chinese remainder theorem)."""
    whole = prod(PRIMES)
    parts = ((whole // prime, prime, remainder) for prime, remainder in zip(PRIMES, remainders, strict=True))
    return sum(part * pow(part, -1, prime) * remainder for part, prime, remainder in parts) % whole


def load(scale: int, kind: str) -> tuple[Graph, Links]:
    """Return an R-MAT graph; of two types each relationship has one by chance, and the direction it was drawn in."""
    csr = gpu_graphs.rmat(scale, 16, 42)
    neighbours = csr.neighbours.get().astype(np.int64)
    rows = np.repeat(np.arange(csr.n), np.diff(csr.offsets.get()).astype(np.int64))
    once = rows < neighbours
    start, end = rows[once], neighbours[once]
    if kind == ONE_TYPE:
        return Graph.from_edge_list((start, end), type="E", undirected=True), Links(csr.n, {"E": (start, end)})
    drawn = np.random.default_rng(7)
    turned, second = drawn.random(len(start)) < 0.5, drawn.random(len(start)) < 0.5
    start, end = np.where(turned, end, start), np.where(turned, start, end)
    ends = {name: (start[mine], end[mine]) for name, mine in (("E", ~second), ("F", second))}
    nodes = {"": pa.table({"id": np.arange(csr.n)})}
    tables = {name: pa.table({"start": a, "end": b}) for name, (a, b) in ends.items()}
    return Graph.from_arrow(nodes, tables), Links(csr.n, ends)


def measure(name: str, graph: Graph, links: Links, tree: Tree) -> bool:
    """Print a row; tell whether the count is right."""
    found = planned(graph, tree.text, Eliminate)
    way = "" if found and found[0].schedule("gpu") else " (searched)"
    sums: list[int] = []
    checked = eliminate.checked_count
    eliminate.checked_count = lambda count, context: (sums.append(count), checked(count, context))[1]
    try:
        count = answer(graph, tree.text, "gpu")
    finally:
        eliminate.checked_count = checked
    expected = links.count(tree)
    if isinstance(count, tuple):
        right, shown = count == (expected,), f"{count[0]:,}"
    else:
        right = count == "CountOverflow" and expected >= 2**63 and (not sums or sums == [expected])
        shown = f"refused: {expected:.4g}{'' if sums else ', or a number on the way'}"
    whole, _, kernels = times(graph, tree.text)
    print(
        f"| {name} | {tree.name}{way} | {shown}{'' if right else f' WRONG, not {expected}'} "
        f"| {whole:.3g}{'' if whole <= ASKED_MS else ' (more than asked)'} | {kernels:.3g} |",
        flush=True,
    )
    return right


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.gpu_homomorphisms", description=main.__doc__)
    parser.add_argument("--scale", type=int, default=20, help="2 to so many nodes; default: 20")
    parser.add_argument("--patterns", default="", help="those whose names begin so, a,b; default: all")
    options = parser.parse_args()
    wrong = 0
    print("| R-MAT | pattern | count | ms | kernels |\n" + "| - " * 5 + "|")
    for kind in (ONE_TYPE, TWO_TYPES):
        graph, links = load(options.scale, kind)
        for seed, (name, parents) in enumerate(shapes()):
            tree = undirected(name, parents) if kind == ONE_TYPE else mixed(name, parents, seed)
            if name.startswith(tuple(options.patterns.split(","))):
                wrong += not measure(f"{options.scale}, {kind}", graph, links, tree)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
