"""Counters that stay on the device are used again only as long as the lists that they read stay, too."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from qengine.exec.context import ExecutionContext
from qengine.exec.gpu import count
from qengine.exec.gpu.memory import Resident
from tests.emulator.device import EmulatedRun, device_memory


class Owner:
    nbytes = 0


def test_counters_are_made_anew_when_lists_have_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    counter: Any = SimpleNamespace(start=lambda run: None, sums=lambda run: (1, 0), n_bytes=0)
    monkeypatch.setattr(
        count,
        "_prepared",
        lambda store, shapes, plan, run, shares: made.append(plan.parts) or count.CountedPlan([counter], []),
    )
    run: Any = EmulatedRun(ExecutionContext({}), device_memory())
    store, resolved = Owner(), SimpleNamespace(reusable=True)
    shapes: Any = [SimpleNamespace(shape=None)]
    before, after = (SimpleNamespace(resolved=resolved, parts=(Resident("lists", None, 0, None),)) for _ in range(2))
    for plan, times in ((before, 1), (before, 1), (after, 2), (after, 2)):
        assert count.try_count(store, shapes, plan, run) == 1  # type: ignore[arg-type]
        assert len(made) == times
