"""PCSR against a plain dictionary: every form, direction and kind of type; parallel build equals serial build."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qengine.plan.pattern import Direction
from qengine.storage import forms, pcsr_build
from qengine.storage.adjacency import GROUP_PAIRS, Form
from qengine.storage.kernels import NO_VERTEX, sort_lists
from qengine.storage.pcsr_build import build_type, turned_lists

EDGES = st.integers(1, 40).flatmap(
    lambda n: st.lists(st.tuples(st.integers(0, n), st.integers(0, n)), max_size=80).map(
        lambda edges: [(a * 7, b * 7) for a, b in edges]
    )
)


def arrays(edges):
    table = np.array(edges, np.uint32).reshape(-1, 2)
    return np.ascontiguousarray(table[:, 0]), np.ascontiguousarray(table[:, 1])


def check(edges, built, undirected, properties):
    """Compare a built type with what the edges say, entry by entry."""
    out = built.adjacencies[Direction.OUT]
    order = built.order if properties else np.array(sorted(range(len(edges)), key=lambda row: edges[row]))
    assert sorted(order.tolist()) == list(range(len(edges)))
    if not properties and out.form is not Form.GROUPS:
        assert out.owners(np.arange(len(edges))).tolist() == [edges[row][0] for row in order]
    assert [out.owner(at) for at in range(len(edges))] == out.owners(np.arange(len(edges))).tolist()
    local_edge = list(zip(out.owners(np.arange(len(edges))).tolist(), out.neighbours.tolist(), strict=True))
    if properties:
        assert [edges[row] for row in order] == local_edge
        for (one, row), (two, next_row) in pairwise(zip(local_edge, order.tolist(), strict=True)):
            assert one != two or row < next_row, "parallel relationships keep the load order"
    assert sorted(local_edge) == sorted(edges)

    model = {Direction.OUT: defaultdict(list), Direction.IN: defaultdict(list), Direction.BOTH: defaultdict(list)}
    for local, (start, end) in enumerate(local_edge):
        model[Direction.OUT][start].append((end, local))
        model[Direction.IN][end].append((start, local))
        model[Direction.BOTH][start].append((end, local))
        if start != end:
            model[Direction.BOTH][end].append((start, local))
    second = Direction.BOTH if undirected else Direction.IN
    assert set(built.adjacencies) == {Direction.OUT, second}
    for direction, adjacency in built.adjacencies.items():
        ids = np.arange(len(edges)) if direction is Direction.OUT else adjacency.edge_ids
        assert (ids is not None) == (direction is Direction.OUT or properties or built.parallel)
        everything = np.arange(max([0, *map(max, edges)]) + 3, dtype=np.uint32)
        begins, ends = adjacency.locate_all(everything)
        for vertex, begin, end in zip(everything.tolist(), begins.tolist(), ends.tolist(), strict=True):
            expected = sorted(model[direction][vertex])
            neighbours = adjacency.neighbours[begin:end].tolist()
            assert neighbours == [neighbour for neighbour, _ in expected]
            if ids is not None:
                assert sorted(zip(neighbours, ids[begin:end].tolist(), strict=True)) == expected
        rows = {v: (b, e) for v, b, e in zip(*(part.tolist() for part in adjacency.rows()), strict=True)}
        assert rows == {
            v: (b, e) for v, b, e in zip(everything.tolist(), begins.tolist(), ends.tolist(), strict=True) if b < e
        }
    assert built.loops == any(start == end for start, end in edges)
    pairs = [tuple(sorted(edge)) for edge in edges] if undirected else edges
    assert built.parallel == (len(set(pairs)) < len(pairs))


@pytest.mark.parametrize("form", [*Form, None])
@given(edges=EDGES, undirected=st.booleans(), properties=st.booleans())
def test_every_form_holds_what_it_was_given(form, edges, undirected, properties):
    built = build_type(*arrays(edges), undirected=undirected, properties=properties, form=form)
    check(edges, built, undirected, properties)


@given(
    runs=st.lists(st.tuples(st.integers(0, 3), st.integers(1, 9)), min_size=1, max_size=6),
    ends=st.randoms(use_true_random=False),
    properties=st.booleans(),
)
def test_lists_of_one_are_columns(runs, ends, properties):
    starts, first = [], 1
    for gap, size in runs:
        starts += range(first + gap, first + gap + size)
        first += gap + size
    edges = [(start, ends.randrange(first)) for start in starts]
    built = build_type(*arrays(edges), undirected=False, properties=properties, form=Form.DENSE)
    check(edges, built, False, properties)
    known = built.adjacencies[Direction.OUT].columns.tolist()
    apart = 1 + sum(gap > 0 for gap, _ in runs[1:])
    assert len(known) == (apart if apart <= 4 else 0)
    assert not known or [v for begin, size, _ in known for v in range(begin, begin + size)] == starts
    for lists in built.adjacencies.values():  # where a list would be inserted is told of those without one, too
        every = np.arange(lists.lo, lists.hi, dtype=np.uint32)
        begins, ends_of = lists.locate_all(every)
        assert begins.tolist() == lists.offsets[:-1].tolist()
        assert ends_of.tolist() == lists.offsets[1:].tolist()
    more = build_type(*arrays([*edges, edges[-1]]), undirected=False, properties=properties, form=Form.DENSE)
    assert len(more.adjacencies[Direction.OUT].columns) == 0


def test_overflow_chains_are_followed(monkeypatch):
    monkeypatch.setattr(forms, "KEYS_PER_GROUP", 40)  # two overflow groups behind most home groups
    rng = np.random.default_rng(1)
    edges = [tuple(edge) for edge in rng.integers(0, 400, (1500, 2)).tolist()]
    built = build_type(*arrays(edges), undirected=False, properties=True, form=Form.GROUPS)
    check(edges, built, False, True)
    out = built.adjacencies[Direction.OUT]
    assert len(out.groups) > 2 * out.home_groups
    assert out.groups.dtype.itemsize == 128
    assert out.groups.ctypes.data % 128 == 0
    used = (out.groups["pair"]["vertex"] != NO_VERTEX).sum(axis=1)
    assert (used[out.groups["link"] != NO_VERTEX] == GROUP_PAIRS).all()
    assert 1.5 < forms.transactions(out) < 3


@pytest.mark.parametrize("order", [False, True])
@pytest.mark.parametrize(("vertices", "skew"), [(3, 1), (1000, 1), (60_000, 6)])
def test_threads_do_not_change_the_result(order, vertices, skew):
    rng = np.random.default_rng(vertices)
    lists = (vertices * rng.random(200_000) ** skew).astype(np.uint32)
    entries = (vertices * rng.random(200_000) ** 2).astype(np.uint32)
    expected = np.lexsort((entries, lists))
    for workers in (1, 2, 3, 7):
        offsets, neighbours, rows = sort_lists(lists, 0, vertices, entries, order=order, workers=workers)
        assert (offsets == np.searchsorted(lists[expected], np.arange(vertices + 1))).all()
        assert (neighbours == entries[expected]).all()
        assert not order or (rows == expected).all()


def test_the_choice_follows_density():
    def form(keys):
        return forms.choose(np.asarray(keys, np.uint32), 10 * len(keys))[0]

    assert form(np.arange(5000)) is Form.DENSE
    assert form(np.arange(0, 10_000, 2)) is Form.DENSE
    assert form(np.arange(0, 500_000, 100)) is Form.GROUPS
    assert form([]) is Form.DENSE
    assert "groups 13." in forms.choose(np.arange(0, 500_000, 100, dtype=np.uint32), 50_000)[1]


def test_the_expected_transactions_are_those_that_are_built():
    rng = np.random.default_rng(3)
    vertices = np.unique(rng.integers(0, 10**8, 50_000)).astype(np.uint32)
    built = build_type(vertices, vertices[::-1].copy(), form=Form.GROUPS)
    out = built.adjacencies[Direction.OUT]
    expected = forms.costs(len(vertices), forms.span_of(vertices))
    assert forms.transactions(out) == pytest.approx(expected[Form.GROUPS].transactions, abs=0.01)
    assert out.groups.nbytes == pytest.approx(expected[Form.GROUPS].bytes, rel=0.02)


@pytest.mark.parametrize("looked_at", [1, 64])
@given(edges=EDGES, some=st.integers(0, 80))
def test_edges_given_both_ways_have_ids(looked_at, edges, some):
    """Whether a few entries tell so, or only the merged lists."""
    edges = edges + [(end, start) for start, end in edges[:some]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pcsr_build, "_LOOKED_AT", looked_at)
        check(edges, build_type(*arrays(edges), undirected=True), True, False)


def test_edges_given_both_ways_are_turned_once(monkeypatch):
    turned = []
    monkeypatch.setattr(pcsr_build, "turned_lists", lambda *a, **k: turned.append(k["ids"]) or turned_lists(*a, **k))
    start, end = np.triu_indices(40, 1)
    both = np.append(start, end).astype(np.uint32), np.append(end, start).astype(np.uint32)
    assert build_type(*both, undirected=True).parallel and turned == [True]
    assert not build_type(start.astype(np.uint32), end.astype(np.uint32), undirected=True).parallel
    assert turned == [True, False]
