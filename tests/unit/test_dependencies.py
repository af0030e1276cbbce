"""What the package imports is what it declares, no more and no less."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

from qengine.exec.gpu.nvrtc import INSTALL

CHECKOUT = Path(__file__).resolve().parents[2]
OPTIONAL = {
    "pandas",
    "polars",
    "cupy",
    "cuda",
    "matplotlib",
    "IPython",
    "anywidget",
    "ipywidgets",
    "traitlets",
    "ray",
    "pyspark",
    "duckdb",
    "fsspec",
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


def test_what_errors_say_to_install_is_what_the_extras_bring() -> None:
    extras = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    named = [re.findall(r"[\w-]+", part) for part in INSTALL.split("CUDA 12:")]
    for words, extra in zip(named, ("cuda13", "cuda12"), strict=True):
        assert {re.split(r"[<>=]", each)[0] for each in extras[extra]} <= set(words)


def test_nothing_says_to_install_a_project_that_no_index_has() -> None:
    texts = [*(CHECKOUT / "qengine").rglob("*.py"), *CHECKOUT.glob("*.md"), *(CHECKOUT / "tests").rglob("*.md")]
    assert [path for path in texts if "qengine-graph[" in path.read_text(encoding="utf-8")] == []
