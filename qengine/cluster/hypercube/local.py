"""The exchange without packages: worker processes of this machine, and files in one folder.

A task reads a piece of a table and writes the parcels that it makes of it into one file, by cell. Then a task for each
cell reads its parts of these files. Tasks are dealt as those of a saved graph are: again where a worker dies or lags.
"""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing.connection import Connection
from typing import Any

import pyarrow as pa

from qengine._frozen import frozen, replace
from qengine.cluster.dealing import deal
from qengine.cluster.engine import Engine
from qengine.cluster.hypercube.cells import CellAnswer, CellWork, MergeAnswer, MergeWork
from qengine.cluster.hypercube.dealing import Dealer, Parcel
from qengine.cluster.hypercube.exchange import Scan
from qengine.cluster.hypercube.sources import Source, Spread, look, pieces, rows_of
from qengine.cluster.worker import answer_tasks
from qengine.errors import InternalError, QengineError

_PIECES = 2
"""Pieces of a table that each worker gets on average."""


@frozen
class _Place:
    """Where a parcel lies; for rows that are to be merged ``cell`` is who merges them."""

    path: str
    offset: int
    length: int
    cell: int
    table: int
    rows: int

    def read(self) -> Any:
        """Return what lies there, as a buffer of the mapped file."""
        with pa.memory_map(self.path) as file:
            file.seek(self.offset)
            return file.read_buffer(self.length)


@frozen
class _Deal:
    """Reads a piece, and writes what its rows send into a file of the folder."""

    piece: Any
    dealer: Dealer
    folder: str

    def __call__(self) -> list[_Place]:
        return _written(self.dealer(rows_of(self.piece)), self.folder)


@frozen
class _Cell:
    """Reads the parcels of a cell, and does what is done there; writes what comes of it into a folder, if one is given.

    Gives the answer, and where its rows lie that are to be merged.
    """

    cell: int
    places: tuple[_Place, ...]
    work: CellWork
    folder: str | None

    def __call__(self) -> tuple[CellAnswer, list[_Place]]:
        parcels = [Parcel(each.cell, each.table, each.rows, each.read()) for each in self.places]
        answer = self.work(self.cell, parcels)
        if self.folder is None:
            return answer, []
        return replace(answer, rows=()), _written([(place, 0, 0, data) for place, data in answer.rows], self.folder)


@frozen
class _Merge:
    """Reads the rows that one place merges, and merges them."""

    places: tuple[_Place, ...]
    work: MergeWork

    def __call__(self) -> MergeAnswer:
        return self.work([each.read() for each in self.places])


def _written(parcels: Iterable[tuple[int, int, int, bytes]], folder: str) -> list[_Place]:
    """Write parcels into a new file of a folder, and return where they lie."""
    handle, path = tempfile.mkstemp(dir=folder)
    found = []
    with os.fdopen(handle, "wb") as file:
        for cell, table, rows, data in parcels:
            found.append(_Place(path, file.tell(), len(data), cell, table, rows))
            file.write(data)
    return found


class LocalExchange:
    """Moves rows between the workers of a ``cluster.engine.Engine`` on this machine, by files.

    Parameters
    ----------
    engine
        Its workers answer tasks by ``answer``.
    folder
        Where files are made; by default where the system keeps temporary ones.
    """

    def __init__(self, engine: Engine, folder: str | None = None) -> None:
        self.name, self.workers = engine.name, engine.workers
        self._engine, self._folder = engine, folder

    def look(self, source: Source, place: str) -> Spread:
        """Look at a path or a table."""
        return look(source, place)

    def run(
        self, scans: Sequence[Scan], work: CellWork, merge: MergeWork | None, check: Callable[[], None]
    ) -> Iterator[CellAnswer | MergeAnswer]:
        """Yield what the cells give that rows were sent to, once all have, then what comes of the merging."""
        with tempfile.TemporaryDirectory(prefix="qengine-", dir=self._folder, ignore_cleanup_errors=True) as folder:
            least = self.workers * _PIECES
            tasks: list[Callable[[], Any]] = [
                _Deal(piece, scan.dealer, folder)
                for scan in scans
                for piece in pieces(scan.source, scan.dealer.columns, least)
            ]
            by_cell: dict[int, list[_Place]] = {}
            for places in self._done(tasks, check):
                for place in places:
                    by_cell.setdefault(place.cell, []).append(place)
            heaviest = sorted(by_cell, key=lambda cell: -sum(each.length for each in by_cell[cell]))
            room = folder if merge is not None else None
            by_place: dict[int, list[_Place]] = {}
            for answer, places in self._done([_Cell(c, tuple(by_cell[c]), work, room) for c in heaviest], check):
                yield answer
                for place in places:
                    by_place.setdefault(place.cell, []).append(place)
            if merge is not None:
                yield from self._done([_Merge(tuple(each), merge) for _, each in sorted(by_place.items())], check)

    def _done(self, tasks: Sequence[Callable[[], Any]], check: Callable[[], None]) -> list[Any]:
        """Return what tasks give, in their order."""
        check()
        answers = deal(self._engine, [pickle.dumps(each, pickle.HIGHEST_PROTOCOL) for each in tasks], check)
        found = [pickle.loads(each) for each in answers]
        failed = next((each for each in found if isinstance(each, QengineError)), None)
        if failed is not None:
            raise failed
        return found

    def close(self) -> None:
        """End the workers."""
        self._engine.close()


def answer(task: bytes) -> bytes:
    """Return what a task gives, or its error, as bytes; other errors than ours become one."""
    try:
        found = pickle.loads(task)()
    except QengineError as error:
        found = error
    except Exception as error:
        found = InternalError(f"A worker failed: {type(error).__name__}: {error}")
    return pickle.dumps(found, pickle.HIGHEST_PROTOCOL)


def serve(connection: Connection, _: str) -> None:
    """Do what a worker process of tables does."""
    answer_tasks(connection, answer)
