"""The random source of the graph generators: raw outputs of PCG64, in the order in which they are drawn."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_HIGH = np.uint64(32)


class RawStream:
    """A stream of 64-bit words from PCG64 (XSL-RR 128/64), seeded by numpy's ``SeedSequence``.

    Parameters
    ----------
    seed
        Any non-negative integer; equal seeds give equal streams.
    """

    def __init__(self, seed: int) -> None:
        self._bits = np.random.PCG64(seed)

    def take(self, count: int) -> NDArray[np.uint64]:
        """Return the next ``count`` words."""
        return self._bits.random_raw(count)

    def below(self, bound: int) -> int:
        """Return the next word modulo ``bound`` (its bias is below 2⁻³⁰ for the bounds of a graph)."""
        return self._bits.random_raw() % bound


def high_half(words: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """Return the upper 32 bits of each word."""
    return (words >> _HIGH).astype(np.uint32)


def low_half(words: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """Return the lower 32 bits of each word."""
    return words.astype(np.uint32)
