"""Inclusion and exclusion: a pattern whose elements must differ as signed patterns in which nothing must.

Each pair that must differ is an event that must not happen. The product over the events of (1 - event) is multiplied
out one event after the other; the partial sums are kept by what coincides, where many subsets of events meet, so that
their signs add up to the partitions' Möbius numbers, which are known where all vertices must differ. Vertices that no
vertex of the graph can stand for at once, by its labels, never coincide, nor do those that would close a circle of
relationships of which the graph has no circles. (Rota 1964; for subgraph counts Curticapean,
Dell, Marx 2017.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from math import comb, factorial, prod
from operator import itemgetter
from typing import NamedTuple

from qengine._deadline import check_planning
from qengine.optimizer.difference import Differences
from qengine.optimizer.order_problem import each_of, mask_of
from qengine.optimizer.pattern_edges import PatternEdge
from qengine.plan.elimination import Relation
from qengine.plan.pattern import Direction


class Bundle(NamedTuple):
    """Pattern edges that are one relationship, between two classes of vertices.

    ``members``: their places. ``symmetric``: its ends can be swapped. ``types``: those that all members can match.
    """

    members: tuple[int, ...]
    start: int
    end: int
    symmetric: bool
    types: tuple[str, ...]


class Quotient(NamedTuple):
    """``classes``: for each vertex the least that it coincides with; ``bundles`` cover the edges."""

    classes: tuple[int, ...]
    bundles: tuple[Bundle, ...]


def signed_quotients(
    names: Sequence[str],
    edges: Sequence[PatternEdge],
    difference: Differences,
    kinds: Sequence[int],
    acyclic: Callable[[str], bool],
    most: int,
    fits: Callable[[Quotient], bool] = lambda whole: True,
    absent: Sequence[PatternEdge] = (),
) -> dict[Quotient, int] | None:
    """Return by quotient how often its homomorphisms count; None if there are over ``most``, or one has no relation.

    The embeddings in which everything differs that must are the sum, over the quotients, of factor times homomorphisms.
    ``kinds``: for each vertex the label sets that it can have, as a bit mask. ``acyclic`` tells whether no path of a
    type leads back to where it began; it is asked where that matters. ``fits`` is asked of the pattern in which nothing
    coincides before others are made, and lets them be left: None, too. ``absent``: relationships that must not be
    there, of which a pair of vertices has one at most; their places come after those of ``edges``.
    """
    if difference.contradiction:
        return {}
    if any(edge.swappable and not edge.symmetric for edge in (*edges, *absent)):
        return None
    quotients = _Quotients(names, edges, kinds, acyclic, absent)
    whole = quotients.whole()
    if whole is None:
        return {}
    return quotients.signed(whole, difference, most) if fits(whole) else None


class _Quotients:
    def __init__(
        self,
        names: Sequence[str],
        edges: Sequence[PatternEdge],
        kinds: Sequence[int],
        acyclic: Callable[[str], bool],
        absent: Sequence[PatternEdge],
    ) -> None:
        self.kinds = kinds
        self.acyclic = acyclic
        self.vertices = {name: place for place, name in enumerate(names)}
        self.edges = edges
        self.absent = absent
        self.places = {edge.name: place for place, edge in enumerate(edges)}
        self.loops = {info.name for edge in (*edges, *absent) for info in edge.types if info.loops}
        self.labelled = any(kind != -1 for kind in kinds)

    def whole(self) -> Quotient | None:
        """Return the pattern in which nothing coincides, None where nothing can match it."""
        bundles = tuple(self._bundle(place, edge) for place, edge in enumerate(self.edges))
        return self._merged(Quotient(tuple(range(len(self.vertices))), bundles), ())

    def _bundle(self, place: int, edge: PatternEdge) -> Bundle:
        start, end = (self.vertices[name] for name in edge.ends)
        return Bundle((place,), start, end, edge.symmetric, edge.type_names())

    def signed(self, whole: Quotient, difference: Differences, most: int) -> dict[Quotient, int] | None:
        found = {whole: 1}
        equalities = [[(self.vertices[a], self.vertices[b]) for a, b in same] for same in difference.pairs]
        if len(difference.vertices) == comb(len(self.vertices), 2):
            found = self._all_apart(whole, most)
        else:
            vertices = [tuple(sorted(self.vertices[name] for name in pair)) for pair in difference.vertices]
            if self._too_many(whole, vertices, most):
                return None
            equalities = [[(one, other)] for one, other in sorted(vertices)] + equalities
        if len(found) > most:
            return None
        for event in equalities:
            found = _without(found, partial(self._coinciding, event))
            if len(found) > most:
                return None
        for one, other in sorted(tuple(sorted(self.places[name] for name in pair)) for pair in difference.edges):
            found = _without(found, partial(self._same, one, other))
            if len(found) > most:
                return None
        for place, edge in enumerate(self.absent, len(self.edges)):
            found = _without(found, partial(self._linked, self._bundle(place, edge)))
            if len(found) > most:
                return None
        return found

    def _all_apart(self, whole: Quotient, most: int) -> dict[Quotient, int]:
        """Return the quotients of a pattern whose vertices must all differ, no more than one over ``most``."""
        apart = self._joined(whole)
        found: dict[Quotient, int] = {}
        for classes in self._partitions(apart):
            merged = self._merged(whole, [(each[0], other) for each in classes for other in each[1:]])
            if merged is not None:
                found[merged] = prod((-1) ** (len(each) - 1) * factorial(len(each) - 1) for each in classes)
            if len(found) > most:
                break
        return found

    def _joined(self, whole: Quotient) -> list[int]:
        """Return for each vertex those that can't be it for a relationship joins them, as a bit mask."""
        apart = [0] * len(self.kinds)
        for bundle in whole.bundles:
            if not self.loops & set(bundle.types):
                apart[bundle.start] |= 1 << bundle.end
                apart[bundle.end] |= 1 << bundle.start
        return apart

    def _too_many(self, whole: Quotient, vertices: Iterable[tuple[int, ...]], most: int) -> bool:
        """Tell whether pairs of vertices that must differ make over ``most`` quotients, before one is made.

        Each way to make classes has one of its own, whose vertices the pairs hold together: its Möbius number isn't 0.
        Where a circle could rule some out it isn't known.
        """
        if any(len(each.types) == 1 and not each.symmetric for each in whole.bundles):
            return False
        apart = self._joined(whole)
        near = [0] * len(apart)
        for one, other in vertices:
            near[one] |= 1 << other
            near[other] |= 1 << one

        def classes(left: int, enough: int) -> int:
            """Return how many ways there are to make classes of the vertices ``left``, or ``enough``."""
            if not left:
                return 1
            first = left & -left
            return grown(left, first, first.bit_length() - 1, -1, 0, enough)

        def grown(left: int, members: int, last: int, kinds: int, ruled_out: int, enough: int) -> int:
            """Return the same where the first class has these ``members``, and may have more that aren't ruled out."""
            kinds &= self.kinds[last]
            ruled_out |= apart[last] | members
            if not kinds:
                return 0
            found = classes(left & ~members, enough)
            others, linked = left & ~ruled_out, 0
            for place in each_of(members):
                linked |= near[place]
            for place in each_of(others & linked):
                if found >= enough:
                    break
                found += grown(left, members | 1 << place, place, kinds, ruled_out, enough - found)
                ruled_out |= 1 << place
            return found

        return classes((1 << len(apart)) - 1, most + 1) > most

    def _partitions(self, apart: Sequence[int]) -> Iterator[list[list[int]]]:
        """Yield the ways to make classes of vertices that can coincide. The lists change when the next is asked for."""
        classes: list[list[int]] = []

        def placed(vertex: int) -> Iterator[list[list[int]]]:
            if vertex == len(apart):
                yield classes
                return
            classes.append([vertex])
            yield from placed(vertex + 1)
            classes.pop()
            for each in classes:
                kinds = self.kinds[vertex]
                for other in each:
                    kinds &= self.kinds[other] if not apart[vertex] >> other & 1 else 0
                if kinds:
                    each.append(vertex)
                    yield from placed(vertex + 1)
                    each.pop()

        return placed(0)

    def _coinciding(self, event: Iterable[tuple[int, int]], quotient: Quotient) -> Iterator[tuple[int, Quotient]]:
        merged = self._merged(quotient, event)
        if merged is not None:
            yield 1, merged

    def _same(self, one: int, other: int, quotient: Quotient) -> Iterator[tuple[int, Quotient]]:
        """Yield signed quotients whose homomorphisms are those in which two edges are the same relationship."""
        first = next(bundle for bundle in quotient.bundles if one in bundle.members)
        second = next(bundle for bundle in quotient.bundles if other in bundle.members)
        if first is second:
            yield 1, quotient
            return
        aligned: tuple[tuple[int, int], ...] = ((first.start, second.start), (first.end, second.end))
        ways = [(1, aligned)]
        if first.symmetric or second.symmetric:
            swapped = ((first.start, second.end), (first.end, second.start))
            ways += [(1, swapped), (-1, aligned + swapped)]
        rest = tuple(bundle for bundle in quotient.bundles if bundle is not first and bundle is not second)
        directed = second if first.symmetric else first
        joined = Bundle(
            tuple(sorted(first.members + second.members)),
            directed.start,
            directed.end,
            first.symmetric and second.symmetric,
            tuple(filter(frozenset(second.types).__contains__, first.types)),
        )
        for sign, equalities in ways:
            merged = self._merged(Quotient(quotient.classes, (*rest, joined)), equalities)
            if merged is not None:
                yield sign, merged

    def _linked(self, link: Bundle, quotient: Quotient) -> Iterator[tuple[int, Quotient]]:
        """Yield the quotient with one relationship more, which it may say already."""
        merged = self._merged(Quotient(quotient.classes, (*quotient.bundles, link)), ())
        if merged is not None:
            (here,) = (each for each in merged.bundles if each.members == link.members)
            known = any(self._implies(each, here) for each in merged.bundles if each is not here)
            yield 1, quotient if known else merged

    def _implies(self, bundle: Bundle, link: Bundle) -> bool:
        """Tell whether whatever is a bundle is such a link, too, between the same vertices."""
        edges = (*self.edges, *self.absent)
        free = not edges[link.members[0]].relationship.predicates
        return free and bundle[1:] == link[1:]

    def _merged(self, quotient: Quotient, equalities: Iterable[tuple[int, int]]) -> Quotient | None:
        """Return the quotient with more vertices made one; None if then nothing can match some vertex or edge."""
        classes = list(quotient.classes)
        for one, other in equalities:
            low, high = classes[one], classes[other]
            if low > high:
                low, high = high, low
            if low < high:
                classes = [low if each == high else each for each in classes]
        if self.labelled:
            kinds = [-1] * len(classes)
            for place, kind in zip(classes, self.kinds, strict=True):
                kinds[place] &= kind
            if 0 in kinds:
                return None
        bundles = []
        directed = False
        for each in quotient.bundles:
            members, start_was, end_was, symmetric, types = each
            start, end = classes[start_was], classes[end_was]
            if symmetric and start > end:
                start, end = end, start
            if not types or (start == end and self.loops.isdisjoint(types)):
                return None
            if start != start_was or end != end_was:
                each = Bundle(members, start, end, symmetric, types)
            bundles.append(each)
            directed = directed or not symmetric
        if directed and self._leads_back(bundles):
            return None
        bundles.sort(key=_members)
        return Quotient(tuple(classes), tuple(bundles))

    def _leads_back(self, bundles: Iterable[Bundle]) -> bool:
        """Tell whether relationships of one type would make a circle, of which the graph has none."""
        ways: dict[str, dict[int, int]] = {}
        for _, start, end, symmetric, types in bundles:
            if len(types) == 1 and not symmetric:
                after = ways.setdefault(types[0], {})
                after[start] = after.get(start, 0) | 1 << end
        return any(_has_circle(after) and self.acyclic(name) for name, after in ways.items())


_members = itemgetter(0)  # of a bundle

_Event = Callable[[Quotient], Iterator[tuple[int, Quotient]]]


def _without(found: dict[Quotient, int], event: _Event) -> dict[Quotient, int]:
    """Multiply signed quotients by (1 - event)."""
    check_planning()
    result = dict(found)
    for quotient, factor in found.items():
        for sign, merged in event(quotient):
            result[merged] = result.get(merged, 0) - sign * factor
    return {quotient: factor for quotient, factor in result.items() if factor}


def _has_circle(after: dict[int, int]) -> bool:
    """Tell whether some vertex leads back to itself, by what follows each directly, as a bit mask."""
    left = mask_of(after)  # those from which something goes on
    before = 0
    while left != before:
        before = left
        for vertex, behind in after.items():
            if not behind & left:
                left &= ~(1 << vertex)
    return left != 0


def relation_of(bundle: Bundle, edges: Sequence[PatternEdge]) -> tuple[Relation, bool]:
    """Return a bundle's relation seen from its start, and whether it joins two vertices at most once."""
    members = [edges[place] for place in bundle.members]
    conditions = tuple((each.name, each.relationship.predicates) for each in members if each.relationship.predicates)
    among = frozenset(bundle.types)
    infos = [info for info in members[0].types if info.name in among]
    relation = Relation(bundle.types, Direction.BOTH if bundle.symmetric else Direction.OUT, conditions)
    simple = len(infos) == 1 and not infos[0].parallel and (infos[0].undirected or not bundle.symmetric)
    return relation, simple
