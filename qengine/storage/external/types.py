"""One relationship type of a graph that is loaded in pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from qengine._frozen import replace
from qengine.plan.pattern import Direction
from qengine.storage.adjacency import Adjacency
from qengine.storage.arrays import Array
from qengine.storage.columns import PropertyColumn
from qengine.storage.external.budget import Budget
from qengine.storage.external.columns import ColumnWriter
from qengine.storage.external.lists import Buckets, Layout, sorted_pieces
from qengine.storage.external.scratch import Scratch, Spool
from qengine.storage.kernels import count_vertices, renumber
from qengine.storage.variant import concatenate, is_variant


@dataclass
class Properties:
    """Properties of rows in files: their types (unions where they are mixed), and the rows, batch by batch.

    ``batches``: called once for each reading; yields record batches with the columns of ``kinds``, in its order, except
    that a union's column has the type that it has in its file. ``width``: bytes of a row, about.
    """

    kinds: Mapping[str, Any]
    batches: Callable[[], Iterator[Any]]
    width: float

    @property
    def plain(self) -> dict[str, Any]:
        """The types of those that aren't mixed."""
        return {key: kind for key, kind in self.kinds.items() if not is_variant(kind)}

    def mixed(self) -> dict[str, Any]:
        """Return the columns of mixed type, whole, in the order of rows."""
        keys = [key for key in self.kinds if key not in self.plain]
        parts: dict[str, list[Any]] = {key: [] for key in keys}
        for batch in self.batches() if keys else ():
            for key in keys:
                parts[key].append(batch.column(key))
        return {key: concatenate(each) for key, each in parts.items()}


@dataclass
class BuiltType:
    """What was built of a type, as ``pcsr_build.BuiltType``, with its columns."""

    adjacencies: Mapping[Direction, Adjacency]
    columns: Mapping[str, PropertyColumn]
    parallel: bool
    loops: bool


def build_type(
    ends: tuple[Array, Array],
    new_ids: Array,
    properties: Properties,
    undirected: bool,
    budget: Budget,
    scratch: Scratch,
) -> BuiltType:
    """Index relationships by both ends, and put their properties into the order of their ids.

    Parameters
    ----------
    ends
        uint32[m] each: ordinals of starts and ends, in files. They are overwritten.
    new_ids
        uint32[vertices]: the id of each ordinal.
    properties
        Of the relationships, in the same order.
    undirected
        Whether the type has no direction.
    """
    start, end = ends
    most = budget.rows(properties.width, len(start))
    out_counts, in_counts = (np.zeros(len(new_ids), np.uint32) for _ in range(2))
    loops = False
    for first in range(0, len(start), budget.batch):
        here = slice(first, first + budget.batch)
        for side in (start, end):
            side[here] = renumber(side[here], new_ids)
        same = start[here] == end[here]
        loops |= bool(same.any())
        count_vertices(start[here], out_counts)
        count_vertices(end[here][~same] if undirected else end[here], in_counts)
    out = Layout.of(out_counts, most, scratch)
    dealt = Buckets(out, scratch, ids=False)
    neighbours, parallel, columns = _sorted_out(dealt, (start, end), properties, budget, scratch)
    del dealt
    if undirected:
        in_counts += out_counts
    back = Layout.of(in_counts, most, scratch)
    dealt = Buckets(back, scratch, ids=True)
    for least in (True, False) if undirected else (True,):
        for owners, others, ids in _entries(out, neighbours, budget.batch):
            if undirected:
                owners, others, ids = _both_ways(owners, others, ids, least)
                dealt.deal(owners, others, ids)
            else:
                dealt.deal(others, owners, ids)
    assert dealt.ids is not None
    turned, ids = scratch.array(back.entries, np.uint32), scratch.array(back.entries, np.uint32)
    for piece in sorted_pieces(dealt):
        low, high = piece.entries
        turned[low:high] = piece.neighbours
        ids[low:high] = dealt.ids[low:high][piece.order]
        parallel |= piece.repeats
    kept = ids if columns or parallel else None
    adjacencies = {
        Direction.OUT: replace(out.lists, neighbours=neighbours),
        Direction.BOTH if undirected else Direction.IN: replace(back.lists, neighbours=turned, edge_ids=kept),
    }
    return BuiltType(adjacencies, columns, parallel, loops)


def _sorted_out(
    dealt: Buckets, ends: tuple[Array, Array], properties: Properties, budget: Budget, scratch: Scratch
) -> tuple[Array, bool, dict[str, PropertyColumn]]:
    """Return the neighbours from starts to ends, whether some are there twice, and the properties in their order."""
    layout, (start, end) = dealt.layout, ends
    plain, mixed = properties.plain, properties.mixed()
    schema = pa.schema(list(plain.items()))
    spools = [scratch.spool(schema) for _ in range(len(layout.cuts) - 1)] if plain else []
    rows: Buckets | None = Buckets(layout, scratch, ids=True) if mixed else None
    first = 0
    batches: Iterator[Any] = properties.batches() if plain else without_columns(len(start), budget.batch)
    for batch in batches:
        here = slice(first, first + len(batch))
        order, bounds = dealt.deal(start[here], end[here], None)
        if rows is not None:
            rows.deal(start[here], end[here], np.arange(here.start, here.stop, dtype=np.uint32))
        if plain:
            deal_rows(spools, batch.select(list(plain)), order, bounds)
        first = here.stop
    neighbours = scratch.array(layout.entries, np.uint32)
    writers = {key: ColumnWriter(scratch, kind) for key, kind in plain.items()}
    places = scratch.array(len(start), np.int64) if mixed else np.empty(0, np.int64)
    parallel = False
    for number, piece in enumerate(sorted_pieces(dealt)):
        low, high = piece.entries
        neighbours[low:high] = piece.neighbours
        parallel |= piece.repeats
        if rows is not None:
            assert rows.ids is not None
            places[low:high] = rows.ids[low:high][piece.order]
        if spools and len(piece.order):
            append_rows(writers, spools[number].read(), piece.order)
    found = {key: writer.finish() for key, writer in writers.items()}
    found |= {key: column.take(pa.array(places)) for key, column in mixed.items()}
    return neighbours, parallel, {key: PropertyColumn(0, found[key]) for key in properties.kinds}


def without_columns(rows: int, batch: int) -> Iterator[range]:
    """Yield rows of which no column is wanted, a batch at a time."""
    for first in range(0, rows, batch):
        yield range(first, min(first + batch, rows))


def deal_rows(spools: Sequence[Spool], batch: Any, order: Array, bounds: Array) -> None:
    """Write the rows of a batch to the files of their pieces; ``order`` and ``bounds`` as ``Buckets.deal`` gives."""
    dealt = batch if len(spools) == 1 else batch.take(pa.array(order))
    for spool, begin, end in zip(spools, bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        if end > begin:
            spool.write(dealt.slice(begin, end - begin))


def append_rows(writers: Mapping[str, ColumnWriter], table: Any, order: Array) -> None:
    """Append the rows of a table in another order."""
    places = pa.array(order)
    for key, writer in writers.items():
        writer.append(concatenate(table[key].chunks).take(places))


def _entries(out: Layout, neighbours: Array, most: int) -> Iterator[tuple[Array, Array, Array]]:
    """Yield owners, neighbours and positions (uint32) of entries, some at a time."""
    slots = len(out.begins) - 1
    begin = 0
    while begin < slots:
        reached = int(np.searchsorted(out.begins, out.begins[begin] + np.uint64(most), side="right")) - 1
        end = min(max(reached, begin + 1), slots)
        low, high = int(out.begins[begin]), int(out.begins[end])
        yield out.owners(begin, end), neighbours[low:high], np.arange(low, high, dtype=np.uint32)
        begin = end


def _both_ways(starts: Array, ends: Array, ids: Array, least: bool) -> tuple[Array, Array, Array]:
    """Return entries from both ends, a loop's once: of relationships that begin at the lesser end, or of the others.

    Dealt in this order, relationships of two vertices stand by their places in OUT, also if lists have another order.
    """
    kept = starts <= ends if least else starts > ends
    starts, ends, ids = starts[kept], ends[kept], ids[kept]
    owners, others = (np.stack(pair, axis=1).reshape(-1) for pair in ((starts, ends), (ends, starts)))
    both = np.repeat(ids, 2)
    if least:
        once = np.ones(len(owners), np.bool_)
        once[1::2] = starts != ends
        owners, others, both = owners[once], others[once], both[once]
    return owners, others, both
