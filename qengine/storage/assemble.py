"""Makes the graph of vertices and relationships whose ends are already known: ids, columns, adjacencies.

Loaders give vertices in load order; a vertex's *ordinal* is its place there. Internal ids follow from label sets
and degrees.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np
import pyarrow as pa

from qengine._frozen import frozen
from qengine.errors import StorageError
from qengine.storage.arrays import Array
from qengine.storage.columns import PropertyColumn
from qengine.storage.kernels import count_vertices, order_by_degree, renumber
from qengine.storage.pcsr_build import build_type
from qengine.storage.progress import Progress
from qengine.storage.store import EdgeType, GraphStore, LabelGroup
from qengine.storage.variant import concatenate

MAX_VERTICES = 2**31 - 1
"""The most nodes that a graph can hold."""
MAX_RELATIONSHIPS = 2**32 - 1
"""The most relationships of one type: local ids are 32-bit."""


@frozen
class NodeBlock:
    """Vertices with the same labels: consecutive ordinals, and normal property arrays of that length."""

    labels: tuple[str, ...]
    rows: int
    columns: Mapping[str, Any] = field(default_factory=dict)


@frozen
class RelationshipBlock:
    """Relationships of one type: ordinals of their ends (uint32), and normal property arrays of that length."""

    type: str
    start: Array
    end: Array
    columns: Mapping[str, Any] = field(default_factory=dict)


def assemble(
    nodes: Sequence[NodeBlock], relationships: list[RelationshipBlock], undirected: Iterable[str] = ()
) -> GraphStore:
    """Return the graph of these blocks.

    Parameters
    ----------
    nodes
        Vertices; ordinals count through the blocks.
    relationships
        Relationships; blocks of one type are loaded one after the other. Emptied, so that ends are freed on the way
        which nothing else holds.
    undirected
        Names of the undirected types.

    Raises
    ------
    StorageError
        If the graph is too large for 32-bit ids.
    """
    count = sum(block.rows for block in nodes)
    if count > MAX_VERTICES:
        raise StorageError(f"{count:,} nodes are more than the {MAX_VERTICES:,} that a graph can hold")
    groups, ordinals = order_vertices(nodes, _degrees(count, relationships))
    new_id = np.empty(count, np.uint32)
    new_id[ordinals] = np.arange(count, dtype=np.uint32)

    by_type: dict[str, list[RelationshipBlock]] = {}
    rows = sum(len(block.start) for block in relationships)
    while relationships:
        block = relationships.pop(0)
        by_type.setdefault(block.type, []).append(block)
        del block
    both_ways = set(undirected)
    types, adjacencies, columns = [], [], []
    base = 0
    with Progress("Indexing", rows) as progress:
        for index, (name, blocks) in enumerate(by_type.items()):
            size = sum(len(block.start) for block in blocks)
            if size > MAX_RELATIONSHIPS:
                raise StorageError(
                    f"type {name} has {size:,} relationships, more than the {MAX_RELATIONSHIPS:,} possible"
                )
            keys = tuple(dict.fromkeys(key for block in blocks for key in block.columns))
            joined = {key: _joined(blocks, key) for key in keys}
            ends = [[block.start for block in blocks], [block.end for block in blocks]]
            blocks.clear()
            built = build_type(
                _renumbered(ends[0], new_id),  # nothing else holds what is freed there
                _renumbered(ends[1], new_id),
                undirected=name in both_ways,
                properties=bool(keys),
            )
            adjacencies.append(built.adjacencies)
            columns.append({key: PropertyColumn(0, joined.pop(key).take(pa.array(built.order))) for key in keys})
            types.append(EdgeType(name, index, base, size, name in both_ways, built.parallel, built.loops, keys))
            base += size
            progress.advance(size)
    labels = tuple(dict.fromkeys(label for block in nodes for label in block.labels))
    store = GraphStore(groups, labels, types, adjacencies, _node_columns(nodes, groups, ordinals), columns)
    store.statistics.gather()
    return store


def _renumbered(parts: list[Array], new_id: Array) -> Array:
    numbered = []
    while parts:
        numbered.append(renumber(parts.pop(0), new_id))
    return numbered[0] if len(numbered) == 1 else np.concatenate(numbered)


def _degrees(count: int, relationships: Sequence[RelationshipBlock]) -> Array:
    degrees = np.zeros(count, np.uint32)
    for block in relationships:
        for ends in (block.start, block.end):
            count_vertices(ends, degrees)
    return degrees


def order_vertices(nodes: Sequence[NodeBlock], degrees: Array) -> tuple[list[LabelGroup], Array]:
    """Return the label groups, and the ordinal (uint32) of each internal id; ``degrees``: uint32, by ordinal."""
    members: dict[frozenset[str], list[Array]] = {}
    first = 0
    for block in nodes:
        members.setdefault(frozenset(block.labels), []).append(np.arange(first, first + block.rows, dtype=np.uint32))
        first += block.rows
    groups: list[LabelGroup] = []
    ordinals: list[Array] = [np.empty(0, np.uint32)]
    begin = 0
    for labels, parts in members.items():
        own = np.concatenate(parts)
        order_by_degree(degrees, own)
        ordinals.append(own)
        groups.append(LabelGroup(labels, begin, begin + len(own)))
        begin += len(own)
    return groups, np.concatenate(ordinals)


def _node_columns(
    nodes: Sequence[NodeBlock], groups: Sequence[LabelGroup], ordinals: Array
) -> dict[str, PropertyColumn]:
    found: dict[str, PropertyColumn] = {}
    firsts = np.cumsum([0] + [block.rows for block in nodes])
    for key in dict.fromkeys(key for block in nodes for key in block.columns):
        having = {frozenset(block.labels) for block in nodes if key in block.columns}
        covered = [group for group in groups if group.labels in having]
        begin, end = covered[0].begin, covered[-1].end
        inside = {group.labels for group in groups if begin <= group.begin and group.end <= end}
        blocks = [index for index, block in enumerate(nodes) if frozenset(block.labels) in inside]
        place = np.zeros(firsts[-1], np.int64)  # ordinal -> row of the joined blocks
        row = 0
        for index in blocks:
            place[firsts[index] : firsts[index + 1]] = np.arange(row, row + nodes[index].rows)
            row += nodes[index].rows
        joined = _joined([nodes[index] for index in blocks], key)
        found[key] = PropertyColumn(begin, joined.take(pa.array(place[ordinals[begin:end]])))
    return found


def _joined(blocks: Sequence[NodeBlock] | Sequence[RelationshipBlock], key: str) -> Any:
    arrays, absent = [], 0
    for block in blocks:
        if (array := block.columns.get(key)) is None:
            absent += block.rows if isinstance(block, NodeBlock) else len(block.start)
            continue
        arrays += [pa.nulls(absent)] if absent else []
        arrays.append(array)
        absent = 0
    return concatenate([*arrays, pa.nulls(absent)] if absent or not arrays else arrays)
