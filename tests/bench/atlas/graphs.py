"""The graphs of the atlas, by name: ``rmat14`` (edge factor 16), ``rmat18x4`` (edge factor 4), ``er20``.

One drawing of edges gives each graph in several kinds, so that a labelled, typed or directed query can be set beside
the plain one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from qengine import Graph
from qengine.testing import generate
from qengine.testing.generate.raw import RawStream

SEED = 42
_TYPE_STREAM = 3_000_003
_NAME = re.compile(r"(rmat|er)(\d+)(?:x(\d+))?")
_GROUPS = 16


class Kind(StrEnum):
    """What the nodes and relationships of a graph have beside the edges."""

    PLAIN = "plain"
    DIRECTED = "directed"
    TYPES2 = "types2"
    LABELLED4 = "labelled4"
    LABELLED16 = "labelled16"

    @property
    def label_count(self) -> int:
        return {Kind.LABELLED4: 4, Kind.LABELLED16: 16}.get(self, 0)


@dataclass(frozen=True)
class Edges:
    """A simple graph as arrays.

    Attributes
    ----------
    n
        Vertices are numbered below it; some may have no edge.
    source, target
        int64, an element an edge; undirected edges stand once.
    labels
        int32 for each vertex, or None.
    types
        uint8 for each edge (0 is ``E``, 1 ``F``), or None.
    """

    n: int
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    directed: bool = False
    labels: NDArray[np.int32] | None = None
    types: NDArray[np.uint8] | None = None

    def load(self) -> Graph:
        """Load what has edges; the property ``p`` of a vertex is its number modulo 16."""
        used = np.unique(np.concatenate([self.source, self.target]))
        labels = np.zeros(len(used), np.int32) if self.labels is None else self.labels[used]
        nodes = [
            ("" if self.labels is None else f"L{label}", pa.table({"id": mine, "p": mine % _GROUPS}))
            for label in np.unique(labels)
            for mine in (used[labels == label],)
        ]
        types = np.zeros(len(self.source), np.uint8) if self.types is None else self.types
        relationships = [
            (name, pa.table({"start": self.source[types == kind], "end": self.target[types == kind]}))
            for kind, name in enumerate("E" if self.types is None else "EF")
        ]
        undirected = [] if self.directed else [name for name, _ in relationships]
        return Graph.from_arrow(nodes, relationships, key="id", undirected=undirected)


def is_name(name: str) -> bool:
    """Tell whether a graph has this name."""
    return _NAME.fullmatch(name) is not None


def draws(name: str) -> generate.EdgeDraws:
    """Draw the edges of a graph: the same on every machine."""
    found = _NAME.fullmatch(name)
    assert found is not None, name
    scale, factor = int(found[2]), int(found[3] or 16)
    return generate.rmat(scale, factor, SEED) if found[1] == "rmat" else generate.er(scale, factor << scale, SEED)


def edges(name: str, kind: Kind) -> Edges:
    """Return a graph in one kind."""
    drawn = draws(name)
    if kind is Kind.DIRECTED:
        kept = drawn.source != drawn.target
        both = (drawn.source[kept].astype(np.uint64) << np.uint64(32)) | drawn.target[kept]
        once = np.unique(both)
        ends = (once >> np.uint64(32)).astype(np.int64), (once & np.uint64(0xFFFFFFFF)).astype(np.int64)
        return Edges(drawn.vertex_count, *ends, directed=True)
    csr = generate.to_csr(drawn)
    source, target = (each.astype(np.int64) for each in csr.edges())
    labels = generate.vertex_labels(csr.vertex_count, kind.label_count, SEED) if kind.label_count else None
    types = None
    if kind is Kind.TYPES2:
        types = (RawStream(SEED + _TYPE_STREAM).take(len(source)) >> np.uint64(63)).astype(np.uint8)
    return Edges(csr.vertex_count, source, target, labels=labels, types=types)
