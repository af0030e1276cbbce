"""Compiles families of kernels, and keeps what was compiled on disk.

The name of a file says all that a binary depends on: the sources, options, architecture and compiler. It begins with a
checksum of its name and content: what is damaged, or was kept under another name, is compiled anew.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from qengine import _assets, _cache
from qengine.exec.gpu import nvrtc

_OPTIONS = ("--std=c++17", "-lineinfo", "--device-as-default-execution-space", "-diag-suppress=177")
"""177: a function that one family doesn't use."""


def source_path(family: str) -> Path:
    """Return the source of a family: it stands in one of the folders of ``kernels/cuda``."""
    (path,) = _assets.asset("kernels", "cuda").glob(f"*/{family}.cu")
    return path


def compile_family(
    family: str, architecture: int, macros: Mapping[str, int | str] | None = None, preface: str = ""
) -> bytes:
    """Compile the source of a family and return the binary, without looking for one that is kept.

    Parameters
    ----------
    family
        A name of ``families.FAMILIES``.
    architecture
        Compute capability as major * 10 + minor.
    macros
        Macros by name: what makes the variant.
    preface
        Code to put before the family's.

    Raises
    ------
    DeviceError
        If there is no NVRTC.
    InternalError
        If the code has errors; the message holds the compiler's log.
    """
    path = source_path(family)
    include = [f"--include-path={_assets.asset('kernels', *parts)}" for parts in (("include",), ("cuda",))]
    given = [f"--define-macro={name}={value}" for name, value in sorted((macros or {}).items())]
    text = path.read_text()
    if preface:
        text = f'{preface}\n#line 1 "{path.name}"\n{text}'
    return nvrtc.compile_program(text, path.name, architecture, [*_OPTIONS, *include, *given])


def compiled(family: str, architecture: int, macros: Mapping[str, int | str] | None = None, preface: str = "") -> bytes:
    """Return the binary of a family, compiled now or by an earlier process. Parameters and errors as above."""
    file = _cached_file(family, architecture, macros or {}, preface)
    checksum, _, binary = ((_cache.read(file) if file else None) or b"").partition(b"\n")
    if file and checksum and checksum == _checksum(file, binary):
        return binary
    binary = compile_family(family, architecture, macros, preface)
    if file:
        _cache.write(file, _checksum(file, binary) + b"\n" + binary)
    return binary


def is_compiled(
    family: str, architecture: int, macros: Mapping[str, int | str] | None = None, preface: str = ""
) -> bool:
    """Tell whether ``compiled`` has nothing to compile, unless what is kept is damaged."""
    file = _cached_file(family, architecture, macros or {}, preface)
    return file is not None and _cache.has(file)


def _cached_file(family: str, architecture: int, macros: Mapping[str, int | str], preface: str) -> Path | None:
    """Return the file of a binary, None where there is no place for it."""
    folder = _cache.cache_folder()
    if folder is None:
        return None
    if not os.environ.get("QENGINE_CACHE_DIR"):
        folder /= "kernels"
    compiler = ".".join(map(str, nvrtc.version()))
    text = "\n".join(
        (_sources_digest(), compiler, *_OPTIONS, *(f"{k}={v}" for k, v in sorted(macros.items())), preface)
    )
    return folder / f"{family}-sm{architecture}-{hashlib.sha256(text.encode()).hexdigest()[:32]}.bin"


def _checksum(file: Path, binary: bytes) -> bytes:
    return hashlib.sha256(file.name.encode() + b"\n" + binary).hexdigest().encode()


@functools.cache
def _sources_digest() -> str:
    """Return a digest of all sources: families share headers."""
    digest = hashlib.sha256()
    folders = (_assets.asset("kernels", "include", "qe"), _assets.asset("kernels", "cuda"))
    for path in sorted(path for folder in folders for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{path.name}\n".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
