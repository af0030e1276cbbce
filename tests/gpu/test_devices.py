"""All GPUs of a host beside the first alone; where there is but one, by its number."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Thread

import pytest

from qengine import Graph
from qengine.catalog.costs import costs
from qengine.errors import DeviceError
from qengine.estimate import device as estimate_device
from qengine.estimate import run as estimate_run
from qengine.exec.gpu import spread
from qengine.exec.gpu.device import cupy, guarded, usable
from tests.gpu.test_counting import PATTERNS, skewed

pytestmark = pytest.mark.gpu

QUERIES = [
    *(f"MATCH {PATTERNS[name]} RETURN count(*)" for name in ("triangle", "4-clique", "square", "house")),
    "MATCH (a)-[:E]-(b)-[:E]-(c)-[:E]-(a) RETURN a, b, c",
    "MATCH (a)-[:E]-(b)-[:E]-(c) RETURN id(a) % 7, count(*), min(id(b)), max(id(c)), sum(id(b))",
    "MATCH (a)-[:E]-(b)-[:E]-(c)-[:E]-(d), (a)-[:E]-(c) WHERE id(a) < id(d) RETURN count(*)",
]

ANY_COST = {"spread": 0.0, "spread_search": 0.0, "spread_fold": 0.0}


@pytest.fixture(autouse=True)
def spread_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spread, "costs", lambda *names: {**costs(*names), **ANY_COST})
    for module in (estimate_device, estimate_run):
        monkeypatch.setattr(module, "WORTH_SPREADING", 1 << 10)


@pytest.fixture(scope="module")
def graph() -> Iterator[Graph]:
    yield skewed()


@pytest.mark.parametrize("query", QUERIES)
def test_all_devices_give_what_each_gives(graph: Graph, query: str) -> None:
    expected = sorted(map(repr, graph.query(query, device="gpu:0")))
    for _ in range(2):
        assert sorted(map(repr, graph.query(query, device="gpu"))) == expected
    for number in usable():
        assert sorted(map(repr, graph.query(query, device=f"gpu:{number}"))) == expected
    assert cupy().cuda.runtime.getDevice() == 0, "the current device is the caller's"


def test_all_devices_draw_the_same_samples(graph: Graph) -> None:
    pattern = f"MATCH {PATTERNS['square']}"
    for method in ("wanderjoin", "alley"):
        one, several = (
            graph.estimate(pattern, method=method, samples=1 << 16, seed=3, device=name) for name in ("gpu:0", "gpu")
        )
        assert (one.hits, one.samples) == (several.hits, several.samples)
        assert several.value == pytest.approx(one.value)


def test_a_new_thread_has_a_context() -> None:
    """Whatever calls the driver first; nothing of the runtime's has been called there."""
    found: list[int] = []

    def look(number: int) -> None:
        with guarded(number):
            found.append(cupy().cuda.driver.ctxGetCurrent())

    for number in usable():
        thread = Thread(target=look, args=(number,))
        thread.start()
        thread.join()
    assert found and all(found)


def test_a_device_that_is_not_there_is_told_with_those_that_are(graph: Graph) -> None:
    with pytest.raises(DeviceError, match="There is no GPU 99") as caught:
        graph.query("MATCH (a) RETURN count(*)", device="gpu:99")
    assert '"gpu:0" (' in (caught.value.hint or "")
