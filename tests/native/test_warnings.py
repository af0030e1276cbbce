"""The host kernels compile without a warning: with Clang here, with GCC in every build of ``.ci/run`` (``-Werror``)."""

from __future__ import annotations

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytestmark = pytest.mark.nets

KERNELS = Path(__file__).resolve().parents[2] / "kernels"
FLAGS = ("-std=c++17", "-Wall", "-Wextra", "-Werror", "-O1", "-fPIC", "-c")


def clang() -> list[str]:
    """Return the command of a Clang: the system's, or the one in the package ``ziglang``."""
    return ["clang++"] if shutil.which("clang++") else [sys.executable, "-m", "ziglang", "c++"]


def test_clang_has_no_warning(tmp_path: Path) -> None:
    def warnings(source: Path) -> str:
        command = [*clang(), *FLAGS, f"-I{KERNELS / 'include'}", f"-I{KERNELS / 'host'}"]
        command += [str(source), "-o", str(tmp_path / f"{source.stem}.o")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr if done.returncode else ""

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(warnings, sorted((KERNELS / "host").glob("*/*.cpp"))))
    assert len(found) > 50
    assert "".join(found) == ""
