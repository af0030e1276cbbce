"""Mirrors of the structs that the native functions of loading take (``kernels/host/load/loading.h``)."""

from __future__ import annotations

import ctypes

from qengine import _native


class RowIndex(ctypes.Structure):
    """Mirror of ``qe::RowIndex``."""

    _fields_ = _native.fields("p keys begins ends; u8 n; u4 first unused")


class ListEntries(ctypes.Structure):
    """Mirror of ``qe::ListEntries``."""

    _fields_ = _native.fields("p lists entries; u8 n; u4 lo n_lists")


class KeyedLists(ctypes.Structure):
    """Mirror of ``qe::KeyedLists``."""

    _fields_ = _native.fields("p keys offsets neighbours; u8 n_keys")


class MergedLists(ctypes.Structure):
    """Mirror of ``qe::MergedLists``."""

    _fields_ = _native.fields("p keys offsets neighbours ids; u8 n_keys")


class KeyTable(ctypes.Structure):
    """Mirror of ``qe::KeyTable``."""

    _fields_ = _native.fields("p entries; u8 size; i8 low; u4 missing unused")


class GroupedLists(ctypes.Structure):
    """Mirror of ``qe::GroupedLists``."""

    _fields_ = _native.fields(
        "RowIndex rows; p neighbours group_ends; u4 n_groups low high; i4 sides",
        RowIndex=RowIndex,
    )


class PairTable(ctypes.Structure):
    """Mirror of ``qe::PairTable``."""

    _fields_ = _native.fields("p pairs entries owners largest moments; u8 capacity")


class WedgeLists(ctypes.Structure):
    """Mirror of ``qe::WedgeLists``."""

    _fields_ = _native.fields("RowIndex rows; p neighbours out; i4 undirected; u4 unused", RowIndex=RowIndex)


class EdgeColumns(ctypes.Structure):
    """Mirror of ``qe::EdgeColumns``."""

    _fields_ = _native.fields("p first second third")


class EdgeLines(ctypes.Structure):
    """Mirror of ``qe::EdgeLines``."""

    _fields_ = _native.fields("u8 n_rows n_lines bad_line")

    n_rows: int
    n_lines: int
    bad_line: int


class Runs(ctypes.Structure):
    """Mirror of ``qe::Runs``."""

    _fields_ = _native.fields("p begins sources; u8 n n_old")


class Moves(ctypes.Structure):
    """Mirror of ``qe::Moves``."""

    _fields_ = _native.fields("p points shifts; u8 n")


class SplicedRows(ctypes.Structure):
    """Mirror of ``qe::SplicedRows``."""

    _fields_ = _native.fields("Runs runs; p fresh offsets; u8 n_old old_low low n_rows", Runs=Runs)


class Relisting(ctypes.Structure):
    """Mirror of ``qe::Relisting``."""

    _fields_ = _native.fields("p old origins new_ids gone owners entries sources; u8 n_added; p places; u8 n_vertices")


STRUCTS: tuple[type[ctypes.Structure], ...] = (
    RowIndex, ListEntries, KeyedLists, MergedLists, KeyTable, GroupedLists, PairTable, WedgeLists, EdgeColumns,
    EdgeLines, Runs, Moves, SplicedRows, Relisting,
)  # fmt: skip
"""In the order of ``qe_loading_layout``."""
