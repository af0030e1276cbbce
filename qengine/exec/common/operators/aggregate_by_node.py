"""``AggregateByNode``: aggregates of a pattern whose rows are never made.

What eliminations give for each vertex of one node, embeddings and sums of values, are states of the aggregates as
partial ones of batches are; they are grouped by the keys of these vertices. Different, least and greatest values are
found for each group in the rows of counts by two nodes, and for a single group among the vertices with embeddings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from qengine._frozen import frozen, replace
from qengine.catalog.costs import costs
from qengine.errors import ExecutionError
from qengine.exec.common.aggregates import Aggregator, State
from qengine.exec.common.batch import Batch
from qengine.exec.common.columns import (
    ArrowColumn,
    BoolArray,
    Column,
    IntArray,
    NodeColumn,
    ObjectColumn,
    concatenate,
    count_column,
    integer_column,
    null_column,
)
from qengine.exec.common.element_columns import Elements, evaluated, ranked
from qengine.exec.common.expressions.compiler import compile_expression
from qengine.exec.common.expressions.operand import numpy_values, operand
from qengine.exec.common.grouping import Groups, group_rows
from qengine.exec.common.operators.aggregation import Aggregation, StateOf, counted_call
from qengine.exec.common.operators.folded_rows import folded_rows, searched_on_device
from qengine.exec.common.operators.stage import ROW, Build, Stage
from qengine.exec.common.runtime import Runtime
from qengine.plan import physical
from qengine.plan.expr import AggregateCall, Expr, Variable
from qengine.plan.traverse import free_variables

if TYPE_CHECKING:
    from qengine.exec.host.pair_folds import Met

_RANGE = 1 << 19  # vertices that values are evaluated for at a time
_VERTEX_BYTES = 48  # of a node's values, where they aren't null, and their sums
_WEIGHT = "#weight"

Numbers = npt.NDArray[Any]


@frozen
class ByVertex:
    """The vertices with embeddings, and how many they have."""

    ids: IntArray
    counts: IntArray


def aggregate_by_node_stage(operator: physical.AggregateByNode, build: Build, first: int) -> Stage:
    """Emit what the aggregate below does; where values can't be summed by vertex, what it does with rows."""
    runtime = build.runtime
    rows = build(operator.input, first)
    calls = [call for _, call in operator.input.aggregates]
    given = {place: source for place, call in enumerate(calls) if (source := _source(operator, call, build))}
    counted = [counted_call(call) if isinstance(given.get(place), _Met) else call for place, call in enumerate(calls)]
    named = zip((name for name, _ in operator.input.aggregates), counted, strict=True)
    grouping = Aggregation(replace(operator.input, aggregates=tuple(named)), _WEIGHT, runtime, whose=operator)

    def run(outer: Batch) -> Iterator[Batch]:
        if ROW in outer.columns or _folds_sooner(operator, runtime):
            yield from rows(outer)
            return
        with runtime.memory.holding("AggregateByNode") as holding:
            holding.set(_VERTEX_BYTES * runtime.store.vertex_count * (1 + len(given)))
            if not all(source.evaluate() for source in given.values()):
                holding.set(0)
                yield from rows(outer)
                return
            found = _by_vertex(operator.counts, build)
            if not len(found.ids):
                yield from grouping.run(iter(()), outer)
                return
            states = {place: source.states(found) for place, source in given.items()}
            columns = {operator.node: NodeColumn(found.ids), _WEIGHT: count_column(found.counts)}
            yield from grouping.of_states(Batch(len(found.ids), columns), states)

    return run


def _folds_sooner(operator: physical.AggregateByNode, runtime: Runtime) -> bool:
    """Tell whether a device makes and folds all rows in less time than the host takes without them."""
    search = searched_on_device(operator.input, runtime)
    if search is None or search.rows is None or folded_rows(operator.input, runtime) is None:
        return False
    programs = [operator.counts, *(each.program for each in operator.sums)]
    programs += [each.program for each in operator.pairs]
    schedules = [each.schedule("cpu") for each in programs]
    host = sum(each.cost for each in schedules if each is not None)
    device: float = costs("gpu", "search")["start"] + costs("gpu", "rows")["folded"] * search.rows
    return device < host


def _by_vertex(counts: physical.Eliminate, build: Build) -> ByVertex:
    """Return the vertices that an elimination by one node counts embeddings by, and these counts.

    Raises
    ------
    ResourceError
        If a number on the way exceeds 128 bits; and by the context's limits.
    """
    from qengine.exec.host.eliminate import run_eliminate

    ((vertices, numbers),) = run_eliminate(counts, build.runtime, build.masks)
    return ByVertex(vertices[0], numbers)


def counts_of_all(counts: physical.Eliminate, build: Build) -> Numbers:
    """Return for each of the graph's vertices what an elimination by one node counts; errors as of that."""
    from qengine.exec.host.eliminate import vertex_counts

    return vertex_counts(counts, build.runtime, build.masks)


def _source(operator: physical.AggregateByNode, call: AggregateCall, build: Build) -> _Summed | _Met | None:
    """Return what gives the states of an aggregate, None where it reads no other node."""
    names = {name for arg in call.args for name in free_variables(arg)}
    if call.name in ("min", "max") or call.distinct:
        pairs = next((each for each in operator.pairs if each.node in names), None)
        return None if pairs is None else _Met(call, pairs, build)
    sums = next((each for each in operator.sums if each.node in names), None)
    return None if sums is None else _Summed(call, sums, build)


class _Summed:
    """``sum``, ``avg`` or ``count`` of a node's values, which are int64 or float64 where they aren't null."""

    def __init__(self, call: AggregateCall, sums: physical.NodeSums, build: Build) -> None:
        self._name = call.name
        self._arg = call.args[0]
        self._sums = sums
        self._build = build
        self._numbers: Numbers = np.zeros(0)
        self._some: BoolArray | None = None

    def evaluate(self) -> bool:
        """Tell whether all values are finite numbers of one kind, 0 where they are null."""
        from qengine.exec.host.vertex_sums import is_summable

        found = _evaluated(self._arg, self._sums.node, self._sums.labels, self._build)
        kinds = set() if found is None else {operand(column).kind for _, column in found} - {"null"}
        if found is None or len(kinds) > 1 or not kinds <= {"integer", "float"}:
            return False
        n = self._build.runtime.store.vertex_count
        numbers = np.zeros(n, np.float64 if "float" in kinds else np.int64)
        some = np.zeros(n, np.bool_)
        whole = True
        for start, column in found:
            place = slice(start, start + len(column))
            null = column.is_null()
            some[place] = ~null
            whole = whole and not null.any()
            if not null.all():
                numbers[place] = np.where(null, 0, numpy_values(operand(column)))
        self._numbers, self._some = numbers, None if whole else some
        return is_summable(numbers)

    def states(self, found: ByVertex) -> StateOf:
        """Return the states of the vertices with embeddings, as partial ones of their rows would be."""
        counts = found.counts if self._some is None else self._of(found, self._some.astype(np.int64))
        if self._name == "count":
            return _merged([_integers(counts)])
        total = self._of(found, self._numbers)
        if self._numbers.dtype == np.int64:
            return _merged([_integers(total), ArrowColumn(pa.nulls(len(total), pa.float64())), _integers(counts)])
        floats = ArrowColumn(pa.array(total, pa.float64(), mask=np.asarray(counts == 0, np.bool_)))
        return _merged([integer_column(np.zeros(len(total), np.int64)), floats, _integers(counts)])

    def _of(self, found: ByVertex, values: Numbers) -> Numbers:
        from qengine.exec.host.vertex_sums import vertex_sums

        return np.asarray(vertex_sums(self._sums.program, values, self._build.runtime, self._build.masks)[found.ids])


class _Met:
    """``count(DISTINCT …)``, ``min`` or ``max`` of a node's values: classes of equal ones, in their order."""

    def __init__(self, call: AggregateCall, pairs: physical.NodePairs, build: Build) -> None:
        self._call = call
        self._pairs = pairs
        self._build = build
        self._classes: npt.NDArray[np.uint32] = np.zeros(0, np.uint32)
        self._values: Column = null_column(0)

    def evaluate(self) -> bool:
        """Tell whether all values can be had, and note the class of each vertex, and for min and max their values."""
        from qengine.exec.host.pair_folds import NO_CLASS

        n = self._build.runtime.store.vertex_count
        (arg,) = self._call.args
        if isinstance(arg, Variable) and self._call.name == "count":
            self._classes = np.arange(n, dtype=np.uint32)
            return True
        self._classes = np.full(n, NO_CLASS, np.uint32)
        if self._call.name != "count":
            return self._ranked(arg)
        found = _evaluated(arg, self._pairs.node, self._pairs.labels, self._build)
        if found is None:
            return False
        if not found:
            return True
        column = concatenate([each for _, each in found])
        vertices = np.concatenate([np.arange(start, start + len(each)) for start, each in found])
        kept = np.flatnonzero(~column.is_null())
        column, vertices = column.take(kept), vertices[kept]
        self._classes[vertices] = group_rows([column], len(column)).codes
        return True

    def _ranked(self, arg: Expr) -> bool:
        """Note the classes and their values in their order, the graph's where it keeps them."""
        runtime = self._build.runtime
        ranges = [(low, high) for low, high in runtime.store.label_ranges(self._pairs.labels).tolist()]
        if not ranges:
            return True
        elements = Elements(self._pairs.node, True, tuple(ranges))
        column = evaluated(arg, elements, runtime)
        if column is None:
            return False
        numbers, count, values_of = ranked(arg, column, elements, runtime)
        for begin, end in ranges:
            low, high = max(begin, numbers.base), min(end, numbers.base + len(numbers.values))
            if low < high:
                codes = numbers.values[low - numbers.base : high - numbers.base]
                self._classes[low:high] = codes.view(np.uint32)  # that of null is NO_CLASS
        self._values = values_of(np.arange(count, dtype=np.int64))
        return True

    def states(self, found: ByVertex) -> StateOf:
        """Return the states of groups of the vertices with embeddings."""

        def of_groups(each: Aggregator, groups: Groups) -> State:
            met = self._met(found, groups)
            if self._call.name == "count":
                return [integer_column(met.distinct)]
            best = met.least if self._call.name == "min" else met.greatest
            if (best < 0).all():
                return [null_column(len(best))]
            values = concatenate([self._values, null_column(1)])
            return [values.take(np.where(best < 0, len(self._values), best))]

        return of_groups

    def _met(self, found: ByVertex, groups: Groups) -> Met:
        from qengine.exec.host.pair_folds import fold_pairs, met_by_one

        program = self._pairs.program
        if len(program.emit) == 1:  # one group, that of all embeddings
            return met_by_one(self._classes[_by_vertex(program, self._build).ids])
        return fold_pairs(program, self._classes, found.ids, groups.codes, self._build.runtime, self._build.masks)


def _evaluated(arg: Expr, node: str, labels: Any, build: Build) -> Sequence[tuple[int, Column]] | None:
    """Return the values of an expression for vertices with the labels, from some on; None where it fails for one."""
    store = build.runtime.store
    evaluate = compile_expression(arg, build.runtime)
    found = []
    try:
        for begin, end in store.label_ranges(labels).tolist():
            for start in range(begin, end, _RANGE):
                build.runtime.context.check()
                stop = min(start + _RANGE, end)
                found.append((start, evaluate(Batch(stop - start, {node: NodeColumn(None, (start, stop))}))))
    except ExecutionError:
        return None
    return found


def _merged(state: State) -> StateOf:
    return lambda each, groups: each.merge(groups, state)


def _integers(numbers: Numbers) -> Column:
    return ObjectColumn(numbers.tolist()) if numbers.dtype == object else integer_column(numbers)
