"""Finds which part of a derived plan has a shape that a counting kernel takes.

A shape is recognised by what the levels demand of each other, never by a pattern's name. All order constraints of a
plan come from its symmetry, and a symmetry may be broken by the ids ascending or descending: the plan is tried both
ways, and the one that reads shorter lists is taken (ids go by descending degree).
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine.exec.common.match_plan import LEVEL, RANGE, SOURCE, SearchMode, SourceFlag
from qengine.exec.gpu.count_shapes import (
    CliqueShape,
    CountShape,
    EdgeShape,
    HouseShape,
    StarFactor,
    StarShape,
    ViewSpec,
    WedgeShape,
)
from qengine.exec.gpu.derived_plan import Derived, From, NodeKind, Wedge, derive

__all__ = ["Component", "components"]

_MAX_FACTORS = 4
_MOST_DEPTH = 5
"""Levels of a chain below its root: each more takes another matrix a warp, and a root much longer."""
_SINGLE = np.dtype(np.int32)


@dataclass(frozen=True, slots=True)
class Component:
    """One factor of a count: a shape, and the level whose vertices are its roots."""

    shape: CountShape
    root: int


def components(plan: npt.NDArray[Any]) -> tuple[Component, ...] | None:
    """Return the shapes whose counts multiply to the plan's; None where a part of it has none.

    Parameters
    ----------
    plan
        One ``match_plan.PLAN`` record whose arrays are alive, host addresses.
    """
    header = plan[0]
    if header["seeds"] or header["enumerated"] or int(header["mode"]) == SearchMode.EXISTS:
        return None
    ways = []
    for reverse in (False, True):
        levels = _table(header, "levels", LEVEL, int(header["n_levels"])).copy()
        if reverse:
            levels["less"], levels["greater"] = levels["greater"].copy(), levels["less"].copy()
        turned = plan.copy()
        turned["levels"] = levels.ctypes.data
        found = _Finder(turned[0], levels, derive(turned)).run()
        if found is not None:
            ways.append(found)
    return max(ways, key=lambda found: sum(_worth(each.shape) for each in found), default=None)


def _worth(shape: CountShape) -> float:
    """Say how well the direction of the ids fits a shape: hubs first where lists are whole, last where they are cut."""
    if isinstance(shape, CliqueShape):
        return 2.0 * shape.streamed.below + shape.outer.below
    if isinstance(shape, EdgeShape):
        return (
            2.0 * shape.streamed.below - 2.0 * shape.streamed.above + (shape.outer.above and not shape.streamed.below)
        )
    if isinstance(shape, WedgeShape):
        return shape.outer.above + shape.bound
    return 0.0


class _Finder:
    def __init__(self, plan: Any, levels: npt.NDArray[Any], derived: Derived) -> None:
        self.plan = plan
        self.plan_levels = levels
        self.derived = derived

    def run(self) -> tuple[Component, ...] | None:
        if self.derived.header["impossible"]:
            return None
        found = []
        for node in range(int(self.derived.header["n_roots"])):
            component = self.component(node)
            if component is None:
                return None
            found.append(component)
        return tuple(found)

    def component(self, node: int) -> Component | None:
        if self.shape_of(node) != NodeKind.BRANCH:
            return None
        root = self.levels_of(node)[0]
        level, plan_level = self.derived.levels[root], self.plan_levels[root]
        if not level["vertex"] or not level["fixed"] or level["filtered"] or plan_level["ranges"]["count"] != 1:
            return None
        for find in (self.star, self.clique, self.wedge, self.edge, self.house):
            shape = find(root, self.children(node))
            if shape is not None:
                return Component(shape, root)
        return None

    def star(self, root: int, children: list[int]) -> StarShape | None:
        """Find levels that all draw from lists of the root alone."""
        factors: list[StarFactor] = []
        for child in children:
            more = self.star_factors(root, child)
            if more is None:
                return None
            factors += more
        return StarShape(tuple(factors)) if 0 < len(factors) <= _MAX_FACTORS else None

    def star_factors(self, root: int, node: int) -> list[StarFactor] | None:
        if self.shape_of(node) == NodeKind.GROUP:
            return self.group_factors(root, node)
        chain = self.chain(node)
        if chain is None:
            return None
        view = self.own_view(chain[0], root)
        if view is None or not self.plain(chain[0]) or self.derived.levels[chain[0]]["different"]:
            return None
        if not all(self.takes_rest(level, before) for before, level in pairwise(chain)):
            return None
        return [StarFactor(view, 0, len(chain), True)]

    def group_factors(self, root: int, node: int) -> list[StarFactor] | None:
        """Read a group whose levels draw from lists of the root: candidates less what the levels before took."""
        record = self.derived.nodes[node]
        levels = self.levels_of(node)
        views = [self.own_view(level, root) for level in levels]
        if not record["nested"] or not all(self.plain(level) for level in levels):
            return None
        factors: list[StarFactor] = []
        for k, (level, view) in enumerate(zip(levels, views, strict=True)):
            if view is None or int(self.derived.levels[level]["different"]) & ~_mask(levels):
                return None
            if k > 0 and int(record["repeats"]) >> k & 1:
                factors[-1] = replace(factors[-1], taken=factors[-1].taken + 1)
            else:
                factors.append(StarFactor(view, k, 1, False))
        return factors

    def clique(self, root: int, children: list[int]) -> CliqueShape | None:
        """Find a chain of levels, each among the candidates of the one before and in its list."""
        if len(children) != 1:
            return None
        chain = self.chain(children[0])
        if chain is None or not 3 <= len(chain) <= _MOST_DEPTH:
            return None
        outer = self.outer(chain[0], root)
        if outer is None:
            return None
        streamed: ViewSpec | None = None
        for before, level in pairwise(chain):
            step = self.shared(level, before, among=before)
            if step is None or self.derived.levels[level]["different"]:
                return None
            if streamed is not None and step != streamed:
                return None
            streamed = step
        assert streamed is not None
        if (streamed.lo, streamed.hi) != (outer.lo, outer.hi):
            return None
        return CliqueShape(outer, streamed, len(chain))

    def edge(self, root: int, children: list[int]) -> EdgeShape | None:
        """Find a level in a list of the root, and below it what the two have in common."""
        shape = self.any_edge(root, children)
        return shape and self.halved(root, self.levels_of(children[0])[0], shape)

    def halved(self, root: int, member: int, shape: EdgeShape) -> EdgeShape:
        """Return a shape that looks at one direction of each edge where both count the same."""
        whole = ViewSpec(shape.outer.list, shape.outer.lo, shape.outer.hi)
        if shape.outer != whole or shape.marked != shape.streamed or shape.marked.below or shape.marked.above:
            return shape
        if shape.taken_outer is not None or shape.taken_marked is not None:
            return shape
        (source,) = self.sources(member)
        if int(source["flags"]) & SourceFlag.LOOPS or not self.takes_all(root, whole):
            return shape
        if not int(source["flags"]) & SourceFlag.SYMMETRIC:
            return shape
        return replace(shape, outer=replace(whole, above=True), twice=True)

    def any_edge(self, root: int, children: list[int]) -> EdgeShape | None:
        """Find the shape as the plan has it."""
        if len(children) != 1 or self.shape_of(children[0]) != NodeKind.BRANCH:
            return None
        member = self.levels_of(children[0])[0]
        outer = self.outer(member, root)
        below = self.children(children[0])
        if outer is None or len(below) != 1:
            return None
        node = below[0]
        levels = self.levels_of(node)
        shared = self.common(levels[0], root, member, outer)
        if shared is None:
            return None
        marked, streamed = shared
        if self.shape_of(node) == NodeKind.GROUP:
            return self.edge_group(root, member, node, EdgeShape(outer, marked, streamed, 1, False))
        chain = self.chain(node)
        if chain is None or any(self.derived.levels[level]["different"] for level in chain):
            return None
        if not all(self.takes_rest(level, before) for before, level in pairwise(chain)):
            return None
        return EdgeShape(outer, marked, streamed, len(chain), True)

    def edge_group(self, root: int, member: int, node: int, shape: EdgeShape) -> EdgeShape | None:
        """Read levels that differ: repetitions of what the two have in common, and one more among the root's."""
        record = self.derived.nodes[node]
        levels = self.levels_of(node)
        inside = _mask(levels)
        if not record["nested"] or not all(self.plain(level) for level in levels):
            return None
        if int(self.derived.levels[levels[0]]["different"]) & ~inside:
            return None
        repeated = 1
        while repeated < len(levels) and int(record["repeats"]) >> repeated & 1:
            if int(self.derived.levels[levels[repeated]]["different"]) & ~inside:
                return None
            repeated += 1
        shape = replace(shape, taken=repeated)
        if repeated == len(levels):
            return shape
        if repeated + 1 < len(levels):
            return None
        last = self.derived.levels[levels[repeated]]
        outside = int(last["different"]) & ~inside
        if outside & ~int(last["certain"]) or outside & ~(1 << member):
            return None
        taken = repeated + (1 if outside else 0)
        operands = self.operands(levels[repeated])
        if len(operands) != 1 or not self.unbounded(levels[repeated], operands[0]):
            return None
        if (
            int(operands[0]["from"]) == From.CANDIDATES
            and int(operands[0]["index"]) == member
            and not operands[0]["clip"]
        ):
            return replace(shape, taken_outer=taken)
        view = self.view(operands[0], root)
        if view == shape.outer:
            return replace(shape, taken_outer=taken)
        return replace(shape, taken_marked=taken) if view == shape.marked else None

    def wedge(self, root: int, children: list[int]) -> WedgeShape | None:
        """Find two levels in a list of the root, and one that is in the lists of both."""
        if len(children) != 1:
            return None
        chain = self.chain(children[0])
        if chain is None or len(chain) != 3:
            return None
        kind = int(self.derived.nodes[children[0]]["wedge"])
        outer = self.outer(chain[0], root)
        if outer is None:
            return None
        if kind in (Wedge.ORDERED, Wedge.DIFFERENT, Wedge.EQUAL):
            far = chain[2]
            step = next((view for view in (self.view(o, chain[0]) for o in self.operands(far)) if view), None)
            pairs = {Wedge.ORDERED: 0, Wedge.DIFFERENT: 1, Wedge.EQUAL: 2}[Wedge(kind)]
            if step is None or self.derived.views[int(self.operands(far)[0]["index"])]["above"]:
                return None
        else:
            far, last = chain[1], chain[2]
            step = self.own_view(far, chain[0])
            back = self.shared_unordered(last, far, chain[0])
            if step is None or back is None or not self.returns(far, chain[0], last):
                return None
            pairs = back
        if not self.plain(far) or step.below or step.above:
            return None
        level = self.derived.levels[far]
        bounds = {-1: int(level["less"]), 1: int(level["greater"]), 0: 0}
        if (bounds[-1] | bounds[1]) & ~(1 << root) or (bounds[-1] and bounds[1]):
            return None
        bound = 1 if bounds[1] else -1 if bounds[-1] else 0
        if int(level["different"]) & ~(1 << root):
            return None
        return WedgeShape(outer, step, pairs, bound, bool(int(level["different"])))

    def house(self, root: int, children: list[int]) -> HouseShape | None:
        """Find a square and a vertex linked to both ends of one of its sides, all five different."""
        if len(children) != 1:
            return None
        chain = self.chain(children[0], grouped=True)
        if chain is None or len(chain) != 4:
            return None
        levels = {root, *chain}
        member = chain[0]
        outer = self.outer(member, root)
        if outer is None or not all(self.plain(level) for level in chain):
            return None
        whole = replace(outer, below=False, above=False)
        if not self.takes_all(root, whole):
            return None
        links, lists = set(), set()
        for level in chain:
            for source in self.sources(level):
                if not int(source["flags"]) & SourceFlag.SYMMETRIC or source["lists"]["count"] != 1:
                    return None
                if int(source["flags"]) & (SourceFlag.REPEATS | SourceFlag.LOOPS):
                    return None
                links.add(frozenset((level, int(source["level"]))))
                lists.add(self.list_at(int(source["lists"]["first"])))
            each = self.derived.levels[level]
            if (int(each["lo"]), int(each["hi"])) != (whole.lo, whole.hi):
                return None
        other = [level for level in chain if level != member]
        roof = [x for x in other if frozenset((x, root)) in links and frozenset((x, member)) in links]
        if len(links) != 6 or len(lists) != 1 or len(roof) != 1:
            return None
        sides = [level for level in other if level != roof[0]]
        square = (
            all(sum(frozenset((level, end)) in links for end in (root, member)) == 1 for level in sides)
            and frozenset(sides) in links
        )
        if not square or any(frozenset((level, roof[0])) in links for level in sides):
            return None
        ordered = [(x, y) for x in levels for y in levels if x < y and self.ordered(x, y)]
        if ordered not in ([], [tuple(sorted((root, member)))]):
            return None
        for x in levels:
            for y in levels:
                if x < y and frozenset((x, y)) not in links and not self.differ(x, y):
                    return None
        return HouseShape(whole, bool(ordered))

    # What the levels say

    def takes_all(self, root: int, view: ViewSpec) -> bool:
        """Tell whether all ids that a view covers are roots: no predicate or other label chooses among them."""
        level = self.plan_levels[root]
        (span,) = _table(self.plan, "ranges", RANGE, int(level["ranges"]["first"]) + 1)[-1:]
        every = (int(span["begin"]), int(span["end"])) == (view.lo, view.hi)
        return every and not level["bitset"] and not level["candidates"]

    def chain(self, node: int, *, grouped: bool = False) -> list[int] | None:
        """Return the levels of branches with one child each, down to a leaf (or a group, if ``grouped``)."""
        levels = []
        while self.shape_of(node) == NodeKind.BRANCH:
            levels += self.levels_of(node)
            children = self.children(node)
            if len(children) != 1:
                return None
            node = children[0]
        if self.shape_of(node) != NodeKind.LEAF and not (grouped and self.shape_of(node) == NodeKind.GROUP):
            return None
        levels += self.levels_of(node)
        return levels if all(self.plain(level) for level in levels) else None

    def outer(self, level: int, root: int) -> ViewSpec | None:
        """Return the view of the root that a level draws from, and from nothing else."""
        if not self.plain(level) or self.derived.levels[level]["different"]:
            return None
        return self.own_view(level, root)

    def own_view(self, level: int, of: int) -> ViewSpec | None:
        """Return the view of another level that is a level's only operand; bounds by the root may be left."""
        operands = self.operands(level)
        return self.view(operands[0], of) if len(operands) == 1 else None

    def view(self, operand: Any, of: int) -> ViewSpec | None:
        """Return the view that an operand is, if it is one of level ``of`` without repetitions."""
        if int(operand["from"]) != From.VIEW:
            return None
        view = self.derived.views[int(operand["index"])]
        if int(view["level"]) != of or not view["unique"]:
            return None
        found = self.list_at(int(view["lists"]["first"]))
        return ViewSpec(found, int(view["lo"]), int(view["hi"]), bool(view["below"]), bool(view["above"]))

    def common(self, level: int, root: int, member: int, outer: ViewSpec) -> tuple[ViewSpec, ViewSpec] | None:
        """Return the views of the root and of its member whose intersection a level draws from."""
        operands = self.operands(level)
        if len(operands) != 2 or not self.plain(level):
            return None
        streamed = self.shared(level, member, among=member)
        if streamed is not None:
            lo, hi = max(outer.lo, streamed.lo), min(outer.hi, streamed.hi)
            return replace(outer, lo=lo, hi=hi), replace(streamed, lo=lo, hi=hi)
        marked, streamed = self.view(operands[0], root), self.view(operands[1], member)
        if marked is None or streamed is None or not all(self.unbounded(level, operand) for operand in operands):
            return None
        return (marked, streamed) if (marked.lo, marked.hi) == (streamed.lo, streamed.hi) else None

    def shared(self, level: int, of: int, among: int) -> ViewSpec | None:
        """Return the view of level ``of`` that a level takes among the candidates of level ``among``.

        Being before (after) that level's vertex is put into the view: it is the same level.
        """
        operands = self.operands(level)
        record = self.derived.levels[level]
        if len(operands) != 2 or int(operands[0]["from"]) != From.CANDIDATES or int(operands[0]["index"]) != among:
            return None
        view = self.view(operands[1], of)
        if (
            view is None
            or operands[0]["less"]
            or operands[0]["greater"]
            or record["rest_less"]
            or record["rest_greater"]
        ):
            return None
        cut = int(record["cut"])
        if (int(operands[1]["less"]) | int(operands[1]["greater"])) & ~(1 << of):
            return None
        if int(operands[1]["less"]) or cut == From.CANDIDATES_BEFORE:
            view = replace(view, below=True)
        if int(operands[1]["greater"]) or cut == From.CANDIDATES_AFTER:
            view = replace(view, above=True)
        return None if view.below and view.above else view

    def shared_unordered(self, last: int, far: int, first: int) -> int | None:
        """Tell how ``last``, among the candidates of ``first`` and in the list of ``far``, is paired with ``first``.

        0: only before or only after it, 1: different from it, 2: any; None: otherwise.
        """
        operands = self.operands(last)
        record = self.derived.levels[last]
        if len(operands) != 2 or int(operands[0]["from"]) != From.CANDIDATES or int(operands[0]["index"]) != first:
            return None
        view = self.view(operands[1], far)
        if view is None or view.below or view.above or operands[0]["less"] or operands[0]["greater"]:
            return None
        bounds = int(operands[1]["less"]) | int(operands[1]["greater"])
        if bounds & ~(1 << first) or record["rest_less"] or record["rest_greater"]:
            return None
        different = int(record["different"])
        if bounds or int(record["cut"]) != From.CANDIDATES:
            return None if different else 0
        return {0: 2, 1 << first: 1}.get(different)

    def takes_rest(self, level: int, before: int) -> bool:
        """Tell whether a level takes another of the candidates before (after) the vertex of the level before it."""
        operands = self.operands(level)
        if len(operands) != 1 or not self.plain(level) or self.derived.levels[level]["different"]:
            return False
        one = operands[0]
        cut = int(one["from"]) in (From.CANDIDATES_BEFORE, From.CANDIDATES_AFTER) and int(one["index"]) == before
        return cut and not one["clip"] and not one["less"] and not one["greater"]

    def returns(self, far: int, first: int, last: int) -> bool:
        """Tell whether ``last`` and ``first`` have ``far`` in the same list, which is symmetric."""
        sources = self.sources(far) + [each for each in self.sources(last) if int(each["level"]) == far]
        lists = {self.list_at(int(each["lists"]["first"])) for each in sources if each["lists"]["count"] == 1}
        return (
            len(sources) == 2
            and int(sources[0]["level"]) == first
            and len(lists) == 1
            and all(int(each["flags"]) & SourceFlag.SYMMETRIC for each in sources)
        )

    def unbounded(self, level: int, operand: Any) -> bool:
        """Tell whether an operand needs no bound or range that it doesn't hold by itself."""
        record = self.derived.levels[level]
        return not (
            operand["less"] or operand["greater"] or operand["clip"] or record["rest_less"] or record["rest_greater"]
        )

    def plain(self, level: int) -> bool:
        """Tell whether a level binds vertices of one range by its lists alone."""
        record = self.derived.levels[level]
        return bool(record["vertex"]) and not (record["fixed"] or record["filtered"] or record["check_ranges"])

    def ordered(self, x: int, y: int) -> bool:
        """Tell whether the order of the ids keeps two levels apart (x before y)."""
        record = self.derived.levels[y]
        return bool((int(record["less"]) | int(record["greater"])) >> x & 1)

    def differ(self, x: int, y: int) -> bool:
        """Tell whether two levels bind different vertices."""
        apart = self.derived.levels["apart"]
        return bool(int(apart[y]) >> x & 1 or int(apart[x]) >> y & 1)

    def operands(self, level: int) -> npt.NDArray[Any]:
        """Return the records of a level's operands."""
        where = self.derived.levels[level]["operands"]
        return self.derived.operands[where["first"] : where["first"] + where["count"]]

    def sources(self, level: int) -> list[Any]:
        where = self.plan_levels[level]["sources"]
        return list(_table(self.plan, "sources", SOURCE, where["first"] + where["count"])[where["first"] :])

    def list_at(self, index: int) -> int:
        return int(_table(self.plan, "list_ids", _SINGLE, index + 1)[index])

    def shape_of(self, node: int) -> int:
        return int(self.derived.nodes[node]["shape"])

    def levels_of(self, node: int) -> list[int]:
        where = self.derived.nodes[node]["levels"]
        return [int(level) for level in self.derived.ids[where["first"] : where["first"] + where["count"]]]

    def children(self, node: int) -> list[int]:
        where = self.derived.nodes[node]["children"]
        return list(range(int(where["first"]), int(where["first"] + where["count"])))


def _mask(levels: list[int]) -> int:
    return sum(1 << level for level in levels)


def _table(plan: Any, name: str, dtype: np.dtype[Any], n: int) -> npt.NDArray[Any]:
    """Return the first records of one of the plan's tables."""
    return np.frombuffer(ctypes.string_at(int(plan[name]), n * dtype.itemsize), dtype) if n else np.empty(0, dtype)
