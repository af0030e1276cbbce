"""Norms of degree sequences: by statistics, and of what predicates admit, looked up where that is little.

The ℓp-norms of degrees bound the size of joins (Abo Khamis, Nakos, Olteanu, Suciu, PODS 2024; Deeds et al., SIGMOD
2023); those of the vertices that conditions leave bound it far better than those of all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from qengine.catalog.view import EdgeStatistics
from qengine.exec.common.match_plan import records
from qengine.exec.common.resolve import ResolvedSearch
from qengine.exec.view import ExecView
from qengine.plan.pattern import Direction, certain_label
from qengine.plan.physical import EdgeLevel, Level, Search, Source, VertexLevel

__all__ = ["Norms", "Relation", "relations"]

_ROUNDING = 1 + 1e-9  # moments are sums of floats
_LEVELS, _TYPES = 0, 6  # places in ``ResolvedSearch.tables``


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Relation:
    """What joins two levels, with the norms of the degrees at either."""

    one: int
    other: int
    there: Norms
    back: Norms


@dataclass
class _Reader:
    """Looks up what a plan admits, while it is no more than ``most`` vertices or relationships at a time."""

    store: ExecView
    search: Search
    plan: ResolvedSearch | None
    most: int
    _candidates: dict[int, npt.NDArray[np.int64] | None] = field(default_factory=dict)

    def candidates(self, level: int) -> npt.NDArray[np.int64] | None:
        """Return the vertices that a level's labels and predicates admit, None where they are not looked up."""
        if level not in self._candidates:
            self._candidates[level] = self._find_candidates(level)
        return self._candidates[level]

    def _find_candidates(self, level: int) -> npt.NDArray[np.int64] | None:
        if self.plan is None or not self.search.levels[level].predicates:
            return None
        record = self.plan.tables[_LEVELS][level]
        if record["candidates"]:
            if record["n_candidates"] > self.most:
                return None
            return records(int(record["candidates"]), np.uint32, int(record["n_candidates"])).astype(np.int64)
        if not record["bitset"]:
            return None
        found, begin = [], int(record["bitset_begin"])
        ranges = self.store.label_ranges(self.search.levels[level].labels).tolist()  # type: ignore[union-attr]
        end = max(high for _, high in ranges)
        bits = records(int(record["bitset"]), np.uint8, -(-(end - begin) // 64) * 8)
        if int(np.bitwise_count(bits).sum() if hasattr(np, "bitwise_count") else np.unpackbits(bits).sum()) > self.most:
            return None
        inside = np.flatnonzero(np.unpackbits(bits, bitorder="little")[: end - begin]) + begin
        for low, high in ranges:
            found.append(inside[(inside >= low) & (inside < high)])
        return np.concatenate(found)

    def size(self, level: int) -> float:
        """Return how many vertices a level may have."""
        known = self.candidates(level)
        if known is not None:
            return float(len(known))
        if self.plan is not None and (listed := int(self.plan.tables[_LEVELS][level]["n_candidates"])):
            return float(listed)
        ranges = self.store.label_ranges(self.search.levels[level].labels)  # type: ignore[union-attr]
        return float(sum(int(end) - int(begin) for begin, end in ranges))

    def of_source(self, level: int, source: Source) -> Relation:
        """Return the relation between a level and the one whose neighbours it takes."""
        there = back = Norms(0.0, 0.0, 0.0, 0.0)
        ends = (
            certain_label(_vertex(self.search, source.level).labels),
            certain_label(_vertex(self.search, level).labels),
        )
        for name, way in self._ways(source):
            forward = way is not Direction.IN
            known = self.store.edge_statistics(*((ends[0], name, ends[1]) if forward else (ends[1], name, ends[0])))
            one, other = _by_statistics(known, forward)
            index = self.store.type_index(name)
            assert index is not None
            one = self._narrowed(one, source.level, index, way)
            other = self._narrowed(other, level, index, _turned(way))
            there, back = there.plus(one), back.plus(other)
        return Relation(source.level, level, there, back)

    def _ways(self, source: Source) -> Iterator[tuple[str, Direction]]:
        for name in source.types or self.store.relationship_types:
            info = self.store.relationship_type(name)
            if info is None:
                continue
            if info.undirected:
                yield name, Direction.BOTH
            else:
                both = (Direction.OUT, Direction.IN)
                yield from (
                    (name, way) for way in (both if source.direction is Direction.BOTH else (source.direction,))
                )

    def _narrowed(self, norms: Norms, level: int, index: int, way: Direction) -> Norms:
        """Return the norms of the vertices that a level admits."""
        vertices = self.candidates(level)
        if vertices is None:
            return norms
        begins, ends = self.store.adjacency(index, way).locate_all(vertices.astype(np.uint32))
        return norms.least(Norms.of((ends - begins).astype(np.int64)))

    def of_edge(self, place: int, level: EdgeLevel) -> Relation | None:
        """Return the relation of the relationships that an edge level's predicates admit, None for all."""
        if self.plan is None or not level.predicates or level.start == level.end:
            return None
        first, count = self.plan.tables[_LEVELS][place]["types"].tolist()
        starts, ends = [], []
        for record in self.plan.tables[_TYPES][first : first + count]:
            (index,) = self.store.type_of(np.array([int(record["base"])]))
            info = self.store.types[index]
            bits = records(int(record["bitset"]), np.uint8, -(-info.count // 64) * 8)
            if not len(bits) or int(np.unpackbits(bits).sum()) > self.most:
                return None
            admitted = np.flatnonzero(np.unpackbits(bits, bitorder="little")[: info.count])
            one, other = self.store.endpoints(int(record["base"]) + admitted)
            either = info.undirected or level.direction is Direction.BOTH
            turned = level.direction is Direction.IN and not either
            starts += [other if turned else one, *([other] if either else [])]
            ends += [one if turned else other, *([one] if either else [])]
        one, other = np.concatenate(starts).astype(np.int64), np.concatenate(ends).astype(np.int64)
        kept = self._admitted(level.start, one) & self._admitted(level.end, other)
        return Relation(level.start, level.end, _degrees(one[kept]), _degrees(other[kept]))

    def _admitted(self, level: int, vertices: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        known = self.candidates(level)
        return np.ones(len(vertices), np.bool_) if known is None else np.isin(vertices, known)


def relations(
    store: ExecView, search: Search, plan: ResolvedSearch | None, most: int
) -> tuple[dict[int, float], list[Relation]]:
    """Return of each vertex level how many vertices it may have, and what joins them.

    ``plan``: of the search, whose predicates are looked up where they admit no more than ``most``; None: they are not.
    """
    reader = _Reader(store, search, plan, most)
    sizes = {}
    found: list[Relation] = []
    for place, level in enumerate(search.levels):
        if isinstance(level, EdgeLevel):
            relation = reader.of_edge(place, level)
            found += [] if relation is None else [relation]
            continue
        sizes[place] = reader.size(place)
        found += [reader.of_source(place, source) for source in level.sources]
    return sizes, found


def _by_statistics(known: EdgeStatistics, forward: bool) -> tuple[Norms, Norms]:
    out = Norms.by_statistics(float(known.edges), float(known.max_out), known.out_pairs, known.out_triples)
    into = Norms.by_statistics(float(known.edges), float(known.max_in), known.in_pairs, known.in_triples)
    return (out, into) if forward else (into, out)


def _degrees(vertices: npt.NDArray[np.int64]) -> Norms:
    return Norms.of(np.unique(vertices, return_counts=True)[1])


def _turned(way: Direction) -> Direction:
    return {Direction.OUT: Direction.IN, Direction.IN: Direction.OUT}.get(way, way)


def _vertex(search: Search, place: int) -> VertexLevel:
    level: Level = search.levels[place]
    assert isinstance(level, VertexLevel)
    return level
