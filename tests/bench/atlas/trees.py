"""Homomorphisms of the trees of up to five vertices, exact however large: sums of products of degrees."""

from __future__ import annotations

import numpy as np

from tests.bench.atlas.graphs import Edges


def trees(graph: Edges) -> dict[str, int]:
    """Return them by name, for a plain graph of any size.

    ``d`` are the degrees, ``r`` the sums of the neighbours' degrees, that is, the paths of two steps from a vertex.
    """
    here, there = np.concatenate([graph.source, graph.target]), np.concatenate([graph.target, graph.source])
    degrees = np.bincount(here, minlength=graph.n)
    reached = np.bincount(here, degrees[there], graph.n).astype(np.int64)  # sums below 2**53: exact
    d, r = degrees.astype(object), reached.astype(object)
    products = {"edge": d, "wedge": d**2, "P4": d * r, "claw": d**3, "P5": r**2, "fork": d**2 * r, "K1.4": d**4}
    return {name: int(numbers.sum()) for name, numbers in products.items()}
