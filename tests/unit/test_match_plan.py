"""The plan's record types are laid out as the C++ structs are."""

from __future__ import annotations

import ctypes
from itertools import groupby

from qengine import _native
from qengine.exec.cpu.match_plan import STRUCTS
from qengine.storage.adjacency import PcsrStruct


def native_layouts() -> list[list[int]]:
    table = ctypes.POINTER(ctypes.c_int32)()
    n = _native.load().qe_plan_layout(ctypes.byref(table))
    return [list(part) for is_end, part in groupby(table[:n], lambda number: number == -1) if not is_end]


def test_layouts_agree() -> None:
    mirrored = [[dtype.itemsize, *(dtype.fields[name][1] for name in dtype.names)] for dtype in STRUCTS]
    assert mirrored == native_layouts()


def test_storage_mirrors_the_same_lists() -> None:
    offsets = [getattr(PcsrStruct, name).offset for name, _ in PcsrStruct._fields_]
    assert [ctypes.sizeof(PcsrStruct), *offsets] == native_layouts()[0]
