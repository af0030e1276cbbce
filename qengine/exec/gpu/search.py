"""Runs a physical ``Search`` on the GPU: the same levels, seeds and rows as ``qengine.exec.host.search``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from qengine.exec.common.match_plan import SearchMode
from qengine.exec.common.resolve import ResolvedSearch, resolve
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu.count import try_count, use_of
from qengine.exec.gpu.count_bfs import try_total
from qengine.exec.gpu.dealing import shares_in_words, streamed
from qengine.exec.gpu.dfs import dfs_chunks, dfs_total
from qengine.exec.gpu.extend import block_warps, has_room, level_table
from qengine.exec.gpu.extend_search import extended
from qengine.exec.gpu.launch import DeviceRun, device_run
from qengine.exec.gpu.memory import IN_HOST_MEMORY
from qengine.exec.gpu.predicates import device_masks
from qengine.exec.gpu.spread import Part, is_spread, search_parts, shaped_total
from qengine.exec.gpu.upload import DevicePlan, device_plan
from qengine.exec.host.search import Ids, SearchChunk, completed, one_total
from qengine.exec.view import ExecView, MaskProvider
from qengine.plan.physical import Search, check_device_levels

_MOST_ROWS = 1 << 22


def run_search(
    store: ExecView, search: Search, seeds: Sequence[Ids], rows: int, context: ExecutionContext, masks: MaskProvider
) -> Iterator[SearchChunk]:
    """Yield the embeddings of a search for each of ``rows`` input rows, in no given order.

    What is expected to take long is done by all devices of ``context.gpus``, all else by the current one. Parameters
    and errors as in ``qengine.exec.host.search.run_search``; ``OutOfMemory`` also for a device's memory.

    Raises
    ------
    DeviceError
        If there is no usable device, or one of several fails.
    Unsupported
        If the search has more levels than the device's kernels take.
    """
    if rows == 0:
        return
    check_device_levels(len(search.levels))
    if is_spread(search, context):
        resolved = resolve(store, search, masks)
        if resolved is not None:
            found = _spread(store, search, resolved, context, masks)
            yield from completed(found, resolved, search, seeds, rows, _most_rows(resolved, context))
        return
    with device_run(context) as run:
        resolved = resolve(store, search, device_masks(masks, run))
        if resolved is not None:
            found = _on_one(store, search, resolved, seeds, rows if search.seeds else 1, run)
            yield from completed(found, resolved, search, seeds, rows, _most_rows(resolved, context))


def _on_one(
    store: ExecView,
    search: Search,
    resolved: ResolvedSearch,
    seeds: Sequence[Ids],
    rows: int,
    run: DeviceRun,
) -> Iterator[SearchChunk]:
    """Yield what a search gives on the device of a run."""
    context = run.context
    with device_plan(store, resolved, run, use_of(search)) as plan:
        if elsewhere := plan.host_bytes:
            context.note(search, IN_HOST_MEMORY.format(elsewhere / 1e6))
        total = _total(store, search, plan, run)
        if "segments" in plan.made:
            n, crossing = plan.made["segments"]
            context.note(search, f"counted in {n} segments; up to {crossing / 1e6:,.1f} MB cross the link")
        if total is not None:
            yield from one_total(total, search)
        elif (
            not search.exists
            and has_room(shape := level_table(resolved), run.free_bytes())
            and block_warps(shape.warp_bytes, run.device)
        ):
            yield from extended(plan, shape, search, seeds, rows, run)
        else:
            yield from dfs_chunks(store, plan, search, seeds, rows, _most_rows(resolved, context), run)


def _spread(
    store: ExecView, search: Search, resolved: ResolvedSearch, context: ExecutionContext, masks: MaskProvider
) -> Iterator[SearchChunk]:
    """Yield what a search without seeds gives on all devices of the context."""
    if resolved.summed and (total := shaped_total(store, search, resolved, context)) is not None:
        yield from one_total(total, search)
        return

    def find(part: Part, inner: ExecutionContext) -> Iterator[SearchChunk]:
        with device_run(inner) as run:
            yield from _on_one(store, *part, (), 1, run)

    def note(taken: dict[int, int]) -> None:
        context.note(search, shares_in_words(taken))

    chunks = streamed(context, search_parts(store, search, context, masks), find, note)
    if not resolved.summed:
        yield from chunks
        return
    counts = (int(count) for chunk in chunks if chunk.count is not None for count in chunk.count)
    yield from one_total(sum(counts) // search.orbits, search)


def _total(store: ExecView, search: Search, plan: DevicePlan, run: DeviceRun) -> int | None:
    """Return the count of a plan that has nothing else to give, None where that is left to those who give rows."""
    if plan.resolved.mode is SearchMode.EXISTS:
        return None
    total = try_count(store, search.shapes, plan, run)
    if total is None:
        total = try_total(plan, run)
    return dfs_total(store, plan, run) if total is None else total


def _most_rows(resolved: ResolvedSearch, context: ExecutionContext) -> int:
    """Rows of one chunk, so that they take at most a quarter of the host's memory limit."""
    limit = context.memory_limit
    if limit is None:
        return _MOST_ROWS
    return max(1, min(_MOST_ROWS, limit // 4 // (8 * (len(resolved.outputs) + 2))))
