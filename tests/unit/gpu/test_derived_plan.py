"""The derived plan's record types are laid out as the C++ structs are."""

from __future__ import annotations

import ctypes
from itertools import groupby

from qengine import _native
from qengine.exec.gpu.derived_plan import STRUCTS


def test_layouts_agree() -> None:
    numbers = ctypes.POINTER(ctypes.c_int32)()
    n = _native.load().qe_derived_layout(ctypes.byref(numbers))
    native = [list(part) for is_end, part in groupby(numbers[:n], lambda number: number == -1) if not is_end]
    assert [[each.itemsize, *(each.fields[name][1] for name in each.names)] for each in STRUCTS] == native
