"""Random multigraphs and plans for the searches of all executors, and naive backtracking to compare them with."""

from __future__ import annotations

import random
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from qengine import storage
from qengine.exec.common.dealing import packed
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu import dfs
from qengine.exec.gpu import search as search_module
from qengine.exec.host.predicates import places
from qengine.plan.expr import Literal
from qengine.plan.logical import Unit
from qengine.plan.pattern import Direction, LabelAnd, LabelAny, LabelIs, LabelNot, LabelOr
from qengine.plan.physical import ColumnCondition, EdgeLevel, Search, Source, VertexLevel
from qengine.testing.expand import expand

TYPES = ("R", "S", "U")  # U has no direction
LABELS = (None, None, LabelIs("A"), LabelIs("B"), LabelOr((LabelIs("A"), LabelIs("B"))), LabelNot(LabelIs("A")),
          LabelAnd((LabelIs("A"), LabelIs("B"))), LabelAny(), LabelIs("Unknown"))  # fmt: skip
OPS = ("=", "<>", "<", "<=", ">", ">=")
PREDICATE = (Literal(True),)


# -- random graphs and plans -------------------------------------------------------------------------------------


@st.composite
def graphs(draw: st.DrawFn) -> Any:
    n = draw(st.integers(0, 8))
    labels = st.sampled_from([(), ("A",), ("B",), ("A", "B")])
    number = st.one_of(st.none(), st.integers(-2, 2))
    halves = st.one_of(st.none(), st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]))
    properties = {"x": number, "y": halves, "t": st.sampled_from([None, "", "one", "two"])}
    nodes = [{"labels": draw(labels), "properties": draw(st.fixed_dictionaries(properties))} for _ in range(n)]
    vertex = st.integers(0, max(0, n - 1))
    edge = st.fixed_dictionaries(
        {"type": st.sampled_from(TYPES), "start": vertex, "end": vertex},
        optional={
            "properties": st.fixed_dictionaries({"x": st.integers(-2, 2), "t": st.sampled_from(["", "one", "two"])})
        },
    )
    edges = draw(st.lists(edge, max_size=24)) if n else []
    return storage.from_records(nodes, edges, undirected=["U"])


some_types = st.sampled_from([(), ("R",), ("S",), ("U",), ("R", "S"), ("R", "U"), ("R", "Nowhere")])
directions = st.sampled_from(list(Direction))


@st.composite
def searches(draw: st.DrawFn) -> Search:
    count = draw(st.integers(1, 6))
    seeds = draw(st.integers(0, min(2, count)))
    levels: list[Any] = []
    for j in range(count):
        vertices = [k for k in range(j) if isinstance(levels[k], VertexLevel)]
        edges = [k for k in range(j) if isinstance(levels[k], EdgeLevel)]
        if j >= max(seeds, 1) and draw(st.integers(0, 3)) == 0:
            levels.append(draw(edge_levels(j, vertices, edges)))
        else:
            levels.append(draw(vertex_levels(j, vertices, edges, levels)))
    names = [f"v{j}" for j in range(count)]
    emit = tuple(draw(st.lists(st.sampled_from(names), unique=True)))
    mode = draw(st.sampled_from(["rows", "count", "exists"]))
    return Search(
        Unit(),
        tuple(levels),
        seeds,
        emit,
        count="n" if mode == "count" else None,
        exists=mode == "exists",
        orbits=draw(st.sampled_from([1, 1, 3])) if mode == "count" else 1,
        strategy=draw(st.sampled_from(["search", "extend"])),
    )


@st.composite
def edge_levels(draw: st.DrawFn, j: int, vertices: list[int], edges: list[int]) -> EdgeLevel:
    start, end = draw(st.sampled_from(vertices)), draw(st.sampled_from(vertices))
    predicates = PREDICATE if draw(st.integers(0, 3)) == 0 else ()
    different = subset(draw, edges)
    conditions = draw_conditions(draw, j, [*vertices, *edges])
    return EdgeLevel(f"v{j}", start, end, draw(some_types), draw(directions), predicates, different, conditions)


@st.composite
def vertex_levels(draw: st.DrawFn, j: int, vertices: list[int], edges: list[int], levels: list[Any]) -> VertexLevel:
    sources: tuple[Source, ...] = ()
    if vertices:
        if draw(st.integers(0, 2)) == 0:  # what an earlier level intersects, and perhaps more
            sources = getattr(levels[draw(st.sampled_from(vertices))], "sources", ())
        for level in draw(st.lists(st.sampled_from(vertices), max_size=2)):
            sources += (Source(level, draw(some_types), draw(directions)),)
    pairs = ()
    if vertices and draw(st.integers(0, 5)) == 0:
        some = st.sampled_from([*vertices, j])
        pairs = ((j, draw(st.sampled_from(vertices)), draw(some), draw(some)),)
    ordered = subset(draw, vertices)
    return VertexLevel(
        f"v{j}",
        draw(st.sampled_from(LABELS)),
        PREDICATE if draw(st.integers(0, 3)) == 0 else (),
        tuple(dict.fromkeys(sources)),
        different=subset(draw, vertices),
        less=ordered if draw(st.booleans()) else (),
        greater=subset(draw, vertices) if draw(st.integers(0, 3)) == 0 else (),
        pairs=pairs,
        conditions=draw_conditions(draw, j, [*vertices, *edges]),
    )


def subset(draw: st.DrawFn, levels: list[int]) -> tuple[int, ...]:
    return tuple(draw(st.lists(st.sampled_from(levels), max_size=2, unique=True))) if levels else ()


def draw_conditions(draw: st.DrawFn, j: int, others: list[int]) -> tuple[ColumnCondition, ...]:
    if not others or draw(st.integers(0, 5)):
        return ()
    ends = [j, draw(st.sampled_from(others))]
    if draw(st.booleans()):
        ends.reverse()
    keys = st.sampled_from(["x", "x", "y", "nothing"])
    left, right = draw(st.one_of(st.tuples(keys, keys), st.just(("t", "t"))))
    return (ColumnCondition(draw(st.sampled_from(OPS)), ends[0], left, ends[1], right),)


class Masks:
    """A predicate is true of two in three ids, by the variable's name."""

    @staticmethod
    def count(mask: Any) -> int:
        return int(np.count_nonzero(mask))

    @staticmethod
    def bits(mask: Any) -> Any:
        return packed(mask, ExecutionContext(threads=2))

    @staticmethod
    def places(mask: Any, first: int) -> Any:
        return places(mask, first, np.uint32, ExecutionContext(threads=2))

    @staticmethod
    def true(name: str, id: int) -> bool:
        return zlib.crc32(f"{name}/{id}".encode()) % 3 > 0

    def vertex_mask(self, name: str, predicates: Any, begin: int, end: int) -> Any:
        return np.array([self.true(name, id) for id in range(begin, end)], np.bool_)

    def mask_within(self, name: str, predicates: Any, ranges: Any, begin: int, end: int) -> Any:
        inside = [any(low <= id < high for low, high in ranges) for id in range(begin, end)]
        return self.vertex_mask(name, predicates, begin, end) & np.array(inside, np.bool_)

    def edge_mask(self, name: str, predicates: Any, type_index: int, begin: int, end: int) -> Any:
        return np.array([self.true(name, 1000 * type_index + id) for id in range(begin, end)], np.bool_)


# -- the oracle --------------------------------------------------------------------------------------------------


class Oracle:
    """Tries every vertex and relationship for every level, and then its constraints one by one."""

    def __init__(self, store: Any, search: Search) -> None:
        self.store, self.search = store, search
        self.edges = []  # (type index, global id, start, end)
        for info in store.types:
            ids = np.arange(info.base, info.base + info.count)
            start, end = store.endpoints(ids)
            self.edges += [(info.index, int(i), int(a), int(b)) for i, a, b in zip(ids, start, end, strict=True)]

    def embeddings(self, given: list[int]) -> Any:
        yield from self.extend([], given)

    def extend(self, bound: list[int], given: list[int]) -> Any:
        j = len(bound)
        if j == len(self.search.levels):
            yield tuple(bound)
            return
        level = self.search.levels[j]
        if isinstance(level, EdgeLevel):
            found = self.between(level, bound)
        else:
            found = [given[j]] if j < self.search.seeds else range(self.store.vertex_count)
            found = [v for v in found if v >= 0 and self.fits(level, bound, v)]
        for value in found:
            values = [*bound, value]
            if all(self.holds(each, values) for each in level.conditions):
                yield from self.extend(values, given)

    def type_fits(self, index: int, types: tuple[str, ...]) -> bool:
        return not types or self.store.types[index].name in types

    def adjacent(self, source: Source, bound: list[int], v: int) -> bool:
        u = bound[source.level]
        for index, _, a, b in self.edges:
            if not self.type_fits(index, source.types):
                continue
            free = self.store.types[index].undirected or source.direction is Direction.BOTH
            if (a, b) == (u, v) and (free or source.direction is Direction.OUT):
                return True
            if (b, a) == (u, v) and (free or source.direction is Direction.IN):
                return True
        return False

    def fits(self, level: VertexLevel, bound: list[int], v: int) -> bool:
        values = [*bound, v]
        inside = any(low <= v < high for low, high in self.store.label_ranges(level.labels).tolist())
        return (
            inside
            and (not level.predicates or Masks.true(level.name, v))
            and all(self.adjacent(source, bound, v) for source in level.sources)
            and all(v != bound[k] for k in level.different)
            and all(v < bound[k] for k in level.less)
            and all(v > bound[k] for k in level.greater)
            and not any(values[a] == values[b] and values[c] == values[d] for a, b, c, d in level.pairs)
        )

    def between(self, level: EdgeLevel, bound: list[int]) -> list[int]:
        u, v = bound[level.start], bound[level.end]
        found = []
        for index, id, a, b in self.edges:
            if not self.type_fits(index, level.types):
                continue
            info = self.store.types[index]
            if level.predicates and not Masks.true(level.name, 1000 * index + id - info.base):
                continue
            free = info.undirected or level.direction is Direction.BOTH
            forward = (a, b) == (u, v) and (free or level.direction is Direction.OUT)
            backward = (a, b) == (v, u) and (free or level.direction is Direction.IN)
            if (forward or backward) and all(bound[k] != id for k in level.different):
                found.append(id)
        return found

    def value(self, level: int, key: str, id: int) -> Any:
        if isinstance(self.search.levels[level], VertexLevel):
            return self.store.nodes([id])[0].get(key)
        return self.store.relationships([id])[0].get(key)

    def holds(self, condition: ColumnCondition, values: list[int]) -> bool:
        a = self.value(condition.left, condition.left_key, values[condition.left])
        b = self.value(condition.right, condition.right_key, values[condition.right])
        if a is None or b is None:
            return False
        return {"=": a == b, "<>": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[condition.op]


def expected(store: Any, search: Search, seeds: list[list[int]], rows: int) -> Counter[Any]:
    oracle = Oracle(store, search)
    names = [level.name for level in search.levels]
    wanted = [names.index(name) for name in search.emit]
    enumerated = max([search.seeds, *(k + 1 for k in wanted)])
    result: Counter[Any] = Counter()
    for row in range(rows):
        prefixes: Counter[Any] = Counter(
            values[:enumerated] for values in oracle.embeddings([int(column[row]) for column in seeds])
        )
        for prefix, n in prefixes.items():
            out = (row, *(prefix[k] for k in wanted))
            if search.count:
                result[(*out, n * search.orbits)] += 1
            else:
                result[out] += 1 if search.exists else n
    return result


def found(
    run_search: Any, store: Any, search: Search, seeds: list[list[int]], rows: int, **limits: Any
) -> Counter[Any]:
    """What an executor's ``run_search`` gives, as a bag of rows."""
    context = ExecutionContext(**limits)
    columns = [np.array(column, np.int64) for column in seeds]
    result: Counter[Any] = Counter()
    for chunk in run_search(store, search, columns, rows, context, Masks()):
        assert (chunk.count is not None) == (search.count is not None)
        parts = [chunk.row, *(chunk.columns[name] for name in search.emit)]
        parts += [chunk.count] if chunk.count is not None else []
        assert all(part.dtype == np.int64 and len(part) == len(chunk.row) > 0 for part in parts)
        result.update(zip(*(part.tolist() for part in parts), strict=True))
    assert context.control.memory_used == 0
    return result


@st.composite
def cases(draw: st.DrawFn) -> Any:
    store, search = draw(graphs()), draw(searches())
    rows = draw(st.integers(1, 4))
    vertex = st.integers(-1, max(-1, store.vertex_count - 1))
    seeds = [draw(st.lists(vertex, min_size=rows, max_size=rows)) for _ in range(search.seeds)]
    return store, search, seeds, rows


def equals_backtracking_in_chunks(case: Any, chunk_rows: int) -> bool:
    """Run the GPU's search with so few rows a launch, and tell whether it finds what backtracking does."""
    store, search, seeds, rows = case
    with few_rows(chunk_rows):
        result = found(search_module.run_search, store, search, seeds, rows)
    return added_up(result, search) == added_up(expected(store, search, seeds, rows), search)


@contextmanager
def few_rows(chunk_rows: int) -> Iterator[None]:
    """Let a launch of the GPU's depth-first search have room for so few rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dfs, "_FIRST_ROWS", chunk_rows)
        patch.setattr(dfs, "_LEAST_ROWS", 1)
        patch.setattr(search_module, "_MOST_ROWS", 2 * chunk_rows)
        yield


def added_up(rows: Counter[Any], search: Search) -> Counter[Any]:
    """Add up the counts of rows that come in several parts: depth first on the GPU."""
    if search.count is None:
        return rows
    total: Counter[Any] = Counter()
    for row, times in rows.items():
        total[row[:-1]] += row[-1] * times
    return total


def counted(case: Any) -> Any:
    """Return the case as a count of all embeddings, without seeds."""
    store, search, _, rows = case
    return store, replace(search, seeds=0, emit=(), count="n", exists=False), [], rows


# -- few vertices, many relationships ----------------------------------------------------------------------------


def told_apart(chance: random.Random) -> tuple[Any, Search]:
    """Draw a multigraph with loops, and a tree with further links whose relationships mostly must differ, counted."""
    n = chance.randint(1, 3)
    edges = [
        {"type": chance.choice("RRRSU"), "start": chance.randrange(n), "end": chance.randrange(n)}
        for _ in range(chance.randint(2, 7))
    ]
    store = storage.from_records([{"properties": {}} for _ in range(n)], edges, undirected=["U"])
    levels: list[Any] = [VertexLevel("v0", None, ())]

    def link(start: int, end: int, types: tuple[str, ...], direction: Direction) -> None:
        before = [k for k, level in enumerate(levels) if isinstance(level, EdgeLevel) and chance.random() < 0.8]
        predicates = PREDICATE if chance.random() < 0.1 else ()
        levels.append(EdgeLevel(f"v{len(levels)}", start, end, types, direction, predicates, tuple(before)))

    for _ in range(chance.randint(1, 3)):
        vertices = [k for k, level in enumerate(levels) if isinstance(level, VertexLevel)]
        near, far = chance.choice(vertices), len(levels)
        types, direction = chance.choice([(), (), ("R",), ("U",), ("R", "S")]), chance.choice(list(Direction))
        levels.append(VertexLevel(f"v{far}", None, (), (Source(near, types, direction),)))
        if chance.random() < 0.5:
            link(near, far, types, direction)
        else:
            link(far, near, types, direction.reversed())
        if chance.random() < 0.4:
            link(chance.choice(vertices), chance.choice([far, near]), types, chance.choice(list(Direction)))
    emit = ("v0",) if chance.random() < 0.3 else ()
    exists = chance.random() < 0.2
    return store, Search(Unit(), tuple(levels), 0, emit, count=None if exists else "n", exists=exists)


# -- denser graphs: cliques and their like, counted by bitmaps, marks and counters -----------------------------------


@st.composite
def dense_cases(draw: st.DrawFn, sizes: tuple[int, ...] = (6, 20, 70, 150)) -> Any:
    """Draw a simple undirected graph of so many vertices and a pattern whose levels share sources."""
    n = draw(st.sampled_from(sizes))
    generator = np.random.default_rng(draw(st.integers(0, 1000)))
    start, end = np.triu_indices(n, 1)
    kept = generator.random(len(start)) < min(0.7, 12 / n)
    hub = (start < 2) if draw(st.booleans()) else False
    store = storage.from_edge_list((start[kept | hub], end[kept | hub]), undirected=True)
    levels: list[VertexLevel] = []
    for j in range(draw(st.integers(3, 5))):
        sources = set(draw(st.lists(st.integers(0, j - 1), min_size=1, max_size=j))) if j else set()
        if j and draw(st.booleans()):
            sources.add(0)
        ordered = tuple(k for k in range(j) if draw(st.integers(0, 2)) == 0)
        kind = draw(st.integers(0, 3))
        different = tuple(k for k in range(j) if k not in sources and (k not in ordered or kind > 1))
        less, greater = (ordered, ()) if kind in (0, 2) else ((), ordered) if kind == 1 else ((), ())
        between = tuple(Source(k, (), Direction.BOTH) for k in sorted(sources))
        levels.append(VertexLevel(f"v{j}", None, (), between, different if draw(st.booleans()) else (), less, greater))
    return store, Search(Unit(), tuple(levels), 0, (), count="n")


def count_by_sets(store: Any, search: Search) -> int:
    """Count by naive backtracking; sets of vertices are bits of Python's integers."""
    n = store.vertex_count
    lists = [sum(1 << u for u in set(expand(store, v, 0, Direction.BOTH)[0].tolist())) for v in range(n)]

    def extend(bound: list[int]) -> int:
        level = search.levels[len(bound)]
        assert isinstance(level, VertexLevel)
        found = (1 << n) - 1
        for source in level.sources:
            found &= lists[bound[source.level]]
        for k in level.different:
            found &= ~(1 << bound[k])
        for k in level.less:
            found &= (1 << bound[k]) - 1
        for k in level.greater:
            found &= -1 << bound[k] + 1
        if len(bound) + 1 == len(search.levels):
            return found.bit_count()
        return sum(extend([*bound, v]) for v in range(n) if found >> v & 1)

    return extend([])
