"""Arrays of 2^31 values and more are written and read, as graphs have them of over a billion relationships."""

from __future__ import annotations

import io
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa

from qengine.storage.adjacency import Adjacency, Form
from qengine.storage.arrowfiles import write_adjacencies, write_properties
from qengine.storage.columns import PropertyColumn

LONG = 2**31 + 5


def test_lists_of_any_length_are_written(tmp_path: Path) -> None:
    neighbours = np.memmap(tmp_path / "neighbours", np.uint32, "w+", shape=LONG)  # without one page behind it
    lists = Adjacency(Form.DENSE, 0, 1, neighbours, None, np.array([0, LONG], np.uint64))
    kind = SimpleNamespace(index=0, undirected=True)
    store: Any = SimpleNamespace(types=[kind], adjacency=lambda index, way: lists)
    with open(os.devnull, "wb") as file:
        write_adjacencies(store, file)


def test_columns_of_any_length_are_written_and_read() -> None:
    column = PropertyColumn(0, pa.nulls(LONG))
    store: Any = SimpleNamespace(types=[], property_keys=lambda entity: ["k"], node_property=lambda key: column)
    file = io.BytesIO()
    write_properties(store, file)
    assert len(pa.ipc.open_file(file).get_batch(0).column(0).values) == LONG
