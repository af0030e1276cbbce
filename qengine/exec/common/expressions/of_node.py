"""``OfNode``: what a subquery gives for a node, read from what it gives for every node."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from qengine.exec.common.aggregates import weights_of
from qengine.exec.common.columns import (
    Column,
    boolean_column,
    integer_column,
    vertex_ids,
)
from qengine.exec.common.runtime import Runtime
from qengine.plan.expr import OfNode

Values = NDArray[Any]
"""bool or int64, by vertex."""


def values_of_nodes(expr: OfNode, runtime: Runtime) -> Values:
    """Return whether a subquery has rows, or how many, for each vertex of the graph; found once an execution."""
    known = runtime.of_nodes.get(id(expr.plan))
    if known is None:
        known = runtime.of_nodes[id(expr.plan)] = expr, _found(expr, runtime)
    values: Values = known[1]
    return values


def _found(expr: OfNode, runtime: Runtime) -> Values:
    exists = expr.kind == "exists"
    values: Values = np.zeros(runtime.store.vertex_count, np.bool_ if exists else np.int64)
    runtime.memory.holding("Subquery").set(values.nbytes)
    for batch in runtime.rows_of(expr.plan):
        ids = vertex_ids(batch.columns[expr.name])
        if exists:
            values[ids] = True
        else:
            np.add.at(values, ids, 1 if expr.weight is None else weights_of(batch.columns[expr.weight]))
    return values


def of_nodes(values: Values, nodes: Column) -> Column:
    """Return the values of a column of nodes; null has no rows."""
    ids = vertex_ids(nodes)
    found = values[ids]
    if len(ids) and ids.min() < 0:
        found[ids < 0] = 0
    return boolean_column(found) if found.dtype == np.bool_ else integer_column(found)
