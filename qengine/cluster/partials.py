"""Aggregates in two steps: over the rows of a part, and over what the parts gave.

Counts add, sums are summed, the least of the least is the least; an average is a sum and a count. Different values
become keys of the first step, so that they meet in the second; all else is then by finer groups, which add up just as
well.
"""

from __future__ import annotations

from qengine._frozen import replace
from qengine.plan.expr import AggregateCall, Call, Case, Comparison, Expr, Literal, Variable
from qengine.plan.logical import Aggregate, Operator, Project
from qengine.types import FLOAT, INTEGER

_EXTREMES = ("min", "max")
_SUMMED = ("count", "sum")


def in_two_steps(aggregate: Aggregate) -> tuple[Operator, tuple[Operator, ...]] | None:
    """Return the aggregate of a part, and the operators over the rows of all parts, from the first upward.

    None for aggregates that need all their rows, as ``collect``. Where an input is missing it is replaced by whoever
    stacks the operators.
    """
    keys = list(aggregate.keys)
    first: list[tuple[str, AggregateCall]] = []
    second: list[tuple[str, AggregateCall]] = []
    items: list[tuple[str, Expr]] = [(name, Variable(name, type=expr.type)) for name, expr in aggregate.keys]
    for place, (name, call) in enumerate(aggregate.aggregates):
        one, other = f"@part{place}", f"@rows{place}"
        shown: Expr = Variable(name, type=call.type)
        if call.name in _EXTREMES or (call.name in _SUMMED and not call.distinct):
            first.append((one, replace(call, distinct=False)))
            second.append((name, _over(one, call, "sum" if call.name == "count" else call.name)))
        elif call.name in (*_SUMMED, "avg") and call.distinct and len(call.args) == 1:
            keys.append((one, call.args[0]))
            second.append((name, replace(call, args=(Variable(one, type=call.args[0].type),))))
        elif call.name == "avg":
            first += [(one, replace(call, name="sum")), (other, AggregateCall("count", call.args, type=INTEGER))]
            second += [(one, _over(one, call, "sum")), (other, _over(other, call, "sum"))]
            shown = _quotient(one, other)
        else:
            return None
        items.append((name, shown))
    found = Aggregate(aggregate.input, tuple(keys), tuple(first), aggregate.weight)
    again = tuple((name, Variable(name, type=expr.type)) for name, expr in aggregate.keys)
    return found, (Aggregate(found, again, tuple(second)), Project(found, tuple(items)))


def _over(column: str, call: AggregateCall, name: str) -> AggregateCall:
    return AggregateCall(name, (Variable(column, type=call.type),), type=call.type)


def _quotient(whole: str, count: str) -> Expr:
    """Return the average of a sum and a count; null of no values."""
    number = Variable(count, type=INTEGER)
    mean = Call("/", (Call("tofloat", (Variable(whole),), type=FLOAT), number), type=FLOAT)
    return Case(((Comparison(("=",), (number, Literal(0, type=INTEGER))), Literal(None)),), mean)
