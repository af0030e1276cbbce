"""How many rows each beginning of a search has: what PROFILE shows beside what was expected of each level."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from qengine._frozen import frozen
from qengine.errors import ExecutionError, OutOfMemory, QueryTimeout
from qengine.estimate.kernel import SampleRange, count_slices, draw
from qengine.estimate.table import beginnings
from qengine.exec.common.masks import Masks
from qengine.exec.common.pipeline import runtime_of
from qengine.exec.common.resolve import resolve
from qengine.exec.context import ExecutionContext
from qengine.exec.view import ExecView
from qengine.plan.levels import reordered, without_order
from qengine.plan.logical import Unit
from qengine.plan.physical import Search, VertexLevel

_SLICES = 64
_WORK = 30_000_000  # ids that are read to count one beginning: some tens of milliseconds
_SAMPLES = 20_000
_WORST_ERROR = 0.5


@frozen
class LevelRows:
    """``rows``: embeddings of the part between the nodes ``names``, of which ``last`` is bound last.

    ``exact``: counted; else sampled.
    """

    last: str
    names: frozenset[str]
    rows: float
    exact: bool


def level_rows(search: Search, store: ExecView, context: ExecutionContext) -> list[LevelRows]:
    """Return the rows of each beginning of a search over ``Unit``; those that take too long to count are sampled.

    What samples seldom hit is left out, and all after the first that fails or for which the context's time or memory
    doesn't reach. The same search gives the same rows each time, but for a context's time.

    Raises
    ------
    QueryInterrupted
        When the statement is interrupted.
    """
    found: list[LevelRows] = []
    if search.seeds or not isinstance(search.input, Unit):
        return found
    with suppress(QueryTimeout, OutOfMemory, ExecutionError):
        found.extend(_counted(search, store, context))
    return found


def _counted(search: Search, store: ExecView, context: ExecutionContext) -> Iterator[LevelRows]:
    masks = Masks(runtime_of(store, context))
    order = [level.name for level in search.levels if isinstance(level, VertexLevel)]
    plain = reordered(without_order(search), order)  # with each relationship as soon as its ends are bound
    for name, (names, last) in zip(order, beginnings(plain), strict=True):
        part = Search(plain.input, plain.levels[: last + 1], 0, ())
        resolved = resolve(store, part, masks)
        if resolved is None:
            yield LevelRows(name, names, 0.0, True)
            continue
        plan = int(resolved.plan.ctypes.data)
        counted = count_slices(plan, context, SampleRange(0, 0, _SLICES), _WORK)
        context.check()
        if counted.samples == _SLICES:
            yield LevelRows(name, names, counted.weight, True)
            continue
        sums = draw(plan, "alley", context, SampleRange(0, 0, _SAMPLES), depth=last + 1).levels[-1]
        if sums.hits and sums.relative_error <= _WORST_ERROR:
            yield LevelRows(name, names, sums.mean, False)
