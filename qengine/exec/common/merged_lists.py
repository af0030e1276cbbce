"""The lists that a search reads together as one, kept with the graph: a vertex needs one look-up for all of them.

A pattern without a type reads the lists of each type in turn, most of which are empty where types are many; one without
a direction reads two, and unites them. To merge them takes as long as to read each entry some times, so they are merged
once searches have taken as long without, as one rents skis before one buys them; at once where a search is known to
take longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

import numpy as np

from qengine._beside import Beside
from qengine._frozen import frozen
from qengine.exec.common.lists_read import Part, parts_read, type_indices
from qengine.exec.common.operator_cache import PerOperatorCache
from qengine.exec.view import ExecView
from qengine.plan.pattern import Direction
from qengine.plan.physical import Search, VertexLevel
from qengine.storage.adjacency import Adjacency, Form
from qengine.storage.arrays import Array
from qengine.storage.kernels import sort_lists

SEVERAL = 2
"""Lists of a vertex from which on a search that reads their union is worth merging them for."""

MANY = 8
"""The same for what needs no union, and reads the lists one by one."""

MERGING = 40
"""Bytes an entry while lists are merged."""

_LOOK_UP = 65e-9  # seconds to find one list of a vertex
_MERGE = 60e-9  # seconds an entry to merge it


@frozen
class ReadTogether:
    """Lists that are read together at a vertex: ``most`` at one; which ones, and how many entries these have in all."""

    most: int
    entries: int
    of: frozenset[tuple[Part, ...]]


_NONE = ReadTogether(0, 0, frozenset())

_read: PerOperatorCache[ReadTogether] = PerOperatorCache()

_taken: Beside[float] = Beside()
"""By lists: the seconds that was taken by what read them one by one."""
_lock = Lock()


def is_due(store: ExecView, lists: ReadTogether, room: float, roots: int = 0) -> bool:
    """Tell whether what reads such lists at a vertex, at ``roots`` vertices at least, is to read merged ones.

    ``room``: bytes that may be taken while they are made.
    """
    if not lists.of:
        return False
    return (
        _fits(store, lists.entries)
        and MERGING * lists.entries <= room
        and _taken.of(store).get(lists.of, 0.0) + roots * lists.most * _LOOK_UP > _MERGE * lists.entries
    )


def note(store: ExecView, lists: ReadTogether, seconds: float) -> None:
    """Remember how long was taken by what read such lists one by one."""
    if lists.of:
        with _lock:
            taken = _taken.of(store)
            taken[lists.of] = taken.get(lists.of, 0.0) + seconds


def lists_at_once(store: ExecView, search: Search) -> ReadTogether:
    """Return which lists the levels of a search read together.

    None of one that goes breadth first: it goes on by positions in the lists of types, so it reads those.
    """
    if search.strategy == "extend":
        return _NONE
    return _read.get(store, search, lambda: (_of_search(store, search), True))


def _of_search(store: ExecView, search: Search) -> ReadTogether:
    found: set[tuple[Part, ...]] = set()
    for level in search.levels:
        if isinstance(level, VertexLevel):
            together = (parts_read(store, source.types, source.direction) for source in level.sources)
            found.update(parts for parts in together if len(parts) >= SEVERAL)
        elif len(types := type_indices(store, level.types)) >= MANY:
            found.add(tuple([(index, Direction.OUT) for index in types]))
    return _together(store, found)


def read_by_walks(store: ExecView, parts: tuple[Part, ...]) -> ReadTogether:
    """Return the lists that walks read at each vertex, which are many or none."""
    return _together(store, {parts}) if len(parts) >= MANY else _NONE


def _together(store: ExecView, found: set[tuple[Part, ...]]) -> ReadTogether:
    entries = sum(store.types[index].count for parts in found for index, _ in parts)
    return ReadTogether(max(map(len, found)), entries, frozenset(found)) if found else _NONE


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
    reason = "lists that are read together, merged"
    return Adjacency(Form.DENSE, 0, len(offsets) - 1, neighbours, ids, offsets, reason=reason)
