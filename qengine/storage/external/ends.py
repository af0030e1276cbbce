"""Ends of relationships as ordinals of nodes, found by keys of which memory doesn't hold all.

Where it does, there is one index for each label, as in ``tables``. Else nodes and ends are dealt by a hash of their
keys, and each part has an index of its own: equal keys are in the same part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from qengine.storage.arrays import Array
from qengine.storage.external.budget import Budget
from qengine.storage.external.scratch import Scratch, Spool
from qengine.storage.external.sources import Source
from qengine.storage.keys import check_types, key_array, lie_close
from qengine.storage.tables import Finder, KeyTable, as_strings, explained_ends, explained_key

_TAIL = 8  # bytes at the end of a text that its hash reads
_MIX = np.uint64(0x9E3779B97F4A7C15)
_MOST_FILES = 800  # that are open at a time: one for each part of each column of keys


@dataclass
class Ends:
    """A table of relationships.

    ``columns``: those with the keys of starts and ends. ``labels``: of the nodes that these are; None for any.
    ``named``: whether the columns are known by their names.
    """

    source: Source
    columns: tuple[str, str]
    labels: tuple[str | None, str | None]
    named: bool

    @property
    def properties(self) -> list[str]:
        """The names of the other columns."""
        return [name for name in self.source.schema.names if name not in self.columns]


Keyed = tuple[tuple[str, ...], Source, str]
"""Labels of a table of nodes, the table, and its key column."""


def find_ends(
    nodes: Sequence[Keyed],
    ends: Sequence[Ends],
    asked: tuple[str | None, bool],
    budget: Budget,
    scratch: Scratch,
    advance: Callable[[float], None],
) -> list[tuple[Array, Array]]:
    """Return the ordinals (uint32, in files) of starts and ends of each table's rows.

    Parameters
    ----------
    asked
        The key column that the caller has named, and ``guessed`` as for ``tables.from_tables``.
    advance
        Called with how many rows are done.

    Raises
    ------
    StorageError
        For a key that two nodes have, or none.
    """
    found = [(scratch.array(one.source.rows, np.uint32), scratch.array(one.source.rows, np.uint32)) for one in ends]
    if _fit(nodes, budget):
        key, guessed = asked
        tables = [_whole(labels, source, column, key, budget) for labels, source, column in nodes]
        first = 0
        for table in tables:
            table.first = first
            first += len(table.keys)
        finder = Finder(tables, guessed)
        for one, sides in zip(ends, found, strict=True):
            for begin, batch in one.source.batches(list(dict.fromkeys(one.columns)), budget.batch):
                with explained_ends(*one.columns, one.named):
                    for column, label, side in zip(one.columns, one.labels, sides, strict=True):
                        place = f"{one.source.place}, column {column}"
                        keys = key_array(batch.column(column), place, begin)
                        side[begin : begin + len(keys)] = finder.find(label, keys, place, first_row=begin)
                advance(batch.num_rows)
        return found
    _find_in_parts(nodes, ends, found, asked, budget, scratch, advance)
    return found


def _fit(nodes: Sequence[Keyed], budget: Budget) -> bool:
    """Tell whether all keys may be in memory, in indexes that cost nothing to ask again and again.

    So it is with few keys, and with integers that lie close together in each table.
    """
    rows = sum(source.rows for _, source, _ in nodes)
    if rows <= budget.batch:
        return True
    if 8 * rows > budget.dense_keys:
        return False
    for _, source, column in nodes:
        if not pa.types.is_int64(_key_type(source, column)):
            return False
        low, high = 2**63 - 1, -(2**63)
        for _, batch in source.batches([column], budget.batch):
            values = batch.column(0).drop_null().cast(pa.int64()).to_numpy()
            if len(values):
                low, high = min(low, int(values.min())), max(high, int(values.max()))
        if source.rows and not lie_close(low, high, source.rows):
            return False
    return True


def _parts(nodes: Sequence[Keyed], columns: int, budget: Budget) -> int:
    """Return in how many parts so many columns of keys must be dealt for an index of each part."""
    size = 0
    for _, source, column in nodes:
        sample = next((batch for _, batch in source.batches([column], budget.batch)), None)
        if sample is not None and sample.num_rows:
            size += int(sample.nbytes / sample.num_rows * source.rows)
    return max(1, min(-(-size // budget.keys), _MOST_FILES // max(columns, 1)))


def _whole(labels: tuple[str, ...], source: Source, column: str, key: str | None, budget: Budget) -> KeyTable:
    """Return the keys of a table of nodes."""
    with explained_key(key, column):
        place = f"{source.place}, column {column}"
        keys = key_array(source.empty[column], place)
        if pa.types.is_int64(keys.type):
            numbers = np.empty(source.rows, np.int64)
            for first, batch in source.batches([column], budget.batch):
                numbers[first : first + batch.num_rows] = key_array(batch.column(0), place, first).to_numpy()
            keys = pa.array(numbers)
        else:
            parts = [key_array(each.column(0), place, first) for first, each in source.batches([column], budget.batch)]
            keys = pa.concat_arrays([keys, *parts])
    return KeyTable(source.place, labels, keys)


def _find_in_parts(
    nodes: Sequence[Keyed],
    ends: Sequence[Ends],
    found: Sequence[tuple[Array, Array]],
    asked: tuple[str | None, bool],
    budget: Budget,
    scratch: Scratch,
    advance: Callable[[float], None],
) -> None:
    key, guessed = asked
    parts = _parts(nodes, len(nodes) + 2 * len(ends), budget)
    if not guessed:
        _check_types(nodes, ends)
    firsts = np.cumsum([0] + [source.rows for _, source, _ in nodes]).tolist()
    tables = []
    for labels, source, column in nodes:
        with explained_key(key, column):
            tables.append((labels, _dealt(source, column, parts, guessed, budget, scratch)))
    dealt = []
    for one in ends:
        with explained_ends(*one.columns, one.named):
            dealt.append([_dealt(one.source, column, parts, guessed, budget, scratch)
                          for column in one.columns])  # fmt: skip
    for part in range(parts):
        own = []
        for (labels, spools), (_, source, _), first in zip(tables, nodes, firsts, strict=False):
            keys, rows = _columns(spools[part])
            own.append(KeyTable(source.place, labels, keys, first, rows))
        finder = Finder(own, False)
        for one, sides, spooled in zip(ends, found, dealt, strict=True):
            for column, label, side, spools in zip(one.columns, one.labels, sides, spooled, strict=True):
                for keys, rows in _slices(spools[part], budget.sought):
                    with explained_ends(*one.columns, one.named):
                        side[rows] = finder.find(label, keys, f"{one.source.place}, column {column}", rows=rows)
        advance(sum(one.source.rows for one in ends) / parts)


def _check_types(nodes: Sequence[Keyed], ends: Sequence[Ends]) -> None:
    """Raise a ``StorageError`` where ends have keys of another type than the nodes that they are of."""
    for one in ends:
        for column, label in zip(one.columns, one.labels, strict=True):
            place = f"{one.source.place}, column {column}"
            for labels, source, own in nodes:
                if one.source.rows and source.rows and (label is None or label in labels):
                    with explained_ends(*one.columns, one.named):
                        check_types(_key_type(one.source, column), _key_type(source, own), place)


def _key_type(source: Source, column: str) -> Any:
    return key_array(source.empty[column], f"{source.place}, column {column}").type


def _dealt(source: Source, column: str, parts: int, texts: bool, budget: Budget, scratch: Scratch) -> list[Spool]:
    """Return a table's keys with their rows, dealt by a hash of the keys."""
    empty = key_array(source.empty[column], f"{source.place}, column {column}")
    kind = pa.string() if texts and pa.types.is_int64(empty.type) else empty.type
    schema = pa.schema([("key", kind), ("row", pa.int64())])
    spools = [scratch.spool(schema) for _ in range(parts)]
    for first, batch in source.batches([column], budget.batch):
        keys = key_array(batch.column(0), f"{source.place}, column {column}", first)
        keys = as_strings(keys) if texts and pa.types.is_int64(keys.type) else keys
        where = (_hashed(keys) % np.uint64(parts)).astype(np.uint16)
        order = np.argsort(where, kind="stable")
        ordered = pa.record_batch([keys.take(pa.array(order)), pa.array(order + first)], schema=schema)
        bounds = np.concatenate(([0], np.cumsum(np.bincount(where, minlength=parts)))).tolist()
        for spool, begin, end in zip(spools, bounds[:-1], bounds[1:], strict=True):
            if end > begin:
                spool.write(ordered.slice(begin, end - begin))
    return spools


def _columns(spool: Spool) -> tuple[Any, Array]:
    """Return the keys in a file, and their rows."""
    table = spool.read()
    return key_array(table["key"], "keys"), table["row"].to_numpy()


def _slices(spool: Spool, most: int) -> Iterator[tuple[Any, Array]]:
    """Yield the keys in a file, and their rows, so many at a time, and once none where there are none."""
    table = spool.read()
    for first in range(0, max(table.num_rows, 1), most):
        some = table.slice(first, most)
        yield key_array(some["key"], "keys"), some["row"].to_numpy()


def _hashed(keys: Any) -> Array:
    """Return a hash of each key (uint64): of texts, of their lengths and last bytes."""
    if pa.types.is_int64(keys.type):
        words = keys.to_numpy().view(np.uint64)
    else:
        width = np.int64 if pa.types.is_large_string(keys.type) else np.int32
        offsets = np.frombuffer(keys.buffers()[1], width)[keys.offset : keys.offset + len(keys) + 1].astype(np.int64)
        data = np.frombuffer(keys.buffers()[2] or b"", np.uint8)
        words = np.diff(offsets).astype(np.uint64)
        for back in range(1, _TAIL + 1):
            places = offsets[1:] - back
            inside = places >= offsets[:-1]
            byte = np.zeros(len(keys), np.uint64)
            byte[inside] = data[places[inside]]
            words = words * np.uint64(257) + byte
    mixed: Array = (words * _MIX) >> np.uint64(32)
    return mixed
