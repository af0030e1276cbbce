"""A relationship type of the next version of a graph: lists that lack some relationships and have new ones.

Few changes are spliced into lists of the dense form, when these are first read, in about the time of copying them. Many
changes, and other forms, are made anew list by list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np

from qengine._frozen import frozen, replace
from qengine.errors import InternalError
from qengine.plan.pattern import Direction
from qengine.storage.adjacency import Adjacency, Form
from qengine.storage.arrays import Array
from qengine.storage.edits import Edit, LaterEdit, Order, among, ascending
from qengine.storage.forms import Lists, choose_changing, index, span_of
from qengine.storage.list_changes import ListChange, are_many, list_change, near
from qengine.storage.pcsr_build import build_type, turned_lists
from qengine.storage.spliced_lists import Splice, SplicedAdjacency, key_places
from qengine.storage.splicing import entry_places, relist, repeats

_FEW = 32  # a type is spliced where at most one of so many relationships changes
_ROUNDS = 32  # in which new relationships are found to be on no circle
_DEEPEST = 4  # lists that were never read, one spliced from the other
_SCANNED = 256  # with more than one of so many to be found among the entries of the other direction, all are read

Changes = Callable[[], Mapping[Direction, ListChange] | None]
Doubts = Callable[[], tuple[bool, bool]]
Ends = tuple[Array, Array, Array]
"""Starts, ends (uint32, vertex ids) and sources of relationships: local ids, from the type's count on new ones."""


@frozen
class Change:
    """What changes of a type.

    ``gone``: local ids (int64, ascending). ``starts``, ``ends``: uint32, new vertex ids of new relationships.
    ``vertices``: how vertices move, None where ids stay; ``vertex_count``: how many there are now. ``keeps_ids``:
    properties make relationship ids necessary. ``relabelled``: vertices (int64) whose labels change and whose ids stay.
    """

    gone: Array
    starts: Array
    ends: Array
    vertices: Edit | None
    vertex_count: int
    keeps_ids: bool
    relabelled: Array


@frozen
class SplicedType:
    """A type's adjacencies and facts.

    ``origin``: how its local ids follow from those before; None where they stay. ``changes``: tells what changes of its
    lists, by direction, where that is small. ``doubts``: tells whether new relationships may have made a circle, and
    whether they may join vertices both ways that were joined one way; None where neither is so. ``made_anew``: whether
    all lists were made anew for few changes, so that those that come can be spliced.
    """

    adjacencies: Mapping[Direction, Adjacency]
    origin: Edit | Order | None
    parallel: bool
    loops: bool
    changes: Changes | None = None
    doubts: Doubts | None = None
    made_anew: bool = False


def changed_type(before: SplicedType, change: Change) -> SplicedType:
    """Return a type with a change.

    Raises
    ------
    InternalError
        If a vertex that goes has relationships that don't.
    """
    out = before.adjacencies[Direction.OUT]
    edits = len(change.gone) + len(change.starts)
    found = None
    if edits * _FEW <= len(out) and all(one.form is Form.DENSE for one in before.adjacencies.values()):
        again = _of_moved(before.adjacencies, change, len(out) // max(_FEW, 1) - edits)
        if again is not None:
            found = _spliced(before, change, again)
    return found or replace(_relisted(before, change), made_anew=edits * _FEW <= len(out))


def relabelled_type(before: SplicedType, relabelled: Array) -> SplicedType:
    """Return a type of whose vertices some (int64) have other labels, and which stays as it is."""
    if are_many(relabelled):
        return before

    def changes() -> Mapping[Direction, ListChange] | None:
        nothing = np.empty(0, np.uint32)
        found = []
        for way, others in near(before.adjacencies, relabelled).items():
            lists = before.adjacencies[way]
            none = Edit(len(lists), *(np.empty(0, np.int64),) * 3)
            found.append(list_change(lists, None, none, nothing, nothing, others))
        return _both(_other(before.adjacencies), found)

    return replace(before, changes=changes)


def _both(other: Direction, changes: Sequence[ListChange | None]) -> Mapping[Direction, ListChange] | None:
    """Return the changes of OUT and of the other direction, if both are known."""
    found = {way: each for way, each in zip((Direction.OUT, other), changes, strict=False) if each is not None}
    return found if len(found) == 2 else None


def new_type(starts: Array, ends: Array, *, keeps_ids: bool, undirected: bool = False) -> SplicedType:
    """Return a type of relationships in any order; arguments as in ``Change``."""
    built = build_type(starts, ends, undirected=undirected, properties=True)
    found = dict(built.adjacencies)
    if not (keeps_ids or built.parallel):
        other = _other(found)
        found[other] = replace(found[other], edge_ids=None)
    assert built.order is not None
    return SplicedType(found, Order(0, built.order), built.parallel, built.loops)


def _other(adjacencies: Mapping[Direction, Adjacency]) -> Direction:
    return Direction.BOTH if Direction.BOTH in adjacencies else Direction.IN


# ---------------------------------------------------------------- few changes


def _of_moved(adjacencies: Mapping[Direction, Adjacency], change: Change, most: int) -> Array | None:
    """Return the local ids, ascending, of relationships that stay and whose vertices move on their own.

    None where there are more than ``most``.
    """
    if change.vertices is None or not len(change.vertices.removed):
        return np.empty(0, np.int64)
    moved = change.vertices.removed
    for lists in adjacencies.values():
        begins, ends = lists.locate_all(moved.astype(np.uint32))
        if int((ends - begins).sum()) > most + len(change.gone):
            return None
    again = relationships_of(adjacencies, moved)
    again = again[~among(again, change.gone)]
    return None if len(again) > most else again


def relationships_of(adjacencies: Mapping[Direction, Adjacency], vertices: Array) -> Array:
    """Return the local ids (int64, ascending) of a type's relationships that some vertices (ascending) are ends of."""
    moved = vertices.astype(np.uint32)
    other = _other(adjacencies)
    out, turned = adjacencies[Direction.OUT], adjacencies[other]
    found = []
    for lists in (out, turned):
        begins, ends = (each.astype(np.int64) for each in lists.locate_all(moved))
        lengths = ends - begins
        firsts = np.cumsum(lengths) - lengths
        places = np.repeat(begins - firsts, lengths) + np.arange(int(lengths.sum()))
        if lists is turned:
            if turned.edge_ids is None:
                owners, neighbours = np.repeat(moved, lengths), turned.neighbours[places]
                places = entry_places(out, neighbours, owners)
                if other is Direction.BOTH:
                    same = out.neighbours[np.minimum(places, len(out) - 1)] == owners
                    same[same] = out.owners(places[same]) == neighbours[same]
                    places = places[same]
            else:
                places = turned.edge_ids[places].astype(np.int64)
        found.append(places)
    return ascending(np.concatenate(found))


def _spliced(before: SplicedType, change: Change, again: Array) -> SplicedType | None:
    """Splice; None where another form or relationship ids would be needed."""
    other = _other(before.adjacencies)
    out, turned, vertices = before.adjacencies[Direction.OUT], before.adjacencies[other], change.vertices
    if change.keeps_ids and not turned.has_ids:
        return None
    for lists in (out, turned):
        if isinstance(lists, SplicedAdjacency) and lists.depth >= _DEEPEST:
            lists.make_all()
    removed = ascending(np.concatenate((change.gone, again)))
    starts, ends, sources = _sorted(_added(out, change, again))
    edit = LaterEdit(len(out), removed, lambda: key_places(out, vertices, starts, ends)[0], sources)
    both = other is Direction.BOTH
    owners, entries, order = _turned(starts, ends, np.arange(len(starts)), both)
    old_ends = (out.owners(removed), out.neighbours[removed]) if len(removed) else (starts[:0], ends[:0])

    def find() -> Edit:
        gone = _turned_places(turned, removed, old_ends, both)
        return Edit(
            len(turned), gone, key_places(turned, vertices, owners, entries)[0], np.zeros(len(owners), np.int64)
        )

    ids = (edit, lambda: edit.added[order].astype(np.uint32)) if turned.has_ids else None
    back = Splice(turned, vertices, find, owners, entries, ids)
    forth = Splice(out, vertices, lambda: edit, starts, ends, None)
    loops = old_ends[0] == old_ends[1]
    size = len(turned) + (len(owners) - len(removed)) - (int((~loops).sum()) if both else 0)
    made = SplicedAdjacency.of(forth, edit.count), SplicedAdjacency.of(back, size)
    if made[0] is None or made[1] is None:
        return None
    splice, pairs = (back, (owners, entries)) if both else (forth, (starts, ends))
    parallel = before.parallel and (not len(removed) or not _cuts_repeats(out, removed, both))
    parallel = parallel or _repeat(splice, *pairs) or (before.parallel and repeats(made[1] if both else made[0]))
    if parallel and not turned.has_ids:
        return None
    has_loops = bool((starts == ends).any())
    if before.loops and not has_loops:
        has_loops = not loops.any() or repeats(made[0], loops=True)

    def changes() -> Mapping[Direction, ListChange] | None:
        if are_many(change.relabelled):
            return None
        touched = near(before.adjacencies, change.relabelled)
        one = list_change(out, vertices, edit, starts, ends, touched[Direction.OUT])
        return _both(other, (one, list_change(turned, vertices, back.edit, owners, entries, touched[other])))

    origin = edit if edit.size else None
    doubts = (
        None if both or not len(change.starts) else cache(lambda: _doubts(before.adjacencies, vertices, starts, ends))
    )
    made_both = {Direction.OUT: made[0], other: made[1]}
    return SplicedType(made_both, origin, parallel, has_loops, changes, doubts)


def _repeat(splice: Splice, owners: Array, entries: Array) -> bool:
    """Tell whether an entry that comes is one that stays, or one that comes, too."""
    if ((owners[1:] == owners[:-1]) & (entries[1:] == entries[:-1])).any():
        return True
    lists = splice.lists
    if splice.vertices is None:
        known = (owners >= lists.lo) & (owners < lists.hi)  # others have no entries
        owners, entries = owners[known], entries[known]
    if not len(owners):
        return False
    at, same = key_places(lists, splice.vertices, owners, entries)
    return bool(same.any()) and bool((same & ~among(at - 1, splice.edit.removed)).any())


def _doubts(
    adjacencies: Mapping[Direction, Adjacency], vertices: Edit | None, starts: Array, ends: Array
) -> tuple[bool, bool]:
    """Return what ``SplicedType.doubts`` tells of new relationships, sorted by start and end."""
    out, turned = adjacencies[Direction.OUT], adjacencies[Direction.IN]
    begun, reached = (_used(lists, vertices, each).tolist() for lists, each in ((turned, starts), (out, ends)))
    pairs = list(zip(starts.tolist(), ends.tolist(), begun, reached, strict=True))
    for _ in range(_ROUNDS):  # none is on a circle to whose start no other one comes, or from whose end none goes on
        begin, end = {start for start, *_ in pairs}, {end for _, end, *_ in pairs}
        left = [pair for pair in pairs if (pair[2] or pair[0] in end) and (pair[3] or pair[1] in begin)]
        if len(left) == len(pairs):
            break
        pairs = left
    if not pairs:
        return False, False
    order = np.lexsort((starts, ends))
    owners, entries = ends[order], starts[order]
    apart = owners != entries
    owners, entries = owners[apart], entries[apart]
    back = key_places(out, vertices, owners, entries)[1].any()
    forth, again = (one.astype(np.uint64) << 32 | other for one, other in ((starts, ends), (owners, entries)))
    return True, bool(back or np.isin(again, forth).any())


def _used(lists: Adjacency, vertices: Edit | None, some: Array) -> Array:
    """Tell which of some vertices (uint32, new ids) had entries in lists."""
    if vertices is None and not ((some >= lists.lo) & (some < lists.hi)).any():
        return np.zeros(len(some), np.bool_)
    old, stays = some.astype(np.int64), np.ones(len(some), np.bool_)
    if vertices is not None:
        old, stays = vertices.back(old)
    begins, ends = lists.locate_all(old.astype(np.uint32))
    found: Array = stays & (begins != ends)
    return found


def _cuts_repeats(out: Adjacency, removed: Array, both: bool) -> bool:
    """Tell whether relationships that go may be parallel to others."""
    if both:
        return len(removed) > 0
    near = np.concatenate((removed - 1, removed + 1))
    gone = np.concatenate((removed, removed))
    inside = (near >= 0) & (near < len(out))
    near, gone = near[inside], gone[inside]
    same = out.neighbours[near] == out.neighbours[gone]
    return bool((out.owners(near[same]) == out.owners(gone[same])).any())


def _added(out: Adjacency, change: Change, again: Array) -> Ends:
    """Return what comes: the relationships of vertices that move on their own, and new ones."""
    sources = np.concatenate((again, len(out) + np.arange(len(change.starts))))
    if not len(again):
        return change.starts, change.ends, sources
    assert change.vertices is not None
    ends = [out.owners(again).astype(np.int64), out.neighbours[again].astype(np.int64)]
    deleted = change.vertices.removed[~among(change.vertices.removed, np.sort(change.vertices.sources))]
    if any(among(each, deleted).any() for each in ends):
        raise InternalError("A deleted node still has relationships.")
    starts, own_ends = (change.vertices.find(each).astype(np.uint32) for each in ends)
    return np.concatenate((starts, change.starts)), np.concatenate((own_ends, change.ends)), sources


def _sorted(ends: Ends) -> Ends:
    """Sort relationships by start and end, equal ones by source."""
    order = np.lexsort((ends[2], ends[1], ends[0]))
    return ends[0][order], ends[1][order], ends[2][order]


def _turned(starts: Array, ends: Array, ids: Array, both: bool) -> Ends:
    """Return owners, entries and ids of relationships in the other direction, sorted."""
    owners, entries = ends, starts
    if both:
        twice = starts != ends
        owners, entries = np.concatenate((starts, ends[twice])), np.concatenate((ends, starts[twice]))
        ids = np.concatenate((ids, ids[twice]))
    return _sorted((owners, entries, ids))


def _turned_places(turned: Adjacency, removed: Array, ends: tuple[Array, Array], both: bool) -> Array:
    """Return where relationships stand in the dense lists of the other direction, ascending."""
    if turned.edge_ids is not None and len(removed) * _SCANNED > len(turned):
        return np.flatnonzero(_marked(removed, int(turned.edge_ids.max()) + 1)[turned.edge_ids])
    starts, own_ends = ends
    ids = removed.astype(np.uint32)
    if both:
        twice = starts != own_ends
        starts, own_ends = np.concatenate((starts, own_ends[twice])), np.concatenate((own_ends, starts[twice]))
        ids = np.concatenate((ids, ids[twice]))
    return np.sort(entry_places(turned, own_ends, starts, None if turned.edge_ids is None else ids))


def _marked(places: Array, length: int) -> Array:
    """Return uint8: 1 at some places."""
    marks = np.zeros(length, np.uint8)
    marks[places] = 1
    return marks


# ---------------------------------------------------------------- many changes


def _relisted(before: SplicedType, change: Change) -> SplicedType:
    """Make all lists anew."""
    other = _other(before.adjacencies)
    out = before.adjacencies[Direction.OUT]
    fresh = len(out) + np.arange(len(change.starts), dtype=np.int64)
    starts, ends, sources = _sorted((change.starts, change.ends, fresh))
    gone = _marked(change.gone, len(out)) if len(change.gone) else None
    places = np.empty(len(out) + len(fresh), np.uint32)
    added = starts, ends, sources.astype(np.uint32)
    made = relist(out, change.vertices, change.vertex_count, gone, added, None, beside=True, inverse=places)
    plain, order = _lists(made[0], made[1], None), made[2]
    assert order is not None
    lists, moved = _indexed(plain)
    if moved is not None:
        placed = np.empty_like(order)
        placed[moved] = order
        order = placed
        places[order] = np.arange(len(order), dtype=np.uint32)
    back = _relisted_back(before, change, added, places)
    parallel = back is not None and _repeats(back)
    if back is None or (back.ids is None and (parallel or change.keeps_ids)):
        back = turned_lists(plain, undirected=other is Direction.BOTH)
        parallel = _repeats(back)
        if moved is not None:
            back = back._replace(ids=moved[back.ids])
    if not (change.keeps_ids or parallel):
        back = back._replace(ids=None)
    loops = (before.loops or bool((starts == ends).any())) and repeats(lists, loops=True)
    made_both = {Direction.OUT: lists, other: _indexed(back)[0]}
    doubts = (lambda: (True, True)) if other is Direction.IN and len(change.starts) else None
    return SplicedType(made_both, Order(len(out), order), parallel, loops, doubts=doubts)


def _relisted_back(before: SplicedType, change: Change, added: Ends, places: Array) -> Lists | None:
    """Return the lists of the other direction, made from those before; None where they lack ids that are needed."""
    other = _other(before.adjacencies)
    both = other is Direction.BOTH
    out, turned = before.adjacencies[Direction.OUT], before.adjacencies[other]
    if change.keeps_ids and not turned.has_ids:
        return None
    gone = None
    if len(change.gone) and turned.edge_ids is not None:
        gone = _marked(change.gone, len(out))[turned.edge_ids]
    elif len(change.gone):
        ends = out.owners(change.gone), out.neighbours[change.gone]
        gone = _marked(_turned_places(turned, change.gone, ends, both), len(turned))
    given = _turned(*added, both)
    offsets, neighbours, ids = relist(
        turned, change.vertices, change.vertex_count, gone, given, places, beside=turned.has_ids
    )
    return _lists(offsets, neighbours, ids)


def _lists(offsets: Array, neighbours: Array, ids: Array | None) -> Lists:
    """Return lists of all vertices without the empty ones."""
    used = np.flatnonzero(offsets[1:] > offsets[:-1])
    return Lists(used.astype(np.uint32), np.append(offsets[used], offsets[-1]), neighbours, ids)


def _indexed(lists: Lists) -> tuple[Adjacency, Array | None]:
    return index(lists, *choose_changing(len(lists.keys), span_of(lists.keys), len(lists.neighbours)))


def _repeats(lists: Lists) -> bool:
    return repeats(Adjacency(Form.SORTED, 0, 0, lists.neighbours, None, lists.offsets, lists.keys))
