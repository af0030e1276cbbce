"""Looks for better matching orders of a search under way, by samples of the graph (see exec/host/race.py).

An order costs about as many steps as its beginnings have embeddings. Alley's samples of one order estimate the
cardinality of each of its beginnings. Many orders are sampled a little, the promising ones more (successive halving).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence

from qengine.estimate.kernel import SampleRange, draw
from qengine.estimate.result import Sums
from qengine.exec.common.resolve import ResolvedSearch, resolve
from qengine.exec.context import ExecutionContext
from qengine.exec.view import ExecView, MaskProvider
from qengine.plan.levels import connected, links, reordered, without_order
from qengine.plan.physical import Search, VertexLevel

LEAST_VERTICES = 8
"""Smaller patterns have exact orders, and estimates that are not far off."""

_MOST_LEVELS = 64
"""Of larger patterns there are so many orders, and each takes so long to lay out, that the search goes on alone."""

_RANDOM = 32
_ROUNDS = ((1, 16), (16, 6))
"""How many times the samples an order gets in a round, and how many orders go on."""


def other_orders(
    store: ExecView, search: Search, masks: MaskProvider, context: ExecutionContext, samples: int
) -> Sequence[Search]:
    """Return searches with the same total in orders that look better, the most promising first; perhaps none.

    Parameters
    ----------
    search
        Without seeds; only its total matters.
    samples
        Samples drawn in each order looked at; 16 times as many in the promising ones.
    """
    if len(search.levels) > _MOST_LEVELS:
        return ()
    plain = without_order(search)
    joined = links(plain)
    if len(joined) < LEAST_VERTICES or not connected(joined):
        return ()
    own = tuple(level.name for level in search.levels if isinstance(level, VertexLevel))
    left = {order: reordered(plain, order) for order in _orders(joined)} | {own: search}
    for times, keep in _ROUNDS:
        costs: dict[tuple[str, ...], float] = {}
        for order, each in left.items():
            context.check()
            resolved = resolve(store, each, masks)
            if resolved is None:
                return ()
            costs[order] = _cost(resolved, len(each.levels), context, samples * times)
        left = {order: left[order] for order in sorted(left, key=costs.__getitem__)[:keep]}
    better = list(left)
    return [left[order] for order in (better[: better.index(own)] if own in better else better)]


def _cost(resolved: ResolvedSearch, depth: int, context: ExecutionContext, samples: int) -> float:
    """Return the estimated embeddings of all beginnings of an order but the whole.

    Where the samples die out, the rest is taken to be as frequent as what the last of them just missed.
    """
    plan = int(resolved.plan.ctypes.data)
    drawn = draw(plan, "alley", context, SampleRange(0, 0, samples), depth=depth)
    return sum(_cardinalities(drawn.levels[:-1]))


def _cardinalities(levels: Sequence[Sums]) -> Iterator[float]:
    last, hits = 1.0, 1
    for level in levels:
        last, hits = (level.mean, level.hits) if level.hits else (last / hits, 1)
        yield last


def _orders(joined: Mapping[str, set[str]]) -> Iterator[tuple[str, ...]]:
    """Yield orders from each vertex by RI's rule (most edges to what is bound first), and others close to it."""
    names = sorted(joined)
    for start in names:
        yield _order(start, joined, lambda name, edges: (-edges, -len(joined[name])))
    chance = random.Random(0)
    for _ in range(_RANDOM):
        yield _order(chance.choice(names), joined, lambda _, edges: (-edges * chance.random(), 0))


def _order(
    start: str, joined: Mapping[str, set[str]], rank: Callable[[str, int], tuple[float, float]]
) -> tuple[str, ...]:
    order = [start]
    left = set(joined) - {start}
    while left:
        edges = {name: len(joined[name].intersection(order)) for name in sorted(left)}
        order.append(min((*rank(name, n), name) for name, n in edges.items() if n)[-1])
        left.discard(order[-1])
    return tuple(order)
