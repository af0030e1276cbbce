"""Directed types that are traversed either way, in random multigraphs, with and without antiparallel relationships."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import Graph, Unsupported
from qengine.plan.physical import EdgeLevel, Search
from qengine.plan.traverse import operators
from tests.examples import examples

Ends = list[tuple[int, int]]


@st.composite
def multigraphs(draw: st.DrawFn) -> tuple[Graph, dict[str, Ends]]:
    n = draw(st.integers(2, 6))
    ends = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))
    found: dict[str, Ends] = {}
    for name in "EF":
        pairs = draw(st.lists(ends, min_size=1, max_size=9))
        parallel, antiparallel, loops = (draw(st.booleans()) for _ in range(3))
        found[name] = []
        for one, other in pairs:
            known = (one, other) in found[name] and not parallel
            back = (other, one) in found[name] and one != other and not antiparallel
            if not known and not back and (one != other or loops):
                found[name].append((one, other))
    relationships: list[dict[str, Any]] = [
        {"type": name, "start": one, "end": other} for name, pairs in found.items() for one, other in pairs
    ]
    return Graph.from_records([{"id": v} for v in range(n)], relationships), found


@st.composite
def patterns(draw: st.DrawFn) -> tuple[str, list[str]]:
    n = draw(st.integers(2, 5))
    parts, names = [], set()
    for _ in range(draw(st.integers(1, 5))):
        one, other = draw(st.integers(0, n - 1)), draw(st.integers(0, n - 1))
        types = draw(st.sampled_from([":E", ":E", ":E", ":F", ":E|F"]))
        arrow = draw(st.sampled_from([f"-[{types}]-", f"-[{types}]-", f"-[{types}]->", f"<-[{types}]-"]))
        parts.append(f"(v{one}){arrow}(v{other})")
        names |= {f"v{one}", f"v{other}"}
    return ", ".join(parts), sorted(names)


@settings(max_examples=examples(200))
@given(
    made=multigraphs(),
    pattern=patterns(),
    mode=st.sampled_from(["", "DIFFERENT NODES "]),
    hint=st.sampled_from(["", "/*+ search */ ", "/*+ extend */ ", "/*+ eliminate */ "]),
)
def test_either_way_in_multigraphs(
    made: tuple[Graph, dict[str, Ends]], pattern: tuple[str, list[str]], mode: str, hint: str
) -> None:
    graph, found = made
    for name, pairs in found.items():
        both_ways = any(one != other and (other, one) in pairs for one, other in pairs)
        assert not pairs or graph._store.antiparallel(name) == both_ways
    text, names = pattern
    for asked in ("count(*)", ", ".join(names), f"{names[0]}, count(*)", "count(*) > 0"):
        query = f"MATCH {hint}{mode}{text} RETURN {asked}"
        expected = sorted(map(str, graph.query(query.replace(hint, ""), device="reference")))
        try:
            prepared = graph.prepare(query)
        except Unsupported:
            assert "eliminate" in hint
            continue
        assert sorted(map(str, prepared.run())) == expected


@pytest.mark.parametrize(
    ("ends", "needed"),
    [
        ([(0, 1), (1, 2), (2, 0)], False),
        ([(0, 1), (1, 2), (2, 2)], False),
        ([(0, 1), (1, 2), (2, 1)], True),
        ([(0, 1), (0, 1), (1, 2)], True),
    ],
)
def test_relationships_are_bound_only_where_two_may_join_two_vertices(ends: Ends, needed: bool) -> None:
    relationships = [{"type": "E", "start": one, "end": other} for one, other in ends]
    graph = Graph.from_records([{"id": v} for v in range(3)], relationships)
    physical = graph.prepare("MATCH /*+ search */ (a)-[:E]-(b)-[:E]-(c) RETURN count(*)")._planned.physical
    levels = [each.levels for each in operators(physical.root) if isinstance(each, Search)]
    assert any(isinstance(level, EdgeLevel) for level in levels[0]) == needed
