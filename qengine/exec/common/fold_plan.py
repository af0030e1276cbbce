"""What folds of rows read: an aggregate's keys and operations as numbers of elements, and the native records of them.

Mirrors of ``qe/fold.h``, for the host and for a device: they differ in where numbers are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine._frozen import frozen
from qengine.exec.common.element_columns import IDS, Keyed, Numbers
from qengine.exec.common.match_plan import CompareOp

Ids = npt.NDArray[np.int64]

COUNT, SUM, LEAST, GREATEST, DISTINCT, GATHER = range(6)
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
    + [(name, "<i4") for name in ("n_keys", "n_tasks", "n_slots", "n_variables", "hashed", "shared")]
)
LISTS = np.dtype(
    [(name, "<u8") for name in ("vertices", "begins", "ends", "admits_owner", "admits_end", "admits_edge")]
    + [(name, "<u8") for name in ("weighs_owner", "weighs_end", "lessens_owner", "lessens_end")]
    + [("edge_base", "<i8"), ("n", "<u8"), ("first", "<u4")]
    + [(name, "<i4") for name in ("owner", "end", "edge", "skip_loops", "unused")]
)
CONDITION = np.dtype([("left", COLUMN), ("right", COLUMN), ("op", "<i4"), ("unused", "<i4")])

MOST_VARIABLES = 8


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
class EntryLists:
    """Relationships of one type, and which variables their owners, ends and themselves are, "" for none.

    ``vertices``: uint32, or the first of as many as there are lists. A relationship's place among them is its local id.
    ``owners``, ``others`` and ``admitted``: a byte each, which vertices and relationships are wanted, None for all.
    ``weights``, on the host alone: int64 a vertex, of an entry's owner and its end, None for 1: a row counts as often
    as their product says. ``lessened``: a bool a vertex, by end and by owner, taken off the other's.
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
    weights: tuple[Any, Any] = (None, None)
    lessened: tuple[Any, Any] = (None, None)

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The arrays of a ``LISTS`` the graph's own, what is admitted, weights, what lessens them; or None."""
        vertices = None if isinstance(self.vertices, int) else self.vertices
        admitted = self.owners, self.others, self.admitted
        return vertices, self.begins, self.ends, *admitted, *self.weights, *self.lessened


ColumnOf = Callable[[str, Numbers], tuple[int, ...]]
"""Returns the ``COLUMN`` of numbers of a variable."""


def column_record(variable: int, numbers: Numbers, values: int, validity: int) -> tuple[int, ...]:
    """Return a ``COLUMN``: numbers of a variable, and the addresses of their values and of their bits, 0 for none."""
    count = 0 if numbers.values is None else len(numbers.values)
    whole = int(numbers.whole or numbers.kind == IDS)
    return values, validity, numbers.base, count, numbers.offset, numbers.kind, variable, whole, 0


def key_records(keys: Sequence[tuple[str, Keyed]], column: ColumnOf) -> npt.NDArray[Any]:
    """Return keys, each of a variable, as ``KEY``."""
    return np.array([(column(name, key.numbers), key.low, key.places) for name, key in keys], KEY)


def task_records(tasks: Sequence[Task], column: ColumnOf) -> npt.NDArray[Any]:
    """Return operations as ``TASK``, whose slots follow each other."""
    none = (0,) * len(COLUMN.names or ())
    slots = accumulate((task.digits for task in tasks), initial=0)
    return np.array(
        [
            (none if task.numbers is None else column(task.variable, task.numbers), task.operation,
             task.numbers is not None, slot, task.digits, task.bits, task.scale)
            for task, slot in zip(tasks, slots, strict=False)
        ],
        TASK,
    )  # fmt: skip


def condition_records(conditions: Sequence[Condition], column: ColumnOf) -> npt.NDArray[Any]:
    """Return comparisons as ``CONDITION``."""
    return np.array([(column(*each.left), column(*each.right), int(each.op), 0) for each in conditions], CONDITION)


def lists_record(lists: EntryLists, names: Sequence[str], addresses: Sequence[int]) -> npt.NDArray[Any]:
    """Return lists as one ``LISTS``; where the arrays of ``EntryLists.arrays`` are, 0 for none."""
    variables = (names.index(name) if name else -1 for name in (lists.owner, lists.end, lists.edge))
    first = lists.vertices if isinstance(lists.vertices, int) else 0
    record = np.zeros(1, LISTS)
    record[0] = *addresses, lists.edge_base, len(lists.begins) - 1, first, *variables, lists.skip_loops, 0
    return record


def split_columns(columns: Ids, tasks: Sequence[int]) -> list[list[Ids]]:
    """Return the columns of each task, of which each has so many."""
    ends = np.cumsum(tasks)
    return [list(columns[end - width : end]) for end, width in zip(ends, tasks, strict=True)]
