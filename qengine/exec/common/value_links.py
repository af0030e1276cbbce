"""What elements share where their values compare, as matrices of an elimination: codes of values, or ranges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from qengine._frozen import frozen, replace
from qengine.errors import InternalError
from qengine.exec.common.columns import ArrowColumn
from qengine.exec.common.element_columns import Elements, evaluated
from qengine.exec.common.merged_lists import entries_of
from qengine.exec.common.property_texts import TextProperty
from qengine.exec.common.runtime import Runtime
from qengine.exec.context import ExecutionContext
from qengine.exec.view import ExecView
from qengine.plan.elimination import VALUED, ArcEnds, Relation, Shared, Values
from qengine.plan.expr import Property, Variable
from qengine.plan.pattern import Direction

Array = npt.NDArray[Any]


class Linking(Protocol):
    """What ``Relations`` is for this module."""

    store: ExecView
    context: ExecutionContext
    runtime: Runtime | None
    charge: Callable[[int], None]
    n: int
    linked: dict[Shared, tuple[Array, Array, int]]

    def indices(self, relation: Relation) -> list[int]:
        """Return the types of a relation that the graph has."""

    def arc_count(self, relation: Relation) -> int:
        """Return how many numbers the arcs of a relation have."""

    def admitted(self, relation: Relation, index: int) -> npt.NDArray[np.bool_] | None:
        """Return for each relationship of a type whether all conditions hold, None where there are none."""


def links(relations: Linking, relation: Relation) -> tuple[Array, Array, int, int]:
    """Return what a relation with a value links: elements and numbers, uint32 or int64, in any order, once each.

    The others are how many elements and how many numbers there may be.

    Raises
    ------
    QueryTimeout, QueryInterrupted, OutOfMemory
        By the context's limits, from inside.
    """
    if isinstance(relation.value, ArcEnds):
        arcs = _arcs(relations, relation.value.arcs)
        return *arcs.ends(relation.value.at), relations.n, relations.arc_count(relation.value.arcs)
    shared = relation.value
    assert shared is not None
    if shared not in relations.linked:
        relations.linked |= _shared(relations, shared)
    elements, numbers, n_numbers = relations.linked[shared]
    of = shared.linked.arcs
    return elements, numbers, relations.n if of is None else relations.arc_count(of), n_numbers


@frozen
class _Arcs:
    """Arcs that a relation's conditions admit: their ``numbers``, the vertices at their ends, and of which
    relationship each is, by its place among all of the relation's types.
    """

    numbers: Array
    starts: Array
    ends_at: Array
    relationships: Array

    def ends(self, at: str) -> tuple[Array, Array]:
        """Return vertices, and the arcs that begin there, end there, or both."""
        if at == "loop":
            loops = self.starts == self.ends_at
            return self.starts[loops], self.numbers[loops]
        return self.vertices(at), self.numbers

    def vertices(self, at: str) -> Array:
        """Return the vertex at which each begins or ends."""
        return self.starts if at == "start" else self.ends_at


def _arcs(relations: Linking, relation: Relation) -> _Arcs:
    both = relation.direction is Direction.BOTH
    found: list[tuple[Array, ...]] = []
    first = number = 0
    for index in relations.indices(relation):
        count = relations.store.types[index].count
        relations.charge(32 * count * (1 + both))
        starts, ends = entries_of(relations.store, (index, Direction.OUT))
        ids = np.arange(count)
        if (mask := relations.admitted(relation, index)) is not None:
            starts, ends, ids = starts[mask], ends[mask], ids[mask]
        found.append((number + ids, starts, ends, first + ids))
        if both:
            turned = starts != ends
            found.append((number + count + ids[turned], ends[turned], starts[turned], first + ids[turned]))
        first += count
        number += count * (1 + both)
        relations.context.check()
    if not found:
        return _Arcs(*(np.empty(0, np.int64) for _ in range(4)))
    return _Arcs(*(np.concatenate(each) for each in zip(*found, strict=True)))


# ---------------------------------------------------------------- values


@frozen
class _Side:
    """Elements that have a value, ``at`` which vertex each may share it, and the values as Arrow's, without nulls."""

    elements: Array
    at: Array | None
    values: Any

    def taken(self, kept: Array) -> _Side:
        """Return those that are kept."""
        return _Side(self.elements[kept], None if self.at is None else self.at[kept], self.values[kept])


def _side(relations: Linking, values: Values, within: str | None, ranked: bool) -> _Side:
    """Return one side. ``ranked``: the other has the same expression, so that ranks of texts do."""
    if values.arcs is None:
        found = _of_vertices(relations, values, ranked)
        elements = at = np.flatnonzero(found.is_valid().to_numpy(zero_copy_only=False))
    else:
        arcs = _arcs(relations, values.arcs)
        found = _of_relationships(relations, values).take(pa.array(arcs.relationships))
        there = found.is_valid().to_numpy(zero_copy_only=False)
        elements, at = arcs.numbers[there], arcs.vertices(within or "start")[there]
    return _Side(elements, None if within is None else at, found.drop_null())


def _of_vertices(relations: Linking, values: Values, ranked: bool) -> Any:
    if ranked and isinstance(values.expr, Property) and isinstance(values.expr.subject, Variable):
        column = relations.store.node_property(values.expr.key)
        if column is not None and _is_text(column.array):  # the graph keeps ranks
            ranks = TextProperty(relations.store, column, (values.expr.key,)).ranks()
            behind = relations.n - column.begin - len(ranks)
            return pa.concat_arrays([pa.nulls(column.begin, ranks.type), ranks, pa.nulls(behind, ranks.type)])
    ranges = tuple((low, high) for low, high in relations.store.label_ranges(values.labels).tolist() if low < high)
    if not ranges:
        return pa.nulls(relations.n)
    found = _evaluated(relations, values, Elements(VALUED, True, ranges))
    before, behind = ranges[0][0], relations.n - ranges[-1][1]
    kind = found.type
    return pa.concat_arrays([pa.nulls(before, kind), found, pa.nulls(behind, kind)]) if before or behind else found


def _of_relationships(relations: Linking, values: Values) -> Any:
    """Return the values of all relationships of the types of some arcs."""
    assert values.arcs is not None
    infos = [relations.store.types[index] for index in relations.indices(values.arcs)]
    parts = [
        _evaluated(relations, values, Elements(VALUED, False, ((info.base, info.base + info.count),)))
        for info in infos
        if info.count
    ]
    kind = next((each.type for each in parts if not pa.types.is_null(each.type)), pa.null())
    return pa.concat_arrays([each.cast(kind) for each in parts]) if parts else pa.nulls(0)


def _evaluated(relations: Linking, values: Values, elements: Elements) -> Any:
    assert relations.runtime is not None
    relations.charge(24 * (elements.end - elements.begin))
    column = evaluated(values.expr, elements, relations.runtime)
    if column is None:
        raise InternalError("A value that is compared in an elimination fails.")
    return column.array if isinstance(column, ArrowColumn) else pa.array(column.values())


def _as_numbers(one: _Side, other: _Side) -> tuple[_Side, _Side]:
    """Return the same with integers or floats in the values' order, of texts their ranks; NaN, which no order has, left
    out.
    """
    if any(_is_text(each.values) for each in (one, other)):
        texts = [each.values.cast(pa.large_string()) for each in (one, other)]
        coded = pa.concat_arrays(texts).dictionary_encode()
        ranks = np.empty(len(coded.dictionary), np.int64)
        ranks[pc.array_sort_indices(coded.dictionary).to_numpy()] = np.arange(len(ranks))
        numbers = ranks[coded.indices.to_numpy()]
        found = [numbers[: len(texts[0])], numbers[len(texts[0]) :]]
    else:
        found = [_numbers(each.values) for each in (one, other)]
        if moments := [each.dtype for each in found if each.dtype.kind == "M"]:  # in the same unit
            found = [each.astype(np.result_type(*moments)).astype(np.int64) for each in found]
    return _ordered(one, found[0]), _ordered(other, found[1])


def _numbers(values: Any) -> Array:
    if pa.types.is_null(values.type):
        return np.empty(0, np.int64)
    numbers: Array = values.to_numpy(zero_copy_only=False)
    return numbers


def _ordered(side: _Side, numbers: Array) -> _Side:
    found = _Side(side.elements, side.at, numbers)
    return found.taken(~np.isnan(numbers)) if numbers.dtype.kind == "f" else found


def _is_text(array: Any) -> bool:
    return bool(pa.types.is_string(array.type) or pa.types.is_large_string(array.type))


# ---------------------------------------------------------------- what is shared


def _shared(relations: Linking, shared: Shared) -> dict[Shared, tuple[Array, Array, int]]:
    """Return for both sides the elements, the numbers that each is linked with, and how many numbers there are."""
    same = shared.lower == shared.upper
    within = shared.within or (None, None)
    lower, upper = _as_numbers(
        *(_side(relations, each, at, same) for each, at in zip((shared.lower, shared.upper), within, strict=True))
    )
    relations.context.check()
    relations.charge(64 * (len(lower.elements) + len(upper.elements)))
    known, ranks = np.unique(lower.values, return_inverse=True)
    sought = np.searchsorted(known, upper.values, side="right" if shared.op == "<=" else "left")
    if shared.op == "=":
        equal = np.append(known, 0)[sought] == upper.values
        equal &= sought < len(known)
        upper, sought = upper.taken(equal), sought[equal]
    starts: tuple[Array, Array] = np.zeros(1, np.int64), np.zeros(1, np.int64)
    limits: tuple[Array, Array] = starts[0] + len(known), starts[1] + len(known)
    if lower.at is not None and upper.at is not None:  # values at one vertex stand together
        width = np.int64(len(known) + 1)
        known, ranks = np.unique(lower.at * width + ranks, return_inverse=True)
        keys = upper.at * width + sought
        sought = np.searchsorted(known, keys)
        if shared.op == "=":
            equal = np.append(known, -1)[sought] == keys
            upper, sought = upper.taken(equal), sought[equal]
        assert upper.at is not None
        starts = np.searchsorted(known, lower.at * width), np.searchsorted(known, upper.at * width)
        limits = np.searchsorted(known, (lower.at + 1) * width), np.searchsorted(known, (upper.at + 1) * width)
    if shared.op == "=":
        found = (lower.elements, ranks), (upper.elements, sought)
    else:
        found = (
            _ranges(relations, lower.elements, ranks + 1, starts[0], limits[0], above=False),
            _ranges(relations, upper.elements, sought, starts[1], limits[1], above=True),
        )
    return {replace(shared, above=above): (*found[above], len(known)) for above in (False, True)}


def _ranges(
    relations: Linking, elements: Array, ends: Array, starts: Array, limits: Array, *, above: bool
) -> tuple[Array, Array]:
    """Return elements, and a range of values that each is linked with.

    Values at one vertex are those of ranks from ``starts`` to before ``limits``. The range of those of which the last
    is number ``end`` there, from 1 on, are as many as the least bit of ``end`` says; its number is that value's rank.
    """
    starts, limits = (np.broadcast_to(each, len(elements)) for each in (starts, limits))
    ends = ends - starts
    found = [(elements[:0], ends[:0])]
    while len(elements):
        relations.context.check()
        kept = (ends > 0) & (ends <= limits - starts)
        elements, ends, starts, limits = elements[kept], ends[kept], starts[kept], limits[kept]
        relations.charge(32 * len(elements))
        found.append((elements, starts + ends - 1))
        least = ends & -ends
        ends = ends - least if above else ends + least
    elements, numbers = (np.concatenate(each) for each in zip(*found, strict=True))
    return elements, numbers
