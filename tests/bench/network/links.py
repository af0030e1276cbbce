"""Draws by power laws, and picks of one of the other ends of links."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qengine.testing.generate.graphs import different

Ints = NDArray[np.int64]


class Links:
    """The ends of links by their starts (compressed rows)."""

    def __init__(self, starts: Ints, ends: Ints, count: int) -> None:
        order = np.argsort(starts, kind="stable")
        self._ends = ends[order]
        self._begins = np.searchsorted(starts[order], np.arange(count + 1))

    def pick(self, random: np.random.Generator, starts: Ints) -> Ints:
        """Return a random end for each start, -1 where it has none."""
        begins = self._begins[starts]
        degrees = self._begins[starts + 1] - begins
        places = begins + (random.random(len(starts)) * degrees).astype(np.int64)
        places = np.minimum(places, len(self._ends) - 1)
        return np.where(degrees > 0, self._ends[places], -1)


def skewed(random: np.random.Generator, choices: int, count: int, power: float) -> Ints:
    """Draw numbers below ``choices``: the density at ``x`` falls as ``x ** (1 / power - 1)``."""
    return np.minimum((choices * random.random(count) ** power).astype(np.int64), choices - 1)


def distinct(starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """Return the different pairs, in order."""
    keys = different(starts << 32 | ends)
    return keys >> 32, keys & 0xFFFFFFFF
