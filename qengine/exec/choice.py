"""Where a query runs: what its user asked for, or under "auto" the GPU where there is one and the query is large."""

from __future__ import annotations

import os

from qengine._frozen import frozen
from qengine.catalog.costs import costs
from qengine.exec.devices import asked_device, devices_in_words
from qengine.plan.device_cost import device_search_cost
from qengine.plan.logical import Operator
from qengine.plan.physical import (
    MAX_DEVICE_LEVELS,
    AggregateByNode,
    AggregateEntries,
    Bounded,
    Eliminate,
    PhysicalPlan,
    Search,
    check_device_levels,
)
from qengine.plan.schedule import Schedule
from qengine.plan.traverse import operators

__all__ = ["LargestSearch", "choose", "devices_of", "largest_search"]


@frozen
class LargestSearch:
    """The search of a plan that is estimated to find the most embeddings.

    ``eliminate``: sums its vertices out instead; None where it is searched. ``levels``: the most of any search of the
    plan, but for those that are eliminated.
    """

    search: Search
    eliminate: Eliminate | None = None
    levels: int = 0

    @property
    def rows(self) -> float:
        """The estimate."""
        return self.search.rows or 0.0


def choose(asked: str, largest: LargestSearch | None) -> tuple[str, str]:
    """Return the device, "cpu" or "gpu", and why.

    Parameters
    ----------
    asked
        "cpu", "gpu", "auto", or "gpu:" and numbers (``exec.devices``).
    largest
        ``largest_search`` of the plan.

    Raises
    ------
    DeviceError
        For a GPU that can't be used, and for any other name.
    Unsupported
        For "gpu" where a search has more levels than its kernels take.
    """
    asked, numbers = asked_device(asked)
    if asked == "cpu":
        return "cpu", "as asked"
    levels = largest.levels if largest is not None else 0
    if asked == "gpu":
        check_device_levels(levels)
    rows = largest.rows if largest is not None else 0.0
    if asked == "auto" and largest is None:
        return "cpu", "no pattern of fixed length is matched"
    if asked == "auto" and rows < costs("gpu", "choice")["rows"]:
        return "cpu", f"{_expected(rows)}, too few to use the GPU"
    if levels > MAX_DEVICE_LEVELS:
        return "cpu", f"a pattern has {levels:,} nodes and relationships, and a GPU searches {MAX_DEVICE_LEVELS}"
    from qengine.exec.gpu.device import missing, usable

    if asked == "gpu":
        return "gpu", f"as asked{_several(usable(numbers))}"
    if (reason := missing()) is not None:
        return "cpu", reason.message
    assert largest is not None
    eliminate = largest.eliminate
    on_cpu = None if eliminate is None else eliminate.schedule("cpu")
    if on_cpu is not None and on_cpu.cost < costs("gpu", "choice")["elimination"]:
        return "cpu", f"elimination takes about {on_cpu.cost / 1e6:,.3g} ms"
    if longer := _longer_there(largest, on_cpu):
        return "cpu", longer
    return "gpu", f"{_expected(rows)}{_several(usable())}"


def _several(numbers: tuple[int, ...]) -> str:
    """Name the GPUs where there is more than one."""
    return f", {devices_in_words(numbers)}" if len(numbers) > 1 else ""


def _longer_there(largest: LargestSearch, on_cpu: Schedule | None) -> str:
    """Say how much longer a GPU searches for a count than the host counts, "" where it doesn't, or that isn't known."""
    search, eliminate = largest.search, largest.eliminate
    if eliminate is not None and eliminate.schedule("gpu") is not None:
        return ""
    if on_cpu is None and (search.shapes or search.on_gpu is None):
        return ""
    here = (search.cost or 0.0) / len(os.sched_getaffinity(0)) if on_cpu is None else on_cpu.cost
    there = device_search_cost(search.shapes, search.cost, search.on_gpu)
    if here >= there:
        return ""
    way = "a search" if on_cpu is None else "elimination"
    return f"{way} takes about {here / 1e6:,.3g} ms, a search on the GPU {there / 1e6:,.3g}"


def _expected(rows: float) -> str:
    number = f"{rows:,.0f}"
    return f"about {number} {'match' if number == '1' else 'matches'} expected"


def largest_search(plan: PhysicalPlan) -> LargestSearch | None:
    """Return the plan's search that is estimated to find the most embeddings, None if it has none.

    Terms of an elimination are part of it, what the host folds is no search, and what a bound makes needless doesn't
    count.
    """
    by_host: list[Operator] = []
    for each in operators(plan.root):
        if isinstance(each, AggregateByNode | AggregateEntries | Bounded):
            by_host.append(each.input)
        if isinstance(each, AggregateEntries) and each.core is not None:
            by_host += [each.core, *each.counts]
    found = [each for each in operators(plan.root) if isinstance(each, Search | Eliminate)]
    instead = {id(below) for root in by_host for below in operators(root)}
    instead |= {id(search) for each in found if isinstance(each, Eliminate) for search in each.searches}
    found = [each for each in found if id(each) not in instead]
    levels = max((len(each.levels) for each in found if isinstance(each, Search)), default=0)
    searches = (
        LargestSearch(each, None, levels) if isinstance(each, Search) else LargestSearch(each.search, each, levels)
        for each in found
    )
    return max(searches, key=lambda each: each.rows, default=None)


def devices_of(plan: PhysicalPlan, chosen: str) -> tuple[tuple[str, str], ...]:
    """Return for each operator, the last one first, its name and the device that runs it."""
    return tuple(
        (type(each).__name__, chosen if isinstance(each, Search | Eliminate) else "cpu")
        for each in operators(plan.root)
    )
