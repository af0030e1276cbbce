"""Pattern relationships with what the catalogue knows of them: the types they can match, whether identity matters."""

from __future__ import annotations

from functools import lru_cache

from qengine._frozen import KeptHash, frozen, replace
from qengine.catalog.view import CatalogView, RelationshipTypeInfo
from qengine.optimizer.labels import matching_types
from qengine.optimizer.peeking import as_known
from qengine.plan.pattern import Direction, PatternRelationship

SAME = "@same:"
"""Begins the name under which a relationship of the input rows is searched, to be compared with it afterwards."""


def given_name(name: str) -> str:
    """Return the name that a relationship has in the query graph and the input rows."""
    return name.removeprefix(SAME)


@frozen
class _Nature(KeptHash):
    """What holds of all pattern relationships of the same types and the same direction."""

    names: tuple[str, ...]
    symmetric: bool
    swappable: bool
    multiple: bool
    loops: bool


@lru_cache(1 << 10)
def _nature(types: tuple[RelationshipTypeInfo, ...], both: bool, antiparallel: bool) -> _Nature:
    return _Nature(
        names=tuple(info.name for info in types),
        symmetric=both or all(info.undirected for info in types),
        swappable=both or any(info.undirected for info in types),
        multiple=len(types) > 1
        or any(info.parallel or (both and antiparallel and not info.undirected) for info in types),
        loops=any(info.loops for info in types),
    )


@frozen
class PatternEdge(KeptHash):
    """A pattern relationship and its possible types.

    ``name``: of the relationship's variable. ``ends``: names of the start and the end node. ``multiple``: two vertices
    may be joined by more than one relationship that matches it, so counting vertices does not count matches.
    """

    relationship: PatternRelationship
    types: tuple[RelationshipTypeInfo, ...]
    name: str
    ends: tuple[str, str]
    _nature: _Nature

    @property
    def symmetric(self) -> bool:
        """Whether every match stays one when its ends are swapped."""
        return self._nature.symmetric

    @property
    def swappable(self) -> bool:
        """Whether some match may stay one when its ends are swapped."""
        return self._nature.swappable

    @property
    def multiple(self) -> bool:
        """Whether one pair of vertices may match it through several relationships."""
        return self._nature.multiple

    @property
    def loops(self) -> bool:
        """Whether a self-loop may match it."""
        return self._nature.loops

    def type_names(self) -> tuple[str, ...]:
        """Return the names of the types that it can match."""
        return self._nature.names


def pattern_edge(catalog: CatalogView, relationship: PatternRelationship) -> PatternEdge:
    """Look up the types of a pattern relationship, and where it matters whether one joins vertices both ways."""
    types = matching_types(catalog, relationship.types)
    either_way = relationship.direction is Direction.BOTH and len(types) == 1
    asked = either_way and not (types[0].undirected or types[0].parallel)
    return edge_of_types(relationship, types, catalog.antiparallel(types[0].name) if asked else True)


def known_edge(edge: PatternEdge) -> PatternEdge:
    """Return an edge as its estimates are remembered by: with the values that these may look at."""
    known = as_known(edge.relationship)
    return edge if known is edge.relationship else replace(edge, relationship=known)


def edge_of_types(
    relationship: PatternRelationship, types: tuple[RelationshipTypeInfo, ...], antiparallel: bool = True
) -> PatternEdge:
    """Return a pattern relationship with the types that it can match.

    ``antiparallel``: whether directed ones among them may join two vertices both ways.
    """
    nature = _nature(types, relationship.direction is Direction.BOTH, antiparallel)
    return PatternEdge(relationship, types, relationship.name, (relationship.start, relationship.end), nature)
