"""What moves rows between workers: the interface that queries over tables are written for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from qengine._frozen import frozen
from qengine.cluster.hypercube.cells import CellAnswer, CellWork, MergeAnswer, MergeWork
from qengine.cluster.hypercube.dealing import Dealer
from qengine.cluster.hypercube.sources import Source, Spread


@frozen
class Scan:
    """A table that is read once: its rows are given to the dealer in blocks, each as an Arrow table of its columns."""

    source: Source
    dealer: Dealer


class Exchange(Protocol):
    """An engine that reads tables, sends parcels to cells, and runs what is done there."""

    name: str
    workers: int

    def look(self, source: Source, place: str) -> Spread:
        """Look at a table that is the engine's own, a path or a table; ``place``: what errors call it."""

    def run(
        self, scans: Sequence[Scan], work: CellWork, merge: MergeWork | None, check: Callable[[], None]
    ) -> Iterator[CellAnswer | MergeAnswer]:
        """Yield what the cells give that rows were sent to, in any order, each once.

        All parcels of a cell are given to ``work`` together. With ``merge`` the rows of all cells for one place are
        given to it together, too; then cells are told without rows, and what comes of the merging is yielded as well.
        ``check`` raises where all must stop, and is called now and then.
        """

    def close(self) -> None:
        """Let go of workers and of what lies on disk."""
