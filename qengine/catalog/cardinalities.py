"""What a planner may be told of a pattern's parts: how many rows each has. Estimates implement it; planners read it."""

from __future__ import annotations

from typing import Protocol


class SubpatternRows(Protocol):
    """Cardinalities of the connected parts of one pattern, better founded than statistics of single relationships."""

    def rows(self, nodes: frozenset[str]) -> float | None:
        """Return the expected embeddings of the part between these nodes, with all relationships and conditions among
        them; None where nothing better than the catalogue's statistics is known.
        """
