"""What a graph that changes says of many elements that aren't apart: those of its base, as patches leave them."""

from __future__ import annotations

import numpy as np

from qengine.storage.arrays import Array
from qengine.storage.spliced_type import relationships_of
from qengine.storage.store import GraphStore
from qengine.storage.variant import is_present
from qengine.write.overlay import Overlay


def are_gone(overlay: Overlay, numbers: Array, *, nodes: bool) -> Array:
    """Tell which elements (int64, none apart) aren't there."""
    store = overlay.base.store
    places = (store.node_numbers if nodes else store.relationship_numbers).places(numbers)
    table = overlay.node_patches if nodes else overlay.relationship_patches
    found: Array = (places < 0) | table.deleted(numbers) if table.deletes else places < 0
    return found


def has_label(overlay: Overlay, numbers: Array, label: str) -> Array:
    """Tell which nodes (int64, none apart) have a label."""
    store = overlay.base.store
    places = store.node_numbers.places(numbers)
    before = np.zeros(len(numbers), np.bool_)
    for group in store.groups:
        if label in group.labels:
            before |= (places >= group.begin) & (places < group.end)
    return overlay.node_patches.has_label(numbers, label, before)


def has_value(overlay: Overlay, numbers: Array, key: str, *, nodes: bool) -> Array:
    """Tell which elements (int64, none apart) have a property."""
    store = overlay.base.store
    table = overlay.node_patches if nodes else overlay.relationship_patches
    before = _node_has(store, numbers, key) if nodes else _relationship_has(store, numbers, key)
    return table.has_value(numbers, key, before)


def _node_has(store: GraphStore, numbers: Array, key: str) -> Array:
    column = store.node_property(key)
    if column is None:
        return np.zeros(len(numbers), np.bool_)
    return is_present(column.take(store.node_numbers.places(numbers)))


def _relationship_has(store: GraphStore, numbers: Array, key: str) -> Array:
    places = store.relationship_numbers.places(numbers)
    found = np.zeros(len(numbers), np.bool_)
    types = store.type_of(places)
    for kind in store.types:
        column = store.relationship_property(kind.index, key)
        if column is not None:
            rows = np.flatnonzero((types == kind.index) & (places >= 0))
            found[rows] = is_present(column.take(places[rows] - kind.base))
    return found


def incident(store: GraphStore, nodes: Array) -> Array:
    """Return the numbers (int64, ascending) of the relationships in a store that some nodes (numbers) are ends of."""
    places = store.node_numbers.places(nodes)
    places = np.sort(places[places >= 0])
    found = [np.empty(0, np.int64)]
    for kind in store.types:
        local = relationships_of(store.adjacencies(kind.index), places)
        found.append(store.relationship_numbers.of(local + kind.base))
    return np.sort(np.concatenate(found))
