"""Queries of all kinds on small graphs of odd shapes: a part of what ``tests.bench.cliffs --check`` compares."""

from __future__ import annotations

import pytest

from qengine.testing.compare import difference
from tests.bench.cliffs.graphs import SHAPES, make
from tests.bench.cliffs.queries import CHANGES, PARAMETERS, READS, WRITES

_EVERY = 13
"""Of the queries one in so many is asked of a shape; others of the next."""

_TOO_MANY = ("+ (b)", "-[*]-(", "SHORTEST 2 (a {id: 0})--", "GROUPS (a {id: 3})--", "]-+(b", "--(d)--(e)")
"""Trails of any length, of which the reference makes each."""

_GIVEN = PARAMETERS | {"many": [1, 3, 5, 7]}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("shape", SHAPES)
def test_answers(shape: str) -> None:
    graph, place = make(shape, 5 if shape == "edge list" else 9), SHAPES.index(shape)
    texts = [text for texts in READS.values() for text in texts if not any(each in text for each in _TOO_MANY)]
    for change in (None, CHANGES[place % len(CHANGES)]):
        if change is not None:
            graph.query(change)
            texts = [*READS["subqueries"], *READS["rows"]]  # others may be too many for the reference now
        for text in texts[place % _EVERY :: _EVERY]:
            expected = graph.query(text, _GIVEN, device="reference").fetchall()
            found = graph.query(text, _GIVEN).fetchall()
            if "LIMIT" in text and "ORDER BY" not in text:  # any rows
                expected, found = [(len(expected),)], [(len(found),)]
            assert difference(expected, found) is None, (change, text)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("place", range(len(WRITES)))
def test_what_statements_change(place: int) -> None:
    for shape in SHAPES[place :: len(WRITES)]:
        own, other = make(shape, 9), make(shape, 9)
        rows = [
            each.query(WRITES[place], _GIVEN, device=device) for each, device in ((own, "cpu"), (other, "reference"))
        ]
        assert difference(rows[1].fetchall(), rows[0].fetchall()) is None, shape
        for text in (
            "MATCH (a) RETURN labels(a), properties(a)",
            "MATCH (a)-[r]->(b) RETURN a.id, b.id, properties(r)",
        ):
            found, expected = (each.query(text, device="reference").fetchall() for each in (own, other))
            assert difference(expected, found) is None, (shape, text)


def test_candidates_that_are_found_again_for_each_relationship() -> None:
    graph = make("edge list", 12)
    for change in CHANGES:
        graph.query(change)
    text = "MATCH (a)-[r]-(b)-[q]-(c)--(d)--(a), (a)--(c), (b)--(d) WHERE r.k < q.k RETURN count(*) AS n"
    assert {row.n for _ in range(300) for row in graph.query(text, threads=1)} == {372}
