"""Bound expressions and label expressions as Cypher-like text, for EXPLAIN and golden files."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from qengine.catalog.functions import lookup
from qengine.plan.expr import (
    AggregateCall,
    Call,
    Case,
    Comparison,
    ConstantList,
    Expr,
    HasLabels,
    KeyOf,
    ListComprehension,
    ListOf,
    Literal,
    Logical,
    MapOf,
    MapProjection,
    OfNode,
    Parameter,
    PathOf,
    Property,
    Quantifier,
    Reduce,
    Subquery,
    UserCall,
    Variable,
)
from qengine.plan.pattern import LabelAnd, LabelAny, LabelExpr, LabelIs, LabelNot, LabelOr

_PLAIN_NAME = re.compile(r"[@\w]+")
_LAST = 2**63 - 1

# How tightly each form binds; an operand that binds less tightly gets parentheses.
_LOGICAL = {"OR": 1, "XOR": 2, "AND": 3}
_NOT, _COMPARISON, _ADDITIVE, _MULTIPLICATIVE, _POWER, _UNARY, _POSTFIX, _ATOM = range(4, 12)
_INFIX = {
    "+": _ADDITIVE, "-": _ADDITIVE, "||": _ADDITIVE, "*": _MULTIPLICATIVE, "/": _MULTIPLICATIVE, "%": _MULTIPLICATIVE,
    "^": _POWER, "=~": _COMPARISON, "IN": _COMPARISON, "STARTS WITH": _COMPARISON, "ENDS WITH": _COMPARISON,
    "CONTAINS": _COMPARISON,
}  # fmt: skip


def name_text(name: str) -> str:
    """Return a column's name, in backticks unless it is a plain word."""
    return name if _PLAIN_NAME.fullmatch(name) else f"`{name.replace('`', '``')}`"


def labels_text(labels: LabelExpr, tightness: int = 0) -> str:
    """Return a label expression without its leading colon."""
    match labels:
        case LabelIs(name=name):
            return name_text(name)
        case LabelAny():
            return "%"
        case LabelNot(arg=arg):
            return "!" + labels_text(arg, 2)
        case LabelAnd(args=args):
            text = "&".join(labels_text(arg, 2) for arg in args)
            return f"({text})" if tightness > 1 else text
        case LabelOr(args=args):
            text = "|".join(labels_text(arg, 1) for arg in args)
            return f"({text})" if tightness > 0 else text
    raise TypeError(f"no label expression: {labels!r}")


def literal_text(value: Any) -> str:
    """Return a constant as Cypher writes it."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"
    return repr(value)


class ExprText:
    """Writes expressions. Subqueries are only named: ``subqueries`` collects them, the first is number 1."""

    def __init__(self) -> None:
        self.subqueries: list[Subquery | OfNode] = []

    def __call__(self, expr: Expr) -> str:
        """Return an expression as text."""
        return self._write(expr)[0]

    def joined(self, exprs: Sequence[Expr], separator: str = ", ") -> str:
        """Return several expressions as text."""
        tightness = _NOT if separator == " AND " else 0
        return separator.join(self._at(expr, tightness if len(exprs) > 1 else 0) for expr in exprs)

    def postfix(self, expr: Expr) -> str:
        """Return an expression as text behind which a dot or colon may stand."""
        return self._at(expr, _POSTFIX)

    def _at(self, expr: Expr, tightness: int) -> str:
        text, own = self._write(expr)
        return f"({text})" if own < tightness else text

    def _write(self, expr: Expr) -> tuple[str, int]:
        return _RULES[type(expr)](self, expr)

    def _literal(self, expr: Literal) -> tuple[str, int]:
        text = literal_text(expr.value)
        return text, _UNARY if text.startswith("-") else _ATOM

    def _parameter(self, expr: Parameter) -> tuple[str, int]:
        return f"${name_text(expr.name)}", _ATOM

    def _variable(self, expr: Variable) -> tuple[str, int]:
        return name_text(expr.name), _ATOM

    def _property(self, expr: Property) -> tuple[str, int]:
        return f"{self._at(expr.subject, _POSTFIX)}.{name_text(expr.key)}", _POSTFIX

    def _call(self, expr: Call) -> tuple[str, int]:
        args = expr.args
        infix = _INFIX.get(expr.name)
        if infix is not None:
            return f"{self._at(args[0], infix)} {expr.name} {self._at(args[1], infix + 1)}", infix
        match expr.name:
            case "NOT":
                return f"NOT {self._at(args[0], _NOT)}", _NOT
            case "IS NULL" | "IS NOT NULL":
                return f"{self._at(args[0], _ADDITIVE)} {expr.name}", _COMPARISON
            case "IS ::" | "IS NORMALIZED" if isinstance(args[1], Literal):
                what = args[1].value
                tested = f"IS :: {what}" if expr.name == "IS ::" else f"IS {what} NORMALIZED"
                return f"{self._at(args[0], _ADDITIVE)} {tested}", _COMPARISON
            case "$all" | "$any":
                return f"{self._at(args[0], _POSTFIX)}:{expr.name}({self(args[1])})", _POSTFIX
            case "neg" | "pos":
                return ("-" if expr.name == "neg" else "+") + self._at(args[0], _POSTFIX), _UNARY
            case "[]":
                return f"{self._at(args[0], _POSTFIX)}[{self(args[1])}]", _POSTFIX
            case "[..]":
                bounds = (self._bound(args[1], 0), self._bound(args[2], _LAST))
                return f"{self._at(args[0], _POSTFIX)}[{'..'.join(bounds)}]", _POSTFIX
            case "{}":
                return f"{{$({self(args[0])}): {self(args[1])}}}", _ATOM
            case "[::]":
                places = (self._bound(args[1], 0), self._bound(args[2], _LAST), self(args[3]))
                return f"{self._at(args[0], _POSTFIX)}[{':'.join(places)}]", _POSTFIX
            case "path[..]":
                return f"{self._at(args[0], _POSTFIX)}[{self(args[1])}..{self._bound(args[2], _LAST)}]", _POSTFIX
            case "CAST" if isinstance(args[1], Literal):
                return f"CAST({self(args[0])} AS {args[1].value})", _ATOM
        function = lookup(expr.name)
        return f"{function.name if function else expr.name}({self.joined(args)})", _ATOM

    def _bound(self, bound: Expr, absent: int) -> str:
        return "" if isinstance(bound, Literal) and bound.value == absent else self(bound)

    def _logical(self, expr: Logical) -> tuple[str, int]:
        own = _LOGICAL[expr.op]
        return f" {expr.op} ".join(self._at(arg, own + 1) for arg in expr.args), own

    def _comparison(self, expr: Comparison) -> tuple[str, int]:
        first, *others = (self._at(arg, _ADDITIVE) for arg in expr.args)
        return first + "".join(f" {op} {arg}" for op, arg in zip(expr.ops, others, strict=True)), _COMPARISON

    def _has_labels(self, expr: HasLabels) -> tuple[str, int]:
        return f"{self._at(expr.subject, _POSTFIX)}:{labels_text(expr.labels)}", _COMPARISON

    def _case(self, expr: Case) -> tuple[str, int]:
        whens = " ".join(f"WHEN {self(when)} THEN {self(then)}" for when, then in expr.whens)
        return f"CASE {whens} ELSE {self(expr.otherwise)} END", _ATOM

    def _list(self, expr: ListOf) -> tuple[str, int]:
        return f"[{self.joined(expr.items)}]", _ATOM

    def _map(self, expr: MapOf) -> tuple[str, int]:
        return "{" + ", ".join(f"{name_text(key)}: {self(value)}" for key, value in expr.entries) + "}", _ATOM

    def _map_projection(self, expr: MapProjection) -> tuple[str, int]:
        items = [".*"] if expr.everything else []
        items += [f"{name_text(key)}: {self(value)}" for key, value in expr.entries]
        return f"{self._at(expr.subject, _POSTFIX)} {{{', '.join(items)}}}", _POSTFIX

    def _list_comprehension(self, expr: ListComprehension) -> tuple[str, int]:
        where = f" WHERE {self(expr.condition)}" if expr.condition is not None else ""
        result = f" | {self(expr.result)}" if expr.result is not None else ""
        return f"[{name_text(expr.variable)} IN {self(expr.source)}{where}{result}]", _ATOM

    def _quantifier(self, expr: Quantifier) -> tuple[str, int]:
        inside = f"{name_text(expr.variable)} IN {self(expr.source)} WHERE {self(expr.condition)}"
        return f"{expr.quantifier}({inside})", _ATOM

    def _reduce(self, expr: Reduce) -> tuple[str, int]:
        start = f"{name_text(expr.accumulator)} = {self(expr.initial)}"
        steps = f"{start}, {name_text(expr.variable)} IN {self(expr.source)} | {self(expr.step)}"
        if expr.condition is not None:
            return f"allReduce({steps}, {self(expr.condition)})", _ATOM
        return f"reduce({steps})", _ATOM

    def _key(self, expr: KeyOf) -> tuple[str, int]:
        return f"key of ({', '.join(map(self, expr.args))})", 0

    def _path(self, expr: PathOf) -> tuple[str, int]:
        return f"path({', '.join(map(name_text, expr.elements))})", _ATOM

    def _aggregate(self, expr: AggregateCall) -> tuple[str, int]:
        function = lookup(expr.name)
        inside = self.joined(expr.args) if expr.args else "*"
        return f"{function.name if function else expr.name}({'DISTINCT ' if expr.distinct else ''}{inside})", _ATOM

    def _user_call(self, expr: UserCall) -> tuple[str, int]:
        return f"{expr.function.name}({self.joined(expr.args)})", _ATOM

    def _subquery(self, expr: Subquery | OfNode) -> tuple[str, int]:
        self.subqueries.append(expr)
        return f"{expr.kind.upper()} {{#{len(self.subqueries)}}}", _ATOM


_RULES: dict[type[Expr], Callable[[ExprText, Any], tuple[str, int]]] = {
    Literal: ExprText._literal,
    Parameter: ExprText._parameter,
    Variable: ExprText._variable,
    Property: ExprText._property,
    Call: ExprText._call,
    Logical: ExprText._logical,
    Comparison: ExprText._comparison,
    HasLabels: ExprText._has_labels,
    Case: ExprText._case,
    ListOf: ExprText._list,
    ConstantList: ExprText._list,
    MapOf: ExprText._map,
    MapProjection: ExprText._map_projection,
    ListComprehension: ExprText._list_comprehension,
    Quantifier: ExprText._quantifier,
    Reduce: ExprText._reduce,
    PathOf: ExprText._path,
    KeyOf: ExprText._key,
    AggregateCall: ExprText._aggregate,
    Subquery: ExprText._subquery,
    OfNode: ExprText._subquery,
    UserCall: ExprText._user_call,
}
