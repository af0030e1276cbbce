"""Runs a physical ``Search``: resolves it, hands it to the native search, and streams what that finds."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from qengine._control import Status
from qengine._frozen import frozen
from qengine.exec.common.batch import LONG_ROWS
from qengine.exec.common.constant_conditions import Execution, few_visits
from qengine.exec.common.match_plan import SearchMode
from qengine.exec.common.merged_lists import is_due, lists_at_once, note
from qengine.exec.common.resolve import ResolvedSearch, resolve
from qengine.exec.common.row_sinks import RowSink, SinkRequest, SinkSource
from qengine.exec.context import ExecutionContext
from qengine.exec.host.native_search import SearchHandle
from qengine.exec.host.race import raced
from qengine.exec.view import ExecView, MaskProvider
from qengine.plan.physical import EdgeLevel, Search

_CHUNK_ROWS = 65_536
_MAX_COUNT = 2**63 - 1

_ROW_0 = np.zeros(LONG_ROWS, np.int64)
_ROW_0.flags.writeable = False

Ids = npt.NDArray[np.int64]


@frozen
class SearchChunk:
    """Some embeddings: the input rows that they belong to, a column for each emitted name, and the counts.

    Columns hold vertex ids or global relationship ids. ``count`` is None where the search doesn't count; depth first on
    the GPU a row may come in several parts, whose counts add up.
    """

    row: Ids
    columns: dict[str, Ids]
    count: Ids | None


def run_search(
    store: ExecView,
    search: Search,
    seeds: Sequence[Ids],
    rows: int,
    context: ExecutionContext,
    masks: Execution,
    diversion: SinkRequest | None = None,
) -> Iterator[SearchChunk]:
    """Yield the embeddings of a search for each of ``rows`` input rows, in no given order.

    Parameters
    ----------
    store
        The ``GraphStore``.
    seeds
        int64[rows] for each seed level: vertex ids, -1 for null. Without seeds each row gets all embeddings.
    masks
        Evaluates predicates of single variables.
    diversion
        May take rows from the search as it runs, which are then not yielded.

    Raises
    ------
    QueryTimeout, QueryInterrupted, OutOfMemory
        By the context's limits, from inside the search.
    ResourceError
        If a count exceeds 64 bits.
    """
    if rows == 0:
        return
    lists = lists_at_once(store, search)
    merged = is_due(store, lists, context.memory.unclaimed(0), _roots(store, search, rows))
    few = few_visits(store, search, rows, masks)
    resolved = resolve(store, search, masks, merged=merged, few=few)
    if resolved is None:
        return
    chunk_rows = _chunk_rows(resolved, search, context)
    running = SearchHandle(resolved, seeds, rows if search.seeds else 1, context, chunk_rows)
    begin = time.monotonic()
    try:
        found = _run(running, store, resolved, search, context, masks, chunk_rows, diversion)
        yield from completed(found, resolved, search, seeds, rows, chunk_rows)
    finally:
        if not merged:
            note(store, lists, time.monotonic() - begin)


def _roots(store: ExecView, search: Search, rows: int) -> int:
    """Return how many vertices a search surely goes on from: those of given rows, or of a label, if all are counted."""
    if search.seeds:
        return rows
    first = search.levels[0]
    if not search.count or search.emit or isinstance(first, EdgeLevel) or first.predicates:
        return 0
    return int(np.diff(store.label_ranges(first.labels)).sum())


def completed(
    found: Iterator[SearchChunk],
    resolved: ResolvedSearch,
    search: Search,
    seeds: Sequence[Ids],
    rows: int,
    chunk_rows: int,
) -> Iterator[SearchChunk]:
    """Yield the search's result from what a kernel found: rows repeated by their counts where they are not counted.

    The seeds' columns are added, and the images of each row; without seeds each input row gets everything. ``found``:
    with ``count`` wherever levels are only counted.
    """
    for chunk in found:
        for part in (
            _repeated(chunk, chunk_rows) if chunk.count is not None and resolved.mode is SearchMode.ROWS else (chunk,)
        ):
            for image in _images(part, search, chunk_rows) if search.images else (_with_seeds(part, search, seeds),):
                yield from (image,) if search.seeds or rows == 1 else _for_each_row(image, rows, chunk_rows)


def _run(
    running: SearchHandle,
    store: ExecView,
    resolved: ResolvedSearch,
    search: Search,
    context: ExecutionContext,
    masks: MaskProvider,
    chunk_rows: int,
    diversion: SinkRequest | None,
) -> Iterator[SearchChunk]:
    """Yield what the native search finds; where nothing is enumerated, one count for each row."""
    sink: RowSink | None = None
    try:
        if resolved.summed and not search.seeds:
            total, winner = raced(running, store, search, context, masks, chunk_rows)
            yield from one_total(total, winner)
            return
        done, asking = False, diversion
        while not done:
            if asking is not None and (wanted := asking.opened(_source(resolved, search))) is not None:
                for part in asking.returned(resolved.outputs):
                    running.put(part)
                sink, asking = _attached(running, wanted), None
            n, done = running.wait()
            if n:
                yield _taken(running, resolved, search, n)
        if sink is not None:
            sink.end()
    except KeyboardInterrupt:
        context.interrupt()
        context.raise_for(Status.INTERRUPTED)
    finally:
        running.close()
        if sink is not None and diversion is not None:
            diversion.ended(sink.rows())
            sink.close()


def _source(resolved: ResolvedSearch, search: Search) -> SinkSource:
    images = search.images or (search.emit,)
    named = [dict(zip(search.emit, image, strict=True)) for image in images]
    rows = [[image[name] for name in resolved.outputs] for image in named]
    return SinkSource(resolved.outputs, rows, resolved.mode is SearchMode.COUNT, search.orbits, search.seeds > 0)


def _attached(running: SearchHandle, sink: RowSink) -> RowSink | None:
    """Let a sink take the rows from now on; None, and it is closed, where too few are left."""
    if running.attach(sink.handle):
        return sink
    sink.close()
    return None


def _taken(running: SearchHandle, resolved: ResolvedSearch, search: Search, n: int) -> SearchChunk:
    counted = resolved.summed or resolved.mode is SearchMode.COUNT
    data = running.take(n, 1 + len(resolved.outputs) + counted)
    count = scaled(data[-1], search) if counted else None
    if resolved.mode is SearchMode.EXISTS:
        count = None
    row = data[0] if search.seeds else _ROW_0[:n] if n <= LONG_ROWS else np.zeros(n, np.int64)
    return SearchChunk(row, dict(zip(resolved.outputs, data[1:], strict=False)), count)


def scaled(count: Ids, search: Search) -> Ids:
    """Return the counts times the pattern's orbits."""
    if search.orbits > 1 and len(count):
        if int(count.max()) > _MAX_COUNT // search.orbits:
            return count.astype(object) * search.orbits
        count *= search.orbits
    return count


def one_total(found: int, search: Search) -> Iterator[SearchChunk]:
    """Yield the count of a search that neither has seeds nor walks, unless it is 0; ``found``: without the orbits."""
    total = found * search.orbits
    if total == 0:
        return
    if search.exists:
        yield SearchChunk(np.zeros(1, np.int64), {}, None)
        return
    yield SearchChunk(np.zeros(1, np.int64), {}, np.array([total], np.int64 if total <= _MAX_COUNT else object))


def _repeated(chunk: SearchChunk, limit: int) -> Iterator[SearchChunk]:
    """Yield each row as often as its count says, without the count."""
    assert chunk.count is not None
    if len(chunk.count) > 1 and chunk.count.sum(dtype=np.float64) > _MAX_COUNT / 2:  # their places may exceed 64 bits
        for row in range(len(chunk.count)):
            one = slice(row, row + 1)
            columns = {name: column[one] for name, column in chunk.columns.items()}
            yield from _repeated(SearchChunk(chunk.row[one], columns, chunk.count[one]), limit)
        return
    ends = np.cumsum(chunk.count)
    for begin in range(0, int(ends[-1]), limit):
        positions = np.arange(begin, min(begin + limit, int(ends[-1])))
        at = np.searchsorted(ends, positions, side="right")
        yield SearchChunk(chunk.row[at], {name: column[at] for name, column in chunk.columns.items()}, None)


def _with_seeds(chunk: SearchChunk, search: Search, seeds: Sequence[Ids]) -> SearchChunk:
    """Add the columns of seeds that the search emits."""
    wanted = [k for k in range(search.seeds) if search.levels[k].name in search.emit]
    if not wanted:
        return chunk
    given = {search.levels[k].name: seeds[k][chunk.row] for k in wanted}
    return SearchChunk(chunk.row, {**given, **chunk.columns}, chunk.count)


def _images(chunk: SearchChunk, search: Search, limit: int) -> Iterator[SearchChunk]:
    """Yield each row under all orders of its columns: few rows in one chunk, many without copying them."""
    together = max(1, min(limit, _CHUNK_ROWS) // len(chunk.row))
    for begin in range(0, len(search.images), together):
        images = search.images[begin : begin + together]
        if len(images) == 1:
            columns = {name: chunk.columns[other] for name, other in zip(search.emit, images[0], strict=True)}
            yield SearchChunk(chunk.row, columns, chunk.count)
            continue
        columns = {
            name: np.concatenate([chunk.columns[image[place]] for image in images])
            for place, name in enumerate(search.emit)
        }
        count = None if chunk.count is None else np.tile(chunk.count, len(images))
        yield SearchChunk(np.tile(chunk.row, len(images)), columns, count)


def _for_each_row(chunk: SearchChunk, rows: int, limit: int) -> Iterator[SearchChunk]:
    """Yield the embeddings of a search without seeds once for each input row."""
    n = len(chunk.row)
    step = max(1, limit // n)
    for begin in range(0, rows, step):
        block = np.arange(begin, min(rows, begin + step))
        yield SearchChunk(
            np.repeat(block, n),
            {name: np.tile(column, len(block)) for name, column in chunk.columns.items()},
            None if chunk.count is None else np.tile(chunk.count, len(block)),
        )


def _chunk_rows(resolved: ResolvedSearch, search: Search, context: ExecutionContext) -> int:
    """Rows of one chunk, so that all rows under way take at most a quarter of the memory limit.

    Each thread fills a chunk while another waits; breadth first a piece of two chunks a level comes on top.
    """
    if context.memory_limit is None:
        return LONG_ROWS if context.handed_on is search else _CHUNK_ROWS
    columns = (len(resolved.outputs) + 2) * (2 * context.threads + 2)
    if search.strategy == "extend":
        columns += 2 * len(search.levels) * (len(search.levels) + 2)
    return max(1, min(_CHUNK_ROWS, context.memory_limit // 4 // (8 * columns)))
