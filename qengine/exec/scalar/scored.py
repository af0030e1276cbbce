"""What the built-in searches give: elements of the graph by their numbers, with scores, as arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from qengine._frozen import frozen
from qengine.exec.scalar.values import NodeHandle, RelationshipHandle
from qengine.exec.view import GraphReader

_ROWS = 1024
"""Rows that are made between two looks whether to stop."""


@frozen
class ScoredElements:
    """Nodes (``of_nodes``) or relationships, best first: ``numbers`` (int64) and ``scores`` (float64).

    A procedure that returns these needs no check of each row, since they are of the version that it was given.
    """

    of_nodes: bool
    numbers: Any
    scores: Any

    def rows(self, reader: GraphReader, check: Callable[[], None]) -> Iterator[tuple[Any, float]]:
        """Give the rows as values of a running query; ``reader``: whose ids these have."""
        numbers = reader.node_numbers if self.of_nodes else reader.relationship_numbers
        handle = NodeHandle if self.of_nodes else RelationshipHandle
        for begin in range(0, len(self.numbers), _ROWS):
            check()
            ids = numbers.places(self.numbers[begin : begin + _ROWS]).tolist()
            yield from zip(map(handle, ids), self.scores[begin : begin + _ROWS].tolist(), strict=True)
