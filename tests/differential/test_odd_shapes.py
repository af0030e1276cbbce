"""Queries of all kinds on small graphs of odd shapes: a part of what ``tests.bench.cliffs --check`` compares."""

from __future__ import annotations

import pytest

from qengine.testing.compare import difference
from tests.bench.cliffs.graphs import SHAPES, make
from tests.bench.cliffs.queries import CHANGES, PARAMETERS, READS

_EVERY = 7
"""Of the queries one in so many is asked of a shape; others of the next."""

_TOO_MANY = ("+ (b)", "-[*]-(")
"""Trails of any length, of which the reference makes each."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("shape", SHAPES)
def test_answers(shape: str) -> None:
    graph, place = make(shape, 9), SHAPES.index(shape)
    texts = [text for texts in READS.values() for text in texts if not any(each in text for each in _TOO_MANY)]
    for change in (None, CHANGES[place % len(CHANGES)]):
        if change is not None:
            graph.query(change)
            texts = [*READS["subqueries"], *READS["rows"]]  # others may be too many for the reference now
        for text in texts[place % _EVERY :: _EVERY]:
            expected = graph.query(text, PARAMETERS, device="reference").fetchall()
            found = graph.query(text, PARAMETERS).fetchall()
            if "LIMIT" in text and "ORDER BY" not in text:  # any rows
                expected, found = [(len(expected),)], [(len(found),)]
            assert difference(expected, found) is None, (change, text)
