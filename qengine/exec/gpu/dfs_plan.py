"""Lays a plan out for the depth-first search: the levels that make rows, and below them the tree of counts.

The structs are those of ``kernels/cuda/search/dfs_plan.cuh``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine import _native
from qengine.exec.common.match_plan import PAIR, RANGE, SPAN, LevelKind, SearchMode, SourceFlag
from qengine.exec.common.resolve import ResolvedSearch
from qengine.exec.gpu.derived_plan import Derived, NodeKind, derive

LANES = 32

SLICE = _native.record("u8 begin; u4 n unused")
VIEW = _native.record("u8 slices neighbours; u4 lo hi begin end; i4 list below above unused")
CHECK = _native.record("i4 kind depth view unused")
NODE = _native.record(
    "i4 leaf depth child next kind level output spine plain minus again memo; i4[2] memo_depth; i4 filter enough; "
    "SPAN checks ranges pairs; u4 bitset_begin n_candidates; u8 bitset candidates",
    SPAN=SPAN,
)
PLAN = _native.record(
    "u8 match nodes checks views ranges pairs first; i4 pivot exists spine row_depth branches; "
    "u4 memo_bits n_views unused"
)
STATE = _native.record(
    "u8 next_task rows total_low total_high; i4 working; u4 served waiting; i4 next_saved saved full stop status"
)
MEMO = _native.record("u8 key count")
JOB = _native.record(
    "u8 plan state memos seeds row columns counts capacity stacks gifts saved_before saved queue stop n_roots; "
    "u4 hubs parts batch; i4 n_saved_before"
)


def _branch(value: str, number: str) -> np.dtype[Any]:
    return _native.record(
        f"u8[{LANES}] begin sum product; VALUE[{LANES}] value; NUMBER[{LANES}] end; u1[{LANES}] parent leader; "
        f"i1[{LANES}] pivot; NUMBER first step at count; i4 n node child; u4 computed", VALUE=value, NUMBER=number
    )  # fmt: skip


BRANCH, WIDE_BRANCH = _branch("<u4", "<u4"), _branch("<i8", "<u8")
"""``DfsBranch`` where all nodes are viewed, and else."""

STACK = _native.record("i4 filled depth; u4 part parts; u8 at count")
"""``DfsStack`` without its branches."""


class Kind(IntEnum):
    """Where a node's candidates come from: ``DfsKind``."""

    VIEWED = 0
    GENERAL = 1
    SEED = 2
    INPUT_ROW = 3


_LINKED, _DIFFERENT, _LOWER, _HIGHER = range(4)
_NO_FILTER, _BY_BITS, _BY_LIST = range(3)
_FROM_RANGES, _FROM_CANDIDATES = -1, -2
_INPUT_ROW = -1
"""Stands for a level among those that are bound."""

_MOST_CHECKS = 120
_MOST_IDS = 1 << 27
"""Vertices of a graph up to which the candidates of 32 prefixes have 32-bit numbers."""

_PARTS = 32
_ROW_PARTS = 8
_HUBS = 32
_MOST_HUBS = 2048
"""What lies below the first roots, 1 in ``_HUBS`` and at most ``_MOST_HUBS``, is cut in ``_PARTS``; in ``_ROW_PARTS``
where a root makes a row, which comes in as many parts then."""


@dataclass
class Tree:
    """The levels of a plan, or one component of them. Records of ``NODE``, ``CHECK``, ``VIEW``, ``RANGE``, ``PAIR``.

    ``n_roots``: candidates of the first level, None where it is the input rows. ``first``, ``pivot``: where they begin.
    ``spine``: branches that are multiplied with nothing below. ``row_depth``: of the branch that makes rows, -1 for a
    total. ``memos``: tables of remembered counts. ``branches``: most that are bound at a time. ``wide``: some node is
    not viewed.
    """

    nodes: npt.NDArray[Any]
    checks: npt.NDArray[Any]
    views: npt.NDArray[Any]
    ranges: npt.NDArray[Any]
    pairs: npt.NDArray[Any]
    n_roots: int | None
    first: int
    pivot: int
    spine: int
    row_depth: int
    memos: int
    branches: int
    wide: bool
    exists: bool


def cuts(tree: Tree, n_roots: int, warps: int) -> dict[str, int]:
    """Return how the work is cut into tasks for so many warps, as fields of ``JOB``."""
    hubs = min(-(-n_roots // _HUBS), _MOST_HUBS) if tree.n_roots is not None and tree.spine > 1 else 0
    parts = _ROW_PARTS if tree.row_depth == 0 else _PARTS
    batch = min(max((n_roots - hubs) // (4 * warps), 1), LANES)
    return {"n_roots": n_roots, "hubs": hubs, "parts": parts, "batch": batch}


def trees(resolved: ResolvedSearch, levels: npt.NDArray[Any], viewed: bool = True) -> list[Tree] | None:
    """Return the trees whose counts multiply to the plan's, or the one that gives its rows; None: it has no embedding.

    Parameters
    ----------
    levels
        ``match_plan.LEVEL`` records with the device's pointers.
    viewed
        Whether levels may be looked up in slices that are cut beforehand: these take room.
    """
    derived = derive(resolved.plan)
    if derived.header["impossible"]:
        return None
    header = resolved.plan[0]
    if header["seeds"] or header["enumerated"]:
        return [_Layout(resolved, levels, derived, viewed).rows()]
    roots = range(int(derived.header["n_roots"]))
    return [_Layout(resolved, levels, derived, viewed).component(root) for root in roots]


@dataclass
class _Layout:
    resolved: ResolvedSearch
    levels: npt.NDArray[Any]
    derived: Derived
    viewed: bool
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
        self.all_levels, self.sources = _rows(self.levels), _rows(tables[1])
        self.derived_nodes, self.derived_levels = _rows(self.derived.nodes), _rows(self.derived.levels)
        self.derived_ids = self.derived.ids.tolist()
        self.all_ranges, self.all_pairs = tables[2].tolist(), tables[3].tolist()
        self.level_ids, self.list_ids = tables[7].tolist(), tables[8].tolist()
        header = self.resolved.plan[0]
        self.seeds, self.enumerated = int(header["seeds"]), max(int(header["enumerated"]), int(header["seeds"]))
        self.exists = header["mode"] == SearchMode.EXISTS

    def component(self, root: int) -> Tree:
        """Lay out one of the derived components, for its total."""
        (number,) = self.child(root, {}, spine=True)
        assert number == 0
        return self.tree(-1)

    def rows(self) -> Tree:
        """Lay out the whole plan, for its rows: a branch for each seed and enumerated level, below them the others."""
        bound: dict[int, int] = {}
        for level in range(_INPUT_ROW if self.seeds else 0, self.enumerated):
            if level < self.seeds:
                kind = Kind.SEED if level >= 0 else Kind.INPUT_ROW
                number = self.add(level, bound, kind=kind, spine=True, output=-1)
            else:
                number = self.node(level, bound, leaf=False, spine=True)
            if bound:
                self.link(number - 1, [number])
            bound = self.below(bound, level)
        below = self.children(range(int(self.derived.header["n_roots"])), bound, not self.exists)
        self.link(len(bound) - 1, below)
        return self.tree(len(bound) - 1)

    def tree(self, row_depth: int) -> Tree:
        """Return what was laid out."""
        root = self.nodes[0]
        n_roots, first, pivot = None, 0, _FROM_CANDIDATES
        if root["kind"] != Kind.INPUT_ROW:
            level = self.all_levels[root["level"]]
            spans = _part(self.all_ranges, level["ranges"])
            if level["candidates"]:
                n_roots = level["n_candidates"]
            elif root["kind"] == Kind.VIEWED:
                n_roots, first = spans[-1][1] - spans[0][0], spans[0][0]
            else:
                n_roots, first, pivot = sum(end - begin for begin, end in spans), spans[0][0], _FROM_RANGES
        views = [
            (0, 0, lo, hi, begin, end, index, below, above, 0) for index, lo, hi, begin, end, below, above in self.views
        ]
        return Tree(
            np.array([tuple(row[name] for name in NODE.names or ()) for row in self.nodes], NODE),
            np.array(self.checks, CHECK),
            np.array(views, VIEW),
            np.array(self.ranges, RANGE),
            np.array(self.pairs, PAIR),
            n_roots,
            first,
            pivot,
            self.spine,
            row_depth,
            self.memos,
            self.branches,
            any(node["kind"] != Kind.VIEWED for node in self.nodes),
            bool(self.exists),
        )

    def ids(self, span: tuple[int, int]) -> list[int]:
        """Return a span of the derived ids."""
        return _part(self.derived_ids, span)

    # -- nodes --------------------------------------------------------------------------------------------------------

    def child(self, index: int, bound: dict[int, int], spine: bool) -> list[int]:
        """Add what stands for a derived node with all that is below it; return the nodes' numbers.

        ``bound``: depths of the levels above.
        """
        derived = self.derived_nodes[index]
        levels = self.ids(derived["levels"])
        if derived["shape"] == NodeKind.BRANCH:
            number = self.node(levels[0], bound, leaf=False, spine=spine)
            if derived["memo"] >= 0 and not spine:
                self.remember(number, self.ids(derived["context"]), bound)
            self.link(number, self.children(_span(derived["children"]), self.below(bound, levels[0]), spine))
            return [number]
        viewed = all(self.is_viewed(level, bound) for level in levels)
        if derived["shape"] == NodeKind.GROUP and derived["nested"] and bound and viewed:
            again = [bool(derived["repeats"] >> k & 1) for k in range(len(levels))]
            return [
                self.node(level, bound, leaf=True, besides=levels, minus=k, again=again[k], enough=_enough(again, k))
                for k, level in enumerate(levels)
            ]
        return [self.chain(sorted(levels), bound, spine)]

    def children(self, indices: Sequence[int], bound: dict[int, int], spine: bool) -> list[int]:
        """Add the derived nodes below a branch; the last one goes on with a spine."""
        ordered = sorted(indices, key=self.weight)
        last = ordered[-1] if ordered and spine and self.is_spine(ordered[-1]) else -1
        return [each for child in ordered for each in self.child(child, bound, child == last)]

    def chain(self, levels: list[int], bound: dict[int, int], spine: bool) -> int:
        """Add levels that only differ from each other, one below the other; the root is a branch in any case."""
        if len(levels) == 1 and bound:
            return self.node(levels[0], bound, leaf=True)
        number = self.node(levels[0], bound, leaf=False, spine=spine)
        if len(levels) > 1:
            self.link(number, [self.chain(levels[1:], self.below(bound, levels[0]), spine)])
        return number

    def below(self, bound: dict[int, int], level: int) -> dict[int, int]:
        """Return what is bound below a branch of a level."""
        self.branches = max(self.branches, len(bound) + 1)
        return {**bound, level: len(bound)}

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
        for before, each in zip([-1, *children], children, strict=False):
            if before < 0:
                self.nodes[parent]["child"] = each
            else:
                self.nodes[before]["next"] = each

    def remember(self, number: int, context: list[int], bound: dict[int, int]) -> None:
        """Let the counts of a branch be remembered by the vertices of one or two levels."""
        depths = sorted((bound[level] for level in context), reverse=True)
        vertices = all(self.all_levels[level]["kind"] == LevelKind.VERTEX for level in context)
        if len(depths) in (1, 2) and vertices:
            self.nodes[number]["memo"] = self.memos
            self.nodes[number]["memo_depth"] = (depths[0], depths[1] if len(depths) == 2 else -1)
            self.memos += 1

    # -- what a level demands -----------------------------------------------------------------------------------------

    def is_viewed(self, index: int, bound: dict[int, int]) -> bool:
        """Tell whether a level's candidates are in slices that can be cut beforehand, or in its own list."""
        level = self.all_levels[index]
        sources = _part(self.sources, level["sources"])
        spans = [level["ranges"], *(self.all_levels[source["level"]]["ranges"] for source in sources)]
        ends = [_part(self.all_ranges, span)[-1][1] if span[1] else _MOST_IDS + 1 for span in spans]
        demands = sum(level[name][1] for name in ("sources", "different", "less", "greater"))
        return bool(
            self.viewed
            and level["kind"] == LevelKind.VERTEX
            and not level["conditions"][1]
            and all(source["lists"][1] == 1 and not source["flags"] & SourceFlag.REPEATS for source in sources)
            and max(ends) <= _MOST_IDS
            and demands <= _MOST_CHECKS
            and (sources or level["candidates"] or not bound)
        )

    def node(
        self,
        index: int,
        bound: dict[int, int],
        leaf: bool,
        spine: bool = False,
        besides: Sequence[int] = (),
        minus: int = 0,
        again: bool = False,
        enough: int = 1,
    ) -> int:
        """Add the node of one level; return its number."""
        level = self.all_levels[index]
        given = {"leaf": leaf, "spine": spine, "minus": minus, "again": again, "enough": enough}
        given["output"] = level["output"]
        free = level["kind"] == LevelKind.VERTEX and level["ranges"][1] == 1 and not level["conditions"][1]
        free = free and not (level["bitset"] or level["candidates"] or level["pairs"][1])
        if not self.is_viewed(index, bound):
            sources = _part(self.sources, level["sources"])
            listed = all(source["lists"][1] == 1 and not source["flags"] & SourceFlag.REPEATS for source in sources)
            return self.add(
                index, bound, kind=Kind.GENERAL, plain=leaf and free and listed and len(sources) <= 1, **given
            )
        checks = sorted(self.demands(index, bound, besides), key=lambda check: (-check[1], check[0]))
        ordered = any(check[0] in (_LOWER, _HIGHER) for check in checks)
        links = sum(check[0] == _LINKED for check in checks)
        several = level["ranges"][1] > 1
        pairs = _part(self.all_pairs, level["pairs"])
        number = self.add(
            index, bound, kind=Kind.VIEWED, **given,
            plain=leaf and free and links == 1 and not ordered,
            filter=_BY_LIST if level["candidates"] else _BY_BITS if level["bitset"] else _NO_FILTER,
            checks=(len(self.checks), len(checks)),
            ranges=(len(self.ranges), level["ranges"][1]) if several else (0, 0),
            pairs=(len(self.pairs), len(pairs)),
            **{name: level[name] for name in ("bitset_begin", "n_candidates", "bitset", "candidates")},
        )  # fmt: skip
        self.checks += checks
        self.ranges += _part(self.all_ranges, level["ranges"]) if several else []
        self.pairs += [tuple(-1 if each == index else bound[each] for each in pair) for pair in pairs]
        return number

    def add(self, level: int, bound: dict[int, int], **given: Any) -> int:
        """Add a record; return its number."""
        blank: dict[str, Any] = dict.fromkeys(NODE.names or (), 0)
        blank |= {"child": -1, "next": -1, "memo": -1, "memo_depth": (-1, -1)}
        blank |= dict.fromkeys(("checks", "ranges", "pairs"), (0, 0))
        self.nodes.append({**blank, "level": level, "depth": len(bound), **given})
        self.branches = max(self.branches, len(bound) + (not given.get("leaf", False)))
        self.spine += given.get("spine", False)
        return len(self.nodes) - 1

    def hull(self, level: Any) -> tuple[int, int]:
        """Return the least range of ids that holds a level's."""
        ranges = _part(self.all_ranges, level["ranges"])
        return ranges[0][0], ranges[-1][1]

    def demands(self, index: int, bound: dict[int, int], besides: Sequence[int]) -> Iterator[tuple[int, int, int, int]]:
        """Yield a level's checks. What its slices are cut by already is left out."""
        level = self.all_levels[index]
        less, greater = self.named(level["less"]), self.named(level["greater"])
        linked = set()
        for source in _part(self.sources, level["sources"]):
            other = source["level"]
            linked.add(other)
            key = (
                self.list_ids[source["lists"][0]],
                *self.hull(self.all_levels[other]),
                *self.hull(level),
                int(other in less),
                int(other in greater),
            )
            yield _LINKED, bound[other], self.views.setdefault(key, len(self.views)), 0
        different = self.derived_levels[index]["different"]
        for other, depth in bound.items():
            if other >= 0 and different >> other & 1 and other not in besides:
                yield _DIFFERENT, depth, 0, 0
        for kind, others in ((_LOWER, less), (_HIGHER, greater)):
            for other in sorted(others - linked):
                yield kind, bound[other], 0, 0

    def named(self, span: tuple[int, int]) -> set[int]:
        """Return the levels that a span of the plan names."""
        return set(_part(self.level_ids, span))


def _enough(again: Sequence[bool], k: int) -> int:
    """Return how many candidates of a group's leaf k leave one for each of those leaves that count the same ones."""
    return k + 1 + next((n for n, same in enumerate(again[k + 1 :]) if not same), len(again) - k - 1)


def _rows(table: npt.NDArray[Any]) -> list[dict[str, Any]]:
    """Return records as Python's own values, which are faster to look at one by one; spans as (first, count)."""
    names = table.dtype.names or ()
    return [dict(zip(names, row, strict=True)) for row in table.tolist()]


def _span(span: tuple[int, int]) -> range:
    return range(span[0], span[0] + span[1])


def _part(values: list[Any], span: tuple[int, int]) -> list[Any]:
    return values[span[0] : span[0] + span[1]]
