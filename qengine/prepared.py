"""A statement that was planned once, to run often."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, Unpack

from qengine._arguments import tells_arguments
from qengine.errors import Notice
from qengine.exec.context import ExecutionContext
from qengine.exec.devices import asked_device
from qengine.options import LimitKeywords, Limits, with_options
from qengine.plan.column_types import column_types
from qengine.plan.physical import Search
from qengine.result import Result, ResultStats
from qengine.statements import Cardinalities, Statements, by_content, chosen_device, named_parameters, notices_of_values

if TYPE_CHECKING:
    from qengine.exec.view import ExecView, MaskProvider
    from qengine.explain import Explanation
    from qengine.planned import Planned
    from qengine.views import View


_WALKED = ("auto", "cpu")  # devices on which a version may be read element by element


@tells_arguments
class Prepared:
    """A planned statement of one graph; ``run`` it with different parameters.

    It sees the graph's latest version each time, and is planned anew where that is another than before.
    """

    def __init__(
        self,
        view: View,
        text: str,
        cardinalities: Cardinalities | None = None,
        context: ExecutionContext | None = None,
    ) -> None:
        """``context``: the limits of planning; None where it has no timeout."""
        self._view = view
        self.text = text
        if cardinalities is not None:
            by_content(cardinalities)  # refuses what are none
        self._cardinalities: Cardinalities | None = copy(cardinalities)
        self._planning_seconds = 0.0
        context = context or view.accept()
        self._update = view.update_plan(text, context)
        self._live = None if self._update is not None or cardinalities else view.live_plan(text, context)
        self._known: tuple[Statements, Planned] | None = None
        if self._update is None and self._live is None:
            self._known = None if cardinalities else view.kept(text, context)
            if self._known is None:
                self._plan_for(view.current(), context)

    def _plan_for(self, statements: Statements, context: ExecutionContext) -> tuple[Statements, Planned]:
        """Return what the statement is planned to for a version of the graph, and keep it."""
        planned, seconds = statements.plan(self.text, False, context, self._cardinalities)
        self._planning_seconds += seconds
        self._known = statements, planned
        return self._known

    @property
    def _planned(self) -> Planned:
        """What the statement was planned to."""
        if self._known is None:
            if self._update is not None:
                return self._update
            assert self._live is not None
            return self._live.planned
        return self._known[1]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the result's columns."""
        logical = self._planned.logical
        if logical.explain is None:
            return logical.columns
        from qengine.explain import COLUMNS

        return COLUMNS[logical.explain]

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Warnings about the text, for example unknown labels."""
        return self._planned.notices

    @property
    def plan(self) -> Explanation:
        """The plan; ``str()`` of it is the operator tree."""
        return self._view.current().explain(self.text, cardinalities=self._cardinalities)

    @with_options(Limits)
    def run(
        self, params: Mapping[str, Any] | None = None, *, device: str = "auto", **limits: Unpack[LimitKeywords]
    ) -> Result:
        """Start the statement; parameters, limits, errors and result as in ``Graph.query``."""
        return self.start(params, device, self._view.accept(**limits))

    def start(self, params: Mapping[str, Any] | None, device: str, context: ExecutionContext) -> Result:
        """Start the statement under the limits with which it was accepted; else as ``run``."""
        if self._update is not None:
            return self._view.update(self._update, params, device, context)
        known_plan = None
        if device in _WALKED:
            if not (self._cardinalities or _may_hold_elements(params)):  # which an earlier version may lack
                known_plan = self._view.unaffected(self.text, params, context)
            if known_plan is not None:
                self._known = known_plan
            elif (found := self._read_live(params, context)) is not None:
                return found
        if known_plan is None:
            statements, known_plan = self._view.current(), self._known
            if known_plan is None or known_plan[0] is not statements:
                known_plan = self._plan_for(statements, context)
        from qengine.explain import Explanation

        statements, planned = known_plan
        planned, seconds = statements.for_values(planned, params, context)
        self._planning_seconds += seconds
        if (known := planned.devices.get(device)) is None:
            known = planned.devices[device] = chosen_device(device, planned)
        chosen, reason = known
        if chosen == "gpu":
            context.gpus = asked_device(device)[1]
            planned, seconds = statements.on_gpu(planned, context, self._cardinalities)
            planned, more = statements.for_values(planned, params, context, gpu=True)
            self._planning_seconds += seconds + more
        plan = planned.physical
        assert plan is not None
        if device == "reference":
            planned, _ = statements.plan(self.text, True, context)
        named = named_parameters(planned.text, planned.parameters, params)
        notices = notices_of_values(planned, named) if planned.compared else planned.notices
        context.parameters = {**named, **planned.values}
        stats = ResultStats(planning_seconds=self._planning_seconds, device=chosen, device_reason=reason)
        self._planning_seconds = 0.0  # later runs didn't plan
        stats.plan = planned.physical
        explanation = Explanation(plan, statements.store, chosen, reason, planned.notices, planned.values)
        if plan.explain == "explain":
            from qengine.explain import explained

            if chosen == "gpu" and context.gpu_memory_limit is not None:
                from qengine.exec.gpu.expected import expected_placement

                explanation.expected = expected_placement(plan, statements.store, context.gpu_memory_limit)
            return explained(explanation, stats, planned.notices)
        if plan.explain == "explain steps":
            from qengine.explain import explained_steps
            from qengine.optimizer import plan_steps

            return explained_steps(plan_steps(planned.logical, statements.store), explanation, stats)
        if plan.explain == "profile":
            context.profile = explanation.profile = {}
        context.rivals = _rivals
        batches = statements.start(planned, context, stats)
        result = Result(
            planned.logical.columns,
            batches,
            stats,
            explanation,
            notices,
            context,
            partial(column_types, planned.logical.root),
        )
        if context.profile is None:
            return result
        from qengine.explain import profiled

        return profiled(result, explanation, partial(statements.look_closer, planned, explanation, context))

    def _read_live(self, params: Mapping[str, Any] | None, context: ExecutionContext) -> Result | None:
        """Return the result where little is read of a version that no store is made of yet, else None."""
        if self._live is None and not self._cardinalities:
            self._live = self._view.live_plan(self.text, context)
        if self._live is None:
            return None
        planned = self._live.planned
        named = named_parameters(planned.text, planned.parameters, params)
        found = self._view.read_live(self._live, named, context)
        if found is None:
            context.parameters = {}
        return found

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "A prepared statement isn't pickled: give the other process its text, to prepare on a graph that it opens "
            "with qengine.open(path)."
        )

    def __repr__(self) -> str:
        return f"<Prepared columns={list(self.columns)} text={self.text!r}>"


def _may_hold_elements(params: Mapping[str, Any] | None) -> bool:
    from qengine.exec.scalar.parameters import may_hold_elements  # with NumPy, not before the first statement

    return bool(params) and may_hold_elements(params)


def _rivals(
    store: ExecView, search: Search, masks: MaskProvider, context: ExecutionContext, samples: int
) -> Sequence[Search]:
    """Look for better orders of a search that takes long (``exec.context.Rivals``); imported when one does."""
    from qengine.estimate.rival import other_orders

    return other_orders(store, search, masks, context, samples)
