"""The host kernels compile without a warning: with Clang here, with GCC in every build of ``.ci/run`` (``-Werror``).

For other platforms they are read by the compiler of the package ``ziglang``, which brings the systems' headers.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytestmark = pytest.mark.nets

KERNELS = Path(__file__).resolve().parents[2] / "kernels"
FLAGS = ("-std=c++17", "-Wall", "-Wextra", "-Werror", "-fPIC")
ONLY_READ = ("-fsyntax-only", "-Wno-unused-command-line-argument")  # zig adds one itself


def clang() -> list[str]:
    """Return the command of a Clang: the system's, or the one in the package ``ziglang``."""
    return ["clang++"] if shutil.which("clang++") else [sys.executable, "-m", "ziglang", "c++"]


def warnings(compiler: list[str], *flags: str) -> str:
    """Return what a compiler says of all sources."""

    def said(source: Path) -> str:
        command = [*compiler, *FLAGS, *flags, f"-I{KERNELS / 'include'}", f"-I{KERNELS / 'host'}", str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr if done.returncode else ""

    sources = sorted((KERNELS / "host").glob("*/*.cpp"))
    assert len(sources) > 50
    with ThreadPoolExecutor(2) as pool:
        return "".join(pool.map(said, sources))


def test_clang_has_no_warning() -> None:
    assert warnings(clang(), "-O1", "-c", "-o", os.devnull) == ""


@pytest.mark.parametrize("target", ["aarch64-linux-gnu", "aarch64-macos", "x86_64-windows-gnu"])
def test_other_platforms_have_no_warning(target: str) -> None:
    pytest.importorskip("ziglang")
    assert warnings([sys.executable, "-m", "ziglang", "c++", "-target", target], *ONLY_READ) == ""
