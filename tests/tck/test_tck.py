"""Conformance: the open part of the openCypher TCK."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from qengine.testing.data import shared_root

ADAPTER = Path(__file__).parent / "adapter.py"
CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.mark.shared_data
@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_scenarios(device: str, tmp_path: Path) -> None:
    root = shared_root()
    assert root is not None
    out = tmp_path / "tck.json"
    options = ["--errors", "detail", "--timeout", "20", "--json", str(out)]
    command = [sys.executable, str(root / "tck" / "tck_runner.py"), "--adapter", str(ADAPTER), *options]
    subprocess.run(
        [*command, "--adapter-args", json.dumps({"device": device})],
        check=True,
        capture_output=True,
        env={"PYTHONPATH": str(CHECKOUT), "PATH": "/usr/bin:/bin"},
    )
    found = json.loads(out.read_text())["results"]
    missed = [(each["id"], each["status"], each["detail"]) for each in found if each["status"] != "pass"]
    assert not missed, missed[:10]
