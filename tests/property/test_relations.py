"""Relations as elimination's matrices and lists, against counting relationships one by one; and their limits."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qengine import Graph, OutOfMemory, QueryInterrupted, QueryTimeout
from qengine.exec.common.relations import Relations, SparseMatrix
from qengine.exec.context import ExecutionContext
from qengine.plan.elimination import Matrix, Relation
from qengine.plan.expr import Expr, Literal
from qengine.plan.pattern import Direction
from qengine.storage.store import GraphStore

TYPES = ("R", "S", "U", "V")
UNDIRECTED = ("U", "V")


class Some:
    """Masks that admit relationships with an even global id plus the condition's number."""

    def __init__(self, store: GraphStore) -> None:
        self.store = store

    def vertex_mask(self, name: str, predicates: tuple[Expr, ...], begin: int, end: int) -> npt.NDArray[np.bool_]:
        raise AssertionError

    def edge_mask(
        self, name: str, predicates: tuple[Expr, ...], type_index: int, begin: int, end: int
    ) -> npt.NDArray[np.bool_]:
        return (np.arange(begin, end) + int(name)) % 2 == 0


def relations_of(store: GraphStore, context: ExecutionContext | None = None) -> Relations:
    return Relations(store, Some(store), context or ExecutionContext(threads=2), lambda more: None)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Make few relationships between the first nodes: of 6, or of 4,000 so that row indices are hashed."""
    n = draw(st.sampled_from([6, 4_000]))
    spread = draw(st.integers(1, n // 6))
    vertex = st.integers(0, 5).map(lambda k: k * spread)
    triples = draw(st.lists(st.tuples(st.sampled_from("RRSUUV"), vertex, vertex), max_size=16))
    if draw(st.booleans()):  # simple
        kept = {(kind, *(sorted((a, b)) if kind in UNDIRECTED else (a, b))): None for kind, a, b in triples if a != b}
        triples = list(kept)
    held: dict[str, Any] = draw(st.sampled_from([{}, {"properties": {"i": 1}}]))
    edges = [{"type": kind, "start": a, "end": b, **held} for kind, a, b in triples]
    return Graph.from_records([{"id": k} for k in range(n)], edges, undirected=UNDIRECTED)


@st.composite
def relations(draw: st.DrawFn) -> Relation:
    types = tuple(draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=4, unique=True)))
    direction = Direction.BOTH if set(types) & set(UNDIRECTED) else draw(st.sampled_from(list(Direction)))
    names = draw(st.lists(st.sampled_from(["0", "1"]), max_size=1))
    return Relation(types, direction, tuple((name, (Literal(True),)) for name in names))


def true_entries(store: GraphStore, relation: Relation) -> Counter[tuple[int, int]]:
    """Count the relationships of each pair."""
    found: Counter[tuple[int, int]] = Counter()
    for name in relation.types:
        index = store.type_index(name)
        if index is None:
            continue
        out = store.adjacency(index, Direction.OUT)
        for local in range(len(out)):
            if any((local + int(variable)) % 2 for variable, _ in relation.conditions):
                continue
            start, end = int(out.owners(np.array([local]))[0]), int(out.neighbours[local])
            if relation.direction is not Direction.IN:
                found[start, end] += 1
            if relation.direction is Direction.IN or (relation.direction is Direction.BOTH and start != end):
                found[end, start] += 1
    return found


def entries(matrix: SparseMatrix) -> Counter[tuple[int, int]]:
    found: Counter[tuple[int, int]] = Counter()
    values = matrix.factors[0].tolist() if matrix.factors else [1] * len(matrix.ids)
    for row in range(matrix.lo, matrix.hi):
        begin, end = matrix.offsets[row - matrix.lo : row - matrix.lo + 2].tolist()
        ids = matrix.ids[begin:end].tolist()
        assert ids == sorted(ids)
        for place, other in enumerate(ids):
            found[row, other] += values[begin + place]
    return found


@given(graphs(), st.lists(relations(), min_size=1, max_size=3))
def test_matrices_hold_every_relationship(graph: Graph, chosen: list[Relation]) -> None:
    store = graph._store
    expected = true_entries(store, chosen[0])
    for relation in chosen[1:]:
        other = true_entries(store, relation)
        expected = Counter({pair: count * other[pair] for pair, count in expected.items() if other[pair]})
    matrix = relations_of(store).matrix(Matrix(tuple(chosen)))
    assert entries(matrix) == expected
    if matrix.pairs:
        assert all(a != b and count == 1 and expected[b, a] == 1 for (a, b), count in expected.items())


@given(graphs(), relations(), st.booleans())
def test_sums_along_lists(graph: Graph, relation: Relation, wide: bool) -> None:
    store = graph._store
    found = relations_of(store)
    lists = found.lists(relation)
    n = store.vertex_count
    expected = np.zeros(n, np.uint64)
    loops = np.zeros(n, np.uint64)
    for (a, b), count in true_entries(store, relation).items():
        expected[a] += np.uint64(count * (b + 1))
        loops[a] += np.uint64(count * (a == b))
    vector = np.arange(1, n + 1, dtype=np.uint64)
    out = np.empty((n, 2) if wide else n, np.uint64)
    found.message(lists, np.stack((vector, np.zeros_like(vector)), axis=1) if wide else vector, wide, out)
    assert np.array_equal(out[:, 0] if wide else out, expected)
    assert np.array_equal(found.loops(relation), loops)


# ---------------------------------------------------------------- limits

BOTH = Relation(("E",), Direction.BOTH)
SQUARE = "/*+ eliminate */ MATCH (a)--(b)--(c)--(d)--(a) RETURN count(*)"


@pytest.fixture(scope="module")
def directed() -> Graph:
    rng = np.random.default_rng(5)
    return Graph.from_edge_list((rng.integers(0, 2_000, 60_000), rng.integers(0, 2_000, 60_000)))


def test_time_and_interrupts_end_the_making(directed: Graph) -> None:
    late = ExecutionContext(timeout=1e-9)
    stopped = ExecutionContext()
    stopped.interrupt()
    for context, error in ((late, QueryTimeout), (stopped, QueryInterrupted)):
        made = relations_of(directed._store, context)
        with pytest.raises(error):
            made.matrix(Matrix((BOTH, Relation(("E",), Direction.OUT))))
        with pytest.raises(error):
            made.loops(BOTH)
        with pytest.raises(error):
            made.message(made.lists(BOTH), None, False, np.empty(made.n, np.uint64))


def test_bytes_are_charged_before_they_are_there(directed: Graph) -> None:
    charged: list[int] = []
    made = Relations(directed._store, Some(directed._store), ExecutionContext(), charged.append)
    matrix = made._single(BOTH)
    assert charged == [matrix.offsets.nbytes, matrix.ids.nbytes]
    with pytest.raises(OutOfMemory) as caught:
        directed.query(SQUARE, memory_limit=200_000).value()
    assert "200,000" in str(caught.value)


def test_threads_may_query_one_graph(directed: Graph) -> None:
    expected = directed.query(SQUARE, threads=1).value()
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: directed.query(SQUARE).value(), range(8))) == {expected}
