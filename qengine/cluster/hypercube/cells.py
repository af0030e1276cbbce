"""What a cell does: makes a small graph of the rows that it got, and runs its part of the query over it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from qengine import optimizer
from qengine._frozen import frozen
from qengine.cluster.cut import merged
from qengine.cluster.hypercube.conditions import holds, nothing
from qengine.cluster.hypercube.dealing import END, FOR, KEY, START, Dealer, NodeDealer, Parcel, RelationshipDealer
from qengine.cluster.hypercube.grid import Grid, Grids, hashes_of
from qengine.cluster.hypercube.joins import Join, variable_label
from qengine.cluster.hypercube.plain import IDENTITY
from qengine.cluster.hypercube.slices import ROOM, Slice, slicing
from qengine.cluster.hypercube.tables import NodeKind, Tables
from qengine.cluster.wire import decoded, encoded
from qengine.errors import OutOfMemory, QengineError, StorageError
from qengine.exec.common.batch import Batch, concatenate_batches
from qengine.exec.common.pipeline import batches, continuing
from qengine.exec.context import ExecutionContext
from qengine.exec.spill.hashes import row_hashes
from qengine.plan.logical import Operator
from qengine.storage.assemble import NodeBlock, RelationshipBlock, assemble
from qengine.storage.store import GraphStore

_MOST_SLICES = 64


@frozen
class Limited:
    """What each cell may take: ``timeout`` in seconds, ``memory_limit`` in bytes, a folder to spill to, threads."""

    timeout: float | None = None
    memory_limit: int | None = None
    spill_directory: str | None = None
    threads: int = 1

    def context(self, parameters: Mapping[str, Any], passed: float = 0.0) -> ExecutionContext:
        """Return the context of what keeps to these limits, after so many seconds."""
        left = None if self.timeout is None else max(0.0, self.timeout - passed)
        return ExecutionContext(parameters, left, self.memory_limit, self.threads, None, self.spill_directory)


@frozen
class CellAnswer:
    """What a cell gave.

    ``rows``: as ``wire.encoded`` made of them, by the number of who merges them; or the ``error``. ``received``: rows,
    ``bytes``: of what was sent to it. ``seconds``: that it took.
    """

    cell: int
    rows: tuple[tuple[int, bytes], ...]
    error: QengineError | None
    received: int
    bytes: int
    seconds: float


@frozen
class MergeAnswer:
    """What came of rows that were merged: as ``wire.encoded`` made of them, None where there are none; or the error."""

    rows: bytes | None
    error: QengineError | None = None


@frozen
class MergeWork:
    """What is done with the rows of all cells that one place merges."""

    operators: tuple[Operator, ...]
    parameters: Mapping[str, Any]
    limits: Limited

    def __call__(self, parts: Sequence[bytes]) -> MergeAnswer:
        """Return what comes of rows, which are given as cells have encoded them."""
        rows = concatenate_batches([decoded(each) for each in parts])
        plan = merged(self.operators, tuple(rows.columns))
        try:
            found = list(continuing(plan, nothing(), self.limits.context(self.parameters))(rows))
        except QengineError as error:
            return MergeAnswer(None, error)
        return MergeAnswer(encoded(concatenate_batches(found)) if found else None)


@frozen
class CellWork:
    """What is done in every cell.

    ``dealers``: those that have sent the parcels. ``places``: how many there are that merge rows; 1: nothing is merged
    before the caller has all.
    """

    join: Join
    tables: Tables
    grid: Grids
    dealers: tuple[Dealer, ...]
    parameters: Mapping[str, Any]
    limits: Limited
    places: int = 1

    def __call__(self, cell: int, parcels: Sequence[Parcel]) -> CellAnswer:
        """Return what a cell gives for the parcels that were sent to it."""
        begin = time.perf_counter()
        found: tuple[tuple[int, bytes], ...] = ()
        error = None
        try:
            found = self._rows(cell, parcels)
        except QengineError as raised:
            error = raised
        rows, size = sum(each.rows for each in parcels), sum(len(each.data) for each in parcels)
        return CellAnswer(cell, found, error, rows, size, time.perf_counter() - begin)

    def _rows(self, cell: int, parcels: Sequence[Parcel]) -> tuple[tuple[int, bytes], ...]:
        """Return the rows of a cell; of slices of it, more and more, where the memory limit leaves no room for all."""
        limit, number = self.limits.memory_limit, 1
        sizes: dict[int, int] = {}
        for parcel in parcels:
            if isinstance(dealer := self.dealers[parcel.table], RelationshipDealer):
                sizes[dealer.table] = sizes.get(dealer.table, 0) + len(parcel.data)
        grid, size = slicing(self.join, sizes, number)
        while True:
            while limit is not None and ROOM * size > limit and number < _MOST_SLICES:
                number *= 2
                grid, size = slicing(self.join, sizes, number)
            try:
                return tuple(self._sliced(cell, parcels, grid))
            except OutOfMemory:
                if number >= _MOST_SLICES:
                    raise
                number *= 2
                grid, size = slicing(self.join, sizes, number)

    def _sliced(self, cell: int, parcels: Sequence[Parcel], grid: Grid) -> Iterator[tuple[int, bytes]]:
        """Yield the rows of the slices of a cell, by the places that merge them."""
        begin = time.perf_counter()
        for each in [Slice(grid, place) for place in range(grid.cells)] if grid.cells > 1 else [None]:
            context = self.limits.context(self.parameters, time.perf_counter() - begin)
            store = self.graph(cell, parcels, each)
            context.check()
            with context.memory.holding("A cell's graph") as held:
                held.set(store.nbytes)
                plan = optimizer.plan(self.join.part, store)
                rows = list(batches(plan, store, context))
            if rows:
                yield from self._by_place(concatenate_batches(rows))

    def _by_place(self, whole: Batch) -> Iterator[tuple[int, bytes]]:
        """Yield rows by the place that merges them."""
        if self.places == 1:
            yield 0, encoded(whole)
            return
        hashes = row_hashes([whole.columns[key] for key in self.join.keys], whole.length)
        where = (hashes >> np.uint64(32)) % np.uint64(self.places)
        yield from ((place, encoded(whole.filter(where == place))) for place in np.unique(where).tolist())

    def graph(self, cell: int, parcels: Sequence[Parcel], part: Slice | None = None) -> GraphStore:
        """Return the graph of a cell, or of a slice of it.

        A node has a label for each of the pattern's nodes that it may be here: it satisfies the conditions on that one,
        and is hashed to the cell's place along that dimension. So what binds a pattern's nodes to nodes with their
        labels is found in this cell alone, whatever else was sent here.
        """
        nodes: dict[int, list[Any]] = {}
        relationships: dict[int, list[Any]] = {}
        for parcel in parcels:
            dealer = self.dealers[parcel.table]
            table = pa.ipc.open_stream(parcel.data).read_all()
            if isinstance(dealer, NodeDealer):
                if part is not None:
                    ways = [(variable,) for variable, kind in self.join.rows if kind == dealer.kind]
                    table = part.rows(table, (KEY,), ways)
                nodes.setdefault(dealer.kind, []).append(table)
            else:
                assert isinstance(dealer, RelationshipDealer)
                if part is not None:
                    pairs = [(use.first, use.second) for use in self.join.uses if use.table == dealer.table]
                    table = part.rows(table, (START, END), pairs)
                relationships.setdefault(dealer.table, []).append(table)
        rows = {kind: _joined(each) for kind, each in nodes.items()}
        edges = {table: _joined(each) for table, each in relationships.items()}
        known = [
            _Nodes.of(self, number, (cell, part), rows.get(number), edges) for number in range(len(self.tables.kinds))
        ]
        blocks: list[NodeBlock] = []
        base = 0
        for each in known:
            found = each.blocks(base)
            base += sum(block.rows for block in found)
            blocks += found
        links = [self._relationships(number, table, known) for number, table in edges.items()]
        undirected = {self.tables.relationships[number].type for number in edges} & {
            each.type for each in self.tables.relationships if each.undirected
        }
        return assemble(blocks, links, undirected)

    def _relationships(self, number: int, table: Any, known: Sequence[_Nodes]) -> RelationshipBlock:
        """Return the relationships of a table between nodes that may be the ends of one of the pattern's."""
        facts = self.tables.relationships[number]
        start, end = known[facts.start].codes[number, START], known[facts.end].codes[number, END]
        first, second = known[facts.start].masks[start], known[facts.end].masks[end]
        kept = np.zeros(len(start), np.bool_)
        for use in self.join.uses:
            if use.table == number:
                kept |= ((first >> use.first) & (second >> use.second) & 1).astype(np.bool_)
        chosen = table.filter(pa.array(kept))
        columns = {name: _array(chosen[name]) for name in self.join.relationship_columns[number]}
        one = known[facts.start].ordinals[start[kept]].astype(np.uint32)
        other = known[facts.end].ordinals[end[kept]].astype(np.uint32)
        return RelationshipBlock(facts.type, one, other, columns)


class _Nodes:
    """A cell's nodes of one kind, by code: what each may be, and where each stands among all.

    Attributes
    ----------
    codes
        Of tables' numbers and ``START`` or ``END`` the codes of these ends, int64.
    masks
        Of each code which of the pattern's nodes it may be, a bit each, int64.
    ordinals
        Of each code its number in the graph, int64; set by ``blocks``.
    """

    def __init__(self, kind: NodeKind, keys: Any, codes: dict[tuple[int, str], Any], masks: Any) -> None:
        self.kind, self.keys, self.codes, self.masks = kind, keys, codes, masks
        self.columns: dict[str, Any] = {}
        self.ordinals = np.zeros(len(masks), np.int64)

    @classmethod
    def of(
        cls, work: CellWork, number: int, where: tuple[int, Slice | None], rows: Any, edges: Mapping[int, Any]
    ) -> _Nodes:
        """Gather the nodes of a kind from the ends of relationships, and from rows of their own."""
        kind, join = work.tables.kinds[number], work.join
        ends = [
            ((table, end), _array(edges[table][end]))
            for table in edges
            for end, other in (
                (START, work.tables.relationships[table].start),
                (END, work.tables.relationships[table].end),
            )
            if other == number
        ]
        own = [] if rows is None else [((-1, KEY), _array(rows[KEY]))]
        keys, codes = _coded([*ends, *own])
        masks = np.zeros(len(keys), np.int64)
        found = cls(kind, keys, codes, masks)
        if not len(keys):
            return found
        hashes = hashes_of(keys)
        cell, part = where
        passed = np.zeros(len(keys), np.int64)
        if rows is not None:
            passed[codes[-1, KEY]] = rows[FOR].to_numpy()
        for variable, kinds in enumerate(join.kinds):
            if number not in kinds:
                continue
            if (variable, number) in join.rows:
                fits = (passed >> variable) & 1 == 1
            elif conditions := join.conditions[variable]:
                fits = holds(conditions, pa.table({kind.key: keys}), work.parameters)
            else:
                fits = np.ones(len(keys), np.bool_)
            fits &= work.grid.fits(cell, variable, hashes)
            if part is not None:
                fits &= part.fits(variable, hashes)
            masks |= fits.astype(np.int64) << variable
        found._add_columns(work, number, rows)
        return found

    def _add_columns(self, work: CellWork, number: int, rows: Any) -> None:
        join, kind = work.join, self.kind
        place = np.full(len(self.keys), -1)
        if rows is not None:
            own = self.codes[-1, KEY]
            place[own] = np.arange(len(own))
            if np.count_nonzero(place >= 0) < len(own):
                twice = self.keys[int(np.flatnonzero(np.bincount(own) > 1)[0])].as_py()
                raise StorageError(f"{kind.name}: the key {twice!r} occurs twice", hint="Each node needs its own.")
        taken = pa.array(place, mask=place < 0)
        for name in join.node_columns.get(number, ()):
            if name == kind.key:
                self.columns[name] = self.keys
            elif rows is not None:
                self.columns[name] = _array(rows[name]).take(taken)
        if join.identity:
            several = len(frozenset().union(*join.kinds)) > 1
            self.columns[IDENTITY] = _named_keys(number, self.keys) if several else self.keys

    def blocks(self, base: int) -> list[NodeBlock]:
        """Return the nodes that may be any of the pattern's, a block for each set of these; ordinals from ``base``."""
        order = np.argsort(self.masks, kind="stable")
        order = order[self.masks[order] != 0]
        self.ordinals[order] = base + np.arange(len(order))
        sets, counts = np.unique(self.masks[order], return_counts=True)
        ends = np.cumsum(counts)
        found = []
        for mask, begin, end in zip(sets.tolist(), ends - counts, ends, strict=True):
            places = pa.array(order[begin:end])
            labels = [variable_label(variable) for variable in range(mask.bit_length()) if mask >> variable & 1]
            columns = {name: each.take(places) for name, each in self.columns.items()}
            found.append(NodeBlock((*self.kind.labels, *labels), len(places), columns))
        return found


def _joined(tables: Sequence[Any]) -> Any:
    """Return the rows of tables that differ at most in how wide their texts' offsets are, or in what nulls are of."""
    return pa.concat_tables(tables, promote_options="permissive")


def _array(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _coded(arrays: Sequence[tuple[tuple[int, str], Any]]) -> tuple[Any, dict[tuple[int, str], Any]]:
    """Return the different keys of all arrays, and for each array their places among these."""
    if not arrays:
        return pa.array([], pa.int64()), {}
    whole = pa.chunked_array([each for _, each in arrays]).dictionary_encode().combine_chunks()
    whole = pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole
    places = whole.indices.to_numpy().astype(np.int64)
    found, begin = {}, 0
    for name, each in arrays:
        found[name] = places[begin : begin + len(each)]
        begin += len(each)
    return whole.dictionary, found


def _named_keys(number: int, keys: Any) -> Any:
    import pyarrow.compute as pc

    return pc.binary_join_element_wise(f"{number}", keys.cast(pa.string()), ":")
