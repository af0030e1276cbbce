"""Cardinalities from statistics: candidates of a node, how likely a relationship is, how unequal degrees are.

Label pairs, the moments of degrees, and how degrees in two kinds of relationships go together are taken as they are in
the graph; how conditions go together is seen in samples; everything else is assumed independent.
Estimates only order alternatives: they never decide whether a plan is right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, fields
from itertools import combinations, product
from math import sqrt
from operator import attrgetter
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from qengine._frozen import record, replace
from qengine.catalog.view import CatalogView, EdgeStatistics, Incidence, Labels, TriangleSide
from qengine.optimizer.correlation import Joint, admitted_nodes, over_two
from qengine.optimizer.labels import vertex_count
from qengine.optimizer.memory import Lasting, memory
from qengine.optimizer.order_problem import DegreeStatistics, Link
from qengine.optimizer.pattern_edges import PatternEdge, known_edge
from qengine.optimizer.peeking import as_known, counts_rare
from qengine.optimizer.selectivity import selectivity
from qengine.optimizer.unjoined import Element, share_of_all
from qengine.plan.expr import Expr
from qengine.plan.pattern import Direction, PatternNode, named
from qengine.plan.traverse import free_variables

_MOST_CACHED = 4096
_LEAST = 1e-6

_SKEWS = ("skew", "lesser", "mixed", "greater")

_T = TypeVar("_T")
_Linked = tuple[float, DegreeStatistics, DegreeStatistics, tuple[Incidence, Incidence]]


class _Unconditional:
    """What is known of a graph's relationships whatever conditions there are: no query changes it.

    ``links`` by the labels of the ends and the types. ``together``: how kinds of relationships go together, by a node's
    labels and the kinds. ``sums``: statistics of several types and directions as of one, by labels and types.
    ``closing``: how much more likely each side of a triangle is, by labels and sides. ``kinds``: each kind once.
    """

    def __init__(self) -> None:
        self.links: dict[object, _Linked] = {}
        self.together: dict[object, list[float]] = {}
        self.sums: dict[object, EdgeStatistics] = {}
        self.kinds: dict[Incidence, Incidence] = {}
        self.closing: dict[object, tuple[float, float, float]] = {}


_NOTHING_KNOWN = _Unconditional()
_pairs = Lasting()
"""How many times as many pairs of ends edges join, by what they and their ends are asked (``Cardinality.joined``)."""

_unconditional: WeakKeyDictionary[CatalogView, _Unconditional] = WeakKeyDictionary()
_fields_of = attrgetter(*(each.name for each in fields(EdgeStatistics)))


def cardinality_of(catalog: CatalogView, nodes: dict[str, PatternNode]) -> Cardinality:
    """Return the estimates over some nodes: those of before where the statement has asked for them before."""
    known = memory("cardinalities")
    key = counts_rare(), *nodes.values()
    found = known.get(key)
    if found is None:
        found = known[key] = Cardinality(catalog, nodes)
    same: Cardinality = found
    return same


@record
class Cardinality:
    """Estimates over one catalogue and one pattern; remembers what it has looked up."""

    catalog: CatalogView
    nodes: dict[str, PatternNode]
    _labelled: dict[str, float] = field(default_factory=dict)
    _candidates: dict[str, float] = field(default_factory=dict)
    _probability: dict[PatternEdge, float] = field(default_factory=dict)
    _degree_statistics: dict[tuple[PatternEdge, bool], DegreeStatistics] = field(default_factory=dict)
    _found: dict[tuple[Labels, str, Labels], EdgeStatistics] = field(default_factory=dict)
    _admitted_nodes: dict[str, Any] = field(default_factory=dict)
    _whatever: _Unconditional = _NOTHING_KNOWN

    def __post_init__(self) -> None:
        known = _unconditional.get(self.catalog)
        self._whatever = _unconditional.setdefault(self.catalog, _Unconditional()) if known is None else known

    def labelled(self, name: str) -> float:
        """Return how many vertices have the node's labels."""
        if name not in self._labelled:
            self._labelled[name] = float(vertex_count(self.catalog, self.nodes[name].labels))
        return self._labelled[name]

    def candidates(self, name: str) -> float:
        """Return the expected number of candidates |C(u)| of a node: by labels and own predicates."""
        if name not in self._candidates:
            count = self.labelled(name)
            if predicates := self.nodes[name].predicates:
                count *= selectivity(predicates, self.catalog, "node", self.nodes[name].labels)
            self._candidates[name] = max(perhaps(count), _LEAST)
        return self._candidates[name]

    def probability(self, edge: PatternEdge) -> float:
        """Return how likely two vertices with the labels of the edge's ends are joined by a match of it."""
        return max(self._linked(edge) * self.admitted(edge), 1e-12)

    def _linked(self, edge: PatternEdge) -> float:
        """Return how likely two such vertices are joined by a relationship, whatever its own conditions."""
        found = self._probability.get(edge)
        if found is None:
            start, end = edge.ends
            edges = float(self._summed(edge, True).edges)
            pairs = max(self.labelled(start), 1.0) * max(self.labelled(end), 1.0)
            found = self._probability[edge] = max(min(edges / pairs, 1.0), 1e-12)
        return found

    def multiplicity(self, edge: PatternEdge) -> float:
        """Return how many relationships at least an edge is expected to match between two vertices that it joins.

        Where there are more relationships than pairs of vertices, the mean of a pair; else 1.
        """
        if not edge.multiple:
            return 1.0
        edges = float(self._summed(edge, True).edges)
        pairs = max(self.labelled(edge.ends[0]), 1.0) * max(self.labelled(edge.ends[1]), 1.0)
        return max(1.0, edges / pairs * self.admitted(edge))

    def looping(self, edge: PatternEdge) -> float:
        """Return which share of the nodes at both ends of an edge have a loop that it may be: by samples."""
        if not edge.loops:
            return 0.0
        label = named(self.nodes[edge.ends[0]].labels)
        loops = 0.0
        for info in edge.types:
            sample = self.catalog.relationship_sample(info.name, label, label, both=False)
            if sample is None:
                return 1.0
            rows = slice(None)
            same = int((sample.ids("start", rows) == sample.ids("end", rows)).sum())
            loops += sample.total * same / max(sample.size, 1)
        return min(1.0, loops * self.admitted(edge) / max(self.labelled(edge.ends[0]), 1.0))

    def share(self, edge: PatternEdge) -> float:
        """Return which share of its types' relationships an edge may match, by its ends' labels and predicates."""
        every = float(sum(info.count for info in edge.types))
        share = self._summed(edge, True).edges / max(every, 1.0)
        for name in edge.ends:
            share *= self.candidates(name) / max(self.labelled(name), 1.0)
        return share

    def degree_statistics(self, edge: PatternEdge, origin: str) -> DegreeStatistics:
        """Return the degrees of the vertices that can match an edge's end ``origin``, whatever its own conditions."""
        start, end = edge.ends
        key = edge, origin == start
        known = self._degree_statistics.get(key)
        if known is None:
            size = max(self.labelled(origin), 1.0)
            other = max(self.labelled(end if origin == start else start), 1.0)
            summed = self._summed(edge, origin == start)
            known = _degree_statistics(summed, size, self._linked(edge) * other)
            if len(edge.types) > 1 or (edge.relationship.direction is Direction.BOTH and not edge.types[0].undirected):
                known = self._of_all(known, float(summed.edges), size, edge, origin)
            self._degree_statistics[key] = known
        return known

    def _of_all(
        self, known: DegreeStatistics, edges: float, size: float, edge: PatternEdge, origin: str
    ) -> DegreeStatistics:
        """Return the moments of the sums of degrees in several types or directions: these go together at a vertex."""
        kind = self.incidence(edge, origin)
        every = self.catalog.together(named(self.nodes[origin].labels), kind, kind)
        skew = max(every - size / max(edges, 1.0), known.skew)
        return replace(known, **{name: getattr(known, name) * skew / known.skew for name in _SKEWS})

    def link(self, edge: PatternEdge, number: Mapping[str, int]) -> Link:
        """Return an edge between two different vertices as the cost model wants it: what there is to be read.

        What its own conditions leave of that is in ``joined``.
        """
        start, end = edge.ends
        known = self._whatever.links
        key = self.nodes[start].labels, edge.type_names(), edge.relationship.direction, self.nodes[end].labels
        found = known.get(key)
        if found is None:
            found = _kept(known, key, self._link(edge))
        return Link(number[start], number[end], *found)

    def joined(self, edge: PatternEdge, across: Sequence[Expr]) -> float:
        """Return how many times as many pairs of ends an edge joins as its links say, for what conditions demand.

        ``across``: conditions on several of the edge and its ends.
        """
        start, end = self.nodes[edge.ends[0]], self.nodes[edge.ends[1]]
        if not (across or edge.relationship.predicates or start.predicates or end.predicates):
            return 1.0
        for name in edge.ends:  # whoever has asked before, what is known of these is noted
            self.candidates(name)
        self.admitted(edge)
        key = known_edge(edge), as_known((start, end, *across)), counts_rare()
        found = _pairs.of(self.catalog).get(key, lambda: (self._joined(edge, across), 1))
        times: float = found[0]
        return times

    def _joined(self, edge: PatternEdge, across: Sequence[Expr]) -> float:
        joint = self._joint(edge, tuple(across))
        ends = self.candidates(edge.ends[0]) * self.candidates(edge.ends[1])
        found = self.admitted(edge) * joint.factor({name: self.element(name) for name in edge.ends}, self.catalog)
        pairs = max(self._linked(edge) * ends, 1e-9)
        return max(found, min(1.0, perhaps(found * pairs) / pairs))

    def _joint(self, edge: PatternEdge, across: tuple[Expr, ...] = ()) -> Joint:
        types = tuple(self._by_type(edge))
        predicates = edge.relationship.predicates
        return Joint(edge.name, edge.ends, types, edge.symmetric, predicates, self.admitted(edge), across)

    def admitted(self, edge: PatternEdge) -> float:
        """Return the share of its relationships that an edge's own conditions admit."""
        predicates = edge.relationship.predicates
        if not predicates:
            return 1.0
        return selectivity(predicates, self.catalog, "relationship", edge.relationship.types)

    def apart(
        self, predicates: Sequence[Expr], edges: Sequence[PatternEdge], given: Sequence[Expr], differ: str
    ) -> float:
        """Return how likely two nodes that no edge joins satisfy conditions on both.

        Where a third node is joined with both that is seen in a sample of such pairs of relationships: values may be
        alike along these, and both nodes the same one, but for what must ``differ``. ``given``: other conditions.
        """
        names = frozenset[str]().union(*map(free_variables, predicates))
        nodes = {name: self.element(name) for name in sorted(names) if name in self.nodes}
        alone = share_of_all(predicates, nodes, self.catalog)
        first, last = sorted(names) if len(names) == 2 else ("", "")
        ways = ([edge for edge in edges if name in edge.ends and not edge.loops] for name in (first, last))
        for one, other in product(*ways):
            middle = set(one.ends) & set(other.ends) - names
            if middle and alone:
                joints = self._joint(one), self._joint(other)
                elements = {name: self.element(name) for name in (*names, *middle)}
                return over_two(joints, elements, predicates, given, alone, self.catalog, apart=differ)
        return alone

    def element(self, name: str) -> Element:
        """Return what the conditions on a node are, and how many nodes satisfy them."""
        node = self.nodes[name]
        return Element(node.labels, node.predicates, self.candidates(name) / max(self.labelled(name), 1.0))

    def _by_type(self, edge: PatternEdge) -> Iterator[tuple[str, float]]:
        """Yield each type's name with how many of its relationships join the labels of an edge's ends."""
        source, target = (named(self.nodes[name].labels) for name in edge.ends)
        for info in edge.types:
            edges = self._known(source, info.name, target).edges
            if edge.relationship.direction is Direction.BOTH and not info.undirected:
                edges += self._known(target, info.name, source).edges
            yield info.name, float(edges)

    def incidence(self, edge: PatternEdge, origin: str) -> Incidence:
        """Return the relationships of the vertices at an edge's end ``origin`` that it may be, predicates aside."""
        start, end = edge.ends
        label = named(self.nodes[end if origin == start else start].labels)
        outward = (edge.relationship.direction is Direction.OUT) == (origin == start)
        return Incidence(edge.type_names(), edge.symmetric or outward, edge.symmetric or not outward, label)

    def together(self, name: str, kinds: tuple[Incidence, ...], common: Sequence[Incidence | None]) -> list[float]:
        """Return how many times likelier a node has a relationship of one kind where it has one of another.

        Of each pair of ``kinds``, as ``itertools.combinations`` yields them. ``common``: what the two relationships of
        a pair may not both be, of each pair.
        """
        own = [self._own_degrees(name, kind) for kind in kinds]
        if all(degrees is not None for degrees in own):
            same = [0.0 if each is None else self._own_degrees(name, each).sum() for each in common]
            return [
                float((max((one * other).sum() - less, 0.0) + 1.0) / (one.sum() * other.mean() + 1.0))
                for (one, other), less in zip(combinations(own, 2), same, strict=True)
            ]
        known = self._whatever.together
        key = self.nodes[name].labels, kinds
        found = known.get(key)
        label = named(self.nodes[name].labels)
        if found is None:
            found = _kept(known, key, [self.catalog.together(label, *pair) for pair in combinations(kinds, 2)])
        if not any(common):
            return found
        return [
            times if less is None else self._apart(name, times, pair, less)
            for times, pair, less in zip(found, combinations(kinds, 2), common, strict=True)
        ]

    def _apart(self, name: str, times: float, kinds: tuple[Incidence, Incidence], common: Incidence) -> float:
        """Return how many times likelier both are where they aren't the same relationship of what is ``common``."""
        one, other, less = (self._count(name, kind) for kind in (*kinds, common))
        expected = one * other / max(self.labelled(name), 1.0) + 1.0
        return (max(times * expected - 1.0 - less, 0.0) + 1.0) / expected

    def _count(self, name: str, kind: Incidence) -> float:
        """Return how many relationships of a kind the nodes with a node's labels have."""
        label, found = named(self.nodes[name].labels), 0.0
        for type in kind.types:
            info = self.catalog.relationship_type(type)
            found += self._known(label, type, kind.labels).edges if kind.out else 0.0
            if kind.into and not (kind.out and info is not None and info.undirected):
                found += self._known(kind.labels, type, label).edges
        return found

    def closing(
        self, names: tuple[str, str, str], sides: tuple[TriangleSide, TriangleSide, TriangleSide]
    ) -> tuple[float, float, float]:
        """Return how much more likely each side of a triangle of nodes is where the other two are."""
        known = self._whatever.closing
        key = tuple(self.nodes[name].labels for name in names), sides
        found = known.get(key)
        if found is None:
            one, other, third = (named(self.nodes[name].labels) for name in names)
            found = _kept(known, key, _closing_odds((one, other, third), sides, self.catalog))
        return found

    def unequal(self, name: str, kind: Incidence, known: DegreeStatistics, again: bool) -> DegreeStatistics:
        """Return what is ``known`` of degrees of a kind with the moments of those nodes that its conditions admit.

        ``again``: the relationships of a pair may be the same one.
        """
        degrees = self._own_degrees(name, kind)
        if degrees is not None and degrees.any():
            mean, pairs, triples = (float(found.mean()) for found in _falling(degrees))
            skew = max(pairs / mean**2, _LEAST)
            tail = triples * mean / pairs**2 if pairs else 1.0
        elif again:
            mean, tail = max(known.fan_out, _LEAST), known.tail
            skew = _LEAST if known.most <= 1.0 else known.skew  # no pairs are as if it weren't known
        else:
            return known
        if again:  # E[dd] = E[d(d-1)] + E[d], and so on
            pairs = skew * mean**2
            every = pairs + mean
            skew, tail = every / mean**2, (tail * pairs**2 / mean + 3.0 * pairs + mean) * mean / every**2
        times = skew / known.skew
        ordered = (times * each for each in (known.lesser, known.mixed, known.greater))
        return DegreeStatistics(known.fan_out, known.most, skew, tail, *ordered)

    def _own_degrees(self, name: str, kind: Incidence) -> Any:
        """Return the degrees of a kind of what a node's conditions admit: None without, or where none is known."""
        node = self.nodes[name]
        if not node.predicates or not counts_rare():
            return None
        if name not in self._admitted_nodes:
            self._admitted_nodes[name] = admitted_nodes(node.predicates, node.labels, self.catalog)
        nodes = self._admitted_nodes[name]
        return None if nodes is None or not len(nodes) else self.catalog.degrees_of(nodes, kind)

    def _link(self, edge: PatternEdge) -> _Linked:
        start, end = edge.ends
        known = self._whatever.kinds
        one, other = (known.setdefault(kind, kind) for kind in (self.incidence(edge, end) for end in edge.ends))
        return self._linked(edge), self.degree_statistics(edge, start), self.degree_statistics(edge, end), (one, other)

    def _summed(self, edge: PatternEdge, forward: bool) -> EdgeStatistics:
        """Return the statistics of an edge's types and directions together, seen from one end."""
        source, target = (named(self.nodes[name].labels) for name in edge.ends)
        either_way = edge.relationship.direction is Direction.BOTH
        known, key = self._whatever.sums, (source, target, edge.type_names(), either_way, forward)
        found = known.get(key)
        if found is not None:
            return found
        parts = []
        for info in edge.types:
            one, back = self._known(source, info.name, target), self._known(target, info.name, source)
            ways = [one, _turned(back)] if either_way and not info.undirected else [one]
            parts += ways if forward else [_turned(way) for way in ways]
        return _kept(known, key, _sum(parts))

    def _known(self, source: Labels, type: str, target: Labels) -> EdgeStatistics:
        key = source, type, target
        if key not in self._found:
            self._found[key] = self.catalog.edge_statistics(*key)
        return self._found[key]


def _kept(known: dict[object, _T], key: object, found: _T) -> _T:
    if len(known) >= _MOST_CACHED:
        known.clear()
    known[key] = found
    return found


def _closing_odds(
    labels: tuple[Labels, Labels, Labels],
    sides: tuple[TriangleSide, TriangleSide, TriangleSide],
    catalog: CatalogView,
) -> tuple[float, float, float]:
    types = {kind.types for side in sides for kind in side}
    if len(types) > 1 or _is_circle(sides):
        return catalog.mixed_closing_odds(labels, sides)
    (names,) = types
    if len(names) != 1:
        return 1.0, 1.0, 1.0
    odds = catalog.closing_odds(names[0], sorted(labels, key=str))
    return odds, odds, odds


def _is_circle(sides: tuple[TriangleSide, TriangleSide, TriangleSide]) -> bool:
    """Tell whether the relationships of a triangle lead around it, in one direction."""
    (first, _), (second, _), (third, _) = sides
    if any(each.out and each.into for each in (first, second, third)):
        return False
    return first.out == second.out != third.out


def perhaps(expected: float) -> float:
    """Return how many there are, of what is asked for and therefore perhaps there, however few are expected.

    Less than one is either none or one at least: the root of what is expected is as far from both.
    """
    return max(expected, sqrt(max(0.0, min(expected, 1.0))))


def _falling(degrees: Any) -> tuple[Any, Any, Any]:
    """Return d, d(d-1) and d(d-1)(d-2)."""
    pairs = degrees * (degrees - 1.0)
    return degrees, pairs, pairs * (degrees - 2.0)


def _turned(found: EdgeStatistics) -> EdgeStatistics:
    """Return statistics seen from the targets. How their ids are ordered is kept: it matters among equals only."""
    return EdgeStatistics(
        found.edges,
        found.targets,
        found.sources,
        found.max_in,
        found.max_out,
        found.in_pairs,
        found.in_triples,
        found.out_pairs,
        found.out_triples,
        found.lesser_squares,
        found.greater_squares,
    )


def _sum(parts: Sequence[EdgeStatistics]) -> EdgeStatistics:
    """Add up statistics of relations that don't overlap, as if their degrees were unrelated."""
    if len(parts) == 1:
        return parts[0]
    sums = [sum(values) for values in zip(*map(_fields_of, parts), strict=True)]
    return EdgeStatistics(*sums) if sums else EdgeStatistics(0, 0, 0)


def _degree_statistics(found: EdgeStatistics, size: float, fan_out: float) -> DegreeStatistics:
    """Return the moments of the degrees of ``size`` vertices relative to their mean."""
    edges = float(found.edges)
    most = max(float(found.max_out), fan_out, 1e-9)
    pairs = found.out_pairs
    if edges == 0.0 or pairs == 0.0:  # none has two, or it isn't known
        return DegreeStatistics(fan_out, most)
    scale = size / (edges * edges)
    skew = pairs * scale
    tail = max(found.out_triples * edges / (pairs * pairs), 1.0)
    if found.lesser_squares + found.greater_squares == 0.0:
        return DegreeStatistics(fan_out, most, skew, tail, skew, skew, skew)
    squares = pairs + edges
    mixed = (squares - found.lesser_squares - found.greater_squares) / 2
    ordered = (4 * scale * each for each in (found.lesser_squares, mixed, found.greater_squares))
    return DegreeStatistics(fan_out, most, skew, tail, *ordered)
