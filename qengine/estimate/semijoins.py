"""What joins the vertices of a search, once those are left out that few candidates of others leave no partner.

Where conditions leave few candidates of one vertex, the relationships of these are looked up, which leave few of the
next (semi-joins: Bernstein and Chiu, JACM 1981; Yannakakis, VLDB 1981). Norms of what is left bound a count far better
than those of what conditions admit vertex by vertex.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from qengine._frozen import frozen
from qengine.estimate.id_sets import Ids, degrees, distinct
from qengine.estimate.norms import Norms, Reader, Relation, parallel
from qengine.exec.common.columns import NodeColumn
from qengine.plan.expr import Comparison, Property, Variable
from qengine.plan.pattern import Direction
from qengine.plan.physical import ColumnCondition, EdgeLevel, VertexLevel
from qengine.types import NODE

_ROUNDS = 2  # in which pairs leave fewer candidates, and candidates fewer pairs


def relations(reader: Reader) -> tuple[dict[int, float], list[Relation]]:
    """Return of each vertex level of a reader's search how many vertices it may have, and what joins them."""
    vertices = [place for place, level in enumerate(reader.search.levels) if isinstance(level, VertexLevel)]
    found = _Joins(reader).relations()
    return {place: reader.size(place) for place in vertices}, found


@frozen
class _Link:
    """Relationships of some types between two levels, as they go from ``one``."""

    one: int
    other: int
    types: tuple[str, ...]
    direction: Direction


@dataclass
class _Pairs:
    """The pairs of two levels' vertices that may be together.

    ``link``: whose relationships they are; None where a condition gives them.
    """

    link: _Link | None
    one: int
    other: int
    ones: Ids
    others: Ids


@dataclass
class _Joins:
    reader: Reader
    _links: list[_Link] = field(default_factory=list)
    _pairs: list[_Pairs] = field(default_factory=list)

    def relations(self) -> list[Relation]:
        """Return all of them, narrowed by each other."""
        reader = self.reader
        for place, level in enumerate(reader.search.levels):
            if isinstance(level, VertexLevel):
                self._links += [_Link(each.level, place, each.types, each.direction) for each in level.sources]
            elif (ends := reader.of_edge(place, level)) is not None:
                link = _Link(level.start, level.end, level.types, level.direction)
                self._keep(_Pairs(link, link.one, link.other, *ends))
        if reader.plan is not None:
            self._look_up()
            for _ in range(_ROUNDS):
                for pairs in self._pairs:
                    self._narrow(pairs)
        return [*map(self._of_pairs, self._pairs), *map(self._by_statistics, self._links)]

    def _of_pairs(self, pairs: _Pairs) -> Relation:
        found = Relation(pairs.one, pairs.other, Norms.of(degrees(pairs.ones)), Norms.of(degrees(pairs.others)))
        return found if pairs.link is None else found.over(self._times(pairs.link))

    def _times(self, link: _Link) -> float:
        """Return how often a pair of a link counts at most for an edge level that is about the same relationships."""
        turned = _Link(link.other, link.one, link.types, link.direction.reversed())
        for level in self.reader.search.levels:
            if isinstance(level, EdgeLevel):
                own = _Link(level.start, level.end, level.types, level.direction)
                if own in (link, turned):
                    return float(parallel(self.reader.store, level.types, level.direction))
        return 1.0

    def _by_statistics(self, link: _Link) -> Relation:
        labels = self.reader.label(link.one), self.reader.label(link.other)
        found = self.reader.between(link.one, link.other, link.types, link.direction, labels)
        return found.over(self._times(link))

    def _look_up(self) -> None:
        """Look up the relationships of few candidates, the fewest first, until no more are few."""
        left = self.reader.most
        tried: set[tuple[_Link, int, int]] = set()  # from an end, with how many candidates it had
        while True:
            ends = {
                (link, end, len(found))
                for link in self._links
                for end in (link.one, link.other)
                if (found := self.reader.candidates(end)) is not None
            }
            if not (ends := ends - tried):
                break
            link, end, few = min(ends, key=lambda each: (each[2], each[1], each[0].one))
            turned = end == link.other
            direction = link.direction.reversed() if turned else link.direction
            pairs = self.reader.neighbours(end, link.types, direction, left)
            if pairs is None:
                tried.add((link, end, few))
                continue
            left -= len(pairs[0])
            self._links.remove(link)
            self._keep(_Pairs(link, link.one, link.other, *(pairs[::-1] if turned else pairs)))
        for both in sorted({(each.left, each.right) for each in self._conditions()}):
            one, other = (self.reader.candidates(end) for end in both)
            if one is not None and other is not None and 0 < len(one) * len(other) <= left:
                left -= len(one) * len(other)
                self._keep(_Pairs(None, *both, np.repeat(one, len(other)), np.tile(other, len(one))))

    def _keep(self, pairs: _Pairs) -> None:
        for level, vertices in ((pairs.one, pairs.ones), (pairs.other, pairs.others)):
            if self.reader.candidates(level) is None:
                self.reader.reached(level, distinct(vertices))
        self._narrow(pairs)
        if self.reader.masks is not None and len(pairs.ones):
            holds = np.ones(len(pairs.ones), np.bool_)
            for condition in self._conditions():
                if {condition.left, condition.right} == {pairs.one, pairs.other}:
                    holds &= self._holds(condition, pairs)
            pairs.ones, pairs.others = pairs.ones[holds], pairs.others[holds]
            self._narrow(pairs)
        self._pairs.append(pairs)

    def _narrow(self, pairs: _Pairs) -> None:
        """Leave out the pairs of vertices that are no candidates, and the candidates that are in no pair."""
        kept = self.reader.admitted(pairs.one, pairs.ones) & self.reader.admitted(pairs.other, pairs.others)
        pairs.ones, pairs.others = pairs.ones[kept], pairs.others[kept]
        self.reader.reached(pairs.one, distinct(pairs.ones))
        self.reader.reached(pairs.other, distinct(pairs.others))

    def _conditions(self) -> Iterator[ColumnCondition]:
        """Yield what is asked of two vertices."""
        levels = self.reader.search.levels
        for level in levels:
            for condition in level.conditions:
                if not any(isinstance(levels[end], EdgeLevel) for end in (condition.left, condition.right)):
                    yield condition

    def _holds(self, condition: ColumnCondition, pairs: _Pairs) -> npt.NDArray[np.bool_]:
        assert self.reader.masks is not None
        ends = {pairs.one: pairs.ones, pairs.other: pairs.others}
        columns = {"left": NodeColumn(ends[condition.left]), "right": NodeColumn(ends[condition.right])}
        sides = zip(("left", "right"), (condition.left_key, condition.right_key), strict=True)
        asked = Comparison((condition.op,), tuple(Property(Variable(name, type=NODE), key) for name, key in sides))
        return self.reader.masks.holds_of(asked, columns, len(pairs.ones))
