"""How to trawl: in which matching order, and whether the prefixes are guided; by a few hauls of each way."""

from __future__ import annotations

from collections.abc import Iterator

from qengine._frozen import replace
from qengine.estimate.choice import relative_cost
from qengine.estimate.rival import other_orders
from qengine.estimate.sampler import MOST_WORK, TrawlingSampler
from qengine.estimate.space import Space, make_space
from qengine.estimate.target import Target
from qengine.exec.common.masks import Masks
from qengine.exec.common.pipeline import runtime_of
from qengine.exec.context import ExecutionContext
from qengine.exec.view import ExecView

_PILOT = 8
"""Hauls of each way: they choose and don't count."""

_ORDERS = 2
_SAMPLES = 64
"""Other orders that are tried, and samples that each order is first looked at by (see rival.py)."""


def trawler(
    ways: list[tuple[Target, Space]], context: ExecutionContext, seed: int, most_work: int = MOST_WORK
) -> TrawlingSampler:
    """Return what trawls one of ``ways``, guided or not: with the least variance for its work.

    Where none of their pilots hits anything, that is the first way, unguided. The sampler draws other hauls than they.
    """
    found = [
        TrawlingSampler(target, space, context, seed, guided=guided, skipped=_PILOT, most_work=most_work)
        for target, space in ways
        for guided in (False, True)[: 1 if space.candidates is None else 2]
    ]
    if len(found) == 1:
        return found[0]
    costs = [relative_cost(replace(each, skipped=0).draw(0, _PILOT)) for each in found]
    return found[costs.index(min(costs))]


def other_spaces(target: Target, store: ExecView, context: ExecutionContext) -> Iterator[tuple[Target, Space]]:
    """Yield a target's search in other orders, which look better by samples, and what is sampled then."""
    masks = Masks(runtime_of(store, context))
    for search in other_orders(store, target.search, masks, context, _SAMPLES)[:_ORDERS]:
        other = replace(target, search=search)
        space = make_space(other, store, context, None, None)
        if space is not None:
            yield other, space
