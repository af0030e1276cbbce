"""Mini-batches that are drawn on the device: the same as the host's, in CuPy's arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine.exec.common.sampled_neighbours import NeighbourLists
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu.arrays import working
from qengine.exec.gpu.device import cupy, device, usable, using
from qengine.exec.gpu.launch import device_run, launch_pass

_FAMILY = "sampled_neighbours"


class DeviceNeighbourLists(NeighbourLists):
    """Lists of neighbours in a device's memory, the first of those that are asked for.

    Parameters
    ----------
    limit
        Bytes that they may take there, as ``gpu_memory_limit``.

    Raises
    ------
    DeviceError
        If there is no usable device.
    OutOfMemory
        If it has no room for them.
    """

    def __init__(
        self,
        starts: npt.NDArray[np.int64],
        ends: npt.NDArray[np.int64],
        numbers: Sequence[int] = (),
        limit: int | str | None = None,
    ) -> None:
        super().__init__(starts, ends)
        (self._number, *_) = usable(numbers)
        with using(self._number):
            device()
            with device_run(ExecutionContext(gpu_memory_limit=limit)) as run:
                with working(run, "the lists of neighbours") as cp:
                    self.offsets, self.ends = cp.asarray(self.offsets), cp.asarray(self.ends)
                run.wait()

    def sample(
        self, seeds: npt.NDArray[np.int64], fanout: Sequence[int], again: bool, stream: tuple[int, int]
    ) -> tuple[Any, Any]:
        """Return a batch as the host's lists do, in memory of CuPy's current allocator and on the current stream.

        Raises
        ------
        OutOfMemory
            If the device has no room for it.
        """
        with using(self._number), device_run(ExecutionContext()) as run:
            cp = cupy()
            of = cp.cuda.get_current_stream()

            def launch(name: str, n: int, job: npt.NDArray[Any]) -> None:
                launch_pass(run, _FAMILY, name, n, job, stream=of)

            try:
                return self.drawn(cp, launch, cp.asarray(seeds), fanout, again, stream)
            except run.memory.memory.failure:
                raise run.memory.full(seeds.nbytes, "a batch of sampled neighbours") from None
