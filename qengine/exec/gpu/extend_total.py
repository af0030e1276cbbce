"""Counts of whole plans by breadth-first extension along the plan's tree of counts, in one launch.

The kernel is ``kernels/cuda/extend_total.cu``. It needs room for all rows of a table at once. A plan that has more is
counted in pieces, or left to those who walk depth first and need none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine.errors import OutOfMemory
from qengine.exec.cpu.match_plan import MAX_LEVELS
from qengine.exec.cpu.resolve import ResolvedSearch
from qengine.exec.gpu.derived_plan import Derived, derive
from qengine.exec.gpu.derived_plan import Shape as NodeShape
from qengine.exec.gpu.extend import shape_of, window_bytes
from qengine.exec.gpu.launch import DeviceRun
from qengine.exec.gpu.upload import DevicePlan

__all__ = ["JOB", "STATE", "STEP", "TABLE", "TotalPlan", "total_plan", "try_total"]

_MAX_STEPS = 2 * MAX_LEVELS
TABLE = np.dtype(
    [("vertices", "<u8"), ("edges", "<u8"), ("parents", "<u8"), ("weights", "<u8"), ("counts", "<u8"),
     ("level", "<i4"), ("up", "<i4")]
)  # fmt: skip
STEP = np.dtype(
    [("kind", "<i4"), ("level", "<i4"), ("from", "<i4"), ("to", "<i4"), ("pending", "<i4"), ("taken", "<i4"),
     ("blank", "<u8")]
)  # fmt: skip
STATE = np.dtype(
    [("arrived", "<u4"), ("rows", "<u4", MAX_LEVELS + 1), ("tiles", "<u4", _MAX_STEPS),
     ("outcome", "<i4", 2 * _MAX_STEPS)]
)  # fmt: skip
JOB = np.dtype(
    [("plan", "<u8"), ("stop", "<u8"), ("state", "<u8"), ("tables", "<u8"), ("steps", "<u8"), ("tiles", "<u8"),
     ("begin", "<u8"), ("end", "<u8"), ("n_steps", "<u4"), ("room", "<u4"), ("tile_room", "<u4"), ("warp_bytes", "<u4")]
)  # fmt: skip
_IMAGE = np.dtype([("state", STATE), ("root", "<u8", 2), ("job", JOB)], align=True)

_LANES = 32
_WARPS = 8
_SHARED_BYTES = 48 * 1024
_ALL = 2**63
_FIRST_ROWS = 1 << 18
_MOST_ROWS = 1 << 23
"""Rows that a table has room for at first, and at most."""

_SHARE = 4
"""Tables take at most one part in so many of the memory that is free."""

_FEWER = 8
_LEAST_PIECE = 8


class Kind(IntEnum):
    """What a step does."""

    EXTEND = 0
    TALLY = 1
    FOLD = 2


class Outcome(IntEnum):
    """Why the kernel has ended."""

    DONE = 0
    NO_ROOM = 1
    TOO_MANY = 2
    STOPPED = 3


@dataclass(eq=False)
class TotalPlan:
    """The steps of one plan.

    ``steps``: ``STEP`` records. ``levels``, ``up``: of each table the level that it binds and the table that its rows
    extend; table 0 binds none. ``vertex``: of each level whether it binds a vertex. ``last``: how many steps count for
    table 0, and how much is taken from the count of the last. ``candidates``: of the first step. ``warp_bytes``: shared
    memory of a warp. ``rows``: what tables need room for, as far as is known; 0 where no room is enough. ``piece``:
    candidates of the first step that are taken together.
    """

    steps: npt.NDArray[Any]
    levels: tuple[int, ...]
    up: tuple[int, ...]
    vertex: tuple[bool, ...]
    last: tuple[int, int]
    candidates: int
    warp_bytes: int
    rows: int = field(default_factory=lambda: _FIRST_ROWS)
    piece: int = _ALL

    def reduce(self, outcome: Outcome) -> None:
        """Make it fit after it didn't: more room first, then fewer candidates of the first step at a time."""
        if outcome is Outcome.NO_ROOM and self.rows < _MOST_ROWS:
            self.rows = _MOST_ROWS
        elif outcome is Outcome.NO_ROOM and self.last == (1, 0) and min(self.piece, self.candidates) > _LEAST_PIECE:
            self.piece = -(-min(self.piece, self.candidates) // _FEWER)
        else:
            self.rows = 0

    def row_bytes(self) -> int:
        """Return what one row of each table takes, and half a tile of candidates."""
        return 4 + sum((4 if self.vertex[level] else 8) + 4 + 16 for level in self.levels[1:])


def total_plan(resolved: ResolvedSearch) -> TotalPlan | None:
    """Return the steps that count a plan; None where it has seeds or rows, or can have no embedding."""
    header = resolved.plan[0]
    if header["seeds"] or header["walked"] or not header["n_levels"]:
        return None
    derived = derive(resolved.plan)
    return None if derived.header["impossible"] else _Steps(derived).plan(resolved)


def try_total(plan: DevicePlan, run: DeviceRun, in_pieces: bool = False) -> int | None:
    """Return how many embeddings a plan without seeds has, None where that takes too many rows.

    Parameters
    ----------
    in_pieces
        Whether some of the first step's candidates may be taken at a time, where tables have no room for all.

    Raises
    ------
    QueryTimeout, QueryInterrupted
        By the run's limits.
    """
    if "total" not in plan.made:
        plan.made["total"] = total_plan(plan.resolved)
    steps: TotalPlan | None = plan.made["total"]
    total, at = 0, 0
    while steps is not None and steps.rows and (in_pieces or steps.piece == _ALL):
        rows, piece = steps.rows, steps.piece  # another run may reduce them meanwhile
        room = max(_LANES, min(rows, run.free_bytes() // _SHARE // steps.row_bytes()))
        try:
            outcome, found = _counted(plan, steps, run, room, at, piece)
        except OutOfMemory:
            return None
        if outcome is Outcome.DONE:
            total, at = total + found, at + piece
            if at >= steps.candidates:
                return total
        elif room < rows and outcome is Outcome.NO_ROOM:  # that is the memory's limit today, not the plan's size
            return None
        else:
            steps.reduce(outcome)
    return None


def _counted(
    plan: DevicePlan, steps: TotalPlan, run: DeviceRun, room: int, begin: int, piece: int
) -> tuple[Outcome, int]:
    """Run the kernel for a piece of the first step's candidates; return how it ended, and the count."""
    block = run.allocate(room * steps.row_bytes(), "rows that are only counted")
    image = np.zeros(1, _IMAGE)
    tables = np.zeros(len(steps.levels), TABLE)
    size = _IMAGE.itemsize + tables.nbytes + steps.steps.nbytes
    head = run.allocate(size, "the steps of a count")
    places = {name: head.ptr + _IMAGE.fields[name][1] for name in ("state", "root", "job")}  # type: ignore[index]
    tables["level"], tables["up"] = steps.levels, steps.up
    tables["weights"][0], tables["counts"][0] = places["root"], places["root"] + 8
    at = block.ptr
    for name, width in (("weights", 8), ("counts", 8), ("edges", 8), ("vertices", 4), ("parents", 4)):
        for k, level in enumerate(steps.levels[1:], 1):
            if name in ("edges", "vertices") and steps.vertex[level] == (name == "edges"):
                continue
            tables[name][k] = at
            at += width * room
    image["state"]["rows"][0, 0] = 1
    job = image["job"]
    job["plan"], job["stop"], job["state"], job["tiles"] = plan.address, run.stop_flag, places["state"], at
    job["tables"] = head.ptr + _IMAGE.itemsize
    job["steps"] = head.ptr + _IMAGE.itemsize + tables.nbytes
    job["n_steps"], job["room"], job["tile_room"] = len(steps.steps), room, room // 2
    job["warp_bytes"] = steps.warp_bytes
    job["begin"], job["end"] = begin, begin + piece
    run.write(head, np.concatenate([each.view(np.uint8) for each in (image, tables, steps.steps)]))
    _launch(run, steps, places["job"])
    run.wait()
    found = np.zeros(1, np.dtype([("state", STATE), ("root", "<u8", 2)], align=True))
    run.read(head.ptr, found)
    outcome = Outcome(int(found["state"]["outcome"].max()))
    weight, count = (int(word) for word in found["root"][0])
    times, taken = steps.last
    return outcome, max(0, count - taken) * (weight if times > 1 else 1)


def _launch(run: DeviceRun, steps: TotalPlan, job: int) -> None:
    """Start the kernel on as many blocks as run at a time: they wait for each other."""
    warps = max(1, min(_WARPS, _SHARED_BYTES // steps.warp_bytes))
    shared_bytes = warps * steps.warp_bytes
    kernel = run.device.kernel("extend_total", "extend_total", {}, shared_bytes)
    blocks = run.device.resident_blocks(kernel, warps * _LANES, shared_bytes)
    run.launch(kernel, blocks, warps * _LANES, (np.uint64(job),), shared_bytes, together=True)


@dataclass
class _Steps:
    """Makes a list of steps from a tree of counts."""

    derived: Derived
    steps: list[tuple[int, ...]] = field(default_factory=list)
    tables: list[tuple[int, int]] = field(default_factory=lambda: [(-1, -1)])
    counted: list[int] = field(default_factory=lambda: [0])
    taken: list[int] = field(default_factory=lambda: [0])

    def plan(self, resolved: ResolvedSearch) -> TotalPlan:
        """Return the steps of the whole plan."""
        for node in range(int(self.derived.header["n_roots"])):
            self.node(node, 0)
        shape = shape_of(resolved)
        steps = np.array(self.steps, STEP)
        size = max(window_bytes(level, shape.operands[level]) for level in range(shape.levels))
        levels, up = zip(*self.tables, strict=True)
        counted = self.counted[0], self.taken[0]
        return TotalPlan(steps, levels, up, shape.vertex, counted, _candidates(resolved, steps[0]["level"]), size)

    def node(self, node: int, table: int) -> None:
        """Count one component for the rows of a table."""
        record = self.derived.nodes[node]
        levels = [int(self.derived.ids[k]) for k in _span(record["levels"])]
        if record["shape"] == NodeShape.LEAF:
            self.count(levels[0], table)
        elif record["shape"] == NodeShape.BRANCH:
            to = self.extend(levels[0], table)
            for child in _span(record["children"]):
                self.node(child, to)
            self.step(Kind.FOLD, -1, to, -1)
        elif record["nested"]:  # each level's candidates contain those of the one before, which has one of them
            together = sum(1 << level for level in levels)
            for k, level in enumerate(levels):
                self.count(level, table, together, k)
        else:
            self.chain(sorted(levels), table)

    def chain(self, levels: list[int], table: int) -> None:
        """Count levels that mention each other, one after the other."""
        if len(levels) == 1:
            self.count(levels[0], table)
            return
        to = self.extend(levels[0], table)
        self.chain(levels[1:], to)
        self.step(Kind.FOLD, -1, to, -1)

    def extend(self, level: int, table: int) -> int:
        """Make a table of the extensions of a table's rows."""
        self.tables.append((level, table))
        self.counted.append(0)
        self.taken.append(0)
        self.step(Kind.EXTEND, level, table, len(self.tables) - 1)
        return len(self.tables) - 1

    def count(self, level: int, table: int, blank: int = 0, taken: int = 0) -> None:
        """Count the extensions of a table's rows, less ``taken``."""
        self.step(Kind.TALLY, level, table, -1, blank)
        self.taken[table] = taken

    def step(self, kind: Kind, level: int, table: int, to: int, blank: int = 0) -> None:
        """Add a step on a table's rows."""
        self.steps.append((kind, level, table, to, min(2, self.counted[table]), self.taken[table], blank))
        self.counted[table] += 1
        self.taken[table] = 0


def _candidates(resolved: ResolvedSearch, index: int) -> int:
    """Return how many candidates a level without sources has."""
    level = resolved.tables[0][index]
    ranges = resolved.tables[2][list(_span(level["ranges"]))]
    return int(
        level["n_candidates"] if level["candidates"] else (ranges["end"].astype(np.int64) - ranges["begin"]).sum()
    )


def _span(span: Any) -> Iterator[int]:
    return iter(range(int(span["first"]), int(span["first"] + span["count"])))
