"""``MadeIndex``: a hash index of an expression of nodes, made for one execution."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from qengine.errors import ExecutionError
from qengine.exec.common.batch import BATCH_ROWS, Batch
from qengine.exec.common.batch_parts import by_parts
from qengine.exec.common.columns import ArrowColumn, IntArray, NodeColumn, concatenate
from qengine.exec.common.expressions.compiler import compile_expression
from qengine.exec.common.runtime import Runtime
from qengine.exec.common.value_index import HashIndex, Unanswered, hash_bytes
from qengine.plan.expr import Expr
from qengine.storage.columns import PropertyColumn

__all__ = ["MadeIndex"]


class MadeIndex:
    """Which nodes have a value.

    Parameters
    ----------
    name, of
        The node as the expression names it, and the expression, which reads nothing else.
    ranges
        The nodes, int64[k, 2]: those with ids from the first to before the second of each pair.
    """

    def __init__(self, name: str, of: Expr, ranges: IntArray, runtime: Runtime) -> None:
        self._name = name
        self._evaluate = compile_expression(of, runtime)
        self._ranges = ranges
        self._runtime = runtime

    def answers(self) -> bool:
        """Tell whether all nodes' values are indexed; makes the index."""
        return self._indexes is not None

    def pairs(self, values: Sequence[Any]) -> tuple[IntArray, IntArray]:
        """Return for each node whose value equals one of ``values`` which of these it is, ascending, and the node.

        Raises
        ------
        Unanswered
            Where a value, or one of a node, is of a type that isn't indexed, or the expression fails for a node.
        """
        if self._indexes is None:
            raise Unanswered
        found = [index.pairs(values, self._runtime.context) for index in self._indexes]
        if len(found) == 1:
            return found[0]
        none = np.empty(0, np.int64)
        rows, ids = (np.concatenate([none, *parts]) for parts in zip(*found, strict=True)) if found else (none, none)
        order = np.argsort(rows, kind="stable")
        return rows[order], ids[order]

    @cached_property
    def _indexes(self) -> list[HashIndex] | None:
        found = []
        for low, high in self._ranges.tolist():
            column = self._column(low, high)
            if column is None:
                return None
            self._runtime.memory.charge(column.nbytes + hash_bytes(column))
            found.append(HashIndex(column, self._runtime.context))
        return found

    def _column(self, low: int, high: int) -> PropertyColumn | None:
        """Return the values of a range of nodes; None where they are of a type that isn't indexed."""
        parts = []
        for begin in range(low, high, BATCH_ROWS):
            self._runtime.context.check()
            end = min(begin + BATCH_ROWS, high)
            nodes = Batch(end - begin, {self._name: NodeColumn(None, (begin, end))})
            try:
                parts += [column for _, column in by_parts(nodes, self._evaluate, self._runtime.memory)]
            except ExecutionError:  # the condition says so, if it is asked of that node
                return None
        whole = concatenate(parts)
        if not isinstance(whole, ArrowColumn):
            return None
        column = PropertyColumn(low, whole.array)
        return column if HashIndex.holds(column) else None
