"""Searches that begin on the caller's thread, and go on by others from where that has come."""

from __future__ import annotations

import numpy as np
import pytest

from qengine import Graph
from qengine.exec.host.native_search import SearchHandle
from tests.trials import ENDLESS, trial

TEXT = """MATCH (a)-->(b) WITH a, b WHERE id(a) < 20
OPTIONAL MATCH (b)-->(c)-->(d)-->(a) RETURN count(*), count(c)"""
WORK = range(9_973, 1_200_000, 9_973)
"""Ids read before others go on: from the first unit to behind the last."""


def test_rows_of_a_unit_that_begins_anew_are_counted_once() -> None:
    """Where few units are left they are done in parts that add up: not to what the first attempt has found of them."""
    ends = np.random.default_rng(3).integers(0, 300, (2, 6000))
    graph = Graph.from_edge_list((ends[0], ends[1]))
    with trial(ENDLESS):
        expected = graph.query(TEXT, device="cpu").fetchall()
    for work in WORK:
        with trial(ENDLESS // 2, work):
            assert graph.query(TEXT, device="cpu").fetchall() == expected, work


@pytest.mark.parametrize("seeded", [False, True])
def test_few_rows_of_many_threads_come_together(seeded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    ends = np.random.default_rng(4).integers(0, 300, (2, 3000))
    graph = Graph.from_edge_list((ends[0], ends[1]))
    lengths: list[int] = []
    take, wait = SearchHandle.take, SearchHandle.wait

    def noted(self: SearchHandle, n: int, width: int) -> np.ndarray:
        lengths.append(n)
        return take(self, n, width)

    monkeypatch.setattr(SearchHandle, "take", noted)
    monkeypatch.setattr(SearchHandle, "wait", lambda self, _=0: wait(self, 60_000))  # else a slow machine gives more
    text = "MATCH (a) WITH a LIMIT 200 MATCH (a)-->(b)-->(c) RETURN " if seeded else "MATCH (a)-->(b)-->(c) RETURN "
    text = "/*+ search */ " + text
    text += "id(a) AS a, id(b) AS b, id(c) AS c ORDER BY a, b, c"
    with trial(ENDLESS):
        expected = graph.query(text, device="cpu", threads=1).fetchall()
    lengths.clear()
    with trial(0):
        assert graph.query(text, device="cpu", threads=8).fetchall() == expected
    assert sum(lengths) == len(expected) and len(lengths) <= 6
