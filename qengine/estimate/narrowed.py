"""Samples that begin where relationships' conditions leave few: lists of the admitted relationships alone.

A sampler tests the condition on a relationship after both ends are bound. Where conditions admit few, the lists that
lead from one end to the other are replaced by such of the admitted relationships, and the search is begun at the rarest
of them: then no sample is lost to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine._frozen import frozen, replace
from qengine.exec.common.match_plan import LEVEL, PCSR, PLAN, SOURCE, SourceFlag, records
from qengine.exec.common.resolve import ResolvedSearch
from qengine.exec.view import ExecView, MaskProvider
from qengine.plan.levels import connected, links, reordered, without_order
from qengine.plan.pattern import Direction
from qengine.plan.physical import EdgeLevel, Search, VertexLevel
from qengine.storage.adjacency import Adjacency, Form

_FEW = 4
"""Relationships are few where conditions admit at most 1 in so many."""

_LEVELS, _SOURCES, _RANGES, _LIST_IDS, _LISTS = 0, 1, 2, 8, 9  # places in ``ResolvedSearch.tables``

_Ids = npt.NDArray[np.uint32]


@frozen
class Few:
    """The relationships that an edge level admits, by the names of the vertices of its start and its end.

    ``start``, ``end``: the different pairs, uint32.
    """

    ends: tuple[str, str]
    start: _Ids
    end: _Ids


def few_relationships(store: ExecView, search: Search, masks: MaskProvider, most: int) -> Mapping[str, Few]:
    """Return what the edge levels admit whose conditions leave few relationships, at most ``most``; by their names.

    Raises
    ------
    ExecutionError
        Where a condition fails on a relationship.
    """
    found = {}
    for level in search.levels:
        if not isinstance(level, EdgeLevel) or not level.predicates or level.start == level.end:
            continue
        admitted = _admitted(store, level, masks, most)
        if admitted is not None:
            ends = search.levels[level.start].name, search.levels[level.end].name
            found[level.name] = Few(ends, *admitted)
    return found


def _admitted(store: ExecView, level: EdgeLevel, masks: MaskProvider, most: int) -> tuple[_Ids, _Ids] | None:
    starts: list[Any] = []
    ends: list[Any] = []
    few = total = 0
    for name in level.types or tuple(info.name for info in store.types):
        index = store.type_index(name)
        if index is None:
            continue
        info = store.types[index]
        local = np.flatnonzero(masks.edge_mask(level.name, level.predicates, index, 0, info.count))
        few, total = few + len(local), total + info.count
        if few > most:
            return None
        one, other = store.endpoints(info.base + local)
        either = info.undirected or level.direction is Direction.BOTH
        turned = level.direction is Direction.IN and not either
        starts += [other if turned else one, *([other] if either else [])]
        ends += [one if turned else other, *([one] if either else [])]
    if few * _FEW > total or not starts:
        return None
    pairs = np.unique(np.concatenate(starts).astype(np.uint64) << np.uint64(32) | np.concatenate(ends))
    return (pairs >> np.uint64(32)).astype(np.uint32), pairs.astype(np.uint32)


def begun_at(search: Search, few: Mapping[str, Few], candidates: float) -> Search:
    """Return the search begun at the rarest of some relationships, where these are fewer than its first vertices."""
    if not few:
        return search
    rarest = min(few.values(), key=lambda each: len(each.start))
    one, other = rarest.ends
    joined = links(search)
    names = [level.name for level in search.levels if isinstance(level, VertexLevel)]
    if len(rarest.start) >= candidates or names[0] in rarest.ends or not connected(joined):
        return search
    order = [one, other]
    while len(order) < len(names):
        order.append(next(each for each in names if each not in order and joined[each] & set(order)))
    return reordered(without_order(search), order)


def narrowed(resolved: ResolvedSearch, search: Search, few: Mapping[str, Few]) -> ResolvedSearch | None:
    """Return what a search was resolved to, with lists of few relationships; None where one has none at all."""
    if any(not len(each.start) for each in few.values()):
        return None
    levels, sources = (resolved.tables[place].copy() for place in (_LEVELS, _SOURCES))
    list_ids, lists = resolved.tables[_LIST_IDS].tolist(), [resolved.tables[_LISTS]]
    keep: list[Any] = []
    for level in search.levels:
        if not isinstance(level, EdgeLevel) or level.name not in few:
            continue
        each = few[level.name]
        early, late = sorted((level.start, level.end))
        place = _source(search, level, early, late)
        if place is None:
            continue
        here, there = (each.start, each.end) if early == level.start else (each.end, each.start)
        adjacency = _lists(here, there)
        struct = adjacency.as_struct()
        keep += [adjacency, struct]
        source = sources[levels[late]["sources"]["first"] + place]
        source["lists"] = len(list_ids), 1
        source["flags"] &= ~int(SourceFlag.REPEATS | SourceFlag.SYMMETRIC)
        list_ids.append(sum(map(len, lists)))
        lists.append(np.frombuffer(bytes(struct), PCSR))
        if search.levels[early].sources == () and not levels[early]["candidates"]:  # type: ignore[union-attr]
            roots = _roots(levels[early], adjacency.keys, resolved)
            if not len(roots):
                return None
            keep.append(roots)
            levels[early]["candidates"], levels[early]["n_candidates"] = roots.ctypes.data, len(roots)
            levels[early]["bitset"] = 0
    tables = list(resolved.tables)
    tables[_LEVELS], tables[_SOURCES] = levels.astype(LEVEL), sources.astype(SOURCE)
    tables[_LIST_IDS], tables[_LISTS] = np.array(list_ids, np.int32), np.concatenate(lists)
    plan = resolved.plan.copy()
    plan["n_lists"] = len(tables[_LISTS])
    for name, table in zip(list(PLAN.names or ())[-len(tables) :], tables, strict=True):
        plan[name] = table.ctypes.data
    return replace(resolved, plan=plan, tables=tuple(tables), keep=(*resolved.keep, *keep), reusable=False)


def _source(search: Search, edge: EdgeLevel, early: int, late: int) -> int | None:
    """Return the place of the source of the later vertex that the edge level gives."""
    level = search.levels[late]
    assert isinstance(level, VertexLevel)
    wanted = edge.direction if early == edge.start else edge.direction.reversed()
    for place, source in enumerate(level.sources):
        if source.level == early and source.types == edge.types and source.direction is wanted:
            return place
    return None


def _lists(here: _Ids, there: _Ids) -> Adjacency:
    """Return lists from ``here`` to ``there``, of different pairs."""
    order = np.lexsort((there, here))
    keys, begins = np.unique(here[order], return_index=True)
    offsets = np.append(begins, len(here)).astype(np.uint64)
    neighbours = np.ascontiguousarray(there[order])
    return Adjacency(Form.SORTED, int(keys[0]), int(keys[-1]) + 1, neighbours, offsets=offsets, keys=keys)


def _roots(level: Any, keys: Any, resolved: ResolvedSearch) -> _Ids:
    """Return the vertices among ``keys`` that a level without a source admits."""
    first, count = level["ranges"].tolist()
    inside = np.zeros(len(keys), np.bool_)
    for low, high in resolved.tables[_RANGES][first : first + count].tolist():
        inside |= (keys >= low) & (keys < high)
    found = keys[inside]
    if level["bitset"]:
        begin = int(level["bitset_begin"])
        at = found.astype(np.int64) - begin
        words = records(int(level["bitset"]), np.uint8, (int(at.max(initial=0)) >> 3) + 1)
        found = found[(words[at >> 3] >> (at & 7)) & 1 == 1]
    return np.ascontiguousarray(found)
