"""Builds a type's adjacencies from its relationships' end vertices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from qengine.plan.pattern import Direction
from qengine.storage.adjacency import Adjacency, Form
from qengine.storage.arrays import Array
from qengine.storage.forms import Lists, choose, index
from qengine.storage.kernels import merge_lists, owners, sort_lists

_COMPARED = 1 << 20  # entries compared at a time
_LOOKED_AT = 64  # entries, of which it is asked whether they are given both ways
_SPARSE = 4  # with fewer entries than a 4th of the id range, ids are ranked before they are counted


class BuiltType(NamedTuple):
    """A type's adjacencies, ``order`` (load row of each local id; None where nobody asked) and what was seen."""

    adjacencies: Mapping[Direction, Adjacency]
    order: Array | None
    parallel: bool
    loops: bool


def build_type(
    start: Array,
    end: Array,
    *,
    undirected: bool = False,
    properties: bool = False,
    form: Form | None = None,
    workers: int | None = None,
) -> BuiltType:
    """Index relationships by both ends.

    Local ids are positions in OUT: by start, end, load order; in the groups form lists stand group by group.

    Parameters
    ----------
    start, end
        uint32[m], vertex ids.
    undirected
        Build OUT and BOTH instead of OUT and IN.
    properties
        Whether ``order`` and the relationship ids of every entry are wanted.
    form
        The row index of all; None chooses for each.
    workers
        Threads; None for one a CPU.
    """
    lists, order = _sorted(start, end, properties, workers)
    loops = bool((start == end).any())
    del start, end
    parallel = repeats_neighbour(lists.neighbours, lists.offsets)
    parallel = parallel or (undirected and _some_both_ways(lists))
    turned = turned_lists(lists, undirected=undirected, ids=properties or parallel, workers=workers)
    if undirected and not parallel:
        parallel = repeats_neighbour(turned.neighbours, turned.offsets)
        if parallel and not properties:  # seen only now, when those of both directions are beside each other
            turned = turned_lists(lists, undirected=True, workers=workers)
    out, moved = _indexed(lists, form, positions=turned.ids is not None)
    del lists
    if moved is not None:
        if order is not None:
            placed = np.empty_like(order)
            placed[moved] = order
            order = placed
        turned = turned._replace(ids=moved[turned.ids])
    other, _ = _indexed(turned, form, positions=False)
    return BuiltType(
        {Direction.OUT: out, Direction.BOTH if undirected else Direction.IN: other}, order, parallel, loops
    )


def turned_lists(lists: Lists, *, undirected: bool = False, ids: bool = True, workers: int | None = None) -> Lists:
    """Return the lists of the other direction (undirected: of both).

    ``ids``: with the position in ``lists`` of each entry, which takes twice the memory and more.
    """
    turned, places = _sorted(lists.neighbours, owners(lists.keys, lists.offsets), ids, workers)
    if not undirected:
        return turned._replace(ids=places)
    keys = np.sort(np.concatenate([lists.keys, turned.keys]), kind="stable")  # merges what ascends in two runs
    first = np.ones(len(keys), np.bool_)
    first[1:] = keys[1:] != keys[:-1]
    keys = keys[first]
    return Lists(keys, *merge_lists(lists[:3], turned[:3], places, keys))


def _some_both_ways(lists: Lists) -> bool:
    """Tell whether one of a few entries stands in the other vertex's list, too, as where edges are given twice."""
    m = len(lists.neighbours)
    places = np.linspace(0, m - 1, min(m, _LOOKED_AT)).astype(np.uint64)
    own = lists.keys[np.searchsorted(lists.offsets, places, side="right") - 1]
    for one, other in zip(own, lists.neighbours[places], strict=True):
        row = int(np.searchsorted(lists.keys, other))
        if one == other or row == len(lists.keys) or lists.keys[row] != other:
            continue
        theirs = lists.neighbours[int(lists.offsets[row]) : int(lists.offsets[row + 1])]
        at = int(np.searchsorted(theirs, one))
        if at < len(theirs) and theirs[at] == one:
            return True
    return False


def _sorted(lists: Array, entries: Array, order: bool, workers: int | None) -> tuple[Lists, Array | None]:
    lo, hi = (int(lists.min()), int(lists.max()) + 1) if len(lists) else (0, 0)
    if hi - lo > _SPARSE * len(lists) + 1024:
        keys, ranks = np.unique(lists, return_inverse=True)
        offsets, neighbours, rows = sort_lists(
            ranks.astype(np.uint32), 0, len(keys), entries, order=order, workers=workers
        )
        return Lists(keys, offsets, neighbours, None), rows
    offsets, neighbours, rows = sort_lists(lists, lo, hi - lo, entries, order=order, workers=workers)
    used = np.flatnonzero(offsets[1:] > offsets[:-1])
    keys = (used + lo).astype(np.uint32)
    return Lists(keys, np.append(offsets[used], offsets[-1]), neighbours, None), rows


def _indexed(lists: Lists, form: Form | None, *, positions: bool) -> tuple[Adjacency, Array | None]:
    chosen, reason = choose(lists.keys, len(lists.neighbours)) if form is None else (form, "as asked for")
    return index(lists, chosen, reason, positions=positions)


def repeats_neighbour(neighbours: Array, offsets: Array) -> bool:
    """Tell whether a list holds a neighbour twice; some may be empty."""
    for at in range(0, len(neighbours), _COMPARED):
        piece = neighbours[at : at + _COMPARED + 1]
        second = np.flatnonzero(piece[1:] == piece[:-1]).astype(np.uint64) + np.uint64(at + 1)
        if not bool((offsets[np.searchsorted(offsets, second)] == second).all()):  # else each begins a list
            return True
    return False
