"""Where estimates failed: what was expected of each level of a search, and what a profiled run found there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from qengine import optimizer
from qengine._frozen import frozen
from qengine.errors import QengineError, QueryInterrupted
from qengine.estimate.level_rows import level_rows
from qengine.exec.context import ExecutionContext
from qengine.exec.view import ExecView
from qengine.optimizer.learned_rows import LearnedPart
from qengine.optimizer.noted_orders import NotedOrder, noted_orders
from qengine.plan.levels import links
from qengine.plan.logical import LogicalPlan, Operator
from qengine.plan.physical import Bounded, Completed, Eliminate, Search
from qengine.plan.traverse import operators, parameters
from qengine.sampled import SampledRows

_OFF = 2.0
"""The factor between expected and found rows from which on there is something to learn."""

_MOST_VERTICES = 8  # of patterns all of whose connected parts are sampled
_SAMPLES = 20_000


@frozen(held=True)
class Level:
    """Embeddings of what a search has bound by a level. ``exact``: they were counted; else they were sampled."""

    name: str
    rows: float
    expected: float
    exact: bool

    @property
    def q_error(self) -> float:
        """The factor between expected and found rows, both at least one."""
        one, other = max(self.rows, 1.0), max(self.expected, 1.0)
        return max(one, other) / min(one, other)


Compared = Mapping[int, Mapping[str, Level]]
"""By ``id`` of a search, and name of a level."""

Seen = tuple[NotedOrder, Mapping[frozenset[str], tuple[float, bool]]]
"""A pattern that was ordered, and the rows that parts of it have, by their nodes; and whether these were counted."""


def compared_levels(
    logical: LogicalPlan, root: Operator, store: ExecView, context: ExecutionContext
) -> tuple[Compared, list[Seen]]:
    """Count what the levels of a plan's searches over no input find, and compare it with what is expected.

    ``root``: of the plan that ``logical`` has. Levels that take too long, by a fixed amount of work, are sampled.

    Raises
    ------
    QueryInterrupted
        When the statement is interrupted.
    """
    try:
        with noted_orders() as notes:
            optimizer.plan(logical, store)
    except QueryInterrupted:
        raise
    except QengineError:  # the time is over
        return {}, []
    noted = {frozenset(each.nodes): each for each in notes}
    found: dict[int, Mapping[str, Level]] = {}
    seen: list[Seen] = []
    for search in _searches(root):
        order = noted.get(frozenset(links(search)))
        if order is None:
            continue
        rows = level_rows(search, store, context)
        levels = (Level(each.last, each.rows, order.rows(each.names), each.exact) for each in rows)
        found[id(search)] = {level.name: level for level in levels}
        seen.append((order, {each.names: (each.rows, each.exact) for each in rows}))
    return found, seen


def learned_parts(seen: list[Seen], store: ExecView, context: ExecutionContext) -> Iterator[LearnedPart]:
    """Yield the parts of patterns of which one has other rows than expected: those that were counted, others sampled.

    A planner that knows one order's rows alone flees to others', which it knows nothing of; so all connected parts of a
    pattern of up to eight nodes are sampled. Patterns with parameters teach nothing.
    """
    for order, counted in seen:
        if all(Level("", rows, order.rows(names), exact).q_error < _OFF for names, (rows, exact) in counted.items()):
            continue
        if parameters(order.part(order.nodes)):
            continue
        known: dict[frozenset[str], tuple[float, bool]] = {}
        if len(order.nodes) <= _MOST_VERTICES:
            source = SampledRows(store, context, _SAMPLES)
            sampled = source.known(order.nodes, order.relationships, order.conditions)
            known = {names: (rows, False) for names, rows in sampled.items()}
        for names, (rows, exact) in (known | dict(counted)).items():
            yield LearnedPart(order.part(names), rows, order.rows(names), exact)


def _searches(root: Operator) -> Iterator[Search]:
    """Yield the searches of a plan, not those of a way that is taken where a better one can't be."""
    every = list(operators(root))
    without = {id(below) for each in every if isinstance(each, Bounded | Completed) for below in operators(each.input)}
    for each in every:
        if id(each) in without:
            continue
        if isinstance(each, Search):
            yield each
        elif isinstance(each, Eliminate):
            yield each.search
