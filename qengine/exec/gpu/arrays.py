"""CuPy's arrays in a query's memory, on its stream."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from qengine.exec.gpu.device import cupy
from qengine.exec.gpu.launch import DeviceRun


@contextmanager
def working(run: DeviceRun, what: str) -> Iterator[Any]:
    """Give CuPy, on the run's stream, with arrays in the run's memory; ``what`` names them in errors.

    Never around a ``yield`` of rows.
    """
    cp = cupy()
    with run.stream, cp.cuda.using_allocator(lambda size: run.allocate(size, what)):
        yield cp
