"""What all tests share: markers' skips, `--nets`, `--slow`, `--gpu`, `--gpu-profile` and `--update-golden`.

``@pytest.mark.shared_data`` skips where the open graphs are absent; ``@pytest.mark.shared_data("yeast", "hprd")``
only where one of the data sets that it names is.
"""

from __future__ import annotations

import functools
import gc
import importlib.util
import math
import os
import signal
import zlib
from collections.abc import Iterable

import pytest

from qengine import learned
from qengine._frozen import refuse_changes
from qengine.testing import data
from tests import devices, examples


def pytest_configure(config: pytest.Config) -> None:
    """Take Ctrl-C even in a background job, where it is ignored: tests send it to themselves and to shells.

    Frozen objects refuse to be changed meanwhile.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    refuse_changes()
    examples.use(1 if config.getoption("--slow") else 1 / 3)
    if profile := config.getoption("--gpu-profile"):
        devices.use(profile)
    os.environ["QENGINE_CONFIG_DIR"] = os.devnull  # plans don't depend on what was measured on this machine
    learned._AFTER = math.inf  # nor on how long a query takes


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--nets", action="store_true", help="run the tests marked nets too (--slow does, as well)")
    parser.addoption("--slow", action="store_true", help="run the tests marked slow too, properties on all examples")
    parser.addoption(
        "--gpu", action="store_true", help="run what needs a GPU, nothing else; what is missing is a failure"
    )
    parser.addoption(
        "--gpu-profile",
        choices=tuple(devices.PROFILES),
        help="use the GPU as a smaller one (tests/devices.py)",
    )
    parser.addoption(
        "--every", type=int, default=1, help="run one of so many cases of each test, by chance, and its first"
    )
    parser.addoption("--update-golden", action="store_true", help="write the golden files anew from what is now")


_LONGEST = ("test_sanitizers.py", "test_warnings.py", "test_saved_graphs_fuzz.py")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    firsts = {item.nodeid.partition("[")[0]: item for item in reversed(items)}

    def thinned(item: pytest.Item) -> bool:
        chance = zlib.crc32(item.nodeid.encode()) % config.getoption("--every")
        return chance > 0 and firsts[item.nodeid.partition("[")[0]] is not item

    def left_out(item: pytest.Item) -> bool:
        slow, nets, gpu = (item.get_closest_marker(name) is not None for name in ("slow", "nets", "gpu"))
        long = config.getoption("--slow")
        skipped = (slow and not long) or (nets and not (long or config.getoption("--nets")))
        return skipped or thinned(item) or (not gpu and config.getoption("--gpu"))

    if out := [item for item in items if left_out(item)]:
        config.hook.pytest_deselected(items=out)
        items[:] = [item for item in items if not left_out(item)]
    # What takes minutes begins first, so that no worker is left alone with it at the end.
    items.sort(key=lambda item: item.path.name not in _LONGEST)


def pytest_collection_finish() -> None:
    """Leave what is imported and collected out of garbage collections, which would go through it by the thousand."""
    gc.collect()
    gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    skip = pytest.fail if item.config.getoption("--gpu") else pytest.skip
    for marker in item.iter_markers("shared_data"):
        if reason := _missing_data(marker.args):
            skip(reason)
    if item.get_closest_marker("gpu") and (reason := _missing_gpu()):
        skip(reason)


def _missing_data(names: Iterable[str]) -> str | None:
    if data.shared_root() is None:
        return f"the open graphs are absent (set {data.ENVIRONMENT_VARIABLE})"
    for name in names:
        try:
            data.data_set(name)
        except FileNotFoundError as error:
            return str(error)
    return None


@functools.cache
def _missing_gpu() -> str | None:
    if importlib.util.find_spec("cupy") is None:
        return "CuPy is not installed"
    import cupy

    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"no CUDA device: {error}"
    return None if count else "no CUDA device"
