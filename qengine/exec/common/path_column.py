"""``PathColumn``: paths as the lists of their nodes and relationships."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from qengine.exec.common.columns import BoolArray, Column, IntArray, ListColumn, concatenate
from qengine.exec.scalar.values import PathHandle

__all__ = ["PathColumn"]

_PATH = 160  # bytes of a path as a Python object


class PathColumn(Column):
    """Paths: each row's nodes, and its relationships, in order; both are null where it is."""

    __slots__ = ("nodes", "relationships")

    def __init__(self, nodes: ListColumn, relationships: ListColumn) -> None:
        self.nodes = nodes
        self.relationships = relationships

    def __len__(self) -> int:
        return len(self.nodes)

    def _like(self, nodes: Column, relationships: Column) -> Column:
        assert isinstance(nodes, ListColumn)
        assert isinstance(relationships, ListColumn)
        return PathColumn(nodes, relationships)

    def take(self, indices: IntArray) -> Column:
        return self._like(self.nodes.take(indices), self.relationships.take(indices))

    def slice(self, offset: int, length: int) -> Column:
        return self._like(self.nodes.slice(offset, length), self.relationships.slice(offset, length))

    def is_null(self) -> BoolArray:
        return self.nodes.is_null()

    def values(self) -> list[Any]:
        pairs = zip(self.nodes.values(), self.relationships.values(), strict=True)
        return [None if nodes is None else PathHandle(tuple(nodes), tuple(edges)) for nodes, edges in pairs]

    @property
    def nbytes(self) -> int:
        return self.nodes.nbytes + self.relationships.nbytes

    @property
    def object_bytes(self) -> int:
        """Bytes of the paths as Python objects beside their elements."""
        return _PATH * len(self)

    def joined(self, columns: Sequence[Column]) -> Column | None:
        paths = [column for column in columns if isinstance(column, PathColumn)]
        if len(paths) < len(columns):
            return None
        nodes = concatenate([path.nodes for path in paths])
        return self._like(nodes, concatenate([path.relationships for path in paths]))
