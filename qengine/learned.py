"""What runs have shown of a graph: cardinalities of parts of patterns, which its next plans believe."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from qengine._frozen import frozen
from qengine.plan.expr import Expr, Property, Variable
from qengine.plan.pattern import Direction, LabelExpr, PatternRelationship, QueryGraph
from qengine.plan.text import pattern_text
from qengine.plan.traverse import preorder

if TYPE_CHECKING:
    from qengine.optimizer.learned_rows import LearnedPart
    from qengine.storage.store import GraphStore

__all__ = ["Learned", "LearnedCardinality"]

_AFTER = 2.0
"""Seconds after which a statement is looked at, unless the graph says otherwise."""


@frozen(held=True)
class LearnedCardinality:
    """Rows of a pattern, which may have equal nodes and relationships.

    ``expected``: by the plan that was profiled. ``exact``: the rows were counted; else they were sampled.
    """

    pattern: str
    rows: float
    expected: float
    exact: bool


class Learned:
    """What runs have shown of a graph's latest version: an iterable of ``LearnedCardinality``, the oldest first.

    A statement that was profiled, or took ``after`` seconds, is looked at when it is done; the latter by samples, for
    at most a hundredth of its time. Where that finds parts of its pattern to have twice as many rows as expected, or
    half as many, these are kept, and believed when statements are planned from then on; EXPLAIN says of how many. A
    version that changes a type, a label or a property that a part has forgets the part. They are not saved with the
    graph.

    Attributes
    ----------
    enabled
        Whether runs add to it. Set it to False, and ``clear()``, to plan by statistics alone.
    after
        Seconds that a statement without PROFILE takes before it is looked at; ``math.inf``: none is.
    most
        How many parts are kept: the oldest are forgotten first.
    """

    def __init__(self) -> None:
        self.enabled = True
        self.after = _AFTER
        self.most = 256
        self.round = 0  # how often it was changed
        self._store: GraphStore | None = None
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._parts())

    def __iter__(self) -> Iterator[LearnedCardinality]:
        found = self._parts()
        return (LearnedCardinality(pattern_text(each.graph), each.rows, each.expected, each.exact) for each in found)

    def __repr__(self) -> str:
        lines = [f"{each.pattern}: {each.rows:,.6g} rows, {each.expected:,.3g} expected" for each in self]
        return "\n".join(lines) if lines else "<nothing learned>"

    def clear(self) -> None:
        """Forget everything."""
        from qengine.optimizer.learned_rows import LearnedRows, keep_learned

        with self._lock:
            if self._store is not None and self._parts():
                keep_learned(self._store, LearnedRows(()))
                self.round += 1

    def add(self, store: GraphStore, parts: Iterable[LearnedPart]) -> None:
        """Keep what a version has shown, if it is the latest that was asked about."""
        from qengine.optimizer.learned_rows import LearnedRows, keep_learned

        new = list(parts)
        with self._lock:
            if new and self.enabled and (self._store is store or self._store is None):
                self._store = store
                keep_learned(store, LearnedRows(self._parts()).with_parts(new, self.most))
                self.round += 1

    def follow(self, store: GraphStore) -> None:
        """Go on with a later version: keep what it hasn't changed."""
        with self._lock:
            before, self._store = self._store, store
            if before is None or before is store or not self.round:
                return
            from qengine.optimizer.learned_rows import LearnedRows, keep_learned, learned_rows

            known = learned_rows(before)
            kept = () if known is None else [each for each in known.parts if _unchanged(each.graph, before, store)]
            keep_learned(store, LearnedRows(kept))

    def _parts(self) -> tuple[LearnedPart, ...]:
        if self._store is None or not self.round:
            return ()
        from qengine.optimizer.learned_rows import learned_rows

        known = learned_rows(self._store)
        return () if known is None else known.parts


def _unchanged(graph: QueryGraph, before: GraphStore, store: GraphStore) -> bool:
    """Tell whether a version has all that a pattern asks for from the version before."""
    conditions = [*graph.predicates, *(each for node in graph.nodes for each in node.predicates)]
    keys = _keys(conditions)
    return (
        keys is not None
        and all(before.node_property(key) is store.node_property(key) for key in keys)
        and all(_with_labels(before, node.labels) == _with_labels(store, node.labels) for node in graph.nodes)
        and all(_same_type(each, before, store) for each in graph.relationships)
    )


def _with_labels(store: GraphStore, labels: LabelExpr | None) -> dict[frozenset[str], int]:
    return {each: count for each, count in store.label_sets if labels is None or labels.admits(each)}


def _same_type(relationship: PatternRelationship, before: GraphStore, store: GraphStore) -> bool:
    keys = _keys(relationship.predicates)
    old, new = (
        {of.types[index].name: index for index in of.matching_types(relationship.types)} for of in (before, store)
    )
    if keys is None or old.keys() != new.keys():
        return False
    return all(
        before.adjacency(old[name], Direction.OUT) is store.adjacency(new[name], Direction.OUT)
        and all(
            before.relationship_property(old[name], key) is store.relationship_property(new[name], key) for key in keys
        )
        for name in old
    )


def _keys(predicates: Iterable[Expr]) -> set[str] | None:
    """Return the properties that conditions read, None where they read elements otherwise."""
    found: set[str] = set()
    for predicate in predicates:
        parts = list(preorder(predicate))
        read = [each.key for each in parts if isinstance(each, Property) and isinstance(each.subject, Variable)]
        if len(read) != sum(isinstance(each, Variable) for each in parts):
            return None
        found.update(read)
    return found
