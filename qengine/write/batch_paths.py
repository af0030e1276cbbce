"""MERGE for many rows at once of a path with new nodes: alone, between new nodes, or beside nodes that are known.

A row finds what the graph has, and what rows before it have made. All relationships that a new node has by then were
made with it. So where each relationship of the pattern has such an end, these hang together and the types differ, a row
that finds one element which an earlier row has made finds all that this row has made, and these alone: it stands for
equal known nodes, and looks for equal values. As for one element (``batch_merge``) the graph is asked once for all
rows, and a table of keys tells the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from qengine._frozen import frozen
from qengine.plan import updates as up
from qengine.plan.expr import Expr
from qengine.plan.pattern import Direction, LabelExpr, LabelIs, MatchMode, PatternRelationship
from qengine.storage.arrays import Array
from qengine.write.base_columns import has_label
from qengine.write.batch_merge import Settings, keys_of, settings_of
from qengine.write.column_values import Unbatched
from qengine.write.overlay import Overlay

_MOST = 1 << 22  # entries of lists that are looked at for all rows together


@frozen
class Hop:
    """A relationship that is looked for from the node ``near`` to ``far``; ``ways``: away from there, towards it."""

    edge: up.NewRelationship
    near: str
    far: str
    ways: tuple[bool, ...]


@frozen
class MergedPath:
    """What is merged: ``elements`` are made, nodes before the relationships that end at them.

    ``known``: nodes of the rows. ``first``: the node that is looked for first, one of these if there is any, with its
    ``labels``; then ``hops`` find the others. By element: ``keys``, properties, each with what it must equal;
    ``created``, ``matched``, what ON CREATE and ON MATCH set of it: none of the keys, and of values of the row alone.
    """

    elements: tuple[up.NewElement, ...]
    known: tuple[str, ...]
    first: str
    labels: LabelExpr | None
    hops: tuple[Hop, ...]
    keys: Mapping[str, Mapping[str, Expr]]
    created: Mapping[str, Settings]
    matched: Mapping[str, Settings]


def merged_path(step: up.Merge) -> MergedPath | None:
    """Return what a step merges, None where rows may find what several rows have made, or more is asked than said."""
    graph = step.graph
    if graph.paths or graph.mode is MatchMode.DIFFERENT_NODES:
        return None
    new = {each.name: each for each in step.elements if isinstance(each, up.NewNode)}
    edges = {each.name: each for each in step.elements if isinstance(each, up.NewRelationship)}
    known = tuple(node.name for node in graph.nodes if node.bound)
    if not all(_is_plain(each, edges, new) for each in graph.relationships):
        return None
    if len({each.type for each in edges.values()}) < len(edges) or not _hang_together(edges, new):
        return None
    if any(node.bound and (node.labels is not None or node.predicates) for node in graph.nodes):
        return None
    keys = keys_of(step)
    settings = None if keys is None else settings_of(step, keys)
    if keys is None or settings is None:
        return None
    first = known[0] if known else next((name for name in new if keys[name]), None)
    if first is None:
        return None
    hops = _hops(first, edges, {each.name for each in graph.relationships if each.direction is Direction.BOTH})
    labels = next(node.labels for node in graph.nodes if node.name == first)
    return MergedPath(step.elements, known, first, labels, hops, keys, *settings)


def _is_plain(
    relationship: PatternRelationship, edges: Mapping[str, up.NewRelationship], new: Mapping[str, up.NewNode]
) -> bool:
    """Tell whether a relationship is one of those to make, with a new end; either way only beside one that is known."""
    edge = edges.get(relationship.name)
    if edge is None or relationship.hops is not None or relationship.bound:
        return False
    ends = {edge.start, edge.end}
    if relationship.types != LabelIs(edge.type) or {relationship.start, relationship.end} != ends:
        return False
    if relationship.direction is Direction.BOTH:
        return len(ends) == 2 and len(ends & new.keys()) == 1
    return relationship.start == edge.start and not ends.isdisjoint(new)


def _hang_together(edges: Mapping[str, up.NewRelationship], new: Mapping[str, up.NewNode]) -> bool:
    """Tell whether all new nodes are reached from one of them by relationships between new nodes."""
    if not edges or not new:
        return False
    reached, before = {next(iter(new))}, 0
    while before < len(reached):
        before = len(reached)
        for edge in edges.values():
            ends = {edge.start, edge.end}
            if ends <= new.keys() and not ends.isdisjoint(reached):
                reached |= ends
    return len(reached) == len(new)


def _hops(first: str, edges: Mapping[str, up.NewRelationship], both: set[str]) -> tuple[Hop, ...]:
    """Return in which order relationships are looked for, each from a node that is found by then."""
    reached, left, hops = {first}, dict(edges), []
    while left:
        edge = next(each for each in left.values() if not reached.isdisjoint((each.start, each.end)))
        out = edge.start in reached
        near, far = (edge.start, edge.end) if out else (edge.end, edge.start)
        hops.append(Hop(edge, near, far, (True, False) if edge.name in both else (out,)))
        reached.add(far)
        del left[edge.name]
    return tuple(hops)


def leaves_of(
    overlay: Overlay, type: str, nodes: Array, ways: Sequence[bool], look: Callable[[], None]
) -> tuple[Array, Array, Array]:
    """Return the relationships of a type that lead away from some nodes, or to them.

    Parameters
    ----------
    nodes
        int64: numbers of nodes, one a row.
    ways
        True for those that lead away, False for those that lead there, each of both ways once.
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
    parts = [
        found
        for out in ways
        for found in (*_of_base(overlay, type, nodes, out, look), *_of_added(overlay, type, nodes, out, look))
    ]
    table = np.array(parts, np.int64).reshape(-1, 3)
    if len(ways) > 1:
        table = np.unique(table, axis=0)  # one that begins where it ends is found both ways
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
