"""The MatchPlan of ``kernels/include/qe/match_plan.h`` in NumPy: record types of its tables, and their assembly."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import field
from enum import IntEnum, IntFlag
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine import _native
from qengine._frozen import record
from qengine.storage.arrays import address_of

SPAN = _native.record("i4 first count")
PCSR = _native.record("i4 form; u4 lo hi n_keys; u8 offsets keys groups neighbours edge_ids n_entries")
SOURCE = _native.record("i4 level flags; SPAN lists", SPAN=SPAN)
RANGE = _native.record("u4 begin end")
PAIR = _native.record("i4 a b c d")
COLUMN = _native.record("i8 begin end; u8 values validity; i8 validity_offset; i4 kind unused")
CONDITION = _native.record("i4 op left right unused; SPAN left_columns right_columns", SPAN=SPAN)
EDGE_TYPE = _native.record("i4 list way; i8 base; u8 bitset; i4 in_list unused")
LEVEL = _native.record(
    "i4 kind output; SPAN sources ranges different less greater pairs conditions types; i4 start end; "
    "u8 bitset candidates; i8 n_candidates; u4 bitset_begin unused",
    SPAN=SPAN,
)
PLAN = _native.record(
    "i4 n_levels seeds enumerated mode n_outputs n_lists breadth_first unused; "
    "u8 levels sources ranges pairs conditions columns types level_ids list_ids lists"
)

STRUCTS = (PCSR, SPAN, SOURCE, RANGE, PAIR, COLUMN, CONDITION, EDGE_TYPE, LEVEL, PLAN)
"""In the order of ``qe_plan_layout``."""


class LevelKind(IntEnum):
    """What a level binds."""

    VERTEX = 0
    EDGE = 1


class EdgeWay(IntEnum):
    """Which OUT lists an edge level reads: its start's, its end's, or both."""

    FORWARD = 0
    BACKWARD = 1
    EITHER = 2


class CompareOp(IntEnum):
    """Comparisons of a column condition."""

    EQUAL = 0
    NOT_EQUAL = 1
    LESS = 2
    LESS_EQUAL = 3
    GREATER = 4
    GREATER_EQUAL = 5
    BETWEEN = 6


COMPARISONS = {"=": CompareOp.EQUAL, "<>": CompareOp.NOT_EQUAL, "<": CompareOp.LESS, "<=": CompareOp.LESS_EQUAL,
               ">": CompareOp.GREATER, ">=": CompareOp.GREATER_EQUAL}  # fmt: skip
"""By the operators of the language."""


class ColumnKind(IntEnum):
    """Types of a column's values."""

    INT64 = 0
    FLOAT64 = 1
    INT32 = 2


class SourceFlag(IntFlag):
    """What a source's lists may hold: a vertex more than once, or the vertex whose list it is.

    ``WITHIN``: nothing outside one range of the level. ``SYMMETRIC``: v is in u's lists if u is in v's.
    """

    REPEATS = 1
    LOOPS = 2
    WITHIN = 4
    SYMMETRIC = 8


class SearchMode(IntEnum):
    """What the levels after the enumerated ones give: rows, a count, or whether there is one."""

    ROWS = 0
    COUNT = 1
    EXISTS = 2


Span = tuple[int, int]
NO_SPAN: Span = (0, 0)


@record
class PlanTables:
    """The tables of one plan as they grow: lists of records, in the field order of the types above.

    ``keep`` holds every array that a record points into.
    """

    levels: list[tuple[Any, ...]] = field(default_factory=list)
    sources: list[tuple[int, int, Span]] = field(default_factory=list)
    ranges: list[Span] = field(default_factory=list)
    pairs: list[tuple[int, int, int, int]] = field(default_factory=list)
    conditions: list[tuple[int, int, int, int, Span, Span]] = field(default_factory=list)
    columns: list[tuple[int, int, int, int, int, int, int]] = field(default_factory=list)
    types: list[tuple[int, ...]] = field(default_factory=list)
    level_ids: list[int] = field(default_factory=list)
    list_ids: list[int] = field(default_factory=list)
    lists: list[bytes] = field(default_factory=list)
    keep: list[Any] = field(default_factory=list)

    def level_span(self, levels: Sequence[int]) -> Span:
        """Add a set of levels."""
        return span(self.level_ids, levels) if levels else NO_SPAN

    def plan(
        self, seeds: int, enumerated: int, mode: SearchMode, outputs: int, breadth_first: bool
    ) -> tuple[npt.NDArray[Any], tuple[npt.NDArray[Any], ...]]:
        """Return the plan as one record, and the tables that it points to, whose records point into ``keep``."""
        tables: tuple[npt.NDArray[Any], ...] = (
            np.array(self.levels, LEVEL),
            np.array(self.sources, SOURCE),
            np.array(self.ranges, RANGE),
            np.array(self.pairs, PAIR),
            np.array(self.conditions, CONDITION),
            np.array(self.columns, COLUMN),
            np.array(self.types, EDGE_TYPE),
            np.array(self.level_ids, np.int32),
            np.array(self.list_ids, np.int32),
            np.frombuffer(b"".join(self.lists), PCSR) if self.lists else np.empty(0, PCSR),
        )
        header = (len(self.levels), seeds, enumerated, int(mode), outputs, len(self.lists), int(breadth_first), 0)
        return np.array([(*header, *map(address_of, tables))], PLAN), tables


def records(address: int, dtype: npt.DTypeLike, n: int) -> npt.NDArray[Any]:
    """Return an array of native memory, not copied; it must not be used longer than the memory is there."""
    kind = np.dtype(dtype)
    if not (address and n):
        return np.empty(0, kind)
    memory: Any = (ctypes.c_char * (n * kind.itemsize)).from_address(address)
    found: npt.NDArray[Any] = np.frombuffer(memory, kind)
    return found


def span(table: list[Any], entries: Sequence[Any]) -> Span:
    """Append entries to a table and return where they are."""
    first = len(table)
    table.extend(entries)
    return first, len(entries)
