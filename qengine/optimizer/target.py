"""Where what is planned will run.

Plans are for both devices, with a choice for each, but where the best for the host leaves none for a GPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from qengine.catalog.costs import costs
from qengine.plan.logical import Filter
from qengine.plan.physical import Eliminate, HashJoin, PhysicalPlan, RelationshipScan, Search
from qengine.plan.traverse import operators

_FOR_GPU = ContextVar("planned for a GPU", default=False)


@contextmanager
def for_gpu(*, wanted: bool = True) -> Iterator[None]:
    """Let plans be for a GPU meanwhile: what it takes decides, and joins, which the host runs, are the last choice."""
    token = _FOR_GPU.set(wanted)
    try:
        yield
    finally:
        _FOR_GPU.reset(token)


def is_for_gpu() -> bool:
    """Tell whether what is planned will run on a GPU."""
    return _FOR_GPU.get()


def differs_on_gpu(plan: PhysicalPlan) -> bool:
    """Tell whether a plan may be another one for a GPU: one that joins, scans, compares rows, or is searched long."""
    return any(
        isinstance(each, HashJoin | RelationshipScan)
        or (isinstance(each, Filter) and isinstance(each.input, Search | Eliminate))
        or (isinstance(each, Eliminate) and each.schedule("gpu") is None)
        or (isinstance(each, Search) and not each.shapes and (each.on_gpu or 0.0) > costs("gpu", "choice")["replan"])
        for each in operators(plan.root)
    )
