"""Equations that join a part of a pattern to the rows that are there already, where nothing else does."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from qengine.plan.expr import Comparison, Expr, KeyOf, Subquery, Variable
from qengine.plan.logical import Operator, Project
from qengine.plan.physical import HashJoin
from qengine.plan.traverse import free_variables, is_repeatable, preorder
from qengine.types import INTEGER

Equation = tuple[Expr, Expr]
"""What the rows give, and what the part gives."""

_KEY = "@key"


def equations(conditions: Sequence[Expr], rows: Collection[str], part: Collection[str]) -> list[Equation]:
    """Return the conditions that compare a value of the rows' columns with one of a part's variables."""
    found = []
    for condition in conditions:
        match condition:
            case Comparison(ops=("=",), args=(left, right)) if all(map(is_simple, (left, right))):
                for one, other in ((left, right), (right, left)):
                    reads, gives = free_variables(one), free_variables(other)
                    if reads and gives and reads <= set(rows) and gives <= set(part):
                        found.append((one, other))
    return found


def is_simple(expr: Expr) -> bool:
    """Tell whether an expression may be evaluated apart, for each row of a side."""
    return is_repeatable(expr) and not any(isinstance(part, Subquery) for part in preorder(expr))


def joined_by_value(
    rows: Operator, columns: Sequence[str], part: Operator, gives: Sequence[str], by: Sequence[Equation]
) -> Operator:
    """Return what joins rows with a part's, which is held, where equations hold, and perhaps some others."""
    left, right = zip(*by, strict=True)
    probing, build = _keyed(rows, columns, left), _keyed(part, gives, right)
    join = HashJoin(probing, build, (_KEY,), tuple(gives), by_value=True)
    return Project(join, tuple((name, Variable(name)) for name in (*columns, *gives)))


def _keyed(side: Operator, names: Sequence[str], values: tuple[Expr, ...]) -> Operator:
    return Project(side, (*((name, Variable(name)) for name in names), (_KEY, KeyOf(values, type=INTEGER))))
