"""When kernels are compiled for one form of plan, and that such code compiles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qengine import Graph
from qengine.catalog.costs import costs
from qengine.exec.common.resolve import resolve_pattern
from qengine.exec.gpu import compiled as compiled_module
from qengine.exec.gpu import specialised as module
from qengine.exec.gpu.dfs_plan import Tree, trees
from qengine.exec.gpu.specialised import KernelVariant, Specialised
from qengine.exec.gpu.tree_code import tree_code
from qengine.plan.physical import Search
from qengine.plan.traverse import operators

SECONDS = costs("gpu", "specialised")["seconds"]


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> dict[KernelVariant, int]:
    """How often forms are compiled, without a compiler."""
    times: dict[KernelVariant, int] = {}

    def compile_form(*form: Any) -> bytes:
        key = KernelVariant.of(*form)
        times[key] = times.get(key, 0) + 1
        return b""

    monkeypatch.setattr(module, "compiled", compile_form)
    monkeypatch.setattr(module, "is_compiled", lambda *form: KernelVariant.of(*form) in times)
    return times


def test_a_form_is_compiled_once_it_has_run_for_as_long_as_that_takes(kept: dict[KernelVariant, int]) -> None:
    known, form, other = Specialised(), KernelVariant.of("a", 90, {}, "x"), KernelVariant.of("a", 90, {}, "y")
    assert not known.ready(form) and not known.ready(other)
    assert known.ran(form, SECONDS / 2) is None and not known.ready(form)
    begun = known.ran(form, SECONDS)
    assert begun is not None
    begun.result()
    assert known.ran(form, SECONDS) is None
    assert known.ready(form) and not known.ready(other)
    assert kept == {form: 1}


def test_kernels_kept_on_disk_are_taken_at_once(kept: dict[KernelVariant, int]) -> None:
    form = KernelVariant.of("a", 90, {"M": 1}, "x")
    kept[form] = 1
    assert Specialised().ready(form)


def test_what_does_not_compile_leaves_the_kernels_for_any_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QENGINE_CACHE_DIR", str(tmp_path))
    known, form = Specialised(), KernelVariant.of("pcsr", 90, {}, "no code")
    assert not known.ready(form)
    begun = known.ran(form, SECONDS)
    assert begun is not None
    begun.result()
    assert not known.ready(form)


def tree_of(graph: Graph, pattern: str) -> Tree:
    planned, _ = graph._statements.plan(f"MATCH {pattern} RETURN count(*)", False, graph._statements.accept())
    plan = planned.physical
    assert plan is not None
    (search,) = (each for each in operators(plan.root) if isinstance(each, Search))
    resolved = resolve_pattern(graph._store, search)
    assert resolved is not None
    found = trees(resolved, resolved.tables[0])
    assert found is not None
    return found[0]


def test_patterns_of_one_form_share_their_kernels_which_compile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QENGINE_CACHE_DIR", str(tmp_path))
    nodes = [{"labels": [f"L{k % 3}"], "properties": {"x": k}} for k in range(30)]
    ends = np.argwhere(np.triu(np.random.default_rng(1).random((30, 30)) < 0.3, 1)).tolist()
    graph = Graph.from_records(nodes, [{"type": "R", "start": a, "end": b} for a, b in ends], undirected=["R"])
    pattern = "/*+ order(a, b, c, d) */ (a:{})--(b:{})--(c:{})--(a), (c)--(d)"
    codes = [tree_code(tree_of(graph, pattern.format(*labels))) for labels in (("L0", "L1", "L2"), ("L2", "L0", "L1"))]
    assert codes[0] == codes[1]
    assert codes[0] != tree_code(tree_of(graph, pattern.format("L0", "L0", "L2")))
    assert compiled_module.compile_family("count_dfs", 90, {}, codes[0]).startswith(b"\x7fELF")
