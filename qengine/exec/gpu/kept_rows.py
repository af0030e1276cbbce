"""Results that stay on the device, as CuPy's arrays (``kernels/cuda/fold/row_numbers.cu``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from qengine._frozen import frozen
from qengine.exec.arrow_out import not_shared
from qengine.exec.common.columns import ArrowColumn
from qengine.exec.common.element_columns import IDS, Elements, Numbers, elements_of, evaluated, evaluations, numbers_of
from qengine.exec.common.fold_plan import COLUMN, MOST_VARIABLES
from qengine.exec.common.masks import Masks, conditions_hold_out
from qengine.exec.common.pipeline import runtime_of
from qengine.exec.common.resolve import resolve
from qengine.exec.common.runtime import Runtime
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu.arrays import working
from qengine.exec.gpu.device import cupy
from qengine.exec.gpu.fold_search import give_rows, lent_folds
from qengine.exec.gpu.folds import DeviceFolds, rows_record
from qengine.exec.gpu.launch import launch_pass
from qengine.exec.gpu.spread import is_spread
from qengine.exec.view import ExecView
from qengine.plan import logical
from qengine.plan.expr import Call, Expr, Variable
from qengine.plan.physical import PhysicalPlan, Search, check_device_levels
from qengine.plan.traverse import only_variable, substitute
from qengine.types import BOOLEAN, FLOAT, INTEGER

_WHAT = "rows of the result"
_MOST_EVALUATED = 1 << 22
"""Elements that an expression is evaluated for, however few rows there may be."""
_TYPES = {FLOAT: np.float64, BOOLEAN: np.uint8}
_MANY_ROWS = 2.0**40
"""A device has no room for so many: their places need not be told apart."""


@frozen
class _Wanted:
    """A column: ``variable`` of a search, ``numbers`` of its elements, and the type of the array."""

    variable: str
    numbers: Numbers
    dtype: Any


def kept_rows(plan: PhysicalPlan, store: ExecView, context: ExecutionContext) -> dict[str, Any] | None:
    """Return the columns of a result as arrays on the current device; None where the host makes its rows.

    These are the results of one search whose columns are each made of one of its nodes or relationships: the ids of
    these, and expressions that give numbers or booleans. One device finds them.

    Returns
    -------
    dict
        ``cupy.ndarray`` of int64, float64 or (booleans) uint8, in an order that depends on the plan alone.

    Raises
    ------
    Unsupported
        Where a row has null, or the search has more levels than the device's kernels take.
    OutOfMemory
        Where the device or ``gpu_memory_limit`` has no room for the result.
    """
    search, columns = _over_search(plan)
    if search is None or context.profile is not None or is_spread(search, context):
        return None
    check_device_levels(len(search.levels))
    runtime = runtime_of(store, context)
    masks = Masks(runtime)
    if plan.careful is not None and not conditions_hold_out(plan.root, store, masks):
        return None
    elements: dict[str, Elements | None] = {
        level.name: elements_of(level, runtime) for level in search.levels if level.name in search.emit
    }
    most = max(_MOST_EVALUATED, int(min(search.rows or 0, 1e15)))
    wanted: dict[str, _Wanted] = {}
    for name in plan.columns:
        found = _wanted(columns[name], elements, runtime, most)
        if found is None:
            return None
        wanted[name] = found
    names = sorted({each.variable for each in wanted.values()})
    if len(names) > MOST_VARIABLES:
        return None
    with lent_folds(store, context) as lent:
        kept = _Kept(lent, names, wanted)
        resolved = resolve(store, search, lent.masks(masks))
        if resolved is not None and not give_rows(lent, search, resolved, names, None, [kept]):
            return None
        return kept.arrays()


def _over_search(plan: PhysicalPlan) -> tuple[Search | None, Mapping[str, Expr]]:
    """Return the search whose rows a plan's are, and the result's columns by its variables; no search where none is."""
    root = plan.root
    if not isinstance(root, logical.Project):
        return None, {}
    columns = dict(root.items)
    below = root.input
    while isinstance(below, logical.Project):
        items = dict(below.items)

        def inner(part: Expr, items: Mapping[str, Expr] = items) -> Expr | None:
            return items.get(part.name) if isinstance(part, Variable) else None

        columns = {name: substitute(expr, inner) for name, expr in columns.items()}
        below = below.input
    if not isinstance(below, Search) or not isinstance(below.input, logical.Unit) or below.count is not None:
        return None, {}
    return (below if len(below.levels) > 1 else None), columns


def _wanted(expr: Expr, elements: Mapping[str, Elements | None], runtime: Runtime, most: int) -> _Wanted | None:
    """Return what a column's numbers are made of; None where it has others, or of more than one variable."""
    variable = only_variable(expr)
    if variable is None or variable not in elements:
        return None
    of = elements[variable]
    if of is None:  # no element, so no row
        return _Wanted(variable, Numbers(IDS, None, 0), _TYPES.get(expr.type, np.int64))
    if isinstance(expr, Variable):
        expr = Call("id", (expr,), type=INTEGER)
    if isinstance(expr, Call) and expr.name == "id" and isinstance(expr.args[0], Variable):
        known = runtime.store.node_numbers if of.of_nodes else runtime.store.relationship_numbers
        if known.equal_ids:
            return _Wanted(variable, Numbers(IDS, None, 0), np.int64)
    if evaluations(expr, of) > most:
        return None
    column = evaluated(expr, of, runtime)
    if not isinstance(column, ArrowColumn):
        return None
    dtype: Any = np.float64 if pa.types.is_floating(column.type) else np.int64
    if pa.types.is_boolean(column.type):
        column, dtype = ArrowColumn(column.array.cast(pa.int64())), np.uint8
    numbers = numbers_of(expr, column, of, runtime)
    return None if numbers is None else _Wanted(variable, numbers, dtype)


class _Kept:
    """The rows so far: pieces of each column's array."""

    def __init__(self, lent: DeviceFolds, names: Sequence[str], wanted: Mapping[str, _Wanted]) -> None:
        self._run = lent.run
        self._wanted = wanted
        self._records = {
            name: lent.uploaded(np.array([lent.column(names.index(each.variable), each.numbers)], COLUMN))
            for name, each in wanted.items()
        }
        self._pieces: dict[str, list[Any]] = {name: [] for name in wanted}
        with working(self._run, _WHAT) as cp:
            self._absent = cp.zeros(len(wanted), np.int32)

    def add_rows(self, columns: Sequence[Any], n: int, weights: Any | None, times: int) -> bool:
        """Add rows; parameters as of ``DeviceFold.add_rows``."""
        if not n:
            return True
        with working(self._run, _WHAT) as cp:
            if weights is not None:
                at = self._repeated(cp, weights, times)
                columns, n = [each[at] for each in columns], len(at)
            record = rows_record(columns, 0, n, None, 1)
            for place, (name, each) in enumerate(self._wanted.items()):
                numbers = cp.empty(n, np.int64)
                column, absent = np.uint64(self._records[name].ptr), self._absent[place:]
                launch_pass(self._run, "row_numbers", "row_numbers", n, column, record, numbers, absent)
                if each.dtype is np.uint8:
                    numbers = numbers.astype(np.uint8)
                self._pieces[name].append(numbers)
        self._run.wait()
        return True

    def _repeated(self, cp: Any, weights: Any, times: int) -> Any:
        """Return the places of rows, each as often as it counts."""
        total = times * float(weights.sum(dtype=np.float64))
        if total > _MANY_ROWS:
            self._run.allocate(int(8 * total), _WHAT)
        return cp.searchsorted(
            cp.cumsum(weights * np.uint64(times)), cp.arange(int(total), dtype=np.uint64), side="right"
        )

    def arrays(self) -> dict[str, Any]:
        """Return each column's array, in memory of CuPy's current allocator and on the current stream: the caller's.

        Raises
        ------
        Unsupported
            Where a row has null.
        OutOfMemory
            Where the device has no room for it beside what it is made of.
        """
        cp = cupy()
        found: dict[str, Any] = {}
        absent = self._run.fetched(self._absent.data.ptr, len(self._wanted), np.int32)
        for null, (name, each) in zip(absent, self._wanted.items(), strict=True):
            if null:
                raise not_shared(name, "nulls")
            pieces = [piece.view(each.dtype) for piece in self._pieces.pop(name)]
            try:
                found[name] = cp.concatenate(pieces) if pieces else cp.empty(0, each.dtype)
            except self._run.memory.memory.failure:
                raise self._run.memory.full(sum(piece.nbytes for piece in pieces), _WHAT) from None
            cp.cuda.get_current_stream().synchronize()  # before the pieces are free for others
        return found
