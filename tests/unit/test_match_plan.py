"""The plan's record types are laid out as the C++ structs are."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
import pytest

from qengine import _native
from qengine.exec.common.match_plan import STRUCTS
from qengine.exec.gpu import list_pieces
from qengine.exec.host import joined_rows, row_sinks
from qengine.storage.adjacency import PcsrStruct
from qengine.storage.structs import STRUCTS as LOADING_STRUCTS

SINK_STRUCTS = (
    row_sinks.SOURCE, row_sinks.ROW_FOLD, row_sinks.ORDER_KEY, row_sinks.FIRST_ROWS, joined_rows.COLUMN,
    joined_rows.TEST, joined_rows.JOINED_ROWS,
)  # fmt: skip


def native_layouts(function: str = "qe_plan_layout") -> list[list[int]]:
    table = ctypes.POINTER(ctypes.c_int32)()
    n = getattr(_native.load(), function)(ctypes.byref(table))
    return [list(part) for is_end, part in groupby(table[:n], lambda number: number == -1) if not is_end]


@pytest.mark.parametrize(
    ("structs", "function"),
    [
        (STRUCTS, "qe_plan_layout"),
        (SINK_STRUCTS, "qe_sink_layout"),
        ((list_pieces.ROOT_LISTS, list_pieces.ROOT_PIECE), "qe_root_layout"),
    ],
)
def test_layouts_agree(structs: Sequence[np.dtype[Any]], function: str) -> None:
    mirrored = [[dtype.itemsize, *(dtype.fields[name][1] for name in dtype.names)] for dtype in structs]
    assert mirrored == native_layouts(function)


def test_storage_mirrors_the_same_lists() -> None:
    offsets = [getattr(PcsrStruct, name).offset for name, _ in PcsrStruct._fields_]
    assert [ctypes.sizeof(PcsrStruct), *offsets] == native_layouts()[0]


def test_layouts_of_what_loading_takes_agree() -> None:
    mirrored = [
        [ctypes.sizeof(kind), *(getattr(kind, field[0]).offset for field in kind._fields_)] for kind in LOADING_STRUCTS
    ]
    assert mirrored == native_layouts("qe_loading_layout")
