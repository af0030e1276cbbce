"""Leaves out an ``OPTIONAL MATCH`` of which nothing is read, where equal rows count once.

Why: it keeps every row and adds none that differs in what is read.
When: below ``DISTINCT`` or aggregates that don't mind repetitions, no variable of it is read, and no condition of it
can fail.
Wrong for: ``MATCH``, which drops rows without a match; ``count(*)`` above, which counts the repetitions.
"""

from __future__ import annotations

from qengine.optimizer.rules.duplicates import below_distinct
from qengine.optimizer.rules.tree import changes
from qengine.plan.fallible import condition_can_fail
from qengine.plan.logical import Aggregate, Distinct, Match, Operator


@changes(Aggregate, Distinct)
def unused_optionals(operator: Operator) -> Operator:
    """Apply the rule below one operator."""
    return below_distinct(operator, _without, lambda match: match.optional)


def _without(operator: Match, needed: frozenset[str]) -> Operator:
    graph = operator.graph
    if not operator.optional or not needed.isdisjoint(graph.variables()):
        return operator
    conditions = [*graph.predicates, *(each for node in graph.nodes for each in node.predicates)]
    conditions += [each for edge in graph.relationships for each in (*edge.predicates, *edge.inner)]
    return operator if any(map(condition_can_fail, conditions)) else operator.input
