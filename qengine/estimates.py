"""Estimates from text: a statement is parsed, bound and planned as a count, then sampled by ``qengine.estimate``."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, fields
from functools import partial
from typing import TYPE_CHECKING, Any

from qengine import estimate as sampling
from qengine._frozen import frozen, replace
from qengine._limits import limited_by
from qengine._lru import LruCache
from qengine._notices import log
from qengine.errors import Notice, QengineError, QueryInterrupted, QuerySyntaxError, QueryTimeout, SemanticError, Span
from qengine.estimate import Estimate, EstimateTable, Request
from qengine.estimate.prior import Expectation
from qengine.estimate.target import known_to_be_empty
from qengine.exec.context import ExecutionContext
from qengine.optimizer.endings import Ending
from qengine.optimizer.given_rows import matched_part
from qengine.optimizer.intervals import expected_count
from qengine.options import EstimateOptions, TableOptions
from qengine.plan.logical import LogicalPlan, Match
from qengine.plan.physical import PhysicalPlan
from qengine.plan.traverse import operators, parameters
from qengine.planned import PLANS
from qengine.planning import check_text, planning
from qengine.statements import Statements, named_parameters

if TYPE_CHECKING:
    from qengine.catalog.procedures import Procedures
    from qengine.storage.store import GraphStore

_LEAST_PLANNING = 1.0  # seconds that planning may take under any budget: the first one imports the planner
_LEAST_SHARE = 0.1  # milliseconds of each of several texts, which statistics take
_RETURN = "\nRETURN count(*)"  # on a line of its own: a comment may end the pattern


@frozen
class Counted:
    """A statement that is ready to be counted. ``text`` ends with ``RETURN``, put there if need be.

    ``physical``: the plan of its count, ``ending`` aside; of rows whose different ones are counted, with ``groups``,
    the plan of these. ``expected``: what the planner expects, by the confidence of the interval, once it was asked for.
    """

    text: str
    logical: LogicalPlan
    physical: PhysicalPlan
    parameters: Mapping[str, Span | None]
    notices: tuple[Notice, ...]
    ending: Ending = field(default_factory=Ending)
    groups: PhysicalPlan | None = None
    expected: dict[float, Expectation] = field(default_factory=dict)

    def expectation(self, store: GraphStore, confidence: float) -> Expectation:
        """Return what the planner expects of the count."""
        if confidence not in self.expected:
            self.expected[confidence] = Expectation(
                *expected_count((self.groups or self.physical).root, store, confidence)
            )
        return self.expected[confidence]


class Estimates:
    """Estimates statements of one graph; their plans are kept by text. Any number of threads may ask at a time."""

    def __init__(self, statements: Statements) -> None:
        """``statements``: of the graph, which accept what is estimated with its limits."""
        self._statements = statements
        self._plans: LruCache[Counted] = LruCache(PLANS)

    def estimate(self, text: str, params: Mapping[str, Any] | None, options: EstimateOptions) -> Estimate:
        """Estimate the rows of a statement; see ``Graph.estimate``."""
        begin = time.perf_counter()
        request = _request(options)
        request.check()
        context = self._accept(options)
        with self._started(text, params, context, options.budget_ms) as counted:
            store = self._statements.store
            prior = partial(counted.expectation, store)
            if counted.groups is not None:
                plans = counted.physical, counted.groups
                found = sampling.estimate_groups(*plans, store, context, request, begin, prior)
            else:
                found = sampling.estimate(counted.physical, store, context, request, begin, prior)
            found = _cut(found, counted.ending) if counted.ending.cuts else found
            return replace(found, notices=counted.notices) if counted.notices else found

    def estimate_many(
        self, texts: Sequence[str], params: Mapping[str, Any] | None, options: EstimateOptions
    ) -> tuple[Estimate, ...]:
        """Estimate several statements under one budget; see ``Graph.estimate_many``."""
        budget, begin = options.budget_ms, time.perf_counter()
        _request(options).check()
        if isinstance(texts, str) or not isinstance(texts, Iterable):
            raise SemanticError(
                f"Statements are a list of texts, not a value of Python's {type(texts).__name__}.",
                hint='Give them like ["MATCH (a)-->(b)", "MATCH (a)-->(b)-->(c)"].',
            )
        for text in (texts := list(texts)):
            check_text(text)
        context = self._accept(options)
        expected: dict[str, float] = {}
        for text in texts:
            if text not in expected:
                with self._started(text, params, context, budget) as counted:
                    expected[text] = counted.expectation(self._statements.store, options.confidence).value
        found: dict[str, Estimate] = {}
        for text in sorted(expected, key=lambda text: expected[text]):  # what few leave of their time is for many
            left = None if budget is None else budget - 1e3 * (time.perf_counter() - begin)
            share = None if left is None else max(left / (len(expected) - len(found)), _LEAST_SHARE)
            found[text] = self.estimate(text, params, replace(options, budget_ms=share))
        return tuple(found[text] for text in texts)

    def estimate_all(self, text: str, params: Mapping[str, Any] | None, options: TableOptions) -> EstimateTable:
        """Estimate all connected parts of a statement's pattern; see ``Graph.estimate_all``."""
        begin = time.perf_counter()
        samples, confidence, seed, budget_ms = options.samples, options.confidence, options.seed, options.budget_ms
        Request(confidence=confidence, samples=samples, seed=seed, budget_ms=budget_ms).check()
        context = self._accept(options)
        with self._started(text, params, context, budget_ms) as counted:
            pattern = matched_part(counted.logical)
            if known_to_be_empty(counted.physical.root):
                nothing = Estimate(0.0, 0.0, 0.0, 0, 0, "exact", True, 0.0, 0.0)
                return EstimateTable({_nodes(counted.logical): nothing}, counted.notices, pattern)
            found = sampling.estimate_all(
                counted.physical,
                self._statements.store,
                context,
                samples=samples,
                confidence=confidence,
                seed=seed,
                budget_ms=budget_ms,
                begin=begin,
            )
            return EstimateTable(found, counted.notices, pattern)

    def _accept(self, options: EstimateOptions | TableOptions) -> ExecutionContext:
        gpu_memory_limit = options.gpu_memory_limit if isinstance(options, EstimateOptions) else None
        return self._statements.accept(
            timeout=options.timeout,
            memory_limit=options.memory_limit,
            gpu_memory_limit=gpu_memory_limit,
            threads=options.threads,
        )

    @contextmanager
    def _started(
        self, text: str, params: Mapping[str, Any] | None, context: ExecutionContext, budget_ms: float | None
    ) -> Iterator[Counted]:
        """Plan a statement that was accepted; errors get their place in the text."""
        check_text(text)
        store, procedures = self._statements.store, self._statements.procedures
        counted = self._plans.get(text, lambda: plan_counted(store, text, _check(context, budget_ms), procedures))
        context.parameters = named_parameters(counted.text, counted.parameters, params)
        try:
            context.check_interrupted()
            with limited_by(context):
                yield counted
        except QengineError as error:
            error.at(counted.text)
            raise
        except KeyboardInterrupt:
            context.interrupt()
            raise QueryInterrupted("The estimate was interrupted.", code="Interrupted") from None


def _request(options: EstimateOptions) -> Request:
    return Request(**{each.name: getattr(options, each.name) for each in fields(Request)})


def _cut(found: Estimate, ending: Ending) -> Estimate:
    """Return the estimate of what SKIP and LIMIT leave."""
    names = ("value", "low", "high", "upper_bound")
    return replace(found, **{name: ending.rows(getattr(found, name)) for name in names})


def _nodes(plan: LogicalPlan) -> frozenset[str]:
    """Return the names of all nodes that a plan matches."""
    matches = (each for each in operators(plan.root) if isinstance(each, Match))
    return frozenset(node.name for each in matches for node in each.graph.nodes)


def plan_counted(
    store: GraphStore, text: str, check: Callable[[], None] = lambda: None, procedures: Procedures | None = None
) -> Counted:
    """Plan a statement as a count; ``check`` raises once that has taken too long."""
    from qengine.binder import bind
    from qengine.optimizer.counting import plan_count, plan_groups
    from qengine.optimizer.endings import ending_of
    from qengine.optimizer.peeking import counting_rare
    from qengine.syntax.checks import updates

    text = text.strip().removesuffix(";")
    with planning(text, check, "estimate"):
        text, statement = _statement(text)
        if updates(statement.body):
            message = "An estimate is of a query that reads; this one changes the graph."
            raise SemanticError(message, span=statement.body.span, hint="Leave out what follows the pattern.")
        bound = bind(statement, text, store, procedures=procedures)
        if bound.plan.explain is not None:
            raise SemanticError("An estimate is of a query, not of its plan.", hint="Leave out EXPLAIN and PROFILE.")
        ending, below = ending_of(bound.plan.root)
        with counting_rare():
            if ending.keys is None:
                physical, groups = plan_count(bound.plan, store), None
            else:
                physical, groups = plan_groups(ending, below, store)
    log(bound.notices)
    return Counted(text, bound.plan, physical, parameters(bound.plan.root), bound.notices, ending, groups)


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

    texts = [text, text + _RETURN]
    if text[:5].upper() == "MATCH" and "RETURN" not in text.upper():
        texts.reverse()  # a pattern alone: read once
    try:
        statements, text = parse(texts[0]), texts[0]
    except QuerySyntaxError as error:
        try:
            statements, text = parse(texts[1]), texts[1]
        except QuerySyntaxError as other:
            raise (other if texts[1] == text else error) from None
    if len(statements) != 1:
        raise SemanticError("An estimate is of one statement.", hint="Estimate them one by one.")
    return text, statements[0]
