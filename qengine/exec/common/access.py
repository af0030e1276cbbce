"""Finds elements by identity, and by values of properties, through indexes that the graph keeps once they pay.

A scan reads a column once, making an index takes as long as many scans. Which of them is cheaper depends on the
look-ups that follow, which nobody knows; so an index is made after some scans that found few nodes, as one rents skis
before one buys them. An index that was evicted is made again after twice as many scans as the time before. One that
CREATE INDEX or a constraint of uniqueness has declared is made when it is first asked for, of relationships the second
time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from threading import Lock
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from qengine._frozen import record
from qengine.exec.common.runtime import Runtime
from qengine.exec.common.value_index import AnyHashIndex, HashIndex, SortedIndex, Unanswered, hash_bytes, sorted_bytes
from qengine.exec.context import ExecutionContext
from qengine.exec.scalar import evaluate as scalar
from qengine.exec.scalar.entities import number_of
from qengine.exec.view import ExecView
from qengine.plan.access import FEW, HASH, IDENTITY, SORTED, Access
from qengine.plan.expr import Expr, Literal, Parameter
from qengine.plan.fallible import condition_can_fail
from qengine.plan.physical import VertexLevel
from qengine.storage.arrays import Array
from qengine.storage.columns import PropertyColumn

_Index = TypeVar("_Index", HashIndex, SortedIndex)

SCANS = {HASH: 4, SORTED: 16}
"""Scans before an index is made. Of 10 M nodes one by hash takes as long as 20 to 32 of them, one by order 10 to 81."""


@record
class _Past:
    """Of a kind of index and a key: scans since it was made last, how often it was made, and held while it is made."""

    scans: int = 0
    made: int = 0
    lock: Lock = field(default_factory=Lock)


_WAIT = 0.02  # seconds between two looks, where another thread makes what is needed

_Place = tuple[str, str] | tuple[str, int, str]
"""Of an index among what is derived of a graph: its kind, the type where it is of relationships, and the property."""

_pasts: WeakKeyDictionary[ExecView, dict[_Place, _Past]] = WeakKeyDictionary()


def note_scan(store: ExecView, kind: str, key: str, type: int | None = None) -> None:
    """Remember that a column of nodes, or of a type's relationships, was read where an index would have found few."""
    _past(store, _place(kind, key, type)).scans += 1


def indexed_nodes(runtime: Runtime, level: VertexLevel, ranges: Sequence[Sequence[int]]) -> tuple[Array, Access] | None:
    """Return the nodes, int64 ascending within ranges of ids, that indexes find for some of a level's predicates.

    Returns
    -------
    tuple or None
        The nodes and what found them; None where there is no index, or it finds too many.
    """
    best: tuple[Array, Access] | None = None
    most = sum(high - low for low, high in ranges) // FEW
    for access in level.access:
        if _leaves_unsure(runtime, access) and any(map(condition_can_fail, level.predicates)):
            continue
        try:
            found = _found(runtime, access, most if best is None else min(most, len(best[0])))
        except Unanswered:
            continue
        if found is None:
            continue
        found = _within(found, ranges)
        if (not level.sources or len(found) <= most) and (best is None or len(found) < len(best[0])):
            best = found, access
            if len(found) < FEW:
                break
    return best


def _leaves_unsure(runtime: Runtime, access: Access) -> bool:
    """Tell whether a list that is asked for is null, or holds null: for other nodes the condition is null, not false.

    What then fails on one of these is an error, as it is behind null, and isn't behind false.
    """
    for probe in access.probes:
        if probe.op == "IN":
            given = value_of(runtime, probe.value)
            if given is None or (type(given) is list and any(item is None for item in given)):
                return True
    return False


def indexed_relationships(runtime: Runtime, type: int, access: Access, most: int) -> Array | None:
    """Return the local ids (int64, ascending) of a type's relationships that an index finds; None as for nodes."""
    try:
        return _found(runtime, access, most, type)
    except Unanswered:
        return None


def _found(runtime: Runtime, access: Access, most: int, type: int | None = None) -> Array | None:
    store, context = runtime.store, runtime.context
    if access.kind == IDENTITY:
        return _named(store, [(each.key, each.op, value_of(runtime, each.value)) for each in access.probes])
    if access.kind == HASH:
        parts = []
        for probe in access.probes:
            index = hash_index(store, probe.key, context, type=type)
            if index is None:
                return None
            parts.append(_looked_up(index, probe.op, value_of(runtime, probe.value), context))
        return parts[0] if len(parts) == 1 else _ascending(np.concatenate(parts))
    (key,) = access.keys
    ordered = _index(store, SortedIndex, key, context, type=type)
    bounds = [(probe.op, value_of(runtime, probe.value)) for probe in access.probes]
    if ordered is None or any(value is None for _, value in bounds):
        return None if ordered is None else np.empty(0, np.int64)
    return ordered.ids(bounds, most)


def _ascending(ids: Array) -> Array:
    """Return different ids in order; by a sort, which takes a fifth of what NumPy's ``unique`` does."""
    ids = np.sort(ids)
    again = ids[1:] == ids[:-1]
    return np.delete(ids, np.flatnonzero(again)) if again.any() else ids


def _named(store: ExecView, probes: Sequence[tuple[str, str, Any]]) -> Array:
    """Return the nodes, ascending, of which ``id`` or ``elementid`` is a value, or among some."""
    parts = []
    for name, op, value in probes:
        if op == "=":
            number = number_of(name, value)
            place = -1 if number is None else store.node_numbers.place(number)
            parts.append(np.array([place] if place >= 0 else [], np.int64))
            continue
        if value is not None and type(value) is not list:
            raise Unanswered
        parts.append(_ascending(named_by(store, name, value or ())[1]))
    return parts[0] if len(parts) == 1 else _ascending(np.concatenate(parts))


def named_by(store: ExecView, name: str, values: Sequence[Any], *, relationship: bool = False) -> tuple[Array, Array]:
    """Return the places of values that are the ``id`` or ``elementid`` of a node or relationship, and these."""
    numbers = [-1 if number is None else number for number in (number_of(name, value) for value in values)]
    ids = (store.relationship_numbers if relationship else store.node_numbers).places(np.array(numbers, np.int64))
    found = np.flatnonzero(ids >= 0)
    return found, ids[found]


def _looked_up(index: AnyHashIndex, op: str, value: Any, context: ExecutionContext) -> Array:
    if value is None:
        return np.empty(0, np.int64)
    if op == "=":
        return index.ids(value, context)
    if type(value) is not list:
        raise Unanswered
    return _ascending(index.pairs(value, context)[1])


def _within(ids: Array, ranges: Sequence[Sequence[int]]) -> Array:
    """Return those of some ascending ids that lie in ascending ranges."""
    if len(ids) == 1:
        found = ids[0]
        return ids if any(low <= found < high for low, high in ranges) else ids[:0]
    if not ranges:
        return ids[:0]
    places = np.searchsorted(ids, np.asarray(ranges).ravel())
    parts = [ids[low:high] for low, high in places.reshape(-1, 2).tolist()]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def hash_index(
    store: ExecView, key: str, context: ExecutionContext, *, now: bool = False, type: int | None = None
) -> AnyHashIndex | None:
    """Return the hash index of a property of nodes, or of a type's relationships, by their local ids.

    None where there is none, unless it is to be made ``now`` and there is room.
    """
    known: AnyHashIndex | None = store.derived.find(_place(HASH, key, type))
    return _index(store, HashIndex, key, context, now=now, type=type) if known is None else known


def _index(
    store: ExecView,
    kind: type[_Index],
    key: str,
    context: ExecutionContext,
    *,
    now: bool = False,
    type: int | None = None,
) -> _Index | None:
    """Return an index of a property, made where scans have paid for it and the memory allows it."""
    place = _place(kind.KIND, key, type)
    if (known := store.derived.find(place)) is not None:
        return known  # type: ignore[no-any-return]
    column = store.node_property(key) if type is None else store.relationship_property(type, key)
    if column is None:
        return None
    past = _past(store, place)
    enough = SCANS[kind.KIND] << past.made
    if not now and _is_declared(store, key, type):
        enough = 0 if type is None else 1  # of relationships none follows from version to version
    now = now or not enough
    if not (now or past.scans >= enough):
        return None
    if not _fits(store, kind, column, context):
        return None
    while not past.lock.acquire(timeout=_WAIT if now else 0):
        if not now:
            return None  # another thread makes it
        context.check()
    try:
        if (known := store.derived.find(place)) is not None:
            return known  # type: ignore[no-any-return]
        with context.memory.holding("The index") as holding:
            holding.set(_bytes(kind, column))
            made = store.derived.get(place, lambda: kind(column, context))
        past.scans, past.made = 0, past.made + 1
    finally:
        past.lock.release()
    return made  # type: ignore[no-any-return]


def _fits(store: ExecView, kind: type[_Index], column: PropertyColumn, context: ExecutionContext) -> bool:
    needed = _bytes(kind, column)
    limited = context.memory_limit is not None and needed > context.memory.left()
    return not limited and needed <= store.derived.most


def _bytes(kind: type[_Index], column: PropertyColumn) -> int:
    return hash_bytes(column) if kind is HashIndex else sorted_bytes(column)


def _place(kind: str, key: str, type: int | None) -> _Place:
    return (kind, key) if type is None else (kind, type, key)


def _is_declared(store: ExecView, key: str, type: int | None) -> bool:
    rules = store.rules
    return rules.index_node_key(key) if type is None else rules.index_relationship_key(store.types[type].name, key)


def _past(store: ExecView, place: _Place) -> _Past:
    return _pasts.setdefault(store, {}).setdefault(place, _Past())


def value_of(runtime: Runtime, expr: Expr) -> Any:
    """Return the value of an expression that reads no row."""
    if isinstance(expr, Literal):
        return expr.value
    if isinstance(expr, Parameter):
        return runtime.environment.parameter(expr.name)
    return scalar.compile(expr, runtime.environment)({})
