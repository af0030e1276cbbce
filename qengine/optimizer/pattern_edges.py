"""Pattern relationships with what the catalogue knows of them: the types they can match, whether identity matters."""

from __future__ import annotations

from qengine._frozen import frozen
from qengine.catalog.view import CatalogView, RelationshipTypeInfo
from qengine.optimizer.labels import matching_types
from qengine.plan.pattern import Direction, PatternRelationship

SAME = "@same:"
"""Begins the name under which a relationship of the input rows is searched, to be compared with it afterwards."""


def given_name(name: str) -> str:
    """Return the name that a relationship has in the query graph and the input rows."""
    return name.removeprefix(SAME)


@frozen
class PatternEdge:
    """A pattern relationship and its possible types.

    ``multiple``: two vertices may be joined by more than one relationship that matches it, so counting
    vertices does not count matches.
    """

    relationship: PatternRelationship
    types: tuple[RelationshipTypeInfo, ...]

    @property
    def name(self) -> str:
        """Name of the relationship variable."""
        return self.relationship.name

    @property
    def ends(self) -> tuple[str, str]:
        """Names of the start and the end node."""
        return self.relationship.start, self.relationship.end

    @property
    def symmetric(self) -> bool:
        """Whether every match stays one when its ends are swapped."""
        return self.relationship.direction is Direction.BOTH or all(info.undirected for info in self.types)

    @property
    def swappable(self) -> bool:
        """Whether some match may stay one when its ends are swapped."""
        return self.relationship.direction is Direction.BOTH or any(info.undirected for info in self.types)

    @property
    def multiple(self) -> bool:
        """Whether one pair of vertices may match it through several relationships."""
        both = self.relationship.direction is Direction.BOTH
        return len(self.types) > 1 or any(info.parallel or (both and not info.undirected) for info in self.types)

    @property
    def loops(self) -> bool:
        """Whether a self-loop may match it."""
        return any(info.loops for info in self.types)

    def type_names(self) -> tuple[str, ...]:
        """Return the names of the types that it can match."""
        return tuple(info.name for info in self.types)

    def shares_type(self, other: PatternEdge) -> bool:
        """Tell whether one relationship could match both."""
        return bool({info.name for info in self.types} & {info.name for info in other.types})


def pattern_edge(catalog: CatalogView, relationship: PatternRelationship) -> PatternEdge:
    """Look up the types of a pattern relationship."""
    return PatternEdge(relationship, matching_types(catalog, relationship.types))
