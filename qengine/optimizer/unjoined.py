"""How many pairs of two elements that no relationship joins satisfy conditions on both, by summaries and samples.

Single conditions are known by the values of both properties, or from rows of two samples beside each other. How
several go together, and with those on each node, is seen in such rows: where one is an equality, in rows of the two
samples whose values are equal, which random ones seldom have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any

from qengine._frozen import frozen
from qengine.catalog.view import CatalogView, Sample
from qengine.optimizer.memory import memory
from qengine.optimizer.peeking import known_values
from qengine.optimizer.value_shares import RANGE, equal_pairs
from qengine.plan.expr import Comparison, Expr, Literal, Property, Variable
from qengine.plan.pattern import LabelExpr, certain_label
from qengine.plan.traverse import free_variables

_PAIRS = 4096  # rows of two samples beside each other
_EQUAL, _OTHER = 0.1, 0.5  # shares of conditions on two elements of which nothing is known


@frozen
class Element:
    """A node of a pattern, or a relationship of the type ``labels``: ``entity`` says which.

    ``share``: of those with its labels, how many satisfy its predicates.
    """

    labels: LabelExpr | None
    predicates: tuple[Expr, ...]
    share: float
    entity: str = "node"


def share_of_one(predicate: Expr, nodes: Mapping[str, Element], catalog: CatalogView) -> float:
    """Return how many of the pairs, or more, of elements with their labels satisfy a condition."""
    if isinstance(predicate, Literal):
        return float(predicate.value is True)
    names = sorted(free_variables(predicate))
    if len(names) > 1 and all(name in nodes for name in names):
        equal = equation(predicate)
        found = None if equal is None else _equal(equal, nodes, catalog)
        if found is None:
            found = _beside(predicate, [(name, nodes[name]) for name in names], catalog)
        if found is not None:
            return found
    if isinstance(predicate, Comparison):
        return _EQUAL if "=" in predicate.ops else _OTHER if "<>" in predicate.ops else RANGE
    return _OTHER


def share_of_all(predicates: Iterable[Expr], nodes: Mapping[str, Element], catalog: CatalogView) -> float:
    """Return how many of the pairs, or more, of elements' candidates satisfy all conditions, each on two and more."""
    given, values, remembered = tuple(predicates), known_values(), memory("pairs")
    of = tuple(
        (name, id(each.labels), *map(id, each.predicates), each.share, each.entity) for name, each in nodes.items()
    )
    key = *map(id, given), of, id(values) if values else 0
    if (known := remembered.get(key)) is None:
        known = remembered[key] = _share_of_all(given, nodes, catalog), given, dict(nodes), values
    share: float = known[0]
    return share


def _share_of_all(predicates: tuple[Expr, ...], nodes: Mapping[str, Element], catalog: CatalogView) -> float:
    every = different(predicates)
    shares = [share_of_one(each, nodes, catalog) for each in every]
    alone = prod(shares)
    names = sorted(frozenset[str]().union(*map(free_variables, every)))
    own = [(name, nodes[name]) for name in names if name in nodes and nodes[name].predicates]
    if alone == 0.0 or len(every) + len(own) < 2 or not all(name in nodes for name in names):
        return alone
    found = _rows(every, shares, [(name, nodes[name]) for name in names], catalog)
    if found is None:
        return alone
    rows, weights, done = found
    from qengine.optimizer.sampled import conjunction, holding, times_as_many

    values = known_values()
    holds = weights > 0.0
    chance = 1.0
    for each, share in zip(every, shares, strict=True):
        mask = holding(each, rows, values) if each is not done else None
        if mask is not None:
            holds = holds & mask
            chance *= share
    for _, node in own:
        mask, evaluated = conjunction(node.predicates, rows, values)
        if mask is not None and len(evaluated) == len(node.predicates):
            holds = holds & mask
            chance *= node.share
    return min(1.0, alone * times_as_many(float(weights[holds].sum()), chance * float(weights.sum())))


def different(predicates: Iterable[Expr]) -> list[Expr]:
    """Return conditions without those that say the same of two properties as one before."""
    found: dict[object, Expr] = {}
    for each in predicates:
        sides = equation(each)
        found.setdefault(each if sides is None else frozenset(sides), each)
    return list(found.values())


def equation(predicate: Expr) -> tuple[tuple[str, str], tuple[str, str]] | None:
    """Return the variables and properties that a condition says are equal; None for any other one."""
    match predicate:
        case Comparison(
            ops=("=",),
            args=(Property(subject=Variable(name=one), key=key), Property(subject=Variable(name=other), key=key2)),
        ):
            return (one, key), (other, key2)
    return None


def _equal(
    sides: tuple[tuple[str, str], tuple[str, str]], nodes: Mapping[str, Element], catalog: CatalogView
) -> float | None:
    summaries = [catalog.value_summaries(nodes[name].entity, key, nodes[name].labels) for name, key in sides]
    if any(each is None or len(each) != 1 for each in summaries):
        return None
    first, second = (each[0] for each in summaries if each is not None)
    return equal_pairs(first, second)


def _beside(predicate: Expr, nodes: Sequence[tuple[str, Element]], catalog: CatalogView) -> float | None:
    """Return the share of rows drawn from samples, beside each other, that satisfy a condition."""
    from qengine.optimizer.sampled import holding, how_many

    samples = _samples(nodes, catalog)
    if samples is None:
        return None
    found = holding(predicate, _shuffled(samples), known_values())
    return None if found is None else (how_many(found) + 0.5) / (_PAIRS + 1.0)


def _rows(
    predicates: Sequence[Expr], shares: Sequence[float], nodes: Sequence[tuple[str, Element]], catalog: CatalogView
) -> tuple[dict[str, tuple[Sample, str]], Any, Expr | None] | None:
    """Return rows of samples beside each other, their weights, and the condition that all satisfy, if any: of pairs."""
    samples = _samples(nodes, catalog)
    if samples is None:
        return None
    for _, each in sorted(zip(shares, predicates, strict=True), key=lambda pair: pair[0]):
        sides = equation(each)
        if sides is not None and len(nodes) == 2:
            (one, key), (other, key2) = sides
            (left, element), (right, element2) = samples[one], samples[other]
            found = left.matched(element, key, right, key2, _PAIRS) if element == element2 else None
            if found is not None:
                return {one: (found[0], element), other: (found[1], element)}, found[2], each
    import numpy as np

    return _shuffled(samples), np.ones(_PAIRS), None


def _samples(nodes: Sequence[tuple[str, Element]], catalog: CatalogView) -> dict[str, tuple[Sample, str]] | None:
    found = {}
    for name, node in nodes:
        sample = sample_of(node, catalog)
        if sample is None or not sample.size:
            return None
        found[name] = sample, node.entity
    return found


def sample_of(element: Element, catalog: CatalogView) -> Sample | None:
    """Return a sample of the nodes, or of the relationships, with an element's labels; its element is ``entity``."""
    if element.entity == "node":
        return catalog.node_sample(element.labels)
    type = certain_label(element.labels)
    return None if type is None else catalog.relationship_sample(type, None, None, both=False)


def _shuffled(samples: Mapping[str, tuple[Sample, str]]) -> dict[str, tuple[Sample, str]]:
    return {
        name: (sample.shuffled(_PAIRS, turn), element) for turn, (name, (sample, element)) in enumerate(samples.items())
    }
