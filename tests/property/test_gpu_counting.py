"""Counts by the GPU's kernels for shapes against the CPU's, the kernels run on the host: no GPU is needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from qengine import Graph
from qengine.exec import choice
from qengine.exec.gpu import count_columns, count_kernels, count_policy, count_segments, search
from qengine.exec.gpu.count_segments import segments as count_segments_of
from tests.devices import H200
from tests.emulator.device import Pool, device_memory, emulated
from tests.gpu.test_counting import PATTERNS, graph_of


@pytest.fixture(scope="module", autouse=True)
def device() -> Iterator[None]:
    with emulated(device_memory(), free=1 << 30) as patch:
        patch.setattr(choice, "choose", lambda asked, *_: (asked, "as asked"))
        patch.setattr(count_policy, "_FEW_ROOTS", 1)
        yield


def skewed(n: int, n_dense: int) -> Graph:
    """A graph with a hub that neighbours all, a dense part, and degrees that differ."""
    random = np.random.default_rng(n)
    chance = np.outer(random.random(n), random.random(n))
    chance[0] = 1
    chance[:n_dense, :n_dense] = 0.9
    start, end = np.nonzero(np.triu(random.random((n, n)) < chance, 1))
    return graph_of(n, start, end, 1)


@pytest.fixture(scope="module")
def graphs() -> dict[str, Graph]:
    return {"small": skewed(48, 12), "large": skewed(150, 90)}


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """Return what the kernels for shapes have counted."""
    seen: list[int | None] = []
    original = search.try_count

    def count(*arguments: Any) -> int | None:
        seen.append(original(*arguments))
        return seen[-1]

    monkeypatch.setattr(search, "try_count", count)
    return seen


def check(graph: Graph, pattern: str, hubs: int, counted: list[int | None]) -> None:
    text = f"MATCH {pattern} RETURN count(*) /* {hubs} */"
    assert graph.query(text, device="gpu").value() == graph.query(text, device="cpu").value()
    assert None not in counted and len(counted) == 1


@pytest.mark.parametrize("name", ["triangle", "4-clique", "square"])
def test_counts_are_the_cpus(graphs: dict[str, Graph], name: str, counted: list[int | None]) -> None:
    check(graphs["small"], PATTERNS[name], 0, counted)


@pytest.mark.parametrize("name", ["triangle", "square"])
def test_counts_where_all_lists_are_on_the_device(
    graphs: dict[str, Graph], name: str, counted: list[int | None]
) -> None:
    with emulated(device_memory(Pool()), free=1 << 30):
        check(graphs["small"], PATTERNS[name], 2, counted)


@pytest.mark.parametrize(
    ("name", "hubs"),
    [*((name, hubs) for name in ("triangle", "diamond") for hubs in (count_policy._HUBS, 32)), ("square", 32)],
)
def test_segments_add_up(
    graphs: dict[str, Graph], name: str, hubs: int, counted: list[int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lists that the device has no room for are counted in parts, and from hubs' rows of bits in one of them."""
    cut: list[int] = []

    def segments(sizes: Any, most: int) -> list[tuple[int, int]]:
        found = count_segments_of(sizes, 200)
        cut.append(len(found))
        return found

    monkeypatch.setattr(count_segments, "segments", segments)
    monkeypatch.setattr(count_columns, "segments", segments)
    monkeypatch.setattr(count_policy, "_HUBS", hubs)
    check(graphs["small"], PATTERNS[name], 10 * hubs, counted)
    assert cut and cut[0] > 3


@pytest.mark.parametrize("most", [0, 40])
def test_squares_are_counted_in_tiles_of_segments(
    graphs: dict[str, Graph], most: int, counted: list[int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Heavy roots have a counter for each id of a tile; tiles end within segments and within lists."""

    def launches(device: Any, span: int) -> dict[str, count_policy.Launch]:
        found = count_policy.wedge_launches(device, span)
        for name in ("packed", "wide"):
            found[name].values.update(tile=8, tiles=-(-span // 8))
        for name in ("light", "middle"):
            found[name].values["most"] = most
        return found

    for module in (count_columns, count_kernels):
        monkeypatch.setattr(module, "wedge_launches", launches)
    monkeypatch.setattr(count_columns, "segments", lambda sizes, _: count_segments_of(sizes, 900))
    check(graphs["small"], PATTERNS["square"], 40 + most, counted)
    with emulated(device_memory(Pool()), free=1 << 30):
        del counted[:]
        check(graphs["small"], PATTERNS["square"], 41 + most, counted)


@pytest.mark.parametrize("name", ["4-clique", "square"])
def test_counts_with_the_instructions_and_the_memory_of_a_large_device(
    graphs: dict[str, Graph], name: str, counted: list[int | None]
) -> None:
    """Elsewhere the emulated device is the smallest."""
    with emulated(device_memory(), 1 << 30, replace(H200, multiprocessors=1)):
        check(graphs["small"], PATTERNS[name], 1, counted)


@pytest.mark.slow
@pytest.mark.parametrize("hubs", [count_policy._HUBS, 128])
@pytest.mark.parametrize("name", PATTERNS)
def test_all_variants_count_as_the_cpu(
    graphs: dict[str, Graph], name: str, hubs: int, counted: list[int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(count_policy, "_HUBS", hubs)
    check(graphs["small" if name in ("5-clique", "6-clique", "house") else "large"], PATTERNS[name], hubs, counted)
