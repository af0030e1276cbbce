"""Cliques along several matrices, each at its last vertex by rank (``kernels/cuda/count/cliques.cu``)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine.exec.gpu.bit_rows import SIDE
from qengine.exec.gpu.eliminate_matrix import WORK_QUEUE, DeviceMatrix
from qengine.exec.gpu.elimination_steps import TOTAL, DeviceSteps
from qengine.exec.gpu.planes import matrix_along
from qengine.exec.host.cliques import MOST_ROLES, chain_records
from qengine.plan.elimination import Clique, Matrix, NodeIndicator, is_symmetric
from qengine.plan.kernels.cliques import numbered_matrices

__all__ = ["CLIQUE_TASK", "start_cliques"]

_MOST_PLANES = 32

CLIQUE_TASK = np.dtype(
    [("sides", "<u8"), ("chains", "<u8"), ("rank", "<u8"), ("weights", "<u8", MOST_ROLES), ("scratch", "<u8"),
     ("scratch_words", "<u8"), ("total", "<u8"), ("slots", "<u4", _MOST_PLANES)]
    + [(name, "<u4") for name in ("n", "n_roles", "n_chains", "n_planes", "from_root", "between", "n_between",
                                  "valued", "most", "unused")]
)  # fmt: skip
"""As the kernels' ``CliqueTask``."""

_THREADS = 128
_LANES = 32
_SHARED_BYTES = 16
_WHAT = "cliques"


def start_cliques(steps: DeviceSteps, step: Clique) -> Any:
    """Start the kernels that sum a step's cliques; return a block that gets the sum, of ``TOTAL`` bytes.

    Raises
    ------
    OutOfMemory
        If it doesn't fit.
    QueryTimeout, QueryInterrupted
        By the run's limits.
    """
    task = np.zeros((), CLIQUE_TASK)
    size = len(step.vectors)
    numbered = numbered_matrices(steps.steps, step.pairs)
    places = list(dict.fromkeys(place for place, _ in numbered.values()))
    planes = np.full((size, size), -1)
    for (i, j), place in zip(combinations(range(size), 2), step.pairs, strict=True):
        first, turned = numbered[place]
        at, matrix = 2 * places.index(first), steps.steps[first]
        assert isinstance(matrix, Matrix)
        planes[i, j], planes[j, i] = (at, at) if is_symmetric(matrix.relations) else (at + turned, at + 1 - turned)
    valued = frozenset(role for role, place in enumerate(step.vectors) if not _says_which(steps, place))
    kinds = tuple(-1 if place is None else place for place in step.vectors)
    sizes = tuple(steps.matrices[place].entries for place in places for _ in range(2))
    chains = chain_records(tuple(map(tuple, planes.tolist())), kinds, sizes, valued)
    task["from_root"], task["between"] = (sum(1 << p for p in some) for some in _uses(chains, size))
    given = {way: steps.matrices[at] for at, way in numbered.items()}
    sides = np.zeros(2 * len(places), SIDE)
    matrices = []
    for p in range(len(sides)):
        if int(task["from_root"] | task["between"]) >> p & 1:
            matrices.append(matrix_along(steps, given, (places[p // 2], bool(p % 2))))
            sides[p] = steps.side(matrices[-1])
    slots = np.cumsum([int(task["between"]) >> p & 1 for p in range(len(sides))])
    task["slots"][1 : len(sides)], task["n_between"] = slots[:-1], slots[-1]
    task["sides"], task["chains"], task["rank"] = steps.upload(sides), steps.upload(chains), _ranks(steps, matrices)
    for role, weights in enumerate(step.vectors):
        block = None if weights is None else steps.vectors[weights]
        task["weights"][role] = 0 if block is None else block.ptr
    task["n"], task["n_roles"], task["n_chains"], task["n_planes"] = steps.n, size, len(chains), len(sides)
    task["valued"] = sum(1 << role for role in valued)
    total = steps.allocate(TOTAL, "a total", clear=True)
    task["total"] = total.ptr
    _launch(steps, task)
    return total


def _launch(steps: DeviceSteps, task: Any) -> None:
    """Find how large universes are, make room for them, and count."""
    macros = {"QE_WIDE": int(steps.wide)}
    queues = steps.allocate(16, "the roots dealt", clear=True)
    most = steps.allocate(4, "the largest universe", clear=True)
    kernel = steps.run.kernel("cliques", "clique_universes", macros)
    blocks = max(1, int(steps.run.device.resident_blocks(kernel, _THREADS, 0)))
    queue = np.array((queues.ptr, steps.run.stop_flag), WORK_QUEUE)
    steps.run.launch(kernel, blocks, _THREADS, (task, np.uint64(most.ptr), queue))
    found = np.zeros(1, np.uint32)
    steps.read(most, found)
    task["most"] = members = int(found[0])
    if members + 1 < int(task["n_roles"]):
        return
    words, roles = -(-members // _LANES), int(task["n_roles"])
    rows = int(task["n_planes"]) + roles + int(task["n_between"]) * members + _THREADS // _LANES * roles**2
    task["scratch_words"] = each = members + words * rows
    kernel = steps.run.kernel("cliques", "cliques", macros, _SHARED_BYTES)
    blocks = max(1, int(steps.run.device.resident_blocks(kernel, _THREADS, _SHARED_BYTES)))
    blocks = max(1, min(blocks, steps.n, steps.run.free_bytes() // 2 // (4 * each)))
    task["scratch"] = steps.allocate(4 * each * blocks, "what roots reach").ptr
    queue = np.array((queues.ptr + 8, steps.run.stop_flag), WORK_QUEUE)
    steps.run.launch(kernel, blocks, _THREADS, (task, queue, steps.flag), _SHARED_BYTES)


def _says_which(steps: DeviceSteps, place: int | None) -> bool:
    """Tell whether a vector has no numbers but 0 and 1."""
    step = None if place is None else steps.steps[place]
    return step is None or (isinstance(step, NodeIndicator) and not step.loops)


def _uses(chains: npt.NDArray[Any], size: int) -> tuple[set[int], set[int]]:
    """Return the planes that chains go along from the root, and between the others."""
    planes = chains["planes"]
    pairs = list(combinations(range(size), 2))
    first = {int(p) for i, j in pairs if i == 0 for p in planes[:, i, j]}
    return first, {int(p) for i, j in pairs if i > 0 for p in planes[:, i, j]}


def _ranks(steps: DeviceSteps, matrices: Sequence[DeviceMatrix]) -> int:
    """Return the address of the vertices' ranks, by descending length of their rows; they stay on the device."""
    keys = [each.key for each in matrices]
    key = None if None in keys else (*keys, "ranks")
    if key is not None and (resident := steps.run.memory.pin(key)) is not None:
        steps.held.append(resident)
        return int(resident.block.ptr)
    lengths = np.zeros(steps.n, np.int64)
    for each in matrices:
        assert each.offsets is not None
        lengths[int(each.record["lo"]) : int(each.record["hi"])] += np.diff(each.offsets).astype(np.int64)
    ranks = np.empty(steps.n, np.uint32)
    ranks[np.argsort(-lengths, kind="stable")] = np.arange(steps.n, dtype=np.uint32)
    if key is None:
        return steps.upload(ranks)
    block = steps.run.upload(ranks, _WHAT)
    steps.run.publish()
    steps.held.append(steps.run.memory.add(key, block, ranks.nbytes, block))
    steps.run.memory.follow(steps.store)
    return int(block.ptr)
