"""A FULLTEXT index of a version of a graph: segments of postings, by property (``qengine.storage.segments``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from qengine._cached import cached_property
from qengine._frozen import frozen
from qengine.fulltext.analyzers import Analyzer
from qengine.fulltext.postings import Postings
from qengine.storage.normal import is_string
from qengine.storage.segments import Segment, following, pieces

if TYPE_CHECKING:
    from qengine.catalog.rules import Rule
    from qengine.exec.memory import Holding
    from qengine.storage.store import GraphStore

_ROWS = 1 << 17
"""Elements of a segment at most, made between two looks whether to stop."""

_BYTES = 1 << 26
"""Bytes of the texts of a segment, about, at most."""

_PIECE = 1 << 14
_GROWTH = 4  # bytes of the postings to those of the texts, about, while they are made


class TextIndex:
    """The segments of an index, none without a living element; no element lives in two of them."""

    def __init__(self, segments: Sequence[Segment], fields: int) -> None:
        self.segments = tuple(each for each in segments if each.count)
        self._fields = fields

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(each.nbytes for each in self.segments)

    @property
    def count(self) -> int:
        """How many elements have a text."""
        return sum(each.count for each in self.segments)

    @cached_property
    def totals(self) -> list[tuple[int, int]]:
        """For each property: how many elements have a term of it, and how many terms these have in all."""
        found = []
        for field in range(self._fields):
            lengths = [
                each.fields[field].lengths if each.alive is None else each.fields[field].lengths[each.alive]
                for each in self.segments
            ]
            found.append((sum(map(np.count_nonzero, lengths)), sum(int(each.sum()) for each in lengths)))
        return found

    def following(
        self,
        store: GraphStore,
        rule: Rule,
        analyzer: Analyzer,
        touched: Any,
        holding: Holding,
        check: Callable[[], None],
    ) -> TextIndex:
        """Return the index of a later version, in which elements with some numbers (int64, ascending) may differ."""
        if not len(touched):
            return self
        kept, again = following(self.segments, touched)
        fresh = _segments(store, rule, analyzer, again, holding, check)
        return TextIndex((*kept, *fresh), self._fields)


def made(store: GraphStore, rule: Rule, analyzer: Analyzer, holding: Holding, check: Callable[[], None]) -> TextIndex:
    """Return the index that a rule declares, of all elements of a version.

    Parameters
    ----------
    holding
        Charged with what is made, and with what the making takes.
    check
        Raises where the execution must stop.

    Raises
    ------
    OutOfMemory
        Where the memory limit doesn't allow it.
    """
    return TextIndex(list(_segments(store, rule, analyzer, None, holding, check)), len(rule.keys))


def _segments(
    store: GraphStore, rule: Rule, analyzer: Analyzer, numbers: Any, holding: Holding, check: Callable[[], None]
) -> Iterator[Segment]:
    """Give segments of the elements of some numbers (int64), or of all of them."""
    parts: list[_Piece] = []
    rows = bytes = 0
    for ids, arrays in pieces(store, rule, numbers, _PIECE):
        check()
        piece = _Piece(ids, tuple(map(_texts, arrays)))
        parts.append(piece)
        rows, bytes = rows + len(piece.ids), bytes + piece.nbytes
        if rows >= _ROWS or bytes >= _BYTES:
            yield _segment(store, rule, analyzer, parts, holding, check)
            parts, rows, bytes = [], 0, 0
    if parts:
        yield _segment(store, rule, analyzer, parts, holding, check)


@frozen
class _Piece:
    """Elements (int64 ids), and for each property texts with the rows (int32) whose they are."""

    ids: Any
    fields: tuple[tuple[Any, Any], ...]

    @property
    def nbytes(self) -> int:
        return sum(texts.nbytes for _, texts in self.fields)


def _texts(array: Any) -> tuple[Any, Any]:
    """Return the texts of an array, those of its lists one by one, and the row of each (int32, ascending)."""
    from qengine.temporal.arrow import to_values

    nothing = np.zeros(0, np.int32), pa.array([], pa.string())
    if array is None or array.null_count == len(array):
        return nothing
    kind = array.type
    rows = np.arange(len(array), dtype=np.int32)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        rows = np.asarray(pc.list_parent_indices(array)).astype(np.int32)
        array = pc.list_flatten(array)
        kind = array.type
    if is_string(kind):
        present = np.asarray(pc.is_valid(array))
        return rows[present], array.drop_null().cast(pa.string())
    if not (pa.types.is_union(kind) or pa.types.is_dictionary(kind) or pa.types.is_list(kind)):
        return nothing
    found = [
        (row, text)
        for row, value in zip(rows.tolist(), to_values(array), strict=True)
        for text in (value if type(value) is list else (value,))
        if type(text) is str
    ]
    return np.array([row for row, _ in found], np.int32), pa.array([text for _, text in found], pa.string())


def _segment(
    store: GraphStore,
    rule: Rule,
    analyzer: Analyzer,
    parts: Sequence[_Piece],
    holding: Holding,
    check: Callable[[], None],
) -> Segment:
    passing = _GROWTH * sum(each.nbytes for each in parts)
    before = holding.bytes
    holding.add(passing)
    ids = np.concatenate([each.ids for each in parts])
    shifts = np.cumsum([0, *(len(each.ids) for each in parts)]).astype(np.int32)
    owners = [
        np.concatenate([each.fields[field][0] + shift for each, shift in zip(parts, shifts, strict=False)])
        for field in range(len(rule.keys))
    ]
    has = np.zeros(len(ids), np.bool_)
    for own in owners:
        has[own] = True
    place = (np.cumsum(has) - 1).astype(np.int32)
    count = int(has.sum())
    fields = []
    for field, own in enumerate(owners):
        texts = pa.concat_arrays([each.fields[field][1] for each in parts])
        fields.append(Postings(analyzer, texts, place[own], count, check))
    numbers = store.node_numbers if rule.of_nodes else store.relationship_numbers
    made = Segment(np.asarray(numbers.of(ids[has]), np.int64), tuple(fields))
    holding.set(before + made.nbytes)
    return made
