"""Counting by elimination: whether a match can be counted by summing its vertices out, how, and what that costs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from math import inf
from typing import TypeVar

from qengine._frozen import frozen, replace
from qengine.catalog.costs import costs
from qengine.catalog.view import CatalogView
from qengine.optimizer.difference import Differences
from qengine.optimizer.elimination.calls import scheduled
from qengine.optimizer.elimination.compared import Compared, SharedValues, Told, shared_values, ways
from qengine.optimizer.elimination.cost import StepCosts
from qengine.optimizer.elimination.facts import ProgramFacts
from qengine.optimizer.elimination.program import StepBuilder, reached, used
from qengine.optimizer.elimination.quotients import Bundle, Quotient, relation_of, signed_quotients
from qengine.optimizer.elimination.searched import Pattern, TermSearches
from qengine.optimizer.elimination.vertices import Elimination
from qengine.optimizer.labels import satisfying_sets
from qengine.optimizer.learned_rows import is_for_other_values, learned_rows
from qengine.optimizer.memory import Lasting
from qengine.optimizer.pattern_edges import PatternEdge
from qengine.optimizer.peeking import as_known, counts_rare
from qengine.optimizer.target import is_for_gpu
from qengine.plan.elimination import (
    VALUED,
    ArcEnds,
    Matrix,
    NodeIndicator,
    NodeValues,
    Relation,
    Shared,
    Step,
    Term,
    Values,
)
from qengine.plan.expr import Expr
from qengine.plan.fallible import condition_can_fail
from qengine.plan.pattern import Direction, LabelExpr, PatternNode, PatternRelationship
from qengine.plan.physical import Search
from qengine.plan.schedule import Schedules

_MOST_VERTICES = 64
_MOST_APART = 12
"""Of patterns of more vertices some quotients are made, and none where vertices must differ."""

_LEAST = 1e6
"""Nanoseconds that a search must cost for elimination to be looked into: that can take as long."""

_A_QUOTIENT = 1e5
"""Nanoseconds that planning and running a quotient take, at the least."""

_SECTIONS = (("cpu", "elimination"), ("gpu", "elimination"), ("cpu", "search"))
"""Of the constants that steps, and searches beside them, cost by."""

_LEAST_SEARCHED = 2e8
"""Nanoseconds that a search must cost for terms of it to be searched instead: to plan these takes longer."""

_T = TypeVar("_T")
Key = tuple[tuple[int, ...], int | None]
"""What a term reads: the sums, and the counts by vertices."""

_MOST_QUOTIENTS, _MOST_OF_LARGE = 400, 8


@frozen
class Eliminated:
    """A program, its terms and the searches of some, and how each device that has kernels for it computes it."""

    steps: tuple[Step, ...]
    terms: tuple[Term, ...]
    searches: tuple[Search, ...]
    schedules: Schedules


@frozen
class Wanted:
    """What is counted: embeddings in all, or ``by`` one or two nodes.

    ``valued``: a node whose vertex's number (``NodeValues``) each embedding counts for, instead of 1.
    ``compared``: what is asked of values of two elements. ``absent``: relationships that must not be there, of
    which two nodes have one at most.
    """

    by: tuple[str, ...] = ()
    valued: str | None = None
    compared: tuple[Compared, ...] = ()
    absent: tuple[PatternEdge, ...] = ()


def eliminated(
    names: Sequence[str],
    nodes: dict[str, PatternNode],
    edges: Sequence[PatternEdge],
    difference: Differences,
    wanted: Wanted,
    catalog: CatalogView,
    limits: Mapping[str, float],
    kernels: Collection[str] = (),
) -> Eliminated | None:
    """Return how to count a pattern by elimination.

    None where it can't be, or would cost each device as many nanoseconds as ``limits`` says, or more. Devices that it
    would cost so much are left out of the schedules; steps are chosen by the costs of the first one. ``kernels``: names
    of rows of the kernel table that are taken where they match.
    """
    limit, large = limits[_first(limits)], len(names) > _MOST_APART
    if len(names) > _MOST_VERTICES or not (edges or wanted.absent) or limit < _LEAST or (large and difference.vertices):
        return None

    asked_for = _Count(names, nodes, edges, difference, wanted, limits, kernels)
    own = [nodes[name] for name in names]
    asked: list[PatternNode | PatternRelationship] = [*own, *(edge.relationship for edge in (*edges, *wanted.absent))]
    if wanted.compared or any(condition_can_fail(predicate) for each in asked for predicate in each.predicates):
        return _eliminated(asked_for, catalog)  # whose errors say where in the text they are
    constants = (costs(device, section) for device, section in _SECTIONS)
    given = learned_rows(catalog), *constants
    key = (
        (counts_rare(), is_for_gpu(), is_for_other_values(catalog), *map(id, given)),
        (*names, *own, *edges, wanted, as_known(tuple(asked))),
        difference.content(),
        (*limits.items(), *kernels),
    )
    kept = _eliminations.of(catalog).get(
        key, lambda: _kept(_eliminated(asked_for, catalog), len(names) + len(edges), given)
    )
    known: Eliminated | None = kept[0][0]
    return known


_eliminations = Lasting()


def _kept(found: Eliminated | None, size: int, given: object) -> tuple[object, int]:
    """Return what is kept of a pattern of so many parts; ``given``: what its key names by identity."""
    return (found, given), size if found is None else size + len(found.steps) + len(found.terms)


@frozen
class _Count:
    """What ``eliminated`` is asked for; the fields are its parameters."""

    names: Sequence[str]
    nodes: dict[str, PatternNode]
    edges: Sequence[PatternEdge]
    difference: Differences
    wanted: Wanted
    limits: Mapping[str, float]
    kernels: Collection[str]


def _eliminated(asked: _Count, catalog: CatalogView) -> Eliminated | None:
    names, nodes, edges, wanted, limits = asked.names, asked.nodes, asked.edges, asked.wanted, asked.limits
    outputs, limit, kernels = wanted.by, limits[_first(limits)], asked.kernels
    large = len(names) > _MOST_APART
    kinds = [satisfying_sets(catalog, nodes[name].labels) for name in names]
    most = int(min(limit / _A_QUOTIENT, _MOST_OF_LARGE if large else _MOST_QUOTIENTS))
    pattern = Pattern(names, nodes, (*edges, *wanted.absent))
    retained = tuple(list(names).index(output) for output in outputs)
    valued = None if wanted.valued is None else list(names).index(wanted.valued)
    told_apart = any(kind != -1 for kind in kinds)
    signed = ways(names, edges, wanted.compared)

    def sums() -> _TermSums:
        searched = not (outputs or kernels or wanted.compared)
        searches = TermSearches(pattern, catalog, _first(limits), limit, told_apart) if searched else None
        return _TermSums(pattern, retained, valued, catalog, limits, searches)

    of_whole: dict[Quotient, _TermSums] = {}

    def fits(whole: Quotient) -> bool:
        of_whole[whole] = sums()
        return _added(of_whole[whole], {whole: 1}, signed)

    quotients = signed_quotients(names, edges, asked.difference, kinds, catalog.acyclic, most, fits, wanted.absent)
    if quotients is None:
        return None
    first = next(iter(quotients), None)
    if first in of_whole and quotients[first] == 1:  # whose terms are there
        found = of_whole[first]
        del quotients[first]
    else:
        found = sums()
    return found.cheapest(kernels) if _added(found, quotients, signed) else None


def _added(sums: _TermSums, quotients: Mapping[Quotient, int], signed: Sequence[tuple[int, tuple[Told, ...]]]) -> bool:
    """Add all terms; tell whether there is a way of counting that any device may afford."""
    return all(
        sums.add(quotient, sign * factor, values) for quotient, factor in quotients.items() for sign, values in signed
    )


class _TermSums:
    """The terms of a count by now: all of them summed out, and some or all of them searched.

    ``summed`` are the factors of terms by what they read, None once one can't be summed out or all cost too much;
    ``mixed`` those beside ``searches``.
    """

    def __init__(
        self,
        pattern: Pattern,
        retained: tuple[int, ...],
        valued: int | None,
        catalog: CatalogView,
        limits: Mapping[str, float],
        searches: TermSearches | None,
    ) -> None:
        self.own = [_own(pattern.nodes[name]) for name in pattern.names]
        self.retained = retained
        self.valued = valued
        self.catalog = catalog
        self.limits = limits
        self.program = StepBuilder()
        self.spending = _Spending(catalog, self.program.steps, limits, retained)
        self.relations = _Relations(pattern.edges)
        self.needed: set[int] = set()
        self.summed: dict[Key, int] | None = {}
        self.searches = searches
        self.mixed: dict[Key, int] = {}
        self.mixed_needed: set[int] = set()
        self.mixed_cost = 0.0

    def add(self, quotient: Quotient, factor: int, told: Sequence[Told] = ()) -> bool:
        """Add a term; tell whether there is still a way of counting that any device may afford."""
        costs = self.spending.costs
        retained = tuple(quotient.classes[place] for place in self.retained)
        found = shared_values(quotient, told)
        if found is None:
            return self.summed is not None or self.searches is not None
        elimination = Elimination(self.program, costs, retained)
        _fill(elimination, quotient, self.own, self.relations, found)
        if self.valued is not None:
            elimination.multiply(quotient.classes[self.valued], NodeValues())
        result = elimination.run()
        if result is None:
            self.summed = None
            return self._search(quotient, factor, None)
        totals, by_vertex = result
        key = tuple(sorted(totals)), by_vertex
        clique = elimination.clique
        if self.summed is not None:
            more = reached(self.program.steps, (*totals, by_vertex), self.needed)
            self.needed |= more
            self.summed[key] = self.summed.get(key, 0) + factor
            if not self.spending.affords(more, clique):
                self.summed = None
        return self._search(quotient, factor, key, clique) or self.summed is not None

    def _search(self, quotient: Quotient, factor: int, key: Key | None, clique: int | None = None) -> bool:
        """Add a term to those of which some are searched, the cheaper way; tell whether these may still pay."""
        if self.searches is None:
            return False
        more = set() if key is None else reached(self.program.steps, (*key[0], key[1]), self.mixed_needed)
        cost = self.spending.cost(more, clique)
        if self.searches.add(quotient, factor, None if key is None else cost):
            cost = 0.0
        elif key is None:
            self.searches = None
            return False
        else:
            self.mixed_needed |= more
            self.mixed[key] = self.mixed.get(key, 0) + factor
        self.mixed_cost += cost
        if not self.searches.affords(self.mixed_cost):
            self.searches = None
        return self.searches is not None

    def cheapest(self, kernels: Collection[str]) -> Eliminated | None:
        """Return the cheaper of both ways where it costs some device less than its limit, else None."""
        summed = None if self.summed is None else self._made(self.summed, (), kernels)
        searches = () if self.searches is None else self.searches.found(alone=not self.mixed)
        mixed = self._made(self.mixed, searches, kernels) if searches else None
        if self.searches is None or mixed is None:
            return summed
        first = _first(self.limits)
        pays = self.searches.pays(_cost_on(first, mixed), None if summed is None else _cost_on(first, summed))
        return mixed if pays else summed

    def _made(
        self, factors: Mapping[Key, int], searches: Sequence[tuple[Search, int]], kernels: Collection[str]
    ) -> Eliminated | None:
        terms = tuple(Term(factor, *key) for key, factor in factors.items() if factor)
        terms += tuple(Term(factor, (), search=number) for number, (_, factor) in enumerate(searches))
        steps, terms = used(self.program.steps, terms)
        devices = (_first(self.limits),) if searches else tuple(self.limits)
        made = scheduled(self.catalog, steps, terms, devices, kernels)
        more = 0.0 if self.searches is None else sum(self.searches.cost(search) for search, _ in searches)
        whole = (replace(each, cost=each.cost + more) for each in made)
        paying = Schedules(each for each in whole if each.cost < self.limits[each.device])
        if not paying:
            return None
        if tuple(self.limits) == ("gpu",):  # what a GPU has too little memory for is left to the host
            paying = Schedules(chain(paying, scheduled(self.catalog, steps, terms, ("cpu",))))
        return Eliminated(steps, terms, tuple(search for search, _ in searches), paying)


def _first(limits: Mapping[str, float]) -> str:
    """Return the device by whose costs steps are chosen."""
    return next(iter(limits))


def _cost_on(device: str, found: Eliminated) -> float:
    return next((each.cost for each in found.schedules if each.device == device), inf)


_Own = tuple[str, LabelExpr | None, tuple[Expr, ...]]
"""What a node says of its vertices (``NodeIndicator.nodes``)."""


def _own(node: PatternNode) -> _Own | None:
    """Return what a node says of its vertices, None where they may be any."""
    plain = node.labels is None and not node.predicates
    return None if plain else (node.name if node.predicates else "", node.labels, node.predicates)


class _Spending:
    """What the steps of a program have cost by now, on the first device and, where that is too much, on others."""

    def __init__(
        self, catalog: CatalogView, steps: list[Step], limits: Mapping[str, float], outputs: Sequence[int]
    ) -> None:
        self.steps = steps
        facts = ProgramFacts(catalog, steps, _first(limits), outputs=bool(outputs))
        self._costs = {device: StepCosts(facts.on(device)) for device in limits}
        self._limits = limits
        self._spent = dict.fromkeys(limits, 0.0)
        self._added: list[tuple[list[int], int | None]] = []
        self._counted = dict.fromkeys(limits, 0)

    @property
    def costs(self) -> StepCosts:
        """The costs on the first device, by which steps are chosen."""
        return self._costs[_first(self._limits)]

    def cost(self, places: Iterable[int], clique: int | None) -> float:
        """Return what steps cost on the first device, or their sum as that of a clique."""
        return _cheaper(self.costs, [each for each in places if not isinstance(self.steps[each], Matrix)], clique)

    def affords(self, places: Iterable[int], clique: int | None) -> bool:
        """Add the costs of steps, or of their sum as that of a clique; tell whether any device may still run them all.

        What a matrix costs is settled by the steps that are used in the end.
        """
        self._added.append(([place for place in places if not isinstance(self.steps[place], Matrix)], clique))
        return any(self._spends(device) < limit for device, limit in self._limits.items())

    def _spends(self, device: str) -> float:
        costs = self._costs[device]
        for places, clique in self._added[self._counted[device] :]:
            self._spent[device] += _cheaper(costs, places, clique)
        self._counted[device] = len(self._added)
        return self._spent[device]


def _cheaper(costs: StepCosts, places: Sequence[int], clique: int | None) -> float:
    steps = sum(map(costs.of, places))
    return steps if clique is None else min(steps, costs.of_clique(clique))


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


def _in_order(parts: Collection[_T]) -> tuple[_T, ...]:
    return tuple(parts) if len(parts) < 2 else tuple(sorted(parts, key=repr))


def _fill(
    elimination: Elimination,
    quotient: Quotient,
    own: Sequence[_Own | None],
    relation_of: _Relations,
    values: SharedValues,
) -> None:
    """Tell what is to be eliminated: a quotient, a vertex more for what two of its elements share, and one for each
    relationship whose value is compared.
    """
    relations: dict[tuple[int, int], list[Relation]] = {}
    repeated: set[tuple[int, int]] = set()
    members: dict[int, set[_Own]] = {vertex: set() for vertex in sorted(set(quotient.classes))}
    arcs: dict[int, tuple[int, Relation]] = {}  # by the place of a bundle: its vertex
    for place, bundle in enumerate(quotient.bundles):
        one, other = bundle.start, bundle.end
        reified = place in values.arcs
        relation, simple = relation_of(bundle, one > other and not reified)
        if asked := tuple(dict.fromkeys(condition for of, condition in values.of_bundles if of == place)):
            relation = replace(relation, conditions=(*relation.conditions, (VALUED, asked)))
        if reified:
            arcs[place] = len(quotient.classes) + len(arcs), relation
            continue
        if one > other:
            one, other = other, one
        found = relations.setdefault((one, other), [])
        if not simple:
            repeated.add((one, other))
        if not simple or relation not in found:
            found.append(relation)
    for vertex, part in zip(quotient.classes, own, strict=True):
        if part is not None:
            members[vertex].add(part)
    for vertex, labels, condition in values.of_vertices:
        members[vertex].add((VALUED, labels, (condition,)))
    for place, (vertex, relation) in arcs.items():
        members[vertex] = set()
        for end, at in values.arcs[place].items():
            relations[end, vertex] = [Relation((), Direction.OUT, value=ArcEnds(relation, at))]
    for place, shared in enumerate(values.shared, len(quotient.classes) + len(arcs)):
        members[place] = set()
        sides = [(arcs[side.place] if side.of_edge else (side.place, None), side.value) for side in shared.sides]
        lower, upper = (Values(value.expr, relation, value.labels) for (_, relation), value in sides)
        alike = shared.op == "=" and lower == upper and len(set(shared.within or ())) < 2
        for above, ((vertex, _), _) in enumerate(sides):
            value = Shared(lower, upper, shared.op, bool(above) and not alike, shared.within)
            relations[vertex, place] = [Relation((), Direction.OUT, value=value)]
    for vertex, parts in members.items():
        loops = relations.pop((vertex, vertex), [])
        elimination.vertex(vertex, NodeIndicator(_in_order(parts), _in_order(loops)))
    circles = len(relations) > len(members) - 1
    for (one, other), found in relations.items():
        elimination.pair(one, other, found, (one, other) not in repeated, once=circles)
