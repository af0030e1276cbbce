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
_HEADER = CHECKOUT / "tests" / "emulator" / "on_host.h"

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
    # The header is half of what there is to read; it knows no kernel's macros but this one.
    known = (*_FLAGS, *(flag for flag in given if flag.startswith("-D__shared__")))
    read = _made("{key}/" + f"{_HEADER.name}.gch", ("-x", "c++-header", str(_HEADER)), known, "")
    return ctypes.CDLL(str(_made("{key}.so", (f"-I{read.parent}", "-x", "c++", "-"), flags, source)))


def _made(name: str, input_: Sequence[str], flags: Sequence[str], source: str) -> Path:
    """Return a file that the compiler has made; who comes first has it made."""
    key = hashlib.sha256("\n".join((_digest_of_sources(), _compiler(), *flags, source)).encode()).hexdigest()[:32]
    target = _KEPT / name.format(key=key)
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with (_KEPT / f"{key}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not target.exists():
                _compile(input_, flags, source, target)
    return target


def _compile(input_: Sequence[str], flags: Sequence[str], source: str, target: Path) -> None:
    made = target.with_suffix(f".{os.getpid()}")
    command = ["g++", *flags, "-o", str(made), *input_, *(f"-I{folder}" for folder in _FOLDERS)]
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
