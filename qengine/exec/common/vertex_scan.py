"""The vertices of a search that is one level alone: label ranges and masks are read in Python, no native search begins.

Where nothing is asked of the vertices, a column is a range of ids, so that properties are slices of what is stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from qengine.exec.common.batch import BATCH_ROWS
from qengine.exec.common.batch_parts import pieces
from qengine.exec.common.columns import BoolArray, NodeColumn
from qengine.exec.common.masks import Masks
from qengine.exec.common.on_device import DEVICE_ELEMENTS
from qengine.exec.common.runtime import Runtime
from qengine.plan.access import FEW, IDENTITY
from qengine.plan.folding import entry_levels
from qengine.plan.physical import Search, VertexLevel
from qengine.storage.arrays import MANY_RANGES


def scanned_level(search: Search, runtime: Runtime) -> VertexLevel | None:
    """Return the only level of a search that emits each of its vertices once, or their number; None for another search.

    Where memory is limited the native search is asked, which charges what it holds. A device is asked for conditions on
    many vertices that don't name them.
    """
    if search.seeds or search.exists or search.strategy != "search":
        return None
    if runtime.memory.limit is not None:
        return None
    levels = entry_levels(search)
    if levels is None or levels[1] is not None or search.emit != ((levels[0].name,) if search.count is None else ()):
        return None
    level = levels[0]
    if runtime.matchers is not None and level.predicates and all(each.kind != IDENTITY for each in level.access):
        vertices = sum(high - low for low, high in runtime.store.label_ranges(level.labels).tolist())
        return level if vertices < DEVICE_ELEMENTS else None
    return level


def scanned_vertices(level: VertexLevel, runtime: Runtime, masks: Masks, first: int) -> Iterator[NodeColumn]:
    """Yield the vertices of a level, ascending; ``first``: how many the consumer would like at first.

    Raises
    ------
    ExecutionError
        Where a predicate fails.
    """
    ranges, most = runtime.store.label_ranges(level.labels).tolist(), max(first, BATCH_ROWS)
    if not level.predicates:
        for low, high in ranges:
            for offset, length in pieces(high - low, first, most):
                yield NodeColumn(None, (low + offset, low + offset + length))
            first = BATCH_ROWS
        return
    listed = masks.vertex_list(level, ranges) if level.access and ranges else None
    if listed is None:
        parts = [masks.places(mask, low, np.int64) for low, mask in _masks(level, ranges, masks)]
        listed = parts[0] if len(parts) == 1 else np.concatenate([*parts, np.zeros(0, np.int64)])
        _note(level, ranges, masks, len(listed))
    for offset, length in pieces(len(listed), first, most):
        yield NodeColumn(listed[offset : offset + length])


def counted_vertices(level: VertexLevel, runtime: Runtime, masks: Masks) -> int:
    """Return how many vertices ``scanned_vertices`` yields; errors as there."""
    ranges = runtime.store.label_ranges(level.labels).tolist()
    if not level.predicates:
        return sum(high - low for low, high in ranges)
    listed = masks.vertex_list(level, ranges) if level.access and ranges else None
    if listed is not None:
        return len(listed)
    found = sum(int(np.count_nonzero(mask)) for _, mask in _masks(level, ranges, masks))
    _note(level, ranges, masks, found)
    return found


def _masks(level: VertexLevel, ranges: Sequence[Sequence[int]], masks: Masks) -> Iterator[tuple[int, BoolArray]]:
    """Yield truth values of vertices, each array with the first one's id: of each range, or of all if they are many."""
    if len(ranges) > MANY_RANGES:
        low, high = ranges[0][0], ranges[-1][1]
        yield low, masks.mask_within(level.name, level.predicates, ranges, low, high)
        return
    for low, high in ranges:
        yield low, masks.vertex_mask(level.name, level.predicates, low, high)


def _note(level: VertexLevel, ranges: Sequence[Sequence[int]], masks: Masks, found: int) -> None:
    """Remember where an index would have found as few vertices as a scan has."""
    if level.access and found * FEW <= sum(high - low for low, high in ranges):
        masks.scanned(level)
