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
from qengine.exec.common.element_columns import FLOATS, IDS, Keyed, Numbers
from qengine.exec.common.match_plan import CompareOp
from qengine.exec.context import ExecutionContext

if TYPE_CHECKING:
    from qengine.exec.host.elimination_steps import Steps

__all__ = ["COLUMN", "COUNT", "DISTINCT", "GREATEST", "LEAST", "SUM", "Condition", "EntryLists", "Fold", "FoldedEnds",
           "HostFolds", "Task", "column_record", "condition_records", "float_range"]  # fmt: skip

COUNT, SUM, LEAST, GREATEST, DISTINCT = range(5)
"""As ``qe::fold::Operation``."""

COLUMN = np.dtype(
    [("values", "<u8"), ("validity", "<u8"), ("base", "<i8"), ("count", "<i8"), ("validity_offset", "<i8")]
    + [(name, "<i4") for name in ("kind", "variable", "whole", "unused")]
)
KEY = np.dtype([("column", COLUMN), ("low", "<i8"), ("places", "<u8")])
TASK = np.dtype(
    [("column", COLUMN)]
    + [(name, "<i4") for name in ("operation", "has_column", "slot", "digits")]
    + [("bits", "<i8"), ("scale", "<f8")]
)
PLAN = np.dtype(
    [("keys", "<u8"), ("tasks", "<u8"), ("places", "<u8"), ("most", "<u8")]
    + [(name, "<i4") for name in ("n_keys", "n_tasks", "n_slots", "n_variables", "hashed", "unused")]
)
LISTS = np.dtype(
    [(name, "<u8") for name in ("vertices", "begins", "ends", "admits_owner", "admits_end", "admits_edge")]
    + [("edge_base", "<i8"), ("n", "<u8"), ("first", "<u4")]
    + [(name, "<i4") for name in ("owner", "end", "edge", "skip_loops", "unused")]
)
PAIRS = np.dtype(
    [("terms", "<u8"), ("conditions", "<u8"), ("n_terms", "<i4"), ("n", "<u4")]
    + [(name, "<i4") for name in ("root", "end", "weighted", "n_conditions")]
)
CONDITION = np.dtype([("left", COLUMN), ("right", COLUMN), ("op", "<i4"), ("unused", "<i4")])

MOST_VARIABLES = 8
_DENSE_BYTES = 1 << 26  # of the tables of all threads
_DENSE_SHARE = 4  # places for each row that is expected
_FEW_PLACES = 1 << 12
_MOST_PLACES = 2**62
_SUMMED_BITS = 62
_CHUNK = 1 << 20
_DISTINCT_BYTES = 1 << 24  # of the bits of different values, in the tables of all threads

Ids = npt.NDArray[np.int64]


@frozen
class Task:
    """An operation on the numbers of a variable's elements; ``numbers`` is None where rows are counted.

    ``digits``: slots of its record; ``bits`` and ``scale``: of sums, as ``qe::fold::Task`` has them.
    """

    operation: int
    variable: str = ""
    numbers: Numbers | None = None
    digits: int = 1
    bits: int = 0
    scale: float = 1.0


@frozen
class Condition:
    """A comparison of numbers of two variables."""

    op: CompareOp
    left: tuple[str, Numbers]
    right: tuple[str, Numbers]


@frozen
class FoldedEnds:
    """The two variables of counts by two nodes, whether pairs count as often as their counts say, and which ones do."""

    names: Sequence[str]
    weighted: bool
    conditions: Sequence[Condition] = ()


@frozen
class EntryLists:
    """Relationships of one type, and which variables their owners, ends and themselves are, "" for none.

    ``vertices``: uint32, or the first of as many as there are lists. A relationship's place among them is its local id.
    ``owners``, ``others`` and ``admitted``: uint8, which vertices and relationships are wanted, None for all.
    """

    vertices: Any
    begins: Any
    ends: Any
    edge_base: int
    owner: str
    end: str
    edge: str
    owners: Any = None
    others: Any = None
    admitted: Any = None
    skip_loops: bool = False


def digits_of(bits: int, room: int) -> int:
    """Return how many digits numbers of so many bits have, where ``room`` bits are one."""
    return max(1, -(-bits // room))


class HostFolds:
    """Makes folds on the host, for a query with some limits."""

    def __init__(self, context: ExecutionContext) -> None:
        self.distinct_bytes = _DISTINCT_BYTES // context.threads

    @property
    def make(self) -> type[Fold]:
        """What makes a fold."""
        return Fold


def column_record(names: Sequence[str], name: str, numbers: Numbers) -> tuple[int, ...]:
    """Return a ``COLUMN`` of numbers of a variable, one of ``names``."""
    values = numbers.values
    address, count = (0, 0) if values is None else (values.ctypes.data, len(values))
    return (
        address, numbers.validity, numbers.base, count, numbers.offset, numbers.kind, list(names).index(name),
        int(numbers.whole or numbers.kind == IDS), 0,
    )  # fmt: skip


def condition_records(names: Sequence[str], conditions: Sequence[Condition]) -> npt.NDArray[Any]:
    """Return comparisons of variables among ``names`` as ``CONDITION``."""
    return np.array(
        [(column_record(names, *each.left), column_record(names, *each.right), int(each.op), 0) for each in conditions],
        CONDITION,
    )


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

    Raises
    ------
    OutOfMemory
        By the context's limits.
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
        self._keep: list[Any] = [keys, tasks]
        self._slots = [task.digits for task in tasks]
        self._columns = [1 if task.operation == DISTINCT else task.digits for task in tasks]
        self._places = [key.places for _, key in keys]
        places = 1
        for each in self._places:
            places *= each
        record = np.zeros(1, PLAN)
        key_records = np.array([(self._column(name, key.numbers), key.low, key.places) for name, key in keys], KEY)
        task_records = np.array([self._task(task, k) for k, task in enumerate(tasks)], TASK)
        self._hashed = hashed = not self._fits(places, rows)
        record[0] = (
            key_records.ctypes.data, task_records.ctypes.data, places, most, len(keys), len(tasks),
            sum(self._slots), len(self._names), hashed, 0,
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

    def _fits(self, places: int, rows: int) -> bool:
        limit = self._context.memory_limit
        taken = 8 * places * sum(self._slots) * self._context.threads
        return (
            taken <= _DENSE_BYTES
            and places <= _DENSE_SHARE * rows + _FEW_PLACES
            and (limit is None or taken <= limit // 8)
        )

    def _column(self, name: str, numbers: Numbers) -> tuple[int, ...]:
        return column_record(self._names, name, numbers)

    def _task(self, task: Task, place: int) -> tuple[Any, ...]:
        column = (0,) * 9 if task.numbers is None else self._column(task.variable, task.numbers)
        slot = sum(self._slots[:place])
        has_column = int(task.numbers is not None)
        return column, task.operation, has_column, slot, task.digits, task.bits, task.scale

    def add(self, ids: Sequence[Ids], n: int, weights: Ids | None) -> bool:
        """Fold rows: ids of each variable, and how often each counts; False, and nothing done, if that is too much."""
        arrays = [np.ascontiguousarray(each, np.int64) for each in ids]
        addresses = (ctypes.c_void_p * max(1, len(arrays)))(*(each.ctypes.data for each in arrays))
        times = None if weights is None else np.ascontiguousarray(weights, np.int64)
        given = None if times is None else times.ctypes.data
        status = self._library.qe_fold_rows(self._handle, n, addresses, given)
        if status == Status.OVERFLOW:
            return False
        self._context.raise_for(status)
        return True

    def add_vertices(self, begin: int, end: int, admitted: Any = None) -> None:
        """Fold the vertices ``[begin, end)``, the only variable's, or those of which ``admitted`` (bool) is true.

        Raises
        ------
        QueryTimeout, QueryInterrupted, OutOfMemory
            By the context's limits.
        """
        given = None if admitted is None else np.ascontiguousarray(admitted).view(np.uint8)
        self._keep.append(given)  # an interrupted call may go on for a while
        self._context.run(
            self._library.qe_fold_vertices, self._handle, begin, end - begin,
            None if given is None else given.ctypes.data, ctypes.byref(self._context.control), reads=end - begin,
        )  # fmt: skip

    def add_entries(self, lists: EntryLists, conditions: Sequence[Condition]) -> None:
        """Fold the entries of lists for which all conditions hold.

        Raises
        ------
        QueryTimeout, QueryInterrupted, OutOfMemory
            By the context's limits.
        """
        dense = isinstance(lists.vertices, int)
        arrays = (None if dense else lists.vertices, lists.begins, lists.ends, lists.owners, lists.others,
                  lists.admitted)  # fmt: skip
        places = (self._names.index(name) if name else -1 for name in (lists.owner, lists.end, lists.edge))
        record = np.zeros(1, LISTS)
        record[0] = (
            *(0 if each is None else each.ctypes.data for each in arrays), lists.edge_base, len(lists.begins) - 1,
            lists.vertices if dense else 0, *places, lists.skip_loops, 0,
        )  # fmt: skip
        compared = self._compared(conditions)
        self._keep += [record, compared, lists, conditions]  # an interrupted call may go on for a while
        self._context.run(
            self._library.qe_fold_entries, self._handle, record.ctypes.data, compared.ctypes.data, len(compared),
            reads=int(lists.begins[-1]),
        )  # fmt: skip

    def add_pairs(self, steps: Steps, terms: Any, n: int, pairs: FoldedEnds) -> None:
        """Fold counts by two of n nodes, given the terms that they are the sums of.

        Raises
        ------
        QueryTimeout, QueryInterrupted, OutOfMemory
            By the context's limits.
        NumberOverflow
            Where numbers, or what all counts add up to, are too large; the fold is of no use any more.
        """
        root, end = (self._names.index(name) if name in self._names else -1 for name in pairs.names)
        compared = self._compared(pairs.conditions)
        record = np.zeros(1, PAIRS)
        record[0] = (
            terms.ctypes.data, compared.ctypes.data, len(terms), n, root, end, pairs.weighted, len(compared),
        )  # fmt: skip
        self._keep += [record, terms, compared, pairs]  # an interrupted call may go on for a while
        steps.call("qe_fold_pair_rows", self._handle, record.ctypes.data, int(steps.wide))

    def _compared(self, conditions: Sequence[Condition]) -> Any:
        return condition_records(self._names, conditions)

    def groups(self) -> tuple[list[Ids], list[list[Ids]]]:
        """Return the codes of each key, and for each task its columns, a row a group, in the order of the codes.

        Raises
        ------
        QueryTimeout, QueryInterrupted, OutOfMemory
            By the context's limits.
        """
        found = ctypes.c_uint64()
        self._context.raise_for(self._library.qe_fold_groups(self._handle, ctypes.byref(found)))
        n, width = found.value, sum(self._columns)
        with self._context.memory.holding("Aggregate") as holding:
            holding.also(8 * n * (width + len(self._places)))
        codes = np.empty((len(self._places), n), np.int64)
        columns = np.empty((width, n), np.int64)
        self._keep += [codes, columns]  # an interrupted call may go on for a while
        self._context.run(
            self._library.qe_fold_take, self._handle, codes.ctypes.data, columns.ctypes.data,
            ctypes.byref(self._context.control), reads=n,
        )  # fmt: skip
        ends = np.cumsum(self._columns)
        return list(codes), [list(columns[end - width : end]) for end, width in zip(ends, self._columns, strict=True)]

    def different(self, of: Fold) -> Ids:
        """Return for each group of another, in their order, how many groups with its keys there are here.

        This one has a key more, the last, and isn't counted where that is null.
        """
        codes, _ = self.groups()
        *by, last = codes
        new = np.zeros(len(last), np.bool_)
        new[:1] = True
        for each in by:
            new[1:] |= each[1:] != each[:-1]
        group = np.cumsum(new) - 1
        return np.bincount(group[last > 0], minlength=int(new.sum())).astype(np.int64)

    @property
    def is_bounded(self) -> bool:
        """Whether each thread that folds takes so much memory, however many groups there are."""
        return not self._hashed

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
    library.qe_fold_float_range.argtypes = (pointer, pointer, pointer)
    library.qe_fold_float_range.restype = None
    library.qe_fold_close.argtypes = (pointer,)
    library.qe_fold_close.restype = None
    return library
