"""Turns bound expressions into closures over rows, once a query: no node of the tree is looked at per row.

A row is a mapping from variable to value. What fails while it runs carries the span of the innermost expression
that failed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, singledispatch
from typing import Any

from qengine.errors import ExecutionError, InternalError, Span
from qengine.exec.scalar.comprehensions import (
    Steps,
    compile_all_reduce,
    compile_list_comprehension,
    compile_quantifier,
    compile_reduce,
)
from qengine.exec.scalar.entities import property_of
from qengine.exec.scalar.environment import Environment, Row
from qengine.exec.scalar.functions import ACCOUNTED_FUNCTIONS, FUNCTIONS, GRAPH_FUNCTIONS
from qengine.exec.scalar.growth import GROWTH
from qengine.exec.scalar.logic import compile_and, compile_coalesce, compile_or, compile_xor
from qengine.exec.scalar.paths import compile_path
from qengine.exec.scalar.user_functions import FunctionCaller
from qengine.exec.scalar.values import NodeHandle, RelationshipHandle, wrong_argument
from qengine.exec.sizes import ITEM
from qengine.plan import expr as x
from qengine.plan.traverse import preorder
from qengine.types import FLOAT, INTEGER

Evaluator = Callable[[Row], Any]

_MAKERS = (x.ListOf, x.MapOf, x.MapProjection, x.ListComprehension, x.Quantifier, x.Reduce, x.PathOf, x.Subquery)
_ROUGH = 1 << 16  # bytes of a bound that is made exact afterwards
_MAP_BYTES = 248  # of a map beside its values
_PATH_BYTES = 240  # of a step of a path


def charges(expr: x.Expr) -> bool:
    """Return whether the evaluation of an expression charges values to the memory account."""
    return any(isinstance(node, _MAKERS) or (isinstance(node, x.Call) and _grows(node)) for node in preorder(expr))


def _grows(call: x.Call) -> bool:
    """Return whether a call may make a large value; sums of numbers are the commonest that don't."""
    return call.name in GROWTH and not (call.name == "+" and all(arg.type in (INTEGER, FLOAT) for arg in call.args))


def compile(expr: x.Expr, env: Environment) -> Evaluator:
    """Return the closure that evaluates ``expr`` for a row.

    Raises
    ------
    ExecutionError
        When called here for a parameter that has no value; else by the closure.
    """
    return _compile(expr, env)


def compile_predicate(expr: x.Expr, env: Environment) -> Callable[[Row], bool]:
    """Return the closure that says whether ``expr`` is true for a row: false and null are not.

    Raises
    ------
    ExecutionError
        By the closure, ``InvalidArgumentType`` where the value is no boolean.
    """
    value = _compile(expr, env)
    span = expr.span

    def holds(row: Row) -> bool:
        result = value(row)
        if result is True:
            return True
        if result is False or result is None:
            return False
        raise _placed(wrong_argument("A condition", "a boolean", result), span)

    return holds


def _placed(error: ExecutionError, span: Span | None) -> ExecutionError:
    if error.span is None:
        error.span = span
    return error


@singledispatch
def _compile(expr: x.Expr, env: Environment) -> Evaluator:
    raise InternalError(f"The expression {type(expr).__name__} can't be evaluated row by row.")


@_compile.register
def _(expr: x.Literal, env: Environment) -> Evaluator:
    value = expr.value
    return lambda row: value


@_compile.register
def _(expr: x.Parameter, env: Environment) -> Evaluator:
    try:
        return env.reader_of(expr.name)
    except ExecutionError as error:
        raise _placed(error, expr.span) from None


@_compile.register
def _(expr: x.Variable, env: Environment) -> Evaluator:
    name = expr.name
    return lambda row: row[name]


@_compile.register
def _(expr: x.Property, env: Environment) -> Evaluator:
    subject, key, span = _compile(expr.subject, env), expr.key, expr.span
    node_property = env.node_property

    def value(row: Row) -> Any:
        entity = subject(row)
        if type(entity) is NodeHandle:
            return node_property(entity.id, key)
        try:
            return property_of(env, entity, key)
        except ExecutionError as error:
            raise _placed(error, span) from None

    return value


@_compile.register
def _(expr: x.Call, env: Environment) -> Evaluator:
    args = [_compile(arg, env) for arg in expr.args]
    if expr.name == "coalesce":
        return compile_coalesce(args)
    function = _function(expr.name, env)
    span = expr.span
    if charges(expr) and (env.memory.limit is not None or _grows(expr)):
        return _charging(function, GROWTH[expr.name] if _grows(expr) else None, args, env, span)

    def constant(row: Row) -> Any:
        try:
            return function()
        except ExecutionError as error:
            raise _placed(error, span) from None

    def unary(row: Row) -> Any:
        try:
            return function(first(row))
        except ExecutionError as error:
            raise _placed(error, span) from None

    def binary(row: Row) -> Any:
        try:
            return function(first(row), second(row))
        except ExecutionError as error:
            raise _placed(error, span) from None

    def general(row: Row) -> Any:
        try:
            return function(*[arg(row) for arg in args])
        except ExecutionError as error:
            raise _placed(error, span) from None

    match args:
        case []:
            return constant
        case [first]:
            return unary
        case [first, second]:
            return binary
    return general


def _charging(
    function: Callable[..., Any],
    growth: Callable[..., int] | None,
    args: list[Evaluator],
    env: Environment,
    span: Span | None,
) -> Evaluator:
    """Return a call whose arguments or result are charged; afterwards only the result is.

    Without a limit only the length of results counts, and the clock.
    """
    memory = env.memory

    def general(row: Row) -> Any:
        mark = memory.charged
        values = [arg(row) for arg in args]
        size = 0
        try:
            if growth is not None and (size := growth(*values)):
                memory.charge(size)
            result = function(*values)
        except ExecutionError as error:
            raise _placed(error, span) from None
        if size > _ROUGH or memory.charged != mark + size:
            memory.settle(mark, result)
        return result

    def binary(row: Row) -> Any:
        mark = memory.charged
        a, b = first(row), second(row)
        try:
            if size := grown(a, b):
                memory.charge(size)
            result = function(a, b)
        except ExecutionError as error:
            raise _placed(error, span) from None
        if size > _ROUGH or memory.charged != mark + size:
            memory.settle(mark, result)
        return result

    def unlimited(row: Row) -> Any:
        values = [arg(row) for arg in args]
        try:
            if growth is not None and (size := growth(*values)) > _ROUGH:
                memory.look(size)
            return function(*values)
        except ExecutionError as error:
            raise _placed(error, span) from None

    if memory.limit is None:
        return unlimited
    if len(args) != 2 or growth is None:
        return general
    (first, second), grown = args, growth
    return binary


def _function(name: str, env: Environment) -> Callable[..., Any]:
    function = FUNCTIONS.get(name)
    if function is None:
        raise InternalError(f"The function {name!r} of the catalogue has no implementation.")
    if name in GRAPH_FUNCTIONS:
        return partial(function, env)
    return partial(function, env.memory) if name in ACCOUNTED_FUNCTIONS else function


@_compile.register
def _(expr: x.UserCall, env: Environment) -> Evaluator:
    args = [_compile(arg, env) for arg in expr.args]
    values = FunctionCaller(expr.function, expr.span, env.store, env.memory.check).values
    return lambda row: values([[arg(row)] for arg in args], 1)[0]


@_compile.register
def _(expr: x.Logical, env: Environment) -> Evaluator:
    combine = {"AND": compile_and, "OR": compile_or, "XOR": compile_xor}[expr.op]
    return combine([_boolean(arg, expr.op, env) for arg in expr.args])


def _boolean(expr: x.Expr, op: str, env: Environment) -> Evaluator:
    value, span = _compile(expr, env), expr.span

    def checked(row: Row) -> bool | None:
        result = value(row)
        if result is True or result is False or result is None:
            return result
        raise _placed(wrong_argument(op, "booleans", result), span)

    return checked


@_compile.register
def _(expr: x.Comparison, env: Environment) -> Evaluator:
    operators = [_function(op, env) for op in expr.ops]
    if len(operators) == 1:
        return _compile(x.Call(expr.ops[0], expr.args, type=expr.type, span=expr.span), env)
    args = [_compile(arg, env) for arg in expr.args]

    def chain(row: Row) -> bool | None:
        result: bool | None = True
        left = args[0](row)
        for compare, arg in zip(operators, args[1:], strict=True):
            right = arg(row)
            holds = compare(left, right)
            if holds is False:
                return False
            if holds is None:
                result = None
            left = right
        return result

    return chain


@_compile.register
def _(expr: x.HasLabels, env: Environment) -> Evaluator:
    subject, admits, span = _compile(expr.subject, env), expr.labels.admits, expr.span

    def has_labels(row: Row) -> bool | None:
        entity = subject(row)
        if type(entity) is NodeHandle:
            return admits(env.labels(entity.id))
        if type(entity) is RelationshipHandle:
            return admits(frozenset((env.type_name(entity.id),)))
        if entity is None:
            return None
        raise _placed(wrong_argument("A label test", "a node or relationship", entity), span)

    return has_labels


@_compile.register
def _(expr: x.Case, env: Environment) -> Evaluator:
    whens = [(_boolean(condition, "WHEN", env), _compile(result, env)) for condition, result in expr.whens]
    otherwise = _compile(expr.otherwise, env)

    def chosen(row: Row) -> Any:
        for condition, result in whens:
            if condition(row):
                return result(row)
        return otherwise(row)

    return chosen


@_compile.register
def _(expr: x.ConstantList, env: Environment) -> Evaluator:
    value = expr.value
    return lambda row: value


@_compile.register
def _(expr: x.ListOf, env: Environment) -> Evaluator:
    items = [_compile(item, env) for item in expr.items]
    charge, size = env.memory.charge, ITEM * (len(items) + 2)

    def listed(row: Row) -> list[Any]:
        charge(size)
        return [item(row) for item in items]

    return listed


@_compile.register
def _(expr: x.MapOf, env: Environment) -> Evaluator:
    entries = [(key, _compile(value, env)) for key, value in expr.entries]
    charge, size = env.memory.charge, _MAP_BYTES + ITEM * len(entries)

    def mapped(row: Row) -> dict[str, Any]:
        charge(size)
        return {key: value(row) for key, value in entries}

    return mapped


@_compile.register
def _(expr: x.MapProjection, env: Environment) -> Evaluator:
    subject, everything, span = _compile(expr.subject, env), expr.everything, expr.span
    entries = [(key, _compile(value, env)) for key, value in expr.entries]
    properties = FUNCTIONS["properties"]
    charge, size = env.memory.charge, _MAP_BYTES + ITEM * len(entries)

    def projected(row: Row) -> dict[str, Any] | None:
        entity = subject(row)
        if entity is None:
            return None
        charge(size)
        try:
            result = dict(properties(env, entity)) if everything else {}
        except ExecutionError as error:
            raise _placed(error, span) from None
        for key, value in entries:
            result[key] = value(row)
        return result

    return projected


@_compile.register
def _(expr: x.ListComprehension, env: Environment) -> Evaluator:
    condition = None if expr.condition is None else compile_predicate(expr.condition, env)
    result = None if expr.result is None else _compile(expr.result, env)
    keeps = env.memory.limit is not None and any(
        charges(each) for each in (expr.condition, expr.result) if each is not None
    )
    return compile_list_comprehension(expr.variable, _list(expr.source, env), condition, result, env.memory, keeps)


@_compile.register
def _(expr: x.Quantifier, env: Environment) -> Evaluator:
    condition = _boolean(expr.condition, f"{expr.quantifier}()", env)
    return compile_quantifier(expr.quantifier, expr.variable, _list(expr.source, env), condition, env.memory)


@_compile.register
def _(expr: x.Reduce, env: Environment) -> Evaluator:
    initial, step = _compile(expr.initial, env), _compile(expr.step, env)
    if expr.condition is not None:
        condition = _boolean(expr.condition, "allReduce()", env)
        steps = Steps(expr.accumulator, initial, expr.variable, step, condition)
        return compile_all_reduce(steps, _list(expr.source, env), env.memory)
    return compile_reduce(expr.accumulator, initial, expr.variable, _list(expr.source, env), step, env.memory)


def _list(expr: x.Expr, env: Environment) -> Callable[[Row], list[Any] | None]:
    value = _compile(expr, env)

    def items(row: Row) -> list[Any] | None:
        result = value(row)
        return result if result is None or type(result) is list else [result]

    return items


@_compile.register
def _(expr: x.PathOf, env: Environment) -> Evaluator:
    path, charge = compile_path(expr.elements, env), env.memory.charge

    def walked(row: Row) -> Any:
        found = path(row)
        if found is not None:
            charge(_PATH_BYTES * (1 + len(found.relationships)))
        return found

    return walked


@_compile.register
def _(expr: x.Subquery, env: Environment) -> Evaluator:
    return env.subquery(expr)
