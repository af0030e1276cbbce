"""Counts by breadth-first extension along the plan's tree of counts, in one launch.

The kernel is ``kernels/cuda/count/count_bfs.cu``. It needs room for all rows of a table at once. What has more is
left to those who need less: depth first, or by parts of the rows (``extend_counts``).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from qengine.errors import OutOfMemory
from qengine.exec.gpu.bfs_plan import JOB, STATE, TABLE, BfsPlan, Outcome, bfs_plan
from qengine.exec.gpu.extend import block_warps
from qengine.exec.gpu.launch import DeviceRun
from qengine.exec.gpu.upload import DevicePlan

_ROOT = np.dtype(("<u8", 2))
_IMAGE = np.dtype([("state", STATE), ("root", _ROOT), ("job", JOB)], align=True)
_LANES = 32
_SHARE = 4
"""Tables take at most one part in so many of the memory that is free."""


def try_total(plan: DevicePlan, run: DeviceRun) -> int | None:
    """Return how many embeddings a plan without seeds has, None where that takes too many rows."""
    header = plan.resolved.plan[0]
    if header["seeds"] or header["enumerated"] or not header["n_levels"]:
        return None
    if "total" not in plan.made:
        plan.made["total"] = bfs_plan(plan.resolved)
    steps: BfsPlan | None = plan.made["total"]
    if steps is not None and not block_warps(steps.warp_bytes, run.device):
        return None
    while steps is not None and steps.n_bytes:
        wanted = steps.n_bytes  # another run may change it meanwhile
        room = room_for(wanted, run)
        tables = np.zeros(1, TABLE)
        try:
            outcome, weight, count = run_steps(plan.address, steps, run, room, tables, 1)
        except OutOfMemory:
            return None
        if outcome is Outcome.DONE:
            times, taken = steps.last
            return max(0, count - taken) * (weight if times > 1 else 1)
        if room < wanted and outcome is Outcome.NO_ROOM:  # that is the memory's limit today, not the plan's size
            return None
        if outcome is not Outcome.NO_ROOM or not steps.grow():
            steps.n_bytes = 0
    return None


def room_for(n_bytes: int, run: DeviceRun) -> int:
    """Return how many bytes tables may take: so many, or fewer where memory is short."""
    return min(n_bytes, run.free_bytes() // _SHARE)


def run_steps(
    address: int,
    steps: BfsPlan,
    run: DeviceRun,
    room: int,
    given: npt.NDArray[Any],
    n: int,
    once: bool = False,
) -> tuple[Outcome, int, int]:
    """Run the kernel.

    Parameters
    ----------
    address
        Of the device's ``MatchPlan``.
    room
        Bytes that its tables may take.
    given
        ``TABLE`` records of table 0 and of those that bind the first levels, with the device's pointers. The last one,
        where it isn't table 0, gets the count of each of its rows.
    n
        Rows of the last of these.
    once
        Whether it is enough to know which counts are 0.

    Returns
    -------
    tuple
        How it ended, and table 0's weight and count.
    """
    rows = max(_LANES, room // steps.row_bytes())
    block = run.allocate(max(room, rows * steps.row_bytes()), "rows that are only counted")
    image = np.zeros(1, _IMAGE)
    tables = np.zeros(len(steps.levels), TABLE)
    tables[: len(given)] = given
    head = run.allocate(_IMAGE.itemsize + tables.nbytes + steps.steps.nbytes, "the steps of a count")
    places = {name: head.ptr + _IMAGE.fields[name][1] for name in ("state", "root", "job")}  # type: ignore[index]
    tables["level"], tables["up"], tables["least"] = steps.levels, steps.up, steps.least
    tables["weights"][0], tables["counts"][0] = places["root"], places["root"] + 8
    at = block.ptr
    keys = rows if steps.shares else 0
    if keys:
        run.clear(block, 8 * keys)
    at += 8 * keys
    for name, k, width in steps.columns:
        tables[name][k] = at
        at += width * rows
    firsts, at = at, at + 4 * keys
    image["state"]["rows"][0, steps.bound] = n
    job = image["job"]
    job["plan"], job["stop"], job["state"], job["tiles"] = address, run.stop_flag, places["state"], at
    job["tables"] = head.ptr + _IMAGE.itemsize
    job["steps"] = head.ptr + _IMAGE.itemsize + tables.nbytes
    job["n_steps"], job["room"], job["tile_room"] = len(steps.steps), rows, rows // 2
    job["keys"], job["firsts"], job["key_room"] = block.ptr, firsts, keys
    job["warp_bytes"], job["once"] = steps.warp_bytes, once
    run.write(head, np.concatenate([each.view(np.uint8) for each in (image, tables, steps.steps)]))
    _launch(run, steps, places["job"])
    run.wait()
    found = np.zeros(1, np.dtype([("state", STATE), ("root", _ROOT)], align=True))
    run.read(head.ptr, found)
    weight, count = (int(word) for word in found["root"][0])
    outcome = Outcome(int(found["state"]["outcome"].max()))
    if outcome is Outcome.DONE and not once:
        steps.learn(found["state"]["rows"][0])
    return outcome, weight, count


def _launch(run: DeviceRun, steps: BfsPlan, job: int) -> None:
    """Start the kernel on as many blocks as run at a time: they wait for each other."""
    warps = block_warps(steps.warp_bytes, run.device)
    shared_bytes = warps * steps.warp_bytes
    kernel = run.kernel("count_bfs", "count_bfs", {}, shared_bytes)
    blocks = run.device.resident_blocks(kernel, warps * _LANES, shared_bytes)
    run.launch(kernel, blocks, warps * _LANES, (np.uint64(job),), shared_bytes, together=True)
