"""CuPy's arrays in a query's memory, on its stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from qengine.exec.gpu.device import cupy, device
from qengine.exec.gpu.launch import DeviceRun


@contextmanager
def working(run: DeviceRun, what: str) -> Iterator[Any]:
    """Give CuPy, on the run's stream, with arrays in the run's memory; ``what`` names them in errors.

    Never around a ``yield`` of rows.
    """
    cp = cupy()
    with run.stream, cp.cuda.using_allocator(lambda size: run.allocate(size, what)):
        yield cp


def on_device(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return copies on the current device of columns that have ``__dlpack__``.

    Raises
    ------
    DeviceError
        If there is no usable device.
    """
    device()
    return {name: cupy().asarray(np.from_dlpack(column)) for name, column in columns.items()}
