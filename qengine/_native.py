"""Loads the library of host kernels, and refuses one that doesn't fit the Python beside it.

What is called and what it is given are declared beside the users, in one notation: types are ``p`` for an address,
``i4``, ``u8``, ``f8`` and so on as NumPy's, ``c`` for a character; ``u4*`` is an array of them. The library's functions
return a status (``qe/abi.h``); ``ExecutionContext.raise_for`` turns it into an exception.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from qengine import _assets
from qengine.errors import InternalError, QengineError

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


_TYPES: dict[str, Any] = {
    "p": ctypes.c_void_p, "c": ctypes.c_char, "none": None, "u1": ctypes.c_uint8, "f8": ctypes.c_double,
    "i4": ctypes.c_int32, "u4": ctypes.c_uint32, "i8": ctypes.c_int64, "u8": ctypes.c_uint64,
}  # fmt: skip


def declared(text: str) -> Callable[[], ctypes.CDLL]:
    """Return what loads the library, and says of some of its functions what they take.

    ``text``: ``name type type …`` of each, parted by semicolons; ``-> type`` at the end of one that gives no status.
    """

    @functools.cache
    def library() -> ctypes.CDLL:
        found = load()
        for each in text.split(";"):
            (name, *types), _, result = (part.split() for part in each.partition("->"))
            function = getattr(found, name)
            function.argtypes, function.restype = [_argument(one) for one in types], _TYPES[(*result, "i4")[0]]
        return found

    return library


def _argument(kind: str) -> Any:
    return _Elements(kind[:-1]) if kind.endswith("*") else _TYPES[kind]


class _Elements:
    """The type of an argument that is an array, of which the function gets the address; None for no array."""

    def __init__(self, kind: str) -> None:
        self._kind = np.dtype(kind)

    def from_param(self, array: npt.NDArray[Any] | None) -> ctypes.c_void_p:
        """Return what a function gets, as ctypes asks for it."""
        return ctypes.c_void_p(None if array is None else address(array, self._kind))


def address(array: npt.NDArray[Any], kind: npt.DTypeLike) -> int | None:
    """Return where an array's elements of dtype ``kind`` are, for a kernel; None where it has none."""
    if array.dtype != kind or not array.flags.c_contiguous:
        raise InternalError(f"a kernel got {array.dtype} (contiguous: {array.flags.c_contiguous}) for {np.dtype(kind)}")
    return int(pa.py_buffer(array).address) if array.size else None


@functools.lru_cache(256)
def array_of(item: Any, length: int) -> Any:
    """Return the type of ctypes' arrays of so many items, and keep it.

    ``item * length`` makes a type anew whenever no array of it is left, and each is cyclic garbage behind it.
    """
    return item * length


def struct(name: str, text: str, **structs: Any) -> type[ctypes.Structure]:
    """Return a ``ctypes.Structure``, the mirror of one that is called so in the library.

    ``text``: ``type name name …``, parted by semicolons; a type is followed by ``[n]`` where a field has n of them.
    ``structs``: types of other names.
    """
    types = {**_TYPES, **structs}
    fields = [(each, types[kind] * shape[0] if shape else types[kind]) for each, kind, shape in _members(text)]

    class Mirror(ctypes.Structure):
        _fields_ = fields

    Mirror.__name__ = name.rpartition(":")[2]
    return Mirror


def record(text: str, **records: npt.DTypeLike) -> np.dtype[Any]:
    """Return the dtype of records that a kernel reads or writes, declared as a ``struct``; ``p`` is an address."""
    types = {"p": "<u8", **records}
    return np.dtype([(name, types.get(kind, f"<{kind}"), shape) for name, kind, shape in _members(text)])


def _members(text: str) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    """Yield the names of fields with their types, and how many values each has in which dimensions."""
    for part in text.split(";"):
        kind, *names = part.split()
        kind, _, shape = kind.removesuffix("]").partition("[")
        for name in names:
            yield name, kind, tuple(map(int, shape.split(","))) if shape else ()
