"""``AggregateByClasses``: aggregates of two nodes of a pattern, summed by classes of the vertices of one of them.

A class are the vertices that agree in all that is read of them: any of them stands for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine._frozen import replace
from qengine.errors import OutOfMemory
from qengine.exec.common.batch import Batch
from qengine.exec.common.columns import IntArray
from qengine.exec.common.dealing import made_of
from qengine.exec.common.element_columns import Elements, coded, elements_of
from qengine.exec.common.operators.aggregation import Aggregation, counted_call
from qengine.exec.common.operators.folded import Bindings, Folded, FoldedGroups
from qengine.exec.common.operators.stage import ROW, Build, Stage
from qengine.exec.memory import Holding
from qengine.plan import physical
from qengine.plan.expr import Expr
from qengine.plan.folding import ignores_repeats
from qengine.plan.physical import VertexLevel
from qengine.plan.traverse import free_variables

_MOST_BITS = 48  # of what all counts add up to: sums need some beside
_SPARE = 64  # combinations of values for each class that there may be
_VERTEX_BYTES = 40
_PACKED_BITS = 62
FEW_CLASSES = 3
"""Classes that are summed one after the other, before it is looked how many fit into a number."""


def aggregate_by_classes_stage(operator: physical.AggregateByClasses, build: Build, first: int) -> Stage:
    """Emit what the aggregate below does; with rows where values can't be folded, or classes are many."""
    runtime = build.runtime
    rows = build.later(operator.input, first)
    named = tuple((name, counted_call(call)) for name, call in operator.input.aggregates)
    grouping = Aggregation(replace(operator.input, aggregates=named), None, runtime, whose=operator)
    found = {
        name: elements_of(VertexLevel(name, labels), runtime)
        for name, labels in ((operator.node, operator.labels), (operator.by, operator.by_labels))
    }
    elements = {name: each for name, each in found.items() if each is not None}

    def run(outer: Batch) -> Iterator[Batch]:
        if ROW in outer.columns or runtime.matchers is not None:
            yield from rows(outer)
            return
        if len(elements) < len(found):
            yield from grouping.run(iter(()), outer)
            return
        with runtime.memory.holding("AggregateByClasses") as holding:
            try:
                groups = _groups(operator, elements, build, holding)
            except OutOfMemory:
                if runtime.memory.limit is None:
                    raise
                groups = None
            if groups is not None:
                yield from grouping.of_groups(groups) if groups.length else grouping.run(iter(()), outer)
                return
            holding.set(0)
        runtime.context.note(operator, "rows are made: classes are many, or groups don't fit or can't be folded")
        yield from rows(outer)

    return run


def _groups(
    operator: physical.AggregateByClasses, elements: dict[str, Elements], build: Build, holding: Holding
) -> FoldedGroups | None:
    """Return the groups; None where classes are many, or values can't be folded."""
    runtime = build.runtime
    holding.add(_VERTEX_BYTES * runtime.store.vertex_count)
    classes = _Classes(operator, elements, build)
    folded = Folded(operator.input, Bindings(elements), runtime, runtime.store.vertex_count, _MOST_BITS)
    try:
        return folded.groups() if classes.found and folded.open(holding) and classes.fold(folded) else None
    finally:
        folded.close()


class _Classes:
    """The classes of a node's vertices.

    Attributes
    ----------
    found
        Whether all of what is read can be evaluated, and classes are as few as the operator says.
    """

    def __init__(self, operator: physical.AggregateByClasses, elements: dict[str, Elements], build: Build) -> None:
        self._operator = operator
        self._elements = elements[operator.node]
        self._build = build
        self._members: list[npt.NDArray[np.int64]] = []
        self.found = self._find()

    def _find(self) -> bool:
        """Note the members of each class, ids less the first; tell whether these are few."""
        begin, end = self._elements.begin, self._elements.end
        codes = np.zeros(end - begin, np.int64)
        step = 1
        for expr in self._read():
            made = coded(expr, self._elements, self._build.runtime)
            if made is None or step * (len(made[1]) + 1) > _SPARE * self._operator.most:
                return False
            codes += step * (made[0].astype(np.int64) + 1)
            step *= len(made[1]) + 1
        within = np.zeros(end - begin, np.bool_)
        for low, high in self._elements.ranges:
            within[low - begin : high - begin] = True
        order = np.argsort(codes[within].astype(np.min_scalar_type(step)), kind="stable")  # few bits sort by digits
        ids = np.flatnonzero(within)[order]
        cuts = np.flatnonzero(np.diff(codes[ids])) + 1
        self._members = np.split(ids, cuts) if len(ids) else []
        return len(self._members) <= self._operator.most

    def _read(self) -> Sequence[Expr]:
        aggregate = self._operator.input
        exprs = [expr for _, expr in aggregate.keys]
        exprs += [arg for _, call in aggregate.aggregates for arg in call.args[:1]]
        return list(dict.fromkeys(expr for expr in exprs if free_variables(expr) == {self._operator.node}))

    def fold(self, folded: Folded) -> bool:
        """Fold what is counted for each class by the other node; False where that is too much for 64 bits."""
        operator, first = self._operator, self._elements.begin
        once = ignores_repeats([call for _, call in operator.input.aggregates])
        bits, together = self._packing()
        for begin in range(0, len(self._members), together):
            part = self._members[begin : begin + together]
            packed = self._summed([1 << bits * place for place in range(len(part))], part)
            if packed.dtype == object:
                return False
            for members, (ids, counts) in zip(part, self._counted(packed, bits, len(part)), strict=True):
                columns = {operator.node: np.full(len(ids), members[0] + first), operator.by: ids}
                rows = [columns[name] for name in folded.names]
                if not all(fold.add(rows, len(ids), None if once else counts) for fold in folded.folds):
                    return False
        return True

    def _counted(self, packed: npt.NDArray[Any], bits: int, together: int) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield for each of some classes the vertices that it counts, and how often."""

        def of(some: slice) -> Sequence[tuple[IntArray, IntArray]]:
            made = []
            for place in range(together):
                counts = packed[some] if together == 1 else packed[some] >> bits * place & (1 << bits) - 1
                found = np.flatnonzero(counts)
                made.append((found + some.start, counts[found]))
            return made

        for parts in zip(*made_of(len(packed), of, self._build.runtime.context), strict=True):
            ids, counts = map(np.concatenate, zip(*parts, strict=True))
            yield ids, counts

    def _packing(self) -> tuple[int, int]:
        """Return the bits that a count of a class takes, and the counts of how many classes fit into a number."""
        if len(self._members) <= FEW_CLASSES:
            return 0, 1
        counts = self._summed([1] * len(self._members), self._members)
        if counts.dtype == object:
            return 0, 1
        bits = max(1, int(counts.max(initial=0)).bit_length())
        return bits, max(1, _PACKED_BITS // bits)

    def _summed(self, numbers: Sequence[int], classes: Sequence[IntArray]) -> npt.NDArray[Any]:
        """Return for each vertex the sums of the numbers of classes over its embeddings; as ``vertex_sums``."""
        from qengine.exec.host.vertex_sums import vertex_sums

        runtime = self._build.runtime
        runtime.context.check()
        values = np.zeros(runtime.store.vertex_count, np.int64)
        for number, members in zip(numbers, classes, strict=True):
            values[members + self._elements.begin] = number
        return vertex_sums(self._operator.program, values, runtime, self._build.masks)
