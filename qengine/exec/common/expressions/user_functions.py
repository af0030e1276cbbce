"""Functions of users over columns: vectorized ones get Arrow arrays, others the values of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from qengine.exec.arrow_values import array_of
from qengine.exec.common.batch import Batch
from qengine.exec.common.columns import ArrowColumn, Column, ConstantColumn, ListColumn, concatenate, from_values
from qengine.exec.common.expressions.growth import object_bytes
from qengine.exec.common.runtime import Runtime
from qengine.exec.scalar.user_functions import ROWS, FunctionCaller, as_declared
from qengine.plan.expr import UserCall
from qengine.types import Kind

_ARRAYS = (Kind.BOOLEAN, Kind.INTEGER, Kind.FLOAT, Kind.STRING)


def user_call(expr: UserCall, args: Sequence[Callable[[Batch], Column]], runtime: Runtime) -> Callable[[Batch], Column]:
    """Return the function that evaluates a call for the rows of a batch; ``args`` evaluate its arguments."""
    function = expr.function
    caller = FunctionCaller(function, expr.span, runtime.store, runtime.context.check)

    def some(columns: list[Column], length: int) -> Column:
        if function.aggregate:
            found = _groups(caller, columns[0])
            if found is not None:
                return found
        elif function.vectorized:
            made = caller.arrays([_array(caller, place, each, runtime) for place, each in enumerate(columns)], length)
            return from_values(made) if type(made) is list else ArrowColumn(made)
        runtime.memory.room(length, sum(map(object_bytes, columns)))
        return from_values(caller.values([column.values() for column in columns], length))

    def evaluate(batch: Batch) -> Column:
        columns = [arg(batch) for arg in args]
        length = batch.length
        if function.deterministic and length and all(type(column) is ConstantColumn for column in columns):
            (value,) = some([column.slice(0, 1) for column in columns], 1).values()
            return ConstantColumn(value, length)
        if length <= ROWS:
            return some(columns, length)
        parts = []
        for begin in range(0, length, ROWS):
            size = min(ROWS, length - begin)
            parts.append(some([column.slice(begin, size) for column in columns], size))
        return concatenate(parts)

    return evaluate


def _array(caller: FunctionCaller, place: int, column: Column, runtime: Runtime) -> pa.Array:
    """Return an argument's column as an array of the declared type."""
    field = caller.function.inputs[place]
    if isinstance(column, ConstantColumn):
        column = column.expanded()
    if isinstance(column, ArrowColumn) and field.type.kind in _ARRAYS:
        array = column.array
        if caller.admits(array.type, field):
            return as_declared(array, field)
    values = caller.taken(field, column.values())
    return as_declared(array_of(values), field)


def _groups(caller: FunctionCaller, column: Column) -> Column | None:
    """Return a vectorized aggregate of lists whose items are an array already; None of others."""
    inputs = caller.function.inputs
    if not caller.function.vectorized or len(inputs) > 1 or inputs[0].nullable:
        return None
    if not isinstance(column, ListColumn) or not isinstance(column.items, ArrowColumn):
        return None
    items = column.items.array
    if not caller.admits(items.type, inputs[0]):
        return None
    items = as_declared(items, inputs[0])
    results = []
    for begin, end in zip(column.starts.tolist(), column.ends.tolist(), strict=True):
        caller.check()
        results.append(caller.of_group([items.slice(begin, end - begin)], end - begin))
    return from_values(results)
