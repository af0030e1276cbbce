"""Closed walks of four steps along several matrices, each at its first vertex (``row_products.cu``, ranked rows)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from qengine._frozen import replace
from qengine.exec.gpu.eliminate_matrix import DeviceMatrix, uploaded
from qengine.exec.gpu.elimination_steps import SUMS, TOTAL, TOTAL_BLOCKS, DeviceSteps, blocks_of, integer
from qengine.exec.gpu.row_products import ROW_PRODUCTS, run_row_products
from qengine.plan.elimination import Matrix
from qengine.plan.kernels.cliques import numbered_matrices
from qengine.plan.kernels.mixed_walks import Way, mixed_walks, passes_of


def matrix_along(steps: DeviceSteps, given: Mapping[Way, DeviceMatrix], way: Way) -> DeviceMatrix:
    """Return a matrix by its place, maybe seen from the other end; ``given``: those that steps have."""
    if way in given:
        return given[way]
    step = steps.steps[way[0]]
    assert isinstance(step, Matrix)
    turned = replace(step, relations=tuple(each.reversed() for each in step.relations)) if way[1] else step
    return uploaded(steps.relations, turned, steps.run, steps.held, steps.wide)


def start_mixed_walks(steps: DeviceSteps, place: int) -> Any:
    """Start the kernels that count a step's walks; return a block that gets their number, of ``TOTAL`` bytes.

    Vertices go by their ids, which descend by degree among those of the same labels.
    """
    along = mixed_walks(steps.steps[place])
    assert along is not None
    given = {way: steps.matrices[at] for at, way in numbered_matrices(steps.steps, along).items()}
    out = steps.allocate(steps.width * max(1, steps.n), "a vector")
    for number, each in enumerate(passes_of(steps.steps, along)):
        task = np.zeros((), ROW_PRODUCTS)
        paths = (each.one, each.other) if each.one != each.other else (each.one,)
        for (start, link), to in zip(paths, task["ways"], strict=False):
            to["start"], to["link"] = (matrix_along(steps, given, way).record for way in (start, link))
            to["exponent"] = 3 - len(paths)
        task["out"], task["n"], task["n_rows"], task["n_kinds"] = out.ptr, steps.n, steps.n, len(paths)
        task["ranked"], task["adds"], task["factor"], task["back"] = 1, number > 0, each.factor, each.back
        run_row_products(steps.run, task, steps.n, steps.wide, steps.flag, steps.blocks)
    sums = np.zeros((), SUMS)
    sums["n"], sums["of"][0]["n"], sums["of"][0]["of"][0] = 1, 1, out.ptr
    total = steps.allocate(TOTAL, "a total", clear=True)
    flag = np.uint64(steps.flag + np.uint64(12))
    blocks = min(TOTAL_BLOCKS, blocks_of(steps.n))
    steps.launch("eliminate_sums", blocks, sums, np.uint64(steps.n), np.uint64(total.ptr), flag)
    return total


def total_of(steps: DeviceSteps, block: Any) -> int:
    """Wait for the kernels, and return the number in a block."""
    words = np.zeros(TOTAL // 8, np.uint64)
    steps.read(block, words)
    return integer(words)
