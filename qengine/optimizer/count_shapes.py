"""Finds whether a search counts what a GPU has a kernel for: the shapes of ``plan.count_shapes``.

A shape is recognised by what the levels demand of each other, never by a pattern's name, and any vertex may be its
root. All order constraints of a search come from its symmetry, and a symmetry may be broken by the ids ascending or
descending: both are tried, and the one that reads shorter lists is taken (ids go by descending degree).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from qengine.catalog.view import CatalogView
from qengine.plan.count_shapes import (
    CliqueShape,
    Component,
    CountShape,
    EdgeShape,
    HouseShape,
    View,
    WedgeShape,
)
from qengine.plan.pattern import Direction
from qengine.plan.physical import Level, VertexLevel

_MOST_VERTICES = 16
"""Of a search that is looked at."""

_MOST_DEPTH = 5
"""Levels of a chain below its root: each more takes another matrix a warp, and a root much longer."""

Shape = CountShape[View]


def count_shapes(levels: Sequence[Level], catalog: CatalogView) -> tuple[Component[View], ...]:
    """Return the shapes whose counts multiply to that of all embeddings of a search's levels.

    () where a part of it has none.
    """
    vertices = [level for level in levels if isinstance(level, VertexLevel) and not (level.pairs or level.conditions)]
    if not len(levels) == len(vertices) <= _MOST_VERTICES:
        return ()
    ordered = any(level.less or level.greater for level in vertices)
    both = (False, True) if ordered else (False,)
    ways = [found for reverse in both if (found := _found(_Pattern(vertices, catalog, reverse))) is not None]
    return max(ways, key=lambda found: sum(_worth(each.shape) for each in found), default=())


def _found(pattern: _Pattern) -> tuple[Component[View], ...] | None:
    if not pattern.fits:
        return None
    found = []
    for part in pattern.parts():
        ways = [Component(shape, root) for root in part for shape in _shapes(pattern, part, root)]
        if not ways:
            return None
        found.append(max(ways, key=lambda each: _worth(each.shape)))
    return tuple(found)


def _worth(shape: Shape) -> float:
    """Say how well the direction of the ids fits a shape: hubs first where lists are whole, last where they are cut."""
    if isinstance(shape, CliqueShape):
        return 2.0 * shape.streamed.below + shape.outer.below
    if isinstance(shape, EdgeShape):
        cut = 2.0 * shape.streamed.below - 2.0 * shape.streamed.above
        return cut + (shape.outer.above and not shape.streamed.below)
    return shape.outer.above + shape.bound if isinstance(shape, WedgeShape) else 0.0


class _Pattern:
    """What the levels of a search demand of each other.

    ``fits``: they are bound by lists of single types without parallel relationships alone. ``less``: pairs of levels
    of which the first has the lesser id; ``apart``: pairs that must differ, though no list or order sees to that.
    """

    def __init__(self, levels: Sequence[VertexLevel], catalog: CatalogView, reverse: bool) -> None:
        self.levels = levels
        self.lists: dict[tuple[int, int], tuple[str, Direction]] = {}
        self.symmetric: set[str] = set()
        self.loops: set[str] = set()
        self.fits = all(self._link(k, catalog) for k in range(len(self.levels)))
        self.less: set[tuple[int, int]] = set()
        for k, level in enumerate(self.levels):
            self.less |= {(k, other) for other in (level.greater if reverse else level.less)}
            self.less |= {(other, k) for other in (level.less if reverse else level.greater)}
        for middle in range(len(self.levels)):
            below = [a for a, b in self.less if b == middle]
            self.less |= {(a, b) for a in below for c, b in list(self.less) if c == middle}
        self.apart = {
            frozenset((k, other))
            for k, level in enumerate(self.levels)
            for other in level.different
            if not (self.ordered(k, other) or self._linked_apart(k, other))
        }
        self.fits &= not any(self.linked(*pair) for pair in self.apart)  # by lists with loops

    def _link(self, k: int, catalog: CatalogView) -> bool:
        """Note the lists that a level draws from; tell whether they are all of single types, without repetitions."""
        for source in self.levels[k].sources:
            names = source.types or catalog.relationship_types
            info = catalog.relationship_type(names[0]) if len(names) == 1 else None
            if info is None or info.parallel or (source.level, k) in self.lists:
                return False
            if info.undirected:
                self.symmetric.add(info.name)
                self.lists[k, source.level] = info.name, Direction.BOTH
            elif source.direction is Direction.BOTH:
                return False
            if info.loops:
                self.loops.add(info.name)
            self.lists[source.level, k] = info.name, Direction.BOTH if info.undirected else source.direction
        return True

    def parts(self) -> Iterator[list[int]]:
        """Yield the levels that are linked, together; none where others must differ from them or be in order."""
        left = set(range(len(self.levels)))
        while left:
            part, new = set[int](), {min(left)}
            while new:
                part |= new
                new = {k for k in left - part if any(self.linked(k, other) for other in part)}
            left -= part
            yield sorted(part)

    def linked(self, a: int, b: int) -> bool:
        return (a, b) in self.lists or (b, a) in self.lists

    def _linked_apart(self, a: int, b: int) -> bool:
        found = self.lists.get((a, b)) or self.lists.get((b, a))
        return found is not None and found[0] not in self.loops

    def ordered(self, a: int, b: int) -> bool:
        return (a, b) in self.less or (b, a) in self.less

    def differ(self, a: int, b: int) -> bool:
        return self.ordered(a, b) or frozenset((a, b)) in self.apart or self._linked_apart(a, b)

    def free(self, a: int, b: int) -> bool:
        """Tell whether two levels have nothing to do with each other."""
        return not (self.linked(a, b) or self.ordered(a, b) or frozenset((a, b)) in self.apart)

    def view(self, of: int, to: int) -> View | None:
        """Return the view of one level that another draws from; None where there is no such list."""
        if (of, to) not in self.lists:
            return None
        labels = self.levels[to].labels
        return View(*self.lists[of, to], labels, below=(to, of) in self.less, above=(of, to) in self.less)

    def neighbours(self, level: int, part: Sequence[int]) -> list[int]:
        return [other for other in part if self.linked(level, other)]

    def among(self, levels: Sequence[int]) -> str:
        """Return how levels are related: "ordered", "apart", "free", or "" where not all pairs are so."""
        pairs = list(combinations(levels, 2))
        if any(self.linked(*pair) for pair in pairs):
            return ""
        for word, holds in (("free", self.free), ("ordered", self.ordered)):
            if all(holds(*pair) for pair in pairs):
                return word
        return "apart" if all(frozenset(pair) in self.apart for pair in pairs) else ""


def _shapes(pattern: _Pattern, part: Sequence[int], root: int) -> Iterator[Shape]:
    """Yield the shapes of linked levels around a root: predicates may choose among the roots alone."""
    rest = [level for level in part if level != root]
    outside = [level for level in range(len(pattern.levels)) if level not in part]
    if any(pattern.levels[level].predicates for level in rest) or not rest:
        return
    if any(not pattern.free(level, other) for level in part for other in outside):
        return
    for found in (_clique, _wedge):
        if (shape := found(pattern, root, rest)) is not None:
            yield shape
            return
    for member in rest:
        edge = _edge(pattern, root, member, [level for level in rest if level != member])
        if edge is not None:
            yield edge
        if len(rest) == 4 and (house := _house(pattern, root, member, rest)) is not None:
            yield house


def _clique(pattern: _Pattern, root: int, rest: Sequence[int]) -> Shape | None:
    """Find a chain of levels, each among the candidates of the one before and in its list."""
    if not 3 <= len(rest) <= _MOST_DEPTH:
        return None
    outer = pattern.view(root, rest[0])
    if outer is None or any(pattern.view(root, level) != outer for level in rest):
        return None
    by_order = sorted(rest, key=lambda level: -sum((other, level) in pattern.less for other in rest))
    by_lists = sorted(rest, key=lambda level: -sum((level, other) in pattern.lists for other in rest))
    for chain in (by_order, by_lists):
        views = {pattern.view(before, level) for before, level in combinations(chain, 2)}
        if len(views) == 1 and (streamed := views.pop()) is not None:
            return CliqueShape(outer, streamed, len(rest))
    return None


def _wedge(pattern: _Pattern, root: int, rest: Sequence[int]) -> Shape | None:
    """Find two levels in a list of the root, and one that is in the lists of both."""
    ends = pattern.neighbours(root, rest)
    if len(rest) != 3 or len(ends) != 2 or pattern.linked(*ends):
        return None
    (far,) = (level for level in rest if level not in ends)
    outer = {pattern.view(root, end) for end in ends}
    inner = {pattern.view(end, far) for end in ends}
    if len(outer) != 1 or len(inner) != 1:
        return None
    one, other = outer.pop(), inner.pop()
    if one is None or other is None or other.below or other.above:
        return None
    pairs = {"ordered": 0, "apart": 1, "free": 2}[pattern.among(ends)]
    bound = ((root, far) in pattern.less) - ((far, root) in pattern.less)
    return WedgeShape(one, other, pairs, bound, frozenset((root, far)) in pattern.apart)


def _edge(pattern: _Pattern, root: int, member: int, rest: Sequence[int]) -> Shape | None:
    """Find a level in a list of the root, and what the two have in common."""
    how = pattern.among(rest)
    views = {(pattern.view(root, level), pattern.view(member, level)) for level in rest}
    outer = pattern.view(root, member)
    if outer is None or len(views) != 1 or not how or (how == "free" and len(rest) > 1):
        return None
    ((marked, streamed),) = views
    if marked is None or streamed is None:
        return None
    shape = EdgeShape(outer, marked, streamed, len(rest), how != "apart")
    whole = View(outer.type, outer.direction, outer.labels)
    same = outer == whole and marked == streamed and not (marked.below or marked.above)
    if same and _takes_all(pattern, root, whole):
        return EdgeShape(
            View(outer.type, outer.direction, outer.labels, above=True), marked, streamed, shape.taken, shape.ordered,
            twice=True,
        )  # fmt: skip
    return shape


def _takes_all(pattern: _Pattern, root: int, view: View) -> bool:
    """Tell whether all that a view covers are roots, and each link of it is one both ways."""
    level = pattern.levels[root]
    plain = view.type in pattern.symmetric and view.type not in pattern.loops
    return plain and level.labels == view.labels and not level.predicates


def _house(pattern: _Pattern, root: int, member: int, rest: Sequence[int]) -> Shape | None:
    """Find a square and a vertex linked to both ends of one of its sides, all five different."""
    levels = [root, *rest]
    view = pattern.view(root, member)
    if view is None:
        return None
    whole = View(view.type, view.direction, view.labels)
    if not _takes_all(pattern, root, whole) or any(pattern.levels[k].labels != whole.labels for k in levels):
        return None
    links = {frozenset(pair) for pair in combinations(levels, 2) if pattern.linked(*pair)}
    lists = {pattern.lists.get((a, b)) for a, b in map(tuple, links)}
    other = [level for level in rest if level != member]
    roof = [x for x in other if pattern.linked(x, root) and pattern.linked(x, member)]
    if len(links) != 6 or lists != {(whole.type, whole.direction)} or len(roof) != 1:
        return None
    sides = [level for level in other if level != roof[0]]
    square = all(pattern.linked(side, root) != pattern.linked(side, member) for side in sides)
    if not square or not pattern.linked(*sides) or any(pattern.linked(side, roof[0]) for side in sides):
        return None
    ordered = [set(pair) for pair in combinations(levels, 2) if pattern.ordered(*pair)]
    if ordered not in ([], [{root, member}]):
        return None
    if not all(pattern.differ(*pair) for pair in combinations(levels, 2)):
        return None
    return HouseShape(whole, bool(ordered))
