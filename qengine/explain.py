"""EXPLAIN and PROFILE: a plan as text, JSON and HTML, with what each operator did when it was run."""

from __future__ import annotations

import html
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from qengine.exec.arrow_out import RowBatch
from qengine.exec.context import OperatorStats
from qengine.plan.json import to_json
from qengine.plan.logical import Operator
from qengine.plan.physical import PhysicalPlan
from qengine.plan.text import to_text
from qengine.result import Result, ResultStats


@dataclass(frozen=True, slots=True)
class Explanation:
    """A plan to look at. ``profile``: what each operator did, by ``id`` of the operator; None before a run."""

    plan: PhysicalPlan
    profile: Mapping[int, OperatorStats] | None = None

    def __str__(self) -> str:
        return to_text(self.plan, self._note if self.profile is not None else None)

    def _note(self, operator: object) -> str:
        stats = (self.profile or {}).get(id(operator))
        if stats is None:
            return ""
        return f"rows={stats.rows:,} time={stats.seconds * 1e3:.2f} ms"

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON-ready dicts with stable keys."""
        return to_json(self.plan)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


class PlanResult(Result):
    """The result of EXPLAIN and PROFILE: one row whose first column is the plan as text."""


def explained(plan: PhysicalPlan, stats: ResultStats) -> Result:
    """Return the result of an EXPLAIN: one row with the plan's text and its JSON."""
    explanation = Explanation(plan)
    row = (str(explanation), json.dumps(explanation.to_json()))
    return PlanResult(("plan", "json"), iter([RowBatch(("plan", "json"), [row])]), stats, explanation)


def explained_steps(steps: Iterator[tuple[str, Operator]], plan: PhysicalPlan, stats: ResultStats) -> Result:
    """Return the result of an EXPLAIN STEPS: one row for each step, with the plan's text after it."""
    rows = [(name, to_text(root)) for name, root in steps]
    return PlanResult(("step", "plan"), iter([RowBatch(("step", "plan"), rows)]), stats, Explanation(plan))


def profiled(result: Result, plan: PhysicalPlan, profile: Mapping[int, OperatorStats]) -> Result:
    """Run a result to its end and return the result of a PROFILE: the plan's text with rows and times."""
    columns = ("plan", "rows", "seconds")

    def run() -> Iterator[RowBatch]:
        begin = time.perf_counter()
        rows = sum(1 for _ in result)
        seconds = time.perf_counter() - begin
        ran = plan if plan.careful is None or id(plan.root) in profile else replace(plan, root=plan.careful)
        yield RowBatch(columns, [(str(Explanation(ran, profile)), rows, seconds)])

    return PlanResult(columns, run(), result.stats, Explanation(plan, profile), result.notices)
