"""Walks and shortest paths of the native kernels against naive enumeration, on small random multigraphs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from qengine.exec.context import ExecutionContext
from qengine.exec.host.walk_kernel import (
    ChunkSize,
    EndFilter,
    WalkMode,
    WalkRows,
    WalkRules,
    WalkSpace,
    pack_bits,
    walk_chunks,
)
from qengine.plan.pattern import Direction, PathMode
from qengine.storage.records import from_records


@dataclass(frozen=True)
class Case:
    """One call of the kernels."""

    edges: tuple[tuple[str, int, int], ...]
    types: frozenset[str]
    direction: Direction
    minimum: int
    maximum: int | None
    starts: tuple[int, ...]
    targets: tuple[int, ...] | None
    forbidden: tuple[frozenset[int], ...] | None
    banned: frozenset[int]
    ends: frozenset[int] | None
    size: ChunkSize
    threads: int
    vertices: int = 6
    through: frozenset[int] | None = None

    def store(self) -> Any:
        records = [{"type": name, "start": a, "end": b, "properties": _properties(name, i)}
                   for i, (name, a, b) in enumerate(self.edges)]  # fmt: skip
        return from_records([{"id": v} for v in range(self.vertices)], records, undirected=("U", "V"))

    def chunks(
        self,
        store: Any,
        mode: WalkMode,
        *,
        lists: bool,
        repeats: PathMode = PathMode.TRAIL,
        count: int = 1,
        hasty: bool = False,
    ) -> list[Any]:
        """Run the kernels: (row, end, relationships or None) in the order given."""
        space, ends = self.space(store), self.end_filter()
        forbidden = None
        if self.forbidden is not None:
            lengths = [len(ids) for ids in self.forbidden]
            forbidden = (
                np.cumsum([0, *lengths]),
                np.array([i for ids in self.forbidden for i in sorted(ids, reverse=True)], np.int64),
            )
        rows = WalkRows(
            np.array(self.starts, np.int64), None if self.targets is None else np.array(self.targets), forbidden
        )
        found = []
        for chunk in walk_chunks(
            space, ends, rows, ExecutionContext(threads=self.threads),
            WalkRules(mode, self.minimum, self.maximum, lists, repeats, count, hops=True, hasty=hasty), self.size,
        ):  # fmt: skip
            assert 0 < len(chunk.row) <= self.size.rows
            for i, (row, end) in enumerate(zip(chunk.row.tolist(), chunk.end.tolist(), strict=True)):
                assert (chunk.offsets is not None) == lists
                ids = None
                if chunk.offsets is not None and chunk.relationships is not None:
                    ids = tuple(chunk.relationships[chunk.offsets[i] : chunk.offsets[i + 1]].tolist())
                    assert mode is WalkMode.EVERY_WALK or chunk.hops is None or chunk.hops[i] == len(ids)
                found.append((row, end, ids))
        return found

    def told_by_walks(self) -> bool:
        """Tell whether free ends are told by these kernels, not by those of ``qe/reach.h``."""
        return self.targets is not None or self.minimum > 1

    def space(self, store: Any) -> WalkSpace:
        """Return the hops that may be taken."""
        indices = tuple(edge_type.index for edge_type in store.types if edge_type.name in self.types)
        allowed = {}
        for index in indices:
            base = store.types[index].base
            keep = np.array([base + local not in self.banned for local in range(store.types[index].count)])
            if not keep.all():
                allowed[index] = pack_bits(keep)
        through = None
        if self.through is not None:
            through = pack_bits(np.array([vertex in self.through for vertex in range(self.vertices)]))
        return WalkSpace(store, indices, self.direction, allowed, through)

    def end_filter(self) -> EndFilter:
        """Return where walks may end."""
        if self.ends is None:
            return EndFilter(0, self.vertices)
        return EndFilter(0, self.vertices, pack_bits(np.array([v in self.ends for v in range(self.vertices)])))

    def walks(self, store: Any, *, repeats: PathMode = PathMode.TRAIL) -> list[tuple[int, int, tuple[int, ...]]]:
        """Enumerate naively: (row, end, relationships)."""
        ids = np.arange(store.relationship_count)
        start, end = store.endpoints(ids)
        hops: dict[int, list[tuple[int, int]]] = {}
        for i, a, b, kind in zip(ids.tolist(), start.tolist(), end.tolist(), store.type_of(ids).tolist(), strict=True):
            info = store.types[kind]
            if info.name not in self.types or i in self.banned:
                continue
            out = info.undirected or self.direction is not Direction.IN
            back = info.undirected or self.direction is not Direction.OUT
            if out:
                hops.setdefault(a, []).append((i, b))
            if back and not (out and a == b):
                hops.setdefault(b, []).append((i, a))
        maximum = len(self.edges) if self.maximum is None else self.maximum

        found = []
        for row, start_ in enumerate(self.starts):
            never = self.forbidden[row] if self.forbidden is not None else frozenset[int]()
            open_: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((start_,), ())] if start_ >= 0 else []
            while open_:
                met, taken = open_.pop()
                at = met[-1]
                if repeats is PathMode.ACYCLIC and len(set(met)) < len(met):
                    continue
                if repeats is PathMode.SIMPLE and (
                    len(set(met[1:])) < len(met) - 1 or len(set(met[:-1])) < len(met) - 1
                ):
                    continue
                right = (self.targets is None or at == self.targets[row]) and (self.ends is None or at in self.ends)
                if len(taken) >= self.minimum and right:
                    found.append((row, at, taken))
                if len(taken) < maximum and (not taken or self.through is None or at in self.through):
                    for i, b in hops.get(at, ()):
                        if i not in never and not (repeats is not PathMode.WALK and i in taken):
                            open_.append(((*met, b), (*taken, i)))
        return found


def _properties(name: str, i: int) -> dict[str, int]:
    return {"weight": i} if name in ("P", "V") else {}  # with properties a type stores ids beside its lists


@st.composite
def cases(draw: Any, *, bounded: bool = False) -> Case:
    """D, P directed, U, V undirected; P and V have properties. Without a maximum there are few relationships."""
    maximum = draw(st.integers(0, 4) if bounded else st.none() | st.integers(0, 5))
    vertex = st.integers(0, 5)
    edge = st.tuples(st.sampled_from("DPUV"), vertex, vertex)
    edges = draw(st.lists(edge, min_size=1, max_size=7 if maximum is None else 10))
    simple = draw(st.booleans())  # no parallel relationships: then ids are looked up
    if simple:
        ends = {(name, *(sorted((a, b)) if name in "UV" else (a, b))): (name, a, b) for name, a, b in edges}
        edges = list(ends.values())
    rows = draw(st.integers(1, 5))
    some_ids = st.frozensets(st.integers(0, len(edges) - 1), max_size=2)
    start = st.integers(-1, 5)
    each = lambda of: st.lists(of, min_size=rows, max_size=rows).map(tuple)  # noqa: E731
    size = draw(st.sampled_from([ChunkSize(), ChunkSize(1, 1, 1), ChunkSize(3, 4, 2)]))
    return Case(
        tuple(edges),
        frozenset(draw(st.sampled_from(["DPUV", "D", "U", "DU", "PV", ""]))),
        draw(st.sampled_from(Direction)),
        draw(st.integers(0, 3)),
        maximum,
        draw(each(start)),
        draw(st.none() | each(start)),
        draw(st.none() | each(some_ids)),
        draw(st.just(frozenset()) | some_ids),
        draw(st.none() | st.frozensets(st.integers(0, 5))),
        size,
        draw(st.sampled_from([1, 2])),
        through=draw(st.none() | st.frozensets(st.integers(0, 5))),
    )  # fmt: skip


@given(cases())
def test_trails(case: Case) -> None:
    store = case.store()
    expected = case.walks(store)
    assert Counter(case.chunks(store, WalkMode.EVERY_WALK, lists=True)) == Counter(expected)
    plain = Counter((row, end, None) for row, end, _ in expected)
    assert Counter(case.chunks(store, WalkMode.EVERY_WALK, lists=False)) == plain


@given(cases(bounded=True))
def test_walks_that_repeat_relationships(case: Case) -> None:
    store = case.store()
    expected = case.walks(store, repeats=PathMode.WALK)
    found = case.chunks(store, WalkMode.EVERY_WALK, lists=True, repeats=PathMode.WALK)
    assert Counter(found) == Counter(expected)
    if case.told_by_walks():
        ends = case.chunks(store, WalkMode.EVERY_END, lists=False, repeats=PathMode.WALK)
        assert Counter(ends) == Counter({(row, end, None): 1 for row, end, _ in expected})


@pytest.mark.parametrize("repeats", [PathMode.ACYCLIC, PathMode.SIMPLE])
@given(case=cases())
def test_walks_that_repeat_no_vertex(case: Case, repeats: PathMode) -> None:
    store = case.store()
    expected = case.walks(store, repeats=repeats)
    assert Counter(case.chunks(store, WalkMode.EVERY_WALK, lists=True, repeats=repeats)) == Counter(expected)
    if case.told_by_walks():
        ends = case.chunks(store, WalkMode.EVERY_END, lists=False, repeats=repeats)
        assert Counter(ends) == Counter({(row, end, None): 1 for row, end, _ in expected})


@given(cases().filter(Case.told_by_walks))
def test_ends_of_trails(case: Case) -> None:
    store = case.store()
    expected = {(row, end, None): 1 for row, end, _ in case.walks(store)}
    assert Counter(case.chunks(store, WalkMode.EVERY_END, lists=False)) == Counter(expected)


@given(cases())
def test_shortest_paths(case: Case) -> None:
    case = replace(case, minimum=case.minimum % 2)
    store = case.store()
    shortest: dict[tuple[int, int], list[tuple[int, ...]]] = {}
    for row, end, taken in sorted(case.walks(store), key=lambda walk: len(walk[2])):
        others = shortest.setdefault((row, end), [])
        if not others or len(others[0]) == len(taken):
            others.append(taken)
    every = Counter((*pair, taken) for pair, paths in shortest.items() for taken in paths)
    assert Counter(case.chunks(store, WalkMode.ALL_SHORTEST, lists=True)) == every
    plain = Counter({(*pair, None): len(paths) for pair, paths in shortest.items()})
    assert Counter(case.chunks(store, WalkMode.ALL_SHORTEST, lists=False)) == plain
    found = case.chunks(store, WalkMode.ANY_SHORTEST, lists=True)
    assert Counter((row, end) for row, end, _ in found) == Counter(shortest.keys())
    assert set(found) <= set(every)
    if case.told_by_walks():
        ends = case.chunks(store, WalkMode.ANY_SHORTEST, lists=False)
        assert Counter(ends) == Counter({(*pair, None): 1 for pair in shortest})


@given(cases(bounded=True))
def test_shortest_walks_that_repeat_relationships(case: Case) -> None:
    case = replace(case, minimum=case.minimum % 2)
    store = case.store()
    shortest: dict[tuple[int, int], list[tuple[int, ...]]] = {}
    for row, end, taken in sorted(case.walks(store, repeats=PathMode.WALK), key=lambda walk: len(walk[2])):
        others = shortest.setdefault((row, end), [])
        if not others or len(others[0]) == len(taken):
            others.append(taken)
    every = Counter((*pair, taken) for pair, paths in shortest.items() for taken in paths)
    assert Counter(case.chunks(store, WalkMode.ALL_SHORTEST, lists=True, repeats=PathMode.WALK)) == every
    found = case.chunks(store, WalkMode.ANY_SHORTEST, lists=True, repeats=PathMode.WALK)
    assert Counter((row, end) for row, end, _ in found) == Counter(shortest.keys())
    assert set(found) <= set(every)


@given(cases(bounded=True), st.sampled_from([PathMode.TRAIL, PathMode.WALK]), st.integers(1, 4), st.booleans())
def test_more_shortest_paths_or_longer_ones(case: Case, repeats: PathMode, count: int, hasty: bool) -> None:
    """To targets, or to each end together; searched depth first, or by deviations."""
    assume(case.targets is not None or (count > 1 and case.minimum <= 1))
    store = case.store()
    lengths: dict[tuple[int, int], list[int]] = {}
    expected = case.walks(store, repeats=repeats)
    for row, end, taken in expected:
        lengths.setdefault((row, end), []).append(len(taken))
    found = case.chunks(store, WalkMode.ANY_SHORTEST, lists=True, repeats=repeats, count=count, hasty=hasty)
    assert set(found) <= set(expected) and len(set(found)) == len(found)
    shortest = Counter((*pair, length) for pair, each in lengths.items() for length in sorted(each)[:count])
    assert Counter((row, end, len(taken)) for row, end, taken in found) == shortest
    plain = case.chunks(store, WalkMode.ANY_SHORTEST, lists=False, repeats=repeats, count=count, hasty=hasty)
    assert Counter(plain) == Counter((row, end, None) for row, end, _ in found)
    if case.targets is None:
        return
    least = {pair: set(sorted(set(each))[:count]) for pair, each in lengths.items()}
    every = case.chunks(store, WalkMode.ALL_SHORTEST, lists=True, repeats=repeats, count=count, hasty=hasty)
    assert Counter(every) == Counter(walk for walk in expected if len(walk[2]) in least[walk[:2]])


@given(cases(), st.integers(1, 4), st.booleans())
def test_more_shortest_trails_than_there_are(case: Case, count: int, hasty: bool) -> None:
    """Without a maximum: the search must find out that there are no more."""
    assume(case.targets is not None or (count > 1 and case.minimum <= 1))
    case = replace(case, maximum=None, edges=case.edges[:7])
    store = case.store()
    lengths: dict[tuple[int, int], list[int]] = {}
    for row, end, taken in case.walks(store):
        lengths.setdefault((row, end), []).append(len(taken))
    found = case.chunks(store, WalkMode.ANY_SHORTEST, lists=True, count=count, hasty=hasty)
    shortest = Counter((*pair, length) for pair, each in lengths.items() for length in sorted(each)[:count])
    assert Counter((row, end, len(taken)) for row, end, taken in found) == shortest


@st.composite
def long_cases(draw: Any) -> Case:
    """A path of 90 relationships with a few more beside it: walks longer than those that are scanned for repeats."""
    more = draw(st.lists(st.tuples(st.just("D"), st.integers(0, 90), st.integers(0, 90)), max_size=3))
    path = [("D", v, v + 1) for v in range(90)]
    both = draw(st.booleans())
    starts = tuple(draw(st.lists(st.integers(0, 90), min_size=1, max_size=3)))
    targets = draw(st.none() | st.just((90,) * len(starts)))
    return Case((*path, *more), frozenset("D"), Direction.BOTH if both else Direction.OUT, 0, None, starts, targets,
                None, frozenset(), None, ChunkSize(5, 8, 5), 2, vertices=91)  # fmt: skip


@given(long_cases())
def test_long_trails(case: Case) -> None:
    store = case.store()
    assert Counter(case.chunks(store, WalkMode.EVERY_WALK, lists=True)) == Counter(case.walks(store))


@pytest.mark.parametrize(
    ("direction", "lengths"),
    [(Direction.OUT, {1: 3, 2: 4, 3: 4, 4: 6, 5: 4}), (Direction.IN, {1: 2, 2: 2, 3: 3, 4: 4})],
)
def test_trails_counted_by_hand(direction: Direction, lengths: dict[int, int]) -> None:
    """A triangle with a loop and a parallel relationship at its first vertex."""
    edges = (("D", 0, 1), ("D", 1, 2), ("D", 2, 0), ("D", 0, 0), ("D", 0, 1))
    store = from_records([{"id": v} for v in range(3)], [{"type": name, "start": a, "end": b} for name, a, b in edges])
    first = int(store.endpoints(np.arange(5))[0][np.argmax(np.equal(*store.endpoints(np.arange(5))))])  # has the loop
    case = Case(edges, frozenset("D"), direction, 1, None, (first,), None, None, frozenset(), None, ChunkSize(), 1,
                vertices=3)  # fmt: skip
    assert Counter(len(taken) for *_, taken in case.walks(store)) == lengths
    assert Counter(len(taken) for *_, taken in case.chunks(store, WalkMode.EVERY_WALK, lists=True)) == lengths
