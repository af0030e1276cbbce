"""Sets of vertices as ascending ids, by tables where they lie close together: sorting and hashing take far longer."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_SPARSE = 16  # places of a table for each id at most
_SMALL = 1 << 14  # places of a table that is always made

Ids = npt.NDArray[np.int64]


def _close(ids: Ids, low: int, high: int) -> bool:
    return high - low < max(_SPARSE * len(ids), _SMALL)


def distinct(ids: Ids) -> Ids:
    """Return the different ones of some ids, ascending."""
    if np.all(ids[1:] > ids[:-1]):
        return ids
    low, high = int(ids.min()), int(ids.max())
    if not _close(ids, low, high):
        return np.unique(ids)
    seen = np.zeros(high - low + 1, np.bool_)
    seen[ids - low] = True
    return np.flatnonzero(seen) + low


def degrees(ids: Ids) -> Ids:
    """Return how often each different one of some ids occurs."""
    if not len(ids):
        return ids
    low, high = int(ids.min()), int(ids.max())
    if not _close(ids, low, high):
        return np.unique(ids, return_counts=True)[1].astype(np.int64)
    found = np.bincount(ids - low)
    return found[found > 0].astype(np.int64)


def among(ids: Ids, known: Ids) -> npt.NDArray[np.bool_]:
    """Return which of some ids are known ones, which ascend."""
    if not len(known) or not len(ids):
        return np.zeros(len(ids), np.bool_)
    low, high = int(known[0]), int(known[-1])
    if not _close(ids, low, high):
        return np.asarray(known[np.minimum(np.searchsorted(known, ids), len(known) - 1)] == ids, np.bool_)
    table = np.zeros(high - low + 3, np.bool_)  # a place on either side for what is beyond
    table[known - low + 1] = True
    return table[np.clip(ids - low + 1, 0, high - low + 2)]
