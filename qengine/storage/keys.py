"""Finds vertices by the keys that their tables give them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from qengine._control import Control, call
from qengine.errors import StorageError
from qengine.storage.arrays import Array
from qengine.storage.kernels import NO_VERTEX, check_status, look_up
from qengine.storage.normal import normal_array
from qengine.storage.value_table import ValueTable, key_kind, value_column

_UNKNOWN = np.uint32(NO_VERTEX)
_SLICE = 1 << 18  # keys that are put into a table at a time
_SPREAD = 4  # a table by key may have this many places a key


def key_array(column: Any, place: str, first_row: int = 0) -> Any:
    """Return a key column as int64 or string array without nulls.

    ``first_row``: the number that its first row has in errors.

    Raises
    ------
    StorageError
        For a null or a value that can't be a key.
    """
    array = normal_array(column, place)
    if pa.types.is_floating(array.type):
        try:
            array = array.cast(pa.int64())
        except pa.ArrowInvalid:
            raise StorageError(
                f"{place}: keys must be integers or strings, not fractions", hint="Make them integers or strings."
            ) from None
    if pa.types.is_null(array.type) and not len(array):
        array = array.cast(pa.int64())
    if array.null_count:
        row = int(np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))[0])
        raise StorageError(f"{place}: row {row + first_row} has no key", hint="Drop these rows, or give each a key.")
    if not (pa.types.is_int64(array.type) or pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
        raise StorageError(f"{place}: {array.type} can't be a key", hint="Keys are integers or strings.")
    return array


def lie_close(low: int, high: int, count: int) -> bool:
    """Tell whether so many integers between two lie close together."""
    return high - low < _SPREAD * count + 1024


def check_types(kind: Any, own: Any, place: str) -> None:
    """Raise a ``StorageError`` where keys of one type can't match nodes' keys, of type ``own``."""
    if pa.types.is_int64(kind) != pa.types.is_int64(own):
        raise StorageError(
            f"{place}: keys of type {kind} can't match the nodes' keys of type {own}",
            hint="Cast one of the two columns.",
        )


class KeyIndex:
    """Maps the keys of some vertices to their ordinals.

    Integer keys that lie close together are looked up in a table, others through a hash table.

    Parameters
    ----------
    keys
        int64 or string array, as ``key_array`` gives it.
    ordinals
        uint32[len(keys)].
    place
        What the errors call the keys' table.
    rows
        int64[len(keys)]: what errors call the keys' rows; None where these are their places.

    Raises
    ------
    StorageError
        If a key occurs twice.
    """

    def __init__(self, keys: Any, ordinals: Array, place: str, rows: Array | None = None) -> None:
        self._keys = keys
        self._ordinals = ordinals
        self._rows = rows
        self._place = place
        self._table: Array | None = None
        self._low = 0
        self._hashed: ValueTable | None = None
        if pa.types.is_int64(keys.type):
            self._make_table(place)
        else:
            self._hash(place)

    @property
    def has_strings(self) -> bool | None:
        """Whether the keys are strings; None where there are none."""
        return not pa.types.is_int64(self._keys.type) if len(self._keys) else None

    def as_strings(self) -> KeyIndex:
        """Return an index of integer keys by their decimal digits."""
        return KeyIndex(self._keys.cast(pa.string()), self._ordinals, self._place, self._rows)

    def find(self, keys: Any, place: str, rows: Array | None = None) -> Array:
        """Return the ordinals (uint32) of ``keys``; ``rows``: what errors call their rows.

        Raises
        ------
        StorageError
            For a key that no vertex has.
        """
        found = self.seek(keys, place)
        like = f" The nodes' keys are texts, as {self._keys[0].as_py()!r:.40}." if self.has_strings else ""
        check_found(found != _UNKNOWN, keys, place, rows, like)
        return found

    def seek(self, keys: Any, place: str) -> Array:
        """Return the ordinals (uint32) of ``keys``, ``NO_VERTEX`` for those that no vertex has.

        Raises
        ------
        StorageError
            For keys of another type.
        """
        if not len(keys):
            return np.empty(0, np.uint32)
        if len(self._keys):
            check_types(keys.type, self._keys.type, place)
        return self._look_up(keys)

    def _make_table(self, place: str) -> None:
        values = self._keys.to_numpy()
        if not len(values):
            return
        self._low, high = int(values.min()), int(values.max())
        if not lie_close(self._low, high, len(values)):
            self._hash(place)
            return
        self._table = np.full(high - self._low + 1, _UNKNOWN)
        slices = [slice(first, first + _SLICE) for first in range(0, len(values), _SLICE)]
        for here in slices:
            self._table[values[here] - self._low] = self._ordinals[here]
        if any((self._table[values[here] - self._low] != self._ordinals[here]).any() for here in slices):
            self._refuse_duplicate(place)

    def _look_up(self, keys: Any) -> Array:
        if self._table is not None:
            return look_up(keys.to_numpy(), self._low, self._table)[0]
        found = np.full(len(keys), _UNKNOWN)
        if self._hashed is not None:
            given = keys.cast(self._keys.type)
            key_of, rows = self._hashed.pairs(value_column(given, key_kind(given)), Control(), _check)
            found[key_of] = self._ordinals[rows]
        return found

    def _hash(self, place: str) -> None:
        """Make a hash table of the keys."""
        control = Control()

        def run(function: Callable[..., int], *arguments: Any, reads: int) -> None:
            _check(call(control, function, *arguments))

        self._hashed = ValueTable(self._keys, key_kind(self._keys), control, run)
        if not self._hashed.unique and pc.count_distinct(self._keys).as_py() < len(self._keys):
            self._refuse_duplicate(place)

    def _refuse_duplicate(self, place: str) -> None:
        first_rows = pc.index_in(self._keys, value_set=self._keys).to_numpy(zero_copy_only=False)
        row = int(np.flatnonzero(first_rows != np.arange(len(first_rows)))[0])
        shown = [each if self._rows is None else int(self._rows[each]) for each in (row, int(first_rows[row]))]
        raise StorageError(
            f"{place}: row {shown[0]} has the key {self._keys[row].as_py()!r} that row {shown[1]} has",
            hint="Each node of one label needs a key of its own: a table's are in the column id, or its first; key= "
            "names another. Rows are counted from 0.",
        )


def _check(status: int) -> None:
    check_status("a table of keys", status)


def no_nodes(place: str) -> StorageError:
    """Return what to raise for relationships where there are no nodes at all; ``place``: of their ends."""
    return StorageError(
        f"{place}: there are no nodes",
        hint="Give their tables, too. Of two columns with ends alone Graph.from_edge_list makes the nodes.",
    )


def check_found(found: Array, keys: Any, place: str, rows: Array | None = None, like: str = "") -> None:
    """Raise a ``StorageError`` where a key isn't found; ``found``: bool, whether each of ``keys`` is.

    ``rows``: what the error calls their rows; None where these are their places. ``like``: what the hint adds.
    """
    if not found.all():
        row = int(found.argmin())
        shown = row if rows is None else int(rows[row])
        raise StorageError(
            f"{place}: row {shown} has the key {keys[row].as_py()!r}, which is no node's",
            hint=f"{_rows(int((~found).sum()))} such a key, counted from 0. Add the missing nodes, or drop these rows."
            + like,
        )


def _rows(count: int) -> str:
    return "1 row has" if count == 1 else f"{count:,} rows have"
