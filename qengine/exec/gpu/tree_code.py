"""Writes a tree of counts as code, for kernels that are compiled for it: ``kernels/cuda/count/tree_node.cuh``.

Only its form is written: what levels demand of each other. Labels, lists and predicates are read from the plan, so that
patterns of one form share their kernels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from qengine.exec.gpu.dfs_plan import CHECK, NODE, Tree

__all__ = ["tree_code"]

_UNKNOWN = ("bitset_begin", "n_candidates", "first", "unused", "bitset", "candidates")


def tree_code(tree: Tree) -> str:
    """Return what stands before the kernels' code. Trees of one form give the same."""
    nodes = tree.nodes.copy()
    for name in _UNKNOWN:
        nodes[name] = 0
    assert nodes.dtype == NODE and tree.checks.dtype == CHECK
    checks = _table(tree.checks) if len(tree.checks) else "{}"
    return (
        '#include "count/tree_plan.cuh"\n'
        f"#define QE_TREE_NODES {len(nodes)}\n"
        "namespace qe {\n"
        f"__device__ constexpr TreeNode kNodes[] = {{{_table(nodes)}}};\n"
        f"__device__ constexpr TreeCheck kChecks[] = {{{checks}}};\n"
        "}"
    )


def _table(records: npt.NDArray[Any]) -> str:
    return ", ".join(_initializer(record) for record in records.tolist())


def _initializer(value: Any) -> str:
    """Return a record's fields, or a number, as C++ has them; 0 is a null pointer, too."""
    if isinstance(value, tuple | np.ndarray):
        return "{" + ", ".join(map(_initializer, value)) + "}"
    return str(value)
