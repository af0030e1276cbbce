"""Loads the library of host kernels, and refuses one that doesn't fit the Python beside it.

Signatures are declared beside their users: ``native.load().qe_name.argtypes = …``. Functions of the library
return a status (``qe/abi.h``); ``ExecutionContext.raise_for`` turns it into an exception.
"""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path

from qengine import _assets
from qengine.errors import QengineError

ABI_VERSION = 1
_BUILD = "cmake -S kernels -B build -G Ninja -DCMAKE_BUILD_TYPE=Release && cmake --build build"


@functools.cache
def load() -> ctypes.CDLL:
    """Return the library, loaded once a process.

    Raises
    ------
    QengineError
        If there is none, or each one found has another interface or was built from other sources. The hint
        is the command that builds it.
    """
    expected = _assets.source_hash()
    refused: list[str] = []
    for path in _assets.library_candidates():
        library, reason = _try(path, expected)
        if library is not None:
            return library
        refused.append(f"{path}: {reason}")
    what = "; ".join(refused) if refused else "it has not been built"
    where = _assets.checkout()
    hint = f"in {where} run: {_BUILD}" if where else "reinstall the package qengine-graph"
    raise QengineError(f"The native library of qengine can't be used: {what}.", hint=hint, code="NativeLibrary")


def _try(path: Path, expected: str | None) -> tuple[ctypes.CDLL | None, str]:
    """Open one library; the reason says why it isn't used."""
    try:
        library = ctypes.CDLL(str(path))
        library.qe_abi_version.restype = ctypes.c_int32
        library.qe_source_hash.restype = ctypes.c_char_p
        version = library.qe_abi_version()
        built_from = library.qe_source_hash().decode()
    except (OSError, AttributeError) as error:
        return None, str(error)
    if version != ABI_VERSION:
        return None, f"its interface has version {version}, not {ABI_VERSION}"
    if expected is not None and built_from != expected:
        return None, "it was built from other sources than this checkout's"
    return library, ""
