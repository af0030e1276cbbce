"""Mirrors of the structs that the native functions of loading take (``kernels/host/load/loading.h``)."""

from __future__ import annotations

import ctypes

_POINTER, _I32, _U32, _I64, _U64 = (
    ctypes.c_void_p,
    ctypes.c_int32,
    ctypes.c_uint32,
    ctypes.c_int64,
    ctypes.c_uint64,
)


class RowIndex(ctypes.Structure):
    """Mirror of ``qe::RowIndex``."""

    _fields_ = (
        ("keys", _POINTER),
        ("begins", _POINTER),
        ("ends", _POINTER),
        ("n", _U64),
        ("first", _U32),
        ("unused", _U32),
    )


class ListEntries(ctypes.Structure):
    """Mirror of ``qe::ListEntries``."""

    _fields_ = (("lists", _POINTER), ("entries", _POINTER), ("n", _U64), ("lo", _U32), ("n_lists", _U32))


class KeyedLists(ctypes.Structure):
    """Mirror of ``qe::KeyedLists``."""

    _fields_ = (("keys", _POINTER), ("offsets", _POINTER), ("neighbours", _POINTER), ("n_keys", _U64))


class MergedLists(ctypes.Structure):
    """Mirror of ``qe::MergedLists``."""

    _fields_ = (
        ("keys", _POINTER),
        ("offsets", _POINTER),
        ("neighbours", _POINTER),
        ("ids", _POINTER),
        ("n_keys", _U64),
    )


class KeyTable(ctypes.Structure):
    """Mirror of ``qe::KeyTable``."""

    _fields_ = (("entries", _POINTER), ("size", _U64), ("low", _I64), ("missing", _U32), ("unused", _U32))


class GroupedLists(ctypes.Structure):
    """Mirror of ``qe::GroupedLists``."""

    _fields_ = (
        ("rows", RowIndex),
        ("neighbours", _POINTER),
        ("group_ends", _POINTER),
        ("n_groups", _U32),
        ("low", _U32),
        ("high", _U32),
        ("sides", _I32),
    )


class PairTable(ctypes.Structure):
    """Mirror of ``qe::PairTable``."""

    _fields_ = (
        ("pairs", _POINTER),
        ("entries", _POINTER),
        ("owners", _POINTER),
        ("largest", _POINTER),
        ("moments", _POINTER),
        ("capacity", _U64),
    )


class WedgeLists(ctypes.Structure):
    """Mirror of ``qe::WedgeLists``."""

    _fields_ = (
        ("rows", RowIndex),
        ("neighbours", _POINTER),
        ("out", _POINTER),
        ("undirected", _I32),
        ("unused", _U32),
    )


class EdgeColumns(ctypes.Structure):
    """Mirror of ``qe::EdgeColumns``."""

    _fields_ = (("first", _POINTER), ("second", _POINTER), ("third", _POINTER))


class EdgeLines(ctypes.Structure):
    """Mirror of ``qe::EdgeLines``."""

    _fields_ = (("n_rows", _U64), ("n_lines", _U64), ("bad_line", _U64))

    n_rows: int
    n_lines: int
    bad_line: int


class Runs(ctypes.Structure):
    """Mirror of ``qe::Runs``."""

    _fields_ = (("begins", _POINTER), ("sources", _POINTER), ("n", _U64), ("n_old", _U64))


class Moves(ctypes.Structure):
    """Mirror of ``qe::Moves``."""

    _fields_ = (("points", _POINTER), ("shifts", _POINTER), ("n", _U64))


class SplicedRows(ctypes.Structure):
    """Mirror of ``qe::SplicedRows``."""

    _fields_ = (
        ("runs", Runs),
        ("fresh", _POINTER),
        ("offsets", _POINTER),
        ("n_old", _U64),
        ("old_low", _U64),
        ("low", _U64),
        ("n_rows", _U64),
    )


class Relisting(ctypes.Structure):
    """Mirror of ``qe::Relisting``."""

    _fields_ = (
        ("old", _POINTER),
        ("origins", _POINTER),
        ("new_ids", _POINTER),
        ("gone", _POINTER),
        ("owners", _POINTER),
        ("entries", _POINTER),
        ("sources", _POINTER),
        ("n_added", _U64),
        ("places", _POINTER),
        ("n_vertices", _U64),
    )


STRUCTS: tuple[type[ctypes.Structure], ...] = (
    RowIndex,
    ListEntries,
    KeyedLists,
    MergedLists,
    KeyTable,
    GroupedLists,
    PairTable,
    WedgeLists,
    EdgeColumns,
    EdgeLines,
    Runs,
    Moves,
    SplicedRows,
    Relisting,
)
"""In the order of ``qe_loading_layout``."""
