"""MERGE for many rows at once of a relationship between a node that is known and one that is found, or made, with it.

A row finds what the graph has, and what rows before it have made. A relationship that was made begins at its row's node
and ends at a new one, so only rows of the same node that look for equal values find it: as for one element
(``batch_merge``) the graph is asked once for all rows, and a table of keys tells the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from qengine._frozen import frozen
from qengine.plan import updates as up
from qengine.plan.expr import Expr, MapOf
from qengine.plan.pattern import Direction, LabelIs, MatchMode
from qengine.storage.arrays import Array
from qengine.write.base_columns import has_label
from qengine.write.batch_merge import Settings, settings_of
from qengine.write.column_values import Unbatched
from qengine.write.live import equalities
from qengine.write.overlay import Overlay

__all__ = ["Leaf", "leaves_of", "merged_leaf", "with_labels"]

_MOST = 1 << 22  # entries of lists that are looked at for all rows together


@frozen
class Leaf:
    """What is merged: relationship ``edge`` and ``node``, the new end of it.

    ``known``: the node at its other end. ``keys``: properties of the node, each with what it must equal. ``created``,
    ``matched``: what ON CREATE and ON MATCH set of the node: none of the keys, and of values of the row alone.
    """

    node: up.NewNode
    edge: up.NewRelationship
    known: str
    keys: Mapping[str, Expr]
    created: Settings
    matched: Settings

    @property
    def out(self) -> bool:
        """Whether the relationship leads away from the node that is known."""
        return self.edge.start == self.known


def merged_leaf(step: up.Merge) -> Leaf | None:
    """Return what a step merges, None where it is anything else."""
    graph = step.graph
    made = {type(each): each for each in step.elements}
    node, edge = made.get(up.NewNode), made.get(up.NewRelationship)
    if not isinstance(node, up.NewNode) or not isinstance(edge, up.NewRelationship) or len(step.elements) != 2:
        return None
    if graph.paths or graph.mode is MatchMode.DIFFERENT_NODES or len(graph.nodes) != 2:
        return None
    (pattern,) = (each for each in graph.nodes if each.name == node.name)
    (other,) = (each for each in graph.nodes if each.name != node.name)
    (relationship,) = graph.relationships
    plain = relationship.direction is Direction.OUT and relationship.hops is None and not relationship.bound
    if not plain or relationship.predicates or relationship.types != LabelIs(edge.type) or edge.properties is not None:
        return None
    if (relationship.start, relationship.end) != (edge.start, edge.end) or node.dynamic or edge.dynamic is not None:
        return None
    if pattern.bound or not other.bound or other.labels is not None or other.predicates:
        return None
    if node.properties is not None and not isinstance(node.properties, MapOf):
        return None
    entries = () if node.properties is None else node.properties.entries
    found = equalities(pattern, graph.predicates, frozenset(graph.variables()))
    keys = [(key, value) for key, value, _ in found]
    same = len(keys) == len(entries) == len(dict(keys)) and all(each in entries for each in keys)
    if not same or len(keys) != len(graph.predicates) + len(pattern.predicates):
        return None
    settings = settings_of(step, node, dict(keys))
    return None if settings is None else Leaf(node, edge, other.name, dict(keys), *settings)


def leaves_of(
    overlay: Overlay, type: str, nodes: Array, *, out: bool, look: Callable[[], None]
) -> tuple[Array, Array, Array]:
    """Return the relationships of a type that lead away from some nodes, or to them.

    Parameters
    ----------
    nodes
        int64: numbers of nodes, one a row.
    look
        Raises where the execution must stop.

    Returns
    -------
    tuple of arrays
        int64, by ascending rows: the row, the relationship's number, and that of the node at its other end.

    Raises
    ------
    Unbatched
        Where the type's relationships have no direction, or there are very many.
    """
    parts = [*_of_base(overlay, type, nodes, out, look), *_of_added(overlay, type, nodes, out, look)]
    table = np.array(parts, np.int64).reshape(-1, 3)
    table = table[np.argsort(table[:, 0], kind="stable")]
    return table[:, 0], table[:, 1], table[:, 2]


def _of_base(
    overlay: Overlay, type: str, nodes: Array, out: bool, look: Callable[[], None]
) -> list[tuple[int, int, int]]:
    base = overlay.base
    kind = next((each for each in base.store.types if each.name == type), None)
    if kind is None:
        return []
    if kind.undirected:
        raise Unbatched
    direction = Direction.OUT if out else Direction.IN
    places = base.store.node_numbers.places(nodes)
    known = np.flatnonzero(places >= 0)
    lists = base.store.adjacency(kind.index, direction)
    begins, stops = (each.astype(np.int64) for each in lists.locate_all(places[known].astype(np.uint32)))
    if (stops - begins).sum() > _MOST:
        raise Unbatched
    touched = overlay.touched_relationships(())
    found = []
    for row in known[stops > begins].tolist():
        look()
        for number, _, start, end in base.links(int(nodes[row]), direction, (kind.index,)):
            if touched.get(number, 0) is not None:
                found.append((row, number, end if out else start))
    return found


def _of_added(
    overlay: Overlay, type: str, nodes: Array, out: bool, look: Callable[[], None]
) -> list[tuple[int, int, int]]:
    found = []
    for row, node in enumerate(nodes.tolist()):
        look()
        for number, state in overlay.added(node):
            near, far = (state.start, state.end) if out else (state.end, state.start)
            if state.type == type and near == node:
                found.append((row, number, far))
    return found


def with_labels(overlay: Overlay, numbers: Array, labels: tuple[str, ...]) -> Array:
    """Tell which nodes (int64) are there and have some labels.

    Raises
    ------
    Unbatched
        Where patches have deleted nodes.
    """
    if overlay.node_patches.deletes:
        raise Unbatched
    apart = overlay.are_apart(numbers, nodes=True)
    kept = np.ones(len(numbers), np.bool_)
    for label in labels:
        kept[~apart] &= has_label(overlay, numbers[~apart], label)
    for place in np.flatnonzero(apart).tolist():
        state = overlay.node(int(numbers[place]))
        kept[place] = state is not None and set(labels) <= set(state.labels)
    return kept
