"""The native functions that make lists from those of the version before, as functions of NumPy arrays."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np

from qengine import _native
from qengine.storage.adjacency import Adjacency
from qengine.storage.arrays import Array
from qengine.storage.edits import Edit
from qengine.storage.kernels import address, check_status, threads
from qengine.storage.structs import Moves, Relisting, RowIndex, Runs, SplicedRows

_POINTER, _I32, _U64 = ctypes.c_void_p, ctypes.c_int32, ctypes.c_uint64
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "qe_splice_entries": (*(_POINTER,) * 5, _I32),
    "qe_splice_offsets": (_POINTER, _POINTER, _U64, _POINTER, _U64, _POINTER, _I32),
    "qe_entry_places": (*(_POINTER,) * 4, _U64, _POINTER, _I32),
    "qe_lists_repeat": (_POINTER, _POINTER, _I32, _POINTER),
    "qe_relist_offsets": (_POINTER, _POINTER, _I32),
    "qe_relist": (*(_POINTER,) * 5, _I32),
}


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
    arrays = (address(each, np.uint32) for each in (np.ascontiguousarray(old), np.ascontiguousarray(added)))
    _call("qe_splice_entries", ctypes.byref(runs), *arrays, moves, address(out, np.uint32), threads())
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
    gone = address(removed, np.uint64), len(removed)
    come = address(owners, np.uint32), len(owners)
    _call("qe_splice_offsets", ctypes.byref(given), *gone, *come, address(out, np.uint64), threads())
    return out


def entry_places(lists: Adjacency, owners: Array, bounds: Array, ids: Array | None = None) -> Array:
    """Return places (int64) in lists: of an owner's first entry that is at least a bound.

    With ``ids`` (uint32): of the entry ``bound`` that stands beside an id. ``owners``, ``bounds``: uint32. In dense
    lists an owner without one has the place where it would be.
    """
    places = np.empty(len(owners), np.uint64)
    wanted = None if ids is None else address(ids, np.uint32)
    given = address(owners, np.uint32), address(bounds, np.uint32), wanted
    struct = ctypes.addressof(lists.struct)
    _call("qe_entry_places", struct, *given, len(owners), address(places, np.uint64), threads())
    return places.astype(np.int64)


def repeats(lists: Adjacency, *, loops: bool = False) -> bool:
    """Tell whether a list holds a neighbour twice; with ``loops`` whether a vertex is in its own list."""
    keys, first, begins, ends = lists.row_index()
    begins, ends = np.ascontiguousarray(begins), np.ascontiguousarray(ends)
    owners = None if keys is None else address(keys, np.uint32)
    rows = RowIndex(owners, address(begins, np.uint64), address(ends, np.uint64), len(begins), first)
    neighbours = np.ascontiguousarray(lists.neighbours)
    found = ctypes.c_int32()
    _call("qe_lists_repeat", ctypes.byref(rows), address(neighbours, np.uint32), loops, ctypes.byref(found))
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
    _call("qe_relist_offsets", ctypes.byref(given), address(offsets, np.uint64), threads())
    made = np.empty(int(offsets[-1]), np.uint32)
    ids = np.empty(len(made), np.uint32) if beside else None
    out = (None if each is None else address(each, np.uint32) for each in (made, ids, inverse))
    _call("qe_relist", ctypes.byref(given), address(offsets, np.uint64), *out, threads())
    return offsets, made, ids


@functools.cache
def _library() -> ctypes.CDLL:
    library = _native.load()
    for name, arguments in _SIGNATURES.items():
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, ctypes.c_int32
    return library


def _call(name: str, *arguments: Any) -> None:
    check_status(name, getattr(_library(), name)(*arguments))
