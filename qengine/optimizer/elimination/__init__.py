"""Counting by elimination: whether a match can be counted by summing its vertices out, how, and what that costs."""

from __future__ import annotations

from collections.abc import Sequence

from qengine._frozen import frozen
from qengine.catalog.view import CatalogView
from qengine.optimizer.difference import Differences
from qengine.optimizer.elimination.cost import StepCosts
from qengine.optimizer.elimination.program import Elimination, Program, reached, used
from qengine.optimizer.elimination.quotients import Quotient, relation_of, signed_quotients
from qengine.optimizer.labels import satisfying_sets
from qengine.optimizer.pattern_edges import PatternEdge
from qengine.plan.elimination import Matrix, Own, Relation, Step, Term
from qengine.plan.pattern import PatternNode

__all__ = ["Eliminated", "eliminated"]

_MOST_VERTICES = 12
_LEAST = 1e6
"""Nanoseconds that a search must cost for elimination to be looked into: that can take as long."""

_A_QUOTIENT = 1e5
"""Nanoseconds that planning and running a quotient take, at the least."""

_MOST_QUOTIENTS = 400


@frozen
class Eliminated:
    """A program, its terms, and what it is expected to cost in nanoseconds of one core."""

    steps: tuple[Step, ...]
    terms: tuple[Term, ...]
    cost: float


def eliminated(
    names: Sequence[str],
    nodes: dict[str, PatternNode],
    edges: Sequence[PatternEdge],
    difference: Differences,
    outputs: Sequence[str],
    catalog: CatalogView,
    limit: float,
) -> Eliminated | None:
    """Return how to count a pattern, in all or by one or two of its nodes, by elimination.

    None where it can't be, or would cost ``limit`` nanoseconds or more.
    """
    if len(names) > _MOST_VERTICES or not edges or limit < _LEAST:
        return None
    kinds = [satisfying_sets(catalog, nodes[name].labels) for name in names]
    most = int(min(limit / _A_QUOTIENT, _MOST_QUOTIENTS))
    quotients = signed_quotients(names, edges, difference, kinds, catalog.acyclic, most)
    if quotients is None:
        return None
    program = Program()
    costs = StepCosts(catalog, program.steps, outputs=bool(outputs))
    factors: dict[tuple[tuple[int, ...], int | None], int] = {}
    needed: set[int] = set()
    for quotient, factor in quotients.items():
        kept = tuple(quotient.classes[list(names).index(output)] for output in outputs)
        elimination = _elimination(quotient, names, nodes, edges, program, costs, kept)
        result = elimination.run()
        if result is None:
            return None
        totals, by_vertex = result
        needed |= reached(program.steps, (*totals, by_vertex))
        if sum(costs.of(place) for place in needed if not isinstance(program.steps[place], Matrix)) >= limit:
            return None  # what a matrix costs is settled by the steps that are used in the end
        key = tuple(sorted(totals)), by_vertex
        factors[key] = factors.get(key, 0) + factor
    terms = tuple(Term(factor, *key) for key, factor in factors.items() if factor)
    steps, terms = used(program.steps, terms)
    cost = StepCosts(catalog, list(steps), outputs=bool(outputs)).total()
    return Eliminated(steps, terms, cost) if cost < limit else None


def _elimination(
    quotient: Quotient,
    names: Sequence[str],
    nodes: dict[str, PatternNode],
    edges: Sequence[PatternEdge],
    program: Program,
    costs: StepCosts,
    kept: tuple[int, ...],
) -> Elimination:
    relations: dict[tuple[int, int], list[Relation]] = {}
    for bundle in quotient.bundles:
        relation, simple = relation_of(bundle, edges)
        one, other = bundle.start, bundle.end
        if one > other:
            one, other, relation = other, one, relation.reversed()
        found = relations.setdefault((one, other), [])
        if not simple or relation not in found:
            found.append(relation)
    elimination = Elimination(program, costs, kept)
    for vertex in sorted(set(quotient.classes)):
        members = [nodes[name] for name, place in zip(names, quotient.classes, strict=True) if place == vertex]
        parts = {(node.name if node.predicates else "", node.labels, node.predicates) for node in members}
        parts -= {("", None, ())}
        loops = relations.pop((vertex, vertex), [])
        elimination.vertex(vertex, Own(tuple(sorted(parts, key=repr)), tuple(sorted(loops, key=repr))))
    for (one, other), found in relations.items():
        elimination.pair(one, other, found)
    return elimination
