"""Makes the graph of tables in files that memory doesn't hold; ``tables.from_tables`` makes the same of tables in it.

In memory are some 30 bytes a node, the nodes' keys where they are integers that lie close together (else a part of
them at a time), and as many relationships, or nodes with their properties, as are sorted at a time. All else is in
files without names: ends as ordinals, in the order of the tables; then dealt to pieces by their lists. Each piece is
sorted in memory and appended to the graph's arrays, which are such files, too, and are mapped by the graph that is
returned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from qengine.errors import StorageError
from qengine.storage.arrays import Array
from qengine.storage.assemble import MAX_RELATIONSHIPS, MAX_VERTICES, NodeBlock, order_vertices
from qengine.storage.columns import PropertyColumn
from qengine.storage.external.budget import Budget
from qengine.storage.external.columns import ColumnWriter
from qengine.storage.external.ends import Ends, find_ends
from qengine.storage.external.scratch import Scratch
from qengine.storage.external.sources import Source
from qengine.storage.external.types import Properties, append_rows, build_type, deal_rows, without_columns
from qengine.storage.given import end_columns, key_column, type_names
from qengine.storage.kernels import count_vertices
from qengine.storage.progress import Progress
from qengine.storage.store import EdgeType, GraphStore, LabelGroup
from qengine.storage.tables import check_undirected
from qengine.storage.variant import concatenate

NodeSource = tuple[tuple[str, ...], Source]
RelationshipSource = tuple[str, str | None, str | None, Source]


def from_sources(
    nodes: Sequence[NodeSource],
    relationships: Sequence[RelationshipSource],
    key: str | None,
    undirected: Iterable[str],
    budget: Budget,
    scratch: Scratch,
    *,
    guessed: bool = False,
) -> GraphStore:
    """Load a graph; parameters and errors as for ``tables.from_tables``.

    Parameters
    ----------
    nodes
        Labels and table.
    relationships
        Type, labels of starts and ends (None for any), and table.
    budget
        What may be in memory.
    scratch
        Where the rest stands.
    """
    both_ways = type_names(undirected)
    check_undirected(both_ways, [name for name, *_ in relationships])
    count = sum(source.rows for _, source in nodes)
    if count > MAX_VERTICES:
        raise StorageError(f"{count:,} nodes are more than the {MAX_VERTICES:,} that a graph can hold")
    ends = [_ends(*one) for one in relationships]
    with Progress("Finding ends", sum(one.source.rows for one in ends)) as progress:
        keyed = [(labels, source, key_column(source.empty, key, source.place)) for labels, source in nodes]
        found = find_ends(keyed, ends, (key, guessed), budget, scratch, progress.advance)
    groups, new_ids = _numbered(nodes, found, budget)
    node_columns = _node_columns(nodes, groups, new_ids, budget, scratch)
    by_type: dict[str, list[tuple[Ends, tuple[Array, Array]]]] = {}
    for (name, *_), one, pair in zip(relationships, ends, found, strict=True):
        by_type.setdefault(name, []).append((one, pair))
    del found
    types: list[EdgeType] = []
    adjacencies, columns = [], []
    with Progress("Indexing", sum(one.source.rows for one in ends)) as progress:
        for index, (name, own) in enumerate(by_type.items()):
            size = sum(one.source.rows for one, _ in own)
            if size > MAX_RELATIONSHIPS:
                raise StorageError(
                    f"type {name} has {size:,} relationships, more than the {MAX_RELATIONSHIPS:,} possible"
                )
            properties = _properties([(one.source, one.properties) for one, _ in own], budget)
            pair = _joined([pair for _, pair in own], scratch)
            own.clear()  # of its ends only the joined ones are left, until they are sorted
            built = build_type(pair, new_ids, properties, name in both_ways, budget, scratch)
            adjacencies.append(built.adjacencies)
            columns.append(built.columns)
            base = types[-1].base + types[-1].count if types else 0
            keys = tuple(properties.kinds)
            types.append(EdgeType(name, index, base, size, name in both_ways, built.parallel, built.loops, keys))
            progress.advance(size)
    labels = tuple(dict.fromkeys(label for own_labels, _ in nodes for label in own_labels))
    store = GraphStore(groups, labels, types, adjacencies, node_columns, columns)
    store.statistics.gather()
    return store


def _numbered(
    nodes: Sequence[NodeSource], ends: Sequence[tuple[Array, Array]], budget: Budget
) -> tuple[list[LabelGroup], Array]:
    """Return the label groups, and the id (uint32) of each ordinal."""
    count = sum(source.rows for _, source in nodes)
    degrees = np.zeros(count, np.uint32)
    for pair in ends:
        for side in pair:
            for first in range(0, len(side), budget.batch):
                count_vertices(side[first : first + budget.batch], degrees)
    groups, ordinals = order_vertices([NodeBlock(labels, source.rows) for labels, source in nodes], degrees)
    new_ids = np.empty(count, np.uint32)
    new_ids[ordinals] = np.arange(count, dtype=np.uint32)
    return groups, new_ids


def _ends(type: str, start: str | None, end: str | None, source: Source) -> Ends:
    first, second, named = end_columns(source.empty, source.place)
    return Ends(source, (first, second), (start, end), named)


def _joined(pairs: Sequence[tuple[Array, Array]], scratch: Scratch) -> tuple[Array, Array]:
    """Return the ends of several tables, one after the other, in files."""
    if len(pairs) == 1:
        return pairs[0]
    sides = []
    for side in range(2):
        joined = scratch.array(sum(len(pair[side]) for pair in pairs), np.uint32)
        first = 0
        for pair in pairs:
            joined[first : first + len(pair[side])] = pair[side]
            first += len(pair[side])
        sides.append(joined)
    return sides[0], sides[1]


def _properties(tables: Sequence[tuple[Source, Sequence[str]]], budget: Budget) -> Properties:
    """Return the properties of the rows of tables with columns, one after the other."""
    kinds = {key: _kind([source.kinds[key] for source, own in tables if key in own])
             for key in dict.fromkeys(key for _, own in tables for key in own)}  # fmt: skip

    def batches() -> Iterator[Any]:
        for source, own in tables:
            names = [key for key in kinds if key in own]
            for batch in _batches(source, names, budget.batch):
                yield _with_all(batch, kinds, names)

    rows = sum(source.rows for source, _ in tables)
    width = sum(source.rows * sum(source.widths[key] for key in own) for source, own in tables) / max(rows, 1)
    return Properties(kinds, batches, width)


def _batches(source: Source, names: Sequence[str], rows: int) -> Iterator[Any]:
    """Yield a table's batches; ranges of rows where no columns are wanted."""
    if names:
        for _, batch in source.batches(names, rows):
            yield batch
    else:
        yield from without_columns(source.rows, rows)


def _with_all(batch: Any, kinds: dict[str, Any], names: Sequence[str]) -> Any:
    """Return a batch with all columns, null where it has none; of the types that are kept, but for mixed ones."""
    columns = []
    for key, kind in kinds.items():
        column = batch.column(key) if key in names else pa.nulls(len(batch))
        columns.append(column if pa.types.is_union(kind) or column.type == kind else column.cast(kind))
    return pa.record_batch(columns, list(kinds))


def _kind(kinds: Sequence[Any]) -> Any:
    """Return the type of a column that several tables have."""
    return concatenate([pa.array([], kind) for kind in kinds]).type


@dataclass
class _Column:
    """A node property that is made: its values from ``begin`` on, up to ``end``."""

    begin: int
    end: int
    kind: Any
    writer: ColumnWriter


def _node_columns(
    nodes: Sequence[NodeSource],
    groups: Sequence[LabelGroup],
    new_ids: Array,
    budget: Budget,
    scratch: Scratch,
) -> dict[str, PropertyColumn]:
    firsts = np.cumsum([0] + [source.rows for _, source in nodes]).tolist()
    columns: dict[str, _Column] = {}
    for key in dict.fromkeys(key for _, source in nodes for key in source.schema.names):
        having = {frozenset(labels) for labels, source in nodes if key in source.schema.names}
        covered = [group for group in groups if group.labels in having]
        kind = _kind([source.kinds[key] for _, source in nodes if key in source.schema.names])
        columns[key] = _Column(covered[0].begin, covered[-1].end, kind, ColumnWriter(scratch, kind))
    plain = {key: one for key, one in columns.items() if not pa.types.is_union(one.kind)}
    with Progress("Sorting nodes", len(new_ids)) as progress:
        for group in groups:
            own = [(first, source) for (labels, source), first in zip(nodes, firsts, strict=False)
                   if frozenset(labels) == group.labels]  # fmt: skip
            here = {key: one for key, one in plain.items() if one.begin <= group.begin and group.end <= one.end}
            _append_group(group, own, here, new_ids, budget, scratch)
            progress.advance(group.end - group.begin)
    found = {}
    for key, one in columns.items():
        array = one.writer.finish() if key in plain else _mixed(key, one, nodes, firsts, groups, new_ids, budget)
        found[key] = PropertyColumn(one.begin, array)
    return found


def _append_group(
    group: LabelGroup,
    tables: Sequence[tuple[int, Source]],
    columns: dict[str, _Column],
    new_ids: Array,
    budget: Budget,
    scratch: Scratch,
) -> None:
    """Append the properties of the nodes of a group in the order of their ids."""
    kinds = {key: one.kind for key, one in columns.items()}
    width = max((sum(source.widths.values()) for _, source in tables), default=0.0)
    most = budget.rows(width, group.end - group.begin)
    cuts = np.append(np.arange(group.begin, max(group.end, group.begin + 1), most), group.end)
    schema = pa.schema([("", pa.uint32()), *kinds.items()])
    spools = [scratch.spool(schema) for _ in cuts[1:]]
    for first, source in tables:
        names = [key for key in kinds if key in source.schema.names]
        row = first
        for batch in _batches(source, names, budget.batch):
            ids = new_ids[row : row + len(batch)]
            row += len(batch)
            piece = np.searchsorted(cuts[1:-1], ids, side="right").astype(np.uint16)
            order = np.argsort(piece, kind="stable")
            bounds = np.concatenate(([0], np.cumsum(np.bincount(piece, minlength=len(spools)))))
            filled = _with_all(batch, kinds, names)
            deal_rows(spools, pa.record_batch([pa.array(ids), *filled.columns], schema=schema), order, bounds)
    for spool in spools:
        table = spool.read()
        if table.num_rows:
            append_rows({key: one.writer for key, one in columns.items()}, table, np.argsort(table[0].to_numpy()))


def _mixed(
    key: str,
    column: _Column,
    nodes: Sequence[NodeSource],
    firsts: Sequence[int],
    groups: Sequence[LabelGroup],
    new_ids: Array,
    budget: Budget,
) -> Any:
    """Return a property of several types, made in memory."""
    inside = {group.labels for group in groups if column.begin <= group.begin and group.end <= column.end}
    parts, ids = [], []
    for (labels, source), first in zip(nodes, firsts, strict=False):
        if frozenset(labels) not in inside:
            continue
        ids.append(new_ids[first : first + source.rows])
        if key in source.schema.names:
            batches = [batch.column(0) for batch in _batches(source, [key], budget.batch)]
            parts.append(concatenate(batches) if batches else pa.array([], source.kinds[key]))
        else:
            parts.append(pa.nulls(source.rows))
    return concatenate(parts).take(pa.array(np.argsort(np.concatenate(ids))))
