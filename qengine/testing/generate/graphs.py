"""R-MAT and uniform random graphs, made simple and undirected, and vertex labels for them.

R-MAT is Chakrabarti, Zhan and Faloutsos, "R-MAT: A Recursive Model for Graph Mining" (SDM 2004), with the Graph500
probabilities and ids shuffled at the end.
"""

from __future__ import annotations

import hashlib
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from qengine._frozen import frozen
from qengine.testing.generate.raw import RawStream, high_half, low_half

Number = TypeVar("Number", bound=np.generic)

_LABEL_STREAM = 1_000_003
_LOW_WORD = np.uint64(0xFFFFFFFF)
_WORD_BITS = np.uint64(32)


@frozen
class EdgeDraws:
    """Edges as they were drawn: with self-loops and repetitions.

    Attributes
    ----------
    vertex_count
        Ids are ``0 … vertex_count - 1``; some may have no edge.
    source, target
        uint32, one element a draw.
    """

    vertex_count: int
    source: NDArray[np.uint32]
    target: NDArray[np.uint32]


@frozen
class Csr:
    """A simple undirected graph: each edge stands in the rows of both its ends.

    Attributes
    ----------
    offsets
        int64, ``vertex_count + 1`` elements.
    neighbors
        int32, two elements an edge, ascending within a row.
    """

    offsets: NDArray[np.int64]
    neighbors: NDArray[np.int32]

    @property
    def vertex_count(self) -> int:
        """Return the number of vertices, isolated ones included."""
        return len(self.offsets) - 1

    @property
    def edge_count(self) -> int:
        """Return the number of undirected edges."""
        return len(self.neighbors) // 2

    def degrees(self) -> NDArray[np.int64]:
        """Return the degree of each vertex."""
        return np.diff(self.offsets)

    def row(self, vertex: int) -> NDArray[np.int32]:
        """Return the neighbours of one vertex, ascending."""
        return self.neighbors[self.offsets[vertex] : self.offsets[vertex + 1]]

    def edges(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return each edge once, as (smaller end, larger end), in lexicographic order."""
        source = np.repeat(np.arange(self.vertex_count, dtype=np.int32), self.degrees())
        once = source < self.neighbors
        return source[once], self.neighbors[once]

    def checksum(self, labels: NDArray[np.int32]) -> str:
        """Return 16 hexadecimal digits of the SHA-256 over offsets (int64), neighbours and labels (int32)."""
        digest = hashlib.sha256()
        for array, layout in ((self.offsets, "<i8"), (self.neighbors, "<i4"), (labels, "<i4")):
            digest.update(array.astype(layout).tobytes())
        return digest.hexdigest()[:16]


def rmat(
    scale: int,
    edge_factor: int = 16,
    seed: int = 42,
    quadrants: tuple[float, float, float] = (0.57, 0.19, 0.19),
) -> EdgeDraws:
    """Draw the edges of an R-MAT graph.

    Every level of the recursion spends 32 random bits on each edge; one raw word serves two levels, the upper half
    first. At the end the rank of a further word for each vertex becomes its id.

    Parameters
    ----------
    scale
        The graph has ``2 ** scale`` vertices.
    edge_factor
        Draws for each vertex.
    seed
        Seed of the raw stream.
    quadrants
        Probabilities of the upper left, upper right and lower left quadrant.
    """
    vertex_count = 1 << scale
    draws = edge_factor * vertex_count
    upper_left, upper_right, lower_left = quadrants
    # One float sum after the other, then truncated: the thresholds are part of what fixes the bits.
    left_end = np.uint32(int(upper_left * 2**32))
    upper_end = np.uint32(int((upper_left + upper_right) * 2**32))
    lower_left_end = np.uint32(int((upper_left + upper_right + lower_left) * 2**32))

    stream = RawStream(seed)
    source = np.zeros(draws, np.uint32)
    target = np.zeros(draws, np.uint32)
    for level in range(scale):
        if level % 2 == 0:
            words = stream.take(draws)
        bits = high_half(words) if level % 2 == 0 else low_half(words)
        lower = bits >= upper_end
        right = ((bits >= left_end) & ~lower) | (bits >= lower_left_end)
        source = (source << np.uint32(1)) | lower
        target = (target << np.uint32(1)) | right

    by_rank = np.argsort(stream.take(vertex_count), kind="stable")
    new_id = np.empty(vertex_count, np.uint32)
    new_id[by_rank] = np.arange(vertex_count, dtype=np.uint32)
    return EdgeDraws(vertex_count, new_id[source], new_id[target])


def er(scale: int, draws: int, seed: int = 42) -> EdgeDraws:
    """Draw edges between uniformly chosen ends (Erdős and Rényi).

    Parameters
    ----------
    scale
        The graph has ``2 ** scale`` vertices.
    draws
        Edges drawn; loops and repetitions among them fall away in `to_csr`.
    seed
        Seed of the raw stream.
    """
    mask = np.uint32((1 << scale) - 1)
    words = RawStream(seed).take(draws)
    return EdgeDraws(1 << scale, high_half(words) & mask, low_half(words) & mask)


def to_csr(draws: EdgeDraws) -> Csr:
    """Drop self-loops and directions, merge what is then parallel, and sort every row."""
    keep = draws.source != draws.target
    source, target = draws.source[keep], draws.target[keep]
    smaller = np.minimum(source, target).astype(np.uint64)
    larger = np.maximum(source, target).astype(np.uint64)
    once = different((smaller << _WORD_BITS) | larger)
    both = np.concatenate([once, (once << _WORD_BITS) | (once >> _WORD_BITS)])
    both.sort()
    offsets = np.zeros(draws.vertex_count + 1, np.int64)
    np.cumsum(np.bincount((both >> _WORD_BITS).astype(np.int64), minlength=draws.vertex_count), out=offsets[1:])
    return Csr(offsets, (both & _LOW_WORD).astype(np.int32))


def vertex_labels(vertex_count: int, label_count: int, seed: int = 42) -> NDArray[np.int32]:
    """Return a uniform label ``0 … label_count - 1`` for each vertex.

    The stream differs from that of the edges drawn with the same seed.
    """
    if label_count <= 1:
        return np.zeros(vertex_count, np.int32)
    words = RawStream(seed + _LABEL_STREAM).take(vertex_count)
    return ((high_half(words).astype(np.uint64) * np.uint64(label_count)) >> _WORD_BITS).astype(np.int32)


def different(keys: NDArray[Number]) -> NDArray[Number]:
    """Return the different numbers, ascending: by sorting, for ``numpy.unique`` hashes, which takes far longer."""
    ordered = np.sort(keys)
    kept = np.ones(len(ordered), np.bool_)
    kept[1:] = ordered[1:] != ordered[:-1]
    return ordered[kept]
