"""What a search is expected to take on a GPU, by the constants ``[search]`` of ``catalog/cost/gpu.toml``."""

from __future__ import annotations

from collections.abc import Sequence

from qengine.catalog.costs import costs
from qengine.plan.count_shapes import Component, View, kernels_of


def device_search_cost(shapes: Sequence[Component[View]], cost: float | None, on_gpu: float | None) -> float:
    """Return the nanoseconds that a search takes on a GPU.

    Parameters
    ----------
    shapes, cost, on_gpu
        As in ``Search``: ``cost`` is that on one core, ``on_gpu`` what its general kernels take.
    """
    found = costs("gpu", "search")
    if shapes:
        return found["shaped"] + (cost or 0.0) / min(found[kernel] for kernel in kernels_of(shapes))
    return found["start"] + ((cost or 0.0) / found["cores"] if on_gpu is None else found["doubt"] * on_gpu)
