"""A stage imports only what stands above it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "qengine"

# Each stage with the stages that it may import besides itself.
BASE = {
    "_frozen",
    "_printable",
    "_html",
    "errors",
    "_assets",
    "_cache",
    "_kept",
    "_recent",
    "_nearest",
    "_planning",
    "types",
    "temporal",
}
ALLOWED = {
    "_frozen": set(),
    "_collector": set(),
    "_printable": set(),
    "_html": {"_printable"},
    "errors": {"_frozen", "_printable"},
    "_notices": {"_printable", "errors"},
    "_assets": set(),
    "_cache": set(),
    "_kept": {"_cache"},
    "_recent": set(),
    "_nearest": set(),
    "_planning": {"errors"},
    "types": {"_frozen", "_printable", "_html", "errors"},
    "temporal": {"errors", "types"},
    "_native": BASE,
    "_control": set(),
    "catalog": BASE,
    "syntax": BASE,
    "plan": BASE | {"catalog"},
    "binder": BASE | {"catalog", "syntax", "plan"},
    "_limits": {"_control"},
    "storage": BASE | {"catalog", "plan", "_native", "_control", "_limits"},
    "optimizer": BASE | {"catalog", "plan", "_native"},
    "exec": BASE | {"catalog", "plan", "storage", "_native", "_control", "_limits"},
    "estimate": BASE | {"catalog", "plan", "storage", "_native", "_control", "_limits", "exec"},
}


def stage_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def imports(path: Path) -> list[tuple[int, str]]:
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.append((node.lineno, node.module))
            if node.module == "qengine":
                found += [(node.lineno, f"qengine.{alias.name}") for alias in node.names]
    return [(line, name) for line, name in found if name.startswith("qengine.")]


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_upward(path: Path) -> None:
    stage = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if stage not in ALLOWED:  # the public API, explain, cli, testing: stand at the end
        return
    for line, name in imports(path):
        target = stage_of(name)
        assert target == stage or target in ALLOWED[stage], f"{path}:{line}: {stage} must not import {name}"


def test_every_stage_is_known() -> None:
    ends = {
        "__init__",
        "graph",
        "prepared",
        "statements",
        "result",
        "explain",
        "cli",
        "testing",
        "__main__",
        "estimates",
        "qerror",
        "calibration",
        "cardinalities",
        "sampled",
    }
    stages = {path.name.removesuffix(".py") for path in PACKAGE.iterdir() if not path.name.startswith("__pycache__")}
    assert stages - ends - set(ALLOWED) - {"py.typed"} == set()
