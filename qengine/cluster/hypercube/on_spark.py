"""The exchange on Spark: tables are read by ``mapInArrow``, cells are groups of ``applyInArrow``.

What Spark moves are parcels: rows of a cell's number and bytes. So it knows nothing of keys and properties, and moves
few large rows.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from qengine._frozen import frozen
from qengine.cluster.hypercube.cells import CellAnswer, CellWork, MergeAnswer, MergeWork
from qengine.cluster.hypercube.dealing import Dealer
from qengine.cluster.hypercube.exchange import Scan
from qengine.cluster.hypercube.parcels import answered, merged_answers, parcel_batches
from qengine.cluster.hypercube.sources import SAMPLE, Source, Spread, is_path, look

_PARCELS = "place int, cell int, source int, number bigint, data binary"
_ANSWERS = "place int, answer binary"
_ROWS = 1 << 20  # of a partition that are dealt at once
_POLL = 0.05
"""Seconds between two looks whether to stop."""


class Spark:
    """Moves rows by a Spark session: the active one, or one of this machine, with as many tasks as CPUs.

    Parameters
    ----------
    session
        Another one.
    """

    name = "Spark"

    def __init__(self, session: SparkSession | None = None) -> None:
        self._own = session is None and SparkSession.getActiveSession() is None
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        self._session = session or SparkSession.builder.appName("qengine").getOrCreate()
        self.workers = int(self._session.sparkContext.defaultParallelism)

    def look(self, source: Source, place: str) -> Spread:
        """Look at a DataFrame, of which rows are counted and some taken, a path or a table."""
        if not isinstance(source, DataFrame):
            return look(source, place)
        rows = source.count()
        some = source if rows <= SAMPLE else source.sample(SAMPLE / rows, seed=1)
        sample = some.limit(SAMPLE).toArrow()
        return Spread(source, sample.schema, rows, sample)

    def run(
        self, scans: Sequence[Scan], work: CellWork, merge: MergeWork | None, check: Callable[[], None]
    ) -> Iterator[CellAnswer | MergeAnswer]:
        """Yield what the cells give that rows were sent to, and what comes of the merging, once all have ended."""
        places = self._places(min(work.grid.cells, self.workers))
        parcels = [self._frame(scan).mapInArrow(_Dealt(scan.dealer, tuple(places)), schema=_PARCELS) for scan in scans]
        whole = parcels[0]
        for each in parcels[1:]:
            whole = whole.union(each)
        answers = (
            whole.repartition(len(places), "place")
            .groupBy("place", "cell")
            .applyInArrow(_in_cell(work, merge is not None), _ANSWERS)
        )
        if merge is not None:
            answers = answers.groupBy("place").applyInArrow(_merged(merge), _ANSWERS)
        for row in self._collected(answers, check):
            yield pickle.loads(row.answer)

    def _collected(self, frame: DataFrame, check: Callable[[], None]) -> list[Any]:
        """Return the rows of a frame; what Spark does for them ends where ``check`` raises."""
        context, group = self._session.sparkContext, f"qengine-{uuid4()}"

        def collect() -> list[Any]:
            context.setJobGroup(group, "a query over tables", interruptOnCancel=True)
            return list(frame.collect())

        with ThreadPoolExecutor(1) as pool:
            rows = pool.submit(collect)
            try:
                while not wait([rows], _POLL).done:
                    check()
            except BaseException:
                context.cancelJobGroup(group)
                raise
            return rows.result()

    def close(self) -> None:
        """End the session, if it was begun here."""
        if self._own:
            self._session.stop()

    def _frame(self, scan: Scan) -> DataFrame:
        source = scan.source
        if is_path(source):
            paths = list(map(str, source)) if isinstance(source, list | tuple) else [str(source)]
            source = self._session.read.parquet(*paths)
        elif not isinstance(source, DataFrame):
            source = self._session.createDataFrame(source.select(list(scan.dealer.columns)))
        return source.select(*(f"`{name.replace('`', '``')}`" for name in scan.dealer.columns))

    def _places(self, partitions: int) -> list[int]:
        """Return numbers that Spark's hash sends to a partition of their own each."""
        count = 64 * partitions
        rows = self._session.range(count).selectExpr(
            "cast(id as int) as id", f"pmod(hash(cast(id as int)), {partitions}) as p"
        )
        found: dict[int, int] = {}
        for row in rows.collect():
            found.setdefault(row.p, row.id)
        return [found.get(place, place) for place in range(partitions)]


@frozen
class _Dealt:
    """Deals the rows of a partition. ``places``: numbers of which each goes to a partition of its own."""

    dealer: Dealer
    places: tuple[int, ...]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        for block in _blocks(batches):
            for parcel in parcel_batches(self.dealer(block)):
                place = self.places[parcel["cell"][0].as_py() % len(self.places)]
                yield parcel.add_column(0, "place", pa.array([place], pa.int32()))


def _in_cell(work: CellWork, merging: bool) -> Callable[[Any], Any]:
    """Return what does what is done in the cell that a group of parcels is for; Spark looks at how many arguments."""
    return lambda rows: answered(work, merging, rows)


def _merged(work: MergeWork) -> Callable[[Any], Any]:
    """Return what merges a group of rows that ``_in_cell`` gave for one place; answers of cells stay as they are."""
    return lambda rows: merged_answers(work, rows)


def _blocks(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield the rows of small batches in tables of many."""
    found: list[Any] = []
    rows = 0
    for batch in batches:
        found.append(batch)
        rows += batch.num_rows
        if rows >= _ROWS:
            yield pa.Table.from_batches(found)
            found, rows = [], 0
    if rows:
        yield pa.Table.from_batches(found)
