"""Nests a flat sequence of operands and operators by precedence, without recursion.

From weakest to strongest: OR, XOR, AND, NOT, comparisons (chained), predicates (IN, STARTS WITH, =~, IS NULL, ...),
``+ - ||``, ``* / %``, ``^``. Binary operators are left-associative, ``^`` too. Signs and what follows an operand
(``.key``, ``[i]``, labels) bind tighter and are already part of the operands.
"""

from __future__ import annotations

from qengine._deadline import check_planning
from qengine.errors import Span
from qengine.syntax import ast
from qengine.syntax.scanner import Token

_NOT, _COMPARISON = 4, 5
_PRECEDENCE = {
    "OR": 1, "XOR": 2, "AND": 3, "NOT": _NOT,
    **dict.fromkeys(("EQ", "NE", "LT", "GT", "LE", "GE"), _COMPARISON),
    **dict.fromkeys(("IN", "STARTS", "ENDS", "CONTAINS", "MATCHES", "IS_NULL", "IS_NOT_NULL", "NORMALIZED"), 6),
    **dict.fromkeys(("TYPE_TEST", "NOT_TYPE_TEST"), 6),
    **dict.fromkeys(("PLUS", "MINUS", "CONCAT"), 7),
    **dict.fromkeys(("STAR", "SLASH", "PERCENT"), 8),
    "CARET": 9,
}  # fmt: skip
_NAMES = {
    "OR": "OR", "XOR": "XOR", "AND": "AND", "IN": "IN", "CONTAINS": "CONTAINS", "STARTS": "STARTS WITH",
    "ENDS": "ENDS WITH",
}  # fmt: skip
_POSTFIX = {"IS_NULL": "IS NULL", "IS_NOT_NULL": "IS NOT NULL"}
_TESTS = frozenset(("TYPE_TEST", "NOT_TYPE_TEST", "NORMALIZED"))

_POLLED = 1024  # operands between two looks whether to stop

_BALANCED = 32
"""Chains of AND, OR or XOR longer than this become balanced trees: they are associative, even with nulls."""


def climb(items: list[ast.Expression | Token]) -> ast.Expression:
    """Return the tree of a sequence ``[NOT]* operand (operator [NOT]* operand)*`` with postfix operators between."""
    values: list[ast.Expression] = []
    operators: list[Token] = []
    for place, item in enumerate(items):
        if not place % _POLLED:
            check_planning()
        if not isinstance(item, Token):
            values.append(item)
            continue
        strength = _PRECEDENCE[item.type]
        if strength != _NOT:  # NOT is a prefix: what stands before it waits
            while operators and _waits_no_longer(_PRECEDENCE[operators[-1].type], strength):
                _reduce(values, operators)
        if item.type in _POSTFIX:
            span = Span(values[-1].span.start, item.end_pos)
            values[-1] = ast.Unary(_POSTFIX[item.type], values[-1], span=span)
        elif item.type in _TESTS:
            values[-1] = _tested(values[-1], item)
        else:
            operators.append(item)
    while operators:
        if not len(operators) % _POLLED:
            check_planning()
        _reduce(values, operators)
    return values[0]


def _tested(value: ast.Expression, token: Token) -> ast.Expression:
    span = Span(value.span.start, token.end_pos)
    if token.type == "NORMALIZED":
        form = token.value.removeprefix("NOT ")
        tested: ast.Expression = ast.Unary(f"IS {form} NORMALIZED", value, span=span)
        negated = form != token.value
    else:
        tested = ast.TypeTest(value, token.value, span=span)
        negated = token.type == "NOT_TYPE_TEST"
    return ast.Unary("NOT", tested, span=span) if negated else tested


def _waits_no_longer(before: int, now: int) -> bool:
    # Equal operators of these kinds gather, so that one reduction takes the whole chain.
    gathers = now <= _COMPARISON
    return before > now or (before == now and not gathers)


def _reduce(values: list[ast.Expression], operators: list[Token]) -> None:
    operator = operators.pop()
    strength = _PRECEDENCE[operator.type]
    if strength == _NOT:
        operand = values.pop()
        values.append(ast.Unary("NOT", operand, span=Span(operator.start_pos, operand.span.end)))
        return
    if strength > _COMPARISON:
        right, left = values.pop(), values.pop()
        name = _NAMES.get(operator.type, operator.value)
        values.append(ast.Binary(name, left, right, span=left.span.to(right.span)))
        return
    chain = [operator]
    while operators and _PRECEDENCE[operators[-1].type] == strength:
        chain.append(operators.pop())
    chain.reverse()
    operands = values[-len(chain) - 1 :]
    del values[-len(chain) - 1 :]
    if strength == _COMPARISON:
        span = operands[0].span.to(operands[-1].span)
        values.append(ast.Comparison(tuple(link.value for link in chain), tuple(operands), span=span))
    else:
        values.append(_connect(_NAMES[operator.type], operands))


def _connect(name: str, operands: list[ast.Expression]) -> ast.Expression:
    if len(operands) <= _BALANCED:
        tree = operands[0]
        for operand in operands[1:]:
            tree = ast.Binary(name, tree, operand, span=tree.span.to(operand.span))
        return tree
    middle = len(operands) // 2
    left, right = _connect(name, operands[:middle]), _connect(name, operands[middle:])
    return ast.Binary(name, left, right, span=left.span.to(right.span))
