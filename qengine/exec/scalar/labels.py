"""Label expressions as tests on a set of names: a node's labels, or a relationship's only type."""

from __future__ import annotations

from collections.abc import Callable

from qengine.errors import InternalError
from qengine.plan.pattern import LabelAnd, LabelAny, LabelExpr, LabelIs, LabelNot, LabelOr

__all__ = ["LabelTest", "label_test"]

LabelTest = Callable[[frozenset[str]], bool]


def label_test(expr: LabelExpr | None) -> LabelTest:
    """Return the test whether a set of names satisfies ``expr``; None is satisfied by all."""
    match expr:
        case None:
            return lambda names: True
        case LabelIs(name):
            return lambda names: name in names
        case LabelAny():
            return bool
        case LabelNot(arg):
            inner = label_test(arg)
            return lambda names: not inner(names)
        case LabelAnd(args):
            tests = [label_test(arg) for arg in args]
            return lambda names: all(test(names) for test in tests)
        case LabelOr(args):
            tests = [label_test(arg) for arg in args]
            return lambda names: any(test(names) for test in tests)
    raise InternalError(f"Unknown label expression {type(expr).__name__}.")
