"""How often relationships of several types close triangles."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from qengine import Graph
from qengine.catalog.view import Incidence
from qengine.plan.physical import Search
from qengine.storage.mixed_triangles import _CORNERS as CORNERS
from qengine.storage.mixed_triangles import _turned
from qengine.testing.plans import planned

N = 600


def graph(closing: str) -> Graph:
    """Make S and T at random, and U where both lead one after the other, or back, or at random."""
    rng = np.random.default_rng(7)
    triples = [(kind, *ends) for kind in "ST" for ends in rng.integers(0, N, (3 * N, 2)).tolist()]
    after: dict[int, list[int]] = {}
    for kind, start, end in triples:
        if kind == "T":
            after.setdefault(start, []).append(end)
    paths = [(start, end) for kind, start, middle in triples if kind == "S" for end in after.get(middle, ())]
    paths = [paths[k] for k in rng.choice(len(paths), 3 * N, replace=False).tolist()]
    if closing == "forth":
        triples += [("U", start, end) for start, end in paths]
    elif closing == "back":
        triples += [("U", end, start) for start, end in paths]
    else:
        triples += [("U", *ends) for ends in rng.integers(0, N, (3 * N, 2)).tolist()]
    edges = [{"type": kind, "start": start, "end": end} for kind, start, end in dict.fromkeys(triples)]
    return Graph.from_records([{"id": k, "labels": "AB"[k % 2]} for k in range(N)], edges)


@pytest.mark.parametrize("closing", ["forth", "back", "anywhere"])
@pytest.mark.parametrize("labels", [("", "", ""), (":A", ":B", ""), (":A", "", ":B")])
def test_triangles_of_several_types_are_expected_as_often_as_they_are(closing: str, labels: tuple[str, ...]) -> None:
    made = graph(closing)
    a, b, c = labels
    for back in ("-[:U]->", "<-[:U]-"):
        text = f"/*+ search */ MATCH (a{a})-[:S]->(b{b})-[:T]->(c{c}), (a){back}(c) RETURN count(*)"
        (search,) = planned(made, text, Search)
        count = made.query(text).value()
        assert search.rows is not None
        assert search.rows == pytest.approx(count, rel=0.4, abs=12), back


def test_corners_may_stand_in_any_order() -> None:
    out, into = (
        (Incidence((kind,), True, False, None) for kind in "ST"),
        (Incidence((kind,), False, True, None) for kind in "ST"),
    )
    s, t = zip(out, into, strict=True)
    u = Incidence(("U",), True, False, "B"), Incidence(("U",), False, True, "A")
    triangle = (("A", None, "B"), (s, t, u))
    store = graph("forth")._store
    sides = {frozenset(ends): odds for ends, odds in zip(CORNERS, store.mixed_closing_odds(*triangle), strict=True)}
    assert min(sides.values()) > 10 and len(set(sides.values())) == 3
    for order in permutations(range(3)):
        turned = store.mixed_closing_odds(*_turned(*triangle, order))
        assert turned == tuple(sides[frozenset((order[one], order[other]))] for one, other in CORNERS)


@pytest.mark.parametrize("order", ["f, a, m", "a, m, f", "m, f, a"])
def test_a_side_that_always_closes_a_triangle_says_little_of_the_others(order: str) -> None:
    rng = np.random.default_rng(3)
    members = np.unique(rng.integers(0, [20, 200], (1_200, 2)), axis=0)  # of groups, who write to one of theirs
    posts = members[rng.integers(0, len(members), 3_000)]
    nodes = (
        [{"labels": "G"} for _ in range(20)] + [{"labels": "A"} for _ in range(200)] + [{"labels": "M"} for _ in posts]
    )
    edges = [{"type": "HAS", "start": g, "end": 20 + a} for g, a in members.tolist()]
    edges += [{"type": "IN", "start": 220 + m, "end": g} for m, (g, _) in enumerate(posts.tolist())]
    edges += [{"type": "BY", "start": 220 + m, "end": 20 + a} for m, (_, a) in enumerate(posts.tolist())]
    made = Graph.from_records(nodes, edges)
    pattern = "MATCH (f:G)-[:HAS]->(a:A)<-[:BY]-(m:M)-[:IN]->(f) RETURN count(*)"
    (search,) = planned(made, f"/*+ search order({order}) */ {pattern}", Search)
    assert search.rows == pytest.approx(made.query(pattern).value(), rel=0.3)


def test_circles_of_one_type_are_told_from_paths_that_are_cut_short() -> None:
    rng = np.random.default_rng(9)
    starts = np.arange(0, N, 3)
    edges = [(int(v) + k, int(v) + (k + 1) % 3) for v in starts for k in range(3)] + rng.integers(0, N, (N, 2)).tolist()
    made = Graph.from_records([{"id": k} for k in range(N)], [{"type": "R", "start": a, "end": b} for a, b in edges])
    found = {}
    for closing in ("(a)<-[:R]-(c)", "(a)-[:R]->(c)"):
        text = f"/*+ search */ MATCH (a)-[:R]->(b)-[:R]->(c), {closing} RETURN count(*)"
        (search,) = planned(made, text, Search)
        found[closing] = search.rows, made.query(text).value()
    (circles, true), (cut, few) = found.values()
    assert true >= N > 100 * few
    assert circles == pytest.approx(true, rel=0.3)
    assert cut is not None
    assert cut < true / 20
