"""What a search gives its rows to instead of handing them over, and who says so."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Protocol

from qengine._frozen import frozen
from qengine.exec.common.batch import Batch
from qengine.exec.common.columns import IntArray


@frozen
class SinkSource:
    """The rows that a search finds: names of its columns, and for each image of a row the column that each becomes.

    ``weighted``: a row counts as often as its count says, times ``orbits``. ``seeded``: it belongs to an input row.
    ``given``: ids that input rows have of other variables; ``weights``: how often each of these rows counts, None for
    once. Both are int64, contiguous.
    """

    outputs: Sequence[str]
    images: Sequence[Sequence[str]]
    weighted: bool
    orbits: int
    seeded: bool = False
    given: Mapping[str, IntArray] = field(default_factory=dict)
    weights: IntArray | None = None


class RowSink(Protocol):
    """Takes rows from the threads that find them."""

    @property
    def handle(self) -> ctypes.c_void_p:
        """The native sink."""

    def rows(self) -> tuple[int, int, int]:
        """Return how many rows were taken, for how many conditions held, and how many the search gives after all."""

    def end(self) -> None:
        """Make use of what was taken: the search has found all its rows."""

    def close(self) -> None:
        """Free it; the search is closed."""


class SinkRequest(Protocol):
    """Says which sink a search is to give its rows to, at any time while it runs."""

    def together(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Yield the input rows, of one search each, whose rows the sinks that are then asked for get."""

    def opened(self, source: SinkSource) -> RowSink | None:
        """Return the sink that a search is to have, which then asks no more; None as long as there is none."""

    def returned(self, outputs: Sequence[str]) -> Sequence[Sequence[IntArray]]:
        """Return rows that have come and are to go to the sink, too: parts, each with an array for each output."""

    def ended(self, rows: tuple[int, int, int]) -> None:
        """Take notice of what the sink has taken, as its ``rows`` tells."""
