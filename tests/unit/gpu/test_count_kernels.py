"""The counting kernels' arguments are laid out in NumPy as on the device, and their launches fit any device."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from qengine import _assets
from qengine.errors import DeviceError
from qengine.exec.gpu import nvrtc
from qengine.exec.gpu.count_kernels import CLIQUE_TASK, EDGE_TASK, HOUSE_TASK, ROOT_SET, VIEW, WEDGE_TASK
from qengine.exec.gpu.count_policy import (
    CLIQUE_LIMITS,
    Launch,
    clique_launch,
    edge_launch,
    filter_launch,
    house_launches,
    hub_words,
    wedge_launches,
)
from qengine.exec.gpu.families import FAMILIES
from qengine.exec.gpu.properties import DeviceProperties
from tests.devices import DEVICES, H200
from tests.layouts import device_layouts, layouts

TASKS = {
    "count_edges": {"EdgeTask": EDGE_TASK, "View": VIEW, "RootSet": ROOT_SET},
    "count_cliques": {"CliqueTask": CLIQUE_TASK},
    "count_wedges": {"WedgeTask": WEDGE_TASK},
    "count_houses": {"HouseTask": HOUSE_TASK},
}


@pytest.mark.parametrize("family", TASKS)
def test_tasks_are_laid_out_as_on_the_device(family: str) -> None:
    try:
        nvrtc.version()
    except DeviceError as error:
        pytest.skip(f"this platform has no NVRTC: {error}")
    include = [f"--include-path={_assets.asset('kernels', folder)}" for folder in ("include", "cuda")]
    source = f'#include "count/{family}.cu"\nusing namespace qe;'
    assert device_layouts(source, TASKS[family], tuple(include)) == layouts(TASKS[family])


def check(device: DeviceProperties, launch: Launch) -> None:
    assert 0 < launch.threads <= 1024 and launch.threads % 32 == 0
    assert 0 <= launch.shared <= device.dynamic_bytes
    assert device.blocks_each(launch.threads, launch.shared) >= 1
    assert 0 < launch.blocks <= device.multiprocessors * device.threads_each // launch.threads
    assert launch.shared * launch.blocks <= device.multiprocessors * device.shared_bytes_each


@pytest.mark.parametrize("device", DEVICES, ids=lambda device: device.name)
@pytest.mark.parametrize("span", (1, 40, 5_000, 650_000, 4_000_000_000))
def test_launches_fit_the_device(device: DeviceProperties, span: int) -> None:
    for launch in (filter_launch(device), *house_launches(device, span).values()):
        check(device, launch)
        assert 4 * launch.values.get("scratch", 0) * launch.blocks <= device.memory_bytes // 8
    for k in range(3):
        launch = edge_launch(device, k, span, span, {})
        check(device, launch)
        assert launch.values["range"] >= 32 * hub_words(span)
    for k, limit in enumerate(CLIQUE_LIMITS):
        for depth in (3, 4, 5, 7):
            for most in {min(limit, span), min(limit, span, 300)}:
                launch = clique_launch(device, k, span, most, depth, triangular=True)
                if launch is None:
                    assert most > 5_000 or (depth > 5 and most > 500), "only what is truly large has no launch"
                    continue
                check(device, launch)
                assert launch.values.get("scratch", 0) * launch.blocks <= device.memory_bytes // 8
                assert min(most, limit) <= launch.values["capacity"] <= 32 * launch.macros["QE_STRIDE"]
                assert launch.macros["QE_STRIDE"] % 16 == 8, "rows start in different banks"
                assert launch.values["table"] & (launch.values["table"] - 1) == 0
    for name, launch in wedge_launches(device, span).items():
        check(device, launch)
        if "most" in launch.values:
            assert launch.values["most"] <= launch.values["table"] // 2, "half of a table stays free"
            assert launch.values["table"] & (launch.values["table"] - 1) == 0
            assert 8 * launch.values["table"] <= launch.shared
        if "tile" in launch.values:
            assert launch.values["tile"] * launch.values["tiles"] >= span, name


def test_matrices_of_large_roots_take_no_more_than_there_is_room_for() -> None:
    whole = clique_launch(H200, 3, 650_000, 6_000, 4, triangular=True)
    assert whole is not None
    each = whole.values["scratch"]
    for room in (each, 5 * each + 1, whole.blocks * each // 2):
        found = clique_launch(H200, 3, 650_000, 6_000, 4, triangular=True, memory=room)
        assert found is not None and found.blocks == min(whole.blocks, room // each)
    assert clique_launch(H200, 3, 650_000, 6_000, 4, triangular=True, memory=each - 1) is None


def test_vector_loads_find_aligned_matrices() -> None:
    """Rows of the bit matrices are read 8 bytes at a time, so every part of a team's memory is a multiple of that."""
    device = H200
    for k in range(len(CLIQUE_LIMITS)):
        launch = clique_launch(device, k, 650_000, 700, 4, triangular=True)
        assert launch is not None
        small = 4 * (launch.macros["QE_SMALL"] * 8) + 2 * launch.macros["QE_SMALL"]
        marks = 6 * (hub_words(650_000) + launch.values["table"])
        assert np.all(np.array([small, marks, 4 * launch.values["capacity"] * launch.macros["QE_STRIDE"]]) % 8 == 0)


def test_roots_of_other_sizes_need_no_other_kernels() -> None:
    """A variant is compiled once for many graphs; those of up to 3,328 members are compiled beforehand."""
    known = [dict(each) for each in FAMILIES["count_cliques"]]
    for device, depth, k in product(DEVICES, (3, 4, 5), range(len(CLIQUE_LIMITS))):
        least = (0, *CLIQUE_LIMITS)[k] + 1
        for largest in range(least, min(3_328, CLIQUE_LIMITS[k]) + 1, 5):
            launch = clique_launch(device, k, 650_000, largest, depth, triangular=True)
            assert launch is None or launch.macros in known, (device.name, depth, k, largest)
