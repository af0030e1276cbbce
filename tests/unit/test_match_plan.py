"""The plan's record types are laid out as the C++ structs are."""

from __future__ import annotations

import ctypes
from itertools import groupby

from qengine import _native
from qengine.exec.common.match_plan import STRUCTS
from qengine.storage.adjacency import PcsrStruct
from qengine.storage.structs import STRUCTS as LOADING_STRUCTS


def native_layouts(function: str = "qe_plan_layout") -> list[list[int]]:
    table = ctypes.POINTER(ctypes.c_int32)()
    n = getattr(_native.load(), function)(ctypes.byref(table))
    return [list(part) for is_end, part in groupby(table[:n], lambda number: number == -1) if not is_end]


def test_layouts_agree() -> None:
    mirrored = [[dtype.itemsize, *(dtype.fields[name][1] for name in dtype.names)] for dtype in STRUCTS]
    assert mirrored == native_layouts()


def test_storage_mirrors_the_same_lists() -> None:
    offsets = [getattr(PcsrStruct, name).offset for name, _ in PcsrStruct._fields_]
    assert [ctypes.sizeof(PcsrStruct), *offsets] == native_layouts()[0]


def test_layouts_of_what_loading_takes_agree() -> None:
    mirrored = [
        [ctypes.sizeof(kind), *(getattr(kind, field[0]).offset for field in kind._fields_)] for kind in LOADING_STRUCTS
    ]
    assert mirrored == native_layouts("qe_loading_layout")
