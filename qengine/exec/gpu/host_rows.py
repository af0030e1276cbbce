"""Brings rows from the device to the host while the next ones are computed, through a few pinned buffers.

Ids travel as they are on the device, vertices in 32 bits. CuPy's pool takes a buffer back, and gives it out again, once
nothing refers to its rows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine._frozen import frozen, record
from qengine.exec.gpu.device import cupy
from qengine.exec.gpu.extend import DeviceRows

_BUFFERS = 8
_BUFFER_BYTES = 32 << 20
_ALIGNMENT = 64
_TO_HOST = 2


@frozen
class HostRows:
    """Some rows in pinned memory of the host.

    ``columns``: by output column uint32 vertex ids or int64 relationship ids. ``row``: int64, the input row of each;
    None for a search without seeds. ``count``: uint64 or None.
    """

    n: int
    columns: dict[int, npt.NDArray[Any]]
    row: npt.NDArray[np.int64] | None
    count: npt.NDArray[np.uint64] | None


@record
class _Pending:
    """A buffer that is being filled: ``arrays`` are views of it, ``source`` is kept until it is."""

    event: Any
    arrays: dict[Any, npt.NDArray[Any]]
    n: int
    source: DeviceRows


def to_host(parts: Iterator[DeviceRows], stream: Any, buffer_bytes: int = _BUFFER_BYTES) -> Iterator[HostRows]:
    """Yield the rows of ``parts``, in their order, in pieces of at most ``buffer_bytes``.

    Parameters
    ----------
    stream
        The ``cupy.cuda.Stream`` on which the parts are computed.
    """
    cuda = cupy().cuda
    copies = cuda.Stream(non_blocking=True)
    pending: deque[_Pending] = deque()
    try:
        for part in parts:
            made = cuda.Event(disable_timing=True)
            made.record(stream)
            copies.wait_event(made)
            named = _arrays(part)
            each = max(1, buffer_bytes // sum(array.itemsize for array in named.values())) if named else part.n
            for begin in range(0, part.n, each):
                if len(pending) == _BUFFERS:
                    yield _done(pending.popleft())
                end = min(part.n, begin + each)
                piece = {name: array[begin:end] for name, array in named.items()}
                pending.append(_copy(piece, end - begin, part, copies))
        while pending:
            yield _done(pending.popleft())
    finally:
        copies.synchronize()


def _arrays(part: DeviceRows) -> dict[Any, Any]:
    """Return the device's arrays: columns by number, the input row as "row", the count as "count"."""
    named: dict[Any, Any] = dict(part.columns)
    if part.row is not None:
        named["row"] = part.row
    if part.count is not None:
        named["count"] = part.count
    return named


def _copy(named: dict[Any, Any], n: int, source: DeviceRows, stream: Any) -> _Pending:
    """Start copying arrays into a buffer."""
    cuda = cupy().cuda
    size = max(1, sum(-(-array.nbytes // _ALIGNMENT) * _ALIGNMENT for array in named.values()))
    buffer = cuda.alloc_pinned_memory(size)
    at, arrays = 0, {}
    for name, array in named.items():
        cuda.runtime.memcpyAsync(buffer.ptr + at, array.data.ptr, array.nbytes, _TO_HOST, stream.ptr)
        arrays[name] = np.frombuffer(buffer, array.dtype, n, at)
        at += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
    event = cuda.Event(disable_timing=True)
    event.record(stream)
    return _Pending(event, arrays, n, source)


def _done(one: _Pending) -> HostRows:
    """Wait for a copy."""
    one.event.synchronize()
    columns = {name: array for name, array in one.arrays.items() if isinstance(name, int)}
    return HostRows(one.n, columns, one.arrays.get("row"), one.arrays.get("count"))
