"""Graphs and queries made from a seed: the same bits on every machine.

`graphs` holds R-MAT and uniform random graphs, `queries` labelled queries drawn from a graph by a random walk,
`social` a property graph of persons, posts and tags. The first two use nothing but the raw 64-bit outputs of PCG64 and
integer arithmetic, so that another language can make the same graphs.
"""

from __future__ import annotations

from qengine.testing.generate.graphs import Csr, EdgeDraws, er, rmat, to_csr, vertex_labels
from qengine.testing.generate.queries import LabelledQuery, walk_queries, walk_query
from qengine.testing.generate.social import SocialSize, social, write_social

__all__ = [
    "Csr",
    "EdgeDraws",
    "LabelledQuery",
    "SocialSize",
    "er",
    "rmat",
    "social",
    "to_csr",
    "vertex_labels",
    "walk_queries",
    "walk_query",
    "write_social",
]
