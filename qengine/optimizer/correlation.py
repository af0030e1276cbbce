"""How conditions go together: on one element, and on the elements that a relationship joins, by samples of both.

Shares of single conditions are well known from summaries of all values, what they are together from a sample: how many
of its rows satisfy all, against how many would if they were independent (``sampled.times_as_many``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import nlargest
from math import prod
from operator import itemgetter
from typing import Any

from qengine._frozen import frozen, replace
from qengine.catalog.view import CatalogView, Incidence, Sample
from qengine.optimizer.peeking import counts_rare, known_values
from qengine.optimizer.selectivity import selectivity
from qengine.optimizer.unjoined import Element, different, share_of_one
from qengine.plan.expr import Expr
from qengine.plan.pattern import LabelExpr, named
from qengine.plan.traverse import free_variables

_FEW = 16  # rows of a sample
_ENOUGH = 64  # rows of a sample that satisfy other conditions, to say what those more do
_MOST_TYPES = 32  # of a relationship, those with most, of which samples are looked at
_LEAST = 1e-12


@frozen
class Joint:
    """A relationship of a pattern with its ends, by their names, and the conditions that are on it.

    ``types``: names with how many relationships each has between the ends, either way where it may be. ``share``: of
    them that satisfy ``predicates``. ``both``: it may be of either direction.
    ``across``: conditions on two of the three.
    """

    name: str
    ends: tuple[str, str]
    types: tuple[tuple[str, float], ...]
    both: bool
    predicates: tuple[Expr, ...]
    share: float
    across: tuple[Expr, ...] = ()

    def factor(self, nodes: Mapping[str, Element], catalog: CatalogView) -> float:
        """Return the share of pairs of ends that satisfy ``across``, times by how much more there are together.

        That is: with all conditions on ends and relationship, compared with what follows from each one's share.
        """
        ends = nodes[self.ends[0]], nodes[self.ends[1]]
        alone = prod(share_of_one(each, nodes, catalog) for each in different(self.across))
        if alone == 0.0:
            return 0.0
        total = found = 0.0
        types = self.types
        if len(types) > _MOST_TYPES:  # the others are taken for such as these
            types = tuple(nlargest(_MOST_TYPES, types, key=itemgetter(1)))
        for type, edges in types:
            if not edges:
                continue
            sample = self._sample(type, *ends, catalog)
            if sample is None or not sample.size:
                return alone
            seen = self._seen(sample, ends, alone, catalog)
            total += edges
            found += edges * (self._of_rare(type, edges, ends, alone, catalog) if seen.is_little else seen).times
        return alone * (found / total if total else 1.0)

    def conditional(self, predicates: Sequence[Expr], nodes: Mapping[str, Element], catalog: CatalogView) -> float:
        """Return the share of what the relationship matches that satisfies conditions more on it and its ends."""
        without = self.factor(nodes, catalog)
        found = replace(self, across=(*self.across, *predicates)).factor(nodes, catalog)
        return min(1.0, found / max(without, 1e-12))

    def incidence(self, name: str, nodes: Mapping[str, Element]) -> Incidence:
        """Return what kind of relationships it is of at one of its ends."""
        start, end = self.ends
        label = named(nodes[end if name == start else start].labels)
        names = tuple(type for type, _ in self.types)
        return Incidence(names, self.both or name == start, self.both or name == end, label)

    def _sample(
        self, type: str, start: Element, end: Element, catalog: CatalogView, many: bool = False
    ) -> Sample | None:
        labels = named(start.labels), named(end.labels)
        return catalog.relationship_sample(type, *labels, both=self.both, many=many)

    def _of_rare(
        self, type: str, edges: float, ends: tuple[Element, Element], across: float, catalog: CatalogView
    ) -> _Seen:
        """Return what is seen of rare ones: at the nodes that one end's conditions admit, or in a large sample."""
        counted = []
        for place, end in enumerate(ends):
            nodes = catalog.node_sample(end.labels, every=True) if end.predicates and counts_rare() else None
            if nodes is not None and nodes.size:
                counted.append((nodes.size * end.share, place, nodes))
        expected = edges * ends[0].share * ends[1].share * self.share * across
        found = None
        for _, place, nodes in sorted(counted, key=lambda each: each[:2]):
            found = self._at(place, nodes, type, ends, across, expected, catalog)
            if found is not None and not found.is_little:
                return found
        sample = self._sample(type, *ends, catalog, many=True)
        assert sample is not None
        seen = self._seen(sample, ends, across, catalog)
        return seen if found is None or not seen.is_little else found

    def _at(
        self,
        place: int,
        nodes: Sample,
        type: str,
        ends: tuple[Element, Element],
        across: float,
        expected: float,
        catalog: CatalogView,
    ) -> _Seen | None:
        """Return how many relationships satisfy all conditions, of which those on one end say who it is.

        None where these can't be evaluated. ``expected``: how many would if conditions were independent.
        """
        from qengine.optimizer.sampled import conjunction

        end, other = ends[place], ends[1 - place]
        mask, known = conjunction(end.predicates, {self.ends[place]: (nodes, "node")}, known_values())
        if mask is None or len(known) < len(end.predicates):
            return None
        element = ("start", "end")[place]
        label = named(other.labels)
        sample = catalog.relationships_at(type, nodes.ids("node", mask), element, label, both=self.both)
        if sample is None or not sample.size:
            return None if sample is None else _Seen(0.0, expected, True)
        seen = self._seen(sample, ends, across, catalog, place)
        found = sample.total * other.share * self.share * across * seen.times
        return _Seen(found, expected, True, seen.is_little)

    def _seen(
        self,
        sample: Sample,
        ends: tuple[Element, Element],
        across: float,
        catalog: CatalogView,
        known_end: int | None = None,
    ) -> _Seen:
        """Return how many rows satisfy what can be evaluated, and how many would if it were independent.

        ``known_end``: the place of one whose conditions are satisfied by all rows.
        """
        from qengine.optimizer.sampled import conjunction, how_many

        values = known_values()
        rows = {self.ends[0]: (sample, "start"), self.name: (sample, "relationship"), self.ends[1]: (sample, "end")}
        every: Any = None
        chance = 1.0
        parts = [
            (each.predicates, each.share, "node", each.labels)
            for place, each in enumerate(ends)
            if each.predicates and place != known_end
        ]
        if self.predicates:
            parts.append((self.predicates, self.share, "relationship", None))
        if self.across:
            parts.append((self.across, across, "", None))
        for predicates, share, entity, owners in parts:
            mask, known = conjunction(predicates, rows, values)
            if mask is not None:
                every = mask if every is None else every & mask
            if len(known) == len(predicates):
                chance *= share
            elif entity == "node":
                chance *= selectivity(known, catalog, entity, owners)
            elif mask is not None:  # of what is left out nothing is known
                chance *= how_many(mask) / sample.size
        seen = sample.size if every is None else how_many(every)
        return _Seen(seen, chance * sample.size, sample.size >= sample.total)


def admitted_nodes(predicates: Sequence[Expr], labels: LabelExpr | None, catalog: CatalogView) -> Any:
    """Return the ids of nodes that satisfy conditions: all, or a sample if they are many; None where that's unknown."""
    from qengine.optimizer.sampled import conjunction, how_many

    for every in (False, True):
        sample = catalog.node_sample(labels, every=every)
        if sample is None or not sample.size:
            return None
        names = frozenset[str]().union(*map(free_variables, predicates))
        mask, known = conjunction(predicates, dict.fromkeys(names, (sample, "node")), known_values())
        if len(known) < len(predicates):
            return None
        if every or mask is None or sample.size == sample.total or how_many(mask) >= _ENOUGH:
            return sample.ids("node", slice(None) if mask is None else mask)
    return None


def over_two(
    joints: tuple[Joint, Joint],
    nodes: Mapping[str, Element],
    predicates: Sequence[Expr],
    given: Sequence[Expr],
    alone: float,
    catalog: CatalogView,
    *,
    apart: str,
) -> float:
    """Return how likely the outer ends of two relationships that meet at a node satisfy conditions on both.

    ``given``: other conditions. ``alone``: how likely they do if the relationships say nothing of it. ``apart``: what
    differs, as ``CatalogView.wedge_sample`` wants it.
    """
    from qengine.optimizer.sampled import conjunction, how_many, times_as_many

    (middle,) = set(joints[0].ends) & set(joints[1].ends)
    label = named(nodes[middle].labels)
    sample = catalog.wedge_sample(label, *(each.incidence(middle, nodes) for each in joints), apart=apart, many=True)
    if sample is None or not sample.size:
        return alone
    rows = {middle: (sample, "middle")}
    own = [*nodes[middle].predicates, *given]
    for each, element in zip(joints, ("first", "last"), strict=True):
        end = each.ends[0] if each.ends[1] == middle else each.ends[1]
        rows[end] = sample, element
        if len(each.types) == 1:
            rows[each.name] = sample, f"to_{element}"
        own += [*nodes[end].predicates, *each.predicates]
    mask, known = conjunction(predicates, rows, known_values())
    if mask is None or len(known) < len(predicates):
        return alone
    others, _ = conjunction([each for each in own if free_variables(each) <= rows.keys()], rows, known_values())
    if others is not None and how_many(others) >= _ENOUGH:
        return min(1.0, alone * times_as_many(how_many(mask & others), alone * how_many(others)))
    return min(1.0, alone * times_as_many(how_many(mask), alone * sample.size))


@frozen
class _Seen:
    """How many rows of a sample satisfy conditions, ``expected`` if they were independent.

    ``all``: of all there are, which is ``guessed`` from some of them.
    """

    rows: float
    expected: float
    all: bool
    guessed: bool = False

    @property
    def is_little(self) -> bool:
        """Whether so few rows say little of how many there are."""
        return self.guessed or (self.rows < _FEW and not self.all)

    @property
    def times(self) -> float:
        """How many times as many elements as if the conditions were independent satisfy them."""
        from qengine.optimizer.sampled import times_as_many

        if not self.all:
            return times_as_many(self.rows, self.expected)
        return self.rows / max(self.expected, _LEAST)
