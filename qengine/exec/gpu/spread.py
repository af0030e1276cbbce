"""One search on several devices: each counts, or lists, what some of the roots give.

Every device has the graph's lists. Pieces are shares of the roots in strides, so that all have the same part of the
heavy ones.
"""

from __future__ import annotations

from dataclasses import fields

from qengine.catalog.costs import costs
from qengine.exec.common.operator_cache import PerOperatorCache
from qengine.exec.common.resolve import ResolvedSearch, resolve
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu.count import share_sums, use_of
from qengine.exec.gpu.count_kernels import total_of
from qengine.exec.gpu.dealing import deal, shares_in_words
from qengine.exec.gpu.launch import device_run
from qengine.exec.gpu.upload import device_plan
from qengine.exec.view import ExecView, MaskProvider
from qengine.plan.device_cost import device_search_cost
from qengine.plan.physical import Search, SearchPart, VertexLevel
from qengine.plan.shares import Share, guided_shares

_GUIDED = ((2e8, (4, 2, 1, 1)), (5e7, (3, 1)), (0.0, (1,)))
"""From so many nanoseconds on, what each device takes one after the other, in parts of its own share: ever less, so
that all end at about the same time, whichever is held up. Every piece has an end at which few of its roots are left, so
that what is soon done is dealt once."""

Part = tuple[SearchPart, ResolvedSearch]

_parts: PerOperatorCache[dict[int, list[SearchPart]]] = PerOperatorCache()
"""By how many devices there are: the same ones again, so that what is made of them is found on the devices."""


def is_spread(search: Search, context: ExecutionContext, *, folded: bool = False) -> bool:
    """Tell whether a search takes so long that several devices shall run it; ``folded``: its rows into groups."""
    if len(context.gpus) < 2 or search.seeds or search.exists or not search.levels or isinstance(search, SearchPart):
        return False
    if not isinstance(search.levels[0], VertexLevel):
        return False
    least = "spread_fold" if folded else "spread" if search.shapes else "spread_search"
    return _cost(search) >= costs("gpu", "choice")[least]


def _cost(search: Search) -> float:
    return device_search_cost(search.shapes, search.cost, search.on_gpu)


def root_shares(devices: int, cost: float) -> list[Share]:
    """Return shares of the roots for so many devices to take, the largest first; together they are all.

    ``cost``: nanoseconds that one device is expected to take.
    """
    return guided_shares(devices, next(parts for least, parts in _GUIDED if cost >= least))


def shaped_total(store: ExecView, search: Search, resolved: ResolvedSearch, context: ExecutionContext) -> int | None:
    """Return the count of a search of one shape; None where it has none, or its kernels can't tell.

    Raises
    ------
    DeviceError
        If a device fails.
    """
    if len(search.shapes) != 1:
        return None
    (shape,) = search.shapes
    shares = root_shares(len(context.gpus), _cost(search))

    def count(place: int, inner: ExecutionContext) -> tuple[int, int] | None:
        with device_run(inner) as run, device_plan(store, resolved, run, use_of(search)) as plan:
            return share_sums(store, shape, plan, run, shares, place)

    found, taken = deal(context, range(len(shares)), count)
    sums = [each for each in found if each is not None]
    if len(sums) < len(found):
        return None
    context.note(search, shares_in_words(taken))
    return total_of(shape.shape, sum(first for first, _ in sums), sum(second for _, second in sums))


def search_parts(store: ExecView, search: Search, context: ExecutionContext, masks: MaskProvider) -> list[Part]:
    """Return a search in parts by its roots, resolved, the largest first; those without a root are left out."""
    known, devices = _parts.get(store, search, lambda: ({}, True)), len(context.gpus)
    if devices not in known:
        kept = {each.name: getattr(search, each.name) for each in fields(search)} | {"shapes": ()}
        known[devices] = [SearchPart(**kept, share=share) for share in root_shares(devices, _cost(search))]
    found = ((part, resolve(store, part, masks)) for part in known[devices])
    return [(part, resolved) for part, resolved in found if resolved is not None]
