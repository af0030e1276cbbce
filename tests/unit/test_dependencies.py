"""What the package imports is what it declares, no more and no less."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
OPTIONAL = {
    "pandas",
    "polars",
    "cupy",
    "cuda",
    "matplotlib",
}  # the user's, or an extra's: imported where they are asked for


def test_declared_dependencies_are_those_imported() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {re.split(r"[<>=\[ ]", each)[0] for each in project["dependencies"]}
    imported = set()
    for path in (CHECKOUT / "qengine").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                imported.add(node.module.partition(".")[0])
    assert imported - set(sys.stdlib_module_names) - {"qengine"} - OPTIONAL == declared
