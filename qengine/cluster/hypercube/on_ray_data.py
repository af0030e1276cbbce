"""The exchange on Ray Data: tables are read by ``map_batches``, cells are groups of ``map_groups``.

What Ray moves are parcels: rows of a cell's number and bytes.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import ray
import ray.data

from qengine.cluster.hypercube.cells import CellAnswer, CellWork, MergeAnswer, MergeWork
from qengine.cluster.hypercube.dealing import Dealer
from qengine.cluster.hypercube.exchange import Scan
from qengine.cluster.hypercube.parcels import answered, merged_answers, parcel_batches
from qengine.cluster.hypercube.sources import SAMPLE, Source, Spread, is_path, look

_ROWS = 1 << 20  # that are dealt at once


class RayData:
    """Moves rows by Ray Data, on the Ray cluster that this process is connected to; else on one of this machine.

    Parameters
    ----------
    threads
        CPUs of each cell.
    """

    name = "Ray Data"

    def __init__(self, threads: int = 1) -> None:
        if not ray.is_initialized():
            ray.init(include_dashboard=False, log_to_driver=False)
        self.workers = max(1, int(ray.cluster_resources().get("CPU", 1)) // threads)
        self._threads = threads
        ray.data.DataContext.get_current().enable_progress_bars = False

    def look(self, source: Source, place: str) -> Spread:
        """Look at a Dataset, of which rows are counted and the first taken, a path or a table."""
        if not isinstance(source, ray.data.Dataset):
            return look(source, place)
        refs = source.limit(SAMPLE).to_arrow_refs()
        sample = pa.concat_tables(ray.get(refs), promote_options="permissive")
        return Spread(source, sample.schema, source.count(), sample)

    def run(
        self, scans: Sequence[Scan], work: CellWork, merge: MergeWork | None, check: Callable[[], None]
    ) -> Iterator[CellAnswer | MergeAnswer]:
        """Yield what the cells give that rows were sent to, and what comes of the merging, in any order."""
        parcels = [
            _dataset(scan).map_batches(_dealt, fn_args=(scan.dealer,), batch_format="pyarrow", batch_size=_ROWS)
            for scan in scans
        ]
        whole = parcels[0].union(*parcels[1:]) if len(parcels) > 1 else parcels[0]
        groups = whole.groupby("cell", num_partitions=min(work.grid.cells, self.workers))
        given = {"batch_format": "pyarrow", "num_cpus": self._threads}
        answers = groups.map_groups(_in_cell, fn_args=(work, merge is not None), **given)
        if merge is not None:
            places = answers.groupby("place", num_partitions=self.workers)
            answers = places.map_groups(_merged, fn_args=(merge,), **given)
        for row in answers.iter_rows():
            check()
            yield pickle.loads(row["answer"])

    def close(self) -> None:
        """Leave Ray as it is: it may be used by others."""


def _dataset(scan: Scan) -> Any:
    source, columns = scan.source, list(scan.dealer.columns)
    if is_path(source):
        paths = list(map(str, source)) if isinstance(source, list | tuple) else str(source)
        return ray.data.read_parquet(paths, columns=columns)
    if isinstance(source, ray.data.Dataset):
        return source.select_columns(columns)
    return ray.data.from_arrow(source.select(columns))


def _dealt(block: Any, dealer: Dealer) -> Iterator[Any]:
    for parcel in parcel_batches(dealer(block)):
        yield pa.Table.from_batches([parcel])


def _in_cell(rows: Any, work: CellWork, merging: bool) -> Any:
    return answered(work, merging, rows)


def _merged(rows: Any, work: MergeWork) -> Any:
    return merged_answers(work, rows)
