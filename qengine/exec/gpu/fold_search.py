"""A search whose rows are folded into groups on the device, and never leave it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from qengine.exec.common.match_plan import SearchMode
from qengine.exec.common.resolve import ResolvedSearch, resolve
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu.dealing import each_device, shares_in_words
from qengine.exec.gpu.extend import MOST_SLOTS, DeviceRows, block_warps, has_room, level_table
from qengine.exec.gpu.extend_counts import CountingExtension
from qengine.exec.gpu.fold_parts import FoldedPart
from qengine.exec.gpu.folds import DeviceFold, DeviceFolds
from qengine.exec.gpu.launch import device_run
from qengine.exec.gpu.spread import Part, is_spread, search_parts
from qengine.exec.gpu.upload import device_plan
from qengine.exec.view import ExecView, MaskProvider
from qengine.plan.physical import Search, check_device_levels


class Taker(Protocol):
    """What rows of a search are for."""

    def add_rows(self, columns: Sequence[Any], n: int, weights: Any | None, times: int) -> bool:
        """Take rows, as ``DeviceFold.add_rows`` does; False where it can't."""


@contextmanager
def lent_folds(store: ExecView, context: ExecutionContext) -> Iterator[DeviceFolds]:
    """Lend what makes folds on the device.

    Raises
    ------
    DeviceError
        If there is no usable device.
    """
    with device_run(context) as run:
        folds = DeviceFolds(run, store)
        try:
            yield folds
        finally:
            folds.close()


def fold_search(
    lent: DeviceFolds,
    search: Search,
    names: Sequence[str],
    weight: str | None,
    folds: Sequence[DeviceFold],
    masks: MaskProvider,
) -> bool:
    """Fold all rows of a search without seeds, on several devices where it takes long.

    False where there is no room, or where rows count too often.
    Then what was folded is of no use.

    Parameters
    ----------
    names
        The folds' variables, which the search emits.
    weight
        The name of the search's count if rows count as often; None: once.

    Raises
    ------
    Unsupported
        If the search has more levels than the device's kernels take.
    """
    check_device_levels(len(search.levels))
    if is_spread(search, lent.run.context, folded=True) and all(fold.can_be_spread for fold in folds):
        return _spread(lent, search, names, weight, folds, masks)
    resolved = resolve(lent.store, search, lent.masks(masks))
    if resolved is None:
        return True
    return give_rows(lent, search, resolved, names, weight, folds)


def _spread(
    lent: DeviceFolds,
    search: Search,
    names: Sequence[str],
    weight: str | None,
    folds: Sequence[DeviceFold],
    masks: MaskProvider,
) -> bool:
    """Fold the rows of a search on all devices of the context."""
    store, context = lent.store, lent.run.context

    def fold(parts: Iterator[Part], inner: ExecutionContext) -> list[FoldedPart] | None:
        with lent_folds(store, inner) as there:
            made = [each.like(there) for each in folds]
            if not all(give_rows(there, *part, names, weight, made) for part in parts):
                return None
            return [each.part() for each in made]

    found, taken = each_device(context, search_parts(store, search, context, masks), fold)
    context.note(search, shares_in_words(taken))
    parts = [each for each in found if each is not None]
    return len(parts) == len(found) and all(fold.take([each[k] for each in parts]) for k, fold in enumerate(folds))


def give_rows(
    lent: DeviceFolds,
    search: Search,
    resolved: ResolvedSearch,
    names: Sequence[str],
    weight: str | None,
    takers: Sequence[Taker],
) -> bool:
    """Give the rows of a search to all takers, on the device of some folds; False as of ``fold_search``."""
    with extending(lent, resolved, first_slots=MOST_SLOTS) as extension:
        if extension is None:
            return False
        for rows in extension.rows([], 1):
            weights, times = _weights(rows, resolved, search, weight)
            for columns in columns_of(rows, resolved, search, names):
                if not all(taker.add_rows(columns, rows.n, weights, times) for taker in takers):
                    return False
    return True


@contextmanager
def extending(lent: DeviceFolds, resolved: ResolvedSearch, **options: int) -> Iterator[CountingExtension | None]:
    """Give what extends a search's rows on the device of some folds, None where there is no room.

    ``options``: as of ``Extension``.
    """
    run = lent.run
    with device_plan(lent.store, resolved, run) as plan:
        shape, free = level_table(resolved), run.free_bytes()
        fits = has_room(shape, free) and block_warps(shape.warp_bytes, run.device)
        yield CountingExtension(run, plan, shape, free // 2, **options) if fits else None


def columns_of(rows: DeviceRows, resolved: ResolvedSearch, search: Search, names: Sequence[str]) -> Iterator[list[Any]]:
    """Yield the columns of some variables, under all orders that a symmetric pattern has."""
    column = {name: rows.columns[k] for k, name in enumerate(resolved.outputs)}
    if not search.images:
        yield [column[name] for name in names]
    for image in search.images:
        under = {name: column[other] for name, other in zip(search.emit, image, strict=True)}
        yield [under[name] for name in names]


def _weights(rows: DeviceRows, resolved: ResolvedSearch, search: Search, weight: str | None) -> tuple[Any | None, int]:
    """Return how often each row counts, and how often that."""
    repeated = resolved.mode is SearchMode.ROWS or (weight is not None and weight == search.count)
    if rows.count is None or search.exists or not repeated:
        return None, 1
    return rows.count, search.orbits
