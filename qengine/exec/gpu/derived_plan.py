"""What the host library derives from a MatchPlan, in NumPy: ``kernels/include/qe/derived_plan.h``."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine import _native
from qengine.errors import InternalError
from qengine.exec.common.match_plan import SPAN

VIEW = _native.record("i4 level kind; SPAN lists; u4 lo hi; i4 unique below above within", SPAN=SPAN)
OPERAND = _native.record("i4 from index newest clip; u8 less greater")
LEVEL = _native.record(
    "u4 lo hi; SPAN operands; i4 vertex fixed filtered check_ranges cut unused; "
    "u8 rest_less rest_greater local_less local_greater less greater different certain apart mentions",
    SPAN=SPAN,
)
NODE = _native.record("i4 shape wedge; SPAN levels context children; i4 memo nested local pairs; u8 repeats", SPAN=SPAN)
PLAN = _native.record(
    "i4 n_levels seeds enumerated impossible n_kinds n_memos n_roots n_nodes n_operands n_views n_ids unused; "
    "u8 levels operands views nodes ids"
)

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


_library = _native.declared("qe_derived_open p i4 p; qe_derived_plan p -> p; qe_derived_close p -> none")
