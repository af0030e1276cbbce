"""``Aggregate``: one row a group, from partial aggregates of each batch.

Where keys and arguments depend on one node only, its ids are counted first, and the expressions are evaluated
once a node instead of once a row: ``RETURN c.name, count(*)`` reads each name once, however many rows there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np

from qengine.errors import OutOfMemory, ResourceError
from qengine.exec.common.aggregates import total_weight, weights_of
from qengine.exec.common.batch import BATCH_ROWS, Batch
from qengine.exec.common.batch_parts import pieces
from qengine.exec.common.columns import Column, ConstantColumn, IntArray, NodeColumn, count_column
from qengine.exec.common.expressions.compiler import is_volatile
from qengine.exec.common.grouping import ascends
from qengine.exec.common.operators.aggregation import Aggregation
from qengine.exec.common.operators.diversion import Diversion, diversion_of
from qengine.exec.common.operators.folded_pairs import folded_pairs
from qengine.exec.common.operators.folded_rows import folded_rows
from qengine.exec.common.operators.stage import ROW, Build, Stage
from qengine.exec.common.runtime import Runtime
from qengine.exec.spill.given_back import give_back
from qengine.plan import logical, physical
from qengine.plan.expr import Variable
from qengine.plan.folding import WEIGHED
from qengine.plan.traverse import free_variables

_WEIGHT = "#weight"
_COUNT_BYTES = 24  # a count, and what waits to be counted
_FEW = 1024  # rows that are counted without looking whether they ascend
_COUNT_LIMIT = 2.0**62  # rows whose number, rounded, is below it can be counted in 64 bits


def aggregate_stage(operator: logical.Aggregate, build: Build, first: int) -> Stage:
    """Emit the keys and aggregates of each group; without keys one row (for each outer row). Holds the groups."""
    runtime = build.runtime
    diversion = diversion_of(operator.input, build)
    upstream = build(operator.input) if diversion is None else diversion.stage
    if not operator.keys and not any(call.args for _, call in operator.aggregates):
        return _counting(operator, upstream, runtime)
    apart = _one_row_each(operator, runtime)
    plain = Aggregation(operator, operator.weight, runtime, apart)
    subject = _only_node(operator) if _fits(runtime) and not apart else None
    counted = None if subject is None else Aggregation(operator, _WEIGHT, runtime)

    folding = None if apart else folded_rows(operator, runtime)
    pairs = None if folding is None else folded_pairs(operator, folding, build)

    def run(outer: Batch) -> Iterator[Batch]:
        given = False
        try:
            for batch in folded(outer, diversion if diversion is not None and diversion.takes(outer) else None):
                given = True
                yield batch
            return
        except ResourceError as error:
            spills = isinstance(error, OutOfMemory) and runtime.memory.limit is not None and folding is not None
            if given or not (spills or (error.code == "CountOverflow" and diversion is not None)):
                raise
        if diversion is not None:
            diversion.to(None)
        if spills:
            runtime.context.note(operator, "rows are grouped in parts: the groups of all don't fit")
            give_back(runtime.context)
            yield from grouped(upstream(outer), outer)
        else:
            yield from folded(outer, None)

    def folded(outer: Batch, diversion: Diversion | None) -> Iterator[Batch]:
        batches = upstream(outer)
        if folding is None or ROW in outer.columns:
            yield from grouped(batches, outer)
            return
        with runtime.memory.holding("Aggregate") as holding:
            found = folding.on_device(build.masks, outer, holding) if pairs is None else pairs.run(outer, holding)
            if found is not None:
                yield from found
                return
            holding.set(0)
            waiting, many = folding.gathered(batches, holding, diversion)
            found = folding.run(waiting, batches, outer, holding, diversion) if many else None
            if found is not None:
                yield from found
                return
        yield from grouped(chain(waiting, batches), outer)

    def grouped(batches: Iterator[Batch], outer: Batch) -> Iterator[Batch]:
        head = next(batches, None)
        if head is None:
            yield from plain.run(iter(()), outer)
            return
        rest = chain((head,), batches)
        if counted and subject and ROW not in head.columns and isinstance(head.columns[subject], NodeColumn):
            yield from counted.run(_counted(rest, subject, operator.weight, runtime), outer)
        else:
            yield from plain.run(rest, outer)

    return run


def _one_row_each(operator: logical.Aggregate, runtime: Runtime) -> bool:
    """Tell whether each input row is a group by itself: an elimination gives each vertex, or pair of them, once."""
    below = operator.input
    if not isinstance(below, physical.Eliminate) or not isinstance(below.input, logical.Unit):
        return False
    if below.search.exists:  # may be searched after all, which gives some again
        return False
    if not runtime.eliminates(below):
        return False
    keys = {expr.name for _, expr in operator.keys if isinstance(expr, Variable)}
    return bool(below.emit) and keys.issuperset(below.emit)


def _counting(operator: logical.Aggregate, upstream: Stage, runtime: Runtime) -> Stage:
    """Emit how many rows there are, without looking at groups where there is but one."""
    weight = operator.weight

    def run(outer: Batch) -> Iterator[Batch]:
        batches = upstream(outer)
        if ROW in outer.columns:
            yield from Aggregation(operator, weight, runtime).run(batches, outer)
            return
        total = 0
        for batch in batches:
            runtime.context.check()
            total += batch.length if weight is None else total_weight(batch.columns[weight])
        count = ConstantColumn(total, 1)
        yield Batch(1, dict.fromkeys((name for name, _ in operator.aggregates), count))

    return run


def _fits(runtime: Runtime) -> bool:
    """Return whether a count for each vertex takes a small part of the memory that the query may hold."""
    limit = runtime.memory.limit
    return limit is None or _COUNT_BYTES * runtime.store.vertex_count < limit // 4


def _only_node(operator: logical.Aggregate) -> str | None:
    """Return the only variable that keys and arguments read, if counting its ids first gives the same."""
    calls = [call for _, call in operator.aggregates]
    exprs = [*(expr for _, expr in operator.keys), *(arg for call in calls for arg in call.args)]
    if any(call.args and not call.distinct and call.name not in WEIGHED for call in calls):
        return None
    names = frozenset[str]().union(*map(free_variables, exprs))
    return next(iter(names)) if len(names) == 1 and not any(map(is_volatile, exprs)) else None


def _counted(batches: Iterator[Batch], name: str, weight: str | None, runtime: Runtime) -> Iterator[Batch]:
    """Yield each node of column ``name`` about once, with the number of its rows.

    The rows of many batches wait together, for counting takes as long as there are vertices. Null is counted in front
    of the first vertex. Batches of many rows whose ids ascend, one after the other, need no counting.
    """
    size = runtime.store.vertex_count + 1
    counts: IntArray | None = None
    total = 0.0
    waiting: list[tuple[IntArray, IntArray | None]] = []
    rows = 0
    last = -1  # id of batches that need no counting
    with runtime.memory.holding("Aggregate") as holding:
        for batch in batches:
            runtime.context.check()
            column = batch.columns[name]
            weights = None if weight is None else weights_of(batch.columns[weight])
            total += batch.length if weights is None else float(weights.sum(dtype=np.float64))
            if not isinstance(column, NodeColumn) or total >= _COUNT_LIMIT:
                yield _weighed(name, column, weights)
                continue
            if batch.length > _FEW and column.ids[0] > last and ascends(column.ids):
                last = int(column.ids[-1])
                yield _weighed(name, column, weights)
                continue
            waiting.append((column.ids, weights))
            rows += batch.length
            if 4 * rows >= size:
                if counts is None:
                    holding.set(_COUNT_BYTES * size)
                    counts = np.zeros(size, dtype=np.int64)
                _count_ids(counts, waiting)
                waiting, rows = [], 0
        if counts is None:
            for ids, weights in waiting:
                yield _weighed(name, NodeColumn(ids), weights)
            return
        _count_ids(counts, waiting)
        present = np.flatnonzero(counts != 0)
        for offset, length in pieces(len(present), BATCH_ROWS):
            places = present[offset : offset + length]
            yield _weighed(name, NodeColumn(places - 1), counts[places])


def _count_ids(counts: IntArray, waiting: list[tuple[IntArray, IntArray | None]]) -> None:
    plain = [ids for ids, weights in waiting if weights is None]
    if plain:
        counts += np.bincount(np.concatenate(plain) + 1, minlength=len(counts))
    for ids, weights in waiting:
        if weights is not None:
            np.add.at(counts, ids + 1, weights)


def _weighed(name: str, column: Column, weights: IntArray | None) -> Batch:
    if weights is None:
        weights = np.ones(len(column), dtype=np.int64)
    return Batch(len(column), {name: column, _WEIGHT: count_column(weights)})
