"""What a stage of the pipeline is, and what stages share.

A *stage* is a function from the batch of a subplan's outer rows (at the top: one row with no columns) to an iterator
of batches. Batches are pulled, so a consumer that stops iterating stops the work below it.

Inside a subplan many outer rows are served at once. The hidden column ``ROW`` says to which outer row a row belongs:
the leaves (``Argument``, ``Unit``) emit it, every operator keeps it, and those that look at several rows
(``Aggregate``, ``Distinct``, ``Sort``, ``Skip``, ``Limit``, ``Union``) treat each outer row apart. A subplan inside a
subplan has a ``ROW`` of its own; the outer one comes back with the outer rows' columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np

from qengine.exec.common.batch import BATCH_ROWS, Batch
from qengine.exec.common.columns import ArrowColumn, IntArray, integer_column
from qengine.exec.common.masks import Masks
from qengine.exec.common.runtime import Runtime
from qengine.plan.logical import Operator

ROW = "#row"

Stage = Callable[[Batch], Iterator[Batch]]


class Build(Protocol):
    """Makes stages of operators.

    ``first`` is the number of rows that the consumer would like in the first batch: few under a ``LIMIT``.
    Batches grow from there.
    """

    runtime: Runtime
    masks: Masks

    def __call__(self, operator: Operator, first: int = BATCH_ROWS) -> Stage:
        """Return the stage that runs ``operator``."""

    def later(self, operator: Operator, first: int = BATCH_ROWS) -> Stage:
        """Return the stage of an operator that is rarely run: it is made when it is, unless a profile is to show it."""

    def measured(self, operator: Operator, stage: Stage) -> Stage:
        """Return a stage that runs ``operator``, made by another's; its rows and seconds are counted in a profile."""


def numbered(batch: Batch) -> Batch:
    """Return outer rows with their numbers as ``ROW``."""
    return batch.with_columns({ROW: integer_column(np.arange(batch.length, dtype=np.int64))})


def rows_of(batch: Batch) -> IntArray | None:
    """Return the outer row of each row; None at the top of a plan."""
    column = batch.columns.get(ROW)
    if column is None:
        return None
    assert isinstance(column, ArrowColumn)
    rows: IntArray = column.array.to_numpy()
    return rows


def visible(batch: Batch) -> list[str]:
    """Return the names of the columns that the query knows."""
    return [name for name in batch.columns if name != ROW]
