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
from typing import NamedTuple

from qengine.optimizer.difference import Differences
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
) -> dict[Quotient, int] | None:
    """Return by quotient how often its homomorphisms count; None if there are over ``most``, or one has no relation.

    The embeddings in which everything differs that must are the sum, over the quotients, of factor times homomorphisms.
    ``kinds``: for each vertex the label sets that it can have, as a bit mask. ``acyclic`` tells whether no path of a
    type leads back to where it began; it is asked where that matters.
    """
    if difference.contradiction:
        return {}
    if any(edge.swappable and not edge.symmetric for edge in edges):
        return None
    return _Quotients(names, edges, kinds, acyclic).signed(difference, most)


class _Quotients:
    def __init__(
        self,
        names: Sequence[str],
        edges: Sequence[PatternEdge],
        kinds: Sequence[int],
        acyclic: Callable[[str], bool],
    ) -> None:
        self.kinds = kinds
        self.acyclic = acyclic
        self.vertices = {name: place for place, name in enumerate(names)}
        self.edges = edges
        self.places = {edge.name: place for place, edge in enumerate(edges)}
        self.loops = {info.name for edge in edges for info in edge.types if info.loops}

    def signed(self, difference: Differences, most: int) -> dict[Quotient, int] | None:
        number = self.vertices
        bundles = [
            Bundle((place,), number[edge.ends[0]], number[edge.ends[1]], edge.symmetric, edge.type_names())
            for place, edge in enumerate(self.edges)
        ]
        whole = self._merged(Quotient(tuple(range(len(self.vertices))), tuple(bundles)), ())
        found = {} if whole is None else {whole: 1}
        equalities = [[(self.vertices[a], self.vertices[b]) for a, b in same] for same in difference.pairs]
        if whole is not None and len(difference.vertices) == comb(len(self.vertices), 2):
            found = self._all_apart(whole, most)
        else:
            vertices = [tuple(sorted(self.vertices[name] for name in pair)) for pair in difference.vertices]
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
        return found

    def _all_apart(self, whole: Quotient, most: int) -> dict[Quotient, int]:
        """Return the quotients of a pattern whose vertices must all differ, no more than one over ``most``."""
        apart = [0] * len(self.kinds)  # for each vertex those that a relationship joins it to, as a bit mask
        for bundle in whole.bundles:
            if not self.loops & set(bundle.types):
                apart[bundle.start] |= 1 << bundle.end
                apart[bundle.end] |= 1 << bundle.start
        found: dict[Quotient, int] = {}
        for classes in self._partitions(apart):
            merged = self._merged(whole, [(each[0], other) for each in classes for other in each[1:]])
            if merged is not None:
                found[merged] = prod((-1) ** (len(each) - 1) * factorial(len(each) - 1) for each in classes)
            if len(found) > most:
                break
        return found

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
            tuple(name for name in first.types if name in second.types),
        )
        for sign, equalities in ways:
            merged = self._merged(Quotient(quotient.classes, (*rest, joined)), equalities)
            if merged is not None:
                yield sign, merged

    def _merged(self, quotient: Quotient, equalities: Iterable[tuple[int, int]]) -> Quotient | None:
        """Return the quotient with more vertices made one; None if then nothing can match some vertex or edge."""
        classes = list(quotient.classes)
        for one, other in equalities:
            low, high = sorted((classes[one], classes[other]))
            classes = [low if each == high else each for each in classes]
        kinds = [-1] * len(classes)
        for place, kind in zip(classes, self.kinds, strict=True):
            kinds[place] &= kind
        if 0 in kinds:
            return None
        bundles = []
        for each in quotient.bundles:
            start, end = classes[each.start], classes[each.end]
            if each.symmetric and start > end:
                start, end = end, start
            if not each.types or (start == end and not self.loops & set(each.types)):
                return None
            moved = (start, end) != (each.start, each.end)
            bundles.append(Bundle(each.members, start, end, each.symmetric, each.types) if moved else each)
        if self._leads_back(bundles):
            return None
        return Quotient(tuple(classes), tuple(sorted(bundles, key=lambda each: each.members)))

    def _leads_back(self, bundles: Iterable[Bundle]) -> bool:
        """Tell whether relationships of one type would make a circle, of which the graph has none."""
        ways: dict[str, set[tuple[int, int]]] = {}
        for each in bundles:
            if len(each.types) == 1 and not each.symmetric:
                ways.setdefault(each.types[0], set()).add((each.start, each.end))
        return any(_has_circle(pairs) and self.acyclic(name) for name, pairs in ways.items())


_Event = Callable[[Quotient], Iterator[tuple[int, Quotient]]]


def _without(found: dict[Quotient, int], event: _Event) -> dict[Quotient, int]:
    """Multiply signed quotients by (1 - event)."""
    result = dict(found)
    for quotient, factor in found.items():
        for sign, merged in event(quotient):
            result[merged] = result.get(merged, 0) - sign * factor
    return {quotient: factor for quotient, factor in result.items() if factor}


def _has_circle(pairs: set[tuple[int, int]]) -> bool:
    """Tell whether ``pairs`` (start, end) lead from some vertex back to it."""
    left = pairs
    while left:
        ends = {end for _, end in left}
        pairs, left = left, {pair for pair in left if pair[0] in ends}
        if left == pairs:
            return True
    return False


def relation_of(bundle: Bundle, edges: Sequence[PatternEdge]) -> tuple[Relation, bool]:
    """Return a bundle's relation seen from its start, and whether it joins two vertices at most once."""
    members = [edges[place] for place in bundle.members]
    conditions = tuple((each.name, each.relationship.predicates) for each in members if each.relationship.predicates)
    infos = [info for info in members[0].types if info.name in bundle.types]
    relation = Relation(bundle.types, Direction.BOTH if bundle.symmetric else Direction.OUT, conditions)
    simple = len(infos) == 1 and not infos[0].parallel and (infos[0].undirected or not bundle.symmetric)
    return relation, simple
