"""How conditions go together: on one element, and on the elements that a relationship joins, by samples of both.

Shares of single conditions are well known from summaries of all values, what they are together from a sample: how many
of its rows satisfy all, against how many would if they were independent (``sampled.times_as_many``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from qengine._frozen import frozen, replace
from qengine.catalog.view import CatalogView, Sample
from qengine.optimizer.selectivity import selectivity
from qengine.optimizer.unjoined import Element, different, known_values, share_of_one
from qengine.plan.expr import Expr
from qengine.plan.pattern import certain_label

__all__ = ["Joint"]


@frozen
class Joint:
    """A relationship of a pattern with its ends, by their names, and the conditions that are on it.

    ``types``: names with how many relationships each has between the ends. ``share``: of them that satisfy
    ``predicates``. ``both``: it may be of either direction. ``across``: conditions on two of the three.
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
        start, end = (nodes[name] for name in self.ends)
        alone = prod(share_of_one(each, nodes, catalog) for each in different(self.across))
        if alone == 0.0:
            return 0.0
        from qengine.optimizer.sampled import times_as_many

        total = found = 0.0
        for type, edges in self.types:
            sample = self._sample(type, start, end, catalog)
            if sample is None or not sample.size or not edges:
                return alone
            seen, chance = self._seen(sample, (start, end), alone, catalog)
            total += edges
            found += edges * times_as_many(seen, chance * sample.size)
        return alone * (found / total if total else 1.0)

    def conditional(self, predicates: Sequence[Expr], nodes: Mapping[str, Element], catalog: CatalogView) -> float:
        """Return the share of what the relationship matches that satisfies conditions more on it and its ends."""
        without = self.factor(nodes, catalog)
        found = replace(self, across=(*self.across, *predicates)).factor(nodes, catalog)
        return min(1.0, found / max(without, 1e-12))

    def _sample(self, type: str, start: Element, end: Element, catalog: CatalogView) -> Sample | None:
        labels = certain_label(start.labels), certain_label(end.labels)
        return catalog.relationship_sample(type, *labels, both=self.both)

    def _seen(
        self, sample: Sample, ends: tuple[Element, Element], across: float, catalog: CatalogView
    ) -> tuple[int, float]:
        """Return how many rows satisfy what can be evaluated, and the share that would if it were independent."""
        from qengine.optimizer.sampled import conjunction, how_many

        values = known_values()
        rows = {self.ends[0]: (sample, "start"), self.name: (sample, "relationship"), self.ends[1]: (sample, "end")}
        every: Any = None
        chance = 1.0
        parts = [(each.predicates, each.share, "node", each.labels) for each in ends if each.predicates]
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
        return (sample.size if every is None else how_many(every)), chance
