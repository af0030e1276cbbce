"""What the host library derives from a MatchPlan, in NumPy: ``kernels/include/qe/derived_plan.h``."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine import _native
from qengine.errors import InternalError
from qengine.exec.common.match_plan import SPAN

VIEW = np.dtype(
    [("level", "<i4"), ("kind", "<i4"), ("lists", SPAN), ("lo", "<u4"), ("hi", "<u4"), ("unique", "<i4"),
     ("below", "<i4"), ("above", "<i4"), ("within", "<i4")]
)  # fmt: skip
OPERAND = np.dtype(
    [("from", "<i4"), ("index", "<i4"), ("newest", "<i4"), ("clip", "<i4"), ("less", "<u8"), ("greater", "<u8")]
)
LEVEL = np.dtype(
    [("lo", "<u4"), ("hi", "<u4"), ("operands", SPAN), ("vertex", "<i4"), ("fixed", "<i4"), ("filtered", "<i4"),
     ("check_ranges", "<i4"), ("cut", "<i4"), ("unused", "<i4"), ("rest_less", "<u8"), ("rest_greater", "<u8"),
     ("local_less", "<u8"), ("local_greater", "<u8"), ("less", "<u8"), ("greater", "<u8"), ("different", "<u8"),
     ("certain", "<u8"), ("apart", "<u8"), ("mentions", "<u8")]
)  # fmt: skip
NODE = np.dtype(
    [("shape", "<i4"), ("wedge", "<i4"), ("levels", SPAN), ("context", SPAN), ("children", SPAN), ("memo", "<i4"),
     ("nested", "<i4"), ("local", "<i4"), ("pairs", "<i4"), ("repeats", "<u8")]
)  # fmt: skip
PLAN = np.dtype(
    [("n_levels", "<i4"), ("seeds", "<i4"), ("enumerated", "<i4"), ("impossible", "<i4"), ("n_kinds", "<i4"),
     ("n_memos", "<i4"), ("n_roots", "<i4"), ("n_nodes", "<i4"), ("n_operands", "<i4"), ("n_views", "<i4"),
     ("n_ids", "<i4"), ("unused", "<i4"), ("levels", "<u8"), ("operands", "<u8"), ("views", "<u8"),
     ("nodes", "<u8"), ("ids", "<u8")]
)  # fmt: skip

STRUCTS = (VIEW, OPERAND, LEVEL, NODE, PLAN)
"""In the order of ``qe_derived_layout``."""


class From(IntEnum):
    """Where an operand's set comes from."""

    CANDIDATES = 0
    CANDIDATES_BEFORE = 1
    CANDIDATES_AFTER = 2
    VIEW = 3
    CONSTANT = 4


class NodeKind(IntEnum):
    """What a node of the tree of counts is."""

    LEAF = 0
    GROUP = 1
    BRANCH = 2


class Wedge(IntEnum):
    """How two levels between the same two vertices go together where a wedge counts them."""

    NONE = 0
    ORDERED = 1
    DIFFERENT = 2
    EQUAL = 3
    APART = 4


@dataclass(frozen=True, eq=False)
class Derived:
    """Copies of the derived tables: records of ``LEVEL``, ``OPERAND``, ``VIEW``, ``NODE``; int32 ``ids``.

    ``header``: one ``PLAN`` record; its addresses are stale.
    """

    header: Any
    levels: npt.NDArray[Any]
    operands: npt.NDArray[Any]
    views: npt.NDArray[Any]
    nodes: npt.NDArray[Any]
    ids: npt.NDArray[np.int32]


def derive(plan: npt.NDArray[Any], *, overlaps: bool = False) -> Derived:
    """Return what the host library derives from one ``match_plan.PLAN`` record, whose arrays must be alive.

    ``overlaps``: as for the host, which counts up to three vertices of different candidates that must only differ by
    what their candidates share. No kernel of a device does.
    """
    library = _library()
    handle = ctypes.c_void_p()
    if library.qe_derived_open(plan.ctypes.data, overlaps, ctypes.byref(handle)) != 0:
        raise InternalError("A plan can't be derived: it is malformed, or memory ran out.")
    try:
        header = _records(library.qe_derived_plan(handle), PLAN, 1)[0]
        tables = {
            name: _records(int(header[name]), dtype, int(header[count]))
            for name, dtype, count in (
                ("levels", LEVEL, "n_levels"),
                ("operands", OPERAND, "n_operands"),
                ("views", VIEW, "n_views"),
                ("nodes", NODE, "n_nodes"),
                ("ids", np.dtype(np.int32), "n_ids"),
            )
        }
    finally:
        library.qe_derived_close(handle)
    return Derived(header, **tables)


def _records(address: int, dtype: np.dtype[Any], n: int) -> npt.NDArray[Any]:
    if n == 0:
        return np.empty(0, dtype)
    return np.frombuffer(ctypes.string_at(address, n * dtype.itemsize), dtype).copy()


@cache
def _library() -> ctypes.CDLL:
    library = _native.load()
    pointer = ctypes.c_void_p
    library.qe_derived_open.argtypes = (pointer, ctypes.c_int32, pointer)
    library.qe_derived_plan.argtypes = (pointer,)
    library.qe_derived_plan.restype = pointer
    library.qe_derived_close.argtypes = (pointer,)
    library.qe_derived_close.restype = None
    return library
