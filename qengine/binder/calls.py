"""Binds calls of operators, functions and aggregates: name, number and types of the arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qengine._nearest import nearest as nearest_of
from qengine.binder.binding import Binding, did_you_mean
from qengine.binder.inference import Mismatch, may_be, result_type
from qengine.binder.scope import hidden_name
from qengine.catalog.functions import Function, elsewhere, lookup, nearest
from qengine.catalog.user_functions import UserFunction
from qengine.errors import SemanticError, Span
from qengine.plan.expr import AggregateCall, Call, Case, Expr, ListOf, Literal, Property, UserCall, Variable
from qengine.plan.traverse import preorder
from qengine.syntax import ast
from qengine.types import BOOLEAN, INTEGER, LIST, Kind, Type

if TYPE_CHECKING:
    from qengine.binder.expressions import ExpressionBinder

_LISTED = "SHOW FUNCTIONS lists those that there are; qengine.function adds one."
_ARITHMETIC = ("+", "-", "*", "/", "%", "^", "neg", "pos")
_INSTANTS = (Kind.DATE, Kind.TIME, Kind.LOCAL_TIME, Kind.DATETIME, Kind.LOCAL_DATETIME)


def bind_operator(binding: Binding, symbol: str, args: tuple[Expr, ...], span: Span) -> Expr:
    """Return the call of an operator, typed by the catalogue."""
    operator = lookup(symbol)
    assert operator is not None, symbol
    found = result_type(operator, [arg.type for arg in args])
    if isinstance(found, Mismatch):
        types = " and ".join(str(arg.type) for arg in args)
        raise binding.error(
            "InvalidArgumentType", f"{_shown(symbol)} can't be applied to {types}.", span, _operator_hint(symbol, args)
        )
    return Call(symbol, args, type=found, span=span)


def bind_function(binder: ExpressionBinder, node: ast.FunctionCall) -> Expr:
    """Return the bound call of a function or aggregate."""
    binding = binder.binding
    name_span = node.name_span if node.name_span.end else node.span
    function = lookup(node.name)
    if function is None and (users := binding.procedures.function(node.name)) is not None:
        return _user_function(binder, users, node)
    if function is None or function.kind == "operator":
        known = elsewhere(node.name)
        hint = f"Write {known}." if known else did_you_mean(_nearest(binding, node.name)) or _LISTED
        raise binding.error("UnknownFunction", f"There is no function `{node.name}`.", name_span, hint)
    if node.star and function.key != "count":
        raise binding.error("UnexpectedSyntax", f"{function.name}(*) means nothing: only count(*) does.", node.span)
    if not function.available:
        raise binding.unsupported(f"{function.name}() isn't built yet.", name_span)
    if function.kind == "form":
        return _exists(binder, function, node) if function.key == "exists" else _place(binder, function, node)
    if (written := node.name.lower()) in map(str.lower, function.former):
        message = f"`{node.name}` is an older name of {function.name}()."
        binding.notice("OldForm", written, message, name_span, f"Write {function.name}(…).")
    if function.kind == "aggregate":
        return _aggregate(binder, function, node)
    if node.distinct:
        raise binding.error(
            "UnexpectedSyntax", f"DISTINCT belongs to aggregates, and {function.name}() is none.", node.span
        )
    _check_count(binding, function, node)
    args = tuple(map(binder.value, node.args))
    type, key = _checked_type(binding, function, args, node), function.key
    if key == "length" and not may_be(args[0].type, Kind.PATH) and args[0].type.kind is not Kind.NULL:
        key, message = "size", "length() is for paths, and counted items and characters in Neo4j 3."
        binding.notice("OldForm", "length", message, name_span, "Write size(…).")
    return Call(key, args, type=type, span=node.span)


def _aggregate(binder: ExpressionBinder, function: Function, node: ast.FunctionCall) -> Expr:
    binding = binder.binding
    _check_aggregation(binder, function, node)
    if node.star:
        return AggregateCall("count", (), node.distinct, type=INTEGER, span=node.span)
    _check_count(binding, function, node)
    args = _aggregated(binder, node)
    return AggregateCall(
        function.key, args, node.distinct, type=_checked_type(binding, function, args, node), span=node.span
    )


def _check_aggregation(binder: ExpressionBinder, function: Function, node: ast.FunctionCall) -> None:
    """Refuse an aggregate where none may stand."""
    if binder.forbidden is not None:
        nested = binder.forbidden == "an aggregate"
        raise binder.binding.error(
            "NestedAggregation" if nested else "InvalidAggregation",
            f"{function.name}() can't be used inside {binder.forbidden}.",
            node.span,
            "Aggregate in a WITH before it, and use the result by its name.",
        )


def _aggregated(binder: ExpressionBinder, node: ast.FunctionCall) -> tuple[Expr, ...]:
    """Return the arguments of an aggregate, which may hold no other, and nothing that differs from call to call."""
    binder.forbidden = "an aggregate"
    args = tuple(map(binder.value, node.args))
    binder.forbidden = None
    for part in (part for arg in args for part in preorder(arg)):
        called = lookup(part.name) if isinstance(part, Call) else None
        if called is not None and not called.deterministic:
            raise binder.binding.error(
                "NonConstantExpression",
                f"{called.name}() can't be used inside an aggregate.",
                part.span,
                f"Compute it before: WITH {called.name}() AS x.",
            )
    return args


def _user_function(binder: ExpressionBinder, function: UserFunction, node: ast.FunctionCall) -> Expr:
    """Return the call of a user's function; an aggregate is one of the list of a group's values."""
    binding, about, type = binder.binding, function.about, function.output.type
    if node.star or (node.distinct and not function.aggregate):
        what = "*" if node.star else "DISTINCT"
        raise binding.error("UnexpectedSyntax", f"{function.name}() can't take {what}.", node.span, _usage(about))
    if not function.aggregate:
        _check_count(binding, about, node)
        args = tuple(map(binder.value, node.args))
        _checked_type(binding, about, args, node)
        return UserCall(function, args, type=type, span=node.span)
    _check_aggregation(binder, about, node)
    _check_count(binding, about, node)
    args = _aggregated(binder, node)
    _checked_type(binding, about, args, node)
    rows: Expr = ListOf(args, span=node.span)
    if len(args) == 1 and not function.inputs[0].nullable:
        (rows,) = args
    else:
        lacking = [Call("IS NULL", (arg,), type=BOOLEAN) for arg, field in zip(args, function.inputs, strict=True)
                   if not field.nullable]  # fmt: skip
        if lacking:
            whens = tuple((each, Literal(None)) for each in lacking)
            rows = Case(whens, rows, span=node.span)
    return UserCall(function, (AggregateCall("collect", (rows,), node.distinct, type=LIST, span=node.span),),
                    type=type, span=node.span)  # fmt: skip


def _nearest(binding: Binding, name: str) -> str | None:
    """Return the function, built in or of users, that ``name`` is probably a misspelling of, None if there is none."""
    own = [each.name for each in binding.procedures.functions()]
    for each in own:
        if each.lower() == name.lower():
            return each
    return nearest(name) or nearest_of(name, own)


def _exists(binder: ExpressionBinder, function: Function, node: ast.FunctionCall) -> Expr:
    _check_count(binder.binding, function, node)
    (argument,) = node.args
    expr = binder.value(argument)
    if not isinstance(expr, Property) and not (isinstance(expr, Call) and expr.name == "[]"):
        raise binder.binding.error(
            "InvalidArgumentType", "exists() takes a property or a pattern.", argument.span, "Write … IS NOT NULL."
        )
    text = binder.binding.text[argument.span.start : argument.span.end]
    message = f"{node.name}() of a property is of older versions of Neo4j."
    binder.binding.notice("OldForm", "exists", message, node.span, f"Write {text} IS NOT NULL.")
    return Call("IS NOT NULL", (expr,), type=BOOLEAN, span=node.span)


def _place(binder: ExpressionBinder, function: Function, node: ast.FunctionCall) -> Expr:
    """Return where LOAD CSV is in its file, null where there is none."""
    _check_count(binder.binding, function, node)
    symbol = binder.scope.find(hidden_name(function.key))
    if symbol is None:
        return Literal(None, span=node.span)
    return Variable(symbol.name, type=symbol.type, span=node.span)


def _check_count(binding: Binding, function: Function, node: ast.FunctionCall) -> None:
    if not any(signature.admits(len(node.args)) for signature in function.signatures):
        number = f"{len(node.args)} argument{'s' if len(node.args) != 1 else ''}"
        raise binding.error(
            "InvalidNumberOfArguments", f"{function.name}() can't take {number}.", node.span, _usage(function)
        )


def _checked_type(binding: Binding, function: Function, args: Sequence[Expr], node: ast.FunctionCall) -> Type:
    found = result_type(function, [arg.type for arg in args])
    if isinstance(found, Mismatch):
        raise _wrong_argument(binding, function, found, args, node)
    return found


def _wrong_argument(
    binding: Binding, function: Function, mismatch: Mismatch, args: Sequence[Expr], node: ast.FunctionCall
) -> SemanticError:
    slot = mismatch.signature.parameters[min(mismatch.place, len(mismatch.signature.parameters) - 1)]
    given = args[mismatch.place].type
    hint = _usage(function)
    wanted = str(slot) if len(function.signatures) == 1 else "other types"
    return binding.error(
        "InvalidArgumentType",
        f"{function.name}() takes {wanted}, not {given}.",
        node.args[mismatch.place].span,
        hint,
    )


def _usage(function: Function) -> str:
    return "It is used as " + " or ".join(f"{function.name}{signature}" for signature in function.signatures) + "."


def _shown(symbol: str) -> str:
    return {"neg": "unary -", "pos": "unary +", "[]": "[…]", "[..]": "[… .. …]", "{}": "SET n[…]"}.get(symbol, symbol)


def _operator_hint(symbol: str, args: Sequence[Expr]) -> str | None:
    kinds = {arg.type.kind for arg in args}
    if symbol == "IN":
        return "IN wants a list on its right: x IN [1, 2]."
    if symbol in ("[]", "[..]") and args[0].type.kind is Kind.STRING:
        return "Of a text write substring(text, start, length)."
    if symbol == "[]":
        return "A list's items have numbers, from 0 on: list[0]; a map's have names: map['name']."
    if symbol == "+" and any(arg.type.kind is Kind.STRING for arg in args):
        return "Make it text first: toString(…)."
    if symbol == "-" and all(arg.type.kind in _INSTANTS for arg in args):
        return "Write duration.between(from, to)."
    if symbol in ("+", "-") and kinds.intersection(_INSTANTS) and kinds.intersection((Kind.INTEGER, Kind.FLOAT)):
        return f"Write a duration: … {symbol} duration({{days: 1}})."
    if symbol in _ARITHMETIC and Kind.STRING in kinds:
        return "Make the text a number first: toInteger(…), toFloat(…)."
    if symbol in _ARITHMETIC and Kind.BOOLEAN in kinds:
        return "Make the boolean a number first: CASE WHEN … THEN 1 ELSE 0 END."
    if symbol in _ARITHMETIC and Kind.LIST in kinds:
        return "Do it with each item: [x IN list | …]."
    return None
