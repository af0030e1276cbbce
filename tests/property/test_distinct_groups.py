"""Different rows of a match that are lowered to groups, against the reference."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import Graph
from qengine.plan.logical import Aggregate, Distinct
from qengine.plan.traverse import operators
from tests.examples import examples
from tests.property.test_aggregate_entries import ENTRIES, ROWS, agrees, plan_of, valued_graphs

EXPRS = (
    "a.v",
    "a.i",
    "a.t",
    "b.v",
    "b.i",
    "b.k % 2",
    "k.i",
    "k.v",
    "a",
    "b",
    "k",
    "type(k)",
    "a.none",
    "1 / a.i",
    "a.i + b.i",
)
ENDS = ("", " ORDER BY c0", " ORDER BY c0 DESC LIMIT 3", " LIMIT 100")


@st.composite
def distinct_queries(draw: st.DrawFn) -> str:
    pattern = draw(st.sampled_from([each for each in (*ENTRIES, *ROWS) if "(b" in each and "[k" in each]))
    exprs = draw(st.lists(st.sampled_from(EXPRS), min_size=1, max_size=3, unique=True))
    items = ", ".join(f"{each} AS c{place}" for place, each in enumerate(exprs))
    where = draw(st.sampled_from(["", " WHERE a.i < b.i", " WHERE a.i > 0"])) if "MATCH" not in pattern else ""
    if draw(st.booleans()):
        return f"MATCH {pattern}{where} WITH DISTINCT {items} RETURN count(*) AS n, count(c0) AS m"
    end = draw(st.sampled_from(ENDS if len(exprs) == 1 else ENDS[::3]))
    return f"MATCH {pattern}{where} RETURN DISTINCT {items}{end}"


@settings(max_examples=examples(200))
@given(valued_graphs(), distinct_queries())
def test_equal_reference(graph: Graph, query: str) -> None:
    agrees(graph, query)


@pytest.mark.parametrize(
    ("end", "grouped"),
    [("RETURN DISTINCT a.t, b.i", True), ("RETURN DISTINCT a.t ORDER BY a.t LIMIT 2", True),
     ("RETURN DISTINCT a.t LIMIT 2", False), ("WITH DISTINCT a.t AS t SKIP 1 RETURN count(*)", False),
     ("RETURN DISTINCT a.i + b.i", False), ("RETURN DISTINCT rand() < a.i", False)],
)  # fmt: skip
def test_which_are_groups(end: str, grouped: bool) -> None:
    graph = Graph.from_records(
        [{"id": k, "properties": {"t": "x", "i": k}} for k in range(4)],
        [{"type": "R", "start": a, "end": b} for a in range(4) for b in range(4)],
    )
    found = [*operators(plan_of(graph, f"MATCH (a)-[:R]->(b) {end}").root)]
    assert any(isinstance(each, Aggregate) and not each.aggregates for each in found) == grouped
    assert any(isinstance(each, Distinct) for each in found) != grouped
