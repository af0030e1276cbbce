"""Conditions on one element, evaluated where its table is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qengine.exec.common.batch import Batch
from qengine.exec.common.columns import Column, from_arrow, integer_column, null_column
from qengine.exec.common.pipeline import continuing
from qengine.exec.context import ExecutionContext
from qengine.plan.expr import Expr, Property, Variable
from qengine.plan.logical import Argument, Filter
from qengine.plan.traverse import conjunction, free_variables, is_repeatable, substitute
from qengine.storage import from_records
from qengine.storage.normal import normal_array
from qengine.storage.store import GraphStore

Bools = NDArray[np.bool_]

_ROW = "@row"


def condition_over_columns(expr: Expr, name: str) -> Expr | None:
    """Return a condition on one element as one on columns that are called as its properties are.

    None where it asks for more than properties, or doesn't always give the same.
    """

    def choose(part: Expr) -> Expr | None:
        if isinstance(part, Property) and isinstance(part.subject, Variable) and part.subject.name == name:
            return Variable(f".{part.key}", type=part.type)
        return None

    if not is_repeatable(expr):
        return None
    changed = substitute(expr, choose)
    return None if name in free_variables(changed) else changed


def holds(conditions: Sequence[Expr], rows: Any, parameters: Mapping[str, Any]) -> Bools:
    """Tell for which rows conditions over columns are all true.

    Parameters
    ----------
    conditions
        As ``condition_over_columns`` returns them; a column that isn't there is null.
    rows
        A table (pyarrow).

    Returns
    -------
    numpy.ndarray
        bool, of each row.
    """
    found = np.zeros(rows.num_rows, np.bool_)
    if not rows.num_rows:
        return found
    names = sorted({name for each in conditions for name in free_variables(each)})
    columns: dict[str, Column] = {_ROW: integer_column(np.arange(rows.num_rows))}
    for name in names:
        there = name[1:] in rows.column_names
        columns[name] = from_arrow(normal_array(rows[name[1:]], name)) if there else null_column(rows.num_rows)
    filtered = Filter(Argument((_ROW, *names)), conjunction(tuple(conditions)))
    for batch in continuing(filtered, nothing(), ExecutionContext(parameters, threads=1))(
        Batch(rows.num_rows, columns)
    ):
        found[batch.columns[_ROW].array.to_numpy()] = True  # type: ignore[attr-defined]
    return found


@cache
def nothing() -> GraphStore:
    """Return a graph without nodes, for what is evaluated over plain values."""
    return from_records([])
