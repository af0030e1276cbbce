"""Predicates of one node or relationship over a range of ids, as truth values for the search kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine.errors import ExecutionError
from qengine.exec.common.access import indexed_nodes, note_scan
from qengine.exec.common.batch import Batch
from qengine.exec.common.columns import BoolArray, Column, IntArray, NodeColumn, RelationshipColumn
from qengine.exec.common.dealing import deal, packed, part_size
from qengine.exec.common.element_columns import Elements
from qengine.exec.common.expressions.compiler import compile_expression, compile_predicate, is_volatile
from qengine.exec.common.predicate_programs import NoProgram, Predicates, all_of
from qengine.exec.common.runtime import Runtime
from qengine.exec.view import ExecView
from qengine.plan.expr import Comparison, Expr, Variable
from qengine.plan.fallible import condition_can_fail
from qengine.plan.logical import Operator
from qengine.plan.pattern import LabelExpr
from qengine.plan.physical import EdgeLevel, Level, Reach, Repeat, Search, SelectPaths, Shortest, VertexLevel, Walk
from qengine.plan.predicates import is_cheap
from qengine.plan.traverse import operators, substitute
from qengine.storage.arrays import MANY_RANGES

_RANGE = 1 << 19  # ids that predicates are evaluated for at a time
_NATIVE = 1 << 13  # ids from which on a program is worth being made
_RARE = 8  # where native code admits one of so many, what it doesn't evaluate is asked for these alone

_NOBODY = Variable("")

_Predicate = Callable[[Batch], BoolArray]
_Compiled = tuple[list[_Predicate], list[_Predicate]]


class Masks:
    """Evaluates predicates over ranges of ids; property columns are read as slices, not gathered.

    The masks are kept for the execution, for one search may ask again for each batch of its input, and another for the
    same of an element by another name.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        kept = runtime.masks
        self._known: dict[tuple[int, int, int], tuple[tuple[Expr, ...], BoolArray]] = kept["known"]
        self._same: dict[tuple[object, ...], tuple[tuple[Expr, ...], BoolArray]] = kept["same"]
        self._rows: dict[int, tuple[Search, int]] = kept["rows"]
        self._listed: dict[tuple[int, int, LabelExpr | None], tuple[VertexLevel, IntArray | None]] = kept["listed"]

    def rows_of(self, search: Search, rows: int) -> int:
        """Return for how many input rows a search was asked in this execution, ``rows`` more of which come now."""
        known = self._rows.get(id(search))
        total = rows + (0 if known is None else known[1])
        self._rows[id(search)] = search, total
        return total

    def constant(self, expr: Expr) -> Any:
        """Return the value of an expression that no element changes."""
        return compile_expression(expr, self._runtime)(Batch(1, {})).values()[0]

    @property
    def runtime(self) -> Runtime:
        """What predicates are evaluated with."""
        return self._runtime

    def count(self, mask: BoolArray) -> int:
        """Return how many truth values are true."""
        return int(np.count_nonzero(mask))

    def bits(self, mask: BoolArray) -> npt.NDArray[np.uint8]:
        """Return truth values as bits, padded to whole 64-bit words."""
        return packed(mask, self._runtime.context)

    def places(self, mask: BoolArray, first: int, dtype: Any = np.uint32) -> Any:
        """Return where they are true, counted from ``first``, ascending."""
        from qengine.exec.host.predicates import places

        return places(mask, first, dtype, self._runtime.context)

    def vertex_list(self, level: VertexLevel, ranges: Sequence[Sequence[int]]) -> IntArray | None:
        """Return the vertices, ascending, of a level's ranges that satisfy its predicates, where indexes find few.

        Raises
        ------
        ExecutionError
            Where a predicate fails on one that indexes find.
        """
        key = id(level.predicates), id(level.access), level.labels  # levels in other orders share them
        if (known := self._listed.get(key)) is not None:
            return known[1]
        found, ids = indexed_nodes(self._runtime, level, ranges), None
        if found is not None:
            ids, access = found
            left = [each for place, each in enumerate(level.predicates) if place not in access.answers]
            if left and len(ids):
                ids = ids[self.holds_for(level.name, left, NodeColumn(ids))]
        self._listed[key] = level, ids
        return ids

    def holds_for(self, name: str, predicates: Sequence[Expr], elements: NodeColumn | RelationshipColumn) -> BoolArray:
        """Return for each of some elements, as variable ``name``, whether all predicates are true."""
        mask: BoolArray = np.empty(len(elements), dtype=np.bool_)
        compiled = self._compiled(predicates)
        for begin in range(0, len(elements), _RANGE):
            part = elements.slice(begin, min(_RANGE, len(elements) - begin))
            self._fill(mask[begin : begin + _RANGE], Batch(len(part), {name: part}), compiled)
        return mask

    def holds_of(self, condition: Expr, columns: Mapping[str, Column], rows: int) -> BoolArray:
        """Return for each of some rows of elements, by variable, whether a condition on several of them is true."""
        return compile_predicate(condition, self._runtime)(Batch(rows, dict(columns)))

    def scanned(self, level: VertexLevel) -> None:
        """Remember that a mask was made for a level which admits few vertices."""
        for access in level.access:
            for key in access.keys:
                note_scan(self._runtime.store, access.kind, key)

    def vertex_mask(self, name: str, predicates: tuple[Expr, ...], begin: int, end: int) -> BoolArray:
        """Return for each vertex of ``[begin, end)``, as variable ``name``, whether all predicates are true.

        There is at least one predicate, and each mentions no other variable.
        """
        return self._mask(name, predicates, NodeColumn, (begin, end))

    def mask_within(
        self, name: str, predicates: tuple[Expr, ...], ranges: Sequence[Sequence[int]], begin: int, end: int
    ) -> BoolArray:
        """Return for each vertex of ``[begin, end)`` whether it is in one of some ranges, and all predicates are true.

        The ranges ``(low, high)`` lie within; there may be no predicate.
        """
        if len(ranges) == 1 and predicates and (begin, end) == (ranges[0][0], ranges[0][1]):
            return self.vertex_mask(name, predicates, begin, end)
        mask = np.zeros(end - begin, np.bool_)
        if len(ranges) > MANY_RANGES and predicates:
            ids = np.concatenate([np.arange(low, high) for low, high in ranges])
            mask[ids - begin] = self.holds_for(name, predicates, NodeColumn(ids))
            return mask
        for low, high in ranges:
            mask[low - begin : high - begin] = self.vertex_mask(name, predicates, low, high) if predicates else True
        return mask

    def edge_mask(self, name: str, predicates: tuple[Expr, ...], type_index: int, begin: int, end: int) -> BoolArray:
        """Return the same for the relationships of a type with local ids ``[begin, end)``."""
        base = self._runtime.store.types[type_index].base
        bounds = (base + begin, base + end)
        return self._mask(name, predicates, RelationshipColumn, bounds)

    def _mask(
        self,
        name: str,
        predicates: tuple[Expr, ...],
        kind: type[NodeColumn | RelationshipColumn],
        bounds: tuple[int, int],
    ) -> BoolArray:
        if bounds[0] >= bounds[1]:
            return np.zeros(0, dtype=np.bool_)
        # The predicates are kept with their mask, so that no others can get their identity.
        key = (id(predicates), *bounds)
        if key in self._known:
            return self._known[key][1]
        if any(map(is_volatile, predicates)):
            return self._asked(name, predicates, kind, bounds)
        unnamed = tuple([_unnamed(each, name) for each in predicates])
        same = unnamed, kind, *bounds
        try:
            found = self._same.get(same)
        except TypeError:  # a list among its constants, which may be long
            mask = self._asked(name, predicates, kind, bounds)
        else:
            if found is None or repr(found[0]) != repr(unnamed):  # 0.0 equals -0.0, and isn't the same
                found = self._same[same] = unnamed, self._asked(name, predicates, kind, bounds)
            mask = found[1]
        self._known[key] = predicates, mask
        return mask

    def _asked(
        self,
        name: str,
        predicates: tuple[Expr, ...],
        kind: type[NodeColumn | RelationshipColumn],
        bounds: tuple[int, int],
    ) -> BoolArray:
        """Evaluate predicates for all elements of a range."""
        mask: BoolArray = np.empty(bounds[1] - bounds[0], dtype=np.bool_)
        left = self._filled(mask, name, predicates, kind, bounds)
        begun = left is not predicates
        if begun and (not left or np.count_nonzero(mask) * _RARE <= len(mask)):
            if left:
                found = self.places(mask, bounds[0], np.int64)
                mask[found - bounds[0]] = self.holds_for(name, left, kind(found))
            return mask
        compiled = self._compiled(left)
        size = part_size(len(mask), self._runtime.context)
        if len(mask) <= _RANGE and all(map(_is_light, left)):
            size = len(mask)

        def fill(begin: int) -> None:
            end = min(begin + size, bounds[1])
            part = mask[begin - bounds[0] : end - bounds[0]]
            self._fill(part, Batch(end - begin, {name: kind(None, (begin, end))}), compiled, begun)

        deal(fill, range(*bounds, size), self._runtime.context)
        return mask

    def _filled(
        self,
        mask: BoolArray,
        name: str,
        predicates: tuple[Expr, ...],
        kind: type[NodeColumn | RelationshipColumn],
        bounds: tuple[int, int],
    ) -> tuple[Expr, ...]:
        """Write whether those predicates are true that native code evaluates; return the others."""
        if len(mask) < _NATIVE or self._runtime.memory.limit is not None:
            return predicates
        of_nodes = kind is NodeColumn
        index = None if of_nodes else int(self._runtime.store.type_of(np.array(bounds[:1]))[0])
        programs = Predicates(self._runtime, name, index, on_host=True)
        elements, steps = Elements(name, of_nodes, (bounds,)), []
        left = []
        for predicate in predicates:
            try:
                if condition_can_fail(predicate):
                    raise NoProgram
                steps.append(programs.program([predicate], elements))
            except NoProgram:
                left.append(predicate)
        if not steps:
            return predicates
        from qengine.exec.host.predicates import fill

        fill(mask, all_of(steps), bounds[0], self._runtime.context)
        return tuple(left)

    def _compiled(self, predicates: Iterable[Expr]) -> _Compiled:
        """Return the predicates that can't fail, and those that can."""
        found: _Compiled = ([], [])
        for predicate in predicates:
            found[condition_can_fail(predicate)].append(compile_predicate(predicate, self._runtime))
        return found

    def _fill(self, mask: BoolArray, batch: Batch, compiled: _Compiled, begun: bool = False) -> None:
        """Write where all predicates are true; ``begun``: and what is written there already."""
        self._runtime.context.check()
        others, fallible = compiled
        if not begun:
            mask[:] = True
        for holds in others:
            mask &= holds(batch)
        sure = mask.copy() if fallible else mask
        for holds in fallible:
            try:
                mask &= holds(batch)
            except ExecutionError:  # asked again only where all that can't fail holds
                if sure.any():
                    mask[sure] &= holds(batch.take(np.flatnonzero(sure)))


def _unnamed(predicate: Expr, name: str) -> Expr:
    """Return a predicate of one element as it is whatever that is called."""
    return substitute(predicate, lambda part: _NOBODY if type(part) is Variable and part.name == name else None)


def _is_light(predicate: Expr) -> bool:
    """Tell whether a predicate takes about as long for many elements as a thread to be woken."""
    return isinstance(predicate, Comparison) and len(predicate.ops) == 1 and all(map(is_cheap, predicate.args))


def conditions_hold_out(root: Operator, store: ExecView, masks: Masks) -> bool:
    """Tell whether no condition of a plan's levels and hops fails on any node or relationship that it is asked for."""
    try:
        for operator in operators(root):
            if isinstance(operator, Walk | Shortest | Reach):
                _try(operator.end, store, masks)
                _try(
                    EdgeLevel(operator.hop, 0, 0, operator.types, operator.direction, operator.predicates), store, masks
                )
                if any(map(condition_can_fail, operator.inner)):
                    masks.vertex_mask(operator.hop, operator.inner, 0, store.vertex_count)
            elif isinstance(operator, Repeat | SelectPaths):
                _try(operator.end, store, masks)
                for part in operator.parts if isinstance(operator, SelectPaths) else ():
                    _try(part.node, store, masks)
            elif isinstance(operator, Search):
                for level in operator.levels:
                    _try(level, store, masks)
    except ExecutionError:
        return False
    return True


def _try(level: Level, store: ExecView, masks: Masks) -> None:
    """Evaluate a level's predicates, if one can fail, as the search will, which then finds the masks that are kept."""
    if not any(map(condition_can_fail, level.predicates)):
        return
    if isinstance(level, VertexLevel):
        if level.access and masks.vertex_list(level, store.label_ranges(level.labels).tolist()) is not None:
            return
        ranges = store.label_ranges(level.labels).tolist()
        if len(ranges) > MANY_RANGES:
            masks.mask_within(level.name, level.predicates, ranges, ranges[0][0], ranges[-1][1])
        else:
            for begin, end in ranges:
                masks.vertex_mask(level.name, level.predicates, begin, end)
        return
    for name in level.types or store.relationship_types:
        index = store.type_index(name)
        if index is not None:
            masks.edge_mask(level.name, level.predicates, index, 0, store.types[index].count)
