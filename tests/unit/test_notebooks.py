"""The example notebooks run from top to bottom, show what they promise, and are kept without outputs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("IPython")

from IPython.core.interactiveshell import InteractiveShell

from qengine import Result

CHECKOUT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((CHECKOUT / "examples" / "notebooks").glob("*.ipynb"))
PICTURES = {
    "fraud_rings": 3,
    "knowledge_graph": 2,
    "motif_statistics": 1,
    "recommendations": 1,
    "subgraph_estimates": 1,
}
"""How many results of a notebook are drawn, profiles included."""


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])  # which the shell replaces
    found = InteractiveShell.instance()
    found.history_manager.enabled = False
    yield found
    found.run_line_magic("unload_ext", "qengine")
    found.reset()
    found.history_manager.end_session()
    InteractiveShell.clear_instance()


def held(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def test_there_are_these() -> None:
    assert [path.stem for path in NOTEBOOKS] == sorted(PICTURES)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_not_kept(path: Path) -> None:
    notebook = held(path)
    assert notebook["nbformat"] == 4 and notebook["metadata"]["kernelspec"]["name"] == "python3"
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    for cell in notebook["cells"]:
        assert cell["source"] and cell.get("outputs", []) == [] and cell.get("execution_count") is None


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_and_shows_pictures(path: Path, shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    drawn = 0
    for cell in held(path)["cells"]:
        if cell["cell_type"] == "code":
            done = shell.run_cell("".join(cell["source"]))
            assert done.success, (cell["source"], capsys.readouterr().out)
            if isinstance(done.result, Result):
                assert not done.result.notices, done.result.notices
                drawn += done.result.to_svg() is not None
    assert drawn == PICTURES[path.stem]
