"""The tests of the host kernels pass in a build that stops at invalid reads and writes and at undefined behaviour.

The library is built with AddressSanitizer and UndefinedBehaviorSanitizer below ``build/``; the tests run in a process
into which the sanitizer is loaded first. Leaks aren't looked for: Python keeps much until it ends.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

pytestmark = pytest.mark.nets

CHECKOUT = Path(__file__).resolve().parents[2]
BUILD = CHECKOUT / "build" / "nets" / "sanitizers"  # deeper than the loader looks for libraries
FLAGS = "-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g1"
OTHERS = (
    *("gpu", "regular_expressions", "temporal", "exported_values", "cpu_expressions", "expressions_over_items"),
    *("constraints", "crash_points", "commit_encoding", "formats", "fulltext", "quotients", "read_together"),
)
"""What files of properties have in their names that run no host kernel."""

PROPERTIES = [
    path
    for path in sorted((CHECKOUT / "tests/property").glob("test_*.py"))
    if not any(word in path.name for word in OTHERS)
]
SUITES = {  # a third of the properties' cases: all run without sanitizers
    "properties of kernels": ["--every=3", *PROPERTIES[::2]],
    "more properties of kernels": ["--every=3", *PROPERTIES[1::2]],
    "kernels": [
        "tests/unit/test_set_operations.py",
        "tests/unit/test_walk_kernel.py",
        "tests/unit/test_search_limits.py",
    ],
    "saved graphs": ["tests/unit/test_storage_saved.py", "tests/fuzz/test_saved_graphs_fuzz.py"],
    "loading": [
        "tests/unit/test_csv_types.py",
        "tests/unit/test_storage_files.py",
        "tests/unit/test_storage_successor.py",
    ],
    "joins": ["tests/differential/test_joins.py"],
}


def _runtime(name: str) -> str:
    """Return where GCC has one of its libraries."""
    found = subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout
    if not Path(found.strip()).is_absolute():
        pytest.skip(f"this GCC has no {name}")
    return found.strip()


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    """The environment of a process that runs on the sanitized library."""
    tools = {**os.environ, "PATH": os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])}
    tools.pop("CXXFLAGS", None)  # instrumented code has warnings that plain code hasn't
    options = ["-G", "Ninja", f"-DCMAKE_CXX_FLAGS={FLAGS}", "-DCMAKE_CXX_FLAGS_RELEASE=-O1"]
    BUILD.mkdir(parents=True, exist_ok=True)
    with open(BUILD / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another worker may build it, too
        for command in (["cmake", "-S", CHECKOUT / "kernels", "-B", BUILD, *options], ["cmake", "--build", BUILD]):
            done = subprocess.run(command, env=tools, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
    # The C++ library comes along: the sanitizer looks for its functions when it is loaded.
    return {
        **os.environ,
        "LD_PRELOAD": f"{_runtime('libasan.so')}:{_runtime('libstdc++.so')}",
        "ASAN_OPTIONS": "detect_leaks=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "QENGINE_LIBRARY": str(BUILD / "libqengine_host.so"),
    }


@pytest.mark.parametrize("suite", SUITES)
def test_no_invalid_access_and_no_undefined_behaviour(suite: str, environment: dict[str, str]) -> None:
    # Rows of the GPU's kernels are compiled for the emulator, which isn't what is looked at here.
    pytest_ = [sys.executable, "-m", "pytest", "-q", "-x", "-s", "-p", "no:cacheprovider", "-k", "not gpu"]
    done = subprocess.run(
        [*pytest_, *map(str, SUITES[suite])], cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-12000:]}"
