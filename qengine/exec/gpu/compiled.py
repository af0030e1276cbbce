"""Compiles families of kernels, and keeps what was compiled on disk; what came with the package isn't compiled.

The name of a file says all that a binary depends on: the sources, options, architecture and compiler. It begins with a
checksum of its name and content: what is damaged, or was kept under another name, is compiled anew.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as StillCompiling
from pathlib import Path
from typing import Any

from qengine import _assets, _cache
from qengine.exec.gpu import nvrtc, ready

_THREADS = 4
_CHECK_SECONDS = 0.005

_under_way: dict[tuple[Any, ...], Future[bytes]] = {}
_lock = threading.Lock()


def compile_ahead(family: str, architecture: int, macros: Mapping[str, int | str], preface: str = "") -> None:
    """Begin to compile a family that is asked for soon, beside others."""
    if not is_compiled(family, architecture, macros, preface):
        _begun(family, architecture, macros, preface)


def compiled_meanwhile(
    family: str, architecture: int, macros: Mapping[str, int | str], preface: str, check: Callable[[], None]
) -> bytes:
    """Return the binary of a family as ``compiled`` does, and call ``check`` every few milliseconds meanwhile.

    Where ``check`` raises, compiling goes on: the next who asks for the same waits for what is left, or finds it kept.
    Errors as of ``compiled``.
    """
    if is_compiled(family, architecture, macros, preface):
        return compiled(family, architecture, macros, preface)
    future = _begun(family, architecture, macros, preface)
    while True:
        try:
            return future.result(_CHECK_SECONDS)
        except StillCompiling:
            check()


def _begun(family: str, architecture: int, macros: Mapping[str, int | str], preface: str) -> Future[bytes]:
    """Return what compiles a family, which is begun unless it is under way."""
    key = (family, architecture, *sorted(macros.items()), preface)
    with _lock:
        future = _under_way.get(key)
        if future is None:
            if sys.stderr.isatty():
                print(
                    f"compiling the GPU kernels {family!r} (once; qengine warmup does it beforehand)", file=sys.stderr
                )
            future = _under_way[key] = _compiler().submit(compiled, family, architecture, dict(macros), preface)
            future.add_done_callback(lambda _: _under_way.pop(key, None))
    return future


@functools.cache
def _compiler() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_THREADS, "qengine-nvrtc")


_OPTIONS = ("--std=c++17", "--device-as-default-execution-space", "-diag-suppress=177")
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
    """Return the binary of a family: the package's, or one that an earlier process or this one has compiled.

    Parameters and errors as above.
    """
    if not preface and (found := ready.binary(architecture, ready.variant_name(family, macros or {}), made_of())):
        return found
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
    if not preface and ready.is_ready(architecture, ready.variant_name(family, macros or {}), made_of()):
        return True
    file = _cached_file(family, architecture, macros or {}, preface)
    return file is not None and _cache.has(file)


def made_of() -> tuple[str, int]:
    """Return what binaries that come with the package must be made of: a driver runs those of its own major version."""
    return _sources_digest(), nvrtc.version()[0]


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
