"""Lays the tree of counts that the host derives of a plan out for the device: ``kernels/cuda/count/tree_plan.cuh``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine.exec.common.match_plan import PAIR, RANGE, SPAN, LevelKind, SearchMode, SourceFlag
from qengine.exec.common.resolve import ResolvedSearch
from qengine.exec.gpu.derived_plan import Derived, NodeKind, derive

__all__ = ["BRANCH", "CHECK", "MEMO", "NODE", "PLAN", "SLICE", "STATE", "VIEW", "Tree", "trees"]

SLICE = np.dtype([("begin", "<u8"), ("n", "<u4"), ("unused", "<u4")])
VIEW = np.dtype(
    [("slices", "<u8"), ("neighbours", "<u8"), ("lo", "<u4"), ("hi", "<u4"), ("begin", "<u4"), ("end", "<u4"),
     ("list", "<i4"), ("below", "<i4"), ("above", "<i4"), ("unused", "<i4")]
)  # fmt: skip
CHECK = np.dtype([("kind", "<i4"), ("depth", "<i4"), ("view", "<i4"), ("unused", "<i4")])
NODE = np.dtype(
    [("leaf", "<i4"), ("depth", "<i4"), ("child", "<i4"), ("next", "<i4"), ("spine", "<i4"), ("plain", "<i4"),
     ("minus", "<i4"), ("again", "<i4"), ("filter", "<i4"), ("memo", "<i4"), ("memo_depth", "<i4", 2),
     ("checks", SPAN), ("ranges", SPAN), ("pairs", SPAN), ("bitset_begin", "<u4"), ("n_candidates", "<u4"),
     ("first", "<u4"), ("unused", "<u4"), ("bitset", "<u8"), ("candidates", "<u8")]
)  # fmt: skip
PLAN = np.dtype(
    [("nodes", "<u8"), ("checks", "<u8"), ("views", "<u8"), ("ranges", "<u8"), ("pairs", "<u8"), ("n_roots", "<u4"),
     ("once", "<u4"), ("twice", "<u4"), ("parts", "<u4"), ("batch", "<u4"), ("memo_bits", "<u4"), ("n_views", "<u4"),
     ("unused", "<u4")]
)  # fmt: skip
STATE = np.dtype(
    [("next_task", "<u8"), ("total_low", "<u8"), ("total_high", "<u8"), ("stop", "<i4"), ("status", "<i4"),
     ("leave", "<i4"), ("unused", "<i4")]
)  # fmt: skip
MEMO = np.dtype([("key", "<u8"), ("count", "<u8")])
BRANCH = np.dtype(
    [("begin", "<u8", 32), ("sum", "<u8", 32), ("product", "<u8", 32), ("value", "<u4", 32), ("end", "<u4", 32),
     ("parent", "<u1", 32), ("leader", "<u1", 32), ("pivot", "<i1", 32), ("first", "<u4"), ("step", "<u4"),
     ("at", "<u4"), ("count", "<u4"), ("n", "<i4"), ("node", "<i4"), ("child", "<i4"), ("computed", "<u4")]
)  # fmt: skip

_LINKED, _DIFFERENT, _LOWER, _HIGHER = range(4)
_NO_FILTER, _BY_BITS, _BY_LIST = range(3)
_MOST_CHECKS = 120
_MOST_IDS = 1 << 27
"""Vertices of a graph up to which the candidates of 32 prefixes have 32-bit numbers."""

_PARTS = 32
_HUBS = 32
_MOST_HUBS = 2048
"""What lies below the first roots is cut in parts: 1 in ``_HUBS``, at most ``_MOST_HUBS``; 1 in 8 of these twice."""


@dataclass
class Tree:
    """One component of a plan's levels. Records of ``NODE``, ``CHECK``, ``VIEW``, ``RANGE``, ``PAIR``.

    ``n_roots``: candidates of the first level. ``spine``: branches that only the total is added up over. ``memos``:
    tables of remembered counts. ``branches``: most that are bound at a time.
    """

    nodes: npt.NDArray[Any]
    checks: npt.NDArray[Any]
    views: npt.NDArray[Any]
    ranges: npt.NDArray[Any]
    pairs: npt.NDArray[Any]
    n_roots: int
    spine: int
    memos: int
    branches: int

    def cuts(self, warps: int) -> dict[str, int]:
        """Return how the work is cut into tasks for so many warps, as fields of ``PLAN``."""
        once = min(-(-self.n_roots // _HUBS), _MOST_HUBS) if self.spine > 1 else 0
        twice = -(-once // 8) if self.spine > 2 else 0
        batch = min(max((self.n_roots - once) // (4 * warps), 1), 32)
        return {"once": once, "twice": twice, "parts": _PARTS, "batch": batch, "n_roots": self.n_roots}


def trees(resolved: ResolvedSearch, levels: npt.NDArray[Any]) -> list[Tree] | None:
    """Return the trees whose counts multiply to the plan's; None where it has what the device's kernel doesn't count.

    Parameters
    ----------
    levels
        ``match_plan.LEVEL`` records with the device's pointers.
    """
    header = resolved.plan[0]
    if header["seeds"] or header["enumerated"] or header["mode"] == SearchMode.EXISTS:
        return None
    if (levels["kind"] != LevelKind.VERTEX).any():
        return None
    derived = derive(resolved.plan)
    try:
        return [_Layout(resolved, levels, derived).tree(k) for k in range(int(derived.header["n_roots"]))]
    except _NotCountedError:
        return None


class _NotCountedError(Exception):
    """The kernel doesn't count such a level."""


@dataclass
class _Layout:
    resolved: ResolvedSearch
    levels: npt.NDArray[Any]
    derived: Derived
    nodes: list[dict[str, Any]] = field(default_factory=list)
    checks: list[tuple[int, int, int, int]] = field(default_factory=list)
    views: dict[tuple[int, ...], int] = field(default_factory=dict)
    ranges: list[tuple[int, int]] = field(default_factory=list)
    pairs: list[tuple[int, ...]] = field(default_factory=list)
    spine: int = 0
    memos: int = 0
    branches: int = 0

    def __post_init__(self) -> None:
        tables = self.resolved.tables
        self.rows, self.sources = _rows(self.levels), _rows(tables[1])
        self.derived_nodes, self.derived_levels = _rows(self.derived.nodes), _rows(self.derived.levels)
        self.derived_ids = self.derived.ids.tolist()
        self.all_ranges, self.all_pairs = tables[2].tolist(), tables[3].tolist()
        self.level_ids, self.list_ids = tables[7].tolist(), tables[8].tolist()

    def tree(self, root: int) -> Tree:
        """Lay out one of the derived components."""
        node = self.derived_nodes[root]
        if node["shape"] == NodeKind.GROUP:
            raise _NotCountedError
        index = self.ids(node["levels"])[0]
        self.branch(root, index, {}, spine=True)
        level = self.rows[index]
        lo, hi = self.hull(level)
        if level["sources"][1]:
            raise _NotCountedError
        self.nodes[0]["first"] = 0 if level["candidates"] else lo
        views = [
            (0, 0, lo, hi, begin, end, index, below, above, 0) for index, lo, hi, begin, end, below, above in self.views
        ]
        return Tree(
            _records(self.nodes),
            np.array(self.checks, CHECK),
            np.array(views, VIEW),
            np.array(self.ranges, RANGE),
            np.array(self.pairs, PAIR),
            level["n_candidates"] if level["candidates"] else hi - lo,
            self.spine,
            self.memos,
            self.branches,
        )

    def ids(self, span: tuple[int, int]) -> list[int]:
        """Return a span of the derived ids."""
        return _part(self.derived_ids, span)

    def hull(self, level: Any) -> tuple[int, int]:
        """Return the least range of ids that holds a level's."""
        ranges = _part(self.all_ranges, level["ranges"])
        if not ranges:
            raise _NotCountedError
        begin, end = ranges[0][0], ranges[-1][1]
        if end > _MOST_IDS:
            raise _NotCountedError
        return begin, end

    # -- nodes --------------------------------------------------------------------------------------------------------

    def branch(self, index: int, level: int, bound: dict[int, int], spine: bool) -> int:
        """Add a branch with all that is below it; return the node's number. ``bound``: depths of the levels above."""
        derived = self.derived_nodes[index]
        number = self.node(level, bound, leaf=False, spine=spine)
        self.spine += spine
        self.branches = max(self.branches, len(bound) + 1)
        if derived["memo"] >= 0 and not spine:
            self.remember(number, self.ids(derived["context"]), bound)
        below = {**bound, level: len(bound)}
        children = sorted(_span(derived["children"]), key=self.weight)
        last = children[-1] if children and spine and self.is_spine(children[-1]) else -1
        self.link(number, [each for child in children for each in self.child(child, below, child == last)])
        return number

    def child(self, index: int, bound: dict[int, int], spine: bool) -> Iterator[int]:
        """Add what stands for a derived node below a branch."""
        derived = self.derived_nodes[index]
        levels = self.ids(derived["levels"])
        if derived["shape"] == NodeKind.BRANCH:
            yield self.branch(index, levels[0], bound, spine)
        elif derived["shape"] == NodeKind.LEAF:
            yield self.node(levels[0], bound, leaf=True)
        elif derived["nested"]:
            for k, level in enumerate(levels):
                again = bool(derived["repeats"] >> k & 1)
                yield self.node(level, bound, leaf=True, besides=levels, minus=k, again=again)
        else:
            yield self.chain(sorted(levels), bound)

    def chain(self, levels: list[int], bound: dict[int, int]) -> int:
        """Add levels that only differ from each other, one below the other."""
        if len(levels) == 1:
            return self.node(levels[0], bound, leaf=True)
        number = self.node(levels[0], bound, leaf=False)
        self.branches = max(self.branches, len(bound) + 1)
        self.link(number, [self.chain(levels[1:], {**bound, levels[0]: len(bound)})])
        return number

    def weight(self, index: int) -> tuple[bool, bool, int]:
        """Order children: leaves, then what is remembered, the largest last; a 0 makes all later ones needless."""
        node = self.derived_nodes[index]
        return node["shape"] == NodeKind.BRANCH, self.is_spine(index), self.size(index)

    def is_spine(self, index: int) -> bool:
        """Tell whether a branch may go on adding to the total: not if its counts are worth remembering."""
        node = self.derived_nodes[index]
        return bool(node["shape"] == NodeKind.BRANCH and node["memo"] < 0)

    def size(self, index: int) -> int:
        """Return the levels of a derived node and below."""
        node = self.derived_nodes[index]
        return int(node["levels"][1]) + sum(map(self.size, _span(node["children"])))

    def link(self, parent: int, children: list[int]) -> None:
        """Chain children together below their parent."""
        before = None
        for each in children:
            if before is None:
                self.nodes[parent]["child"] = each
            else:
                self.nodes[before]["next"] = each
            before = each

    def remember(self, number: int, context: list[int], bound: dict[int, int]) -> None:
        """Let the counts of a branch be remembered by the vertices of one or two levels."""
        depths = sorted((bound[level] for level in context), reverse=True)
        if len(depths) in (1, 2):
            self.nodes[number]["memo"] = self.memos
            self.nodes[number]["memo_depth"] = (depths[0], depths[1] if len(depths) == 2 else -1)
            self.memos += 1

    # -- what a level demands -----------------------------------------------------------------------------------------

    def node(
        self,
        index: int,
        bound: dict[int, int],
        leaf: bool,
        spine: bool = False,
        besides: list[int] | None = None,
        minus: int = 0,
        again: bool = False,
    ) -> int:
        """Add the node of one level; return its number."""
        level = self.rows[index]
        if level["conditions"][1]:
            raise _NotCountedError
        checks = sorted(self.demands(index, bound, besides or []), key=lambda check: (-check[1], check[0]))
        links = sum(check[0] == _LINKED for check in checks)
        if len(checks) > _MOST_CHECKS or (bound and not links and not level["candidates"]):
            raise _NotCountedError
        several = level["ranges"][1] > 1
        pairs = _part(self.all_pairs, level["pairs"])
        simple = not (several or level["bitset"] or level["candidates"] or pairs)
        ordered = any(check[0] in (_LOWER, _HIGHER) for check in checks)
        record = {
            "leaf": leaf, "depth": len(bound), "child": -1, "next": -1, "spine": spine,
            "plain": leaf and simple and links == 1 and not ordered, "minus": minus, "again": again,
            "filter": _BY_LIST if level["candidates"] else _BY_BITS if level["bitset"] else _NO_FILTER,
            "memo": -1, "memo_depth": (-1, -1), "checks": (len(self.checks), len(checks)),
            "ranges": self.range_span(level) if several else (0, 0),
            "pairs": (len(self.pairs), len(pairs)), "bitset_begin": level["bitset_begin"],
            "n_candidates": level["n_candidates"], "first": 0, "unused": 0, "bitset": level["bitset"],
            "candidates": level["candidates"],
        }  # fmt: skip
        self.checks += checks
        for pair in pairs:
            self.pairs.append(tuple(-1 if each == index else bound[each] for each in pair))
        self.nodes.append(record)
        return len(self.nodes) - 1

    def range_span(self, level: Any) -> tuple[int, int]:
        """Copy a level's ranges."""
        begin = len(self.ranges)
        self.ranges += _part(self.all_ranges, level["ranges"])
        return begin, level["ranges"][1]

    def demands(self, index: int, bound: dict[int, int], besides: list[int]) -> Iterator[tuple[int, int, int, int]]:
        """Yield a level's checks. What its slices are cut by already is left out."""
        level = self.rows[index]
        less, greater = self.named(level["less"]), self.named(level["greater"])
        linked = set()
        for source in _part(self.sources, level["sources"]):
            if source["lists"][1] != 1 or source["flags"] & SourceFlag.REPEATS:
                raise _NotCountedError
            other = source["level"]
            linked.add(other)
            key = (
                self.list_ids[source["lists"][0]],
                *self.hull(self.rows[other]),
                *self.hull(level),
                int(other in less),
                int(other in greater),
            )
            yield _LINKED, bound[other], self.views.setdefault(key, len(self.views)), 0
        different = self.derived_levels[index]["different"]
        for other, depth in bound.items():
            if different >> other & 1 and other not in besides:
                yield _DIFFERENT, depth, 0, 0
        for kind, others in ((_LOWER, less), (_HIGHER, greater)):
            for other in sorted(others - linked):
                yield kind, bound[other], 0, 0

    def named(self, span: tuple[int, int]) -> set[int]:
        """Return the levels that a span of the plan names."""
        return set(_part(self.level_ids, span))


def _rows(table: npt.NDArray[Any]) -> list[dict[str, Any]]:
    """Return records as Python's own values, which are faster to look at one by one; spans as (first, count)."""
    names = table.dtype.names or ()
    return [dict(zip(names, row, strict=True)) for row in table.tolist()]


def _span(span: tuple[int, int]) -> range:
    return range(span[0], span[0] + span[1])


def _part(values: list[Any], span: tuple[int, int]) -> list[Any]:
    return values[span[0] : span[0] + span[1]]


def _records(rows: list[dict[str, Any]]) -> npt.NDArray[Any]:
    return np.array([tuple(row[name] for name in NODE.names or ()) for row in rows], NODE)
