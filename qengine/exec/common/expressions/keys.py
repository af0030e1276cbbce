"""Keys of values: numbers by which rows are joined, the same where values are equal."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from qengine.errors import ExecutionError
from qengine.exec.common.batch import Batch
from qengine.exec.common.columns import Column, IntArray, NodeColumn
from qengine.exec.common.runtime import Runtime
from qengine.exec.spill.hashes import row_hashes
from qengine.plan.expr import KeyOf

_UNUSED_BITS = 1  # of a hash, so that no key is below 0


def keys_of(args: Sequence[Callable[[Batch], Column]], batch: Batch, runtime: Runtime) -> NodeColumn:
    """Return a key for each row, as ids: -1 where a value is null, ``KeyOf.WILD`` where one can't be computed.

    Raises
    ------
    ExecutionError
        Where a value can't be computed and memory is limited: keys may be dealt to files then.
    """
    return NodeColumn(_keys(args, batch, runtime))


def _keys(args: Sequence[Callable[[Batch], Column]], batch: Batch, runtime: Runtime) -> IntArray:
    try:
        columns = [arg(batch) for arg in args]
    except ExecutionError:
        if runtime.memory.limit is not None:
            raise
        if batch.length == 1:
            return np.array([KeyOf.WILD])
        half = batch.length // 2
        parts = batch.slice(0, half), batch.slice(half, batch.length - half)
        return np.concatenate([_keys(args, part, runtime) for part in parts])
    keys = (row_hashes(columns, batch.length) >> np.uint64(_UNUSED_BITS)).astype(np.int64)
    for column in columns:
        keys[column.is_null()] = -1
    return keys
