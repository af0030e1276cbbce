"""Parcels, and what comes of them, as rows of Arrow tables: what engines of frames move."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from qengine.cluster.hypercube.cells import CellAnswer, CellWork, MergeWork
from qengine.cluster.hypercube.dealing import Parcel

_NOWHERE = -1
"""The place of answers that aren't merged."""
_PARCEL = pa.schema([("cell", pa.int32()), ("source", pa.int32()), ("number", pa.int64()), ("data", pa.binary())])
_ANSWER = pa.schema([("place", pa.int32()), ("answer", pa.binary())])


def parcel_batches(parcels: Iterable[Parcel]) -> Iterator[Any]:
    """Yield a batch of one row for each parcel: ``cell``, ``source``, ``number`` of rows, ``data``."""
    for parcel in parcels:
        yield pa.record_batch([[each] for each in parcel], schema=_PARCEL)


def answered(work: CellWork, merging: bool, rows: Any) -> Any:
    """Do what is done in the cell that a table's parcels are all for.

    Returns
    -------
    pyarrow.Table
        ``place``, ``answer``: the pickled answer of the cell, and where rows are to be merged those for each place.
    """
    columns = (rows[name].to_pylist() for name in _PARCEL.names)
    parcels = [Parcel(*each) for each in zip(*columns, strict=True)]
    answer = work(parcels[0].cell, parcels)
    found = []
    if merging:
        found = list(answer.rows)
        answer = CellAnswer(answer.cell, (), answer.error, answer.received, answer.bytes, answer.seconds)
    return _answers([(_NOWHERE, pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)), *found])


def merged_answers(work: MergeWork, rows: Any) -> Any:
    """Merge the rows that ``answered`` gave for one place; answers of cells stay as they are."""
    place, data = rows["place"][0].as_py(), rows["answer"].to_pylist()
    if place == _NOWHERE:
        return _answers([(place, each) for each in data])
    return _answers([(place, pickle.dumps(work(data), pickle.HIGHEST_PROTOCOL))])


def _answers(found: list[tuple[int, bytes]]) -> Any:
    return pa.table([[place for place, _ in found], [answer for _, answer in found]], schema=_ANSWER)
