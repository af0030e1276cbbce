"""Where a query runs: what its user asked for, or under "auto" the GPU where there is one and the query is large."""

from __future__ import annotations

from qengine._frozen import frozen
from qengine._system import usable_processors
from qengine.catalog.costs import costs
from qengine.exec.devices import asked_device, devices_in_words
from qengine.plan.device_cost import device_search_cost
from qengine.plan.physical import (
    MAX_DEVICE_LEVELS,
    AggregateByClasses,
    AggregateByNode,
    AggregateEntries,
    Bounded,
    Completed,
    Eliminate,
    PhysicalPlan,
    Search,
    check_device_levels,
)
from qengine.plan.traverse import operators


@frozen
class LargestSearch:
    """The search of a plan that the host is expected to work at longest, or what takes its place there.

    ``eliminate``: sums its vertices out instead; None where it is searched. ``levels``: the most of any search of the
    plan, but for those that are eliminated. ``folded``: the host searches nothing, it folds vertices.
    """

    search: Search
    eliminate: Eliminate | None = None
    levels: int = 0
    folded: bool = False

    @property
    def rows(self) -> float:
        """The estimate."""
        return self.search.given * (self.search.rows or 0.0)

    @property
    def most(self) -> float:
        """Nanoseconds of one core that the host takes at most: those of a search, of which elimination takes less."""
        if self.folded:
            return self.rows * costs("cpu", "fold")["vertex"]
        if self.search.cost is None:
            return self.rows * costs("cpu", "search")["row"]
        return self.search.given * self.search.cost

    def on_host(self) -> float:
        """Return the nanoseconds of one core that the host takes."""
        schedule = None if self.eliminate is None else self.eliminate.schedule("cpu")
        return self.most if schedule is None else schedule.cost


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
    if asked == "auto" and largest is None:
        return "cpu", "no pattern of fixed length is matched"
    if asked == "auto" and largest is not None and _is_short(largest.most):
        return "cpu", _too_short(largest, largest.most)
    if levels > MAX_DEVICE_LEVELS:
        return "cpu", f"a pattern has {levels:,} nodes and relationships, and a GPU searches {MAX_DEVICE_LEVELS}"
    from qengine.exec.gpu.device import missing, usable

    if asked == "gpu":
        return "gpu", f"as asked{_several(usable(numbers))}"
    if (reason := missing()) is not None:
        return "cpu", reason.message
    assert largest is not None
    if _is_short(taken := largest.on_host()):
        return "cpu", _too_short(largest, taken)
    if longer := _longer_there(largest, taken):
        return "cpu", longer
    return "gpu", f"{_expected(largest)}{_several(usable())}"


def _several(numbers: tuple[int, ...]) -> str:
    """Name the GPUs where there is more than one."""
    return f", {devices_in_words(numbers)}" if len(numbers) > 1 else ""


def _is_short(taken: float) -> bool:
    """Tell whether the host's threads do what takes one core so many nanoseconds before a GPU has begun."""
    given = costs("gpu", "choice")
    return taken < given["host"] * min(usable_processors(), given["threads"])


def _longer_there(largest: LargestSearch, taken: float) -> str:
    """Say how much longer a GPU searches than the host, "" where it doesn't, or that isn't known.

    ``taken``: nanoseconds of one core of the host. Others share searches; steps of eliminations wait for memory.
    """
    search, eliminate = largest.search, largest.eliminate
    if eliminate is not None and eliminate.schedule("gpu") is not None:
        return ""
    if eliminate is None and (search.shapes or search.on_gpu is None):
        return ""
    here = taken / usable_processors() if eliminate is None else taken
    there = device_search_cost(search.shapes, largest.most, search.on_gpu and search.given * search.on_gpu)
    if here >= there:
        return ""
    way = "a search" if eliminate is None else "elimination"
    return f"{way} takes about {here / 1e6:,.3g} ms, a search on the GPU {there / 1e6:,.3g}"


def _too_short(largest: LargestSearch, taken: float) -> str:
    return f"{_expected(largest)}, about {taken / 1e6:,.2g} ms of one core: too few to use the GPU"


def _expected(largest: LargestSearch) -> str:
    number = f"{largest.rows:,.0f}"
    return f"about {number} {'match' if number == '1' else 'matches'} expected"


def largest_search(plan: PhysicalPlan) -> LargestSearch | None:
    """Return the plan's search that the host is expected to work at longest, None if it has none.

    Terms of an elimination are part of it, as what is folded of entries is of their fold; what a bound makes needless
    doesn't count.
    """
    parts: set[int] = set()
    found: list[tuple[Search | Eliminate, bool]] = []
    for each in operators(plan.root):
        if id(each) in parts:
            continue
        if isinstance(each, AggregateEntries):
            parts |= {id(below) for below in operators(each)}
            first = next(below for below in operators(each.input) if isinstance(below, Search | Eliminate))
            found.append((first, len(each.search.levels) == 1))
        elif isinstance(each, AggregateByClasses | AggregateByNode | Bounded | Completed):
            parts |= {id(below) for below in operators(each.input)}
        elif isinstance(each, Search | Eliminate):
            found.append((each, False))
        if isinstance(each, Eliminate):
            parts |= {id(below) for search in each.searches for below in operators(search)}
    levels = max((len(each.levels) for each, _ in found if isinstance(each, Search)), default=0)
    searches = (
        LargestSearch(each, None, levels, folded)
        if isinstance(each, Search)
        else LargestSearch(each.search, each, levels, folded)
        for each, folded in found
    )
    return max(searches, key=lambda each: each.most, default=None)


def devices_of(plan: PhysicalPlan, chosen: str) -> tuple[tuple[str, str], ...]:
    """Return for each operator, the last one first, its name and the device that runs it."""
    return tuple(
        (type(each).__name__, chosen if isinstance(each, Search | Eliminate) else "cpu")
        for each in operators(plan.root)
    )
