"""The lists of many relationship types as one, kept with the graph, so that a vertex needs one look-up for all of them.

A pattern without a type reads the lists of each type in turn, most of which are empty where types are many. To merge
them takes as long as to read each entry some times, so they are merged once searches have taken as long without, as one
rents skis before one buys them; at once where a search is known to take longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from weakref import WeakKeyDictionary

import numpy as np

from qengine.exec.view import ExecView
from qengine.plan.pattern import Direction
from qengine.plan.physical import Search, VertexLevel
from qengine.storage.adjacency import Adjacency, Form
from qengine.storage.arrays import Array
from qengine.storage.kernels import sort_lists

__all__ = ["MANY", "MERGING", "Part", "entries_of", "is_due", "lists_at_once", "merged_edges", "merged_entries",
           "merged_neighbours", "note"]  # fmt: skip

Part = tuple[int, Direction]
"""The lists of a type in a direction."""

MANY = 8
"""Lists that are read one by one at a vertex, at most; more are worth merging."""

MERGING = 40
"""Bytes an entry while lists are merged."""

_LOOK_UP = 65e-9  # seconds to find one list of a vertex
_MERGE = 60e-9  # seconds an entry to merge it

_taken: WeakKeyDictionary[ExecView, float] = WeakKeyDictionary()
"""Seconds that searches have taken that read many lists one by one."""
_lock = Lock()


def is_due(store: ExecView, lists: int, room: float, roots: int = 0) -> bool:
    """Tell whether what reads so many lists of a vertex, of ``roots`` vertices at least, is to read merged ones.

    ``room``: bytes that may be taken while they are made.
    """
    if lists < MANY:
        return False
    entries = sum(kind.count for kind in store.types)
    return (
        _fits(store, entries)
        and MERGING * entries <= room
        and _taken.get(store, 0.0) + roots * lists * _LOOK_UP > _MERGE * entries
    )


def note(store: ExecView, lists: int, seconds: float) -> None:
    """Remember how long was taken by what read so many lists of a vertex one by one."""
    if lists >= MANY:
        with _lock:
            _taken[store] = _taken.get(store, 0.0) + seconds


def lists_at_once(store: ExecView, search: Search) -> int:
    """Return how many lists a level of a search may read at a vertex.

    None of one that goes breadth first: it goes on by positions in the lists of types, so it reads those.
    """
    most = 0
    for level in search.levels if search.strategy != "extend" else ():
        for source in level.sources if isinstance(level, VertexLevel) else (level,):
            types = len(source.types) or len(store.types)
            most = max(most, types * (1 + (source.direction is Direction.BOTH)))
    return most


def merged_neighbours(store: ExecView, parts: Sequence[Part]) -> Adjacency:
    """Return which vertices lists lead to, each once, whichever list it is in; it has no ids of relationships."""

    def make() -> Adjacency:
        offsets, neighbours, _ = _sorted(store, parts, ids=False)
        new = np.ones(len(neighbours), np.bool_)
        np.not_equal(neighbours[1:], neighbours[:-1], out=new[1:])
        begins = offsets[:-1][offsets[1:] > offsets[:-1]].astype(np.int64)
        new[begins] = True
        if new.all():
            return _dense(offsets, neighbours)
        kept = np.concatenate(([0], np.cumsum(new))).astype(np.uint64)
        return _dense(kept[offsets.astype(np.int64)], neighbours[new])

    found: Adjacency = store.derived.get(("merged", tuple(parts)), make)
    return found


def merged_edges(store: ExecView, types: Sequence[int]) -> Adjacency:
    """Return the OUT lists of types as one, with global ids beside its entries."""

    def make() -> Adjacency:
        offsets, neighbours, ids = _sorted(store, [(index, Direction.OUT) for index in types], ids=True)
        return _dense(offsets, neighbours, ids)

    found: Adjacency = store.derived.get(("merged edges", tuple(types)), make)
    return found


def entries_of(store: ExecView, part: Part) -> tuple[Array, Array]:
    """Return of each entry of lists the vertex whose list it is in, and the neighbour (both uint32), in their order."""
    lists = store.adjacency(*part)
    vertices, begins = lists.list_index()
    lengths: Array = begins[1:].astype(np.int64) - begins[:-1].astype(np.int64)
    if isinstance(vertices, int):
        vertices = np.arange(vertices, vertices + len(lengths), dtype=np.uint32)
    return np.repeat(vertices, lengths), lists.neighbours


def merged_entries(store: ExecView, parts: Sequence[Part], loops: Sequence[bool]) -> tuple[Array, Array]:
    """Return the entries of lists by vertex and neighbour, parallel ones as often as they are there.

    ``loops``: for each list whether its self-loops are wanted.

    Returns
    -------
    offsets : uint64[vertices + 1]
    neighbours : uint32
    """
    offsets, neighbours, _ = _sorted(store, parts, loops, ids=False)
    return offsets, neighbours


def _fits(store: ExecView, entries: int) -> bool:
    """Tell whether the graph keeps the lists of all its relationships, whose ids fit into 32 bits."""
    most: int = store.derived.most
    return entries < 2**32 and 8 * (store.vertex_count + 1) + 8 * entries <= most


def _sorted(
    store: ExecView, parts: Sequence[Part], loops: Sequence[bool] = (), *, ids: bool
) -> tuple[Array, Array, Array]:
    """Return the entries of lists by vertex and neighbour: offsets, neighbours, and global ids if they are wanted."""
    owners, neighbours, numbers = [], [], []
    for place, (index, way) in enumerate(parts):
        own, entries = entries_of(store, (index, way))
        if loops and not loops[place]:
            other = own != entries
            own, entries = own[other], entries[other]
        owners.append(own)
        neighbours.append(entries)
        if ids:
            base = store.types[index].base
            numbers.append(np.arange(base, base + len(entries), dtype=np.uint32))
    n = store.vertex_count
    offsets, found, order = sort_lists(np.concatenate(owners), 0, n, np.concatenate(neighbours), order=ids)
    return offsets, found, np.concatenate(numbers)[order] if ids else found


def _dense(offsets: Array, neighbours: Array, ids: Array | None = None) -> Adjacency:
    reason = "the lists of many types, merged"
    return Adjacency(Form.DENSE, 0, len(offsets) - 1, neighbours, ids, offsets, reason=reason)
