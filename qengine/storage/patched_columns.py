"""A property column of the next version of a graph: values taken over, replaced, added."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import NoneType
from typing import Any

import numpy as np
import pyarrow as pa

from qengine.storage.arrays import Array
from qengine.storage.columns import PropertyColumn
from qengine.storage.edits import NOTHING, Edit, Order, Pieces, among, ascending, taken
from qengine.storage.normal import language_type
from qengine.storage.variant import concatenate, from_python, is_present, is_variant
from qengine.temporal.arrow import to_values, union_parts

_DEEPEST = 16  # columns that were never read, one made of the other
_BYTES = 8  # that a value takes, or a character at most
_PLAIN = {pa.int64(): int, pa.float64(): float, pa.bool_(): bool, pa.string(): str, pa.large_string(): str}
_FEWER = 16  # times fewer values than a column has are taken without making it
_COPIED = 2048  # values that are copied in about the time of finding one in a column that isn't made
_RUNS = 8  # of which a column may be read as it is, rather than made
_TEXTS = 1 << 30  # bytes of a column whose texts surely have 32-bit offsets

Origin = Edit | Order
Change = Callable[[], tuple[Array, Any]]
"""Returns ids (int64, ascending) and an Arrow array of their values."""


def same_value(one: Any, other: Any) -> bool:
    """Tell whether two values are of one type and can't be told apart: 1 and 1.0 can, and 0.0 and -0.0."""
    if type(one) is not type(other):
        return False
    return bool(one == other) if isinstance(one, int | str) else repr(one) == repr(other)


def patched(
    column: PropertyColumn | None,
    origin: Origin | None,
    count: int,
    values: Mapping[int, Any],
    *,
    whole: bool,
    added: Sequence[tuple[Array, Any]] = (),
    find: Callable[[Array], Array] | None = None,
) -> PropertyColumn | None:
    """Return a column by the ids of the next version; None where no value is left.

    Where few values of the column's own type come, where they belong is found when the array is first read.

    Parameters
    ----------
    column
        That of the version before; None where it has none.
    origin
        How elements have moved, of which new ones have no value unless it is given; None where all ids stay.
    count
        How many elements the next version has.
    values
        By new id: what differs from the version before; None where there is no value any more.
    whole
        Cover all ids, whether they have a value or not.
    added
        New ids (int64) that aren't among ``values``, and normal Arrow arrays of their values, null for none. Of an id
        that is there twice the last counts.
    find
        Returns the new ids that ``values`` and ``added`` stand for; None where these have them.

    Raises
    ------
    StorageError
        For a value that can't be a property.
    """
    if column is not None and origin is None and not values and not added:
        return column
    if column is not None and not added and not isinstance(origin, Order):
        later = _later(column, origin, count, values, whole, find)
        if later is not None:
            return later
    values, added = _found(values, added, find)
    changed = ascending(np.concatenate([np.fromiter(values, np.int64, len(values)), *(ids for ids, _ in added)]))
    fresh, new = _fresh(values, added)
    pieces = _pieces(origin, count)
    new = _of_type(new, column)
    begin, end = (0, count) if whole else _covered(column, pieces, fresh)
    if begin >= end:
        return None
    made = _rows(column, pieces, begin, end, changed, fresh)
    if column is not None and (not len(fresh) or column.arrow_type == new.type) and not is_variant(column.arrow_type):
        left = column.present - _lost(made, column.length) + len(new) - new.null_count
        lazy = PatchedColumn((begin, end), column, lambda: (made, new), new.nbytes, max(left, 0))
        if left > 0 and lazy.fits():
            return lazy
    old = pa.nulls(0) if column is None else column.array
    parts = _aligned(old, new) if len(fresh) else (old, new)
    array = _plain(taken(made, *parts))
    if pa.types.is_null(array.type) or not is_present(array).any():
        return None
    return PropertyColumn(begin, array)


def _pieces(origin: Origin | None, count: int) -> Pieces:
    """Return all ids of the next version as runs of those before."""
    return Pieces(np.zeros(1, np.int64), np.zeros(1, np.int64), count) if origin is None else origin.pieces


def _found(
    values: Mapping[int, Any], added: Sequence[tuple[Array, Any]], find: Callable[[Array], Array] | None
) -> tuple[Mapping[int, Any], Sequence[tuple[Array, Any]]]:
    """Return ``values`` and ``added`` of ``patched`` by new ids."""
    if find is None:
        return values, added
    ids = find(np.fromiter(values, np.int64, len(values))).tolist() if values else ()
    return dict(zip(ids, values.values(), strict=True)), [(find(own), array) for own, array in added]


def _later(
    column: PropertyColumn,
    origin: Edit | None,
    count: int,
    values: Mapping[int, Any],
    whole: bool,
    find: Callable[[Array], Array] | None,
) -> PropertyColumn | None:
    """Return ``patched`` with places that are yet to be found; None where its type may be another one."""
    wanted, classes = column.arrow_type, set(map(type, values.values()))
    left = column.present - (0 if origin is None else len(origin.removed))
    if left <= 0 or not (whole or origin is None) or NoneType in classes or is_variant(wanted):
        return None
    given: Any = None
    if classes and classes != {_PLAIN.get(wanted)}:
        given = _of_type(from_python(list(values.values()), "a property"), column)
        if given.type != wanted:
            return None
    begin, end = 0, count
    if not whole:
        begin, end = min(column.begin, *values), max(column.end, max(values) + 1)

    def change() -> tuple[Array, Any]:
        ids = np.fromiter(values, np.int64, len(values))
        new = from_python(list(values.values()), "a property") if given is None else given
        return _fresh({}, [(ids if find is None else find(ids), new)])

    def made() -> tuple[Pieces, Any]:
        fresh, new = change()
        return _rows(column, _pieces(origin, count), begin, end, fresh, fresh), new

    size = sum(map(len, values.values())) if classes == {str} else 0
    own = (begin, end), column, made, _BYTES * (size + len(values)), left
    later = PatchedColumn(*own, change if origin is None else None)
    return later if later.fits() else None


def _fresh(values: Mapping[int, Any], added: Sequence[tuple[Array, Any]]) -> tuple[Array, Any]:
    """Return the ids that get a value (int64, ascending), and the values as an Arrow array."""
    present = {id: value for id, value in values.items() if value is not None}
    ids, arrays = [ids for ids, _ in added], [array for _, array in added]
    if present:
        ids.append(np.fromiter(present, np.int64, len(present)))
        arrays.append(from_python(list(present.values()), "a property"))
    if not ids:
        return np.empty(0, np.int64), pa.nulls(0)
    fresh, parts = np.concatenate(ids), _all_aligned(arrays)
    whole = parts[0] if len(parts) == 1 else concatenate(parts)
    if (fresh[1:] > fresh[:-1]).all():
        return fresh, whole
    order = np.argsort(fresh, kind="stable")
    fresh = fresh[order]
    last = np.append(fresh[1:] != fresh[:-1], True)
    return fresh[last], whole.take(pa.array(order[last]))


def _covered(column: PropertyColumn | None, pieces: Pieces, fresh: Array) -> tuple[int, int]:
    """Return the range of new ids that a column covers, with those of new values."""
    lows, highs = [], []
    if column is not None:
        ends = np.append(pieces.begins[1:], pieces.count)
        lengths = ends - pieces.begins
        low = np.maximum(pieces.sources, column.begin)
        high = np.minimum(pieces.sources + lengths, column.end)
        own = np.flatnonzero(low < high)
        if len(own):
            shift = pieces.begins - pieces.sources
            lows.append(int((low + shift)[own[0]]))
            highs.append(int((high + shift)[own[-1]]))
    if len(fresh):
        lows.append(int(fresh[0]))
        highs.append(int(fresh[-1]) + 1)
    return (min(lows), max(highs)) if lows else (0, 0)


def _rows(column: PropertyColumn | None, pieces: Pieces, begin: int, end: int, changed: Array, fresh: Array) -> Pieces:
    """Return of which rows the ids ``[begin, end)`` get their values: of the column, and after them of new values."""
    low, high = (0, 0) if column is None else (column.begin, column.end)
    lengths = np.diff(pieces.begins, append=pieces.count)
    crossings = [
        (pieces.begins + at - pieces.sources)[(pieces.sources < at) & (at < pieces.sources + lengths)]
        for at in (low, high)
    ]
    cut = pieces.cut(begin, end, np.concatenate((*crossings, *_bounds(changed), *_bounds(fresh))))
    sources = np.where((cut.sources >= low) & (cut.sources < high), cut.sources - low, NOTHING)
    ids = cut.begins + begin
    sources[among(ids, changed)] = NOTHING
    new = among(ids, fresh)
    sources[new] = high - low + np.searchsorted(fresh, ids[new])
    lengths = np.diff(cut.begins, append=cut.count)
    return Pieces.joined((cut.begins, sources, np.where(sources == NOTHING, 0, lengths)), cut.count, high - low)


def _bounds(ids: Array) -> tuple[Array, Array]:
    """Return where runs of ids that ascend begin, and the ids behind them."""
    return ids[np.diff(ids, prepend=NOTHING - 1) != 1], ids[np.diff(ids, append=NOTHING - 1) != 1] + 1


def _lost(made: Pieces, before: int) -> int:
    """Return how many of a column's rows are not taken over."""
    lengths = np.diff(made.begins, append=made.count)
    return before - int(lengths[(made.sources >= 0) & (made.sources < before)].sum())


class _Gate:
    """The attribute whose first reading makes the array; afterwards it is found in the object itself."""

    def __get__(self, column: Any, owner: type) -> Any:
        return self if column is None else column.make()


class PatchedColumn(PropertyColumn):
    """A column whose array is made when it is first read: rows of the column before, and new values of its type.

    Parameters
    ----------
    ids
        The ids ``[begin, end)`` that it covers.
    before
        The column before.
    find
        Returns whose rows are taken: of that, and after them of an Arrow array of the same type, or of nulls, which is
        returned, too. It is called once, and then let go, with what it holds.
    size
        About how many bytes the new values have.
    present
        So many values are not null, at least.
    change
        What returns which ids have other values than in the column before, and these; None where it isn't known, or ids
        have moved.
    """

    _before: PropertyColumn | None
    _find: Callable[[], tuple[Pieces, Any]] | None
    _change: Change | None
    _taken: tuple[Pieces, Any] | None = None
    _single: int = 0  # values that were asked for one by one
    _base: Callable[[], PropertyColumn | None]
    _type: Any
    _length: int
    _present: int
    _bytes: int
    _lock: threading.Lock

    def __init__(
        self,
        ids: tuple[int, int],
        before: PropertyColumn,
        find: Callable[[], tuple[Pieces, Any]],
        size: int,
        present: int,
        change: Change | None = None,
    ) -> None:
        begin, length = ids[0], ids[1] - ids[0]
        self.__dict__.update(begin=begin, _length=length, _present=present, _type=before.arrow_type, type=before.type)
        self.__dict__.update(_bytes=before.nbytes * length // max(before.length, 1) + size)
        if before.depth >= _DEEPEST:
            _ = before.array  # those before it are let go
        self.__dict__.update(_before=before, _find=find, _change=change, _lock=threading.Lock(), depth=before.depth + 1)
        self.__dict__.update(_base=weakref.ref(before))

    array = _Gate()

    @property
    def length(self) -> int:
        """How many ids the array covers."""
        return int(self._length)

    @property
    def present(self) -> int:
        """How many values are not null, at least."""
        return int(self._present)

    @property
    def end(self) -> int:
        """One more than the last id that the array covers."""
        return int(self.begin + self.length)

    @property
    def arrow_type(self) -> Any:
        """The array's type."""
        return self._type

    @property
    def nbytes(self) -> int:
        """About how many bytes the array's buffers have."""
        return int(self._bytes)

    def fits(self) -> bool:
        """Tell whether the array surely has the type of the one before."""
        return not pa.types.is_string(self._type) or self._bytes < _TEXTS

    def changed_from(self, before: PropertyColumn) -> Change | None:
        """Return what tells how it differs from a column, ids being the same; None where that isn't known.

        That is the column before, or one that was made of the same one and covers no other ids.
        """
        own, base = self._change, self._base()
        if own is None or base is before:
            return own
        if base is None or not isinstance(before, PatchedColumn) or before._base() is not base:
            return None
        other = before._change
        if other is None or before.begin < self.begin or before.end > self.end:
            return None
        return lambda: self._beside(own, other)

    def _beside(self, own: Change, other: Change) -> tuple[Array, Any]:
        ids = ascending(np.concatenate((own()[0], other()[0])))
        return ids, self.take(ids)

    def picks(self, count: int) -> bool:
        """Tell whether so few values are taken of an array that isn't made, and needn't be for them."""
        return self._before is not None and count * _FEWER < self._length

    def runs(self) -> list[tuple[int, Any]]:
        """Return Arrow arrays that together have the values, and the id of the first value of each."""
        with self._lock:
            before = self._before
            if before is not None and len((pieces := self._parts()[0]).begins) <= _RUNS:
                added, lengths = self._parts()[1], np.diff(pieces.begins, append=pieces.count)
                rows = zip(pieces.begins.tolist(), pieces.sources.tolist(), lengths.tolist(), strict=True)
                return [
                    (
                        self.begin + begin,
                        before.array.slice(source, length)
                        if source < before.length
                        else added.slice(source - before.length, length),
                    )
                    for begin, source, length in rows
                    if source != NOTHING
                ]
        return super().runs()

    def take(self, ids: Array) -> Any:
        """Return the values of ``ids`` as an Arrow array; for few ones of a column that isn't made, nothing is made."""
        with self._lock:
            before = self._before
            if before is not None and self.picks(len(ids)):
                return self._picked(before, np.asarray(ids).astype(np.int64, copy=False) - self.begin)
        return super().take(ids)

    def value(self, id: int) -> Any:
        """Return the value of one id, which may be any; nothing is made for few of these."""
        with self._lock:
            before = self._before
            if before is not None and self._single * _COPIED < self._length:
                self.__dict__.update(_single=self._single + 1)
                run = self._run(id - self.begin, id - self.begin + 1)
                return None if run is None else run[0].value(run[1] + run[0].begin)
        return super().value(id)

    def slice(self, begin: int, end: int) -> Any:
        """Return the values of the ids ``[begin, end)``; no copy, and nothing is made, where all are of one column."""
        with self._lock:
            if self._before is not None and self.begin <= begin < end <= self.end:
                run = self._run(begin - self.begin, end - self.begin)
                if run is not None and run[0].arrow_type == self._type:
                    return run[0].slice(run[1] + run[0].begin, run[1] + run[0].begin + end - begin)
        return super().slice(begin, end)

    def _run(self, begin: int, end: int) -> tuple[PropertyColumn, int] | None:
        """Return the column that has the values of some places, and the first of its rows; None where none has all."""
        pieces, added = self._parts()
        at = int(np.searchsorted(pieces.begins, begin, side="right")) - 1
        last = int(pieces.begins[at + 1]) if at + 1 < len(pieces.begins) else pieces.count
        if at < 0 or end > last or (source := int(pieces.sources[at])) == NOTHING:
            return None
        assert self._before is not None
        row = source + begin - int(pieces.begins[at])
        known = self._before.length
        return (self._before, row) if row < known else (PropertyColumn(0, added), row - known)

    def _picked(self, before: PropertyColumn, places: Array) -> Any:
        """Return the values of some places, any others being null, of the column before and the new ones."""
        pieces, added = self._parts()
        sources = np.full(len(places), NOTHING, np.int64)
        inside = (places >= 0) & (places < self._length)
        sources[inside] = pieces.at(places[inside])
        old = before.take(np.where((sources >= 0) & (sources < before.length), sources + before.begin, NOTHING))
        new = np.flatnonzero(sources >= before.length)
        if not len(new):
            return old
        rows = np.arange(len(places))
        rows[new] = len(places) + sources[new] - before.length
        return concatenate([old, added]).take(pa.array(rows))

    def _parts(self) -> tuple[Pieces, Any]:
        """Return what ``find`` does, which is called once."""
        if self._taken is None:
            assert self._find is not None
            self.__dict__.update(_taken=self._find(), _find=None)
        assert self._taken is not None
        return self._taken

    def make(self) -> Any:
        """Return the array; make it if that hasn't been done."""
        with self._lock:
            if self._before is not None:
                pieces, added = self._parts()
                array = taken(pieces, self._before.array, added)
                self.__dict__.update(array=array, _before=None, _taken=None, depth=0)
        return self.__dict__["array"]


def _of_type(new: Any, column: PropertyColumn | None) -> Any:
    """Return times in the unit that a column has them in, where they fit: then the column needn't be changed."""
    wanted = None if column is None else column.arrow_type
    if wanted is None or new.type == wanted or not (pa.types.is_timestamp(wanted) and pa.types.is_timestamp(new.type)):
        return new
    try:
        return new.cast(wanted) if wanted.tz == new.type.tz else new
    except pa.ArrowException:
        return new


def _all_aligned(arrays: Iterable[Any]) -> list[Any]:
    """Return arrays that follow each other with one Arrow type, as ``_aligned`` does two of them."""
    parts: list[Any] = []
    for array in arrays:
        if not parts or (array.type == parts[-1].type and not is_variant(array.type)):
            parts.append(array)
        else:
            parts = list(_aligned(concatenate(parts), array))
    return parts


def _aligned(old: Any, added: Any) -> tuple[Any, Any]:
    """Return both with one Arrow type where the language has one type for them, and Arrow can have it so."""
    if old.type == added.type or is_variant(old.type) or is_variant(added.type):
        return old, added
    if pa.types.is_null(old.type) or pa.types.is_null(added.type):
        return old, added
    if _is_list(old) and _is_list(added):
        if is_variant(old.type.value_type) or is_variant(added.type.value_type):
            return old, added
        if pa.types.is_null(added.type.value_type):
            return old, added.cast(old.type)
        return (old.cast(added.type), added) if pa.types.is_null(old.type.value_type) else (old, added)
    if language_type(old.type) != language_type(added.type) or pa.types.is_string(added.type):
        return old, added
    if getattr(old.type, "tz", None) == getattr(added.type, "tz", None):
        for wanted in (old.type, added.type):
            try:
                return old.cast(wanted), added.cast(wanted)
            except pa.ArrowException:
                continue
    whole = from_python([*to_values(old), *to_values(added)], "")
    return whole.slice(0, len(old)), whole.slice(len(old))


def _is_list(array: Any) -> bool:
    return bool(pa.types.is_list(array.type) or pa.types.is_large_list(array.type))


def _plain(array: Any) -> Any:
    """Return an array without the children of a union that no value is left of; plain where all have one type."""
    if not is_variant(array.type):
        return array
    codes, offsets = union_parts(array)
    used = [code for code in np.unique(codes).tolist() if array.field(code).null_count < len(array.field(code))]
    if len(used) == array.type.num_fields:
        return array
    if len(used) > 1:
        return concatenate([array.field(code) for code in used] + [pa.nulls(1)]).take(pa.array(_joined(array, used)))
    return array.field(used[0]).take(pa.array(offsets, mask=codes != used[0])) if used else pa.nulls(len(array))


def _joined(array: Any, used: list[int]) -> Array:
    """Return for each value of a union its row in the used children, one after the other; after them for null."""
    codes, offsets = union_parts(array)
    begins = np.cumsum([0, *(len(array.field(code)) for code in used)])
    rows = np.full(len(array), begins[-1], np.int64)
    for code, begin in zip(used, begins.tolist(), strict=False):
        rows[codes == code] = offsets[codes == code] + begin
    return rows
