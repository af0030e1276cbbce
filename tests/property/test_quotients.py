"""Patterns that take too many quotients are given up before these are made, and no others."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import Graph
from qengine.optimizer.difference import Differences
from qengine.optimizer.elimination import quotients
from qengine.optimizer.elimination.quotients import signed_quotients
from qengine.optimizer.pattern_edges import PatternEdge, pattern_edge
from qengine.plan.pattern import Direction, LabelIs, PatternRelationship
from tests.examples import examples

GRAPH = Graph.from_records(
    [{"id": k} for k in range(4)],
    [{"type": "S", "start": 0, "end": 1}, {"type": "L", "start": 2, "end": 2}, {"type": "D", "start": 0, "end": 3}],
    undirected=("S", "L"),
)


def edge(number: int, ends: tuple[int, int], type: str) -> PatternEdge:
    relationship = PatternRelationship(f"r{number}", f"v{ends[0]}", f"v{ends[1]}", LabelIs(type), Direction.OUT)
    return pattern_edge(GRAPH._store, relationship)


@settings(max_examples=examples(300))
@given(st.data())
def test_what_is_given_up_early_would_be_given_up(data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 6))
    pairs = list(combinations(range(n), 2))
    linked = data.draw(st.lists(st.sampled_from(pairs), unique=True, min_size=1))
    types = data.draw(st.sampled_from(["S", "SL", "SD"]))
    edges = [edge(k, ends, data.draw(st.sampled_from(types))) for k, ends in enumerate(linked)]
    apart = {frozenset((f"v{a}", f"v{b}")) for a, b in data.draw(st.lists(st.sampled_from(pairs)))}
    kinds = data.draw(st.lists(st.sampled_from([-1, -1, 1, 2, 3]), min_size=n, max_size=n))
    most = data.draw(st.integers(1, 60))

    def made() -> dict[quotients.Quotient, int] | None:
        difference = Differences(vertices=set(apart))
        return signed_quotients([f"v{k}" for k in range(n)], edges, difference, kinds, GRAPH._store.acyclic, most)

    found = made()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(quotients._Quotients, "_too_many", lambda *given: False)
        assert made() == found
