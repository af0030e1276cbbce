"""``LookUp``: the nodes whose property equals a value of the input row, by a hash index of the property."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from qengine.errors import ExecutionError
from qengine.exec.common.access import hash_index, note_scan
from qengine.exec.common.batch import Batch
from qengine.exec.common.batch_parts import pieces, repeated_pieces
from qengine.exec.common.columns import IntArray, NodeColumn
from qengine.exec.common.expressions.compiler import compile_expression
from qengine.exec.common.operators.stage import Build, Stage
from qengine.exec.common.value_index import Unanswered
from qengine.exec.scalar.compare import group_key
from qengine.plan import physical
from qengine.plan.access import HASH
from qengine.plan.expr import Comparison, Literal, Property, Variable
from qengine.types import NODE

__all__ = ["look_up_stage"]

_FEW_VALUES = 2  # different ones, that a column without an index is scanned for


def look_up_stage(operator: physical.LookUp, build: Build, first: int) -> Stage:
    """Emit each input row with each node that it finds."""
    runtime, masks = build.runtime, build.masks
    store, context = runtime.store, runtime.context
    upstream = build(operator.input, first)
    evaluate = compile_expression(operator.value, runtime)
    ranges = store.label_ranges(operator.labels).astype(np.int64)

    def found(batch: Batch) -> tuple[IntArray, IntArray]:
        """Return which rows find which nodes, by row."""
        try:
            values = evaluate(batch).values()
        except ExecutionError:
            every = np.concatenate([np.arange(low, high) for low, high in ranges.tolist()] or [np.empty(0, np.int64)])
            return np.repeat(np.arange(batch.length), len(every)), np.tile(every, batch.length)
        rows, ids = looked_up(values)
        places = np.searchsorted(ranges.ravel(), ids, side="right")  # odd: within a range
        inside = np.flatnonzero(places & 1)
        return rows[inside], ids[inside]

    def looked_up(values: Sequence[Any]) -> tuple[IntArray, IntArray]:
        few = len(values) <= _FEW_VALUES or len({group_key(value) for value in values}) <= _FEW_VALUES
        index = hash_index(store, operator.key, context, now=not few)
        if index is not None:
            try:
                return index.pairs(values, context)
            except Unanswered:  # a list, or the like
                pass
        return scanned(values)

    def scanned(values: Sequence[Any]) -> tuple[IntArray, IntArray]:
        """Return the same by reading the column once for each different value."""
        known: dict[Any, IntArray] = {}
        for value in values:
            key = group_key(value)
            if key not in known:
                known[key] = scan(value)
        parts = [known[group_key(value)] for value in values]
        rows = np.repeat(np.arange(len(values)), [len(part) for part in parts])
        return rows, np.concatenate(parts)

    def scan(value: Any) -> IntArray:
        if value is None:
            return np.empty(0, np.int64)
        here = Property(Variable(operator.name, type=NODE), operator.key)
        equation = (Comparison(("=",), (here, Literal(value))),)
        note_scan(store, HASH, operator.key)
        parts = [
            low + np.flatnonzero(masks.vertex_mask(operator.name, equation, low, high)) for low, high in ranges.tolist()
        ]
        return np.concatenate(parts) if parts else np.empty(0, np.int64)

    def run(outer: Batch) -> Iterator[Batch]:
        for batch in upstream(outer):
            rows, ids = found(batch)
            for offset, length in pieces(len(rows), first):
                for begin, count in repeated_pieces(batch, rows[offset : offset + length], runtime.memory):
                    part = slice(offset + begin, offset + begin + count)
                    kept = batch.take(rows[part]) if batch.columns else batch
                    yield Batch(count, {**kept.columns, operator.name: NodeColumn(ids[part])})
            context.check()

    return run
