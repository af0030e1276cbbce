"""Norms of degree sequences: by statistics, and of what predicates admit, looked up where that is little.

The ℓp-norms of degrees bound the size of joins (Abo Khamis, Nakos, Olteanu, Suciu, PODS 2024; Deeds et al., SIGMOD
2023); those of the vertices that conditions leave bound it far better than those of all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from qengine._frozen import frozen, replace
from qengine.catalog.view import CatalogView, EdgeStatistics
from qengine.estimate.id_sets import Ids, among, distinct
from qengine.exec.common.columns import numbers_from
from qengine.exec.common.masks import Masks
from qengine.exec.common.match_plan import records
from qengine.exec.common.resolve import ResolvedSearch
from qengine.exec.view import ExecView
from qengine.plan.pattern import Direction, certain_label
from qengine.plan.physical import EdgeLevel, Level, Search, VertexLevel

_ROUNDING = 1 + 1e-9  # moments are sums of floats
_LEVELS, _TYPES = 0, 6  # places in ``ResolvedSearch.tables``


@frozen
class Norms:
    """Of the degrees of some vertices: their sum, the sums of their squares and cubes, the greatest."""

    edges: float
    square: float
    cube: float
    most: float

    @staticmethod
    def of(degrees: npt.NDArray[np.int64]) -> Norms:
        """Return the norms of degrees."""
        if not len(degrees):
            return Norms(0.0, 0.0, 0.0, 0.0)
        each = degrees.astype(np.float64)
        square = each * each
        total, most = float(each.sum()), float(each.max())
        return Norms(total, float(square.sum()) * _ROUNDING, float((square * each).sum()) * _ROUNDING, most)

    @staticmethod
    def by_statistics(edges: float, most: float, pairs: float, triples: float) -> Norms:
        """Return them by how many pairs and triples of relationships share a vertex; 0: perhaps that isn't known."""
        square = edges * most if not pairs else min(pairs + edges, edges * most)
        cube = square * most if not (pairs and triples) else min(triples + 3 * pairs + edges, square * most)
        return Norms(edges, square * _ROUNDING, cube * _ROUNDING, most)

    def least(self, other: Norms) -> Norms:
        """Return what both bounds leave."""
        return Norms(
            min(self.edges, other.edges),
            min(self.square, other.square),
            min(self.cube, other.cube),
            min(self.most, other.most),
        )

    def plus(self, other: Norms) -> Norms:
        """Return norms of the sums of degrees (Minkowski)."""
        return Norms(
            self.edges + other.edges,
            (self.square**0.5 + other.square**0.5) ** 2,
            (self.cube ** (1 / 3) + other.cube ** (1 / 3)) ** 3,
            self.most + other.most,
        )

    def over(self, times: float) -> Norms:
        """Return norms of degrees that are so many times less."""
        return Norms(self.edges / times, self.square / times**2, self.cube / times**3, self.most / times)


@frozen
class Relation:
    """What joins two levels, with the norms of the degrees at either."""

    one: int
    other: int
    there: Norms
    back: Norms

    def over(self, times: float) -> Relation:
        """Return it for pairs of which each counts ``times`` times, wherever the relation isn't what bounds them."""
        return self if times <= 1 else replace(self, there=self.there.over(times), back=self.back.over(times))


@dataclass
class Reader:
    """Looks up what a plan admits, while it is no more than ``most`` vertices or relationships at a time.

    ``plan``: of the search, whose predicates are looked up; None: they are not. ``masks``: evaluates what is asked of
    two vertices; None: that isn't looked at.
    """

    store: ExecView
    search: Search
    plan: ResolvedSearch | None
    most: int
    masks: Masks | None = None
    _candidates: dict[int, Ids | None] = field(default_factory=dict)

    def candidates(self, level: int) -> Ids | None:
        """Return the vertices that a level admits, ascending, None where they are not looked up."""
        if level not in self._candidates:
            self._candidates[level] = self._find_candidates(level)
        return self._candidates[level]

    def admitted(self, level: int, vertices: Ids) -> npt.NDArray[np.bool_]:
        """Return which vertices are among a level's candidates; all where these are not looked up."""
        known = self.candidates(level)
        return np.ones(len(vertices), np.bool_) if known is None else among(vertices, known)

    def _find_candidates(self, level: int) -> Ids | None:
        if self.plan is None or level >= len(self.search.levels) or not self.search.levels[level].predicates:
            return None
        listed, bits, begin = self._recorded(level)
        if listed is not None:
            return distinct(listed.astype(np.int64)) if len(listed) <= self.most else None
        if bits is None or _ones(bits) > self.most:
            return None
        return self._fitting(level, np.flatnonzero(np.unpackbits(bits, bitorder="little")) + begin)

    def _recorded(self, level: int) -> tuple[npt.NDArray[np.uint32] | None, npt.NDArray[np.uint8] | None, int]:
        """Return what a plan lists of a level's candidates: their ids, or bits from an id on."""
        assert self.plan is not None
        record = self.plan.tables[_LEVELS][level]
        if record["candidates"]:
            return records(int(record["candidates"]), np.uint32, int(record["n_candidates"])), None, 0
        if not record["bitset"]:
            return None, None, 0
        begin = int(record["bitset_begin"])
        end = max(high for _, high in self.store.label_ranges(_vertex(self.search, level).labels).tolist())
        return None, records(int(record["bitset"]), np.uint8, -(-(end - begin) // 64) * 8), begin

    def reached(self, level: int, vertices: Ids) -> None:
        """Let a level's candidates be at most those of some vertices, ascending, that the plan admits."""
        if self.candidates(level) is None:
            listed, bits, begin = self._recorded(level)
            if listed is not None:
                vertices = vertices[among(vertices, np.sort(listed).astype(np.int64))]
            else:
                vertices = self._fitting(level, vertices)
            if bits is not None:
                at = vertices - begin
                vertices = vertices[(bits[at >> 3] >> (at & 7)) & 1 == 1]
        known = self.candidates(level)
        self._candidates[level] = vertices if known is None else known[among(known, vertices)]

    def _fitting(self, level: int, vertices: Ids) -> Ids:
        """Return those of some vertices that have a level's labels."""
        ranges = self.store.label_ranges(_vertex(self.search, level).labels).astype(np.int64)
        if not len(ranges):
            return vertices[:0]
        at = np.searchsorted(ranges[:, 0], vertices, side="right") - 1
        found: Ids = vertices[(at >= 0) & (vertices < ranges[at, 1])]
        return found

    def size(self, level: int) -> float:
        """Return how many vertices a level may have."""
        known = self.candidates(level)
        if known is not None:
            return float(len(known))
        if self.plan is not None and (listed := int(self.plan.tables[_LEVELS][level]["n_candidates"])):
            return float(listed)
        ranges = self.store.label_ranges(self.search.levels[level].labels)  # type: ignore[union-attr]
        return float(sum(int(end) - int(begin) for begin, end in ranges))

    def label(self, level: int) -> str | None:
        """Return a label of a level's vertices."""
        return certain_label(_vertex(self.search, level).labels)

    def between(
        self, one: int, other: int, types: tuple[str, ...], direction: Direction, labels: tuple[str | None, str | None]
    ) -> Relation:
        """Return the relation of the relationships of some types between vertices of two labels.

        ``one``, ``other``: levels, whose candidates count; numbers from the search's levels on are of other vertices.
        """
        there = back = Norms(0.0, 0.0, 0.0, 0.0)
        start, end = labels
        for name, index, way in self.ways(types, direction):
            forward = way is not Direction.IN
            known = self.store.edge_statistics(*((start, name, end) if forward else (end, name, start)))
            out, into = _by_statistics(known, forward)
            there = there.plus(self._narrowed(out, one, index, way))
            back = back.plus(self._narrowed(into, other, index, _turned(way)))
        return Relation(one, other, there, back)

    def greatest_degree(self, types: tuple[str, ...], direction: Direction) -> float:
        """Return how many relationships of some types a vertex has at most."""
        none = len(self.search.levels)
        return self.between(none, none, types, direction, (None, None)).there.most

    def neighbours(self, level: int, types: tuple[str, ...], direction: Direction, most: int) -> tuple[Ids, Ids] | None:
        """Return the candidates of a level, repeated, with their neighbours; None for more than ``most``."""
        vertices = self.candidates(level)
        if vertices is None:
            return None
        found = []
        for _, index, way in self.ways(types, direction):
            lists = self.store.adjacency(index, way)
            begins, ends = (each.astype(np.int64) for each in lists.locate_all(vertices.astype(np.uint32)))
            found.append((lists, begins, ends - begins))
            most -= int(found[-1][2].sum())
            if most < 0:
                return None
        owners = [np.repeat(vertices, lengths) for _, _, lengths in found]
        others = [lists.neighbours[numbers_from(begins, lengths)].astype(np.int64) for lists, begins, lengths in found]
        none = np.zeros(0, np.int64)
        return np.concatenate([none, *owners]), np.concatenate([none, *others])

    def ways(self, types: tuple[str, ...], direction: Direction) -> Iterator[tuple[str, int, Direction]]:
        """Yield the lists that together are a vertex's neighbours, by the types' names and places."""
        for name in types or self.store.relationship_types:
            info, index = self.store.relationship_type(name), self.store.type_index(name)
            if info is None or index is None:
                continue
            yield from ((name, index, way) for way in direction.stored(info.undirected))

    def _narrowed(self, norms: Norms, level: int, index: int, way: Direction) -> Norms:
        """Return the norms of the vertices that a level admits."""
        vertices = self.candidates(level)
        if vertices is None:
            return norms
        begins, ends = self.store.adjacency(index, way).locate_all(vertices.astype(np.uint32))
        return norms.least(Norms.of((ends - begins).astype(np.int64)))

    def of_edge(self, place: int, level: EdgeLevel) -> tuple[Ids, Ids] | None:
        """Return the ends of the relationships that an edge level's predicates admit, None where they are many."""
        if self.plan is None or not level.predicates or level.start == level.end:
            return None
        first, count = self.plan.tables[_LEVELS][place]["types"].tolist()
        starts, ends = [], []
        for record in self.plan.tables[_TYPES][first : first + count]:
            (index,) = self.store.type_of(np.array([int(record["base"])]))
            info = self.store.types[index]
            bits = records(int(record["bitset"]), np.uint8, -(-info.count // 64) * 8)
            if not len(bits) or _ones(bits) > self.most:
                return None
            admitted = np.flatnonzero(np.unpackbits(bits, bitorder="little")[: info.count])
            one, other = self.store.endpoints(int(record["base"]) + admitted)
            either = info.undirected or level.direction is Direction.BOTH
            turned = level.direction is Direction.IN and not either
            starts += [other if turned else one, *([other] if either else [])]
            ends += [one if turned else other, *([one] if either else [])]
        return np.concatenate(starts).astype(np.int64), np.concatenate(ends).astype(np.int64)


def parallel(store: CatalogView, types: tuple[str, ...], direction: Direction) -> int:
    """Return how many relationships of some types, none for any, two vertices can have at most."""
    total = 0
    for name in types or store.relationship_types:
        info = store.relationship_type(name)
        if info is not None:
            ways = 2 if not info.undirected and direction is Direction.BOTH else 1
            total += ways * (store.edge_statistics(None, name, None).max_out if info.parallel else 1)
    return total


def _by_statistics(known: EdgeStatistics, forward: bool) -> tuple[Norms, Norms]:
    out = Norms.by_statistics(float(known.edges), float(known.max_out), known.out_pairs, known.out_triples)
    into = Norms.by_statistics(float(known.edges), float(known.max_in), known.in_pairs, known.in_triples)
    return (out, into) if forward else (into, out)


def _ones(bits: npt.NDArray[np.uint8]) -> int:
    return int(np.bitwise_count(bits).sum() if hasattr(np, "bitwise_count") else np.unpackbits(bits).sum())


def _turned(way: Direction) -> Direction:
    return {Direction.OUT: Direction.IN, Direction.IN: Direction.OUT}.get(way, way)


def _vertex(search: Search, place: int) -> VertexLevel:
    level: Level = search.levels[place]
    assert isinstance(level, VertexLevel)
    return level
