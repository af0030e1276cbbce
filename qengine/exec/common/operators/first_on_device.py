"""The first rows of a search by some order, found where a device runs the search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from qengine.errors import OutOfMemory
from qengine.exec.common.batch import Batch
from qengine.exec.common.columns import ArrowColumn, Column, NodeColumn, RelationshipColumn
from qengine.exec.common.element_columns import (
    IDS,
    INTEGERS,
    Elements,
    Numbers,
    elements_of,
    evaluated,
    integer_extent,
    numbers_of,
    ranked,
)
from qengine.exec.common.operators.folded_rows import DEVICE_ROWS
from qengine.exec.common.operators.stage import ROW, Build, Stage
from qengine.plan import logical, physical
from qengine.plan.expr import Expr, Variable
from qengine.plan.traverse import only_variable

__all__ = ["first_on_device"]

_GREATEST = 2**63 - 1


def first_on_device(
    below: logical.Operator, keys: Sequence[tuple[Expr, bool]], limit: int, upstream: Stage, build: Build
) -> Stage:
    """Return the stage below a sort with a limit, of rows that can be among the first.

    Parameters
    ----------
    below
        What makes the rows.
    keys
        The most significant first, with whether they ascend. None of them can fail.
    upstream
        The stage of ``below``, which runs where the device finds nothing.
    """
    runtime = build.runtime
    matchers = runtime.matchers
    if matchers is None or not isinstance(below, physical.Search) or not isinstance(below.input, logical.Unit):
        return upstream
    if below.rows is None or below.rows < DEVICE_ROWS or below.count is not None:
        return upstream
    levels = {level.name: level for level in below.levels}
    variables = [only_variable(expr) for expr, _ in keys]
    if any(name is None or name not in below.emit for name in variables):
        return upstream

    def found() -> Batch | None:
        numbers = []
        for (expr, ascending), name in zip(keys, variables, strict=True):
            assert name is not None
            elements = elements_of(levels[name], runtime)
            key = None if elements is None else _numbers(expr, elements, build)
            if key is None:
                return None
            numbers.append((name, key, ascending))
        try:
            columns = matchers.first_rows(runtime.store, below, numbers, limit, runtime.context, build.masks)
        except OutOfMemory as error:
            if error.code != "OutOfDeviceMemory":
                raise
            return None
        if columns is None:
            return None
        kinds = {
            name: NodeColumn if isinstance(levels[name], physical.VertexLevel) else RelationshipColumn
            for name in columns
        }
        emitted: dict[str, Column] = {name: kinds[name](ids) for name, ids in columns.items()}
        return Batch(len(next(iter(columns.values()))), emitted)

    def run(outer: Batch) -> Iterator[Batch]:
        batch = None if ROW in outer.columns else found()
        if batch is None:
            yield from upstream(outer)
            return
        runtime.context.note(below, "the first rows are found on the GPU")
        if batch.length:
            yield batch

    return run


def _numbers(expr: Expr, elements: Elements, build: Build) -> Numbers | None:
    """Return numbers in the order of an expression's values, equal for those that tie; None where there are none."""
    if isinstance(expr, Variable):
        return Numbers(IDS, None, 0)
    column = evaluated(expr, elements, build.runtime)
    if column is None or isinstance(column, NodeColumn | RelationshipColumn):
        return None
    numbers = numbers_of(expr, column, elements, build.runtime)
    if numbers is None:
        return ranked(expr, column, elements, build.runtime)[0]
    if numbers.kind == INTEGERS and numbers.nullable:
        assert isinstance(column, ArrowColumn)
        if integer_extent(expr, column, elements, build.runtime)[1] == _GREATEST:
            return None  # which null stands for
    return numbers
