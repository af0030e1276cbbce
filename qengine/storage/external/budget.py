"""How much of a graph is in memory at a time while it is loaded in pieces."""

from __future__ import annotations

from qengine._frozen import frozen

__all__ = ["Budget"]

_ENTRY = 64  # bytes that sorting one relationship takes: ends, places, results, and Arrow's and NumPy's copies
_COPIES = 6  # of a value of a property: as read, cut into pieces, read again, put in order, written
_LEAST_ENTRIES = 1 << 12
_MOST_ENTRIES = 1 << 26
_BATCH = 1 << 16
_SHARE = 0.5  # of the limit, for what is sorted; the rest is for reading files, and for what nodes' keys take


@frozen
class Budget:
    """What may be in memory at a time.

    ``bytes``: the limit. ``batch``: rows that are read at a time. ``entries``: relationships, or nodes, that are sorted at
    a time; None: as many as the limit allows.
    """

    bytes: int
    batch: int = _BATCH
    entries: int | None = None

    def rows(self, width: float) -> int:
        """Return how many rows may be sorted at a time whose properties take ``width`` bytes each."""
        if self.entries is not None:
            return self.entries
        fitting = int(self.bytes * _SHARE / (_ENTRY + _COPIES * width))
        return min(max(fitting, _LEAST_ENTRIES), _MOST_ENTRIES)

    @property
    def keys(self) -> int:
        """Bytes of nodes' keys that may be in memory at a time, as Arrow arrays."""
        return self.bytes // 8
