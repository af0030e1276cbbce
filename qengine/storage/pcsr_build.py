"""Builds a type's adjacencies from its relationships' end vertices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from qengine.plan.pattern import Direction
from qengine.storage.adjacency import Adjacency, Array, Form


class BuiltType(NamedTuple):
    """A type's adjacencies, ``order`` (load row of each local id) and what was seen on the way."""

    adjacencies: Mapping[Direction, Adjacency]
    order: Array
    parallel: bool
    loops: bool


def build_type(start: Array, end: Array, *, undirected: bool, properties: bool) -> BuiltType:
    """Sort relationships by (start, end), parallel ones in load order, and index them both ways.

    Parameters
    ----------
    start, end
        uint32[m], vertex ids.
    undirected
        Build OUT and BOTH instead of OUT and IN.
    properties
        Whether relationship ids will be needed for every entry.
    """
    order = np.lexsort((end, start))
    start, end = start[order], end[order]
    loops = bool((start == end).any())
    out = _dense(start, end, None)
    if undirected:
        ids = np.arange(len(start), dtype=np.uint32)
        twice = start != end
        lists, entries = np.concatenate((start, end[twice])), np.concatenate((end, start[twice]))
        ids = np.concatenate((ids, ids[twice]))
    else:
        lists, entries, ids = end, start, np.arange(len(start), dtype=np.uint32)
    by_list = np.lexsort((ids, entries, lists))
    lists, entries, ids = lists[by_list], entries[by_list], ids[by_list]
    parallel = bool(((lists[1:] == lists[:-1]) & (entries[1:] == entries[:-1])).any())
    other = _dense(lists, entries, ids if parallel or properties else None)
    return BuiltType(
        {Direction.OUT: out, Direction.BOTH if undirected else Direction.IN: other}, order, parallel, loops
    )


def _dense(lists: Array, entries: Array, edge_ids: Array | None) -> Adjacency:
    lo, hi = (int(lists[0]), int(lists[-1]) + 1) if len(lists) else (0, 0)
    offsets = np.zeros(hi - lo + 1, np.uint64)
    np.cumsum(np.bincount(lists - np.uint32(lo), minlength=hi - lo), out=offsets[1:])
    return Adjacency(Form.DENSE, lo, hi, entries, edge_ids, offsets)
