"""The ways that a plan is run by: what each search and elimination comes to on the CPU and on the GPU.

All is found on a machine without a GPU: the shapes of counts, the steps and the tree of counts follow from the plan and
the graph. What the CPU eliminates with is seen by the native functions that it calls, under the words of ``KERNELS``:
rename a function there, and no stored file changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from qengine import Graph, _native
from qengine.exec import choice
from qengine.exec.choice import choose, largest_search
from qengine.exec.common.masks import Masks
from qengine.exec.common.pipeline import runtime_of
from qengine.exec.common.resolve import ResolvedSearch, resolve
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu import device
from qengine.exec.gpu.bfs_plan import bfs_plan
from qengine.exec.gpu.derived_plan import Derived, NodeKind, Wedge, derive
from qengine.plan.elimination import Clique
from qengine.plan.kernels import KERNEL_NAMES
from qengine.plan.physical import Eliminate, PhysicalPlan, Search
from qengine.plan.traverse import operators

KERNELS = {
    "qe_rooted_forest": "around",
    "qe_masked_product": "close",
    "qe_closed_walks": "walks of 4",
    "qe_long_closed_walks": "long walks",
    "qe_eliminate_local_triangles": "triangles among neighbours",
    "qe_eliminate_local_walks": "walks of 4 among neighbours",
    "qe_eliminate_loops": "loops",
    "qe_eliminate_message": "message",
    "qe_eliminate_gather": "message along lists",
    "qe_eliminate_neighbours": "neighbours",
    "qe_eliminate_pairs": "pairs",
    "qe_fold_pair_rows": "pairs folded",
    "qe_eliminate_product": "product",
    "qe_eliminate_fill_product": "product of matrices",
    "qe_eliminate_fill_rows": "merged matrix",
    "qe_eliminate_triangle_sums": "triangle sums",
    "qe_row_squares": "squares of rows",
    "qe_triangle_counts": "triangles",
    "qe_join_probe": "hash join",
    "qe_walk_open": "walk",
    "qe_reach_open": "reach",
}
"""Native functions that a query may be run by, in words that outlive them."""


_PROCESSORS = 16
"""Of a machine with a GPU."""


class _Noted:
    """A native function that notes when it is called; what else is asked of it or set is the function's own."""

    def __init__(self, function: Any, note: Callable[[], None]) -> None:
        object.__setattr__(self, "parts", (function, note))

    def __call__(self, *args: Any) -> Any:
        function, note = object.__getattribute__(self, "parts")
        note()
        return function(*args)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(object.__getattribute__(self, "parts")[0], name, value)


@contextmanager
def kernels_called() -> Iterator[set[str]]:
    """Lend a set that gets the words of the native functions that are called meanwhile."""
    library, seen = _native.load(), set[str]()
    with patch.multiple(
        library,
        **{name: _Noted(getattr(library, name), lambda word=word: seen.add(word)) for name, word in KERNELS.items()},
    ):
        yield seen


def ways(graph: Graph, plan: PhysicalPlan, parameters: dict[str, Any]) -> Iterator[str]:
    """Yield a line for where the plan runs, and one for each of its searches and eliminations."""
    with (
        patch.object(device, "missing", lambda: None),
        patch.object(device, "usable", lambda: (0,)),
        patch.object(choice, "usable_processors", lambda: _PROCESSORS),
    ):
        yield f"auto {choose('auto', largest_search(plan))[0]}"
    store = graph._store
    masks = Masks(runtime_of(store, ExecutionContext(parameters)))
    stand_ins = {id(each.search) for each in operators(plan.root) if isinstance(each, Eliminate)}
    for operator in operators(plan.root):
        if isinstance(operator, Search):
            found = resolve(store, operator, masks)
            word = "or search" if id(operator) in stand_ins else "search"
            yield f"{word}: cpu {_on_cpu(found, operator)}; gpu {_on_gpu(found, operator)}"
        elif isinstance(operator, Eliminate):
            host = "" if operator.schedule("cpu") is not None else "cpu searches; "
            yield f"eliminate: {host}gpu {_eliminated(operator) if operator.schedule('gpu') else 'searches'}"


def _on_cpu(resolved: ResolvedSearch | None, search: Search) -> str:
    """Return the levels whose vertices are rows, and the tree that counts what is below them."""
    if resolved is None:
        return "nothing"
    derived = derive(resolved.plan, overlaps=True)
    if derived.header["impossible"]:
        return "nothing"
    names = [level.name for level in search.levels]
    rows = names[search.seeds : int(derived.header["enumerated"])]
    trees = [_tree(derived, node, names) for node in range(int(derived.header["n_roots"]))]
    return ", ".join(([f"rows {' '.join(rows)}"] if rows else []) + trees) or "check"


def _tree(derived: Derived, place: int, names: list[str]) -> str:
    node = derived.nodes[place]
    levels = node["levels"]
    text = "+".join(names[int(derived.ids[k])] for k in range(levels["first"], levels["first"] + levels["count"]))
    flags = [name for name in ("nested", "local", "pairs") if node[name]]
    flags += ["kept"] if node["memo"] >= 0 else []
    flags += [f"wedge {Wedge(int(node['wedge'])).name.lower()}"] if node["wedge"] else []
    text += f"[{', '.join(flags)}]" if flags else ""
    children = node["children"]
    below = [_tree(derived, k, names) for k in range(children["first"], children["first"] + children["count"])]
    return text + (f"({' '.join(below)})" if node["shape"] == NodeKind.BRANCH and below else "")


def _on_gpu(resolved: ResolvedSearch | None, search: Search) -> str:
    """Return what counts a search on the GPU where there is room for it; rows go breadth first."""
    if resolved is None:
        return "nothing"
    header = resolved.plan[0]
    if header["seeds"] or header["enumerated"]:
        return "rows"
    if search.shapes:
        return " × ".join(type(each.shape).__name__.removesuffix("Shape").lower() for each in search.shapes)
    steps = bfs_plan(resolved)
    return "nothing" if steps is None else f"total in {len(steps.steps)} steps"


def _eliminated(operator: Eliminate) -> str:
    """Return what the GPU's program makes of an elimination's steps."""
    schedule = operator.schedule("gpu")
    assert schedule is not None
    by = {name: [call for call in schedule.every if call.kernel == name] for name in KERNEL_NAMES}
    walks = [place for call in (*by["long_closed_walks"], *by["closed_walks"]) for place in call.places]
    totals = {
        id(call) for name in ("dot", "closed_walks", "long_closed_walks", "triangle_weight_sums") for call in by[name]
    }
    steps = {place for call in schedule.every if id(call) not in totals for place in call.places} | set(walks)
    dots = [c for c in by["dot"] if c in schedule.calls]
    parts = [
        f"{len(steps)} of {sum(not isinstance(each, Clique) for each in operator.steps)} steps",
        f"{sum(len(c.places) for c in dots) + len(walks)} sums",
    ]
    parts += [f"corners of {len(each.places)}" for each in by["triangle_weight_sums"]]
    parts += [
        f"walks {each.results.count(4)}+{each.results.count(0)}+{each.results.count(5)}"
        for each in by["long_closed_walks"]
    ]
    parts += [f"{len(by['triangle_counts'])} by pair"] if by["triangle_counts"] else []
    return ", ".join(parts)
