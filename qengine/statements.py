"""What a graph's statements are planned to, and how their plans run."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack

from qengine._cached import cached_property
from qengine._gc import gc_paused
from qengine._limits import limited_by, running
from qengine._nearest import nearest
from qengine._notices import log
from qengine.errors import Notice, QengineError, QueryInterrupted, SemanticError, Span
from qengine.exec.context import ExecutionContext
from qengine.exec.devices import DEVICES, asked_device
from qengine.exec.executions import Executions
from qengine.kept_plans import KeptPlans
from qengine.options import LimitKeywords
from qengine.plan.comparisons import apart
from qengine.plan.traverse import parameters
from qengine.planned import Planned, reads_of
from qengine.planning import one_statement, planning, too_deep
from qengine.result import ResultBatch, ResultStats
from qengine.types import Kind, Type, indefinite

if TYPE_CHECKING:
    from qengine.catalog.procedures import Procedures
    from qengine.estimate import EstimateTable
    from qengine.explain import Explanation
    from qengine.learned import Learned
    from qengine.shared_plans import Scanned, SharedPlans
    from qengine.storage.store import GraphStore
    from qengine.syntax import ast

Cardinalities: TypeAlias = 'Mapping[str, float] | EstimateTable | Literal["sampled"]'
"""Rows by patterns, an ``EstimateTable``, or how to find them."""

_LEARNING_SHARE = 0.01
"""Of the time of a run that took long, how much finding out what it teaches may take."""

_DEVICES = (*DEVICES, "reference")

_FITTING = {Kind.STRING: (str,), Kind.BOOLEAN: (bool,), Kind.INTEGER: (int, float), Kind.FLOAT: (int, float)}
"""Types of Python that need no closer look, by the kind of what they are compared with."""


class Statements:
    """Plans the statements that read one version of a graph, keeps their plans, and runs them.

    Any number of threads may ask at a time.

    A statement is accepted before anything else is done for it: from then on ``interrupt`` stops it.
    """

    def __init__(
        self,
        store: GraphStore,
        executions: Executions,
        procedures: Procedures,
        learned: Learned | None = None,
        before: Statements | None = None,
    ) -> None:
        """Begin with the plans of ``before`` where they hold for this version, too.

        ``executions`` and ``procedures`` are of the graph, whatever its version. ``learned``: what profiles add to;
        None where nothing is learned, as in a transaction.
        """
        self.store = store
        self.learned = learned
        self._executions = executions
        self.procedures = procedures
        goes_on = before is not None and before.store.nature is store.nature
        self._kept: KeptPlans = before._kept if before is not None and goes_on else KeptPlans()
        self._kept.let_go()

    @cached_property
    def _shared(self) -> SharedPlans:
        from qengine.shared_plans import SharedFamilies, SharedPlans  # not before the first query

        if self._kept.shared is None:
            self._kept.shared = SharedFamilies()
        return SharedPlans(self.store, self._kept.shared)

    def accept(self, **limits: Unpack[LimitKeywords]) -> ExecutionContext:
        """Return the limits of a statement, which hold from now on.

        Raises
        ------
        SemanticError
            For limits that there can't be.
        """
        return self._executions.accept(ExecutionContext(None, **limits))

    def plan(
        self,
        text: str,
        reference: bool,
        context: ExecutionContext,
        cardinalities: Cardinalities | None = None,
        *,
        explaining: bool = False,
        gpu: bool = False,
        quiet: bool = False,
    ) -> tuple[Planned, float]:
        """Return what a statement was planned to, or plan it: for the reference, for a GPU; with what EXPLAIN warns of.

        ``context``: of the statement that asks for the plan. ``quiet``: for a version that may turn out not to be read,
        whose warnings aren't told.

        Returns
        -------
        tuple
            The plan, and the seconds that planning took: 0 where the plan was kept.
        """
        given = by_content(cardinalities)
        key = (text, reference, given, explaining, gpu)
        if (kept := self._kept.plans.find(key)) is not None:
            return kept, 0.0
        sharing = not (reference or explaining or given) and isinstance(text, str)
        scanned = self._shared.scanned(text) if sharing else None
        if scanned is not None and (shared := self._shared.find(scanned, gpu)) is not None:
            return shared, 0.0
        begin = time.perf_counter()
        with _planning(text, context, gpu):
            planned = self._planned_anew(text, scanned, reference, cardinalities, context, explaining, gpu)
        seconds = time.perf_counter() - begin
        if planned.notices and not (reference or gpu or quiet):  # which are planned beside another
            log(planned.notices)
        return self._kept.plans.get(key, lambda: planned), seconds

    def for_values(
        self, planned: Planned, params: Mapping[str, Any] | None, context: ExecutionContext, *, gpu: bool = False
    ) -> tuple[Planned, float]:
        """Return a statement as it is planned for what its parameters' values leave of ranges, and lists' lengths."""
        if planned.by_values is None or not isinstance(params, Mapping):
            return planned, 0.0
        from qengine.exec.scalar.parameters import ordered_values

        begin = time.perf_counter()

        def make() -> Planned:
            with _planning(planned.text, context, gpu):
                return self._planned(one_statement(planned.text), planned.text, False, {}, context)

        found = planned.by_values.of(params, ordered_values(params, planned.by_values.names), planned, make)
        return found, time.perf_counter() - begin

    def kept_plan(self, text: str) -> Planned | None:
        """Return what a statement was planned to, None where no plan is kept."""
        found = self._kept.plans.find((text, False, by_content(None), False, False))
        if found is None and isinstance(text, str) and self._kept.shared is not None:
            found = self._shared.find(self._shared.scanned(text), False)
        return found

    def on_gpu(
        self,
        planned: Planned,
        context: ExecutionContext,
        cardinalities: Cardinalities | None = None,
        *,
        explaining: bool = False,
    ) -> tuple[Planned, float]:
        """Return a statement as it is planned for a GPU, where that may be another plan; else as ``plan``."""
        from qengine.optimizer.target import differs_on_gpu

        if planned.physical is None or not differs_on_gpu(planned.physical):
            return planned, 0.0
        return self.plan(planned.text, False, context, cardinalities, explaining=explaining, gpu=True)

    def _planned_anew(
        self,
        text: str,
        scanned: Scanned | None,
        reference: bool,
        cardinalities: Cardinalities | None,
        context: ExecutionContext,
        explaining: bool,
        gpu: bool,
    ) -> Planned:
        """Plan a text; its tree is gone before cycles are looked for again. ``scanned``: where plans may be shared."""

        def again(statement: ast.Statement, text: str, lifted: Mapping[Span, str]) -> Planned:
            return self._planned(statement, text, False, {}, context, False, lifted)

        if scanned is not None and (shared := self._shared.shared(scanned, gpu, again)) is not None:
            return shared
        statement = one_statement(text, None if scanned is None else scanned.tokens)
        planned = self._planned(statement, text, reference, cardinalities or {}, context, explaining)
        if scanned is not None:
            self._shared.learn(statement, planned, scanned, gpu, again)
        return planned

    def _planned(
        self,
        statement: ast.Statement,
        text: str,
        reference: bool,
        cardinalities: Cardinalities,
        context: ExecutionContext,
        explaining: bool = False,
        lifted: Mapping[Span, str] | None = None,
    ) -> Planned:
        from qengine import optimizer
        from qengine.binder import bind
        from qengine.exec.choice import largest_search
        from qengine.optimizer.open_ranges import ByValues, noting
        from qengine.syntax.checks import updates

        if updates(statement.body):  # is carried out by views; here it is only shown
            from qengine.update_plans import shown_update

            return shown_update(statement, text, self.store, self.procedures)
        bound = bind(statement, text, self.store, explaining=explaining, lifted=lifted, procedures=self.procedures)
        logical, notices = bound.plan, bound.notices
        if cardinalities:
            from qengine.cardinalities import apply_cardinality_hints

            logical, notices = apply_cardinality_hints(logical, cardinalities, self.store, notices, context)
        untaught = self.learned is not None and not self.learned.round  # what was learned is of one version alone
        with noting() as noted:
            catalog = self.store.estimated_by if untaught else self.store
            physical = None if reference else optimizer.plan(logical, catalog)
        if physical is not None and statement.hints:
            notices = (*notices, *optimizer.unused_hints(bound.hints, physical))
        # {name} is a parameter, too, as remarks tell; and arguments of CALL p are parameters of their names.
        may_have = bool(lifted or statement.remarks) or "$" in text or "CALL" in text.upper()
        names = parameters(logical.root) if may_have else {}
        largest = None if physical is None else largest_search(physical)
        planned = Planned(
            text, logical, physical, notices, names, largest, compared=bound.compared, reads=reads_of(bound.plan),
            by_values=ByValues(noted) if noted and not cardinalities else None,
        )  # fmt: skip
        self._kept.note(planned)
        return planned

    def explain(self, text: str, *, device: str = "auto", cardinalities: Cardinalities | None = None) -> Explanation:
        """Return the plan of a statement, with EXPLAIN's warnings; see ``Graph.explain``."""
        from qengine.explain import Explanation

        planned, _ = self.plan(text, False, self.accept(), cardinalities, explaining=True)
        assert planned.physical is not None
        chosen, reason = chosen_device(device, planned)
        if chosen == "gpu":
            planned, _ = self.on_gpu(planned, self.accept(), cardinalities, explaining=True)
        assert planned.physical is not None
        return Explanation(planned.physical, self.store, chosen, reason, planned.notices)

    def look_closer(self, planned: Planned, explanation: Explanation, context: ExecutionContext) -> None:
        """After a profiled run, tell what its searches' levels found, and learn from it.

        Raises
        ------
        QueryInterrupted
            When the statement is interrupted.
        """
        from qengine.explain.levels import compared_levels, learned_parts

        explanation.levels, seen = compared_levels(planned.logical, explanation.root, self.store, context)
        if self.learned is not None and self.learned.enabled:
            self.learned.add(self.store, learned_parts(seen, self.store, context))

    def _learn_from(self, planned: Planned, context: ExecutionContext, seconds: float) -> None:
        """Where a run has taken so long, sample its patterns for a small share of that, and learn from it."""
        learned = self.learned
        if learned is None or not learned.enabled or planned.physical is None:
            return
        begin = time.perf_counter()
        from qengine.binder import bind
        from qengine.long_runs import sampled_parts

        bound = bind(one_statement(planned.text), planned.text, self.store, procedures=self.procedures)
        left = 1e3 * (_LEARNING_SHARE * seconds - (time.perf_counter() - begin))
        own = context.beside()  # the run may go on meanwhile, and ends by its own time alone
        learned.add(self.store, sampled_parts(bound.plan, self.store, own, left))

    def start(self, planned: Planned, context: ExecutionContext, stats: ResultStats) -> Iterator[ResultBatch]:
        """Run a plan lazily; account time and rows; turn Ctrl-C into ``QueryInterrupted``."""
        batches: Iterator[ResultBatch] | None = None
        after = math.inf if self.learned is None or context.profile is not None else self.learned.after
        begin = time.perf_counter()
        context.text = planned.text
        try:
            batches = self._execute(planned, context, stats.device)
            while True:
                context.check_interrupted()  # it may have happened since the last batch
                running.limits = context
                try:
                    batch = next(batches, None)
                finally:
                    running.limits = None
                stats.seconds += time.perf_counter() - begin
                stats.bytes = max(stats.bytes, context.memory_peak)
                if batch is None:
                    return
                stats.rows += batch.length
                if stats.seconds >= after:  # perhaps no other batch is asked for
                    after = math.inf
                    self._learn_from(planned, context, stats.seconds)
                yield batch
                begin = time.perf_counter()
        except QengineError as error:
            stats.seconds += time.perf_counter() - begin
            raise planned.at(error) from None
        except KeyboardInterrupt:
            context.interrupt()
            raise QueryInterrupted("The query was interrupted.", code="Interrupted") from None
        except RecursionError:
            raise too_deep() from None
        finally:
            context.text = ""
            if batches is not None and hasattr(batches, "close"):
                batches.close()

    def _execute(self, planned: Planned, context: ExecutionContext, device: str) -> Iterator[ResultBatch]:
        if planned.physical is None:
            from qengine.exec import reference
            from qengine.exec.arrow_out import RowBatch

            rows = reference.run(planned.logical, self.store, context)
            return (RowBatch(planned.logical.columns, [row]) for row in rows)
        if device == "gpu":
            from qengine.exec import gpu

            return gpu.run(planned.physical, self.store, context)
        from qengine.exec.common.pipeline import run

        return run(planned.physical, self.store, context)


@contextmanager
def _planning(text: str, context: ExecutionContext, gpu: bool) -> Iterator[None]:
    """Plan a text meanwhile, within the limits of its statement."""
    from qengine.optimizer.target import for_gpu

    with planning(text, context.check_planning), limited_by(context), gc_paused(), for_gpu(wanted=gpu):
        yield


def _are_cardinalities(given: object) -> bool:
    return isinstance(given, Mapping) and (_is_table(given) or all(isinstance(part, str) for part in given))


def _is_table(given: object) -> bool:
    """Tell whether cardinalities are an ``EstimateTable``: its module is imported where there is one."""
    module = sys.modules.get("qengine.estimate")
    return module is not None and isinstance(given, module.EstimateTable)


def by_content(cardinalities: Any) -> object:
    """Return what two cardinalities are the same by.

    Raises
    ------
    SemanticError
        For what are none.
    """
    if cardinalities is None or isinstance(cardinalities, str):
        return cardinalities or ()
    if not _are_cardinalities(cardinalities):
        raise SemanticError(
            f"Cardinalities are a dict from patterns to numbers of rows, not {cardinalities!r}.",
            hint='Give them like {"(a:Person)-[:KNOWS]->(b)": 12.0}, what estimate_all returns, or "sampled".',
            code="InvalidCardinality",
        )
    if _is_table(cardinalities):
        nodes = tuple((tuple(sorted(each)), cardinalities.rows(each)) for each in cardinalities)
        return (cardinalities.pattern, nodes)
    return tuple(sorted((part, repr(rows)) for part, rows in cardinalities.items()))


def chosen_device(device: str, planned: Planned) -> tuple[str, str]:
    """Return where a plan runs, and why."""
    from qengine.exec.choice import choose

    asked_device(device, _DEVICES)
    return (device, "as asked") if device == "reference" else choose(device, planned.largest)


def named_parameters(text: str, needed: Mapping[str, Span | None], params: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the values of the parameters that a statement names; others, which may be large, aren't looked at.

    Raises
    ------
    SemanticError
        For the first that is missing, with its place; for parameters that have no names.
    """
    if params is not None and type(params) is not dict and not isinstance(params, Mapping):
        raise SemanticError(
            f"Parameters are a dict from names to values, not a {type(params).__name__}.",
            hint="Pass them like params={'name': 'Peru'}.",
            code="InvalidArgumentType",
        )
    values = {}
    for name, span in needed.items():
        if params is not None and name in params:
            values[name] = params[name]
            continue
        raise SemanticError(
            f"Parameter ${name} has no value.",
            span=span,
            text=text,
            hint=_way_to_pass(name, params or {}),
            code="ParameterMissing",
        )
    return values


def notices_of_values(planned: Planned, named: Mapping[str, Any]) -> tuple[Notice, ...]:
    """Return a statement's warnings, and those of parameters of types that what they are compared with never has."""
    found = []
    for each in planned.compared:
        value = named[each.name]
        if value is None or type(value) in _FITTING.get(each.type.kind, ()):
            continue
        kind = _kind_of(value)
        if kind is not None and (message := apart(each.type, each.op, Type(kind))):
            hint = f"Give ${each.name} as {indefinite(each.type)}."
            span = each.span if each.span is None or planned.places is None else planned.places.of(each.span)
            found.append(Notice("ComparisonOfTypes", message, span, hint))
            if message not in planned.told:
                planned.told.add(message)
                log(found[-1:])
    return (*planned.notices, *found)


def _kind_of(value: Any) -> Kind | None:
    """Return the kind of a parameter's value, None for what is of none."""
    from qengine.exec.scalar.parameters import from_python
    from qengine.exec.scalar.values import kind_of

    if isinstance(value, list | tuple):
        return Kind.LIST
    try:
        return Kind(kind_of(from_python(value, "", [])))
    except (QengineError, ValueError):  # running it tells
        return None


def _way_to_pass(name: str, params: Mapping[str, Any]) -> str:
    """Return what to do about a parameter without a value."""
    passed = f"params={{{name!r}: …}}"
    if f"${name}" in params:
        return f"Its name stands without the $: {passed}."
    meant = nearest(name, [each for each in params if isinstance(each, str)])
    return f"Pass it: {passed}." if meant is None else f"Did you mean ${meant}? Or pass it: {passed}."
