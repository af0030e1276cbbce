"""Closed walks, walks and 4-cycles on graphs that are all twins, hubs, paths or cliques: what each takes as they grow.

``python -m tests.bench.degenerate [--size N ...] [--shape NAME ...]`` prints seconds of the processor, on one core, or
that a limit of five seconds came first. Each answer is checked before its time is printed: closed walks against the
graph's spectrum in closed form, walks against a vector that is pushed along the edges.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine import Graph, QueryTimeout, ResourceError
from tests.bench.report import markdown

_TIMEOUT = 5.0
_SIDE = 16
_CLIQUE = 8

Ends = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]


@dataclass(frozen=True)
class Shape:
    """``ends``: the edges of a graph of about n vertices. ``closed``: its closed walks of k steps, for k below n."""

    ends: Callable[[int], Ends]
    closed: Callable[[int, int], int]


def _even(k: int, count: int) -> int:
    return 0 if k % 2 else count


def _star(n: int) -> Ends:
    return np.zeros(n, np.int64), np.arange(1, n + 1)


def _sides(n: int) -> Ends:
    one, other = np.meshgrid(np.arange(_SIDE), np.arange(_SIDE, _SIDE + n))
    return one.ravel(), other.ravel()


def _complete(n: int) -> Ends:
    one, other = np.triu_indices(_order(n), 1)
    return one, other


def _order(n: int) -> int:
    """Return how many vertices a complete graph of about 4 n edges has."""
    return int((8 * n) ** 0.5)


def _cycle(n: int) -> Ends:
    return np.arange(n), (np.arange(n) + 1) % n


def _cliques(n: int) -> Ends:
    one, other = np.triu_indices(_CLIQUE, 1)
    first = _CLIQUE * np.arange(n // _CLIQUE)[:, None]
    return (first + one).ravel(), (first + other).ravel()


def _wheel(n: int) -> Ends:
    rim = np.arange(n)
    return np.concatenate([np.zeros(n, np.int64), rim + 1]), np.concatenate([rim + 1, (rim + 1) % n + 1])


def _wheel_walks(n: int, k: int) -> int:
    """Return the powers of a cycle's eigenvalues but 2, and of 1 + sqrt(1 + n) and 1 - sqrt(1 + n), added up."""
    before, sum_ = 2, 2
    for _ in range(k - 1):
        before, sum_ = sum_, 2 * sum_ + n * before
    return _even(k, n * comb(k, k // 2)) - 2**k + sum_


SHAPES = {
    "star": Shape(_star, lambda n, k: _even(k, 2 * n ** (k // 2))),
    "16 by n": Shape(_sides, lambda n, k: _even(k, 2 * (_SIDE * n) ** (k // 2))),
    "complete": Shape(_complete, lambda n, k: (_order(n) - 1) ** k + (_order(n) - 1) * (-1) ** k),
    "path": Shape(
        lambda n: (np.arange(n - 1), np.arange(1, n)), lambda n, k: _even(k, (n + 1) * comb(k, k // 2) - 2**k)
    ),
    "cycle": Shape(_cycle, lambda n, k: _even(k, n * comb(k, k // 2))),
    "matching": Shape(lambda n: (np.arange(0, n, 2), np.arange(1, n, 2)), lambda n, k: _even(k, n)),
    "8-cliques": Shape(_cliques, lambda n, k: n // _CLIQUE * ((_CLIQUE - 1) ** k + (_CLIQUE - 1) * (-1) ** k)),
    "wheel": Shape(_wheel, _wheel_walks),
}


def _walks(ends: Ends, steps: int) -> int:
    one, other = ends
    n = int(max(one.max(), other.max())) + 1
    reached = np.ones(n, np.float64)  # of integers below 2^53, else nothing is checked
    for _ in range(steps):
        reached = np.bincount(one, reached[other], n) + np.bincount(other, reached[one], n)
    total = reached.sum()
    return int(total) if total < 2**53 else -1


def _ring(length: int) -> str:
    corners = "abcdefgh"[:length]
    return "--".join(f"({corner})" for corner in corners + "a")


def _cells(name: str, n: int) -> dict[str, tuple[str, int]]:
    """Return the patterns with the number of their matches; -1 where it isn't known."""
    shape = SHAPES[name]
    ends = shape.ends(n)
    cells = {f"closed walk of {k}": (f"REPEATABLE ELEMENTS {_ring(k)}", shape.closed(n, k)) for k in range(4, 9)}
    for k in (3, 7):
        path = "--".join(f"({corner})" for corner in "abcdefgh"[: k + 1])
        cells[f"walk of {k}"] = f"REPEATABLE ELEMENTS {path}", _walks(ends, k)
    degrees = np.bincount(np.concatenate(ends)).astype(object)
    edges = len(ends[0])
    # closed walks of four that aren't cycles turn back: at each end of an edge, or at a vertex between two
    cycles = shape.closed(n, 4) - 2 * int((degrees * (degrees - 1)).sum()) - 2 * edges
    cells["4-cycle"] = _ring(4), cycles
    return cells


def _measured(graph: Graph, text: str, by_node: bool, expected: int) -> str:
    result = "a.id AS id, count(*) AS n" if by_node else "count(*)"
    started = time.process_time()
    try:
        rows: Sequence[Any] = graph.query(f"MATCH {text} RETURN {result}", threads=1, timeout=_TIMEOUT).fetchall()
    except QueryTimeout:
        return f"> {time.process_time() - started:.1f}"
    except ResourceError:
        if 0 <= expected < 2**63:
            raise
        return "> 64 bits"
    seconds = time.process_time() - started
    found = sum(row[-1] for row in rows)
    if expected >= 0 and found != expected:
        raise SystemExit(f"{text}: {found}, not {expected}")
    return f"{seconds:.3f}"


def main() -> None:
    """Print a table for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, nargs="*", default=[1 << 10, 1 << 16])
    parser.add_argument("--shape", nargs="*", choices=SHAPES, default=list(SHAPES))
    chosen = parser.parse_args()
    for n in chosen.size:
        rows = []
        for name in chosen.shape:
            graph = Graph.from_edge_list(SHAPES[name].ends(n), undirected=True)
            graph.query("MATCH (a)--(b)--(c)--(a) RETURN count(*)").fetchall()  # statistics are gathered
            cells = _cells(name, n)
            for by_node in (False, True):
                figures = [_measured(graph, text, by_node, expected) for text, expected in cells.values()]
                rows.append([name + (", by node" if by_node else ""), *figures])
        print(f"n = {n:,}\n\n{markdown(['graph', *cells], rows)}\n", flush=True)


if __name__ == "__main__":
    main()
