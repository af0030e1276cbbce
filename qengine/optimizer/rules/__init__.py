"""Rewrites of the logical plan, in order. A rule is one function in one file: operator in, operator out.

A rule's function changes one operator; it is applied to all of a plan, inputs first. It says which operators and
expressions it is for (``changes``), so that plans without them cost nothing. The plans of subqueries are rewritten when
they are lowered.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from qengine.optimizer.memory import memory
from qengine.optimizer.rules.contradictions import contradictions
from qengine.optimizer.rules.counted_lists import counted_lists
from qengine.optimizer.rules.counted_pairs import counted_pairs
from qengine.optimizer.rules.counts_to_existence import counts_to_existence
from qengine.optimizer.rules.each_element import each_element
from qengine.optimizer.rules.early_conditions import early_conditions
from qengine.optimizer.rules.equal_elements import equal_elements
from qengine.optimizer.rules.fold_constants import fold_constants
from qengine.optimizer.rules.inlined_keys import inlined_keys
from qengine.optimizer.rules.keys_in_parts import keys_in_parts
from qengine.optimizer.rules.known_values import known_values
from qengine.optimizer.rules.late_subqueries import late_subqueries
from qengine.optimizer.rules.merge_matches import merge_matches
from qengine.optimizer.rules.push_filters import push_filters
from qengine.optimizer.rules.push_limits import push_limits
from qengine.optimizer.rules.split_chains import split_chains
from qengine.optimizer.rules.top_k import top_k
from qengine.optimizer.rules.tree import Rule, bottom_up, by_class, nodes_in, reached, would_change
from qengine.optimizer.rules.unused_optionals import unused_optionals
from qengine.plan.expr import Subquery
from qengine.plan.logical import Match, Operator
from qengine.plan.traverse import operators, rewrite_plan
from qengine.plan.updates import Update

__all__ = ["RULES", "TENTATIVE", "Rule", "is_as_written", "rewritten", "rewritten_both_ways", "steps"]

RULES: tuple[Rule, ...] = (
    split_chains,  # first, so that each half of a chain is a condition of its own
    push_filters,  # early, so that conditions are where the others look for them
    merge_matches,  # what a filter between two matches kept apart is one match now
    fold_constants,
    each_element,  # once all conditions of a match are its own
    equal_elements,  # once matches are merged, which it could only project from
    known_values,
    contradictions,  # after constants and values are known and conditions of one element stand together
    counts_to_existence,
    counted_lists,  # once constants are known, which a condition on the list's items may read
    counted_pairs,
    inlined_keys,  # once what is read of each element is settled
    keys_in_parts,  # once keys are where they are read
    unused_optionals,
    push_limits,
    top_k,  # after the limits are where they are wanted
    late_subqueries,  # once a sort's limit is known
)

TENTATIVE: tuple[Rule, ...] = (early_conditions,)
"""Right only if no condition that they move fails on any node or relationship: see ``PhysicalPlan.careful``.

They are applied to the plans of subqueries, too.
"""


def steps(root: Operator) -> Iterator[tuple[str, Operator]]:
    """Yield the name of each rule that changes the plan, with the plan after it."""
    if is_as_written(root):
        return
    bound = {*map(type, nodes_in(root))}
    for name, changed in _changing(root, bound):
        root = changed
        yield name, root
    yield from _changing_tentatively(root, bound)


def rewritten(root: Operator) -> Operator:
    """Return the plan after all rules but the tentative ones; as it is where the user asks for that."""
    known = memory("rewritten plans")
    if (found := known.get(id(root))) is None:
        made = root if is_as_written(root) else _rewritten(root, {*map(type, nodes_in(root))})
        found = known[id(root)] = root, made
    made = found[1]
    return made


def rewritten_both_ways(root: Operator) -> tuple[Operator, Operator]:
    """Return the plan as ``rewritten`` does, and after the tentative rules; the same where these change nothing."""
    if is_as_written(root):
        return root, root
    bound = {*map(type, nodes_in(root))}
    early = careful = _rewritten(root, bound)
    for _, changed in _changing_tentatively(careful, bound):
        early = changed
    return careful, early


def _rewritten(root: Operator, bound: Set[type]) -> Operator:
    for _, changed in _changing(root, bound):
        root = changed
    return root


def _changing(root: Operator, bound: Set[type]) -> Iterator[tuple[str, Operator]]:
    """Apply the rules; yield the name of each that changes the plan, with the plan after it.

    ``bound``: the classes of what was in the plan before the first. No rule brings what another one reads into a plan
    without.
    """
    found = reached(root)
    for rule in RULES:
        if (rule.reading and rule.reading.isdisjoint(bound)) or not would_change(rule, found):
            continue
        root = bottom_up(root, rule)
        found = reached(root)
        yield rule.__name__, root


def _changing_tentatively(root: Operator, bound: Set[type]) -> Iterator[tuple[str, Operator]]:
    """Apply the tentative rules, as ``_changing`` does the others."""
    nested = Subquery in bound or Update in bound
    for rule in TENTATIVE:
        if not would_change(rule, by_class(nodes_in(root)) if nested else reached(root)):
            continue
        changed = rewrite_plan(root, rule) if nested else bottom_up(root, rule)
        if changed is not root:
            root = changed
            yield rule.__name__, root


def is_as_written(root: Operator) -> bool:
    """Tell whether a hint of the statement says that nothing be optimized: it stands at each of its matches."""
    first = next((each for each in operators(root) if isinstance(each, Match)), None)
    return first is not None and first.graph.hints.as_written
