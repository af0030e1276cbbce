"""Compiles families of kernels, and keeps what was compiled on disk."""

from __future__ import annotations

import functools
import hashlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from qengine import _assets
from qengine.exec.gpu import nvrtc

__all__ = ["cache_folder", "compile_family", "compiled", "is_compiled"]

_OPTIONS = ("--std=c++17", "-lineinfo", "--device-as-default-execution-space", "-diag-suppress=177")
"""177: a function that one family doesn't use."""


def compile_family(
    family: str, architecture: int, macros: Mapping[str, int | str] | None = None, preface: str = ""
) -> bytes:
    """Compile ``kernels/cuda/<family>.cu`` and return the binary, without looking for one that is kept.

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
    path = _assets.asset("kernels", "cuda", f"{family}.cu")
    include = [f"--include-path={_assets.asset('kernels', *parts)}" for parts in (("include",), ("cuda",))]
    given = [f"--define-macro={name}={value}" for name, value in sorted((macros or {}).items())]
    text = path.read_text()
    if preface:
        text = f'{preface}\n#line 1 "{path.name}"\n{text}'
    return nvrtc.compile_program(text, path.name, architecture, [*_OPTIONS, *include, *given])


def compiled(family: str, architecture: int, macros: Mapping[str, int | str] | None = None, preface: str = "") -> bytes:
    """Return the binary of a family, compiled now or by an earlier process. Parameters and errors as above."""
    kept = _kept(family, architecture, macros or {}, preface)
    try:
        return kept.read_bytes()
    except OSError:
        pass
    binary = compile_family(family, architecture, macros, preface)
    try:  # a cache that can't be written costs time, not the query
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=kept.parent, delete=False) as file:
            file.write(binary)
        os.replace(file.name, kept)
    except OSError:
        pass
    return binary


def is_compiled(
    family: str, architecture: int, macros: Mapping[str, int | str] | None = None, preface: str = ""
) -> bool:
    """Tell whether ``compiled`` has nothing to compile."""
    return _kept(family, architecture, macros or {}, preface).is_file()


def cache_folder() -> Path:
    """Return where compiled kernels are kept: ``QENGINE_CACHE_DIR``, else the user's cache folder."""
    if override := os.environ.get("QENGINE_CACHE_DIR"):
        return Path(override)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "qengine" / "kernels"


def _kept(family: str, architecture: int, macros: Mapping[str, int | str], preface: str) -> Path:
    """Return the file of a binary; its name says everything that the binary depends on."""
    compiler = ".".join(map(str, nvrtc.version()))
    text = "\n".join(
        (_sources_digest(), compiler, *_OPTIONS, *(f"{k}={v}" for k, v in sorted(macros.items())), preface)
    )
    return cache_folder() / f"{family}-sm{architecture}-{hashlib.sha256(text.encode()).hexdigest()[:32]}.bin"


@functools.cache
def _sources_digest() -> str:
    """Return a digest of all sources: families share headers."""
    digest = hashlib.sha256()
    folders = (_assets.asset("kernels", "include", "qe"), _assets.asset("kernels", "cuda"))
    for path in sorted(path for folder in folders for path in folder.iterdir()):
        digest.update(f"{path.name}\n".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
