"""Mirrors of the structs that the native functions of loading take (``kernels/host/load/loading.h``)."""

from __future__ import annotations

import ctypes

from qengine import _native

RowIndex = _native.struct("qe::RowIndex", "p keys begins ends; u8 n; u4 first unused")
ListEntries = _native.struct("qe::ListEntries", "p lists entries; u8 n; u4 lo n_lists")
KeyedLists = _native.struct("qe::KeyedLists", "p keys offsets neighbours; u8 n_keys")
MergedLists = _native.struct("qe::MergedLists", "p keys offsets neighbours ids; u8 n_keys")
KeyTable = _native.struct("qe::KeyTable", "p entries; u8 size; i8 low; u4 missing unused")
GroupedLists = _native.struct(
    "qe::GroupedLists", "RowIndex rows; p neighbours group_ends; u4 n_groups low high; i4 sides", RowIndex=RowIndex
)
PairTable = _native.struct("qe::PairTable", "p pairs entries owners largest moments; u8 capacity")
WedgeLists = _native.struct(
    "qe::WedgeLists", "RowIndex rows; p neighbours out; i4 undirected; u4 unused", RowIndex=RowIndex
)
EdgeColumns = _native.struct("qe::EdgeColumns", "p first second third")
EdgeLines = _native.struct("qe::EdgeLines", "u8 n_rows n_lines bad_line")
Runs = _native.struct("qe::Runs", "p begins sources; u8 n n_old")
Moves = _native.struct("qe::Moves", "p points shifts; u8 n")
SplicedRows = _native.struct("qe::SplicedRows", "Runs runs; p fresh offsets; u8 n_old old_low low n_rows", Runs=Runs)
Relisting = _native.struct(
    "qe::Relisting", "p old origins new_ids gone owners entries sources; u8 n_added; p places; u8 n_vertices"
)


STRUCTS: tuple[type[ctypes.Structure], ...] = (
    RowIndex, ListEntries, KeyedLists, MergedLists, KeyTable, GroupedLists, PairTable, WedgeLists, EdgeColumns,
    EdgeLines, Runs, Moves, SplicedRows, Relisting,
)  # fmt: skip
"""In the order of ``qe_loading_layout``."""
