"""Runs ``Walk``: joins each input row with its walks of variable length."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from qengine.exec.common.batch import Batch
from qengine.exec.common.batch_parts import repeated_pieces
from qengine.exec.common.columns import (
    Column,
    IntArray,
    ListColumn,
    NodeColumn,
    RelationshipColumn,
    integer_column,
    vertex_ids,
)
from qengine.exec.common.lists_read import parts_read
from qengine.exec.common.merged_lists import is_due, note, read_by_walks
from qengine.exec.context import ExecutionContext
from qengine.exec.host.walk_chains import chain_chunks, lead_one_way
from qengine.exec.host.walk_kernel import (
    EndFilter,
    WalkChunk,
    WalkMode,
    WalkRows,
    WalkRules,
    WalkSpace,
    pack_bits,
    walk_chunks,
)
from qengine.exec.scalar.values import RelationshipHandle
from qengine.exec.view import ExecView, MaskProvider
from qengine.plan.access import FEW
from qengine.plan.pattern import Direction
from qengine.plan.physical import Reach, Repeat, Shortest, VertexLevel, Walk


def run_walk(
    store: ExecView, op: Walk, batch: Batch, context: ExecutionContext, masks: MaskProvider
) -> Iterator[Batch]:
    """Yield the batch's rows joined with their walks.

    Parameters
    ----------
    store
        The ``GraphStore``.
    op
        What to walk; with ``distinct_ends`` it has no ``relationships``.
    batch
        Input rows; a null start, or end if that is bound, has no walk.
    context
        Limits.
    masks
        Evaluates ``op``'s predicates.
    """
    ends = end_filter(store, op.end, masks)
    rows = walk_rows(op, batch, ends, op.different)
    mode = WalkMode.EVERY_END if op.distinct_ends else WalkMode.EVERY_WALK
    rules = WalkRules(mode, op.minimum, op.maximum, lists=op.relationships is not None, repeats=op.mode)
    ends_alone = op.distinct_ends and op.minimum <= 1 and not op.different
    with merging(store, op, context, ends_alone) as merged:
        space = walk_space(store, op, masks, merged=merged)
        chunks = chain_chunks if lead_one_way(store, walked_types(store, op), space, rows, rules) else walk_chunks
        for chunk in chunks(space, ends, rows, context, rules):
            yield from joined_walks(op, batch, chunk, context)


@contextmanager
def merging(
    store: ExecView,
    op: Walk | Shortest | Reach,
    context: ExecutionContext,
    ends_alone: bool,
    *,
    both_ways: bool = False,
) -> Iterator[bool]:
    """Tell whether what is run inside is to read the lists of an operator's types as one; else note what it takes.

    ``ends_alone``: only ends, or least lengths, are asked for: no relationships, nor how many there are. ``both_ways``:
    the kernels of ``reach_kernel`` alone read them, so that relationships may be walked both ways.
    """
    types = walked_types(store, op)
    one_way = op.direction is not Direction.BOTH and not any(store.types[index].undirected for index in types)
    merges = ends_alone and (one_way or both_ways) and not op.predicates
    lists = read_by_walks(store, parts_read(store, op.types, op.direction) if merges else ())
    merged, begin = is_due(store, lists, context.memory.unclaimed(0)), time.monotonic()
    try:
        yield merged
    finally:
        if not merged:
            note(store, lists, time.monotonic() - begin)


def walk_space(store: ExecView, op: Walk | Shortest | Reach, masks: MaskProvider, *, merged: bool = False) -> WalkSpace:
    """Return the hops that an operator allows: of types that there are, where the predicates of hops and nodes hold.

    ``merged``: the lists of its types may be read as one.
    """
    types = walked_types(store, op)
    through = pack_bits(masks.vertex_mask(op.hop, op.inner, 0, store.vertex_count)) if op.inner else None
    if not op.predicates:
        return WalkSpace(store, types, op.direction, through=through, merged=merged)
    allowed = {}
    for index in types:
        mask = masks.edge_mask(op.hop, op.predicates, index, 0, store.types[index].count)
        if mask.any():
            allowed[index] = pack_bits(mask)
    return WalkSpace(store, tuple(allowed), op.direction, allowed, through)


def walked_types(store: ExecView, op: Walk | Shortest | Reach) -> tuple[int, ...]:
    """Return the indices of the relationship types that an operator may walk along, of those that there are."""
    found = map(store.type_index, op.types) if op.types else range(len(store.types))
    return tuple(dict.fromkeys(index for index in found if index is not None))


def end_filter(store: ExecView, end: VertexLevel, masks: MaskProvider) -> EndFilter:
    """Return the vertices that walks to a node may end on."""
    ranges = store.label_ranges(end.labels).tolist()
    if not ranges:
        return EndFilter(0, 0)
    lo, hi = ranges[0][0], ranges[-1][1]
    if len(ranges) == 1 and not end.predicates:
        return EndFilter(lo, hi)
    listed = masks.vertex_list(end, ranges) if end.access else None
    mask = np.zeros(hi, dtype=np.bool_)
    if listed is not None and len(listed) > 1:
        mask[listed] = True
    elif listed is None:
        for begin, stop in ranges:
            mask[begin:stop] = masks.vertex_mask(end.name, end.predicates, begin, stop) if end.predicates else True
    found = np.flatnonzero(mask) if listed is None else listed
    if listed is None and end.access and len(found) * FEW <= sum(stop - begin for begin, stop in ranges):
        masks.scanned(end)
    if not len(found):
        return EndFilter(0, 0)
    lo, hi = int(found[0]), int(found[-1]) + 1
    return EndFilter(lo, hi, None if hi - lo == len(found) else pack_bits(mask))


def walk_rows(op: Walk | Shortest, batch: Batch, ends: EndFilter, different: tuple[str, ...] = ()) -> WalkRows:
    """Return the vertices to walk from and to, and the relationships that each row's walks must not take.

    Where only one vertex can be the end, it is each row's target: then the search goes from both ends.
    """
    starts = vertex_ids(batch.columns[op.start])
    targets = None
    if op.end_bound:
        targets = vertex_ids(batch.columns[op.end.name])
    elif ends.hi - ends.lo == 1:
        targets = np.full(batch.length, ends.lo, dtype=np.int64)
    return WalkRows(starts, targets, forbidden_relationships([batch.columns[name] for name in different]))


def forbidden_relationships(columns: list[Column]) -> tuple[IntArray, IntArray] | None:
    """Return all relationships of each row: offsets and ids; None without columns."""
    if not columns:
        return None
    pairs = [_relationships(column) for column in columns]
    rows = np.concatenate([rows for rows, _ in pairs])
    ids = np.concatenate([ids for _, ids in pairs])
    offsets = np.zeros(len(columns[0]) + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=len(columns[0])), out=offsets[1:])
    return offsets, ids[np.argsort(rows, kind="stable")]


def _relationships(column: Column) -> tuple[IntArray, IntArray]:
    """Return the rows and ids of the relationships in a column of relationships, or of lists of them."""
    if isinstance(column, RelationshipColumn):
        rows = np.flatnonzero(column.ids >= 0)
        return rows, column.ids[rows]
    if isinstance(column, ListColumn):
        items = column.flat()
        if isinstance(items, RelationshipColumn):
            return np.repeat(np.arange(len(column)), column.lengths()), items.ids
    found = [
        (row, item.id)
        for row, value in enumerate(column.values())
        for item in (value if isinstance(value, list) else (value,))
        if isinstance(item, RelationshipHandle)
    ]
    pairs = np.array(found, dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def joined_walks(
    op: Walk | Shortest | Repeat, batch: Batch, chunk: WalkChunk, context: ExecutionContext
) -> Iterator[Batch]:
    """Yield the input rows of a chunk with the columns that an operator adds."""
    added: dict[str, Column] = {}
    if not op.end_bound:
        added[op.end.name] = NodeColumn(chunk.end)
    if op.relationships is not None:
        assert chunk.offsets is not None
        added[op.relationships] = ListColumn(chunk.offsets, RelationshipColumn(chunk.relationships))
    if isinstance(op, Shortest) and op.hops is not None:
        assert chunk.hops is not None
        added[op.hops] = integer_column(chunk.hops)
    yield from joined(batch, chunk.row, added, context)


def joined(batch: Batch, rows: IntArray, added: dict[str, Column], context: ExecutionContext) -> Iterator[Batch]:
    """Yield some rows of a batch, as often as they stand there, with columns added."""
    found = Batch(len(rows), added)
    for offset, length in repeated_pieces(batch, rows, context.memory):
        kept = batch.take(rows[offset : offset + length])
        yield kept.with_columns(found.slice(offset, length).columns)
