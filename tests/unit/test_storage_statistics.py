"""Statistics against counting by hand, on random graphs with shared labels, loops and undirected types."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product

import numpy as np
import pytest

from qengine import Graph
from qengine.plan.pattern import Direction
from qengine.storage import from_records, spliced_type, statistics
from qengine.storage.adjacency import Form
from qengine.storage.kernels import antiparallel, mutual_pairs, pair_statistics, wedge_sample
from qengine.storage.pcsr_build import build_type


def random_graph(seed):
    rng = random.Random(seed)
    nodes = [{"id": row, "labels": rng.sample(["A", "B", "C"], rng.randrange(3))} for row in range(25)]
    edges = [
        {
            "type": rng.choice(["R", "U"]),
            "start": rng.randrange(25),
            "end": rng.randrange(25),
            "properties": {"w": row % 4},
        }
        for row in range(70)
    ]
    return from_records(nodes, edges, undirected=["U"])


def matches(store, source, type_, target):
    """Return (start, end) of each match of (:source)-[:type]->(:target), one an element."""
    labels = [set(store.labels_of(vertex)) for vertex in range(store.vertex_count)]
    found = []
    for edge in store.relationships(range(store.relationship_count)):
        ways = {(edge.start, edge.end), (edge.end, edge.start)} if edge.type == "U" else {(edge.start, edge.end)}
        for start, end in ways:
            if (
                type_ in (None, edge.type)
                and (not source or source in labels[start])
                and (not target or target in labels[end])
            ):
                found.append((start, end))
    return found


@pytest.mark.parametrize("seed", range(5))
def test_relationships_between_labels(seed):
    store = random_graph(seed)
    for source, type_, target in product([None, "A", "B", "Z"], [None, "R", "U", "Z"], [None, "A", "C"]):
        found = matches(store, source, type_, target)
        out, into = Counter(start for start, _ in found), Counter(end for _, end in found)
        known = store.edge_statistics(source, type_, target)
        assert (known.edges, known.sources, known.targets) == (len(found), len(out), len(into))
        assert (known.max_out, known.max_in) == (max(out.values(), default=0), max(into.values(), default=0))
        for degrees, pairs, triples in (
            (out, known.out_pairs, known.out_triples),
            (into, known.in_pairs, known.in_triples),
        ):
            assert pairs == sum(d * (d - 1) for d in degrees.values())
            assert triples == sum(d * (d - 1) * (d - 2) for d in degrees.values())


def test_of_a_type_its_own_vertices_alone_are_looked_at(monkeypatch):
    """Of many types each has few relationships."""
    edges = [{"type": f"T{k % 40}", "start": k % 97, "end": k % 89} for k in range(400)]
    store = from_records([{"labels": ["A", f"B{k % 20}"]} for k in range(2000)], edges)
    seen, falling = [], statistics.falling

    def counted(degrees, factors):
        seen.append(len(degrees))
        return falling(degrees, factors)

    monkeypatch.setattr(statistics, "falling", counted)
    found = [store.edge_statistics(None, f"T{k}", "B1") for k in range(40)]
    assert sum(each.edges for each in found) == len(matches(store, None, None, "B1"))
    assert seen and max(seen) <= 10


def test_one_label_a_vertex_is_answered_from_pairs_of_groups():
    store = from_records(
        [{"id": row, "labels": "AB"[row % 2]} for row in range(6)],
        [{"type": "R", "start": start, "end": end} for start, end in [(0, 1), (0, 3), (2, 1), (1, 0), (4, 4)]],
    )
    found = store.edge_statistics("A", "R", "B")
    assert (found.edges, found.sources, found.targets, found.max_out, found.max_in) == (3, 2, 2, 2, 2)
    assert repr(store.statistics).splitlines() == [
        "6 nodes, 5 relationships",
        "(:A)-[:R]->(:A)  1  ends 1 and 1  degrees 1.0 (most 1) and 1.0 (most 1)",
        "(:A)-[:R]->(:B)  3  ends 2 and 2  degrees 1.5 (most 2) and 1.5 (most 2)",
        "(:B)-[:R]->(:A)  1  ends 1 and 1  degrees 1.0 (most 1) and 1.0 (most 1)",
        "[:R]  5 paths of two steps, 0.0% of them closed",
    ]


def test_types_without_paths_of_two_steps_have_no_line_for_them():
    nodes = [{"id": row, "labels": "A"} for row in range(2)]
    shown = repr(from_records(nodes, [{"type": "R", "start": 0, "end": 1}]).statistics)
    assert "(:A)-[:R]->(:A)  1" in shown and "two steps" not in shown


def test_squares_of_neighbours_with_lesser_and_greater_ids():
    store = from_records(
        [{"id": row, "labels": "A"} for row in range(5)],
        [{"type": "U", "start": start, "end": end} for start, end in [(0, 1), (0, 2), (0, 3), (1, 2), (3, 4)]],
        undirected=["U"],
    )
    ends = [(start, end) for start, end in matches(store, "A", "U", "A")]
    lesser, greater = Counter(s for s, e in ends if e < s), Counter(s for s, e in ends if e > s)
    found = store.edge_statistics("A", "U", "A")
    assert found.lesser_squares == sum(n * n for n in lesser.values())
    assert found.greater_squares == sum(n * n for n in greater.values())


def test_degree_summaries():
    store = from_records(
        [{"id": row, "labels": "A"} for row in range(4)],
        [{"type": "R", "start": 0, "end": end} for end in (1, 2, 3)] + [{"type": "R", "start": 1, "end": 0}],
    )
    out = store.statistics.degrees("A", "R")
    assert (out.vertices, out.with_edges, out.mean, out.median, out.maximum) == (4, 2, 1.0, 0.5, 3)
    assert store.statistics.degrees(None, "R", Direction.BOTH).maximum == 4
    assert [degree for _, degree in out.hubs] == [3, 1]
    assert store.statistics.degrees("Z", "R").vertices == 0
    with pytest.raises(KeyError):
        store.statistics.degrees("A", "Z")


def test_value_summaries():
    store = from_records(
        [
            {"id": row, "properties": {"x": row // 2 or None, "m": row if row % 2 else "a", "s": "ab"[row % 2]}}
            for row in range(6)
        ],
        [{"type": name, "start": 0, "end": 1, "properties": {"w": 1}} for name in "RS"],
    )
    x = store.statistics.values("node", "x")
    assert (x.count, x.nulls, x.distinct, x.minimum, x.maximum) == (6, 2, 2, 1, 2)
    s = store.statistics.values("node", "s")
    assert (s.minimum, s.maximum, s.distinct) == ("a", "b", 2)
    assert store.statistics.values("node", "m").distinct is None
    assert store.statistics.values("relationship", "w", "S").maximum == 1
    for bad in (("node", "zzz"), ("relationship", "w")):
        with pytest.raises(KeyError):
            store.statistics.values(*bad)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", ["R", "U"])
def test_wedges_and_how_many_of_them_are_closed(seed, name):
    store = random_graph(seed)
    edges = [edge for edge in store.relationships(range(store.relationship_count)) if edge.type == name]
    ways = [(edge.start, edge.end, number) for number, edge in enumerate(edges)]
    if name == "U":
        ways += [(end, start, number) for start, end, number in ways if start != end]
    joined = {(start, end) for start, end, _ in ways}
    ends = [
        (a, c) for a, b, one in ways for start, c, other in ways if start == b and not (name == "U" and one == other)
    ]
    found = store.statistics.wedges(name)
    assert found.wedges == len(ends)
    closed = sum(a != c and (a, c) in joined for a, c in ends) / len(ends)
    assert abs(found.closed - closed) <= 5 * found.error + 1e-9
    with pytest.raises(KeyError):
        store.statistics.wedges("Z")
    assert (
        from_records([{"id": 0}, {"id": 1}], [{"type": "R", "start": 0, "end": 1}]).statistics.wedges("R").wedges == 0
    )


def cliques_and_two_sides():
    """Return two cliques of 20 with label A, a bipartite graph of 20 and 20 with label B: each linked inside itself."""
    ids = {"A": range(40), "B": range(40, 80)}
    ends = [(a, b) for a in ids["A"] for b in ids["A"] if a < b and a // 20 == b // 20]
    ends += [(a, b) for a in ids["B"] for b in ids["B"] if a < b and (a + b) % 2]
    return from_records(
        [{"id": vertex, "labels": label} for label, vertices in ids.items() for vertex in vertices],
        [{"type": "U", "start": start, "end": end} for start, end in ends],
        undirected=["U"],
    )


def test_odds_of_triangles_are_told_by_labels():
    store = cliques_and_two_sides()
    assert store.closing_odds("U", ["A", "A", "A"]) == pytest.approx(64, rel=1e-3)  # as many as may be
    assert store.closing_odds("U", ["B", "B", "B"]) < 0.05
    assert 1 < store.closing_odds("U", [None] * 3) < 10
    everywhere = store.statistics.wedges("U").labelled_odds
    assert 0.05 < everywhere < 64
    assert store.closing_odds("U", ["A", "A", "B"]) == store.closing_odds("U", ["A", "A", None]) == everywhere
    assert store.closing_odds("Z", ["A"] * 3) == 1


def test_odds_are_1_where_relationships_are_independent():
    rng = random.Random(1)
    ends = {(rng.randrange(300), rng.randrange(300)) for _ in range(9000)}
    edges = [{"type": "R", "start": start, "end": end} for start, end in sorted(ends) if start != end]
    store = from_records([{"id": vertex} for vertex in range(300)], edges)
    assert store.closing_odds("R", [None] * 3) == pytest.approx(1, rel=0.3)


@pytest.mark.parametrize("seed", range(40))
def test_types_without_circles(seed):
    rng = random.Random(seed)
    n = rng.randrange(1, 9)
    pairs = [(rng.randrange(n), rng.randrange(n)) for _ in range(rng.randrange(8))]
    if seed % 3 == 0:
        pairs = [(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]]
    edges = [{"type": kind, "start": a, "end": b} for a, b in pairs for kind in "RU"]
    store = from_records([{"id": row} for row in range(n)], edges, undirected=["U"])
    reached = set(pairs)
    for middle in range(n):
        reached |= {(a, b) for a, c in reached for d, b in reached if c == d == middle}
    assert store.acyclic("R") == (bool(pairs) and all(a != b for a, b in reached))
    assert not store.acyclic("U")
    assert not store.acyclic("Z")
    both_ways = any(a != b and (b, a) in pairs for a, b in pairs)
    for known in (True, False):  # which types have no circles is known, or not
        again = store if known else from_records([{"id": row} for row in range(n)], edges, undirected=["U"])
        assert again.antiparallel("R") == both_ways
        assert not again.antiparallel("U")
        assert not again.antiparallel("Z")


@pytest.mark.parametrize("form", list(Form))
@pytest.mark.parametrize("far", [0, 40])
def test_one_antiparallel_pair_among_many_is_found(form, far):
    chance = np.random.default_rng(far)
    start, end = np.unique(np.sort(chance.integers(0, 3000, (20_000, 2)), axis=1), axis=0).astype(np.uint32).T
    start, end = start[start != end], end[start != end]
    for more, expected in (([], False), ([(end[far], start[far])], True), ([(end[-1], start[-1])], True)):
        ends = np.array(more, np.uint32).reshape(-1, 2)
        built = build_type(np.concatenate((start, ends[:, 0])), np.concatenate((end, ends[:, 1])), form=form)
        into, out = (built.adjacencies[way].struct for way in (Direction.IN, Direction.OUT))
        assert antiparallel(into, out) == expected


def test_pairs_joined_both_ways_are_counted():
    rng = random.Random(9)
    pairs = {(rng.randrange(60), rng.randrange(60)) for _ in range(900)}
    edges = [{"type": kind, "start": a, "end": b} for a, b in pairs for kind in "RU"]
    edges += [{"type": "P", "start": a, "end": b} for a, b in [*pairs, *pairs]]
    edges += [{"type": "A", "start": a, "end": b} for a, b in pairs if a < b]
    store = from_records([{"id": row} for row in range(60)], edges, undirected=["U"])
    assert store.mutual_pairs("R") == sum(a != b and (b, a) in pairs for a, b in pairs)
    assert store.mutual_pairs("A") == 0
    assert store.mutual_pairs("U") is store.mutual_pairs("P") is store.mutual_pairs("Z") is None
    into, out = (store.adjacency(store.type_index("R"), way).struct for way in (Direction.IN, Direction.OUT))
    assert 2 * mutual_pairs(into, out, 1) == store.mutual_pairs("R")
    assert 0 < mutual_pairs(into, out, 2) < mutual_pairs(into, out, 1)


@pytest.mark.parametrize("undirected", [False, True])
@pytest.mark.parametrize("groups", [1, 2, 7])
def test_counts_and_samples_are_the_same_whatever_form_the_row_index_has(undirected, groups):
    rng = np.random.default_rng(groups)
    start, end = rng.integers(0, 500, (2, 900)).astype(np.uint32)
    start = start // 3 * 3  # some vertices have none
    group_ends = np.linspace(500 // groups, 500, groups).astype(np.uint32)
    there, back = (Direction.BOTH,) * 2 if undirected else (Direction.OUT, Direction.IN)
    found = []
    for form in Form:
        lists = build_type(start, end, undirected=undirected, properties=False, form=form).adjacencies
        rows, neighbours = lists[there].row_index(), lists[there].neighbours
        narrow = lists[back].lo, lists[back].hi
        counts = [pair_statistics(rows, neighbours, reach, group_ends, True) for reach in (narrow, (0, 500))]
        sample = wedge_sample(lists[back].row_index(), lists[back].neighbours, lists[there].struct, undirected, 1, 64)
        found += [[np.concatenate(one, axis=1).tolist() for one in counts], [part.tolist() for part in sample[:2]]]
        owners = np.searchsorted(group_ends, lists[there].owners(np.arange(len(neighbours))), side="right")
        pairs = Counter(
            zip(owners.tolist(), np.searchsorted(group_ends, neighbours, side="right").tolist(), strict=True)
        )
        assert {(row[0], row[1]): row[2] for row in counts[0][0].tolist()} == pairs
        assert np.array_equal(counts[0][0], counts[1][0])
    assert found[0::2] == found[:1] * 3
    assert found[1::2] == found[1:2] * 3


@pytest.mark.parametrize("seed", range(20))
def test_the_schema_says_which_labels_have_which_properties(seed):
    chance = random.Random(seed)
    nodes = [
        {
            "labels": chance.sample(["A", "B", "C"], chance.randint(0, 2)),
            "properties": {key: 1 for key in ("x", "y", "z") if chance.random() < 0.15},
        }
        for _ in range(chance.randint(1, 12))
    ]
    graph = Graph.from_records(nodes)
    graph.query("MATCH (n) WHERE n.x = 1 REMOVE n.x SET n.w = 1")
    wanted = {}
    for labels, properties in graph.query("MATCH (n) RETURN labels(n), properties(n)").fetchall():
        count, keys = wanted.get(frozenset(labels), (0, set()))
        wanted[frozenset(labels)] = count + 1, keys | set(properties)
    assert {frozenset(each.labels): (each.count, set(each.properties)) for each in graph.schema.nodes} == wanted


def test_what_is_counted_between_groups_follows_a_label_in_the_middle_of_one(monkeypatch):
    """Such a label splits the group: the vertices behind it are in another one, though none of them was touched."""
    monkeypatch.setattr(spliced_type, "_FEW", 0)  # else the lists of so few are made anew
    nodes = [{"id": n, "labels": ["A"]} for n in range(8)]
    ends = [(n, (n + 1) % 8) for n in range(8)] + [(7, 5), (7, 6), (1, 7), (0, 7)]
    graph = Graph.from_records(nodes, [{"type": "R", "start": start, "end": end} for start, end in ends])
    assert set(graph._store.statistics.pairs(0)) == {(0, 0)}
    graph.query("MATCH (n) WHERE id(n) = 3 SET n:B CREATE (n)-[:R]->(n)")
    followed = graph._store.statistics.pairs(0)
    del graph._store.statistics
    assert followed == graph._store.statistics.pairs(0)
    assert {group for group, _ in followed} == {0, 1, 2}
