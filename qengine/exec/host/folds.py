"""Rows of ids folded into groups by the native library: codes of keys, and for each aggregate whole numbers."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from qengine import _native
from qengine._control import Control, Status
from qengine._frozen import frozen
from qengine.exec.common.element_columns import FLOATS, Keyed, Numbers
from qengine.exec.common.fold_plan import (
    COLUMN,
    DISTINCT,
    GATHER,
    MOST_VARIABLES,
    PLAN,
    Condition,
    EntryLists,
    Ids,
    Task,
    column_record,
    condition_records,
    key_records,
    lists_record,
    split_columns,
    task_records,
)
from qengine.exec.context import ExecutionContext
from qengine.exec.memory import Holding
from qengine.exec.view import MaskProvider

if TYPE_CHECKING:
    from qengine.exec.host.elimination_steps import Steps

PAIRS = np.dtype(
    [("terms", "<u8"), ("conditions", "<u8"), ("n_terms", "<i4"), ("n", "<u4")]
    + [(name, "<i4") for name in ("root", "end", "weighted", "n_conditions")]
)
_DENSE_BYTES = 1 << 27  # of the tables of all threads, or of one that they share
_DENSE_SHARE = 4  # places for each row that is expected
_FEW_PLACES = 1 << 12
_MOST_PLACES = 2**62
_SUMMED_BITS = 62
_CHUNK = 1 << 20
_DISTINCT_BYTES = 1 << 24  # of the bits of different values in the table of a thread
_DISTINCT_IN_ALL = 1 << 27


@frozen
class FoldedEnds:
    """The two variables of counts by two nodes, whether pairs count as often as their counts say, and which ones do."""

    names: Sequence[str]
    weighted: bool
    conditions: Sequence[Condition] = ()


class HostFolds:
    """Makes folds on the host, for a query with some limits."""

    def __init__(self, context: ExecutionContext) -> None:
        self.distinct_bytes = min(_DISTINCT_BYTES, _DISTINCT_IN_ALL // context.threads)

    @property
    def make(self) -> type[Fold]:
        """What makes a fold."""
        return Fold

    def masks(self, masks: MaskProvider) -> MaskProvider:
        """Return what evaluates predicates, as given."""
        return masks


def column_on_host(names: Sequence[str], name: str, numbers: Numbers) -> tuple[int, ...]:
    """Return a ``COLUMN`` of numbers of a variable, one of ``names``."""
    values = 0 if numbers.values is None else numbers.values.ctypes.data
    return column_record(names.index(name), numbers, values, numbers.validity)


class Fold:
    """Groups of rows and their records, that rows are added to.

    Parameters
    ----------
    names
        The variables that rows have ids for.
    keys
        With the variable of each.
    tasks
        The first counts rows.
    most
        What weights of rows may add up to.
    rows
        How many are expected.
    context
        Limits.
    """

    def __init__(
        self,
        names: Sequence[str],
        keys: Sequence[tuple[str, Keyed]],
        tasks: Sequence[Task],
        most: int,
        rows: int,
        context: ExecutionContext,
    ) -> None:
        self._library = _library()
        self._context = context
        self._names = list(names)
        self._handle = ctypes.c_void_p()
        self.codes: list[Ids] = []
        """Of each key, for the groups that were asked for."""
        self._keep: list[Any] = [keys, tasks]
        self._slots = [task.digits for task in tasks]
        self._columns = [1 if task.operation == DISTINCT else task.digits for task in tasks]
        self._places = [key.places for _, key in keys]
        self._gathers = any(task.operation == GATHER for task in tasks)
        places = 1
        for each in self._places:
            places *= each
        record = np.zeros(1, PLAN)
        by, to_do = key_records(keys, self._column), task_records(tasks, self._column)
        self._hashed = not self._fits(places, rows, 1)
        shared = not self._hashed and not self._fits(places, rows, context.threads)
        record[0] = (
            by.ctypes.data, to_do.ctypes.data, places, most, len(keys), len(tasks),
            sum(self._slots), len(self._names), self._hashed, shared,
        )  # fmt: skip
        context.raise_for(
            self._library.qe_fold_open(record.ctypes.data, ctypes.byref(context.control), ctypes.byref(self._handle))
        )

    @staticmethod
    def takes(names: Sequence[str], keys: Sequence[Keyed]) -> bool:
        """Tell whether there are not too many variables, nor too many codes."""
        places = 1
        for key in keys:
            places *= key.places
        return len(names) <= MOST_VARIABLES and places < _MOST_PLACES

    def _fits(self, places: int, rows: int, tables: int) -> bool:
        limit = self._context.memory_limit
        taken = 8 * places * sum(self._slots) * tables
        return (
            taken <= _DENSE_BYTES
            and places <= _DENSE_SHARE * rows + _FEW_PLACES
            and (limit is None or taken <= limit // 8)
        )

    def _column(self, name: str, numbers: Numbers) -> tuple[int, ...]:
        return column_on_host(self._names, name, numbers)

    def add(self, ids: Sequence[Ids], n: int, weights: Ids | None) -> bool:
        """Fold rows: ids of each variable, and how often each counts; False, and nothing done, if that is too much."""
        arrays = [np.ascontiguousarray(each, np.int64) for each in ids]
        addresses = _native.array_of(ctypes.c_void_p, max(1, len(arrays)))(*(each.ctypes.data for each in arrays))
        times = None if weights is None else np.ascontiguousarray(weights, np.int64)
        given = None if times is None else times.ctypes.data
        status = self._library.qe_fold_rows(self._handle, n, addresses, given)
        if status == Status.OVERFLOW:
            return False
        self._context.raise_for(status)
        return True

    def add_vertices(self, begin: int, end: int, admitted: Any = None) -> None:
        """Fold the vertices ``[begin, end)``, the only variable's, or those of which ``admitted`` (bool) is true."""
        given = None if admitted is None else np.ascontiguousarray(admitted).view(np.uint8)
        self._keep.append(given)  # an interrupted call may go on for a while
        self._context.run(
            self._library.qe_fold_vertices, self._handle, begin, end - begin,
            None if given is None else given.ctypes.data, ctypes.byref(self._context.control), reads=end - begin,
        )  # fmt: skip

    def add_entries(self, lists: EntryLists, conditions: Sequence[Condition]) -> None:
        """Fold the entries of lists for which all conditions hold."""
        addresses = [0 if each is None else each.ctypes.data for each in lists.arrays]
        record = lists_record(lists, self._names, addresses)
        compared = condition_records(conditions, self._column)
        self._keep += [record, compared, lists, conditions]  # an interrupted call may go on for a while
        self._context.run(
            self._library.qe_fold_entries, self._handle, record.ctypes.data, compared.ctypes.data, len(compared),
            reads=int(lists.begins[-1]),
        )  # fmt: skip

    def add_pairs(self, steps: Steps, terms: Any, n: int, pairs: FoldedEnds) -> None:
        """Fold counts by two of n nodes, given the terms that they are the sums of.

        Raises
        ------
        NumberOverflow
            Where numbers, or what all counts add up to, are too large; the fold is of no use any more.
        """
        root, end = (self._names.index(name) if name in self._names else -1 for name in pairs.names)
        compared = condition_records(pairs.conditions, self._column)
        record = np.zeros(1, PAIRS)
        record[0] = (
            terms.ctypes.data, compared.ctypes.data, len(terms), n, root, end, pairs.weighted, len(compared),
        )  # fmt: skip
        self._keep += [record, terms, compared, pairs]  # an interrupted call may go on for a while
        steps.call("qe_fold_pair_rows", self._handle, record.ctypes.data, int(steps.wide))

    def groups(self) -> tuple[list[Ids], list[list[Ids]]]:
        """Return the codes of each key, and for each task its columns, a row a group, in the order of the codes."""
        found = ctypes.c_uint64()
        self._context.raise_for(self._library.qe_fold_groups(self._handle, ctypes.byref(found)))
        n, width = found.value, sum(self._columns)
        with self._context.memory.holding("Aggregate") as holding:
            holding.also(8 * n * (width + len(self._places)))
        codes = np.empty((len(self._places), n), np.int64)
        columns = np.empty((width, n), np.int64)
        self.codes = list(codes)
        self._keep += [codes, columns]  # an interrupted call may go on for a while
        self._context.run(
            self._library.qe_fold_take, self._handle, codes.ctypes.data, columns.ctypes.data,
            ctypes.byref(self._context.control), reads=n,
        )  # fmt: skip
        return self.codes, split_columns(columns, self._columns)

    def different(self, of: Fold) -> Ids:
        """Return for each group of another, in their order, how many groups with its keys there are here.

        This one has a key more, the last, and isn't counted where that is null. The other's groups were asked for.
        """
        codes = of.whole_codes(of.codes)
        counts = np.zeros(len(codes), np.int64)
        self._keep += [codes, counts]  # an interrupted call may go on for a while
        self._context.run(
            self._library.qe_fold_different, self._handle, codes.ctypes.data, len(codes), counts.ctypes.data,
            ctypes.byref(self._context.control),
        )  # fmt: skip
        return counts

    def whole_codes(self, codes: Sequence[Ids]) -> npt.NDArray[np.uint64]:
        """Return the codes of groups, given those of their keys."""
        code = np.zeros(len(codes[0]) if codes else 1, np.uint64)
        for each, places in zip(codes, self._places, strict=True):
            code = code * np.uint64(places) + each.astype(np.uint64)
        return code

    def gathered(self, place: int, codes: Sequence[Ids], lengths: Ids, holding: Holding) -> tuple[Ids, Ids | None]:
        """Return the numbers, or their bits, that a task has gathered, group after group, and how often each counts.

        None: once each. ``codes`` and ``lengths``: the groups' and how many numbers each has, as ``groups`` gives them.

        Raises
        ------
        QueryTimeout, QueryInterrupted, OutOfMemory
            By the context's limits.
        """
        code = self.whole_codes(codes)
        weighed = bool(self._library.qe_fold_gathers_weights(self._handle, place))
        total = int(lengths.sum())
        holding.add(8 * total * (1 + weighed))
        ends = np.cumsum(lengths) - lengths
        numbers, weights = np.empty(total, np.int64), np.empty(total, np.int64) if weighed else None
        self._keep += [code, ends, numbers, weights]  # an interrupted call may go on for a while
        self._context.run(
            self._library.qe_fold_take_gathered, self._handle, place, len(code), code.ctypes.data, ends.ctypes.data,
            numbers.ctypes.data, None if weights is None else weights.ctypes.data,
            ctypes.byref(self._context.control), reads=total,
        )  # fmt: skip
        return numbers, weights

    @property
    def is_bounded(self) -> bool:
        """Whether each thread that folds takes so much memory, however many groups and rows there are."""
        return not self._hashed and not self._gathers

    @property
    def handle(self) -> int:
        """The native fold, which takes rows of ``names`` and lives as long as this."""
        assert self._handle.value is not None
        return self._handle.value

    def close(self) -> None:
        """Free it."""
        if self._handle:
            self._library.qe_fold_close(self._handle)
            self._handle = ctypes.c_void_p()

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self.close()


def float_range(numbers: Numbers, context: ExecutionContext) -> tuple[float, float]:
    """Return the least amount but 0 (0 for none), and the greatest, of floats; not finite where one isn't."""
    assert numbers.kind == FLOATS
    least, greatest = np.zeros(1, np.uint64), np.zeros(1, np.uint64)
    low, high = 2**64 - 1, 0
    for start in range(0, len(numbers.values), _CHUNK):
        context.check()
        part = numbers.values[start : start + _CHUNK]
        column = np.zeros(1, COLUMN)
        column[0] = (
            part.ctypes.data, numbers.validity, 0, len(part), numbers.offset + start, numbers.kind, 0, 0, 0,
        )  # fmt: skip
        _library().qe_fold_float_range(column.ctypes.data, least.ctypes.data, greatest.ctypes.data)
        low = min(low, (int(least[0]) - 1) % 2**64)
        high = max(high, int(greatest[0]))
    bits = np.array([0 if low == 2**64 - 1 else low + 1, high], np.uint64)
    amounts = bits.view(np.float64)
    return float(amounts[0]), float(amounts[1])


@cache
def _library() -> ctypes.CDLL:
    library = _native.load()
    pointer, i32, u64 = ctypes.c_void_p, ctypes.c_int32, ctypes.c_uint64
    library.qe_fold_open.argtypes = (pointer, ctypes.POINTER(Control), pointer)
    library.qe_fold_rows.argtypes = (pointer, u64, pointer, pointer)
    library.qe_fold_entries.argtypes = (pointer, pointer, pointer, i32)
    library.qe_fold_vertices.argtypes = (pointer, u64, u64, pointer, pointer)
    library.qe_fold_groups.argtypes = (pointer, pointer)
    library.qe_fold_take.argtypes = (pointer, pointer, pointer, pointer)
    library.qe_fold_different.argtypes = (pointer, pointer, ctypes.c_uint64, pointer, pointer)
    library.qe_fold_gathers_weights.argtypes = (pointer, i32)
    library.qe_fold_take_gathered.argtypes = (pointer, i32, u64, *(pointer,) * 5)
    library.qe_fold_float_range.argtypes = (pointer, pointer, pointer)
    library.qe_fold_float_range.restype = None
    library.qe_fold_close.argtypes = (pointer,)
    library.qe_fold_close.restype = None
    return library
