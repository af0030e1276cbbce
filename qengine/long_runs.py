"""What runs that took long teach the planner: parts of their patterns are sampled, for a small share of their time."""

from __future__ import annotations

import time
from collections.abc import Iterator

from qengine import optimizer
from qengine.errors import QengineError, QueryInterrupted
from qengine.exec.context import ExecutionContext
from qengine.exec.view import ExecView
from qengine.optimizer.learned_rows import LearnedPart
from qengine.optimizer.noted_orders import NotedOrder, noted_orders
from qengine.plan.logical import LogicalPlan
from qengine.plan.traverse import parameters
from qengine.sampled import SampledRows

_SAMPLES = 20_000
_MOST_VERTICES = 8
_OFF = 2.0
"""The factor between expected and sampled rows from which on there is something to learn."""

_WORST_ERROR = 1.0
"""Half the interval as a share of the value: what is known worse isn't believed."""


def sampled_parts(
    logical: LogicalPlan, store: ExecView, context: ExecutionContext, budget_ms: float
) -> list[LearnedPart]:
    """Return the connected parts of a plan's patterns of which one has other rows than expected, planning included.

    Patterns of up to eight nodes are looked at, without parameters. What the time doesn't reach is left out.

    Raises
    ------
    QueryInterrupted
        When the statement is interrupted.
    """
    end = time.perf_counter() + budget_ms / 1e3
    found: list[LearnedPart] = []
    try:
        with context.within(budget_ms):
            with noted_orders() as notes:
                optimizer.plan(logical, store)
            for order in notes:
                found += _parts(order, store, context, end)
    except QueryInterrupted:
        raise
    except QengineError:  # the time is over, or a condition fails for what is sampled
        pass
    return found


def _parts(order: NotedOrder, store: ExecView, context: ExecutionContext, end: float) -> Iterator[LearnedPart]:
    left = 1e3 * (end - time.perf_counter())
    if left <= 0 or not 1 < len(order.nodes) <= _MOST_VERTICES or parameters(order.part(order.nodes)):
        return
    source = SampledRows(store, context, _SAMPLES, left)
    table = source.table(order.nodes, order.relationships, order.conditions)
    known = {names: each for names, each in table.items() if each.relative_error <= _WORST_ERROR}
    wrong = (
        not each.low <= order.rows(names) <= each.high and _factor(each.value, order.rows(names)) >= _OFF
        for names, each in known.items()
    )
    if any(wrong):
        for names, each in known.items():
            yield LearnedPart(order.part(names), each.value, order.rows(names), each.is_exact)


def _factor(one: float, other: float) -> float:
    one, other = max(one, 1.0), max(other, 1.0)
    return max(one, other) / min(one, other)
