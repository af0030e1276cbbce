"""Estimates from text: a statement is parsed, bound and planned as a count, then sampled by ``qengine.estimate``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from qengine import estimate as sampling
from qengine._limits import limited_by
from qengine._notices import log
from qengine.errors import Notice, QengineError, QueryInterrupted, QuerySyntaxError, SemanticError, Span
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
    memory_limit: int | None,
    threads: int,
    gpu_memory_limit: int | None = None,
) -> Estimate:
    """Estimate the rows of a statement; see ``Graph.estimate``."""
    request.check()
    with _started(graph, text, params, timeout, memory_limit, threads, gpu_memory_limit) as (counted, context):
        found = sampling.estimate(counted.physical, graph._store, context, request)
        return replace(found, notices=counted.notices) if counted.notices else found


def estimate_all(
    graph: Graph,
    text: str,
    params: Mapping[str, Any] | None,
    samples: int,
    confidence: float,
    seed: int | None,
    timeout: float | None,
    memory_limit: int | None,
    threads: int,
) -> EstimateTable:
    """Estimate all connected parts of a statement's pattern; see ``Graph.estimate_all``."""
    Request(confidence=confidence, samples=samples, seed=seed).check()
    with _started(graph, text, params, timeout, memory_limit, threads) as (counted, context):
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
            counted.physical, graph._store, context, samples=samples, confidence=confidence, seed=seed
        )
        return EstimateTable(found, counted.notices, matched_part(counted.logical))


@contextmanager
def _started(
    graph: Graph,
    text: str,
    params: Mapping[str, Any] | None,
    timeout: float | None,
    memory_limit: int | None,
    threads: int,
    gpu_memory_limit: int | None = None,
) -> Iterator[tuple[Counted, ExecutionContext]]:
    """Plan a statement and let it be interrupted; errors get their place in the text."""
    from qengine.statements import check_parameters

    counted = graph._estimated.get(text, lambda: _plan(graph, text))
    check_parameters(counted.text, counted.parameters, params)
    context = ExecutionContext(dict(params or {}), timeout, memory_limit, threads, gpu_memory_limit)
    with graph._statements.executions.running(context), limited_by(context):
        try:
            yield counted, context
        except QengineError as error:
            raise error.at(counted.text) from None
        except KeyboardInterrupt:
            raise QueryInterrupted("The estimate was interrupted.", code="Interrupted") from None


def _plan(graph: Graph, text: str) -> Counted:
    from qengine.binder import bind
    from qengine.optimizer.counting import plan_count
    from qengine.statements import planning

    text = text.strip().removesuffix(";")
    with planning(text, "estimate"):
        text, statement = _statement(text)
        bound = bind(statement, text, graph._store)
        if bound.plan.explain is not None:
            raise SemanticError("An estimate is of a query, not of its plan.", hint="Leave out EXPLAIN and PROFILE.")
        physical = plan_count(bound.plan, graph._store)
    log(bound.notices)
    return Counted(text, bound.plan, physical, parameters(bound.plan.root), bound.notices)


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
