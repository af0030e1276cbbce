"""Runs a search by breadth-first extension, and hands its rows on as they come to the host."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from qengine.exec.context import Status
from qengine.exec.gpu.extend import LevelTable
from qengine.exec.gpu.extend_counts import CountingExtension
from qengine.exec.gpu.host_copies import widened
from qengine.exec.gpu.host_rows import HostRows, to_host
from qengine.exec.gpu.launch import DeviceRun
from qengine.exec.gpu.upload import DevicePlan
from qengine.exec.host.search import Ids, SearchChunk, scaled
from qengine.plan.physical import Search

_MAX_COUNT = 2**63 - 1
_LEAST_BUFFER = 1 << 12
_MOST_BUFFER = 32 << 20
_CHUNK_ROWS = 1 << 17
_PIECE_SLOTS = 1 << 24
"""Where rows go to the host, pieces this small are computed while the ones before are copied."""


def extended(
    plan: DevicePlan, shape: LevelTable, search: Search, seeds: Sequence[Ids], rows: int, run: DeviceRun
) -> Iterator[SearchChunk]:
    """Yield the rows of a plan, in an order that depends on the plan alone, with their counts where levels are counted.

    Parameters
    ----------
    rows
        Input rows; 1 without seeds.
    """
    free, limit = run.free_bytes(), run.context.memory_limit
    buffer = min(_MOST_BUFFER, free // 64, _MOST_BUFFER if limit is None else limit // 64)
    extension = CountingExtension(run, plan, shape, free // 2, most_slots=_PIECE_SLOTS)
    for part in to_host(extension.rows(seeds, rows), run.stream, max(_LEAST_BUFFER, buffer)):
        each = part.n if run.context.handed_on is search else _CHUNK_ROWS
        for begin in range(0, part.n, each):
            end = min(part.n, begin + each)
            yield _chunk(part, slice(begin, end), end - begin, plan.resolved.outputs, search, run)


def _chunk(part: HostRows, which: slice, n: int, names: tuple[str, ...], search: Search, run: DeviceRun) -> SearchChunk:
    """Return n of the rows as operators take them: ids in 64 bits, in memory that can be paged."""
    given = [part.columns[k][which] for k in range(len(names))]
    ids = widened(given if part.row is None else [*given, part.row[which]], run.context)
    row = np.zeros(n, np.int64) if part.row is None else ids.pop()
    columns = dict(zip(names, ids, strict=True))
    if part.count is None or search.exists:
        return SearchChunk(row, columns, None)
    return SearchChunk(row, columns, as_emitted(part.count[which], search, run))


def as_emitted(counts: npt.NDArray[np.uint64], search: Search, run: DeviceRun) -> Ids:
    """Return counts as they are emitted.

    Raises
    ------
    ResourceError
        If one exceeds what a number holds.
    """
    if int(counts.max()) > _MAX_COUNT:
        run.context.raise_for(Status.OVERFLOW)
    return scaled(counts.astype(np.int64), search)
