"""Kernels compiled for the host, once for all processes and runs: in ``build/emulated``, by what they are made of."""

from __future__ import annotations

import ctypes
import fcntl
import functools
import hashlib
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
_FOLDERS = tuple(CHECKOUT / each for each in ("kernels/include", "kernels/cuda", "tests/emulator"))
_KEPT = CHECKOUT / "build" / "emulated"

_FLAGS = (
    *("-std=c++17", "-O1", "-shared", "-fPIC", "-pthread", "-fsanitize-coverage=trace-pc"),
    *("-DQE_LOOK_EVERY=32", "-DQE_LOOK_ENTRIES=128", "-DQE_LOOK_CYCLES=0"),  # every call looks
    "-DQE_SHARE_EVERY=1",
)
"""What they do between two looks at the stop flag is counted."""


def compiled(source: str, architecture: int | str, given: Sequence[str] = ()) -> ctypes.CDLL:
    """Return a library of C++ source that includes kernels.

    Parameters
    ----------
    architecture
        The one whose instructions kernels use, times 10.
    given
        More of the compiler's arguments.
    """
    flags = (*_FLAGS, f"-DQE_ARCHITECTURE={architecture}", *given)
    key = hashlib.sha256("\n".join((_digest_of_sources(), _compiler(), *flags, source)).encode()).hexdigest()
    target = _KEPT / f"{key[:32]}.so"
    if not target.exists():
        _KEPT.mkdir(parents=True, exist_ok=True)
        with (_KEPT / f"{key[:32]}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not target.exists():
                _compile(source, flags, target)
    return ctypes.CDLL(str(target))


def _compile(source: str, flags: Sequence[str], target: Path) -> None:
    made = target.with_suffix(f".{os.getpid()}")
    command = ["g++", *flags, *(f"-I{folder}" for folder in _FOLDERS), "-o", str(made), "-x", "c++", "-"]
    done = subprocess.run(command, check=False, input=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    made.rename(target)


@functools.cache
def _digest_of_sources() -> str:
    files = sorted(
        path for folder in _FOLDERS for path in folder.rglob("*") if path.suffix in {".cu", ".cuh", ".h", ".cpp"}
    )
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()


@functools.cache
def _compiler() -> str:
    return subprocess.run(["g++", "--version"], check=True, capture_output=True, text=True).stdout
