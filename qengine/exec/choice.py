"""Where a query runs: what its user asked for, or under "auto" the GPU where there is one and the query is large."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from qengine.catalog.costs import costs
from qengine.exec.cpu.resolve import resolve_pattern
from qengine.plan.physical import Eliminate, PhysicalPlan, Search
from qengine.plan.traverse import operators

__all__ = ["LargestSearch", "choose", "devices_of", "largest_search"]


@dataclass(eq=False)
class LargestSearch:
    """The search of a plan that is estimated to find the most embeddings, and where the GPU has a kernel for it.

    ``eliminated``: on the CPU its vertices are summed out instead.
    """

    search: Search
    eliminated: bool = False
    _known: WeakKeyDictionary[Any, bool] = field(default_factory=WeakKeyDictionary)

    @property
    def rows(self) -> float:
        """The estimate."""
        return self.search.rows or 0.0

    def has_kernel(self, store: Any) -> bool:
        """Tell whether the GPU is as fast as the CPU's way: it searches anything; but only kernels made for a shape are
        faster than elimination.
        """
        if not self.eliminated:
            return True
        found = self._known.get(store)
        if found is None:
            found = self._known[store] = _has_kernel(self.search, store)
        return found


def choose(asked: str, largest: LargestSearch | None, store: Any) -> tuple[str, str]:
    """Return the device, "cpu" or "gpu", and why.

    Parameters
    ----------
    asked
        "cpu", "gpu" or "auto".
    largest
        ``largest_search`` of the plan.
    store
        The ``GraphStore`` that it will run on.

    Raises
    ------
    DeviceError
        For "gpu" without a usable device.
    """
    if asked == "cpu":
        return "cpu", "as asked"
    rows = largest.rows if largest is not None else 0.0
    if asked == "auto" and (largest is None or rows < costs("gpu", "choice")["rows"]):
        return "cpu", f"an estimated {rows:,.0f} embeddings are few"
    from qengine.exec.gpu.device import device, missing

    if asked == "gpu":
        device()
        return "gpu", "as asked"
    if (reason := missing()) is not None:
        return "cpu", reason.message
    assert largest is not None
    if not largest.has_kernel(store):
        return "cpu", "the GPU has no kernel for the pattern's shape, and the CPU needs no search"
    return "gpu", f"an estimated {rows:,.0f} embeddings are many"


def _has_kernel(search: Search, store: Any) -> bool:
    from qengine.exec.gpu.count_plan import components

    resolved = resolve_pattern(store, search)
    if resolved is None or any(level.predicates for level in search.levels):
        return False
    return components(resolved.plan) is not None


def largest_search(plan: PhysicalPlan) -> LargestSearch | None:
    """Return the plan's search that is estimated to find the most embeddings, None if it has none."""
    searches = (
        LargestSearch(each) if isinstance(each, Search) else LargestSearch(each.search, eliminated=True)
        for each in operators(plan.root)
        if isinstance(each, Search | Eliminate)
    )
    return max(searches, key=lambda each: each.rows, default=None)


def devices_of(plan: PhysicalPlan, chosen: str) -> tuple[tuple[str, str], ...]:
    """Return for each operator, the last one first, its name and the device that runs it."""
    return tuple(
        (type(each).__name__, chosen if isinstance(each, Search | Eliminate) else "cpu")
        for each in operators(plan.root)
    )
