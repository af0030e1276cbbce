"""Shares of the roots of a search: strides, so that each has the same part of the heavy ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Share(NamedTuple):
    """Some of all roots: of each ``round`` in a row those from ``begin`` on, ``taken`` of them."""

    begin: int
    taken: int
    round: int


ALL_ROOTS = Share(0, 1, 1)
"""All roots."""


def guided_shares(takers: int, parts: Sequence[int]) -> list[Share]:
    """Return shares for so many takers that together are all; ``parts``: how they relate that one takes in turn.

    Parts that get smaller let all end at about the same time, whichever is held up (guided self-scheduling:
    Polychronopoulos and Kuck 1987).
    """
    whole, shares, begin = sum(parts) * takers, [], 0
    for taken in (each for each in parts for _ in range(takers)):
        shares.append(Share(begin, taken, whole))
        begin += taken
    return shares
