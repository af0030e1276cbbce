"""How much of a graph is in memory at a time while it is loaded in pieces."""

from __future__ import annotations

from dataclasses import dataclass

_ENTRY = 32  # bytes that sorting one relationship takes: its neighbour, its place, and what the sort keeps beside them
_COPIES = 3  # of a value of a property: in one array, put in order, and on its way to a file
_LEAST, _MOST = 1 << 12, 1 << 26  # that are sorted at a time
_MOST_PIECES = 400  # that are sorted one after the other: each is a file that is open while rows are dealt
_ROW = 512  # bytes that reading and dealing a row takes, at most as a rule
_LEAST_BATCH, _MOST_BATCH = 1 << 13, 1 << 20
_SHARE = 0.4  # of the limit, for what is sorted; the rest is for reading files, and for what nodes' keys take


@dataclass(frozen=True)
class Budget:
    """What may be in memory at a time: ``bytes``.

    Tests give numbers of rows: ``batch`` are read, ``entries`` sorted at a time; 0 for as many as ``bytes`` allow.
    """

    bytes: int
    batch: int = 0
    entries: int = 0

    def __post_init__(self) -> None:
        if not self.batch:
            object.__setattr__(self, "batch", min(max(self.bytes // 4 // _ROW, _LEAST_BATCH), _MOST_BATCH))

    def rows(self, width: float, count: int) -> int:
        """Return how many of ``count`` rows are sorted at a time whose properties take ``width`` bytes each."""
        if self.entries:
            return self.entries
        fitting = min(max(int(self.bytes * _SHARE / (_ENTRY + _COPIES * width)), _LEAST), _MOST)
        return max(fitting, -(-count // _MOST_PIECES))

    @property
    def keys(self) -> int:
        """Bytes of nodes' keys, as Arrow arrays, of which an index may be made."""
        return max(self.bytes // 16, 1)

    @property
    def dense_keys(self) -> int:
        """Bytes of nodes' keys that may be in memory where they are integers that lie close together."""
        return self.bytes // 2

    @property
    def sought(self) -> int:
        """How many keys may be looked up at a time."""
        return max(self.bytes // 128, self.batch)
