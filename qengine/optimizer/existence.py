"""What a search costs that stops at the first embedding of each row, and the order in which it gives up soonest.

The cost model counts all embeddings. Where they are many, one is found by a step or two at each level; where there is
none, a row costs what is bound before that shows. So next to the row's vertices come their neighbours: a vertex that
has too few is dropped before any path out of it is walked.
"""

from __future__ import annotations

from qengine._frozen import replace
from qengine.optimizer.cardinality import Cardinality
from qengine.optimizer.matching import Matching, MatchingOrder, order_problem
from qengine.optimizer.order import EXACT, CostModel
from qengine.optimizer.order_problem import mask_of

_A_STEP = 1000.0
"""Nanoseconds of binding a vertex that is tried, its lists intersected."""
_FEWEST = 1e-9
_TRIES = 3.0
"""So many times as many are tried as if embeddings lay as dense everywhere."""


def first_match(matching: Matching, order: MatchingOrder, cardinality: Cardinality) -> MatchingOrder:
    """Return the order for a search that stops at a row's first embedding, with what that costs in nanoseconds."""
    if order.reason or order.symmetry.images or not (matching.wanted or matching.bound) or len(order.names) > EXACT:
        return order
    rows = [name for name in order.names if name in matching.wanted]
    if list(order.names[: len(rows)]) != rows:
        return order
    if _has_conditions(matching, cardinality):  # what satisfies them may lie apart from most rows
        return order
    if len(order.names) == 1 and not matching.bound:
        return replace(order, cost=min(order.cost, _A_STEP * max(order.rows, 1.0)), on_gpu=None)
    names = _near_first(matching, order.names, len(rows))
    numbered, problem = order_problem(matching, cardinality)
    number = {name: place for place, name in enumerate(numbered)}
    model = CostModel(problem)
    known = {number[name] for name in (*matching.bound, *rows)}
    times = model.rows(mask_of(known)) if rows else 1.0
    found = [
        model.rows(mask_of(known | {number[each] for each in names[len(rows) : place]}))
        for place in range(len(rows), len(names) + 1)
    ]
    each_row = [embeddings / max(found[0], _FEWEST) for embeddings in found]
    share = _TRIES / max(each_row[-1], _TRIES)
    tried = sum(min(number_of, max(1.0, number_of * share)) for number_of in each_row[1:])
    cost = _A_STEP * max(times, 1.0) * (1.0 + tried)
    return replace(order, names=names, cost=min(order.cost, cost), on_gpu=None)


def rows_first(matching: Matching, order: MatchingOrder, cardinality: Cardinality) -> MatchingOrder:
    """Return the order with all vertices of a row before the others, for a search that must not visit each embedding.

    Its embeddings are too many to be counted, so a row's first is found by a step or two at each level.
    """
    if order.reason or order.symmetry.orbits > 1 or _has_conditions(matching, cardinality):
        return order
    rows = tuple(name for name in order.names if name in matching.wanted)
    rest = tuple(name for name in order.names if name not in matching.wanted)
    return replace(order, names=_near_first(matching, (*rows, *rest), len(rows)))


def _has_conditions(matching: Matching, cardinality: Cardinality) -> bool:
    """Tell whether anything is asked of vertices or relationships but labels, types, and being different."""
    nodes = any(cardinality.nodes[name].predicates for name in matching.names)
    return nodes or bool(matching.conditions) or any(edge.relationship.predicates for edge in matching.edges)


def _near_first(matching: Matching, names: tuple[str, ...], rows: int) -> tuple[str, ...]:
    """Return the order with the neighbours of its first ``rows`` vertices, and of those given, next to them."""
    known = {*matching.bound, *names[:rows]}
    near = {end for edge in matching.edges if known.intersection(edge.ends) for end in edge.ends} - known
    head, rest = names[:rows], names[rows:]
    return (*head, *(name for name in rest if name in near), *(name for name in rest if name not in near))
