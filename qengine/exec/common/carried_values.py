"""Finds the node that each vertex carries by a value, where there is one at most (``physical.CarriedByValue``)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from qengine.exec.common.columns import ArrowColumn, IntArray, NodeColumn
from qengine.exec.common.element_columns import Elements, coded
from qengine.exec.common.expressions.entities import property_of
from qengine.exec.common.runtime import Runtime
from qengine.exec.view import MaskProvider
from qengine.plan.physical import CarriedByValue

_NONE = -1


def carried_by_value(
    node: CarriedByValue, bearers: Elements, nodes: Elements, runtime: Runtime, masks: MaskProvider
) -> IntArray | None:
    """Return for each vertex, from the first that carries to the last, the id of the node, int64, -1 for none.

    None where two nodes have the same value, where values aren't strings, integers, booleans or dates of one kind, or
    where one can't be found.

    Parameters
    ----------
    bearers, nodes
        Those that carry, and those that may be carried.
    """
    admitted = masks.mask_within(node.name, node.predicates, nodes.ranges, nodes.begin, nodes.end)
    candidates = np.flatnonzero(admitted) + nodes.begin
    keys = property_of(runtime.store, NodeColumn(candidates), node.key)
    found = coded(node.value, bearers, runtime)
    if found is None:
        return None
    codes, values = found
    if keys is None or not (len(candidates) and len(values)) or keys.is_null().all():
        return np.full(bearers.end - bearers.begin, _NONE, np.int64)
    if not (isinstance(keys, ArrowColumn) and isinstance(values, ArrowColumn) and _are_alike(keys, values)):
        return None
    if pc.count_distinct(keys.array).as_py() < len(keys) - keys.array.null_count:
        return None
    places = pc.index_in(values.array.cast(keys.type), keys.array, skip_nulls=True).fill_null(_NONE).to_numpy()
    of_codes: IntArray = np.append(np.where(places < 0, _NONE, candidates[places]), _NONE)
    return of_codes[codes]


def _are_alike(one: ArrowColumn, other: ArrowColumn) -> bool:
    """Tell whether values of two columns are equal where they are the same."""
    text = pa.types.is_string, pa.types.is_large_string
    if all(any(is_text(each.type) for is_text in text) for each in (one, other)):
        return True
    return one.type == other.type and any(
        test(one.type) for test in (pa.types.is_int64, pa.types.is_boolean, pa.types.is_date32)
    )
