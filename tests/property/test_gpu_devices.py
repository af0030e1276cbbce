"""Several devices: the host's counts, rows and groups, whichever of two emulated devices takes which piece."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from qengine import Graph
from qengine.catalog import costs as costs_module
from qengine.exec.common.fold_plan import COUNT, DISTINCT, LEAST, SUM
from qengine.exec.common.operators import first_on_device, folded_rows
from qengine.exec.gpu import dealing, folds, spread
from qengine.exec.gpu.fold_parts import FoldedPart, can_be_put_together, different_in, put_together
from qengine.exec.gpu.memory import DeviceMemory
from tests.emulator.device import device_memory, emulated, searched
from tests.gpu.test_counting import PATTERNS
from tests.property.test_gpu_counting import skewed

GUIDED = spread._GUIDED


@pytest.fixture(scope="module")
def memories() -> list[DeviceMemory]:
    return [device_memory(), device_memory()]


@pytest.fixture(scope="module", autouse=True)
def devices(memories: list[DeviceMemory]) -> Iterator[pytest.MonkeyPatch]:
    """Two devices, with room for rows; whatever is searched is spread."""
    with emulated(memories[0], free=1 << 24, more=memories[1:]) as patch:
        searched(patch)
        for module in (first_on_device, folded_rows):
            patch.setattr(module, "DEVICE_ROWS", 0)
        for name in ("is_worth", "is_worth_on_device"):
            patch.setattr(folded_rows.FoldedRows, name, lambda self, rows: True)
        patch.setattr(folds, "_DISTINCT_SHARE", 1 << 24)  # different values are groups of their own
        patch.setattr(spread, "_GUIDED", ((0.0, (4, 2, 1, 1)),))
        any_cost = {"spread": 0.0, "spread_search": 0.0, "spread_fold": 0.0}
        patch.setattr(spread, "costs", lambda *names: {**costs_module.costs(*names), **any_cost})
        yield patch


@pytest.fixture(scope="module")
def graph() -> Graph:
    return skewed(48, 12)


@pytest.fixture(scope="module")
def valued() -> Graph:
    """Forty nodes with values, some null, of two labels."""
    random = np.random.default_rng(1)
    values = random.integers(0, 9, 40)
    nodes = [
        {"id": k, "labels": ["A" if k % 3 else "B"], "properties": {"x": int(x) if x else None, "y": float(x) / 3}}
        for k, x in enumerate(values)
    ]
    pairs = {(int(a), int(b)) for a, b in random.integers(0, 40, (150, 2)) if a != b}
    return Graph.from_records(nodes, [{"type": "R", "start": a, "end": b} for a, b in sorted(pairs)])


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[dict[int, int]]:
    """Return how many pieces each device took, for each search."""
    seen: list[dict[int, int]] = []
    wait = dealing.Dealing.wait

    def waited(self: dealing.Dealing[Any]) -> None:
        wait(self)
        seen.append(self.taken)

    monkeypatch.setattr(dealing.Dealing, "wait", waited)
    return seen


_more = partial(pytest.param, marks=pytest.mark.nets)  # kernels that take their time to be compiled for the host


@pytest.mark.parametrize("name", ["triangle", _more("4-clique"), _more("square")])
def test_counts_by_shape_add_up(graph: Graph, name: str, taken: list[dict[int, int]]) -> None:
    text = f"MATCH {PATTERNS[name]} RETURN count(*)"
    assert graph.query(text, device="gpu").value() == graph.query(text, device="cpu").value()
    (counts,) = taken
    assert sum(counts.values()) == 8 and len(counts) == 2


def test_what_is_soon_done_runs_on_one(
    graph: Graph, taken: list[dict[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spread, "costs", costs_module.costs)
    text = f"MATCH {PATTERNS['triangle']} RETURN count(*)"
    assert graph.query(text, device="gpu").value() == graph.query(text, device="cpu").value()
    assert not taken


def test_what_folds_are_spread_for_is_longer(
    valued: Graph, taken: list[dict[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Than what rows are: each device makes groups of its own, and the host evaluates conditions."""
    any_cost = {"spread": 0.0, "spread_search": 0.0, "spread_fold": 1e18}
    monkeypatch.setattr(spread, "costs", lambda *names: {**costs_module.costs(*names), **any_cost})
    for result, spreads in (("a, b, c", 1), ("a.x, count(*)", 0)):
        text = f"MATCH (a:A)-[:R]->(b)-[:R]->(c) RETURN {result} // {spreads}"
        there, here = (valued.query(text, device=device).fetchall() for device in ("gpu", "cpu"))
        assert sorted(map(repr, there)) == sorted(map(repr, here))
        assert len(taken) == spreads
        taken.clear()


def test_shares_are_all_roots_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spread, "_GUIDED", GUIDED)
    for devices in (2, 3, 8):
        for cost in (0.0, 1e8, 1e9):
            shares = spread.root_shares(devices, cost)
            taken = [root for each in shares for root in range(each.begin, each.begin + each.taken)]
            assert taken == list(range(shares[0].round))
            assert [each.taken for each in shares] == sorted((each.taken for each in shares), reverse=True)


@pytest.mark.parametrize(
    "query",
    [
        _more("MATCH (a:A)-[:R]->(b)-[:R]->(c) WHERE a.x < c.x RETURN count(*)"),
        "MATCH (a:A)-[:R]->(b)-[:R]->(c) RETURN a, b, c",
        _more("MATCH (a)-[:R]->(b)-[:R]->(c) RETURN a.x, c.x, count(*), sum(b.x), min(b.y), max(c.y), avg(c.y)"),
        _more("MATCH (a)-[:R]->(b)-[:R]->(c) RETURN a.x, count(DISTINCT b.x), count(DISTINCT c)"),
        _more("MATCH (a)-[:R]->(b)-[:R]->(c) RETURN a.x AS x, b.y AS y, c.y AS z ORDER BY x DESC, y, z LIMIT 12"),
        _more("MATCH (a)-[:R]->(b)-[:R]->(c) WHERE a.x > 7 RETURN a.x, count(*)"),
    ],
)
def test_rows_and_groups_are_the_cpus(valued: Graph, query: str, taken: list[dict[int, int]]) -> None:
    there, here = (valued.query(query, device=device) for device in ("gpu", "cpu"))
    assert sorted(map(repr, there)) == sorted(map(repr, here))
    assert len(taken) == 1


def test_few_roots_are_shared_by_few_devices(valued: Graph) -> None:
    """A share may have no root at all."""
    query = "MATCH (a {x: 8})-[:R]->(b)-[:R]->(c) RETURN a, b, c"
    there, here = (valued.query(query, device=device) for device in ("gpu", "cpu"))
    assert sorted(map(repr, there)) == sorted(map(repr, here))


def test_groups_of_parts_are_put_together() -> None:
    tasks = [SimpleNamespace(operation=each, digits=digits) for each, digits in ((COUNT, 1), (SUM, 2), (LEAST, 1))]
    one = FoldedPart(np.array([1, 4], np.uint64), np.array([[2, 3], [5, 6], [7, 8], [-1, 9]]), 5)
    other = FoldedPart(np.array([0, 4], np.uint64), np.array([[1, 1], [1, 2], [3, 4], [5, -6]]), 2)
    found = put_together([one, other], tasks)  # type: ignore[arg-type]
    assert (found.codes.tolist(), found.weight) == ([0, 1, 4], 7)
    assert found.columns.tolist() == [[1, 2, 4], [1, 5, 8], [3, 7, 12], [5, -1, -6]]
    assert can_be_put_together(tasks)  # type: ignore[arg-type]
    assert not can_be_put_together([SimpleNamespace(operation=DISTINCT)])  # type: ignore[list-item]
    values = FoldedPart(np.array([1, 3, 4, 13, 14], np.uint64), np.zeros((1, 5), np.int64), 0)
    assert different_in(values, found, 3).tolist() == [1, 1, 2], "by keys 0, 1, 4: values that aren't null"
