"""What of a search's constraints is left when names have become ranges of ids."""

from __future__ import annotations

import pytest

from qengine import Graph
from qengine.exec.common.resolve import resolve
from qengine.plan.physical import Search
from qengine.testing.plans import planned


@pytest.fixture(scope="module")
def layers() -> Graph:
    """Three nodes of each of four labels, each with relationships to all of the next label."""
    nodes = [{"id": k, "labels": [f"L{k // 3}"]} for k in range(12)]
    ends = [(a, b) for a in range(9) for b in range(3 * (a // 3) + 3, 3 * (a // 3) + 6)]
    return Graph.from_records(nodes, [{"type": "R", "start": a, "end": b} for a, b in ends])


@pytest.mark.parametrize(
    ("pattern", "pairs"),
    [
        ("(a:L0)-->(b:L1)-->(c:L2)-->(d:L3)", 0),
        ("(a)-->(b)-->(c)-->(d)", 1),  # the first relationship may be the last
        ("(a:L0|L1)-->(b)-->(c:L1|L2)-->(d)", 1),
        ("(a:L0|L1)-->(b:L1)-->(c:L1|L2)-->(d:L2|L3)", 0),
    ],
)
def test_coincidences_that_labels_rule_out_are_left_out(layers: Graph, pattern: str, pairs: int) -> None:
    text = f"/*+ search */ MATCH {pattern} RETURN count(*)"
    search = planned(layers, text, Search)[0]
    assert sum(len(level.pairs) for level in search.levels if hasattr(level, "pairs")) == pairs
    resolved = resolve(layers._store, search, None)  # type: ignore[arg-type]
    assert resolved is not None and int(resolved.tables[0]["pairs"]["count"].sum()) == pairs
    assert layers.query(text, device="cpu").value() == layers.query(text, device="reference").value()
