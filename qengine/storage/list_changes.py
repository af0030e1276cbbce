"""What a commit changes of a type's lists, small: the lists of the vertices that it touches, before and after.

Statistics of the next version are those before, less what these lists counted before, with what they count after.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from qengine._frozen import frozen, replace
from qengine.catalog.view import EdgeStatistics
from qengine.plan.pattern import Direction
from qengine.storage.adjacency import Adjacency
from qengine.storage.arrays import Array
from qengine.storage.edits import Edit, among, ascending
from qengine.storage.group_pairs import NO_PAIRS, NOTHING, GroupPairs, PairCounts
from qengine.storage.kernels import pair_statistics

_MOST = 1 << 16  # entries of touched lists that are looked at

Inside = Callable[[Array], Array]
"""Tells which of some vertices have a label."""


@frozen
class _Few:
    """Some lists: their owners (uint32, ascending), begins and ends (uint64) in ``entries`` (uint32)."""

    owners: Array
    begins: Array
    ends: Array
    entries: Array

    def pairs(self, group_ends: Array, sides: bool) -> GroupPairs:
        """Count entries between groups of vertices."""
        if not len(self.entries):
            return NO_PAIRS
        reach = 0, int(self.entries.max()) + 1
        rows = self.owners, 0, self.begins, self.ends
        return GroupPairs.counted(*pair_statistics(rows, self.entries, reach, group_ends, sides))

    def degrees(self, own: Inside, other: Inside) -> Array:
        """Return how many entries with one label each owner with another has (int64)."""
        counted = np.zeros(len(self.entries) + 1, np.int64)
        np.cumsum(other(self.entries), out=counted[1:])
        found: Array = (counted[self.ends] - counted[self.begins]) * own(self.owners)
        return found


@frozen
class ListChange:
    """The lists of the touched vertices in one direction, in the version before and in the next one."""

    before: _Few
    after: _Few


def are_many(vertices: Array) -> bool:
    """Tell whether so many vertices are touched that what that changes of lists isn't looked at."""
    return len(vertices) > _MOST


def near(adjacencies: Mapping[Direction, Adjacency], vertices: Array) -> dict[Direction, Array]:
    """Return for each direction the vertices (int64) in whose lists some vertices are, and these themselves."""
    ways = tuple(adjacencies)
    turned = {ways[0]: ways[-1], ways[-1]: ways[0]} if Direction.BOTH not in adjacencies else {}
    found = {}
    for way in ways:
        lists = adjacencies[turned.get(way, Direction.BOTH)]
        found[way] = np.concatenate((vertices, lists.neighbours[_places(lists, vertices)[0]].astype(np.int64)))
    return found


def _places(lists: Adjacency, vertices: Array) -> tuple[Array, Array]:
    """Return the places of all entries of some vertices' lists, and how long each list is (int64)."""
    begins, ends = (each.astype(np.int64) for each in lists.locate_all(vertices.astype(np.uint32)))
    lengths = ends - begins
    firsts = np.cumsum(lengths) - lengths
    return np.repeat(begins - firsts, lengths) + np.arange(int(lengths.sum())), lengths


def list_change(
    lists: Adjacency, vertices: Edit | None, edit: Edit, owners: Array, entries: Array, others: Array
) -> ListChange | None:
    """Return what an edit of dense lists changes; None where it touches long lists.

    Parameters
    ----------
    lists
        Those before.
    vertices
        How vertices move; None where ids stay.
    edit
        Of the entries.
    owners, entries
        uint32: whose lists the entries that come belong to, and the neighbours; new ids.
    others
        int64: vertices that are touched for another reason, ids in the version before.
    """
    known = owners.astype(np.int64)
    if vertices is not None:
        old, stays = vertices.back(known)
        known = old[stays]
    touched = ascending(np.concatenate((lists.owners(edit.removed).astype(np.int64), known, others)))
    places, lengths = _places(lists, touched)
    if len(places) > _MOST:
        return None
    firsts = np.cumsum(lengths) - lengths
    own = np.repeat(touched, lengths)
    filled = lengths > 0  # new vertices have no list before, and no group there
    neighbours = lists.neighbours[places]
    kept = ~among(places, edit.removed)
    left = own[kept], neighbours[kept].astype(np.int64)
    if vertices is not None:
        left = vertices.follow(left[0]), vertices.follow(left[1])
    return ListChange(
        _Few(
            touched[filled].astype(np.uint32),
            firsts[filled].astype(np.uint64),
            (firsts + lengths)[filled].astype(np.uint64),
            neighbours,
        ),
        _few(np.concatenate((left[0], owners)), np.concatenate((left[1], entries))),
    )


def _few(owners: Array, entries: Array) -> _Few:
    order = np.lexsort((entries, owners))
    owners, entries = owners[order].astype(np.uint32), entries[order].astype(np.uint32)
    begins = np.flatnonzero(np.diff(owners.astype(np.int64), prepend=-1))
    return _Few(
        owners[begins],
        begins.astype(np.uint64),
        np.append(begins[1:], len(owners)).astype(np.uint64)[: len(begins)],
        entries,
    )


def changed_pairs(counts: GroupPairs, change: ListChange, ends: tuple[Array, Array], sides: bool) -> GroupPairs | None:
    """Return what is counted between groups after a change; None where all lists must be read for it.

    ``ends``: the groups' ends (uint32) before and after; groups before have the same places after. ``sides`` as
    ``kernels.pair_statistics`` takes it.
    """
    before, after = change.before.pairs(ends[0], sides), change.after.pairs(ends[1], sides)
    now: dict[tuple[int, int], PairCounts] = {}
    for pair in {*before, *after}:
        old, less, more = (each.get(pair, NOTHING) for each in (counts, before, after))
        if less[2] == old[2] and more[2] < old[2] and old[0] > less[0]:
            return None  # others may have as many, or not
        rest = [each - gone + new for each, gone, new in zip(old, less, more, strict=True)]
        most = more[2] if old[0] == less[0] else max(old[2], more[2])
        now[pair] = (int(rest[0]), int(rest[1]), most, rest[3], rest[4], rest[5], rest[6])
    return counts.changed(now)


def changed_edges(
    found: EdgeStatistics,
    out: ListChange,
    into: ListChange,
    before: tuple[Inside, Inside],
    after: tuple[Inside, Inside],
) -> EdgeStatistics | None:
    """Return the statistics of a type between two labels after a change; None where all lists must be read for it.

    ``before``, ``after``: which vertices have the source's and the target's label, in both versions. Neighbours with
    lesser ids aren't told from others.
    """
    old_out, new_out = out.before.degrees(*before), out.after.degrees(*after)
    old_in, new_in = into.before.degrees(*before[::-1]), into.after.degrees(*after[::-1])
    largest = []
    for most, old, new in ((found.max_out, old_out, new_out), (found.max_in, old_in, new_in)):
        if int(old.max(initial=0)) == most > int(new.max(initial=0)):
            return None
        largest.append(max(most, int(new.max(initial=0))))
    edges = found.edges + int(new_out.sum()) - int(old_out.sum())
    return replace(
        found,
        edges=edges,
        sources=found.sources + int(np.count_nonzero(new_out)) - int(np.count_nonzero(old_out)),
        targets=found.targets + int(np.count_nonzero(new_in)) - int(np.count_nonzero(old_in)),
        max_out=largest[0],
        max_in=largest[1],
        out_pairs=found.out_pairs + falling(new_out, 2) - falling(old_out, 2),
        out_triples=found.out_triples + falling(new_out, 3) - falling(old_out, 3),
        in_pairs=found.in_pairs + falling(new_in, 2) - falling(old_in, 2),
        in_triples=found.in_triples + falling(new_in, 3) - falling(old_in, 3),
        lesser_squares=0.0,
        greater_squares=0.0,
    )


def falling(degrees: Array, factors: int) -> float:
    """Return the sum of d(d-1)…, so many factors."""
    product = degrees.astype(np.float64)
    for less in range(1, factors):
        product *= degrees - less
    return float(product.sum())
