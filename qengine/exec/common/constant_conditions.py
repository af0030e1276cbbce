"""Conditions of one element that a search tests itself, where it looks at few of many elements.

Else all elements are asked at once, and a search looks their answers up (``Masks``): less for each of them, but
too much for a search that begins at few nodes. Such conditions say between what a property lies that is held as whole
numbers, as dates and times are, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from qengine._frozen import frozen, record
from qengine.exec.common.expressions.operand import MIRRORED
from qengine.exec.common.match_plan import ColumnKind
from qengine.exec.common.operator_cache import PerOperatorCache
from qengine.exec.view import ExecView, MaskProvider
from qengine.plan.differing import differs
from qengine.plan.expr import Comparison, Expr, Property, Variable
from qengine.plan.fallible import condition_can_fail
from qengine.plan.physical import EdgeLevel, Level, Search
from qengine.plan.traverse import free_variables, is_repeatable
from qengine.temporal import arrow_numbers

_A_VISIT = 16.0  # nanoseconds of one core that a search takes for an element at least, as its cost is told
_DEARER = 16  # times what asking one of all elements takes: testing one that a search looks at
_LEAST = 4096  # elements that are asked at once in next to no time
_INT64 = np.iinfo(np.int64)


@record
class _Tested:
    """Of how many elements at most a search may test conditions, and for how many input rows it was run.

    ``repeats``: the conditions are the same in all executions.
    """

    elements: int
    repeats: bool
    rows: int = 0


_tested: PerOperatorCache[_Tested] = PerOperatorCache()
"""For plans that run again."""


class Execution(MaskProvider, Protocol):
    """What evaluates predicates in one execution, and knows what was asked of it (``Masks``)."""

    def constant(self, expr: Expr) -> Any:
        """Return the value of an expression that no element changes."""

    def rows_of(self, search: Search, rows: int) -> int:
        """Return for how many input rows a search was asked, ``rows`` more of which come now."""


@frozen
class Bounds:
    """That the number which an element has as a property lies between two, inclusive, of 64 bits; it may be none."""

    key: str
    low: int
    high: int


@frozen
class FewVisits:
    """That a search is expected to look at so many elements in all; ``constant`` evaluates what no element changes."""

    number: float
    constant: Callable[[Expr], Any]

    def spares(self, elements: int) -> bool:
        """Tell whether testing what is looked at takes less than to ask so many elements."""
        return elements >= _LEAST and self.number * _DEARER < elements

    def bounds(
        self, name: str, predicates: Sequence[Expr], types_of: Callable[[str], Sequence[Any]]
    ) -> tuple[list[Bounds], tuple[Expr, ...]]:
        """Return between what the numbers must lie by predicates of variable ``name``, and the other predicates.

        ``types_of``: returns the Arrow types of the columns that hold a property.
        """
        found: dict[str, tuple[int, int]] = {}
        left = []
        for predicate in predicates:
            parts = _parts(name, predicate)
            own = None if parts is None else self._range(parts, types_of(parts[0]))
            if parts is None or own is None:
                left.append(predicate)
                continue
            low, high = found.get(parts[0], own)
            found[parts[0]] = max(low, own[0]), min(high, own[1])
        return [Bounds(key, *own) for key, own in found.items()], tuple(left)

    def _range(self, parts: tuple[str, str, Expr], types: Sequence[Any]) -> tuple[int, int] | None:
        _, op, constant = parts
        if not types or any(column_kind(each) is None for each in types):
            return None
        value = self.constant(constant)
        first, *others = (_range(op, each, value) for each in types)
        return first if all(each == first for each in others) else None


def few_visits(store: ExecView, search: Search, rows: int, execution: Execution) -> FewVisits | None:
    """Return how many elements a search looks at for so many input rows, where that spares asking all of a level's.

    Counted are those of its other batches in this execution, too, and of executions before where all elements' answers
    would be the same, and kept.
    """
    if search.cost is None:
        return None
    known = _tested.get(store, search, lambda: (_tested_of(store, search), True))
    if not known.elements:
        return None
    rows = rows if search.seeds else 1
    if known.repeats:
        known.rows += rows
    total = known.rows if known.repeats else execution.rows_of(search, rows)
    found = FewVisits(search.cost * total / _A_VISIT, execution.constant)
    return found if found.spares(known.elements) else None


def _tested_of(store: ExecView, search: Search) -> _Tested:
    most = max((_size(store, level) for level in search.levels if _is_tested(level)), default=0)
    return _Tested(most, most > 0 and not differs(search))


def column_kind(arrow: Any) -> tuple[ColumnKind, int] | None:
    """Return as what numbers a search reads a column of an Arrow type, and the bytes of each; None where it doesn't."""
    if pa.types.is_float64(arrow):
        return ColumnKind.FLOAT64, 8
    if pa.types.is_date32(arrow):
        return ColumnKind.INT32, 4
    return (ColumnKind.INT64, 8) if pa.types.is_int64(arrow) or arrow_numbers.kind_of(arrow) is not None else None


def _is_tested(level: Level) -> bool:
    """Tell whether a level's conditions are tested for what lists lead to, and one may be tested by the search."""
    reached = isinstance(level, EdgeLevel) or bool(level.sources)
    return reached and any(_parts(level.name, each) is not None for each in level.predicates)


def _size(store: ExecView, level: Level) -> int:
    """Return how many elements there are for a level."""
    if isinstance(level, EdgeLevel):
        types = (store.type_index(name) for name in level.types or store.relationship_types)
        return sum(store.types[index].count for index in types if index is not None)
    return sum(high - low for low, high in store.label_ranges(level.labels).tolist())


def _parts(name: str, predicate: Expr) -> tuple[str, str, Expr] | None:
    """Return property, operator and constant of a comparison that can't fail; None for other predicates."""
    if not isinstance(predicate, Comparison) or len(predicate.ops) > 1 or predicate.ops[0] == "<>":
        return None
    (op,), (left, right) = predicate.ops, predicate.args
    if not isinstance(left, Property):
        left, right, op = right, left, MIRRORED[op]
    if not isinstance(left, Property) or not isinstance(left.subject, Variable) or left.subject.name != name:
        return None
    is_constant = not free_variables(right) and is_repeatable(right)
    return (left.key, op, right) if is_constant and not condition_can_fail(predicate) else None


def _range(op: str, arrow: Any, value: Any) -> tuple[int, int] | None:
    """Return between what a column's numbers must lie so that ``OP value`` holds; None where that isn't told so."""
    if pa.types.is_int64(arrow):
        found = (op, value) if type(value) is int and _INT64.min <= value <= _INT64.max else None
    else:
        beside = arrow_numbers.number_beside(op, arrow, value)
        found = None if isinstance(beside, bool) else beside
    if found is None:
        return None
    op, number = found
    low, high = (number, number) if op == "=" else (_INT64.min, number) if op[0] == "<" else (number, _INT64.max)
    return low + (op == ">"), high - (op == "<")  # beyond 64 bits where nothing lies between
