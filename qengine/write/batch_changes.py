"""What is done to the elements of many rows at once: properties, labels, deletions.

Elements of the version that nothing was done to one by one are patched together. What is done to new ones, and to those
that were touched before, goes one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from qengine._frozen import frozen
from qengine.errors import Span, StorageError
from qengine.exec.scalar.values import NodeHandle
from qengine.storage.arrays import Array
from qengine.storage.states import Patch
from qengine.storage.variant import from_python, is_present, is_variant
from qengine.write.base_columns import are_gone, has_label, has_value, incident
from qengine.write.column_values import Unbatched
from qengine.write.live import LiveGraph
from qengine.write.overlay import Overlay
from qengine.write.table import Elements, Plain

Values: TypeAlias = list[Any] | Plain
"""A property's values, of each row."""
PATCHED = 512
"""From so many rows on elements are patched."""


@frozen
class Divided:
    """The elements of rows: those to patch, and the rows of others.

    ``numbers``: int64, ascending, each once, all there. ``patched``, ``others``: places (int64) of the rows of elements
    that are patched, and of others; rows without an element are neither. ``which``: of each patched row its element's
    place (int64) in ``numbers``, where none was left out. ``left_out``: the numbers (int64) of those that aren't there
    any more. ``nodes``: whether they are nodes.
    """

    numbers: Array
    which: Array
    patched: Array
    others: Array
    left_out: Array
    nodes: bool


class BatchChanges:
    """Changes the elements of many rows.

    ``check``, ``look``: raise where the execution must stop; the second, which takes longer, also where it holds too
    much.
    """

    def __init__(self, graph: LiveGraph, check: Callable[[], None], look: Callable[[], None]) -> None:
        self._graph = graph
        self._check, self._look = check, look

    @property
    def _overlay(self) -> Overlay:
        return self._graph.overlay

    def divided(self, subject: Elements, *, gone: bool = False) -> Divided | None:
        """Tell which elements are patched together; None where they are too few.

        ``gone``: elements that aren't there any more are left out.

        Raises
        ------
        Unbatched
            Where one is gone, and may not be.
        """
        self._look()
        nodes, numbers = subject.handle is NodeHandle, subject.numbers
        if len(numbers) < PATCHED:
            return None
        there = numbers >= 0
        apart = self._overlay.are_apart(numbers, nodes=nodes)
        patched = np.flatnonzero(there & ~apart)
        if len(patched) < PATCHED:
            return None
        own = numbers[patched]
        which = np.arange(len(own))
        if not (own[1:] > own[:-1]).all():
            own, which = np.unique(own, return_inverse=True)
        missing = are_gone(self._overlay, own, nodes=nodes)
        left_out = own[missing]
        if len(left_out):
            if not gone:
                raise Unbatched
            own = own[~missing]
        return Divided(own, which, patched, np.flatnonzero(there & apart), left_out, nodes)

    # ------------------------------------------------------------ properties

    def set(self, found: Divided, columns: Mapping[str, Values], *, replace: bool = False) -> bool:
        """Set properties of the elements that are patched, of which the last row counts; tell whether it could be done.

        ``replace``: all others go.

        It can't where a property goes of an element that comes twice, since counts depend on what rows before did.
        """
        rows = found.patched[_last(found.which, len(found.numbers))]
        once = len(found.numbers) == len(found.patched)
        arrays: dict[str, Any] = {}
        count = 0
        for key, values in columns.items():
            self._look()
            try:
                array = values.array if isinstance(values, Plain) else from_python(values, "a property")
            except StorageError:
                return False
            count += len(found.patched)
            if array.null_count or is_variant(array.type):  # of which Arrow doesn't count them
                missing = ~is_present(array.take(pa.array(found.patched)))
                if missing.any() and not once:
                    return False
                gone = found.numbers[found.which[missing]]
                had = has_value(self._overlay, gone, key, nodes=found.nodes)
                count -= len(gone) - int(np.count_nonzero(had))
            arrays[key] = _taken(array, rows)
        if replace:
            for key in self._keys(nodes=found.nodes) - columns.keys():
                going = int(np.count_nonzero(has_value(self._overlay, found.numbers, key, nodes=found.nodes)))
                if going:
                    arrays[key], count = pa.nulls(len(found.numbers)), count + going
        self._patch(found, Patch(found.numbers, arrays), properties_set=count)
        return True

    def _keys(self, *, nodes: bool) -> frozenset[str]:
        """Return the properties that elements which aren't apart may have."""
        overlay = self._overlay
        above = (overlay.node_patches if nodes else overlay.relationship_patches).keys
        return above.union(overlay.base.store.property_keys("node" if nodes else "relationship"))

    def remove(self, found: Divided, key: str) -> None:
        """Take a property away from the elements that are patched."""
        own = found.numbers[has_value(self._overlay, found.numbers, key, nodes=found.nodes)]
        self._patch(found, Patch(own, {key: pa.nulls(len(own))}), properties_set=len(own))

    # ------------------------------------------------------------ labels

    def relabel(self, found: Divided, labels: tuple[str, ...], *, remove: bool) -> None:
        """Give the nodes that are patched labels, or take these away."""
        differ = np.zeros(len(found.numbers), np.bool_)
        count = 0
        for label in dict.fromkeys(labels):
            own = has_label(self._overlay, found.numbers, label) == remove
            count += int(np.count_nonzero(own))
            differ |= own
        numbers = found.numbers if differ.all() else found.numbers[differ]
        added, removed = ((), labels) if remove else (labels, ())
        counts = {"labels_removed" if remove else "labels_added": count}
        self._patch(found, Patch(numbers, {}, added, removed), **counts)

    # ------------------------------------------------------------ deleting

    def delete(self, found: Divided, *, detach: bool, span: Span | None) -> None:
        """Delete the elements that are patched; ``detach``: nodes with their relationships, also of nodes left out."""
        if not found.nodes:
            self._patch(found, Patch(found.numbers, deleted=True), relationships_deleted=len(found.numbers))
            return
        if detach:
            self._detach(np.concatenate((found.numbers, found.left_out)))
        else:
            self._graph.deleted_together.append((found.numbers, span))
        self._patch(found, Patch(found.numbers, deleted=True), nodes_deleted=len(found.numbers))

    def _detach(self, nodes: Array) -> None:
        """Delete the relationships of nodes."""
        overlay = self._overlay
        if overlay.relationships_apart:
            for number in nodes.tolist():
                self._check()
                overlay.delete_added_of(number)
        links = incident(overlay.base.store, nodes)
        apart = overlay.are_apart(links, nodes=False)
        for number in links[apart].tolist():
            overlay.delete_relationship(number)
        links = links[~apart]
        links = links[~are_gone(overlay, links, nodes=False)]
        if len(links):
            self._look()
            overlay.patch_relationships(Patch(links, deleted=True), relationships_deleted=len(links))

    def _patch(self, found: Divided, patch: Patch, **counts: int) -> None:
        if not len(patch.numbers):
            return
        put = self._overlay.patch_nodes if found.nodes else self._overlay.patch_relationships
        put(patch, **counts)
        self._look()


def _last(which: Array, count: int) -> Array:
    """Return for each of some elements the last place (int64) at which it is."""
    found = np.empty(count, np.int64)
    found[which] = np.arange(len(which))
    return found


def _taken(array: Any, rows: Array) -> Any:
    if len(rows) == len(array) and (rows == np.arange(len(array))).all():
        return array
    return array.take(pa.array(rows))
