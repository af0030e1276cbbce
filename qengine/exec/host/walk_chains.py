"""Walks that go on in one way at most from each vertex, to no vertex twice: those of many rows together, hop by hop."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from qengine._frozen import replace
from qengine.exec.context import ExecutionContext
from qengine.exec.host.walk_kernel import EndFilter, WalkChunk, WalkMode, WalkRows, WalkRules, WalkSpace, walk_chunks
from qengine.exec.view import ExecView

_MANY = 256
"""Rows that are worth a hop of their own; fewer are walked one by one."""
_ROW_BYTES = 64
"""What a row takes meanwhile: its number, where it stands, its list, and what is kept of these."""


def lead_one_way(store: ExecView, types: tuple[int, ...], space: WalkSpace, rows: WalkRows, rules: WalkRules) -> bool:
    """Tell whether ``chain_chunks`` gives the walks of some rows: many, of one type without circles, to free ends.

    ``types``: indices of those that are walked.
    """
    if len(rows.starts) < _MANY or rows.targets is not None or rows.forbidden is not None:
        return False
    if rules.lists or rules.mode not in (WalkMode.EVERY_WALK, WalkMode.EVERY_END):
        return False
    if len(types) != 1 or space.layers != 1 or space.two_way or space.lists[0].allowed is not None:
        return False
    lists = space.lists[0].forward
    return lists.used == len(lists) and store.acyclic(store.types[types[0]].name)


def chain_chunks(
    space: WalkSpace, ends: EndFilter, rows: WalkRows, context: ExecutionContext, rules: WalkRules
) -> Iterator[WalkChunk]:
    """Yield the walks of rows that ``lead_one_way``; parameters and errors as of ``walk_chunks``."""
    lists = space.lists[0].forward
    through = None if space.through is None else EndFilter(0, space.vertex_count, space.through)
    row = np.flatnonzero(rows.starts >= 0)
    at, hops = rows.starts[row], 0
    with context.memory.holding("Walk") as holding:
        holding.set(_ROW_BYTES * len(row))
        while len(row):
            context.check()
            if hops >= rules.minimum:
                kept = ends.of(at)
                if kept.any():
                    yield WalkChunk(row[kept], at[kept])
            if rules.maximum is not None and hops >= rules.maximum:
                return
            if hops and through is not None:
                kept = through.of(at)
                row, at = row[kept], at[kept]
            if len(row) < _MANY:
                most = None if rules.maximum is None else rules.maximum - hops
                left = replace(rules, minimum=max(rules.minimum - hops, 1), maximum=most)
                for chunk in walk_chunks(space, ends, WalkRows(at), context, left):
                    yield WalkChunk(row[chunk.row], chunk.end)
                return
            begins, behind = lists.locate_all(at.astype(np.uint32))
            goes_on = begins < behind
            row, at = row[goes_on], lists.neighbours[begins[goes_on]].astype(np.int64)
            hops += 1
