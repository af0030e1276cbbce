"""How many groups, or different rows, an operator's rows make: by how many values their keys have.

Values of stored properties are known from summaries, those of expressions over one element from a sample of it, how
many nodes and relationships there are from statistics. Keys of different elements are taken to go together in all ways.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil, expm1, floor, inf, log1p, prod, sqrt
from typing import Any

from qengine.catalog.view import CatalogView, Sample
from qengine.optimizer.correlation import Joint
from qengine.optimizer.filters import Below
from qengine.optimizer.filters import below as below_rows
from qengine.optimizer.group_sizes import Groups, groups_along
from qengine.optimizer.labels import vertex_count
from qengine.optimizer.peeking import counts_rare, known_values
from qengine.optimizer.unjoined import Element, sample_of
from qengine.plan.expr import Case, Expr, Literal, Parameter, Property, Variable
from qengine.plan.logical import Distinct, Filter, Limit, Operator, Project, Skip, Sort, Union
from qengine.plan.pattern import named
from qengine.plan.traverse import free_variables, rewrite
from qengine.types import BOOLEAN

_UNKNOWN = 0.75  # exponent: of so many rows
_TRUTHS = 2.0
_FEW = 16  # nodes of a sample that have a row: fewer say little of how many there are


def different_rows(keys: Sequence[Expr], below: Operator, rows: float, catalog: CatalogView) -> float:
    """Return how many different combinations of keys, expressions over an operator's columns, its rows have."""
    if isinstance(below, Union):
        each = [different_rows(keys, side, rows, catalog) for side in below.inputs]
        return min(rows, max(each))
    keys, below = _resolved(keys, below)
    known = below_rows(below, catalog)
    elements = {**known.relationships, **known.nodes}
    of_names: dict[frozenset[str], list[Expr]] = {}
    for key in keys:
        if not isinstance(key, Literal | Parameter):
            of_names.setdefault(free_variables(key), []).append(key)
    most = 1.0
    for names, together in of_names.items():
        found = _values(names, together, elements, catalog)
        if (groups := _groups(names, together, rows, known, found)) is not None:
            found = groups.number
            if len(of_names) == 1:
                return min(rows, max(found, 1.0))
        most *= max(rows, 1.0) ** _UNKNOWN if found is None else max(found, 1.0)
    names = frozenset[str]().union(*of_names)
    every = min(_joined(keys, known), prod(_size_of(name, elements, known) for name in names))
    most = max(min(most, every), 1.0)
    return min(rows, most if rows >= every else most * -expm1(-rows / most))


def share_of_sizes(
    op: str, size: float, rows: float, groups: float, keys: Sequence[Expr], below: Operator, catalog: CatalogView
) -> float:
    """Return the share of groups whose number of rows compares so with a size.

    ``rows``: of the operator ``below``, which make so many ``groups`` by ``keys``. Those of what isn't seen are as if
    they were geometrically distributed, from one row up.
    """
    keys, below = _resolved(keys, below)
    names, known = frozenset[str]().union(*map(free_variables, keys)), below_rows(below, catalog)
    values = _values(names, keys, known.nodes, catalog)
    seen = _groups(names, keys, rows, known, values)
    if seen is not None:
        return _share(op, size, seen.larger)
    mean = max(rows / max(groups, 1e-12), 1.0)
    return _share(op, size, lambda than: 1.0 if than < 1.0 else float((1.0 - 1.0 / mean) ** than))


def share_of_counts(op: str, size: float, mean: float) -> float:
    """Return the share of rows that a plan applied to each finds as many rows for as compare so with a size.

    ``mean``: how many it finds. As many rows have one at least as if these were a Poisson process; who has one has more
    as often as that lets the mean be.
    """
    some = -expm1(-mean)
    rest = max(1.0 - some / max(mean, 1e-12), 0.0)
    return _share(op, size, lambda than: 1.0 if than < 0.0 else some * rest**than)


def _groups(
    names: frozenset[str], keys: Sequence[Expr], rows: float, known: Below, most: float | None
) -> Groups | None:
    """Return the groups that keys on one node make of so many rows; None for others, and where too little is seen.

    ``most``: how many values the keys have, whatever relationships their nodes have; None where that isn't known.

    A node is taken to have as many rows as it has relationships that rows are of, where it has several kinds of them
    as their products are, times a constant.
    """
    import numpy as np

    from qengine.optimizer.sampled import codes_of_values

    node = known.nodes.get(next(iter(names))) if len(names) == 1 else None
    joints = [each for each in known.joints if names <= {*each.ends} and len({*each.ends}) == 2]
    if node is None or not joints:
        return None
    (name,) = names
    of_node = any(isinstance(key, Variable) for key in keys)
    if (along := groups_along(name, () if of_node else keys, rows, joints, known)) is not None:
        return along
    found = _seen(name, node, known)
    codes = (
        None if found is None else codes_of_values(() if of_node else keys, {name: (found[0], "node")}, known_values())
    )
    if found is None or codes is None:
        return None
    sample, mask = found
    nodes = sample.ids("node", mask)
    ways = np.ones(len(nodes))
    for joint in joints:
        ways *= known.catalog.degrees_of(nodes, joint.incidence(name, known.nodes))
    share, seen = sample.size / sample.total, float(ways.sum())
    if not seen or (share < 1.0 and np.count_nonzero(ways) < _FEW):
        return None
    kept = rows * share / seen
    if of_node:
        return Groups(ways, np.full(len(ways), 1.0 / share), kept)
    _, of, sizes = np.unique(codes[mask], return_inverse=True, return_counts=True)
    values = most or inf
    if most is None or any(free_variables(each) == names for each in known.given):  # at most others than those seen
        values = min(values, len(sizes) + int((sizes == 1).sum()) * (1.0 / share - 1.0))
    alike = min(max(len(sizes) / values / share, 1.0), 1.0 / share)  # nodes of a value, of those that were seen
    return Groups(np.bincount(of, weights=ways) * alike, np.full(len(sizes), values / len(sizes)), kept)


def _seen(name: str, node: Element, known: Below) -> tuple[Sample, Any] | None:
    """Return a sample of nodes, and which of them satisfy what is asked; None where that can't be told."""
    from qengine.optimizer.sampled import conjunction

    conditions = [*node.predicates, *(each for each in known.given if free_variables(each) == {name})]
    every = known.catalog.node_sample(node.labels, every=True) if conditions and counts_rare() else None
    sample = every or sample_of(node, known.catalog)
    if sample is None or not sample.size:
        return None
    mask, evaluated = conjunction(conditions, {name: (sample, "node")}, known_values())
    if len(evaluated) < len(conditions):
        return None
    return sample, slice(None) if mask is None else mask


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


def _size_of(name: str, elements: Mapping[str, Element], known: Below) -> float:
    """Return how many nodes, or relationships, may have a name; nodes have the relationships that rows are of."""
    if name not in elements:
        return inf
    having = [_having(name, each, known) for each in known.joints if name in each.ends]
    return min(_size(elements[name], known.catalog), *having, inf)


def _having(name: str, joint: Joint, known: Below) -> float:
    """Return how many nodes at one end of a relationship have such a one."""
    labels = [named(known.nodes[end].labels) for end in joint.ends]
    found = 0
    for type, _ in joint.types:
        if joint.both or name == joint.ends[0]:
            found += known.catalog.edge_statistics(labels[0], type, labels[1]).sources
        if joint.both:
            found += known.catalog.edge_statistics(labels[1], type, labels[0]).targets
        elif name == joint.ends[1]:
            found += known.catalog.edge_statistics(labels[0], type, labels[1]).targets
    return float(found)


def _joined(keys: Sequence[Expr], known: Below) -> float:
    """Return how many combinations of values keys have along a relationship, or two that meet; infinite for others.

    Relationships themselves are as many at most; a sample of them shows how values go together: what is seen once
    stands for others as well (GEE: Charikar et al. 2000).
    """
    names = frozenset[str]().union(*map(free_variables, keys))
    if len(names) < 2:
        return inf
    found = inf
    for joint in known.joints:
        if names <= {joint.name, *joint.ends} and known.nodes.keys() >= set(joint.ends):
            edges = sum(edges for _, edges in joint.types) * joint.share * joint.factor(known.nodes, known.catalog)
            found = min(found, edges * prod(known.nodes[end].share for end in {*joint.ends}))
    sample = known.sample_over(names)
    return found if sample is None else min(found, _of_sample(keys, *sample))


def _of_sample(keys: Sequence[Expr], sample: Sample, elements: Mapping[str, str], conditions: Sequence[Expr]) -> float:
    """Return how many combinations of values there are in all by those in a sample; infinite where it can't tell."""
    import numpy as np

    from qengine.optimizer.sampled import codes_of_values, conjunction

    rows = {name: (sample, element) for name, element in elements.items()}
    mask, _ = conjunction(conditions, rows, known_values())
    codes = codes_of_values(keys, rows, known_values())
    if codes is None:
        return inf
    counts = np.unique(codes if mask is None else codes[mask], return_counts=True)[1]
    drawn, once = int(counts.sum()), int((counts == 1).sum())
    if drawn < _FEW:
        return inf
    likely = 0.5 + 0.5 * once / drawn  # where nearly each is seen once, nearly all are others
    return float(len(counts) - once + once * (sample.total / sample.size) ** likely)


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
    import numpy as np

    from qengine.optimizer.sampled import codes_of_values, conjunction

    rows: dict[str, tuple[Sample, str]] = {name: (sample, element.entity)}
    mask, known = conjunction(element.predicates, rows, known_values())
    if len(known) < len(element.predicates):
        return None
    codes = codes_of_values(keys, rows, known_values())
    if codes is None:
        return None
    counts = np.unique(codes if mask is None else codes[mask], return_counts=True)[1]
    once = float((counts == 1).sum())
    return float(len(counts)) - once + once * sqrt(sample.total / sample.size)
