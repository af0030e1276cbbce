"""How many pairs of relationships that meet at a node satisfy what is asked of both and of the three nodes together.

Nodes that conditions admit, or that relationships which they admit lead to, may have more or fewer relationships than
others. A sample of such pairs shows that, and how conditions on both sides go together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from math import prod

from qengine.catalog.view import Sample
from qengine.optimizer.cardinality import Cardinality
from qengine.optimizer.order_problem import Problem, mask_of
from qengine.optimizer.pattern_edges import PatternEdge
from qengine.optimizer.unjoined import known_values
from qengine.plan.expr import Expr
from qengine.plan.pattern import named
from qengine.plan.traverse import free_variables

__all__ = ["Meeting", "corrections", "meetings"]

_ALIKE = 1.25  # times as many, or as few: what says less leaves the parts of three nodes to what is known of two
_FEW = 16  # pairs that satisfy all: of fewer a larger sample says more
_LEAST = 1e-9

Meeting = tuple[PatternEdge, PatternEdge, str]
"""Two edges between three nodes, and the node that both are at."""


def meetings(edges: Sequence[PatternEdge]) -> Iterator[Meeting]:
    """Yield each two edges that meet at one node and lead to two others."""
    for one, other in combinations(edges, 2):
        ends = {*one.ends, *other.ends}
        common = set(one.ends) & set(other.ends)
        if len(ends) == 3 and len(common) == 1 and len({*one.ends}) == len({*other.ends}) == 2:
            yield one, other, common.pop()


def corrections(
    found: Sequence[Meeting],
    problem: Problem,
    number: Mapping[str, int],
    across: Sequence[Expr],
    apart: Callable[[frozenset[str]], str],
    expected: Callable[[Meeting], float],
    cardinality: Cardinality,
) -> list[tuple[int, float]]:
    """Return sets of three nodes, and how many times as many matches as by degrees they have with all conditions.

    Parameters
    ----------
    across
        The conditions on two nodes.
    apart
        What differs of two outer nodes, as ``CatalogView.wedge_sample`` wants it.
    expected
        Tells how many matches the two relationships of a meeting have, as far as is known of pairs of nodes.

    Returns
    -------
    As ``Problem.pairs``; what these say of two of the nodes is part of it. What says most comes first.
    """
    from qengine.optimizer.sampled import times_as_many

    factors = []
    for one, other, middle in found:
        names = frozenset((*one.ends, *other.ends))
        conditions = [each for each in across if free_variables(each) <= names]
        for edge in (one, other):
            conditions += edge.relationship.predicates
        for name in names - {middle}:
            conditions += cardinality.nodes[name].predicates
        if not conditions:
            continue
        conditions += cardinality.nodes[middle].predicates
        label = named(cardinality.nodes[middle].labels)
        kinds = cardinality.incidence(one, middle), cardinality.incidence(other, middle)
        differ = apart(names - {middle})
        for many in (False, True):
            sample = cardinality.catalog.wedge_sample(label, *kinds, apart=differ, many=many)
            seen = None if sample is None else _seen(sample, (one, other, middle), conditions)
            if seen is None or seen >= _FEW:
                break
        if sample is None or seen is None:
            continue
        times = times_as_many(seen, expected((one, other, middle)) / sample.total * sample.size)
        if 1.0 / _ALIKE < times < _ALIKE:
            continue
        part = mask_of(number[name] for name in names)
        within = prod(factor for pair, factor in problem.pairs if pair & part == pair)
        factors.append((part, times, max(times * within, _LEAST)))
    factors.sort(key=lambda each: -max(each[1], 1.0 / each[1]))
    return [(part, factor) for part, _, factor in factors]


def _seen(sample: Sample, meeting: Meeting, conditions: Sequence[Expr]) -> int | None:
    """Return how many pairs of a sample satisfy conditions; None where it can't tell."""
    from qengine.optimizer.sampled import conjunction, how_many

    if not sample.size:
        return None
    one, other, middle = meeting
    rows = {middle: (sample, "middle")}
    for edge, element in ((one, "first"), (other, "last")):
        rows[edge.ends[0] if edge.ends[1] == middle else edge.ends[1]] = sample, element
        if len(edge.types) == 1:
            rows[edge.name] = sample, f"to_{element}"
    mask, known = conjunction([each for each in conditions if free_variables(each) <= rows.keys()], rows, known_values())
    return None if mask is None or len(known) < len(conditions) else how_many(mask)
