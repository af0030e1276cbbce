"""Predicates of one node or relationship over a range of ids, as truth values for the search kernels."""

from __future__ import annotations

from functools import reduce

import numpy as np

from qengine.exec.cpu.batch import Batch
from qengine.exec.cpu.columns import BoolArray, Column, NodeColumn, RelationshipColumn
from qengine.exec.cpu.expressions.compiler import compile_predicate, is_volatile
from qengine.exec.cpu.runtime import Runtime
from qengine.plan.expr import Expr

__all__ = ["Masks"]


class Masks:
    """Evaluates predicates over ranges of ids; property columns are read as slices, not gathered.

    The masks are kept for the execution, for one search may ask again for each batch of its input.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._known: dict[tuple[int, int, int], tuple[tuple[Expr, ...], BoolArray]] = {}

    def vertex_mask(self, name: str, predicates: tuple[Expr, ...], begin: int, end: int) -> BoolArray:
        """Return for each vertex of ``[begin, end)``, as variable ``name``, whether all predicates are true.

        There is at least one predicate, and each mentions no other variable.
        """
        return self._mask(name, predicates, NodeColumn(None, (begin, end)), (begin, end))

    def edge_mask(self, name: str, predicates: tuple[Expr, ...], type_index: int, begin: int, end: int) -> BoolArray:
        """Return the same for the relationships of a type with local ids ``[begin, end)``."""
        base = self._runtime.store.types[type_index].base
        bounds = (base + begin, base + end)
        return self._mask(name, predicates, RelationshipColumn(None, bounds), bounds)

    def _mask(self, name: str, predicates: tuple[Expr, ...], column: Column, bounds: tuple[int, int]) -> BoolArray:
        if bounds[0] >= bounds[1]:
            return np.zeros(0, dtype=np.bool_)
        # The predicates are kept with their mask, so that no others can get their identity.
        key = (id(predicates), *bounds)
        if key in self._known:
            return self._known[key][1]
        batch = Batch(len(column), {name: column})
        parts = [compile_predicate(predicate, self._runtime)(batch) for predicate in predicates]
        mask: BoolArray = reduce(np.logical_and, parts)
        if not any(map(is_volatile, predicates)):
            self._known[key] = (predicates, mask)
        return mask
