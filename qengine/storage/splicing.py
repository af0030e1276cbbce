"""The native functions that make lists from those of the version before, as functions of NumPy arrays."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from qengine import _native
from qengine._native import address
from qengine.storage.adjacency import Adjacency
from qengine.storage.arrays import Array
from qengine.storage.edits import Edit
from qengine.storage.kernels import check_status, threads
from qengine.storage.structs import Moves, Relisting, RowIndex, Runs, SplicedRows

_library = _native.declared(
    "qe_splice_entries p u4* u4* p u4* i4; qe_splice_offsets p u8* u8 u4* u8 u8* i4; "
    "qe_entry_places p u4* u4* u4* u8 u8* i4; qe_lists_repeat p u4* i4 p; qe_relist_offsets p u8* i4; "
    "qe_relist p u8* u4* u4* u4* i4"
)


def spliced_entries(old: Array, edit: Edit, added: Array, moved: Edit | None) -> Array:
    """Return entries (uint32) after an edit.

    Parameters
    ----------
    old
        uint32: those before.
    added
        uint32: those that come, in the edit's order.
    moved
        How the elements move whose ids the entries are; each id that stays in the lists stays in it. None where they
        don't.
    """
    out = np.empty(edit.count, np.uint32)
    cuts, _ = edit.stays
    begins = np.concatenate((edit.follow(cuts), edit.added))
    sources = np.concatenate((cuts, edit.before + np.arange(len(added))))
    order = np.argsort(begins)
    begins, sources = np.append(begins[order], edit.count).astype(np.uint64), sources[order].astype(np.uint64)
    runs = Runs(address(begins, np.uint64), address(sources, np.uint64), len(sources), edit.before)
    moves = None
    if moved is not None and moved.size:
        points, shifts = moved.moves
        moves = ctypes.byref(Moves(address(points, np.uint32), address(shifts, np.uint32), len(points)))
    before, come = np.ascontiguousarray(old), np.ascontiguousarray(added)
    _call("qe_splice_entries", ctypes.byref(runs), before, come, moves, out, threads())
    return out


def spliced_offsets(lists: Adjacency, vertices: Edit | None, edit: Edit, owners: Array, rows: tuple[int, int]) -> Array:
    """Return the offsets (uint64) of dense lists after an edit of their entries.

    Parameters
    ----------
    lists
        Those before.
    vertices
        How vertices move; those that go, or come again elsewhere, lose all entries. None where ids stay.
    edit
        Of the entries.
    owners
        uint32, ascending: the new ids of the vertices whose lists the entries that come belong to.
    rows
        The new vertices ``[lo, hi)`` that the offsets are for; all others have no entries.
    """
    begins, sources, fresh = np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.uint8)
    if vertices is not None:
        cuts, _ = vertices.stays
        begins = np.concatenate((vertices.follow(cuts), vertices.added))
        order = np.argsort(begins)
        begins, sources = begins[order], np.concatenate((cuts, vertices.at))[order]
        fresh = (order >= len(cuts)).astype(np.uint8)
    begins = np.append(begins, max(rows[1], vertices.count if vertices is not None else 0)).astype(np.uint64)
    sources = sources.astype(np.uint64)
    assert lists.offsets is not None
    offsets, removed = np.ascontiguousarray(lists.offsets), edit.removed.astype(np.uint64)
    given = SplicedRows(
        Runs(address(begins, np.uint64), address(sources, np.uint64), len(sources), 0),
        address(fresh, np.uint8),
        address(offsets, np.uint64),
        len(offsets) - 1,
        lists.lo,
        rows[0],
        rows[1] - rows[0],
    )
    out = np.empty(rows[1] - rows[0] + 1, np.uint64)
    _call("qe_splice_offsets", ctypes.byref(given), removed, len(removed), owners, len(owners), out, threads())
    return out


def entry_places(lists: Adjacency, owners: Array, bounds: Array, ids: Array | None = None) -> Array:
    """Return places (int64) in lists: of an owner's first entry that is at least a bound.

    With ``ids`` (uint32): of the entry ``bound`` that stands beside an id. ``owners``, ``bounds``: uint32. In dense
    lists an owner without one has the place where it would be.
    """
    places = np.empty(len(owners), np.uint64)
    _call("qe_entry_places", ctypes.addressof(lists.struct), owners, bounds, ids, len(owners), places, threads())
    return places.astype(np.int64)


def repeats(lists: Adjacency, *, loops: bool = False) -> bool:
    """Tell whether a list holds a neighbour twice; with ``loops`` whether a vertex is in its own list."""
    keys, first, begins, ends = lists.row_index()
    begins, ends = np.ascontiguousarray(begins), np.ascontiguousarray(ends)
    owners = None if keys is None else address(keys, np.uint32)
    rows = RowIndex(owners, address(begins, np.uint64), address(ends, np.uint64), len(begins), first)
    neighbours = np.ascontiguousarray(lists.neighbours)
    found = ctypes.c_int32()
    _call("qe_lists_repeat", ctypes.byref(rows), neighbours, loops, ctypes.byref(found))
    return bool(found.value)


def relist(
    lists: Adjacency,
    vertices: Edit | None,
    count: int,
    gone: Array | None,
    added: tuple[Array, Array, Array],
    places: Array | None,
    *,
    beside: bool,
    inverse: Array | None = None,
) -> tuple[Array, Array, Array | None]:
    """Make lists anew, of vertices in a new order.

    Parameters
    ----------
    lists
        Those before, of any form.
    vertices
        How vertices move; None where ids stay.
    count
        How many vertices there are now.
    gone
        uint8, by place: 1 for each entry that goes; None where none does.
    added
        Owners, entries and sources (all uint32) of what comes, by owner and entry.
    places
        uint32, by source, which is an old relationship id or that of a new one: the new id.
    beside
        Whether to return what stands beside the entries: new ids, without ``places`` sources.
    inverse
        uint32, by source: where to write the place of each entry.

    Returns
    -------
    offsets : uint64[count + 1]
    entries : uint32
    beside : uint32 or None

    Raises
    ------
    InternalError
        If an entry stays of a vertex that has gone.
    """
    owners, entries, sources = added
    given = Relisting(
        ctypes.addressof(lists.struct),
        None if vertices is None else address(vertices.old_places, np.int64),
        None if vertices is None else address(vertices.new_places, np.uint32),
        None if gone is None else address(gone, np.uint8),
        address(owners, np.uint32),
        address(entries, np.uint32),
        address(sources, np.uint32),
        len(owners),
        None if places is None else address(places, np.uint32),
        count,
    )
    offsets = np.empty(count + 1, np.uint64)
    _call("qe_relist_offsets", ctypes.byref(given), offsets, threads())
    made = np.empty(int(offsets[-1]), np.uint32)
    ids = np.empty(len(made), np.uint32) if beside else None
    _call("qe_relist", ctypes.byref(given), offsets, made, ids, inverse, threads())
    return offsets, made, ids


def _call(name: str, *arguments: Any) -> None:
    check_status(name, getattr(_library(), name)(*arguments))
