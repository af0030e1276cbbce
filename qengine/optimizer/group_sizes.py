"""How many rows groups have: by the relationships of a node that satisfy what is asked of them and their other ends."""

from __future__ import annotations

from collections.abc import Sequence
from math import log1p
from typing import Any

from qengine._frozen import frozen
from qengine.catalog.view import Sample
from qengine.optimizer.correlation import Joint
from qengine.optimizer.filters import Below
from qengine.optimizer.given_trees import ENTRIES, every_node
from qengine.optimizer.peeking import counts_rare, known_values
from qengine.plan.expr import Expr
from qengine.plan.pattern import named
from qengine.plan.traverse import free_variables

ALL = 0.95  # the share of a node's relationships from which all are rows
_FEW = 16  # nodes of a sample that have a row: fewer say little of how many there are
_MOST_TERMS = 64  # of a Poisson distribution that are added up


@frozen
class Groups:
    """Groups that were seen: how many rows each may have, and how many such groups there are: float64.

    ``kept``: how many times as many rows there are; where less than one, each row is there as likely as that.
    """

    each: Any
    times: Any
    kept: float

    @property
    def number(self) -> float:
        """How many groups have a row."""
        return float((self._more(0) * self.times).sum())

    def larger(self, than: float) -> float:
        """Return the share of the groups of a row or more that have more than some rows."""
        return float((self._more(max(than, 0.0)) * self.times).sum()) / max(self.number, 1e-12)

    def _more(self, than: float) -> Any:
        """Return how likely each group has more than some rows: binomially."""
        import numpy as np

        expected = self.each * self.kept
        if self.kept >= ALL or than > _MOST_TERMS:
            return expected > than + (0.5 if than else 0.0)
        term = fewer = np.exp(self.each * log1p(-self.kept))
        for number in range(1, int(than) + 1):
            left = (self.each - (number - 1)).clip(0.0)
            term = term * left * (self.kept / (1.0 - self.kept) / number)
            fewer = fewer + term
        return (1.0 - fewer).clip(0.0)


def groups_along(name: str, keys: Sequence[Expr], rows: float, joints: Sequence[Joint], known: Below) -> Groups | None:
    """Return the groups that a node's relationships show, where conditions are on these or on their other ends.

    ``keys``: over the node; none: groups of the node itself. None where there are no such conditions, where circles
    go through the node, and where too little is seen.
    """
    import numpy as np

    from qengine.optimizer.sampled import codes_of_values, conjunction

    joint = max(joints, key=lambda each: len(_along(name, each, known)))
    ends = {_far(name, each) for each in joints}
    closed = any(len({*each.ends}) == 2 and ends.issuperset(each.ends) for each in known.joints)
    if not counts_rare() or closed or len(joint.types) != 1 or not _along(name, joint, known):
        return None
    found = _from_far(name, joint, known) or (None if keys else _from_near(name, joint, known))
    if found is None:
        return None
    sample, share = found
    at = {joint.ends[0]: (sample, "start"), joint.name: (sample, "relationship"), joint.ends[1]: (sample, "end")}
    asked = [*known.nodes[name].predicates, *(each for each in known.given if free_variables(each) == {name})]
    conditions = [*asked, *_along(name, joint, known)]
    mask, evaluated = conjunction(conditions, at, known_values())
    codes = codes_of_values(keys, {name: at[name]}, known_values())
    if len(evaluated) < len(conditions) or mask is None or codes is None or not mask.any():
        return None
    ids = sample.ids(_near(name, joint), mask)
    ways = np.ones(len(ids))
    for other in joints:
        if other is not joint:
            ways = ways * known.catalog.degrees_of(ids, other.incidence(name, known.nodes))
    _, of = np.unique(codes[mask] if keys else ids, return_inverse=True)
    each, seen = np.bincount(of, ways), float(ways.sum())
    if not seen or (share < 1.0 and np.count_nonzero(each) < _FEW):
        return None
    return Groups(each, np.full(len(each), 1.0 / share), rows * share / seen)


def _along(name: str, joint: Joint, known: Below) -> list[Expr]:
    """Return the conditions on a relationship and its other end, and on these and one end."""
    names = {*joint.ends, joint.name}
    across = [each for each in known.given if free_variables(each) <= names and free_variables(each) - {name}]
    return [*joint.predicates, *known.nodes[_far(name, joint)].predicates, *across]


def _from_far(name: str, joint: Joint, known: Below) -> tuple[Sample, float] | None:
    """Return all relationships that lead to what conditions on the other end admit, if these are few."""
    far = _far(name, joint)
    node = known.nodes[far]
    conditions = [*node.predicates, *(each for each in known.given if free_variables(each) == {far})]
    ids = every_node(conditions, node.labels, known.catalog) if conditions else None
    if ids is None or known.catalog.degrees_of(ids, joint.incidence(far, known.nodes)).sum() > ENTRIES:
        return None
    found = _at(far, name, ids, joint, known)
    return None if found is None else (found, 1.0)


def _from_near(name: str, joint: Joint, known: Below) -> tuple[Sample, float] | None:
    """Return all relationships of some of the nodes that may have the name, and which share of the nodes these are."""
    node = known.nodes[name]
    sample = known.catalog.node_sample(node.labels)
    if sample is None or not sample.size:
        return None
    ids = sample.ids("node", slice(None))
    entries = float(known.catalog.degrees_of(ids, joint.incidence(name, known.nodes)).sum())
    ids = ids[:: max(1, int(-(-entries // ENTRIES)))]
    if known.catalog.degrees_of(ids, joint.incidence(name, known.nodes)).sum() > 2 * ENTRIES:
        return None  # of which a sample would be drawn
    found = _at(name, _far(name, joint), ids, joint, known)
    return None if found is None else (found, len(ids) / sample.total)


def _at(name: str, other: str, ids: Any, joint: Joint, known: Below) -> Sample | None:
    labels = named(known.nodes[other].labels)
    return known.catalog.relationships_at(joint.types[0][0], ids, _near(name, joint), labels, both=joint.both)


def _near(name: str, joint: Joint) -> str:
    return "start" if name == joint.ends[0] else "end"


def _far(name: str, joint: Joint) -> str:
    return joint.ends[1] if name == joint.ends[0] else joint.ends[0]
