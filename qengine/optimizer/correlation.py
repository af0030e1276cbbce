"""How conditions go together: on one element, and on the elements that a relationship joins, by samples of both.

Shares of single conditions are well known from summaries of all values, what they are together from a sample: how many
of its rows satisfy all, against how many would if they were independent (``sampled.times_as_many``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from qengine._frozen import frozen, replace
from qengine.catalog.view import CatalogView, Sample
from qengine.optimizer.peeking import peeked
from qengine.optimizer.selectivity import selectivity
from qengine.optimizer.value_shares import RANGE, equal_pairs
from qengine.plan.expr import Comparison, Expr, Literal, Property, Variable
from qengine.plan.pattern import LabelExpr, certain_label
from qengine.plan.traverse import free_variables

__all__ = ["Element", "Joint", "apart"]

_PAIRS = 4096  # rows of two samples beside each other
_EQUAL, _OTHER = 0.1, 0.5  # shares of conditions on two elements of which nothing is known


@frozen
class Element:
    """A node of a pattern. ``share``: of those with its labels, how many satisfy its predicates."""

    labels: LabelExpr | None
    predicates: tuple[Expr, ...]
    share: float


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
        alone = 1.0
        for each in self.across:
            alone *= apart(each, nodes, catalog)
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

    def conditional(self, predicate: Expr, nodes: Mapping[str, Element], catalog: CatalogView) -> float:
        """Return the share of what the relationship matches that satisfies one condition more on it and its ends."""
        without = replace(self, across=()).factor(nodes, catalog)
        return min(1.0, replace(self, across=(predicate,)).factor(nodes, catalog) / max(without, 1e-12))

    def _sample(self, type: str, start: Element, end: Element, catalog: CatalogView) -> Sample | None:
        labels = certain_label(start.labels), certain_label(end.labels)
        return catalog.relationship_sample(type, *labels, both=self.both)

    def _seen(
        self, sample: Sample, ends: tuple[Element, Element], across: float, catalog: CatalogView
    ) -> tuple[int, float]:
        """Return how many rows satisfy what can be evaluated, and the share that would if it were independent."""
        from qengine.optimizer.sampled import conjunction, how_many

        values = _values()
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


def apart(predicate: Expr, nodes: Mapping[str, Element], catalog: CatalogView) -> float:
    """Return how many of the pairs of two nodes' candidates satisfy a condition, if nothing joins them."""
    if isinstance(predicate, Literal):
        return float(predicate.value is True)
    names = sorted(free_variables(predicate))
    if len(names) == 2 and all(name in nodes for name in names):
        match predicate:
            case Comparison(
                ops=("=",),
                args=(Property(subject=Variable(name=one), key=key), Property(subject=Variable(name=other), key=key2)),
            ):
                found = _equal(nodes[one], key, nodes[other], key2, catalog)
                if found is not None:
                    return found
        shares = _paired(predicate, [(name, nodes[name]) for name in names], catalog)
        if shares is not None:
            return shares
    if isinstance(predicate, Comparison):
        return _EQUAL if "=" in predicate.ops else _OTHER if "<>" in predicate.ops else RANGE
    return _OTHER


def _equal(one: Element, key: str, other: Element, key2: str, catalog: CatalogView) -> float | None:
    first = catalog.value_summaries("node", key, one.labels)
    second = catalog.value_summaries("node", key2, other.labels)
    if first is None or second is None or len(first) != 1 or len(second) != 1:
        return None
    return equal_pairs(first[0], second[0])


def _paired(predicate: Expr, nodes: Sequence[tuple[str, Element]], catalog: CatalogView) -> float | None:
    """Return the share of pairs drawn from two samples that satisfy a condition."""
    from qengine.optimizer.sampled import holding, how_many

    rows = {}
    for turn, (name, node) in enumerate(nodes):
        sample = catalog.node_sample(node.labels)
        if sample is None or not sample.size:
            return None
        rows[name] = sample.shuffled(_PAIRS, turn), "node"
    found = holding(predicate, rows, _values())
    return None if found is None else (how_many(found) + 0.5) / (_PAIRS + 1.0)


def _values() -> Mapping[str, Any]:
    peeks = peeked()
    return {} if peeks is None else peeks.values
