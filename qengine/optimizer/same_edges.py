"""Which edges of a pattern at one vertex may match the same relationship: pairs of them are counted by that.

Two that must differ have d(d-1) pairs at a vertex of so many relationships; two that need not, as in two MATCH clauses
or with REPEATABLE ELEMENTS, have dd. Where one may be of other types, labels or directions than the other, only what
they have in common is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations

from qengine.catalog.view import Incidence
from qengine.optimizer.difference import Differences
from qengine.optimizer.pattern_edges import PatternEdge
from qengine.plan.pattern import LabelAnd, expression, named

Edges = Mapping[Incidence, Sequence[PatternEdge]]
"""The edges at one vertex, by the kind of relationships that they are of."""


def must_differ(
    one: PatternEdge, other: PatternEdge, at: str, difference: Differences, joined: Collection[frozenset[str]]
) -> bool:
    """Tell whether two edges at a vertex must match two relationships, or lead to two vertices.

    ``joined``: pairs of vertices with an edge between them: they are one vertex only where that has a loop.
    """
    ends = frozenset(end for edge in (one, other) for end in edge.ends if end != at)
    return (
        ends in joined
        or ends in difference.vertices
        or frozenset((one.name, other.name)) in difference.edges
        or any(ends <= {*first, *second} for first, second in difference.pairs)
    )


def repeated(edges: Edges, at: str, difference: Differences, joined: Collection[frozenset[str]]) -> set[Incidence]:
    """Return the kinds of which a vertex has several edges, none of which must differ from another."""
    return {
        kind
        for kind, found in edges.items()
        if len(found) > 1 and not any(must_differ(*pair, at, difference, joined) for pair in combinations(found, 2))
    }


def left_out(
    edges: Edges, at: str, difference: Differences, joined: Collection[frozenset[str]]
) -> Iterable[Incidence | None]:
    """Yield of each pair of kinds, as ``itertools.combinations`` does, what they share if their edges must differ."""
    for (kind, found), (kind2, found2) in combinations(edges.items(), 2):
        common = _common(kind, kind2)
        yield common if common and must_differ(found[0], found2[0], at, difference, joined) else None


def _common(one: Incidence, other: Incidence) -> Incidence | None:
    types = tuple(each for each in one.types if each in other.types)
    out, into = one.out and other.out, one.into and other.into
    if not types or not (out or into):
        return None
    first, second = expression(one.labels), expression(other.labels)
    both = first or second if first is None or second is None or first == second else LabelAnd((first, second))
    return Incidence(types, out, into, named(both))
