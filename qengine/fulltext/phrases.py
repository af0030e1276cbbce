"""Rows in which the words of a phrase stand side by side, or nearly so."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from qengine.fulltext.postings import Postings

_LOOK = 1024


def matches(
    postings: Postings, terms: Sequence[tuple[int, int]], slop: int, check: Callable[[], None]
) -> tuple[Any, Any]:
    """Return the rows (int32, ascending) that have a phrase, and how often (float64).

    Parameters
    ----------
    terms
        The places of its terms, with the positions that they have in the phrase.
    slop
        By how many positions words may be moved, all together. Then a row counts ``1 / (1 + moves)`` of its narrowest
        match.
    """
    if not slop:
        return _exactly(postings, terms)
    by_row: list[dict[int, list[int]]] = []
    rows: Any = None
    for place, _ in terms:
        found = postings.of(place)[0]
        rows = found if rows is None else rows[np.isin(rows, found, assume_unique=True)]
    for place in dict.fromkeys(place for place, _ in terms):
        check()
        where = postings.occurrences(place)
        where = where[np.isin(where >> 32, rows)]
        positions: dict[int, list[int]] = {}
        for row, position in zip((where >> 32).tolist(), (where & 0xFFFFFFFF).tolist(), strict=True):
            positions.setdefault(row, []).append(position)
        by_row.append(positions)
    offsets: dict[int, list[int]] = {}
    for place, offset in terms:
        offsets.setdefault(place, []).append(offset)
    kept, times = [], []
    for number, row in enumerate(rows.tolist()):
        if number % _LOOK == 0:
            check()
        moves = narrowest([each[row] for each in by_row], list(offsets.values()), slop)
        if moves is not None:
            kept.append(row)
            times.append(1 / (1 + moves))
    return np.array(kept, np.int32), np.array(times, np.float64)


def _exactly(postings: Postings, terms: Sequence[tuple[int, int]]) -> tuple[Any, Any]:
    last = terms[-1][1]
    by_count = sorted(terms, key=lambda each: int(postings.offsets[each[0] + 1] - postings.offsets[each[0]]))
    begins: Any = None
    for place, offset in by_count:
        where = postings.occurrences(place) + (last - offset)
        if begins is None:
            begins = where
        else:
            at = np.minimum(np.searchsorted(where, begins), len(where) - 1)
            begins = begins[where[at] == begins]
    rows, times = np.unique(begins >> 32, return_counts=True)
    return rows.astype(np.int32), times.astype(np.float64)


def narrowest(positions: Sequence[Sequence[int]], offsets: Sequence[Sequence[int]], most: int) -> int | None:
    """Return the fewest moves that make a phrase of words at some positions; None where that is more than ``most``.

    Moves are how far apart the words are from where the phrase would have them: the greatest of their positions less
    their offsets, less the least. A word that the phrase has twice must be there twice.

    Parameters
    ----------
    positions
        For each different word where it occurs, ascending.
    offsets
        For each different word its positions in the phrase, ascending.
    """
    best = None
    begins = {
        at - offset for found, wanted in zip(positions, offsets, strict=True) for at in found for offset in wanted
    }
    for begin in sorted(begins):
        bound = most if best is None else best - 1
        moves = _moves_from(begin, positions, offsets, bound)
        if moves is not None:
            best = moves
            if not best:
                break
    return best


def _moves_from(
    begin: int, positions: Sequence[Sequence[int]], offsets: Sequence[Sequence[int]], most: int
) -> int | None:
    """Return the fewest moves of a match none of whose words stands before ``begin``: the first ones that there are."""
    moves = 0
    for found, wanted in zip(positions, offsets, strict=True):
        at = -1
        for offset in wanted:
            at = max(at + 1, bisect_left(found, begin + offset))
            if at >= len(found) or found[at] - offset - begin > most:
                return None
            moves = max(moves, found[at] - offset - begin)
    return moves
