"""``Repeat``: quantified paths of several relationships. The ways of one repetition come from a subplan, and are kept.

Walks are followed depth first, some at a time: the ways from the vertices where they have come to are found together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from qengine.exec.common.batch import Batch
from qengine.exec.common.columns import IntArray, NodeColumn, vertex_ids
from qengine.exec.common.operators.repeat_shortest import Levels, Selection, shortest_walks
from qengine.exec.common.operators.stage import Build, Stage, numbered, rows_of
from qengine.plan import physical
from qengine.plan.pattern import PathMode, PathSelector

if TYPE_CHECKING:
    from qengine.exec.host.walk_kernel import EndFilter

__all__ = ["repeat_stage"]

_TOGETHER = 256  # walks that go on at a time
_ROWS = 8192  # walks that are handed on at a time
_KEPT_WAYS = 1 << 20  # of which so many are kept
_WAY_BYTES = 200  # of a way, and of a step of a walk


class _Walk(NamedTuple):
    """A walk of an input row: where it has come to, what it took, and which of that must not come again."""

    row: int
    vertex: int
    edges: tuple[int, ...]
    repetitions: int
    seen_edges: frozenset[int]
    seen_vertices: frozenset[int]


class _Way(NamedTuple):
    """One repetition: its relationships, and the vertex behind each."""

    edges: tuple[int, ...]
    vertices: tuple[int, ...]


def repeat_stage(operator: physical.Repeat, build: Build, first: int) -> Stage:
    """Emit the walks from each input row's vertex."""
    upstream = build(operator.input, first)
    ways = _Ways(operator, build)

    def run(outer: Batch) -> Iterator[Batch]:
        for batch in upstream(outer):
            repeated = _Repeated(operator, build, batch, ways)
            wanted = min(first, _ROWS)
            if operator.selector is None:
                yield from repeated.run(wanted)
            else:
                yield from repeated.selected(operator.selector, wanted)

    return run


class _Ways:
    """The ways of one repetition from each vertex, found when they are first asked for."""

    def __init__(self, operator: physical.Repeat, build: Build) -> None:
        self._operator = operator
        self._inner = build(operator.repeated)
        self._known: dict[int, list[_Way]] = {}
        self.kept = 0

    def of(self, vertices: Sequence[int]) -> dict[int, list[_Way]]:
        """Return the ways from vertices; the mapping holds until the next call."""
        if self.kept > _KEPT_WAYS:
            self._known, self.kept = {}, 0
        missing = [vertex for vertex in dict.fromkeys(vertices) if vertex not in self._known]
        if missing:
            self._known.update((vertex, []) for vertex in missing)
            self._find(missing)
        return self._known

    def _find(self, vertices: list[int]) -> None:
        operator = self._operator
        begin = Batch(len(vertices), {operator.begin: NodeColumn(np.array(vertices, np.int64))})
        for found in self._inner(numbered(begin)):
            rows = rows_of(found)
            assert rows is not None
            edges = [_ids(found, name) for name in operator.relationships_of]
            nodes = [_ids(found, name) for name in operator.nodes_of]
            for row, taken, met in zip(rows.tolist(), zip(*edges, strict=True), zip(*nodes, strict=True), strict=True):
                self._known[vertices[row]].append(_Way(taken, met))
            self.kept += found.length


def _ids(batch: Batch, name: str) -> list[int]:
    column = batch.columns[name]
    ids: list[int] = column.ids.tolist()  # type: ignore[attr-defined]
    return ids


class _Repeated:
    """The walks of one batch."""

    def __init__(self, operator: physical.Repeat, build: Build, batch: Batch, ways: _Ways) -> None:
        from qengine.exec.host.walk import end_filter, forbidden_relationships

        runtime = build.runtime
        self.operator, self.runtime, self.batch, self.ways = operator, runtime, batch, ways
        self.starts: list[int] = vertex_ids(batch.columns[operator.start]).tolist()
        self.targets = vertex_ids(batch.columns[operator.end.name]).tolist() if operator.end_bound else None
        self.ends = end_filter(runtime.store, operator, build.masks)
        self.forbidden = forbidden_relationships([batch.columns[name] for name in operator.different])
        self.found: list[_Walk] = []
        self.reached: set[tuple[int, int]] = set()

    def run(self, wanted: int) -> Iterator[Batch]:
        """Yield the input rows joined with their walks, at least ``wanted`` at a time but for the last."""
        operator, check = self.operator, self.runtime.context.check
        with self.runtime.memory.holding("Repeat") as holding:
            waiting = [self._begun()]
            while waiting:
                check()
                level = waiting[-1]
                some = level[-_TOGETHER:]
                del level[-_TOGETHER:]
                if not level:
                    waiting.pop()
                if following := self._following(some):
                    waiting.append(following)
                steps = sum(map(len, waiting)) * (1 + len(operator.relationships_of)) + self.ways.kept
                holding.set(_WAY_BYTES * (steps + len(self.found)))
                if len(self.found) >= wanted:
                    yield from self._joined()
            if self.found:
                yield from self._joined()

    def selected(self, selector: PathSelector, wanted: int) -> Iterator[Batch]:
        """Yield the input rows joined with their selected walks, at least ``wanted`` at a time but for the last."""
        operator, runtime = self.operator, self.runtime
        trail = operator.mode is not PathMode.WALK
        store = runtime.store
        relationships = sum(kind.count for kind in store.types)
        selection = Selection(selector, operator.minimum, operator.maximum, trail, relationships, store.vertex_count)
        with runtime.memory.holding("Repeat") as holding:
            for row, start in enumerate(self.starts):
                target = None if self.targets is None else self.targets[row]
                if start < 0 or (target is not None and target < 0):
                    continue
                levels = Levels(start, self._ways_of)
                forbidden, none = self._forbidden(row), frozenset[int]()
                ends = [target] if target is not None else sorted(levels.within(operator.maximum))
                for end in ends:
                    if target is None and not _admits(self.ends, end):
                        continue
                    found = shortest_walks(levels, end, selection, runtime.context.check)
                    self.found += [_Walk(row, end, each, 0, none, none) for each in found if forbidden.isdisjoint(each)]
                    holding.set(_WAY_BYTES * (self.ways.kept + sum(map(len, found)) + len(self.found)))
                    if len(self.found) >= wanted:
                        yield from self._joined()
            if self.found:
                yield from self._joined()

    def _ways_of(self, vertices: Sequence[int]) -> dict[int, list[_Way]]:
        self.runtime.context.check()
        return self.ways.of(vertices)

    def _begun(self) -> list[_Walk]:
        walks = []
        for row, start in enumerate(self.starts):
            if start >= 0 and (self.targets is None or self.targets[row] >= 0):
                forbidden = self._forbidden(row)
                walks.append(_Walk(row, start, (), 0, forbidden, frozenset((start,))))
        if self.operator.minimum == 0:
            for walk in walks:
                self._take(walk)
        return walks if self.operator.maximum != 0 else []

    def _forbidden(self, row: int) -> frozenset[int]:
        if self.forbidden is None:
            return frozenset()
        offsets, ids = self.forbidden
        return frozenset(ids[offsets[row] : offsets[row + 1]].tolist())

    def _following(self, walks: list[_Walk]) -> list[_Walk]:
        """Return the walks one repetition longer that may go on; note those that are wanted."""
        operator = self.operator
        minimum, maximum, mode = operator.minimum, operator.maximum, operator.mode
        if operator.distinct_ends and operator.end_bound:
            walks = [walk for walk in walks if (walk.row, self.targets[walk.row]) not in self.reached]  # type: ignore[index]
        ways = self.ways.of([walk.vertex for walk in walks])
        going: list[_Walk] = []
        for walk in walks:
            for way in ways[walk.vertex]:
                longer = _longer(walk, way, mode, self.starts[walk.row])
                if longer is None:
                    continue
                if longer.repetitions >= minimum:
                    self._take(longer)
                closed = mode is PathMode.SIMPLE and longer.vertex == self.starts[walk.row]
                if not closed and (maximum is None or longer.repetitions < maximum):
                    going.append(longer)
        return going

    def _take(self, walk: _Walk) -> None:
        """Note a walk if it ends where one may."""
        vertex = walk.vertex
        if self.targets is not None:
            if self.targets[walk.row] != vertex:
                return
        elif not _admits(self.ends, vertex):
            return
        if self.operator.distinct_ends:
            if (walk.row, vertex) in self.reached:
                return
            self.reached.add((walk.row, vertex))
        self.found.append(walk)

    def _joined(self) -> Iterator[Batch]:
        from qengine.exec.host.walk import joined
        from qengine.exec.host.walk_kernel import WalkChunk

        found, self.found = self.found, []
        offsets = np.zeros(len(found) + 1, np.int64)
        np.cumsum([len(walk.edges) for walk in found], out=offsets[1:])
        chunk = WalkChunk(
            _array([walk.row for walk in found]),
            _array([walk.vertex for walk in found]),
            offsets,
            _array([edge for walk in found for edge in walk.edges]),
        )
        yield from joined(self.operator, self.batch, chunk, self.runtime.context)


def _longer(walk: _Walk, way: _Way, mode: PathMode, start: int) -> _Walk | None:
    """Return a walk with one more repetition, None where it would repeat what its mode forbids."""
    edges, vertices = walk.seen_edges, walk.seen_vertices
    if mode is not PathMode.WALK:
        if not edges.isdisjoint(way.edges) or len(set(way.edges)) < len(way.edges):
            return None
        edges = edges.union(way.edges)
    if mode in (PathMode.ACYCLIC, PathMode.SIMPLE):
        closes = mode is PathMode.SIMPLE and way.vertices[-1] == start
        met = way.vertices[:-1] if closes else way.vertices
        if not vertices.isdisjoint(met) or len(set(met)) < len(met):
            return None
        vertices = vertices.union(met)
    return _Walk(walk.row, way.vertices[-1], walk.edges + way.edges, walk.repetitions + 1, edges, vertices)


def _admits(ends: EndFilter, vertex: int) -> bool:
    if not ends.lo <= vertex < ends.hi:
        return False
    return ends.bits is None or bool(int(ends.bits[vertex >> 6]) >> (vertex & 63) & 1)


def _array(values: list[int]) -> IntArray:
    return np.array(values, np.int64)
