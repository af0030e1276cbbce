"""Malformed files and tables are refused with clean errors: no crash, no hang, no memory beyond a limit."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_HANGS = 1200  # seconds that no machine takes


def run(seed: int, count: int) -> tuple[int, int]:
    """Load cases in another process; return how many loaded, and how many were refused."""
    child = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-m", "tests.fuzz.malformed", str(seed), "0", str(count)],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=_HANGS,
    )  # fmt: skip
    assert child.returncode == 0, f"seed {seed} crashed: {child.stderr[-3000:]}"
    loaded, refused, failed = map(int, re.findall(r"\d+", child.stdout.splitlines()[-1]))
    assert failed == 0, child.stdout[:5000]
    return loaded, refused


@pytest.mark.parametrize(
    ("seed", "count"),
    [
        (0, 140),
        pytest.param(1, 1_400, marks=pytest.mark.nets),
        pytest.param(2, 10_000, marks=pytest.mark.slow),
    ],
)
def test_malformed_input_is_refused(seed, count):
    loaded, refused = run(seed, count)
    assert loaded > count // 20 and refused > count // 2
