"""Chooses a PCSR's row index among dense, groups and sorted, and makes it (GSI, Section IV, Algorithm 1).

All three start from sorted keys and offsets. A look-up's cost is counted in 128-byte transactions:

dense
    8 bytes for each vertex of the range, 1 transaction.
groups
    Vertices hashed to groups of 15 pairs, ``KEYS_PER_GROUP`` expected in each. The papers give every vertex a group
    of its own, 128 bytes; at 10 a group it is 13 bytes, and 1 look-up in 100 follows an overflow link.
sorted
    12 bytes a vertex, a binary search: what the other two are measured against.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from qengine._frozen import replace
from qengine.storage.adjacency import GROUP, GROUP_PAIRS, Adjacency, Form
from qengine.storage.arrays import Array
from qengine.storage.kernels import NO_VERTEX

KEYS_PER_GROUP = 10
_HASH = np.uint32(0x9E3779B1)
_LINE = 128  # bytes of a transaction
_SPACE = 2.0  # a form may take this many times the bytes of the smallest
_SPLICED = 4 << 20  # bytes of dense offsets that lists which change may have
_SPLICED_SHARE = 4  # of the bytes of their entries these may have so many times
_MOVED = 1 << 20  # entries that are laid out at a time
_MAX_GROUP_ENTRIES = 2**32 - 1  # groups hold 32-bit offsets


class Lists(NamedTuple):
    """Neighbour lists in the sorted form: ``keys`` uint32[k] ascending, ``offsets`` uint64[k + 1], the entries, and
    ``ids`` (uint32, one an entry) or None.
    """

    keys: Array
    offsets: Array
    neighbours: Array
    ids: Array | None


class Cost(NamedTuple):
    """What a form takes: bytes of the row index and expected transactions a look-up."""

    bytes: float
    transactions: float


def group_hash(vertices: Array, groups: int) -> Array:
    """Return the home group of each vertex, as ``qe::group_hash``."""
    return ((vertices * _HASH).astype(np.uint64) * np.uint64(groups) >> np.uint64(32)).astype(np.int64)


def span_of(keys: Array) -> int:
    """Return how many ids the range of some vertices (ascending) has."""
    return int(keys[-1]) - int(keys[0]) + 1 if len(keys) else 0


def costs(count: int, span: int) -> dict[Form, Cost]:
    """Return what each form would cost for so many vertices in a range of ``span`` ids."""
    homes = home_groups(count)
    # Expected overflow of a group whose load is Poisson distributed.
    overflow, chance, load = 0.0, float(np.exp(-count / homes)), count / homes
    for pairs in range(1, 4 * GROUP_PAIRS):
        chance *= load / pairs
        overflow += max(0, pairs - GROUP_PAIRS) * chance
    extra = sum(_tail(load, GROUP_PAIRS * depth + 1) for depth in (1, 2, 3))
    lines = count * 4 / _LINE
    return {
        Form.DENSE: Cost(8.0 * (span + 1), 1.0),
        Form.GROUPS: Cost(GROUP.itemsize * homes * (1 + extra), 1 + overflow / load if load else 1.0),
        Form.SORTED: Cost(12.0 * count + 8, 2 + max(0.0, np.log2(max(lines, 1.0)))),
    }


def choose(keys: Array, entries: int) -> tuple[Form, str]:
    """Return the form for these vertices and the reason.

    Of the forms that take at most twice the bytes of the smallest, the one with the fewest transactions.
    """
    return choose_of(len(keys), span_of(keys), entries)


def choose_of(count: int, span: int, entries: int) -> tuple[Form, str]:
    """Do as ``choose`` for so many vertices in a range of ``span`` ids."""
    found = costs(count, span)
    if entries > _MAX_GROUP_ENTRIES:
        del found[Form.GROUPS]
    limit = _SPACE * min(cost.bytes for cost in found.values())
    allowed = {form: cost for form, cost in found.items() if cost.bytes <= max(limit, 2 * _LINE)}
    best = min(allowed, key=lambda form: (round(allowed[form].transactions, 2), allowed[form].bytes))
    vertices = max(count, 1)
    shown = ", ".join(
        f"{form.name.lower()} {cost.bytes / vertices:.1f} B and {cost.transactions:.2f} transactions a vertex"
        + ("" if form in allowed else " (too large)")
        for form, cost in sorted(found.items(), key=lambda item: item[0] is not best)
    )
    return best, f"{count:,} vertices with lists: {shown}"


def choose_changing(count: int, span: int, entries: int) -> tuple[Form, str]:
    """Do as ``choose_of`` for lists that change: dense ones, into which changes are spliced, may be larger."""
    if 8 * (span + 1) <= max(_SPLICED, _SPLICED_SHARE * 4 * entries):
        return Form.DENSE, "dense, since they change"
    return choose_of(count, span, entries)


def index(lists: Lists, form: Form, reason: str = "", *, positions: bool = True) -> tuple[Adjacency, Array | None]:
    """Return the lists as an adjacency of the given form.

    The groups form lays the lists out group by group; then the second result is the new position (uint32) of each
    entry of ``lists`` if ``positions`` are wanted, else None.
    """
    lo, hi = (int(lists.keys[0]), int(lists.keys[-1]) + 1) if len(lists.keys) else (0, 0)
    plain = Adjacency(form, lo, hi, lists.neighbours, lists.ids, reason=reason)
    if form is Form.SORTED:
        return replace(plain, keys=lists.keys, offsets=lists.offsets), None
    if form is Form.DENSE:
        lengths = np.zeros(hi - lo + 1, np.uint64)
        lengths[lists.keys - np.uint32(lo) + np.uint32(1)] = np.diff(lists.offsets)
        return replace(plain, offsets=np.cumsum(lengths, dtype=np.uint64)), None
    return _groups(lists, plain, positions)


def transactions(adjacency: Adjacency) -> float:
    """Return the mean number of transactions that looking up a vertex with a list takes, as built."""
    vertices = adjacency.rows()[0]
    if adjacency.form is not Form.GROUPS or not len(vertices):
        return costs(len(vertices), span_of(vertices))[adjacency.form].transactions
    assert adjacency.groups is not None
    depth = np.ones(len(adjacency.groups))
    at = np.arange(adjacency.home_groups)
    while len(at):
        links = adjacency.groups["link"][at]
        depth[links[links != NO_VERTEX]] = depth[at[links != NO_VERTEX]] + 1
        at = links[links != NO_VERTEX]
    used = (adjacency.groups["pair"]["vertex"] != NO_VERTEX).sum(axis=1)
    return float((depth * used).sum() / used.sum())


def _groups(lists: Lists, plain: Adjacency, positions: bool) -> tuple[Adjacency, Array | None]:
    found = grouped(lists.keys, np.diff(lists.offsets))
    begins = np.empty(len(found.order), np.int64)  # where each row's list goes
    begins[found.order] = found.begins
    shift = begins - lists.offsets[:-1].astype(np.int64)
    neighbours = np.empty_like(lists.neighbours)
    ids = None if lists.ids is None else np.empty_like(lists.ids)
    moved = np.empty(len(neighbours), np.uint32) if positions else None
    cuts = np.searchsorted(lists.offsets, np.arange(0, len(neighbours), _MOVED)).tolist()
    for first, last in pairwise([*dict.fromkeys(cuts), len(lists.keys)]):
        here = slice(int(lists.offsets[first]), int(lists.offsets[last]))
        lengths = np.diff(lists.offsets[first : last + 1]).astype(np.int64)
        to = np.repeat(shift[first:last], lengths) + np.arange(here.start, here.stop)
        neighbours[to] = lists.neighbours[here]
        if ids is not None and lists.ids is not None:
            ids[to] = lists.ids[here]
        if moved is not None:
            moved[here] = to
    return replace(plain, neighbours=neighbours, edge_ids=ids, groups=found.groups, home_groups=found.homes), moved


class Grouped(NamedTuple):
    """A row index in the groups form.

    ``groups``: ``GROUP`` records. ``homes``: how many are home groups. ``order``: int64[k], the numbers of the keys in
    the order in which their lists stand. ``begins``: int64[k], where each of these begins.
    """

    groups: Array
    homes: int
    order: Array
    begins: Array


def grouped(keys: Array, lengths: Array) -> Grouped:
    """Return the groups form of lists: ``keys`` uint32[k] ascending, ``lengths`` uint64[k]."""
    homes = home_groups(len(keys))
    home = group_hash(keys, homes)
    order = np.argsort(home, kind="stable")  # rows by home group, in a group by vertex
    home = home[order]
    first = np.searchsorted(home, np.arange(homes))
    rank = np.arange(len(order)) - first[home]
    depth, slot = rank // GROUP_PAIRS, rank % GROUP_PAIRS
    opens = np.flatnonzero((depth > 0) & (slot == 0))  # the pairs that open an overflow group
    group = home.copy()
    overflow = homes + np.cumsum((depth > 0) & (slot == 0)) - 1
    group[depth > 0] = overflow[depth > 0]

    lengths = lengths[order]
    ends = np.cumsum(lengths)
    groups = _aligned(homes + len(opens))
    groups["pair"]["vertex"] = groups["link"] = NO_VERTEX
    groups["pair"]["offset"] = groups["end"] = 0
    groups["pair"]["vertex"][group, slot] = keys[order]
    groups["pair"]["offset"][group, slot] = ends - lengths
    groups["end"][group] = ends  # pairs of a group come in order: the last one's end stays
    groups["link"][group[opens - 1]] = group[opens]
    return Grouped(groups, homes, order, (ends - lengths).astype(np.int64))


def _aligned(count: int) -> Array:
    """Return ``GROUP`` records that start at a multiple of 128 bytes: one transaction each, not two."""
    memory = np.empty((count + 1) * _LINE, np.uint8)
    skip = -memory.ctypes.data % _LINE
    return memory[skip : skip + count * _LINE].view(GROUP)


def home_groups(count: int) -> int:
    """Return how many home groups the groups form has for so many vertices with lists."""
    return max(1, -(-count // KEYS_PER_GROUP))


def _tail(mean: float, least: int) -> float:
    """Return the chance that a Poisson variable is at least ``least``."""
    chance = float(np.exp(-mean))
    below = chance
    for value in range(1, least):
        chance *= mean / value
        below += chance
    return max(0.0, 1.0 - below)
