"""Where a query runs: what its user asked for, or under "auto" the GPU where there is one and the query is large."""

from __future__ import annotations

from qengine.plan.physical import PhysicalPlan, Search
from qengine.plan.traverse import operators

__all__ = ["choose", "devices_of", "largest_search"]

_LARGE_ROWS = 2e7
"""Embeddings from which a search is worth a launch and the graph's copy: about 0.1 s of the CPU's."""


def choose(asked: str, rows: float) -> tuple[str, str]:
    """Return the device, "cpu" or "gpu", and why.

    Parameters
    ----------
    asked
        "cpu", "gpu" or "auto".
    rows
        ``largest_search`` of the plan.

    Raises
    ------
    DeviceError
        For "gpu" without a usable device.
    """
    if asked == "cpu":
        return "cpu", "as asked"
    if asked == "auto" and rows < _LARGE_ROWS:
        return "cpu", f"an estimated {rows:,.0f} embeddings are few"
    from qengine.exec.gpu.device import device, missing

    if asked == "gpu":
        device()
        return "gpu", "as asked"
    if (reason := missing()) is not None:
        return "cpu", reason.message
    return "gpu", f"an estimated {rows:,.0f} embeddings are many"


def largest_search(plan: PhysicalPlan) -> float:
    """Return how many embeddings the plan's largest search is estimated to find."""
    return max((each.rows or 0.0 for each in operators(plan.root) if isinstance(each, Search)), default=0.0)


def devices_of(plan: PhysicalPlan, chosen: str) -> tuple[tuple[str, str], ...]:
    """Return for each operator, the last one first, its name and the device that runs it."""
    return tuple((type(each).__name__, chosen if isinstance(each, Search) else "cpu") for each in operators(plan.root))
