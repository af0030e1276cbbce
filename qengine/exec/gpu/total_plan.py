"""The steps that count the completions of rows by breadth-first extension along a plan's tree of counts.

What the kernel ``kernels/cuda/extend_total.cu`` gets, and how a plan becomes that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine.exec.cpu.match_plan import MAX_LEVELS
from qengine.exec.cpu.resolve import ResolvedSearch
from qengine.exec.gpu.derived_plan import Derived, derive
from qengine.exec.gpu.derived_plan import Shape as NodeShape
from qengine.exec.gpu.extend import shape_of, window_bytes

__all__ = ["JOB", "STATE", "STEP", "TABLE", "Outcome", "TotalPlan", "total_plan"]

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
     ("n_steps", "<u4"), ("room", "<u4"), ("tile_room", "<u4"), ("warp_bytes", "<u4"), ("once", "<i4"),
     ("unused", "<i4")]
)  # fmt: skip

_FIRST_BYTES = 1 << 26
_MOST_BYTES = 1 << 30
"""Of all tables of a plan, at first and at most: the same for every plan, so that blocks are used again."""


class Kind(IntEnum):
    """What a step does."""

    EXTEND = 0
    TALLY = 1
    FOLD = 2
    SETTLE = 3


class Outcome(IntEnum):
    """Why the kernel has ended."""

    DONE = 0
    NO_ROOM = 1
    TOO_MANY = 2
    STOPPED = 3


@dataclass(eq=False)
class TotalPlan:
    """The steps that count the completions of rows that bind the first ``bound`` levels.

    ``steps``: ``STEP`` records. ``levels``, ``up``: of each table the level that it binds and the table that its rows
    extend; table 0 binds none, the next ones the first ``bound`` levels, and the steps make the others. ``vertex``: of
    each level whether it binds a vertex. ``last``: without bound levels how many steps count for table 0, and how much
    is taken from the count of the last. ``warp_bytes``: shared memory of a warp. ``n_bytes``: what tables need, as
    far as is known; 0 where no room is enough.
    """

    bound: int
    steps: npt.NDArray[Any]
    levels: tuple[int, ...]
    up: tuple[int, ...]
    vertex: tuple[bool, ...]
    last: tuple[int, int]
    warp_bytes: int
    n_bytes: int = field(default_factory=lambda: _FIRST_BYTES)

    def grow(self) -> bool:
        """Ask for more room from now on; False where it was the most already."""
        grown = self.n_bytes < _MOST_BYTES
        self.n_bytes = _MOST_BYTES
        return grown

    def row_bytes(self) -> int:
        """Return what one row of each table that is made takes, and half a tile of candidates."""
        return 4 + sum((4 if self.vertex[level] else 8) + 4 + 16 for level in self.levels[self.bound + 1 :])


def total_plan(resolved: ResolvedSearch, bound: int = 0) -> TotalPlan | None:
    """Return the steps that count the completions of rows that bind the first levels, all seeds among them.

    None where there can be no embedding.
    """
    plan = resolved.plan.copy()
    plan["walked"] = bound
    derived = derive(plan)
    return None if derived.header["impossible"] else _Steps(derived, bound).plan(resolved)


@dataclass
class _Steps:
    """Makes a list of steps from a tree of counts."""

    derived: Derived
    bound: int
    steps: list[tuple[int, ...]] = field(default_factory=list)
    tables: list[tuple[int, int]] = field(default_factory=list)
    counted: list[int] = field(default_factory=list)
    taken: list[int] = field(default_factory=list)

    def plan(self, resolved: ResolvedSearch) -> TotalPlan:
        """Return the steps of the whole plan."""
        self.table(-1, -1)
        for level in range(self.bound):
            self.table(level, level)
        for node in range(int(self.derived.header["n_roots"])):
            self.node(node, self.bound)
        if self.bound:
            self.step(Kind.SETTLE, -1, self.bound, -1)
        shape = shape_of(resolved)
        steps = np.array(self.steps, STEP)
        size = max(window_bytes(level, shape.operands[level]) for level in range(shape.levels))
        levels, up = zip(*self.tables, strict=True)
        counted = self.counted[0], self.taken[0]
        return TotalPlan(self.bound, steps, levels, up, shape.vertex, counted, size)

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
        to = self.table(level, table)
        self.step(Kind.EXTEND, level, table, to)
        return to

    def table(self, level: int, up: int) -> int:
        """Add a table whose rows extend those of another by a level."""
        self.tables.append((level, up))
        self.counted.append(0)
        self.taken.append(0)
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


def _span(span: Any) -> Iterator[int]:
    return iter(range(int(span["first"]), int(span["first"] + span["count"])))
