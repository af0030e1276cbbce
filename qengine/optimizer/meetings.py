"""How many pairs of relationships that meet at a node satisfy what is asked of both and of the three nodes together.

Nodes that conditions admit, or that relationships which they admit lead to, may have more or fewer relationships than
others. A sample of such pairs shows that, and how conditions on both sides go together; of triangles those pairs count
that a third relationship closes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from math import prod, sqrt
from typing import Any

from qengine._frozen import frozen
from qengine.catalog.view import Sample
from qengine.optimizer.cardinality import Cardinality
from qengine.optimizer.order_problem import Problem, mask_of
from qengine.optimizer.pattern_edges import PatternEdge
from qengine.optimizer.peeking import known_values
from qengine.plan.expr import Expr
from qengine.plan.pattern import named
from qengine.plan.traverse import free_variables

_ALIKE = 1.25  # times as many, or as few: what says less leaves the parts of three nodes to what is known of two
_FEW = 16  # pairs that satisfy all: of fewer a larger sample says more
_MOST = 10  # edges of a pattern: of more there are too many meetings to look at each
_NODES = 512  # whose further relationships are looked at
_LEAST = 1e-9


@frozen
class _Meeting:
    """Two edges that meet at a node, and the one that closes the triangle, if any: all between these three nodes."""

    one: PatternEdge
    other: PatternEdge
    middle: str
    closing: PatternEdge | None

    @property
    def outer(self) -> tuple[str, str]:
        """The nodes at the other ends of the two."""
        first, last = (edge.ends[0] if edge.ends[1] == self.middle else edge.ends[1] for edge in (self.one, self.other))
        return first, last

    @property
    def edges(self) -> tuple[PatternEdge, ...]:
        """The two or three edges."""
        return (self.one, self.other) if self.closing is None else (self.one, self.other, self.closing)


def corrections(
    edges: Sequence[PatternEdge],
    problem: Problem,
    number: Mapping[str, int],
    across: Sequence[Expr],
    apart: Callable[[frozenset[str]], str],
    rows: Callable[[int], float],
    cardinality: Cardinality,
) -> list[tuple[int, float]]:
    """Return sets of nodes, and how many times as many matches as by degrees they have with all conditions.

    Of three nodes where two relationships meet, and of these with a fourth that is next to one of them: who is in such
    matches has other relationships than who isn't.

    Parameters
    ----------
    edges
        Those between nodes that no rows give.
    across
        The conditions on two nodes.
    apart
        What differs of two outer nodes, as ``CatalogView.wedge_sample`` wants it.
    rows
        Tells how many matches a set of nodes has, as far as is known of pairs of nodes.

    Returns
    -------
    As ``Problem.pairs``; what these say of two of the nodes is part of it. What says most comes first.
    """
    if not 1 < len(edges) <= _MOST:
        return []
    between = _between(edges)
    three: dict[int, tuple[float, float]] = {}
    four: dict[int, tuple[float, float]] = {}

    def matches(part: int, of: Sequence[PatternEdge]) -> float:
        return rows(part) * prod(map(cardinality.multiplicity, of))

    of_sets = dict((*problem.pairs, *problem.known))

    def known(part: int) -> float:
        return prod(factor for pair, factor in of_sets.items() if pair & part == pair)

    for found in _meetings(between):
        names = frozenset((*found.outer, found.middle))
        part = mask_of(number[name] for name in names)
        conditions = [each for each in across if free_variables(each) <= names]
        for edge in found.edges:
            conditions += edge.relationship.predicates
        for name in names if found.closing is not None else found.outer:
            conditions += cardinality.nodes[name].predicates
        tails = [(part | 1 << number[end], edge, end) for edge, end in _tails(between, names)]
        tails = [
            each
            for each in tails
            if each[0] not in four and (conditions or found.closing is not None or found.middle in each[1].ends)
        ]  # else what is known of two says it: how degrees go together at the node between them
        if not (conditions and part not in three) and not tails:
            continue
        expected = matches(part, found.edges)
        differ = apart(frozenset(found.outer))
        seen = _seen(found, across, expected, differ, cardinality)
        if seen is None:
            continue
        times, nodes = seen
        if conditions:
            three.setdefault(part, (times, times * known(part)))
        for larger, edge, end in tails:
            (near,) = {*edge.ends} - {end}
            kind = cardinality.incidence(edge, near)
            degrees = cardinality.catalog.degrees_of(nodes[near], kind)
            if degrees is None or len(degrees) < _FEW:
                continue
            if differ:  # from those of the match
                alike = [
                    each for each in found.edges if near in each.ends and cardinality.incidence(each, near) == kind
                ]
                degrees = (degrees - len(alike)).clip(0.0)
            share = cardinality.candidates(end) / max(cardinality.labelled(end), 1.0)
            if not cardinality.nodes[near].predicates:
                share *= known(larger) / known(part)
            elif any(end in free_variables(each) for each in across):
                continue
            else:  # what is known of both says what is seen: how many relationships such a node has
                share *= cardinality.admitted(edge)
            mean = matches(larger, (*found.edges, edge)) / max(expected, _LEAST)
            more = (float(degrees.mean()) + mean / len(degrees)) * share / max(mean, _LEAST)
            four[larger] = more, (times if conditions else 1.0) * more * known(larger)
    return [
        (part, max(factor, _LEAST))
        for sets in (four, three)
        for part, (times, factor) in sorted(
            sets.items(), key=lambda each: -max(each[1][0], 1.0 / max(each[1][0], _LEAST))
        )
        if not 1.0 / _ALIKE < times < _ALIKE
    ]


def _between(edges: Sequence[PatternEdge]) -> dict[frozenset[str], list[PatternEdge]]:
    found: dict[frozenset[str], list[PatternEdge]] = {}
    for edge in edges:
        found.setdefault(frozenset(edge.ends), []).append(edge)
    return found


def _meetings(between: Mapping[frozenset[str], list[PatternEdge]]) -> Iterator[_Meeting]:
    """Yield each two edges that meet at one node and lead to two others; of triangles at each corner."""
    alone = {ends: found[0] for ends, found in between.items() if len(found) == 1 and len(ends) == 2}
    for one, other in combinations(alone, 2):
        if len(one & other) == 1:
            outer = one ^ other
            if outer not in between or outer in alone:
                (middle,) = one & other
                yield _Meeting(alone[one], alone[other], middle, alone.get(outer))


def _tails(
    between: Mapping[frozenset[str], list[PatternEdge]], names: frozenset[str]
) -> Iterator[tuple[PatternEdge, str]]:
    """Yield the edges that lead from some nodes to one that no other joins with these, with its name."""
    near = [ends for ends in between if len(ends) == 2 and len(ends & names) == 1]
    others = Counter(end for ends in near for end in ends - names)
    for ends in near:
        (end,) = ends - names
        if others[end] == 1 and len(between[ends]) == 1:
            yield between[ends][0], end


def _seen(
    found: _Meeting, across: Sequence[Expr], expected: float, apart: str, cardinality: Cardinality
) -> tuple[float, dict[str, Any]] | None:
    """Return how many times as many matches as expected a sample of pairs shows; None where it can't tell.

    And the ids (int64) that nodes have in some of the matches, by the nodes' names.
    """
    from qengine.optimizer.sampled import how_many, times_as_many

    catalog, middle = cardinality.catalog, found.middle
    label = named(cardinality.nodes[middle].labels)
    kinds = cardinality.incidence(found.one, middle), cardinality.incidence(found.other, middle)
    conditions = [*found.one.relationship.predicates, *found.other.relationship.predicates]
    for name in (*found.outer, middle):
        conditions += cardinality.nodes[name].predicates
    conditions += [each for each in across if free_variables(each) <= {*found.outer, middle}]
    for many in (False, True):
        sample = catalog.wedge_sample(label, *kinds, apart=apart, many=many)
        mask = None if sample is None or not sample.size else _holding(sample, found, conditions)
        if sample is None or mask is None:
            return None
        if found.closing is None:
            seen = float(how_many(mask))
        else:
            closing = catalog.closing(sample, cardinality.incidence(found.closing, found.outer[0]))
            seen = float(closing[mask].sum()) * cardinality.admitted(found.closing)
            mask = mask & (closing > 0)
        if seen >= _FEW or many:
            break
    assert sample is not None
    places = zip((*found.outer, middle), ("first", "last", "middle"), strict=True)
    step = max(1, how_many(mask) // _NODES)
    chance = expected / sample.total * sample.size
    likely = abs(seen - chance) <= 2.0 * sqrt(chance) + 1.0  # where so many are expected
    times = 1.0 if seen < _FEW and likely else times_as_many(seen, chance)
    if seen < _FEW and (matches := _at_admitted(found, across, apart, cardinality)) is not None:
        times = max(matches, _LEAST) / max(expected, _LEAST)
    return times, {name: sample.ids(element, mask)[::step] for name, element in places}


def _at_admitted(found: _Meeting, across: Sequence[Expr], apart: str, cardinality: Cardinality) -> float | None:
    """Return how many matches two edges that meet have, by the degrees of nodes where one of them is admitted.

    None where a third closes them, few are seen, or conditions on the other's end ask for more than that end.
    """
    from qengine.optimizer.sampled import conjunction, how_many

    catalog, nodes, middle = cardinality.catalog, cardinality.nodes, found.middle
    if found.closing is not None:
        return None
    for edge, other, outer, far in zip(found.edges, found.edges[::-1], found.outer, found.outer[::-1], strict=True):
        asked = [each for each in across if free_variables(each) <= {*found.outer, middle}]
        if len(edge.types) != 1 or any(far in free_variables(each) for each in asked):
            continue
        conditions = [*edge.relationship.predicates, *nodes[outer].predicates, *nodes[middle].predicates, *asked]
        start, end = edge.ends
        labels = named(nodes[start].labels), named(nodes[end].labels)
        sample = catalog.relationship_sample(edge.type_names()[0], *labels, both=edge.symmetric, many=True)
        if sample is None or not conditions:
            continue
        rows = {start: (sample, "start"), edge.name: (sample, "relationship"), end: (sample, "end")}
        mask, known = conjunction(conditions, rows, known_values())
        if mask is None or len(known) < len(conditions) or how_many(mask) < (_FEW if sample.size < sample.total else 0):
            continue
        kind = cardinality.incidence(other, middle)
        degrees = catalog.degrees_of(sample.ids("start" if start == middle else "end", mask), kind)
        if degrees is None:
            continue
        if apart and kind == cardinality.incidence(edge, middle):
            degrees = (degrees - 1.0).clip(0.0)  # the others
        share = cardinality.candidates(far) / max(cardinality.labelled(far), 1.0)
        if nodes[middle].predicates:  # which the sample satisfies
            share *= cardinality.admitted(other)
        else:
            share *= cardinality.joined(other, ())  # who is asked for may have other relationships
        return float(degrees.sum()) * share * sample.total / sample.size
    return None


def _holding(sample: Sample, found: _Meeting, conditions: Sequence[Expr]) -> Any:
    """Return which pairs of a sample satisfy conditions; None where it can't tell."""
    import numpy as np

    from qengine.optimizer.sampled import conjunction

    first, last = found.outer
    rows = {found.middle: (sample, "middle"), first: (sample, "first"), last: (sample, "last")}
    for edge, element in ((found.one, "to_first"), (found.other, "to_last")):
        if len(edge.types) == 1:
            rows[edge.name] = sample, element
    if not all(free_variables(each) <= rows.keys() for each in conditions):
        return None
    mask, known = conjunction(conditions, rows, known_values())
    if len(known) < len(conditions):
        return None
    return np.ones(sample.size, np.bool_) if mask is None else mask
