"""Groups that several devices have folded, each of some rows, put together on the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine._frozen import frozen
from qengine.exec.common.fold_plan import DISTINCT, GREATEST, LEAST, Task

Ids = npt.NDArray[np.int64]


@frozen
class FoldedPart:
    """Groups, ascending by their codes.

    ``codes``: uint64[n], of all keys together. ``columns``: int64[width, n], the tasks' slots. ``weight``: what the
    folded rows' weights add up to.
    """

    codes: npt.NDArray[np.uint64]
    columns: Ids
    weight: int


def can_be_put_together(tasks: Sequence[Task]) -> bool:
    """Tell whether tasks' results say enough: of different values that are marked by bits only the number is known."""
    return all(task.operation != DISTINCT for task in tasks)


def put_together(parts: Sequence[FoldedPart], tasks: Sequence[Task]) -> FoldedPart:
    """Return the groups of all parts: what has the same code is one."""
    codes = np.concatenate([part.codes for part in parts])
    columns = np.concatenate([part.columns for part in parts], axis=1)
    weight = sum(part.weight for part in parts)
    if not len(codes):
        return FoldedPart(codes, columns, weight)
    order = np.argsort(codes, kind="stable")
    codes = codes[order]
    begins = np.flatnonzero(np.concatenate(([True], codes[1:] != codes[:-1])))
    ways: list[Callable[..., Any]] = [_WAYS.get(task.operation, np.add) for task in tasks for _ in range(task.digits)]
    found = [way.reduceat(column[order], begins) for way, column in zip(ways, columns, strict=True)]  # type: ignore[attr-defined]
    return FoldedPart(codes[begins], np.array(found, np.int64).reshape(len(ways), len(begins)), weight)


_WAYS = {LEAST: np.minimum, GREATEST: np.maximum}
"""All else is added up."""


def different_in(part: FoldedPart, of: FoldedPart, last: int) -> Ids:
    """Return for each group of ``of`` how many groups of a part have its keys, and a last one that isn't null.

    ``last``: how many codes that key has; 0 stands for null.
    """
    keys, value = np.divmod(part.codes, np.uint64(last))
    return np.bincount(np.searchsorted(of.codes, keys[value > 0]), minlength=len(of.codes)).astype(np.int64)
