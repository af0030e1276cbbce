"""The numbers of a graph's elements as an Arrow IPC file.

``numbers.arrow`` has one record batch of one row: a list of all nodes' numbers, and of those of each relationship type,
by internal id. The manifest has the first one of those that are consecutive, which stand here as empty lists.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from qengine.storage.arrays import Array
from qengine.storage.arrowfiles import listed, listed_values, open_batches
from qengine.storage.blocks import BlockFile
from qengine.storage.numbers import Identity, NumberList, NumberRange, Numbers, Run
from qengine.storage.saved_columns import SavedColumn
from qengine.storage.store import EdgeType, GraphStore

_NODES = "nodes"


def write_numbers(store: GraphStore, file: BinaryIO) -> None:
    """Write the numbers that aren't consecutive."""
    runs = (*store.node_numbers.runs, *store.relationship_numbers.runs)
    arrays = [pa.array([] if isinstance(run, NumberRange) else run.array, pa.int64()) for run in runs]
    fields = [pa.field(str(place), pa.large_list(pa.int64())) for place in range(len(runs))]
    with pa.ipc.new_file(file, pa.schema(fields)) as writer:
        columns = [listed(array, array.type) for array in arrays]
        writer.write_batch(pa.record_batch(columns, schema=pa.schema(fields)))


def read_numbers(file: BlockFile, vertices: int, types: Sequence[EdgeType], facts: Mapping[str, Any]) -> Identity:
    """Read what ``write_numbers`` wrote; the arrays are parts of the file, checked when they are first read.

    Parameters
    ----------
    file
        The mapped file.
    vertices, types
        What the numbers must fit.
    facts
        The manifest's entry.

    Raises
    ------
    StorageError
        If they don't.
    """
    reader = open_batches(file)
    counts = [vertices, *(edge_type.count for edge_type in types)]
    names = [f"numbers of {name}" for name in (_NODES, *(edge_type.name for edge_type in types))]
    nexts = [facts["next_node"]] + [facts["next_relationship"]] * len(types)
    wanted = [(str(place), pa.large_list(pa.int64())) for place in range(len(counts))]
    if [(each.name, each.type) for each in reader.schema] != wanted or reader.num_record_batches != 1:
        raise file.damaged("its columns aren't numbers")
    batch = reader.get_batch(0)
    if batch.num_rows != 1:
        raise file.damaged("its batch has more than one row")
    runs: list[Run] = []
    for column, count, first, name, end in zip(batch.columns, counts, facts["firsts"], names, nexts, strict=True):
        values = listed_values(file, column)
        if len(values) != (0 if first >= 0 else count) or (first >= 0 and first + count > end):
            raise file.damaged(f"{name}: there are {len(values):,} for {count:,} elements")
        if first >= 0:
            runs.append(NumberRange(first, count))
        else:
            runs.append(NumberList(_reader(SavedColumn(0, values, file, name), file, name, end), count))
    return Identity(Numbers(runs[:1]), Numbers(runs[1:]), facts["next_node"], facts["next_relationship"])


def _reader(column: SavedColumn, file: BlockFile, name: str, end: int) -> Callable[[], Array]:
    def read() -> Array:
        array = column.array
        if array.null_count:
            raise file.damaged(f"{name}: one is null")
        numbers: Array = array.to_numpy()
        ordered = np.sort(numbers)
        if len(ordered) and (ordered[0] < 0 or ordered[-1] >= end or (ordered[1:] == ordered[:-1]).any()):
            raise file.damaged(f"{name}: they aren't different numbers below {end:,}")
        return numbers

    return read
