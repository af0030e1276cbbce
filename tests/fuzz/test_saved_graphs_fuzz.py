"""Corrupted saved graphs whose checksums are right: each is refused or answered; none crashes, hangs or miscounts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 600.0  # seconds without the next corruption before a child is taken to hang
CHILDREN = 2


@pytest.mark.parametrize(
    "corruptions",
    [150, pytest.param(5_000, marks=pytest.mark.nets), pytest.param(100_000, marks=pytest.mark.slow)],
)
def test_corrupted_graphs_are_refused_or_answered(corruptions: int) -> None:
    share = corruptions // CHILDREN
    children = [_Child(begin, begin + share) for begin in range(0, corruptions, share)]
    outcomes = [child.outcome() for child in children]
    for kind in ("refused", "refused by a query", "answered"):
        assert sum(outcome.get(kind, 0) for outcome in outcomes) > 0, kind


class _Child:
    """A process that tries corruptions, and the number of the one that it is at."""

    def __init__(self, first: int, last: int) -> None:
        command = [sys.executable, "-X", "faulthandler", "-m", "tests.fuzz.saved_corruptions", str(first), str(last)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed with the process)
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self._errors, text=True, cwd=ROOT, env=environment
        )
        self._lines = [""]
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines[0] = line

    def outcome(self) -> dict[str, int]:
        before = None
        while self._reader.is_alive():
            self._reader.join(PATIENCE)
            if self._reader.is_alive() and self._lines[0] == before:
                self._process.kill()
            before = self._lines[0]
        status = self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._errors.seek(0)
        errors = self._errors.read()
        self._errors.close()
        assert status == 0, f"corruption {self._lines[0]} ended with {status}: {errors[-3000:]}"
        found: dict[str, int] = json.loads(self._lines[0])
        return found
