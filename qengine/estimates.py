"""Estimates from text: a statement is parsed, bound and planned as a count, then sampled by ``qengine.estimate``."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from qengine import estimate as sampling
from qengine._limits import limited_by
from qengine._notices import log
from qengine.errors import Notice, QengineError, QueryInterrupted, QuerySyntaxError, QueryTimeout, SemanticError, Span
from qengine.estimate import Estimate, EstimateTable, Request
from qengine.estimate.target import known_to_be_empty
from qengine.exec.context import ExecutionContext
from qengine.optimizer.given_rows import matched_part
from qengine.plan.logical import LogicalPlan, Match
from qengine.plan.physical import PhysicalPlan
from qengine.plan.traverse import operators, parameters

if TYPE_CHECKING:
    from qengine.graph import Graph

__all__ = ["Counted", "estimate", "estimate_all"]

_LEAST_PLANNING = 1.0  # seconds that planning may take under any budget: the first one imports the planner
_RETURN = "\nRETURN count(*)"  # on a line of its own: a comment may end the pattern


@dataclass(frozen=True, slots=True)
class Counted:
    """A statement that is ready to be counted. ``text`` ends with ``RETURN``, put there if need be."""

    text: str
    logical: LogicalPlan
    physical: PhysicalPlan
    parameters: Mapping[str, Span | None]
    notices: tuple[Notice, ...]


def estimate(
    graph: Graph,
    text: str,
    request: Request,
    params: Mapping[str, Any] | None,
    timeout: float | None,
    memory_limit: int | str | None,
    threads: int,
    gpu_memory_limit: int | str | None = None,
) -> Estimate:
    """Estimate the rows of a statement; see ``Graph.estimate``."""
    request.check()
    limits = (timeout, memory_limit, threads, gpu_memory_limit)
    with _started(graph, text, params, limits, request.budget_ms) as (counted, context):
        found = sampling.estimate(counted.physical, graph._store, context, request)
        return replace(found, notices=counted.notices) if counted.notices else found


def estimate_all(
    graph: Graph,
    text: str,
    params: Mapping[str, Any] | None,
    samples: int,
    confidence: float,
    seed: int | None,
    budget_ms: float | None,
    timeout: float | None,
    memory_limit: int | str | None,
    threads: int,
) -> EstimateTable:
    """Estimate all connected parts of a statement's pattern; see ``Graph.estimate_all``."""
    request = Request(confidence=confidence, samples=samples, seed=seed, budget_ms=budget_ms)
    request.check()
    with _started(graph, text, params, (timeout, memory_limit, threads, None), budget_ms) as (counted, context):
        if known_to_be_empty(counted.physical.root):
            nodes = (
                node.name
                for each in operators(counted.logical.root)
                if isinstance(each, Match)
                for node in each.graph.nodes
            )
            nothing = Estimate(0.0, 0.0, 0.0, 0, 0, "exact", True, 0.0, 0.0)
            return EstimateTable({frozenset(nodes): nothing}, counted.notices, matched_part(counted.logical))
        found = sampling.estimate_all(
            counted.physical,
            graph._store,
            context,
            samples=samples,
            confidence=confidence,
            seed=seed,
            budget_ms=budget_ms,
        )
        return EstimateTable(found, counted.notices, matched_part(counted.logical))


@contextmanager
def _started(
    graph: Graph,
    text: str,
    params: Mapping[str, Any] | None,
    limits: tuple[Any, ...],
    budget_ms: float | None,
) -> Iterator[tuple[Counted, ExecutionContext]]:
    """Accept a statement with its limits and plan it; errors get their place in the text."""
    from qengine.statements import check_parameters

    context = graph._statements.accept(*limits)
    counted = graph._estimated.get(text, lambda: _plan(graph, text, _check(context, budget_ms)))
    check_parameters(counted.text, counted.parameters, params)
    context.parameters = dict(params or {})
    try:
        context.check_interrupted()
        with limited_by(context):
            yield counted, context
    except QengineError as error:
        raise error.at(counted.text) from None
    except KeyboardInterrupt:
        context.interrupt()
        raise QueryInterrupted("The estimate was interrupted.", code="Interrupted") from None


def _plan(graph: Graph, text: str, check: Callable[[], None] = lambda: None) -> Counted:
    from qengine.binder import bind
    from qengine.optimizer.counting import plan_count
    from qengine.statements import planning

    text = text.strip().removesuffix(";")
    with planning(text, check, "estimate"):
        text, statement = _statement(text)
        bound = bind(statement, text, graph._store)
        if bound.plan.explain is not None:
            raise SemanticError("An estimate is of a query, not of its plan.", hint="Leave out EXPLAIN and PROFILE.")
        physical = plan_count(bound.plan, graph._store)
    log(bound.notices)
    return Counted(text, bound.plan, physical, parameters(bound.plan.root), bound.notices)


def _check(context: ExecutionContext, budget_ms: float | None) -> Callable[[], None]:
    """Return what raises once an estimate has been planned for too long."""
    if budget_ms is None:
        return context.check_planning
    end = time.monotonic() + max(budget_ms / 1e3, _LEAST_PLANNING)

    def check() -> None:
        context.check_planning()
        if time.monotonic() >= end:
            raise QueryTimeout(
                f"Planning the estimate took longer than its budget of {budget_ms:g} ms.",
                hint="Give a larger budget, or estimate a part of the pattern.",
                code="Timeout",
            )

    return check


def _statement(text: str) -> tuple[str, Any]:
    """Parse the one statement of a text; a pattern without ``RETURN`` gets one."""
    from qengine.syntax import parse

    try:
        statements = parse(text)
    except QuerySyntaxError as error:
        try:
            statements = parse(text + _RETURN)
        except QuerySyntaxError:
            raise error from None
        text += _RETURN
    if len(statements) != 1:
        raise SemanticError("An estimate is of one statement.", hint="Estimate them one by one.")
    return text, statements[0]
