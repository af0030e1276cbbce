"""What a search finds from a node that rows give: seen at some of the nodes that rows come to.

These have other relationships than all nodes with their labels: more of them where many lead there, and to others where
conditions on what the rows hold go along relationships.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import expm1
from typing import Any

from qengine._frozen import frozen
from qengine.catalog.view import CatalogView, Incidence
from qengine.optimizer.correlation import Joint, admitted_nodes
from qengine.optimizer.filters import Below, below
from qengine.optimizer.given_trees import ENTRIES, Hop, embeddings, every_node, hops_of, may_have
from qengine.optimizer.peeking import known_values
from qengine.plan.expr import Expr, Variable
from qengine.plan.logical import Filter, Operator, Project
from qengine.plan.pattern import Direction, named
from qengine.plan.physical import Attach, Search, Walk
from qengine.plan.traverse import free_variables

_NODES = 1024  # that are looked at
_FEW = 16  # rows of a sample
_SEED = 23


@frozen
class Found:
    """How many embeddings each of some rows has: float64, not all whole.

    ``weights``: which share of all rows each stands for, float64. ``expected``: of a row of which nothing is known;
    ``doubt``: the share of rows that are as if they were such.
    """

    each: Any
    weights: Any
    expected: float
    doubt: float

    @property
    def mean(self) -> float:
        """How many embeddings a row is expected to have."""
        return float((self.each * self.weights).sum() + self.expected * self.doubt)

    @property
    def some(self) -> float:
        """How many of the rows have any."""
        return float(self.weights[self.each > 0.0].sum() - expm1(-self.expected) * self.doubt)

    def share(self, op: str, number: float) -> float:
        """Return how many of the rows have as many as compare so with a number."""
        from qengine.optimizer.sampled import COMPARED

        return float((COMPARED[op](self.each.round(), number) * self.weights).sum() + 0.5 * self.doubt)


def found_from(search: Search, rows: Operator, catalog: CatalogView) -> Found | None:
    """Return how many embeddings rows have of a search.

    ``rows``: the plan that gives the node. None for searches that aren't trees around it, and where that isn't known.
    """
    hops = hops_of(search)
    if hops is None or search.rows is None:
        return None
    name, known = name_below(search.levels[0].name, rows), below(rows, catalog)
    nodes = given_nodes(name, known)
    if nodes is None or not len(nodes):
        return None
    import numpy as np

    _, first, place = np.unique(nodes, return_index=True, return_inverse=True)
    order = np.argsort(first)  # of the different nodes: as they were drawn
    found = embeddings(nodes[first[order]], 0, hops, catalog)
    if found is None:
        return None
    count = len(nodes) if len(found) == len(order) else first[order[len(found)]]
    each = found[np.argsort(order)[place[:count]]]
    doubt = 1.0 / (count + 1.0)
    seen = Found(each, np.full(count, doubt), search.rows, doubt)
    return _rare_rows(seen, nodes[:count], name, known, hops)


def _rare_rows(seen: Found, nodes: Any, name: str, known: Below, hops: Mapping[int, Sequence[Hop]]) -> Found:
    """Return what is found of rows, looking further where few have an embedding, or few have none.

    Nodes that may have one are found from the far ends of what is asked for; those that may have none are the ones with
    the fewest relationships. Both are looked at apart from the others, for which the rows that were seen stand.
    """
    import numpy as np

    have = int((seen.each > 0.0).sum())
    few = have <= len(nodes) - have
    every = _all_nodes(name, known) if min(have, len(nodes) - have) < _FEW else None
    if every is None:
        return seen
    ids, weights = every
    catalog = known.catalog
    if few:
        likely = may_have(0, hops, catalog)
        place = None if likely is None else np.flatnonzero(np.isin(ids, likely))
    else:
        lists = [catalog.degrees_of(ids, hop.kind(catalog)) for hop in hops[0]]
        place = np.argsort(np.minimum.reduce(lists), kind="stable")
        place = place[: np.searchsorted(np.cumsum(sum(lists)[place]), ENTRIES, side="right")]
    if place is None or not weights.sum():
        return seen
    each = embeddings(ids[place], 0, hops, catalog) if len(place) else np.empty(0)
    if each is None or (few and len(each) < len(place)):
        return seen
    place = place[: len(each)]
    asked = weights[place] / weights.sum()
    others = ~np.isin(nodes, ids[place])
    left = 1.0 - float(asked.sum())
    if few:  # all that may have any are among these
        return Found(each, asked, 0.0, left)
    doubt = left / (int(others.sum()) + 1.0)
    rest = seen.each[others]
    return Found(np.concatenate([each, rest]), np.concatenate([asked, np.full(len(rest), doubt)]), seen.expected, doubt)


def _all_nodes(name: str, known: Below) -> tuple[Any, Any] | None:
    """Return the ids of all nodes that may be in a column, and how many rows each has, times a constant: float64.

    Of a sample, where conditions on what they are joined with say which have rows. None where they are too many, or
    that isn't known.
    """
    import numpy as np

    joints, walks, node, catalog = _joined(name, known), _walks(name, known), known.nodes.get(name), known.catalog
    if any(_asked(each, known, name) for each in joints):
        found = _seen_nodes(name, known)
        if found is None or not len(found[0]):
            return None
        different, place = np.unique(found[0], return_inverse=True)
        return different, np.bincount(place, found[1], len(different)).astype(np.float64)
    ids = None if node is None else every_node(_asked_of(name, known), node.labels, catalog)
    if ids is None:
        return None
    weights = np.ones(len(ids))
    for joint in joints:
        weights = weights * catalog.degrees_of(ids, joint.incidence(name, known.nodes))
    return ids, weights * _begun(ids, walks, joints, catalog)


def name_below(name: str, rows: Operator) -> str:
    """Return what a column of rows is called where a search finds it."""
    while isinstance(rows, Project | Filter | Attach | Search):
        if isinstance(rows, Search) and name in (level.name for level in rows.levels[rows.seeds :]):
            break
        if isinstance(rows, Project):
            item = dict(rows.items).get(name)
            if not isinstance(item, Variable):
                break
            name = item.name
        rows = rows.input
    return name


def given_nodes(name: str, known: Below) -> Any:
    """Return ids of nodes that are in a column of rows, as often as they are expected there: int64; None if unknown.

    ``known``: what the rows come from, in which the column has this name.
    """
    found = _seen_nodes(name, known)
    return None if found is None else _drawn(*found)


def _seen_nodes(name: str, known: Below) -> tuple[Any, Any] | None:
    """Return ids of nodes that are in a column of rows of a sample: int64, and how often: float64, None: once each.

    None where that isn't known.
    """
    import numpy as np

    catalog = known.catalog
    joints, walks = _joined(name, known), _walks(name, known)
    if not joints:
        node = known.nodes.get(name)
        ids = None if node is None else admitted_nodes(_asked_of(name, known), node.labels, catalog)
        return None if ids is None else (ids, _begun(ids, walks, joints, catalog) if walks else None)
    joint = max(joints, key=lambda each: _asked(each, known))
    of_types = (_ends(name, joint, type, known, catalog) for type, edges in joint.types if edges)
    parts = [found for found in of_types if found is not None]
    if not parts:
        return None
    ids, weights = parts[0][0], None
    if len(parts) > 1:
        ids = np.concatenate([found for found, _ in parts])
        weights = np.concatenate([np.full(len(found), each) for found, each in parts])
    for other in joints:
        if other is not joint:
            degrees = catalog.degrees_of(ids, other.incidence(name, known.nodes))
            weights = degrees if weights is None else weights * degrees
    if walks:
        begun = _begun(ids, walks, joints, catalog)
        weights = begun if weights is None else weights * begun
    return ids, weights


def _joined(name: str, known: Below) -> list[Joint]:
    return [each for each in known.joints if name in each.ends and len(set(each.ends)) == 2]


def _walks(name: str, known: Below) -> list[Walk]:
    return [each for each in known.walks if each.start == name and each.minimum]


def _asked_of(name: str, known: Below) -> list[Expr]:
    """Return the conditions on a node alone."""
    return [*known.nodes[name].predicates, *(each for each in known.given if free_variables(each) == {name})]


def _begun(nodes: Any, walks: Sequence[Walk], joints: Sequence[Joint], catalog: CatalogView) -> Any:
    """Return how many first hops of walks nodes have, which begin more of them for that: float64."""
    found: Any = 1.0
    for walk in walks:
        out, into = walk.direction is not Direction.IN, walk.direction is not Direction.OUT
        types = walk.types or catalog.relationship_types
        taken = sum(
            each.name in walk.different and all(type in types for type, _ in each.types) for each in joints
        )  # by the relationships that lead to the node, which the walk may not go back over
        found = found * (catalog.degrees_of(nodes, Incidence(types, out, into, None)) - taken).clip(0.0)
    return found


def _ends(name: str, joint: Joint, type: str, below: Below, catalog: CatalogView) -> tuple[Any, float] | None:
    """Return the ids of a column in some of a type's relationships that rows come from, and how many each stands for.

    None where a condition on them can't be evaluated.
    """
    import numpy as np

    from qengine.optimizer.sampled import conjunction, how_many

    ends = [below.nodes[end] for end in joint.ends]
    names = {joint.ends[0]: "start", joint.name: "relationship", joint.ends[1]: "end"}
    conditions = [*joint.predicates, *ends[0].predicates, *ends[1].predicates]
    conditions += [each for each in below.given if free_variables(each) <= names.keys()]
    found = None
    for many in (False, True):
        labels = named(ends[0].labels), named(ends[1].labels)
        sample = catalog.relationship_sample(type, *labels, both=joint.both, many=many)
        if sample is None or not sample.size:
            return None
        mask, known = conjunction(conditions, {each: (sample, at) for each, at in names.items()}, known_values())
        if len(known) < len(conditions):
            return None
        mask = np.ones(sample.size, np.bool_) if mask is None else mask
        found = sample.ids(names[name], mask), sample.total / sample.size
        if how_many(mask) >= _FEW:
            break
    return found


def _asked(joint: Joint, below: Below, aside: str = "") -> int:
    """Return how many conditions there are on a relationship and its ends; ``aside``: but for those on this one."""
    names = {*joint.ends, joint.name} - {aside}
    across = sum(bool(free_variables(each) & names) for each in below.given) if aside else 0
    return len(joint.predicates) + across + sum(len(below.nodes[end].predicates) for end in names & {*joint.ends})


def _drawn(ids: Any, weights: Any) -> Any:
    """Return some of the ids, in any order, as likely as their weights say."""
    import numpy as np

    if ids is None or not len(ids) or (weights is not None and not weights.any()):
        return None
    random = np.random.default_rng(_SEED)
    if weights is None:
        return random.permutation(ids)[:_NODES]
    return random.choice(ids, _NODES, p=weights / weights.sum())
