"""Finds nodes by the values of their properties for many rows at once, and relationships between nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import repeat
from math import isnan
from typing import Any

import numpy as np

from qengine._frozen import frozen
from qengine.exec.common.access import hash_index
from qengine.exec.common.columns import numbers_from
from qengine.exec.common.value_index import Unanswered
from qengine.exec.context import ExecutionContext
from qengine.exec.scalar.compare import equals
from qengine.exec.scalar.entities import number_of
from qengine.exec.scalar.environment import Environment, Row
from qengine.exec.scalar.evaluate import compile
from qengine.exec.scalar.values import NodeHandle
from qengine.plan import logical as op
from qengine.plan.expr import Expr
from qengine.plan.pattern import Direction, LabelExpr, MatchMode, QueryGraph
from qengine.storage.arrays import Array, in_ranges
from qengine.write.block_table import places_of
from qengine.write.column_values import Unbatched
from qengine.write.live import LiveGraph, equalities, identities
from qengine.write.overlay import Overlay
from qengine.write.patch_table import names_in
from qengine.write.table import Rows

Keys = Mapping[str, list[Any]]
"""By property the value that is looked for, for each row."""

_PLAIN = frozenset((int, float, str, bool, type(None)))
_NONE = np.empty(0, np.int64)
_NOTHING: Row = {}
_FEW = 16  # rows that are found one by one


@frozen
class KeyedNode:
    """A node of a pattern that the values of properties find; ``keys``: each with what it must equal.

    ``identity``: instead of those, the function that must, ``id`` or ``elementid``, with what.
    """

    name: str
    labels: LabelExpr | None
    keys: tuple[tuple[str, Expr], ...]
    identity: tuple[str, Expr] | None = None


def keyed_nodes(graph: QueryGraph) -> tuple[KeyedNode, ...] | None:
    """Return the nodes of a pattern that has nothing but nodes with such keys; None for any other pattern."""
    if graph.relationships or graph.paths or any(node.bound for node in graph.nodes):
        return None
    unknown = frozenset(graph.variables())
    nodes = []
    for node in graph.nodes:
        keys = tuple((key, value) for key, value, _ in equalities(node, graph.predicates, unknown))
        identity = None if keys else next(identities(node, graph.predicates, unknown), None)
        nodes.append(KeyedNode(node.name, node.labels, keys, identity))
    conditions = len(graph.predicates) + sum(len(node.predicates) for node in graph.nodes)
    told = [1 if node.identity is not None else len(node.keys) for node in nodes]
    if not all(told) or sum(told) != conditions:
        return None
    return tuple(nodes) if all(len(dict(node.keys)) == len(node.keys) for node in nodes) else None


def few_rows(graph: LiveGraph, environment: Environment, operator: op.Operator) -> Callable[[], Rows | None] | None:
    """Return what gives the rows of a pattern whose nodes have a key each, and which is matched first; None for others.

    It returns None where there are more than a few rows, or no index tells: then they are to be found in another way.
    """
    if not isinstance(operator, op.Match) or not isinstance(operator.input, op.Unit) or operator.optional:
        return None
    nodes = keyed_nodes(operator.graph)
    if nodes is None or operator.graph.mode is MatchMode.DIFFERENT_NODES or any(len(node.keys) != 1 for node in nodes):
        return None
    keyed = [(node.name, node.labels, node.keys[0][0], compile(node.keys[0][1], environment)) for node in nodes]
    labels_of = environment.labels

    def rows() -> Rows | None:
        found: Rows = [{}]
        for name, labels, key, evaluate in keyed:
            value = evaluate(_NOTHING)
            kind = type(value)
            numbers = graph.with_value(key, value) if kind is int or kind is str else None
            if numbers is None or len(numbers) * len(found) > _FEW:
                return None
            if labels is not None:
                numbers = [number for number in numbers if labels.admits(labels_of(number))]
            found = [{**row, name: NodeHandle(number)} for row in found for number in numbers]
        return found

    return rows


def distinct_keys(keys: Keys) -> Iterable[Any]:
    """Return for each row what rows with equal values have in common.

    Raises
    ------
    Unbatched
        Where a value is of a type that no index tells of, or unequal to itself.
    """
    for values in keys.values():
        _check(values)
    columns = [places_of(values) for values in keys.values()]
    return columns[0] if len(columns) == 1 else zip(*columns, strict=True)


def _check(values: Sequence[Any]) -> None:
    classes = set(map(type, values))
    if not classes <= _PLAIN or (float in classes and any(type(each) is float and isnan(each) for each in values)):
        raise Unbatched


def nodes_by_identity(overlay: Overlay, labels: LabelExpr | None, name: str, values: list[Any]) -> tuple[Array, Array]:
    """Return what ``nodes_by_keys`` does, for values that ``id`` or ``elementid``, the ``name``, must equal."""
    found = [number_of(name, value) for value in values]
    numbers = np.array([-1 if each is None else each for each in found], np.int64)
    store = overlay.base.store
    touched = overlay.touched_nodes((), names_in(labels))
    apart = overlay.are_apart(numbers, nodes=True)
    places = np.where(apart, -1, store.node_numbers.places(numbers))
    kept = places >= 0
    if labels is not None:
        kept[kept] = in_ranges(places[kept], store.label_ranges(labels))
    for row in np.flatnonzero(apart).tolist():
        number = int(numbers[row])
        state = touched.get(number) if number in touched else overlay.node(number)
        kept[row] = state is not None and (labels is None or labels.admits(frozenset(state.labels)))
    rows = np.flatnonzero(kept)
    return rows, numbers[rows]


def nodes_by_keys(
    overlay: Overlay, labels: LabelExpr | None, keys: Keys, context: ExecutionContext
) -> tuple[Array, Array]:
    """Return which rows find nodes, ascending, and the nodes' numbers, int64 each.

    Raises
    ------
    Unbatched
        Where no index tells.
    """
    for values in keys.values():
        _check(values)
    found = [
        _of_base(overlay, labels, keys, context),
        _of_touched(overlay, labels, keys),
        _of_blocks(overlay, labels, keys),
    ]
    return _by_row(found)


def _by_row(found: Iterable[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Return rows and numbers, each by ascending rows, as one of them; of one row in the order given."""
    some = [each for each in found if len(each[0])]
    if not some:
        return _NONE, _NONE
    if len(some) == 1:
        return some[0]
    rows, numbers = (np.concatenate(parts) for parts in zip(*some, strict=True))
    order = np.argsort(rows, kind="stable")
    return rows[order], numbers[order]


def _of_base(overlay: Overlay, labels: LabelExpr | None, keys: Keys, context: ExecutionContext) -> tuple[Array, Array]:
    store = overlay.base.store
    columns = {key: store.node_property(key) for key in keys}
    first = next(iter(keys))
    if any(column is None for column in columns.values()):
        return _NONE, _NONE
    index = hash_index(store, first, context, now=True)
    if index is None:
        raise Unbatched
    try:
        rows, ids = index.pairs(keys[first], context)
    except Unanswered:
        raise Unbatched from None
    if labels is not None:
        kept = in_ranges(ids, store.label_ranges(labels))
        rows, ids = rows[kept], ids[kept]
    for key, column in columns.items():
        if key != first and len(ids):
            assert column is not None
            values = keys[key]
            pairs = zip(rows.tolist(), column.values(ids), strict=True)
            kept = np.fromiter((equals(values[row], value) is True for row, value in pairs), np.bool_, len(ids))
            rows, ids = rows[kept], ids[kept]
    numbers = store.node_numbers.of(ids)
    touched = overlay.touched_nodes(keys, names_in(labels))
    if touched:
        kept = ~np.isin(numbers, np.fromiter(touched, np.int64, len(touched)))
        rows, numbers = rows[kept], numbers[kept]
    return rows, numbers


def _of_touched(overlay: Overlay, labels: LabelExpr | None, keys: Keys) -> tuple[Array, Array]:
    """Return what ``nodes_by_keys`` does of the nodes that were touched one by one."""
    touched = overlay.touched_nodes(keys, names_in(labels))
    if not touched:
        return _NONE, _NONE
    first = next(iter(keys))
    buckets = overlay.values.by_value(first, touched)
    pairs = [
        (row, number)
        for row, bucket in enumerate(map(buckets.get, places_of(keys[first])))
        if bucket
        for number in bucket
    ]
    return _checked(overlay, pairs, labels, keys)


def _checked(
    overlay: Overlay, pairs: Iterable[tuple[int, int]], labels: LabelExpr | None, keys: Keys
) -> tuple[Array, Array]:
    """Return those rows and nodes above the base for which all is as wanted."""
    found = []
    for row, number in pairs:
        state = overlay.node(number)
        if (
            state is not None
            and (labels is None or labels.admits(frozenset(state.labels)))
            and all(equals(state.properties.get(key), values[row]) is True for key, values in keys.items())
        ):
            found.append((row, number))
    both = np.array(found, np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _of_blocks(overlay: Overlay, labels: LabelExpr | None, keys: Keys) -> tuple[Array, Array]:
    """Return what ``nodes_by_keys`` does of the nodes of blocks that weren't touched one by one."""
    if not overlay.node_blocks:
        return _NONE, _NONE
    first = next(iter(keys))
    known, values = overlay.block_values.places(first), places_of(keys[first])
    if known.repeated:
        pairs = [(row, number) for row, hits in enumerate(map(known.all_of, values)) for number in hits]
        both = np.array(pairs, np.int64).reshape(-1, 2)
        rows, numbers = both[:, 0], both[:, 1]
    else:
        numbers = np.fromiter(map(known.first.get, values, repeat(-1)), np.int64, len(values))
        rows = np.flatnonzero(numbers >= 0)
        numbers = numbers[rows]
    if touched := overlay.touched_nodes(keys, names_in(labels)):
        kept = ~np.isin(numbers, np.fromiter(touched, np.int64, len(touched)))
        rows, numbers = rows[kept], numbers[kept]
    alike = labels is None or all(labels.admits(frozenset(block.labels)) for block in overlay.node_blocks)
    if len(keys) > 1 or not alike:
        return _checked(overlay, zip(rows.tolist(), numbers.tolist(), strict=True), labels, keys)
    return rows, numbers


def relationships_between(
    overlay: Overlay, type: str, starts: Array, ends: Array, *, either: bool = False
) -> tuple[Array, Array]:
    """Return which rows have relationships of a type from start to end, ascending, and their numbers, int64 each.

    ``starts``, ``ends``: int64, of each row the numbers of two nodes. ``either``: those from end to start, too.

    Raises
    ------
    Unbatched
        Where the type's relationships have no direction.
    """
    if either:
        back = np.flatnonzero(starts != ends)
        rows, numbers = relationships_between(overlay, type, ends[back], starts[back])
        return _by_row([relationships_between(overlay, type, starts, ends), (back[rows], numbers)])
    rows, numbers = _base_relationships(overlay, type, starts, ends)
    touched = overlay.touched_relationships(())
    if touched:
        kept = np.fromiter((touched.get(number, 0) is not None for number in numbers.tolist()), np.bool_, len(numbers))
        rows, numbers = rows[kept], numbers[kept]
    above = [
        (row, number)
        for row, pair in enumerate(zip(starts.tolist(), ends.tolist(), strict=True))
        for number in overlay.added_from(*pair, type)
    ]
    both = np.array(above, np.int64).reshape(-1, 2)
    return _by_row([(rows, numbers), (both[:, 0], both[:, 1])])


def _base_relationships(overlay: Overlay, type: str, starts: Array, ends: Array) -> tuple[Array, Array]:
    store = overlay.base.store
    kind = next((each for each in store.types if each.name == type), None)
    if kind is None:
        return _NONE, _NONE
    if kind.undirected:
        raise Unbatched
    places = store.node_numbers.places(starts), store.node_numbers.places(ends)
    known = np.flatnonzero((places[0] >= 0) & (places[1] >= 0))
    out = store.adjacency(kind.index, Direction.OUT)
    begins, stops = (each.astype(np.int64) for each in out.locate_all(places[0][known].astype(np.uint32)))
    wanted = places[1][known]
    low = _bound(out.neighbours, begins, stops, wanted)
    high = _bound(out.neighbours, begins, stops, wanted + 1)
    counts = high - low
    rows = np.repeat(known, counts)
    return rows, store.relationship_numbers.of(numbers_from(low, counts) + kind.base)


def _bound(array: Array, low: Array, high: Array, wanted: Array) -> Array:
    """Return for each wanted value the first place of an ascending slice ``[low, high)`` that is not below it."""
    low, high = low.copy(), high.copy()
    while (open_ := np.flatnonzero(low < high)).size:
        middle = (low[open_] + high[open_]) // 2
        below = array[middle] < wanted[open_]
        low[open_[below]] = middle[below] + 1
        high[open_[~below]] = middle[~below]
    return low
