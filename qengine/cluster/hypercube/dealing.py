"""Deals the rows of a table to cells: what is sent of each row, and where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from qengine._frozen import frozen
from qengine.cluster.hypercube.conditions import Bools, holds
from qengine.cluster.hypercube.grid import Grids, hashes_of, rows_by_cell
from qengine.cluster.hypercube.joins import Join
from qengine.cluster.hypercube.tables import NodeKind, RelationshipTable, Tables
from qengine.plan.expr import Expr
from qengine.plan.traverse import free_variables
from qengine.storage.keys import key_array
from qengine.storage.normal import normal_array

START, END, KEY, FOR = "@start of", "@end of", "@key of", "@for"
"""Columns of what is sent: keys of a relationship's ends; a node's key, and whose conditions it satisfies."""

_BLOCK = 1 << 20  # rows that are dealt at once


class Parcel(NamedTuple):
    """Rows of one table for one cell, as Arrow's stream. ``table``: the number of the dealer that has sent them."""

    cell: int
    table: int
    rows: int
    data: bytes


class Path(NamedTuple):
    """One way of rows to cells: the variables that their keys bind, and which rows go (None: all)."""

    variables: tuple[int, ...]
    goes: Bools | None


@frozen
class Dealer:
    """What knows of one table what is sent where.

    Attributes
    ----------
    number
        The dealer's own.
    columns
        Those that are read of the table.
    """

    number: int
    columns: tuple[str, ...]
    join: Join
    grid: Grids
    parameters: Mapping[str, Any]

    def paths(self, block: Any) -> tuple[Any, tuple[Any, ...], list[Path]]:
        """Return, of some rows of the table, what is sent, the key arrays that paths bind, and the paths."""
        raise NotImplementedError

    def __call__(self, block: Any) -> Iterator[Parcel]:
        """Yield rows of the table by cell."""
        for offset in range(0, block.num_rows, _BLOCK):
            yield from self._dealt(block.slice(offset, _BLOCK))

    def _dealt(self, block: Any) -> Iterator[Parcel]:
        table, keys, paths = self.paths(block)
        hashes = [hashes_of(each) for each in keys]
        reached: Any = np.uint64(0)
        for path in paths:
            line = self.grid.line(dict(zip(path.variables, hashes, strict=False)), table.num_rows)
            if path.goes is not None:
                line[~path.goes] = 0
            reached = reached | line
        if not paths:
            return
        batch = table.combine_chunks()
        for cell, places in rows_by_cell(reached, self.grid.cells):
            yield Parcel(cell, self.number, len(places), _packed(batch.take(pa.array(places))))


def _packed(table: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        for batch in table.combine_chunks().to_batches():
            stream.write_batch(batch)
    return bytes(sink.getvalue())


@frozen
class NodeDealer(Dealer):
    """Sends the nodes of a kind that satisfy the conditions of some variable."""

    kind: int
    facts: NodeKind

    def paths(self, block: Any) -> tuple[Any, tuple[Any, ...], list[Path]]:
        """Return what is sent of nodes, their keys, and the paths by which they go."""
        facts, join = self.facts, self.join
        keys = key_array(block[facts.key], f"{facts.name}, column {facts.key}")
        masks = np.zeros(len(keys), np.int64)
        paths = []
        for variable in (place for place, kind in sorted(join.rows) if kind == self.kind):
            conditions = join.conditions[variable]
            goes = holds(conditions, block, self.parameters) if conditions else None
            masks |= np.int64(1 << variable) * (np.ones(len(keys), np.int64) if goes is None else goes)
            paths.append(Path((variable,), goes))
        columns = {KEY: keys, FOR: pa.array(masks)}
        for name in join.node_columns[self.kind]:
            if name != facts.key:
                columns[name] = normal_array(block[name], f"{facts.name}, column {name}")
        return pa.table(columns), (keys,), paths


@frozen
class RelationshipDealer(Dealer):
    """Sends the relationships of a table that some relationship of the pattern may be."""

    table: int
    facts: RelationshipTable
    kinds: tuple[NodeKind, NodeKind]

    def paths(self, block: Any) -> tuple[Any, tuple[Any, ...], list[Path]]:
        """Return what is sent of relationships, the keys of both ends, and the paths by which they go."""
        facts, join = self.facts, self.join
        place = f"relationships {facts.type}"
        start, end = (key_array(block[column], f"{place}, column {column}") for column in facts.ends)
        paths = []
        for use in dict.fromkeys(each for each in join.uses if each.table == self.table):
            goes = [holds(use.conditions, block, self.parameters)] if use.conditions else []
            for variable, keys, kind in ((use.first, start, self.kinds[0]), (use.second, end, self.kinds[1])):
                if conditions := of_keys_alone(join.conditions[variable], kind):
                    goes.append(holds(conditions, pa.table({kind.key: keys}), self.parameters))
            if use.first == use.second:
                goes.append(pc.equal(start, end).to_numpy(zero_copy_only=False))
            variables = (use.first,) if use.first == use.second else (use.first, use.second)
            paths.append(Path(variables, np.logical_and.reduce(goes) if goes else None))
        columns = {START: start, END: end}
        for name in join.relationship_columns[self.table]:
            columns[name] = normal_array(block[name], f"{place}, column {name}")
        return pa.table(columns), (start, end), paths


def of_keys_alone(conditions: tuple[Expr, ...], kind: NodeKind) -> tuple[Expr, ...]:
    """Return the conditions that read no more of a node than its key; what a kind doesn't have is null."""
    others = {f".{name}" for name in kind.properties if name != kind.key}
    return tuple(each for each in conditions if not free_variables(each) & others)


def dealers(join: Join, tables: Tables, grid: Grids, parameters: Mapping[str, Any]) -> list[Dealer]:
    """Return what deals the tables that a join reads; kinds of nodes first."""
    found: list[Dealer] = []
    bare = tables.bare()
    for number in sorted({kind for _, kind in join.rows}):
        kind = bare.kinds[number]
        conditions = [one for each, other in join.rows if other == number for one in join.conditions[each]]
        columns = (kind.key, *_read(conditions, join.node_columns[number], kind.properties))
        found.append(NodeDealer(len(found), tuple(dict.fromkeys(columns)), join, grid, parameters, number, kind))
    for number in sorted({use.table for use in join.uses}):
        table = bare.relationships[number]
        conditions = [one for use in join.uses if use.table == number for one in use.conditions]
        columns = (*table.ends, *_read(conditions, join.relationship_columns[number], table.properties))
        kinds = bare.kinds[table.start], bare.kinds[table.end]
        names = tuple(dict.fromkeys(columns))
        found.append(RelationshipDealer(len(found), names, join, grid, parameters, number, table, kinds))
    return found


def _read(conditions: list[Expr], sent: tuple[str, ...], there: tuple[str, ...]) -> list[str]:
    """Return the properties of a table that are read: for conditions, and to be sent."""
    asked = {name[1:] for each in conditions for name in free_variables(each)}
    return [name for name in there if name in sent or name in asked]
