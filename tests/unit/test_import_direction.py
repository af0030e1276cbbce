"""A stage imports only what stands above it."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "qengine"

# Each stage with the stages that it may import besides itself.
BASE = {
    "_system",
    "_cached",
    "_frozen",
    "_printable",
    "_arguments",
    "_elsewhere",
    "_html",
    "errors",
    "_assets",
    "_cache",
    "_asset_cache",
    "_lru",
    "_text",
    "_type_text",
    "_beside",
    "_nearest",
    "_deadline",
    "types",
    "spatial",
    "temporal",
}
ALLOWED = {
    "_system": set(),
    "_cached": set(),
    "_frozen": set(),
    "_gc": set(),
    "_closed": {"errors"},
    "_printable": set(),
    "_arguments": {"_printable", "_elsewhere"},
    "_elsewhere": {"_nearest"},
    "_html": {"_printable"},
    "errors": {"_frozen", "_printable"},
    "_notices": {"_printable", "errors"},
    "_assets": set(),
    "_cache": {"_system"},
    "_asset_cache": {"_cache"},
    "_lru": set(),
    "_text": set(),
    "_type_text": set(),
    "_beside": set(),
    "_nearest": set(),
    "_deadline": {"errors"},
    "types": {"_frozen", "_printable", "_html", "errors"},
    "spatial": {"errors"},
    "temporal": {"errors", "spatial", "types"},
    "_native": BASE,
    "_control": {"_system"},
    "catalog": BASE,
    "syntax": BASE | {"_native"},
    "plan": BASE | {"catalog"},
    "binder": BASE | {"catalog", "syntax", "plan"},
    "_limits": {"_control"},
    "storage": BASE | {"catalog", "plan", "_native", "_control", "_limits"},
    "optimizer": BASE | {"catalog", "plan", "_native"},
    "exec": BASE | {"catalog", "plan", "storage", "_native", "_control", "_limits"},
    "estimate": BASE | {"catalog", "plan", "storage", "_native", "_control", "_limits", "exec"},
    "write": BASE | {"_gc", "catalog", "plan", "storage", "_native", "_control", "_limits", "exec", "optimizer"},
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


# The modules of the host alone that are nevertheless imported by what all executors share, by the GPU's executor and by
# the estimates.
SEAMS: dict[str, dict[str, set[str]]] = {
    "exec/common": {
        "masks.py": {"predicates"},
        "operators/aggregate_by_classes.py": {"vertex_sums"},
        "operators/aggregate_by_node.py": {"eliminate", "pair_folds", "vertex_sums"},
        "operators/diverted_first_rows.py": {"row_sinks"},
        "operators/folded.py": {"folds"},
        "operators/folded_pairs.py": {"folds", "pair_folds"},
        "operators/folded_rows.py": {"row_sinks"},
        "operators/join.py": {"hash_join", "joined_rows"},
        "operators/matching.py": {"eliminate", "reach", "reach_kernel", "search", "shortest", "walk"},
        "operators/repeat.py": {"walk", "walk_kernel"},
        "operators/select_paths.py": {"walk"},
        "pipeline.py": {"count_fast_path"},
        "runtime.py": {"reach_kernel", "search"},
    },
    "exec/gpu": {
        "__init__.py": {"reach_kernel"},
        "cliques.py": {"cliques", "ranked_matrices"},
        "eliminate.py": {"eliminate"},
        "elimination_steps.py": {"eliminate"},
        "dfs.py": {"search"},
        "extend_search.py": {"search"},
        "reach.py": {"reach_kernel", "walk_kernel"},
        "search.py": {"search"},
    },
    "estimate": {},
}


@pytest.mark.parametrize("stage", SEAMS)
def test_few_modules_of_the_host_are_imported_elsewhere(stage: str) -> None:
    found: dict[str, set[str]] = {}
    for path in sorted((PACKAGE / stage).rglob("*.py")):
        names = {name.split(".")[3] for _, name in imports(path) if name.startswith("qengine.exec.host.")}
        if names:
            found[str(path.relative_to(PACKAGE / stage))] = names
    assert found == SEAMS[stage]


def test_every_stage_is_known() -> None:
    ends = {
        "__init__",
        "appending",
        "estimating",
        "graph",
        "kept_plans",
        "live_reads",
        "prepared",
        "planned",
        "planning",
        "transaction",
        "update_plans",
        "views",
        "rule_checks",
        "shared_plans",
        "statements",
        "result",
        "explain",
        "learning",
        "pictures",
        "notebook",
        "cli",
        "cluster",
        "testing",
        "__main__",
        "estimates",
        "options",
        "qerror",
        "calibration",
        "builtin_procedures",
        "cheapest_paths",
        "vector_search",
        "fulltext",
        "functions",
        "procedures",
        "cardinalities",
        "sampled",
        "learned",
        "long_runs",
        "updating",
        "formats",
        "importing",
        "result_graphs",
        "remote",
        "dbapi",
        "duckdb",
    }
    stages = {path.name.removesuffix(".py") for path in PACKAGE.iterdir() if not path.name.startswith("__pycache__")}
    assert stages - ends - set(ALLOWED) - {"py.typed"} == set()


RECURSIVE = [
    {"plan.expr", "plan.logical", "plan.pattern"},  # expressions hold the plans of subqueries
    {"plan.constants", "plan.fallible"},
    {
        f"binder.{name}"
        for name in (
            "aggregation",
            "projection_scope",
            "call",
            "calls",
            "clauses",
            "expressions",
            "items",
            "labels",
            "patterns",
            "procedures",
        )
    }
    | {"binder.projection", "binder.subqueries", "binder.call", "binder.updates"},  # expressions hold queries
    {
        f"optimizer.lower.{name}"
        for name in ("by_ends", "by_node", "match", "match_by_value", "match_pairs", "match_search")
    }
    | {
        f"optimizer.lower.{name}"
        for name in ("match_state", "match_strategy", "members", "of_node", "subquery", "tail")
    },  # as plans do
    {
        "storage.joint_degrees",
        "storage.mixed_triangles",
        "storage.nature",
        "storage.node_lists",
        "storage.samples",
        "storage.schema",
        "storage.statistics",
        "storage.store",
    },
    {
        f"temporal.{name}"
        for name in ("build", "durations", "fields", "native", "parse", "properties", "values", "zones")
    },
    {"cli.commands", "cli.script"},
]
"""Modules that name each other, for types alone or inside of functions too: what they describe is recursive."""


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


def named_by(path: Path, modules: Collection[str]) -> set[str]:
    """Return the modules that a file imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("qengine"):
            base = node.module.removeprefix("qengine").removeprefix(".")
            below = {f"{base}.{alias.name}".removeprefix(".") for alias in node.names}
            found |= (below & set(modules)) | ({base} if below - set(modules) else set())
    return found & set(modules) - {module_of(path)}


def circles(imports_of: Mapping[str, set[str]]) -> list[set[str]]:
    """Return the sets of modules each of which reaches all others."""
    reached = {module: set(named) for module, named in imports_of.items()}
    for through in reached:
        for targets in reached.values():
            if through in targets:
                targets |= reached[through]
    found = {frozenset(other for other in reached[module] if module in reached[other]) for module in reached}
    return [set(each) for each in found if len(each) > 1]


def test_modules_are_in_no_circle_but_the_known_ones() -> None:
    paths = {module_of(path): path for path in PACKAGE.rglob("*.py")}
    found = circles({module: named_by(path, paths) for module, path in paths.items()})
    assert sorted(map(sorted, found)) == sorted(map(sorted, RECURSIVE))


def test_circles_are_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": set()}) == [{"a", "b", "c"}]
