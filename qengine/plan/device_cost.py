"""What a search is expected to take on a GPU, by the constants ``[search]`` of ``catalog/cost/gpu.toml``."""

from __future__ import annotations

from collections.abc import Sequence

from qengine.catalog.costs import costs
from qengine.plan.count_shapes import Component, EdgeShape, View, kernels_of


def device_search_cost(shapes: Sequence[Component[View]], cost: float | None, on_gpu: float | None) -> float:
    """Return the nanoseconds that a search takes on a GPU.

    Parameters
    ----------
    shapes, cost, on_gpu
        As in ``Search``: ``cost`` is that on one core, ``on_gpu`` what its general kernels take.
    """
    found = costs("gpu", "search")
    if shapes:
        return found["shaped"] + (cost or 0.0) / min(found[_price(each)] for each in shapes)
    return found["start"] + ((cost or 0.0) / found["cores"] if on_gpu is None else found["doubt"] * on_gpu)


def _price(of: Component[View]) -> str:
    """Return the name of what a shape's kernel is worth: lists are short where each triangle is found once."""
    (kernel,) = kernels_of((of,))
    return f"{kernel}_again" if isinstance(of.shape, EdgeShape) and of.shape.taken > 1 else kernel
