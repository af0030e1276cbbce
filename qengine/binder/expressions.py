"""Binds expressions: resolves names, checks types, turns every written form into the few of ``plan.expr``."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import Any, ClassVar

from qengine._deadline import check_planning
from qengine._frozen import record, replace
from qengine.binder.binding import Binding
from qengine.binder.calls import bind_function, bind_operator
from qengine.binder.inference import item_type, join, list_type, literal_type, may_be, type_named
from qengine.binder.labels import bind_dynamic, bind_labels, is_dynamic, label_kinds
from qengine.binder.likely_mistakes import warn_of_null, warn_of_types
from qengine.binder.scope import Scope, Symbol
from qengine.errors import SemanticError, Span
from qengine.plan.expr import (
    Call,
    Case,
    Comparison,
    Expr,
    HasLabels,
    ListComprehension,
    Literal,
    Logical,
    MapOf,
    MapProjection,
    Parameter,
    Property,
    Quantifier,
    Reduce,
    Variable,
    list_of_items,
)
from qengine.syntax import ast
from qengine.types import ANY, BOOLEAN, FLOAT, INTEGER, NODE, NULL, RELATIONSHIP, STRING, Kind, Type, indefinite

_LAST = 2**63 - 1
_NUMBERS = {"INF": inf, "INFINITY": inf, "NAN": nan}
"""Floats that are written as words; a variable of such a name comes first."""
_NO_PROPERTY = (Kind.MAP, Kind.NODE, Kind.RELATIONSHIP, Kind.PATH)
_WITH_FIELDS = (Kind.DATE, Kind.TIME, Kind.LOCAL_TIME, Kind.DATETIME, Kind.LOCAL_DATETIME, Kind.DURATION, Kind.POINT)


@record
class ExpressionBinder:
    """Binds the expressions of one place of a query.

    ``forbidden`` says where aggregates are not allowed ("WHERE", "a list comprehension"); None: they are.
    """

    binding: Binding
    scope: Scope
    forbidden: str | None

    _rules: ClassVar[dict[type[ast.Expression], Callable[[ExpressionBinder, Any], Expr]]]

    def value(self, node: ast.Expression) -> Expr:
        """Bind an expression that gives a value."""
        check_planning()
        expr = self._rules[type(node)](self, node)
        lifted = self.binding.lifted
        if lifted and (name := lifted.get(node.span)) is not None:
            return Parameter(name, checked=True, type=expr.type, span=node.span)
        return expr if expr.span is not None else replace(expr, span=node.span)

    def condition(self, node: ast.Expression) -> Expr:
        """Bind an expression whose value is true, false or null."""
        expr = self.value(node)
        if not may_be(expr.type, Kind.BOOLEAN):
            hint = "Compare it, as in x > 0, or test whether it is there: x IS NOT NULL."
            if expr.type == NODE:
                hint = "Test a property or a label: n.active, n:Label, n IS NOT NULL."
            raise self.binding.error(
                "InvalidArgumentType", f"A condition must be a BOOLEAN, not {indefinite(expr.type)}.", node.span, hint
            )
        return expr

    def within(self, symbols: dict[str, Symbol], forbidden: str) -> ExpressionBinder:
        """Return the binder for what stands inside a comprehension that binds ``symbols``."""
        return ExpressionBinder(self.binding, self.scope.inside(symbols), forbidden)

    # ------------------------------------------------------------ leaves

    def _literal(self, node: ast.Literal) -> Expr:
        return Literal(node.value, type=literal_type(node.value), span=node.span)

    def _parameter(self, node: ast.Parameter) -> Expr:
        parameters = self.binding.parameters
        if parameters is not None and node.name not in parameters:
            raise self.binding.error(
                "ParameterMissing",
                f"Parameter ${node.name} has no value.",
                node.span,
                f"Pass it with the query: params={{{node.name!r}: …}}.",
            )
        return Parameter(node.name, span=node.span)

    def _variable(self, node: ast.Variable) -> Expr:
        symbol = self.scope.find(node.name)
        if symbol is None and (number := _NUMBERS.get(node.name.upper())) is not None:
            return Literal(number, type=FLOAT, span=node.span)
        if symbol is None:
            raise self.binding.undefined(node.name, node.span, self.scope)
        if symbol.value is not None:
            return replace(symbol.value, span=node.span)
        return Variable(symbol.name, type=symbol.type, span=node.span)

    def _list(self, node: ast.ListLiteral) -> Expr:
        items = tuple(map(self.value, node.items))
        return list_of_items(items, type=list_type(join(item.type for item in items)))

    def _map(self, node: ast.MapLiteral) -> Expr:
        return MapOf(tuple((key, self.value(value)) for key, value in node.entries))

    # ------------------------------------------------------------ access

    def _property(self, node: ast.PropertyAccess) -> Expr:
        return self._access(self.value(node.subject), node.key, node.key_span, node, node.span)

    def _access(self, subject: Expr, key: str, key_span: Span, node: ast.Expression, span: Span | None = None) -> Expr:
        if not may_be(subject.type, Kind.NODE, Kind.RELATIONSHIP, Kind.MAP, *_WITH_FIELDS):
            hint = None
            if subject.type.kind is Kind.LIST and subject.type.item in (NODE, RELATIONSHIP):
                hint = f"It is a list: [x IN … | x.{key}]."
            elif subject.type.kind is Kind.PATH:
                hint = "Of a path p write nodes(p), relationships(p) or length(p)."
            raise self.binding.error(
                "InvalidArgumentType",
                f"Property `{key}` can't be read from {indefinite(subject.type)}.",
                key_span or node.span,
                hint,
            )
        type = self.binding.property_type(subject.type, key, key_span or node.span)
        return Property(subject, key, type=type, span=span)

    def _index(self, node: ast.Index) -> Expr:
        subject, index = self.value(node.subject), self.value(node.index)
        key = index.value if isinstance(index, Literal) else None
        if isinstance(key, str) and subject.type.kind in (Kind.NODE, Kind.RELATIONSHIP, Kind.MAP):
            return self._access(subject, key, node.index.span, node)
        return bind_operator(self.binding, "[]", (subject, index), node.span)

    def _slice(self, node: ast.Slice) -> Expr:
        start = self.value(node.start) if node.start else Literal(0, type=INTEGER)
        end = self.value(node.end) if node.end else Literal(_LAST, type=INTEGER)
        return bind_operator(self.binding, "[..]", (self.value(node.subject), start, end), node.span)

    def _label_test(self, node: ast.LabelTest) -> Expr:
        subject = self.value(node.subject)
        if not may_be(subject.type, Kind.NODE, Kind.RELATIONSHIP):
            raise self.binding.error(
                "InvalidArgumentType",
                f"Only nodes and relationships have labels, not {indefinite(subject.type)}.",
                node.span,
            )
        if is_dynamic(node.labels):
            return bind_dynamic(self, subject, node.labels)
        return HasLabels(subject, bind_labels(self.binding, node.labels, label_kinds(subject.type)), span=node.span)

    # ------------------------------------------------------------ operators

    def _unary(self, node: ast.Unary) -> Expr:
        if node.op == "NOT":
            return Call("NOT", (self.condition(node.operand),), type=BOOLEAN, span=node.span)
        operand = self.value(node.operand)
        if node.op in ("+", "-"):
            if isinstance(operand, Literal) and type(operand.value) in (int, float) and operand.value != -_LAST - 1:
                return replace(operand, value=-operand.value if node.op == "-" else operand.value, span=node.span)
            return bind_operator(self.binding, "neg" if node.op == "-" else "pos", (operand,), node.span)
        if node.op.endswith("NORMALIZED"):
            form = Literal(node.op.split()[1], type=STRING)
            return bind_operator(self.binding, "IS NORMALIZED", (operand, form), node.span)
        return Call(node.op, (operand,), type=BOOLEAN, span=node.span)

    def _type_test(self, node: ast.TypeTest) -> Expr:
        types = Literal(node.types, type=STRING)
        return bind_operator(self.binding, "IS ::", (self.value(node.operand), types), node.span)

    def _cast(self, node: ast.Cast) -> Expr:
        target = Literal(node.type, type=STRING)
        cast = bind_operator(self.binding, "CAST", (self.value(node.operand), target), node.span)
        return replace(cast, type=type_named(node.type))

    def _binary(self, node: ast.Binary) -> Expr:
        if node.op in ("AND", "OR", "XOR"):
            return self._logical(node)
        spine = [node]
        while isinstance(spine[-1].left, ast.Binary) and spine[-1].left.op not in ("AND", "OR", "XOR"):
            spine.append(spine[-1].left)
        expr = self.value(spine[-1].left)
        for each in reversed(spine):
            expr = bind_operator(self.binding, each.op, (expr, self.value(each.right)), each.span)
        return expr

    def _logical(self, node: ast.Binary) -> Expr:
        operands: list[ast.Expression] = []
        left: ast.Expression = node
        while isinstance(left, ast.Binary) and left.op == node.op:
            operands.append(left.right)
            left = left.left
        operands.append(left)
        args = tuple(map(self.condition, reversed(operands)))
        return Logical(node.op, args, span=node.span)  # type: ignore[arg-type]

    def _comparison(self, node: ast.Comparison) -> Expr:
        warn_of_null(self.binding, node.operands, node.span, "Write IS NULL or IS NOT NULL.")
        operands = tuple(map(self.value, node.operands))
        warn_of_types(self.binding, node.ops, operands, node.span)
        return Comparison(node.ops, operands, span=node.span)

    def _call(self, node: ast.FunctionCall) -> Expr:
        return bind_function(self, node)

    # ------------------------------------------------------------ what has its own rule

    def _case(self, node: ast.CaseExpression) -> Expr:
        whens: list[tuple[Expr, Expr]] = []
        for when, then in node.whens:
            if node.subject is None:
                condition = self.condition(when)
            else:  # bound for each WHEN: names inside it stay unique
                warn_of_null(self.binding, (when,), when.span, "Write CASE WHEN … IS NULL THEN ….")
                condition = Comparison(("=",), (self.value(node.subject), self.value(when)), span=when.span)
            whens.append((condition, self.value(then)))
        otherwise = self.value(node.otherwise) if node.otherwise else Literal(None, type=NULL)
        return Case(tuple(whens), otherwise, type=join([*(then.type for _, then in whens), otherwise.type]))

    def items(self, node: ast.Expression, clause: str | None = None) -> tuple[Expr, Type]:
        """Bind what an expression or a clause goes through, and return it with the type of its items.

        A value of a property that is no list, by itself or under another name, counts as a list of itself.

        Raises
        ------
        SemanticError
            Where it can be neither.
        """
        source = self.value(node)
        if may_be(source.type, Kind.LIST):
            return source, item_type(source.type)
        if isinstance(node, (ast.PropertyAccess, ast.Variable, ast.Index)) and source.type.kind not in _NO_PROPERTY:
            return source, source.type
        message = f"{'This must be' if clause is None else f'{clause} takes'} a LIST, not {indefinite(source.type)}."
        hint = None if clause is None else "Write [ … ]."
        raise self.binding.error("InvalidArgumentType", message, node.span, hint)

    def _list_comprehension(self, node: ast.ListComprehension) -> Expr:
        source, item = self.items(node.source)
        variable = self.binding.names.fresh(node.variable)
        inner = self.within({node.variable: Symbol(variable, item)}, "a list comprehension")
        condition = inner.condition(node.where) if node.where else None
        result = inner.divided(node.where, node.result) if node.result else None
        return ListComprehension(variable, source, condition, result, type=list_type(result.type if result else item))

    def divided(self, where: ast.Expression | None, result: ast.Expression) -> Expr:
        """Bind what stands behind the ``|`` of a comprehension; tell who meant ``|`` between labels that it divides."""
        try:
            return self.value(result)
        except SemanticError as error:
            while isinstance(where, (ast.Binary, ast.Unary)):
                where = where.right if isinstance(where, ast.Binary) else where.operand
            if error.span == result.span and isinstance(result, ast.Variable) and isinstance(where, ast.LabelTest):
                labels = self.binding.text[where.labels.span.start : where.labels.span.end]
                error.hint = f"This | ends the condition; put labels that it should join in parentheses, ({labels}|…)."
            raise

    def _quantifier(self, node: ast.QuantifierExpression) -> Expr:
        source, item = self.items(node.source)
        variable = self.binding.names.fresh(node.variable)
        inner = self.within({node.variable: Symbol(variable, item)}, f"{node.quantifier}()")
        where = node.where or ast.Variable(node.variable, span=node.span)
        return Quantifier(node.quantifier, variable, source, inner.condition(where))  # type: ignore[arg-type]

    def _reduce(self, node: ast.ReduceExpression) -> Expr:
        initial = self.value(node.initial)
        source, item = self.items(node.source)
        accumulator = self.binding.names.fresh(node.accumulator)
        variable = self.binding.names.fresh(node.variable)
        symbols = {node.accumulator: Symbol(accumulator, ANY), node.variable: Symbol(variable, item)}
        name = "reduce()" if node.condition is None else "allReduce()"
        inside = self.within(symbols, name)
        step = inside.value(node.step)
        if node.condition is None:
            return Reduce(accumulator, initial, variable, source, step)
        return Reduce(accumulator, initial, variable, source, step, inside.condition(node.condition), type=BOOLEAN)

    def _map_projection(self, node: ast.MapProjection) -> Expr:
        subject = self.value(node.subject)
        if not may_be(subject.type, Kind.NODE, Kind.RELATIONSHIP, Kind.MAP):
            raise self.binding.error(
                "InvalidArgumentType", f"A map can't be projected from {indefinite(subject.type)}.", node.subject.span
            )
        entries: list[tuple[str, Expr]] = []
        everything = False
        for key, value in node.items:
            if value is not None:
                entries.append((key, self.value(value)))
            elif key == "*":
                everything = True
            else:
                entries.append((key, self._access(subject, key, node.span, node)))
        return MapProjection(subject, tuple(entries), everything)

    # ------------------------------------------------------------ subqueries

    def _pattern_predicate(self, node: ast.PatternPredicate) -> Expr:
        from qengine.binder.subqueries import bind_pattern_predicate

        return bind_pattern_predicate(self, node)

    def _pattern_comprehension(self, node: ast.PatternComprehension) -> Expr:
        from qengine.binder.subqueries import bind_pattern_comprehension

        return bind_pattern_comprehension(self, node)

    def _subquery(self, node: ast.SubqueryExpression) -> Expr:
        from qengine.binder.subqueries import bind_subquery

        return bind_subquery(self, node)


ExpressionBinder._rules = {
    ast.Literal: ExpressionBinder._literal,
    ast.Parameter: ExpressionBinder._parameter,
    ast.Variable: ExpressionBinder._variable,
    ast.ListLiteral: ExpressionBinder._list,
    ast.MapLiteral: ExpressionBinder._map,
    ast.PropertyAccess: ExpressionBinder._property,
    ast.Index: ExpressionBinder._index,
    ast.Slice: ExpressionBinder._slice,
    ast.LabelTest: ExpressionBinder._label_test,
    ast.TypeTest: ExpressionBinder._type_test,
    ast.Cast: ExpressionBinder._cast,
    ast.Unary: ExpressionBinder._unary,
    ast.Binary: ExpressionBinder._binary,
    ast.Comparison: ExpressionBinder._comparison,
    ast.FunctionCall: ExpressionBinder._call,
    ast.CaseExpression: ExpressionBinder._case,
    ast.ListComprehension: ExpressionBinder._list_comprehension,
    ast.QuantifierExpression: ExpressionBinder._quantifier,
    ast.ReduceExpression: ExpressionBinder._reduce,
    ast.MapProjection: ExpressionBinder._map_projection,
    ast.PatternPredicate: ExpressionBinder._pattern_predicate,
    ast.PatternComprehension: ExpressionBinder._pattern_comprehension,
    ast.SubqueryExpression: ExpressionBinder._subquery,
}
