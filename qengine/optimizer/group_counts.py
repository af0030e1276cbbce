"""How many groups, or different rows, an operator's rows make: by how many values their keys have.

Values of stored properties are known from summaries, those of expressions over one element from a sample of it, how
many nodes and relationships there are from statistics. Keys of different elements are taken to go together in all ways.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil, expm1, floor, inf, log1p, prod, sqrt
from typing import Any

from qengine.catalog.view import CatalogView, Incidence, Sample
from qengine.optimizer.filters import below as below_rows
from qengine.optimizer.filters import elements_below
from qengine.optimizer.labels import vertex_count
from qengine.optimizer.peeking import counts_rare, known_values
from qengine.optimizer.unjoined import Element, sample_of
from qengine.plan.expr import Case, Expr, Literal, Parameter, Property, Variable
from qengine.plan.logical import Distinct, Filter, Limit, Operator, Project, Skip, Sort, Union
from qengine.plan.pattern import Direction, named
from qengine.plan.physical import Search, VertexLevel
from qengine.plan.traverse import free_variables, rewrite
from qengine.types import BOOLEAN

_UNKNOWN = 0.75  # exponent: of so many rows
_TRUTHS = 2.0
_ALL = 0.95  # the share of a node's relationships from which all are rows
_MOST_TERMS = 64  # of a Poisson distribution that are added up


def different_rows(keys: Sequence[Expr], below: Operator, rows: float, catalog: CatalogView) -> float:
    """Return how many different combinations of keys, expressions over an operator's columns, its rows have."""
    if isinstance(below, Union):
        each = [different_rows(keys, side, rows, catalog) for side in below.inputs]
        return min(rows, max(each))
    keys, below = _resolved(keys, below)
    elements = elements_below(below, catalog)
    of_names: dict[frozenset[str], list[Expr]] = {}
    for key in keys:
        if not isinstance(key, Literal | Parameter):
            of_names.setdefault(free_variables(key), []).append(key)
    most = 1.0
    for names, together in of_names.items():
        found = _values(names, together, elements, catalog)
        most *= max(rows, 1.0) ** _UNKNOWN if found is None else max(found, 1.0)
    names = frozenset[str]().union(*of_names)
    every = min(_joined(names, below, catalog), prod(_size_of(name, elements, catalog) for name in names))
    most = max(min(most, every), 1.0)
    return min(rows, most if rows >= every else most * -expm1(-rows / most))


def share_of_sizes(
    op: str, size: float, rows: float, groups: float, key: str, below: Operator, catalog: CatalogView
) -> float:
    """Return the share of groups whose number of rows compares so with a size.

    ``rows``: of the operator ``below``, which make so many ``groups``. ``key``: the variable that these are of, "" for
    others. Rows of a node that a search finds are taken to be as many as its relationships there, times a constant: by
    a sample of degrees. Others are as if they were geometrically distributed, from one row up.
    """
    degrees = _degrees(key, below, catalog)
    mean = max(rows / max(groups, 1e-12), 1.0)
    if degrees is None:
        return _share(op, size, lambda than: 1.0 if than < 1.0 else float((1.0 - 1.0 / mean) ** than))
    sampled, times = degrees
    every = max(float(sampled.sum()) * times, 1.0)
    each = sampled[sampled > 0] * (rows / every)
    return _share(op, size, _more(each, rows >= _ALL * every, none=False)) if len(each) else 1.0


def share_of_counts(
    op: str, size: float, mean: float, some: float, key: str, inner: Operator, catalog: CatalogView
) -> float:
    """Return the share of rows that a plan applied to each finds as many rows for as compare so with a size.

    ``mean``: how many it finds, for a share ``some`` of them one at least. ``key``: the variable that it is given. What
    a search finds is taken to be as many as the node's relationships there, as ``share_of_sizes`` does.
    """
    degrees = _degrees(key, inner, catalog)
    if degrees is None or not float(degrees[0].sum()):
        rest = max(1.0 - some / max(mean, 1e-12), 0.0)  # of those that have one, who has more
        return _share(op, size, lambda than: 1.0 if than < 0.0 else some * rest**than)
    sampled, _ = degrees
    part = mean / float(sampled.mean())
    alone = isinstance(inner, Search) and sum(isinstance(level, VertexLevel) for level in inner.levels) == 2
    each = sampled * (min(part, 1.0) if alone else part)  # behind a neighbour there may be more
    return _share(op, size, _more(each, alone and part >= _ALL, none=True))


def _more(each: Any, exact: bool, *, none: bool) -> Callable[[float], float]:
    """Return what tells the share of groups that have more than some rows, of which so many are expected of each.

    ``exact``: they have just these, else as if each were drawn by itself. ``none``: there are groups of no row.
    """
    import numpy as np

    def more(than: float) -> float:
        if than < (0.0 if none else 1.0):
            return 1.0
        if exact or than > _MOST_TERMS:
            return float((each > than + 0.5).mean())
        term = np.exp(-each)
        fewer = term
        for number in range(1, int(than) + 1):
            term = term * each / number
            fewer = fewer + term
        every = float(len(each)) if none else max(float((1.0 - np.exp(-each)).sum()), 1e-12)
        return float((1.0 - fewer).sum() / every)

    return more


def _share(op: str, size: float, more: Callable[[float], float]) -> float:
    """Return the share of groups of as many rows as asked for, by what tells the share of those that have more."""
    match op:
        case ">":
            return more(floor(size))
        case ">=":
            return more(ceil(size) - 1)
        case "<":
            return 1.0 - more(ceil(size) - 1)
        case "<=":
            return 1.0 - more(floor(size))
    same = more(size - 1) - more(size) if size == floor(size) and size >= 0 else 0.0
    return same if op == "=" else 1.0 - same


def _degrees(key: str, below: Operator, catalog: CatalogView) -> tuple[Any, float] | None:
    """Return how many relationships of a search nodes have, and of how many nodes each stands for; None if unknown.

    Where a search joins a node in several ways, the products of these numbers.
    """
    while isinstance(below, Project | Filter):
        if isinstance(below, Project):
            item = dict(below.items).get(key)
            if not isinstance(item, Variable):
                return None
            key = item.name
        below = below.input
    if not isinstance(below, Search):
        return None
    vertices = {place: level for place, level in enumerate(below.levels) if isinstance(level, VertexLevel)}
    own = next((place for place, level in vertices.items() if level.name == key), None)
    sample = None if own is None else catalog.node_sample(vertices[own].labels)
    if own is None or sample is None or not sample.size:
        return None
    from qengine.optimizer.sampled import conjunction

    found: Any = 1.0
    mask, _ = conjunction(vertices[own].predicates, {key: (sample, "node")}, known_values())
    nodes = sample.ids("node", slice(None) if mask is None else mask)
    for place, level in vertices.items():
        for source in level.sources:
            if own in (place, source.level):
                way = source.direction if own == source.level else source.direction.reversed()
                other = vertices[place if own == source.level else source.level]
                types = source.types or catalog.relationship_types
                kind = Incidence(types, way is not Direction.IN, way is not Direction.OUT, named(other.labels))
                found = found * catalog.degrees_of(nodes, kind)
    return None if isinstance(found, float) else (found, sample.total / sample.size)


def _resolved(keys: Sequence[Expr], below: Operator) -> tuple[list[Expr], Operator]:
    """Return keys by what they are made from below projections, and the operator that has that."""
    found = list(keys)
    while isinstance(below, Project | Filter | Sort | Limit | Skip | Distinct):
        if isinstance(below, Project):
            items = dict(below.items)

            def made(expr: Expr, items: Mapping[str, Expr] = items) -> Expr:
                return items.get(expr.name, expr) if isinstance(expr, Variable) else expr

            found = [rewrite(key, made) for key in found]
        elif isinstance(below, Filter):  # whose conditions say more of the nodes
            break
        below = below.input
    return found, below


def _size_of(name: str, elements: Mapping[str, Element], catalog: CatalogView) -> float:
    return _size(elements[name], catalog) if name in elements else inf


def _joined(names: frozenset[str], rows: Operator, catalog: CatalogView) -> float:
    """Return how many relationships a pair of nodes, or one with some of its ends, may be; infinite for others."""
    if len(names) < 2:
        return inf
    known, found = below_rows(rows, catalog), inf
    for joint in known.joints:
        if names <= {joint.name, *joint.ends} and known.nodes.keys() >= set(joint.ends):
            edges = sum(edges for _, edges in joint.types) * joint.share * joint.factor(known.nodes, catalog)
            found = min(found, edges * prod(known.nodes[end].share for end in {*joint.ends}))
    return found


def _values(
    names: frozenset[str], keys: Sequence[Expr], elements: Mapping[str, Element], catalog: CatalogView
) -> float | None:
    """Return how many combinations of values keys over the same variables have; None where that's unknown."""
    known = [elements.get(name) for name in names]
    sizes = [_size(each, catalog) for each in known if each is not None]
    most = None
    if len(sizes) == len(known):
        most = 1.0
        for size in sizes:
            most *= size
    few = [_by_form(key) for key in keys]
    if None not in few:
        values = prod(each or 1.0 for each in few)
        return values if most is None else min(most, values)
    if most is None or len(known) != 1:
        return most
    (element,), (name,) = known, names
    assert element is not None
    if any(isinstance(key, Variable) for key in keys):
        return most
    found = 1.0
    for key in keys:
        found *= _of_one(key, name, element, catalog) or most
    return min(most, found) if len(keys) == 1 else min(most, found, _sampled(keys, name, element, catalog) or found)


def _by_form(key: Expr) -> float | None:
    """Return how many values an expression has by its form: a truth value, one of some constants; None for others."""
    if key.type == BOOLEAN:
        return _TRUTHS
    if isinstance(key, Case):
        results = {*(result for _, result in key.whens), key.otherwise}
        if all(isinstance(each, Literal | Parameter) for each in results):
            return float(len(results))
    return None


def _size(element: Element, catalog: CatalogView) -> float:
    """Return how many nodes, or relationships, an element may be."""
    if element.entity == "node":
        return element.share * vertex_count(catalog, element.labels)
    names = (
        name
        for name in catalog.relationship_types
        if element.labels is None or element.labels.admits(frozenset((name,)))
    )
    return element.share * sum(info.count for info in map(catalog.relationship_type, names) if info is not None)


def _of_one(key: Expr, name: str, element: Element, catalog: CatalogView) -> float | None:
    """Return how many values an expression over an element has; None where that's unknown."""
    if (few := _by_form(key)) is not None:
        return few
    if isinstance(key, Property) and isinstance(key.subject, Variable):
        summaries = catalog.value_summaries(element.entity, key.key, element.labels)
        if summaries is not None and len(summaries) == 1 and summaries[0].distinct is not None:
            (found,) = summaries
            every = (found.distinct or 0) + (found.nulls > 0)
            if not element.predicates or not every:
                return float(every)
            drawn = element.share * found.count
            rest = 1.0 - sum(share for _, share in found.common)
            others = max(every - len(found.common), 1)
            seen = sum(_at_least_one(share, drawn) for _, share in found.common)
            seen += others * _at_least_one(rest / others, drawn)
            return min(seen, _sampled([key], name, element, catalog) or seen)  # conditions may say which values
    return _sampled([key], name, element, catalog)


def _at_least_one(share: float, drawn: float) -> float:
    """Return how likely a value with a share is among so many drawn."""
    return 1.0 if share >= 1.0 else -expm1(drawn * log1p(-share))


def _sampled(keys: Sequence[Expr], name: str, element: Element, catalog: CatalogView) -> float | None:
    """Return how many combinations of values some expressions have in a sample of an element; None if that's unknown.

    Where it has few elements of many, what was seen once stands for others as well (GEE: Charikar et al. 2000).
    """
    sample = None
    if counts_rare() and element.entity == "node" and element.predicates:
        sample = catalog.node_sample(element.labels, every=True)
    if sample is None:
        sample = sample_of(element, catalog)
    if sample is None or not sample.size:
        return None
    from qengine.optimizer.sampled import conjunction, counts_of_values

    rows: dict[str, tuple[Sample, str]] = {name: (sample, element.entity)}
    mask, known = conjunction(element.predicates, rows, known_values())
    if len(known) < len(element.predicates):
        return None
    counts = counts_of_values(keys, rows, known_values(), mask)
    if counts is None:
        return None
    once = float((counts == 1).sum())
    return float(len(counts)) - once + once * sqrt(sample.total / sample.size)
