"""The steps that count the completions of rows by breadth-first extension along a plan's tree of counts.

What the kernel ``kernels/cuda/count/count_bfs.cu`` gets, and how a plan becomes that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine import _native
from qengine._cached import cached_property
from qengine.exec.common.resolve import ResolvedSearch
from qengine.exec.gpu.derived_plan import Derived, NodeKind, derive
from qengine.exec.gpu.extend import level_table
from qengine.plan.physical import MAX_DEVICE_LEVELS

_MAX_STEPS = 4 * MAX_DEVICE_LEVELS
_MAX_TABLES = 2 * MAX_DEVICE_LEVELS + 1
TABLE = _native.record("u8 vertices edges parents weights counts classes; i4 level up; u4 least unused")
STEP = _native.record("i4 kind level from to pending taken through; i4[2] by; i4 unused; u8 blank")
STATE = _native.record(f"u4 arrived; u4[{_MAX_TABLES}] rows; u4[{_MAX_STEPS}] tiles; i4[{2 * _MAX_STEPS}] outcome")
JOB = _native.record(
    "u8 plan stop state tables steps tiles keys firsts; u4 n_steps room tile_room warp_bytes key_room; i4 once"
)

_FIRST_BYTES = 1 << 26
_MOST_BYTES = 1 << 30
"""Of all tables of a plan, at first and at most: the same for every plan, so that blocks are used again."""

_SHARED_ROWS = 1 << 14
"""Rows of a table from which those that have the same vertices of a context are brought together."""

_NEVER = 2**32 - 1
_GAIN = 2
"""Rows that are brought together must be so many times as many as their classes for that to be done the next time."""

_MOST_SHARED_BY = 2


class Kind(IntEnum):
    """What a step does."""

    EXTEND = 0
    TALLY = 1
    FOLD = 2
    SETTLE = 3
    SHARE = 4


class Outcome(IntEnum):
    """Why the kernel has ended."""

    DONE = 0
    NO_ROOM = 1
    TOO_MANY = 2
    STOPPED = 3


@dataclass(eq=False)
class BfsPlan:
    """The steps that count the completions of rows that bind the first ``bound`` levels.

    ``steps``: ``STEP`` records. ``levels``, ``up``: of each table the level that it binds and the table that its rows
    extend; table 0 binds none, the next ones the first ``bound`` levels, and the steps make the others. A table of
    classes binds none either (-1); ``least``: of each table, from how many rows of the table above it classes are made.
    ``vertex``: of each level whether it binds a vertex. ``last``: without bound levels how many steps count for table
    0, and how much is taken from the count of the last. ``warp_bytes``: shared memory of a warp. ``n_bytes``: what
    tables need, as far as is known; 0 where no room is enough.
    """

    bound: int
    steps: npt.NDArray[Any]
    levels: tuple[int, ...]
    up: tuple[int, ...]
    least: list[int]
    vertex: tuple[bool, ...]
    last: tuple[int, int]
    warp_bytes: int
    n_bytes: int = field(default_factory=lambda: _FIRST_BYTES)

    @cached_property
    def shared(self) -> tuple[tuple[int, int], ...]:
        """Of each table of classes the table whose rows it brings together, and its own number."""
        return tuple((up, table) for table, up in enumerate(self.up) if self.is_classes(table))

    @property
    def shares(self) -> bool:
        """Whether any rows may be brought together."""
        return any(self.least[table] < _NEVER for _, table in self.shared)

    def is_classes(self, table: int) -> bool:
        """Tell whether a table is one of classes."""
        return table > self.bound and self.levels[table] < 0

    @cached_property
    def columns(self) -> tuple[tuple[str, int, int], ...]:
        """Of each column of the tables that the steps make its name, the table, and the bytes of an entry: 8 first."""
        found = []
        for table in range(self.bound + 1, len(self.levels)):
            found += [("weights", table, 8), ("counts", table, 8), ("parents", table, 4)]
            if self.is_classes(table):
                found.append(("classes", table, 4))
            else:
                found.append(("vertices", table, 4) if self.vertex[self.levels[table]] else ("edges", table, 8))
        return tuple(sorted(found, key=lambda column: -column[2]))

    def learn(self, rows: npt.NDArray[np.uint32]) -> None:
        """Look at how many rows each table had: classes of hardly more than one row each are not made again."""
        for up, table in self.shared:
            if self.least[table] <= rows[up] < _GAIN * int(rows[table]):
                self.least[table] = _NEVER

    def grow(self) -> bool:
        """Ask for more room from now on; False where it was the most already."""
        grown = self.n_bytes < _MOST_BYTES
        self.n_bytes = _MOST_BYTES
        return grown

    def row_bytes(self) -> int:
        """Return what one row of each table that is made takes, half a tile of candidates, and its place among keys."""
        return 4 + (12 if self.shares else 0) + sum(width for _, _, width in self.columns)


def bfs_plan(resolved: ResolvedSearch, bound: int = 0) -> BfsPlan | None:
    """Return the steps that count the completions of rows that bind the first levels, all seeds among them.

    None where there can be no embedding.
    """
    plan = resolved.plan.copy()
    plan["enumerated"] = bound
    derived = derive(plan)
    return None if derived.header["impossible"] else _Steps(resolved, derived, bound).plan()


@dataclass
class _Steps:
    """Makes a list of steps from a tree of counts. Of each table:

    ``counted``, ``taken``: how many steps have counted for its rows, and how much is taken from the count of the last;
    ``through``: the table of classes that has this count, or -1; ``known``: a mask of the levels that rows are told
    apart by.
    """

    resolved: ResolvedSearch
    derived: Derived
    bound: int
    steps: list[tuple[Any, ...]] = field(default_factory=list)
    tables: list[tuple[int, int]] = field(default_factory=list)
    counted: list[int] = field(default_factory=list)
    taken: list[int] = field(default_factory=list)
    through: list[int] = field(default_factory=list)
    known: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.mentions = self.derived.levels["mentions"].tolist()
        self.vertex = self.derived.levels["vertex"].tolist()

    def plan(self) -> BfsPlan:
        """Return the steps of the whole plan."""
        self.table(-1, -1, 0)
        for level in range(self.bound):
            self.table(level, level, self.known[level] | 1 << level)
        self.components(range(int(self.derived.header["n_roots"])), self.bound)
        if self.bound:
            self.step(Kind.SETTLE, -1, self.bound, -1)
        shape = level_table(self.resolved)
        steps = np.array(self.steps, STEP)
        levels, up = zip(*self.tables, strict=True)
        least = [_SHARED_ROWS] * len(levels)
        counted = self.counted[0], self.taken[0]
        return BfsPlan(self.bound, steps, levels, up, least, shape.vertex, counted, shape.warp_bytes)

    def components(self, nodes: Iterable[int], table: int) -> None:
        """Count components for the rows of a table: those of a small context once for all rows that agree on it."""
        by_context: dict[int, list[int]] = {}
        for node in nodes:
            context = self.context(node)
            by_context.setdefault(context if self.may_share(context, table) else -1 - node, []).append(node)
        for context, members in by_context.items():
            if context < 0 or all(map(self.is_cheap, members)):
                for node in members:
                    self.node(node, table)
                continue
            classes = self.share(context, table)
            for node in members:
                self.node(node, classes)
            if self.counted[classes] > 1 or self.taken[classes]:
                self.step(Kind.SETTLE, -1, classes, -1)

    def within(self, node: int) -> int:
        """Return a mask of the levels of a component."""
        record = self.derived.nodes[node]
        own = sum(1 << int(self.derived.ids[k]) for k in _span(record["levels"]))
        return own | sum(map(self.within, _span(record["children"])))

    def context(self, node: int) -> int:
        """Return a mask of the levels above that a component's count depends on."""
        own, found = self.within(node), 0
        for level, mentions in enumerate(self.mentions):
            if own >> level & 1:
                found |= mentions
        return found & ~own

    def may_share(self, context: int, table: int) -> bool:
        """Tell whether rows of a table can agree on a context, and be brought together by it."""
        levels = [level for level, vertex in enumerate(self.vertex) if context >> level & 1]
        fits = 1 <= len(levels) <= _MOST_SHARED_BY and all(self.vertex[level] for level in levels)
        return fits and table > self.bound and context != self.known[table]

    def is_cheap(self, node: int) -> bool:
        """Tell whether a component's count is the size of a list, or little more."""
        record = self.derived.nodes[node]
        if record["shape"] != NodeKind.LEAF:
            return False
        index = int(self.derived.ids[int(record["levels"]["first"])])
        level, plan = self.derived.levels[index], self.resolved.tables[0][index]
        free = level["vertex"] and not (level["filtered"] or level["check_ranges"] or plan["candidates"])
        return bool(free and plan["sources"]["count"] <= 1)

    def share(self, context: int, table: int) -> int:
        """Bring the rows of a table together by a context."""
        classes = self.table(-1, table, context)
        levels = [level for level in range(len(self.vertex)) if context >> level & 1]
        self.step(Kind.SHARE, -1, table, classes, by=(levels[0], levels[1] if len(levels) > 1 else -1))
        self.through[table] = classes
        return classes

    def node(self, node: int, table: int) -> None:
        """Count one component for the rows of a table."""
        record = self.derived.nodes[node]
        levels = [int(self.derived.ids[k]) for k in _span(record["levels"])]
        if record["shape"] == NodeKind.LEAF:
            self.count(levels[0], table)
        elif record["shape"] == NodeKind.BRANCH:
            to = self.extend(levels[0], table)
            self.components(_span(record["children"]), to)
            self.fold(to)
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
        self.fold(to)

    def extend(self, level: int, table: int) -> int:
        """Make a table of the extensions of a table's rows."""
        to = self.table(level, table, self.known[table] | 1 << level)
        self.step(Kind.EXTEND, level, table, to)
        return to

    def fold(self, table: int) -> None:
        """Add up a table's rows by those that they extend."""
        self.step(Kind.FOLD, -1, table, -1)

    def table(self, level: int, up: int, known: int) -> int:
        """Add a table whose rows extend those of another by a level, or by none."""
        self.tables.append((level, up))
        self.counted.append(0)
        self.taken.append(0)
        self.through.append(-1)
        self.known.append(known)
        return len(self.tables) - 1

    def count(self, level: int, table: int, blank: int = 0, taken: int = 0) -> None:
        """Count the extensions of a table's rows, less ``taken``; ``blank``: a mask of levels that have no vertex yet.

        A level must differ from earlier ones alone, and a row has room for the values of no others.
        """
        self.step(Kind.TALLY, level, table, -1, blank & ((1 << level) - 1))
        self.taken[table] = taken

    def step(self, kind: Kind, level: int, table: int, to: int, blank: int = 0, by: tuple[int, int] = (-1, -1)) -> None:
        """Add a step on a table's rows."""
        before = min(2, self.counted[table]), self.taken[table], self.through[table]
        self.steps.append((kind, level, table, to, *before, by, 0, blank))
        self.counted[table] += 1
        self.taken[table], self.through[table] = 0, -1


def _span(span: Any) -> Iterator[int]:
    return iter(range(int(span["first"]), int(span["first"] + span["count"])))
