"""Batches as bytes between processes that have opened the same graph: nodes and relationships go as ids."""

from __future__ import annotations

import pickle
from typing import Any

from qengine.exec.common.batch import Batch
from qengine.exec.common.columns import (
    ArrowColumn,
    Column,
    ConstantColumn,
    ListColumn,
    NodeColumn,
    ObjectColumn,
    RelationshipColumn,
)
from qengine.exec.spill.values import packed, unpacked

_ENTITIES = {"nodes": NodeColumn, "relationships": RelationshipColumn}


def encoded(batch: Batch) -> bytes:
    """Return a batch as bytes. Texts that are read late are read now."""
    columns = {name: _plain(column) for name, column in batch.columns.items()}
    return pickle.dumps((batch.length, columns), pickle.HIGHEST_PROTOCOL)


def decoded(data: bytes) -> Batch:
    """Return the batch that ``encoded`` made bytes of. They must come of a process of our own: pickles are obeyed."""
    length, columns = pickle.loads(data)
    return Batch(length, {name: _column(*plain) for name, plain in columns.items()})


def _plain(column: Column) -> tuple[Any, ...]:
    match column:
        case NodeColumn():
            return "nodes", column.ids
        case RelationshipColumn():
            return "relationships", column.ids
        case ArrowColumn():
            return "arrow", column.array
        case ConstantColumn(value=value):
            return "constant", packed([value]), len(column)
        case ListColumn():
            return "lists", column.offsets(), _plain(column.flat()), column.valid
    return "objects", packed(column.values())


def _column(kind: str, *parts: Any) -> Column:
    match kind:
        case "nodes" | "relationships":
            return _ENTITIES[kind](parts[0])
        case "arrow":
            return ArrowColumn(parts[0])
        case "constant":
            return ConstantColumn(unpacked(parts[0])[0], parts[1])
        case "lists":
            return ListColumn(parts[0], _column(*parts[1]), parts[2])
    return ObjectColumn(unpacked(parts[0]))
