"""Cliques along several matrices, each found once at its last vertex (``kernels/cuda/count/cliques.cu``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine import _native
from qengine._frozen import frozen
from qengine.exec.common.relations import SparseMatrix
from qengine.exec.gpu.eliminate_matrix import ALL, work_queue
from qengine.exec.gpu.elimination_steps import TOTAL, DeviceSteps, Unfit
from qengine.exec.host.cliques import MOST_ROLES, Planes, chain_records, planes_of
from qengine.exec.host.ranked_matrices import RankedMatrices
from qengine.plan.elimination import Clique, Matrix, NodeIndicator, is_symmetric

_MOST_SLOTS = 16

CLIQUE_INDEX = _native.record("u8 offsets ids planes order roots")
"""As the kernels' ``CliqueIndex``."""

CLIQUE_CHAIN = _native.record(
    f"u8 factor; u1[{MOST_ROLES}] roles; u1[{MOST_ROLES},{MOST_ROLES}] links; u1[{MOST_ROLES}] below"
)
"""As the kernels' ``CliqueChain``."""

CLIQUE_TASK = _native.record(
    f"CLIQUE_INDEX index; u8[{MOST_ROLES}] weights; u8 total scratch; CLIQUE_CHAIN[{MOST_ROLES}] chains; "
    f"u1[{_MOST_SLOTS}] own back; u4 n_roles n_chains n_slots n_planes first n_roots parts most valued lanes",
    CLIQUE_INDEX=CLIQUE_INDEX,
    CLIQUE_CHAIN=CLIQUE_CHAIN,
)
"""As the kernels' ``CliqueTask``."""

_FEW, _FEW_WARPS = 64, 8
"""Roots of so many vertices before them have a warp each, of blocks of so many warps."""

_STEP = 2
"""How many times more vertices the roots of one launch have than those of the next, at most."""

_THREADS, _MANY_THREADS, _MOST_THREADS = 128, 512, 1024
"""Of a block: where no root has more than ``_SMALL`` vertices, where several blocks run at a time, and else."""

_SMALL = 128

_ROUNDS, _MOST_PARTS = 4, 16
"""Roots are cut into parts where they are fewer than so many times the blocks that run at a time."""

_BLOCKS = 256
"""As so many run at a time where several devices share the roots."""

_LANES = 32
"""Lanes that share a row of no more words in the last step."""

_WHAT = "counting cliques"


@frozen
class _Index:
    """``record``: a ``CLIQUE_INDEX``. ``sizes``: of each of its roots how many vertices are before it, descending."""

    record: npt.NDArray[Any]
    sizes: npt.NDArray[np.int64]


@frozen
class _Tier:
    """Roots ``[first, end)`` of an index, with up to ``most`` vertices before them each."""

    first: int
    end: int
    most: int


def start_cliques(steps: DeviceSteps, step: Clique) -> Any:
    """Start the kernels that sum a step's cliques; return a block that gets the sum, of ``TOTAL`` bytes.

    Raises
    ------
    Unfit
        If a matrix has numbers, loops or repeats.
    """
    places, planes = planes_of(steps.steps, step)
    index = _index(steps, places)
    total = steps.allocate(TOTAL, "a total", clear=True)
    sizes = tuple(steps.matrices[place].entries for place in places for _ in range(2))
    task = _task(steps, step, planes, sizes)
    task["index"], task["total"] = index.record, total.ptr
    tiers = list(_tiers(index.sizes, len(step.vectors)))
    queues = steps.allocate(8 * max(1, len(tiers)), _WHAT, clear=True)
    for number, tier in enumerate(tiers):
        task["first"], task["n_roots"], task["most"] = tier.first, tier.end - tier.first, tier.most
        _launch(steps, task.copy(), work_queue(queues.ptr + 8 * number, steps.run.stop_flag, steps.share))
    return total


def _task(steps: DeviceSteps, step: Clique, planes: Planes, sizes: tuple[int, ...]) -> npt.NDArray[Any]:
    """Return a task without index and roots."""
    kinds = tuple(-1 if place is None else place for place in step.vectors)
    valued = frozenset(role for role, place in enumerate(step.vectors) if not _says_which(steps, place))
    records = chain_records(planes, kinds, sizes, valued)
    size = len(kinds)
    backs = {planes[i][j]: planes[j][i] for i in range(size) for j in range(size) if i != j}
    slots: dict[int, int] = {}
    task = np.zeros((), CLIQUE_TASK)
    for record, to in zip(records, task["chains"], strict=False):
        to["factor"], to["below"] = record["factor"], record["below"]
        to["roles"] = record["roles"]
        for i in range(size):
            for j in range(i + 1, size):
                plane = int(record["planes"][i, j])
                to["links"][i, j] = slots.setdefault(plane, len(slots)) if i else plane
    for plane, slot in slots.items():
        task["own"][slot], task["back"][slot] = plane, backs[plane]
    task["weights"][:size] = [steps.address(place) for place in step.vectors]
    task["n_roles"], task["n_chains"], task["n_slots"], task["n_planes"] = size, len(records), len(slots), len(sizes)
    task["valued"], task["lanes"] = sum(1 << role for role in valued), _LANES
    return task


def _says_which(steps: DeviceSteps, place: int | None) -> bool:
    """Tell whether a vector has no numbers but 0 and 1."""
    step = None if place is None else steps.steps[place]
    return step is None or (isinstance(step, NodeIndicator) and not step.loops)


# ---------------------------------------------------------------- roots


def _tiers(sizes: npt.NDArray[np.int64], n_roles: int) -> Iterator[_Tier]:
    """Yield the roots that may have cliques, those with the most vertices before them first."""
    enough = int(np.searchsorted(-sizes, -(n_roles - 1), "right"))
    first = 0
    while first < enough:
        most = int(sizes[first])
        least = 0 if most <= _FEW else max(_FEW, most // _STEP)
        end = min(enough, int(np.searchsorted(-sizes, -least, "left")))
        yield _Tier(first, end, most)
        first = end


def _launch(steps: DeviceSteps, task: npt.NDArray[Any], queue: npt.NDArray[Any]) -> None:
    """Start the kernel that suits a task's roots."""
    run, room = steps.run, steps.run.device.dynamic_bytes
    macros = {"QE_WIDE": int(steps.wide), "QE_ROLES": int(task["n_roles"]), "QE_VALUED": int(task["valued"] > 0)}
    most, name = int(task["most"]), "heavy"
    threads = _THREADS if most <= _SMALL else _MANY_THREADS
    if 8 * _words(task, threads // 32) > room:
        threads = _MOST_THREADS
    n_bytes = 4 * _words(task, threads // 32)
    shared = 8 + n_bytes
    if most <= _FEW:
        each = 8 + 4 * _words(task, 1)
        name, warps = "light", min(_FEW_WARPS, room // each)
        threads, shared = 32 * warps, warps * each
    elif shared > room:
        name, shared = "global", 8
    kernel = run.kernel("cliques", f"cliques_{name}", macros, shared)
    blocks = max(1, int(run.device.resident_blocks(kernel, threads, shared)))
    if name == "global":
        blocks = max(1, min(blocks, int(task["n_roots"]), run.free_bytes() // 2 // n_bytes))
        task["scratch"] = steps.allocate(blocks * n_bytes, _WHAT).ptr
    at_a_time = blocks if steps.share == ALL else _BLOCKS  # devices that share must have the same parts
    task["parts"] = parts = 1 if name == "light" else min(_MOST_PARTS, -(-_ROUNDS * at_a_time // int(task["n_roots"])))
    blocks = min(blocks, -(-int(task["n_roots"]) * parts // (threads // 32 if name == "light" else 1)))
    run.launch(kernel, blocks, threads, (task, queue, steps.flag), shared)


def _words(task: npt.NDArray[Any], warps: int) -> int:
    """Return the words of memory that a team of so many warps has: the kernels' ``team_words``."""
    roles, slots, planes, most = (int(task[name]) for name in ("n_roles", "n_slots", "n_planes", "most"))
    words = -(-most // 32)
    sets = sum(roles - depth for depth in range(2, roles - 1))
    return most + words * (planes + roles + warps * sets + slots * most)


# ---------------------------------------------------------------- index


def _index(steps: DeviceSteps, places: Sequence[int]) -> _Index:
    """Return matrices by descending length of rows, all together; they stay on the device unless conditions decide.

    Raises
    ------
    Unfit
        If one has numbers, loops or repeats.
    """
    run, matrices = steps.run, [steps.steps[place] for place in places]
    key = id(steps.store), _WHAT, tuple(matrices)
    if (resident := run.memory.pin(key)) is not None:
        steps.held.append(resident)
        found: _Index = resident.keep
        return found
    arrays, sizes = _made(steps, matrices)
    record = np.zeros((), CLIQUE_INDEX)
    blocks = {name: run.upload(array, _WHAT) for name, array in arrays.items() if array.nbytes}
    for name, block in blocks.items():
        record[name] = block.ptr
    index = _Index(record, sizes)
    if any(each.conditions for of in matrices if isinstance(of, Matrix) for each in of.relations):
        steps.blocks += blocks.values()
        return index
    steps.held.append(run.memory.add(key, blocks, sum(array.nbytes for array in arrays.values()), index))
    run.memory.follow(steps.store)
    return index


def _made(steps: DeviceSteps, matrices: Sequence[Any]) -> tuple[dict[str, npt.NDArray[Any]], npt.NDArray[np.int64]]:
    """Return the arrays of an index, and the sizes of its roots."""
    ways = [is_symmetric(each.relations) for each in matrices]
    found: list[SparseMatrix] = [steps.relations.matrix(each) for each in matrices]
    if any(each.factors or each.repeats for each in found):
        raise Unfit("some relationships join a pair twice")
    ranked = RankedMatrices(found, ways, steps.n, steps.context)
    if not ranked.plain:
        raise Unfit("some relationships join a pair twice, or a node with itself")
    offsets, ids, planes, order = ranked.lists(steps.n, steps.context)
    sizes = np.diff(offsets).astype(np.int64)
    roots = np.argsort(-sizes, kind="stable")[: int(np.count_nonzero(sizes))].astype(np.uint32)
    arrays = {"offsets": offsets, "ids": ids, "planes": planes, "order": order, "roots": roots}
    return arrays, sizes[roots]
