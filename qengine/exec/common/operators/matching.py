"""``Search``, ``Walk``, ``Reach`` and ``Shortest``: the matching operators, run by the native kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from qengine._frozen import replace
from qengine.errors import OutOfMemory, ResourceError
from qengine.exec.common.batch import BATCH_ROWS, LONG_ROWS, Batch
from qengine.exec.common.batch_parts import pieces, repeated_pieces
from qengine.exec.common.columns import Column, NodeColumn, RelationshipColumn, count_column, numbers_from, vertex_ids
from qengine.exec.common.grouping import Groups, by_code, group_rows
from qengine.exec.common.operators.stage import ROW, Build, Stage
from qengine.exec.common.vertex_scan import counted_vertices, scanned_level, scanned_vertices
from qengine.plan import logical, physical

if TYPE_CHECKING:
    from qengine.exec.common.columns import IntArray
    from qengine.exec.common.row_sinks import SinkRequest
    from qengine.exec.common.runtime import Matchers, Runtime
    from qengine.exec.context import ExecutionContext
    from qengine.exec.host.eliminate import Counts
    from qengine.exec.host.reach_kernel import ReachKernels
    from qengine.exec.host.search import SearchChunk
    from qengine.exec.view import ExecView, MaskProvider

_BYTES = 72  # of a row, while it is told which are alike
_ALIKE = 1.25  # so many times as many rows as different ones are worth telling these apart


def search_stage(operator: physical.Search, build: Build, first: int) -> Stage:
    """Emit the embeddings for each input row, with the input's columns."""
    upstream = build(operator.input, first)
    searched = _searched(operator, upstream, build, first)
    level = scanned_level(operator, build.runtime)
    if level is None or not isinstance(operator.input, logical.Unit):
        return searched

    def run(outer: Batch) -> Iterator[Batch]:
        if ROW in outer.columns:
            yield from searched(outer)
            return
        for _ in upstream(outer):
            if operator.count is not None:
                if total := counted_vertices(level, build.runtime, build.masks):
                    yield Batch(1, {operator.count: count_column(np.array([total], np.int64))})
                continue
            for column in scanned_vertices(level, build.runtime, build.masks, first):
                build.runtime.context.check()
                yield Batch(len(column), {level.name: column})

    return run


def diverted_search_stage(operator: physical.Search, build: Build, diversion: SinkRequest) -> Stage:
    """Emit the embeddings that aren't diverted, by the CPU's search."""
    return _searched(operator, build(operator.input), build, BATCH_ROWS, diversion)


def _searched(
    operator: physical.Search, upstream: Stage, build: Build, first: int, diversion: SinkRequest | None = None
) -> Stage:
    runtime = build.runtime
    search = _search(runtime)
    find = partial(_each_row_once, search) if diversion is None else partial(search, diversion=diversion)
    kinds = {
        level.name: NodeColumn if isinstance(level, physical.VertexLevel) else RelationshipColumn
        for level in operator.levels
    }
    seeds = [level.name for level in operator.levels[: operator.seeds]]

    def run(outer: Batch) -> Iterator[Batch]:
        wanted, most = first, LONG_ROWS if runtime.context.handed_on is operator else BATCH_ROWS
        for batch in upstream(outer) if diversion is None else diversion.together(upstream(outer)):
            ids = [vertex_ids(batch.columns[name]) for name in seeds]
            for chunk in find(runtime.store, operator, ids, batch.length, runtime.context, build.masks):
                for offset, length in pieces(len(chunk.row), wanted, most):
                    for begin, number in repeated_pieces(batch, chunk.row[offset : offset + length], runtime.memory):
                        part = slice(offset + begin, offset + begin + number)
                        emitted: dict[str, Column] = {
                            name: kinds[name](found[part], complete=True) for name, found in chunk.columns.items()
                        }
                        if operator.count is not None and chunk.count is not None:
                            emitted[operator.count] = count_column(chunk.count[part])
                        kept = batch.take(chunk.row[part]) if batch.columns else batch
                        yield Batch(number, {**kept.columns, **emitted})
                        runtime.context.check()
                    wanted = min(most, 4 * wanted)

    return run


def _each_row_once(
    search: Callable[..., Iterator[SearchChunk]],
    store: ExecView,
    operator: physical.Search,
    seeds: Sequence[IntArray],
    rows: int,
    context: ExecutionContext,
    masks: MaskProvider,
) -> Iterator[SearchChunk]:
    """Yield the embeddings for each row; where they are only counted, or asked for, once for rows that are alike."""
    given = {level.name for level in operator.levels[: operator.seeds]}
    asked = operator.exists or operator.count is not None
    room = context.memory.unclaimed(0) > _BYTES * rows
    if asked and room and rows > 1 and given and given.issuperset(operator.emit):
        groups = group_rows([NodeColumn(ids) for ids in seeds], rows)
        if groups.count * _ALIKE <= rows:
            with context.memory.holding("Search") as holding:
                holding.add(_BYTES * rows)
                chunks = search(store, operator, [ids[groups.first] for ids in seeds], groups.count, context, masks)
                yield from _for_equal_rows(chunks, groups)
            return
    yield from search(store, operator, seeds, rows, context, masks)


def _for_equal_rows(chunks: Iterator[SearchChunk], groups: Groups) -> Iterator[SearchChunk]:
    """Yield what was found for each group, its row, for all of the group's rows."""
    order = by_code(groups.codes, groups.count)
    sizes = np.bincount(groups.codes, minlength=groups.count)
    begins = np.cumsum(sizes) - sizes
    for found in chunks:
        times = sizes[found.row]
        alike = np.repeat(np.arange(len(times)), times)
        yield replace(
            found,
            row=order[numbers_from(begins[found.row], times)],
            columns={name: column[alike] for name, column in found.columns.items()},
            count=None if found.count is None else found.count[alike],
        )


def _search(runtime: Runtime) -> Callable[..., Iterator[SearchChunk]]:
    """Return what runs searches: the CPU's, or that of the device in its place."""
    from qengine.exec.host.search import run_search

    return run_search if runtime.matchers is None else runtime.matchers.search


def _reach_kernels(runtime: Runtime) -> ReachKernels:
    """Return what follows sets of vertices: the CPU's kernels, or those of the device."""
    from qengine.exec.host.reach_kernel import HOST

    return HOST if runtime.matchers is None else runtime.matchers.reach


def _eliminated(operator: physical.Eliminate, build: Build, matchers: Matchers) -> Iterator[Counts]:
    """Yield the counts of a pattern from a device, or from the host where the device has too little memory for them."""
    from qengine.exec.host.eliminate import run_eliminate

    try:
        yield matchers.eliminate(operator, build.runtime, build.masks)
    except OutOfMemory as error:
        if error.code != "OutOfDeviceMemory" or operator.schedule("cpu") is None:
            raise
        build.runtime.context.note(operator, "run on the CPU, since the GPU has too little memory for it")
        yield from run_eliminate(operator, build.runtime, build.masks)


def eliminate_stage(operator: physical.Eliminate, build: Build, first: int) -> Stage:
    """Emit the count of a pattern for each input row, in all or by a node.

    Where only the nodes are wanted and their counts exceed 64 bits, they are searched; so is a count of which a term,
    found by a search, exceeds them.
    """
    from qengine.exec.host.eliminate import run_eliminate

    runtime = build.runtime
    matchers, find = runtime.matchers, _search(runtime)
    upstream = build(operator.input, first)
    if not runtime.eliminates(operator):
        return _searched(operator.search, upstream, build, first)

    def counted() -> Iterator[Counts]:
        try:
            if matchers is None:
                yield from run_eliminate(operator, runtime, build.masks)
            else:
                yield from _eliminated(operator, build, matchers)
        except ResourceError as error:
            searched = (operator.search.exists or operator.searches) and not operator.alone
            if not searched or error.code != "CountOverflow":
                raise
            for chunk in find(runtime.store, operator.search, [], 1, runtime.context, build.masks):
                counts = np.ones(len(chunk.row), np.int64) if chunk.count is None else chunk.count
                yield tuple(chunk.columns[name] for name in operator.emit), counts

    def run(outer: Batch) -> Iterator[Batch]:
        kept: Iterable[Counts] | None = None
        for batch in upstream(outer):
            for row in range(batch.length):
                if kept is None or len(operator.emit) == 2:  # pairs are too many to be kept
                    kept = counted() if len(operator.emit) == 2 else list(counted())
                for vertices, counts in kept:
                    for offset, length in pieces(len(counts), first):
                        part = slice(offset, offset + length)
                        emitted: dict[str, Column] = {
                            name: NodeColumn(ids[part]) for name, ids in zip(operator.emit, vertices, strict=True)
                        }
                        if operator.count is not None:
                            emitted[operator.count] = count_column(counts[part])
                        rows = np.full(length, row, np.int64)
                        for begin, number in repeated_pieces(batch, rows, runtime.memory):
                            input_row = batch.take(rows[:number]) if batch.columns else batch
                            found = Batch(length, emitted).slice(begin, number)
                            yield Batch(number, {**input_row.columns, **found.columns})
                            runtime.context.check()

    return run


def walk_stage(operator: physical.Walk, build: Build, first: int) -> Stage:
    """Emit the walks from each input row's vertex."""
    from qengine.exec.host.walk import run_walk

    runtime = build.runtime
    upstream = build(operator.input, first)

    def run(outer: Batch) -> Iterator[Batch]:
        for batch in upstream(outer):
            yield from run_walk(runtime.store, operator, batch, runtime.context, build.masks)

    return run


def reach_stage(operator: physical.Reach, build: Build, first: int) -> Stage:
    """Emit what is reached from the vertices of equal input rows."""
    from qengine.exec.host.reach import run_reach

    runtime = build.runtime
    upstream = build(operator.input, first)
    kernels = _reach_kernels(runtime)
    return lambda outer: run_reach(runtime.store, operator, upstream(outer), runtime.context, build.masks, kernels)


def shortest_stage(operator: physical.Shortest, build: Build, first: int) -> Stage:
    """Emit the shortest paths between each input row's vertices."""
    from qengine.exec.host.shortest import run_shortest

    runtime = build.runtime
    upstream = build(operator.input, first)
    kernels = _reach_kernels(runtime)

    def run(outer: Batch) -> Iterator[Batch]:
        for batch in upstream(outer):
            yield from run_shortest(runtime.store, operator, batch, runtime.context, build.masks, kernels)

    return run
