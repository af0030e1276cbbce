"""Paths as columns: what a pattern's elements make, and what is read of it. All rows make a step at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from qengine.exec.common.columns import (
    BoolArray,
    Column,
    ConstantColumn,
    IntArray,
    ListColumn,
    NodeColumn,
    PathColumn,
    RelationshipColumn,
    integer_column,
    numbers_from,
)
from qengine.exec.common.expressions.operand import list_places, null_rows
from qengine.exec.common.runtime import Runtime

_FEW_ROWS = 8  # that aren't worth a step together
_CHECKED_HOPS = 1 << 14  # that are walked between two looks at the clock


def paths(elements: Sequence[Column], runtime: Runtime) -> Column | None:
    """Return the path through node, relationship or list of relationships, node, … of each row.

    Null where an element is null. None where a column has neither nodes nor relationships.
    """
    nodes, hops = elements[::2], elements[1::2]
    if not all(isinstance(column, NodeColumn) for column in nodes) or not all(map(_walkable, hops)):
        return None
    valid = np.logical_and.reduce([~column.is_null() for column in elements])
    runtime.memory.room(len(valid), 16 * sum(_relationships(hop) for hop in hops))
    taken = [_hop(start, hop, end, valid, runtime) for start, hop, end in zip(nodes, hops, nodes[1:], strict=False)]
    lengths = sum((lengths for lengths, _, _ in taken), np.zeros(len(valid), np.int64))
    begin = np.cumsum(lengths) - lengths
    edges = np.empty(int(lengths.sum()), np.int64)
    met = np.empty(len(edges) + int(valid.sum()), np.int64)
    before = np.cumsum(valid) - valid  # nodes are one more in each path
    met[(begin + before)[valid]] = nodes[0].ids[valid]  # type: ignore[attr-defined]
    done = begin
    for own, relationships, behind in taken:
        places = numbers_from(done, own)
        edges[places] = relationships
        met[places + np.repeat(before, own) + 1] = behind
        done = done + own
    known = None if valid.all() else valid
    offsets = np.append(begin, len(edges))
    of_nodes = ListColumn(offsets + np.append(before, int(valid.sum())), NodeColumn(met), known)
    return PathColumn(of_nodes, ListColumn(offsets, RelationshipColumn(edges), known))


def _walkable(column: Column) -> bool:
    if isinstance(column, ListColumn):
        return isinstance(column.items, RelationshipColumn) or len(column.items) == 0
    return isinstance(column, RelationshipColumn)


def _relationships(hop: Column) -> int:
    return int(hop.lengths().sum()) if isinstance(hop, ListColumn) else len(hop)


def _hop(
    start: Column, hop: Column, end: Column, valid: BoolArray, runtime: Runtime
) -> tuple[IntArray, IntArray, IntArray]:
    """Return how many relationships each row has, then all of them, and the node behind each."""
    assert isinstance(start, NodeColumn)
    assert isinstance(end, NodeColumn)
    if isinstance(hop, RelationshipColumn):
        return valid.astype(np.int64), hop.ids[valid], end.ids[valid]
    assert isinstance(hop, ListColumn)
    lengths = np.where(valid, hop.lengths(), 0)
    items = hop.filter_rows(valid).flat()
    ids = items.ids if isinstance(items, RelationshipColumn) else np.empty(0, np.int64)
    return lengths, ids, _behind(start.ids, lengths, ids, runtime)


def _behind(starts: IntArray, lengths: IntArray, ids: IntArray, runtime: Runtime) -> IntArray:
    """Return the node behind each relationship of lists, each of which is walked from its row's start."""
    sources, targets = (ends.astype(np.int64) for ends in runtime.store.endpoints(ids))
    behind = np.empty(len(ids), np.int64)
    if len(ids) < _FEW_ROWS * lengths.max(initial=0):
        _walked_one_by_one(starts, lengths, (sources, targets), behind, runtime)
        return behind
    rows = np.flatnonzero(lengths)
    places, left, reached = (np.cumsum(lengths) - lengths)[rows], lengths[rows], starts[rows]
    while len(places):
        runtime.context.check()
        reached = np.where(sources[places] == reached, targets[places], sources[places])
        behind[places] = reached
        going = np.flatnonzero(left > 1)
        places, left, reached = places[going] + 1, left[going] - 1, reached[going]
    return behind


def _walked_one_by_one(
    starts: IntArray, lengths: IntArray, ends: tuple[IntArray, IntArray], behind: IntArray, runtime: Runtime
) -> None:
    """Write the node behind each relationship of few lists."""
    place = 0
    for reached, length in zip(starts.tolist(), lengths.tolist(), strict=True):
        for begin in range(place, place + length, _CHECKED_HOPS):
            runtime.context.check()
            end = min(begin + _CHECKED_HOPS, place + length)
            found = []
            for source, target in zip(ends[0][begin:end].tolist(), ends[1][begin:end].tolist(), strict=True):
                reached = target if source == reached else source
                found.append(reached)
            behind[begin:end] = found
        place += length


def _of_path(part: Callable[[PathColumn], Column]) -> Callable[[Runtime, Column], Column | None]:
    return lambda _, column: part(column) if isinstance(column, PathColumn) else None


def _length(path: PathColumn) -> Column:
    null = path.is_null()
    return integer_column(path.relationships.lengths(), null if null.any() else None)


def _slice(_: Runtime, column: Column, begin: Column, end: Column) -> Column | None:
    lists, null = _list(column), null_rows(begin, end)
    bounds = list_places(begin, end)
    if lists is None or bounds is None:
        return None
    starts, ends = _places(lists, *bounds)
    if null is None:
        return lists.over(starts, ends, lists.valid)
    return lists.over(starts, np.where(null, starts, ends), ~null if lists.valid is None else lists.valid & ~null)


def _every(_: Runtime, column: Column, begin: Column, end: Column, step: Column) -> Column | None:
    numbers = list_places(begin, end, step)
    if not isinstance(column, ListColumn) or numbers is None or null_rows(begin, end, step) is not None:
        return None
    by = np.broadcast_to(numbers[2], len(column))
    if (by <= 0).any():
        return None
    starts, ends = _places(column, *numbers[:2])
    lengths = -((starts - ends) // by)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    places = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    items = column.items.take(np.repeat(starts, lengths) + np.repeat(by, lengths) * places)
    return ListColumn(offsets, items, column.valid)


def _list(column: Column) -> ListColumn | None:
    if isinstance(column, ConstantColumn) and type(column.value) is list:
        column = column.expanded()
    return column if isinstance(column, ListColumn) else None


def _places(column: ListColumn, begin: Any, end: Any) -> tuple[IntArray, IntArray]:
    """Return where slices of lists begin and end, as Python's do."""
    lengths = column.lengths()
    first, last = (
        np.where(bound < 0, np.clip(lengths + bound, 0, lengths), np.minimum(bound, lengths)) for bound in (begin, end)
    )
    return column.starts + first, column.starts + np.maximum(first, last)


PATHS: dict[str, Callable[..., Column | None]] = {
    "nodes": _of_path(lambda path: path.nodes),
    "relationships": _of_path(lambda path: path.relationships),
    "length": _of_path(_length),
    "[..]": _slice,
    "[::]": _every,
}
