"""NVRTC, the compiler of CUDA code, called through ctypes: it needs neither CuPy nor a GPU."""

from __future__ import annotations

import ctypes
import functools
import logging
from collections.abc import Sequence

from qengine.errors import DeviceError, InternalError

_log = logging.getLogger(__name__)

INSTALL = (
    "pip install cupy-cuda13x nvidia-cuda-nvrtc cuda-pathfinder "
    "(for a driver of CUDA 12: cupy-cuda12x nvidia-cuda-nvrtc-cu12 cuda-pathfinder)"
)
"""What to run where a package for the GPU is missing; the extras of pyproject.toml name the same."""


def compile_program(source: str, name: str, architecture: int, options: Sequence[str]) -> bytes:
    """Compile CUDA code for one architecture. The compiler's warnings go to this module's logger, at level INFO.

    Parameters
    ----------
    source
        The text of one translation unit.
    name
        What messages call it.
    architecture
        Compute capability as major * 10 + minor, for example 90.
    options
        Further options of NVRTC.

    Returns
    -------
    bytes
        A cubin; for an architecture newer than the compiler PTX, which the driver compiles.

    Raises
    ------
    DeviceError
        If there is no NVRTC.
    InternalError
        If the code has errors; the message holds the compiler's log.
    """
    library = _library()
    known = supported_architectures()
    exact = architecture in known
    target = architecture if exact else max((one for one in known if one < architecture), default=architecture)
    arguments = [f"--gpu-architecture={'sm' if exact else 'compute'}_{target}", *options]
    program = ctypes.c_void_p()
    _check(library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), name.encode(), 0, None, None))
    try:
        encoded = (ctypes.c_char_p * len(arguments))(*(each.encode() for each in arguments))
        status = library.nvrtcCompileProgram(program, len(arguments), encoded)
        log = _take(program, library.nvrtcGetProgramLogSize, library.nvrtcGetProgramLog).decode(errors="replace")
        log = log.strip("\0\n")
        if status:
            raise InternalError(f"{name} doesn't compile for sm_{architecture}: {log}", code="Nvrtc")
        if log:
            _log.info("%s for sm_%d: %s", name, architecture, log)
        if exact:
            return _take(program, library.nvrtcGetCUBINSize, library.nvrtcGetCUBIN)
        return _take(program, library.nvrtcGetPTXSize, library.nvrtcGetPTX)
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


@functools.cache
def supported_architectures() -> tuple[int, ...]:
    """Return the compute capabilities that the compiler makes machine code for, ascending."""
    library = _library()
    n = ctypes.c_int()
    _check(library.nvrtcGetNumSupportedArchs(ctypes.byref(n)))
    found = (ctypes.c_int * n.value)()
    _check(library.nvrtcGetSupportedArchs(found))
    return tuple(sorted(found))


@functools.cache
def version() -> tuple[int, int]:
    """Return the compiler's version.

    Raises
    ------
    DeviceError
        If there is no NVRTC.
    """
    major, minor = ctypes.c_int(), ctypes.c_int()
    _check(_library().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
    return major.value, minor.value


def _take(program: ctypes.c_void_p, size_of: ctypes._FuncPointer, copy: ctypes._FuncPointer) -> bytes:
    """Return one of a program's texts or binaries."""
    size = ctypes.c_size_t()
    _check(size_of(program, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    _check(copy(program, buffer))
    return buffer.raw


def _check(status: int) -> None:
    if status:
        raise InternalError(f"NVRTC failed with status {status}.", code="Nvrtc")


@functools.cache
def _library() -> ctypes.CDLL:
    try:
        from cuda import pathfinder
    except ImportError:
        raise DeviceError("The CUDA compiler NVRTC is missing.", hint=f"Run {INSTALL}.", code="NoNvrtc") from None
    try:
        path = pathfinder.load_nvidia_dynamic_lib("nvrtc").abs_path
    except pathfinder.DynamicLibNotFoundError:
        raise DeviceError("The CUDA compiler NVRTC can't be found.", hint=f"Run {INSTALL}.", code="NoNvrtc") from None
    library = ctypes.CDLL(path)
    pointer, text = ctypes.c_void_p, ctypes.c_char_p
    library.nvrtcCreateProgram.argtypes = (pointer, text, text, ctypes.c_int, pointer, pointer)
    library.nvrtcCompileProgram.argtypes = (pointer, ctypes.c_int, pointer)
    for name in ("ProgramLog", "CUBIN", "PTX"):
        getattr(library, f"nvrtcGet{name}Size").argtypes = (pointer, pointer)
        getattr(library, f"nvrtcGet{name}").argtypes = (pointer, pointer)
    return library
