"""Several devices: the host's counts, rows and groups, whichever of two emulated devices takes which piece."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from qengine import Graph
from qengine.catalog import costs as costs_module
from qengine.exec.gpu import dealing, spread
from qengine.exec.gpu.memory import DeviceMemory
from tests.emulator.device import device_memory, emulated, searched
from tests.gpu.test_counting import PATTERNS
from tests.property.test_gpu_counting import skewed


@pytest.fixture(scope="module")
def memories() -> list[DeviceMemory]:
    return [device_memory(), device_memory()]


@pytest.fixture(scope="module", autouse=True)
def devices(memories: list[DeviceMemory]) -> Iterator[pytest.MonkeyPatch]:
    """Two devices, with room for rows; whatever is searched is spread."""
    with emulated(memories[0], free=1 << 24, more=memories[1:]) as patch:
        searched(patch)
        patch.setattr(spread, "costs", lambda *names: {**costs_module.costs(*names), "spread": 0.0})
        yield patch


@pytest.fixture(scope="module")
def graph() -> Graph:
    return skewed(48, 12)


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


@pytest.mark.parametrize("name", ["triangle", "4-clique", "square"])
def test_counts_by_shape_add_up(graph: Graph, name: str, taken: list[dict[int, int]]) -> None:
    text = f"MATCH {PATTERNS[name]} RETURN count(*)"
    assert graph.query(text, device="gpu").value() == graph.query(text, device="cpu").value()
    (counts,) = taken
    assert sum(counts.values()) == 8 and len(counts) == 2
