"""EXPLAIN and PROFILE: a plan as text, JSON and a picture, with what was expected and what each operator did."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from qengine._cached import cached_property
from qengine._notices import line
from qengine._printable import printable_line
from qengine.catalog.view import CatalogView
from qengine.errors import Notice
from qengine.exec.arrow_out import RowBatch
from qengine.exec.context import OperatorStats
from qengine.explain.numbers import amount, level_entries, level_note, note
from qengine.plan.expr_text import name_text
from qengine.plan.json import to_json
from qengine.plan.logical import Operator
from qengine.plan.physical import Eliminate, PhysicalPlan, Search
from qengine.plan.text import inputs, outline, to_text
from qengine.plan.traverse import with_values
from qengine.result import Result, ResultStats

if TYPE_CHECKING:
    from qengine.explain.levels import Level
    from qengine.optimizer.intervals import Interval

COLUMNS = {
    "explain": ("plan", "json"),
    "explain steps": ("step", "plan"),
    "profile": ("plan", "rows", "seconds", "json"),
}
"""The columns of the result of a statement that asks for its plan."""


class Explanation:
    """A plan to look at: ``str()`` is a tree of operators, ``to_json()`` data, ``to_svg()`` a picture.

    ``device``: where its searches run, ``device_reason``: why. ``notices``: warnings.
    ``profile``: what each operator did, by ``id`` of the operator; None before a run. ``expected``: what else is known
    of operators before a run, by ``id``. ``levels``: what the levels of
    searches found, by ``id`` of the search and name of the level, where that is known.
    """

    def __init__(
        self,
        plan: PhysicalPlan,
        catalog: CatalogView,
        device: str = "cpu",
        device_reason: str = "as asked",
        notices: tuple[Notice, ...] = (),
        values: Mapping[str, Any] | None = None,
    ) -> None:
        """``values``: literals of the statement that the plan has parameters for, by their names."""
        self._planned = plan
        self._values = values
        self.device = device
        self.device_reason = device_reason
        self.notices = notices
        self.profile: Mapping[int, OperatorStats] | None = None
        self.expected: Mapping[int, list[str]] = {}
        self.levels: Mapping[int, Mapping[str, Level]] = {}
        self._catalog = catalog

    @cached_property
    def plan(self) -> PhysicalPlan:
        """The physical plan, with the statement's own literals."""
        return with_values(self._planned, self._values) if self._values else self._planned

    @property
    def undirected_types(self) -> frozenset[str]:
        """The relationship types without a direction, of the graph that the plan is for."""
        known = map(self._catalog.relationship_type, self._catalog.relationship_types)
        return frozenset(each.name for each in known if each is not None and each.undirected)

    @property
    def root(self) -> Operator:
        """The operator that gives the result: of the careful plan if that is what was run."""
        careful = self.plan.careful
        return careful if careful is not None and id(careful) in (self.profile or {}) else self.plan.root

    @cached_property
    def estimates(self) -> Mapping[int, float]:
        """The rows that each operator is expected to emit, by ``id`` of the operator."""
        from qengine.optimizer.rows import estimated_rows

        return estimated_rows(self.root, self._catalog)

    @cached_property
    def intervals(self) -> Mapping[int, Interval]:
        """Where the rows of each operator are expected, by ``id`` of the operator: nine of ten lie inside."""
        from qengine.optimizer.intervals import row_intervals

        return row_intervals(self.root, self.estimates)

    def entries(self, operator: Operator) -> dict[str, Any]:
        """Return what is known of an operator.

        ``estimated_rows``, with ``estimated_low`` and ``estimated_high``: nine of ten times the rows are between them
        (where both are the estimate, it is a count). ``device``: "cpu" or "gpu". Of a search that counts, for each row
        of its input, ``embeddings``, ``embeddings_low`` and ``embeddings_high``. After a run also ``actual_rows`` and
        their ``bytes``, ``q_error`` (the factor between actual and estimated rows, both at least one), ``seconds``
        (with what it reads) and ``own_seconds`` (without); ``spilled_bytes`` and ``spilled_files``, where it wrote rows
        to disk for want of memory; ``notes``, where it was run otherwise than planned, or, before a run, where the GPU
        has no room for its lists. Of a profiled search without input also ``level_rows``: of each node that it binds
        the ``name``, how many ``rows`` the part of the pattern up to there has, whether they are ``exact`` (else they
        were sampled), how many were ``expected``, and the ``q_error``.
        """
        estimate = self.estimates.get(id(operator))
        if estimate is None:  # an operator of a subquery that is shown, but not run by itself
            return {}
        from qengine.optimizer.intervals import embeddings_of

        interval = self.intervals[id(operator)]
        found: dict[str, Any] = {
            "estimated_rows": estimate,
            "estimated_low": interval.low,
            "estimated_high": interval.high,
            "device": self.device if isinstance(operator, Search | Eliminate) else "cpu",
        }
        if isinstance(operator, Search) and (counted := embeddings_of(operator)) is not None:
            found |= {"embeddings": operator.rows, "embeddings_low": counted.low, "embeddings_high": counted.high}
        profile = self.profile or {}
        if self.profile is None and id(operator) in self.expected:
            found["notes"] = self.expected[id(operator)]
        stats = profile.get(id(operator))
        if stats is not None:
            below = sum(profile[id(each)].seconds for each in inputs(operator) if id(each) in profile)
            one, other = max(estimate, 1.0), max(float(stats.rows), 1.0)
            found |= {
                "actual_rows": stats.rows,
                "bytes": stats.bytes,
                "q_error": max(one, other) / min(one, other),
                "seconds": stats.seconds,
                "own_seconds": max(0.0, stats.seconds - below),
            }
            if stats.spilled_files:
                found |= {"spilled_bytes": stats.spilled_bytes, "spilled_files": stats.spilled_files}
            found |= {"notes": stats.notes} if stats.notes else {}
        search = operator.search if isinstance(operator, Eliminate) else operator
        if levels := self.levels.get(id(search)):
            found["level_rows"] = [level_entries(each) for each in levels.values()]
        return found

    @property
    def worst(self) -> str:
        """After a run, where the estimate is off by most, "" where nothing is off by a factor of two."""
        found: list[tuple[float, float, float, str]] = []
        for text, operator in ((each.text, each.operator) for each in outline(self.root)):
            if operator is None:
                continue
            name, entries = text.partition(" ")[0], self.entries(operator)
            if "actual_rows" in entries:
                found.append((entries["q_error"], entries["actual_rows"], entries["estimated_rows"], name))
            found += [
                (each["q_error"], each["rows"], each["expected"], f"{name_text(each['name'])} of {name}")
                for each in entries.get("level_rows", ())
            ]
        q_error, rows, expected, place = max(found, key=lambda each: each[0], default=(1.0, 0.0, 0.0, ""))
        if q_error < 2.0:
            return ""
        compared = f"{amount(rows)} where {amount(expected)} are expected (q-error {q_error:.3g})"
        return f"Worst estimate: {printable_line(place)}, {compared}"

    def __str__(self) -> str:
        return to_text(self.root, lambda operator: note(self.entries(operator)), self._of_level) + (
            f"\n{worst}" if (worst := self.worst) else ""
        )

    def _of_level(self, search: Search, name: str) -> str:
        found = self.levels.get(id(search), {}).get(name)
        return "" if found is None else level_note(level_entries(found))

    __repr__ = __str__

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON-ready dicts with stable keys; each operator has its ``entries`` too.

        The topmost also has the ``device_reason``, and the ``warnings``: each with ``code``, ``message`` and ``hint``.
        """
        found = to_json(self.root, self.entries)
        warnings = [{"code": each.code, "message": each.message, "hint": each.hint} for each in self.notices]
        worst = {"worst_estimate": self.worst} if self.profile else {}
        return {**found, "device_reason": self.device_reason, "warnings": warnings, **worst}

    def to_svg(self) -> str:
        """Return the plan as a picture: an SVG document."""
        from qengine.explain.picture import svg

        return svg(self.root, self.entries)

    def to_html(self) -> str:
        """Return the picture with what it means and with the warnings: a part of an HTML document."""
        from qengine.explain.page import html

        return html(self.to_svg(), self.device, self.device_reason, self.notices, bool(self.profile))

    def _repr_html_(self) -> str:
        return self.to_html()


class PlanResult(Result):
    """The result of EXPLAIN and PROFILE: one row whose first column is the plan as text."""

    shows_plan = True

    def __str__(self) -> str:
        rows, _ = self.preview()
        if len(rows) != 1:
            return super().__str__()
        return "\n".join([rows[0]["plan"], *(f"Warning: {line(notice)}" for notice in self.notices)])

    def to_svg(self) -> str:
        """Return the plan's picture; a profile's once the query has run, to its end if it hasn't yet."""
        self.preview()
        picture: str = self.plan.to_svg()
        return picture

    def _repr_html_(self) -> str:
        """Return the picture of ``to_svg`` with what it means and the warnings."""
        self.preview()
        page: str = self.plan.to_html()
        return page


def explained(explanation: Explanation, stats: ResultStats, notices: tuple[Notice, ...]) -> Result:
    """Return the result of an EXPLAIN: one row with the plan's text and its JSON."""
    columns = COLUMNS["explain"]
    row = (str(explanation), json.dumps(explanation.to_json()))
    return PlanResult(columns, iter([RowBatch(columns, [row])]), stats, explanation, notices)


def explained_steps(steps: Iterator[tuple[str, Operator]], explanation: Explanation, stats: ResultStats) -> Result:
    """Return the result of an EXPLAIN STEPS: one row for each step, with the plan's text after it."""
    rows = [(name, to_text(root)) for name, root in steps]
    columns = COLUMNS["explain steps"]
    return PlanResult(columns, iter([RowBatch(columns, rows)]), stats, explanation, explanation.notices)


def profiled_rows(explanation: Explanation, stats: ResultStats) -> Result:
    """Return the result of a PROFILE of what has been run: the plan's text with rows and times, and its JSON."""
    columns = COLUMNS["profile"]
    row = (str(explanation), stats.rows, stats.seconds, json.dumps(explanation.to_json()))
    return PlanResult(columns, iter([RowBatch(columns, [row])]), stats, explanation, explanation.notices)


def profiled(result: Result, explanation: Explanation, look_closer: Callable[[], None]) -> Result:
    """Run a result to its end and return the result of a PROFILE: the plan's text with rows and times, and its JSON.

    ``look_closer`` finds out then what the levels of searches found.
    """
    columns = COLUMNS["profile"]

    def run() -> Iterator[RowBatch]:
        begin = time.perf_counter()
        rows = sum(1 for _ in result)
        seconds = time.perf_counter() - begin
        look_closer()
        yield RowBatch(columns, [(str(explanation), rows, seconds, json.dumps(explanation.to_json()))])

    return PlanResult(columns, run(), result.stats, explanation, result.notices, result._limits)
