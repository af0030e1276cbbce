"""Cardinalities that runs have shown: kept with a version of a graph, and believed when patterns are planned for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from weakref import WeakKeyDictionary

from qengine._frozen import frozen
from qengine.catalog.view import CatalogView
from qengine.optimizer.given_rows import Shapes, places
from qengine.optimizer.peeking import known_values
from qengine.plan.expr import Expr
from qengine.plan.pattern import PatternNode, PatternRelationship, QueryGraph


@frozen
class LearnedPart:
    """A pattern, how many rows it has, and how many statistics expected. ``exact``: counted, not sampled.

    The predicates of ``graph`` compare columns of two of its nodes.
    """

    graph: QueryGraph
    rows: float
    expected: float
    exact: bool


class LearnedRows:
    """Finds learned parts in patterns, whatever their variables are called: a ``CardinalitySource``."""

    reason = "learned"
    """How EXPLAIN names the source."""

    def __init__(self, parts: Iterable[LearnedPart]) -> None:
        self.parts = tuple(parts)
        self._shapes = [
            (Shapes({node.name: node for node in each.graph.nodes}, each.graph.relationships, each.graph.predicates))
            for each in self.parts
        ]

    def known(
        self,
        nodes: Mapping[str, PatternNode],
        relationships: Sequence[PatternRelationship],
        conditions: Sequence[Expr] = (),
    ) -> Mapping[frozenset[str], float]:
        """Return the rows of the parts of a pattern that were learned, by the names of their nodes."""
        pattern = Shapes(nodes, relationships, conditions)
        found: dict[frozenset[str], float] = {}
        for part, shapes in zip(self.parts, self._shapes, strict=True):
            if shapes.kinds <= pattern.kinds and len(shapes.nodes) <= len(pattern.nodes):
                found.update(dict.fromkeys(places(shapes, pattern), part.rows))
        return found

    def with_parts(self, parts: Sequence[LearnedPart], most: int) -> LearnedRows:
        """Return these with others, which replace equal ones; of more than ``most`` the first are forgotten."""
        new = {_same(each.graph): each for each in parts}
        kept = [each for each in self.parts if _same(each.graph) not in new]
        return LearnedRows((*kept, *new.values())[-most:] if most else ())


def _same(graph: QueryGraph) -> object:
    return frozenset(graph.nodes), frozenset(graph.relationships), frozenset(graph.predicates)


_learned: WeakKeyDictionary[CatalogView, LearnedRows] = WeakKeyDictionary()
"""What was learned of versions of graphs: of none that is gone."""


def learned_rows(catalog: CatalogView) -> LearnedRows | None:
    """Return what was learned of a version of a graph, None where nothing was."""
    return _learned.get(catalog)


def is_for_other_values(catalog: CatalogView) -> bool:
    """Tell whether a plan is made for other values of its parameters, too, where what was learned holds for some alone.

    What is known of its parts is kept apart from what is known of the same parts with these values.
    """
    return bool(known_values()) and learned_rows(catalog) is not None


def keep_learned(catalog: CatalogView, rows: LearnedRows) -> None:
    """Let what was learned be believed from now on, in place of what was before."""
    if rows.parts:
        _learned[catalog] = rows
    else:
        _learned.pop(catalog, None)
