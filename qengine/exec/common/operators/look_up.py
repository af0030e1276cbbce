"""``LookUp``: the nodes or relationships whose property equals a value of the input row, or whose identity does.

By a hash index, once it pays. ``RelationshipScan``: those that an index finds by conditions on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from qengine.errors import ExecutionError
from qengine.exec.common.access import hash_index, indexed_relationships, named_by, note_scan
from qengine.exec.common.batch import Batch
from qengine.exec.common.batch_parts import by_parts, pieces, repeated_pieces
from qengine.exec.common.columns import IntArray, NodeColumn, RelationshipColumn
from qengine.exec.common.expressions.compiler import compile_expression
from qengine.exec.common.operators.stage import Build, Stage
from qengine.exec.common.value_index import Unanswered
from qengine.exec.scalar.compare import group_key
from qengine.exec.scalar.values import wrong_argument
from qengine.plan import physical
from qengine.plan.access import FEW, HASH
from qengine.plan.expr import Comparison, Literal, Property, Variable
from qengine.storage.arrays import in_ranges
from qengine.types import NODE, RELATIONSHIP

_NONE: IntArray = np.empty(0, np.int64)

_FEW_VALUES = 2  # different ones, that a column without an index is scanned for
_FEW_OF_RELATIONSHIPS = 16  # the same; their indexes don't follow from version to version


def look_up_stage(operator: physical.LookUp, build: Build, first: int) -> Stage:
    """Emit each input row with each node that it finds."""
    runtime = build.runtime
    memory = runtime.memory
    upstream = build(operator.input, first)
    finder = _Finder(operator, build)
    column = RelationshipColumn if operator.relationship else NodeColumn

    def run(outer: Batch) -> Iterator[Batch]:
        found = (part for batch in upstream(outer) for part in by_parts(batch, finder.found, memory))
        for batch, (rows, ids) in found:
            for offset, length in pieces(len(rows), first):
                for begin, count in repeated_pieces(batch, rows[offset : offset + length], runtime.memory):
                    part = slice(offset + begin, offset + begin + count)
                    kept = batch.take(rows[part]) if batch.columns else batch
                    yield Batch(count, {**kept.columns, operator.name: column(ids[part])})
            runtime.context.check()

    return run


def relationship_scan_stage(operator: physical.RelationshipScan, build: Build, first: int) -> Stage:
    """Emit each input row with each relationship that the operator finds, the same ones for all."""
    runtime, masks = build.runtime, build.masks
    upstream = build(operator.input, first)

    def of_type(index: int, count: int) -> IntArray:
        access = operator.access
        found = indexed_relationships(runtime, index, access, count // FEW)
        if found is None:
            found = np.flatnonzero(masks.edge_mask(operator.name, operator.predicates, index, 0, count))
            for key in access.keys if len(found) * FEW <= count else ():
                note_scan(runtime.store, access.kind, key, index)
        return found

    @cache
    def found() -> IntArray:
        types = [each for each in runtime.store.types if each.name in operator.types]
        return np.concatenate([_NONE, *(each.base + of_type(each.index, each.count) for each in types)])

    def run(outer: Batch) -> Iterator[Batch]:
        for batch in upstream(outer):
            ids = found()
            for row in range(batch.length):
                kept = batch.slice(row, 1)
                for offset, length in pieces(len(ids), first):
                    rows = np.zeros(length, np.int64)
                    for begin, count in repeated_pieces(kept, rows, runtime.memory):
                        part = RelationshipColumn(ids[offset + begin : offset + begin + count])
                        own = kept.take(rows[:count]) if kept.columns else kept
                        yield Batch(count, {**own.columns, operator.name: part})
                runtime.context.check()

    return run


class _Finder:
    """Finds what rows ask for: by an index, or where few values are asked of a column without one, by scans."""

    def __init__(self, operator: physical.LookUp, build: Build) -> None:
        self._operator = operator
        self._masks = build.masks
        self._store, self._context = build.runtime.store, build.runtime.context
        self._evaluate = compile_expression(operator.value, build.runtime)
        self._types = [each for each in self._store.types if each.name in operator.types]
        self._ranges = self._store.label_ranges(operator.labels).astype(np.int64)

    def found(self, batch: Batch) -> tuple[IntArray, IntArray]:
        """Return which rows find which nodes, by row."""
        try:
            values = self._evaluate(batch).values()
        except ExecutionError:
            ranges = [(each.base, each.base + each.count) for each in self._types] or self._ranges.tolist()
            every = np.concatenate([np.arange(low, high) for low, high in ranges] or [_NONE])
            return np.repeat(np.arange(batch.length), len(every)), np.tile(every, batch.length)
        rows, ids = self._looked_up(values)
        if self._operator.relationship:
            return rows, ids
        inside = np.flatnonzero(in_ranges(ids, self._ranges))
        return rows[inside], ids[inside]

    def _looked_up(self, values: Sequence[Any]) -> tuple[IntArray, IntArray]:
        operator = self._operator
        if operator.many:
            return self._of_lists(values)
        if operator.identity:
            return named_by(self._store, operator.key, values, relationship=operator.relationship)
        most = _FEW_OF_RELATIONSHIPS if operator.relationship else _FEW_VALUES
        few = len(values) <= most or len({group_key(value) for value in values}) <= most
        if not operator.relationship:
            return self._by_key(values, few, None)
        found = [(each.base, *self._by_key(values, few, each.index)) for each in self._types]
        rows = np.concatenate([_NONE, *(own for _, own, _ in found)])
        ids = np.concatenate([_NONE, *(base + local for base, _, local in found)])
        order = np.argsort(rows, kind="stable") if len(found) > 1 else slice(None)
        return rows[order], ids[order]

    def _by_key(self, values: Sequence[Any], few: bool, type: int | None) -> tuple[IntArray, IntArray]:
        """Return which values are those of which nodes, or of which relationships of a type (local ids), by values."""
        index = hash_index(self._store, self._operator.key, self._context, now=not few, type=type)
        if index is not None:
            try:
                return index.pairs(values, self._context)
            except Unanswered:  # a list, or the like
                pass
        return self._scanned(values, type)

    def _of_lists(self, lists: Sequence[Any]) -> tuple[IntArray, IntArray]:
        """Return what is named in the list of each row, once."""
        operator = self._operator
        for items in lists:
            if items is not None and type(items) is not list:
                raise wrong_argument("IN", "a list on its right", items)
        rows = np.repeat(np.arange(len(lists)), [len(items or ()) for items in lists])
        values = [value for items in lists for value in items or ()]
        found, ids = named_by(self._store, operator.key, values, relationship=operator.relationship)
        pairs = np.unique(np.stack((rows[found], ids)), axis=1)
        return pairs[0], pairs[1]

    def _scanned(self, values: Sequence[Any], type: int | None) -> tuple[IntArray, IntArray]:
        """Return the same by reading the column once for each different value."""
        known: dict[Any, IntArray] = {}
        for value in values:
            key = group_key(value)
            if key not in known:
                known[key] = self._scan(value, type)
        parts = [known[group_key(value)] for value in values]
        rows = np.repeat(np.arange(len(values)), [len(part) for part in parts])
        return rows, np.concatenate(parts)

    def _scan(self, value: Any, type: int | None) -> IntArray:
        if value is None:
            return _NONE
        name, key = self._operator.name, self._operator.key
        of = Variable(name, type=NODE if type is None else RELATIONSHIP)
        equation = (Comparison(("=",), (Property(of, key), Literal(value))),)
        note_scan(self._store, HASH, key, type)
        if type is not None:
            return np.flatnonzero(self._masks.edge_mask(name, equation, type, 0, self._store.types[type].count))
        parts = [
            low + np.flatnonzero(self._masks.vertex_mask(name, equation, low, high))
            for low, high in self._ranges.tolist()
        ]
        return np.concatenate(parts) if parts else _NONE
