"""CuPy and the device: loaded when first asked for, with an error that says what is missing."""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from qengine.errors import DeviceError
from qengine.exec.gpu.compiled import compile_ahead, compiled_meanwhile
from qengine.exec.gpu.nvrtc import INSTALL
from qengine.exec.gpu.properties import DeviceProperties

_NO_DRIVER = (35, 3)
"""cudaErrorInsufficientDriver, cudaErrorInitializationError."""

_LEAST_CAPABILITY = 75
"""Of devices whose instructions kernels are written for."""

PLAIN_SHARED_BYTES = 40 * 1024
"""A kernel that needs more than 48 KB of shared memory has to say so before it is launched; some of it is its own."""


@functools.cache
def cupy() -> Any:
    """Return the module CuPy.

    Raises
    ------
    DeviceError
        If it is not installed, or can't be imported.
    """
    try:
        import cupy
    except ModuleNotFoundError as error:
        if error.name != "cupy":
            raise DeviceError(f"CuPy can't be imported: {error}.", hint="Reinstall it.", code="NoCupy") from None
        raise DeviceError("CuPy is not installed.", hint=f"Run {INSTALL}.", code="NoCupy") from None
    except ImportError as error:
        raise DeviceError(f"CuPy can't be imported: {error}.", hint="Reinstall it.", code="NoCupy") from None
    return cupy


@dataclass(frozen=True)
class Device(DeviceProperties):
    """One GPU, by its number among CUDA's, and the kernels loaded on it."""

    number: int
    _modules: dict[tuple[Any, ...], Any] = field(default_factory=dict, repr=False)
    _shared: dict[int, int] = field(default_factory=dict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def kernel(
        self,
        family: str,
        name: str,
        macros: Mapping[str, int | str] | None = None,
        shared_bytes: int = 0,
        preface: str = "",
        check: Callable[[], None] = lambda: None,
    ) -> Any:
        """Return a kernel as a ``cupy.cuda.Function``: ``kernel(grid, block, arguments, shared_bytes)``.

        Its family is compiled by NVRTC once for each set of macros, and kept on disk. ``shared_bytes``: dynamic shared
        memory that it will be launched with at most. ``preface``: code to put before the family's.
        ``check``: called now and then while it is compiled; what it raises ends the wait.

        Raises
        ------
        DeviceError
            If there is no NVRTC.
        InternalError
            If that is more shared memory than the device has.
        """
        self.check_shared(name, shared_bytes)
        macros = {**self.macros, **(macros or {})}
        key = (family, preface, *sorted(macros.items()))
        binary = None
        if key not in self._modules:
            binary = compiled_meanwhile(family, self.capability, macros, preface, check)
        with self._lock:
            if binary is not None and key not in self._modules:
                module = cupy().cuda.function.Module()
                module.load(binary)
                self._modules[key] = module
            kernel = self._modules[key].get_function(name)
            if shared_bytes > self._shared.get(kernel.ptr, PLAIN_SHARED_BYTES):  # never less: others launch it, too
                driver = cupy().cuda.driver
                most = driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
                driver.funcSetAttribute(kernel.ptr, most, shared_bytes)
                self._shared[kernel.ptr] = shared_bytes
        return kernel

    def compile_ahead(self, family: str, macros: Mapping[str, int | str]) -> None:
        """Begin to compile a family whose kernels are asked for soon, if it is not loaded."""
        macros = {**self.macros, **macros}
        if (family, "", *sorted(macros.items())) not in self._modules:
            compile_ahead(family, self.capability, macros)

    def resident_blocks(self, kernel: Any, threads: int, shared_bytes: int) -> int:
        """Return how many blocks of a kernel the device runs at a time."""
        count = cupy().cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor
        each = min(int(count(kernel.ptr, threads, shared_bytes)), self.blocks_each(threads, shared_bytes))
        return each * self.multiprocessors


_devices: dict[int, Device] = {}
_lost: dict[int, str] = {}
"""Devices that have failed so that this process can't use them any more, and how."""


def device() -> Device:
    """Return the current device of this thread, as CUDA counts them: the first, unless ``using`` says otherwise.

    Raises
    ------
    DeviceError
        Without CuPy, without a driver that fits it, without a device, or with one that is too old, or has failed.
    """
    if not _devices:
        _count()
    number = int(cupy().cuda.runtime.getDevice())
    if number in _lost:
        raise DeviceError(_lost[number], hint="Use another device, or restart the process.", code="DeviceFailed")
    if number not in _devices:
        properties = properties_of(number)
        if properties.capability < _LEAST_CAPABILITY:
            raise DeviceError(
                f"The GPU {properties.name} has compute capability {_decimal(properties.capability)}; "
                f"{_decimal(_LEAST_CAPABILITY)} or more is needed.",
                hint='Use device="cpu".',
                code="OldDevice",
            )
        _devices.setdefault(number, Device(**asdict(properties), number=number))
    return _devices[number]


def _count() -> int:
    """Return how many devices there are; errors as of ``device``."""
    runtime = cupy().cuda.runtime
    try:
        count = int(runtime.getDeviceCount())
    except runtime.CUDARuntimeError as error:
        if not _has_driver():
            raise _no_driver() from None
        if error.status in _NO_DRIVER:
            driver, made_for = map(_version, (runtime.driverGetVersion(), runtime.runtimeGetVersion()))
            raise DeviceError(
                f"The CUDA driver, {driver}, is too old for the installed CuPy, which is made for CUDA {made_for}.",
                hint=f"Update NVIDIA's driver, or run {INSTALL}.",
                code="NoDriver",
            ) from None
        raise DeviceError(f"The GPU can't be used: {error}.", hint='Use device="cpu".', code="NoDevice") from None
    if not count:
        raise DeviceError("There is no CUDA device.", hint='Use device="cpu", or leave it at "auto".', code="NoDevice")
    return count


def usable(asked: Sequence[int] = ()) -> tuple[int, ...]:
    """Return the numbers of the devices that a query may use: those that are asked for, else all that can be used.

    Raises
    ------
    DeviceError
        If one that is asked for isn't there, or can't be used; if none can. As ``device``.
    """
    count = _count()
    unknown = next((number for number in asked if number >= count), None)
    if unknown is not None:
        raise DeviceError(f"There is no GPU {unknown}.", hint=found_devices(), code="NoDevice")
    found, failed = [], None
    for number in asked or range(count):
        try:
            with using(number):
                found.append(device().number)
        except DeviceError as error:
            failed = error
            if asked:
                raise
    if failed is not None and not found:
        raise failed
    return tuple(found)


def found_devices() -> str:
    """Say which devices there are, for the hint of an error."""
    try:
        names = [f'"gpu:{number}" ({properties_of(number).name})' for number in range(_count())]
    except DeviceError as error:
        return f"No GPU can be used here: {error.message}"
    return f"There {'is' if len(names) == 1 else 'are'} {', '.join(names)}."


@contextmanager
def using(number: int) -> Iterator[None]:
    """Let a device be the current one of this thread in a block. Never around a ``yield`` of rows."""
    with cupy().cuda.Device(number):
        yield


@contextmanager
def guarded(number: int) -> Iterator[None]:
    """Let a device be the current one of this thread in a block, as ``using``.

    Raises
    ------
    DeviceError
        Where CUDA fails there.
    """
    with using(number):
        try:
            cupy().cuda.runtime.free(0)  # a new thread has no context, which the driver's calls want, before this
            yield
        except _cuda_errors() as error:
            raise _failed(number, error) from None


@functools.cache
def _cuda_errors() -> tuple[type[BaseException], ...]:
    cuda = cupy().cuda
    return cuda.runtime.CUDARuntimeError, cuda.driver.CUDADriverError


def _failed(number: int, error: BaseException) -> DeviceError:
    """Return what to raise where CUDA fails on a device, which counts as lost from then on if it stays so.

    After errors of kernels, and of the device itself, every call fails until the process ends; others, as of a launch
    with wrong arguments, pass.
    """
    message = f"GPU {number} has failed: {error}"
    try:
        with using(number):
            cupy().cuda.runtime.deviceSynchronize()
    except Exception:  # whatever it is by now
        _lost[number] = message
    return DeviceError(message, hint="Run the query again: other devices can still be used.", code="DeviceFailed")


def properties_of(number: int) -> DeviceProperties:
    """Return the properties of a device: all that the rest of the engine knows of it. Tests take a smaller one's."""
    found = cupy().cuda.runtime.getDeviceProperties(number)
    capability = found["major"] * 10 + found["minor"]
    return DeviceProperties(
        name=found["name"].decode(),
        capability=capability,
        instructions=capability,
        multiprocessors=found["multiProcessorCount"],
        threads_each=found["maxThreadsPerMultiProcessor"],
        shared_bytes=found["sharedMemPerBlockOptin"],
        shared_bytes_each=found["sharedMemPerMultiprocessor"],
        reserved_bytes=found["reservedSharedMemPerBlock"],
        memory_bytes=found["totalGlobalMem"],
    )


@functools.cache
def _has_driver() -> bool:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def _no_driver() -> DeviceError:
    return DeviceError("There is no CUDA driver.", hint="Install NVIDIA's driver.", code="NoDriver")


@functools.cache
def _driver_missing() -> DeviceError:
    """Return the same error each time, to be read and not raised: each query that may run on a GPU asks for it."""
    return _no_driver()


def _decimal(capability: int) -> str:
    return f"{capability // 10}.{capability % 10}"


def _version(number: int) -> str:
    """Return CUDA's number of a version, 12040, as people write it: 12.4."""
    return f"{number // 1000}.{number % 1000 // 10}"


def missing() -> DeviceError | None:
    """Return why there is no usable device, None where there is one. Without a driver CuPy isn't even imported."""
    if not _has_driver():
        return _driver_missing()
    try:
        usable()
    except DeviceError as error:
        return error
    return None
