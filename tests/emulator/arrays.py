"""NumPy in CuPy's clothes: the few functions that the extension uses, over the emulated device's memory."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np


class DeviceArray(np.ndarray):  # type: ignore[type-arg]
    """An array of the emulated device."""

    @property
    def data(self) -> Any:  # type: ignore[override]
        return SimpleNamespace(ptr=self.ctypes.data)

    def set(self, host: Any) -> None:
        self[...] = host


class Pinned(np.ndarray):  # type: ignore[type-arg]
    """Pinned memory: bytes with an address."""

    @property
    def ptr(self) -> int:
        return int(self.ctypes.data)


class Stream:
    """A stream whose work is done at once."""

    ptr = 0

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass

    def wait_event(self, event: object) -> None:
        pass

    def synchronize(self) -> None:
        pass


class _OfThread(threading.local):
    """CuPy's state of a thread: the allocators in use, and the current device."""

    def __init__(self) -> None:
        self.allocators: list[Callable[[int], Any]] = []
        self.device = 0


_of_thread = _OfThread()


@contextmanager
def _using_allocator(allocate: Callable[[int], Any]) -> Iterator[None]:
    _of_thread.allocators.append(allocate)
    try:
        yield
    finally:
        _of_thread.allocators.pop()


@contextmanager
def _current(number: int) -> Iterator[None]:
    """Stands in for ``cupy.cuda.Device``."""
    before, _of_thread.device = _of_thread.device, number
    try:
        yield
    finally:
        _of_thread.device = before


class CudaError(RuntimeError):
    """Stands in for CuPy's errors of CUDA."""


def current_device() -> int:
    """Return the number of this thread's current device."""
    return _of_thread.device


def empty(n: Any, dtype: Any) -> Any:
    shape = (n,) if np.isscalar(n) else n
    if not _of_thread.allocators:
        return np.empty(shape, dtype).view(DeviceArray)
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    block = _of_thread.allocators[-1](size)
    array = block.bytes[:size].view(dtype).reshape(shape).view(DeviceArray)
    array.block = block
    return array


def filled(value: int) -> Callable[[Any, Any], Any]:
    def make(n: Any, dtype: Any) -> Any:
        array = empty(n, dtype)
        array[...] = value
        return array

    return make


def asarray(host: Any) -> Any:
    array = empty(host.shape, host.dtype)
    array[...] = host
    return array


def _copy(to: int, start: int, size: int, kind: int, stream: int) -> None:
    ctypes.memmove(to, start, size)


cupy = SimpleNamespace(
    empty=empty,
    zeros=filled(0),
    ones=filled(1),
    asarray=asarray,
    cumsum=lambda array, out=None: np.cumsum(array, out=out) if out is not None else np.cumsum(array).view(DeviceArray),
    argsort=lambda array: np.argsort(array).view(DeviceArray),
    ascontiguousarray=lambda array: np.ascontiguousarray(array).view(DeviceArray),
    concatenate=lambda arrays, axis=0: np.concatenate(arrays, axis).view(DeviceArray),
    lexsort=lambda keys: np.lexsort(keys).view(DeviceArray),
    arange=lambda n, dtype: np.arange(n, dtype=dtype).view(DeviceArray),
    searchsorted=lambda array, values, side="left": np.searchsorted(array, values, side).view(DeviceArray),
    sort=lambda array: np.sort(array).view(DeviceArray),
    isin=lambda array, values, invert: np.isin(array, values, invert=invert).view(DeviceArray),
    flatnonzero=lambda array: np.flatnonzero(array).view(DeviceArray),
    cuda=SimpleNamespace(
        using_allocator=_using_allocator,
        alloc_pinned_memory=lambda size: np.zeros(size, np.uint8).view(Pinned),
        Stream=lambda **_: Stream(),
        get_current_stream=Stream,
        Event=lambda **_: SimpleNamespace(record=lambda stream: None, synchronize=lambda: None),
        Device=_current,
        driver=SimpleNamespace(CUDADriverError=CudaError),
        runtime=SimpleNamespace(
            memcpyAsync=_copy,
            getDevice=current_device,
            getDeviceCount=lambda: 1,
            deviceSynchronize=lambda: None,
            free=lambda pointer: None,
            CUDARuntimeError=CudaError,
        ),
    ),
)
"""Stands in for the module."""
