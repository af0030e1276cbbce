"""The first rows of a search by some order, found where a device runs the search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from qengine.errors import OutOfMemory
from qengine.exec.common.batch import Batch
from qengine.exec.common.columns import Column, NodeColumn, RelationshipColumn
from qengine.exec.common.element_columns import elements_of, ordered_numbers
from qengine.exec.common.operators.folded_rows import DEVICE_ROWS
from qengine.exec.common.operators.stage import ROW, Build
from qengine.plan import logical, physical
from qengine.plan.expr import Expr
from qengine.plan.folding import variable_of
from qengine.plan.traverse import free_variables, is_repeatable


def first_on_device(
    below: logical.Operator, keys: Sequence[tuple[Expr, bool]], limit: int, build: Build
) -> FirstOnDevice | None:
    """Return how a device finds the first rows of a search, by keys of one variable each; None where it can't.

    Parameters
    ----------
    below
        What makes the rows.
    keys
        The most significant first, with whether they ascend. None of them can fail.
    """
    if build.runtime.matchers is None or not isinstance(below, physical.Search):
        return None
    if not isinstance(below.input, logical.Unit) or (below.rows or 0) < DEVICE_ROWS or below.count is not None:
        return None
    if not all(len(free_variables(key)) == 1 and is_repeatable(key) for key, _ in keys):
        return None
    if not {variable_of(key) for key, _ in keys} <= set(below.emit):
        return None
    return FirstOnDevice(below, keys, limit, build)


class FirstOnDevice:
    """The rows of a search, or where a device finds them the first ones alone."""

    def __init__(self, search: physical.Search, keys: Sequence[tuple[Expr, bool]], limit: int, build: Build) -> None:
        self._search = search
        self._keys = keys
        self._limit = limit
        self._build = build
        self._upstream = build(search)
        self._levels = {level.name: level for level in search.levels}

    def batches(self, outer: Batch) -> Iterator[Batch]:
        """Yield rows, those that come first among them."""
        found = None if ROW in outer.columns else self._found()
        if found is None:
            yield from self._upstream(outer)
            return
        self._build.runtime.context.note(self._search, "the first rows are found on the GPU")
        if found.length:
            yield found

    def _found(self) -> Batch | None:
        runtime, numbers = self._build.runtime, []
        assert runtime.matchers is not None
        for key, ascending in self._keys:
            name = variable_of(key)
            elements = elements_of(self._levels[name], runtime)
            known = None if elements is None else ordered_numbers(key, elements, runtime)
            if known is None:
                return None
            numbers.append((name, known, ascending))
        try:
            columns = runtime.matchers.first_rows(
                runtime.store, self._search, numbers, self._limit, runtime.context, self._build.masks
            )
        except OutOfMemory as error:
            if error.code != "OutOfDeviceMemory":
                raise
            return None
        if columns is None:
            return None
        emitted: dict[str, Column] = {
            name: (NodeColumn if isinstance(self._levels[name], physical.VertexLevel) else RelationshipColumn)(ids)
            for name, ids in columns.items()
        }
        return Batch(len(next(iter(columns.values()))), emitted)
