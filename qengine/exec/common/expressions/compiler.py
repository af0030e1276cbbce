"""Compiles bound expressions to functions from a batch to a column.

The rule is "columnar or refused": a columnar function gives the language's answer for every row of the batch, or
returns None, or Arrow raises (overflow, division by zero). Then the row-wise evaluator of ``exec.scalar`` does
the same node of the expression from the same argument columns, and gives the values, or the error. So every
expression runs, and errors read the same whoever found them.

Forms that don't evaluate all of their arguments (AND, OR, CASE, coalesce, comparison chains) are tried on whole columns
too; if an argument fails in some row, they are evaluated row by row, which fails only if that row needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from math import inf
from typing import Any, Generic, TypeVar

import numpy as np
import pyarrow as pa

from qengine._cached import cached_property
from qengine._frozen import replace
from qengine.errors import ExecutionError
from qengine.exec.common.batch import Batch
from qengine.exec.common.batch_parts import by_parts
from qengine.exec.common.columns import (
    BoolArray,
    Column,
    ConstantColumn,
    ListColumn,
)
from qengine.exec.common.expressions.arithmetic import ARITHMETIC
from qengine.exec.common.expressions.comparison import COMPARISON, combine_truths, true_rows
from qengine.exec.common.expressions.entities import ENTITIES, has_labels, property_of
from qengine.exec.common.expressions.functions import FUNCTIONS, choose, chosen_rows
from qengine.exec.common.expressions.growth import GROWTH, choice_bytes, property_bytes
from qengine.exec.common.expressions.keys import keys_of
from qengine.exec.common.expressions.lists import LISTS
from qengine.exec.common.expressions.maps import MAPS, projected
from qengine.exec.common.expressions.mathematics import MATHEMATICS
from qengine.exec.common.expressions.moments import MOMENTS
from qengine.exec.common.expressions.of_node import of_nodes, values_of_nodes
from qengine.exec.common.expressions.operand import operand
from qengine.exec.common.expressions.over_items import Items, all_reduced, listed, quantified, reduced
from qengine.exec.common.expressions.paths import PATHS, paths
from qengine.exec.common.expressions.points import POINTS
from qengine.exec.common.expressions.row_wise import ByRow
from qengine.exec.common.expressions.strings import STRINGS
from qengine.exec.common.expressions.type_tests import TYPES
from qengine.exec.common.expressions.user_functions import user_call
from qengine.exec.common.map_column import MapColumn
from qengine.exec.common.runtime import Runtime
from qengine.exec.memory import Oversized
from qengine.exec.scalar.values import wrong_argument
from qengine.plan import expr as x
from qengine.plan.traverse import free_variables, is_repeatable, preorder

Evaluate = Callable[[Batch], Column]
_Found = TypeVar("_Found")

COLUMNAR: dict[str, Callable[..., Column | None]] = {
    **ARITHMETIC,
    **COMPARISON,
    **ENTITIES,
    **FUNCTIONS,
    **LISTS,
    **MAPS,
    **MATHEMATICS,
    **MOMENTS,
    **PATHS,
    **POINTS,
    **STRINGS,
    **TYPES,
}
"""The columnar function of each operator or function that has one; it takes the runtime, then the arguments."""

VOLATILE = frozenset({"rand", "randomuuid"})
"""Functions that may give another value at each call."""


def is_volatile(expr: x.Expr) -> bool:
    """Return whether the expression may give another value at each evaluation."""
    return any(
        node.name in VOLATILE
        if isinstance(node, x.Call)
        else type(node) is x.UserCall and not node.function.deterministic
        for node in preorder(expr)
    )


def compile_expression(expr: x.Expr, runtime: Runtime) -> Evaluate:
    """Return the function that evaluates ``expr`` for the rows of a batch.

    Raises
    ------
    ExecutionError
        By the function, where a row's values make the expression fail.
    """
    form = _FORMS.get(type(expr))
    evaluate = _row_wise(expr, runtime) if form is None else form(expr, runtime)
    if isinstance(expr, _OVER_ITEMS) and not free_variables(expr) and is_repeatable(expr):
        evaluate = _once(evaluate, runtime)
    accounted = runtime.memory.limit is not None and not isinstance(expr, _GIVEN)
    return _accounted(evaluate, runtime) if accounted else evaluate


def _once(evaluate: Evaluate, runtime: Runtime) -> Evaluate:
    """Evaluate what no row changes for the first of many rows alone, if under a memory limit its value is small."""
    found: list[Any] = []
    most: float = inf if runtime.memory.limit is None else _KEPT

    def constant(batch: Batch) -> Column:
        nonlocal most
        if not found and batch.length > 1 and most:
            column = evaluate(Batch(1, {}))
            if column.nbytes <= most:
                found.append(column.values()[0])
            most = 0
        return ConstantColumn(found[0], batch.length) if found else evaluate(batch)

    return constant


def _accounted(evaluate: Evaluate, runtime: Runtime) -> Evaluate:
    """Charge an expression's columns: while it is evaluated those of its parts, in the end the result."""
    memory = runtime.memory

    def charged(batch: Batch) -> Column:
        mark = memory.charged
        column = evaluate(batch)
        memory.charged = mark
        size = column.nbytes
        memory.room(batch.length, size)
        memory.charge(size)
        return column

    return charged


def compile_predicate(expr: x.Expr, runtime: Runtime) -> Callable[[Batch], BoolArray]:
    """Return the function that says for each row whether ``expr`` is true: false and null are not.

    Raises
    ------
    ExecutionError
        By the function, where the value is no boolean.
    """
    of_part = _compared(expr, runtime) or _true(expr, runtime)

    def holds(batch: Batch) -> BoolArray:
        found = [truth for _, truth in by_parts(batch, of_part, runtime.memory)]
        return found[0] if len(found) == 1 else np.concatenate([*found, np.zeros(0, np.bool_)])

    return holds


def _true(expr: x.Expr, runtime: Runtime) -> Callable[[Batch], BoolArray]:
    evaluate = compile_expression(expr, runtime)
    return lambda batch: truths(evaluate(batch), expr)


def _compared(expr: x.Expr, runtime: Runtime) -> Callable[[Batch], BoolArray] | None:
    """Return what tells where a single comparison is true; None for other conditions, and where memory is limited."""
    if not isinstance(expr, x.Comparison) or len(expr.ops) > 1 or runtime.memory.limit is not None:
        return None
    (op,) = expr.ops
    left, right = (compile_expression(arg, runtime) for arg in expr.args)
    given = x.Call(
        op, tuple(x.Variable(f"{place}", type=arg.type) for place, arg in enumerate(expr.args)), span=expr.span
    )
    otherwise = cache(lambda: compile_expression(given, runtime))

    def of_part(batch: Batch) -> BoolArray:
        columns = left(batch), right(batch)
        found = None if _constants(*columns) else true_rows(op, *columns)
        if found is None:
            named = Batch(batch.length, dict(zip("01", columns, strict=True)))
            return truths(otherwise()(named), expr)
        return found

    return of_part


def truths(column: Column, expr: x.Expr) -> BoolArray:
    """Return where a condition's column is true."""
    a = operand(column)
    if a.kind == "boolean":
        if a.constant:
            return np.full(len(column), a.datum.as_py())
        array = a.datum.fill_null(False) if a.datum.null_count else a.datum
        offset = array.offset
        bits = np.frombuffer(array.buffers()[1], np.uint8, (offset + len(array) + 7) // 8)
        return np.unpackbits(bits, count=offset + len(array), bitorder="little")[offset:].view(np.bool_)
    if a.kind == "null":
        return np.zeros(len(column), dtype=np.bool_)
    values = column.values()
    for value in values:
        if value is not True and value is not False and value is not None:
            error = wrong_argument("A condition", "a boolean", value)
            error.span = expr.span
            raise error
    return np.fromiter((value is True for value in values), np.bool_, len(values))


def _literal(expr: x.Literal | x.ConstantList, runtime: Runtime) -> Evaluate:
    value = expr.value
    return lambda batch: ConstantColumn(value, batch.length)


def _parameter(expr: x.Parameter, runtime: Runtime) -> Evaluate:
    try:
        value = runtime.environment.parameter(expr.name)
    except ExecutionError as error:
        error.span = error.span or expr.span
        raise
    return lambda batch: ConstantColumn(value, batch.length)


def _variable(expr: x.Variable, runtime: Runtime) -> Evaluate:
    name = expr.name
    return lambda batch: batch.columns[name]


def _property(expr: x.Property, runtime: Runtime) -> Evaluate:
    key = expr.key
    limited = runtime.memory.limit is not None
    growth = partial(property_bytes, runtime.store, key=key) if limited else None

    def read(_: Runtime, subject: Column) -> Column | None:
        known = None if limited else runtime.last_read.get(key)
        if known is not None and known[0] is subject:
            return known[1]
        found = property_of(runtime.store, subject, key)
        if not limited:
            runtime.last_read[key] = subject, found
        return found

    return _strict(expr, (expr.subject,), lambda args: replace(expr, subject=args[0]), runtime, read, growth)


def _has_labels(expr: x.HasLabels, runtime: Runtime) -> Evaluate:
    labels = expr.labels
    return _strict(expr, (expr.subject,), lambda args: replace(expr, subject=args[0]), runtime,
                   lambda _, subject: has_labels(runtime, subject, labels))  # fmt: skip


def _of_node(expr: x.OfNode, runtime: Runtime) -> Evaluate:
    subject, values = compile_expression(expr.subject, runtime), values_of_nodes(expr, runtime)
    return lambda batch: of_nodes(values, subject(batch))


def _call(expr: x.Call, runtime: Runtime) -> Evaluate:
    if expr.name == "coalesce":
        return _coalesce(expr, runtime)
    columnar = COLUMNAR.get(expr.name)
    return _strict(expr, expr.args, lambda args: replace(expr, args=args), runtime, columnar,
                   GROWTH.get(expr.name))  # fmt: skip


def _user_call(expr: x.UserCall, runtime: Runtime) -> Evaluate:
    return user_call(expr, [compile_expression(arg, runtime) for arg in expr.args], runtime)


def _strict(
    expr: x.Expr,
    args: Sequence[x.Expr],
    rebuild: Callable[[tuple[x.Expr, ...]], x.Expr],
    runtime: Runtime,
    columnar: Callable[..., Column | None] | None,
    growth: Callable[..., int] | None = None,
) -> Evaluate:
    """Return an evaluation of all arguments, then of ``columnar`` or, where it refuses, row by row.

    ``growth``: tells the bytes of what ``columnar`` would make; a batch where that is too much is cut, and a single row
    left to the row-wise evaluator.
    """
    evaluators = [compile_expression(arg, runtime) for arg in args]
    names = [f"{index}" for index in range(len(args))]

    def stand_in() -> x.Expr:
        return rebuild(tuple(x.Variable(name, type=arg.type) for name, arg in zip(names, args, strict=True)))

    by_row = ByRow(stand_in, runtime)
    folds = not (isinstance(expr, x.Call) and expr.name in VOLATILE)
    memory = runtime.memory

    def fits(size: int, rows: int) -> bool:
        if size > memory.batch_bytes and rows > 1:
            raise Oversized(rows * memory.batch_bytes // size)
        return size <= memory.batch_bytes

    def evaluate(batch: Batch) -> Column:
        columns = [evaluator(batch) for evaluator in evaluators]
        if folds and all(type(column) is ConstantColumn for column in columns):
            row = {name: column.value for name, column in zip(names, columns, strict=True)}  # type: ignore[attr-defined]
            return ConstantColumn(by_row.function(row), batch.length)
        if columnar is not None and (growth is None or fits(growth(*columns), batch.length)):
            try:
                result = columnar(runtime, *columns)
            except (ExecutionError, pa.ArrowInvalid):  # the error comes again where its row is, if it is one there
                result = None
            if result is not None:
                return result
        return by_row(dict(zip(names, columns, strict=True)), batch.length)

    return evaluate


def _row_wise(expr: x.Expr, runtime: Runtime) -> Evaluate:
    by_row = ByRow(lambda: expr, runtime)
    names = free_variables(expr)

    def evaluate(batch: Batch) -> Column:
        return by_row({name: batch.columns[name] for name in names}, batch.length)

    return evaluate


def _lazy(expr: x.Expr, runtime: Runtime, columnar: Callable[[Batch], Column | None]) -> Evaluate:
    """Return ``columnar``, and the whole expression row by row where it refuses or an argument fails."""
    by_row = _row_wise(expr, runtime)

    def evaluate(batch: Batch) -> Column:
        try:
            result = columnar(batch)
        except (ExecutionError, pa.ArrowInvalid):
            result = None
        return by_row(batch) if result is None else result

    return evaluate


def _logical(expr: x.Logical, runtime: Runtime) -> Evaluate:
    args = [compile_expression(arg, runtime) for arg in expr.args]
    return _lazy(expr, runtime, lambda batch: combine_truths(expr.op, [arg(batch) for arg in args]))


def _comparison(expr: x.Comparison, runtime: Runtime) -> Evaluate:
    if len(expr.ops) == 1:
        return _call(x.Call(expr.ops[0], expr.args, type=expr.type, span=expr.span), runtime)
    args = [compile_expression(arg, runtime) for arg in expr.args]

    def columnar(batch: Batch) -> Column | None:
        columns = [arg(batch) for arg in args]
        links = []
        for op, left, right in zip(expr.ops, columns[:-1], columns[1:], strict=True):
            link = None if _constants(left, right) else COLUMNAR[op](runtime, left, right)
            if link is None:
                return None
            links.append(link)
        return combine_truths("AND", links)

    return _lazy(expr, runtime, columnar)


def _constants(*columns: Column) -> bool:
    return all(isinstance(column, ConstantColumn) for column in columns)


def _case(expr: x.Case, runtime: Runtime) -> Evaluate:
    conditions = [compile_expression(condition, runtime) for condition, _ in expr.whens]
    results = [compile_expression(result, runtime) for _, result in (*expr.whens, (None, expr.otherwise))]

    def columnar(batch: Batch) -> Column | None:
        length = batch.length
        chosen = np.full(length, len(conditions), dtype=np.min_scalar_type(len(conditions)))
        for index in range(len(conditions) - 1, -1, -1):
            column = conditions[index](batch)
            if operand(column).kind not in ("boolean", "null"):
                return None
            np.copyto(chosen, index, where=truths(column, expr))
        columns = [result(batch) for result in results]
        runtime.memory.room(length, choice_bytes(*columns))
        return chosen_rows(columns, chosen)

    return _lazy(expr, runtime, columnar)


def _coalesce(expr: x.Call, runtime: Runtime) -> Evaluate:
    args = [compile_expression(arg, runtime) for arg in expr.args]

    def columnar(batch: Batch) -> Column:
        """Return the first values that aren't null; arguments behind a column without nulls aren't looked at."""
        columns = []
        chosen = np.full(batch.length, -1, dtype=np.int64)
        for index, arg in enumerate(args):
            columns.append(arg(batch))
            null = columns[-1].is_null()
            if index == 0 and not null.any():
                return columns[0]
            np.copyto(chosen, index, where=(chosen < 0) & ~null)
            if (chosen >= 0).all():
                break
        chosen[chosen < 0] = len(columns) - 1
        return chosen_rows(columns, chosen)

    return _lazy(expr, runtime, columnar)


def _list_of(expr: x.ListOf, runtime: Runtime) -> Evaluate:
    items = [compile_expression(item, runtime) for item in expr.items]

    def evaluate(batch: Batch) -> Column:
        columns = [item(batch) for item in items]
        if _constants(*columns):
            return ConstantColumn([column.value for column in columns], batch.length)  # type: ignore[attr-defined]
        length = batch.length
        runtime.memory.room(length, choice_bytes(*columns))
        joined = choose(columns, np.arange(length * len(columns), dtype=np.int64).reshape(-1, length).T.ravel())
        return ListColumn(np.arange(length + 1, dtype=np.int64) * len(columns), joined)

    return evaluate


def _map_of(expr: x.MapOf, runtime: Runtime) -> Evaluate:
    entries = {key: compile_expression(value, runtime) for key, value in expr.entries}

    def evaluate(batch: Batch) -> Column:
        columns = {key: entry(batch) for key, entry in entries.items()}
        if _constants(*columns.values()):
            return ConstantColumn({key: column.value for key, column in columns.items()}, batch.length)  # type: ignore[attr-defined]
        return MapColumn(columns, batch.length)

    return evaluate


def _map_projection(expr: x.MapProjection, runtime: Runtime) -> Evaluate:
    subject, everything = compile_expression(expr.subject, runtime), expr.everything
    entries = {key: compile_expression(value, runtime) for key, value in expr.entries}

    def columnar(batch: Batch) -> Column | None:
        named = {key: entry(batch) for key, entry in entries.items()}
        return projected(runtime, subject(batch), everything, named)

    return _lazy(expr, runtime, columnar)


class _Later(Generic[_Found]):
    """What ``compile`` makes of an expression, made when first called: few rows are evaluated one by one."""

    def __init__(self, compile: Callable[[x.Expr, Runtime], Callable[[Batch], _Found]], expr: x.Expr, runtime: Runtime):
        self._compile = partial(compile, expr, runtime)

    @cached_property
    def _function(self) -> Callable[[Batch], _Found]:
        return self._compile()

    def __call__(self, batch: Batch) -> _Found:
        return self._function(batch)


def _items(expr: x.ListComprehension | x.Quantifier | x.Reduce, runtime: Runtime, *each: x.Expr | None) -> Items:
    """Return the lists of an expression that evaluates others for ``each`` of their items."""
    read = frozenset[str]().union(*(free_variables(part) for part in each if part is not None))
    outer = sorted(read - {expr.variable, getattr(expr, "accumulator", expr.variable)})
    return Items(expr.variable, outer, not is_volatile(expr), compile_expression(expr.source, runtime), runtime)


def _comprehension(expr: x.ListComprehension, runtime: Runtime) -> Evaluate:
    items = _items(expr, runtime, expr.condition, expr.result)
    condition = None if expr.condition is None else _Later(compile_predicate, expr.condition, runtime)
    result = None if expr.result is None else _Later(compile_expression, expr.result, runtime)
    return _lazy(expr, runtime, listed(items, condition, result))


def _quantifier(expr: x.Quantifier, runtime: Runtime) -> Evaluate:
    items = _items(expr, runtime, expr.condition)
    return _lazy(expr, runtime, quantified(expr.quantifier, items, _Later(compile_expression, expr.condition, runtime)))


def _reduce(expr: x.Reduce, runtime: Runtime) -> Evaluate:
    items = _items(expr, runtime, expr.step, expr.condition)
    initial, step = _Later(compile_expression, expr.initial, runtime), _Later(compile_expression, expr.step, runtime)
    if expr.condition is not None:
        condition = _Later(compile_expression, expr.condition, runtime)
        return _lazy(expr, runtime, all_reduced(expr.accumulator, initial, items, step, condition))
    return _lazy(expr, runtime, reduced(expr.accumulator, initial, items, step))


def _key_of(expr: x.KeyOf, runtime: Runtime) -> Evaluate:
    args = [compile_expression(arg, runtime) for arg in expr.args]
    return lambda batch: keys_of(args, batch, runtime)


def _path(expr: x.PathOf, runtime: Runtime) -> Evaluate:
    return _lazy(expr, runtime, lambda batch: paths([batch.columns[name] for name in expr.elements], runtime))


_GIVEN = (x.Literal, x.Parameter, x.Variable)
"""What evaluates to values that are there already."""

_KEPT = 1 << 20
"""Bytes of a value that may be kept without being charged."""

_OVER_ITEMS = (x.ListComprehension, x.Quantifier, x.Reduce)
"""What evaluates a part for each item of a list."""

_FORMS: dict[type[x.Expr], Callable[[Any, Runtime], Evaluate]] = {
    x.Literal: _literal,
    x.Parameter: _parameter,
    x.Variable: _variable,
    x.Property: _property,
    x.Call: _call,
    x.UserCall: _user_call,
    x.Logical: _logical,
    x.Comparison: _comparison,
    x.HasLabels: _has_labels,
    x.OfNode: _of_node,
    x.Case: _case,
    x.ListOf: _list_of,
    x.ConstantList: _literal,
    x.MapOf: _map_of,
    x.MapProjection: _map_projection,
    x.PathOf: _path,
    x.KeyOf: _key_of,
    x.ListComprehension: _comprehension,
    x.Quantifier: _quantifier,
    x.Reduce: _reduce,
}
"""The forms that have a columnar evaluation; all others are evaluated row by row."""
