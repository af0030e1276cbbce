"""The host kernels compile without a warning: with Clang here, with GCC in every build of ``.ci/run`` (``-Werror``).

For other platforms they are read by the compiler of the package ``ziglang``, which brings the systems' headers.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytestmark = pytest.mark.nets

KERNELS = Path(__file__).resolve().parents[2] / "kernels"
FLAGS = ("-std=c++17", "-Wall", "-Wextra", "-Werror", "-fPIC")
UNOPTIMIZED = ("-O0", "-emit-llvm", "-Xclang", "-disable-llvm-passes")
"""Clang's warnings are its front-end's, which it asks for no machine code."""

SOURCES = sorted((KERNELS / "host").glob("*/*.cpp"))
OWN_CODE = re.compile(r"__x86_64__|__attribute__|immintrin|__int128|pthread|deep_stack")  # of a platform or compiler


def clang() -> list[str]:
    """Return the command of a Clang: the system's, or the one in the package ``ziglang``."""
    return ["clang++"] if shutil.which("clang++") else [sys.executable, "-m", "ziglang", "c++"]


def warnings(compiler: list[str], sources: list[Path], folder: Path) -> str:
    """Return what a compiler says of sources; ``folder``: where it writes."""

    def said(source: Path) -> str:
        include = (f"-I{KERNELS / 'include'}", f"-I{KERNELS / 'host'}")
        command = [*compiler, *FLAGS, *include, "-c", str(source), "-o", str(folder / f"{source.stem}.o")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr if done.returncode else ""

    with ThreadPoolExecutor(2) as pool:
        return "".join(pool.map(said, sources))


def test_clang_has_no_warning(tmp_path: Path) -> None:
    assert len(SOURCES) > 50
    assert warnings([*clang(), *UNOPTIMIZED], SOURCES, tmp_path) == ""


@pytest.mark.parametrize("target", ["aarch64-linux-gnu", "aarch64-macos", "x86_64-windows-gnu"])
def test_other_platforms_have_no_warning(target: str, tmp_path: Path) -> None:
    """The sources in which platforms differ are compiled for others."""
    pytest.importorskip("ziglang")
    own = [each for each in SOURCES if OWN_CODE.search(each.read_text(encoding="utf-8"))]
    assert len(own) > 5
    assert warnings([sys.executable, "-m", "ziglang", "c++", "-target", target, *UNOPTIMIZED], own, tmp_path) == ""
