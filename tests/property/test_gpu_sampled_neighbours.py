"""Mini-batches that the emulated device draws: the host's, for any graph, fanouts and seeds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine.errors import OutOfMemory
from qengine.exec.common.sampled_neighbours import NeighbourLists
from qengine.exec.gpu.sampled_neighbours import DeviceNeighbourLists
from tests.emulator.arrays import DeviceArray
from tests.emulator.device import device_memory, emulated

PAIRS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 40)), unique=True)


@pytest.fixture(scope="module", autouse=True)
def device() -> Iterator[None]:
    with emulated(device_memory(), free=1 << 24):
        yield


@given(
    PAIRS,
    st.lists(st.integers(-1, 45), unique=True),
    st.lists(st.integers(1, 12), min_size=1, max_size=3),
    st.booleans(),
    st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1)),
)
@settings(max_examples=100)
def test_the_device_draws_the_hosts_batches(
    pairs: list[tuple[int, int]], seeds: list[int], fanout: list[int], again: bool, stream: tuple[int, int]
) -> None:
    starts, ends = np.array(pairs, np.int64).reshape(-1, 2).T
    host = NeighbourLists(starts, ends)
    nodes, edges = host.sample(np.array(seeds, np.int64), fanout, again, stream)
    found = DeviceNeighbourLists(starts, ends).sample(np.array(seeds, np.int64), fanout, again, stream)
    assert all(isinstance(array, DeviceArray) and array.dtype == np.int64 for array in found)
    assert nodes.tolist() == found[0].tolist() and edges.tolist() == found[1].tolist()
    assert nodes[: len(seeds)].tolist() == seeds and len(set(nodes.tolist())) == len(nodes)
    assert {(end, start) for start, end in nodes[edges].T.tolist()} <= set(pairs)


def test_the_limit_holds_for_the_lists() -> None:
    starts, ends = np.zeros(5_000, np.int64), np.arange(5_000)
    DeviceNeighbourLists(starts, ends, limit="40K")
    with pytest.raises(OutOfMemory, match="the lists of neighbours"):
        DeviceNeighbourLists(starts, ends, limit="10K")
