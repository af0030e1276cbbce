"""Cardinalities of a pattern's parts by sampling, for the planner: what estimates know that statistics can't."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from qengine import estimate
from qengine._frozen import frozen, replace
from qengine.errors import ExecutionError, Unsupported
from qengine.exec.context import ExecutionContext
from qengine.exec.view import ExecView
from qengine.optimizer.counting import plan_count
from qengine.plan.expr import Expr
from qengine.plan.logical import LogicalPlan, Match, Unit
from qengine.plan.pattern import MatchMode, PatternNode, PatternRelationship, QueryGraph
from qengine.plan.traverse import parameters

_SEED = 0  # a statement has one plan
_CONFIDENCE = 0.95
_WORST_ERROR = 10.0
"""Parts known worse than this (half the interval as a share of the value) are left out: statistics are steadier."""


@frozen
class SampledRows:
    """A ``CardinalitySource`` that samples all connected parts of a pattern at once.

    Attributes
    ----------
    store
        The ``GraphStore``.
    context
        The limits of the statement that is planned.
    samples
        In all parts of one pattern.
    budget_ms
        Milliseconds that a pattern may take, which ends its samples; None: any.
    """

    store: ExecView
    context: ExecutionContext
    samples: int = 50_000
    budget_ms: float | None = None

    @property
    def reason(self) -> str:
        """How EXPLAIN names the source."""
        return "sampled"

    def known(
        self,
        nodes: Mapping[str, PatternNode],
        relationships: Sequence[PatternRelationship],
        conditions: Sequence[Expr] = (),
    ) -> Mapping[frozenset[str], float]:
        """Return the estimated rows of the connected parts of a pattern, by the names of their nodes.

        Parts that samples seldom hit are left out.
        """
        table = self.table(nodes, relationships, conditions)
        return {part: found.value for part, found in table.items() if found.relative_error <= _WORST_ERROR}

    def table(
        self,
        nodes: Mapping[str, PatternNode],
        relationships: Sequence[PatternRelationship],
        conditions: Sequence[Expr] = (),
    ) -> Mapping[frozenset[str], estimate.Estimate]:
        """Return the estimates of the connected parts of a pattern.

        Nothing is known of patterns that can't be sampled before they run: with parameters, of more than ten nodes,
        or with conditions that fail for what is sampled.
        """
        graph = QueryGraph(
            tuple(replace(node, bound=False) for node in nodes.values()),
            tuple(replace(each, bound=False) for each in relationships),
            predicates=tuple(conditions),
            mode=MatchMode.REPEATABLE_ELEMENTS,
        )
        match = Match(Unit(), graph)
        if parameters(match):
            return {}
        try:
            counted = plan_count(LogicalPlan(match, graph.variables()), self.store)
            return estimate.estimate_all(
                counted,
                self.store,
                self.context,
                samples=self.samples,
                confidence=_CONFIDENCE,
                seed=_SEED,
                budget_ms=self.budget_ms,
            )
        except (Unsupported, ExecutionError):  # a condition may fail for a sample, and for no row of the query
            return {}
