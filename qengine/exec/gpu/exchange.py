"""Several devices that run the same elimination, each a share of its long calls, and then have what all have found."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Barrier
from typing import Any

import numpy as np

from qengine.catalog.costs import costs
from qengine.exec.gpu.launch import DeviceRun
from qengine.plan.schedule import Call, KernelCall

_SHARED = frozenset({"cliques", "masked_product", "masked_forest", "rooted_forest", "row_products", "triangle_counts"})
"""Kernels that can do a share of their work, and leave 0 where another device has numbers."""

_LEAST = 0.25
"""A call is shared from such a part of the least cost on for which an elimination is."""

_CHUNK = 1 << 28
"""Bytes that are added up at a time."""

_THREADS = 256


def is_shared(call: Call) -> bool:
    """Tell whether each device does a share of a call."""
    least = _LEAST * costs("gpu", "choice")["spread"]
    return isinstance(call, KernelCall) and call.kernel in _SHARED and call.cost >= least


def is_worth_sharing(calls: Iterable[Call]) -> bool:
    """Tell whether calls that are shared take so long that several devices shall run an elimination."""
    shared = sum(call.cost for call in calls if isinstance(call, KernelCall) and is_shared(call))
    return shared >= costs("gpu", "choice")["spread"]


class Exchange:
    """What devices tell each other, all at the same points of the same program.

    Parameters
    ----------
    devices
        How many there are.
    """

    def __init__(self, devices: int) -> None:
        self.devices = devices
        self._barrier = Barrier(devices)
        self._blocks: dict[int, tuple[int, int]] = {}  # by the device's number among these: CUDA's, and an address
        self._totals: dict[int, dict[int, int]] = {}

    def abort(self) -> None:
        """Let all who wait, or will, raise ``BrokenBarrierError``: this device has failed."""
        self._barrier.abort()

    def add(self, own: int, run: DeviceRun, block: Any, n_bytes: int) -> None:
        """Add what all devices have in a block: afterwards each has the sums.

        Parameters
        ----------
        own
            The device's number among those that share.
        block, n_bytes
            Words of 64 bits, of a size that is the same on all. Sums of words don't carry.
        """
        run.wait()
        self._blocks[own] = run.device.number, block.ptr
        self._barrier.wait()
        others = [self._blocks[k] for k in range(self.devices) if k != own]
        room = [run.allocate(min(n_bytes, _CHUNK), "what other devices have found") for _ in others]
        kernel = run.kernel("eliminate", "eliminate_add", {"QE_WIDE": 0, "QE_WINDOW": 512})
        for at in range(0, n_bytes, _CHUNK):
            size = min(_CHUNK, n_bytes - at)
            for (number, address), to in zip(others, room, strict=True):
                run.copy_from(number, address + at, to, size)
            run.wait()
            self._barrier.wait()  # all have copied what is changed now
            words = size // 8
            for more in room:
                given = np.uint64(block.ptr + at), np.uint64(more.ptr), np.uint64(words)
                run.launch(kernel, -(-words // _THREADS), _THREADS, given)
        run.wait()

    def totals(self, own: int, found: dict[int, int], shared: Iterable[int]) -> dict[int, int]:
        """Return totals, by their places, with those of all devices added up where each has found some of it."""
        self._totals[own] = found
        self._barrier.wait()
        together = {place: sum(each[place] for each in self._totals.values()) for place in shared}
        return found | together
