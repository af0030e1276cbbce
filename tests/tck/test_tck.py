"""Conformance: the open part of the openCypher TCK, read-only scenarios."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from qengine.testing.data import shared_root

ADAPTER = Path(__file__).parent / "adapter.py"
CHECKOUT = Path(__file__).resolve().parents[2]
PATTERN_CORE = (
    "clauses/match",
    "clauses/match-where",
    "expressions/existentialSubqueries",
    "expressions/path",
    "expressions/pattern",
    "useCases/",
)


@pytest.mark.shared_data
@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_read_only_scenarios(device: str, tmp_path: Path) -> None:
    root = shared_root()
    assert root is not None
    out = tmp_path / "tck.json"
    options = ["--read-only", "--errors", "type", "--timeout", "20", "--json", str(out)]
    command = [sys.executable, str(root / "tck" / "tck_runner.py"), "--adapter", str(ADAPTER), *options]
    subprocess.run(
        [*command, "--adapter-args", json.dumps({"device": device})],
        check=True,
        capture_output=True,
        env={"PYTHONPATH": str(CHECKOUT), "PATH": "/usr/bin:/bin"},
    )
    found = json.loads(out.read_text())["results"]
    scenarios = [each for each in found if each["kind"] == "result"]
    passed = [each for each in scenarios if each["status"] == "pass"]
    core = [each for each in scenarios if each["category"].startswith(PATTERN_CORE)]
    core_passed = [each for each in core if each["status"] == "pass"]
    wrong = [each for each in found if each["status"] in ("fail_result", "pass_but_columns", "fail_no_error", "crash")]
    assert not wrong, [(each["id"], each["detail"]) for each in wrong[:10]]
    assert len(passed) >= 0.6 * len(scenarios)
    assert len(core_passed) >= 0.9 * len(core)
