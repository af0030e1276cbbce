"""Counting by elimination: whether a match can be counted by summing its vertices out, how, and what that costs."""

from __future__ import annotations

from collections.abc import Sequence

from qengine._frozen import frozen
from qengine.catalog.view import CatalogView
from qengine.optimizer.difference import Differences
from qengine.optimizer.elimination.cost import StepCosts
from qengine.optimizer.elimination.program import StepBuilder, reached, used
from qengine.optimizer.elimination.quotients import Bundle, Quotient, relation_of, signed_quotients
from qengine.optimizer.elimination.vertices import Elimination
from qengine.optimizer.labels import satisfying_sets
from qengine.optimizer.pattern_edges import PatternEdge
from qengine.plan.elimination import Matrix, NodeIndicator, Relation, Step, Term
from qengine.plan.pattern import PatternNode

__all__ = ["Eliminated", "eliminated"]

_MOST_VERTICES = 64
_MOST_APART = 12
"""Of patterns of more vertices some quotients are made, and none where vertices must differ."""

_LEAST = 1e6
"""Nanoseconds that a search must cost for elimination to be looked into: that can take as long."""

_A_QUOTIENT = 1e5
"""Nanoseconds that planning and running a quotient take, at the least."""

_MOST_QUOTIENTS, _MOST_OF_LARGE = 400, 8


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
    large = len(names) > _MOST_APART
    if len(names) > _MOST_VERTICES or not edges or limit < _LEAST or (large and difference.vertices):
        return None
    kinds = [satisfying_sets(catalog, nodes[name].labels) for name in names]
    most = int(min(limit / _A_QUOTIENT, _MOST_OF_LARGE if large else _MOST_QUOTIENTS))

    def fits(whole: Quotient) -> bool:
        """Tell whether the pattern itself can be eliminated, for so much: else no quotient of it has to be made."""
        program = StepBuilder()
        costs = StepCosts(catalog, program.steps, outputs=bool(outputs))
        retained = tuple(list(names).index(output) for output in outputs)
        result = _elimination(whole, names, nodes, _Relations(edges), program, costs, retained).run()
        if result is None:
            return False
        needed = reached(program.steps, (*result[0], result[1]))
        return sum(costs.of(place) for place in needed if not isinstance(program.steps[place], Matrix)) < limit

    quotients = signed_quotients(names, edges, difference, kinds, catalog.acyclic, most, fits)
    if quotients is None:
        return None
    program = StepBuilder()
    costs = StepCosts(catalog, program.steps, outputs=bool(outputs))
    factors: dict[tuple[tuple[int, ...], int | None], int] = {}
    relations = _Relations(edges)
    needed: set[int] = set()
    spent = 0.0
    for quotient, factor in quotients.items():
        retained = tuple(quotient.classes[list(names).index(output)] for output in outputs)
        elimination = _elimination(quotient, names, nodes, relations, program, costs, retained)
        result = elimination.run()
        if result is None:
            return None
        totals, by_vertex = result
        more = reached(program.steps, (*totals, by_vertex), needed)
        needed |= more
        spent += sum(costs.of(place) for place in more if not isinstance(program.steps[place], Matrix))
        if spent >= limit:
            return None  # what a matrix costs is settled by the steps that are used in the end
        key = tuple(sorted(totals)), by_vertex
        factors[key] = factors.get(key, 0) + factor
    terms = tuple(Term(factor, *key) for key, factor in factors.items() if factor)
    steps, terms = used(program.steps, terms)
    cost = StepCosts(catalog, list(steps), outputs=bool(outputs)).total()
    return Eliminated(steps, terms, cost) if cost < limit else None


class _Relations:
    """The relations of bundles: many quotients of a pattern have the same."""

    def __init__(self, edges: Sequence[PatternEdge]) -> None:
        self._edges = edges
        self._known: dict[tuple[object, ...], tuple[Relation, bool]] = {}

    def __call__(self, bundle: Bundle, turned: bool) -> tuple[Relation, bool]:
        """Return a bundle's relation, seen from its end where it is ``turned``, and whether it links pairs but once."""
        key = bundle.members, bundle.symmetric, bundle.types, turned
        if (found := self._known.get(key)) is None:
            relation, simple = relation_of(bundle, self._edges)
            found = self._known[key] = relation.reversed() if turned else relation, simple
        return found


def _elimination(
    quotient: Quotient,
    names: Sequence[str],
    nodes: dict[str, PatternNode],
    relation_of: _Relations,
    program: StepBuilder,
    costs: StepCosts,
    retained: tuple[int, ...],
) -> Elimination:
    relations: dict[tuple[int, int], list[Relation]] = {}
    repeated: set[tuple[int, int]] = set()
    for bundle in quotient.bundles:
        one, other = bundle.start, bundle.end
        relation, simple = relation_of(bundle, one > other)
        if one > other:
            one, other = other, one
        found = relations.setdefault((one, other), [])
        if not simple:
            repeated.add((one, other))
        if not simple or relation not in found:
            found.append(relation)
    elimination = Elimination(program, costs, retained)
    for vertex in sorted(set(quotient.classes)):
        members = [nodes[name] for name, place in zip(names, quotient.classes, strict=True) if place == vertex]
        parts = {(node.name if node.predicates else "", node.labels, node.predicates) for node in members}
        parts -= {("", None, ())}
        loops = relations.pop((vertex, vertex), [])
        elimination.vertex(vertex, NodeIndicator(tuple(sorted(parts, key=repr)), tuple(sorted(loops, key=repr))))
    circles = len(relations) > len(set(quotient.classes)) - 1
    for (one, other), found in relations.items():
        elimination.pair(one, other, found, (one, other) not in repeated, once=circles)
    return elimination
